"""Trains or tests an agent: python main.py --yaml FILE. Imports heavy packages only once the config is valid."""

import sys

from config.tell.language import tr
from framework import commands
from framework.errors import silence

REQUIRED = {
    "annotated_types", "cloudpickle", "gymnasium", "imageio", "matplotlib", "numpy", "packaging", "PIL", "pydantic",
    "rich", "safetensors", "torch", "yaml",
}  # fmt: skip
"""Modules of the packages that every run needs; Ray's absence is answered where it is started."""


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0; 2 for a wrong command or configuration, or an error that ended the run; 1 if a run
    of --seeds failed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console may lack a character
    try:
        try:
            return commands.answer(sys.argv[1:] if argv is None else argv)
        finally:
            if sys.stdout:
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


if __name__ == "__main__":
    sys.exit(main())
