"""Specification of the memory that an algorithm learns from: a replay buffer, or a window of fresh steps."""

from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Literal

from config.model.course import Schedule, rising

RewardClip = Literal["none", "sign", "clip"]
"""Change of each reward as it is stored: to its sign, or limited to -1..1. Scores are of unchanged rewards."""

MOST_AT_ONCE = 64
"""Largest number of minibatches in a chunk: many enough that sampling them costs little, few enough to stay small."""


@dataclass(frozen=True)
class DataSpec:
    """Transitions that are given in files."""

    paths: tuple[str, ...]
    """Files, globs and task directories."""
    top: float = 1.0
    """Share of the episodes that are used: those with the highest returns."""
    fraction: float = 1.0
    """Share of these episodes that are used, drawn by the seed."""
    held_out: float = 0.0
    """Share of these that are kept from learning, to measure the losses on them."""
    share: float = 0.5
    """Share of each minibatch that comes from the data while the run collects."""
    updates: int = -1
    """Number of updates from the data alone, before the first step is collected; -1: all of them."""
    imitate: bool = False
    """True if rewards are 1 in the data and 0 in what the run collects, whatever they were."""
    returns: bool = False
    """True if each step has the columns `episode_return`, undiscounted; `earned`, the part of it before this step; and
    `timestep`, its number in the episode."""
    start: Path | None = None
    """Working directory that relative paths count from; None: the current one."""
    resumed: bool = False
    """True if a checkpoint holds their SHA-256, so that another path to the same content may be named."""
    rewards: bool = True
    """True if the rewards of the data are learned from."""


@dataclass(frozen=True)
class ReplaySpec:
    """Replay buffer from which minibatches are drawn at a fixed ratio of updates to collected steps."""

    capacity: int
    """Transitions kept, over all rows."""
    batch_size: int
    warmup: int
    """Transitions collected before the first update."""
    updates_per_step: float
    """Gradient updates per collected transition: one process and a cluster learn at this same ratio."""
    n_step: int = 1
    gamma: float = 0.99
    fragment: int = 1
    """Steps of the vector environment between two looks at the memory."""
    priority_alpha: float = 0.0
    """0 draws uniformly; above 0, in proportion to priority ** alpha."""
    priority_beta: Schedule = field(default_factory=lambda: rising(0.4))
    """Exponent of the importance weights over the run."""
    priority_epsilon: float = 1e-6
    sequence: int = 1
    """Steps of a sample. Above 1, a sample is a piece of one row's history, [L, B, ...], with the policy's `state`
    [B, S] before it and `first` [L, B], true where an episode begins inside of it."""
    stride: int = 1
    """Steps between the beginnings of prioritized sequences; without priorities they begin anywhere."""
    relabel: float = 0.0
    """Share of the samples whose goal is replaced by one that was reached later in the same episode; for an
    environment with goals, with n_step 1 and sequence 1."""
    reward_clip: RewardClip = "none"
    """Applied to single rewards, before n-step returns are folded."""
    return_limit: float | None = None
    """Rewards are divided by the standard deviation of the discounted returns so far, or by the largest of their sizes
    divided by this limit if that is more; None: they stay as they are."""
    compress: bool = False
    """True if images are compressed."""
    next_action: bool = False
    """True if samples have `next_action`, the action that was taken in the next state, and `has_next`, 1 where there
    is one and 0 at the end of an episode or of the memory; with sequence 1."""
    to_go: bool = False
    """True if samples of given data have `to_go`, the discounted sum of the rewards from the step to the end of its
    episode; in what the run collects it is -inf. With sequence 1."""
    statistics: bool = False
    """True if the algorithm keeps statistics of observations: each chunk carries the observations that are new."""
    final_statistics: bool = False
    """True if these are to include the last observation of each episode, which no step begins with."""
    terminated: bool = False
    """True if samples have the flag `terminated`, too, which `discount` does not tell if gamma is 0; with n_step 1."""
    data: DataSpec | None = None
    """Data to learn from beside what is collected, or instead of it; None: the run has none."""

    @property
    def least(self) -> int:
        """Steps of a row among which there is a whole sample, wherever they begin."""
        return self.sequence + (self.stride - 1 if self.priority_alpha and self.sequence > 1 else 0)


@dataclass(frozen=True)
class RolloutSpec:
    """A window of fresh steps, learned from for some epochs and then dropped."""

    length: int
    """Steps of the vector environment in a window; with unit episodes, complete episodes in it."""
    epochs: int = 1
    minibatch: int | None = None
    """Samples of a minibatch; None is the whole window at once."""
    unit: Literal["steps", "episodes"] = "steps"
    """episodes: each row's part of the window ends where its last complete episode does; `valid` marks it."""
    overlap: int = 0
    """Steps at the end of a window that are also the beginning of the next."""
    sequence: int = 1
    """Steps of a sample. Above 1, it divides length; a sample is a piece of one row, [L, B, ...], with the policy's
    `state` [B, S] before it and `first` [L, B], true where an episode begins inside of it. 0 is the whole window."""
    reward_clip: RewardClip = "none"
    data: DataSpec | None = None
    """Data of an expert: a window comes with as many transitions of it, in the columns of EXPERT. None: it does not."""

    @property
    def fragment(self) -> int:
        return self.length if self.unit == "steps" else 1

    @classmethod
    def of_transitions(
        cls,
        count: int,
        rows: int,
        epochs: int = 1,
        minibatch: int | None = None,
        sequence: int = 1,
        reward_clip: RewardClip = "none",
    ) -> "RolloutSpec":
        """Returns a window of `count` transitions over all rows, in whole sequences; minibatch counts transitions
        too."""
        length = max(1, count // rows // sequence) * sequence
        return cls(
            length, epochs, minibatch and max(1, minibatch // sequence), sequence=sequence, reward_clip=reward_clip
        )


MemorySpec = ReplaySpec | RolloutSpec


def whole_rounds(steps: float, of_round: int) -> int:
    """Returns the environment steps of an iteration that has at least this number: rounds are not broken off. of_round:
    those of a round, in which each row collects a fragment."""
    return ceil(steps / of_round) * of_round


EXPERT = {name: f"expert_{name}" for name in ("obs", "action", "next_obs", "terminated")}
"""Columns of given data, and their names beside those of a window."""
