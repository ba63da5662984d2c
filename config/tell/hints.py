"""Sentences about an unknown setting: where it belongs, or which one was meant."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from config.config import GeneralConfig
from config.foreign import names as foreign_names
from config.foreign.dialects import DIALECTS
from config.model import SECTIONS, policies
from config.model.fields import Strict
from config.read.finder import Finder
from config.read.sources import Source
from config.tell.language import either, tr
from config.tell.names import did_you_mean, distance, nearest, of_others


def unknown_setting(section: str, key: str, models: Mapping[str, type[Strict]], find_algo: Finder, algo: str) -> str:
    """Returns the end of a sentence about a key that a section does not have; algo: the algorithm of the run."""
    others = {name: model.spellings() for name, model in models.items() if name != section}
    owner = next((name for name, spellings in others.items() if key in spellings), None)
    if owner:
        return tr("; it belongs under {owner}", owner=owner)
    if remark := next((remark for dialect in DIALECTS if (remark := dialect.hint(section, key))), ""):
        return remark
    other = foreign_name(section, key, models, find_algo, algo)
    near = other or _of_mistyped_word(section, key, models[section])
    near = near or did_you_mean(key, models[section].spellings()) or _in_another_section(key, others)
    return near or did_you_mean(key, [word for dialect in DIALECTS for word in dialect.keys(section)])


def foreign_name(section: str, key: str, models: Mapping[str, type[Strict]], find_algo: Finder, algo: str) -> str:
    """Returns the end of a sentence about a setting of another algorithm, or a name of another library; empty for any
    other key."""
    if section != "env_cfg" and (algos := find_algo.with_setting(key)):
        return of_others(algos, algo)
    if remark := foreign_names.remark_on(key):
        return tr("; {remark}", remark=remark)
    return _translated(section, key, models, find_algo, algo)


def _translated(section: str, key: str, models: Mapping[str, type[Strict]], find_algo: Finder, algo: str) -> str:
    """Returns what a name of another library is called here; empty if it is unknown."""
    matches = list(foreign_names.ours(key))
    for owner, name, remark in matches:
        model = models.get(owner)
        if model and (name in model.model_fields or model.model_config.get("extra") == "allow"):
            parts = foreign_names.together(key, name, model.model_fields)
            paths = ", ".join(part if owner == section else f"{owner}.{part}" for part in parts)
            if remark:
                return tr("; it is called {name} here ({remark})", name=paths, remark=remark)
            return tr("; it is called {name} here", name=paths)
    for _, name, _ in matches:
        if algos := find_algo.with_setting(name):
            return of_others(algos, algo, name)
    return ""


def _of_mistyped_word(section: str, key: str, model: type[Strict]) -> str:
    """Returns a hint to the setting that is meant by a mistyped word of another library, such as learning_rat; empty
    unless that word is closer than every setting by two letters."""
    word = nearest(key, foreign_names.NAMES)
    if word is None:
        return ""
    if any(distance(key.lower(), name) < distance(key.lower(), word) + 2 for name in model.spellings()):
        return ""
    meant = (name for owner, name, _ in foreign_names.ours(word) if owner == section and name in model.model_fields)
    return next((tr("; did you mean {near}?", near=name) for name in meant), "")


def _in_another_section(key: str, others: Mapping[str, set[str]]) -> str:
    """Returns a hint to a setting of another section, which must be closer than one of the same section."""
    distances = [
        (distance(key.lower(), spelling), f"{name}.{spelling}") for name in others for spelling in others[name]
    ]
    near = min(distances, default=(len(key), ""))
    return tr("; did you mean {near}?", near=near[1]) if near[0] <= max(1, len(key) // 6) else ""


def setting_of(name: str, find_algo: Finder, find_env: Finder, algo: str = "") -> tuple[str, str] | None:
    """Returns section.key for a setting of general_cfg, any environment or any algorithm, ours or a foreign name, and a
    remark; for a foreign name without a setting the remark alone. algo: algorithm whose settings come first."""
    models = {"general_cfg": [GeneralConfig], "env_cfg": [find_env.get(kind).Config for kind in find_env.available()]}
    models["algo_cfg"] = [find_algo.get(algo).Config for algo in find_algo.available()]
    has = {key for other in find_algo.available() if other.lower() == algo.lower()
           for key in find_algo.get(other).Config.model_fields}  # fmt: skip
    for section, configs in models.items():
        if any(name in model.spellings() for model in configs):
            return f"{section}.{name}", foreign_names.caution(name, has)
    matches = [(section, key, remark) for section, key, remark in foreign_names.ours(name)]
    matches.sort(key=lambda match: match[0] == "algo_cfg" and match[1] not in has)
    setting = next(((f"{section}.{key}", remark) for section, key, remark in matches), None)
    return setting or (("", remark) if (remark := foreign_names.remark_on(name)) else None)


def outside(sources: Iterable[Source], models: Mapping[str, type[Strict]], hint: Callable[[str], str]) -> Iterator[str]:
    """Yields a sentence for each setting outside any section. hint: end of a sentence about a name that no section
    has, or empty."""
    spellings = {name: model.spellings() for name, model in models.items()}
    for key, where, value, path in (stray for source in sources for stray in source.strays):
        owner = next((name for name in spellings if key in spellings[name]), None)
        same = (
            " ".join(f"{name}.{part}{value}" for part in foreign_names.together(key, other, spellings[name]))
            for name, other, remark in foreign_names.ours(key)
            if other in spellings.get(name, ()) and not remark
        )
        suggestion = (
            f"{owner}.{key}{value}"
            if owner
            else (None if value else nearest(key, (*SECTIONS, policies.SECTION))) or next(same, None)
        )
        other = "" if suggestion else hint(key)
        near = next((f"{name}.{near}{value}" for name in spellings if (near := nearest(key, spellings[name]))), None)
        suggestion = suggestion or (None if other else near)
        end = tr("; did you mean {near}?", near=suggestion) if suggestion else other
        if owner and (remark := foreign_names.caution(key, spellings[owner])):
            end += f" ({remark})"
        sections = either(SECTIONS)
        yield tr(
            "{place}: {key}: not inside a section ({sections}){end}", place=where, key=path, sections=sections, end=end
        )
