"""Defaults of env_name pettingzoo: multi-agent environments of PettingZoo and mpe2."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, PositiveInt

from config.model.fields import lower
from config.model.schema import EnvConfig


class Config(EnvConfig):
    """A multi-agent environment of PettingZoo or mpe2. Keys that are not listed here go to its constructor, such as
    max_cycles: 50."""

    model_config = ConfigDict(extra="allow")

    id: str = "mpe/simple_spread_v3"
    """Name in PettingZoo's registry or in mpe2's list, such as classic/tictactoe_v3."""
    api: Annotated[Literal["auto", "parallel", "aec"], BeforeValidator(lower)] = "auto"
    """Interface of the environment: parallel (all agents act in each step), aec (one agent acts in each step), auto
    (parallel if the environment has it)."""
    max_agents: dict[str, PositiveInt] | None = None
    """Number of agents that are active at once, for agents whose names change: {low_level_*: 1}. null: possible_agents
    lists all names."""
