"""Data files: whatever their format, they are the same transitions; what is missing is derived, and noted."""

import gzip
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from config.tell import language
from framework.commands.work import data as card
from framework.dataset import columns, open_data, steps
from framework.dataset.convert import convert
from framework.dataset.data import _naming
from framework.dataset.episodes import episodes
from framework.dataset.fit import own_space, problems
from framework.errors import DataError
from main import main
from tests.tools.dataset import FINAL, episode, flat, jsonl, npz, ours, pickled, same, whole

THREE = (episode(3), episode(4, 10, ended=False), episode(2, 20))


# ------------------------------------------------------------------------------------------------------ formats


def test_every_format_gives_the_same_transitions(tmp_path: Path) -> None:
    content = flat(*THREE)
    found = [
        ours(tmp_path, *THREE),
        npz(tmp_path / "a.npz", content),
        jsonl(tmp_path / "a.jsonl", *THREE),
        pickled(tmp_path / "flat.pkl", {"states": [*content["obs"]], "actions": content["action"].tolist(),
                "rewards": content["reward"].tolist(), "terminals": content["terminated"],
                "timeouts": content["truncated"], "next_states": content["next_obs"]}),
        pickled(tmp_path / "list.pickle", [_renamed(each) for each in THREE]),
    ]  # fmt: skip
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    for path in [*found, tmp_path / "b.jsonl.gz"]:
        data = open_data(path)
        same(whole(data), content)
        assert data.notes == []
        assert data.summary.returns.tolist() == [6, 10, 3]
        assert data.summary.lengths.tolist() == [3, 4, 2]
        assert (data.summary.terminated, data.summary.truncated) == (2, 1)


def _renamed(each: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: column for name, column in each.items() if name != "obs"} | {"observations": each["obs"]}


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.int16])
@pytest.mark.parametrize("suffix", [".pkl", ".npz", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".minari"])
def test_a_conversion_there_and_back_loses_nothing(tmp_path: Path, suffix: str, dtype: Any) -> None:
    if suffix.endswith("zst"):
        pytest.importorskip("zstandard")
    if suffix == ".minari":
        pytest.importorskip("minari")
    content = flat(*THREE)
    content |= {name: (content[name] / np.float64(3)).astype(dtype) for name in ("obs", "next_obs")}
    source = npz(tmp_path / "a.npz", content)
    convert(str(source), str(tmp_path / f"b{suffix}"))
    convert(str(tmp_path / f"b{suffix}"), str(tmp_path / "c.npz"))
    same(whole(open_data(tmp_path / f"b{suffix}")), content)
    assert (tmp_path / "c.npz").read_bytes() == _converted_once(source, tmp_path / "d.npz")
    assert not list(tmp_path.glob("*.tmp"))


def _converted_once(source: Path, target: Path) -> bytes:
    convert(str(source), str(target))
    return target.read_bytes()


def test_actions_of_several_parts_of_a_set_of_minari_become_flat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    buffer = pytest.importorskip("minari.data_collector").EpisodeBuffer
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    actions = {"mode": np.array([3, 4, 3]), "number": (np.full((3, 2), 0.5, np.float32),)}
    episode = buffer(
        observations=np.zeros((4, 1), np.float32), actions=actions, rewards=np.ones(3),
        terminations=np.array([False, False, True]), truncations=np.zeros(3, bool),
    )  # fmt: skip
    space = Dict({"mode": Discrete(2, start=3), "number": Tuple([Box(-1, 1, (2,))])})
    minari.create_dataset_from_buffers(
        dataset_id="toy/parts-v0", buffer=[episode], observation_space=Box(-1, 1, (1,)), action_space=space
    )
    [piece] = open_data(str(tmp_path / "toy/parts-v0")).pieces()
    assert piece["action"].tolist() == [[3, 0.5, 0.5], [4, 0.5, 0.5], [3, 0.5, 0.5]]


def test_a_local_data_set_of_minari_is_read_by_its_folder_and_by_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    buffer = pytest.importorskip("minari.data_collector").EpisodeBuffer
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    made = [
        buffer(
            observations=np.concatenate([each["obs"], each["next_obs"][-1:]]), actions=each["action"],
            rewards=each["reward"], terminations=each["terminated"], truncations=each["truncated"],
        )
        for each in THREE
    ]  # fmt: skip
    minari.create_dataset_from_buffers(
        "toy/count-v0", made, action_space=Discrete(2), observation_space=Box(0, 99, (2,), np.float32)
    )
    for word in (str(tmp_path / "toy/count-v0"), "minari:toy/count-v0"):
        data = open_data(word)
        same(whole(data), flat(*THREE))
        assert len(data.sha256) == 64
    convert("minari:toy/count-v0", "minari:toy/again-v1")
    assert [*minari.list_local_datasets()] == ["toy/again-v1", "toy/count-v0"]
    assert minari.load_dataset("toy/again-v1").id == "toy/again-v1"
    assert minari.load_dataset("toy/again-v1").observation_space.high.max() == max(
        each["next_obs"].max() for each in THREE
    )
    with pytest.raises(DataError, match=r"minari:toy/other-v0: there is no such data set in .*none is downloaded"):
        open_data("minari:toy/other-v0")


@pytest.mark.parametrize("name", ["", "x", "a b-v0", "../../out/x-v0", "mine//walk-v0"])
def test_an_id_with_which_minari_could_not_list_its_sets_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "inner" / "sets"))
    data = npz(tmp_path / "a.npz", flat(*THREE))
    with pytest.raises(DataError, match=f"minari:{name} is not an id of Minari"):
        convert(str(data), f"minari:{name}")
    assert [*tmp_path.rglob("*.hdf5")] == []


def test_rewards_and_flags_of_one_number_each_may_have_a_side_more(tmp_path: Path) -> None:
    content = flat(*THREE)
    wide = {**content, **{name: content[name][:, None] for name in ("reward", "terminated", "truncated")}}
    same(whole(open_data(npz(tmp_path / "a.npz", wide))), content)


def test_arrays_that_are_stored_column_by_column_or_in_the_other_byte_order_are_read(tmp_path: Path) -> None:
    content = flat(*THREE)
    other = {**content, "obs": np.asfortranarray(content["obs"]), "reward": content["reward"].astype(">f4")}
    same(whole(open_data(npz(tmp_path / "a.npz", other))), content)


def test_floats_of_plain_json_are_float32_and_dtypes_are_obeyed(tmp_path: Path) -> None:
    line = {"obs": [[0, 1], [1, 2]], "action": [[0.5], [1.5]], "reward": [1, 1], "terminated": [0, 1]}
    summary = open_data(jsonl(tmp_path / "a.jsonl", line)).summary
    assert (summary.obs.dtype, summary.action.dtype) == (np.float32, np.float32)
    (tmp_path / "b.jsonl").write_text(json.dumps(line | {"dtypes": {"obs": "uint8", "action": "float64"}}))
    summary = open_data(tmp_path / "b.jsonl").summary
    assert (summary.obs.dtype, summary.action.dtype) == (np.uint8, np.float64)
    table = {"obs": [4, 5], "action": [0, 1], "reward": [0.5, 1], "terminated": [False, True]}
    assert open_data(jsonl(tmp_path / "c.jsonl", table)).summary.obs.dtype == np.int64


# ---------------------------------------------------------------------------------------------- what is missing


def test_a_missing_next_obs_is_the_obs_of_the_next_step(tmp_path: Path) -> None:
    """A truncated step without it is left out, and the step before it is the last one then."""
    data = open_data(npz(tmp_path / "a.npz", flat(*THREE, without=("next_obs",))))
    found = whole(data)
    assert found["obs"][:, 0].tolist() == [0, 1, 2, 10, 11, 12, 20, 21]
    assert found["next_obs"][:, 0].tolist() == [1, 2, 2, 11, 12, 13, 21, 21]
    assert found["terminated"].tolist() == [False, False, True, False, False, False, False, True]
    assert found["truncated"].tolist() == [False] * 5 + [True, False, False]
    assert found["reward"].tolist() == [1, 2, 3, 1, 2, 3, 1, 2]
    assert not data.summary.next_obs_given
    assert [note.partition(": ")[2] for note in data.notes] == [
        "1 step at the end of truncated episodes left out: next_obs is not given, so the observation after them is "
        "unknown"
    ]


def test_a_truncated_episode_of_one_step_without_next_obs_is_left_out_and_ends_no_other(tmp_path: Path) -> None:
    single = flat(episode(3), episode(1, 50, ended=False), episode(2, 20), without=("next_obs",))
    data = open_data(npz(tmp_path / "a.npz", single))
    assert data.summary.lengths.tolist() == [3, 2]
    assert whole(data)["truncated"].sum() == 0
    only = flat(episode(1, ended=False), without=("next_obs",))
    with pytest.raises(DataError, match="it holds no transition; its episodes are single steps"):
        open_data(npz(tmp_path / "b.npz", only))


def test_without_truncated_the_last_step_of_an_episode_that_has_not_ended_is_truncated(tmp_path: Path) -> None:
    lists = {name: [each[name] for each in THREE] for name in FINAL if name != "truncated"}
    names = {"obs": "state", "next_obs": "next_state"}
    data = open_data(pickled(tmp_path / "a.pkl", {names.get(name, name): lists[name] for name in lists}))
    same(whole(data), flat(*THREE))
    assert data.notes == [f"{tmp_path}/a.pkl: the last step of 1 episode counts as truncated: truncated is not given"]
    assert not data.summary.truncated_given


def test_a_partial_last_episode_is_truncated_and_noted(tmp_path: Path) -> None:
    content = flat(episode(3), episode(4))
    cut = {name: column[:5] for name, column in content.items()}
    data = open_data(npz(tmp_path / "a.npz", cut))
    assert whole(data)["truncated"].tolist() == [False] * 4 + [True]
    assert data.summary.lengths.tolist() == [3, 2]
    assert data.notes == [f"{tmp_path}/a.npz: the last step of 1 episode counts as truncated: no flag marks it"]


@pytest.mark.parametrize("moved", [2, 1, 0])
def test_steps_that_do_not_follow_each_other_are_noted(tmp_path: Path, moved: int) -> None:
    content = flat(episode(6), episode(6, 20))
    order = np.random.default_rng(1).permutation(12) if moved == 2 else np.arange(12)
    content = {name: column[order] for name, column in content.items()}
    if moved == 1:  # a few may differ, such as those whose obs was changed later
        content["next_obs"][2] += 1
    said = "steps within episodes is not the obs of the step after them"
    assert any(said in note for note in open_data(npz(tmp_path / "a.npz", content)).notes) == (moved == 2)


def test_an_array_for_each_number_of_an_observation_is_told_as_such(tmp_path: Path) -> None:
    content = flat(*THREE)
    parts = {f"obs_{number}": numbers for number, numbers in enumerate(content.pop("obs").T)}
    with pytest.raises(DataError, match="obs_0 is a single number of it, and one array"):
        open_data(pickled(tmp_path / "a.pkl", content | parts))


def test_done_is_either_end_beside_truncated_and_terminated_alone(tmp_path: Path) -> None:
    content = flat(*THREE)
    given = {NAME: content[name] for name, NAME in (("obs", "obs"), ("action", "actions"), ("reward", "rewards"))}
    done = content["terminated"] | content["truncated"]
    np.savez(tmp_path / "a.npz", **given, next_obs=content["next_obs"], dones=done, truncated=content["truncated"])
    same(whole(open_data(tmp_path / "a.npz")), content)
    np.savez(tmp_path / "b.npz", **given, next_obs=content["next_obs"], dones=done)
    assert open_data(tmp_path / "b.npz").summary.terminated == 3


# --------------------------------------------------------------------------------------------------- many files


def test_files_are_in_natural_order_each_once_and_hashed_as_one(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        npz(tmp_path / f"d{number}.npz", flat(episode(2, number)))
    words = [str(tmp_path / "d1*.npz"), str(tmp_path / "d*.npz"), str(tmp_path / "d2.npz")]
    data = open_data(words)
    assert [path.name for path in data.files] == ["d1.npz", "d2.npz", "d10.npz"]
    assert whole(data)["obs"][::2, 0].tolist() == [1, 2, 10]
    assert (data.summary.obs.low[0], data.summary.obs.low_at[0]) == (1, 0)
    assert (data.summary.obs.high[0], data.summary.obs.high_at[0]) == (11, 5)
    assert data.summary.where(3) == f"transition 1 of {tmp_path}/d2.npz"
    assert data.sha256 == hashlib.sha256(b"".join(path.read_bytes() for path in data.files)).hexdigest()
    assert open_data(words[::-1]).sha256 == data.sha256
    npz(tmp_path / "d2.npz", flat(episode(2, 3)))
    assert open_data(words).sha256 != data.sha256


def test_a_task_directory_means_its_trajectories(tmp_path: Path) -> None:
    ours(tmp_path / "results", *THREE)
    (tmp_path / "results" / "train.csv").write_text("x\n")
    for word in (tmp_path, tmp_path / "results", str(tmp_path / "results" / "trajs*.pkl"), str(tmp_path) + "*"):
        assert open_data(word).files == [tmp_path / "results" / "trajs.pkl"]


def test_other_precision_becomes_that_of_the_first_file_and_other_shapes_are_refused(tmp_path: Path) -> None:
    content = flat(*THREE)
    npz(tmp_path / "a.npz", content)
    wide = {
        name: column.astype(np.float64 if column.dtype.kind == "f" else np.int16) for name, column in content.items()
    }
    npz(tmp_path / "b.npz", wide)
    data = open_data(str(tmp_path / "*.npz"))
    same(whole(data), flat(*THREE, *THREE))
    npz(tmp_path / "c.npz", {**content, "obs": content["obs"][:, :1], "next_obs": content["next_obs"][:, :1]})
    with pytest.raises(
        DataError, match=r"c\.npz: obs is float32 of shape \(1,\), but float32 of shape \(2,\) in the first"
    ):
        open_data(str(tmp_path / "*.npz"))
    npz(tmp_path / "c.npz", {**content, "action": content["action"] + 0.5})
    with pytest.raises(DataError, match=r"c\.npz: action is float64 .* but int64"):
        open_data(str(tmp_path / "*.npz"))
    with pytest.raises(DataError, match=r"mixed\.jsonl: obs is float32 of shape \(1,\)"):
        open_data(jsonl(tmp_path / "mixed.jsonl", THREE[0], {**THREE[1], "obs": THREE[1]["obs"][:, :1],
                        "next_obs": THREE[1]["next_obs"][:, :1]}))  # fmt: skip


# -------------------------------------------------------------------------------------------------------- pieces


@pytest.mark.parametrize("size", [1, 60, 100, 250, 10**6])
@pytest.mark.parametrize("form", ["pkl", "npz", "jsonl", "bare"])
def test_pieces_of_any_size_are_the_same_transitions(
    tmp_path: Path, form: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is 30 bytes here; without next_obs, a step waits for the one that follows."""
    made = [episode(1 + n % 5, 100 * n, ended=n % 3 > 0) for n in range(12)]
    match form:
        case "pkl":
            path = ours(tmp_path, *made)
        case "jsonl":
            path = jsonl(tmp_path / "a.jsonl", *made)
        case _:
            path = npz(tmp_path / "a.npz", flat(*made, without=("next_obs",) if form == "bare" else ()))
    expected, summary = whole(open_data(path)), open_data(path).summary
    for module in (columns, steps, sys.modules["framework.dataset.flat"]):
        monkeypatch.setattr(module, "PIECE_BYTES", size)
    data = open_data(path)
    pieces = list(data.pieces())
    assert max(columns.size_of(piece) for piece in pieces) <= max(size, 30)
    same(whole(data), expected)
    assert data.summary.returns.tolist() == summary.returns.tolist()
    assert data.summary.lengths.tolist() == summary.lengths.tolist()
    if form != "bare":
        same(expected, flat(*made))
    parts = list(episodes(data.pieces()))
    assert [len(part["reward"]) for part in parts] == summary.lengths.tolist()


def test_a_million_transitions_take_their_own_size_and_little_more_and_few_seconds(tmp_path: Path) -> None:
    count = 1_000_000
    obs, last = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32), np.arange(count) % 200 == 199
    content = {"obs": obs, "next_obs": obs, "action": np.arange(count) % 2, "reward": np.ones(count, np.float32)}
    path = npz(tmp_path / "a.npz", {**content, "terminated": last, "truncated": last & False})
    own = sum(column.nbytes for column in content.values()) + 2 * count
    del obs, content
    tracemalloc.start()
    began = time.process_time()
    data = open_data(path)
    kept: dict[str, np.ndarray] = {}
    at = 0
    for piece in data.pieces():
        for name, column in piece.items():
            if name not in kept:
                kept[name] = np.empty((data.summary.transitions, *column.shape[1:]), column.dtype)
            kept[name][at : at + len(column)] = column
        at += len(piece["reward"])
    took, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert at == count
    assert peak < 1.2 * own
    assert took < count / 200_000


def test_opening_data_needs_neither_torch_nor_ray() -> None:
    code = "import sys, framework.dataset, framework.dataset.fit; print({'torch', 'ray'} & {*sys.modules})"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert said.stdout == "set()\n"


# ----------------------------------------------------------------------------------------------------------- fit


def summary_of(folder: Path, obs: Any, action: Any) -> Any:
    count = len(obs)
    last = np.arange(count) == count - 1
    content = {"obs": np.array(obs), "next_obs": np.array(obs), "action": np.array(action), "reward": np.ones(count)}
    return open_data(npz(folder / "a.npz", {**content, "terminated": last, "truncated": last & False})).summary


def test_data_fit_the_spaces_that_they_come_from(tmp_path: Path) -> None:
    box = Box(-1, 1, (2,), np.float32)
    assert problems(summary_of(tmp_path, np.float32([[0, 1], [-1, 1.00001]]), [0, 2]), box, Discrete(3)) == []
    shifted = own_space(Discrete(3), 5)
    assert problems(summary_of(tmp_path, [5, 7], [[0, 2], [1, 1]]), shifted, MultiDiscrete([2, 3])) == []
    assert problems(summary_of(tmp_path, [0, 0], [[0, 1], [1, 1]]), Discrete(1), MultiBinary(2)) == []
    assert (
        problems(summary_of(tmp_path, np.float32([[0], [255]]), [0.0, 1.0]), Box(0, 255, (1,), np.uint8), Discrete(2))
        == []
    )


@pytest.mark.parametrize(
    ("obs", "action", "spaces", "said"),
    [
        (np.float32([[0, 0], [9, 0], [3, -2]]), [0, 1, 1], (Box(-1, 1, (2,)), Discrete(2)),
         ["obs[1] of transition 2 of PATH is -2.0, below -1.0", "obs[0] of transition 1 of PATH is 9.0, above 1.0"]),
        ([0, 3], [0, 2], (Discrete(4), Discrete(2)), ["action of transition 1 of PATH is 2, above 1"]),
        ([0, 3], [0, 1], (Discrete(4, start=1), Discrete(2)), ["obs of transition 0 of PATH is 0, below 1"]),
        ([[0.0], [1.0]], [0.0, 0.5], (Box(-9, 9, (1,)), Discrete(2)), ["action is float64; the environment has Discr"]),
        ([[0.0], [1.0]], [0, 1], (Box(-9, 9, (3,)), Discrete(2)), ["obs has the shape (1,); the environment has Box"]),
        ([[0.0], [1e300]], [0, 1], (Box(-np.inf, np.inf, (1,)), Discrete(2)),
         ["obs[0] of transition 1 of PATH is 1e+300, above 3.4"]),
        ([0, 0], [[0, 1], [1, 3]], (Discrete(1), MultiDiscrete([2, 3])),
         ["action[1] of transition 1 of PATH is 3, above 2"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_the_worst_value_and_its_place(
    tmp_path: Path, obs: Any, action: Any, spaces: Any, said: list[str]
) -> None:
    found = problems(summary_of(tmp_path, obs, action), *spaces)
    assert [each[: len(start)] for each, start in zip(found, _at(said, tmp_path), strict=True)] == _at(said, tmp_path)


@pytest.mark.parametrize(
    ("step", "value", "said"),
    [
        (1, 9, "next_obs of transition 1 of PATH is 9, above 3"),
        (1, -1, "next_obs of transition 1 of PATH is -1, below 0"),
        (1, 2.5, "next_obs is float64; the environment has Discrete(4), of whole numbers"),
        (2, 9, ""),
    ],
)
def test_next_obs_has_to_fit_too_but_that_of_a_terminal_step(
    tmp_path: Path, step: int, value: float, said: str
) -> None:
    after = np.array([1, 2, 3], type(value))
    after[step] = value
    content = {"obs": np.arange(3), "next_obs": after, "action": np.zeros(3, int), "reward": np.ones(3)}
    ends = {"terminated": np.arange(3) == 2, "truncated": np.zeros(3, bool)}
    found = problems(open_data(npz(tmp_path / "a.npz", {**content, **ends})).summary, Discrete(4), Discrete(2))
    assert len(found) == bool(said)
    assert all(each.startswith(start) for each, start in zip(found, _at([said], tmp_path), strict=False))


def _at(said: list[str], folder: Path) -> list[str]:
    return [each.replace("PATH", str(folder / "a.npz")) for each in said]


# ------------------------------------------------------------------------------------------------- command line


def test_an_action_of_many_parts_is_not_written_beside_its_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for parts, listed in ((6, "(0 0 0 0 0 0: 75.0%, 1 1 1 1 1 1: 25.0%)"), (7, "(75.0%, 25.0%)")):
        action = np.zeros((4, parts), np.int8)
        action[1] = 1
        content = {"obs": np.arange(4), "action": action, "reward": np.ones(4), "terminated": np.arange(4) == 3}
        assert main(["data", str(npz(tmp_path / f"{parts}.npz", content))]) == 0
        assert f"at most 0.693 {listed}" in capsys.readouterr().out


def test_the_card_counts_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Observations 0, 1, 0, 1 with actions 0, 1, 0, 0: one pair of four came before, one observation with another
    action; shares 3/4 and 1/4 have the entropy 0.562 nats."""
    last = [False, True, False, True]
    content = {"obs": np.array([0, 1, 0, 1]), "action": np.array([0, 1, 0, 0]), "reward": np.array([1.0, 2, 5, 6])}
    flags = {"terminated": np.array(last), "truncated": np.zeros(4, bool)}
    path = npz(tmp_path / "a.npz", {**content, "next_obs": content["obs"], **flags})
    assert main(["data", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["transitions"], found["episodes"], found["terminated"], found["truncated"]) == (4, 2, 2, 0)
    assert (found["returns"]["mean"], found["returns"]["std"], found["returns"]["25%"]) == (7, 4, 5)
    assert found["repeated_pairs"] == 0.25
    assert found["repeated_obs"] == 0.5
    assert found["action_entropy"] == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert found["action_shares"] == {"0": 0.75, "1": 0.25}
    assert found["behaviour"][0] == "not deterministic: 1 time an observation came again with another action"
    assert found["bytes"] == path.stat().st_size
    assert main(["data", str(path)]) == 0
    text = capsys.readouterr().out
    assert "2 episodes, 4 transitions" in text
    assert found["sha256"] in text


def test_the_card_in_chinese_has_chinese_punctuation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = npz(tmp_path / "a.npz", flat(episode(3)))
    monkeypatch.setenv("JOYSTICK_LANG", "zh")
    language.language.cache_clear()
    try:
        assert main(["data", str(path)]) == 0
    finally:
        monkeypatch.undo()
        language.language.cache_clear()
    text = capsys.readouterr().out
    assert "1 个回合，3 条转移" in text
    assert re.search("最大为 [0-9.]+（.+，.+）", text)


def test_the_card_tells_a_deterministic_policy_and_actions_at_their_bounds(tmp_path: Path) -> None:
    obs = np.array([0, 1, 0, 1])
    flags = {"terminated": obs == 1, "truncated": obs > 1}
    actions = np.array([[-1.0], [0.5], [-1.0], [0.5]])
    path = npz(tmp_path / "a.npz", {"obs": obs, "next_obs": obs, "action": actions, "reward": obs * 1.0, **flags})
    found = card.facts(open_data(path))
    assert found["behaviour"][0].startswith("seems deterministic: 2 observations came before")
    assert found["actions_at_bounds"] == 1.0
    content = flat(episode(9))
    assert "cannot be told" in card.facts(open_data(npz(tmp_path / "b.npz", content)))["behaviour"][0]


def test_the_histogram_has_a_bar_for_each_range() -> None:
    lines = card.histogram(np.array([0.0, 0, 0, 0, 10]))
    assert len(lines) == card.BARS
    assert lines[0].split() == ["0", "#" * card.WIDTH, "4"]
    assert lines[-1].split() == ["9", "#" * (card.WIDTH // 4), "1"]
    assert card.histogram(np.array([3.0, 3.0])) == [f"{'3':>11} {'#' * card.WIDTH} 2"]


def test_data_are_compared_with_an_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = flat(episode(3))
    path = npz(tmp_path / "a.npz", content)
    assert main(["data", str(path), "--env", "CartPole-v1"]) == 2
    assert "unfit      obs has the shape (2,); the environment has Box" in capsys.readouterr().out
    four = {**content, **{name: np.tile(content[name], 2) / 10 for name in ("obs", "next_obs")}}
    four |= {name: four[name].astype(np.float32) for name in ("obs", "next_obs")}
    assert main(["data", str(npz(tmp_path / "b.npz", four)), "--env", "CartPole-v1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unfit"] == []


def test_data_may_be_the_name_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (results := tmp_path / "tasks" / "expert" / "results").mkdir(parents=True)
    ours(results, *THREE)
    assert open_data("expert").files == open_data("tasks/expert").files


def test_convert_writes_data_and_refuses_to_replace_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = ours(tmp_path, *THREE), tmp_path / "new.jsonl"
    assert main(["convert", str(source), str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 3 episodes, 9 transitions\n"
    for name, said in (
        ("new.jsonl", "exists; give a new name"),
        ("new.csv", "is not a data file; its ending tells the format: .pkl, .npz"),
        ("new.yaml", "is not a data file"),
        ("none/new.npz", "does not exist"),
    ):
        assert main(["convert", str(source), str(tmp_path / name)]) == 2
        assert said in capsys.readouterr().err
    assert main(["convert", "old.yaml", "new.yaml"]) == 2
    assert "a converted JoyRL file goes to the standard output: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["convert", str(source)])
    assert "convert DATA NEW.npz" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["new.jsonl", "trajs.pkl"]


@pytest.mark.parametrize("word", ["tasks/run", "output-2026-01-31_10-15-00_worker-0_0.json", "minari:a/b-v0"])
def test_convert_asks_for_the_name_of_the_new_file_for_data_of_any_kind(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks/run").mkdir(parents=True)
    with pytest.raises(SystemExit):
        main(["convert", word])
    assert f"{word!r} is data; name the new file too: " in capsys.readouterr().err


def test_a_conversion_that_fails_leaves_nothing(tmp_path: Path) -> None:
    content = flat(episode(3))
    content["next_obs"] = content["next_obs"] + 7
    with pytest.raises(DataError, match=r"not installed|cannot hold"):
        convert(str(npz(tmp_path / "a.npz", content)), str(tmp_path / "b.minari"))
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("sentence", ["{path} is cut off", "{path}: it is cut off", "{path}：被截断", "it is cut off"])
def test_the_name_of_a_file_is_said_once(tmp_path, sentence):
    path = tmp_path / "a.npz"
    with pytest.raises(DataError) as caught, _naming(path):
        raise DataError(sentence.format(path=path))
    said = sentence if "{path}" in sentence else "{path}: it is cut off"
    assert str(caught.value) == said.format(path=path)


@pytest.mark.parametrize("blank", ["\n", "\r\n", " \t", "\n\n"])
def test_a_blank_line_is_no_episode(tmp_path: Path, blank: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", *THREE)
    path.write_text(path.read_text() + blank)
    assert open_data(path).summary.episodes == 3
    path.write_text(blank)
    with pytest.raises(DataError, match="it holds no transition"):
        open_data(path)


def test_an_empty_pickle_is_said_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "zero.pkl"
    path.touch()
    with pytest.raises(DataError) as caught:
        open_data(path)
    assert str(caught.value) == f"{path} is damaged: it is empty"
