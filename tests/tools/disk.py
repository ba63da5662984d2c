"""Calls that change files: recorded, made to fail, and repeated on a model of the disk.

`Calls` numbers the calls below a folder, of this process and of those forked from it. A record of them shows what a
kill or a power cut after each of them may leave (`Disk.states`): a kill leaves all that was written; after a power cut
only what was fsynced is certain, the content of files and the names in folders apart. SQLite's tests do the same.
"""

import builtins
import errno
import hashlib
import io
import mmap
import os
import pickle
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Call = tuple[Any, ...]
"""Name of a call, path below the folder, and more: see `Disk.apply`."""
_LENGTH = struct.Struct("<I")


class Calls:
    """Stands for the functions that change files, in a forked process, until it ends."""

    def __init__(self, root: Path, record: Path | None = None, fail_at: int = 0) -> None:
        """record: file for the calls that were made. fail_at: number of the call that raises OSError."""
        self.root, self.record, self.fail_at = str(root), record, fail_at
        self.busy = False
        self._counter = mmap.mmap(-1, 8)
        """Number of calls so far, shared with forked processes."""
        self._file, self._owner = -1, 0

    @property
    def count(self) -> int:
        return int.from_bytes(self._counter[:8], "little")

    def install(self) -> None:
        """Replaces the functions of this process for good; it is a forked one."""
        self.open = builtins.open
        self.sync = os.fsync
        os.fsync = lambda descriptor: None  # the model of the disk takes its place
        self.write, self.os_open = os.write, os.open
        for name in ("mkdir", "unlink", "remove", "rmdir", "fsync", "rename", "replace", "link", "truncate", "open"):
            setattr(os, name, self.wrapped(name, getattr(os, name)))
        builtins.open = io.open = self.faulty_open  # type: ignore[assignment]

    def below(self, path: Any, folder: int | None = None) -> str | None:
        """The path from the folder under test on, if it is inside."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        elif folder is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
        path = os.path.abspath(os.fspath(path))
        return os.path.relpath(path, self.root) if (str(path) + "/").startswith(self.root + "/") else None

    def wrapped(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            path = None if self.busy else self.below(args[0], options.get("dir_fd"))
            if path is None:
                return original(*args, **options)
            full = os.path.join(self.root, path)
            if name == "open":
                flags = args[1] if len(args) > 1 else options["flags"]
                if not flags & (os.O_WRONLY | os.O_RDWR):
                    return original(*args, **options)
                new = not os.path.exists(full)
                return self.perform(
                    lambda: original(*args, **options), lambda: ("open", path, new, bool(flags & os.O_TRUNC))
                )
            if name in ("rename", "replace", "link"):
                target = self.below(args[1])
                return self.perform(
                    lambda: original(*args, **options), lambda: (name.replace("replace", "rename"), path, target)
                )
            if name == "truncate":
                return self.perform(lambda: original(*args, **options), lambda: ("truncate", path, args[1]))
            if name == "fsync":
                return self.perform(lambda: original(*args, **options), lambda: ("fsync", path, self.unseen(full)))
            return self.perform(lambda: original(*args, **options), lambda: (name.replace("remove", "unlink"), path))

        return call

    def unseen(self, path: str) -> bytes | None:
        """Content of a file that C code writes: HDF5."""
        if not path.endswith(".hdf5"):
            return None
        with self.open(path, "rb") as file:
            return bytes(file.read())

    def perform(self, work: Callable[[], Any], call: Callable[[], Call], half: Callable[[], Any] | None = None) -> Any:
        """Makes a call and notes it, or lets it fail, a write after its first half."""
        at = self.count + 1
        self._counter[:8] = at.to_bytes(8, "little")
        if at == self.fail_at:
            if half is not None:
                half()
            name, path = call()[:2]
            full = os.path.join(self.root, path)
            number = errno.EIO if name == "fsync" else errno.ENOSPC
            raise OSError(number, os.strerror(number), *([] if name in ("write", "fsync") else [full]))
        noted = None if half is not None else call()  # what it finds before the call
        result = work()
        self.note(noted or call())
        return result

    def note(self, call: Call) -> None:
        """Appends a call to the record, at once and as a whole: processes share it."""
        if self.record is None:
            return
        if self._owner != os.getpid():
            self._file = self.os_open(self.record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            self._owner = os.getpid()
        data = pickle.dumps(call)
        self.write(self._file, _LENGTH.pack(len(data)) + data)

    def faulty_open(self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
                    errors: str | None = None, newline: str | None = None, closefd: bool = True,
                    opener: Any = None) -> Any:  # fmt: skip
        """Stands for `open`; a file that is written counts its writes and truncations."""
        path = None if self.busy or isinstance(file, int) else self.below(file)
        writes = set(mode) & set("wax+")
        if path is None or not writes:
            return self.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        plain = mode.replace("b", "").replace("t", "")

        def make() -> Any:
            raw = CountedFile(self, file, plain, opener)
            if buffering == 0:
                return raw
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        if opener:  # it calls os.open
            return make()
        new = not os.path.exists(file)
        return self.perform(make, lambda: ("open", path, new, "w" in mode))


class CountedFile(io.FileIO):
    """A file whose writes and truncations are numbered calls."""

    def __init__(self, calls: Calls, path: Any, mode: str, opener: Any) -> None:
        self.calls = calls
        super().__init__(path, mode, opener=opener)

    def write(self, data: Any) -> int:
        data, write = bytes(data), super().write

        def call() -> Call:
            return "write", self.calls.below(self.fileno()), self.tell() - len(data), data

        return self.calls.perform(lambda: write(data), call, lambda: write(data[: len(data) // 2]))

    def truncate(self, size: int | None = None) -> int:
        truncate, end = super().truncate, self.tell() if size is None else size
        return self.calls.perform(lambda: truncate(size), lambda: ("truncate", self.calls.below(self.fileno()), end))


def read_record(path: Path) -> list[Call]:
    """The calls of a record, in their order."""
    data, calls, place = path.read_bytes(), [], 0
    while place < len(data):
        (length,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size + length
        calls.append(pickle.loads(data[place - length : place]))
    return calls


# ------------------------------------------------------------------------------------------------ a model of the disk


class File:
    def __init__(self, data: bytes = b"") -> None:
        self.now = data
        self.kept: bytes = data
        """Content at the last fsync."""


class Folder:
    def __init__(self) -> None:
        self.now: dict[str, Node] = {}
        self.kept: dict[str, Node] = {}
        """Names at the last fsync."""


Node = File | Folder
Change = tuple[Folder, str, Node | None]
"""A name in a folder that gets another content; None: it is removed."""
Tree = dict[str, bytes | None]
"""Content by path; None for a folder."""

WAYS = ("synced", "names", "data", "torn", "last")
"""What a power cut leaves of what was not fsynced: nothing; all names; all content of files that have a name; all
names, and of each content the first half; the newest change of a name alone, since a disk may reorder."""


class State(NamedTuple):
    """What a fault leaves."""

    kind: str
    """kill, torn or power."""
    at: int
    """Number of calls that were made."""
    call: str
    """The last of them, for a message."""
    tree: Tree

    def digest(self) -> bytes:
        """Returns a digest of the files and folders; equal ones are continued alike, whatever the fault was."""
        content = hashlib.sha256()
        for name, data in sorted(self.tree.items()):
            content.update(f"{name}\0{'folder' if data is None else len(data)}\0".encode())
            content.update(data or b"")
        return content.digest()


class Disk:
    """Files and folders as the processes see them, and as far as they are durable. All that exists at first is."""

    def __init__(self, root: Path) -> None:
        self.top = _scanned(root)
        self.pending: list[list[Change]] = []
        """Changes of names since the last fsync of their folders."""

    def find(self, path: str) -> Any:
        node: Any = self.top
        for part in Path(path).parts:
            node = node.now[part]
        return node

    def place(self, path: str) -> tuple[Folder, str]:
        return self.find(os.path.dirname(path)), os.path.basename(path)

    def change(self, *changes: Change) -> None:
        for folder, name, node in changes:
            if node is None:
                folder.now.pop(name, None)
            else:
                folder.now[name] = node
        self.pending.append(list(changes))

    def apply(self, call: Call) -> None:
        """Repeats a call."""
        name, path, *more = call
        folder, base = self.place(path) if path != "." else (self.top, ".")
        if name in ("open", "write", "truncate"):
            self.change_content(name, folder, base, more)
        elif name == "fsync":
            self.sync(path, folder, base, more[0])
        else:
            self.change_names(name, folder, base, more)

    def change_content(self, name: str, folder: Folder, base: str, more: list[Any]) -> None:
        if name == "open" and more[0]:
            self.change((folder, base, File()))
            return
        file = folder.now[base]
        assert isinstance(file, File)
        if name == "write":
            start, data = more
            file.now = file.now[:start].ljust(start, b"\0") + data + file.now[start + len(data) :]
        elif name == "truncate" or more[1]:
            size = more[0] if name == "truncate" else 0
            file.now = file.now[:size].ljust(size, b"\0")

    def change_names(self, name: str, folder: Folder, base: str, more: list[Any]) -> None:
        if name == "mkdir":
            self.change((folder, base, Folder()))
        elif name in ("unlink", "rmdir"):
            self.change((folder, base, None))
        else:  # rename, link
            gone: list[Change] = [(folder, base, None)] if name == "rename" else []
            self.change(*gone, (*self.place(more[0]), folder.now[base]))

    def sync(self, path: str, folder: Folder, base: str, content: bytes | None) -> None:
        if content is not None:  # what C code has written since is noted here alone
            if base not in folder.now:
                self.change((folder, base, File()))
            self.find(path).now = content
        node: Any = self.find(path)
        if isinstance(node, File):
            node.kept = node.now
        else:
            node.kept = dict(node.now)
            self.pending = [group for group in self.pending if all(where is not node for where, *_ in group)]

    def tree(self, way: str, last: bool = False) -> Tree:
        """What is left. way: kill, or one of WAYS."""
        extra: dict[int, dict[str, Node | None]] = {}
        for folder, name, node in self.pending[-1] if way == "last" and self.pending else ():
            extra.setdefault(id(folder), {})[name] = node
        found: Tree = {}

        def walk(folder: Folder, path: str) -> None:
            names = dict(folder.now if way in ("kill", "names", "torn") else folder.kept)
            for name, changed in extra.get(id(folder), {}).items():
                names.pop(name, None) if changed is None else names.__setitem__(name, changed)
            for name, node in sorted(names.items()):
                inner = f"{path}/{name}" if path else name
                if isinstance(node, Folder):
                    found[inner] = None
                    walk(node, inner)
                else:
                    found[inner] = _left(node, way)

        walk(self.top, "")
        return found

    def states(self, calls: Iterable[Call], kinds: Iterable[str]) -> Iterator[State]:
        """What faults of these kinds leave, after each of the calls."""
        for at, call in enumerate(calls, 1):
            text = f"{call[0]} {call[1]}"
            if "torn" in kinds and call[0] == "write":
                name, path, start, data = call
                half = Disk.__new__(Disk)
                half.top, half.pending = self.top, []
                file = self.find(path)
                before = file.now
                half.apply((name, path, start, data[: len(data) // 2]))
                yield State("torn", at, text, half.tree("kill"))
                file.now = before
            self.apply(call)
            if "kill" in kinds:
                yield State("kill", at, text, self.tree("kill"))
            for way in WAYS if "power" in kinds else ():
                yield State("power", at, f"{text} ({way})", self.tree(way))


def _left(file: File, way: str) -> bytes:
    if way in ("kill", "data"):
        return file.now
    if way != "torn" or file.now == file.kept:
        return file.kept
    same = next(
        (n for n, pair in enumerate(zip(file.now, file.kept, strict=False)) if pair[0] != pair[1]),
        min(len(file.now), len(file.kept)),
    )
    middle = same + (len(file.now) - same) // 2
    return file.now[:middle] + file.kept[middle:]


def _scanned(root: Path) -> Folder:
    folder = Folder()
    for entry in os.scandir(root):
        path = Path(entry.path)
        folder.now[entry.name] = _scanned(path) if entry.is_dir() else File(path.read_bytes())
    folder.kept = dict(folder.now)
    return folder


def written(tree: Tree, target: Path) -> None:
    """Writes what is left into a new folder."""
    target.mkdir()
    for name, data in tree.items():
        (target / name).mkdir() if data is None else (target / name).write_bytes(data)
