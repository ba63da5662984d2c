"""The judge of dialogues: numbers that can be computed by hand."""

from pathlib import Path
from typing import Any

import pytest

from envs.dialog.acts import UNKNOWN, Act, Booking
from envs.dialog.database import load
from envs.dialog.dialog import DialogEnv
from envs.dialog.evaluator import METRICS, Evaluator
from envs.dialog.goal import Goal
from envs.dialog.ontology import IDS
from tests.tools.dialog import of_town, opened, say, write_town

BOOKING = {"people": "2", "day": "monday", "time": "11:30"}
ASKS = {"restaurant": {"constraints": {"food": "thai"}, "requests": ["phone", "area"]}}
BOOKS = {"restaurant": {"constraints": {"food": "thai", "area": "north"}, "booking": BOOKING}}
UNANSWERABLE = {"restaurant": {"constraints": {"food": "greek"}, "requests": ["postcode"]}}
TRAIN = {
    "train": {
        "constraints": {"departure": "aldmere", "destination": "carrow", "day": "monday", "leaveAt": "10:00"},
        "requests": ["trainID", "arriveBy"],
    }
}


def judged(folder: Path, goal: dict[str, Any], *acts: Act, reason: str = "complete") -> dict[str, float | None]:
    tables = load(Path(write_town(folder)), tuple(name for name in IDS["full"] if name != "taxi")).tables
    judge = Evaluator(Goal.from_json(goal), tables)
    judge.note(acts)
    return judge.report(reason, 1)


def inform(slot: str, value: Any, name: str = "restaurant") -> Act:
    return Act("inform", name, slot, value)


def book(number: int, **changed: str) -> Act:
    return Act("book", "restaurant", None, Booking(f"{number:08d}", {**BOOKING, **changed}))


PHONE, AREA = inform("phone", "01234567890"), inform("area", "north")
OTHER = inform("area", "south")
CASES: dict[str, tuple[Any, ...]] = {
    # goal, what the system says, then what is expected of it: success, strict, book, precision, recall, f1
    "both answers of one entity": (ASKS, [PHONE, AREA], 1, 1, None, 1, 1, 1),
    "answers of two entities": (ASKS, [PHONE, OTHER], 1, 0, None, 1, 1, 1),
    "one answer of two": (ASKS, [PHONE], 0, 0, None, 1, 0.5, 2 / 3),
    "nothing at all": (ASKS, [], 0, 0, None, None, 0, 0),
    "an answer that was not asked for": (ASKS, [PHONE, AREA, inform("postcode", "aa11aa")], 1, 1, None, 2 / 3, 1, 0.8),
    "a constraint is no false answer": (ASKS, [PHONE, AREA, inform("food", "thai")], 1, 1, None, 1, 1, 1),
    "a name is no answer": (ASKS, [PHONE, AREA, inform("name", "old oven")], 1, 1, None, 1, 1, 1),
    "an answer of another domain is false": (
        ASKS, [PHONE, AREA, inform("phone", "01234567893", "hotel")], 1, 1, None, 2 / 3, 1, 0.8),
    "a phone number of ten digits": (ASKS, [inform("phone", "0123456789"), AREA], 0, 0, None, 1, 0.5, 2 / 3),
    "an area that does not exist": (ASKS, [PHONE, inform("area", "nowhere")], 0, 0, None, 1, 0.5, 2 / 3),
    "an answer of an entity that does not match": (
        ASKS, [inform("phone", "01234567892"), AREA], 1, 0, None, 1, 1, 1),
    "what was said last counts": (ASKS, [PHONE, OTHER, AREA], 1, 1, None, 1, 1, 1),
    "a booking of the right entity": (BOOKS, [book(0)], 1, 1, 1, None, None, None),
    "a booking that meets one constraint of two": (BOOKS, [book(1)], 0, 0, 0.5, None, None, None),
    "no booking": (BOOKS, [], 0, 0, 0, None, None, None),
    "a booking for too many is only plainly right": (BOOKS, [book(0, people="8")], 1, 0, 1, None, None, None),
    "the database does not know": (UNANSWERABLE, [inform("postcode", UNKNOWN)], 1, 1, None, None, None, None),
    "it knows, and the system does not": (ASKS, [inform("phone", UNKNOWN), AREA], 1, 0, None, 1, 1, 1),
    "an invented value": (UNANSWERABLE, [inform("postcode", "zz99zz")], 1, 0, None, 1, 1, 1),
    "a later train": (
        TRAIN, [inform("trainID", "TR0003", "train"), inform("arriveBy", "24:30", "train")], 1, 1, None, 1, 1, 1),
    "a train that leaves too early": (
        TRAIN, [inform("trainID", "TR0001", "train"), inform("arriveBy", "09:00", "train")], 1, 0, None, 1, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_evaluator_judges_by_its_definitions(tmp_path: Path, name: str) -> None:
    goal, acts, *expected = CASES[name]
    report = judged(tmp_path, goal, *acts)
    for metric, value in zip(("success", "strict", "book", "precision", "recall", "f1"), expected, strict=True):
        assert report[metric] == (value if value is None else pytest.approx(value)), metric
    assert set(report) == set(METRICS)


def test_only_a_contented_user_is_a_strict_success(tmp_path: Path) -> None:
    report = judged(tmp_path, ASKS, PHONE, AREA, reason="nooffer")
    assert (report["success"], report["strict"], report["complete"]) == (1.0, 0.0, 0.0)


def test_a_goal_without_questions_and_bookings_is_no_success(tmp_path: Path) -> None:
    assert judged(tmp_path, {"restaurant": {"constraints": {"food": "thai"}}})["success"] == 0.0


# -------------------------------------------------------------------------------------------------- rewards


def rewards(env: DialogEnv, goal: dict[str, Any], *turns: tuple[str, ...]) -> list[float]:
    opened(env, goal)
    return [say(env, *turn)[1][1] for turn in turns]


TWO = {
    "police": {"requests": ["phone"]},
    "restaurant": {"constraints": {"food": "greek"}, "requests": ["phone", "address"]},
}
TURNS = [("inform police phone", "greet"), ("inform restaurant choice",), ("inform restaurant phone",),
         ("inform restaurant address",)]  # fmt: skip


def test_the_reward_of_a_task_counts_exchanges_acts_and_the_strict_end(tmp_path: Path) -> None:
    folder = write_town(tmp_path)
    assert rewards(of_town(folder), TWO, *TURNS) == [-1.5, -1.25, -1.25, 78.75]
    assert rewards(of_town(folder, act_penalty=0.0, max_turn=20), TWO, *TURNS) == [-1, -1, -1, 39]
    assert rewards(of_town(folder, reward_scale=0.1), TWO, *TURNS) == pytest.approx([-0.15, -0.125, -0.125, 7.875])
    assert rewards(of_town(folder), TWO, ("nooffer restaurant",)) == [-41.25]


def test_a_bonus_is_paid_once_for_each_domain(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), domain_bonus=5.0)
    assert rewards(env, TWO, TURNS[0], ("inform police phone",), *TURNS[1:]) == [3.5, -1.25, -1.25, -1.25, 83.75]


def test_the_reward_of_the_user_asks_for_no_act_and_no_truth(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), reward="user")
    assert rewards(env, TWO, *TURNS) == [-1, -1, -1, 79]
    assert rewards(env, TWO, ("nooffer restaurant",)) == [-41]


def test_the_reward_of_convlab_is_paid_in_every_exchange(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), reward="convlab")
    # 5 for an exchange about a domain that is done then, and 40 for each in which the whole task is
    assert rewards(env, TWO, ("greet",), *TURNS) == [-1, 5, -1, -1, 40]
    other_order = {"restaurant": TWO["restaurant"], "police": TWO["police"]}
    both = ("inform restaurant phone", "inform restaurant address")
    assert rewards(env, other_order, both[:1], both, ("greet",)) == [-1, 5, -1]
    booking = {"restaurant": {"constraints": {"food": "thai"}, "booking": BOOKING}}
    opened(env, booking)
    assert say(env, "request restaurant people", "request restaurant day", "request restaurant time")[1][1] == -1
    assert say(env, "book restaurant")[1][1] == 40
