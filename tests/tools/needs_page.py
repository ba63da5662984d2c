"""The table in docs/needs.md: python -m tests.tools.needs_page writes it anew."""

from pathlib import Path

import algos
from framework.assemble.needs import needs_of

PAGE = Path(__file__).parents[2] / "docs" / "needs.md"
HEAD = "| algorithm | actions | observations | asks besides for | with Ray |\n|---|---|---|---|---|\n"
SEEN = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")
"""Spaces of observations, of which Dict and Tuple are flattened."""
CHOSEN = (*SEEN, "Tuple", "Dict")
"""Spaces of actions."""


def table() -> str:
    """Returns a row for each algorithm, with its default settings."""
    return HEAD + "".join(map(_row, algos.available()))


def _row(name: str) -> str:
    package = algos.get(name)
    cfg = package.Config()
    needs = needs_of(cfg, package.NAME)
    facts = sorted(needs.facts - {"expert"} if "expert of its own" in needs.facts else needs.facts)
    facts = [fact for fact in facts if fact not in ("returns", "next actions")]  # only a program's buffer lacks them
    facts += ["data or an expert"] if cfg.IMITATES else ["data"] if cfg.OFFLINE and "data" not in facts else []
    with_ray = ["workers run ahead"] * cfg.MAY_LAG + ["several learners"] * cfg.HAS_GRADIENTS
    spaces = _spaces(needs.actions, CHOSEN), _spaces(needs.observations, SEEN)
    cells = package.NAME, *spaces, ", ".join(facts), ", ".join(with_ray)
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |")


def _spaces(names: tuple[str, ...], all_of_them: tuple[str, ...]) -> str:
    return "all" if set(names) == set(all_of_them) else ", ".join(sorted(names, key=all_of_them.index))


def written(text: str) -> str:
    """Returns the text of the page with its table made anew."""
    return text.partition(HEAD)[0] + table()


def main() -> None:
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
