"""The command line: words in, a request out. A word that is not understood is answered with the nearest one."""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from config.foreign import flags as foreign_flags
from config.model import SECTIONS
from config.program import PROGRAM, version
from config.read import arguments
from config.tell.names import FULL_WIDTH, did_you_mean, full_width, halved, printable
from framework.commands import bench_words, contradictions, tune_words

WORDS = ("train", "test", "resume", "film", "evaluate", "rollout", "export", "talk")
"""Commands that play, train or export. All but train are followed by the name of a run. rollout is RLlib's word for
evaluate."""
LOOKUPS = ("runs", "watch", "compare", "list", "describe", "schema", "convert", "data", "doctor", "trust")
COMMANDS = (*WORDS, "bench", "tune", *LOOKUPS)
SETTINGS_ENDINGS = (".yaml", ".yml", ".json")
DATA_ENDINGS = (".pkl", ".npz", ".jsonl", ".gz", ".zst", ".minari")
KINDS = ("algos", "envs", "presets", "tasks")

_INSTEAD = {
    "play": "python main.py film NAME", "eval": "python main.py test NAME", "evaluate": "python main.py evaluate NAME",
    "enjoy": "python main.py film NAME", "film": "python main.py film NAME", "render": "--video",
    "train": "python main.py train", "file": "--yaml FILE", "name": "--into FOLDER", "output": "--into FOLDER",
    "resume_path": "python main.py resume NAME", "watch": "python main.py watch, or film NAME",
    "load": "python main.py resume NAME or test NAME", "checkpoint": "python main.py resume NAME or test NAME",
    "trained_agent": "python main.py resume NAME", "i": "python main.py resume NAME",
    "video_dir": "python main.py film NAME --into FOLDER", "use_shelve": "--out FILE.jsonl",
    "save_info": "--out FILE.jsonl", "track_progress": "nothing: progress is always shown",
    "local_mode": "general_cfg.mp_backend=single, the default",
    "params": "section.key=VALUE, such as algo_cfg.lr=0.001", "hyperparams": "section.key=VALUE, or --yaml FILE",
    "n_trials": "--samples N of python main.py tune --yaml FILE", "n_jobs": "--jobs N",
    "optimize": "python main.py tune --yaml FILE", "optimize_hyperparameters": "python main.py tune --yaml FILE",
    "no_render": "python main.py test NAME, which opens no window", "load_best": "python main.py test NAME",
    "load_checkpoint": "--model N, with test NAME", "load_last_checkpoint": "--model latest, with test NAME",
    "folder": "python main.py test NAME; python main.py runs lists the names",
    "exp_id": "python main.py test NAME; python main.py runs lists the names",
    "track": "general_cfg.loggers=[csv,tensorboard,wandb]; nothing is sent unless WANDB_MODE says so",
}  # fmt: skip
"""Flags of other programs, and what to type here."""
_LONG = {"n": "n_timesteps", "tb": "tensorboard_log", "conf": "conf_file", "P": "progress"}
"""Short flags of other programs -> their long form."""
_ELSEWHERE = {
    "help": "python main.py describe WHAT explains a setting, --help the commands",
    "play": "python main.py film NAME makes a video, talk NAME talks to it, and watch shows how it learns",
    "enjoy": "use python main.py film NAME", "eval": "use python main.py test NAME",
    "render": "use python main.py film NAME", "predict": "use python main.py test NAME",
    "optimize": "use python main.py tune --yaml FILE", "plot": "use python main.py watch, or compare RUN RUN",
    "learn": "use python main.py train", "fit": "use python main.py train", "rllib": "leave it out",
}  # fmt: skip
"""Commands of other programs, and what to type here."""

_EXAMPLES = """\
examples:
  python main.py                                  DQN on CartPole-v1
  python main.py --yaml my.yaml algo_cfg.lr=3e-4
  python main.py --algo PPO --env Acrobot-v1
  python main.py --algo PPO --seeds 1..5          five runs, one figure
  python main.py --algo PPO,DQN --seeds 1..5      two algorithms compared

with a run, by the name of its folder under tasks/:
  python main.py runs [TEXT] [--json]             list runs
  python main.py watch [FOLDER] [--port N] [--open]
                                                  see them train, in a browser
  python main.py resume NAME [section.key=value]  train it further
  python main.py test NAME                        play and score its best model
  python main.py film NAME [--episodes N] [--grid 3x3] [--worst]
                                                  the same, and make a video
  python main.py film NAME --episode N            an episode of the training
  python main.py compare RUN RUN ... [--at last] [--into FOLDER]
                                                  scores, curves, settings on
                                                  a page; groups of seeds, too
  python main.py evaluate NAME [--episodes N | --steps N] [--out FILE.jsonl]
                                                  score it, and write no folder
  python main.py rollout CHECKPOINT --run DQN --env ENV --steps N
                                                  the same for a checkpoint,
                                                  such as tasks/NAME/models/500
  python main.py export NAME --to onnx [--policy P] [--out FILE]
                                                  write its policy for other
                                                  programs; --to safetensors
  python main.py talk NAME [--record FILE]        talk to it, if it was trained
                                                  on dialogues

other commands:
  python main.py train ...                        the same without the word
  python main.py list algos|envs|presets|tasks    list algorithms, and so on
  python main.py describe TOPIC                   settings and their help: an
    algorithm, environment, setting, layer, wrapper, general, or all
  python main.py tune --yaml FILE [--samples N] [--jobs N] | --resume FOLDER
                                                  try settings, such as
    algo_cfg: {lr: {log: [1e-4, 1e-2]}, gamma: {grid: [0.9, 0.99]}}
  python main.py bench --env E --workers 0,1,2 --envs 1,4 [--seconds 5]
                                                  steps/s with your settings
  python main.py convert OLD.yaml > NEW.yaml      a JoyRL file, for use here
  python main.py convert ppo.yml --env ID > NEW.yaml
                                                  the same for hyperparameters
                                                  of rl-baselines3-zoo
  python main.py data DATA... [--env ID] [--json]
                                                  what collected data contain,
                                                  and if it fits an environment
  python main.py convert DATA NEW.npz             data in another format: .pkl,
    .npz, .jsonl, .jsonl.gz, .jsonl.zst, .minari
  python main.py doctor                           what a run needs here, and
                                                  how to mend what is missing
  python main.py trust [--forget [FOLDER]]        folders of own code that you
                                                  let settings name
  python main.py schema > joystick.schema.json    for editors; first line of
    a YAML file: # yaml-language-server: $schema=joystick.schema.json
"""

SettingOf = Callable[[str, str], tuple[str, str] | None]
"""Returns section.key for the name of a setting, preferably one of an algorithm, and a remark; several with blanks
between them where a name sets them all; None for others."""


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


class _Algorithm(_Once):
    """Stores the name of an algorithm, and with --run that it is one of RLlib's."""

    def __call__(self, parser: argparse.ArgumentParser, request: argparse.Namespace, value: Any, *more: Any) -> None:
        super().__call__(parser, request, value)
        request.of_rllib = more == ("--run",)


class _Parser(argparse.ArgumentParser):
    """argparse with the nearest name in its error messages."""

    setting_of: SettingOf = staticmethod(lambda name, algo: None)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Prints help and errors; every text of this file names the program `python main.py`."""
        super()._print_message(message.replace("python main.py", PROGRAM), file)

    def error(self, *messages: str) -> NoReturn:
        self.exit(2, "".join(f"{printable(message)}\n" for message in (*messages, "See: python main.py --help")))

    def words(self, argv: Sequence[str]) -> argparse.Namespace:
        request, unknown = self.parse_known_intermixed_args(argv)
        flags = [word for word in unknown if word.startswith("-") and not arguments.is_number(word)]
        if flags:
            algo = getattr(request, "algo", None) or "DQN"
            self.error(*(self.unknown_flag(flag, argv, algo) for flag in dict.fromkeys(flags)))
        if unknown:
            self.error(f"unexpected argument {unknown[0]!r}")
        return request

    def unknown_flag(self, flag: str, argv: Sequence[str], algo: str) -> str:
        """Returns a sentence about an unknown flag among the words of a command."""
        after = argv[argv.index(flag) + 1 :] if flag in argv else []
        return f"unknown flag {flag}{self.flag_hint(flag, after[:1], algo)}"

    def flag_hint(self, flag: str, after: Sequence[str], algo: str) -> str:
        """Returns the end of a sentence: what to type in place of an unknown flag."""
        name, _, value = flag.partition("=")
        word = name.lstrip("-").replace("-", "_")
        word = _LONG.get(word, word)
        if word in _INSTEAD:
            return f"; use {_INSTEAD[word]}"
        given = value or next((other for other in after if not other.startswith("--")), "VALUE")
        if (found := self.setting_of(word, algo)) and not (word == "seed" and not given.isdecimal()):
            path, remark = found
            if not path:
                return f"; {remark}"
            settings = " ".join(f"{part}={'VALUE' if remark else given}" for part in path.split())
            return f"; a setting is written {settings}{remark and f' ({remark})'}"
        options = (option for action in self._actions for option in action.option_strings)
        return did_you_mean(name, [option for option in options if len(option) > 2])


def parse(argv: Sequence[str], setting_of: SettingOf = lambda name, algo: None) -> argparse.Namespace:
    """Returns the request; its `command` is run, evaluate, export, talk, bench, tune or one of LOOKUPS."""
    first = _behind_permissions(argv)
    word = next(iter(argv[first : first + 1]), "")
    rest = [*argv[:first], *argv[first + (word in COMMANDS) :]]
    if word in LOOKUPS:
        return _lookup(word, rest)
    parser = _run_parser()
    if word == "bench":
        bench_words.add_flags(parser)
    if word == "tune":
        tune_words.add_flags(parser)
    parser.setting_of = setting_of
    request = parser.words(list(_with_seeds_joined(rest)))
    if word in WORDS[1:]:
        _take_name(parser, request, word)
    for place, override in enumerate(request.overrides):
        after = request.overrides[place + 1 :]
        if (
            "=" not in override
            or override.startswith("=")
            or (override.endswith("=") and after and "=" not in after[0])
        ):
            parser.error(_not_a_setting(override, after, setting_of))
    own = {"bench": bench_words.problems, "tune": tune_words.problems}.get(word, lambda request: ())
    for problem in (*own(request), *contradictions.found(request), *foreign_flags.problems(request)):
        parser.error(problem)
    request.abbreviated = foreign_flags.settings(request)
    if request.profile:
        request.abbreviated.append(("--profile", "general_cfg.profile", True))
    if request.seeds:
        request.overrides.append(f"general_cfg.seed={request.seeds[0]}")  # what is checked or shown is the first run
    return request


def _take_name(parser: _Parser, request: argparse.Namespace, word: str) -> None:
    """Reads `test NAME` as --test NAME, and so on: the name is the first word that is not a flag."""
    name = next(iter(request.overrides), "")
    if not name.strip() or name.partition(".")[0] in SECTIONS:
        parser.error(f"{word} needs the name of a run: python main.py {word} NAME; python main.py runs lists them")
    if request.test or request.resume:
        parser.error(f"{word} {name} names the run; leave out --test and --resume")
    del request.overrides[0]
    request.word = word
    name = _without_model(parser, request, name)
    setattr(request, "resume" if word == "resume" else "test", name)
    request.video = request.video or word == "film"
    if request.grid and not (request.worst or request.episodes):
        request.episodes = request.grid[0] * request.grid[1]
    if word in ("evaluate", "rollout", "export", "talk"):
        request.command = "evaluate" if word == "rollout" else word


def _without_model(parser: _Parser, request: argparse.Namespace, name: str) -> str:
    """Returns the run of a checkpoint's folder, and takes the number of the folder as its model; any other name is
    returned unchanged."""
    checkpoint = re.fullmatch(r"(.+)/models/(\d+|best|latest)/*", name)
    if not checkpoint or request.word == "resume":
        return name
    if request.model is not None:
        parser.error(f"{name} names a model, and --model another one; leave out --model")
    request.model = int(checkpoint[2]) if checkpoint[2].isdecimal() else checkpoint[2]
    return checkpoint[1]


def _behind_permissions(argv: Sequence[str]) -> int:
    """Returns the index of the first word that is not part of --allow-import."""
    place = 0
    while argv[place : place + 1] and argv[place].startswith("--allow-import"):
        place += 1 if "=" in argv[place] else 2
    return place


def _not_a_setting(word: str, after: Sequence[str], setting_of: SettingOf) -> str:
    """Returns what is wrong with a word that is neither a flag nor a setting, and what to type."""
    if mark := next((mark for mark in word if mark in FULL_WIDTH), None):
        plain = halved(word) if "=" in halved(word) else halved(word).replace(":", "=", 1)
        if "=" in plain or plain.startswith("-"):
            return f"{full_width(mark).partition(';')[0]}; write {plain}"
    if word.lower().endswith((".yaml", ".yml")):
        return f"{word!r}: a file is given as --yaml {word}"
    if word in COMMANDS:
        return f"{word!r} comes first: python main.py {word} ..."
    if word.endswith("=") or (after and after[0].startswith("=")):
        value = next((other.lstrip("=") for other in after if other != "="), "VALUE")
        return f"no blanks around the =; write {word.rstrip('=')}={value}"
    if path := word if "." in word else next(iter(setting_of(word, "") or ()), ""):
        settings = " ".join(f"{part}={next(iter(after), 'VALUE')}" for part in path.split())
        return f"{word!r} has no value; write {settings}"
    if word.lower() in _ELSEWHERE:
        told = _ELSEWHERE[word.lower()].replace("NAME", next(iter(after), "NAME"))
        return f"{word!r} is not a command here; {told.replace('WHAT', next(iter(after), 'TOPIC'))}"
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


def _run_parser() -> _Parser:
    parser = _Parser(
        prog="python main.py",
        usage="python main.py [command] [--yaml FILE] [options] [section.key=value ...]",
        description="Train or test a reinforcement learning agent. Settings come from the Python defaults, then the "
        "YAML file, then section.key=value; sections are general_cfg, algo_cfg and env_cfg, and "
        "policies_cfg for several agents.",
        epilog=_EXAMPLES,
        formatter_class=lambda prog: _Help(prog, width=79),
        allow_abbrev=False,
    )
    parser.set_defaults(command="run", word="")

    def one(flag: str, metavar: str, help_text: str, kind: Callable[[str], Any] = arguments.text) -> None:
        parser.add_argument(*flag.split(), metavar=metavar, type=kind, action=_Once, help=help_text)

    one("--yaml -f", "FILE", "settings of the run, or several experiments of RLlib")
    parser.set_defaults(of_rllib=False)
    parser.add_argument(
        "--algo",
        "--run",
        metavar="NAME",
        type=arguments.text,
        action=_Algorithm,
        help="algorithm; without --yaml, with the nearest preset. Several, as in PPO,DQN: a run for each",
    )
    one("--env", "ID", "environment, or my_env.py; without --yaml, with the nearest preset")
    one("--resume", "TASK", "the same as: resume TASK")
    one("--test", "TASK", "the same as: test TASK")
    parser.add_argument("--video", action="store_true", help="record a video (env_cfg.render_mode=rgb_array)")
    one("--model", "N", "with test, film, evaluate, export: best (default), latest, or an update", arguments.model)
    one("--episodes", "N", "with test, film, evaluate: number of episodes", arguments.count)
    parser.add_argument("--worst", action="store_true", help="with film: the episode with the lowest return")
    one("--grid", "3x3", "with film: rows and columns of episodes side by side", arguments.grid)
    one("--episode", "N", "with film: this episode of the training, from its trajectory", arguments.count)
    one("--steps", "N", "with evaluate: whole episodes, at least N steps", arguments.count)
    parser.add_argument("--no-render", action="store_true", help="with rollout: as always")
    one("--out", "FILE", "with evaluate: a file for a JSON line per episode; with export: the file")
    one("--to", "FORMAT", "with export: onnx or safetensors", arguments.text)
    one("--policy", "NAME", "with export: one of several policies")
    one("--record", "FILE", "with talk: a file for the dialogue")
    one("--seeds", "1..5", "one run for each of these seeds, side by side", arguments.seeds)
    one("--jobs", "N", "with --seeds, tune or several experiments: runs at once", arguments.count)
    one("--into", "FOLDER", "a new folder to write to, instead of tasks/NAME")
    one("--pause-at-step", "S", "train, or resume, to step S and save; the plan stays", arguments.count)
    parser.add_argument(
        "--no-evaluation", action="store_true", help="train, or resume, without an evaluation at the end or at a pause"
    )
    one("--config", "JSON", "settings by RLlib's names, or in our sections")
    one("--stop", "JSON", "RLlib's stop rules, such as {training_iteration: 9}")
    one("--checkpoint-freq", "N", "save every N iterations, as in RLlib", arguments.count_or_none)
    foreign_flags.add(parser)
    _add_permission(parser)
    parser.add_argument("--print-config", action="store_true", help="show all settings as YAML, and stop")
    parser.add_argument("--profile", action="store_true", help="show where the time of the training went")
    parser.add_argument("--dry-run", action="store_true", help="check and build everything, train nothing")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version, and stop")
    parser.add_argument("overrides", nargs="*", metavar="section.key=value", help="a setting, such as algo_cfg.lr=3e-4")
    return parser


def _add_permission(parser: _Parser) -> None:
    parser.add_argument(
        "--allow-import", metavar="PKG", type=arguments.module, action="append", default=[],
        help="let the settings name code of this package",
    )  # fmt: skip


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the lines of the examples and fills the description."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text == _EXAMPLES:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def _add_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """Adds what a command that looks something up takes."""
    match command:
        case "list":
            parser.add_argument("what", metavar="|".join(KINDS), nargs="?")
            parser.add_argument("filter", metavar="TEXT", nargs="?", default="")
        case "describe":
            parser.add_argument("what", metavar="TOPIC", nargs="?")
        case "convert":
            parser.add_argument("file", metavar="OLD.yaml|DATA", type=arguments.text)
            parser.add_argument(
                "target",
                metavar="NEW|NAME",
                type=arguments.text,
                nargs="?",
                help="data in another format; one of several experiments of RLlib",
            )
            which = "with hyperparameters of rl-baselines3-zoo: the {}"
            parser.add_argument("--env", metavar="ID", type=arguments.text, help=which.format("environment"))
            algo = which.format("algorithm, by default from the file's name")
            parser.add_argument("--algo", metavar="NAME", type=arguments.text, help=algo)
        case "data":
            what = "file, pattern such as 'data/*.npz', or task directory"
            parser.add_argument("data", metavar="DATA", type=arguments.text, nargs="+", help=what)
            parser.add_argument("--env", metavar="ID", type=arguments.text, help="compare with its spaces")
            parser.add_argument("--json", action="store_true", help="print JSON, with all that is known")
        case "compare":
            what = "name under tasks/, folder, group of --seeds, tuning, or a pattern such as 'Train_CartPole*'"
            parser.add_argument("runs", metavar="RUN", type=arguments.text, nargs="+", help=what)
            parser.add_argument(
                "--threshold", metavar="X", type=arguments.score, help="score to reach; by default a goal"
            )
            where = "scores at a step that all runs have come to (default), or their last ones"
            parser.add_argument(
                "--at", metavar="common|last", choices=arguments.COMPARED_AT, default="common", help=where
            )
            parser.add_argument(
                "--into", metavar="FOLDER", type=arguments.text, help="a new folder, instead of tasks/NAME"
            )
        case "trust":
            what = "stop trusting FOLDER (default: the current one)"
            parser.add_argument("--forget", metavar="FOLDER", type=arguments.text, nargs="?", const=".", help=what)
        case "runs":
            parser.add_argument("filter", metavar="TEXT", nargs="?", default="")
            parser.add_argument("--json", action="store_true", help="print JSON, with all that is known")
        case "watch":
            what = "folder of runs (default tasks), or one run or group"
            parser.add_argument("folder", metavar="FOLDER", type=arguments.text, nargs="?", help=what)
            parser.add_argument("--port", metavar="N", type=arguments.port, default=0, help="default: a free one")
            parser.add_argument("--open", action="store_true", help="open the page in the browser")


def _lookup(command: str, argv: Sequence[str]) -> argparse.Namespace:
    """Returns the request of a command that looks something up."""
    parser = _Parser(prog=f"python main.py {command}", allow_abbrev=False)
    parser.set_defaults(command=command)
    _add_permission(parser)
    _add_arguments(parser, command)
    request = parser.words(argv)
    if command == "convert":
        settings = request.file.lower().endswith(SETTINGS_ENDINGS)
        settings = settings and not str(request.target).endswith((*DATA_ENDINGS, *SETTINGS_ENDINGS))
        request.name, request.target = (request.target, None) if settings else (None, request.target)
    if command == "convert" and not request.target and request.file.endswith(DATA_ENDINGS):
        parser.error(f"{request.file!r} is data; name the new file too: python main.py convert DATA NEW.npz")
    if command == "list" and request.what in ("tasks", "runs"):
        request.command, request.json = "runs", False
        return request
    if command == "list" and request.what not in (None, *KINDS):
        parser.error(f"nothing to list under {request.what!r}{did_you_mean(request.what, KINDS)}")
    return request
