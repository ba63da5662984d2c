"""Command convert: writes data in another format."""

from argparse import Namespace

from framework.dataset.convert import convert
from framework.screen.formatting import counted


def run(request: Namespace) -> int:
    """Writes the data, and prints how many they are. Returns the exit status."""
    data = convert(request.file, request.target)
    summary = data.summary
    print(*data.notes, sep="\n", end="\n" if data.notes else "")
    print(f"{request.target}: {counted(summary.episodes, 'episode')}, {counted(summary.transitions, 'transition')}")
    return 0
