"""Turns validation errors into sentences: place, value, what is expected, and the nearest name."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.model.course import OF_THE_RUN
from config.model.domain_kinds import written_kind
from config.model.fields import Strict
from config.model.layers import Layer
from config.model.schedules import KINDS
from config.own import objects as own
from config.program import PROGRAM
from config.read.yaml_reader import Place
from config.tell.help_texts import WithHelp
from config.tell.language import either, tr
from config.tell.names import did_you_mean, nearest

Json = dict[str, Any]

_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?"
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
"""Seconds of a unit of time."""
_EXAMPLE = "{linear: [0.001, 0.0]}"
"""A schedule."""
_IN_SECONDS = ("max_time", "env_timeout")
"""Settings that are a time."""
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class Fault(NamedTuple):
    """An error: the top-level key of its section, and a sentence with its place."""

    key: str
    sentence: str


def shown(value: Any, named: bool = True) -> str:
    """Returns a value as it was written, cut to a readable length. named: says of text that it is text."""
    if isinstance(value, str):
        text = tr("{value!r} (text)", value=value[:60]) if named else repr(value[:60])
        return text.replace(r"\u3000", "\u3000")  # a blank of Chinese input, which is explained
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


# ------------------------------------------------------------------------------------------- JSON Schema


def json_schema(model: type[BaseModel]) -> Json:
    """Returns the JSON Schema of a model, with every bound under its standard name."""
    schema: Json = standard_bounds(model.model_json_schema(schema_generator=WithHelp))
    return schema


def standard_bounds(node: Any) -> Any:
    """Renames bounds that pydantic writes as ge, gt, le and lt after a validator, which JSON Schema does not know."""
    if isinstance(node, list):
        return [standard_bounds(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        _BOUNDS.get(key, key) if isinstance(value, int | float) else key: standard_bounds(value)
        for key, value in node.items()
    }


def resolve(node: Json, root: Json) -> Json:
    """Returns the schema that a reference points to."""
    while "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def _part(node: Json, part: str | int, root: Json) -> Json | None:
    node = resolve(node, root)
    if part in node.get("properties", {}):
        return dict(node["properties"][part])
    if part in node.get("discriminator", {}).get("mapping", {}):
        return {"$ref": node["discriminator"]["mapping"][part]}
    if isinstance(part, int) and "items" in node:
        return dict(node["items"])
    if isinstance(part, str) and isinstance(node.get("additionalProperties"), dict):
        return dict(node["additionalProperties"])
    return next((schema for option in node.get("anyOf", ()) if (schema := _part(option, part, root))), None)


def _at(root: Json, loc: Iterable[str | int]) -> Json:
    node = root
    for part in loc:
        node = _part(node, part, root) or node
    return resolve(node, root)


def expected(node: Json, root: Json) -> str:
    """Returns in words what a value must be."""
    node = resolve(node, root)
    if "enum" in node or "const" in node:
        return _either(node.get("enum", [node.get("const")]))
    if node.get("format") == OF_THE_RUN:
        return tr("a schedule")
    if "anyOf" in node:
        options = [resolve(option, root) for option in node["anyOf"]]
        if any("enum" in option for option in options):  # names and kinds in one list
            return _either([name for option in options for name in option.get("enum", [expected(option, root)])])
        kinds = (expected(option, root) for option in node["anyOf"])
        return reduce(lambda kind, other: tr("{kind} or {other}", kind=kind, other=other), kinds)
    if "discriminator" in node:
        return tr("a mapping with {key}", key=node["discriminator"]["propertyName"])
    if node.get("type") == "array":
        count, kind = node.get("maxItems"), expected(node["items"], root)
        if count:
            return tr("a list of {count}, each {kind}", count=count, kind=kind)
        return tr("a list, each item {kind}", kind=kind)
    if "pattern" in node:
        return str(node.get("description") or tr("text like {pattern}", pattern=node["pattern"])).rstrip(".。")
    words = {
        "null": "null",
        "integer": tr("a whole number"),
        "number": tr("a number"),
        "boolean": tr("true or false"),
        "string": tr("text"),
    }
    kind = words.get(node.get("type", ""), tr("a mapping (name: value)"))
    return _within(kind, node)


def _either(names: Iterable[Any]) -> str:
    return either(name if isinstance(name, str) else json.dumps(name) for name in names)


def _within(kind: str, node: Json) -> str:
    """Returns a kind of value with its bounds."""
    if "minimum" in node and "maximum" in node:
        return tr("{kind} from {low:g} to {high:g}", kind=kind, low=node["minimum"], high=node["maximum"])
    words = {
        "minimum": tr("at least {bound:g}"),
        "exclusiveMinimum": tr("above {bound:g}"),
        "maximum": tr("at most {bound:g}"),
        "exclusiveMaximum": tr("below {bound:g}"),
    }
    bounds = [text.format(bound=node[key]) for key, text in words.items() if key in node and abs(node[key]) < 2**53]
    if len(bounds) > 1:
        return tr("{kind} {low} and {high}", kind=kind, low=bounds[0], high=bounds[1])
    return tr("{kind} {bound}", kind=kind, bound=bounds[0]) if bounds else kind


# ----------------------------------------------------------------------------------------------- errors


def faults(error: ValidationError, model: type[Strict], place: Place, hint: Callable[[str], str]) -> list[Fault]:
    """Returns all errors of a section. hint(key) returns the end of a sentence about an unknown key.

    A union gives one error for each of its branches, all with the same sentence.
    """
    root = json_schema(model)
    sentences = []
    for details in _with_hidden(error):
        spot = locate(place, details["loc"])
        if details["type"].startswith("union_tag"):
            spot = spot.parts.get("layer_type", spot)
        key = str(details["loc"][0]) if details["loc"] else ""
        if spot is place and key in model.model_fields and details["type"] != "missing":
            defaults = tr("defaults of {module}", module=model.__module__)  # of an algorithm of the user's own
            spot = Place(defaults, f"{place.path}.{key}")
        if details["type"] == "extra_forbidden" and not spot.path.endswith(str(details["loc"][-1])):
            spot = Place(spot.text, f"{spot.path}.{details['loc'][-1]}")  # of a layer that another library writes so
        sentences.append(Fault(key, f"{spot.text}: {spot.path}: {_message(details, root, hint)}"))
    return list(dict.fromkeys(sentences))


def _as_number(name: str, text: str, node: Json, root: Json) -> str:
    """Returns the end of a sentence about text in the place of a number: how the number is written; or nothing. name:
    of the setting."""
    options = [resolve(option, root) for option in [node, *node.get("anyOf", ())]]
    kinds = {option.get("type") for option in options}
    text = text.strip().lower()
    short = re.fullmatch(r"(\d+(?:\.\d+)?) ?([km])", text)
    if not kinds & {"integer", "number"}:
        return ""
    if name in _IN_SECONDS and (time := re.fullmatch(rf"(\d+(?:\.\d+)?) ?({'|'.join(_SECONDS)})", text)):
        return tr("; it is in seconds: write {value}", value=f"{float(time[1]) * _SECONDS[time[2]]:.12g}")
    if short:
        return tr("; write {value}", value=f"{float(short[1]) * {'k': 1e3, 'm': 1e6}[short[2]]:.0f}")
    if re.fullmatch(r"[-+]?\d{1,3}([,，]\d{3})+(\.\d+)?", text):
        return tr("; write {value}", value=re.sub("[,，]", "", text))
    if (falling := text.removeprefix("lin_")) != text and re.fullmatch(_NUMBER, falling):
        if name.endswith("lr"):
            return tr("; lin_ of rl-baselines3-zoo is {value} with lr_schedule: linear", value=falling)
        if any(option.get("format") == OF_THE_RUN for option in options):
            return tr("; lin_ of rl-baselines3-zoo is {schedule}", schedule=f"{{linear: [{falling}, 0.0]}}")
        return tr("; lin_ of rl-baselines3-zoo is {value} here, since {name} is constant", value=falling, name=name)
    if (first := text.removeprefix("auto_")) != text and re.fullmatch(_NUMBER, first):
        return tr("; auto_ of Stable-Baselines3 is {name}: auto with {name}_init: {value}", name=name, value=first)
    return tr("; write it without quotes: {value}", value=text) if re.fullmatch(_NUMBER, text) else ""


def _as_schedule(value: Any, node: Json, root: Json) -> str:
    """Returns the end of a sentence about what is meant as a schedule: how one is written; or nothing."""
    if not any(resolve(option, root).get("format") == OF_THE_RUN for option in node.get("anyOf", ())):
        return ""
    if own.is_registered(value):
        return tr("; a schedule is no function: {kinds}, such as {example}", kinds=either(KINDS), example=_EXAMPLE)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(number, int | float) for number in value):
        return tr("; write {value}", value=f"{{linear: {value}}}")
    return tr("; write {value}", value=_EXAMPLE) if isinstance(value, str) and value in KINDS else ""


def _with_hidden(error: ValidationError) -> Iterator[ErrorDetails]:
    """Yields the errors, and behind a misspelled layer_type those that the layer of the nearest name has."""
    kinds = {kind.model_fields["layer_type"].default: kind for kind in get_args(get_args(Layer)[0])}
    for details in error.errors(include_url=False):
        yield details
        if details["type"] == "union_tag_invalid" and (near := nearest(details["ctx"]["tag"], kinds)):
            try:
                kinds[near].model_validate({**details["input"], "layer_type": near})
            except ValidationError as hidden:
                for more in hidden.errors(include_url=False):
                    yield {**more, "loc": (*details["loc"], near, *more["loc"])}


def locate(place: Place, loc: Iterable[str | int]) -> Place:
    """Returns the deepest place on the way; parts that were not written (a union's tag, a missing key) are skipped."""
    for part in loc:
        spellings = (part, *_spellings(part))
        place = next((place.parts[name] for name in spellings if name in place.parts), place)
    return place


def _spellings(name: str | int) -> Iterator[str]:
    return (alias for model in models(Strict) for alias, field in model.ALIASES.items() if field == name)


def models(model: type[Strict]) -> Iterator[type[Strict]]:
    """Yields a model and all that inherit from it."""
    yield model
    for child in model.__subclasses__():
        yield from models(child)


def _message(details: ErrorDetails, root: Json, hint: Callable[[str], str]) -> str:
    kind, loc, context = details["type"], details["loc"], details.get("ctx", {})
    if kind == "extra_forbidden":
        if len(loc) == 1:
            return _unknown(str(loc[0]), root, hint)
        node = _at(root, loc[:-1])
        options = [resolve(option, root) for option in node.get("anyOf", [node])]
        keys = [key for option in options for key in option.get("properties", {})]
        return tr("unknown setting{hint}", hint=did_you_mean(str(loc[-1]), keys))
    if kind == "missing":
        return tr("{name} is missing; expected {kind}", name=loc[-1], kind=expected(_at(root, loc), root))
    if kind == "value_error":
        return f"{context['error']}{_values_to_try(details['input'])}"
    if kind == OF_THE_RUN:
        number = expected(standard_bounds(context["number"]), root)
        value, of = shown(context["value"]), context["of"]
        return tr("{schedule}: got {value}; expected {kind}", schedule=of, value=value, kind=number)
    if kind == "less_than" and context["lt"] == 2**63:
        return tr("got {value}; expected a whole number below 2**63", value=shown(details["input"]))
    node = _at(root, loc)
    if "const" in node and kind == "literal_error":
        value = node["const"] if isinstance(node["const"], str) else json.dumps(node["const"])  # true, as YAML has it
        return tr("must be {value} in this algorithm; another value makes it a different algorithm", value=value)
    if kind == "union_tag_not_found":
        return tr("layer_type is missing; expected {kinds}", kinds=_either(node["discriminator"]["mapping"]))
    if kind == "union_tag_invalid":
        node, value = {"enum": list(node["discriminator"]["mapping"])}, context["tag"]
    else:
        value = details["input"]
    near = (
        did_you_mean(value, node.get("enum", ())) or _as_number(str(loc[0]), value, node, root)
        if isinstance(value, str)
        else ""
    )
    several = several_algorithms(value) if loc == ("algo_name",) else ""
    end = f"{near}{several}{_values_to_try(value)}" or _as_schedule(value, node, root)
    return tr("got {value}; expected {kind}{end}", value=shown(value), kind=expected(node, root), end=end)


def _unknown(key: str, root: Json, hint: Callable[[str], str]) -> str:
    """Returns a sentence about a key that a section does not have, which may name a part of a setting."""
    head, dot, inner = key.partition(".")
    name = head.partition("[")[0]
    setting = root.get("properties", {}).get(name, {})
    if name != key and any(option.get("type") == "array" for option in [setting, *setting.get("anyOf", ())]):
        return tr(
            "unknown setting; {name} is one value, a list is written {example}",
            name=name,
            example=f"{name}='[...]'",
        )
    if dot and head in root.get("properties", {}):
        return tr(
            "unknown setting; {name} is one value, a mapping is written {example}",
            name=head,
            example=f"{head}='{{{inner}: ...}}'",
        )
    return tr("unknown setting{hint}", hint=hint(key) or (hint(key.rpartition(".")[2]) if dot else ""))


def _values_to_try(value: Any) -> str:
    """Returns the end of a sentence about values to try, which are for a tuning."""
    return tr("; values to try are for: {PROGRAM} tune --yaml FILE", PROGRAM=PROGRAM) if written_kind(value) else ""


def several_algorithms(names: Any) -> str:
    """Returns the end of a sentence about a list of names, or names with commas, in place of one name."""
    names = names.split(",") if isinstance(names, str) else names
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        return ""
    return tr("; for a run with each of them: --algo {names}", names=",".join(name.strip() for name in names))
