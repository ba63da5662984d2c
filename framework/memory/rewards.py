"""Rewards as they are learned from. The collector, scores and trajectories keep the unchanged ones."""

import numpy as np

from config.model.memory_spec import RewardClip


def clipped(reward: np.ndarray, kind: RewardClip) -> np.ndarray:
    """Returns each reward as it is, its sign (-1, 0 or 1), or its value limited to -1..1."""
    match kind:
        case "sign":
            return np.sign(reward)
        case "clip":
            return np.clip(reward, -1.0, 1.0)
    return reward
