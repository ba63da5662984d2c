"""Defaults of PPO."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from algos.common.settings import NetworkConfig
from config.schema import (
    Fraction,
    Int,
    Layers,
    NonNegative,
    Positive,
    PositiveInt,
    Problem,
    RolloutSpec,
    lower,
    mlp,
    upper,
)


class Config(NetworkConfig):
    """PPO: a policy learns from fresh steps, and no single update may move it far."""

    ALIASES: ClassVar = {**NetworkConfig.ALIASES, "critic_loss_coef": "value_coef", "vf_coef": "value_coef"}
    ACTION_SPACES: ClassVar = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    MAY_LAG: ClassVar = True
    READ_WITH: ClassVar = {
        "eps_clip": ("ppo_type", ("clip",)),
        "target_kl": ("ppo_type", ("clip",)),
        "kl_target": ("ppo_type", ("kl",)),
        "kl_lambda": ("ppo_type", ("kl",)),
        "kl_beta": ("ppo_type", ("kl",)),
        "kl_alpha": ("ppo_type", ("kl",)),
    }

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the policy; the output layer is added by itself."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the value of the state."""
    gamma: Fraction = 0.99
    """Discount of the reward one step later."""
    gae_lambda: Fraction = 0.95
    """Bias against variance of the advantage: 0 looks one step ahead, 1 to the end of the episode."""

    lr: Positive = 3e-4
    """Learning rate of actor and critic, unless the next two say otherwise."""
    actor_lr: Positive | None = None
    """Learning rate of the actor; null is lr."""
    critic_lr: Positive | None = None
    """Learning rate of the critic; null is lr."""
    batch_size: PositiveInt = 2048
    """Transitions collected, over all rows, before each round of learning."""
    sgd_batch_size: PositiveInt = 64
    """Transitions of a minibatch."""
    k_epochs: PositiveInt = 10
    """Passes over the collected transitions."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of a sequence that is learned from as a whole."""
    buffer_type: Annotated[Literal["ONPOLICY_QUE", "ONPOLICY"], BeforeValidator(upper)] = "ONPOLICY_QUE"
    """Only fresh transitions; both names mean the same."""

    ppo_type: Annotated[Literal["clip", "kl"], BeforeValidator(lower)] = "clip"
    """Form of the limit on each update: clip holds each ratio near 1, kl puts a price on the KL divergence."""
    eps_clip: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2
    """clip: how far the ratio of new to old probability may leave 1 before its gradient stops."""
    target_kl: Positive | None = None
    """clip: stop the epochs of a round when the policy has moved this far; null runs all."""
    kl_target: Positive = 0.01
    """kl: how far the policy should move in a round; the price follows from it."""
    kl_lambda: Positive = 0.5
    """kl: price of the divergence in the first round."""
    kl_beta: Annotated[float, Field(ge=1.0)] = 1.5
    """kl: the price changes when the policy moved more than kl_target times this, or less than kl_target by this."""
    kl_alpha: Annotated[float, Field(gt=1.0)] = 2.0
    """kl: factor of each change of the price."""
    value_clip: Positive | None = None
    """How far the value may move from the old one in a round; null does not limit it."""
    entropy_coef: NonNegative = 0.0
    """Reward for an undecided policy."""
    value_coef: NonNegative = 0.5
    """Weight of the value loss beside the policy loss."""
    max_grad_norm: Positive | None = 0.5
    """Longest gradient, as its norm over all parameters; null does not clip."""
    normalize_advantage: bool = True
    """Bring the advantages of each minibatch to mean 0 and deviation 1."""
    log_std_init: float = 0.0
    """Logarithm of the first standard deviation of continuous actions."""
    normalize_reward: bool = False
    """Divide rewards by the running deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        sequence = self.lookup_step if self.remembers() else 1
        return RolloutSpec.of_transitions(self.batch_size, rows, self.k_epochs, self.sgd_batch_size, sequence)

    def must_wait(self) -> str | None:
        if self.normalize_obs or self.ppo_type == "kl":
            return "normalize_obs and ppo_type kl compare with the policy as it is when a window arrives"
        return None

    def problems(self) -> Iterator[Problem]:
        if self.sgd_batch_size > self.batch_size:
            message = f"{self.sgd_batch_size} is more than batch_size, {self.batch_size}"
            yield Problem("sgd_batch_size", message, depends_on=("batch_size",))
