"""Joystick in Python: `import joystick`, and the command `joystick`, which is python main.py.

In a clone this file is the module. pip installs a folder `joystick` with the layout of a clone, and this file as its
__init__.py.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

_ROOT = Path(__file__).resolve().parent


def _open_house() -> None:
    """Makes the packages beside this file importable. Raises ImportError if one of their names means another module.

    The path is appended, so that no module of the user is replaced by one of ours.
    """
    if str(_ROOT) not in sys.path:
        sys.path.append(str(_ROOT))
    for name in ("algos", "config", "envs", "framework"):
        spec = find_spec(name)
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        place = next((Path(place).resolve() for place in places if place), _ROOT)
        if not place.is_relative_to(_ROOT):
            raise ImportError(
                f"joystick has a package {name!r}, and in this program that name means {place}; "
                "rename it, or move it into a package of your own",
                name=name,
                path=str(place),
            )


_open_house()


def command() -> int:
    """Runs the command line as `python main.py` does, and returns the exit status."""
    sys.path.insert(0, str(_ROOT))
    from main import main

    return main()


if __name__ == "__main__":
    sys.exit(command())
