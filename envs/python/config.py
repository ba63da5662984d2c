"""Defaults of env_name python: your own environment, by class or function."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, PositiveInt

from config.model.fields import lower
from config.model.schema import EnvConfig
from envs.gym.config import Wrappers, own_wrappers


class Config(EnvConfig):
    """An environment of your own, made by a class or a function. Keys that are not listed here are its arguments, such
    as size: 5; a parameter env_config gets all of them as one mapping."""

    model_config = ConfigDict(extra="allow")

    id: str = ""
    """Class or function as my_module:MyEnv, which needs --allow-import my_module, or a name that Python code has
    registered (joystick.register_env). Must be given."""
    wrappers: Wrappers = None
    """Classes around the environment, as for env_name gym. null: none."""
    vectorization: Annotated[Literal["auto", "sync", "async"], BeforeValidator(lower)] = "auto"
    """Vectorization of the n_envs rows: sync (one after the other), async (one process each), auto (by the clock). A
    vector environment has its own, and environments of several agents are stepped one after the other."""
    max_agents: dict[str, PositiveInt] | None = None
    """In an environment of several agents: number of agents that are active at once, for agents whose names change,
    {low_level_*: 1}. null: possible_agents lists all names."""

    def own(self) -> Iterator[tuple[str, str]]:
        if self.id:
            yield "id", self.id
        yield from own_wrappers(self.wrappers)
