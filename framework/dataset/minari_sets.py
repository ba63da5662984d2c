"""Reads and writes local data sets of Minari, which keeps episodes in a folder with spaces beside them."""

import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from config.model.composite import Composite
from config.read.opening import read_regular
from config.tell.language import tr
from framework.dataset import hdf5_files
from framework.dataset.columns import Block, Columns, column_of
from framework.dataset.summary import Range
from framework.errors import DataError

INSTEAD = tr('a Minari data set needs a package that is not installed here: pip install "minari[hdf5]"')
MOST_METADATA = 2**24
"""Bytes of the largest metadata.json that is read."""
MOST_ARRAY = 2**30
"""Bytes of the largest array of an episode."""
MAIN = "main_data.hdf5"
_DEEPEST = 8
_SIMPLE = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")


def storages() -> Any:
    """Returns the module of Minari that reads and writes folders, or raises DataError."""
    try:
        import_module("h5py")
        return import_module("minari.dataset.minari_storage").MinariStorage
    except ImportError:
        raise DataError(INSTEAD) from None


def is_set(folder: Path) -> bool:
    """Returns True for the folder of a data set."""
    return (folder / "data" / "metadata.json").is_file()


def folder_of(identity: str) -> Path:
    """Returns the folder of a data set in Minari's own place, by its id."""
    storages()
    return Path(import_module("minari.storage.local").get_dataset_path(identity))


def new_folder_of(identity: str) -> Path:
    """Returns the folder of a data set that is to be written in Minari's own place. Raises DataError for an id with
    which Minari could list none of its sets, or that leads elsewhere."""
    folder = folder_of(identity)
    try:
        import_module("minari.dataset.minari_dataset").parse_dataset_id(identity)
    except (ValueError, TypeError):
        raise DataError(
            "minari:{identity} is not an id of Minari: letters and numbers, and a version, such as minari:mine/walk-v0",
            identity=identity,
        ) from None
    return folder


def contents(folder: Path) -> list[Path]:
    """Returns the files of a data set."""
    return sorted(path for path in (folder / "data").iterdir() if path.is_file())


def read(folder: Path) -> Iterator[Block]:
    """Yields the episodes of a data set."""
    storage = _opened(folder / "data")
    space = storage.action_space
    composite = Composite(space, own=True) if isinstance(space, Dict | Tuple) else None
    for number, episode in enumerate(storage.get_episodes(range(int(storage.total_episodes)))):
        place = tr("episode {number}", number=number)
        seen = column_of("observations", episode["observations"])
        if composite is not None:  # parts side by side, as everywhere in files
            episode = {**episode, "actions": _flat(composite, episode["actions"])}
        columns = {name: column_of(theirs, episode[theirs]) for name, theirs in _NAMES.items()}
        if len(seen) != len(columns["reward"]) + 1:
            raise DataError(
                "{place}: {observations} observations for {steps} steps; one more is needed",
                place=place,
                observations=len(seen),
                steps=len(columns["reward"]),
            )
        if (legal := (episode["infos"] or {}).get("action_mask")) is not None:
            mask = column_of("action_mask", legal)
            columns |= {"action_mask": mask[:-1], "next_action_mask": mask[1:]}
        if len(seen) > 1:
            yield Block({"obs": seen[:-1], "next_obs": seen[1:], **columns}, "episode", place)


_NAMES = {"action": "actions", "reward": "rewards", "terminated": "terminations", "truncated": "truncations"}


def _flat(composite: Composite, actions: Any) -> np.ndarray:
    """Returns the actions of an episode, a Tuple or Dict of arrays [T, ...], as flat arrays [T, W]."""
    try:
        return composite.encode(actions)
    except (LookupError, ValueError, TypeError) as error:
        raise DataError("its actions do not fit {space}: {error}", space=composite, error=error) from None


def _opened(data: Path) -> Any:
    """Returns the storage. Spaces come from its metadata only: without them Minari would make the environment that the
    metadata names, and run code."""
    facts = json.loads(read_regular(data / "metadata.json", MOST_METADATA))
    for kind, read in (("observation_space", _SIMPLE), ("action_space", (*_SIMPLE, "Tuple", "Dict"))):
        space = facts.get(kind) if isinstance(facts, dict) else None
        space_type = json.loads(space)["type"] if isinstance(space, str) else None
        if space_type not in read:
            raise DataError(
                "its {kind} is {space}; {names} are read",
                kind=kind,
                space=space_type or tr("not given"),
                names=", ".join(read),
            )
    if facts.get("data_format") != "hdf5":
        raise DataError("its format is {format}; hdf5 is read", format=facts.get("data_format"))
    for path in contents(data.parent):
        if path.is_symlink():
            raise DataError("{path} is a link, which is not followed", path=path)
    storage = storages()
    size = (data / MAIN).stat().st_size
    with import_module("h5py").File(data / MAIN, "r") as file:
        _check(file, size)
    return storage.read(data)


def _check(group: Any, size: int, depth: int = 0) -> None:
    """Raises DataError for links out of the file, and for arrays that claim more than a file of this size can hold."""
    h5py = import_module("h5py")
    if depth > _DEEPEST:
        raise DataError("it is nested more than {limit} deep", limit=_DEEPEST)
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise DataError("{name} is a link, which is not followed", name=name)
        item = group[name]
        if isinstance(item, h5py.Group):
            _check(item, size, depth + 1)
        elif (claimed := hdf5_files.excess(item, size)) or item.external or item.is_virtual or item.nbytes > MOST_ARRAY:
            raise DataError(
                "{name} claims {claimed:,} bytes, or lies in another file; the file has {size:,}",
                name=name,
                claimed=claimed or item.nbytes,
                size=size,
            )


def write(folder: Path, identity: str, episodes: Iterable[Columns], obs: Range, action: Range) -> None:
    """Writes a new data set of this id, which Minari compares with the path in its own place. Its spaces are those that
    the data seem to have."""
    storage, folder = storages(), folder.absolute()  # Minari takes a relative path twice
    (folder / "data").mkdir(parents=True)
    minari = import_module("minari")
    dataset = storage.new(
        folder / "data", observation_space=space_of(obs), action_space=space_of(action), jpeg_encoding=False
    )
    dataset.update_metadata({"dataset_id": identity, "minari_version": minari.__version__})
    make = import_module("minari.data_collector").EpisodeBuffer
    dataset.update_episodes(_buffer(make, episode) for episode in episodes)


def _buffer(make: Any, episode: Columns) -> Any:
    """Returns an episode as Minari has it. Action masks are in its infos."""
    mask = {"action_mask": _one_row(episode, "action_mask")} if "action_mask" in episode else None
    return make(
        observations=_one_row(episode, "obs"),
        **{theirs: episode[name] for name, theirs in _NAMES.items()},
        infos=mask,
    )


def _one_row(episode: Columns, name: str) -> np.ndarray:
    """Returns a column and what follows its last step; what follows the others must be the next step's."""
    here, after = episode[name], episode[f"next_{name}"]
    if not np.array_equal(here[1:], after[:-1]):
        raise DataError(
            "an episode has a next_{name} that is not the {name} of the next step, which Minari cannot hold", name=name
        )
    return np.concatenate([here, after[-1:]])


def space_of(values: Range) -> Space:
    """Returns the smallest space that has these values: for whole numbers from 0 on Discrete or MultiDiscrete."""
    if values.dtype.kind == "b":
        return MultiBinary(values.shape) if values.shape else Discrete(2)
    if values.dtype.kind in "iu" and values.dtype != np.uint8 and values.low.min() >= 0:
        most = values.high.astype(np.int64) + 1
        return MultiDiscrete(most.reshape(values.shape)) if values.shape else Discrete(int(most[0]))
    low, high = values.low.reshape(values.shape), values.high.reshape(values.shape)
    return Box(low, high, dtype=values.dtype.type)
