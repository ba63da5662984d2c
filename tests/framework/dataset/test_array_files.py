"""HDF5, Parquet and OGBench's files: the same transitions as from other formats, and hostile files in one sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from config.model.memory_spec import DataSpec
from framework.dataset import open_data
from framework.dataset.convert import convert
from framework.dataset.hdf5_files import excess
from framework.errors import DataError, JoystickError
from framework.memory.offline_data import select_data
from tests.framework.dataset.test_dataset_hostile import refused
from tests.tools.dataset import NAMES, episode, flat, npz, same, whole

COLUMNS = flat(episode(3), episode(4, 10, ended=False), episode(2, 30))


def hdf5(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, column in columns.items():
            file.create_dataset(NAMES.get(name, name), data=column, **options)
    return path


def parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(arrow.table({NAMES.get(name, name): list(column) for name, column in columns.items()}), path, **options)
    return path


@pytest.mark.parametrize("without", [(), ("next_obs",), ("truncated",), ("next_obs", "truncated")])
@pytest.mark.parametrize(("make", "name"), [(hdf5, "d.hdf5"), (hdf5, "d.h5"), (parquet, "d.parquet")])
def test_the_transitions_are_those_of_an_npz(make: Any, name: str, without: tuple[str, ...], tmp_path: Path) -> None:
    columns = flat(episode(3), episode(4, 10, ended=False), episode(2, 30), without=without)
    data, other = open_data(make(tmp_path / name, columns)), open_data(npz(tmp_path / "d.npz", columns))
    same(whole(data), whole(other))
    assert [note.partition(": ")[2] for note in data.notes] == [note.partition(": ")[2] for note in other.notes]


@pytest.mark.parametrize("ending", [".hdf5", ".h5", ".parquet"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_conversion_keeps_values_and_types(ending: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    pytest.importorskip("h5py" if ending != ".parquet" else "pyarrow")
    count, random = 1500, np.random.default_rng(0)
    columns = {
        "obs": random.integers(0, 255, (count, *shape), np.uint8), "action": random.normal(size=(count, 2)),
        "reward": random.normal(size=count).astype(np.float32),
        "next_obs": random.integers(0, 255, (count, *shape), np.uint8),
        "terminated": np.arange(count) % 100 == 99, "truncated": np.arange(count) % 77 == 76,
    }  # fmt: skip
    first = npz(tmp_path / "a.npz", columns)
    convert(str(first), str(tmp_path / f"b{ending}"))
    convert(str(tmp_path / f"b{ending}"), str(tmp_path / "c.npz"))
    same(whole(open_data(tmp_path / f"b{ending}")), whole(open_data(first)))
    convert(str(first), str(tmp_path / "again.npz"))
    assert (tmp_path / "c.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


# ------------------------------------------------------------------------------------------------------ OGBench


def test_a_file_of_ogbench_has_its_trajectories_and_no_rewards(tmp_path: Path) -> None:
    """By hand: two trajectories of 3 states; the last action of each leads nowhere and is left out."""
    obs = np.arange(6, dtype=np.float32)[:, None]
    path = tmp_path / "maze.npz"
    np.savez(path, observations=obs, actions=obs, terminals=np.array([0, 0, 1, 0, 0, 1.0]), qpos=obs, qvel=obs)
    data = open_data(path)
    [piece] = data.pieces()
    assert piece["obs"][:, 0].tolist() == [0, 1, 3, 4]
    assert piece["next_obs"][:, 0].tolist() == [1, 2, 4, 5]
    assert piece["reward"].tolist() == [0, 0, 0, 0]
    assert piece["terminated"].tolist() == [False] * 4
    assert piece["truncated"].tolist() == [False, True, False, True]
    assert any("rewards are not given" in note for note in data.notes)


def test_masks_of_ogbench_tell_where_the_task_is_over(tmp_path: Path) -> None:
    obs = np.arange(4, dtype=np.float32)[:, None]
    path = tmp_path / "cube.npz"
    np.savez(
        path, observations=obs, next_observations=obs + 1, actions=obs, rewards=np.array([-1, 0, -1, -1.0]),
        terminals=np.array([0, 0, 0, 1.0]), masks=np.array([1, 0, 1, 1.0]),
    )  # fmt: skip
    [piece] = open_data(path).pieces()
    assert piece["reward"].tolist() == [-1, 0, -1, -1]
    assert piece["terminated"].tolist() == [False, True, False, False]
    assert piece["truncated"].tolist() == [False, False, False, True]


@pytest.mark.parametrize("first", [1, 0])
def test_the_last_observation_of_a_trajectory_of_ogbench_is_no_step_whatever_its_mask(
    tmp_path: Path, first: int
) -> None:
    """By hand: two trajectories of 3 states, of which the last ones reach the goal. first: mask of the second state."""
    obs = np.arange(6, dtype=np.float32)[:, None]
    columns: dict[str, Any] = {"observations": obs, "actions": obs, "rewards": np.ones(6)}
    ends, masks = np.array([0, 0, 1, 0, 0, 1.0]), np.array([1, first, 0, 1, 1, 0.0])
    np.savez(tmp_path / "cube.npz", **columns, terminals=ends, masks=masks)
    [piece] = open_data(tmp_path / "cube.npz").pieces()
    assert piece["obs"][:, 0].tolist() == [0, 1, 3, 4]
    assert piece["terminated"].tolist() == [False, not first, False, False]
    assert piece["truncated"].tolist() == [False, bool(first), False, True]
    np.savez(tmp_path / "loaded.npz", **columns, next_observations=obs + 1, terminals=ends, masks=masks)
    [piece] = open_data(tmp_path / "loaded.npz").pieces()
    assert piece["terminated"].tolist() == [False, not first, True, False, False, True]


def test_data_without_rewards_are_for_imitation_alone(tmp_path: Path) -> None:
    from gymnasium.spaces import Box

    from algos.base import EnvSpec

    obs = np.arange(6, dtype=np.float32)[:, None]
    np.savez(tmp_path / "d.npz", observations=obs, actions=obs, terminals=np.array([0, 0, 1, 0, 0, 1.0]), qpos=obs)
    box = Box(0, 10, (1,))
    spec = EnvSpec(id="x", observation_space=box, action_space=box, rows=1)
    paths = (str(tmp_path / "d.npz"),)
    assert select_data(DataSpec(paths, rewards=False), spec, 0).transitions == 4
    with pytest.raises(JoystickError, match="no rewards, which this algorithm learns from"):
        select_data(DataSpec(paths), spec, 0)


# ------------------------------------------------------------------------------------------------------ hostile


def test_hostile_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    good = {NAMES[name]: column for name, column in COLUMNS.items()}

    def made(name: str, change: Any) -> Path:
        path = tmp_path / f"{name}.hdf5"
        with h5py.File(path, "w") as file:
            for key, column in good.items():
                file[key] = column
            change(file)
        return path

    def instead(key: str, **options: Any) -> Any:
        def change(file: Any) -> None:
            del file[key]
            file.create_dataset(key, **options)

        return change

    def linked(target: Any) -> Any:
        def change(file: Any) -> None:
            del file["observations"]
            file["observations"] = target

        return change

    refused(made("huge", instead("observations", shape=(2**40, 2), dtype="f4", chunks=(1024, 2))), "claims")
    small = {"shape": (2**14, 2), "dtype": "f4", "chunks": (1, 2)}
    refused(made("empty", instead("observations", **small)), "claims 131,072 bytes")
    refused(made("deflated", instead("observations", **small, compression="gzip")), "claims 131,072 bytes")
    for options in ({}, {"compression": "gzip"}):  # small chunks that are in the file are no claim
        path = made("small", instead("observations", data=np.ones((2**12, 2), "i1"), chunks=(1, 2), **options))
        with h5py.File(path) as file:
            assert excess(file["observations"], path.stat().st_size) == 0
    refused(made("long", instead("observations", data=np.zeros((9, 2**20, 3), "f4"))), "a step takes")
    refused(
        made("chunk", instead("observations", shape=(9, 2), maxshape=(None, 2), dtype="f4", chunks=(2**24, 2))),
        "stored in chunks of",
    )
    refused(made("soft", linked(h5py.SoftLink("/actions"))), "is a link, which is not followed")
    refused(made("outside", linked(h5py.ExternalLink("/etc/passwd", "/x"))), "is a link, which is not followed")
    refused(
        made("raw", instead("observations", shape=(9, 2), dtype="f4", external=[("/etc/passwd", 0, 72)])),
        "lies in another file",
    )
    refused(made("text", instead("actions", data=["a"] * 9, dtype=h5py.string_dtype())), "numbers are needed")
    refused(made("rows", instead("actions", data=np.zeros(8))), "the columns differ in length")
    refused(made("shape", instead("rewards", data=np.zeros((9, 3)))), "one number for each step is needed")
    refused(made("one", instead("rewards", data=1.0)), "is a single number")
    refused(made("nan", instead("rewards", data=np.full(9, np.nan))), "a finite number is needed")
    groups = tmp_path / "groups.hdf5"
    with h5py.File(groups, "w") as file:
        file["data/demo_0/obs"] = np.zeros((9, 2))
    refused(groups, "its arrays lie in groups, such as data/")
    cut = tmp_path / "cut.hdf5"
    cut.write_bytes(made("whole", lambda file: None).read_bytes()[:900])
    refused(cut, "it is damaged")
    (tmp_path / "text.h5").write_text("hello")
    refused(tmp_path / "text.h5", "it is damaged")


def test_hostile_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    good = {name: list(column) for name, column in COLUMNS.items()}

    def made(name: str, **columns: Any) -> Path:
        return parquet(tmp_path / f"{name}.parquet", {**good, **columns})

    refused(made("text", action=["a"] * 9), "is a column of string; numbers are needed")
    refused(made("ragged", obs=[[0.0] * (1 + i % 2) for i in range(9)]), "differ in shape")
    refused(made("mean", obs=[[0.0] * n for n in (1, 3, 2, 2, 2, 2, 2, 2, 2)]), "differ in shape")
    refused(made("null", reward=[None, *[1.0] * 8]), "has entries without a value")
    refused(made("inner", obs=[[0.0, None]] * 9), "has entries without a value")
    refused(made("nan", reward=[float("nan")] * 9), "a finite number is needed")
    refused(parquet(tmp_path / "none.parquet", {name: column[:0] for name, column in COLUMNS.items()}), "")
    nested = arrow.array([{"a": 1}] * 9)
    refused(made("struct", action=nested), "numbers are needed")
    whole_file = made("whole").read_bytes()
    for name, content in {"cut": whole_file[:-20], "text": b"hello", "flipped": whole_file[:-4] + b"PAR2"}.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(content)
        refused(path, "damaged")
    # a constant column of lists takes next to no room in the file
    wide = arrow.FixedSizeListArray.from_arrays(arrow.array(np.zeros(9 * 2**20, np.float32)), 2**20)
    table = arrow.table({NAMES[name]: wide if name == "obs" else list(column) for name, column in COLUMNS.items()})
    from pyarrow.parquet import write_table

    write_table(table, tmp_path / "wide.parquet")
    with pytest.raises(DataError, match=r"claims|a step takes"):
        open_data(tmp_path / "wide.parquet")


@pytest.mark.parametrize(("name", "module"), [("d.hdf5", "h5py"), ("d.parquet", "pyarrow")])
def test_a_missing_package_is_named(name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_bytes(b"x")
    refused(tmp_path / name, "pip install")
