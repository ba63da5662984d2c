"""Command evaluate: plays a saved model, prints its score in one line, and changes nothing in its task directory."""

import json
import os
from argparse import Namespace
from pathlib import Path

from config.read.loader import RunConfig
from config.read.paths import as_written, fixed
from config.tell.language import tr
from framework.assemble.identity import with_seed
from framework.disk.atomic import write_whole
from framework.errors import JoystickError
from framework.loop.evaluator import Evaluation
from framework.runs.model import opened
from framework.runs.signals import StopSignals
from framework.screen.formatting import listed, scored
from framework.screen.terminal import fitted


def run(config: RunConfig, request: Namespace, signals: StopSignals) -> int:
    """Plays whole episodes: this many, or as many as make at least this many steps. Returns the exit status."""
    out = new_file("--out", request.out, config, of_lines=True)
    config = with_seed(config).of_evaluation()
    cfg = config.general
    with opened(config) as model:
        episodes = 0 if request.steps else cfg.max_episode
        evaluation = model.evaluator(config, signals.check).play(model.agent, episodes, steps=request.steps or 0)
    if out is not None:
        write_whole(out, lines(evaluation).encode())
    if model.note:
        print(model.note)
    taken = sum(episode.length for episode in evaluation.episodes)
    returns = f" ({listed(its)})" if (its := evaluation.metrics()) else ""
    text = f"{as_written(model.saved.path)}: {scored(evaluation.facts())}{returns}"
    print(fitted(tr("{score}, {taken:,} steps", score=text, taken=taken)))
    if endless := evaluation.endless():
        print(fitted(endless))
    return 0


def new_file(flag: str, name: str | None, config: RunConfig, of_lines: bool = False) -> Path | None:
    """Returns the file that a flag names; None without it. Raises JoystickError if it exists, or cannot be written.
    of_lines: True for lines of JSON."""
    if not name:
        return None
    file = fixed(Path(name), config.start)
    check_place(flag, file, config.task)
    if of_lines:
        _check_lines(flag, file)
    check_new_file(flag, file)
    return file


def _check_lines(flag: str, file: Path) -> None:
    """Raises JoystickError if a file of JSON lines would have the ending of another format, such as rollouts.pkl."""
    if file.suffix not in ("", ".jsonl", ".json", ".ndjson", ".txt", ".log"):
        raise JoystickError(
            "{flag}: {path} would have lines of JSON; name it {instead}. A run has trajectories with "
            "general_cfg.collect_traj=true, and `convert` writes them in other formats",
            flag=flag,
            path=as_written(file),
            instead=file.with_suffix(".jsonl").name,
        )


def check_place(flag: str, out: Path, task: Path | None) -> None:
    """Raises JoystickError if the file that a flag names cannot be written, or would replace another one."""
    if out.is_dir():
        raise JoystickError("{flag}: {path} is a folder; name a file", flag=flag, path=as_written(out))
    if not out.parent.is_dir():
        raise JoystickError("{flag}: the folder {folder} does not exist", flag=flag, folder=as_written(out).parent)
    if task is not None and out.resolve().is_relative_to(task.resolve()):
        raise JoystickError(
            "{flag}: {path} is inside the task directory, which is not changed; name another place",
            flag=flag,
            path=as_written(out),
        )


def check_new_file(flag: str, file: Path) -> None:
    """Raises JoystickError if a file that a flag names exists."""
    if os.path.lexists(file):
        raise JoystickError("{path} exists; {flag} names another file", path=as_written(file), flag=flag)


def lines(evaluation: Evaluation) -> str:
    """Returns a line of JSON for each episode."""
    return "".join(
        json.dumps(
            {
                "episode": number,
                "seed": episode.seed,
                "return": episode.total,
                "length": episode.length,
                "terminated": episode.terminated,
                **episode.metrics,
            }
        )
        + "\n"
        for number, episode in enumerate(evaluation.episodes, start=1)
    )
