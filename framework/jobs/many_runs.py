"""Checks and trains a group of runs: one for each seed, or for each experiment of a file."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch

from config.read import stores
from config.read.loader import ConfigError, RunConfig
from config.read.task_files import COPIED_TO
from config.tell.language import tr
from envs.base import EnvError
from framework.archive.members import Member, file_names, of_experiments, of_seeds
from framework.assemble import build, fit, resources
from framework.assemble.expert import expert_of
from framework.assemble.offline import offline_data
from framework.disk.task_dir import new_folder
from framework.errors import MISTAKE, JoystickError
from framework.jobs.children import at_once
from framework.jobs.group import Group
from framework.jobs.members import LIMITS, are_limits
from framework.jobs.processes import TRAINED, locked
from framework.jobs.runners import runner
from framework.policies.policy_plan import plan
from framework.runs import initial_weights
from framework.screen import terminal
from framework.screen.stages import each

if TYPE_CHECKING:
    from framework.storage.mirror import Mirror


class Checked(NamedTuple):
    """Facts about a run that are known before it starts."""

    env_id: str
    fitting: float
    """Number of such runs whose memories fit into this machine."""
    disk: int
    """Bytes of its checkpoints (of one, if its limits do not tell their number) and of the journal of its memory."""
    columns: tuple[str, ...]
    """Columns of its progress.csv."""
    memory: int
    """Bytes of its memories when they are full, and of what is copied from them for a while."""


ShowOn = Callable[[Path | None], terminal.Screen]
"""Returns the screen of a group, for its folder; None: for what is said before there is one."""


def on_the_terminal(folder: Path | None) -> terminal.Screen:
    """Returns the screen of a command."""
    return terminal.choose(sys.stdout)


def begin(
    configs: Mapping[str, RunConfig],
    title: str,
    command_line: list[str],
    seeds: Sequence[int] | None,
    jobs: int | None,
    check: Callable[[RunConfig], None],
    show_on: ShowOn = on_the_terminal,
) -> tuple[Group, int]:
    """Trains each experiment, or a configuration whose name is empty, once or for each seed. Returns the group and the
    exit status. title: of the folder of experiments. check: raises an error if algorithm and environment do not fit;
    the problems of all experiments are reported at once."""
    address = cluster(configs.values())
    configs = {name: placed(config, address) for name, config in configs.items()}
    facts, has_names = _checked(configs, check), "" not in configs
    members = of_experiments(list(configs), seeds or ()) if has_names else of_seeds(seeds or ())
    _refuse_copies(members, next(iter(configs.values())))
    runs = {member: beside_others(configs[member.experiment]) for member in members}
    config, [safe] = next(iter(configs.values())), file_names([title])
    name = ("runs", safe, str(len(runs))) if has_names else ("seeds", facts[0].env_id, config.algorithms)
    show = any(config.general.show_fig for config in configs.values())
    new = partial(new_folder, *name, into=config.into, start=config.start)
    return _train(runs, new, command_line, jobs, facts, address, show=show, show_on=show_on)


def resume(
    members: Mapping[Member, RunConfig],
    folder: Path,
    words: Sequence[str],
    command_line: list[str],
    jobs: int | None,
    check: Callable[[RunConfig], None],
    show_on: ShowOn = on_the_terminal,
) -> tuple[Group, int]:
    """Goes on with a group, and returns it with the exit status. words: where it is trained now, and higher limits."""
    address = cluster(members.values())
    members = {member: placed(config, address) for member, config in members.items()}
    facts = _checked({member.file: config for member, config in members.items()}, check, begins=False)
    return _train(members, lambda: folder, command_line, jobs, facts, address, words, show_on=show_on)


def cluster(configs: Iterable[RunConfig]) -> str | None:
    """Returns the address of the cluster whose machines train whole runs: one that all runs name, with one worker and
    one learner each. None if this machine starts each run, whose workers may be in a cluster."""
    settings = [config.general for config in configs]
    if all(cfg.mp_backend == "ray" and cfg.n_workers == cfg.n_learners == 1 for cfg in settings):
        addresses = {cfg.ray_address for cfg in settings}
        return addresses.pop() if len(addresses) == 1 else None
    return None


def placed(config: RunConfig, address: str | None) -> RunConfig:
    """Returns the settings of a run that a machine of the cluster at an address trains in one process."""
    return config.with_general(mp_backend="single", ray_address=None) if address else config


def _checked(
    configs: Mapping[str, RunConfig], check: Callable[[RunConfig], None], begins: bool = True
) -> list[Checked]:
    """Checks each of several configurations, as `checked` does. The problems of all are reported at once."""
    facts, problems = [], []
    for name, config in each(tr("checking experiments"), configs.items(), tr("settings")):
        try:
            refuse_loaded(config, "group")
            check(config)
            facts.append(checked(config, begins))
        except (JoystickError, EnvError, ConfigError) as error:
            if not name:
                raise
            problems.append(f"{name}: {error}")
    if problems:
        raise ConfigError(*problems)
    return facts


def _train(
    members: Mapping[Member, RunConfig],
    place: Callable[[], Path],
    command_line: list[str],
    jobs: int | None,
    facts: Sequence[Checked],
    address: str | None,
    words: Sequence[str] = (),
    show: bool = False,
    show_on: ShowOn = on_the_terminal,
) -> tuple[Group, int]:
    """Trains a group, or what is left of it. place: returns its folder, a new one or that of a group that goes on."""
    config, screen = next(iter(members.values())), show_on(None)
    objects = {name: value for config in members.values() for name, value in config.objects.items()}
    here = at_once(list(members.values()), jobs, min(fact.fitting for fact in facts))
    if config.general.ray_address and not words:
        words = [f"general_cfg.ray_address={config.general.ray_address}"] if config.general.mp_backend == "ray" else []
    with runner(address, config.general, jobs, here, config.start, screen, "run", objects) as running:
        folder = place()
        own = [word for word in words if not word.startswith(LIMITS)]  # the limits are in the settings of the group
        where = ["general_cfg.mp_backend=single"] if address else own
        work = Group(members, folder, running, show_on(folder), where, address, show)
        is_new = not work.files.group.exists()
        if is_new:
            work.write_settings()
        with locked(folder, TRAINED), _copied(folder, config, work.screen) as copy:
            if is_new:
                work.begin(command_line)
            else:
                if are_limits(words):
                    work.extend()
                work.take_up()
            status = work.drive()
        return work, status or (MISTAKE if copy is not None and copy.is_behind else 0)


def _refuse_copies(members: Iterable[Member], config: RunConfig) -> None:
    """Raises ConfigError for a run whose copy in a store would have a URL that no run has."""
    if config.general.storage is None or config.into is None:  # a folder that is named here has no such name
        return
    for member in members:
        url = f"{config.general.storage}/{config.into.name}/{member.folder}"
        try:
            stores.destination(url)
        except ValueError as error:
            raise ConfigError(f"{member.label}: {tr('{url!r} is not {what}', url=url, what=error)}") from None


@contextlib.contextmanager
def _copied(folder: Path, config: RunConfig, screen: terminal.Screen) -> "Iterator[Mirror | None]":
    """Copies the files of the group to a store meanwhile, if its runs are copied; each of these copies its own. Yields
    what does it; None if they are copied nowhere."""
    mirror = None
    if config.general.storage is not None or (folder / COPIED_TO).exists():
        from framework.storage.mirror import mirror_of  # only a group that is copied needs it

        def say(text: str, is_warning: bool) -> None:
            screen.say(tr("warning: {text}", text=text) if is_warning else text, "red" if is_warning else "")

        mirror = mirror_of(folder, config.general.storage, "general_cfg.storage" in config.explicit, False, say)
    if mirror is None:
        yield None
        return
    mirror.begin()
    mirror.start()
    try:
        yield mirror
    finally:
        mirror.close()


def beside_others(config: RunConfig) -> RunConfig:
    """Returns the settings of a run that shares the cores with others, and opens no window."""
    return config.with_general(torch_threads=config.general.torch_threads or 1, show_fig=False)


def refuse_loaded(config: RunConfig, who: Literal["group", "tune"]) -> None:
    """Raises ConfigError for a test or a loaded model."""
    tests, loads = {
        "group": (
            tr("a group of runs trains; to test one of them, run it alone"),
            tr("a group of runs starts every run from the beginning; omit it, or run it alone"),
        ),
        "tune": (
            tr("tune trains; to test one of its runs, use resume, test or film"),
            tr("tune starts every run from the beginning; omit it, or use resume, test or film"),
        ),
    }[who]
    for key, wrong, why in (("mode", "test", tests), ("load_checkpoint", True, loads)):
        if getattr(config.general, key) == wrong:
            place = config.where.get(f"general_cfg.{key}", tr("default"))
            raise ConfigError(f"{place}: general_cfg.{key}: {why}")


def checked(config: RunConfig, begins: bool = True) -> Checked:
    """Refuses once, before there is a folder, what each run would refuse. The agent is built on the CPU, so that this
    process takes no memory of a GPU. begins: False where runs may have begun, which need no others any more."""
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = build.env_spec(config, env)
        build.device_of(config)
        agent = build.make_agent(config, spec, config.general.seed, torch.device("cpu"))
        whole = plan(config, fit.spec_of_all(config, spec))
        if begins:
            expert_of(config, spec, build.make_agent)
            initial_weights.named(config, agent)
            initial_weights.fitting(config, agent)
            for policy in whole.learning:
                offline_data(config, policy, config.general.seed or 1)
        fitting = resources.memories_that_fit(config, whole)
        saves = (resources.checkpoints(config, whole) or 1) * resources.checkpoint_bytes(agent.weights())
        disk = saves + resources.journal_bytes(config, whole)
        rows = build.make_rows(config, agent, whole, env, build.make_callbacks(config))
        return Checked(spec.id, fitting, disk, rows.progress_columns, resources.needed_bytes(config, whole))
    finally:
        env.close()
