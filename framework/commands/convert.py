"""Converts settings of other programs, and data."""

import os
from argparse import Namespace
from collections.abc import Iterator
from fnmatch import fnmatch

from config.program import PROGRAM
from config.read import arguments
from config.tell.language import tr
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {
    "convert OLD.yaml > NEW.yaml": tr("a JoyRL file, for use here"),
    "convert ppo.yml --env ID > NEW.yaml": tr("the same for hyperparameters\nof rl-baselines3-zoo"),
    "convert DATA NEW.npz": tr(
        "data in another format: .pkl,\n    .npz, .hdf5, .parquet, .jsonl, .jsonl.gz, .jsonl.zst, .minari"
    ),
}
SETTINGS_ENDINGS = (".yaml", ".yml", ".json")
DATA_ENDINGS = (".pkl", ".npz", ".hdf5", ".h5", ".parquet", ".jsonl", ".gz", ".zst", ".minari")
TRACES = "output-*_worker-*.json"
MINARI = "minari:"


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    parser.positional("file", "OLD.yaml|DATA")
    help_text = tr("data in another format; one of several experiments of RLlib")
    parser.positional("target", "NEW|NAME", help_text, nargs="?")
    parser.add_argument(
        "--env",
        metavar="ID",
        type=arguments.text,
        help=tr("with hyperparameters of rl-baselines3-zoo: the environment"),
    )
    algo = tr("with hyperparameters of rl-baselines3-zoo: the algorithm, by default from the file's name")
    parser.add_argument("--algo", metavar="NAME", type=arguments.text, help=algo)


def check(request: Namespace) -> Iterator[str]:
    """Completes the request, and yields what is wrong with it: behind settings, the second word is the name of an
    experiment."""
    is_data = _is_data(request.file)
    settings = request.file.lower().endswith(SETTINGS_ENDINGS) and not is_data
    target = str(request.target).lower()
    is_file = target.endswith((*DATA_ENDINGS, *SETTINGS_ENDINGS)) or target.startswith(MINARI)
    settings = settings and not is_file
    request.name, request.target = (request.target, None) if settings else (None, request.target)
    if not request.target and is_data:
        yield tr(
            "{file!r} is data; name the new file too: {program} convert DATA NEW.npz",
            file=request.file,
            program=PROGRAM,
        )


def _is_data(word: str) -> bool:
    """Returns True if a word names data: by its ending, as a file of traces, as a data set of Minari, or a folder."""
    if word.endswith(DATA_ENDINGS) or word.startswith(MINARI) or os.path.isdir(word):
        return True
    return fnmatch(os.path.basename(word), TRACES)


def run(request: Namespace) -> int:
    """Prints settings, or writes data in another format."""
    if request.target:
        return start.guarded(lambda: _data(request))
    from config.foreign.convert import converted
    from framework.catalog import ALGOS, ENVS

    words = {"name": request.name or "", "algo": request.algo, "env": request.env}
    return start.printed(lambda: converted(request.file, ALGOS, ENVS, **words), file=True)


def _data(request: Namespace) -> int:
    from framework.dataset.convert import convert
    from framework.screen.formatting import counted

    data = convert(request.file, request.target)
    episodes, steps = counted(data.summary.episodes, "episode"), counted(data.summary.transitions, "transition")
    print(*data.notes, tr("{file}: {episodes}, {steps}", file=request.target, episodes=episodes, steps=steps), sep="\n")
    return 0
