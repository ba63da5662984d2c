"""Command watch: serves the page until Ctrl-C."""

import errno
import threading
import time
import webbrowser
from pathlib import Path

from framework.errors import JoystickError
from framework.live.server import Server
from framework.runs.signals import StopSignals
from framework.runs.task_dir import ROOT

LOOK_SECONDS = 0.1
"""Seconds between two looks for a signal."""


def run(folder: str | None, port: int, browser: bool) -> int:
    """Returns the exit status, which is that of a process ended by the signal. folder: of the runs; tasks if it is
    None. port: 0 for a free one. browser: True to open the page."""
    root = Path(folder or ROOT)
    if folder and not root.is_dir():
        raise JoystickError(f"watch: {root} is no folder; name a folder of runs, or one run or group, or leave it out")
    try:
        server = Server(root, port)
    except OSError as error:
        taken = "is taken; choose another one, or leave --port out for a free one"
        why = taken if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise JoystickError(f"--port {port} {why}") from error
    with StopSignals(doing="ending") as signals, server:
        threading.Thread(target=server.serve_forever, name="web server", daemon=True).start()
        print(f"the runs in {server.answers.folder}\n\n  {server.address}\n\nCtrl-C ends it.", flush=True)
        if browser and not webbrowser.open(server.address):
            print("no browser was found; open the address above", flush=True)
        while signals.received is None:
            time.sleep(LOOK_SECONDS)
        server.shutdown()
    return signals.exit_status
