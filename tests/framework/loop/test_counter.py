"""What is counted while a run trains, and how far it has come by its limits."""

import pytest

from config.config import GeneralConfig
from config.model.course import RunLength
from framework.loop.counter import Counter
from framework.loop.curriculum import Phases


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({"max_total_step": 400, "max_episode": -1}, 0.25),
        ({"max_total_step": 400, "max_episode": 10}, 0.3),  # the nearest limit
        ({"max_episode": -1, "max_update": 50}, 0.4),
        ({"max_episode": -1, "max_iteration": 4, "iteration_steps": 50}, 0.5),
        ({"max_episode": 2}, 1.0),  # episodes of several rows may be more than were planned
        ({"max_episode": -1, "max_time": 10.0}, 0.0),  # never by the clock
    ],
)
def test_the_share_of_a_run_is_that_of_its_nearest_limit(limits: dict[str, float], share: float) -> None:
    assert GeneralConfig(**limits).share(step=100, episode=3, update=20) == pytest.approx(share)


def test_schedules_follow_what_was_accepted_and_learned() -> None:
    counter = Counter(RunLength(steps=400, iteration_steps=-1, episodes=-1, updates=-1), Phases(None))
    counter.accepted(steps=60, episodes=2)
    counter.learned(updates=5)
    counter.accepted(steps=40, episodes=1)
    assert counter.progress() == (100, 3, 5, 0.25, 0)
