"""Sentences in the language of the reader."""

import pytest

from config.tell import language
from config.tell.language import tr
from tests.tools import catalog

CHINESE = catalog.read(language.FOLDER / "zh.po")


@pytest.fixture(autouse=True)
def _fresh():
    language.language.cache_clear()
    yield
    language.language.cache_clear()


@pytest.mark.parametrize(
    ("environment", "letters"),
    [
        ({"JOYSTICK_LANG": "zh"}, "zh"),
        ({"JOYSTICK_LANG": "zh_CN.UTF-8"}, "zh"),
        ({"JOYSTICK_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_MESSAGES": "zh_TW", "LANG": "de_DE"}, "zh"),
        ({"JOYSTICK_LANG": "", "LANG": ""}, "en"),
        ({"JOYSTICK_LANG": "../zh"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
    ],
)
def test_language_is_that_of_the_variable_or_of_the_locale(monkeypatch, environment, letters):
    for name in ("JOYSTICK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert language.language() == letters


def test_sentence_with_values_and_without(monkeypatch):
    pairs = {"{count:,} of {name}": "{name} 的 {count:,}", "a {b}": "{b}!"}
    monkeypatch.setenv("JOYSTICK_LANG", "zh")
    monkeypatch.setattr(language, "_catalog", {"zh": pairs}.get)
    assert tr("{count:,} of {name}", count=1234, name="{x}") == "{x} 的 1,234"
    assert tr("a {b}") == "{b}!"
    assert tr("not there {b}", b=1) == "not there 1"


def test_catalog_has_all_sentences_and_no_others():
    assert [str(entry.id) for entry in CHINESE] == [str(entry.id) for entry in catalog.updated(CHINESE)], (
        "run: python -m tests.tools.catalog"
    )
    assert catalog.missing(CHINESE) == []


def test_translations_have_the_places_of_the_sentences():
    assert catalog.unequal(CHINESE) == []


def test_file_is_read_as_babel_reads_it():
    texts = {str(entry.id): str(entry.string) for entry in CHINESE if entry.id}
    assert language._catalog("zh") == texts
