"""Values to try, draws, schedulers and scores of tuning, with numbers worked out by hand."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from config.read import search_space
from config.read.search_space import Domain
from config.read.tuning import TuneConfig
from config.read.yaml_reader import parse
from framework.archive.run import RecordedRun
from framework.archive.trials import Trial, TrialResult, combined
from framework.jobs import processes, results, schedulers, stages, tuner, tuning_plan
from framework.jobs.children import Child
from framework.jobs.schedulers import Course, Leg
from framework.jobs.search import RandomSearch, draw, within

# ------------------------------------------------------------------------------------------------ values to try


def test_values_to_try_are_found_wherever_they_stand_and_filled_in() -> None:
    document = parse(
        "algo_cfg:\n  lr: {log: [1e-4, 0.1]}\n  value_layers:\n"
        "    - {layer_type: linear, layer_size: {grid_search: [8, 16]}}\n"
        "policies_cfg: {car: {agents: car_0, gamma: {choice: [0.9, 0.99]}}}\n",
        "a.yaml",
    )
    faults: list[search_space.Fault] = []
    domains = list(search_space.domains_of(document.value, document.place, faults))
    assert not faults
    assert [(domain.path, domain.kind, domain.values, domain.place) for domain in domains] == [
        ("algo_cfg.lr", "log", (1e-4, 0.1), "a.yaml:2"),
        ("algo_cfg.value_layers[0].layer_size", "grid", (8, 16), "a.yaml:4"),
        ("policies_cfg.car.gamma", "choice", (0.9, 0.99), "a.yaml:5"),
    ]
    value = search_space.filled(document.value, domains, (0.01, 16, 0.9))
    assert value["algo_cfg"] == {"lr": 0.01, "value_layers": [{"layer_type": "linear", "layer_size": 16}]}
    assert value["policies_cfg"] == {"car": {"agents": "car_0", "gamma": 0.9}}
    assert document.value["algo_cfg"]["lr"] == {"log": [1e-4, 0.1]}, "the file stays as it is"


def test_leaves_from_python_are_those_of_a_file() -> None:
    assert search_space.log(1e-4, 1e-2) == {"log": [1e-4, 1e-2]}
    assert search_space.uniform(0, 1) == {"uniform": [0, 1]}
    assert search_space.integer(1, 9) == {"int": [1, 9]}
    assert search_space.grid(1, 2) == {"grid": [1, 2]}
    assert search_space.choice("a", "b") == {"choice": ["a", "b"]}


# -------------------------------------------------------------------------------------------------------- draws


def domain(kind: str, *values: Any, path: str = "algo_cfg.lr") -> Domain:
    return Domain(path, tuple(path.split(".")), kind, values, "a.yaml:1")


def test_a_draw_depends_on_its_trial_and_its_setting_alone() -> None:
    lr, gamma = domain("log", 1e-4, 1e-1), domain("uniform", 0.9, 1.0, path="algo_cfg.gamma")
    few, many = RandomSearch([lr], 3, seed=1).ask(), RandomSearch([lr], 5, seed=1).ask()
    assert many[:3] == few
    both = RandomSearch([gamma, lr], 3, seed=1).ask()
    assert [settings[1:] for settings in both] == few
    assert RandomSearch([lr], 3, seed=2).ask() != few
    other = lr._replace(path="algo_cfg.alpha_lr")
    assert all(one != two for one, two in RandomSearch([lr, other], 3, seed=1).ask()), "settings are independent"
    assert len(set(many)) == 5


def test_each_point_of_the_grids_is_drawn_for_so_often_as_samples_says() -> None:
    search = RandomSearch([domain("grid", "a", "b"), domain("int", 1, 1000), domain("grid", 5, 6, 7)], 2, seed=1)
    found = search.ask()
    assert [(first, last) for first, _, last in found[:6]] == [(a, b) for a in "ab" for b in (5, 6, 7)]
    assert len(found) == 12
    assert len({number for _, number, _ in found}) > 6, "samples differ"
    assert search.ask() == []


def test_draws_keep_to_their_bounds_and_follow_their_scale() -> None:
    random = np.random.default_rng(1)
    numbers = [draw(domain("int", 2, 4), random) for _ in range(200)]
    assert {type(number) for number in numbers} == {int}
    assert set(numbers) == {2, 3, 4}
    logs = [draw(domain("log", 1e-4, 1.0), random) for _ in range(400)]
    assert all(1e-4 <= value <= 1 for value in logs)
    assert np.mean(np.array(logs) < 1e-2) == pytest.approx(0.5, abs=0.08), "as many below the middle as above it"
    assert within(domain("uniform", 0.0, 1.0), 0.123456) == 0.1235
    assert within(domain("log", 1e-3, 1e-1), 0.2) == 0.1
    assert within(domain("int", 8, 64), 9.6) == 10
    assert set(draw(domain("choice", "x", None), random) for _ in range(40)) == {"x", None}


# --------------------------------------------------------------------------------------------------- schedulers


def follow(course: Course, scores: Mapping[str, list[float]]) -> list[list[Leg]]:
    """The legs of a course, in which trial `name` has its next score at each rung; one without scores fails."""
    rungs, left = [next(course)], {name: list(values) for name, values in scores.items()}
    while True:
        try:
            rungs.append(course.send({leg.trial.name: left[leg.trial.name].pop(0) for leg in rungs[-1]
                                      if left.get(leg.trial.name)}))  # fmt: skip
        except StopIteration:
            return rungs


def trials(count: int) -> list[Trial]:
    return [Trial(f"{number:03}", (float(number),)) for number in range(count)]


def test_halving_has_rungs_that_end_with_the_run_each_eta_times_the_one_before() -> None:
    assert schedulers.halving_counts(27, 3) == [27, 9, 3, 1]
    assert schedulers.halving_counts(8, 3) == [8, 2, 1]
    assert schedulers.halving_counts(1, 3) == [1]
    assert schedulers.halving_rungs(9, 3, None, 900) == [100, 300, None]
    assert schedulers.halving_rungs(9, 3, 50, 900) == [50, 100, None]
    assert schedulers.halving_rungs(4, 2, None, 1000) == [250, 500, None]
    assert schedulers.pbt_rungs(None, 1000) == [*range(100, 1000, 100), None]
    assert schedulers.pbt_rungs(400, 1000) == [400, 800, None]


def test_halving_goes_on_with_the_best_and_a_failure_takes_no_place() -> None:
    """Of nine, 1 has failed and 4 has no score; of equal ones the first goes on."""
    scores = {"000": [2.0], "002": [7.0, 1.0], "003": [9.0, 4.0, 0.0], "004": [math.nan], "005": [7.0, 5.0, 8.0],
              "006": [7.0], "007": [1.0], "008": [3.0]}  # fmt: skip
    rungs = follow(schedulers.halving(trials(9), [100, 300, None], 3, "max"), scores)
    assert [[leg.trial.name for leg in legs] for legs in rungs[1:]] == [["003", "002", "005"], ["005"]]
    assert [legs[0].until for legs in rungs] == [100, 300, None]
    rungs = follow(
        schedulers.halving(trials(3), [100, None], 3, "min"), {"000": [2.0], "001": [1.0, 1.0], "002": [3.0]}
    )
    assert [leg.trial.name for leg in rungs[1]] == ["001"], "a lower score is better"


def test_the_last_quarter_of_a_population_is_replaced_by_copies_from_the_first() -> None:
    def explore(settings: Any, random: np.random.Generator) -> Any:
        return (settings[0] + 100,)

    scores = {f"{number:03}": [float(number)] * 9 for number in range(8)} | {"000_2": [0.0] * 9, "001_2": [50.0] * 9}
    scores |= {"000_3": [0.0] * 9, "002_2": []}
    rungs = follow(schedulers.pbt(trials(8), [10, 20, None], explore, "max", seed=1), scores)
    copies = [leg.trial for leg in rungs[1]]
    assert [copy.name for copy in copies] == ["001_2", "000_2"], "of eight members two, each in its place"
    assert {copy.parent for copy in copies} <= {"006", "007"}
    assert all(copy.settings == (100.0 + int(copy.parent),) and copy.born == 10 for copy in copies)
    assert [leg.until for leg in rungs[1]] == [10, 10], "copies are made before anyone goes on"
    assert [leg.trial.name for leg in rungs[2]] == ["000_2", "001_2", *(f"{n:03}" for n in range(2, 8))]
    assert {leg.trial.name for leg in rungs[3]} == {"000_3", "002_2"}
    last = [leg.trial.name for leg in rungs[4]]
    assert last == ["000_3", "001_2", "003", "004", "005", "006", "007"], "002_2 has failed"


def test_a_copy_multiplies_settings_or_draws_them_anew_within_their_bounds() -> None:
    random, found = np.random.default_rng(1), []
    for _ in range(200):
        found.append(tuning_plan._explored(domain("log", 1e-3, 1e-1), 0.01, random))
    multiplied = [value for value in found if value in (0.008, 0.0125)]
    assert 120 < len(multiplied) < 180, "three of four"
    assert len(set(multiplied)) == 2
    assert tuning_plan._explored(domain("choice", "a"), "a", random) == "a"
    values = {tuning_plan._explored(domain("log", 1e-3, 1e-2), 0.01, random) for _ in range(9)}
    assert values >= {0.01}, "1.25 is beyond"


# ------------------------------------------------------------------------------------------------------- scores


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/eval.csv").write_text("step,mean\n100,2.0\n200,9.0\n300,5.0\n150,99.0\n")
    (tmp_path / "results/progress.csv").write_text("step,return_mean\n90,1.5\n180,\n270,4.0\n")
    pauses = {"120": {"step": 128, "mean": 3.0, "evaluations": 1}, "200": {"step": 200, "mean": 9.0, "evaluations": 2}}
    (tmp_path / "run.json").write_text(json.dumps({"finished": True, "step": 300, "update": 30, "pauses": pauses}))
    return tmp_path


def test_the_best_score_is_that_of_all_evaluations_those_at_earlier_pauses_among_them(task: Path) -> None:
    facts = json.loads((task / "run.json").read_text())
    facts["pauses"]["120"]["mean"] = 50.0
    (task / "run.json").write_text(json.dumps(facts))
    run = RecordedRun(task)
    assert [run.score_at(at, "best", "max") for at in (120, 200, None)] == [50.0, 50.0, 99.0]
    assert run.score_at(200, "evaluation", "max") == 9.0


def test_a_score_at_a_pause_does_not_depend_on_what_came_after_it(task: Path) -> None:
    """The last evaluation, of an earlier checkpoint, was made when the run ended."""
    run = RecordedRun(task)
    assert run.score_at(120, "evaluation", "max") == 3.0
    assert run.score_at(120, "best", "max") == 3.0
    assert run.score_at(120, "best", "min") == 2.0
    assert run.score_at(200, "best", "max") == 9.0
    assert run.score_at(120, "return_mean", "max") == 1.5
    assert run.score_at(200, "return_mean", "max") == 1.5, "an iteration without an episode has none"
    assert run.score_at(None, "return_mean", "max") == 4.0
    assert run.score_at(None, "evaluation", "max") == 99.0
    assert run.score_at(400, "return_mean", "max") == 4.0, "a run that has ended before counts with its end"
    assert run.score_at(None, "loss", "max") is None
    assert run.best_score("min") == 2.0


def test_the_newest_number_is_no_score_if_it_is_not_finite(task: Path) -> None:
    """A trial that diverges does not count with what it had before; an empty cell is no number."""
    (task / "results/progress.csv").write_text("step,loss,return_mean\n90,1.5,2.0\n180,nan,3.0\n270,,inf\n300,,\n")
    (task / "results/eval.csv").write_text("step,mean\n100,2.0\n200,nan\n")
    run = RecordedRun(task)
    assert [run.score_at(None, score, "max") for score in ("loss", "return_mean", "evaluation")] == [None, None, None]
    assert run.score_at(120, "loss", "max") == 1.5
    assert run.score_at(None, "best", "max") == 9.0


def test_a_stage_is_done_at_its_pause_or_at_the_end_of_the_run(task: Path) -> None:
    def done(until: int | None) -> bool:
        return stages.Stage("000", "000", task / "a.yaml", task, until).done()

    assert done(120)
    assert done(None)
    facts = json.loads((task / "run.json").read_text())
    (task / "run.json").write_text(json.dumps({**facts, "finished": False}))
    assert done(120)
    assert not done(150)
    assert not done(None)
    (task / "run.json").write_text("{torn")
    assert not done(120)


def test_seeds_are_combined_by_their_interquartile_mean_and_only_if_all_have_a_score() -> None:
    """Of four values the middle two count."""
    assert combined([1.0, 100.0, 3.0, 2.0]) == 2.5
    assert combined([1.0, None]) is None
    assert combined([]) is None


def test_the_table_has_a_column_for_each_setting_also_if_two_policies_have_one_of_the_same_name() -> None:
    row = TrialResult(Trial("000", (0.1, 0.2)), "finished", 1.0, 1.0, 9, 1.0, 0, Path("trials/000"), 1.0)
    head, *_, line = results.table_of_trials(["policies_cfg.a.lr", "policies_cfg.b.lr"], [row])[1:-1]
    assert {"policies_cfg.a.lr", "policies_cfg.b.lr"} <= {*head.split()}
    assert {"0.1", "0.2"} <= {*line.split()}


def test_sections_say_which_settings_nothing_reads() -> None:
    assert list(TuneConfig(rungs=5).unread()) == [("rungs", "scheduler is none")]
    assert list(TuneConfig(scheduler="halving", rungs=5, eta=2).unread()) == []
    assert list(TuneConfig(scheduler="asha", eta=2).unread()) == []


@pytest.mark.parametrize(("status", "signalled", "stopped"), [(1, False, False), (1, True, True), (143, False, True)])
def test_a_process_that_was_asked_to_stop_has_not_failed(
    status: int, signalled: bool, stopped: bool, tmp_path: Path
) -> None:
    """A signal may come before the process can answer it, and then it ends with a traceback."""
    child = Child(tmp_path / "errors.txt", status=status, signalled=signalled)
    ended = processes.end_of(stages.Stage("000", "000", tmp_path, tmp_path), child)
    assert ended.stopped == stopped
    assert bool(ended.complaint) == (not stopped)


def test_a_trial_of_which_several_seeds_fail_is_said_to_fail_once(tmp_path: Path) -> None:
    said: list[str] = []
    work = object.__new__(tuner.Tuner)
    work.records = {"000": tuner.TrialState(Trial("000", (0.1,)), None)}  # type: ignore[arg-type]
    work.failures, work.screen = {}, SimpleNamespace(say=lambda text, style: said.append(text))  # type: ignore[assignment]
    work.write = lambda more=None: None  # type: ignore[method-assign]
    for seed in (1, 2):
        stage = stages.Stage("000", f"000 seed {seed}", tmp_path, tmp_path / f"seed_{seed}", None)
        work.ended(processes.StageEnd(stage, seed, complaint=f"fault {seed}"))
    assert said == ["warning: trial 000 seed 1 failed with status 1 and is left out: fault 1"]
    assert work.failures == {"000": {"status": 1, "reason": "fault 1"}}


def test_the_reason_of_a_process_that_started_nothing_is_its_mistake(tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    errors.write_text(
        "config.yaml:3: env_cfg.id: there is no environment 'x'\nNothing was started. Fix the problem above.\n"
    )
    assert Child(errors, status=2).complaint() == "config.yaml:3: env_cfg.id: there is no environment 'x'"
