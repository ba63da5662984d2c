"""JSON Schema with which editors complete and check YAML: one for all algorithms and environments.

It accepts what the loader accepts, other spellings included, and rejects what a schema can express. Contradictions
between settings and the environment's own rules are left to the loader.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from pydantic.json_schema import models_json_schema
from pydantic_core import core_schema

from config.config import GeneralConfig
from config.foreign import names as foreign_names
from config.model import policies
from config.model.domain_kinds import SECTION as TUNING
from config.model.fields import Strict, listed, lower, upper
from config.model.policies import PolicyConfig
from config.read.finder import Finder
from config.read.tuning import TuneConfig
from config.tell.error_text import Json, standard_bounds
from config.tell.help_texts import WithHelp
from config.tell.language import tr

MODELINE = "# yaml-language-server: $schema=joystick.schema.json"


def schema(find_algo: Finder, find_env: Finder) -> Json:
    """Returns the schema; algo_cfg depends on general_cfg.algo_name, env_cfg on general_cfg.env_name."""
    algos = {name: find_algo.get(name) for name in find_algo.available()}
    envs = {name: find_env.get(name) for name in find_env.available()}
    models: list[type[Strict]] = [GeneralConfig, PolicyConfig, TuneConfig]
    models += [package.Config for package in (*algos.values(), *envs.values())]
    references, definitions = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(models)], schema_generator=_Generator
    )

    def defined(model: type[Strict]) -> tuple[Json, Json]:
        reference = references[model, "validation"]
        return reference, definitions["$defs"][reference["$ref"].rpartition("/")[2]]

    policy, node = defined(PolicyConfig)
    del node["additionalProperties"]  # _only_known allows those of a user's own algorithm
    node["properties"] = _of_any([node, *(defined(package.Config)[1] for package in algos.values())])

    def section(model: type[Strict], name: str) -> Json:
        reference, node = defined(model)
        node["type"] = ["object", "null"]
        for key, description, values in foreign_names.accepted(name):
            allowed = {"enum": list(values)} if values else {}
            node["properties"].setdefault(key, {"description": description, **allowed})
        return reference

    choices = [
        _choice("algo_name", (name, *getattr(package, "ALIASES", ())), "algo_cfg", section(package.Config, "algo_cfg"))
        for name, package in algos.items()
    ]
    choices += [
        _choice("env_name", (name,), "env_cfg", section(package.Config, "env_cfg")) for name, package in envs.items()
    ]
    choices.append(_only_known(node["properties"]))
    free: Json = {"type": ["object", "null"]}
    result: Json = standard_bounds(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": tr("In the first line of a YAML file: {modeline}", modeline=MODELINE),
            "title": tr("Joystick configuration"),
            "type": ["object", "null"],
            "properties": {
                "general_cfg": section(GeneralConfig, "general_cfg"),
                TUNING: section(TuneConfig, TUNING),
                "algo_cfg": free,
                "env_cfg": free,
                policies.SECTION: {
                    **free,
                    "propertyNames": {"pattern": policies.NAMES},
                    "additionalProperties": policy,
                },
            },
            "additionalProperties": False,
            "allOf": choices,
            "$defs": definitions["$defs"],
        }
    )
    general = next(node for node in result["$defs"].values() if node.get("title") == "GeneralConfig")
    _names(general, "algo_name", algos)
    _names(next(node for node in result["$defs"].values() if node.get("title") == "PolicyConfig"), "algo_name", algos)
    _names(general, "env_name", envs)
    return result


def _of_any(models: Iterable[Json]) -> Json:
    """Returns the settings of all models; one that several have accepts what any of them does."""
    options: dict[str, list[Json]] = {}
    for model in models:
        for key, setting in model["properties"].items():
            plain = {name: value for name, value in setting.items() if name not in ("default", "description")}
            options.setdefault(key, []).append({"description": setting.get("description", ""), **plain})
    accepted: Json = {}
    for key, settings in options.items():
        same = {json.dumps({**setting, "description": ""}): setting for setting in reversed(settings)}
        accepted[key] = {"anyOf": list(same.values())} if len(same) > 1 else settings[0]
    return accepted


def _only_known(properties: Json) -> Json:
    """Returns a rule that refuses unknown settings of policies, unless they may be those of a user's own algorithm."""
    dotted = {"properties": {"algo_name": {"type": "string", "pattern": r"\."}}, "required": ["algo_name"]}
    strict = {"if": dotted, "else": {"propertyNames": {"enum": sorted(properties)}}}
    every = {"properties": {policies.SECTION: {"additionalProperties": strict}}}
    return {"if": {"properties": {"general_cfg": dotted}, "required": ["general_cfg"]}, "else": every}


def _choice(key: str, names: tuple[str, ...], section: str, chosen: Json) -> Json:
    """Returns a rule: if general_cfg names this package, or names none and it is the default, the section is its."""
    named = {"properties": {key: {"type": "string", "pattern": any_case(names)}}, "required": [key]}
    condition: Json = {"properties": {"general_cfg": {"type": "object", **named}}, "required": ["general_cfg"]}
    if GeneralConfig.model_fields[key].default in names:
        silent = {"properties": {"general_cfg": {"properties": {key: {"type": "null"}}}}}
        condition = {"anyOf": [condition, silent]}
    return {"if": condition, "then": {"properties": {section: chosen}}}


def _names(general: Json, key: str, packages: dict[str, Any]) -> None:
    """Completes the known names; accepts their other spellings and the dotted path of a user's package."""
    spellings = [
        spelling for name, package in packages.items() for spelling in (name, *getattr(package, "ALIASES", ()))
    ]
    pattern = "|".join([any_case(tuple(spellings)), r"^\w+(\.\w+)+$"])
    help_text = general["properties"][key].get("description", "")
    options = [{"enum": sorted(packages)}, {"type": "string", "pattern": pattern}, {"type": "null"}]
    general["properties"][key] = {"description": help_text, "anyOf": options}


def any_case(names: tuple[str, ...]) -> str:
    """Returns a pattern for these words in any case; JSON Schema has no flag for it."""

    def letters(word: str) -> str:
        return "".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else re.escape(c) for c in word)

    return f"^({'|'.join(letters(name) for name in names)})$"


def _or_null(node: Json) -> Json:
    """Accepts null too, if possible without anyOf: editors then explain a wrong value better."""
    if "anyOf" in node:
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    if "enum" in node:
        return {**node, "enum": [*node["enum"], None], "type": ["string", "null"]}
    if isinstance(node.get("type"), str) and "const" not in node:
        return {**node, "type": [node["type"], "null"]}
    return {"anyOf": [node, {"type": "null"}]}


def _folded(node: Json) -> Json:
    """Accepts words in any case; keeps the enumeration for completion."""
    names = tuple(node.get("enum", [node.get("const")]))
    return {"anyOf": [{"enum": list(names)}, {"type": "string", "pattern": any_case(names)}]}


class _Generator(WithHelp):
    """Adds what validators accept beyond the plain type: other cases, single items, null for the default, aliases."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Json:
        node = super().function_before_schema(schema)
        function = schema["function"]["function"]
        if function in (lower, upper):
            return _folded(node)
        if function is listed:
            return {"anyOf": [node, node["items"]]}
        return node

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Json:
        return _or_null(super().default_schema(schema))

    def model_schema(self, schema: core_schema.ModelSchema) -> Json:
        node = super().model_schema(schema)
        model = schema["cls"]
        if "layer_type" in node["properties"]:
            node["properties"]["layer_type"] = _folded({"const": model.model_fields["layer_type"].default})
            node["required"] = [*node.get("required", ()), "layer_type"]
        self._aliases(node, getattr(model, "ALIASES", {}))
        return node

    @staticmethod
    def _aliases(node: Json, aliases: dict[str, str]) -> None:
        required = node.pop("required", [])
        for alias, name in aliases.items():
            node["properties"][alias] = {
                **node["properties"][name],
                "description": tr("Another spelling of {name}.", name=name),
            }
        spellings = [[name, *(alias for alias, field in aliases.items() if field == name)] for name in required]
        if spellings:
            node["allOf"] = [{"anyOf": [{"required": [name]} for name in names]} for names in spellings]
