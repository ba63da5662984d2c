"""Names of the files of a run, of a group of runs, and of a tuning: no other module has them."""

from collections.abc import Iterable
from pathlib import Path

from config.tell.language import tr

RUN, GROUP, TUNING = "run.json", "group.json", "tune.json"
"""Files that make a folder one of a run, of a group of runs, of a tuning."""
GROUPS = {GROUP: tr("a group of runs"), TUNING: tr("a tuning, with a run for each trial")}
"""File of a folder with several runs, and what such a folder is."""
REPORT = "report.html"
"""Name of the page of a run, a test, a group or a tuning."""
LOCK = ".lock"
"""File that is locked while a process writes to a run, or drives a group or a tuning."""
COPY = ".copy.json"
"""File that says what a folder has in common with its copy in a store."""
COPIED_TO = ".copied_to.json"
"""File that says where the user of this machine has a folder copied to."""
NOTES = "notes.json"
"""File with the tags and the note that a user gives a run or a group."""

STORY_OF_A_RUN = (
    "config.yaml", "params.json", RUN, REPORT,
    *(f"results/{name}" for name in ("train.csv", "eval.csv", "progress.csv", "result.json", "learning_curve.png")),
)  # fmt: skip
"""Files that tell what a run was and how it went; its models are not among them."""
STORY_OF_A_GROUP = ("config.yaml", GROUP, REPORT, "seeds.csv", "runs.csv", "learning_curves.png")
"""Files that tell how a group of runs went, besides those of its runs."""


MOST_NAME = 255
"""Bytes of the name of a file or folder, at most: no file system here has longer ones."""


def file_and_folder(paths: Iterable[str], folders: Iterable[str] = ()) -> str:
    """Returns a path that is a file and the folder of another one at once, which no disk can have; empty if there is
    none. folders: further paths that are folders."""
    files, above = set(paths), set(folders)
    for path in files:
        while (path := path.rpartition("/")[0]) and path not in above:
            above.add(path)
    return min(files & above, default="")


class Place:
    """A file or folder below `path` of its owner. It is put together when it is asked for: a list of thousands of runs
    asks each of them for few of its files."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, files: "TaskFiles | GroupFiles", kind: type) -> Path:
        return files.path / self.name


class TaskFiles:
    """Paths of the files of a run."""

    config = Place("config.yaml")
    params = Place("params.json")
    """The settings once more, as JSON."""
    run = Place(RUN)
    notes = Place(NOTES)
    code = Place("code")
    """Copies of the files of the user's own code."""
    models = Place("models")
    results = Place("results")
    train = Place("results/train.csv")
    """A row per training episode."""
    eval = Place("results/eval.csv")
    """A row per evaluation."""
    progress = Place("results/progress.csv")
    """A row per iteration."""
    result = Place("results/result.json")
    """A line of JSON per iteration, with times."""
    test = Place("results/test.csv")
    """A row per episode of a test."""
    videos = Place("videos")
    logs = Place("logs")
    log = Place("logs/log.txt")
    system = Place("logs/system.csv")
    """A row every few seconds: processor, memory and GPU."""
    tb_logs = Place("tb_logs")

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def errors(self) -> Path:
        """File with the stderr of the process of a run of a group, or of a trial."""
        return self.path.with_name(f"{self.path.name}.errors.txt")


class GroupFiles:
    """Paths of the files of a group of runs, or of a tuning."""

    group, tuning = Place(GROUP), Place(TUNING)
    notes = Place(NOTES)
    config = Place("config.yaml")
    trials = Place("trials")
    """Settings and task directories of the trials of a tuning."""
    best = Place("best.yaml")
    """Best settings of a tuning."""
    curves = Place("learning_curves.png")
    report = Place(REPORT)

    def __init__(self, path: Path) -> None:
        self.path = path

    def table(self, noun: str) -> Path:
        """Returns the file with a row for each seed, run or trial."""
        return self.path / f"{noun}s.csv"
