"""The picture of the architecture names the rooms that there are, in both languages."""

import re
from html import unescape
from types import ModuleType

import pytest

from config.program import ROOT
from tests.tools.site_scripts import script


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    """The script that draws the picture."""
    return script("drawing")


def rooms(package: str) -> set[str]:
    return {path.parent.name for path in (ROOT / package).glob("*/*.py")}


def test_the_files_are_what_the_script_draws(drawing: ModuleType) -> None:
    for name, picture in drawing.pictures().items():
        assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == picture


def test_the_picture_has_the_rooms_that_there_are(drawing: ModuleType) -> None:
    assert {room for names, _ in drawing.FLOORS for room in names.split(", ")} == rooms("framework")
    boxes = {box.name.rstrip("/"): {line.split("/")[0] for line in box.lines if "/ " in line} for box in drawing.SIDE}
    assert boxes == {package: rooms(package) for package in ("config", "algos/common")}


def test_the_readmes_have_the_rooms_of_config() -> None:
    for name in ("README.md", "README.zh.md"):
        line = re.search(r"^ +config/ .*", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert line is not None
        assert set(re.findall(r"(\w+)/", line[0])) - {"config"} == rooms("config"), name


def test_the_chinese_picture_translates_all_words_but_names_of_the_code(drawing: ModuleType) -> None:
    english, chinese = (
        {unescape(words) for words in re.findall(r"<text[^>]*>([^<]+)<", picture)}
        for picture in drawing.pictures().values()
    )
    assert english - chinese == set(drawing.CHINESE)
    assert not [words for words in english & chinese if re.search(r"[a-z]{2} [a-z]{2}", words)]
