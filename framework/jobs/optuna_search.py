"""Searches of the package Optuna, and the importance of settings that it estimates. Both are optional."""

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from config.model.fields import same
from config.read.loader import ConfigError
from config.read.search_space import LISTS, Domain
from config.tell.language import tr
from framework.archive.trials import TrialResult
from framework.jobs.search import Outcome, Settings, within
from framework.pages.tuning_page import Importance

OLDEST = (4, 7)
INSTALL = 'pip install "optuna>=4.7"'
INSTALL_CMAES = f'{INSTALL} "cmaes>=0.12"'
TOP = 0.25
"""Share of the trials whose settings are compared with the settings of all."""
LEAST_TRIALS = 8
"""Number of trials below which a quarter of them tells nothing."""


def package(place: str) -> ModuleType:
    """Returns the package optuna. Raises ConfigError if it is missing or too old. place: who needs it."""
    try:
        import optuna
    except ImportError as error:
        raise ConfigError(
            "{place} needs the package {name}, which is not installed: {install}",
            place=place,
            name=error.name,
            install=INSTALL,
        ) from None
    version: str = optuna.__version__
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise ConfigError(
            "{place}: Optuna {version} is too old: {install}", place=place, version=version, install=INSTALL
        )
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class OptunaSearch:
    """Asks Optuna for trials, batch by batch. It is told the scores of a batch before it chooses the next one, so that
    nothing depends on which trial ends first."""

    def __init__(
        self,
        domains: Sequence[Domain],
        search: str,
        samples: int,
        batch: int,
        mode: str,
        seed: int,
        valid: Callable[[Settings], bool],
        where: str = "",
    ) -> None:
        """valid: False for settings that are no configuration; where: place of tune_cfg.search, in messages."""
        self.domains, self.batch, self.left, self.valid = domains, batch, samples, valid
        self.total = samples
        optuna = package(f"{where}: tune_cfg.search: {search}".lstrip(": "))
        self._states = optuna.trial.TrialState
        self._space = {domain.path: _distribution(optuna, domain) for domain in domains}
        with _quiet():
            sampler = _sampler(optuna, search, seed, where)
            self._study = optuna.create_study(sampler=sampler, direction=f"{mode}imize")
            if search == "qmc":  # takes the space of its sequence from a trial before
                first = {path: _lowest(distribution) for path, distribution in self._space.items()}
                self._study.add_trial(self._trial(optuna, first))
        self._asked: list[Any] = []
        self._begun = False

    def _trial(self, optuna: ModuleType, params: Mapping[str, Any]) -> Any:
        return optuna.trial.create_trial(state=self._states.PRUNED, params=params, distributions=self._space)

    def ask(self) -> list[Settings]:
        """Returns the next batch. Of later batches, settings that are no configuration count as failed at once; those
        of the first one are reported before anything starts."""
        batch: list[Settings] = []
        while self.left and len(batch) < self.batch:
            self.left -= 1
            with _quiet():
                trial = self._study.ask(self._space)
            settings = tuple(_value(domain, trial.params[domain.path]) for domain in self.domains)
            if self._begun and not self.valid(settings):
                self._study.tell(trial, state=self._states.FAIL)
                continue
            self._asked.append(trial)
            batch.append(settings)
        self._begun = True
        return batch

    def tell(self, results: Sequence[Outcome]) -> None:
        """Takes the outcome of each trial of the last batch, in its order. A trial that a scheduler has not trained to
        the end ranks below those that it has, and by how far it came."""
        for trial, result in zip(self._asked, results, strict=True):
            if result.score is None:
                self._study.tell(trial, state=self._states.FAIL)
            elif result.last:
                self._study.tell(trial, result.score)
            else:
                trial.report(result.score, result.legs)
                self._study.tell(trial, state=self._states.PRUNED)
        self._asked.clear()


def _sampler(optuna: ModuleType, search: str, seed: int, where: str) -> Any:
    if search == "tpe":  # constant_liar: trials of a batch keep away from each other
        return optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    if search == "qmc":
        return optuna.samplers.QMCSampler(seed=seed, scramble=True, warn_independent_sampling=False)
    try:
        import cmaes  # noqa: F401 (Optuna imports it when it is first needed)
    except ImportError:
        raise ConfigError(
            "{where}: tune_cfg.search: cmaes needs the package cmaes, which is not installed: {install}",
            where=where,
            install=INSTALL_CMAES,
        ) from None
    return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)


def _distribution(optuna: ModuleType, domain: Domain) -> Any:
    kinds, low, high = optuna.distributions, domain.values[0], domain.values[-1]
    if domain.kind in LISTS:  # by place: values may be of any type
        return kinds.CategoricalDistribution(range(len(domain.values)))
    if domain.kind == "int":
        return kinds.IntDistribution(low, high)
    return kinds.FloatDistribution(low, high, log=domain.kind == "log")


def _lowest(distribution: Any) -> Any:
    return getattr(distribution, "low", 0)


def _value(domain: Domain, drawn: Any) -> Any:
    """Returns the setting for a number that Optuna has drawn."""
    return domain.values[drawn] if domain.kind in LISTS else within(domain, drawn)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses the warnings that a feature of Optuna is experimental."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --------------------------------------------------------------------------------------------------- importance


def importance(domains: Sequence[Domain], trials: Sequence[tuple[Settings, float]], mode: str) -> dict[str, float]:
    """Returns for each setting the share that it has in being among the best quarter of the trials (PED-ANOVA); the
    largest first. Empty if there are too few trials. trials: settings and finite scores."""
    if len(trials) < LEAST_TRIALS or len({score for _, score in trials}) == 1:
        return {}
    optuna = package(tr("the importance of settings"))
    space = {domain.path: _distribution(optuna, domain) for domain in domains}
    study = optuna.create_study(direction=f"{mode}imize")
    for settings, score in trials:
        params = {domain.path: _number(domain, value) for domain, value in zip(domains, settings, strict=True)}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=score))
    with _quiet():
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=TOP)
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {path: share for path, share in shares.items() if math.isfinite(share)}


def importance_of(domains: Sequence[Domain], rows: Sequence[TrialResult]) -> Importance:
    """Returns what settings matter. rows: best first."""
    scored = [row for row in rows if row.score is not None and row.state != "failed"]
    if len({row.score for row in scored}) == 1:
        return Importance()
    # ranks instead of scores: those of different rungs cannot be compared
    ranks = [(row.trial.settings, -float(place)) for place, row in enumerate(scored)]
    try:
        return Importance(importance(domains, ranks, "max"), len(scored))
    except ConfigError as error:
        return Importance(remark=error.problems[0])


def _number(domain: Domain, value: Any) -> Any:
    """Returns what Optuna would have drawn for a setting."""
    if domain.kind not in LISTS:
        return value
    return next(place for place, choice in enumerate(domain.values) if same(choice, value))
