"""Checks of sections: each by itself, with its environment, and between general_cfg and the algorithms."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from config.config import GeneralConfig
from config.foreign import names as foreign_names
from config.model.fields import Strict
from config.own import objects as own
from config.own import packages
from config.read import presets, sources
from config.read.preset_choice import PresetChoice
from config.read.source_stack import SourceStack
from config.tell.error_text import faults
from config.tell.language import tr
from config.tell.names import did_you_mean, nearest

OF_BOTH = ("id", "n_envs", "vectorization", "action_mask", "render_mode")
"""Settings of env_cfg that evaluations have from training."""


class Checks:
    """Checks of what is written. All problems are reported."""

    def __init__(self, stack: SourceStack, task: Path | None, preset: PresetChoice) -> None:
        """task: directory of the run that is loaded."""
        self.stack, self.task, self.preset = stack, task, preset

    def sections(self, kind: ModuleType | None) -> dict[str, Any]:
        """Returns the validated sections; None for one with problems. kind: package of the environment."""
        built = {name: self._section(name) for name in self.stack.models}
        if kind and built.get("env_cfg"):
            self._environment(kind, built["env_cfg"])
        if built.get("general_cfg"):
            self._across(built["general_cfg"], built.get("algo_cfg"))
        return built

    def evaluation(self, kind: ModuleType | None, changes: Mapping[str, Any]) -> Any:
        """Returns env_cfg of evaluations, or None. Reports problems of what differs from training. kind: package of the
        environment; changes: general_cfg.eval_env."""
        model, place = self.stack.models["env_cfg"], self.stack.merged("general_cfg")[1].parts["eval_env"]
        for key in filter(OF_BOTH.__contains__, changes):
            self.stack.report("general_cfg", f"eval_env.{key}", tr("is that of training; leave it out"))
        changes = {key: value for key, value in changes.items() if key not in OF_BOTH}
        try:
            env = model.model_validate({**self.stack.merged("env_cfg")[0], **changes})
        except ValidationError as error:
            wrong = faults(error, model, place, lambda key: self.stack.hint("env_cfg", key))
            self.stack.problems += [fault.sentence for fault in wrong]
            return None
        forbidden = [(key, why) for key, name in env.own() if (why := self._forbids(name))]
        checked = kind.check(env) if kind and hasattr(kind, "check") and not forbidden else ()
        for key, message, *_ in (*forbidden, *env.checks(), *checked):
            if re.split(r"\W", key)[0] in changes:
                self.stack.report("general_cfg", f"eval_env.{key}", message)
        return env

    def _section(self, section: str) -> Any:
        """Returns the validated section, or None. Reports the contradictions in the settings that can be read."""
        model = self.stack.models[section]
        for source in self.stack.sources:
            self.stack.problems += sources.doubled(source, section, model)
        values, place = self.stack.merged(section)
        try:
            instance = model.model_validate(values)
        except ValidationError as error:
            errors = faults(error, model, place, lambda key: self.stack.hint(section, key))
            self.stack.problems += [fault.sentence for fault in errors if fault.sentence not in self.stack.problems]
            wrong = {fault.key for fault in errors}
            self._contradictions(section, {key: value for key, value in values.items() if key not in wrong}, wrong)
            return None
        self._contradictions(section, values, set())
        return instance

    def _contradictions(self, section: str, values: dict[str, Any], wrong: set[str]) -> None:
        """Reports problems between the settings that can be read, except those that a wrong one may have caused."""
        model = self.stack.models[section]
        try:
            instance = model.model_validate({**model.STAND_INS, **values})
        except ValidationError:
            return
        if not self._may_import(section, instance):
            return
        doubtful = wrong | {near for key in wrong if (near := nearest(key, model.model_fields))}
        for key, message, depends_on in instance.checks():
            if not doubtful & {key, *depends_on}:
                self.stack.report(section, key, message, depends_on)

    def _may_import(self, section: str, instance: Strict) -> bool:
        """Reports code of the user's own that may not be imported; returns True if there is none."""
        own_parts = dict.fromkeys((key, self._forbids(name)) for key, name in instance.own())
        forbidden = [(key, why) for key, why in own_parts if why]
        for key, why in forbidden:
            self.stack.report(section, key, why)
        return not forbidden

    def _forbids(self, name: str) -> str | None:
        """Returns why a class or function of the user's own may not be imported; None if it may."""
        return packages.forbidden(name, self.stack.allow, self.task)

    def _environment(self, package: ModuleType, env: Any) -> None:
        """Reports what the environment itself finds wrong with its section, unless its code may not be imported."""
        if hasattr(package, "check") and not any(self._forbids(name) for _, name in env.own()):
            for key, message, *_ in package.check(env):
                unknown = message.startswith(own.UNKNOWN + tr("; "))
                if unknown and (theirs := self.stack.foreign_name(key, "env_cfg")):
                    message = own.UNKNOWN + theirs
                if key == "id" and (renamed := foreign_names.environment_here(env.id)):
                    message = tr("{env} is {name}", env=env.id, name=renamed)
                if key == "id" and not (self.preset.used and presets.named(self.preset.used, env.id)):
                    message += presets.elsewhere(env.id, package, self.stack.finders["env_name"], self.preset.root)
                self.stack.report("env_cfg", key, message)

    def _across(self, general: GeneralConfig, algo: Any) -> None:
        """Reports problems between general_cfg and the algorithms."""
        names = self.stack.policy_names().values()
        if general.score_policy is not None and general.score_policy not in names:
            listed = tr("; policies: {names}", names=", ".join(names) or tr("none"))
            hint = did_you_mean(general.score_policy, names) or listed
            self.stack.report("general_cfg", "score_policy", tr("names no policy of policies_cfg{hint}", hint=hint))
        if algo is not None and general.mode == "train":
            self._offline(general, algo.offline_updates_of())
        if algo is not None and not names and general.mode == "train" and not algo.LEARNS:
            self.stack.report("general_cfg", "algo_name", tr("does not learn; it is for an opponent in policies_cfg"))

    def _offline(self, general: GeneralConfig, updates: int) -> None:
        """Reports limits that count what a run collects, in a run that only learns from given data, and one that ends
        a run before it collects. updates: from the data alone; -1: all of them."""
        if 0 < general.max_update <= updates:
            message = tr(
                "{limit:,} updates are over before the run collects: algo_cfg.offline_updates is {updates:,}; set a "
                "higher max_update, or limit the run by max_total_step or max_episode alone",
                limit=general.max_update,
                updates=updates,
            )
            self.stack.report("general_cfg", "max_update", message)
        if updates >= 0:
            return
        merged, _ = sources.merge(self.stack.sources, "general_cfg", GeneralConfig)
        for key in ("max_episode", "max_total_step"):
            if merged.get(key) is not None and getattr(general, key) > 0:
                message = tr(
                    "counts what is collected, and this run learns from algo_cfg.data alone; set max_update, or "
                    "algo_cfg.offline_updates for how long it does so"
                )
                self.stack.report("general_cfg", key, message)

    # sections ---------------------------------------------------------------------------------------------
