"""Defaults of env_name gym: any environment that gymnasium can make."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, model_validator

from config.model.fields import lower
from config.model.schema import EnvConfig
from config.own import objects as own
from config.tell.language import tr


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


def _named(value: list[str | dict[str, Any]] | None) -> list[str | dict[str, Any]] | None:
    for entry in value or []:
        if isinstance(entry, dict) and not isinstance(entry.get("wrapper_name"), str):
            raise ValueError(tr("{entry} has no wrapper_name; write {{wrapper_name: FrameStack, ...}}", entry=entry))
    return value


Wrappers = Annotated[list[str | dict[str, Any]] | None, BeforeValidator(_listed), AfterValidator(_named)]


def own_wrappers(value: Wrappers) -> Iterator[tuple[str, str]]:
    """Yields ("wrappers", name) for each wrapper of the user's own."""
    for entry in value or []:
        name = entry if isinstance(entry, str) else entry["wrapper_name"]
        if own.is_own(name):
            yield "wrappers", name


class Config(EnvConfig):
    """An environment of gymnasium. Keys that are not listed here go to its constructor, such as is_slippery: false
    or max_episode_steps: 100."""

    model_config = ConfigDict(extra="allow")
    ALIASES = {"wrapper": "wrappers"}

    id: str = "CartPole-v1"
    """Name in gymnasium's registry, such as LunarLander-v3; my_module:MyEnv-v0 imports my_module first and needs
    --allow-import my_module."""
    wrappers: Wrappers = None
    """Classes around the environment, the first one innermost: FrameStack, or with settings
    {wrapper_name: FrameStack, stack_size: 4}; my_module:MyWrapper is one of your own and needs --allow-import
    my_module. null: none."""
    vectorization: Annotated[Literal["auto", "sync", "async", "native", "envpool"], BeforeValidator(lower)] = "auto"
    """Vectorization of the n_envs rows: sync (one after the other), async (one process each), native (the environment's
    own vector version), envpool (the version of the package envpool, with other numbers), auto (the fastest of those
    that give the same numbers)."""

    @model_validator(mode="before")
    @classmethod
    def _drop_ignore_params(cls, values: Any) -> Any:
        """Drops JoyRL's list of keys that are not constructor arguments: here they are fields."""
        if isinstance(values, dict):
            return {key: value for key, value in values.items() if key != "ignore_params"}
        return values

    def own(self) -> Iterator[tuple[str, str]]:
        yield from super().own()
        yield from own_wrappers(self.wrappers)
