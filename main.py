"""Trains or tests an agent: python main.py --yaml FILE. Imports heavy packages only once the config is valid."""

import os
import signal
import sys
import threading

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports needs no traceback

from config.tell.language import UserError, tr
from config.tell.names import without_password
from config.tell.system_errors import refusal
from config.tell.traceback import told
from framework import commands
from framework.errors import ERROR, MISTAKE, silence
from framework.screen.terminal import print_error

REQUIRED = {
    "annotated_types", "cloudpickle", "gymnasium", "imageio", "matplotlib", "numpy", "packaging", "PIL", "pydantic",
    "rich", "safetensors", "torch", "yaml",
}  # fmt: skip
"""Modules of the packages that every run needs; Ray's absence is answered where it is started."""
EXECUTORS = ("ThreadPoolExecutor", "asyncio_")
"""Beginnings of the names of threads of executors."""
PATIENCE = 2.0
"""Seconds that threads have to end before they are named."""
_interrupts: list[int] = []
"""Signals of Ctrl-C that no command has taken for itself."""


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0; 2 for a wrong command or configuration, or an error that ended the run; 1 if a run
    of --seeds failed."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, _interrupt)
    _make_usable()
    try:
        try:
            return commands.answer(sys.argv[1:] if argv is None else argv)
        finally:
            sys.stdout.flush()
    except ModuleNotFoundError as error:
        if error.name not in REQUIRED:
            raise
        print(
            tr("{name} is not installed here: make run, or pip install -r requirements.txt", name=error.name),
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        silence(sys.stdout)
        return 0
    except OSError as error:  # a full disk behind >
        silence(sys.stdout)
        print_error(ERROR + refusal(error))
        return MISTAKE
    except (KeyboardInterrupt, Exception) as error:
        # what is interrupted may raise an error of its own, as pydantic does while it builds a class
        if not (_interrupts or isinstance(error, KeyboardInterrupt)):
            if not (text := str(error) if isinstance(error, UserError) else told(error)):
                raise
            print_error("\n".join([ERROR + without_password(text), *getattr(error, "__notes__", [])]))
            return MISTAKE
        print(tr("stopped"), file=sys.stderr)
        return 130


def _make_usable() -> None:
    """Gives stdout and stderr a file where they are closed, and another character for one that a console lacks."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # a file that is opened next would get its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        if hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")


def _interrupt(number: int, frame: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _name_thread() -> None:
    """Says which thread of an environment, or of a library, this process waits for at its end."""
    threads = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    # those of an executor end when Python asks them to, which it does next
    left = [thread for thread in threads if not thread.daemon and not thread.name.startswith(EXECUTORS)]
    for thread in left:
        thread.join(PATIENCE / len(left))
    if named := ", ".join(dict.fromkeys(thread.name for thread in left if thread.is_alive())):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        print(
            tr(
                "all is written; this process waits for threads that an environment or a library has left: {named}. "
                "Ctrl-C ends it",
                named=named,
            ),
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    status = main()
    _name_thread()
    sys.exit(status)
