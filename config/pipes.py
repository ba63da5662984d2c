"""What is written to a reader that has gone, as with `| head`."""

import os
import sys


def reader_has_gone() -> None:
    """After a BrokenPipeError: the interpreter flushes stdout once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
