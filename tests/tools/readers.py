"""Everything in the product that reads what others may have made, for tests/stress/fuzz.py: valid content, how content
with other values is written, and the call that reads it.

Content is a tree of plain values, whatever the format: of a pickle its instructions, of an archive the headers of its
arrays. `dress` writes a tree, with right checksums, so that a changed tree is read beyond them.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.tools.dataset import NAMES, episode, flat

Tree = Any
GOOD = flat(episode(3), episode(4, 10, ended=False))


class Reader(NamedTuple):
    """A reader of the product."""

    trees: Callable[[], list[Tree]]
    """Returns valid contents."""
    dress: Callable[[Tree], bytes]
    """Writes a content; raises anything if a changed one cannot be written in the format."""
    read: Callable[[bytes, Path], None]
    """Writes bytes into a folder and reads them with the product. Raises a refusal, or nothing."""
    needs: tuple[str, ...] = ()
    """Packages that it needs."""
    structured: bool = True
    """False if `dress` writes the bytes of a valid content alone, so that no tree can be changed."""

    @property
    def is_here(self) -> bool:
        """True if its packages are installed."""
        return all(find_spec(name) is not None for name in self.needs)


def refusals() -> tuple[type[Exception], ...]:
    """Returns the errors that are answers to a user."""
    from config.own.trust import TrustError
    from config.read.loader import ConfigError
    from config.read.stores import StoreError
    from config.read.yaml_reader import DocumentError
    from envs.dialog.database import DatabaseError
    from framework.errors import JoystickError

    return JoystickError, ConfigError, DocumentError, StoreError, TrustError, DatabaseError


# --------------------------------------------------------------------------------------------------------- writing


def as_json(tree: Tree) -> bytes:
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def as_lines(tree: Tree) -> bytes:
    """Writes a list of values, each as a line of JSON."""
    return b"".join(as_json(value) + b"\n" for value in (tree if isinstance(tree, list) else [tree]))


def sealed(text: bytes) -> bytes:
    """Returns a text with its SHA-256 in the last line."""
    return text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"


def as_csv(tree: Tree) -> bytes:
    """Writes a list of rows."""
    rows = (row if isinstance(row, list) else [row] for row in tree)
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode("utf-8", "surrogatepass")


def as_text(tree: Tree) -> bytes:
    """Writes a list of words one after the other."""
    return "".join(map(str, tree)).encode("utf-8", "surrogatepass")


def array_header(descr: Any, shape: Any, fortran: Any) -> bytes:
    """Returns the header of a file of an array, whatever it says."""
    text = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def as_archive(tree: Tree) -> bytes:
    """Writes members as an .npz: each a name, a dtype, a shape, column order, compression, and its values as hex."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, descr, shape, fortran, method, values in tree:
            data = array_header(descr, shape, fortran) + bytes.fromhex(values)
            archive.writestr(zipfile.ZipInfo(str(name)), data, 8 if method else 0)
    return target.getvalue()


def archive_tree(arrays: dict[str, np.ndarray], packed: bool = False) -> Tree:
    """Returns arrays as as_archive writes them."""
    return [
        [f"{name}.npy", array.dtype.str, list(array.shape), False, packed, array.tobytes().hex()]
        for name, array in arrays.items()
    ]


def as_tensors(tree: Tree) -> bytes:
    """Writes a header and the bytes behind it, as hex, as safetensors does."""
    header, values = tree
    text = as_json(header)
    return struct.pack("<Q", len(text)) + text + bytes.fromhex(values)


TENSORS = [{"0": {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}}, "00" * 24]


def as_checkpoint(tree: Tree) -> bytes:
    """Writes a manifest and a file of arrays, one after the other: a length, and then both."""
    body, tensors = tree
    state = as_tensors(tensors)
    if isinstance(body, dict) and "state_sha256" in body:
        body = {**body, "state_sha256": hashlib.sha256(state).hexdigest()}
    manifest = sealed(as_json(body))
    return struct.pack("<I", len(manifest)) + manifest + state


def as_frames(tree: Tree) -> bytes:
    """Writes frames of a journal: a number that is not used, a header and its values; with right lengths and sums."""
    from framework.disk.journal import _HEADER, _MAGIC

    data = b""
    for number, header, values in tree:
        frame = as_tensors([header, values])
        total = hashlib.sha256(int(number).to_bytes(8, "little") + frame).digest()
        data += _HEADER.pack(_MAGIC, len(frame), number, total) + frame
    return data


def as_pickle(tree: Tree) -> bytes:
    """Writes instructions of pickle, each a name and perhaps its argument as hex."""
    import pickletools

    codes = {code.name: code.code.encode("latin-1") for code in pickletools.opcodes}
    return b"".join(codes[step[0]] + bytes.fromhex(step[1]) for step in tree)


def pickle_tree(data: bytes) -> Tree:
    """Inverts as_pickle."""
    import pickletools

    steps = [(code.name, place) for code, _, place in pickletools.genops(data)]
    ends = [place for _, place in steps[1:]] + [len(data)]
    return [[name, data[place + 1 : end].hex()] for (name, place), end in zip(steps, ends, strict=True)]


def as_hdf5(tree: Tree) -> bytes:
    """Writes data sets: each a name, a dtype, a shape, chunks, compression, and a number that fills it."""
    import h5py

    target = io.BytesIO()
    with h5py.File(target, "w") as file:
        for name, dtype, shape, chunks, compression, value in tree:
            if np.prod(shape, dtype=object) * np.dtype(dtype).itemsize > 2**22 and value is not None:
                raise ValueError("too large to be written by the test")
            more = {"data": np.full(shape, value, dtype)} if value is not None else {"shape": shape, "dtype": dtype}
            file.create_dataset(name, chunks=chunks and tuple(chunks), compression=compression, **more)
    return target.getvalue()


def as_parquet(tree: Tree) -> bytes:
    """Writes columns: each a name, and its values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = io.BytesIO()
    pq.write_table(pa.table({str(name): pa.array(values) for name, values in tree}), target)
    return target.getvalue()


def as_trace(tree: Tree) -> bytes:
    """Writes lines of traces; a column that is an object of an array's parts is compressed."""

    def column(value: Any) -> Any:
        if not (isinstance(value, dict) and value.keys() == {"descr", "shape", "values"}):
            return value
        data = array_header(value["descr"], value["shape"], False) + bytes.fromhex(value["values"])
        return b64encode(zlib.compress(data)).decode()

    lines = tree if isinstance(tree, list) else [tree]
    return as_lines([{k: column(v) for k, v in line.items()} if isinstance(line, dict) else line for line in lines])


def as_zst(tree: Tree) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(as_lines(tree))


# --------------------------------------------------------------------------------------------------------- reading


def data_file(suffix: str) -> Callable[[bytes, Path], None]:
    """Returns what reads a file of experience whole."""

    def read(data: bytes, folder: Path) -> None:
        from framework.dataset import open_data

        path = folder / f"a{suffix}"
        path.write_bytes(data)
        for _ in open_data(path).pieces():
            pass

    return read


def _traces(data: bytes, folder: Path) -> None:
    from framework.dataset.trace_reader import read_traces

    path = folder / "output-2026-01-01_10-00-00_worker-0_0.json"
    path.write_bytes(data)
    try:
        read_traces(path)
    finally:
        data_file(".json")(data, folder)


def _minari(data: bytes, folder: Path) -> None:
    """data: metadata.json; the arrays are those of a real set."""
    import shutil

    from framework.dataset import open_data

    place = folder / "set"
    if not place.exists():
        shutil.copytree(_minari_set(), place)
    (place / "data" / "metadata.json").write_bytes(data)
    for _ in open_data(place).pieces():
        pass


def _minari_arrays(data: bytes, folder: Path) -> None:
    """data: main_data.hdf5 of a set with real metadata."""
    import shutil

    from framework.dataset import open_data

    place = folder / "set"
    if not place.exists():
        shutil.copytree(_minari_set(), place)
    (place / "data" / "main_data.hdf5").write_bytes(data)
    for _ in open_data(place).pieces():
        pass


_made: dict[str, Path] = {}


def _minari_set() -> Path:
    """Returns the folder of a small data set, which is made once."""
    if "minari" not in _made:
        import tempfile

        from framework.dataset.convert import convert

        place = Path(tempfile.mkdtemp(prefix="minari-"))
        np.savez(place / "a.npz", **{NAMES[name]: column for name, column in GOOD.items()})
        convert([str(place / "a.npz")], str(place / "set.minari"))
        _made["minari"] = place / "set.minari"
    return _made["minari"]


def _checkpoint(data: bytes, folder: Path) -> None:
    from config.read.task_config import load_task_config
    from framework.disk.checkpoints import CheckpointStore

    place = folder / "models" / "5"
    place.mkdir(parents=True, exist_ok=True)
    length = int.from_bytes(data[:4], "little")
    (place / "manifest.json").write_bytes(data[4 : 4 + length])
    (place / "state.safetensors").write_bytes(data[4 + length :])
    with contextlib.suppress(*refusals()):
        load_task_config(folder)
    CheckpointStore(folder / "models").read(5)


def _journal(data: bytes, folder: Path) -> None:
    from framework.disk.checkpoints import CheckpointStore

    if not (folder / "models").exists():
        (folder / "models" / "5").mkdir(parents=True)
        (folder / "models" / "journal").mkdir()
    (folder / "models" / "journal" / "00000.log").write_bytes(data)
    body = {"format": 1, "facts": {}, "tree": None, "journal": [0, 0, 0, len(data)], "state_sha256": ""}
    whole = as_checkpoint([body, [{}, ""]])
    length = int.from_bytes(whole[:4], "little")
    (folder / "models" / "5" / "manifest.json").write_bytes(whole[4 : 4 + length])
    (folder / "models" / "5" / "state.safetensors").write_bytes(whole[4 + length :])
    saved = CheckpointStore(folder / "models").read(5)
    if saved.journal is not None:
        for _ in saved.journal:
            pass


def _run(name: str) -> Callable[[bytes, Path], None]:
    """Returns what reads a file of a run in each way in which lists, reports and pages do."""

    def read(data: bytes, folder: Path) -> None:
        from framework.archive.curve_tail import CurveTail
        from framework.archive.groups import begun
        from framework.archive.members import of_group
        from framework.archive.run import RecordedRun
        from framework.archive.task_list import as_json as listed
        from framework.live.overview import Overview

        run = folder / "runs" / "a"
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if name != "config.yaml" and not (run / "config.yaml").exists():
            text = "general_cfg: {algo_name: DQN, env_name: gym}\nenv_cfg: {id: CartPole-v1}\n"
            (run / "config.yaml").write_text(text)
        recorded = RecordedRun(run)
        _ = recorded.facts, recorded.notes, recorded.state, recorded.score, recorded.names, recorded.warnings
        _ = recorded.episodes, recorded.evaluations, recorded.progress, recorded.iterations, recorded.system
        _ = recorded.best, recorded.newest_episode(), recorded.newest_iterations(), recorded.tested_run
        _ = recorded.tested, recorded.best_score("max"), recorded.score_at(50, "return_mean", "max")
        begun(run), of_group(run)
        listed(root=folder / "runs")
        Overview(folder / "runs").rows()
        for table in (recorded.task.train, recorded.task.eval):
            CurveTail(table, "return").read()

    return read


def _report(data: bytes, folder: Path) -> None:
    """Reads the tables of a run as its report does."""
    from framework.archive.groups import result
    from framework.archive.run import RecordedRun
    from framework.disk.task_dir import TaskDir

    path = folder / "run" / "results" / "eval.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    _run("results/eval.csv")(data, folder)
    run = RecordedRun(folder / "run")
    with contextlib.suppress(ValueError, KeyError, TypeError):  # what reports catch: framework/pages/html_report.py
        result(TaskDir(folder / "run"), 1, 0, 1.0)
        run.curve("step")


def _page(name: str) -> Callable[[bytes, Path], None]:
    """Returns what reads a table of a run, and makes the report of a run or of a test of it."""

    def read(data: bytes, folder: Path) -> None:
        from framework.archive.run import RecordedRun
        from framework.pages import html_report

        _run(name)(data, folder)
        run = folder / "runs" / "a"
        if name == "results/test.csv":
            text = "general_cfg: {algo_name: DQN, env_name: gym, mode: test}\nenv_cfg: {id: CartPole-v1}\n"
            (run / "config.yaml").write_text(text)
        html_report.content(RecordedRun(run))

    return read


def _group(unit: str) -> Callable[[bytes, Path], None]:
    """Returns what reads the table of a group of runs, or of a tuning (unit: trial), as lists and pages do."""

    def read(data: bytes, folder: Path) -> None:
        from framework.archive.find import find
        from framework.archive.groups import results_of
        from framework.archive.task_list import as_json as listed
        from framework.archive.trials import rows_of
        from framework.live.group_view import MOST_TRIALS
        from framework.live.overview import Overview

        group = folder / "runs" / "group"
        for run in ("a", "b"):
            (group / run / "results").mkdir(parents=True, exist_ok=True)
            text = "general_cfg: {algo_name: DQN, env_name: gym}\nenv_cfg: {id: CartPole-v1}\n"
            (group / run / "config.yaml").write_text(text)
            (group / run / "run.json").write_bytes(as_json(_FACTS))
            (group / run / "results" / "eval.csv").write_bytes(as_csv(_EVALUATION_ROWS))
        (group / ("tune.json" if unit == "trial" else "group.json")).write_bytes(b"{}")
        (group / f"{unit}s.csv").write_bytes(data)
        if unit == "trial":
            rows_of(group, MOST_TRIALS)
        else:
            results_of(group, unit)
            find([str(group)], folder / "runs")
        listed(root=folder / "runs")
        Overview(folder / "runs").rows()

    return read


def _index(data: bytes, folder: Path) -> None:
    from framework.storage.copy_record import COPIED_TO, COPY, Record, destination
    from framework.storage.index import Index

    for name in (COPY, COPIED_TO):
        (folder / name).write_bytes(data)
    Record.read(folder)
    destination(folder)
    Index.from_bytes(data, "s3://a/b")


def _sums(data: bytes, folder: Path) -> None:
    from framework.sharing import bundle

    (folder / bundle.CHECKSUMS).write_bytes(data)
    bundle.verify(folder, "hf://a/b")


def _trusted(data: bytes, folder: Path) -> None:
    from config.own import trust

    os.environ["XDG_CONFIG_HOME"] = str(folder)
    path = trust.file()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
    trust.folders()


def _yaml(data: bytes, folder: Path) -> None:
    from tests.tools.fuzz import WAYS, read_as

    number = zlib.crc32(data)
    read_as(data, WAYS[number % len(WAYS)], number, folder)


def _database(data: bytes, folder: Path) -> None:
    from envs.dialog.database import load

    (folder / "hotel_db.json").write_bytes(data)
    load(folder, ("hotel",))


def _buffer(data: bytes, folder: Path) -> None:
    from framework.data.buffer import ReplayBuffer

    (folder / "b.npz").write_bytes(data)
    ReplayBuffer.load(folder / "b.npz")


def _addresses(data: bytes, folder: Path) -> None:
    """Reads a word as everything that a word may be: the URL of a store, a hub, a run, a flag."""
    from config.read import stores
    from framework.sharing.address import parse

    text = data.decode(errors="replace")
    for read in (stores.url, stores.of_run):
        with contextlib.suppress(ValueError):  # the sentence that a setting shows
            read(text)
    stores.is_url(text)
    parse(text)


_server: Any = None


def _watch(data: bytes, folder: Path) -> None:
    """Sends bytes to the page of watch as a connection of a browser, without a network."""
    from framework.live.server import Handler

    global _server
    if _server is None:
        from framework.live.server import Server

        (folder / "runs").mkdir(exist_ok=True)
        _server = Server(folder / "runs")
        _server.socket.close()
        _server.answers.token = "TOKEN"

    class Connection:
        """A socket that has received these bytes."""

        def makefile(self, *_: Any, **__: Any) -> io.BytesIO:
            return io.BytesIO(data)

        def sendall(self, _: bytes) -> None:
            pass

        def __getattr__(self, _: str) -> Callable[..., None]:
            return lambda *_, **__: None

    Handler(Connection(), ("127.0.0.1", 1), _server)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------- trees


def _episodes() -> list[dict[str, Any]]:
    return [{name: column.tolist() for name, column in each.items()} for each in (episode(3), episode(2, 5.0))]


def _trace_lines() -> Tree:
    columns = {
        "obs": [[0.0, 1.0]] * 3, "new_obs": [[1.0, 2.0]] * 3, "actions": [0, 1, 0], "rewards": [1.0] * 3,
        "terminateds": [False, False, True], "truncateds": [False] * 3, "eps_id": [0] * 3, "agent_index": [0] * 3,
        "dones": [False, False, True], "infos": [{"a": 1}] * 3, "t": [0, 1, 2], "unroll_id": [0] * 3,
    }  # fmt: skip
    packed = {"descr": "<f4", "shape": [3, 2], "values": "00" * 24}
    line = {"type": "SampleBatch", **columns}
    return [line, {**line, "obs": packed, "new_obs": packed}]


def _pickles() -> list[Tree]:
    import pickle
    import tempfile

    from tests.tools.dataset import ours

    with tempfile.TemporaryDirectory() as folder:
        mine = ours(Path(folder), episode(3), episode(2, 5.0)).read_bytes()
    flat_arrays = {NAMES[name]: column for name, column in GOOD.items()}
    return [pickle_tree(data) for data in (mine, pickle.dumps(flat_arrays), pickle.dumps(_episodes()))]


def _hdf5_trees() -> list[Tree]:
    columns = [
        [NAMES[name], column.dtype.str, list(column.shape), None, None, float(name == "terminated")]
        for name, column in GOOD.items()
    ]
    packed = [[name, dtype, shape, shape, "gzip", value] for name, dtype, shape, _, _, value in columns]
    return [columns, packed]


def _buffers() -> list[Tree]:
    import tempfile

    from framework.data.buffer import ReplayBuffer

    buffer = ReplayBuffer(8)
    for number in range(5):
        buffer.add(obs=float(number), act=0, rew=1.0, terminated=number == 4, truncated=False, obs_next=number + 1.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.npz"
        buffer.save(path)
        arrays = dict(np.load(path))
    facts = json.loads(str(arrays.pop("facts")))
    return [[facts, archive_tree(arrays)]]


def _as_buffer(tree: Tree) -> bytes:
    facts, members = tree
    text = np.array(json.dumps(facts))
    return as_archive([*members, ["facts.npy", text.dtype.str, [], False, False, text.tobytes().hex()]])


def _requests() -> list[Tree]:
    host = ["Host: 127.0.0.1:80", "\r\n"]
    body = '{"run": "a", "tags": ["x"], "note": "y"}'
    post = [
        "Origin: http://127.0.0.1:80", "\r\n", "Content-Type: application/json", "\r\n",
        "Authorization: Bearer TOKEN", "\r\n", f"Content-Length: {len(body)}", "\r\n", "\r\n", body,
    ]  # fmt: skip
    now = "/now?column=return&since=0&show=a&group=b"
    gets = ("/?token=TOKEN", "/file/00/a.html", "/none", now, "/settings?named=1")
    return [
        *(["GET ", url, " HTTP/1.1", "\r\n", *host, "Authorization: Bearer TOKEN", "\r\n", "\r\n"] for url in gets),
        *(["POST ", url, " HTTP/1.1", "\r\n", *host, *post] for url in ("/notes", "/stop", "/compare", "/x")),
    ]


_URLS = [
    "s3://bucket/prefix/run",
    "hf://user/name",
    "file:///tmp/a",
    "https://x/y",
    "memory://a/b",
    "C:/x",
    "a://b@c/d",
]
_FACTS = {
    "started": "2026-01-01 10:00:00", "outcome": "paused at step 100", "finished": True, "step": 100, "update": 50,
    "episode": 3, "seconds": 1.5, "best": 3.5, "best_update": 40, "score": {"mean": 2.0, "std": 1.0},
    "checkpoint": "tasks/a/models/5", "pauses": {"100": {"step": 100, "update": 50, "mean": 1.0}},
    "policies": {"a": {"algorithm": "DQN", "learns": True, "agents": ["b"]}}, "profile": [{"name": "x", "seconds": 1}],
}  # fmt: skip
_MANIFEST = {
    "format": 1, "facts": {"update": 5, "config": {"general_cfg": {"algo_name": "DQN"}}}, "journal": None,
    "tree": {"$dict": {"a": {"$array": "0"}, "b": {"$tuple": [1, None]}, "c": [1.5, "x"]}}, "state_sha256": "",
}  # fmt: skip
_EPISODE_ROWS = [
    ["episode", "step", "update", "return", "length", "terminated"],
    *([number, number * 10, number, number / 3, 10, 1] for number in range(5)),
]
_EVALUATION_ROWS = [
    ["update", "step", "mean", "std", "min", "max", "episodes", "best"],
    *([number, number * 10, number / 3, 0.5, 0, 1, 10, number % 2] for number in range(1, 4)),
]
_PROGRESS_ROWS = [
    ["iteration", "step", "update", "return_mean", "loss"],
    *([number, number * 10, number, number / 3, "" if number == 1 else 0.5] for number in range(1, 4)),
]
_TEST_ROWS = [
    ["episode", "return", "length", "terminated", "seed", "return_a"],
    *([number, number / 3, 10, 1, number + 7, 1.0] for number in range(1, 4)),
]
_RESULT_ROWS = [
    ["mean", "std", "min", "max", "episodes", "best", "step", "seconds", "status", "folder"],
    [1.5, 0.5, 1, 2, 10, 2.0, 100, 3.5, 0, "b"],
    [1.0, 0.5, 0, 2, 10, 2.0, 100, 3.5, 0, "a"],
    ["", "", "", "", "", "", 50, "", "", "c"],
]
_TRIAL_ROWS = [
    ["name", "algo_cfg.lr", "state", "score", "best", "step", "last_return", "seconds", "status", "folder"],
    ["000", 0.1, "finished", 1.5, 2.0, 100, 1.0, 3.5, 0, "trials/000"],
    ["001", 0.3, "waiting", "", "", "", "", "", "", "trials/001"],
]
_FRAME = [5, {"obs": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}, "00" * 24]
_HOTEL = [{"name": "a", "area": "north", "internet": "yes", "parking": "no", "stars": "4", "type": "hotel",
           "price range": "cheap", "phone": "1", "address": "x", "postcode": "y"}]  # fmt: skip
_INDEX = {
    "format": 1, "run": "ab", "owner": {"session": "s", "host": "h", "pid": "1", "user": "u", "started": "x"},
    "beat": 1, "every": 5.0, "closed": False, "written": 1.0,
    "files": {"models/5/manifest.json": [["k", 5, "00" * 32]], "run.json": []},
}  # fmt: skip


def _index_trees() -> list[Tree]:
    from framework.storage.index import Owner

    return [{**_INDEX, "owner": dict.fromkeys(Owner._fields, "1")}]


def _presets() -> list[Tree]:
    from tests.tools.fuzz import Texts

    return [text.splitlines(keepends=True) for text in Texts(0).presets[::9]]


def _results(unit: str, name: int | str) -> Tree:
    head, *rows = _RESULT_ROWS
    return [[unit, *head], *([name, *row] for row in rows)]


READERS: dict[str, Reader] = {
    "YAML and presets": Reader(_presets, as_text, _yaml),
    "run.json": Reader(lambda: [_FACTS], as_json, _run("run.json")),
    "notes.json": Reader(lambda: [{"tags": ["a", "b"], "note": "text"}], as_json, _run("notes.json")),
    "tune.json": Reader(lambda: [{"best": {"trial": "001", "score": 1.0}, "started": "x"}], as_json, _run("tune.json")),
    "group.json": Reader(lambda: [{"finished": 2, "mean": 1.0, "seeds": [1, 2]}], as_json, _run("group.json")),
    "manifest and safetensors": Reader(lambda: [[_MANIFEST, TENSORS]], as_checkpoint, _checkpoint),
    "journal": Reader(lambda: [[_FRAME, _FRAME]], as_frames, _journal),
    "train.csv": Reader(lambda: [_EPISODE_ROWS], as_csv, _run("results/train.csv")),
    "eval.csv": Reader(lambda: [_EVALUATION_ROWS], as_csv, _report),
    "result.json": Reader(lambda: [[{"iteration": 1, "step": 10, "return_mean": 1.0}]], as_lines,
                          _run("results/result.json")),
    "progress.csv": Reader(lambda: [_PROGRESS_ROWS], as_csv, _page("results/progress.csv")),
    "test.csv": Reader(lambda: [_TEST_ROWS], as_csv, _page("results/test.csv")),
    "seeds.csv": Reader(lambda: [_results("seed", 1)], as_csv, _group("seed")),
    "runs.csv": Reader(lambda: [_results("run", "x")], as_csv, _group("run")),
    "trials.csv": Reader(lambda: [_TRIAL_ROWS], as_csv, _group("trial")),
    "log.txt": Reader(lambda: [["2026-01-01 10:00:00 ", "WARNING ", "text", "\n"]], as_text, _run("logs/log.txt")),
    "trajectories (pickle)": Reader(_pickles, as_pickle, data_file(".pkl")),
    "traces": Reader(lambda: [_trace_lines()], as_trace, _traces),
    "npz": Reader(lambda: [archive_tree({NAMES[n]: c for n, c in GOOD.items()}, packed) for packed in (False, True)],
                  as_archive, data_file(".npz")),
    "HDF5": Reader(_hdf5_trees, as_hdf5, data_file(".hdf5"), ("h5py",)),
    "Minari": Reader(lambda: [json.loads((_minari_set() / "data" / "metadata.json").read_text())], as_json, _minari,
                     ("minari", "h5py")),
    "arrays of Minari": Reader(lambda: [[]], lambda _: (_minari_set() / "data" / "main_data.hdf5").read_bytes(),
                               _minari_arrays, ("minari", "h5py"), structured=False),
    "Parquet": Reader(lambda: [[[NAMES[name], column.tolist()] for name, column in GOOD.items()]], as_parquet,
                      data_file(".parquet"), ("pyarrow",)),
    "jsonl": Reader(lambda: [_episodes()], as_lines, data_file(".jsonl")),
    "jsonl.gz": Reader(lambda: [_episodes()], lambda tree: gzip.compress(as_lines(tree)), data_file(".jsonl.gz")),
    "jsonl.zst": Reader(lambda: [_episodes()], as_zst, data_file(".jsonl.zst"), ("zstandard",)),
    "saved replay buffer": Reader(_buffers, _as_buffer, _buffer),
    "index of a store": Reader(_index_trees, lambda tree: sealed(as_json(tree)), _index),
    "checksums of a repository": Reader(lambda: [[f"{'0' * 64}", "  ", "run.json", "\n"]], as_text, _sums),
    "trusted.json": Reader(lambda: [{"folders": ["/tmp/a"]}], as_json, _trusted),
    "databases of dialogues": Reader(lambda: [_HOTEL], as_json, _database),
    "addresses of stores and hubs": Reader(lambda: [[url] for url in _URLS], as_text, _addresses),
    "requests to watch": Reader(_requests, as_text, _watch),
}  # fmt: skip
"""Name -> reader. ONNX files and GIFs are written and never read."""
