"""The command line: words in, a request out. A word that is not understood is answered with the nearest one."""

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from config.nearest import did_you_mean

COMMANDS = ("list", "describe", "schema")

_EXAMPLES = """\
examples:
  python main.py                                  DQN on CartPole-v1
  python main.py --yaml my.yaml algo_cfg.lr=3e-4
  python main.py --algo PPO --env Acrobot-v1
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
    request = parser.words(argv)
    for word in request.overrides:
        if "=" not in word:
            parser.error(f"{word!r} is neither a command nor section.key=value{did_you_mean(word, COMMANDS)}")
    if request.resume and (request.algo or request.env):
        parser.error("--resume goes on with the run's own algorithm and environment; leave out --algo and --env")
    return request


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
    parser.add_argument("--yaml", metavar="FILE", help="settings of the run")
    parser.add_argument("--algo", metavar="NAME", help="algorithm; without --yaml, with the nearest preset")
    parser.add_argument("--env", metavar="ID", help="environment; without --yaml, with the nearest preset")
    parser.add_argument("--resume", metavar="TASK", help="go on with a training run: a folder under tasks/")
    parser.add_argument(
        "--allow-import", metavar="PKG", action="append", default=[], help="let the settings name code of this package"
    )
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
