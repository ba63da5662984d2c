"""Builds the site with the folders of the repository, so that links between its files are links of the site. Pages in
Chinese get Chinese words of the theme, and a link to the English page with the same content, which links back."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
PAGES = ("*.md", "docs/**/*.md", "algos/*/README.md")
IMAGES = ("docs/images/*",)
STYLE = "docs/site/chinese.css"
CHINESE = r"[\u2014\u2018-\u201d\u2026\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]"
FULL_WIDTH = r"[\u3001-\u303f\uff00-\uffef]"
BROKEN_LINE = re.compile(
    rf"(?<={CHINESE})((?:</\w+>)*)\n *((?:<\w[^>]*>)*)(?={CHINESE})|(?<={FULL_WIDTH})((?:</\w+>)*)\n *(?=\S)"
)
"""A line break between two Chinese characters, or after full-width punctuation, which a browser shows as a blank."""
CODE = re.compile(r"(<pre.*?</pre>)", re.DOTALL)
CELL = re.compile(r"<td.*?</td>", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)[^)\s]*\)")


def on_config(config: Any) -> Any:
    """Names headings as the pages' links do, and lists the pages of the algorithms in the navigation."""
    config.mdx_configs["toc"]["slugify"] = lambda heading, _: re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    pages = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("algos/*/README.md"))
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    reference.append({"Algorithms": pages})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Puts the pages, their images, and the files that they link to under their names in the repository."""
    for file in list(files.documentation_pages()) + list(files.media_files()):
        if Path(file.src_dir or "") == Path(config.docs_dir):
            files.remove(file)
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    linked = {(page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text("utf-8"))}
    others = [path for path in sorted(linked) if path.is_file() and path.suffix != ".md" and path.is_relative_to(ROOT)]
    images = [path for pattern in IMAGES for path in sorted(ROOT.glob(pattern))]
    for path in dict.fromkeys([*pages, *images, *others, ROOT / STYLE]):
        files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    return files


def is_chinese(name: str) -> bool:
    """Returns True for the file of a page in Chinese."""
    return name.startswith("docs/zh/") or name.endswith(".zh.md")


def in_english(chinese: str) -> str:
    """Returns the file of the page in English with the content of one in Chinese: docs/zh mirrors docs and algos."""
    mirrored = re.sub(r"^docs/zh/algos/(\w+)\.md$", r"algos/\1/README.md", chinese)
    return mirrored.replace("docs/zh/", "docs/").replace(".zh.md", ".md")


def pairs(names: Collection[str]) -> dict[str, str]:
    """Returns the pages that there are in both languages: each one -> the same in the other language."""
    twins = {name: in_english(name) for name in names if is_chinese(name)}
    return twins | {english: chinese for chinese, english in twins.items()}


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Joins the broken lines of Chinese text. Code within a table loses the backslash before a bar, which GitHub needs
    and does not show."""
    html = CELL.sub(lambda cell: cell[0].replace("\\|", "|"), html)
    if not is_chinese(page.file.src_uri):
        return html
    parts = CODE.split(html)
    return "".join(part if part.startswith("<pre") else BROKEN_LINE.sub(r"\1\2\3", part) for part in parts)


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """Sets the language of a page, and offers it in the other one."""
    name, urls = page.file.src_uri, {each.file.src_uri: each.file.url for each in nav.pages}
    config.theme["language"] = "zh" if is_chinese(name) else "en"
    both = sorted({name, pairs(urls).get(name, name)}, key=is_chinese)
    named = zip(both, (("English", "en"), ("中文", "zh")), strict=False) if len(both) == 2 else ()
    config.extra["alternate"] = [{"name": word, "lang": lang, "link": urls[file]} for file, (word, lang) in named]
    return context
