"""Defaults of FlashSAC: SAC's, except for these."""

from algos.sac.config import Config as Family
from config.model.layers import BatchNorm, Layers, Linear, Residual, RmsNorm


def inverted(width: int, blocks: int = 2) -> Layers:
    """Returns a projection to `width` features, residual blocks that widen them to four times as many, and a final
    norm."""
    block: Layers = [
        Linear(layer_size=[4 * width], activation="none", bias=False),
        BatchNorm(activation="relu"),
        Linear(layer_size=[width], activation="none", bias=False),
        BatchNorm(activation="relu"),
    ]
    projection = Linear(layer_size=[width], activation="none", bias=False)
    return [BatchNorm(), projection, *[Residual(layers=block)] * blocks, RmsNorm()]


class Config(Family):
    """FlashSAC: SAC with batch normalization of both actions at once, weights of constant norm and distributional
    critics."""

    ACTION_SPACES = ("Box",)

    actor_layers = inverted(128)
    critic_layers = inverted(256)
    init = "orthogonal"
    normalize_weights = True
    normalize_reward = True
    critic_bins = 101
    smooth_log_std = True
    noise_repeat = 16
    policy_freq = 2
    target_std = 0.15
    alpha_init = 0.01
    tau = 0.01
    learning_starts = 10_000
    start_steps = 10_000
    batch_size = 512
