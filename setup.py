"""Builds the package: one folder `joystick` with the layout of a clone."""

import re
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

PARTS = [pattern for name in ("algos", "config", "envs", "framework") for pattern in (name, f"{name}.*")]
TOP = {"main": "main.py", **dict.fromkeys(("joystick", "__init__", "__main__"), "joystick.py")}
"""Module of the package -> file. joystick.py is the package, the target of `python -m joystick`, and the module that a
process with the folder on its path imports, as in a clone."""
NAMES = "|".join(PARTS[::2])
OWN_IMPORTS = (
    (re.compile(rf"^( *)import ({NAMES})$", re.MULTILINE), r"\1import joystick.\2 as \2"),
    (re.compile(rf"^( *)(from|import) (?=({NAMES})\b)", re.MULTILINE), r"\1\2 joystick."),
)
"""An import of one of our packages, and the same for type checkers. A program finds them beside joystick.py."""
EXTRAS = ("extra", "envs", "robotics")
"""Extras: what pip installs for joystick[NAME] is in requirements-NAME.txt."""


def packages_of(extra: str) -> list[str]:
    """Returns the packages of an extra, without those of requirements.txt."""
    lines = Path(__file__).with_name(f"requirements-{extra}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


class Build(build_py):
    """Places the files of the root as TOP defines."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)  # setuptools would add what an earlier version left there
        super().run()
        self._write_stubs(Path(self.build_lib, "joystick"))

    def _write_stubs(self, package: Path) -> None:
        """Writes what type checkers read: each module once more, with the imports that they can follow."""
        (package / "py.typed").touch()
        for path in [package / "__init__.py", *package.glob("*/**/*.py")]:
            text = path.read_text(encoding="utf-8")
            for pattern, installed in OWN_IMPORTS:
                text = pattern.sub(installed, text)
            path.with_suffix(".pyi").write_text(text, encoding="utf-8")

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        if package == "joystick":
            return [(package, module, file) for module, file in TOP.items()]
        return super().find_package_modules(package, package_dir)


class Editable(editable_wheel):
    """Makes only joystick.py importable, which finds the clone around it."""

    def run(self) -> None:
        self.distribution.packages, self.distribution.package_dir = [], {}
        self.distribution.py_modules = ["joystick"]
        super().run()


setup(
    packages=["joystick", *(f"joystick.{name}" for name in find_packages(include=PARTS))],
    package_dir={"joystick": "."},
    package_data={
        "joystick": ["presets/*/*.yaml", "presets/*/collect/*.yaml"],
        **{f"joystick.{name}": ["py.typed"] for name in NAMES.split("|")},
        "joystick.config.foreign": ["tables/*"],
        "joystick.config.tell": ["*.po"],
        "joystick.envs.dialog": ["data/*.json"],
        "joystick.framework.live": ["*.html", "*.css", "*.js"],
        "joystick.framework.pages": ["*.css", "*.js"],
    },
    include_package_data=False,
    extras_require={extra: packages_of(extra) for extra in EXTRAS},
    cmdclass={"build_py": Build, "editable_wheel": Editable},
)
