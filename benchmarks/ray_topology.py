"""Measures the gain from several processes, relative to the shortest possible time, to one process and to RLlib.

python benchmarks/ray_topology.py [--rllib PYTHON] [--only KIND,KIND] [--repeats 3]

Prints the table of docs/ray.md. PYTHON is an interpreter with ray[rllib] and torch. The sides of a row take turns, and
a ratio is the median of the ratios of single turns. Exit status 1: a goal was missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RAY = "general_cfg.mp_backend=ray"
LEAN = (
    "general_cfg.max_episode=-1",
    "general_cfg.max_step=-1",
    "general_cfg.model_save_fre=1000000000",
    "general_cfg.online_eval_episode=1",
    "general_cfg.save_fig=false",
    "general_cfg.torch_threads=1",
    "general_cfg.seed=1",
)
TIMED = (
    "general_cfg.env_name=toy",
    "env_cfg.id=sleep",
    "env_cfg.length=1",
    "general_cfg.algo_name=benchmarks.slow_learning",
    "--allow-import",
    "benchmarks",
)
PPO = ("--algo=PPO", "env_cfg.id=CartPole-v1", "general_cfg.max_total_step=200000")
WINDOW = 2048
"""Number of transitions in a window of PPO, on every side."""
NETWORKS = {"our network": 64, "its own": None}
"""Name of a network of RLlib -> width of its two hidden layers: that of our PPO, or None for its default (256)."""
DQN = (
    "--algo=DQN",
    "env_cfg.id=CartPole-v1",
    "algo_cfg.batch_size=64",
    "algo_cfg.train_fre=1",
    "algo_cfg.updates_per_train=1",
    "general_cfg.max_total_step=8000",
)
LAYER = "{layer_type: linear, layer_dim: [256], activation: relu}"
QUICK_START = (
    "general_cfg.algo_name=DQN",
    "env_cfg.id=CartPole-v1",
    "general_cfg.max_episode=100",
    "general_cfg.max_step=200",
    "general_cfg.online_eval=true",
    "general_cfg.online_eval_episode=10",
    "general_cfg.model_save_fre=500",
    f"algo_cfg.value_layers=[{LAYER}, {LAYER}]",
    "algo_cfg.batch_size=64",
    "algo_cfg.buffer_size=100000",
    "algo_cfg.epsilon_start=0.95",
    "algo_cfg.epsilon_end=0.01",
    "algo_cfg.epsilon_decay=500",
    "algo_cfg.gamma=0.95",
    "algo_cfg.lr=0.0001",
    "algo_cfg.target_update=4",
)
"""Settings of JoyRL's quick start (tests/data/quickstart.yaml): one update per step, from the first full batch on."""


class Row(NamedTuple):
    """A row of the table."""

    what: str
    figures: str
    ratio: float
    goal: float
    at_most: bool
    """True if the ratio should be at most the goal, false if at least."""

    def reached(self) -> bool:
        return self.ratio <= self.goal if self.at_most else self.ratio >= self.goal

    def line(self) -> str:
        sign, verdict = ("≤" if self.at_most else "≥"), ("reached" if self.reached() else "**missed**")
        return f"| {self.what} | {self.figures} | {self.ratio:.2f} | {sign} {self.goal:g}, {verdict} |"


def train(*words: str) -> dict[str, Any]:
    """Runs main.py; returns the facts in run.json, and as `ready` the seconds until all processes were ready."""
    with tempfile.TemporaryDirectory(prefix="backend-") as folder:
        command = [sys.executable, str(ROOT / "main.py"), *LEAN, *words, "--into", f"{folder}/run"]
        facts, output, ready = Path(folder, "run", "run.json"), Path(folder, "output"), 0.0
        begin = time.perf_counter()
        with output.open("wb") as file, subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file) as process:
            while process.poll() is None:
                if RAY in words and not ready and facts.exists() and '"processes"' in facts.read_text(encoding="utf-8"):
                    ready = time.perf_counter() - begin
                time.sleep(0.02)
        if process.returncode:
            printed = output.read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}\n{printed}")
        return {**json.loads(facts.read_text(encoding="utf-8")), "ready": ready}


def speed(*words: str) -> float:
    """Returns the environment steps per second of a run."""
    facts = train(*words)
    return float(facts["step"] / facts["seconds"])


def last_line(python: str, name: str, *words: object) -> Any:
    """Runs a script of this folder; returns the JSON in the last line of its output."""
    command = [python, str(ROOT / "benchmarks" / name), *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def turns(repeats: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Returns the measurements of each side; the sides take turns."""
    measured: list[list[float]] = [[] for _ in sides]
    for _ in range(repeats):
        for side, figures in zip(sides, measured, strict=True):
            figures.append(side())
    return measured


def ratio(one: list[float], other: list[float]) -> float:
    """Returns the median of the ratios of single turns."""
    return median(a / b for a, b in zip(one, other, strict=True))


# rows -----------------------------------------------------------------------------------------------------


def episodes(repeats: int) -> Iterator[Row]:
    """Yields rows for 100 episodes of 0.1 s each: the time over the shortest possible one."""
    words = (*TIMED, RAY, "algo_cfg.seconds=0.0001", "env_cfg.seconds=0.1", "general_cfg.max_episode=100")
    for workers in (1, 2, 4, 8):
        more = (*words, f"general_cfg.n_workers={workers}")
        (seconds,) = turns(repeats, lambda more=more: float(train(*more)["seconds"]))  # type: ignore[misc]
        took = median(seconds)
        what = f"100 episodes of 0.1 s, {workers} worker{'s' * (workers > 1)}"
        yield Row(what, f"{took:.2f} s", took * workers / 10, 1.08, True)


def learning(repeats: int) -> Iterator[Row]:
    """Yields rows for 100 updates of 0.1 s, shared by learners, and for collecting while learning."""
    words = (*TIMED, RAY, "algo_cfg.seconds=0.1", "env_cfg.seconds=0")
    for learners in (1, 2, 4):
        more = (*words, "general_cfg.max_update=100", f"general_cfg.n_learners={learners}")
        (figures,) = turns(repeats, lambda more=more: _per_hundred(train(*more)))  # type: ignore[misc]
        took = median(figures)
        what = f"100 updates of 0.1 s, {learners} learner{'s' * (learners > 1)}"
        yield Row(what, f"{took:.2f} s", took * learners / 10, 1.1, True)
    ahead = (*words, "env_cfg.seconds=0.1", "general_cfg.max_episode=60")
    (figures,) = turns(repeats, lambda: float(train(*ahead)["seconds"]))
    took = median(figures)
    yield Row("60 episodes of 0.1 s while each is learned from for 0.1 s", f"{took:.2f} s", took / 12, 0.6, True)


def _per_hundred(facts: dict[str, Any]) -> float:
    return float(facts["seconds"] / facts["update"] * 100)


def ppo(repeats: int, rllib: str | None, epochs: int, minibatches: int) -> Iterator[Row]:
    """Yields rows for PPO on CartPole: two workers of 8 rows, horizon 128, against one process and RLlib."""
    learning = Learning(epochs, WINDOW // minibatches)
    sides = [lambda: _rounds(8, learning), lambda: _ahead(8, learning), lambda: _alone(16, learning)]
    peers = [lambda width=width: _rllib(rllib, 8, learning, width) for width in NETWORKS.values()] if rllib else []  # type: ignore[misc]
    barrier, free, alone, *theirs = turns(repeats, *sides, *peers)
    best = max(barrier, free, key=median)
    what = f"PPO, {epochs} epochs of {minibatches} minibatches, 2 workers of 8 rows"
    figures = (
        f"{median(barrier):,.0f} in rounds, {median(free):,.0f} with run_ahead, {median(alone):,.0f} alone, steps/s"
    )
    yield Row(f"{what}, beside one process of 16", figures, ratio(best, alone), 1.1, False)
    for network, peer in zip(NETWORKS, theirs, strict=False):
        figures = f"{median(best):,.0f} against {median(peer):,.0f} steps/s"
        yield Row(f"{what}, beside RLlib's with {network}", figures, ratio(best, peer), 7, False)


def ppo_as_suits(repeats: int, rllib: str | None) -> Iterator[Row]:
    """Yields rows for PPO with the fastest number of rows of each side: 64 per worker for us, 32 for RLlib."""
    if not rllib:
        return
    learning = Learning(4, WINDOW // 4)
    peers = [lambda width=width: _rllib(rllib, 32, learning, width) for width in NETWORKS.values()]  # type: ignore[misc]
    ours, *theirs = turns(repeats, lambda: _ahead(64, learning), *peers)
    for network, peer in zip(NETWORKS, theirs, strict=True):
        figures = f"{median(ours):,.0f} against {median(peer):,.0f} steps/s"
        what = f"PPO, 2 workers with the rows that suit each side, RLlib with {network}"
        yield Row(what, figures, ratio(ours, peer), 10, False)


class Learning(NamedTuple):
    """Settings of PPO for learning from a window."""

    epochs: int
    minibatch: int

    def words(self) -> list[str]:
        return [f"algo_cfg.k_epochs={self.epochs}", f"algo_cfg.sgd_batch_size={self.minibatch}"]


def _rounds(rows: int, learning: Learning) -> float:
    words = (f"env_cfg.n_envs={rows}", f"algo_cfg.batch_size={WINDOW}", "general_cfg.n_workers=2")
    return speed(*PPO, *learning.words(), RAY, *words)


def _ahead(rows: int, learning: Learning) -> float:
    """Returns the speed with run_ahead. Each worker has a window of its own, so half the steps keep the horizon."""
    words = (f"env_cfg.n_envs={rows}", f"algo_cfg.batch_size={WINDOW // 2}", "general_cfg.n_workers=2")
    return speed(*PPO, *learning.words(), RAY, *words, "general_cfg.run_ahead=2")


def _alone(rows: int, learning: Learning) -> float:
    return speed(*PPO, *learning.words(), f"env_cfg.n_envs={rows}", f"algo_cfg.batch_size={WINDOW}")


def _rllib(python: str, envs: int, learning: Learning, width: int | None) -> float:
    words = (2, envs, WINDOW // (2 * envs), learning.minibatch, learning.epochs, 15, *([width] if width else []))
    facts = last_line(python, "peers/rllib_ppo.py", *words)
    return float(facts["steps"] / facts["seconds"])


def sleeping(repeats: int) -> Iterator[Row]:
    """Yields rows for an environment that takes a millisecond per step."""
    words = ("--algo=PPO", "general_cfg.env_name=toy", "env_cfg.id=sleep", "env_cfg.seconds=0.001", "env_cfg.length=50")
    words += ("algo_cfg.batch_size=128", "algo_cfg.sgd_batch_size=64", "algo_cfg.k_epochs=2")
    words += ("algo_cfg.normalize_obs=false", "general_cfg.max_total_step=20480")
    counts = (2, 4)
    sides = [words, *[(*words, RAY, f"general_cfg.n_workers={n}", "general_cfg.run_ahead=2") for n in counts]]
    alone, *others = turns(repeats, *[lambda side=side: speed(*side) for side in sides])  # type: ignore[misc]
    for workers, steps, goal in zip(counts, others, (1.9, 3.7), strict=True):
        figures = f"{median(steps):,.0f} against {median(alone):,.0f} steps/s"
        yield Row(f"1 ms a step, {workers} workers", figures, ratio(steps, alone), goal, False)


def dqn(repeats: int) -> Iterator[Row]:
    """Yields a row for DQN with an update per step, where acting and learning overlap."""
    ray, alone = turns(repeats, lambda: speed(*DQN, RAY), lambda: speed(*DQN))
    figures = f"{median(ray):,.0f} against {median(alone):,.0f} updates/s"
    yield Row("DQN, 1 worker and 1 learner", figures, ratio(ray, alone), 1.0, False)


def quick_start(repeats: int) -> Iterator[Row]:
    """Yields rows for the quick start: best evaluations, and updates per step after the warm-up."""
    for workers in (0, 1, 2, 4):
        more = (RAY, f"general_cfg.n_workers={workers}") if workers else ()
        facts = [train(*QUICK_START, *more, f"general_cfg.seed={seed}") for seed in range(1, repeats + 1)]
        best = ", ".join(f"{run['best']:.4g}" for run in facts)
        what = f"quick start, {workers} worker{'s' * (workers > 1)}" if workers else "quick start, one process"
        yield Row(what, f"best {best}", min(run["update"] / (run["step"] - 63) for run in facts), 0.98, False)


def start(repeats: int) -> Iterator[Row]:
    """Yields a row for the time from the command to the first step, against a bare script with as many actors."""
    words = (*TIMED, RAY, "algo_cfg.seconds=0.0001", "env_cfg.seconds=0", "general_cfg.max_episode=1")
    words += ("general_cfg.n_workers=2",)
    bare_script: Callable[[], float] = lambda: float(last_line(sys.executable, "empty_actors.py", 4))  # noqa: E731
    ours, bare = turns(repeats, lambda: float(train(*words)["ready"]), bare_script)
    more = median(a - b for a, b in zip(ours, bare, strict=True))
    figures = f"{median(ours):.1f} s against {median(bare):.1f} s"
    yield Row("start until 4 processes are ready: seconds more than a bare script", figures, more, 3, True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measures the gain from several processes, as ratios.")
    parser.add_argument("--rllib", metavar="PYTHON", help="a Python interpreter with ray[rllib] and torch")
    parser.add_argument("--only", help="some of episodes, learning, ppo, ppo10, suited, sleep, dqn, quickstart, start")
    parser.add_argument("--repeats", type=int, default=3)
    request = parser.parse_args(argv)
    kinds: dict[str, Callable[[int], Iterator[Row]]] = {
        "episodes": episodes,
        "learning": learning,
        "ppo": lambda repeats: ppo(repeats, request.rllib, epochs=4, minibatches=4),
        "ppo10": lambda repeats: ppo(repeats, request.rllib, epochs=10, minibatches=8),
        "suited": lambda repeats: ppo_as_suits(repeats, request.rllib),
        "sleep": sleeping,
        "dqn": dqn,
        "quickstart": quick_start,
        "start": start,
    }
    chosen = request.only.split(",") if request.only else list(kinds)
    if unknown := sorted(set(chosen) - set(kinds)):
        parser.error(f"--only: {', '.join(unknown)}; there are {', '.join(kinds)}")
    print("| what | measured | ratio | goal |\n| --- | --- | --- | --- |")
    rows = []
    for name in chosen:
        for row in kinds[name](request.repeats):
            print(row.line(), flush=True)
            rows.append(row)
    return 0 if all(row.reached() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
