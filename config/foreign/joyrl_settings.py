"""Rewrites the settings of a JoyRL file by our names: what the loader does with such a file, and `convert` prints."""

import re
from collections.abc import Callable, Iterator
from types import ModuleType, NoneType
from typing import Any, NamedTuple, get_args

from config.config import GeneralConfig
from config.foreign import joyrl
from config.foreign import names as foreign_names
from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.dialect import LOST, NEEDLESS, Changes, ConversionError, Hint, OldFile, new_file
from config.foreign.table import Row, Scope
from config.model import SECTIONS, policies
from config.model.fields import Strict, steps_of_factor
from config.model.schema import AlgoConfig, EnvConfig
from config.read import sources
from config.read.finder import Finder
from config.read.sources import Source, doubled
from config.read.yaml_reader import Place
from config.tell.error_text import shown
from config.tell.language import tr

Settings = dict[str, Any]
Branch = tuple[str, list[Settings]]
"""Name and layers of a part of a network."""
UNREAD = tr("Left out, since the algorithm does not read it:")
TRANSLATED = tr("JoyRL's settings by our names")
DEFAULT = tr("JoyRL's default")


class Omission(NamedTuple):
    """A setting that has no counterpart."""

    kind: str
    """NEEDLESS: nothing has to be set; UNREAD: the algorithm does not read it; LOST: it is to be looked for."""
    section: str
    key: str
    value: Any
    why: str


def is_joyrl(source: Source, find_env: Finder) -> bool:
    """Returns True for settings that are written in JoyRL's words: with one of its keys, or an id as env_name, or
    device: custom."""
    general = source.sections.get("general_cfg", {})
    env_name, algo_name = str(general.get("env_name")), str(general.get("algo_name"))
    named = env_name not in find_env.available() and (env_name in joyrl.ENVS or re.fullmatch(r"\w+-v\d+", env_name))
    words = any(joyrl.row_of(section, key) for section in SECTIONS for key in source.sections.get(section, {}))
    return bool(named) or words or general.get("device") == joyrl.CUSTOM or algo_name.lower() in joyrl.ALGORITHMS


def rewrite(source: Source, find_algo: Finder, find_env: Finder, stronger: Settings) -> Changes:
    """Rewrites the settings of a file that is written in JoyRL's words. stronger: settings of general_cfg on the
    command line."""
    if not is_joyrl(source, find_env):
        return Changes()
    work = Rewriting(source, find_algo, find_env, stronger).run()
    work.apply()
    return Changes(list(work.notes()), list(work.needless()), work.problems, work.defaults())


def put_words(source: Source, scope: Scope, hint: Hint) -> Changes:
    """Puts single settings that have JoyRL's names, as words of a command line are, under ours. What means nothing
    stays as it is, and is refused later."""
    moved: list[str] = []
    needless: list[str] = []
    for section, model in scope.models.items():
        settings = source.sections.get(section, {})
        for key in [key for key in settings if key not in model.spellings()]:
            row, value, place = joyrl.row_of(section, key), settings[key], source.places[section].parts[key]
            try:
                meaning = row.meaning(value, scope) if row else None
            except (LookupError, NoCounterpartError):
                continue
            if meaning is None or _set_otherwise(meaning, Scope(scope.models, [source])):
                continue
            del settings[key], source.places[section].parts[key]
            for path, setting in meaning.settings.items():
                owner, _, name = path.partition(".")
                source.put(owner, name, setting, Place(place.text, place.path))
                moved.append(_with(path, _was(f"{section}.{key}")))
            if not meaning.settings:
                needless.append(_with(f"{section}.{key}", meaning.remark))
        for key in ("wrapper", "wrappers") if section == "env_cfg" else ():
            if key in settings:
                settings[key], dropped = joyrl.without_identity(settings[key])
                needless += [
                    tr("{setting} {name} (changes nothing)", setting=f"{section}.{key}", name=name) for name in dropped
                ]
    return Changes([f"{TRANSLATED}: {', '.join(moved)}"] if moved else [], needless)


def _was(name: str) -> str:
    return tr("was {name}", name=name)


def _with(name: str, remark: str) -> str:
    return tr("{name} ({remark})", name=name, remark=remark)


def _set_otherwise(meaning: Meaning, scope: Scope) -> bool:
    """Returns True if a setting is written too, with another value."""
    return any(scope.value(path) not in (None, setting) for path, setting in meaning.settings.items())


class Rewriting:
    """Settings of one source by our names. Nothing is lost: what cannot be rewritten is an omission."""

    def __init__(self, source: Source, find_algo: Finder, find_env: Finder, stronger: Settings | None = None) -> None:
        """stronger: settings of general_cfg in a stronger source, on which the meaning of others depends."""
        self.find_algo, self.find_env = find_algo, find_env
        self.source = source
        self.stronger = Source(written=True, sections={"general_cfg": stronger or {}})
        algo_name = (stronger or {}).get("algo_name")
        self.algo_name = algo_name if isinstance(algo_name, str) else None
        self.old: dict[str, Settings] = {name: dict(source.sections.get(name) or {}) for name in SECTIONS}
        self.new: dict[str, Settings] = {name: {} for name in SECTIONS}
        self.comments: dict[tuple[str, str], str] = {}
        """section, key -> how it was written."""
        self.omitted: list[Omission] = []
        self.problems: list[str] = []
        """Faults of the values, a sentence each."""
        self.places: dict[tuple[str, str], Place] = {}
        self.algo: type[AlgoConfig] | None = None
        """Model of the algorithm; None if there is no such algorithm."""
        self.name = self.algo_name or "DQN"
        self.env: type[EnvConfig] = EnvConfig
        self._at: tuple[str, str] | None = None
        """Section and key that is rewritten at the moment."""

    def run(self) -> "Rewriting":
        self._names()
        self._networks()
        self.models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig, "env_cfg": self.env}
        self.models["algo_cfg"] = self.algo or AlgoConfig
        self.scope = Scope(self.models, [self.source, self.stronger])
        for section, model in self.models.items():
            self.problems += doubled(self.source, section, model)
        for section, settings in self.old.items():
            for key, value in settings.items():
                self._at = (section, key)
                self._setting(section, key, value)
        self._at = None
        self._processes()
        self._wrappers()
        return self

    def defaults(self) -> Source:
        """Returns JoyRL's defaults of settings that are left out, where ours are others."""
        source, model, settings = Source(written=False), self.algo or AlgoConfig, self.new["algo_cfg"]
        for key, value in joyrl.defaults(self.name).items():
            field = model.model_fields.get(key)
            one_rate = key.endswith("_lr") and settings.get("lr") is not None
            if field and field.default != value and settings.get(key) is None and not one_rate:
                source.put("algo_cfg", key, value, Place(DEFAULT, f"algo_cfg.{key}"))
        if keys := source.sections.get("algo_cfg"):
            source.notes.append(
                tr("JoyRL's defaults: {settings}", settings=", ".join(f"algo_cfg.{key}" for key in keys))
            )
        return source

    def put(self, section: str, key: str, value: Any, comment: str = "") -> None:
        self.new[section][key] = value
        if comment:
            self.comments[section, key] = comment
        if self._at and (place := self._place(*self._at)):
            self.places[section, key] = place

    def omit(self, kind: str, section: str, key: str, value: Any, why: str) -> None:
        """Records a setting that has no counterpart."""
        self.omitted.append(Omission(kind, section, key, value, why))

    def refuse(self, section: str, key: str, value: Any, why: str) -> None:
        """Records a setting whose value means nothing."""
        self.omit(LOST, section, key, value, why)
        place = self._place(section, key)
        self.problems.append(f"{place.text if place else self.source.places[section].text}: {section}.{key}: {why}")

    def _place(self, section: str, key: str) -> Place | None:
        place = self.source.places.get(section)
        return place.parts.get(key) if place else None

    def apply(self) -> None:
        """Puts the rewritten settings in the place of the old ones. A setting that is lost stays as it was, to be
        refused."""
        for section, settings in self.new.items():
            refused = {problem.split(": ")[1] for problem in self.problems}
            lost = {
                part.key: part.value
                for part in self.omitted
                if part.kind == LOST and part.section == section and f"{section}.{part.key}" not in refused
            }
            old, above = self.source.sections.get(section), self.source.places.get(section)
            if not settings and not lost and old is None:
                continue
            parts = dict(above.parts) if above else {}
            text = above.text if above else next(iter(self.source.places.values())).text
            self.source.sections[section] = {}
            for key, value in (settings | lost).items():
                if key in ("algo_name", "env_name") and key not in parts and (section, key) not in self.comments:
                    continue  # the default, which only `convert` writes out
                self.source.put(section, key, value, self._placed(section, key, parts, text))

    def _placed(self, section: str, key: str, parts: dict[Any, Place], text: str) -> Place:
        """Returns where a setting is written: at its old name."""
        same = parts.get(key)
        if same and (section, key) not in self.comments:
            return same
        old = self.places.get((section, key)) or same
        return Place(old.text, f"{section}.{key}") if old else Place(text, f"{section}.{key}")

    def notes(self) -> Iterator[str]:
        """Yields a line for each kind of change."""
        moved = [
            _with(f"{section}.{key}", comment)
            for (section, key), comment in self.comments.items()
            if comment not in {_was(name) for name, ours in self.models[section].ALIASES.items() if ours == key}
        ]
        if moved:
            yield f"{TRANSLATED}: {', '.join(moved)}"
        unread = [f"{part.section}.{part.key}" for part in self.omitted if part.kind == UNREAD]
        if unread:
            yield tr("JoyRL's keys that {algo} does not read, left out: {keys}", algo=self.name, keys=", ".join(unread))

    def needless(self) -> Iterator[str]:
        """Yields a remark on each setting that needs nothing."""
        for part in self.omitted:
            if part.kind == NEEDLESS:
                yield _with(f"{part.section}.{part.key}", part.why)

    # names ------------------------------------------------------------------------------------------------

    def _algorithm(self, name: str) -> ModuleType | None:
        """Returns the package of an algorithm; None if there is none, or it is the user's own."""
        try:
            return self.find_algo.get(name) if "." not in name else None
        except LookupError:
            return None

    def _names(self) -> None:
        """Rewrites the names of algorithm and environment."""
        general, env = self.old["general_cfg"], self.old["env_cfg"]
        algo = str(general.pop("algo_name", None) or "DQN")
        row = joyrl.ALGORITHMS.get(algo.lower())
        name = row.settings if row else algo
        package = self._algorithm(name)
        name = package.NAME if package else name
        self._at = ("general_cfg", "algo_name")
        self.put("general_cfg", "algo_name", name, _was(algo) if name != algo else "")
        used = self._algorithm(self.algo_name) if self.algo_name else package
        self.algo, self.name = (used.Config, used.NAME) if used else (None, self.algo_name or name)
        self._at = ("general_cfg", "env_name")
        kind = str(general.pop("env_name", None) or "gym")
        if kind not in self.find_env.available() and "." not in kind and env.get("id") not in (None, kind):
            self.refuse(
                "general_cfg", "env_name", kind, tr("is an environment, and env_cfg.id is {id}; keep one", id=env["id"])
            )
            kind = "gym"
        elif kind not in self.find_env.available() and "." not in kind:
            self.put("general_cfg", "env_name", "gym", tr("was {kind}, now env_cfg.id", kind=kind))
            env.setdefault("id", kind)
            kind = "gym"
        else:
            self.put("general_cfg", "env_name", kind)
        if kind not in self.find_env.available():
            return
        package = self.find_env.get(kind)
        self.env = package.Config
        self._at = ("env_cfg", "id") if "id" in self.source.sections.get("env_cfg", {}) else self._at
        if isinstance(env.get("id"), str):
            self._id(env.pop("id"), getattr(package, "current_id", str))

    def _id(self, old: str, current_id: Callable[[str], str]) -> None:
        """Rewrites the id of an environment that has another name or version here."""
        name, arguments = joyrl.ENVS.get(old, (old, {}))
        name = current_id(name)
        was_kind = self.comments.get(("general_cfg", "env_name")) == tr("was {kind}, now env_cfg.id", kind=old)
        self.put("env_cfg", "id", name, _was(old) if name != old and not was_kind else "")
        for key, value in arguments.items():
            self.put("env_cfg", key, value, tr("from the old id"))

    # one setting ------------------------------------------------------------------------------------------

    def _setting(self, section: str, key: str, value: Any) -> None:
        """Rewrites one setting: as it is, by another name, in another section, or not at all."""
        if section == "algo_cfg" and self.algo is None:
            return self.put(section, key, value)
        model = self.models[section]
        name = model.field_name(key)
        if why := self._overruled(name, value):
            self.omit(NEEDLESS, section, key, value, why)
        elif name == "buffer_type" and not self._takes(name, value):  # an algorithm that is not ours, as off-policy PPO
            self.omit(LOST, section, key, value, tr("{algo} has no such memory", algo=self.name))
        elif name in model.model_fields:
            twice = sum(model.field_name(other) == name for other in self.old[section]) > 1  # doubled() says so
            put = self.put if twice else self._set
            put(section, name, self._value(section, name, value), _was(key) if name != key else "")
        elif row := joyrl.row_of(section, key) or (joyrl.SHARED.get(key) if section == "algo_cfg" else None):
            self._row(section, key, value, row)
        elif owner := next((other for other in self.models if key in self.models[other].spellings()), None):
            name = self.models[owner].field_name(key)
            if name in self.scope.written(owner):
                return self.omit(NEEDLESS, section, key, value, tr("{section} has it", section=owner))
            self._set(owner, name, self._value(owner, name, value), tr("was under {section}", section=section))
        elif section == "env_cfg":
            self.put(section, key, value)
        elif algos := self.find_algo.with_setting(key, most=3):
            why = tr("a setting of {algos}; {algo} has none", algos=algos, algo=self.name)
            self.omit(UNREAD, section, key, value, why)
        else:
            self.omit(LOST, section, key, value, tr("no counterpart"))

    def _overruled(self, name: str, value: Any) -> str:
        """Returns why a setting does nothing in this file; empty if it does something."""
        if name == "max_episode" and self.algo and self.algo.OFFLINE:
            return tr("the run learns from data alone; max_update is its limit")
        if name == "max_episode" and "test_eps" in self.old["general_cfg"] and joyrl.is_test(self.scope):
            return tr("test_eps is the number of test episodes")
        if name == "device" and value == joyrl.CUSTOM:
            return tr("{key} decides", key="learner_device")
        if name == "render_mode" and any(self.old[part].get("render") is False for part in ("general_cfg", "env_cfg")):
            return tr("{key} decides", key="render: false")
        key, values = joyrl.OVERRULED.get(name, ("", ()))
        return tr("{key} decides", key=key) if str(self.old["algo_cfg"].get(key)).lower() in values else ""

    def _row(self, section: str, key: str, value: Any, row: Row) -> None:
        """Rewrites a key of JoyRL by its row."""
        try:
            meaning = row.meaning(value, self.scope)
        except NoCounterpartError as error:
            return self.refuse(section, key, value, tr("got {value}; {reason}", value=shown(value), reason=error))
        except LookupError:
            if self.find_algo.with_setting(*(name for _, name in row.paths())):
                return self.omit(UNREAD, section, key, value, tr("{algo} has no such setting", algo=self.name))
            return self.omit(LOST, section, key, value, tr("here: {reason}", reason=row.remark or row.needless))
        if not meaning.settings:
            return self.omit(NEEDLESS, section, key, value, meaning.remark)
        return self._move(section, key, value, meaning)

    def _move(self, section: str, key: str, value: Any, meaning: Meaning) -> None:
        for path, setting in meaning.settings.items():
            owner, _, name = path.partition(".")
            old = key if setting == value else f"{key}: {value}"
            under = tr("was {name}, under {section}", name=old, section=section)
            self._set(owner, name, setting, _was(old) if owner == section else under)

    def _set(self, owner: str, name: str, setting: Any, comment: str) -> None:
        """Puts what the setting at hand means, unless another one has given it another value."""
        if self.new[owner].get(name, setting) == setting:
            return self.put(owner, name, setting, comment)
        section, key = self._at or (owner, name)
        why = tr("sets {name}, which has another value already; keep one", name=name)
        if key == name:
            origin = self.comments.get((owner, name), tr("as written"))
            why = tr("has another value already ({origin}); keep one", origin=origin)
        return self.refuse(section, key, self.old[section].get(key), why)

    def _takes(self, name: str, value: Any) -> bool:
        """Returns True if the algorithm's setting has this value, or any."""
        field = self.algo.model_fields.get(name) if self.algo else None
        choices = get_args(field.annotation) if field else ()
        return not choices or str(value).upper() in choices

    def _value(self, section: str, name: str, value: Any) -> Any:
        """Returns a setting's value in its present form."""
        if name == "epsilon_decay" and (steps := steps_of_factor(value)):
            self.comments[section, name] = tr("was {value} per step; this is its time constant in steps", value=value)
            return steps
        if name == "device" and value == "cuda":
            self.comments[section, name] = tr("was cuda; auto is cuda where there is a GPU")
            return "auto"
        if name.endswith("_layers"):
            return self._list(section, name, value)
        if name == "mode" and value in ("predict", "collect"):
            self.comments[section, "mode"] = _was(value)
            if value == "collect" and "collect_traj" not in self.old[section]:
                self.put(section, "collect_traj", True, tr("added: mode was collect"))
            return "test"
        if name == "mp_backend" and value == "mp":
            self.comments[section, name] = _was("mp")
            return "single"
        return value

    # networks ---------------------------------------------------------------------------------------------

    def _list(self, section: str, name: str, value: Any) -> Any:
        """Returns a list of layers in its present form; null for one without layers, which means the default."""
        layers = _layers(value) or None
        if layers != value and layers != _respelled(value):
            self.comments[section, name] = (
                tr("was {name} with sizes of inputs and outputs", name=name) if layers else tr("was empty")
            )
        return layers

    def _networks(self) -> None:
        """Rewrites the networks of 0.6: branches whose outputs are joined and go through merge layers. Without
        independ_actor, actor and critic share them."""
        old = self.old["algo_cfg"]
        if self.algo is None:
            return
        apart = {"actor_layers", "critic_layers"} <= set(self.algo.model_fields)
        written = any(name in old for name in (*joyrl.NETWORKS, "actor_layers", "critic_layers"))
        if apart and not written and old.get("independ_actor") is False:
            del old["independ_actor"]
            self._at = ("algo_cfg", "independ_actor")
            for name in ("actor_layers", "critic_layers"):
                layers = self.algo.model_fields[name].get_default(call_default_factory=True)
                shared = [_named(layer.model_dump(exclude_none=True), n) for n, layer in enumerate(layers, start=1)]
                self.put("algo_cfg", name, shared, _was("independ_actor: false"))
        independent = old.get("independ_actor", self.name not in joyrl.SHARES_BY_DEFAULT)
        common = bool(old.get("branch_layers") or old.get("merge_layers"))
        if apart and common and not independent:
            self._shared()
        for prefix in ("actor_", "critic_", ""):
            self._network(prefix)

    def _shared(self) -> None:
        """Rewrites layers that actor and critic share, with one learning rate."""
        old = self.old["algo_cfg"]
        for key in ("actor_branch_layers", "actor_merge_layers", "critic_branch_layers", "critic_merge_layers"):
            if key in old:
                self.omit(UNREAD, "algo_cfg", key, old.pop(key), tr("actor and critic share branch_layers"))
        old.pop("independ_actor", None)
        if "lr" in old:
            rate = old.pop("lr")
            self._at = ("algo_cfg", "lr")
            for key in ("actor_lr", "critic_lr"):
                if key in old:
                    self.omit(UNREAD, "algo_cfg", key, old.pop(key), tr("lr is that of the shared layers"))
                self.put("algo_cfg", key, rate, _was("lr"))
        self._network("", shared=True)

    def _network(self, prefix: str, shared: bool = False) -> None:
        old = self.old["algo_cfg"]
        lists = [name for name in (f"{prefix}branch_layers", f"{prefix}merge_layers") if name in old]
        if not lists or self.algo is None:
            return
        self._at = ("algo_cfg", lists[0])
        first = old[lists[0]]
        if wrong := [name for name in lists if not _is_network(old[name])]:
            for name in wrong:
                expected = tr("a list of layers, or of branches {name: NAME, layers: LAYERS}")
                why = tr("got {value}; expected {kind}{end}", value=shown(old[name]), kind=expected, end="")
                self.refuse("algo_cfg", name, old[name], why)
            for name in lists:
                del old[name]
            return
        branches = self._observed(prefix, _branches(old.pop(f"{prefix}branch_layers", None)))
        merged = _layers(old.pop(f"{prefix}merge_layers", None))
        targets = [f"{prefix}layers"] if prefix else ["value_layers", "actor_layers", "critic_layers"]
        targets = [name for name in targets if name in self.algo.model_fields and name not in self.new["algo_cfg"]]
        if len(branches) > 1 and "branches" in self.algo.model_fields:
            self.put("algo_cfg", "branches", dict(branches), _was(lists[0]))
            layers = merged
        else:
            layers = [layer for _, branch in branches for layer in branch] + merged
        if shared:
            layers = [_named(layer, number) for number, layer in enumerate(layers, start=1)]
        names = tr(" and ").join(lists)
        why = _was(names)
        if shared:
            why = tr("was {names}, shared by actor and critic", names=names)
        for name in targets:
            self.put("algo_cfg", name, layers, why)
        if not targets:
            self.omit(UNREAD, "algo_cfg", lists[0], first, tr("{algo} has no such network", algo=self.name))

    def _observed(self, prefix: str, branches: Iterator[Branch]) -> list[Branch]:
        """Returns the branches of observations; a critic's branch of the action ends, since the action joins them."""
        observed = []
        for name, layers in branches:
            if not (prefix == "critic_" and name.lower().startswith("action")):
                observed.append((name, layers))
            elif layers:
                why = tr("the action joins the observation before the critic's last layers")
                self.omit(UNREAD, "algo_cfg", "critic_branch_layers", name, why)
        return observed

    # the whole file ---------------------------------------------------------------------------------------

    def _processes(self) -> None:
        """Gives several workers what JoyRL gave them: processes under Ray, otherwise environments in one process."""
        general, count = self.new["general_cfg"], self.new["general_cfg"].get("n_workers") or 1
        if count == 1 or "ray" in (general.get("mp_backend"), self.stronger.sections["general_cfg"].get("mp_backend")):
            return
        if "n_interactors" in self.old["general_cfg"] and not general.get("mp_backend"):
            self.put("general_cfg", "mp_backend", "ray", tr("added: n_interactors were Ray processes"))
        else:
            self._at = ("general_cfg", "n_workers")
            del general["n_workers"]
            self.comments.pop(("general_cfg", "n_workers"), None)
            self._set("env_cfg", "n_envs", count, tr("was n_workers, stepped in one process"))

    def _wrappers(self) -> None:
        env = self.new["env_cfg"]
        if not env.get("wrappers"):
            return
        self._at = ("env_cfg", "wrappers")
        entries = env["wrappers"] if isinstance(env["wrappers"], list) else [env["wrappers"]]
        remaining, dropped = joyrl.without_identity(entries)
        for name in dropped:
            self.omit(NEEDLESS, "env_cfg", "wrappers", name, tr("changes nothing here"))
        if any(joyrl.wrapper_name(entry) == "AtariWrapper" for entry in remaining):
            remaining = [entry for entry in remaining if joyrl.wrapper_name(entry) != "AtariWrapper"]
            self.put("env_cfg", "vectorization", "native", _was("AtariWrapper"))
            old = str(env.get("id"))
            if (present := self.find_env.get("gym").present_name(old)) != old:
                self.put("env_cfg", "id", present, _was(old))
        env["wrappers"] = [_wrapper(entry) for entry in remaining]
        if env["wrappers"] != remaining:
            self.comments["env_cfg", "wrappers"] = _was(", ".join(map(joyrl.wrapper_name, remaining)))
        if not remaining:
            del env["wrappers"]


ENDS = ("n_states", "n_actions")
"""Sizes that JoyRL's first versions wrote for the numbers of inputs and outputs of a network."""


def _is_network(value: Any) -> bool:
    """Returns True for a list of layers, or of branches with layers."""
    if not isinstance(value, list | NoneType):
        return False
    parts = [part for part in value or [] if isinstance(part, dict)]
    lists = [part["layers"] for part in parts if "layers" in part]
    return len(parts) == len(value or []) and all(isinstance(layers, list | NoneType) for layers in lists)


def _branches(value: Any) -> Iterator[Branch]:
    """Yields name and layers of each branch; a plain list of layers is one branch."""
    items = value if isinstance(value, list) else [value] if value else []
    named = [item for item in items if isinstance(item, dict) and "layers" in item]
    if not named and items:
        yield "observation", _layers(items)
    for number, item in enumerate(named, start=1):
        name = item.get("name") or item.get("feature_name") or f"feature_{number}"
        yield str(name), _layers(item["layers"])


def _layers(value: Any) -> list[Settings]:
    """Returns the layers of a list in their present form."""
    layers = [layer for old in (value if isinstance(value, list) else []) if (layer := _layer(old))]
    sizes = [size for layer in layers if isinstance(layer.get("layer_size"), list) for size in layer["layer_size"]]
    return list(_outputs(layers)) if set(ENDS).intersection(map(str, sizes)) else layers


def _outputs(layers: list[Settings]) -> Iterator[Settings]:
    """Yields layers whose sizes are [inputs, outputs] with their outputs alone; the last one is made by itself."""
    for layer in layers:
        *_, outputs = layer["layer_size"] if isinstance(layer.get("layer_size"), list) else [None]
        if outputs not in ENDS:
            yield layer if outputs is None else {**layer, "layer_size": [outputs]}


def _layer(old: Any) -> Settings | None:
    """Returns a layer in its present form; None for one that does nothing."""
    if not isinstance(old, dict):
        return None
    kind = str(old.get("layer_type", "linear")).lower()
    if kind in ("none", "input"):
        return None
    layer = {"layer_size" if key == "layer_dim" else key: value for key, value in old.items()}
    if kind == "pooling" and layer.get("padding") in (0, [0], [0, 0]):
        del layer["padding"]
    if kind == "norm":
        return {"layer_type": "layernorm"}
    if kind in ("embed", "flatten", "pooling"):
        layer.pop("activation", None)  # JoyRL does not read it there
    return {**layer, "layer_type": kind}


def _respelled(value: Any) -> Any:
    """Returns a list of layers with only its keys in their present form."""
    return [_layer(layer) for layer in value] if isinstance(value, list) else value


def _named(layer: Settings, number: int) -> Settings:
    """Returns a layer that actor and critic share, if it has weights."""
    return layer if layer["layer_type"] in _WITHOUT_WEIGHTS else {**layer, "shared": f"trunk_{number}"}


_WITHOUT_WEIGHTS = ("pooling", "flatten", "dropout")


def _wrapper(entry: Any) -> Any:
    """Returns a wrapper by its present name and settings."""
    name = joyrl.wrapper_name(entry)
    settings = {key: value for key, value in entry.items() if key != "wrapper_name"} if isinstance(entry, dict) else {}
    name = joyrl.WRAPPERS.get(name, name)
    if name == "FrameStack" and "num_stack" in settings:
        settings["stack_size"] = settings.pop("num_stack")
    if name == "ResizeObservation" and isinstance(settings.get("shape"), int):
        settings["shape"] = [settings["shape"]] * 2
    return {"wrapper_name": name, **settings} if settings else name


# ---------------------------------------------------------------------------------------------- conversion of a file


def converted(file: OldFile) -> str:
    """Returns the settings of a file of JoyRL. Keys without a counterpart become comments at the top."""
    value, path = file.document.value, file.path
    if not isinstance(value, dict):
        raise ConversionError(
            tr(
                "{path}: got {value}; expected the sections {sections}",
                path=path,
                value=shown(value),
                sections=", ".join(SECTIONS),
            )
        )
    if not any(name in value for name in SECTIONS):
        message = tr("has none of the sections {sections}: it is not a file of JoyRL", sections=", ".join(SECTIONS))
        raise ConversionError(f"{path}: {message}{foreign_names.origin(value, path)}")
    if wrong := [name for name in SECTIONS if not isinstance(value.get(name) or {}, dict)]:
        raise ConversionError(
            *(tr("{path}: {name}: expected lines of the form name: value", path=path, name=name) for name in wrong)
        )
    work = Rewriting(sources.from_document(file.document, written=True), file.find_algo, file.find_env).run()
    if work.new["general_cfg"].get("load_checkpoint") is not True and policies.SECTION not in value:
        for key, usual in work.defaults().sections.get("algo_cfg", {}).items():
            work.put("algo_cfg", key, usual, DEFAULT)
    if work.algo is None:
        work.omit(LOST, "general_cfg", "algo_name", work.name, tr("there is no such algorithm here"))
    for key in value:
        if key not in (*SECTIONS, policies.SECTION):
            work.omit(LOST, "", str(key), value[key], tr("the sections are {sections}", sections=", ".join(SECTIONS)))
    omitted = {kind: [_line(part) for part in work.omitted if part.kind == kind] for kind in (LOST, NEEDLESS, UNREAD)}
    comments = {".".join(place): comment for place, comment in work.comments.items()}
    return new_file(work.new, comments, omitted, {key: value[key] for key in value if key == policies.SECTION})


def _line(part: Omission) -> str:
    path = f"{part.section}.{part.key}".lstrip(".")
    return _with(f"{path}: {shown(part.value, named=False)}", part.why)
