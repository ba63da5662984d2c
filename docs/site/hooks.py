"""Builds the site with the folders of the repository, so that links between its files are links of the site."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
PAGES = ("*.md", "docs/**/*.md", "algos/*/README.md")
IMAGES = ("docs/images/*",)
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
    for path in dict.fromkeys([*pages, *images, *others]):
        files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    return files
