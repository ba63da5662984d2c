"""The site of the documentation has every page, and is whole."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers_pages import ROOT

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages(nav: Any) -> list[str]:
    """Returns the pages of a part of the navigation."""
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in pages(part)]


def test_the_navigation_names_every_page_once() -> None:
    """The pages of the algorithms are added when the site is built."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert sorted(pages(CONFIG["nav"])) == sorted(path.relative_to(ROOT).as_posix() for path in files)
    assert {"Tutorials", "How-to", "Reference", "Explanation"} <= {name for part in CONFIG["nav"] for name in part}


def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "tutorials" / "first_run.html").read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?https?:", page)
    assert (tmp_path / "algos" / "dqn" / "index.html").exists()
    assert (tmp_path / "envs" / "joint.py").exists(), "a file that a page links to"
