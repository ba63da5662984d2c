"""MAPPO: PPO with a critic of the global state."""

from typing import Any, ClassVar, Literal

from algos.ppo.config import Config as Family


class Config(Family):
    """MAPPO: PPO for cooperating agents, with a critic that sees the global state."""

    FIXED: ClassVar[dict[str, Any]] = {"critic_input": "global"}
    AGENT_ID: ClassVar = True

    critic_input: Literal["own", "global"] = "global"
