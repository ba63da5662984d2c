"""A saved model, opened to play in an environment of its own. Nothing in its task directory changes."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from algos.base import Progress, TrainableActor
from config.read.loader import RunConfig
from config.read.paths import as_written
from config.read.stores import MODEL
from config.tell.language import tr
from envs.base import VectorEnv
from framework.assemble import build
from framework.assemble.identity import check_identity, with_seed
from framework.assemble.kernels import use_kernels
from framework.collect.env_calls import Watch
from framework.collect.fragment import Recorder
from framework.disk.checkpoints import BAD_CONTENT, CheckpointStore, Saved
from framework.disk.task_dir import TaskDir
from framework.errors import ERROR, MISTAKE, CheckpointError, TaskDirError
from framework.loop.curriculum import Phases
from framework.loop.evaluator import MOST_ROWS, Evaluator
from framework.loop.trainer import progress_at
from framework.runs import resume
from framework.runs.arguments import check_list, of_program
from framework.runs.signals import Watchdog, leave


class Model(NamedTuple):
    """A saved model, and an environment to play it in."""

    saved: Saved
    note: str
    """Reason why it is not the model that was asked for; empty if it is."""
    agent: TrainableActor
    env: VectorEnv
    watch: Watch

    def evaluator(
        self, config: RunConfig, check: Callable[[], None] = lambda: None, recorders: Iterable[Recorder] = ()
    ) -> Evaluator:
        """Makes what plays it as the evaluations of its run do, in their phase of a curriculum."""
        progress = self._progress(config) if config.general.explore else None
        phase = self.phases(config).evaluation
        return build.make_evaluator(config, self.env, check, self.watch, phase, recorders, lambda: progress)

    def phases(self, config: RunConfig) -> Phases:
        """Returns the phases of the curriculum of its run, as they were at the checkpoint."""
        phases = Phases(config.general.curriculum)
        phases.load(self.saved.tree.get("phase"))
        return phases

    def _progress(self, config: RunConfig) -> Progress:
        """Returns how far training was at the checkpoint."""
        try:
            general = resume.settings_of(self.saved, config)["general_cfg"]
            return progress_at(self.saved, general, config.algo.offline_updates_of())
        except BAD_CONTENT as error:
            raise CheckpointError(
                "{path} does not fit this config: {error}", path=as_written(self.saved.path), error=error
            ) from error


def settings_of(task: str | os.PathLike[str], model: str | int, allow_import: Iterable[str] = ()) -> RunConfig:
    """Returns the settings with which a saved model of a run is played. model: best, latest, or the update of a
    checkpoint; that of a path such as NAME/models/500 comes first."""
    path = os.fspath(task)
    if checkpoint := MODEL.fullmatch(path.rstrip("/")):
        path, model = checkpoint[1], int(checkpoint[2]) if checkpoint[2].isdecimal() else checkpoint[2]
    which = {"mode": "test", "load_checkpoint": True, "load_path": path, "load_model_step": model}
    check_list("allow_import", allow_import)
    return with_seed(of_program(None, values={"general_cfg": which}, allow_import=allow_import)).of_evaluation()


@contextlib.contextmanager
def opened(config: RunConfig) -> Iterator[Model]:
    """Loads the model that general_cfg names; changes nothing in its task directory. The environment has the same rows
    as the online evaluation, so that the score is the same."""
    cfg, watch = config.general, Watch()
    if config.task is None:
        raise TaskDirError("mode test needs load_checkpoint: true and load_path: NAME")
    TaskDir(config.task).check()
    saved, note = _model(CheckpointStore(config.task / "models"), cfg.load_model_step)
    watchdog = Watchdog(cfg.env_timeout, watch, lambda: _hangs(config, watch))
    with watchdog, build.opened_env(config, min(cfg.online_eval_episode, MOST_ROWS), watch) as env:
        spec = build.env_spec(config, env)
        check_identity(saved, config, spec)
        agent = build.make_agent(config, spec, cfg.seed, build.device_of(config))
        use_kernels(config)
        build.choose_threads(config, agent)
        build.keep_threads(config, (saved.facts.get("exactness") or {}).get("torch_threads"))
        try:
            agent.load_state(saved.tree["agent"])
        except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
            raise CheckpointError(
                "{path} does not fit this config: {error}", path=as_written(saved.path), error=error
            ) from error
        yield Model(saved, note, agent, env, watch)


def _hangs(config: RunConfig, watch: Watch) -> None:
    """Ends the process when an environment hangs; called by the watchdog."""
    print(f"\n{ERROR}{unanswered(config, watch)}", file=sys.stderr)
    leave(MISTAKE)


def unanswered(config: RunConfig, watch: Watch) -> str:
    """Returns what is said of an environment that hangs."""
    return tr(
        "{name} has not answered for {limit:g} s, {activity}",
        name=config.env_id,
        limit=config.general.env_timeout,
        activity=watch.describe(),
    )


def _model(store: CheckpointStore, step: str | int) -> tuple[Saved, str]:
    """Returns the checkpoint to test, and a note on the choice."""
    if step != "latest" and (step != "best" or store.has_best()):
        try:
            return store.read(step, with_journal=False), ""
        except CheckpointError as error:
            if step != "best" or not store.numbers():
                raise
            why = tr("{error}; the newest checkpoint is the model latest: --model latest", error=error)
            raise CheckpointError(why) from error
    notes: list[str] = []
    saved = store.newest(notes.append, with_journal=False)
    if step == "best":
        notes.append(tr("there is no best model yet; the newest is taken, {name}", name=saved.path.name))
    return saved, "; ".join(notes)
