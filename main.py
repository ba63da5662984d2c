"""Trains or tests an agent: python main.py --yaml FILE. Imports heavy packages only once the config is valid."""

import os
import signal
import sys

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports needs no traceback

from config.tell.language import tr
from config.tell.system_errors import refusal
from framework import commands
from framework.errors import ERROR, MISTAKE, silence
from framework.screen.terminal import print_error

REQUIRED = {
    "annotated_types", "cloudpickle", "gymnasium", "imageio", "matplotlib", "numpy", "packaging", "PIL", "pydantic",
    "rich", "safetensors", "torch", "yaml",
}  # fmt: skip
"""Modules of the packages that every run needs; Ray's absence is answered where it is started."""


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0; 2 for a wrong command or configuration, or an error that ended the run; 1 if a run
    of --seeds failed."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it is closed; a file that is opened next would get its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        if hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="replace")  # a console may lack a character
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
    except KeyboardInterrupt:
        print(tr("stopped"), file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
