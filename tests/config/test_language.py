"""Sentences in the language of the reader."""

import ast
import os
import subprocess
import sys

import pytest

from config.program import ROOT as PROJECT
from config.tell import language
from config.tell.language import tr
from framework.screen.formatting import counted
from tests.tools import catalog

CATALOGS = {part: catalog.read(language.FOLDER / f"zh{part}.po") for part in catalog.SOURCES}
parts = pytest.mark.parametrize("part", CATALOGS)


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


def test_a_part_of_the_program_chooses_a_language(monkeypatch):
    monkeypatch.setenv("JOYSTICK_LANG", "zh")
    with language.chosen("en"):
        assert (tr("finished"), counted(1, "seed"), language.language()) == ("finished", "1 seed", "zh")
    assert (tr("finished"), counted(1, "seed")) == ("已完成", "1 个随机种子")


def test_sentence_with_values_and_without(monkeypatch):
    pairs = {"{count:,} of {name}": "{name} 的 {count:,}", "a {b}": "{b}!"}
    monkeypatch.setenv("JOYSTICK_LANG", "zh")
    monkeypatch.setattr(language, "_catalog", {"zh": pairs, "zh_settings": {"Seed.": "随机种子。"}}.get)
    assert tr("{count:,} of {name}", count=1234, name="{x}") == "{x} 的 1,234"
    assert tr("a {b}") == "{b}!"
    assert tr("not there {b}", b=1) == "not there 1"
    assert tr("Seed.") == "随机种子。"


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("text", "应为 text 的列表"),
        ("整数", "应为整数的列表"),
        ("整数 x", "应为整数 x 的列表"),
        ("x 整数", "应为 x 整数的列表"),
        ("{0}", "应为 {0} 的列表"),
        ("", "应为  的列表"),
    ],
)
def test_a_blank_separates_chinese_letters_from_others_alone(monkeypatch, kind, sentence):
    monkeypatch.setenv("JOYSTICK_LANG", "zh")
    monkeypatch.setattr(language, "_catalog", {"zh": {"a list of {kind}": "应为 {kind} 的列表"}, "zh_settings": {}}.get)
    assert tr("a list of {kind}", kind=kind) == sentence


def test_places_are_filled_as_format_does():
    text = "{{{a!r}}} {b:,.1f} {c:>{width}} {a} {d.real}{d:02}"
    values = {"a": "x", "b": 1234.56, "c": "z", "width": 3, "d": 5}
    assert language._filled(text, values) == text.format(**values) == "{'x'} 1,234.6   z x 505"


def test_calls_are_found_wherever_they_stand():
    code = "tr('a {b}', b=f'{tr(\"c\")}') or f'd {tr(\"e\" \"f\")}'\ntr(g)\nself.tr('h')"
    assert sorted(catalog.calls(ast.parse(code))) == ["a {b}", "c", "ef"]


@parts
def test_catalog_has_all_sentences_and_no_others(part):
    now = [str(entry.id) for entry in CATALOGS[part]]
    assert now == [str(entry.id) for entry in catalog.updated(part)], "run: python -m tests.tools.catalog"


def test_every_sentence_is_translated():
    assert catalog.missing(CATALOGS[""]) == []


def test_every_help_text_is_translated():
    assert catalog.missing(CATALOGS["_settings"]) == []


@parts
def test_translations_have_the_places_of_the_sentences(part):
    assert catalog.unequal(CATALOGS[part]) == []


@parts
def test_file_is_read_as_babel_reads_it(part):
    texts = {str(entry.id): str(entry.string) for entry in CATALOGS[part] if entry.id and entry.string}
    assert language._catalog(f"zh{part}") == texts


def test_help_texts_are_read_only_if_one_is_asked_for():
    code = """if True:
        from config.tell import language
        sentences = language._catalog("zh")
        language._catalog = {"zh": sentences}.__getitem__
        import config.read.loader, config.tell.describe, config.foreign.dialects
        """
    environment = {**os.environ, language.VARIABLE: "zh"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT, env=environment)
