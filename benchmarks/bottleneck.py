"""Shows which of collecting and learning is the bottleneck, as the experiment of JoyRL's quick start does.

python benchmarks/bottleneck.py [--interaction 0.1] [--learning 0.1] [--workers 1,2,4] [--learners 2] [--episodes 100]

Three tables: collecting takes time, learning takes time, and learning takes time but is shared by several learners. An
episode is one step, and is learned from once. Prints seconds of training; starting Ray is not counted.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.ray_topology import RAY, TIMED, train

NEXT_TO_NOTHING = 1e-4
"""Seconds of an update that stands for none."""


class Part(NamedTuple):
    """A table of the experiment."""

    interaction: float
    """Seconds of an episode."""
    learning: float
    """Seconds of an update."""
    learners: int

    def words(self, workers: int, episodes: int) -> Sequence[str]:
        """Returns the settings of a run."""
        return (
            *TIMED, RAY, f"env_cfg.seconds={self.interaction}",
            f"algo_cfg.seconds={max(self.learning, NEXT_TO_NOTHING)}", f"general_cfg.n_workers={workers}",
            f"general_cfg.n_learners={self.learners}", f"general_cfg.max_episode={episodes}",
        )  # fmt: skip

    def title(self) -> str:
        learners = f"{self.learners} learner{'s' * (self.learners > 1)}"
        return f"interaction {self.interaction:g} s, learning {self.learning:g} s, {learners}"


def parts(interaction: float, learning: float, learners: int) -> tuple[Part, ...]:
    """Returns the tables of the experiment."""
    return Part(interaction, 0, 1), Part(0, learning, 1), Part(0, learning, learners)


def lines(part: Part, workers: Sequence[int], episodes: int) -> Iterator[str]:
    """Runs a table, and yields its lines."""
    yield f"\n{part.title()}"
    for count in workers:
        yield f"n_workers {count}"
        yield f"time cost:  {train(*part.words(count, episodes))['seconds']:.2f}"


def number(text: str) -> int:
    """Returns an argument as a number from 1."""
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"got {text}; expected a number from 1")
    return value


def numbers(text: str) -> list[int]:
    """Returns an argument as numbers with commas between them."""
    return [number(part) for part in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Shows which of collecting and learning is the bottleneck.")
    parser.add_argument("--interaction", type=float, default=0.1, help="seconds of an episode")
    parser.add_argument("--learning", type=float, default=0.1, help="seconds of an update")
    parser.add_argument("--workers", type=numbers, default="1,2,4", help="numbers of workers")
    parser.add_argument("--learners", type=number, default=2, help="learners of the last table: 1, 2, 4, 8 or 16")
    parser.add_argument("--episodes", type=number, default=100)
    request = parser.parse_args(argv)
    for part in parts(request.interaction, request.learning, request.learners):
        for line in lines(part, request.workers, request.episodes):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
