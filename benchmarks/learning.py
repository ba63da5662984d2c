"""Measures the scores of the presets over several seeds, beside published results. Writes docs/learning.md and
docs/zh/learning.md.

python benchmarks/learning.py ROW ... [--seeds 1..3] [--jobs N] [--episodes 100]     measure rows
python benchmarks/learning.py --left [ROW ...] [--hours H]                           measure empty ones, cheapest first
python benchmarks/learning.py --left --dry-run                                       say how long that takes
python benchmarks/learning.py --stale [ROW ...]                                      list what changed since a row
python benchmarks/learning.py --page                                                 only write the page
python benchmarks/learning.py                                                        list the rows

A ROW is an environment, an algorithm, or ENVIRONMENT/ALGORITHM; benchmarks/learning.yaml lists them. The measurements
are stored in benchmarks/results/learning.json. The folder of a row's runs is named after its settings, so that a row
that was interrupted goes on from its checkpoints when it is asked for again.
"""

import argparse
import json
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import learning_curves, learning_plan  # noqa: E402
from benchmarks.learning_page import (  # noqa: E402
    LEAST_EPISODES,
    BenchmarkError,
    Row,
    chosen,
    collecting,
    counted,
    page,
    rows,
    table,
    words_of,
)
from benchmarks.learning_plan import Estimate  # noqa: E402
from config.read.loader import ConfigError, load  # noqa: E402
from framework import commands  # noqa: E402
from framework.archive.run import RecordedRun  # noqa: E402
from framework.assemble import build  # noqa: E402
from framework.catalog import ALGOS, ENVS  # noqa: E402
from framework.collect.env_calls import Watch  # noqa: E402
from framework.disk.atomic import write_whole  # noqa: E402
from framework.disk.csv_table import read_csv  # noqa: E402
from framework.disk.task_dir import circumstances  # noqa: E402
from framework.errors import silence  # noqa: E402
from framework.loop.evaluator import MOST_ROWS  # noqa: E402
from framework.screen.formatting import clock, short  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "learning.json"
PAGES = {"en": ROOT / "docs" / "learning.md", "zh": ROOT / "docs" / "zh" / "learning.md"}
TEST_SEED = 1_000_000
"""Number added to the seed of a run, so that its model is tested on start states that training has not seen."""
MODELS = {"best": "best", "last": "latest"}
"""Name of a tested model -> its load_model_step."""

# measuring ------------------------------------------------------------------------------------------------


def words_of_test(run: Path, step: str, episodes: int, seed: int, place: Path) -> list[str]:
    """Returns the words that play a run's model on new start states, with a task directory of this name."""
    return [
        "general_cfg.mode=test",
        "general_cfg.load_checkpoint=true",
        f"general_cfg.load_path={run}",
        f"general_cfg.load_model_step={step}",
        f"general_cfg.max_episode={episodes}",
        f"general_cfg.seed={TEST_SEED + seed}",
        "--into",
        str(place),
    ]


class StoppedError(Exception):
    """Raised if the time is over, or after Ctrl-C; what was trained is saved."""


@dataclass
class Measurement:
    """Conditions under which rows are measured."""

    seeds: str | None = None
    """Seeds as main.py takes them; None: the number of the row."""
    jobs: int | None = None
    """Number of runs at once; None: as main.py chooses."""
    episodes: int = 100
    """Number of episodes of each test."""
    until: float = float("inf")
    """Time in seconds at which training stops, as by Ctrl-C."""

    def entry(self, row: Row) -> tuple[dict[str, Any], learning_curves.Runs]:
        """Trains a group, or the rest of one, tests its models and the random policy; returns an entry of
        learning.json, and the curves of the seeds."""
        command, seeds = row.command(), self.seeds or f"1..{row.seeds}"
        for words in collecting(row):
            if words[0] != "resume":
                shutil.rmtree(words[-1], ignore_errors=True)  # a test that was stopped begins again
            self.run(words, quiet=True)
        folder = Path("tasks") / f"Learning_{re.sub(r'[/ ,]+', '_', row.name)}_{row.settings()}_{seeds}"
        jobs = [] if self.jobs is None else ["--jobs", str(self.jobs)]
        if not (folder / "group.json").exists():
            self.run([*command, "--seeds", seeds, *jobs, "--into", str(folder)])
        facts = json.loads((folder / "group.json").read_text(encoding="utf-8"))
        runs = [folder / f"seed_{seed}" for seed in facts["seeds"]]
        if any(RecordedRun(run).state != "finished" for run in runs):
            self.run(["resume", str(folder), *jobs])
        recorded = [json.loads((run / "run.json").read_text(encoding="utf-8")) for run in runs]
        curves = [learning_curves.curve_of(run) for run in runs]
        entry = {
            "date": time.strftime("%Y-%m-%d"),
            "commit": facts["git_commit"],
            "machine": machine(),
            "command": row.shown(),
            "settings": row.settings(),
            "at_once": facts["at_once"],
            "seeds": facts["seeds"],
            "steps": [one["step"] for one in recorded],
            "seconds": [round(one["seconds"], 1) for one in recorded],
            "episodes": self.episodes,
            **{
                name: [self.tested(row, folder, seed, step) for seed in facts["seeds"]] for name, step in MODELS.items()
            },
            "random": random_score(row, command, self.episodes),
            **data_score(row),
        }
        return entry, curves

    def tested(self, row: Row, folder: Path, seed: int, step: str) -> float:
        """Returns the mean score of a run's model on new start states."""
        place = folder / f"test_{seed}_{step}_{self.episodes}"
        if not place.exists() or RecordedRun(place).state != "finished":
            shutil.rmtree(place, ignore_errors=True)
            self.run(words_of_test(folder / f"seed_{seed}", step, self.episodes, seed, place), quiet=True)
        return mean_score(row, place)

    def run(self, words: list[str], quiet: bool = False) -> None:
        """Runs main.py with these arguments. Raises StoppedError after Ctrl-C, which main.py receives too, or when the
        time is over."""
        command = [sys.executable, str(ROOT / "main.py"), *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL if quiet else None)
        stopped = False
        while True:
            left = None if stopped or self.until == float("inf") else max(self.until - time.time(), 0.0)
            try:
                status = process.wait(left)
                break
            except KeyboardInterrupt:
                stopped = True
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                stopped = True
        if stopped:
            raise StoppedError
        if status:
            raise BenchmarkError(f"main.py {' '.join(words)} ended with status {status}")


def mean_score(row: Row, run: Path) -> float:
    """Returns the mean score of the episodes that a test has played."""
    column = "terminated" if row.score == "success" else row.score
    return float(np.mean([float(episode[column]) for episode in read_csv(run / "results" / "test.csv")]))


def data_score(row: Row) -> dict[str, float]:
    """Returns the mean score of the episodes of the data that a row learns from, as `data`; nothing for a row without
    data, and for data that no test has collected."""
    collected = bool(row.data) and (Path(row.data) / "results" / "test.csv").is_file()
    return {"data": mean_score(row, Path(row.data))} if collected else {}


def random_score(row: Row, command: list[str], episodes: int) -> float:
    """Returns the mean score of the random policy."""
    request = commands.parse(command)
    config = load(request.yaml, request.overrides, find_algo=ALGOS, find_env=ENVS)
    env = build.make_env(config, min(episodes, MOST_ROWS))
    try:
        evaluator = build.make_evaluator(config, env, lambda: None, Watch())
        evaluator.seed = TEST_SEED
        return float(np.mean([_score(row, episode) for episode in evaluator.play_at_random(episodes).episodes]))
    finally:
        env.close()


def _score(row: Row, episode: Any) -> float:
    if row.score == "success":
        return float(episode.terminated)
    return float(episode.total if row.score == "return" else episode.metrics[row.score])


def machine() -> str:
    """Returns the facts that times depend on, without a name of the machine."""
    name = platform.machine()
    for line in (
        Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    ):
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    facts = circumstances([])
    return f"{name}, {facts['cores']} cores, Python {facts['python']}, torch {version('torch')}"


# the command ----------------------------------------------------------------------------------------------


def read_results() -> dict[str, Any]:
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return results


def write(results: Mapping[str, Any], curves: Mapping[str, learning_curves.Runs]) -> None:
    """Writes learning.json, curves.json, the page and its picture."""
    order = [row.name for row in rows()]
    kept = {name: results[name] for name in order if name in results}
    lines = {name: curves[name] for name in order if name in curves}
    write_whole(RESULTS, (json.dumps(kept, indent=1) + "\n").encode())
    write_whole(learning_curves.RESULTS, learning_curves.text_of(lines).encode())
    for letters, path in PAGES.items():
        write_whole(path, page(rows(), kept, table(), words_of(letters)).encode())
    write_whole(learning_curves.PICTURE, learning_curves.picture(table()["panels"], lines).encode())


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measures the scores of presets, and writes docs/learning.md, also in docs/zh."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="environment, algorithm, ENVIRONMENT/ALGORITHM, or all")
    parser.add_argument("--seeds", type=str, help="as for main.py (default: 1..3, or the number in learning.yaml)")
    parser.add_argument("--jobs", type=int, help="number of runs at once, as for main.py")
    parser.add_argument("--episodes", type=int, default=100, help="number of episodes of each test")
    parser.add_argument("--left", action="store_true", help="of these rows, or all, the empty ones, the cheapest first")
    parser.add_argument("--hours", type=float, default=float("inf"), help="stop after this time; the next call goes on")
    parser.add_argument("--dry-run", action="store_true", help="only say how long the rows take")
    parser.add_argument("--stale", action="store_true", help="only list what has changed since the rows were measured")
    parser.add_argument("--page", action="store_true", help="only write the page, from the stored measurements")
    request = parser.parse_args(argv)
    if request.episodes < LEAST_EPISODES:
        parser.error(f"--episodes: at least {LEAST_EPISODES}")
    return request


def listing() -> str:
    """Returns a line for each row, with its score if it was measured."""
    results = read_results()
    return "\n".join(f"{row.name:<48}{_state(row, results)}" for row in rows())


def _state(row: Row, results: Mapping[str, Any]) -> str:
    if row.name in results:
        entry = results[row.name]
        return f"{short(float(np.mean(entry[counted(entry)])))} on {entry['date']}"
    try:
        row.command()
    except BenchmarkError:
        return "no preset"
    return "not measured"


def stale_rows(asked: Sequence[Row], results: Mapping[str, Any]) -> str:
    """Returns a line for each measured row that something has changed since."""
    lines = []
    for row in asked:
        if row.name in results and (changes := list(learning_plan.stale(row, results[row.name]))):
            lines.append(f"{row.name:<48}{', '.join(changes)}")
    return "\n".join(lines) or "nothing has changed"


def plan(estimates: Sequence[Estimate]) -> str:
    """Returns a line for each row with its length and the time that it takes, and the sum."""
    lines = []
    for one in estimates:
        steps = f"{one.steps:,}" if one.steps else "?"
        time = clock(one.seconds) if one.seconds else "unknown"
        by = f"   {'' if one.is_alike else 'if '}as fast as {one.by}" if one.by else ""
        lines.append(f"{one.row.name:<48}{steps:>12} steps x {one.row.seeds}{time:>14}{by}")
    known = [one.seconds for one in estimates if one.seconds]
    lines.append(f"{len(estimates)} rows, {clock(sum(known))} for {len(known)} of them, one run after the other")
    return "\n".join(lines)


def measure(asked: Sequence[Row], how: Measurement) -> None:
    """Measures rows; each is stored and on the page as soon as it is measured."""
    for count, row in enumerate(asked, 1):
        print(f"== {row.name}, row {count} of {len(asked)}", file=sys.stderr, flush=True)
        entry, curves = how.entry(row)
        # reads again: another process may have added a row
        write({**read_results(), row.name: entry}, {**learning_curves.read(), row.name: curves})
    write(read_results(), learning_curves.read())


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, 2 if a row could not be measured, or 130 if it was stopped. The rows before it are on
    the page."""
    request = parse(argv)
    try:
        asked = rows() if request.rows in ([], ["all"]) else chosen(request.rows)
        if request.left:
            results = read_results()
            estimates = learning_plan.estimates([row for row in asked if row.name not in results], results)
            asked = [one.row for one in estimates]
            print(plan(estimates), flush=True)
        elif request.dry_run:
            print(plan(learning_plan.estimates(asked, read_results())), flush=True)
        if request.stale:
            print(stale_rows(asked, read_results()), flush=True)
        elif request.page:
            write(read_results(), learning_curves.read())
        elif not (request.rows or request.left):
            print(listing(), flush=True)
        elif not request.dry_run:
            until = time.time() + 3600 * request.hours
            measure(asked, Measurement(request.seeds, request.jobs, request.episodes, until))
    except BrokenPipeError:
        silence(sys.stdout)
    except StoppedError:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    except (BenchmarkError, ConfigError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
