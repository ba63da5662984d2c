"""Loads the scripts in docs/site, which is no package."""

import importlib.util
from types import ModuleType

from config.program import ROOT


def script(name: str) -> ModuleType:
    """Returns a script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
