"""What a person can look up: names, settings with their help, the reference page. All generated from the models."""

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

import yaml
from pydantic.fields import FieldInfo

from config import presets
from config.error_text import expected, json_schema
from config.general import GeneralConfig
from config.loader import Finder
from config.names import nearest
from config.schema import Layer, Strict
from config.yaml_reader import Dumper

WIDTH = 80


class UnknownTopic(LookupError):
    """Nothing of this name can be described; the message says what can."""


def listing(what: str, find_algo: Finder, find_env: Finder, root: Path = presets.PRESETS) -> str:
    """Names of algos, envs or presets, one a line, with what they are."""
    if what == "presets":
        rows = [(f"{env}/{algo}", comment) for env, algo, comment in presets.available(root)]
    else:
        finder = find_algo if what == "algos" else find_env
        rows = [(name, _summary(finder.get(name))) for name in finder.available()]
    width = max((len(name) for name, _ in rows), default=0)
    return "".join(f"{name:{width}}  {text}".rstrip() + "\n" for name, text in rows) or f"no {what}\n"


def describe(topic: str, find_algo: Finder, find_env: Finder) -> str:
    """The settings of an algorithm, of a kind of environment, of general_cfg; or of `all`."""
    if topic == "all":
        return reference(find_algo, find_env)
    if topic in ("general", "general_cfg"):
        return _page("general_cfg", GeneralConfig)
    for finder, section in ((find_algo, "algo_cfg"), (find_env, "env_cfg")):
        try:
            return _topic(topic, finder, section)
        except LookupError:
            continue
    names = ["general", "all", *find_algo.available(), *find_env.available()]
    near = nearest(topic, names)
    meant = f"; did you mean {near}?" if near else f"; known: {', '.join(names)}"
    raise UnknownTopic(f"nothing is known of {topic!r}{meant}")


def reference(find_algo: Finder, find_env: Finder) -> str:
    """The whole reference as a page."""
    pages = [_page("general_cfg", GeneralConfig)]
    pages += [_topic(name, find_env, "env_cfg") for name in find_env.available()]
    pages += [_topic(name, find_algo, "algo_cfg", brief=True) for name in find_algo.available()]
    pages.append(_layers())
    head = "# Settings\n\nWritten by `python main.py describe all`; the text comes from the models themselves.\n"
    return "\n".join([head, *pages])


def _topic(name: str, finder: Finder, section: str, brief: bool = False) -> str:
    """The page of a folder; brief leaves out what a variant has from its family."""
    package = finder.get(name)
    title = getattr(package, "NAME", None) or name
    aliases = getattr(package, "ALIASES", ())
    also = f"\nAlso known as {', '.join(aliases)}.\n" if aliases else ""
    family = _family(package, finder) if brief else None
    return _page(f"{section}: {title}", package.Config, also, family)


def _family(package: ModuleType, finder: Finder) -> str | None:
    """The algorithm whose settings this one has with other defaults."""
    return next((name for name in finder.available() if finder.get(name).Config is package.Config.__base__), None)


def _summary(package: ModuleType) -> str:
    return (package.__doc__ or "").strip().split("\n")[0]


def _page(title: str, model: type[Strict], also: str = "", family: str | None = None) -> str:
    """Own settings first, then what all sections of this kind have, or only where these are described."""
    names = sorted(model.model_fields, key=lambda name: _inherited(model, name))
    if family:
        names = [name for name in names if not _inherited(model, name)]
        also += f"\nAll other settings are those of {family}.\n"
    return f"## {title}\n\n{_text(model)}\n{also}\n{''.join(_settings(model, names))}"


def _text(model: type[Strict]) -> str:
    return textwrap.fill(" ".join((model.__doc__ or "").split()), WIDTH)


def _settings(model: type[Strict], names: Iterable[str]) -> Iterator[str]:
    schema = json_schema(model)
    spellings: dict[str, list[str]] = {}
    for alias, name in model.ALIASES.items():
        spellings.setdefault(name, []).append(alias)
    for name in names:
        field = model.model_fields[name]
        help_text = " ".join((field.description or "").split())
        kind = expected(schema["properties"][name], schema)
        facts = [_default(field)] if kind == help_text.rstrip(".") else [kind, _default(field)]
        if name in spellings:
            facts.append(f"also {', '.join(spellings[name])}")
        entry = f"- `{name}` ({'; '.join(facts)}): {help_text}"
        yield textwrap.fill(entry, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, list):
        return "default " + ", ".join(_layer(item) if isinstance(item, Strict) else str(item) for item in value)
    return "default " + yaml.dump(value, Dumper=Dumper, default_flow_style=True).removesuffix("\n").removesuffix(
        "\n..."
    )


def _layer(layer: Strict) -> str:
    """A layer of a default in few words, such as linear 64 tanh."""
    values = layer.model_dump().values()
    return " ".join(str(value[0] if isinstance(value, list) else value) for value in values)


def _layers() -> str:
    """The kinds of layer, which all layer lists share."""
    kinds = get_args(get_args(Layer)[0])
    parts = [_layer_page(kind) for kind in kinds]
    return "\n".join(["## Layers, for every list of layers\n", *parts])


def _layer_page(kind: type[Strict]) -> str:
    title = kind.model_fields["layer_type"].default
    return f"### {title}\n\n{_text(kind)}\n\n{''.join(_settings(kind, kind.model_fields))}"


def _inherited(model: type[Strict], name: str) -> bool:
    return name not in model.__annotations__
