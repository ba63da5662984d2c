"""Defaults of env_name toy: tiny environments with known optimal returns."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict

from config.model.fields import lower
from config.model.schema import EnvConfig


class Config(EnvConfig):
    """A tiny environment with a known optimal return. Keys that are not listed here are settings of that
    environment, such as length: 5."""

    model_config = ConfigDict(extra="allow")

    id: str = "match"
    """Name of the environment: see docs/environments.md for the list and what each is for."""
    vectorization: Annotated[Literal["auto", "sync", "async"], BeforeValidator(lower)] = "sync"
    """Vectorization of the n_envs rows: sync (one after the other), async (one process each), auto (by the clock)."""
