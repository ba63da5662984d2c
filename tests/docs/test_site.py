"""The site of the documentation has every page, and is whole."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools import browser as chromium
from tests.tools.pages import ROOT

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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    pytest.importorskip("material")
    pytest.importorskip("jieba")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def text_of(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    page = text_of(site, "docs/tutorials/first_run.html")
    assert not re.findall(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?https?:", page)
    assert (site / "algos" / "dqn" / "index.html").exists()
    assert (site / "envs" / "base.py").exists(), "a file that a page links to"


def test_a_chinese_page_says_so_and_has_the_words_of_the_theme_in_chinese(site: Path) -> None:
    for page in ("docs/zh/tutorials/first_run.html", "README.zh.html"):
        html = text_of(site, page)
        assert '<html lang="zh"' in html
        assert "目录" in html
        assert "Table of contents" not in html
        assert 'placeholder="搜索"' in html
    english = text_of(site, "docs/tutorials/first_run.html")
    assert '<html lang="en"' in english
    assert "Table of contents" in english


@pytest.mark.parametrize(
    ("page", "other"),
    [
        ("docs/tutorials/tuning.html", "../zh/tutorials/tuning.html"),
        ("docs/zh/tutorials/tuning.html", "../../tutorials/tuning.html"),
        ("docs/zh/commands.html", "../commands.html"),
        ("docs/commands.html", "zh/commands.html"),
        ("docs/zh/sources.html", "../sources.html"),
        ("docs/sources.html", "zh/sources.html"),
        ("index.html", "README.zh.html"),
        ("docs/speed.html", ""),
        ("docs/index.html", "zh/index.html"),
        ("algos/dqn/index.html", "../../docs/zh/algos/dqn.html"),
        ("docs/zh/algos/dqn.html", "../../../algos/dqn/index.html"),
    ],
)
def test_twin_pages_lead_to_one_another(page: str, other: str, site: Path) -> None:
    links = re.findall(r'<a href="([^"]*)" hreflang="(\w+)"', text_of(site, page))
    assert [lang for _, lang in links] == (["en", "zh"] if other else [])
    assert not other or other in [link for link, _ in links]


def test_broken_lines_of_chinese_text_have_no_blank(site: Path) -> None:
    chinese = "[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
    for path in [*(site / "docs/zh").rglob("*.html"), site / "README.zh.html"]:
        content = re.sub(r"<pre.*?</pre>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        inside = "".join(re.findall(r"<(?:p|li|td)>.*?</(?:p|li|td)>", content, re.DOTALL))
        assert not re.findall(rf".{{9}}{chinese}\n *{chinese}.{{9}}", inside), path
        assert not re.findall(r".{9}[、，。：；（）]\n.{9}", inside), path


def test_code_in_a_table_has_no_backslash_before_a_bar(site: Path) -> None:
    """GitHub needs one there, and does not show it."""
    for page in (path.read_text(encoding="utf-8") for path in site.rglob("*.html")):
        assert not [cell for cell in re.findall(r"<td.*?</td>", page, re.DOTALL) if r"\|" in cell]
    assert "<code>r + alpha clip(T log pi(a|s), l0, 0)" in text_of(site, "algos/btr/index.html")


@pytest.mark.skipif(chromium.PROGRAM is None, reason="needs Chromium")
@pytest.mark.parametrize(
    ("page", "typed", "found"),
    [
        ("docs/zh/tutorials/first_run.html", "随机种子", "docs/zh/"),
        ("docs/tutorials/first_run.html", "随机种子", "docs/zh/"),
        ("docs/tutorials/first_run.html", "learning rate", "docs/"),
    ],
)
def test_the_search_finds_pages_in_both_languages(page: str, typed: str, found: str, site: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"],
        cwd=site, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    port = re.search(r"port (\d+)", server.stdout.readline())
    assert port is not None
    browser = chromium.Browser()
    try:
        browser.go(f"http://127.0.0.1:{port[1]}/{page}")
        browser.until("document.querySelector('.md-search__input')")
        browser.until("document.readyState == 'complete'")
        browser.value("document.querySelector('.md-search__input').focus()")
        browser("Input.insertText", text=typed)
        browser.until("document.querySelector('.md-search-result__item a')")
        links = browser.value("[...document.querySelectorAll('.md-search-result__item a')].map(a => a.href)")
        assert any(f"/{found}" in link for link in links), links
        assert typed in browser.text(".md-search-result__list").replace("\u200b", "") or found == "docs/"
    finally:
        browser.close()
        server.terminate()
        server.wait()
