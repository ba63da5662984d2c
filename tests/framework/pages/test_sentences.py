"""Sentences of scripts: what a page tells its scripts in another language."""

import json
import re

import pytest

from config.tell import language
from framework.pages import html_page, sentences

SCRIPT = 'tr("Save");\ntell(tr(\n  "{count} of \\"x\\"", { count }));\ntr(variable); instr("No"); tr("Save")'


@pytest.fixture
def chinese(monkeypatch):
    pairs = {"Save": "保存</script>&", '{count} of "x"': "“x”的 {count}", "Runs": '运行 "<b>"'}
    monkeypatch.setenv(language.VARIABLE, "zh")
    monkeypatch.setattr(language, "_catalog", {"zh": pairs, "zh_settings": {}}.get)
    language.language.cache_clear()
    yield pairs
    language.language.cache_clear()


def test_sentences_of_a_script_are_the_literals_of_its_calls():
    assert sentences.sentences(SCRIPT) == ["Save", '{count} of "x"']


def test_english_page_carries_no_sentences():
    assert sentences.of_script(SCRIPT) == ""
    assert 'id="sentences"' not in html_page.page("A", "", script=SCRIPT)
    assert sentences.page_in_language('<html lang="en"><i title="tr("Runs")">') == '<html lang="en"><i title="Runs">'


def test_page_in_another_language_carries_those_of_its_scripts(chinese):
    page = html_page.page("A", "", script=SCRIPT)
    assert '<html lang="zh">' in page
    [block] = re.findall(r'<script type="application/json" id="sentences">(.*?)</script>', page)
    assert json.loads(block) == {"Save": chinese["Save"], '{count} of "x"': chinese['{count} of "x"']}


def test_translations_in_a_page_are_text(chinese):
    text = sentences.page_in_language('<html lang="en"><i title="tr("Runs")">tr("Runs")</i>')
    shown = "运行 &quot;&lt;b&gt;&quot;"
    assert text == f'<html lang="zh"><i title="{shown}">{shown}</i>'
