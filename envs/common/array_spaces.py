"""The spaces of arrays that stand for those of an environment, and what is wrong with one that has none."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from config.model import composite
from config.model.composite import Composite, leaves, name_of
from config.tell.language import tr
from envs.base import EnvError

ENCODE = tr(
    "Encode it as a Box, in a program with gymnasium.wrappers.TransformObservation(env, function, Box(...)), in a YAML "
    "file with a wrapper of your own: env_cfg.wrappers: [{wrapper}]",
    wrapper="{wrapper_name: my_module:MyWrapper}",
)
"""Remedy for observations of Text, Graph and Sequence."""


class Leaf(NamedTuple):
    """One part of a Dict or Tuple space, and its position in the flat vector."""

    path: tuple[Any, ...]
    space: Space
    start: int
    stop: int

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.shape if isinstance(self.space, Box | MultiBinary) else (self.stop - self.start,)


def leaves_of(space: Space) -> Iterator[Leaf]:
    """Yields the parts of a Dict or Tuple space in the order of gymnasium.spaces.flatten."""
    parts, start = list(leaves(space)), 0
    _check_parts(parts)
    for path, part in parts:
        stop = start + _width(part)
        yield Leaf(path, part, start, stop)
        start = stop


def _check_parts(parts: list[tuple[tuple[Any, ...], Space]]) -> None:
    """Raises EnvError for parts that cannot be learned from, such as text, with the wrapper that removes them."""
    wrong = [(path, part) for path, part in parts if not isinstance(part, Box | Discrete | MultiDiscrete | MultiBinary)]
    if not wrong:
        return
    (path, part), removed = wrong[0], {path[0] for path, _ in wrong}
    names = dict.fromkeys(str(path[0]) for path, _ in parts if path[0] not in removed)
    wrapper = f"{{wrapper_name: FilterObservation, filter_keys: [{', '.join(names)}]}}"
    raise EnvError(
        "the part {path!r} of the observation is a {kind} space; Box, Discrete, MultiDiscrete and "
        "MultiBinary can be learned from. {remedy}",
        path=name_of(path),
        kind=type(part).__name__,
        remedy=tr("Leave it out with env_cfg.wrappers: [{wrapper}]", wrapper=wrapper) if names else ENCODE,
    )


def _width(space: Space) -> int:
    """Returns the numbers that a part takes in the flat vector."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return int(space.nvec.sum())
    return int(np.prod(space.shape or ()))


def _is_empty(space: Space) -> bool:
    """Returns True for a space without a number, such as Box of shape (0,) and a Dict without parts."""
    return not any(_width(part) for _, part in leaves(space))


def check_numbers(space: Space) -> None:
    """Raises EnvError for observations without a number."""
    if _is_empty(space):
        raise EnvError(
            "the observation space {space} is empty: there is nothing to learn from. A task without observations can "
            "have one number that is always 0: Box(0, 0, (1,))",
            space=space,
        )


def flat_box(leaves: tuple[Leaf, ...]) -> Box:
    images = all(isinstance(leaf.space, Box) and leaf.space.dtype == np.uint8 for leaf in leaves)
    dtype: Any = np.uint8 if images else np.float32
    bounds = [
        (np.ravel(leaf.space.low), np.ravel(leaf.space.high))
        if isinstance(leaf.space, Box)
        else (np.zeros(leaf.stop - leaf.start), np.ones(leaf.stop - leaf.start))
        for leaf in leaves
    ]
    low: Any
    high: Any
    low, high = (np.concatenate(side).astype(dtype) for side in zip(*bounds, strict=True))
    return Box(low, high, dtype=dtype)


def plain(space: Space) -> Space:
    """Returns the encoded space. Raises EnvError for one that cannot be learned from."""
    if isinstance(space, Box | Discrete | MultiDiscrete | MultiBinary):
        return composite.plain(space)
    raise EnvError(
        "the observation is a {kind} space; Box, Discrete, MultiDiscrete, MultiBinary, Dict and "
        "Tuple can be learned from. {remedy}",
        kind=type(space).__name__,
        remedy=ENCODE,
    )


MOST_VALUES = 2**24
"""Number of values of a whole number in a flat action, up to which float32 holds all of them."""


def action_space(space: Space) -> Space:
    parts = list(leaves(space))
    for path, part in parts:
        if _is_choosable(part):
            continue
        named = tr("the part {path!r} of {space}", path=name_of(path), space=space) if path else space
        raise EnvError(
            "actions of {space} cannot be chosen; Discrete, MultiDiscrete, MultiBinary and Box of a "
            "floating type can, alone and in a Tuple or Dict. Change the action space in the environment or with "
            "a wrapper, such as gymnasium.wrappers.TransformAction.{whole}",
            space=named,
            whole=tr(" Whole numbers from low to high are MultiDiscrete(high - low + 1, start=low).")
            if isinstance(part, Box)
            else "",
        )
    if _is_empty(space):
        raise EnvError("the action space {space} is empty: there is nothing to choose", space=space)
    if empty := [name_of(path) for path, part in parts if not _width(part)]:
        raise EnvError(
            "the part {path!r} of the action space {space} is empty; leave it out, such as with a wrapper",
            path=empty[0],
            space=space,
        )
    if not isinstance(space, Dict | Tuple):
        return plain(space)
    flat = Composite(space)
    if flat.choices.size.max(initial=0) > MOST_VALUES:
        raise EnvError(
            "a part of the actions {space} has more than {limit:,} values, and at most so many can be told apart",
            space=space,
            limit=MOST_VALUES,
        )
    return flat


def _is_choosable(space: Space) -> bool:
    if isinstance(space, Box):
        return np.issubdtype(space.dtype, np.floating)
    return isinstance(space, Discrete | MultiDiscrete | MultiBinary)
