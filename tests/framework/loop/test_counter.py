"""What is counted while a run trains, and how far it has come by its limits."""

from pathlib import Path
from typing import Any

import pytest

import joystick
from config.config import GeneralConfig
from config.model.course import RunLength
from framework.collect.fragment import Episode
from framework.loop.counter import Counter
from framework.loop.curriculum import Phases
from framework.loop.iteration import Count, Iteration


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"max_total_step": 400, "max_episode": -1}, 0.25),
        ({"max_total_step": 400, "max_episode": 10}, 0.3),  # the nearest limit
        ({"max_episode": -1, "max_update": 50}, 0.4),
        ({"max_episode": -1, "max_iteration": 4}, 0.375),  # one, and half of the next
        ({"max_episode": 2}, 1.0),  # episodes of several rows may be more than were planned
        ({"max_episode": -1, "max_time": 10.0}, 0.0),  # never by the clock
    ],
)
def test_the_share_of_a_run_is_that_of_its_nearest_limit(limits: dict[str, float], share: float) -> None:
    assert GeneralConfig(**limits).length.share(100, 3, 20, iterations=1.5) == pytest.approx(share)


def test_schedules_follow_what_was_accepted_and_learned() -> None:
    counter = Counter(RunLength(steps=400, episodes=-1, updates=-1, iterations=-1), Phases(None))
    counter.accepted(steps=60, episodes=2)
    counter.learned(updates=5)
    counter.accepted(steps=40, episodes=1)
    assert counter.progress() == (100, 3, 5, 0.25, 0, False)


def test_a_number_with_the_name_of_a_policy_is_not_its_return() -> None:
    iteration = Iteration()
    metrics = {"prey": 3.0, "caught": 2.0, "return_prey": 1.0}
    iteration.episodes([Episode(0, 0, 0, 0, 1.0, 5, True, 5, metrics=metrics)])
    result = iteration.result(Count(5, 1, 0), 1.0, None, ("prey", "hunter"))
    assert {name: value for name, value in result["custom"].items() if "_" not in name} == {"prey": 3.0, "caught": 2.0}
    assert result["policies"]["prey"]["return_mean"] == 1.0


QUICK: dict[str, Any] = {"seed": 1, "device": "cpu", "save_fig": False, "online_eval": False}


def test_a_schedule_follows_whole_iterations_which_a_window_makes_longer(tmp_path: Path) -> None:
    """An iteration of at least 40 steps is a window of 64 of them, so that three are 192 steps and not 120. A window is
    learned with the rate at the start of its collection."""
    general = {**QUICK, "max_iteration": 3, "iteration_steps": 40, "max_episode": -1}
    algo = {"lr": {"linear": [0.3, 0.0]}, "batch_size": 64, "sgd_batch_size": 64, "k_epochs": 1}
    with joystick.Run("PPO", "CartPole-v1", into=tmp_path / "run", general_cfg=general, algo_cfg=algo) as run:
        results = [run.train() for _ in range(3)]
        assert [result["metrics"]["lr"] for result in results] == pytest.approx([0.3, 0.2, 0.1])
        assert results[-1]["done"]
        assert results[-1]["step"] == run.config.planned_steps == 192


def test_the_share_follows_iterations_of_any_length(tmp_path: Path) -> None:
    """A program may ask for iterations of other lengths than iteration_steps."""
    general = {**QUICK, "max_iteration": 2, "max_episode": -1, "iteration_steps": 1000}
    with joystick.Run("QLearning", "FrozenLake-v1", into=tmp_path / "run", general_cfg=general) as run:
        run.train(10)
        assert run._experiment.trainer.counter.progress().fraction == 0.5
        run.train(30)
        assert run._experiment.trainer.counter.progress().fraction == 1.0
