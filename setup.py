"""Builds the package: one folder `joystick` with the layout of a clone."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

PARTS = [pattern for name in ("algos", "config", "envs", "framework") for pattern in (name, f"{name}.*")]
TOP = {"main": "main.py", **dict.fromkeys(("joystick", "__init__", "__main__"), "joystick.py")}
"""Module of the package -> file. joystick.py is the package, the target of `python -m joystick`, and the module that a
process with the folder on its path imports, as in a clone."""
EXTRA = Path(__file__).with_name("requirements-extra.txt").read_text(encoding="utf-8").splitlines()


class Build(build_py):
    """Places the files of the root as TOP defines."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)  # setuptools would add what an earlier version left there
        super().run()

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
        "joystick.config.foreign": ["tables/*"],
        "joystick.config.tell": ["*.po"],
        "joystick.envs.dialog": ["data/*.json"],
        "joystick.framework.live": ["*.html", "*.css", "*.js"],
        "joystick.framework.pages": ["*.css", "*.js"],
    },
    include_package_data=False,
    extras_require={"extra": [line for line in EXTRA if line and not line.startswith(("#", "-r"))]},
    cmdclass={"build_py": Build, "editable_wheel": Editable},
)
