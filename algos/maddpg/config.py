"""MADDPG: TD3 with an actor for each agent and a central critic."""

from collections.abc import Iterator

from algos.td3.config import Config as Family
from config.model.fields import Problem
from config.model.layers import is_recurrent
from config.tell.language import tr


class Config(Family):
    """MADDPG: a deterministic actor for each of several cooperating agents, trained by one central critic."""

    JOINT = True
    BEFORE = {"shared_actor": True}

    shared_actor: bool = False
    """All agents share the weights of one actor, which sees the agent's one-hot index beside its observation; false: an
    actor of its own for each agent."""
    n_critics = 1
    policy_noise = 0.0
    policy_freq = 1
    gamma = 0.95
    actor_lr = 1e-3
    tau = 0.01

    def needs_global_state(self) -> bool:
        return True

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if any(is_recurrent(layer) for layer in self.critic_layers):
            yield Problem(
                "critic_layers", tr("a central critic has no recurrent state; use lstm and gru in actor_layers")
            )
