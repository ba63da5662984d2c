"""Cases of a row in a table: values that mean something else than another name.

    grayscale = (a remark for the page)
      read: switch
      when true, false if of_ale - a reason for which nothing has to be set
      when 84 = env_cfg.img_height; algo_cfg.loss: huber (a remark)
      when "*Prioritized*" ! advice on what to write in its place
      when a list by FUNCTION ARGUMENTS
      else = lr actor_lr+critic_lr: count value * train_fre / batch_size

Behind `when` are values (a text with * is a pattern), or one of KINDS. Behind `if` are conditions with `and` between
them: has NAME or NAME (settings of the algorithm), lacks NAME, written WORD (of the other library), on WORD (and true),
or a function. The first case that applies counts.

Settings have semicolons between them. Of several with blanks between them the first is set that the algorithm has; with
+ all that it has. One with its section is set in any case. Behind the colon is a value, in which VALUE is the value of
the word, or a product; count rounds it to a whole number, 1 or more.
"""

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import yaml

from config.model.fields import is_number
from config.program import PROGRAM
from config.tell.language import UserError, tr


class Meaning(NamedTuple):
    """Settings that a word and its value mean here."""

    settings: dict[str, Any]
    """section.key -> value; empty: nothing is to be set."""
    remark: str = ""


class NoCounterpartError(UserError):
    """A word or value that means nothing here; the message says what to write in its place."""


def in_language(text: str) -> str:
    """Returns a text of a table in the language of this process, with the command in place of {PROGRAM}."""
    return tr(text).replace("{PROGRAM}", PROGRAM)


KINDS: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "a list": lambda value: isinstance(value, list),
    "a mapping": lambda value: isinstance(value, dict),
    "a count": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    "a number above 0": lambda value: is_number(value) and value > 0,
    "a number from 0": lambda value: is_number(value) and value >= 0,
}
"""Kind of value -> whether a value is of it."""
_CASE = re.compile(r"(?:when (.+?))??(?: ?if (.+?))?(?:else)? (=|-|!|by)(?: (.*))?")
_PRODUCT = re.compile(r"(count )?(\w+(?: [*/] \w+)+)")


class Case:
    """One case."""

    def __init__(self, line: str, functions: Mapping[str, Any]) -> None:
        """functions: those that a line may name."""
        values, conditions, kind, text = _CASE.fullmatch(line).groups("")  # type: ignore[union-attr]
        self.kind, self.text = str(kind), str(text)
        self.is_kind = KINDS.get(values)
        self.values = None if self.is_kind or not values else _loaded(f"[{values}]")
        self.conditions = conditions.split(" and ") if conditions else []
        self.functions = functions
        self.assignments, _, remark = self.text.partition(" (")
        self.remark = {"=": remark.removesuffix(")"), "by": ""}.get(self.kind, self.text)
        """Text that is shown, in English."""

    def applies(self, value: Any, scope: Any) -> bool:
        """Returns True for a value of this case."""
        of_kind = self.is_kind is None or self.is_kind(value)
        fits = self.values is None or any(_fits(value, pattern) for pattern in self.values)
        return of_kind and fits and all(self._holds(condition, scope) for condition in self.conditions)

    def _holds(self, condition: str, scope: Any) -> bool:
        verb, _, text = condition.partition(" ")
        names = text.split(" or ")
        if verb in ("has", "lacks"):
            return bool(scope.paths(*names)) == (verb == "has")
        if verb in ("written", "on"):
            words = [scope.word(name) for name in names]
            return any(words) if verb == "on" else any(word is not None for word in words)
        return bool(self.functions[condition](scope))

    def meaning(self, value: Any, scope: Any) -> Meaning:
        """Returns what the value means. Raises NoCounterpartError, or LookupError if no such setting exists."""
        if self.kind == "by":
            return translation(self.text, self.functions)(value, scope)
        remark = in_language(self.remark) if self.remark else ""
        if self.kind == "!":
            raise NoCounterpartError(remark.replace("VALUE", str(value)))
        if self.kind == "-":
            return Meaning({}, remark.replace("VALUE", str(value)))
        settings: dict[str, Any] = {}
        for assignment in self.assignments.split("; "):
            target, colon, new = assignment.partition(": ")
            settings |= dict.fromkeys(_paths(target, scope), _computed(new, value, scope) if colon else value)
        return Meaning(settings, remark)


def translation(text: str, functions: Mapping[str, Any]) -> Callable[[Any, Any], Meaning]:
    """Returns the function that is named, or with arguments behind its name what it returns for them."""
    name, *arguments = text.split()
    function: Callable[..., Any] = functions[name]
    return function(*arguments) if arguments else function


def _loaded(text: str) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe


def _fits(value: Any, pattern: Any) -> bool:
    if isinstance(pattern, bool | None):
        return value is pattern
    if isinstance(pattern, str) and "*" in pattern:
        return fnmatchcase(str(value), pattern)
    return bool(value == pattern)


def _paths(target: str, scope: Any) -> list[str]:
    """Returns the settings that are set, with their sections."""
    options = [option.split("+") for option in target.split()]
    for names in options:
        if paths := names if "." in names[0] else scope.paths(*names):
            return list(paths)
    together = options[-1] if len(options[-1]) > 1 else [name for names in options for name in names]
    return list(scope.algo(*together))


def _computed(text: str, value: Any, scope: Any) -> Any:
    """Returns the value of a setting. value: of the other library's word."""
    if not (product := _PRODUCT.fullmatch(text)):
        return _filled(_loaded(text), value)
    signs, names = product[2].split()[1::2], product[2].split()[::2]
    first, *others = [
        value if name == "value" else float(name) if name.isdecimal() else scope.number(f"algo_cfg.{name}")
        for name in names
    ]
    for sign, number in zip(signs, others, strict=True):
        first = first * number if sign == "*" else first / number
    return max(1, round(first)) if product[1] else first


def _filled(part: Any, value: Any) -> Any:
    """Returns a part of a new value with the value in place of VALUE."""
    if isinstance(part, list):
        return [_filled(item, value) for item in part]
    if isinstance(part, dict):
        return {key: _filled(item, value) for key, item in part.items()}
    if part == "VALUE":
        return value
    return part.replace("VALUE", str(value)) if isinstance(part, str) else part
