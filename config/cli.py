"""The command line: words in, a request out. A word that is not understood is answered with the nearest one."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from config import bench_words
from config.names import did_you_mean, printable
from config.program import PROGRAM, version

LOOKUPS = ("list", "describe", "schema", "convert")
COMMANDS = ("bench", *LOOKUPS)
KINDS = ("algos", "envs", "presets", "tasks")
MOST_SEEDS = 1000
"""Number of seeds in one range; more can only be a typing mistake."""

TWICE = (
    ("seeds", "general_cfg.seed", "seed"),
    ("algo", "general_cfg.algo_name", "algorithm"),
    ("env", "env_cfg.id", "environment"),
    ("test", "general_cfg.load_path", "run"),
    ("video", "env_cfg.render_mode", "rendering"),
)
"""Flag, the setting that means the same, and what both name."""

_INSTEAD = {
    "play": "--test NAME --video", "eval": "--test NAME", "evaluate": "--test NAME", "enjoy": "--test NAME --video",
    "render": "--video", "train": "no flag: a run trains unless --test is given", "config": "--yaml FILE",
    "file": "--yaml FILE", "name": "--into FOLDER", "output": "--into FOLDER", "load": "--resume NAME or --test NAME",
}  # fmt: skip
"""Flags of other programs, and what to type here."""

_EXAMPLES = """\
examples:
  python main.py                                  DQN on CartPole-v1
  python main.py --yaml my.yaml algo_cfg.lr=3e-4
  python main.py --algo PPO --env Acrobot-v1
  python main.py --algo PPO --seeds 1..5          five runs, one figure
  python main.py --resume Train_CartPole-v1_DQN_20260131-101500
  python main.py --test Train_CartPole-v1_DQN_20260131-101500 --video

other commands:
  python main.py list algos|envs|presets|tasks    what there is
  python main.py describe TOPIC                   settings and their help: an
    algorithm, environment, setting, layer, wrapper, general, or all
  python main.py bench --env E --workers 0,1,2 --envs 1,4 [--seconds 5]
                                                  steps/s with your settings
  python main.py convert OLD.yaml > NEW.yaml      a JoyRL file, for use here
  python main.py schema > joystick.schema.json    for editors; first line of
    a YAML file: # yaml-language-server: $schema=joystick.schema.json
"""

SettingOf = Callable[[str], str | None]
"""Returns section.key for the name of a setting, or None."""


class _Version(argparse.Action):
    """Prints the version and exits; reads it only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"Joystick {version()}")
        parser.exit()


class _Once(argparse.Action):
    """Stores a value; refuses a second one, which would replace the first without a word."""

    def __call__(self, parser: argparse.ArgumentParser, request: argparse.Namespace, value: Any, *_: Any) -> None:
        if getattr(request, self.dest) not in (None, ()):
            parser.error(f"{self.option_strings[0]} is given twice; give it once")
        setattr(request, self.dest, value)


class _Parser(argparse.ArgumentParser):
    """argparse with the nearest name in its error messages."""

    setting_of: SettingOf = staticmethod(lambda name: None)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Prints help and errors; every text of this file names the program `python main.py`."""
        super()._print_message(message.replace("python main.py", PROGRAM), file)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{printable(message)}\nSee: python main.py --help\n")

    def words(self, argv: Sequence[str]) -> argparse.Namespace:
        request, unknown = self.parse_known_intermixed_args(argv)
        if unknown and not unknown[0].startswith("-"):
            self.error(f"unexpected argument {unknown[0]!r}")
        if unknown:
            after = argv[argv.index(unknown[0]) + 1 :] if unknown[0] in argv else []
            self.error(f"unknown flag {unknown[0]}{self.flag_hint(unknown[0], after[:1])}")
        return request

    def flag_hint(self, flag: str, after: Sequence[str]) -> str:
        """Returns the end of a sentence: what to type in place of an unknown flag."""
        name, _, value = flag.partition("=")
        word = name.lstrip("-").replace("-", "_")
        if word in _INSTEAD:
            return f"; use {_INSTEAD[word]}"
        given = value or next(iter(after), "VALUE")
        if (path := self.setting_of(word)) and not (word == "seed" and not given.isdecimal()):
            return f"; a setting is written {path}={given}"
        return did_you_mean(name, [option for action in self._actions for option in action.option_strings])


def parse(argv: Sequence[str], setting_of: SettingOf = lambda name: None) -> argparse.Namespace:
    """Returns the request; its `command` is run or one of COMMANDS."""
    first = _behind_permissions(argv)
    command = next(iter(argv[first : first + 1]), "")
    rest = [*argv[:first], *argv[first + (command in COMMANDS) :]]
    if command in LOOKUPS:
        return _lookup(command, rest)
    parser = _run_parser()
    if command == "bench":
        bench_words.add_flags(parser)
    parser.setting_of = setting_of
    request = parser.words(list(_with_seeds_joined(rest)))
    for place, word in enumerate(request.overrides):
        after = request.overrides[place + 1 :]
        if "=" not in word or word.startswith("=") or (word.endswith("=") and after and "=" not in after[0]):
            parser.error(_not_a_setting(word, after, setting_of))
    measured = bench_words.problems(request) if command == "bench" else ()
    for problem in (*measured, *_contradictions(request)):
        parser.error(problem)
    if request.seeds:
        request.overrides.append(f"general_cfg.seed={request.seeds[0]}")  # what is checked or shown is the first run
    return request


def _behind_permissions(argv: Sequence[str]) -> int:
    """Returns the index of the first word that is not part of --allow-import."""
    place = 0
    while argv[place : place + 1] and argv[place].startswith("--allow-import"):
        place += 1 if "=" in argv[place] else 2
    return place


def _not_a_setting(word: str, after: Sequence[str], setting_of: SettingOf) -> str:
    """Returns what is wrong with a word that is neither a flag nor a setting, and what to type."""
    if word.lower().endswith((".yaml", ".yml")):
        return f"{word!r}: a file is given as --yaml {word}"
    if word == "test":
        return "to test a model: --test NAME"
    if word in ("train", "run"):
        return f"{word!r} is not needed: python main.py [--yaml FILE] trains"
    if word.endswith("=") or (after and after[0].startswith("=")):
        value = next((other.lstrip("=") for other in after if other != "="), "VALUE")
        return f"no blanks around the =; write {word.rstrip('=')}={value}"
    if path := word if "." in word else setting_of(word):
        return f"{word!r} has no value; write {path}={next(iter(after), 'VALUE')}"
    return f"{word!r} is neither a command nor section.key=value{did_you_mean(word, COMMANDS)}"


def _with_seeds_joined(argv: Sequence[str]) -> Iterator[str]:
    """Yields --seeds -1..2 as --seeds=-1..2; argparse would take -1..2 for a flag."""
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
    """Yields what is wrong with flags that exclude one another."""
    if request.resume and (request.algo or request.env):
        yield "--resume keeps the run's own algorithm and environment; leave out --algo and --env"
    if request.resume and request.into:
        yield "--resume continues in the run's own folder; leave out --into"
    if request.resume and request.seeds:
        yield "--resume continues one run, and --seeds starts several; leave one of them out"
    if request.test and (request.resume or request.seeds or request.algo):
        yield "--test plays the model of one run; leave out --resume, --seeds and --algo"
    keys = {word.partition("=")[0].strip() for word in request.overrides}
    for flag, key, what in TWICE:
        if getattr(request, flag) and key in keys:
            yield f"--{flag} and {key} both set the {what}; leave one of them out"
    if request.jobs and not request.seeds:
        yield "--jobs limits how many runs of --seeds are active at once; it needs --seeds"


def seeds(text: str) -> tuple[int, ...]:
    """Returns the seeds in 1..5, in a list such as 1,2,7, or in both: 1..3,7."""
    found: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if not all(number.isascii() and number.isdecimal() for number in (first, last or first)) or (dots and not last):
            raise argparse.ArgumentTypeError(f"invalid seed {part.strip()!r}: use 1..5, or a list such as 1,2,7")
        low, high = int(first), int(last or first)
        if low > high:
            raise argparse.ArgumentTypeError(f"empty range {part.strip()}: use {high}..{low}")
        if high - low >= MOST_SEEDS:
            raise argparse.ArgumentTypeError(f"{part.strip()} is more than {MOST_SEEDS} runs")
        found += range(low, high + 1)
    if 0 in found or max(found) >= 2**63:
        raise argparse.ArgumentTypeError("a seed is a number from 1 to 2**63 - 1 (0 would draw one)")
    if twice := next((seed for seed in found if found.count(seed) > 1), None):
        raise argparse.ArgumentTypeError(f"{twice} is listed twice; two runs with one seed are the same run")
    return tuple(found)


def _text(text: str) -> str:
    """Refuses empty text: an unset shell variable does not ask for the default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("nothing was given; give a value, or leave the flag out")
    return text


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"invalid number of runs {text!r}: use 1 or more")
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

    def one(flag: str, metavar: str, help_text: str, kind: Callable[[str], Any] = _text) -> None:
        parser.add_argument(flag, metavar=metavar, type=kind, action=_Once, help=help_text)

    one("--yaml", "FILE", "settings of the run")
    one("--algo", "NAME", "algorithm; without --yaml, with the nearest preset")
    one("--env", "ID", "environment; without --yaml, with the nearest preset")
    one("--resume", "TASK", "continue a training run: a folder under tasks/")
    one("--test", "TASK", "play and score the best model of a run")
    parser.add_argument("--video", action="store_true", help="record a video (env_cfg.render_mode=rgb_array)")
    one("--seeds", "1..5", "one run for each of these seeds, side by side", seeds)
    one("--jobs", "N", "with --seeds: number of runs at once (default: by cores)", _jobs)
    one("--into", "FOLDER", "a new folder to write to, instead of tasks/NAME")
    _add_permission(parser)
    parser.add_argument("--print-config", action="store_true", help="show all settings as YAML, and stop")
    parser.add_argument("--dry-run", action="store_true", help="check and build everything, train nothing")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version, and stop")
    parser.add_argument("overrides", nargs="*", metavar="section.key=value", help="a setting, such as algo_cfg.lr=3e-4")
    return parser


def _add_permission(parser: _Parser) -> None:
    parser.add_argument(
        "--allow-import", metavar="PKG", type=_text, action="append", default=[],
        help="let the settings name code of this package",
    )  # fmt: skip


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the lines of the examples and fills the description."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text == _EXAMPLES:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def _lookup(command: str, argv: Sequence[str]) -> argparse.Namespace:
    """Returns the request of a command that looks something up."""
    parser = _Parser(prog=f"python main.py {command}", allow_abbrev=False)
    parser.set_defaults(command=command)
    _add_permission(parser)
    if command == "list":
        parser.add_argument("what", metavar="|".join(KINDS), nargs="?")
        parser.add_argument("filter", metavar="TEXT", nargs="?", default="")
    elif command == "describe":
        parser.add_argument("what", metavar="TOPIC", nargs="?")
    elif command == "convert":
        parser.add_argument("file", metavar="OLD.yaml", type=_text)
    request = parser.words(argv)
    if command == "list" and request.what == "runs":
        request.what = "tasks"
    if command == "list" and request.what not in (None, *KINDS):
        parser.error(f"nothing to list under {request.what!r}{did_you_mean(request.what, KINDS)}")
    return request
