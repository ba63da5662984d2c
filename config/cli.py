"""The command line: words in, a request out. A word that is not understood is answered with the nearest one."""

import argparse
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from config.names import did_you_mean

COMMANDS = ("list", "describe", "schema")
MOST_SEEDS = 1000
"""Of one range; more can only be a slip of the finger."""

TWICE = (
    ("seeds", "general_cfg.seed", "seed"),
    ("algo", "general_cfg.algo_name", "algorithm"),
    ("env", "env_cfg.id", "environment"),
)
"""Flag, the setting that says the same, and what both say."""

_EXAMPLES = """\
examples:
  python main.py                                  DQN on CartPole-v1
  python main.py --yaml my.yaml algo_cfg.lr=3e-4
  python main.py --algo PPO --env Acrobot-v1
  python main.py --algo PPO --seeds 1..5          five runs, one figure
  python main.py --resume Train_CartPole-v1_DQN_20260131-101500

other commands:
  python main.py list algos|envs|presets          what there is
  python main.py describe ALGO|ENV|general|all    settings and their help
  python main.py schema > joystick.schema.json    for editors; first line of
    a YAML file: # yaml-language-server: $schema=joystick.schema.json
"""


def version() -> str:
    """The version in pyproject.toml, its only home."""
    project = Path(__file__).parent.parent / "pyproject.toml"
    return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


class _Parser(argparse.ArgumentParser):
    """argparse with the nearest name in its complaints."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{message}\nSee: python main.py --help\n")

    def words(self, argv: Sequence[str]) -> argparse.Namespace:
        request, unknown = self.parse_known_intermixed_args(argv)
        if unknown and not unknown[0].startswith("-"):
            self.error(f"{unknown[0]!r} is a word too many")
        if unknown:
            self.error(f"unknown flag {unknown[0]}{did_you_mean(unknown[0].partition('=')[0], self.flags())}")
        return request

    def flags(self) -> list[str]:
        return [flag for action in self._actions for flag in action.option_strings]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """`command` is run, list, describe or schema; the rest follows from it."""
    if argv and argv[0] in COMMANDS:
        return _lookup(argv)
    parser = _run_parser()
    request = parser.words(list(_with_seeds_joined(argv)))
    for word in request.overrides:
        if "=" not in word:
            parser.error(f"{word!r} is neither a command nor section.key=value{did_you_mean(word, COMMANDS)}")
    for problem in _contradictions(request):
        parser.error(problem)
    if request.seeds:
        request.overrides.append(f"general_cfg.seed={request.seeds[0]}")  # what is checked or shown is the first run
    return request


def _with_seeds_joined(argv: Sequence[str]) -> Iterator[str]:
    """--seeds -1..2 as --seeds=-1..2: argparse takes a word with a minus for a flag, and would not show it to seeds."""
    words = iter(argv)
    for word in words:
        following = next(words, None) if word == "--seeds" else None
        if following is None:
            yield word
        elif following[:1] == "-" and following[1:2].isdecimal():
            yield f"{word}={following}"
        else:
            yield from (word, following)


def _contradictions(request: argparse.Namespace) -> Iterator[str]:
    """Flags that cannot stand together."""
    if request.resume and (request.algo or request.env):
        yield "--resume goes on with the run's own algorithm and environment; leave out --algo and --env"
    if request.resume and request.into:
        yield "--resume goes on in the run's own folder; leave out --into"
    if request.resume and request.seeds:
        yield "--resume goes on with one run, and --seeds begins several; leave one of them out"
    keys = {word.partition("=")[0].strip() for word in request.overrides}
    for flag, key, what in TWICE:
        if getattr(request, flag) and key in keys:
            yield f"--{flag} and {key} both say the {what}; leave one of them out"
    if request.jobs and not request.seeds:
        yield "--jobs limits how many runs of --seeds go on at once; without --seeds there is one"


def seeds(text: str) -> tuple[int, ...]:
    """1..5, a list such as 1,2,7, or both: 1..3,7."""
    found: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if not all(number.isascii() and number.isdecimal() for number in (first, last or first)) or (dots and not last):
            raise argparse.ArgumentTypeError(f"{part.strip()!r} is no seed; write 1..5, or a list such as 1,2,7")
        low, high = int(first), int(last or first)
        if low > high:
            raise argparse.ArgumentTypeError(f"{part.strip()} counts down; write {high}..{low}")
        if high - low >= MOST_SEEDS:
            raise argparse.ArgumentTypeError(f"{part.strip()} is more than {MOST_SEEDS} runs")
        found += range(low, high + 1)
    if 0 in found or max(found) >= 2**63:
        raise argparse.ArgumentTypeError("a seed is a number from 1 to 2**63 - 1 (0 would draw one)")
    if twice := next((seed for seed in found if found.count(seed) > 1), None):
        raise argparse.ArgumentTypeError(f"{twice} is there twice; two runs with one seed are the same run")
    return tuple(found)


def _said(text: str) -> str:
    """A shell's variable that is not set is no wish for the default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("nothing was given; name something, or leave the flag out")
    return text


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs; write 1 or more")
    return int(text)


def _run_parser() -> _Parser:
    parser = _Parser(
        prog="python main.py",
        usage="python main.py [--yaml FILE] [options] [section.key=value ...]",
        description="Train or test a reinforcement learning agent. Settings come from the Python defaults, then the "
        "YAML file, then section.key=value; sections are general_cfg, algo_cfg and env_cfg.",
        epilog=_EXAMPLES,
        formatter_class=lambda prog: _Help(prog, width=79),
        allow_abbrev=False,
    )
    parser.set_defaults(command="run")
    parser.add_argument("--yaml", metavar="FILE", type=_said, help="settings of the run")
    parser.add_argument("--algo", metavar="NAME", type=_said, help="algorithm; without --yaml, with the nearest preset")
    parser.add_argument("--env", metavar="ID", type=_said, help="environment; without --yaml, with the nearest preset")
    parser.add_argument("--resume", metavar="TASK", type=_said, help="go on with a training run: a folder under tasks/")
    parser.add_argument("--seeds", metavar="1..5", type=seeds, help="a run for each of these seeds, side by side")
    parser.add_argument("--jobs", metavar="N", type=_jobs, help="with --seeds: so many at once (default: by the cores)")
    parser.add_argument("--into", metavar="FOLDER", type=_said, help="a new folder to write to, in place of tasks/NAME")
    parser.add_argument(
        "--allow-import", metavar="PKG", type=_said, action="append", default=[],
        help="let the settings name code of this package",
    )  # fmt: skip
    parser.add_argument("--print-config", action="store_true", help="show all settings as YAML, and stop")
    parser.add_argument("--dry-run", action="store_true", help="check and build everything, train nothing")
    parser.add_argument("--version", action="version", version=f"Joystick {version()}")
    parser.add_argument("overrides", nargs="*", metavar="section.key=value", help="a setting, such as algo_cfg.lr=3e-4")
    return parser


class _Help(argparse.RawDescriptionHelpFormatter):
    """Examples keep their lines; the description is filled."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text == _EXAMPLES:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def _lookup(argv: Sequence[str]) -> argparse.Namespace:
    """list, describe, schema."""
    parser = _Parser(prog=f"python main.py {argv[0]}", allow_abbrev=False)
    parser.set_defaults(command=argv[0])
    if argv[0] == "list":
        parser.add_argument("what", metavar="algos|envs|presets")
    elif argv[0] == "describe":
        parser.add_argument("what", metavar="ALGO|ENV|general|all")
    request = parser.words(argv[1:])
    kinds = ("algos", "envs", "presets")
    if argv[0] == "list" and request.what not in kinds:
        parser.error(f"nothing to list under {request.what!r}{did_you_mean(request.what, kinds)}")
    return request
