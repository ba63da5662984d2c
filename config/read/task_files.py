"""Names of the files of a run, of a group of runs, and of a tuning: no other module has them."""

from pathlib import Path

RUN, GROUP, TUNING = "run.json", "group.json", "tune.json"
"""Files that make a folder one of a run, of a group of runs, of a tuning."""
GROUPS = {GROUP: "a group of runs", TUNING: "a tuning, with a run for each trial"}
"""File of a folder with several runs, and what such a folder is."""
REPORT = "report.html"
"""Name of the page of a run, a test, a group or a tuning."""


class TaskFiles:
    """Paths of the files of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.params = path / "params.json"
        """The settings once more, as JSON."""
        self.run = path / RUN
        self.models = path / "models"
        self.results = path / "results"
        self.train = self.results / "train.csv"
        """A row per training episode."""
        self.eval = self.results / "eval.csv"
        """A row per evaluation."""
        self.progress = self.results / "progress.csv"
        """A row per iteration."""
        self.result = self.results / "result.json"
        """A line of JSON per iteration, with times."""
        self.test = self.results / "test.csv"
        """A row per episode of a test."""
        self.videos = path / "videos"
        self.logs = path / "logs"
        self.log = self.logs / "log.txt"
        self.system = self.logs / "system.csv"
        """A row every few seconds: processor, memory and GPU."""
        self.tb_logs = path / "tb_logs"

    @property
    def errors(self) -> Path:
        """File with the stderr of the process of a run of a group, or of a trial."""
        return self.path.with_name(f"{self.path.name}.errors.txt")


class GroupFiles:
    """Paths of the files of a group of runs, or of a tuning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.group, self.tuning = path / GROUP, path / TUNING
        self.config = path / "config.yaml"
        self.trials = path / "trials"
        """Settings and task directories of the trials of a tuning."""
        self.best = path / "best.yaml"
        """Best settings of a tuning."""
        self.curves = path / "learning_curves.png"
        self.report = path / REPORT

    def table(self, noun: str) -> Path:
        """Returns the file with a row for each seed, run or trial."""
        return self.path / f"{noun}s.csv"
