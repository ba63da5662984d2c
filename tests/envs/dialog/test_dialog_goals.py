"""Goals of simulated users: what they can be, how often, and their text."""

from typing import Any

import numpy as np
import pytest

from envs.dialog.config import Config
from envs.dialog.database import BUNDLED, load
from envs.dialog.goal import Goal, sample
from envs.dialog.ontology import BOOKING_VALUES, DOMAINS, IDS


def drawn(count: int, env_id: str = "full", **settings: Any) -> list[Goal]:
    rng, cfg = np.random.default_rng(0), Config(id=env_id, **settings)
    database = load(BUNDLED, IDS[env_id])
    return [sample(database, rng, cfg) for _ in range(count)]


def test_every_goal_can_be_met_and_asks_for_something_in_each_domain() -> None:
    database = load(BUNDLED, IDS["full"])
    for goal in drawn(300):
        for name, part in goal.parts.items():
            assert part.requests or part.booking
            assert set(part.requests) <= set(DOMAINS[name].requestable) - set(part.constraints)
            if name == "taxi":
                assert part.requests == ["car type", "phone"]
                assert part.constraints["departure"] != part.constraints["destination"]
                continue
            assert database.tables[name].match(part.constraints)
            if part.unsatisfiable:
                assert not database.tables[name].match(part.unsatisfiable)
                assert len(part.unsatisfiable.items() - part.constraints.items()) == 1
            for slot, value in (part.booking or {}).items():
                assert value in BOOKING_VALUES[slot]


def test_the_numbers_of_a_goal_follow_their_settings() -> None:
    goals = drawn(400, "town", p_domains=[0, 0, 1], p_name=1.0, p_book=1.0)
    assert {len(goal.parts) for goal in goals} == {3}
    assert all(set(goal.parts["hotel"].constraints) == {"name"} for goal in goals if "hotel" in goal.parts)
    assert all(goal.parts["hotel"].booking for goal in goals if "hotel" in goal.parts)
    sizes = [len(goal.parts["hotel"].constraints) for goal in drawn(400, "town", p_name=0.0, max_constraints=2)
             if "hotel" in goal.parts]  # fmt: skip
    assert set(sizes) == {1, 2}
    assert abs(np.mean([len(goal.parts) for goal in drawn(1000)]) - 1.8) < 0.15, "some are drawn again"


def test_coupled_goals_have_the_same_people_and_day() -> None:
    both = [goal for goal in drawn(400, "town", couple=True, p_book=1.0) if {"hotel", "restaurant"} <= set(goal.parts)]
    assert both
    for goal in both:
        hotel, restaurant = goal.parts["hotel"].booking, goal.parts["restaurant"].booking
        assert hotel is not None
        assert restaurant is not None
        assert all(hotel[slot] == restaurant[slot] for slot in ("people", "day"))


def test_a_goal_survives_json_and_can_be_read() -> None:
    for goal in drawn(50):
        assert Goal.from_json(goal.to_json()) == goal
    goal = Goal.from_json({"hotel": {"constraints": {"parking": "no"}, "requests": ["phone"]}})
    assert str(goal) == "You look for a hotel with parking no. You want to know: phone."
    first = Goal.from_json({"hotel": {"constraints": {"area": "north"}, "unsatisfiable": {"area": "west"}}})
    assert str(first) == (
        "You look for a hotel with area north. "
        "At first you ask for one with area west; there is none, and you give way."
    )


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"hotels": {}}, "no domain 'hotels'"),
        ({"hotel": {"wishes": {}}}, "has wishes; it can have: constraints"),
        ({"hotel": {"constraints": {"food": "thai"}}}, "'food' is not possible in constraints of hotel"),
        ({"hotel": {"booking": {"people": "2"}}}, "needs all of: people, day, stay"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(goal: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Goal.from_json(goal)
