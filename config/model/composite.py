"""Actions of several parts as one array: the parts of a Tuple or Dict space side by side, and the choices in an action.

Agents, memories, files and Ray hold the flat array. An environment is stepped with its own tuples and dicts, and a user
who asks a policy gets them: `Composite.decode` is the border. Like arrays.py, no other module of config imports it.
"""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from config.model.arrays import Array


def name_of(path: tuple[Any, ...]) -> str:
    """Returns the name of a part, from the keys and places that lead to it."""
    return ".".join(map(str, path))


class ActionPart(NamedTuple):
    """One part of a Tuple or Dict of actions, and its position in the flat array."""

    path: tuple[Any, ...]
    """Keys and places that lead to it from the outermost space."""
    source: Space
    """Space of the part as the environment has it."""
    space: Space
    """Space of the part as an agent has it: whole numbers from 0, float32 for a Box."""
    start: int
    stop: int

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def first(self) -> Any:
        """First values of the environment's own whole numbers, 0 for other parts."""
        return getattr(self.source, "start", 0)


class Choices:
    """The whole numbers of an action, and the entries of a mask that each of them has: one for each of its values."""

    def __init__(self, column: Array, size: Array) -> None:
        """column [K]: position of each number in the flat action. size [K]: how many values it has."""
        self.column, self.size = column, size
        self.first = np.cumsum(size) - size
        """First entry of each number."""
        self.entries = int(size.sum())
        """Length of a mask."""

    def of(self, action: Array) -> Array:
        """Returns the entries [..., K] that flat actions [..., W] choose."""
        return np.asarray(action[..., self.column]).astype(np.int64) + self.first

    def legal(self, action: Array, mask: Array) -> Array:
        """Returns [...], True for flat actions [..., W] that a mask [..., entries] allows."""
        return np.asarray(np.take_along_axis(mask, self.of(action), axis=-1).all(-1))

    def amended(self, action: Array, mask: Array) -> Array:
        """Returns flat actions [..., W] with each illegal number replaced by its first legal one."""
        right, amended = np.take_along_axis(mask, self.of(action), axis=-1), action.copy()
        for place, (column, first, size) in enumerate(zip(self.column, self.first, self.size, strict=True)):
            instead = mask[..., first : first + size].argmax(-1)
            amended[..., column] = np.where(right[..., place], action[..., column], instead)
        return amended

    def stuck(self, mask: Array) -> Array:
        """Returns [...], True for masks [..., entries] in which a number has no legal value."""
        return np.asarray(~np.logical_or.reduceat(mask, self.first, axis=-1).all(-1))

    def drawn(self, action: Array, mask: Array, rng: np.random.Generator) -> Array:
        """Returns a flat action [W] with each number drawn from its legal values."""
        action = action.copy()
        for column, first, size in zip(self.column, self.first, self.size, strict=True):
            action[column] = rng.choice(np.flatnonzero(mask[first : first + size]))
        return action


class Composite(Space[Array]):
    """Space of the flat actions [W] of a Tuple or Dict space: its parts in order, whole numbers as they are and the
    numbers of a Box, all as float32."""

    def __init__(self, source: Dict | Tuple, own: bool = False) -> None:
        """own: whole numbers are the environment's own, where those of an agent start at 0."""
        self.source, self.own_numbers = source, own
        self.parts = tuple(_parts(source))
        self.choices = _joined(self.parts)
        width = self.parts[-1].stop if self.parts else 0
        self.first = np.zeros(width, np.float32)
        """First values of the environment's own whole numbers."""
        self.low, self.high = np.zeros((2, width), np.float32)
        for part in self.parts:
            place = slice(part.start, part.stop)
            self.first[place] = np.ravel(part.first)
            self.low[place], self.high[place] = _bounds(part.space)
        if own:
            self.low, self.high = self.low + self.first, self.high + self.first
        super().__init__((width,), np.float32)

    def own(self) -> "Composite":
        """Returns the space of the same actions with the environment's own whole numbers, as in files."""
        return Composite(self.source, own=True)

    @property
    def box_columns(self) -> Array:
        """Positions of the numbers that are not chosen from a few."""
        return np.setdiff1d(np.arange(len(self.low)), self.choices.column)

    def encode(self, action: Any) -> Array:
        """Returns one action of the environment, or a Tuple or Dict of arrays of N of them, as a flat array [...,
        W]."""
        values = []
        for part in self.parts:
            value = action
            for key in part.path:
                value = value[key]
            value = np.asarray(value)
            batch = value.shape[: value.ndim - len(part.source.shape or ())]
            values.append((value - (0 if self.own_numbers else part.first)).reshape((*batch, -1)).astype(np.float32))
        return np.concatenate(values, axis=-1)

    def decode_batch(self, action: Array) -> Any:
        """Returns flat actions [N, W] as a Tuple or Dict of arrays [N, ...], in new arrays."""
        return _nested(self.source, (self._part_of(part, np.asarray(action)) for part in self.parts))

    def decode(self, action: Array) -> Array:
        """Returns flat actions [..., W] as the environment takes them, one by one: an object array [...]."""
        rows = np.asarray(action).reshape(-1, action.shape[-1])
        columns = [self._part_of(part, rows) for part in self.parts]
        places = [() if isinstance(part.source, Discrete) else (...,) for part in self.parts]
        decoded = np.empty(len(rows), object)
        for row in range(len(rows)):
            # a number of Discrete, and an array of everything else, also of a Box without axes
            values = (column[(row, *place)] for column, place in zip(columns, places, strict=True))
            decoded[row] = _nested(self.source, values)
        return decoded.reshape(action.shape[:-1])

    def _part_of(self, part: ActionPart, action: Array) -> Array:
        values = action[..., part.start : part.stop].reshape((*action.shape[:-1], *(part.source.shape or ())))
        typed = np.array(values, part.source.dtype)
        return typed if self.own_numbers else np.asarray(typed + np.asarray(part.first, typed.dtype), typed.dtype)

    # the interface of gymnasium

    @property
    def is_np_flattenable(self) -> bool:
        return True

    def seed(self, seed: Any = None) -> Any:
        self.source.seed(seed)
        return super().seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Array:
        """Returns a random flat action [W]; mask [entries] is nonzero for legal values."""
        action = self.encode(self.source.sample())
        return action if mask is None else self.choices.drawn(action, np.asarray(mask), self.np_random)

    def contains(self, x: Any) -> bool:
        whole = np.asarray(x)
        if whole.shape != self.shape or whole.dtype.kind not in "biuf":
            return False
        numbers = whole[self.choices.column]
        return bool((numbers == np.round(numbers)).all() and ((whole >= self.low) & (whole <= self.high)).all())

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Composite) and (self.source, self.own_numbers) == (other.source, other.own_numbers)

    def __hash__(self) -> int:
        return hash((type(self), self.shape))

    def __repr__(self) -> str:
        return repr(self.source)

    def __deepcopy__(self, memo: Any) -> "Composite":
        return Composite(copy.deepcopy(self.source, memo), self.own_numbers)


def choices_of(space: Space) -> Choices:
    """Returns the choices of an action of any space, of which a Box has none."""
    if isinstance(space, Composite):
        return space.choices
    sizes = _sizes(space)
    return Choices(np.arange(len(sizes)), sizes)


def amended(action: Array, mask: Array, space: Space) -> Array:
    """Returns actions [..., *shape] of an agent with illegal numbers replaced by the first legal ones of masks [...,
    entries]."""
    if isinstance(space, Discrete):
        legal = np.take_along_axis(mask, action[..., None], axis=-1)[..., 0]
        return np.where(legal, action, mask.argmax(axis=-1))
    return choices_of(space).amended(_rows(action, space), mask).reshape(action.shape)


def obeys(action: Array, mask: Array, space: Space) -> Array:
    """Returns [...], True for actions [..., *shape] of an agent that masks [..., entries] allow."""
    return choices_of(space).legal(_rows(action, space), mask)


def sample(space: Space, mask: Array | None) -> Any:
    """Returns a random action of the space's own generator, of the legal ones of a mask [entries]."""
    if mask is None or isinstance(space, Discrete):
        return space.sample(mask)
    drawn = np.asarray(space.sample())
    return choices_of(space).drawn(drawn.ravel(), mask, space.np_random).reshape(drawn.shape)


def _rows(action: Array, space: Space) -> Array:
    """Returns actions [..., *shape] as [..., numbers]."""
    batch = action.shape[: action.ndim - len(space.shape or ())]
    return action.reshape(*batch, -1)


def kinds_of(space: Space) -> tuple[str, ...]:
    """Returns the names of a space and of its bases, those of the Tuple or Dict for flat actions."""
    return tuple(base.__name__ for base in type(space.source if isinstance(space, Composite) else space).__mro__)


def plain(space: Space) -> Space:
    """Returns a space as an agent has it: whole numbers from 0, and for a Box, of at least one axis, uint8 or
    float32."""
    match space:
        case Discrete():
            return Discrete(int(space.n))
        case MultiDiscrete():
            return MultiDiscrete(space.nvec)
        case Box():
            shape, dtype = space.shape or (1,), np.uint8 if space.dtype == np.uint8 else np.float32
            bounds: Any = (np.broadcast_to(bound, shape).astype(dtype) for bound in (space.low, space.high))
            return Box(*bounds, dtype=dtype)
    return space


def leaves(space: Space, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Space]]:
    """Yields path and space of each part of a Dict or Tuple, in the order of gymnasium.spaces.flatten."""
    if isinstance(space, Dict | Tuple):
        for key, part in space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces):
            yield from leaves(part, (*path, key))
    else:
        yield path, space


def _parts(source: Space) -> Iterator[ActionPart]:
    start = 0
    for path, space in leaves(source):
        stop = start + int(np.prod(space.shape or ()))
        yield ActionPart(path, space, plain(space), start, stop)
        start = stop


def _sizes(space: Space) -> Array:
    """Returns how many values each whole number of a part has."""
    match space:
        case Discrete():
            return np.array([int(space.n)])
        case MultiDiscrete():
            return space.nvec.ravel().astype(np.int64)
        case MultiBinary():
            return np.full(int(np.prod(space.shape)), 2)
    return np.zeros(0, np.int64)


def _joined(parts: tuple[ActionPart, ...]) -> Choices:
    sizes = [_sizes(part.space) for part in parts]
    columns = [part.start + np.arange(len(of_part)) for part, of_part in zip(parts, sizes, strict=True)]
    empty = np.zeros(0, np.int64)
    return Choices(np.concatenate([empty, *columns]), np.concatenate([empty, *sizes]))


def _bounds(space: Space) -> tuple[Any, Any]:
    if isinstance(space, Box):
        return space.low.ravel(), space.high.ravel()
    return 0, _sizes(space) - 1


def _nested(space: Space, values: Iterator[Any]) -> Any:
    """Returns the values of the parts, in order, as the Dict or Tuple has them."""
    match space:
        case Dict():
            return {key: _nested(part, values) for key, part in space.spaces.items()}
        case Tuple():
            return tuple(_nested(part, values) for part in space.spaces)
    return next(values)
