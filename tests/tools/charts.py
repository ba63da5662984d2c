"""The charts of a page, as its script finds them."""

import json
import re
from typing import Any

from framework.pages.html_page import NUMBERS


def charts(page: str) -> list[dict[str, Any]]:
    """Returns the charts of a page; each line has its places on the axes under x, in the place of their number."""
    found = re.findall(re.escape(NUMBERS) + "(.*?)</script>", page)
    if not found:
        return []
    whole = json.loads(found[0])

    def placed(line: dict[str, Any]) -> dict[str, Any]:
        dots = {"dots": placed(line["dots"])} if "dots" in line else {}
        return {**line, "x": whole["x"][line["x"]], **dots}

    return [chart | {"lines": list(map(placed, chart["lines"]))} for chart in whole["charts"]]


def lines(page: str, axis: str = "environment steps") -> list[dict[str, Any]]:
    """Returns the lines of all charts of a page over one axis."""
    return [line for chart in charts(page) for line in chart["lines"] if axis in line["x"]]


def kinds(page: str) -> list[str]:
    """Returns the kinds of these lines, such as first and pale."""
    return [line.get("kind", "") for line in lines(page)]


def scripts(page: str) -> list[str]:
    """Returns the scripts of a page, without the numbers."""
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
