"""A folder in a store that fsspec reaches. Its objects are put whole, and every error is a sentence."""

import contextlib
import errno
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from config.read import stores
from config.read.opening import regular
from config.tell.language import tr
from framework.disk.atomic import ensure_folder, sync_folder
from framework.disk.task_dir import take_lock
from framework.storage.errors import Changed, MissingObject, StorageError
from framework.storage.index import MOST_BYTES

T = TypeVar("T")
PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "oss": "ossfs"}
"""Schemes -> the package that reaches such a store, as the extra `storage` brings it."""
CREATING = ("s3fs", "gcsfs")
"""Packages that can write an object on condition that there is none yet."""
LOCAL = ("file", "local")
SECONDS = 20
"""Seconds after which a connection to a store of the kind of S3 counts as lost."""
LONGEST = 60
"""Seconds after which a reader does not ask once more."""
FULL = (errno.ENOSPC, errno.EDQUOT)
_TALKATIVE = ("aiobotocore", "aiohttp", "asyncio", "botocore", "fsspec", "gcsfs", "google", "ossfs", "oss2", "s3fs")
"""Loggers of libraries that print tracebacks of errors that are told here in a sentence."""
_NOWHERE = logging.NullHandler()
"""One for all: a logger keeps each handler that it gets, and the page of watch opens stores for days."""
_DENIED = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "PermissionError",
    "RefreshError",
    "DefaultCredentialsError",
)
_DENIED_CODES = ("AccessDenied", "Forbidden", "ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch")
_WRONG = ("ParamValidationError", "InvalidRegionError", "ProfileNotFound", "UnknownServiceError")
_NOT_POSSIBLE = (TypeError, ValueError, NotImplementedError)
"""Errors, none of their subclasses, of a package that cannot do what is asked, such as one without an address."""
REASON = 160
"""Length of a reason in letters, at most; a longer one is that of a cause."""


class Seen(NamedTuple):
    """Content of an object that is replaced under a condition, and the mark of this version in the store."""

    data: bytes
    mark: str | None
    """None in a store that has no conditional put."""


class Store:
    """A folder in a store. Keys are paths below it."""

    def __init__(self, url: str) -> None:
        """Imports what reaches the store. Raises StorageError without it, and for what is no URL of a store: a folder
        there may have any name."""
        try:
            self.url, self.scheme = stores.url(url), url.partition(":")[0]
        except ValueError as error:
            raise StorageError("{url!r} is not {what}", url=url, what=error, lasting=True) from None
        self._package = PACKAGES.get(self.scheme)
        for name in _TALKATIVE:
            logging.getLogger(name).addHandler(_NOWHERE)
        self._conditional = True
        with self._sentences():
            from fsspec.core import url_to_fs

            options: dict[str, Any] = {"skip_instance_cache": True}
            if self._package != "ossfs":  # whose lists go through its cache; `_forget` empties it
                options["use_listings_cache"] = False
            if self._package == "s3fs":  # which asks five times itself
                once = {"total_max_attempts": 1}
                options["config_kwargs"] = {"connect_timeout": SECONDS, "read_timeout": SECONDS, "retries": once}
            self._fs, root = url_to_fs(url, **({} if self.scheme in (*LOCAL, "memory") else options))
            self._root = root.rstrip("/")

    def below(self, name: str) -> "Store":
        """Returns a folder in this one."""
        return Store(f"{self.url}/{name}")

    # objects ----------------------------------------------------------------------------------------------

    def get(self, key: str, most: int = MOST_BYTES) -> bytes:
        """Returns the content of an object, of a larger one its beginning, which is longer than `most`: that of a
        stranger may fill the memory. Raises MissingObject."""
        with self._sentences(key):
            data = self._fs.cat_file(self._path(key), start=0, end=most + 1)
            return data if isinstance(data, bytes) else bytes(data)

    def put(self, key: str, data: bytes) -> None:
        """Writes an object as a whole."""
        with self._sentences():
            self._put(key, data)

    def _put(self, key: str, data: bytes, **options: Any) -> None:
        path = self._path(key)
        if self.scheme in LOCAL:
            ensure_folder(Path(path).parent)
            partial = Path(f"{path}.{os.getpid()}.tmp")
            with open(partial, "wb", opener=regular) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
            sync_folder(Path(path).parent)  # the index that lists an object may reach the disk first
        else:
            self._fs.pipe_file(path, data, **options)

    def delete(self, keys: Iterable[str]) -> None:
        """Deletes objects; one that is gone counts as deleted."""
        for key in keys:
            try:
                with self._sentences(key):
                    self._fs.rm_file(self._path(key))
            except MissingObject:
                continue

    def keys(self) -> list[str]:
        """Returns the keys of all objects; a store may not list the newest ones yet."""
        try:
            with self._sentences(""):
                self._forget()
                paths = self._fs.find(self._root)
        except MissingObject:
            return []
        return [self._key(path) for path in paths]

    def folders(self) -> list[str]:
        """Returns the names of the folders directly below."""
        try:
            with self._sentences(""):
                self._forget()
                entries = self._fs.ls(self._root, detail=True)
        except MissingObject:
            return []
        names = (self._key(entry["name"]) for entry in entries if entry["type"] == "directory")
        return sorted(name for name in names if name and "/" not in name)

    def _forget(self) -> None:
        """Forgets lists that were read before."""
        self._fs.invalidate_cache()

    # the object that is replaced under a condition --------------------------------------------------------

    def see(self, key: str) -> Seen | None:
        """Returns an object to be replaced later; None if there is none."""
        try:
            with self._sentences(key):
                mark = self._mark(key)  # before the content: a version between the two makes `replace` fail
                return Seen(self.get(key), mark)
        except MissingObject:
            return None

    def _mark(self, key: str) -> str | None:
        if self._package != "s3fs":
            return None
        mark = self._fs.info(self._path(key), refresh=True).get("ETag")
        return mark if isinstance(mark, str) else None

    def replace(self, key: str, data: bytes, before: Seen | None) -> None:
        """Writes an object if it is what it was before; None: if there is none yet. Raises Changed otherwise. In a
        store without conditional puts, the object is compared right before it is written."""
        with self._alone(key):
            if before is None or before.mark is None or not self._conditional:
                now = self.see(key)
                if (now and now.data) != (before and before.data):
                    raise Changed("{url} was changed by another writer", url=self.url)
            if not self._conditional or (before is not None and before.mark is None):
                self.put(key, data)
                return
            is_new = before is None and self._package in CREATING
            options: dict[str, Any] = {"mode": "create"} if is_new else {}
            if before is not None:
                options = {"IfMatch": before.mark}
            try:
                with self._sentences():
                    self._put(key, data, **options)
            except Changed:
                raise
            except StorageError as error:
                if "NotImplemented" not in repr(error.__cause__) and "not implemented" not in str(error.__cause__):
                    raise
                self._conditional = False  # an older store of this kind
                self.replace(key, data, before)

    @contextlib.contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        """Keeps other processes out meanwhile, by a lock beside the file of an object, in a folder that is mounted
        here."""
        if self.scheme not in LOCAL:
            yield
            return
        path = Path(self._path(key))
        ensure_folder(path.parent)
        with open(path.with_name(".lock"), "a+", encoding="utf-8", opener=regular) as lock:
            if not take_lock(lock, if_any=True):  # without locks it is as in a store without conditions
                raise StorageError("{path} is locked by another writer", path=path)
            yield

    # names and errors -------------------------------------------------------------------------------------

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}" if key else self._root

    def _key(self, path: str) -> str:
        return path[len(self._root) :].strip("/") if path.startswith(self._root) else path.strip("/")

    @contextlib.contextmanager
    def _sentences(self, key: str | None = None) -> Iterator[None]:
        """Turns the errors of fsspec and of what is below it into StorageError. key: of an object that may be
        missing."""
        try:
            yield
        except StorageError:
            raise
        except Exception as error:
            raise self.error(error, key) from error

    def error(self, error: BaseException, key: str | None) -> StorageError:
        """Returns what an error means. key: of an object that may be missing."""
        names = {type(cause).__name__ for cause in _causes(error)}
        text = " ".join(f"{type(cause).__name__} {cause}" for cause in _causes(error))
        if isinstance(error, ImportError):
            package = PACKAGES.get(self.scheme, error.name or self.scheme)
            why = tr("{scheme}:// needs the package {package}: pip install {package}", scheme=self.scheme,
                     package=package)  # fmt: skip
            return StorageError(why, lasting=True)
        if "Protocol not known" in text:
            why = tr("{url}: no store is called {scheme}://; use s3, gs, oss or file", url=self.url, scheme=self.scheme)
            return StorageError(why, lasting=True)
        if (
            "NoSuchBucket" in text
            or "bucket does not exist" in text.lower()
            or (isinstance(error, FileNotFoundError) and key is None and self.scheme not in (*LOCAL, "memory"))
        ):
            return StorageError("{url}: there is no such bucket", url=self.url, lasting=True)
        if isinstance(error, FileNotFoundError):
            return MissingObject("{url}/{key} is not in the store", url=self.url, key=key)
        if isinstance(error, FileExistsError) or "PreconditionFailed" in text or "ConditionalRequestConflict" in text:
            return Changed("{url} was changed by another writer", url=self.url)
        if getattr(error, "errno", None) in FULL or "QuotaExceeded" in text or "XMinioStorageFull" in text:
            return StorageError("{url}: the store is full, or its quota is used up", url=self.url)
        reason = _reason(error)
        if names & set(_DENIED) or any(code in text for code in _DENIED_CODES):
            why = tr("{url}: no permission ({reason}); look at the credentials of this machine", url=self.url,
                     reason=reason)  # fmt: skip
            return StorageError(why, lasting=True)
        if self._package == "ossfs" and type(error) is ValueError and "endpoint" in text:
            why = tr("{url}: the environment variable OSS_ENDPOINT has to name the server", url=self.url)
            return StorageError(why, lasting=True)
        if names & set(_WRONG) or "InvalidBucketName" in text or type(error) in _NOT_POSSIBLE:
            return StorageError("{url} cannot be a store: {reason}", url=self.url, reason=reason, lasting=True)
        return StorageError("{url} does not answer: {reason}", url=self.url, reason=reason)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yields an error and what it was raised from."""
    for _ in range(8):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    """Returns the first line of an error; of a long one, the shortest of it and its causes."""
    lines = [next(iter(str(cause).splitlines()), "") or type(cause).__name__ for cause in _causes(error)]
    return lines[0] if len(lines[0]) <= REASON else min(lines, key=len)[:REASON]


def patiently(work: Callable[[], T], attempts: int, wait: Callable[[float], object]) -> T:
    """Does something, again and again while the store does not answer, with longer and longer pauses, until a minute
    is over. wait: waits for seconds."""
    until = time.monotonic() + LONGEST
    for attempt in range(attempts):
        try:
            return work()
        except Changed:
            raise
        except StorageError as error:
            is_last = attempt == attempts - 1 or time.monotonic() > until
            if error.lasting or isinstance(error, MissingObject) or is_last:
                raise
        wait(0.5 * 2**attempt)
    raise AssertionError
