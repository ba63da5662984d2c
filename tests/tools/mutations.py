"""Changes of valid content, for tests/stress/fuzz.py: of its bytes by chance, of its structure by strategies of
hypothesis."""

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

from tests.tools.fuzz import MARKS, VALUES

STRANGE: tuple[Any, ...] = (
    *VALUES, "0", "-0", "1e400", "<f8", "|O", ">U9999999", "../x", "/etc/passwd", "\ud800", "\u202e", [0] * 40,
    [[[[[[]]]]]], {"a": {"b": {}}}, "00" * 64, "{}", "\n", "\r\n", ",", 2**31 - 1, 2**32, 2**53 + 1, 10**400, True,
    "models/5", "nan", "null", {"$array": "0"}, {"$dict": {}}, {"$tuple": []},
)  # fmt: skip
"""Values in the place of any other."""
BYTES = (b"\0", b"\xff", b"\n", b"\r", b'"', b"{", b"[", b"\x80", b"PK", b"\x93NUMPY", b"\xef\xbb\xbf", b"\0" * 8)
LONGEST = 2**15
"""Bytes of the longest input."""


def changed_bytes(seeds: Sequence[bytes], draws: random.Random) -> bytes:
    """Returns one of some contents with a few changes."""
    data = bytearray(draws.choice(seeds)[:LONGEST])
    for _ in range(draws.choice((1, 1, 2, 4, 16))):
        at = draws.randrange(len(data) + 1)
        kind = draws.randrange(8)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << draws.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = draws.randrange(256)
        elif kind == 2:
            del data[at : at + draws.choice((1, 1, 4, 64, 4096))]
        elif kind == 3:
            data[at:at] = draws.choice(BYTES)
        elif kind == 4:
            data[at:at] = draws.choice(MARKS).encode()
        elif kind == 5:  # a number of some width, at the edge of what it can be
            width = draws.choice((1, 2, 4, 8))
            number = draws.choice((0, 1, 2 ** (8 * width) - 1, 2 ** (8 * width - 1), draws.getrandbits(8 * width)))
            data[at : at + width] = number.to_bytes(width, draws.choice(("little", "big")))
        elif kind == 6:
            other = draws.choice(seeds)
            begin = draws.randrange(len(other) + 1)
            data[at:] = other[begin:]
        else:
            part = bytes(data[at : at + draws.choice((1, 8, 64))])
            data[at:at] = part * draws.choice((1, 2, 200))
    return bytes(data[:LONGEST])


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the paths of all values below a tree, and of the tree itself."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def changes(trees: Sequence[Any]) -> Any:
    """Returns a strategy of trees with a few changes."""
    from hypothesis import strategies as st

    leaves = st.one_of(
        st.sampled_from(STRANGE), st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)
    )
    values = st.recursive(
        leaves, lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=5), part, max_size=4),
        max_leaves=8,
    )  # fmt: skip
    kinds = st.sampled_from(("value", "value", "value", "number", "remove", "double", "key", "swap", "deep"))

    @st.composite
    def changed(draw: Any) -> Any:
        whole = [copy.deepcopy(draw(st.sampled_from(trees)))]  # in a list, so that all of it can be replaced
        deep = False
        for _ in range(draw(st.integers(1, 4))):
            path = draw(st.sampled_from(list(places(whole))[1:] or [(0,)]))
            if not whole:
                break
            kind = draw(kinds)
            if kind == "deep" and deep:  # twice as deep, a copy would take more frames than the interpreter has
                continue
            deep |= kind == "deep"
            _change(whole, path, kind, draw, values, st)
        return whole[0] if whole else None

    return changed()


def _change(whole: list[Any], path: tuple[Any, ...], kind: str, draw: Any, values: Any, st: Any) -> None:
    *way, last = path
    parent: Any = whole
    for key in way:
        parent = parent[key]
    value = parent[last]
    if kind == "remove" and way:
        del parent[last]
    elif kind == "double" and isinstance(parent, list) and way:
        parent[last:last] = [copy.deepcopy(value)] * draw(st.sampled_from((1, 3, 50)))
    elif kind == "key" and isinstance(parent, dict):
        parent[draw(st.sampled_from(("", "$array", "$dict", "a", str(last).upper(), f"{last} ")))] = parent.pop(last)
    elif kind == "swap" and isinstance(parent, list) and way:
        other = draw(st.integers(0, len(parent) - 1))
        parent[last], parent[other] = parent[other], value
    elif kind == "deep":
        for _ in range(draw(st.sampled_from((1, 5, 400)))):
            value = [value] if draw(st.booleans()) else {"$tuple": [value]}
        parent[last] = value
    elif kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        parent[last] = draw(st.sampled_from((-value, value + 1, value - 1, value * 2**32, value * 1000, value // 3)))
    else:
        parent[last] = copy.deepcopy(draw(values))  # later changes may be inside of it
