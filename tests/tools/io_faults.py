"""Commands with a fault at one input or output call: an error, a kill, a torn write, or a power cut.

A command runs once without a fault, and its calls are recorded (disk.py). A trial takes what a fault after one
of them leaves, or lets that call fail, continues as the printed command says, and compares the end with that of the
command without a fault.
"""

import contextlib
import csv
import gc
import json
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import algos
from framework.disk.checkpoints import CheckpointStore
from framework.jobs.members import unfinished
from tests.tools.disk import Calls, Disk, State, read_record, written
from tests.tools.hub import FolderHub
from tests.tools.process import ForkedPopen, become

KINDS = ("error", "kill", "torn", "power")
"""Outcomes of a call: raises OSError; the processes end after it; they end in the middle of a write; what was not
fsynced is lost, in five ways (disk.WAYS)."""
TRACEBACK = 99
BASE = ("general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.keep_checkpoints=2")
EVALUATION = ("general_cfg.online_eval=true", "general_cfg.online_eval_episode=2")
COMMON = (*BASE, *EVALUATION, "general_cfg.collect_traj=true")
QUIET = ("general_cfg.online_eval=false", "general_cfg.online_eval_episode=2", "general_cfg.loggers=[csv]")
OUTPUTS = {
    "plain": QUIET,
    "traj": (*QUIET, "general_cfg.collect_traj=true"),
    "eval": (*QUIET, *EVALUATION),
    "board": (*QUIET, "general_cfg.loggers=[csv,tensorboard]"),
    "all": (*EVALUATION, "general_cfg.collect_traj=true", "general_cfg.traces=results/traces"),
}
"""What a run writes besides its checkpoints and results/*.csv: nothing, or one kind, or all of them."""
ALGORITHMS = {
    "QLearning": (
        "general_cfg.algo_name=QLearning", "general_cfg.env_name=toy", "env_cfg.id=walk",
        "general_cfg.model_save_fre=30",
    ),
    "DQN": (
        "general_cfg.algo_name=DQN", "general_cfg.env_name=toy", "env_cfg.id=match", "general_cfg.model_save_fre=15",
        "algo_cfg.buffer_size=40", "algo_cfg.batch_size=4", "algo_cfg.learning_starts=8",
        "algo_cfg.value_layers=[{layer_type: linear, layer_size: [4], activation: relu}]",
    ),
}  # fmt: skip
SAVES = "general_cfg.model_save_fre=15"
DATA = {"match": "DQN", "target": "SAC"}
"""Toy -> algorithm that collects data on it."""
OTHER_TOYS = {"MAPPO": "two_step_game"}
"""Algorithm -> toy, where tests.tools.distributed chooses one that does not suit it."""
LIMITS = ("general_cfg.max_total_step=80", "general_cfg.max_total_step=140")
"""End of the run, and of its resume."""
UPDATES = "general_cfg.max_update=60"
"""End of a run that learns from data alone."""
ITERATION = "general_cfg.iteration_steps=40"

Words = list[str]
End = dict[str, Any]
"""What a command leaves that must not depend on faults, by name."""


class Scenario(ABC):
    """A command, what continues it after a fault, and what it leaves."""

    reference: End
    """End of the command without a fault."""

    def __init__(self, folder: Path) -> None:
        """Makes what the command needs before it begins, in `folder`."""
        self.folder, self.reference = folder, {}

    def begin(self, base: Path) -> None:
        """Makes what the command finds in the folder under test."""

    @abstractmethod
    def commands(self, base: Path) -> list[Words]:
        """The commands that bring it to its end, from what there is."""

    @abstractmethod
    def end(self, base: Path) -> End:
        """What it has left."""

    def said(self, text: str) -> set[str]:
        """The parts of the end that may differ, since the command has said so: an error cost them. text: warnings."""
        return set()


class Train(Scenario):
    """A run."""

    limit = LIMITS[0]

    def __init__(self, folder: Path, algorithm: str = "QLearning", outputs: str = "all") -> None:
        super().__init__(folder)
        self.evaluates = outputs in ("eval", "all")
        self.words = [*BASE, *words_of(algorithm, folder), *OUTPUTS[outputs], ITERATION]
        if algorithm not in ALGORITHMS and algos.get(algorithm).Config.OFFLINE:
            self.limit = UPDATES
        _import_early([*self.words, self.limit])

    def commands(self, base: Path) -> list[Words]:
        return [self.command(base / "run", self.limit)]

    def command(self, run: Path, limit: str) -> Words:
        """Resumes where there is a checkpoint, and starts over where nothing was saved."""
        if CheckpointStore(run / "models").numbers():
            return ["--resume", str(run), limit]
        shutil.rmtree(run, ignore_errors=True)
        return ["--into", str(run), *self.words, limit]

    def end(self, base: Path) -> End:
        return end_of(base / "run")

    def said(self, text: str) -> set[str]:
        parts = {"curves", "evaluations"} if "logger tensorboard stopped" in text else set()
        if "could not be saved" in text and not self.evaluates:  # a checkpoint that is missing is not compared
            parts |= {"eval.csv", "best", "evaluations"}
        if "could not be saved" in text:  # a model that is not saved is not the best so far
            parts |= {"score", "marks of the best"}
        best = (self.reference.get("best") or {}).get("update")
        if str(best) in re.findall(r"checkpoint (\d+) could not be saved", text):
            parts.add("best")
        return parts


class Resume(Train):
    """The resume of a run with a higher limit."""

    limit = LIMITS[1]

    def __init__(self, folder: Path, algorithm: str = "QLearning", outputs: str = "all") -> None:
        super().__init__(folder, algorithm, outputs)
        self.half = folder / "half"
        self.half.mkdir()
        assert played([self.command(self.half / "run", LIMITS[0])], self.half) == (0, "")

    def begin(self, base: Path) -> None:
        shutil.copytree(self.half, base, dirs_exist_ok=True)

    def commands(self, base: Path) -> list[Words]:
        assert CheckpointStore(base / "run" / "models").numbers(), "no checkpoint is left"
        return super().commands(base)


class Seeds(Train):
    """A run for each of two seeds, one after the other."""

    def __init__(self, folder: Path, algorithm: str = "QLearning", outputs: str = "all") -> None:
        super().__init__(folder, algorithm, outputs)
        self.words.remove(BASE[0])

    def commands(self, base: Path) -> list[Words]:
        """Goes on with what has begun, by the command that a group prints."""
        group = base / "group"
        if not (group / "group.json").is_file():
            shutil.rmtree(group, ignore_errors=True)
            return [["--into", str(group), *self.words, LIMITS[0], "--seeds", "1,2", "--jobs", "1"]]
        return [["resume", str(group), "--jobs", "1"]] if unfinished(group) else []

    def end(self, base: Path) -> End:
        ends = {seed: end_of(base / "group" / f"seed_{seed}") for seed in (1, 2)}
        return {f"{name} of seed {seed}": value for seed, end in ends.items() for name, value in end.items()}

    def said(self, text: str) -> set[str]:
        return {f"{name} of seed {seed}" for name in super().said(text) for seed in (1, 2)}


class Ray(Train):
    """A run whose workers, learner and data server are actors of a Ray."""

    def __init__(self, folder: Path, algorithm: str, outputs: str = "all") -> None:
        super().__init__(folder, algorithm, outputs)
        self.words += ["general_cfg.mp_backend=ray", "general_cfg.n_workers=2", "general_cfg.run_ahead=0"]


class Tune(Scenario):
    """A tuning that halves, one run at a time."""

    TEXT = """\
general_cfg: {{algo_name: QLearning, env_name: toy, seed: 3, save_fig: false, model_save_fre: 30, iteration_steps: 20,
  max_total_step: 80, online_eval_episode: 2, collect_traj: {all}, online_eval: {all}, loggers: {loggers}}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{grid: [0.01, 0.3]}}}}
tune_cfg: {{scheduler: halving, eta: 2, rungs: 40, score: {score}}}
"""

    def __init__(self, folder: Path, outputs: str = "plain") -> None:
        super().__init__(folder)
        _import_early([*BASE, *ALGORITHMS["QLearning"], *OUTPUTS["all"], LIMITS[0]])
        loggers, every = ("[csv]", "false") if outputs == "plain" else ("[csv, tensorboard]", "true")
        score = "return_mean" if outputs == "plain" else "evaluation"
        self.file = folder / "tune.yaml"
        self.file.write_text(self.TEXT.format(all=every, loggers=loggers, score=score))

    def commands(self, base: Path) -> list[Words]:
        folder = base / "tune"
        if (folder / "config.yaml").is_file():
            return [["tune", "--resume", str(folder), "--jobs", "1"]]
        shutil.rmtree(folder, ignore_errors=True)
        return [["tune", "--yaml", str(self.file), "--into", str(folder), "--jobs", "1"]]

    def end(self, base: Path) -> End:
        folder = base / "tune"
        lines = (folder / "trials.csv").read_text().splitlines()
        where = lines[0].split(",").index("seconds")
        rows = [[cell for n, cell in enumerate(line.split(",")) if n != where] for line in lines]
        runs = {f"run {path.name}": _runs_end(path) for path in sorted((folder / "trials").glob("[0-9]*/"))}
        return {"trials": rows, "winner": json.loads((folder / "tune.json").read_text())["best"], **runs}

    def said(self, text: str) -> set[str]:
        runs = {"run 000", "run 001"}
        if "is left out" in text:
            return {"trials", "winner", *runs}
        if "run.json could not be written" in text:  # the table has no steps and seconds then
            return {"trials", *runs}
        return runs if "could not be saved" in text or "logger tensorboard stopped" in text else set()


class Convert(Scenario):
    """A data file in another format."""

    def __init__(self, folder: Path, form: str = "npz") -> None:
        super().__init__(folder)
        self.form = form
        words = [*BASE, *ALGORITHMS["QLearning"], *OUTPUTS["traj"], LIMITS[0]]
        _import_early(words)
        assert played([["--into", str(folder / "run"), *words]], folder) == (0, "")

    def begin(self, base: Path) -> None:
        shutil.copy(self.folder / "run" / "results" / "trajs.pkl", base / "in.pkl")

    def commands(self, base: Path) -> list[Words]:
        target = base / f"out.{self.form}"
        return [] if target.exists() else [["convert", str(base / "in.pkl"), str(target)]]

    def end(self, base: Path) -> End:
        target = base / f"out.{self.form}"
        if self.form == "minari":
            from framework.dataset.data import open_data

            data = open_data(str(target))
            content: Any = [{name: column.tolist() for name, column in piece.items()} for piece in data.pieces()]
        else:
            content = target.read_bytes()
        return {"source": (base / "in.pkl").read_bytes(), "target": content, "names": sorted(os.listdir(base))}


class Export(Scenario):
    """A policy as a file for other programs."""

    def __init__(self, folder: Path, form: str = "safetensors") -> None:
        super().__init__(folder)
        self.form = form
        words = [*BASE, *ALGORITHMS["DQN"], *OUTPUTS["plain"], LIMITS[0]]
        _import_early(words)
        assert played([["--into", str(folder / "run"), *words]], folder) == (0, "")
        from framework.commands.work import export  # noqa: F401

    def commands(self, base: Path) -> list[Words]:
        """Whole files of a pair that a fault has cut are removed, as the message asks for."""
        names = sorted(path.name for path in base.glob("out.*") if not path.name.endswith(".tmp"))
        wanted = ["out.json", "out.safetensors"] if self.form == "safetensors" else ["out.onnx"]
        if names == wanted:
            return []
        for name in names:
            self.check(base / name)
            (base / name).unlink()
        return [["export", str(self.folder / "run"), "--to", self.form, "--out", str(base / f"out.{self.form}")]]

    def check(self, path: Path) -> None:
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".safetensors":
            from safetensors.numpy import load

            load(path.read_bytes())

    def end(self, base: Path) -> End:
        return {path.name: _tensors(path) or path.read_bytes() for path in base.iterdir()}


class OfRun(Scenario):
    """A command that reads a finished run and writes elsewhere: nothing of the run changes, and after a fault what was
    written is removed, and the command is given again."""

    name = "out"
    """What the command writes."""

    def __init__(self, folder: Path, algorithm: str = "DQN", *settings: str) -> None:
        super().__init__(folder)
        words = [*BASE, *ALGORITHMS[algorithm], *OUTPUTS["all"], LIMITS[0], *settings]
        _import_early(words)
        self.run = folder / "run"
        assert played([["--into", str(self.run), *words]], folder) == (0, "")
        self.content = _files(self.run)

    def commands(self, base: Path) -> list[Words]:
        out = base / self.name
        if out.is_file():  # it is whole
            return []
        shutil.rmtree(out, ignore_errors=True)
        return [self.command(out)]

    @abstractmethod
    def command(self, out: Path) -> Words:
        """The command, with the place that it writes to."""

    def end(self, base: Path) -> End:
        out = base / self.name
        written = {self.name: out.read_bytes()} if out.is_file() else self.results(out)
        return {**written, "run": _files(self.run) == self.content}

    def results(self, out: Path) -> End:
        """What is compared of a folder; nothing of one that was not written."""
        return {}


class Evaluate(OfRun):
    """The episodes of a model as lines of a file."""

    name = "episodes.jsonl"

    def command(self, out: Path) -> Words:
        return ["evaluate", str(self.run), "--episodes", "3", "--out", str(out)]


class Test(OfRun):
    """Episodes of a model, with their trajectories and a report."""

    def command(self, out: Path) -> Words:
        return ["test", str(self.run), "--episodes", "3", "--into", str(out)]

    def results(self, out: Path) -> End:
        names = ("results/test.csv", "results/trajs.pkl")
        assert (out / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
        return {name: (out / name).read_bytes() for name in names}

    def said(self, text: str) -> set[str]:
        return {"results/trajs.pkl"} if "trajectories" in text else set()


class Film(Test):
    """A video of a model."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "DQN", "env_cfg.id=counter", "env_cfg.render_mode=rgb_array")

    def command(self, out: Path) -> Words:
        return ["film", str(self.run), "--episodes", "2", "--into", str(out)]

    def results(self, out: Path) -> End:
        return {**super().results(out), "videos": {path.name: path.read_bytes() for path in out.rglob("*.gif")}}

    def said(self, text: str) -> set[str]:
        return super().said(text) | ({"videos"} if "video" in text else set())


class Compare(OfRun):
    """A page and figures that compare two runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "QLearning")
        other = ["--into", str(folder / "other"), *BASE, *ALGORITHMS["QLearning"], *OUTPUTS["all"], LIMITS[0]]
        assert played([[*other, "algo_cfg.lr=0.3"]], folder) == (0, "")

    def command(self, out: Path) -> Words:
        return ["compare", str(self.run), str(self.folder / "other"), "--into", str(out)]

    def results(self, out: Path) -> End:
        """The page says when it was made."""
        assert (out / "compare.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
        return {"compare.csv": (out / "compare.csv").read_bytes()}


class Sync(OfRun):
    """A copy of a run in a store; after a fault the same command goes on with it."""

    NOTES = (".copy.json", ".copied_to.json")
    """Files in which a run notes where its copy is."""

    def begin(self, base: Path) -> None:
        shutil.copytree(self.run, base / "run")

    def commands(self, base: Path) -> list[Words]:
        return [self.command(base / self.name)]

    def command(self, out: Path) -> Words:
        return ["sync", str(out.with_name("run")), f"file://{out}", "--take-over"]

    def end(self, base: Path) -> End:
        """The files of the copy by their names in the run, as its index has them, and the run."""
        from framework.storage.index import Index

        copy = base / self.name
        files = Index.from_bytes((copy / "joystick.json").read_bytes(), str(copy)).files
        of_run = {name: data for name, data in _files(base / "run").items() if name not in self.NOTES}
        content = {name: b"".join((copy / part.key).read_bytes() for part in parts) for name, parts in files.items()}
        return {"run": of_run == self.content, "copy": content}


class Pull(OfRun):
    """A run from a hub: a folder that has its name is whole, and what a fault has left is in nobody's way."""

    name = "pulled"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from framework.commands.work import pull  # noqa: F401

        FolderHub.folder = folder / "hub"
        assert played([["push", str(self.run), "--to", "hf://me/run"]], folder) == (0, "")

    def commands(self, base: Path) -> list[Words]:
        out = base / self.name
        return [] if out.exists() else [self.command(out)]

    def command(self, out: Path) -> Words:
        return ["pull", "hf://me/run", "--into", str(out)]

    def results(self, out: Path) -> End:
        return {"pulled": _files(out), "names": sorted(os.listdir(out.parent))}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def others() -> list[str]:
    """Returns the algorithms that train and are not in ALGORITHMS."""
    return [name for name in algos.available() if name not in (*ALGORITHMS, "Random")]


SCENARIOS: dict[str, Any] = {
    **{
        f"{kind.__name__.lower()} {algorithm} {outputs}": (kind, algorithm, outputs)
        for kind in (Train, Resume)
        for algorithm in ALGORITHMS
        for outputs in OUTPUTS
    },
    **{f"train {algorithm} all": (Train, algorithm, "all") for algorithm in others()},
    **{f"seeds {outputs}": (Seeds, "QLearning", outputs) for outputs in ("plain", "all")},
    **{f"ray {algorithm} all": (Ray, algorithm, "all") for algorithm in ("DQN", "PPO")},
    **{kind.__name__.lower(): (kind,) for kind in (Evaluate, Test, Film, Compare, Sync, Pull)},
    **{f"tune {outputs}": (Tune, outputs) for outputs in ("plain", "all")},
    **{f"convert {form}": (Convert, form) for form in ("pkl", "npz", "jsonl", "jsonl.gz", "minari")},
    **{f"export {form}": (Export, form) for form in ("safetensors", "onnx")},
}
"""Name -> class and its arguments."""


class Experiment:
    """A scenario, and the trials of its calls."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        self.own = folder / "own"
        self.own.mkdir()
        kind, *arguments = SCENARIOS[name]
        self.scenario: Scenario = kind(self.own, *arguments)
        self.base = folder / "trial"  # the same place in every trial: paths are written into files
        self.record = folder / "record"
        start = self.fresh()
        calls = Calls(start, self.record)
        self.disk_before = folder / "before"
        shutil.copytree(start, self.disk_before)
        status, text = played(self.scenario.commands(start), folder, calls)
        assert status == 0, text
        self.calls = read_record(self.record) if self.record.exists() else []
        self.counted = calls.count
        self.answers: dict[bytes, str] = {}
        """Digest of what a fault has left -> what is wrong after its continuation."""
        self.reference = self.scenario.reference = self.scenario.end(start)

    def fresh(self) -> Path:
        """The folder under test, as the command finds it."""
        shutil.rmtree(self.base, ignore_errors=True)
        self.base.mkdir()
        self.scenario.begin(self.base)
        return self.base

    def states(self, kind: str) -> list[State]:
        """What faults of a kind leave; for errors, a state without files for each call."""
        if kind == "error":
            return [State(kind, at, f"call {at}", {}) for at in range(1, self.counted + 1)]
        return list(Disk(self.disk_before).states(self.calls, [kind]))

    def trial(self, state: State) -> str:
        """Continues after a fault. Returns what is wrong at the end. What another fault has left, too, is not continued
        again."""
        if state.kind == "error":
            return self._continued(state)
        digest = state.digest()
        if digest not in self.answers:
            self.answers[digest] = self._continued(state)
        return self.answers[digest]

    def _continued(self, state: State) -> str:
        said = ""
        try:
            if state.kind == "error":
                commands = self.scenario.commands(self.fresh())
                status, said = played(commands, self.folder, Calls(self.base, fail_at=state.at))
                if status not in (0, 1, 2) or "Traceback" in said:
                    return f"status {status}: {said}"
                if status == 2 and not self._is_named(said):
                    return f"the error names no file, and no command that goes on: {said}"
            else:
                shutil.rmtree(self.base, ignore_errors=True)
                written(state.tree, self.base)
            if commands := self.scenario.commands(self.base):
                status, text = played(commands, self.folder)
                said += text
                if status and not (state.kind == "error" and self.scenario.said(said)):
                    return f"continuing ends with status {status}: {text}"
            end = self.scenario.end(self.base)
        except Exception:
            return traceback.format_exc()
        said += "".join(_warnings(path) for path in self.base.rglob("log.txt"))
        names = {**self.reference, **end}.keys() - (self.scenario.said(said) if state.kind == "error" else set())
        differing = sorted(name for name in names if end.get(name) != self.reference.get(name))
        return f"{', '.join(differing)} differs; said: {said}" if differing else ""

    def _is_named(self, said: str) -> bool:
        """True if an error says how to go on, or names a path or a file of the folder under test."""
        files = (path.name for path in self.base.rglob("*") if path.is_file())
        return any(name in said for name in ("to resume:", str(self.base), *files))

    def failures(self, kind: str, every: int = 1, first: int = 1) -> Iterator[str]:
        """Tries every state that a kind of fault leaves, or a share of them."""
        for state in self.states(kind)[first - 1 :: every]:
            if wrong := self.trial(state):
                yield f"{state.kind} at call {state.at}, {state.call}: {wrong}"


def words_of(algorithm: str, folder: Path) -> Words:
    """Returns the settings of a small run of an algorithm. Collects the data that it learns from, in `folder`."""
    if algorithm in ALGORITHMS:
        return list(ALGORITHMS[algorithm])
    from tests.tools.distributed import words_of as small

    config = algos.get(algorithm).Config
    words = [*small(algorithm, OTHER_TOYS.get(algorithm)), SAVES]
    if config.OFFLINE or config.IMITATES:
        toy = next(toy for toy in DATA if f"env_cfg.id={toy}" in words)
        data = folder / "data"
        task = [
            f"general_cfg.algo_name={DATA[toy]}",
            "general_cfg.env_name=toy",
            f"env_cfg.id={toy}",
            "env_cfg.steps=5",
        ]
        command = ["--into", str(data), *BASE, *QUIET, *task, "general_cfg.collect_traj=true", LIMITS[0]]
        assert played([command], folder)[0] == 0
        expert = algorithm == "DAgger"
        words.append(f"algo_cfg.expert={data}" if expert else f"algo_cfg.data={data}/results/trajs.pkl")
    return words


def played(commands: Sequence[Words], folder: Path, calls: Calls | None = None) -> tuple[int, str]:
    """Runs commands in forked processes. Returns the exit status of the first that fails, and its stderr and warnings.
    The calls of the first one are recorded, or one of them fails."""
    text = ""
    for words in commands:
        status, text = _forked(words, folder / "said.txt", calls)
        if status:
            return status, text
    return 0, text


def _forked(words: Words, said: Path, calls: Calls | None) -> tuple[int, str]:
    sys.stdout.flush()
    child = os.fork()
    if not child:
        out, err = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in (said.with_suffix(".out"), said))
        become(lambda: _in_child(words, calls), out, err, failed=TRACEBACK)
    _, code = os.waitpid(child, 0)
    lines = said.with_suffix(".out").read_text(errors="replace").splitlines()
    warnings = [line for line in lines if "warning" in line]
    return os.waitstatus_to_exitcode(code), "\n".join([said.read_text(errors="replace"), *warnings]).strip()


def _in_child(words: Words, calls: Calls | None) -> int:
    """Runs a command of main.py; the runs that it starts are forked, too."""
    import torch

    from framework.disk import task_dir
    from framework.distributed import launch
    from framework.jobs import children
    from framework.sharing import hub
    from main import main
    from tests.tools.fake_ray import FakeRay

    torch.set_num_threads(1)
    task_dir._git_commit = lambda: None  # type: ignore[assignment]  # two processes a run
    children.subprocess = SimpleNamespace(Popen=ForkedPopen, DEVNULL=None)  # type: ignore[attr-defined]
    children.POLL_SECONDS = 0.01
    launch.ray_cluster.started = lambda *given: contextlib.nullcontext(FakeRay())  # type: ignore[attr-defined]
    hub.hub_of = FolderHub
    if calls is not None:
        calls.install()
    status = main(words)
    if calls is not None:
        calls.busy = True
    return status


def _import_early(words: Iterable[str]) -> None:
    """Imports everything that a run imports, and reads the help texts once, so that the forked processes need not."""
    import encodings.utf_8_sig  # noqa: F401

    import numpy.ma  # noqa: F401

    import config.foreign.experiments
    import framework.commands.train
    import framework.commands.tune  # noqa: F401
    from config.read.loader import load
    from framework.assemble import build
    from framework.assemble import fit as compatibility
    from framework.catalog import ALGOS, ENVS
    from framework.commands.work import entry, train  # noqa: F401
    from framework.distributed import launch  # noqa: F401
    from tests.tools import fake_ray  # noqa: F401

    config = load(None, words, find_algo=ALGOS, find_env=ENVS)
    compatibility.check(config)
    build.make_loggers(config)
    env = build.make_env(config, 1)
    build.make_agent(config, build.env_spec(config, env), 1, build.device_of(config))
    env.close()
    config.to_yaml()
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy the pages of all objects of this one


EVALUATION_CURVE = b"train_online_eval_reward"
"""Name of the curve of evaluations in the files of TensorBoard."""


def end_of(run: Path) -> End:
    """What a run leaves that must not depend on faults: rows, weights, optimizer, streams, tapes, curves."""

    def manifest(name: str) -> Any:
        return json.loads((run / "models" / name / "manifest.json").read_text().splitlines()[0])

    newest = manifest(str(CheckpointStore(run / "models").numbers()[-1]))
    tree = newest["tree"]["$dict"]
    counted = {name: tree[name] for name in ("count", "evaluated", "reached", "saved", "point")}
    iteration = {name: value for name, value in tree["iteration"]["$dict"].items() if name != "began"}
    names = ("train.csv", "progress.csv", "trajs.pkl")
    files = {name: (run / "results" / name) for name in names}
    evaluations = _rows_of_csv(run / "results" / "eval.csv")
    marked = [row["update"] for row in evaluations if row.pop("best") == "1"]
    best = manifest("best")["facts"] if (run / "models" / "best").exists() else None
    assert best is None or not evaluations or str(best["update"]) in marked, f"{best}, {evaluations}"
    traces = sorted((run / "results" / "traces").glob("*.json"))
    points = {group: list(_points(run / "tb_logs" / group)) for group in ("interact", "model")}
    report = run / "report.html"
    assert not report.exists() or report.read_text(encoding="utf-8").rstrip().endswith("</html>")
    return {
        **{name: path.read_bytes() if path.exists() else None for name, path in files.items()},
        "eval.csv": evaluations,
        "marks of the best": marked,
        "counts": counted,
        "score": (tree["best"], tree["best_update"]),
        "iteration": iteration,
        "arrays": newest["state_sha256"],
        "best": best,
        "iterations in result.json": [row["iteration"] for row in _rows(run / "results" / "result.json")],
        "traces": [path.read_bytes() for path in traces],
        "curves": {group: [point for point in of if EVALUATION_CURVE not in point] for group, of in points.items()},
        "evaluations": [point for of in points.values() for point in of if EVALUATION_CURVE in point],
    }


def _rows_of_csv(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _warnings(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    return "".join(line for line in lines if " WARNING " in line)


def _tensors(path: Path) -> Any:
    """The content of a file of safetensors, whose metadata have no fixed order."""
    if path.suffix != ".safetensors":
        return None
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return file.metadata(), {name: file.get_tensor(name).tolist() for name in file.keys()}  # noqa: SIM118


def _runs_end(run: Path) -> End:
    return end_of(run) if CheckpointStore(run / "models").numbers() else {}


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _points(folder: Path) -> Iterator[bytes]:
    """Events of TensorBoard's files but for their times, and what is written at the beginning of each session."""
    for path in sorted(folder.glob("events.*")):
        data, place = path.read_bytes(), 0
        while place < len(data):
            length = int.from_bytes(data[place : place + 8], "little")
            event = data[place + 12 : place + 12 + length]
            if len(event) < length:
                yield b"an event that is cut off"
                break
            place += 16 + length
            if not any(word in event for word in (b"brain.Event", b"settings/", b"_hparams_", b"steps_per_second")):
                yield event[9:]


class Counts(NamedTuple):
    """A row of the table of a stress run."""

    fault: str
    tried: int
    lost: int
    continued: int
    """Number of those that have left what no other one has, and of errors: each was continued."""


def tried(
    name: str, kinds: Iterable[str], every: int = 1, first: int = 1, until: float = float("inf")
) -> Iterator[Counts | str]:
    """Tries the faults of a scenario. Yields what is wrong with each that costs something, and the counts of each
    kind. until: time on the monotonic clock after which no further one is tried."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(name, Path(folder))
        for kind in kinds:
            count = lost = 0
            before = len(experiment.answers)
            for state in experiment.states(kind)[first - 1 :: every]:
                if time.monotonic() > until:
                    break
                count += 1
                if wrong := experiment.trial(state):
                    lost += 1
                    yield f"{name}: {kind} at call {state.at}, {state.call}: {wrong}"
            continued = count if kind == "error" else len(experiment.answers) - before
            yield Counts(f"{name}: {kind}", count, lost, continued)
