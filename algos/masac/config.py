"""MASAC: SAC with an actor for each agent and central critics."""

from algos.sac.config import Config as Family


class Config(Family):
    """MASAC: a squashed Gaussian actor for each of several cooperating agents, trained by central soft critics."""

    ACTION_SPACES = ("Box",)
    JOINT = True

    shared_actor: bool = False
    """All agents share the weights of one actor, which sees the agent's one-hot index beside its observation; false: an
    actor of its own for each agent."""
