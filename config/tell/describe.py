"""Answers list and describe: names, settings with their help, the reference page. All generated from the models."""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import yaml
from pydantic.fields import FieldInfo

from config.config import GeneralConfig
from config.model import policies
from config.model.domain_kinds import SECTION as TUNING
from config.model.fields import Strict
from config.model.layers import Layer
from config.model.policies import PolicyConfig
from config.model.schema import EnvConfig
from config.own import env_packages, trust
from config.program import PROGRAM
from config.read import presets
from config.read.finder import Finder
from config.read.tuning import TuneConfig
from config.read.yaml_reader import Dumper
from config.tell import hints
from config.tell.error_text import expected, json_schema
from config.tell.help_texts import help_text, one_line
from config.tell.language import tr
from config.tell.names import distance, nearest

WIDTH = 80
_CHINESE = re.compile("[\u3000-\u9fff\uff00-\uffef]")
"""Pattern of a character of two columns."""
_PIECE = re.compile(r".+?(?:\s+|[，。；：、！？）]+|$)")
"""Piece of Chinese text that stays on one line."""
_COMMAND = 22
"""Width of the column of commands."""
_POLICIES = tr("policies_cfg: each policy")


class UnknownTopic(LookupError):
    """No such topic; the message names those that exist."""


def listing(
    topic: str | None, find_algo: Finder, find_env: Finder, root: Path = presets.PRESETS, part: str = ""
) -> str:
    """Returns the names of algos, envs or presets that contain `part`, one per line with a summary."""
    if topic is None:
        return _topics(_TO_LIST)
    rows = [row for row in _rows(topic, find_algo, find_env, root, part) if part.lower() in row[0].lower()]
    width = max((len(name) for name, _ in rows), default=0)
    lines = "".join(f"{name:{width}}  {text}".rstrip() + "\n" for name, text in rows)
    if lines:
        return lines
    none = (
        tr("no {topic} with {part!r} in their name", topic=topic, part=part) if part else tr("no {topic}", topic=topic)
    )
    return f"{none}\n"


_TO_LIST = (
    ("list algos", tr("algorithms")),
    ("list envs [TEXT]", tr("environments, or those with TEXT in their id")),
    ("list presets [TEXT]", tr("tested settings for an environment and an algorithm")),
    ("runs [TEXT]", tr("runs under tasks/ and their scores")),
)
_TO_DESCRIBE = (
    ("describe PPO", tr("an algorithm and its settings")),
    ("describe ppo.lr", tr("one of its settings")),
    ("describe lr", tr("every setting of this name")),
    ("describe general", tr("settings of every run (general_cfg)")),
    ("describe policies", tr("settings of several policies (policies_cfg)")),
    ("describe tune", tr("settings of tuning (tune_cfg)")),
    ("describe gym", tr("settings of a kind of environment (env_cfg)")),
    ("describe CartPole-v1", tr("an environment")),
    ("describe linear", tr("a layer of a network")),
    ("describe FrameStack", tr("a wrapper")),
    ("describe all", tr("all settings")),
)


def _topics(commands: tuple[tuple[str, str], ...]) -> str:
    """Returns what can be asked for, a line each."""
    return "".join(f"{PROGRAM} {command:{_COMMAND}} {text}\n" for command, text in commands)


def _rows(topic: str, find_algo: Finder, find_env: Finder, root: Path, part: str) -> Iterator[tuple[str, str]]:
    if topic == "presets":
        for env, algo, comment in presets.available(root):
            sentence, numbers = presets.template(comment)
            yield f"{env}/{algo}", tr(sentence, **numbers)
    elif topic == "algos":
        yield from ((name, _summary(find_algo.get(name))) for name in find_algo.available())
    else:
        for kind in find_env.available():
            package = find_env.get(kind)
            for env_id in _ids(package, kind, part):
                algos = presets.algos_with(presets.folder_name(env_id), root)
                row = env_packages.of_id(env_id)
                more = ""
                if row and not part and not row.listed and kind == row.kind == env_packages.GYM:
                    more = tr("  one of {package}; list envs TEXT shows others", package=row.name)
                yield env_id, f"{kind:4}" + (f"  {_presets(', '.join(algos))}" if algos else "") + more


def _ids(package: ModuleType, kind: str, part: str) -> list[str]:
    """Returns the ids of a kind of environment that are listed. part: text in those that are asked for."""
    listed = getattr(package, "every_id", None) if part else None
    listed = listed or getattr(package, "ids", None)
    return listed() if listed else [kind]


def describe(topic: str | None, find_algo: Finder, find_env: Finder, allow_import: Collection[str] = ()) -> str:
    """Returns the help of an algorithm, a kind of environment, general_cfg, a setting, a layer, what an environment
    knows of itself and its wrappers, or of `all`."""
    if topic is None:
        return _topics(_TO_DESCRIBE)
    if topic == "all":
        return reference(find_algo, find_env)
    finders = {"algo_cfg": find_algo, "env_cfg": find_env}
    if "." in topic and any(f"{topic}.".startswith(f"{name}.") for name in allow_import):
        return _own_package(topic, finders)
    owner, _, setting = topic.rpartition(".")
    page = _setting(setting, _owners(owner, finders)) if owner else _of_name(topic, finders)
    if page is None and "." in topic and trust.covers(topic):
        return _own_package(topic, finders)
    if page is None:
        raise UnknownTopic(tr("no topic {topic!r}{instead}", topic=topic, instead=_instead(topic, finders)))
    return page


def _own_package(topic: str, finders: dict[str, Finder]) -> str:
    """Returns the page of a user's own algorithm or environment, which the command line allows to import."""
    if task := trust.task_of(topic):
        raise UnknownTopic(
            tr("{topic} lies in {task}, a task directory, from which nothing is ever imported", topic=topic, task=task)
        )
    try:
        package = finders["algo_cfg"].get(topic)
        section = "env_cfg" if issubclass(package.Config, EnvConfig) else "algo_cfg"
        return _page(f"{section}: {getattr(package, 'NAME', topic)}", package.Config)
    except Exception as error:
        raise UnknownTopic(
            tr("{topic} cannot be described: {error}", topic=topic, error=f"{type(error).__name__}: {error}")
        ) from None


def models(finders: dict[str, Finder]) -> Iterator[tuple[str, str, type[Strict]]]:
    """Yields section, name and model of every section."""
    yield "general_cfg", "general", GeneralConfig
    yield policies.SECTION, "policies", PolicyConfig
    yield TUNING, "tune", TuneConfig
    for section, finder in finders.items():
        yield from ((section, name, finder.get(name).Config) for name in finder.available())


def _owners(owner: str, finders: dict[str, Finder]) -> list[tuple[str, str, type[Strict]]]:
    """Returns section, name and model of what is in front of a setting: ppo, gym, algo_cfg or general_cfg."""
    return [
        (section, name, model)
        for section, name, model in models(finders)
        if owner.lower() in (section, name.lower(), *_aliases_of(name, finders.get(section)))
    ]


def _aliases_of(name: str, finder: Finder | None) -> list[str]:
    return [alias.lower() for alias in getattr(finder.get(name), "ALIASES", ())] if finder else []


def _of_name(topic: str, finders: dict[str, Finder]) -> str | None:
    """Returns the help of a single name; a section comes first, then a setting, a layer, an environment."""
    if topic in ("general", "general_cfg"):
        return _page("general_cfg", GeneralConfig)
    if topic in ("policies", policies.SECTION):
        return _page(_POLICIES, PolicyConfig)
    if topic in ("tune", TUNING):
        return _page(TUNING, TuneConfig)
    for section, finder in finders.items():
        try:
            return _topic(topic, finder, section)
        except LookupError:
            continue
    layer = next((kind for kind in kinds() if kind.model_fields["layer_type"].default == topic.lower()), None)
    if settings := _setting(topic, list(models(finders))):
        return settings
    if layer:
        return _layer_page(layer)
    find_env = finders["env_cfg"]
    packages = [find_env.get(name) for name in find_env.available()]
    texts = (package.explain(topic) for package in packages if hasattr(package, "explain"))
    return next((_with_presets(topic, text) for text in texts if text), None)


def _with_presets(env_id: str, text: str) -> str:
    algos = presets.algos_with(presets.folder_name(env_id))
    words = ", ".join(f"--algo {algo} --env {env_id}" for algo in algos[:3])
    return f"{text}{_presets(words)}\n" if algos else text


def _presets(names: str) -> str:
    return tr("presets: {names}", names=names)


def _setting(name: str, owners: list[tuple[str, str, type[Strict]]]) -> str | None:
    """Returns the help of all settings of this name; sections with the same text share an entry."""
    entries: dict[str, list[tuple[str, str]]] = {}
    for section, owner, model in owners:
        key = model.field_name(name)
        if key in model.model_fields:
            entries.setdefault("".join(_settings(model, [key])), []).append((section, owner))
    if not entries:
        return None
    parts = []
    for entry, places in entries.items():
        (section, owner), *others = places
        of_package = section in ("algo_cfg", "env_cfg")
        first = tr("{section} of {owner}", section=section, owner=owner) if of_package else section
        more = [owner if section in ("algo_cfg", "env_cfg") else section for section, owner in others]
        holders = tr("In {holders}.", holders=", ".join([first, *more]))
        parts.append(entry + _filled(holders, initial_indent="  ", subsequent_indent="  ") + "\n")
    return "\n".join(parts)


def _instead(topic: str, finders: dict[str, Finder]) -> str:
    """Returns the end of a sentence: what the topic is called here, or what is near it."""
    owner, _, last = topic.rpartition(".")
    owners = _owners(owner, finders)
    if owners and (near := nearest(last, (key for _, _, model in owners for key in model.model_fields))):
        return tr("; did you mean {near}?", near=f"{owner}.{near}")
    if setting := hints.setting_of(last if owners else topic, finders["algo_cfg"], finders["env_cfg"]):
        return tr("; it is called {name} here", name=setting[0]) if setting[0] else tr("; {remark}", remark=setting[1])
    if owners:
        keys = dict.fromkeys(key for _, _, model in owners for key in model.model_fields)
        return tr("; known: {names}", names=", ".join(keys))
    if owner:
        return tr("; a package of your own needs --allow-import {package}", package=topic.partition(".")[0])
    names = [
        "general",
        "all",
        "policies",
        "tune",
        *(name for finder in finders.values() for name in finder.available()),
    ]
    ids = (name for kind in finders["env_cfg"].available() for name in _ids(finders["env_cfg"].get(kind), kind, ""))
    words = [*names, *ids, *(key for _, _, model in models(finders) for key in model.model_fields)]
    near = min(filter(None, (nearest(topic, names), nearest(topic, words))), key=partial(distance, topic), default="")
    holding = sorted({name for name in words if len(topic) > 2 and topic.lower() in name.lower()})
    if holding and not near:
        return tr("; with {topic} in their names: {names}", topic=topic, names=", ".join(holding[:10]))
    return tr("; did you mean {near}?", near=near) if near else tr("; known: {names}", names=", ".join(names))


_DEFAULTS = tr(
    "The defaults on this page hold for all settings that are left out, on the command line,\n"
    "in Python and in a file; a file in JoyRL's words has JoyRL's ([joyrl.md](joyrl.md)).\n"
    "A command line without a file begins with a preset if there is one for the algorithm and\n"
    "the environment or its family, presets/ID/NAME.yaml, whose settings take the place of the\n"
    "defaults. Without one the run has the length, evaluation, checkpoints and rows that are\n"
    "named below for the algorithm. The first line of output says which of the two;\n"
    "`--print-config` shows all, and general_cfg.preset=null takes the defaults alone.\n"
)
"""Note on the scope of the defaults on the page."""


def reference(find_algo: Finder, find_env: Finder) -> str:
    """Returns the whole reference as a page."""
    pages = [_page("general_cfg", GeneralConfig), _page(_POLICIES, PolicyConfig), _page(TUNING, TuneConfig)]
    pages += [_topic(name, find_env, "env_cfg") for name in find_env.available()]
    pages += [_topic(name, find_algo, "algo_cfg", brief=True) for name in find_algo.available()]
    pages.append(_layers())
    origin = tr("Written by `{command}`; the text comes from the models themselves.", command=f"{PROGRAM} describe all")
    return "\n".join([f"# {tr('Settings')}\n\n{origin}\n\n{_DEFAULTS}", *pages])


def _topic(name: str, finder: Finder, section: str, brief: bool = False) -> str:
    """Returns the page of a package; brief leaves out the settings that a variant inherits from its family."""
    package = finder.get(name)
    title = getattr(package, "NAME", None) or name
    aliases = getattr(package, "ALIASES", ())
    also = "\n" + tr("Also known as {names}.", names=", ".join(aliases)) + "\n" if aliases else ""
    family = _family(package, finder) if brief else None
    run = getattr(package.Config, "RUN", {})
    if run and not (family and run == finder.get(family).Config.RUN):
        text = tr("`--algo {algo}` without a preset: {settings}.", algo=title, settings=presets.run_words(run))
        also += f"\n{_filled(text)}\n"
    return _page(f"{section}: {title}", package.Config, also, family)


def _family(package: ModuleType, finder: Finder) -> str | None:
    """Returns the algorithm whose settings this one has with other defaults."""
    return next((name for name in finder.available() if finder.get(name).Config is package.Config.__base__), None)


def _summary(package: ModuleType) -> str:
    return tr(first_line(package))


def first_line(package: ModuleType) -> str:
    """Returns the summary of a package, in English."""
    return (package.__doc__ or "").strip().split("\n")[0]


def _page(title: str, model: type[Strict], also: str = "", family: str | None = None) -> str:
    """Returns a page: own settings first, then inherited ones, or the name of the family that describes them."""
    names = sorted(model.model_fields, key=lambda name: _inherited(model, name))
    if family:
        names = [name for name in names if not _inherited(model, name)]
        also += "\n" + tr("All other settings are those of {algo}.", algo=family) + "\n"
    return f"## {title}\n\n{_text(model)}\n{also}\n{''.join(_settings(model, names))}"


def _text(model: type[Strict]) -> str:
    return _filled(tr(one_line(model.__doc__)))


def _filled(text: str, **options: Any) -> str:
    """Returns a paragraph in lines of WIDTH columns. Chinese text is broken at blanks and behind its marks alone, where
    a browser, which puts a blank in place of a line's end, shows the same."""
    if not _CHINESE.search(text):
        return textwrap.fill(text, WIDTH, **options)
    indent = options.get("subsequent_indent", "")
    lines = [options.get("initial_indent", "")]
    for piece in _PIECE.findall(text):
        if lines[-1].strip() and _columns(lines[-1] + piece.rstrip()) > WIDTH:
            lines.append(indent)
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _columns(text: str) -> int:
    return len(text) + len(_CHINESE.findall(text))


def _settings(model: type[Strict], names: Iterable[str], prefix: str = "") -> Iterator[str]:
    """Yields the help of each setting, and of the keys of one that is a mapping. prefix: names before its own."""
    schema = json_schema(model)
    properties = schema["$defs"][model.__name__]["properties"] if "$ref" in schema else schema["properties"]
    spellings: dict[str, list[str]] = {}
    for alias, name in model.ALIASES.items():
        spellings.setdefault(name, []).append(alias)
    for name in names:
        field = model.model_fields[name]
        text = help_text(model, name)
        kind = expected(properties[name], schema)
        facts = [_default(field)] if kind == text.rstrip(".。") else [kind, _default(field)]
        if "const" in properties[name]:
            facts = [tr("always {value}", value=kind)]
        if name in spellings:
            facts.append(tr("also {names}", names=", ".join(spellings[name])))
        entry = tr("- `{name}` ({facts}): {text}", name=f"{prefix}{name}", facts=tr("; ").join(facts), text=text)
        yield _filled(entry, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
        for keys in mappings(field.annotation):
            yield from _settings(keys, keys.model_fields, f"{prefix}{name}.")


def mappings(annotation: Any) -> Iterator[type[Strict]]:
    """Yields the models of the mappings in a type; layers have pages of their own."""
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        yield from () if "layer_type" in annotation.model_fields else (annotation,)
    for part in get_args(annotation):
        yield from mappings(part)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return tr("must be given")
    value = field.get_default(call_default_factory=True)
    if isinstance(value, list) and value:
        text = ", ".join(_layer(item) if isinstance(item, Strict) else str(item) for item in value)
    else:
        text = yaml.dump(value, Dumper=Dumper, default_flow_style=True).removesuffix("\n").removesuffix("\n...")
    return tr("default {value}", value=text)


def _layer(layer: Strict) -> str:
    """Returns a layer of a default in few words, such as linear 64 tanh."""
    inner = getattr(layer, "layers", None)
    if inner:
        return f"{type(layer).model_fields['layer_type'].default} ({', '.join(map(_layer, inner))})"
    values = layer.model_dump().values()
    return " ".join(str(value[0] if isinstance(value, list) else value) for value in values)


def _layers() -> str:
    """Returns the pages of all kinds of layer."""
    parts = [_layer_page(kind) for kind in kinds()]
    return "\n".join([f"## {tr('Layers, for every list of layers')}\n", *parts])


def kinds() -> tuple[type[Strict], ...]:
    """Returns the models of the kinds of layer."""
    return get_args(get_args(Layer)[0])


def _layer_page(kind: type[Strict]) -> str:
    title = kind.model_fields["layer_type"].default
    return f"### {title}\n\n{_text(kind)}\n\n{''.join(_settings(kind, kind.model_fields))}"


def _inherited(model: type[Strict], name: str) -> bool:
    return name not in model.__annotations__
