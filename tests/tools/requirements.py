"""Files of requirements, made of pyproject.toml:

python -m tests.tools.requirements           requirements.txt, and those of extra, envs and robotics
python -m tests.tools.requirements tested    constraints.txt, with the versions of this environment
python -m tests.tools.requirements lowest    prints the lowest version of each range, as a file of constraints

Imports only the standard library: the last form is there to choose what is installed.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ALL = "extra"
"""Extra that is made of others: what `make extra` installs."""
ENVIRONMENTS = ("envs", "robotics")
"""Extras that have a file, for a clone that is not installed itself."""
APART = ("robotics",)
"""Extras that go into an installation of their own, since they need other versions than the rest."""
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?[>=]=([\w.]+)(?:,<[\w.]+)?")
_RUN = """\
# What a run needs: the newest versions of these ranges; `-c constraints.txt` installs the tested ones. Made from
# pyproject.toml by `python -m tests.tools.requirements`.
"""
_EXTRA = """\
# What some parts need besides requirements.txt: all extras of pyproject.toml but the loggers that send. Made from it
# by `python -m tests.tools.requirements`.
-r requirements.txt
"""
_OF_AN_EXTRA = """\
# What the extra {name} of pyproject.toml installs. Made from it by `python -m tests.tools.requirements`.
-r requirements.txt
"""
_TESTED = """\
# The versions that the checks ran with, which `make` installs; `pip install -r requirements.txt` installs the newest
# of the ranges. Made by `python -m tests.tools.requirements tested`.
"""


def project() -> dict[str, Any]:
    """Returns the metadata in pyproject.toml."""
    metadata: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return metadata


def extras() -> dict[str, list[str]]:
    """Returns the requirements of each extra that has its own."""
    return {name: needed for name, needed in project()["optional-dependencies"].items() if name != ALL}


def declared() -> list[str]:
    """Returns all requirements of the package and its extras, but those that go into an installation of their own."""
    together = (part for name, part in extras().items() if name not in APART)
    return [*project()["dependencies"], *(needed for part in together for needed in part)]


def parts_of_all() -> list[str]:
    """Returns the extras of which ALL is made."""
    [whole] = project()["optional-dependencies"][ALL]
    return str(whole).removeprefix("joystick[").removesuffix("]").split(",")


def parsed(requirement: str) -> tuple[str, str]:
    """Returns the name of a package and the lowest version that is accepted. Raises ValueError for other forms than
    `name[part]>=1.0,<2` and `name==1.0`."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        raise ValueError(f"{requirement} has another form than name[part]>=1.0,<2")
    return match[1], match[2]


def of_a_run() -> str:
    """Returns requirements.txt."""
    return _RUN + "".join(f"{needed}\n" for needed in project()["dependencies"])


def of_all_extras() -> str:
    """Returns requirements-extra.txt."""
    table = extras()
    blocks = (f"# {name}\n" + "".join(f"{needed}\n" for needed in table[name]) for name in parts_of_all())
    return _EXTRA + "".join(blocks)


def of_an_extra(name: str) -> str:
    """Returns requirements-NAME.txt."""
    return _OF_AN_EXTRA.format(name=name) + "".join(f"{needed}\n" for needed in extras()[name])


def of_checks() -> Iterator[str]:
    """Yields the requirements of requirements-dev.txt."""
    for line in (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "-")):
            yield line


def lowest() -> str:
    """Returns the lowest version of everything that a run needs, as constraints."""
    return "".join(f"{name}=={least}\n" for name, least in map(parsed, project()["dependencies"]))


def tested() -> str:
    """Returns constraints.txt: the versions that are installed here, of all packages that are declared."""
    return _TESTED + "".join(_pins(dict.fromkeys(parsed(needed)[0] for needed in [*declared(), *of_checks()])))


def _pins(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        try:
            yield f"{name}=={version(name).partition('+')[0]}\n"
        except PackageNotFoundError:
            continue


def main() -> None:
    """Writes the files, or prints the constraints."""
    match sys.argv[1:]:
        case ["lowest"]:
            print(lowest(), end="")
        case ["tested"]:
            (ROOT / "constraints.txt").write_text(tested(), encoding="utf-8")
        case []:
            (ROOT / "requirements.txt").write_text(of_a_run(), encoding="utf-8")
            (ROOT / "requirements-extra.txt").write_text(of_all_extras(), encoding="utf-8")
            for name in ENVIRONMENTS:
                (ROOT / f"requirements-{name}.txt").write_text(of_an_extra(name), encoding="utf-8")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
