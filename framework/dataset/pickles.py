"""Reads pickled trajectories without running code: ours and JoyRL's, flat arrays, and lists of episodes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from config.tell.language import tr
from framework.dataset import safe_pickle
from framework.dataset.columns import Block, column_of, renamed
from framework.errors import DataError


def read(path: Path) -> Iterator[Block]:
    """Yields the steps of a file."""
    content = safe_pickle.load(path)
    if isinstance(content, dict):
        names = renamed(content)
        values = [content[name] for name in names.values()]
        flags = content[names.get("terminated", names.get("done", ""))]
        if isinstance(flags, list) and (not flags or np.ndim(flags[0]) > 0 or isinstance(flags[0], list)):
            if not all(isinstance(value, list) for value in values) or len({len(value) for value in values}) > 1:
                raise DataError("it holds no trajectories: its lists of episodes differ in length")
            yield from _episodes(dict(zip(names, episode, strict=True)) for episode in zip(*values, strict=True))
        else:
            yield Block({name: column_of(name, content[key]) for name, key in names.items()}, "file")
    elif isinstance(content, list) and all(isinstance(episode, dict) for episode in content):
        yield from _episodes({name: episode[key] for name, key in renamed(episode).items()} for episode in content)
    else:
        raise DataError("it holds no trajectories: a dict of columns, or a list of a dict for each episode, is needed")


def _episodes(episodes: Iterator[Mapping[str, Any]]) -> Iterator[Block]:
    for number, episode in enumerate(episodes):
        place = tr("episode {number}", number=number)
        try:
            columns = {name: column_of(name, values) for name, values in episode.items()}
        except DataError as error:
            raise DataError(f"{place}: {error}") from None
        if len(columns["reward"]):
            yield Block(columns, "episode", place)
