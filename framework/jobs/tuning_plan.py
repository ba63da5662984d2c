"""The plan of a tuning, checked before anything is created: trials, rungs, disk space."""

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from config.model.memory_spec import RolloutSpec
from config.read.loader import ConfigError, RunConfig
from config.read.search_space import LISTS, Domain
from config.read.tuning import TuneConfig, Tuning
from config.tell.language import tr
from config.tell.names import did_you_mean
from envs.base import EnvError
from framework.disk.task_dir import check_new
from framework.errors import JoystickError
from framework.jobs import schedulers
from framework.jobs.many_runs import Checked, beside_others, checked, refuse_loaded
from framework.jobs.schedulers import Course, Trial
from framework.jobs.search import RandomSearch, Search, Settings, draw, within
from framework.runs.resume import adjustable
from framework.screen.formatting import counted, tune_command
from framework.screen.stages import each

ANEW = 0.25
"""Probability that a copy draws a setting anew."""
FACTORS = (0.8, 1.25)
"""Factors of the settings of a copy that are not drawn anew."""
MOST_NOTES = 20
"""Number of notes that are shown; each trial may have one of its own."""
SCORES = ("evaluation", "best")
"""Scores that are no column of progress.csv."""


@dataclass(frozen=True)
class Ready:
    """The configuration of a trial, checked."""

    text: str
    """Content of its file."""
    seed: int
    """Seed of its first run."""
    config: RunConfig | None = None
    """None for a function of the user's own."""


class TuningPlan(ABC):
    """The search, the trials of its first batch, and the course of their training."""

    def __init__(self, domains: Sequence[Domain], cfg: TuneConfig) -> None:
        self.domains, self.cfg = tuple(domains), cfg
        self.search: Search = self.make_search()

    def make_search(self) -> Search:
        cfg = self.cfg
        if cfg.search == "random":
            return RandomSearch(self.domains, cfg.samples, cfg.seed)
        from framework.jobs.optuna_search import OptunaSearch

        where = self._where("search")
        return OptunaSearch(self.domains, cfg.search, cfg.samples, cfg.batch, cfg.mode, cfg.seed, self._is_valid, where)

    def _is_valid(self, settings: Settings) -> bool:
        with contextlib.suppress(ConfigError):
            return bool(self.ready(settings))
        return False

    def _where(self, key: str) -> str:
        """Returns where a setting of tune_cfg is written."""
        return "Python"

    @cached_property
    def first(self) -> list[Settings]:
        """Settings of the first trials."""
        return self.make_search().ask()

    @property
    def budget(self) -> int | None:
        """Environment steps of a run; None if they are not known."""
        return None

    @abstractmethod
    def ready(self, settings: Settings) -> Ready:
        """Returns what a trial is trained with. Raises ConfigError if that is not valid."""

    @abstractmethod
    def explore(self, settings: Settings, random: np.random.Generator) -> Settings:
        """Returns the settings of a copy of a trial."""

    @abstractmethod
    def resume_command(self, folder: Path) -> str:
        """Returns what continues the tuning in a folder."""

    @cached_property
    def rungs(self) -> list[int | None]:
        """Steps at which trials are compared; the last one is their end, None."""
        if self.cfg.halves:
            return schedulers.halving_rungs(len(self.first), self.cfg.eta, self.cfg.rungs, self.budget)
        if self.cfg.scheduler == "pbt" and self.budget is not None:
            return schedulers.pbt_rungs(self.cfg.rungs, self.budget)
        return [None]

    def course(self, trials: Sequence[Trial]) -> Course:
        """Returns the course of the training of some trials."""
        cfg = self.cfg
        if cfg.halves:
            return schedulers.halving(trials, self.rungs, cfg.eta, cfg.mode)
        if cfg.scheduler == "pbt":
            return schedulers.pbt(trials, self.rungs, self.explore, cfg.mode, cfg.seed)
        return schedulers.whole(trials)

    @property
    def runs(self) -> int:
        """Number of task directories of the whole tuning."""
        count = self.search.total
        copies = max(1, count // schedulers.QUARTER) * (len(self.rungs) - 1) if self.cfg.scheduler == "pbt" else 0
        return (count + copies) * self.cfg.seeds


class RunPlan(TuningPlan):
    """Trials are training runs."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        self._configs: dict[str, RunConfig] = {}
        super().__init__(tuning.domains, tuning.settings)

    def config(self, settings: Settings) -> RunConfig:
        """Returns the configuration of a trial. Raises ConfigError if it is not valid."""
        key = json.dumps(settings, default=repr)
        if key not in self._configs:
            self._configs[key] = beside_others(self.tuning.config(settings))
        return self._configs[key]

    def ready(self, settings: Settings) -> Ready:
        config = self.config(settings)
        return Ready(config.to_yaml(), config.general.seed, config)

    @property
    def budget(self) -> int | None:
        return self.config(self.first[0]).planned_steps

    def resume_command(self, folder: Path) -> str:
        words = [f"tune_cfg.ray_address={self.cfg.ray_address}"] if self.cfg.ray_address else []
        return " ".join([tune_command(folder, tuple(self.tuning.options.get("allow_import", ()))), *words])

    @property
    def notes(self) -> list[str]:
        """Remarks on how the configurations of the first trials were decided, each once."""
        of_trials = [note for settings in self.first for note in self.config(settings).notes]
        notes = list(dict.fromkeys([*self._of_rungs(), *self.tuning.notes, *of_trials]))
        more = len(notes) - MOST_NOTES
        return [*notes[:MOST_NOTES], *([tr("and {notes}", notes=counted(more, "other note"))] if more > 0 else [])]

    def _of_rungs(self) -> Iterator[str]:
        """Yields a remark if no update comes before the first comparison, for which trials have to go on."""
        until, batch = self.rungs[0], max(_batch(self.config(settings)) for settings in self.first)
        if until is not None and until < batch:
            yield tr(
                "trials are compared at step {step:,} first, and a batch has up to {batch:,} steps: they are trained "
                "to its end, since nothing is learned before; take a larger tune_cfg.rungs or a smaller batch_size",
                step=until,
                batch=batch,
            )

    # checks -----------------------------------------------------------------------------------------------

    def check(self, check: Callable[[RunConfig], None], begins: bool = True) -> list[Checked]:
        """Refuses, all problems at once, what any of the first trials would refuse. check: raises an error if algorithm
        and environment do not fit. begins: as in `checked`."""
        check_new(self.tuning.into, self.tuning.start)
        problems: dict[str, None] = {}
        results: list[Checked] = []
        for settings in each(tr("checking trials"), self.first, tr("trials")):
            try:
                config = self.config(settings)
                refuse_loaded(config, "tune")
                check(config)
                results.append(checked(config, begins))
            except ConfigError as error:
                problems |= dict.fromkeys(error.problems)
            except (JoystickError, EnvError) as error:
                named = zip(self.domains, settings, strict=True)
                problems[f"{', '.join(f'{domain.path}={json.dumps(value)}' for domain, value in named)}: {error}"] = (
                    None
                )
        of_score = self._score_problem(results)
        of_course = "" if problems else self._course_problem(with_score=not of_score)
        problems |= dict.fromkeys(filter(None, [of_score, of_course]))
        if problems:
            raise ConfigError(*problems)
        return results

    def _score_problem(self, checks: Sequence[Checked]) -> str:
        """Returns why trials cannot be compared by the score; empty if they can."""
        columns = set.intersection(*(set(check.columns) for check in checks)) if checks else None
        if self.cfg.score in SCORES or columns is None or self.cfg.score in columns:
            return ""
        hint = did_you_mean(self.cfg.score, [*SCORES, *columns]) or tr(
            "; known: {names}", names=", ".join(sorted({*SCORES, *columns}))
        )
        return tr(
            "{where}: tune_cfg.score: {score} is not a column of progress.csv{hint}",
            where=self._where("score"),
            score=self.cfg.score,
            hint=hint,
        )

    def _course_problem(self, with_score: bool) -> str:
        """Returns what keeps trials from being compared; empty if nothing does. with_score: False if there is no such
        score."""
        cfg = self.cfg
        if cfg.scheduler == "none":
            return ""
        scheduler, first = f"{self._where('scheduler')}: tune_cfg.scheduler", f"{self._where('rungs')}: tune_cfg.rungs"
        budgets = {self.config(settings).planned_steps for settings in self.first}
        if len(budgets) > 1:
            return tr(
                "{place}: trials are compared at the same step, so that all of them need the same limits",
                place=scheduler,
            )
        [steps] = budgets
        if steps is None and (cfg.rungs is None or cfg.scheduler == "pbt"):
            return tr(
                "{place}: {scheduler} compares trials at steps; limit them by general_cfg.max_total_step",
                place=scheduler,
                scheduler=cfg.scheduler,
            )
        *rungs, _ = self.rungs
        if cfg.scheduler == "pbt" and not rungs:
            return tr(
                "{place}: the first comparison would be at step {step}, and the run has {steps}; compare more often",
                place=first,
                step=cfg.rungs or 1,
                steps=steps,
            )
        if steps is not None and rungs and (rungs[-1] or 0) >= steps:
            return tr(
                "{place}: the last of {count} comparisons would be at step {step}, and the run has {steps}; "
                "compare more often",
                place=first,
                count=len(rungs),
                step=rungs[-1],
                steps=steps,
            )
        iteration = max(self.config(settings).general.iteration_steps for settings in self.first)
        if rungs and with_score and cfg.score not in SCORES and (rungs[0] or 0) < iteration:
            return tr(
                "{place}: {score} is known when an iteration has ended, after {iteration} steps, and the first "
                "comparison is at step {step}; set general_cfg.iteration_steps={step} or compare later",
                place=f"{self._where('score')}: tune_cfg.score",
                score=cfg.score,
                iteration=iteration,
                step=rungs[0],
            )
        if cfg.scheduler == "pbt" and not self._adjusted:
            changeable = sorted(adjustable(self.config(self.first[0]))["algo_cfg"])
            return tr(
                "{place}: pbt changes settings while it trains, and none of those that are tried may change then; "
                "of algo_cfg these may: {names}",
                place=scheduler,
                names=", ".join(changeable),
            )
        return ""

    def _where(self, key: str) -> str:
        return self.tuning.where(key)

    # copies -----------------------------------------------------------------------------------------------

    @cached_property
    def _adjusted(self) -> list[bool]:
        """For each domain whether its setting may change in a training that goes on; empty if none may."""
        config = self.config(self.first[0])
        allowed = adjustable(config) | {"general_cfg": set()}
        flags = []
        for place, domain in enumerate(self.domains):
            changed = self._of_section(domain, config) or self._that_differ(place)
            flags.append(bool(changed) and all(key in allowed[section] for section, key in changed))
        return flags if any(flags) else []

    def _of_section(self, domain: Domain, config: RunConfig) -> set[tuple[str, str]]:
        """Returns section and name of the setting that a domain is; empty for a word of another library."""
        models = config.sections()
        section = next((name for name in models if domain.path.startswith(f"{name}.")), None)
        if section is None:
            return set()
        # a value within a setting, such as algo_cfg.lr.linear[0], changes as the setting may
        key = re.split(r"[.[]", domain.path.removeprefix(f"{section}."))[0]
        return {(section, type(models[section]).field_name(key))}

    def _that_differ(self, place: int) -> set[tuple[str, str]]:
        """Returns section and name of the settings that are others with the last value of a domain than with the first
        one."""
        first, domain = list(self.first[0]), self.domains[place]
        try:
            one, other = (
                self.config((*first[:place], value, *first[place + 1 :])).sections()
                for value in (domain.values[0], domain.values[-1])
            )
        except ConfigError:
            return set()
        pairs = (
            (section, key, one[section], other[section]) for section in one for key in type(one[section]).model_fields
        )
        return {(section, key) for section, key, a, b in pairs if getattr(a, key) != getattr(b, key)}

    def explore(self, settings: Settings, random: np.random.Generator) -> Settings:
        """Returns the settings of a copy: those that may change are drawn anew, or multiplied. Keeps all of them if the
        result is not a valid configuration."""
        changed = tuple(
            _explored(domain, value, random) if may else value
            for domain, value, may in zip(self.domains, settings, self._adjusted, strict=True)
        )
        try:
            self.config(changed)
        except ConfigError:
            return settings
        return changed


def _explored(domain: Domain, value: Any, random: np.random.Generator) -> Any:
    anew, factor = random.random() < ANEW, FACTORS[random.integers(len(FACTORS))]
    if anew:
        return draw(domain, random)
    return value if domain.kind in LISTS else within(domain, value * factor)


def _batch(config: RunConfig) -> int:
    """Returns the environment steps of a window that is learned from at once; 0 if the run has none."""
    memory = None if config.policies else config.algo.memory(config.env.n_envs)
    if not isinstance(memory, RolloutSpec) or memory.unit != "steps":
        return 0
    return memory.length * config.env.n_envs
