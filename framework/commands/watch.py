"""Shows runs in a browser until Ctrl-C."""

import contextlib
import errno
import html
import os
import tempfile
import threading
import time
import webbrowser
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from config.read import arguments
from config.read.stores import is_url
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.commands.line import shared, start
from framework.commands.line.parser import Parser

HELP = {"watch [FOLDER] [--port N] [--open]": tr("see them train, in a browser")}
STORE_SECONDS = 15.0
"""Seconds between two looks at a store."""
LOOK_SECONDS = 0.1
"""Seconds between two looks for a signal."""


def flags(parser: Parser) -> None:
    shared.add(parser, "--allow-import")
    help_text = tr("folder of runs (default tasks) or its URL, or one run or group, by its name")
    parser.positional("folder", "FOLDER", help_text, nargs="?")
    parser.add_argument("--port", metavar="N", type=arguments.port, default=0, help=tr("default: a free one"))
    parser.switch("--open", tr("open the page in the browser"))


def run(request: Namespace) -> int:
    """Serves the page. Returns the exit status, which is that of a process ended by the signal."""
    return start.guarded(lambda: _serve(request))


def _serve(request: Namespace) -> int:
    from config.read.paths import as_written
    from framework.archive.find import others
    from framework.archive.task_list import of_place
    from framework.disk.task_dir import ROOT
    from framework.errors import JoystickError
    from framework.live.server import Server
    from framework.runs.signals import StopSignals
    from framework.screen.stages import shown_on
    from framework.screen.terminal import Screen

    root, port = _root(request.folder, ROOT), request.port
    if request.folder and not root.is_dir():
        raise JoystickError(
            "watch: {root} is not a folder; name a folder of runs, or one run or group, or leave it out{near}",
            root=root,
            near=others(request.folder, ROOT),
        )
    try:
        next(root.iterdir(), None)
    except FileNotFoundError:  # tasks/, before the first run
        pass
    except OSError as error:
        raise JoystickError("watch: {root} cannot be read: {reason}", root=root, reason=reason_of(error)) from error
    try:
        server = Server(root, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = tr("--port {port} is taken; choose another one, or leave --port out for a free one", port=port)
        else:
            why = tr("--port {port} cannot be used: {reason}", port=port, reason=reason_of(error))
        raise JoystickError(why) from error
    with StopSignals(doing=tr("ending")) as signals, server, shown_on(Screen()), contextlib.ExitStack() as stack:
        threading.Thread(target=server.serve_forever, name="web server", daemon=True).start()
        print(
            tr(
                "the runs in {folder}\n\n  {address}\n\nCtrl-C ends it.",
                folder=as_written(Path(server.answers.folder)),
                address=server.address,
            ),
            flush=True,
        )
        if not any(server.answers.overview.runs()):
            where = of_place(root)
            print(
                tr("There is no run in it yet; the page shows each one when it begins{where}.", where=where), flush=True
            )
        if request.open and not webbrowser.open(stack.enter_context(_leading_to(server.address))):
            print(tr("no browser was found; open the address above"), flush=True)
        while not signals.came():
            time.sleep(LOOK_SECONDS)
        server.shutdown()
    return signals.exit_status


def _root(folder: str | None, usual: Path) -> Path:
    """Returns the folder of runs to show, by its path, or its name among the usual ones. That of a store is brought
    here again and again, in a thread."""
    if not folder:
        return usual
    if not is_url(folder):
        return usual / folder if (usual / folder).is_dir() and not Path(folder).is_dir() else Path(folder)
    from framework.errors import JoystickError
    from framework.storage import copies

    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            copies.note(text)

    def again() -> None:
        while True:
            time.sleep(STORE_SECONDS)
            with contextlib.suppress(JoystickError, OSError):  # the store may answer the next time
                copies.listed(folder, copies.results, say)

    root = copies.listed(folder, copies.results, say)
    threading.Thread(target=again, name="store", daemon=True).start()
    return root


@contextlib.contextmanager
def _leading_to(address: str) -> Iterator[str]:
    """Yields the address of a file that leads a browser to the page, and that only this user can read: the arguments
    of a browser, which all users see in the list of processes, are without the token."""
    with tempfile.TemporaryDirectory(prefix="joystick-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "open.html").resolve()
        lead = f'<meta http-equiv="refresh" content="0;url={html.escape(address)}">'
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html>\n<meta charset="utf-8">{lead}\n')
        yield path.as_uri()
