"""Counts how many files of another library can be used here.

python -m tests.tools.foreign FOLDER [--jobs N] [--train N] [--list] [--test-presets-as-training] [--name GLOB]

Each file is checked with `--yaml FILE --dry-run`, or with the command that the message about it names, such as
`tune -f FILE`. One that is refused is converted with `convert FILE`, and the new file is checked.
"""

import argparse
import contextlib
import io
import multiprocessing
import os
import re
import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
ENDINGS = (".yaml", ".yml")
MOST_SECONDS = 180
"""Time for one command without training."""
ABSENT = re.compile(r"(?:^|[:.] ?)(?:algo_name|env_name|id|run|env): ")
"""Part of a refusal that is about the algorithm or the environment."""
TOO_LARGE = re.compile(r"this machine has [\d,.]+ [MG]iB free|has [\d,]+ MiB free; try fewer")
LOADS, CONVERTS, REFUSED, LARGE = "loads", "loads when converted", "refused", "too large for this machine"


class Outcome(NamedTuple):
    """The outcome of a check of a file."""

    file: str
    kind: str
    command: str
    """Words of the command that took the file, or the last one that refused it."""
    text: str
    """Text of the last command on the error stream."""

    def problems(self) -> list[str]:
        """Returns the lines with what is wrong, without their places."""
        lines = [
            line for line in self.text.splitlines() if line and not line.startswith(("Nothing was started", "See: "))
        ]
        if "Nothing was started" not in self.text:  # it was understood, and could not be built
            lines = [line for line in lines if line.startswith("error: ")] or lines[-1:]
        return [_reason(line, self.file) for line in lines] or ["nothing is said"]

    @property
    def absent(self) -> bool:
        """True if the algorithm or the environment does not exist here."""
        return self.kind == REFUSED and any(ABSENT.search(problem) for problem in self.problems())


def main(argv: Sequence[str] | None = None) -> int:
    request = _parser().parse_args(argv)
    files = sorted(path.resolve() for path in request.folder.rglob(request.name) if path.suffix in ENDINGS)
    tasks = [(path, request.test_presets_as_training, request.train) for path in files]
    outcomes: list[Outcome] = []
    with multiprocessing.get_context("spawn").Pool(request.jobs, maxtasksperchild=40) as pool:
        for outcome in pool.imap(_outcome, tasks):
            outcomes.append(outcome)
            if request.list:
                print(_line(outcome, request.folder.resolve()), flush=True)
    print("\n".join(_summary(outcomes)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="files at once")
    parser.add_argument("--train", type=int, default=0, metavar="N", help="train N steps with each file that loads")
    parser.add_argument("--list", action="store_true", help="a line for each file")
    parser.add_argument("--name", default="*", metavar="GLOB", help="files of these names only, such as '*ppo*'")
    parser.add_argument(
        "--test-presets-as-training",
        action="store_true",
        help="files for a test train, without the run that they load, which nobody has",
    )
    return parser


def _line(outcome: Outcome, folder: Path) -> str:
    name = Path(outcome.file).relative_to(folder)
    return f"{name}: {outcome.kind} ({'; '.join(outcome.problems()) if outcome.kind == REFUSED else outcome.command})"


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yields the counts, and the reasons of refusals by frequency."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    absent = sum(outcome.absent for outcome in outcomes)
    yield f"{len(outcomes)} files; algorithm and environment exist here: {len(outcomes) - absent}"
    for kind in (LOADS, CONVERTS, LARGE, REFUSED):
        yield f"{kinds[kind]:6} {kind}"
    usable = kinds[LOADS] + kinds[CONVERTS] + kinds[LARGE]
    yield f"{100 * usable / max(1, len(outcomes) - absent):6.1f} % of those whose algorithm and environment exist here"
    for title, which in (("algorithm or environment", True), ("other", False)):
        refused = [outcome for outcome in outcomes if outcome.kind == REFUSED and outcome.absent is which]
        reasons = Counter(reason for outcome in refused for reason in dict.fromkeys(outcome.problems()))
        yield f"\nreasons of {len(refused)} refusals: {title}"
        yield from (f"{count:6} {reason}" for reason, count in reasons.most_common())


def _reason(line: str, file: str) -> str:
    """Returns a problem without file, line, and name of the experiment."""
    text = re.sub(rf"{re.escape(file)}(?::\d+)?", "FILE", line)
    return re.sub(r"^FILE: (?:[^ :]*\.config\.)?", "", text)[:200]


# ------------------------------------------------------------------------------------------------ in a process


def _outcome(task: tuple[Path, bool, int]) -> Outcome:
    """Checks one file in a folder of its own."""
    path, as_training, steps = task
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return _checked(path, as_training, steps, Path(folder))
        finally:
            os.chdir(ROOT)


def _checked(path: Path, as_training: bool, steps: int, folder: Path) -> Outcome:
    file = _for_training(path, folder / f"as_training_{path.name}") if as_training else path
    words = ["--yaml", str(file)]
    status, text = _run([*words, "--dry-run"])
    if status and (other := _named_command(text, file)):
        words = [_algorithm_of(path) if word == "NAME" else word for word in other]
        status, text = _run([*words, "--dry-run"])
    kind = LOADS
    if status and TOO_LARGE.search(text):
        return Outcome(str(path), LARGE, shlex.join(words), text)
    if status:
        kind, new = CONVERTS, folder / f"new_{path.name}"
        converting, told, said = _captured(["convert", str(file)])
        new.write_text(told, encoding="utf-8")
        if as_training:
            new = _for_training(new, new)
        converted, said = (converting, said) if converting else _run(["--yaml", str(new), "--dry-run"])
        if converted:
            return Outcome(str(path), REFUSED, shlex.join(words), text.replace(str(file), str(path)))
        words = ["--yaml", str(new)]
    if steps and words[0] != "tune":
        status, text = _run([*words, f"general_cfg.max_total_step={steps}", "general_cfg.mp_backend=single"])
        if status:
            return Outcome(str(path), REFUSED, shlex.join(words), f"{file}: training ended: {text.strip()[-150:]}")
    return Outcome(str(path), kind, shlex.join(words), text)


def _named_command(text: str, file: Path) -> list[str]:
    """Returns the words of the command with this file that a message names; none if it names none."""
    start = r"(?:python main\.py|joystick) "
    command = re.search(rf"{start}((?:[^;,\n]*? )?{re.escape(str(file))}(?: --\w+ [^ ;,\n]+)*)", text)
    words = shlex.split(command[1]) if command else []
    return words if words and words[0] != "convert" else []


def _algorithm_of(path: Path) -> str:
    """Returns the algorithm that the name of a file has in it, in capitals as RLlib writes them."""
    known = ("APPO", "DDPG", "IMPALA", "A2C", "DQN", "PPO", "SAC", "TD3", "ES", "ARS")
    return next((name for name in known if name in re.split(r"[^A-Z0-9]", path.stem)), "NAME")


def _for_training(path: Path, target: Path) -> Path:
    """Writes a copy of a file that trains from the start."""
    text = path.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"(?m)^(\s+mode\s*:\s*)\S+", r"\1train", text)
    text = re.sub(r"(?m)^(\s+load_checkpoint\s*:\s*)\S+", r"\1false", text)
    target.write_text(text, encoding="utf-8")
    return target


def _run(words: Sequence[str]) -> tuple[int, str]:
    """Returns the exit status of a command, and its error stream."""
    status, _, text = _captured(words)
    return status, text


def _captured(words: Sequence[str]) -> tuple[int, str, str]:
    """Returns the exit status of a command, and what it printed on both streams."""
    from main import main as command

    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(MOST_SECONDS)
    out, err = io.StringIO(), io.StringIO()
    status: Any = 1
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = command(list(words))
            except SystemExit as error:
                status = error.code
    except BaseException as error:  # what it is shall be counted, too
        err.write(f"\n{type(error).__name__}: {error}")
        status = 1
    finally:
        signal.alarm(0)
    return int(status or 0), out.getvalue(), err.getvalue()


def _too_long(*_: object) -> None:
    raise TimeoutError(f"a command took more than {MOST_SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
