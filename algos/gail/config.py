"""Settings of a discriminator, and the defaults of GAIL: PPO's, with one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from algos.common.settings import GivenData
from algos.ppo.config import Config as Family
from config.model.fields import NonNegative, Positive, Problem
from config.model.inherit import fixed, unread
from config.model.layers import Layers, mlp
from config.model.memory_spec import RolloutSpec
from config.model.schedules import Rate
from config.tell.language import tr


class DiscriminatorConfig(GivenData):
    """Settings of a discriminator between the data of an expert and what the run collects. Its reward takes the place
    of the environment's."""

    IMITATES = True
    RUN = {}
    ADJUSTABLE = {"discriminator_max_grad_norm"}
    READ_WITH = {
        "state_only": ("shaping", (True,)),
        "reward_clip": unread(tr("no rewards of the environment")),
    }

    discriminator_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the discriminator, to which the action is concatenated as in a critic; its output layer is added
    automatically. With shaping, of both of its networks."""
    discriminator_lr: Rate = 3e-4
    """Learning rate of the discriminator."""
    discriminator_max_grad_norm: Positive | None = 0.5
    """Clips the global norm of the discriminator's gradients, gradient_penalty's included, to this value; null disables
    clipping."""
    gradient_penalty: NonNegative = 10.0
    """Weight of a penalty on slopes of the discriminator other than 1 between the steps of both: it keeps it smooth."""
    imitation_reward: Literal["positive", "negative", "log_odds"] = "positive"
    """Reward of a step, where D is the probability that it is the expert's. positive: -log(1 - D), above 0; negative:
    log D, below 0; log_odds: log D - log(1 - D). A reward above 0 alone makes long episodes good, and one below 0 short
    ones."""
    absorbing: bool = False
    """Treat the end of a task as a state that lasts for ever, with a reward that depends on how often the expert's
    episodes end so (not by a time limit), too. Otherwise nothing follows it, which is bad if rewards are above 0 and
    good if they are below."""
    shaping: bool = False
    """Form of the discriminator: true is exp(f) / (exp(f) + pi(a|s)) with f = g + gamma h(s') - h(s), whose g is the
    expert's reward (AIRL); false is a network of any form (GAIL)."""
    state_only: bool = True
    """With shaping: g depends on the state alone, so that it holds in other surroundings too; false: on the action
    too."""

    @property
    def reads_rewards(self) -> bool:
        return False

    def memory(self, rows: int) -> RolloutSpec:
        spec = super().memory(rows)
        assert isinstance(spec, RolloutSpec)
        return replace(spec, data=self.data_spec())

    def offline_updates_of(self) -> int:
        return 0

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.absorbing and self.gamma == 1.0:
            message = tr("a state that lasts for ever needs a gamma below 1")
            yield Problem("absorbing", message, depends_on=("gamma",))


class Config(DiscriminatorConfig, Family):
    """GAIL: PPO whose rewards come from a discriminator between given data and its own steps."""

    SPECIAL_LAYERS = ()

    shaping = fixed(False)
    lr = 3e-4
    bonus = fixed("none")
    lr_schedule = "constant"
    sgd_batch_size = 64
    k_epochs = 10
    normalize_obs = False
