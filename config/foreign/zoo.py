"""Rewrites an entry of a file of rl-baselines3-zoo as a file of ours: python main.py convert ppo.yml --env ID."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from config.config import GeneralConfig
from config.foreign import sb3
from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.dialect import NEEDLESS, ConversionError, OldFile, new_file
from config.foreign.names import algorithm_instead
from config.foreign.sb3 import entries
from config.foreign.sb3_values import Entry, keywords, number, unsaid
from config.model import SECTIONS
from config.program import PROGRAM
from config.read.finder import Finder
from config.read.sources import Source
from config.read.yaml_reader import Document, Place
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import did_you_mean, printable

Words = dict[str, Any]
LOST = tr("Not converted, since there is no counterpart here:")
FAMILIES = ("default", "atari")
"""Entries for environments that have none of their own."""
_KIND = "gym"
_EXPANDED = ("policy_kwargs", "replay_buffer_kwargs")
"""Words whose parts are words too."""
_SEEN = {
    "CartPole": [0, 2], "MountainCar": [0], "MountainCarContinuous": [0], "Pendulum": [0, 1],
    "LunarLander": [0, 1, 4, 6, 7], "LunarLanderContinuous": [0, 1, 4, 6, 7],
}  # fmt: skip
"""Environment that exists as NAMENoVel too -> the parts of its observation other than velocities."""


def understands(document: Document) -> bool:
    """Returns True for hyperparameters of rl-baselines3-zoo."""
    value = document.value
    return isinstance(value, dict) and bool(entries(value)) and not set(SECTIONS) & set(value)


def converted(file: OldFile) -> str:
    """Returns the text of the new file: for the algorithm of the flag, by default from the file's name, and the
    environment whose entry is wanted."""
    document = file.document
    if document.duplicates:
        raise ConversionError(*document.duplicates)
    kind = file.find_env.get(_KIND)
    name, entry = _entry(document, file.env, kind)
    package = _algorithm(document.place, file.algo, entry, file.find_algo)
    work = _Conversion(package, kind, {**entry, "env": file.env or name}, name)
    work.run()
    return work.text()


def _entry(document: Document, env: str | None, kind: ModuleType) -> tuple[str, Words]:
    """Returns the entry of an environment and its name, or that of its family."""
    value = document.value
    listed = [name for name in value if name not in FAMILIES]
    if env is None and len(listed) == 1:
        env = listed[0]
    if env is None:
        file, names = document.place.file, ", ".join(listed[:8])
        if len(listed) > 8:
            names = tr("{names} and others", names=names)
        command = f"{PROGRAM} convert {file} --env {(listed or ['CartPole-v1'])[0]} > NEW.yaml"
        raise ConversionError(
            tr(
                "{file}: has hyperparameters for {count} environments ({names}); name one: {command}",
                file=file,
                count=len(listed),
                names=names,
                command=command,
            )
        )
    current = kind.current_id(kind.present_name(env))
    same = [name for name in listed if name == env or kind.current_id(kind.present_name(name)) == current]
    family = "atari" if current.startswith("ALE/") else "default"
    name = next(iter(sorted(same, key=lambda name: name != env)), family if kind.knows(current) else "")
    if name not in value:
        near = did_you_mean(env, listed) or tr("; it has {names}", names=", ".join(listed))
        raise ConversionError(
            tr("{file}: has no hyperparameters for {env}{near}", file=document.place.file, env=env, near=near)
        )
    return name, dict(value[name])


def _algorithm(place: Place, algo: str | None, entry: Words, find_algo: Finder) -> ModuleType:
    """Returns the package of the algorithm: the one of the flag, of the entry, or of the file's name."""
    stem = Path(place.file).stem
    name = algo or str(entry.pop("model_class", None) or stem)
    try:
        return find_algo.get(name)
    except LookupError:
        why = algorithm_instead(name) or did_you_mean(name, find_algo.available()).removeprefix(tr("; "))
        where = "--algo" if algo else tr("{file}: it looks like hyperparameters of rl-baselines3-zoo", file=place.file)
        advice = why or tr("name one with --algo ({command} shows all)", command=f"{PROGRAM} list algos")
        raise ConversionError(
            tr(
                "{place}: {name!r} is not the name of an algorithm here; {advice}",
                place=where,
                name=name,
                advice=advice,
            )
        ) from None


class _Conversion:
    """The settings that an entry means, and a comment for each that is not spelled or valued as there."""

    def __init__(self, package: ModuleType, kind: ModuleType, entry: Words, name: str) -> None:
        self.package, self.kind, self.entry, self.name = package, kind, entry, name
        self.comments: dict[str, str] = {}
        self.omitted: dict[str, list[str]] = {LOST: [], NEEDLESS: []}
        self.source = Source(written=True)
        self.models = {"general_cfg": GeneralConfig, "algo_cfg": package.Config, "env_cfg": kind.Config}

    def run(self) -> None:
        self.put({"general_cfg.algo_name": self.package.NAME}, "")
        self._environment(str(self.entry.pop("env")))
        self._expand()
        defaults = self._defaults()
        scope = Entry(self.models, [self.source], theirs={**defaults, **self.entry})
        for word in [*sb3.WORDS, *(word for word in self.entry if word not in sb3.WORDS)]:
            if word in scope.theirs:
                self._word(word, scope.theirs[word], scope, word in self.entry)
        self.put(unsaid(self.package.NAME, scope.theirs), tr("as in Stable-Baselines3"))

    def put(self, settings: Mapping[str, Any], comment: str) -> None:
        """Adds settings; the comment goes to the first of them."""
        for path, value in settings.items():
            section, _, key = path.partition(".")
            before = self.source.sections.get(section, {}).get(key)
            more = before if isinstance(before, list) and key == "wrappers" else []
            self.source.put(section, key, [*more, *value] if more else value, Place("", path))
        if comment and settings:
            self.comments[next(iter(settings))] = comment

    def _environment(self, env: str) -> None:
        """Puts the environment's present name; one without velocities is the usual one with a wrapper."""
        stem, hidden, version = env.partition("NoVel-")
        seen = _SEEN.get(stem) if hidden else None
        now = self.kind.current_id(self.kind.present_name(f"{stem}-{version}" if seen else env))
        self.put({"env_cfg.id": now}, tr("was {name}", name=env) if now != env else "")
        if seen:
            self.put(
                {"env_cfg.wrappers": [{"wrapper_name": "SelectObservation", "indices": seen}]}, tr("no velocities")
            )

    def _expand(self) -> None:
        """Puts the parts of keyword arguments beside the words of the entry."""
        self.entry = {word: _plain(value) for word, value in self.entry.items() if value is not None}
        for word in _EXPANDED:
            if word in self.entry:
                try:
                    self.entry |= keywords(self.entry.pop(word) or {})
                except NoCounterpartError as reason:
                    self.omit(LOST, word, "...", str(reason))

    def _defaults(self) -> Words:
        """Returns the defaults of Stable-Baselines3 for what the entry leaves out."""
        name = self.package.NAME.removesuffix("_HER")
        defaults = dict(sb3.defaults().get(name, {}))
        if str(self.entry.get("policy")).startswith("Cnn"):
            defaults["net_arch"] = sb3.defaults()["of images"].get(name, [])
        return {word: value for word, value in defaults.items() if word not in self.entry}

    def _word(self, word: str, value: Any, scope: Entry, written: bool) -> None:
        """Converts one word of the entry, or of the defaults."""
        row = sb3.WORDS.get(word)
        try:
            if row is None:
                raise NoCounterpartError("it is not a word of theirs that is known here")
            meaning = row.meaning(value, scope)
        except NoCounterpartError as reason:
            self.omit(LOST, word, value, str(reason))
        except LookupError:
            self.omit(LOST, word, value, tr("{algo} has no such setting", algo=self.package.NAME))
        else:
            self._put_meaning(word, value, meaning, written)

    def _put_meaning(self, word: str, value: Any, meaning: Meaning, written: bool) -> None:
        """Puts what a word means. A default that is the default here too needs no line."""
        settings = meaning.settings
        if not written:
            settings = {path: other for path, other in settings.items() if not self._usual(path, other)}
            self.put(settings, ": ".join(filter(None, (tr("default of Stable-Baselines3"), meaning.remark))))
        elif settings:
            self.put(settings, self._comment(word, value, meaning))
        elif meaning.remark:
            self.omit(NEEDLESS, word, value, meaning.remark)

    def _usual(self, path: str, value: Any) -> bool:
        section, _, key = path.partition(".")
        default = self.models[section].model_fields[key].default
        plain = [layer.model_dump(mode="json") for layer in default] if isinstance(default, list) else default
        return bool(plain == value)

    def _comment(self, word: str, value: Any, meaning: Meaning) -> str:
        """Returns what a setting was: nothing if name and value are the same."""
        path, ours = next(iter(meaning.settings.items()))
        if path.partition(".")[2] == word and ours == value:
            return meaning.remark
        plain = not isinstance(ours, list) and not isinstance(value, list | dict)
        source = f"{word}: {_shown(value)}" if ours != value and plain else word
        if meaning.remark.startswith(word):
            source = meaning.remark
        elif meaning.remark:
            source = tr("{name} ({remark})", name=source, remark=meaning.remark)
        return tr("was {name}", name=source)

    def omit(self, heading: str, word: str, value: Any, why: str) -> None:
        """Notes a word that the new file does not have."""
        self.omitted[heading].append(tr("{name} ({remark})", name=f"{word}: {_shown(value)}", remark=why))

    def text(self) -> str:
        """Returns the new file."""
        first = tr(
            "Hyperparameters of rl-baselines3-zoo for {algo}, entry {entry}.",
            algo=self.package.NAME,
            entry=printable(self.name),
        )
        return f"# {first}\n" + new_file(self.source.sections, self.comments, self.omitted)


def _plain(value: Any) -> Any:
    """Returns a value with a number in place of a text such as 1e6."""
    return number(value) if isinstance(value, float | str) else value


def _shown(value: Any) -> str:
    return shown(value, named=False).strip("'")
