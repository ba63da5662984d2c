"""Sentences that scripts and pages of ours show: calls of tr, a function of elements.js, whose sentence is one literal.

A page in another language than English carries the sentences of its scripts. So each literal is in the catalog of that
language, which is made by the same search.
"""

import html
import json
import re
from typing import Any

from config.tell.language import language, tr

CALL = re.compile(r'\btr\(\s*("(?:[^"\\\n]|\\.)*")')
"""Call of tr with its sentence in quotes."""
_WHOLE_CALL = re.compile(CALL.pattern + r"\)")


def sentences(code: str) -> list[str]:
    """Returns the sentences of a script, or of a page as it is written, each once."""
    return list(dict.fromkeys(map(json.loads, CALL.findall(code))))


def of_script(script: str) -> str:
    """Returns the element that tells a script its sentences in the language of this process; nothing in English."""
    pairs = {sentence: text for sentence in sentences(script) if (text := tr(sentence)) != sentence}
    return f'<script type="application/json" id="sentences">{as_json(pairs)}</script>' if pairs else ""


def page_in_language(page: str) -> str:
    """Returns a page with its sentences in the language of this process, which is its language then."""
    text = _WHOLE_CALL.sub(lambda call: html.escape(tr(json.loads(call[1]))), page)
    return text.replace('<html lang="en">', f'<html lang="{language()}">')


def as_json(value: Any) -> str:
    """Returns JSON that cannot end the element that it is in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace("/", "\\/")
