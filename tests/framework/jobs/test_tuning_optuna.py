"""Searches by Optuna: seeded, in batches, and told in the order of the trials."""

import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from config.read import tuning
from config.read.loader import ConfigError
from config.read.search_space import Domain
from framework.catalog import ALGOS, ENVS
from framework.jobs import job
from framework.jobs.optuna_search import OptunaSearch, importance
from framework.jobs.search import Outcome, RandomSearch, Search, Settings
from framework.jobs.tuning_plan import RunPlan
from tests.tools.tuning import GENERAL, forking, run, table, written

__all__ = ["forking"]

LR = Domain("algo_cfg.lr", ("algo_cfg", "lr"), "log", (1e-5, 1.0), "here")
GAMMA = Domain("algo_cfg.gamma", ("algo_cfg", "gamma"), "uniform", (0.0, 1.0), "here")
STEPS = Domain("algo_cfg.n_step", ("algo_cfg", "n_step"), "int", (1, 5), "here")
KIND = Domain("algo_cfg.kind", ("algo_cfg", "kind"), "choice", ("a", [1, 2], None), "here")


def bowl(settings: Settings) -> float:
    """Highest, 0, at lr = 1e-3 and gamma = 0.3."""
    lr, gamma, *_ = settings
    return -((math.log10(lr) + 3) ** 2) - (3 * (gamma - 0.3)) ** 2


def optuna_search(kind: str = "tpe", samples: int = 24, **changes: Any) -> OptunaSearch:
    pytest.importorskip("optuna")
    if kind == "cmaes":
        pytest.importorskip("cmaes")
    chosen: dict[str, Any] = {"domains": (LR, GAMMA), "batch": 6, "mode": "max", "seed": 3, **changes}
    valid = chosen.pop("valid", lambda settings: True)
    return OptunaSearch(search=kind, samples=samples, valid=valid, **chosen)


def outcomes(batch: Sequence[Settings], score: Callable[[Settings], float | None]) -> list[Outcome]:
    return [Outcome(settings, score(settings), 1, True) for settings in batch]


def all_of(search: Search, score: Callable[[Settings], float | None] = bowl) -> list[list[Settings]]:
    """The batches of a search on a function."""
    found = []
    while batch := search.ask():
        found.append(batch)
        search.tell(outcomes(batch, score))
    return found


@pytest.mark.parametrize("kind", ["tpe", "qmc", "cmaes"])
def test_the_same_seed_and_scores_give_the_same_trials_also_if_they_are_told_again(kind: str) -> None:
    whole = all_of(optuna_search(kind))
    assert [len(batch) for batch in whole] == [6, 6, 6, 6]
    assert all_of(optuna_search(kind)) == whole
    assert all_of(optuna_search(kind, seed=4)) != whole
    again = optuna_search(kind)
    for batch in whole[:2]:
        assert again.ask() == batch
        again.tell(outcomes(batch, bowl))
    assert [again.ask(), again.left] == [whole[2], 6]


@pytest.mark.parametrize("kind", ["tpe", "cmaes"])
def test_a_search_depends_on_the_scores_and_finds_better_points_than_chance(kind: str) -> None:
    best = {"optuna": [], "random": []}
    for seed in range(1, 6):
        searches = {"optuna": optuna_search(kind, 60, seed=seed), "random": RandomSearch((LR, GAMMA), 60, seed)}
        for name, search in searches.items():
            best[name].append(max(bowl(settings) for batch in all_of(search) for settings in batch))
    assert median(best["optuna"]) > median(best["random"]) / 2, "nearer to 0, the highest"
    assert all_of(optuna_search(kind), lambda s: -bowl(s)) != all_of(optuna_search(kind))


def test_a_lower_score_may_be_the_better_one() -> None:
    up, down = (
        all_of(optuna_search(mode=mode), lambda s, sign=sign: sign * bowl(s))
        for mode, sign in (("max", 1), ("min", -1))
    )
    assert up == down


def test_the_values_of_every_kind_of_domain_are_within_it() -> None:
    search = optuna_search("tpe", 30, domains=(LR, GAMMA, STEPS, KIND))
    found = [settings for batch in all_of(search) for settings in batch]
    assert {settings[2] for settings in found} == {1, 2, 3, 4, 5}
    assert [kind for kind in KIND.values if kind not in [settings[3] for settings in found]] == []
    assert all(1e-5 <= lr <= 1 and lr == float(f"{lr:.4g}") for lr, *_ in found)


def test_the_points_of_qmc_fill_the_space_from_the_first_batch_on() -> None:
    """16 points of a scrambled Sobol sequence: one in each sixteenth of each axis."""
    [batch] = all_of(optuna_search("qmc", 16, batch=16))
    assert sorted(int(16 * gamma) for _, gamma in batch) == list(range(16))
    assert sorted(int(16 * (math.log10(lr) + 5) / 5) for lr, _ in batch) == list(range(16))


def test_trials_that_failed_or_were_stopped_are_told_apart() -> None:
    search = optuna_search("tpe", 3, batch=3)
    one, two, three = search.ask()
    search.tell([Outcome(one, None, 0, False), Outcome(two, 1.0, 2, False), Outcome(three, 5.0, 3, True)])
    trials = search._study.trials
    assert [trial.state.name for trial in trials] == ["FAIL", "PRUNED", "COMPLETE"]
    assert trials[1].intermediate_values == {2: 1.0}
    assert trials[2].value == 5.0


def test_settings_of_a_later_batch_that_are_no_configuration_are_left_out() -> None:
    search = optuna_search("tpe", 24, valid=lambda settings: settings[1] < 0.5)
    first, *later = all_of(search)
    assert any(gamma >= 0.5 for _, gamma in first), "the first batch is reported as it is"
    assert all(gamma < 0.5 for batch in later for _, gamma in batch)
    assert 6 < sum(map(len, [first, *later])) < 24, "each of them is one of the samples"


def test_the_setting_that_matters_is_named_first() -> None:
    points = RandomSearch((LR, GAMMA, KIND), 64, 1).ask()
    pytest.importorskip("optuna")
    shares = importance((LR, GAMMA, KIND), [(each, -((each[1] - 0.3) ** 2)) for each in points], "max")
    assert next(iter(shares)) == "algo_cfg.gamma"
    assert shares["algo_cfg.gamma"] > 0.8
    assert sum(shares.values()) == pytest.approx(1)
    assert importance((LR,), [(each[:1], 1.0) for each in points], "max") == {}, "nothing matters"
    assert importance((LR,), [(each[:1], each[1]) for each in points[:7]], "max") == {}, "too few"


# ----------------------------------------------------------------------------------------------------- the file


def asked(search: str, algo: dict[str, Any], **settings: Any) -> tuning.Tuning:
    general = {"algo_name": "QLearning", "env_name": "toy", "max_total_step": 60}
    values = {"general_cfg": general, "env_cfg": {"id": "walk"}, "algo_cfg": algo}
    values["tune_cfg"] = {"search": search, "samples": 4, **settings}
    return tuning.from_values(values, {}, {}, find_algo=ALGOS, find_env=ENVS)


LOG, UNIFORM, GRID = {"log": [1e-3, 0.5]}, {"uniform": [0.9, 0.99]}, {"grid": [0.9, 0.99]}


@pytest.mark.parametrize(
    ("search", "algo", "settings", "message"),
    [
        (
            "tpe",
            {"lr": LOG, "gamma": GRID},
            {},
            "tpe draws all settings; write choice in the place of grid for algo_cfg",
        ),
        ("tpe", {"lr": LOG}, {"scheduler": "pbt"}, "pbt makes its own draws, and cannot train batches of tpe"),
        ("cmaes", {"lr": LOG}, {}, "cmaes moves at least two numbers (log, uniform or int), and there are 1; take tpe"),
        ("bayes", {"lr": LOG}, {}, "tune_cfg.search: got 'bayes'"),
    ],
)
def test_a_search_that_does_not_fit_is_refused(
    search: str, algo: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        asked(search, algo, **settings)
    assert message in str(caught.value)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError) as caught:
        RunPlan(asked("tpe", {"lr": LOG}))
    expected = 'tune_cfg.search: tpe needs the package optuna, which is not installed: pip install "optuna>=4.7"'
    assert list(caught.value.problems) == [f"Python: {expected}"]


def test_without_the_package_cmaes_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(ConfigError) as caught:
        RunPlan(asked("cmaes", {"lr": LOG, "gamma": UNIFORM}))
    assert 'pip install "optuna>=4.7" "cmaes>=0.12"' in str(caught.value)


def test_a_plan_takes_its_batches_from_the_search() -> None:
    pytest.importorskip("optuna")
    plan = RunPlan(asked("tpe", {"lr": LOG, "gamma": UNIFORM}, samples=20, batch=5))
    assert (len(plan.first), plan.runs) == (5, 20)
    assert plan.search.ask() == plan.first


# ------------------------------------------------------------------------------------------------------- trained


TPE = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{log: [1.0e-3, 0.5]}}, gamma: {{uniform: [0.5, 0.99]}}}}
tune_cfg: {{samples: 4, search: tpe, batch: 2, score: return_mean}}
"""


@pytest.mark.usefixtures("forking")
def test_the_trials_are_the_same_whatever_runs_at_once_and_after_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)
    written(TPE)
    assert run("tune", "--yaml", "tune.yaml", "--into", "one", "--jobs", "1") == 0
    assert run("tune", "--yaml", "tune.yaml", "--into", "two", "--jobs", "2") == 0
    rows = table("one")
    assert len({row["algo_cfg.lr"] for row in rows}) == 4
    assert table("two") == rows
    for path in [*Path("two/trials").glob("00[23]*")]:  # as if it had been killed after the first batch
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree("two/trials/001")
    assert run("tune", "--resume", "two") == 0
    assert table("two") == rows
