"""Measures the scores of the presets over several seeds, beside published results. Writes docs/learning.md.

python benchmarks/learning.py ROW ... [--seeds 1..3] [--jobs N] [--episodes 100]     measure rows
python benchmarks/learning.py --page                                                 only write the page
python benchmarks/learning.py                                                        list the rows

A ROW is an environment, an algorithm, or ENVIRONMENT/ALGORITHM; benchmarks/learning.yaml lists them. The measurements
are stored in benchmarks/results/learning.json.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.learning_page import LEAST_EPISODES, BenchmarkError, Row, chosen, collecting, counted, page, rows, table  # noqa: E402
from config.read.loader import ConfigError, load  # noqa: E402
from framework import commands  # noqa: E402
from framework.assemble import build  # noqa: E402
from framework.catalog import ALGOS, ENVS  # noqa: E402
from framework.collect.episode_numbers import EpisodeNumbers  # noqa: E402
from framework.disk.atomic import write_whole  # noqa: E402
from framework.disk.csv_table import read_csv  # noqa: E402
from framework.disk.task_dir import circumstances  # noqa: E402
from framework.errors import silence  # noqa: E402
from framework.loop.evaluator import MOST_ROWS, Evaluator  # noqa: E402
from framework.screen.formatting import short  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "learning.json"
PAGE = ROOT / "docs" / "learning.md"
TEST_SEED = 1_000_000
"""Number added to the seed of a run, so that its model is tested on start states that training has not seen."""
MODELS = {"best": "best", "last": "latest"}
"""Name of a tested model -> its load_model_step."""

# measuring ------------------------------------------------------------------------------------------------


def measured(row: Row, seeds: str, jobs: int | None, episodes: int) -> dict[str, Any]:
    """Trains a group, tests its models and the random policy; returns an entry of learning.json."""
    command = row.command()
    for words in collecting(row):
        run(words, quiet=True)
    folder = Path("tasks") / f"Learning_{row.name.replace('/', '_').replace(' ', '_')}_{time.strftime('%Y%m%d-%H%M%S')}"
    more = [] if jobs is None else ["--jobs", str(jobs)]
    run([*command, "--seeds", seeds, *more, "--into", str(folder)])
    facts = json.loads((folder / "group.json").read_text(encoding="utf-8"))
    runs = [json.loads((folder / f"seed_{seed}" / "run.json").read_text(encoding="utf-8")) for seed in facts["seeds"]]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": facts["git_commit"],
        "machine": machine(),
        "command": row.shown(),
        "settings": row.settings(),
        "at_once": facts["at_once"],
        "seeds": facts["seeds"],
        "steps": [one["step"] for one in runs],
        "seconds": [round(one["seconds"], 1) for one in runs],
        "episodes": episodes,
        **{
            name: [tested(row, folder, seed, step, episodes) for seed in facts["seeds"]]
            for name, step in MODELS.items()
        },
        "random": random_score(row, command, episodes),
    }


def tested(row: Row, folder: Path, seed: int, step: str, episodes: int) -> float:
    """Returns the mean score of a run's model on new start states."""
    place = folder / f"test_{seed}_{step}"
    run(
        [
            "general_cfg.mode=test",
            "general_cfg.load_checkpoint=true",
            f"general_cfg.load_path={folder / f'seed_{seed}'}",
            f"general_cfg.load_model_step={step}",
            f"general_cfg.max_episode={episodes}",
            f"general_cfg.seed={TEST_SEED + seed}",
            "--into",
            str(place),
        ],
        quiet=True,
    )
    column = "terminated" if row.score == "success" else row.score
    return float(np.mean([float(episode[column]) for episode in read_csv(place / "results" / "test.csv")]))


def random_score(row: Row, command: list[str], episodes: int) -> float:
    """Returns the mean score of the random policy."""
    request = commands.parse(command)
    config = load(request.yaml, request.overrides, find_algo=ALGOS, find_env=ENVS)
    env = build.make_env(config, min(episodes, MOST_ROWS))
    try:
        evaluator = Evaluator(env, TEST_SEED, config.general.max_step, recorders=[EpisodeNumbers()])
        return float(np.mean([_score(row, episode) for episode in evaluator.play_at_random(episodes).episodes]))
    finally:
        env.close()


def _score(row: Row, episode: Any) -> float:
    if row.score == "success":
        return float(episode.terminated)
    return float(episode.total if row.score == "return" else episode.metrics[row.score])


def run(words: list[str], quiet: bool = False) -> None:
    """Runs main.py with these arguments. After Ctrl-C it only waits, since main.py receives the signal too."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *words], stdout=subprocess.DEVNULL if quiet else None
    )
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            continue
    if status:
        raise BenchmarkError(f"main.py {' '.join(words)} ended with status {status}")


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


def write(results: Mapping[str, Any]) -> None:
    """Writes learning.json and the page."""
    order = [row.name for row in rows()]
    kept = {name: results[name] for name in order if name in results}
    write_whole(RESULTS, (json.dumps(kept, indent=1) + "\n").encode())
    write_whole(PAGE, page(rows(), kept, table()["sources"]).encode())


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the scores of presets, and writes docs/learning.md.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="environment, algorithm, ENVIRONMENT/ALGORITHM, or all")
    parser.add_argument("--seeds", type=str, help="as for main.py (default: 1..3, or the number in learning.yaml)")
    parser.add_argument("--jobs", type=int, help="number of runs at once, as for main.py")
    parser.add_argument("--episodes", type=int, default=100, help="number of episodes of each test")
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


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 2 if a row could not be measured. The rows before it are on the page."""
    request = parse(argv)
    if not (request.rows or request.page):
        try:
            print(listing(), flush=True)
        except BrokenPipeError:
            silence(sys.stdout)
        return 0
    try:
        wanted = rows() if request.rows == ["all"] else chosen(request.rows)
        for row in wanted:
            print(f"== {row.name}", file=sys.stderr, flush=True)
            seeds = request.seeds or f"1..{row.seeds}"
            entry = measured(row, seeds, request.jobs, request.episodes)
            write({**read_results(), row.name: entry})  # reads again: another process may have added a row
        write(read_results())
    except (BenchmarkError, ConfigError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
