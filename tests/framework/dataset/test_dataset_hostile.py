"""Bad and hostile data files: one message with the file's name and the reason, no code, no memory, nothing created."""

import gzip
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.dataset import lines, open_data, safe_pickle
from framework.errors import DataError
from main import main
from tests.tools.dataset import NAMES, episode, flat, jsonl, npz, ours, pickled

GOOD = flat(episode(3), episode(4, 10, ended=False))
LISTS = {name: column.tolist() for name, column in GOOD.items()}


class Canary:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.path),))


def refused(path: Path, said: str) -> None:
    """Opening it is a DataError, a sentence that begins with the file and has these words; it takes next to no
    memory."""
    tracemalloc.start()
    with pytest.raises(DataError) as caught:
        open_data(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith(str(path))
    assert not str(caught.value).startswith((f"{path}: is ", f"{path}: was "))
    assert str(caught.value).count(str(path)) == 1
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert peak < 2**24


@pytest.mark.parametrize("ending", [".hdf5", ".pkl", ".parquet", ".jsonl"])
def test_a_file_with_the_ending_of_another_format_is_answered_with_its_own(tmp_path: Path, ending: str) -> None:
    path = npz(tmp_path / "a.npz", GOOD).rename(tmp_path / f"a{ending}")
    refused(path, "it begins as .npz files do: rename it a.npz")


@pytest.mark.parametrize("place", ["alone", "states", "actions", "inside", "first"])
def test_a_hostile_pickle_runs_nothing(tmp_path: Path, place: str) -> None:
    """SEC-1: in each of the pickled forms."""
    canary = Canary(tmp_path / "canary")
    content: Any = {
        "alone": canary,
        "states": {"states": canary, "actions": [0], "rewards": [0.0], "terminals": [True]},
        "actions": {"state": [[0.0]], "action": [canary], "reward": [[0.0]], "terminated": [[True]]},
        "inside": [{"obs": [0.0], "action": [0], "reward": [canary], "terminated": [True]}],
        "first": np.array([canary], object),
    }[place]
    refused(
        pickled(tmp_path / "a.pkl", content), "was not loaded: it " + ("holds" if place == "first" else "refers to")
    )
    assert not (tmp_path / "canary").exists()


def test_arrays_of_objects_in_an_archive_are_not_loaded(tmp_path: Path) -> None:
    columns = {NAMES[name]: column for name, column in GOOD.items()}
    columns["actions"] = np.array([Canary(tmp_path / "canary")] * 7, object)
    np.savez(tmp_path / "a.npz", **columns, allow_pickle=True)
    refused(tmp_path / "a.npz", "actions.npy is an array of objects; numbers are needed")
    np.savez(tmp_path / "a.npz", **{**columns, "actions": np.zeros(7, "f4,i4")})
    refused(tmp_path / "a.npz", "numbers are needed")
    assert not (tmp_path / "canary").exists()


# --------------------------------------------------------------------------------------------------- kinds of file


def test_what_is_no_regular_data_file_is_refused_at_once(tmp_path: Path) -> None:
    good = npz(tmp_path / "good.npz", GOOD)
    (tmp_path / "link.npz").symlink_to(good)
    refused(tmp_path / "link.npz", "is a link, which is not followed; name the file itself")
    (tmp_path / "lost.npz").symlink_to(tmp_path / "nothing")
    refused(tmp_path / "lost.npz", "is a link")
    os.mkfifo(tmp_path / "pipe.npz")
    refused(tmp_path / "pipe.npz", "is not a regular file")
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder", "is a folder without data")
    npz(tmp_path / "folder" / "d.npz", GOOD)
    refused(tmp_path / "folder", "its data files are named by a pattern: add /*.npz")
    (tmp_path / "a.csv").write_text("obs\n1\n")
    refused(tmp_path / "a.csv", "is none of the data files that are read: .pkl, .npz, .hdf5")
    refused(tmp_path / "a.csv", "docs/data_files.md says how arrays and tables become one")
    refused(tmp_path / "none.npz", "does not exist")
    refused(tmp_path / "h5" / "x.hdf5", "does not exist")
    with pytest.raises(DataError, match=r"no file matches .*/b\*\.npz"):
        open_data(str(tmp_path / "b*.npz"))
    with pytest.raises(DataError, match="no data are given"):
        open_data([])


def test_a_folder_that_cannot_be_read_is_named_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    refused(tmp_path, f"{tmp_path} cannot be read: Permission denied")


def test_a_file_that_becomes_a_pipe_while_it_is_found_does_not_block(tmp_path: Path) -> None:
    data = open_data(npz(tmp_path / "a.npz", GOOD))
    os.unlink(tmp_path / "a.npz")
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(DataError, match=r"a\.npz: is not a regular file"):
        next(data.pieces())
    with pytest.raises(DataError, match=r"a\.npz: is not a regular file"):
        _ = data.sha256


@pytest.mark.parametrize("suffix", [".pkl", ".npz", ".jsonl", ".jsonl.gz", ".jsonl.zst"])
@pytest.mark.parametrize("content", [b"", b"\0" * 99, b"not data", b"[" * 99_999, b"\xff\xfe" * 50], ids=range(5))
def test_an_empty_file_and_one_of_something_else_are_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    if suffix.endswith("zst"):
        pytest.importorskip("zstandard")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    refused(path, "")
    if suffix.endswith("gz"):
        path.write_bytes(gzip.compress(content))
        refused(path, "")


def test_a_file_that_is_cut_off_anywhere_is_refused_or_whole_up_to_there(tmp_path: Path) -> None:
    """A line of JSON is whole or refused; the other formats are refused."""
    parts = [episode(3), episode(4, 10, ended=False)]
    made = [ours(tmp_path, *parts), npz(tmp_path / "a.npz", GOOD), jsonl(tmp_path / "a.jsonl", *parts)]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(made[2].read_bytes()))
    zstandard = pytest.importorskip("zstandard")
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    (tmp_path / "a.jsonl.zst").write_bytes(b"".join(map(compressor.compress, made[2].read_bytes().splitlines(True))))
    assert open_data(tmp_path / "a.jsonl.zst").summary.transitions == 7
    ends = [len(line) for line in made[2].read_bytes().splitlines(keepends=True)]
    whole = {ends[0] - 1, ends[0], sum(ends) - 1}
    for path in (*made, tmp_path / "a.jsonl.gz", tmp_path / "a.jsonl.zst"):
        content = path.read_bytes()
        for size in {*range(1, len(content), 37), *(whole if path.suffix == ".jsonl" else ()), len(content) - 1}:
            path.write_bytes(content[:size])
            if path.suffix == ".jsonl" and size in whole:
                assert open_data(path).summary.transitions in (3, 7)
            else:
                refused(path, "")


# --------------------------------------------------------------------------------------------------------- content


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reward": [0, 1, 2, float("nan"), 4, 5, 6]}, "reward of step 3 is nan; a finite number is needed"),
        ({"reward": [0, 1, 2, 3, 4, 5, float("inf")]}, "reward of step 6 is inf"),
        ({"obs": [[0.0, 1], [0, float("nan")], *[[0, 0]] * 5]}, "obs[1] of step 1 is nan"),
        ({"action": [0.5, float("-inf"), *[0.0] * 5]}, "action of step 1 is -inf"),
        ({"terminated": [0, 0, 2, 0, 0, 0, 0]}, "terminated of step 2 is 2; true or false (1 or 0) is needed"),
        ({"terminated": [0, 0, 0.5, 0, 0, 0, 0]}, "terminated of step 2 is 0.5"),
        ({"reward": [0.0] * 6}, "the columns differ in length: "),
        ({"reward": [[0.0, 1.0]] * 7}, "one number for each step is needed"),
        ({"next_obs": [[0.0]] * 7}, "next_obs has the shape (1,) and obs has (2,)"),
        ({"obs": [[]] * 7, "next_obs": [[]] * 7}, "obs has a side of length 0"),
    ],
)
@pytest.mark.parametrize("form", ["npz", "pkl", "jsonl"])
def test_wrong_numbers_are_refused_with_their_place(
    tmp_path: Path, form: str, change: dict[str, list[Any]], said: str
) -> None:
    columns = {**LISTS, **change}
    if form == "jsonl":
        text = json.dumps(columns)
        no_json = "NaN" in text or "Infinity" in text
        refused(
            _text(tmp_path / "a.jsonl", text), "is not JSON" if no_json else said.replace("of step", "of line 1, step")
        )
    elif form == "npz":
        refused(npz(tmp_path / "a.npz", {name: np.array(value) for name, value in columns.items()}), said)
    else:
        refused(pickled(tmp_path / "a.pkl", columns), said)


def test_a_reward_beyond_float32_is_told_as_it_is_in_the_file(tmp_path: Path) -> None:
    columns = {**LISTS, "reward": [0, 1, 2, 3, 4, 5, 1e300]}
    refused(pickled(tmp_path / "a.pkl", columns), "reward of step 6 is 1e+300, and rewards are float32, up to 3.4e+38")


def _text(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_place_of_a_wrong_number_names_the_episode_or_the_line(tmp_path: Path) -> None:
    wrong = episode(4)
    wrong["reward"][2] = np.nan
    content = {name: [episode(3)[name], wrong[name]] for name in wrong}
    refused(pickled(tmp_path / "a.pkl", content), "reward of episode 1, step 2 is nan")
    each = {name: column.tolist() for name, column in episode(2).items()} | {"terminated": [0, 7]}
    refused(_text(tmp_path / "a.jsonl", f"{json.dumps(LISTS)}\n{json.dumps(each)}\n"), "line 2, step 1 is 7")


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (("terminated", "truncated"), "add terminated (or terminals, dones), true at the last step of an episode"),
        (("terminated",), "add terminated (or terminals, dones)"),
        (("obs",), "obs is missing, which may be called obs, observations, observation, states or state; there is "),
        (("action",), "action is missing, which may be called action or actions"),
        (("reward",), "reward is missing, which may be called reward or rewards"),
    ],
)
def test_a_missing_column_is_named_with_what_to_add(tmp_path: Path, without: tuple[str, ...], said: str) -> None:
    columns = {name: column for name, column in GOOD.items() if name not in without}
    refused(npz(tmp_path / "a.npz", columns), said)
    refused(pickled(tmp_path / "a.pkl", columns), said)
    refused(jsonl(tmp_path / "a.jsonl", columns), said)


def test_data_in_which_no_flag_marks_an_end_are_refused(tmp_path: Path) -> None:
    columns = {**GOOD, "terminated": np.zeros(7, bool), "truncated": np.zeros(7, bool)}
    refused(npz(tmp_path / "a.npz", columns), "no step ends an episode, so all of it would be one: set terminated")
    refused(pickled(tmp_path / "a.pkl", columns), "no step ends an episode")


def test_names_that_are_given_twice_are_refused(tmp_path: Path) -> None:
    refused(npz(tmp_path / "a.npz", GOOD, states=GOOD["obs"]), "both observations and states are given; leave one out")


def test_lists_of_unequal_length_and_ragged_lists_are_refused(tmp_path: Path) -> None:
    lists = {name: [column] for name, column in GOOD.items()}
    refused(pickled(tmp_path / "a.pkl", {**lists, "reward": []}), "its lists of episodes differ in length")
    refused(pickled(tmp_path / "b.pkl", {**LISTS, "obs": [[0.0], [0.0, 1.0]]}), "the entries of obs differ in shape")
    refused(jsonl(tmp_path / "a.jsonl", {**GOOD, "reward": [1.0]}), "line 1: the columns differ in length: obs 7")
    refused(pickled(tmp_path / "c.pkl", [5, "text"]), "it holds no trajectories")
    refused(pickled(tmp_path / "d.pkl", {**LISTS, "obs": ["text"] * 7}), "numbers are needed")
    refused(pickled(tmp_path / "e.pkl", {**LISTS, "action": [2**70] * 7}), "numbers are needed")


# ------------------------------------------------------------------------------------------------------- archives


def archive(path: Path, headers: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in headers.items():
            file.writestr(f"{name}.npy", content)
    return path


def array(column: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, column)
    return file.getvalue()


def promising(shape: tuple[int, ...], descr: str = "<f4", data: bytes = b"1234") -> bytes:
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    "header",
    [
        promising((2**40,)), promising((2**62, 2**62)), promising((-1,)), promising((-1, -4)), promising((7,), "|O"),
        promising((7,), "<U9"), promising((7,), "<c16"), promising((0,), data=b""), promising((7, 2**60, 0)),
        promising((1,))[:9], b"\x93NUMPY\x09\x00" + b"0" * 50, b"", promising((7,), "<f4", b"1" * 29),
        b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{}", promising((), data=b"1234"),
        b"\x93NUMPY\x01\x00" + struct.pack("<H", 60_000) + b"(" * 60_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["observations", "rewards", "next_observations"])
def test_a_header_that_promises_more_than_there_is_allocates_nothing(tmp_path: Path, name: str, header: bytes) -> None:
    """SEC-4"""
    columns = {NAMES[column]: array(values) for column, values in GOOD.items()}
    path = archive(tmp_path / "a.npz", {**columns, name: header})
    refused(path, "")


@pytest.mark.parametrize("name", ["observations", "next_observations"])
def test_a_long_header_is_not_read(tmp_path: Path, name: str) -> None:
    """SEC-4: a megabyte that is deflated makes a header of a gigabyte."""
    columns = {NAMES[column]: array(values) for column, values in GOOD.items()}
    text = repr({"descr": "<f4", "fortran_order": False, "shape": (7,)}).encode()
    long = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**26) + text.ljust(2**26) + bytes(28)
    path = archive(tmp_path / "a.npz", {**columns, name: long}, zipfile.ZIP_DEFLATED)
    refused(path, f"{name}.npy has a header of 67,108,864 bytes; 10,000 are read")


def test_an_archive_that_claims_more_than_its_size_can_hold_is_refused(tmp_path: Path) -> None:
    """SEC-4: the directory of a zip file says what each entry unfolds into."""
    columns = {NAMES[column]: array(values) for column, values in GOOD.items()}
    path = archive(tmp_path / "a.npz", {**columns, "observations": promising((2**28, 2))})
    content = bytearray(path.read_bytes())
    place = content.rindex(b"observations.npy", 0, content.rindex(b"next_observations.npy")) - 46
    assert content[place : place + 4] == b"PK\x01\x02"
    content[place + 20 : place + 28] = struct.pack("<II", 2**31, 2**31)
    path.write_bytes(content)
    refused(path, "cannot hold them")


def test_a_bomb_of_zeros_is_read_in_pieces_or_refused_for_its_steps(tmp_path: Path) -> None:
    bomb = promising((2**23,), data=bytes(2**25))
    columns = {NAMES[column]: array(values) for column, values in GOOD.items()}
    path = archive(tmp_path / "a.npz", {**columns, "observations": bomb}, zipfile.ZIP_DEFLATED)
    refused(path, "the columns differ in length")
    path = archive(tmp_path / "a.npz", {**columns, "observations": bomb}, zipfile.ZIP_BZIP2)
    refused(path, "compressed in a way that np.savez_compressed does not use")
    one = {NAMES[column]: array(values[:1]) for column, values in GOOD.items()}
    path = archive(tmp_path / "a.npz", {**one, "observations": promising((1, 2**23), data=bytes(2**25))})
    refused(path, "a step takes 64 MiB, and at most 16 are read")


# ----------------------------------------------------------------------------------------------------------- lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "line 1: an object with a list for each column is needed"),
        ('{"a": 1', "line 1: it is not JSON: Expecting ',' delimiter at character 7; the file is cut off there"),
        ("[" * 100_000, "line 1: it is nested too deep"),
        ('{"obs": 5, "action": 5, "reward": 5, "terminated": 5}', "line 1: obs is not a list"),
        ("9" * 10_000, "line 1: "),
        ("\nnull", "line 2: an object with a list for each column is needed"),
        (json.dumps(LISTS | {"dtypes": {"obs": "O"}}), "dtypes must name a dtype of numpy"),
        (json.dumps(LISTS | {"dtypes": [1]}), "dtypes must name a dtype of numpy"),
        (json.dumps(LISTS | {"dtypes": {"action": "uint8"}, "action": [0, 1, 2, 3, 4, 5, 256]}), "does not fit uint8"),
        (json.dumps(LISTS | {"dtypes": {"action": "bool"}, "action": [0, 1, 2, 3, 4, 5, 6]}), "does not fit bool"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    refused(_text(tmp_path / "a.jsonl", text), said)


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.zst"])
def test_a_line_without_end_is_refused_before_all_of_it_is_in_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_LINE_BYTES", 2**20)
    pack = gzip.compress if suffix.endswith("gz") else pytest.importorskip("zstandard").compress
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(b" " * 2**26))
    refused(path, "line 1 is longer than 1 MiB; write shorter episodes")


def test_a_zst_file_without_its_package_is_one_message_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    refused(tmp_path / "a.jsonl.zst", "pip install zstandard")


# ---------------------------------------------------------------------------------------------------------- minari


def minari_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    assert main(["convert", str(npz(folder / "a.npz", GOOD)), str(folder / "b.minari")]) == 0
    return folder / "b.minari"


def test_a_data_set_of_minari_without_spaces_makes_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-1: the package would make the environment that the metadata names."""
    path = minari_set(tmp_path, monkeypatch)
    facts = json.loads((path / "data" / "metadata.json").read_text())
    spec = json.dumps({"id": "x-v0", "entry_point": "os:mkdir", "kwargs": {"path": str(tmp_path / "canary")}})
    (path / "data" / "metadata.json").write_text(json.dumps({**facts, "observation_space": None, "env_spec": spec}))
    refused(path, "its observation_space is not given; Box, Discrete, MultiDiscrete, MultiBinary are read")
    (path / "data" / "metadata.json").write_text(json.dumps({**facts, "action_space": '{"type": "Text"}'}))
    refused(path, "its action_space is Text")
    (path / "data" / "metadata.json").write_text("[")
    refused(path, "it is damaged")
    assert not (tmp_path / "canary").exists()


def test_a_data_set_of_minari_that_leads_out_of_its_file_or_claims_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-4"""
    path = minari_set(tmp_path, monkeypatch)
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0"]["rewards"]
        file["episode_0"].create_dataset("rewards", (2**40,), "f4", chunks=(2**10,))
    refused(path, "rewards claims 4,398,046,511,104 bytes")
    with h5py.File(path / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0"]["rewards"]
        file["episode_0"].create_dataset("rewards", (2**14,), "f4", chunks=(1,))  # 6 KiB of memory for each chunk
    refused(path, "rewards claims 65,536 bytes")
    with h5py.File(path / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0"]["rewards"]
        file["episode_0"]["rewards"] = h5py.ExternalLink("/etc/passwd", "x")
    refused(path, "rewards is a link, which is not followed")
    os.truncate(path / "data" / "main_data.hdf5", 500)
    refused(path, "")


# ---------------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize("word", ["data", "convert"])
def test_the_command_line_answers_with_one_line_and_status_2(
    tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pickled(tmp_path / "a.pkl", Canary(tmp_path / "canary"))
    assert main([word, str(path), *([str(tmp_path / "b.npz")] if word == "convert" else [])]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert " ".join(said.err.split()).startswith(f"error: {path} was not loaded: it refers to")
    assert os.listdir(tmp_path) == ["a.pkl"]


@pytest.mark.parametrize("states", [[[0.5], [1.5]], np.zeros((2, 1))])
def test_a_pickle_that_is_cut_within_a_number_or_a_name_is_said_to_be_cut_off(states: Any, tmp_path: Path) -> None:
    """The library's words are those of what it was reading: unpack requires a buffer of 4 bytes."""
    path, content = tmp_path / "a.pkl", pickle.dumps({"states": states, "actions": [70_000, 2]}, 2)
    for end in range(1, len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(safe_pickle.UnsafePickle, match="is damaged: it is cut off; copy it again"):
            safe_pickle.load(path)


@pytest.mark.parametrize(("kept", "words"), [(0, "it is empty"), (-1, "it is cut off; copy it again")])
def test_a_pickle_that_ends_too_early_is_said_to(kept: int, words: str, tmp_path: Path) -> None:
    content = pickle.dumps({"states": [[0.0]], "actions": [0], "rewards": [0.0], "dones": [True]}, 2)
    path = tmp_path / "a.pkl"
    path.write_bytes(content[:kept])
    refused(path, f"is damaged: {words}")
