"""Reasons that the operating system gives for an error, in the language of the reader."""

import errno
from pathlib import Path

from config.read.paths import as_written
from config.tell.language import tr

REASONS = {
    errno.EACCES: tr("Permission denied"),
    errno.EAGAIN: tr("Resource temporarily unavailable"),
    errno.EDQUOT: tr("Disk quota exceeded"),
    errno.EEXIST: tr("File exists"),
    errno.EINVAL: tr("Invalid argument"),
    errno.EIO: tr("Input/output error"),
    errno.EISDIR: tr("Is a directory"),
    errno.ELOOP: tr("Too many levels of symbolic links"),
    errno.EMFILE: tr("Too many open files"),
    errno.ENAMETOOLONG: tr("File name too long"),
    errno.ENOENT: tr("No such file or directory"),
    errno.ENOSPC: tr("No space left on device"),
    errno.ENOTDIR: tr("Not a directory"),
    errno.EPERM: tr("Operation not permitted"),
    errno.EROFS: tr("Read-only file system"),
}
"""Number of an error -> its text."""


def reason_of(error: Exception) -> str:
    """Returns why the system has refused something; the text of the error itself if it does not say, or is another."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return REASONS.get(error.errno or 0, error.strerror)


def refusal(error: OSError) -> str:
    """Returns what was refused, and why."""
    if error.filename is None and error.errno == errno.EMFILE:  # one that was to be opened, such as a pipe
        return reason_of(error)
    name = as_written(Path(error.filename)) if isinstance(error.filename, str) else tr("writing")
    return f"{name}: {reason_of(error)}"
