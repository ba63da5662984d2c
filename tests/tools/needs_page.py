"""The table in docs/needs.md and in its page in Chinese: python -m tests.tools.needs_page writes both anew."""

from pathlib import Path

import algos
from framework.assemble.needs import needs_of

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"en": DOCS / "needs.md", "zh": DOCS / "zh" / "needs.md"}
COLUMNS = "algorithm", "actions", "observations", "asks besides for", "with Ray"
CHINESE = {
    "algorithm": "算法", "actions": "动作", "observations": "观测", "asks besides for": "此外要求",
    "with Ray": "使用 Ray 时",
    "all": "所有", "model": "模型", "bounds": "有界", "expert of its own": "自带专家", "goals": "目标",
    "global state": "全局状态", "several agents": "多个智能体", "data": "数据", "data or an expert": "数据或专家",
    "workers run ahead": "worker 可以领先", "several learners": "多个 learner",
}  # fmt: skip
"""Words of the table, but for the names of algorithms and spaces."""
SEEN = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")
"""Spaces of observations, of which Dict and Tuple are flattened."""
CHOSEN = (*SEEN, "Tuple", "Dict")
"""Spaces of actions."""


def table(letters: str) -> str:
    """Returns a row for each algorithm, with its default settings."""
    rows = [[column] for column in COLUMNS], *map(_cells, algos.available())
    head, *lines = (_line(cells, letters) for cells in rows)
    return f"{head}{'|---' * len(COLUMNS)}|\n{''.join(lines)}"


def _line(cells: list[list[str]], letters: str) -> str:
    """Returns a row of cells, each with some words."""
    comma = ", " if letters == "en" else "、"
    texts = (comma.join(word if letters == "en" else CHINESE.get(word, word) for word in cell) for cell in cells)
    return "|" + "".join(f" {text} |" if text else " |" for text in texts) + "\n"


def _cells(name: str) -> list[list[str]]:
    package = algos.get(name)
    cfg = package.Config()
    needs = needs_of(cfg, package.NAME)
    facts = sorted(needs.facts - {"expert"} if "expert of its own" in needs.facts else needs.facts)
    facts = [fact for fact in facts if fact not in ("returns", "next actions")]  # only a program's buffer lacks them
    facts += ["data or an expert"] if cfg.IMITATES else ["data"] if cfg.OFFLINE and "data" not in facts else []
    with_ray = ["workers run ahead"] * cfg.MAY_LAG + ["several learners"] * cfg.HAS_GRADIENTS
    spaces = _spaces(needs.actions, CHOSEN), _spaces(needs.observations, SEEN)
    return [[package.NAME], *spaces, facts, with_ray]


def _spaces(names: tuple[str, ...], all_of_them: tuple[str, ...]) -> list[str]:
    return ["all"] if set(names) == set(all_of_them) else sorted(names, key=all_of_them.index)


def written(text: str, letters: str) -> str:
    """Returns the text of the page in a language with its table, which ends it, made anew."""
    made = table(letters)
    return text.partition(made.partition("\n")[0])[0] + made


def main() -> None:
    for letters, page in PAGES.items():
        page.write_text(written(page.read_text(encoding="utf-8"), letters), encoding="utf-8")


if __name__ == "__main__":
    main()
