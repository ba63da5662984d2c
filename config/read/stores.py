"""URLs of folders in a store, such as s3://bucket/prefix, wherever the folder of a run may be named."""

import re
from collections.abc import Callable
from pathlib import Path

from config.read.task_files import MOST_NAME
from config.tell.language import tr

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""Beginning of what is meant as a URL, be it well-formed or not. A drive such as C:/ has one letter."""
URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)")
MODEL = re.compile(r"(.+)/models/(\d{1,18}|best|latest)")
"""URL, or path, of a model of a run."""
PATTERN = "*?["
"""Characters with which a name stands for several runs."""
WEB = ("http", "https")
HUBS = {"hf": "Hugging Face", "ms": "ModelScope"}
"""Schemes of the hubs that push and pull reach, with their names; fsspec has a store that is called hf, too."""


class StoreError(Exception):
    """The folder that a URL names cannot be brought here; the message says why."""


def is_url(text: str) -> bool:
    """Returns True for what is meant as a URL."""
    return bool(SCHEME.match(text))


def url(text: str) -> str:
    """Returns the URL of a folder in a store, without a slash at its end. Raises ValueError with a sentence if it is
    none."""
    match = URL.fullmatch(text.rstrip("/") if not text.endswith("://") else text)
    if match is None or (match[2].startswith("/") and match[1] not in ("file", "local", "memory")):
        raise ValueError(tr("a URL of a folder in a store, such as s3://bucket/prefix"))
    scheme, place = match[1], match[2]
    if scheme in WEB:
        raise ValueError(
            tr("a URL of the store itself, such as s3://bucket/prefix; a web address cannot be written to")
        )
    if scheme in HUBS:
        why = tr("a URL of a store, such as s3://bucket/prefix; {scheme}:// is {hub}, for push and pull",
                 scheme=scheme, hub=HUBS[scheme])  # fmt: skip
        raise ValueError(why)
    if "::" in text or "?" in place or "#" in place or any(ord(letter) < 32 for letter in text):
        raise ValueError(tr("a plain URL, such as s3://bucket/prefix, without ::, ? and #"))
    if "@" in place.partition("/")[0]:
        raise ValueError(tr("a URL without a name and a password: they would be written to config.yaml"))
    names = place.strip("/").split("/")
    if any(name in ("", ".", "..") for name in names):
        raise ValueError(tr("a URL without empty folders, . and .."))
    if any(len(name.encode(errors="replace")) > MOST_NAME for name in names):
        raise ValueError(tr("a URL with names of at most {most} bytes", most=MOST_NAME))
    return f"{scheme}://{place}"


def of_run(text: str) -> tuple[str, str]:
    """Returns the URL of a folder of runs and the name of the run, from the URL of the run. Raises ValueError with a
    sentence."""
    parent, _, name = url(text).rpartition("/")
    if parent.endswith((":/", "://")) or not URL.fullmatch(parent):
        raise ValueError(tr("a URL that ends in the name of the run, such as {url}/NAME", url=text.rstrip("/")))
    return parent, name


def destination(text: str) -> tuple[str, str]:
    """Returns the same of a run that is to be written. Raises ValueError with a sentence for a URL that later commands
    read as that of a model or of several runs, or whose run no list shows."""
    parent, name = of_run(text)
    if MODEL.fullmatch(f"{parent}/{name}"):
        raise ValueError(tr("the URL of a run, but that of a model; write {url}/NAME", url=f"{parent}/{name}"))
    if name.startswith(".") or any(mark in name for mark in PATTERN):
        plain = re.sub(r"[*?\[\]]+", "-", name).strip(".-") or "NAME"
        why = tr("the URL of a run: its name has no dot at its beginning, and none of {marks}; write {url}",
                 marks=" ".join(PATTERN), url=f"{parent}/{plain}")  # fmt: skip
        raise ValueError(why)
    return parent, name


Bring = Callable[[str, Path, bool, str | int | None, bool], Path]
_bring: Bring | None = None


def brought_by(bring: Bring) -> None:
    """Sets what brings the folder of a run here: config itself reads no store."""
    global _bring
    _bring = bring


def bring(text: str, tasks: Path, go_on: bool = False, model: str | int | None = None, take_over: bool = False) -> Path:
    """Brings what is needed of a run in a store to this machine, verified, and returns its folder here. tasks: folder
    of runs in which one that goes on gets its folder. go_on: True if it is trained further there; False to read it,
    from the user's cache. model: that is read; None: none. take_over: True if a writer that has gone silent is no
    reason to refuse. Raises StoreError."""
    try:
        address = url(text)
    except ValueError as error:
        raise StoreError(tr("{url!r} is not {what}", url=text, what=error)) from None
    if inside := MODEL.fullmatch(address):
        why = tr("{url} is a model; name its run, {run}, and set general_cfg.load_model_step={step}",
                 url=address, run=inside[1], step=inside[2])  # fmt: skip
        raise StoreError(why)
    if _bring is None:
        raise StoreError(tr("{url!r} cannot be read here", url=text))
    return _bring(address, tasks, go_on, model, take_over)
