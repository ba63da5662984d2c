"""Reading a hostile checkpoint: one message, no code, no memory."""

import hashlib
import json
import os
import pickle
import shutil
import struct
import tracemalloc

import numpy as np
import pytest
import torch
from safetensors.numpy import save as save_arrays

from framework.disk.checkpoints import CheckpointStore
from framework.errors import CheckpointError


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "models"


class Canary:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def written(folder, body=None, text=None, arrays=None, state=None, name="5"):
    """A checkpoint with a right digest over any content."""
    path = folder / name
    path.mkdir(parents=True)
    state = save_arrays(arrays or {"0": np.zeros(3)}) if state is None else state
    whole = {"format": 1, "facts": {}, "journal": None, "tree": None, **(body or {})}
    whole["state_sha256"] = hashlib.sha256(state).hexdigest()
    text = json.dumps(whole).encode() if text is None else text
    (path / "state.safetensors").write_bytes(state)
    (path / "manifest.json").write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")
    return CheckpointStore(folder)


def test_a_pickle_in_the_place_of_a_model_is_not_opened(folder, tmp_path):
    """SEC-1"""
    canary = tmp_path / "canary"
    payload = pickle.dumps(Canary(canary))
    folder.mkdir()
    (folder / "best").write_bytes(payload)
    with pytest.raises(CheckpointError, match=r"is a single file.*it was not opened"):
        CheckpointStore(folder).read("best")
    torch.save({"a": 1}, folder / "7")
    with pytest.raises(CheckpointError, match="is a single file"):
        CheckpointStore(folder).read(7)
    for name in ("state.safetensors", "manifest.json"):
        shutil.rmtree(folder)
        store = written(folder, {"tree": {"$array": "0"}})
        (folder / "5" / name).write_bytes(payload)
        with pytest.raises(CheckpointError):
            store.read(5)
    shutil.rmtree(folder)
    with pytest.raises(CheckpointError):
        written(folder, state=payload).read(5)
    assert not canary.exists()


HEADER = struct.Struct("<Q")


def tensors(header, data=b""):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return HEADER.pack(len(text)) + text + data


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"short",
        HEADER.pack(2**63) + b"{}",
        tensors(b"not json"),
        tensors({"0": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
        tensors({"0": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": {"dtype": "O", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": 5}),
    ],
)
def test_a_hostile_file_of_arrays_is_refused_before_anything_is_allocated(folder, state):
    """SEC-4"""
    store = written(folder, {"tree": {"$array": "0"}}, state=state)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="is damaged"):
        store.read(5)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


@pytest.mark.parametrize(
    "tree",
    [
        {}, {"$array": "1"}, {"$array": 0}, {"$array": ["0"]}, {"$array": {"$array": "0"}}, {"$dict": 5},
        {"$dict": [1]}, {"$tuple": 5}, {"$tuple": None}, {"$object": "os.system"}, {"a": 1, "b": 2},
        [{"$array": "0"}] * 1000,
    ],
)  # fmt: skip
def test_a_tree_of_the_wrong_kind_is_damage(folder, tree):
    """SEC-1, SEC-4: nothing is looked up by name, and no array can be multiplied."""
    with pytest.raises(CheckpointError, match="is damaged"):
        written(folder, {"tree": tree}).read(5)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000, b'{"a":' * 100_000, b"[]", b"5", b"null", b'"text"', b"", b"{}", b"\xff\xfe", b"9" * 10_000,
        b'{"format": "1"}', b'{"format": 1}', b'{"format": {"$array": "0"}}',
    ],
)  # fmt: skip
def test_a_hostile_manifest_is_damage(folder, text):
    """SEC-4"""
    with pytest.raises(CheckpointError, match=r"damaged|format"):
        written(folder, text=text).read(5)


def test_a_deep_tree_is_damage_and_not_a_crash(folder):
    text = json.dumps({"format": 1, "facts": {}, "journal": None, "tree": "HERE", "state_sha256": "DIGEST"})
    digest = hashlib.sha256(save_arrays({"0": np.zeros(3)})).hexdigest()
    deep = '{"$dict":{"a":' * 3000 + "1" + "}}" * 3000
    with pytest.raises(CheckpointError, match="is damaged"):
        written(folder, text=text.replace('"HERE"', deep).replace("DIGEST", digest).encode()).read(5)


@pytest.mark.parametrize(
    "body",
    [
        {"facts": 5}, {"facts": "text"}, {"facts": None}, {"journal": 5}, {"journal": [0, 0, 0]}, {"journal": "abcd"},
        {"journal": [0, 0, 0, 1]}, {"journal": [0, 0, 0, 2**80]}, {"journal": [0, -5, 0, 10]},
        {"journal": [0, 0, 0, float("inf")]}, {"journal": [0, 0, 2**70, 0]}, {"journal": [-3, 0, 0, 0]},
        {"journal": {}}, {"journal": [[], 0, 0, 0]}, {"state_sha256": 3},
    ],
)  # fmt: skip
def test_wrong_types_in_a_manifest_are_damage(folder, body):
    """SEC-1, SEC-4"""
    store = written(folder, body)
    if "state_sha256" in body:
        body = {"format": 1, "facts": {}, "journal": None, "tree": None, **body}
        shutil.rmtree(folder)
        store = written(folder, text=json.dumps(body).encode())
    with pytest.raises(CheckpointError, match=r"is damaged|is gone"):
        store.read(5)


def frame_of(description, content=b"12345678", names=("first",)):
    """Returns a frame of the journal with this description of each of its arrays, whole by its checksum."""
    named = dict.fromkeys(names, description)
    text = description if isinstance(description, bytes) else json.dumps(named).encode()
    data = struct.pack("<Q", len(text)) + text + content
    return struct.pack("<4sQQ32s", b"JYJ1", len(data), 0, hashlib.sha256(bytes(8) + data).digest()) + data


@pytest.mark.parametrize(
    "frame",
    [
        b"", b"JYJ1", b"\0" * 200, struct.pack("<4sQQ32s", b"JYJ1", 2**60, 5, bytes(32)),
        struct.pack("<4sQQ32s", b"JYJ1", 2**30, 5, bytes(32)) + b"1234",
        struct.pack("<4sQQ32s", b"JYJ1", 0, 5, hashlib.sha256(b"").digest()),
        struct.pack("<4sQQ32s", b"JYJ1", 0, 5, hashlib.sha256((5).to_bytes(8, "little")).digest()),
        struct.pack("<4sQQ32s", b"JYJ1", 4, 5, hashlib.sha256((5).to_bytes(8, "little") + b"1234").digest()) + b"1234",
        frame_of(b""), frame_of(b"[]"), frame_of(b"[" * 100_000), frame_of(b"5"), frame_of({}), frame_of([]),
        frame_of({"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}, names=("first", "after")),
        frame_of({"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}, b"1234567890123456"),
        frame_of(b'{"first": 5}' + b" " * 2**20),
        *(
            frame_of({"dtype": "I64", "shape": [1], "data_offsets": [0, 8]} | changed)
            for changed in (
                {"dtype": "object"}, {"dtype": []}, {"shape": [10**12]}, {"shape": [2]}, {"shape": "1"},
                {"data_offsets": [0]}, {"data_offsets": [0, 2**62]} | {"shape": [2]}, {"data_offsets": [8, 0]},
                {"data_offsets": [0, 7]}, {"data_offsets": "08"}, {"data_offsets": [0.0, 8.0]},
            )
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("promised", [None, 2**61])
def test_a_hostile_journal_is_refused_before_anything_is_allocated(folder, frame, promised):
    """SEC-4: neither the manifest nor the frame is believed more than the size of the file."""
    store = written(folder, {"journal": [0, 0, 0, promised or max(len(frame), 1)]})
    (folder / "journal").mkdir()
    (folder / "journal" / "00000.log").write_bytes(frame)
    for measured in (
        False,
        True,
    ):  # what the first time imports, and in a new clone compiles, is no content of the file
        if measured:
            tracemalloc.start()
        with pytest.raises(CheckpointError, match="is damaged"):
            store.read(5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6 + len(frame)
