"""The preset of a run: which one is meant, what of it counts, and what it promises."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from config.config import GeneralConfig
from config.model import policies
from config.model.policies import PolicyConfig
from config.read import presets, sources
from config.read.opening import named
from config.read.source_stack import SourceStack
from config.read.yaml_reader import Document, Place, read
from config.tell.language import tr


class PresetChoice:
    """The preset that stands below the other sources."""

    def __init__(self, stack: SourceStack, root: Path) -> None:
        self.stack, self.root = stack, root
        self.used: Path | None = None
        """File of the preset; None without one."""
        self.promises = True
        """False if the policies are not those for which the preset promises a return."""

    def add(self, by_itself: bool) -> Document | None:
        """Puts the preset that is asked for below all other sources, and returns it; where there is none for the
        algorithm, the settings of its RUN. by_itself: auto means default."""
        self.used = self._asked_preset(by_itself)
        if self.used is None:
            return None
        document = read(self.used, named)
        preset = sources.from_document(document, written=False)
        env = self._with_id()
        folder_is_id = "id" in env and presets.named(self.used, str(env["id"]))
        if folder_is_id and self._is_for_kind(self.used):  # its folder may be another spelling
            env["id"] = preset.sections.get("env_cfg", {}).get("id", env["id"])
        self.stack.sources.insert(0, preset)
        self._leave_out_policies(preset)
        return document

    def _leave_out_policies(self, preset: sources.Source) -> None:
        """Drops the policies of a preset if the user writes others: two sets of policies would share the agents."""
        theirs = preset.policy_names()
        ours = dict.fromkeys(name for source in self.stack.sources[1:] for name in source.policy_names())
        if theirs and set(ours) - set(theirs):
            preset.drop_policies()
            self.promises = False
            self.stack.notes.append(
                tr(
                    "the policies of the preset ({theirs}) are not used, since policies with other names are written: "
                    "{ours}",
                    theirs=", ".join(theirs),
                    ours=", ".join(ours),
                )
            )
        else:
            self._leave_out_settings(preset)

    def _leave_out_settings(self, preset: sources.Source) -> None:
        """Drops the settings that a preset gives to the algorithm of a policy which has another one now."""
        usual = preset.sections.get("general_cfg", {}).get("algo_name") or self.stack.general("algo_name")
        for section in [*preset.sections]:
            theirs = preset.sections[section].get("algo_name") or usual
            if not policies.name_of(section) or self.stack.find("algo_name", theirs) == self.stack.find(
                "algo_name", self.stack.algo_of(section)
            ):
                continue
            dropped = [key for key in preset.sections[section] if key not in PolicyConfig.model_fields]
            for key in dropped:
                del preset.sections[section][key], preset.places[section].parts[key]
            self.promises = False
            if dropped:
                self.stack.notes.append(
                    tr(
                        "settings of the preset for {section} are not used, since they are for {algo}: {settings}",
                        section=section,
                        algo=theirs,
                        settings=", ".join(dropped),
                    )
                )

    def _preset_word(self) -> str:
        """Returns general_cfg.preset as it is written; none for null."""
        values, _ = sources.merge(self.stack.sources, "general_cfg", GeneralConfig)
        word = values.get("preset", "auto")
        return word if isinstance(word, str) else "none"  # anything but text and null is reported later

    def _asked_preset(self, by_itself: bool) -> Path | None:
        """Returns the preset that is asked for; reports a name that leads to none, or to one of another algorithm."""
        name = self._preset_word()
        word = name.lower()
        fresh = self.stack.general("load_checkpoint") is not True
        if word == "none" or (word == "auto" and not (by_itself and fresh)):
            return None
        if word in ("auto", "default"):
            fault, path = "", self._nearest_preset(say=True)
        else:
            fault, path = self._named_preset(name)
            self.stack.notes.append(tr("preset: {path}", path=path))
        if word != "auto" and not fresh:
            fault = tr("a run that is loaded has its own settings; leave it out")
        if fault:
            self.stack.report("general_cfg", "preset", fault)
        elif path is None:
            self._put_run()
        return None if fault else path

    def _put_run(self) -> None:
        """Puts the settings of a run of the algorithm below all other sources."""
        package, _ = self.stack.find("algo_name", self.stack.general("algo_name"))
        if package is None:
            return
        source = sources.Source(written=False)
        for section, settings in package.Config.RUN.items():
            place = tr("default run of {algo}", algo=package.NAME)
            for key, value in settings.items():
                source.put(section, key, value, Place(place, f"{section}.{key}"))
        self.stack.sources.insert(0, source)

    def _named_preset(self, name: str) -> tuple[str, Path | None]:
        """Returns what is wrong with the name of a preset, and its file."""
        path = presets.by_name(name, self.root)
        if path is None:
            return presets.unknown(name, self.root), None
        values, _ = sources.merge(self.stack.sources, "general_cfg", GeneralConfig)
        general = _settings(path, "general_cfg")
        theirs = str(general.get("algo_name") or path.stem)
        ours = str(values.get("algo_name") or theirs)
        if self.stack.same("algo_name", theirs, ours):
            return "", path
        package, _ = self.stack.find("algo_name", ours)
        if package and any(self.stack.same("algo_name", theirs, parent) for parent in _parents(package)):
            self.promises = False
            return "", path
        return tr("{path} is for {theirs}, and algo_name is {ours}", path=path, theirs=theirs, ours=ours), path

    def _nearest_preset(self, say: bool = False) -> Path | None:
        """Returns the preset for the algorithm and the environment that are written. say: note which one it is."""
        algo = str(self.stack.general("algo_name"))
        package, _ = self.stack.find("algo_name", algo)
        kind, _ = self.stack.find("env_name", str(self.stack.general("env_name")))
        env = str(self._with_id().get("id") or getattr(kind and kind.Config(), "id", ""))
        family_name = kind.present_name(env) if kind and hasattr(kind, "present_name") else env
        name = package.NAME if package else algo
        path = self._of_variant(name, env) or presets.find(name, family_name, self.root, self._is_for_kind)
        run = package.Config.RUN if package else {}
        self.stack.notes += presets.notes(path, algo, family_name, run, self.root) if say else ()
        if say and path is None and package and "." in algo:
            self._note_of_parents(package, family_name)
        return path

    def _of_variant(self, algo: str, env: str) -> Path | None:
        """Returns the preset for an environment with settings that are written, in a folder ENV-VARIANT: that of
        FrozenLake-v1 is for slippery ice, and is_slippery: false is another task. None if there is none."""
        written = {
            key: value for source in self.stack.sources for key, value in source.sections.get("env_cfg", {}).items()
        }
        for path in presets.of_variants(algo, env, self.root):
            theirs = _settings(path, "env_cfg")
            task = {key: value for key, value in theirs.items() if key not in ("id", *presets.NOT_THE_TASK)}
            if task and theirs.get("id") == env and all(written.get(key) == value for key, value in task.items()):
                return path if self._is_for_kind(path) else None
        return None

    def _note_of_parents(self, package: ModuleType, env: str) -> None:
        """Notes the preset of the algorithm that one of the user's own inherits its settings from: without it the two
        are compared with different settings."""
        for parent in _parents(package):
            if path := presets.find(parent, env, self.root, self._is_for_kind):
                name = f"{path.parent.name}/{path.stem}"
                self.stack.notes.append(
                    tr(
                        "{parent} has a preset for it: general_cfg.preset={name} begins with that",
                        parent=parent,
                        name=name,
                    )
                )
                return

    def _is_for_kind(self, preset: Path) -> bool:
        """Returns True if a preset is for the kind of environment that is written, or none is written."""
        if not self.stack.writes("general_cfg", "env_name"):
            return True
        general = _settings(preset, "general_cfg")
        theirs = general.get("env_name", GeneralConfig.model_fields["env_name"].default)
        return self.stack.same("env_name", theirs, self.stack.general("env_name"))

    def _with_id(self) -> dict[str, Any]:
        """Returns the strongest section env_cfg that names the environment; an empty one if none does."""
        parts = [source.sections.get("env_cfg", {}) for source in reversed(self.stack.sources)]
        return next((part for part in parts if "id" in part), {})

    def id_written(self) -> str:
        """Returns the environment that is written; empty if none is."""
        env_id = self._with_id().get("id")
        return env_id if isinstance(env_id, str) else ""

    def note_absence(self, document: Document | None, path: str) -> None:
        """Notes the sections that a file lacks, and the preset of one that leaves all that it sets in algo_cfg at the
        Python defaults. A run that is loaded has settings of its own."""
        if document and (missing := next(filter(lambda source: source.written, self.stack.sources)).missing()):
            loaded, sections = self.stack.general("load_checkpoint") is True, ", ".join(missing)
            self.stack.notes.append(
                tr(
                    "{path} sets nothing under {sections}: the settings of the run are used",
                    path=path,
                    sections=sections,
                )
                if loaded
                else tr("{path} sets nothing under {sections}: the defaults are used", path=path, sections=sections)
            )
        fresh = self.stack.general("mode") == "train" and self.stack.general("load_checkpoint") is not True
        if self._preset_word().lower() != "auto" or self.stack.policy_names() or not fresh:
            return
        if (preset := self._nearest_preset()) is not None:
            keys = {key for source in self.stack.sources for key in source.sections.get("algo_cfg", {})}
            unused = _settings(preset, "algo_cfg")
            if unused and not keys & set(unused):
                self.stack.notes.append(
                    tr("there is a preset, {preset}; general_cfg.preset: default takes it", preset=preset)
                )

    def promised(self, document: Document | None, preset: Document | None) -> float | None:
        """Returns the return that the first line of the file, or of the preset, promises for this environment."""
        candidates = [(source, used) for source, used in ((document, None), (preset, self.used)) if source is not None]
        fitting = [source for source, used in candidates if self.promises and self.same_task(source, used)]
        promises = [presets.promised_return(source.comment) for source in fitting]
        return next((promise for promise in promises if promise is not None), None)

    def same_task(self, document: Document, preset: Path | None) -> bool:
        """Returns False if the command line makes the environment another one than that of the document."""
        sections = sources.from_document(document, written=False).sections
        settings = sections.get("env_cfg", {})
        if self.stack.general("eval_env") != sections.get("general_cfg", {}).get("eval_env", {}):
            return False
        return not any("env_config" in source.foreign for source in self.stack.sources) and all(
            key in presets.NOT_THE_TASK
            or settings.get(key) == value
            or (key == "id" and preset is not None and presets.named(preset, str(value)))
            for source in self.stack.sources
            if source.written
            for key, value in source.sections.get("env_cfg", {}).items()
        )


def _parents(package: ModuleType) -> Iterator[str]:
    """Yields the algorithms whose settings those of an algorithm inherit from, the nearest first."""
    for base in package.Config.__mro__:  # the class itself may be that of another algorithm
        parent = sys.modules.get(base.__module__.rpartition(".")[0])
        if parent is not None and parent is not package and (name := getattr(parent, "NAME", "")):
            yield name


def _settings(preset: Path, section: str) -> dict[str, Any]:
    """Returns the settings of a section in a preset."""
    return sources.from_document(read(preset, named), written=False).sections.get(section, {})
