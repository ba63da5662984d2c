"""The rules of the simulated user, as dialogues that can be checked by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.dialog.acts import UNKNOWN, Act, Booking
from envs.dialog.dialog import DialogEnv
from envs.dialog.goal import Goal
from envs.dialog.user import User
from tests.tools.dialog import of_town, opened, say, write_town

MakeEnv = Callable[..., DialogEnv]
BOOKING = {"people": "2", "day": "monday", "time": "11:30"}


@pytest.fixture
def town(tmp_path: Path) -> MakeEnv:
    folder = write_town(tmp_path)
    return lambda **settings: of_town(folder, **settings)


def ended(result: Any) -> bool:
    return bool(result[2])


def test_a_user_opens_asks_books_and_says_goodbye(town: MakeEnv) -> None:
    env = town()
    goal = {"restaurant": {"constraints": {"food": "thai"}, "requests": ["phone"], "booking": BOOKING}}
    assert opened(env, goal) == ["inform restaurant", "inform restaurant food thai"]
    assert say(env, "inform restaurant choice")[0] == ["request restaurant phone"]
    assert say(env, "inform restaurant phone")[0] == [
        "inform restaurant time 11:30",
        "inform restaurant day monday",
        "inform restaurant people 2",
    ], "the act that was pushed last is said first"
    answer, result = say(env, "book restaurant")
    assert (answer, ended(result), env.user.reason) == (["bye"], True, "complete")
    assert {name: result[4][name] for name in ("success", "strict", "complete", "book", "exchanges")} == {
        "success": 1.0, "strict": 1.0, "complete": 1.0, "book": 1.0, "exchanges": 3.0
    }  # fmt: skip


def test_a_user_gives_way_where_its_first_wish_cannot_be_met(town: MakeEnv) -> None:
    env = town()
    part = {"constraints": {"food": "greek"}, "unsatisfiable": {"food": "french"}, "requests": ["phone"]}
    assert opened(env, {"restaurant": part}) == ["inform restaurant", "inform restaurant food french"]
    assert say(env, "nooffer restaurant")[0] == ["inform restaurant food greek"]
    assert say(env, "recommend restaurant name")[0] == ["request restaurant phone"]
    assert say(env, "inform restaurant phone")[1][4]["strict"] == 1.0


def test_a_second_nooffer_ends_the_dialogue(town: MakeEnv) -> None:
    env = town()
    part = {"constraints": {"food": "greek"}, "unsatisfiable": {"food": "french"}, "requests": ["phone"]}
    opened(env, {"restaurant": part})
    say(env, "nooffer restaurant")
    answer, result = say(env, "nooffer restaurant")
    assert (answer, ended(result), env.user.reason) == (["bye"], True, "nooffer")
    assert (result[4]["success"], result[4]["complete"]) == (0.0, 0.0)


def test_a_nooffer_or_nobook_of_a_domain_that_is_done_or_not_wanted_is_ignored(town: MakeEnv) -> None:
    env = town()
    opened(env, {"police": {"requests": ["phone"]}, "hospital": {"requests": ["phone"]}})
    assert say(env, "inform police phone")[0] == ["inform hospital"]
    assert say(env, "nooffer hotel", "nobook restaurant")[0] == ["request hospital phone"]
    assert say(env, "inform hospital phone")[0] == ["bye"]


def test_a_refusal_of_what_is_done_is_ignored(town: MakeEnv) -> None:
    env = town()
    opened(env, {"hotel": {"constraints": {"area": "north"}, "requests": ["phone"]}, "police": {"requests": ["phone"]}})
    say(env)
    assert say(env, "inform hotel phone")[0] == ["inform police"]
    assert say(env, "nooffer hotel", "nobook hotel")[0] == ["request police phone"]


def test_a_refused_booking_ends_the_dialogue(town: MakeEnv) -> None:
    env = town()
    opened(env, {"restaurant": {"constraints": {"food": "thai"}, "booking": BOOKING}})
    answer, result = say(env, "nobook restaurant")
    assert (answer, ended(result), env.user.reason) == (["bye"], True, "nobook")


def test_a_wrong_value_is_corrected_and_nothing_is_booked_in_that_turn(town: MakeEnv) -> None:
    env = town(error_value=1.0)  # the system hears other values
    goal = {"hotel": {"constraints": {"area": "north"}, "booking": {"people": "1", "day": "friday", "stay": "5"}}}
    assert opened(env, goal) == ["inform hotel", "inform hotel area north"]
    assert env.tracker.belief["hotel"] == {"area": "south"}
    assert say(env, "inform hotel area")[0] == ["inform hotel area north"], "it is repeated, not accepted"
    env.tracker.booking["hotel"] = dict(goal["hotel"]["booking"])
    assert say(env, "book hotel", "inform hotel area")[0] == ["inform hotel area north"]
    assert env.user.booked == set()


def test_a_value_is_no_answer_while_a_constraint_waits_to_be_said(town: MakeEnv) -> None:
    env = town(max_initiative=1)
    assert opened(env, {"hotel": {"constraints": {"area": "north"}, "requests": ["phone"]}}) == ["inform hotel"]
    assert say(env, "inform hotel phone")[0] == ["inform hotel area north"]
    assert say(env)[0] == ["request hotel phone"], "nothing was answered before"


def test_what_is_not_in_the_goal_does_not_matter(town: MakeEnv) -> None:
    env = town()
    opened(env, {"hotel": {"constraints": {"area": "north"}, "requests": ["phone"]}})
    assert say(env, "request hotel stars", "request hotel people")[0] == [
        "inform hotel people *",
        "inform hotel stars *",
    ]
    assert env.tracker.belief["hotel"]["stars"] is env.tracker.booking["hotel"]["people"]
    assert env.tracker.matches("hotel") == 0b01, "any stars, in the north"
    assert say(env, "request taxi departure")[0] == ["request hotel phone"], "its own question comes first"


def test_a_user_that_says_any_keeps_the_initiative(town: MakeEnv) -> None:
    env = town()
    wanted = {"area": "north", "pricerange": "cheap", "stars": "3", "type": "hotel", "parking": "yes"}
    said = opened(env, {"hotel": {"constraints": wanted, "requests": ["phone"]}})
    answer = say(env, "request hotel internet")[0]
    assert answer[0] == "inform hotel internet *"
    assert sorted(said[1:] + answer[1:]) == [f"inform hotel {slot} {wanted[slot]}" for slot in sorted(wanted)]


def heard_by(goal: dict[str, Any], *turns: list[Act]) -> list[str]:
    """The last answer of a user without an environment."""
    user = User(Goal.from_json(goal), np.random.default_rng(0))
    return [[str(act) for act in said] for said in (user.open(), *map(user.respond, turns))][-1]


def test_a_booking_takes_the_values_that_were_still_to_be_said_off_the_agenda() -> None:
    goal = {"restaurant": {"constraints": {}, "booking": BOOKING}, "police": {"requests": ["phone"]}}
    asked = [Act("request", "restaurant", "people"), Act("request", "hotel", "stars")]
    made = [Act("book", "restaurant", None, Booking("00000000", dict(BOOKING)))]
    assert heard_by(goal, asked) == ["inform hotel stars *"]
    assert heard_by(goal, asked, made) == ["inform police"]


@pytest.mark.parametrize(
    ("slot", "value", "answer"),
    [("leaveAt", "09:59", "inform train leaveAt 10:00"), ("leaveAt", "10:00", "request train price"),
     ("leaveAt", "24:10", "request train price"), ("day", "Monday", "request train price"),
     ("day", "friday", "inform train day monday"), ("day", UNKNOWN, "request train price"),
     ("arriveBy", "11:00", "request train price")],
)  # fmt: skip
def test_what_is_informed_is_compared_with_the_goal(slot: str, value: Any, answer: str) -> None:
    goal = {"train": {"constraints": {"day": "monday", "leaveAt": "10:00"}, "requests": ["price"]}}
    assert heard_by(goal, [], [Act("inform", "train", slot, value)]) == [answer]


def test_a_booking_with_a_missing_value_is_not_made_and_with_a_wrong_one_is_repeated(town: MakeEnv) -> None:
    env = town()
    goal = {"restaurant": {"constraints": {"food": "thai"}, "booking": BOOKING}}
    opened(env, goal)
    assert say(env, "request restaurant people")[0] == ["inform restaurant people 2"]
    assert say(env, "book restaurant")[0] == [f"inform restaurant {slot} {BOOKING[slot]}" for slot in reversed(BOOKING)]
    assert env.transcript[-1].system == (), "an act that cannot be said is not said"
    env.tracker.booking["restaurant"]["people"] = "8"
    assert say(env, "book restaurant")[0] == ["inform restaurant people 2"], "only what differs is repeated"
    assert say(env, "book restaurant")[0] == ["bye"]


def test_parking_no_and_internet_none_are_values_like_any_other(town: MakeEnv) -> None:
    env = town()
    part = {"constraints": {"parking": "no"}, "requests": ["internet", "phone"]}
    assert opened(env, {"hotel": part}) == ["inform hotel", "inform hotel parking no"]
    assert env.tracker.matches("hotel") == 0b10
    assert say(env)[0] == ["request hotel phone", "request hotel internet"]
    answer, result = say(env, "inform hotel internet", "inform hotel phone")
    assert [str(act) for act in env.transcript[-1].system] == [
        "inform hotel internet none",
        "inform hotel phone 01234567894",
    ]
    assert (answer, result[4]["strict"]) == (["bye"], 1.0)


@pytest.mark.parametrize("cut", [False, True])
def test_a_dialogue_ends_after_max_turn_with_the_opening_counted(town: MakeEnv, cut: bool) -> None:
    env = town(max_turn=10, limit_is_truncation=cut)
    opened(env, {"police": {"requests": ["phone"]}})
    assert say(env)[0] == ["request police phone"]
    assert [ended(say(env)[1]) for _ in range(3)] == [False] * 3
    answer, result = say(env)
    assert (answer, env.user.reason, result[2:4]) == (["bye"], "max_turn", (not cut, cut))
    assert result[4]["exchanges"] == 5.0
    with pytest.raises(RuntimeError, match="after the end"):
        say(env)


def test_trains_leave_at_or_after_and_arrive_at_or_before_also_after_midnight(town: MakeEnv) -> None:
    env = town()
    route = {"departure": "aldmere", "destination": "carrow", "day": "monday"}
    opened(env, {"train": {"constraints": {**route, "leaveAt": "11:59"}, "requests": ["trainID", "arriveBy"]}})
    say(env, "request train leaveAt")
    assert env.tracker.matches("train") == 0b110
    say(env, "inform train trainID", "inform train arriveBy")
    assert [act.value for act in env.transcript[-1].system] == ["13:00", "TR0002"]
    opened(env, {"train": {"constraints": {**route, "arriveBy": "24:30"}, "booking": {"people": "3"}}})
    say(env, "request train arriveBy")
    assert env.tracker.matches("train") == 0b111
    opened(env, {"train": {"constraints": {**route, "arriveBy": "13:00"}, "booking": {"people": "3"}}})
    say(env, "request train arriveBy")
    assert env.tracker.matches("train") == 0b011
    assert say(env, "inform train arriveBy")[0] == ["inform train people 3"], "an earlier arrival is no contradiction"


def test_a_taxi_has_one_car_and_one_number_for_the_whole_dialogue(town: MakeEnv) -> None:
    env = town()
    ways = {"departure": "old oven", "destination": "grand hall", "leaveAt": "17:15"}
    opened(env, {"taxi": {"constraints": ways, "requests": ["car type", "phone"]}})
    assert say(env, "inform taxi car type")[0] == ["request taxi phone"]
    car, phone = env.transcript[-1].system[0].value, env.tables["taxi"].entities[0]["phone"]
    assert car == "black van"
    answer, result = say(env, "inform taxi phone")
    assert (answer, env.transcript[-1].system[0].value) == (["bye"], phone)
    assert phone is not None
    assert (len(phone), result[4]["strict"], result[4]["book"]) == (11, 1.0, 1.0)


def test_the_police_needs_no_constraint(town: MakeEnv) -> None:
    env = town()
    assert opened(env, {"police": {"requests": ["address", "phone"]}}) == ["inform police"]
    answer, result = say(env, "inform police address", "inform police phone")
    assert (answer, result[4]["strict"]) == (["bye"], 1.0)


def test_domains_are_spoken_of_in_the_order_of_the_goal(town: MakeEnv) -> None:
    env = town()
    one, two = {"requests": ["phone"]}, {"constraints": {"area": "north"}, "requests": ["phone"]}
    assert opened(env, {"police": one, "hotel": two}) == ["inform police"]
    assert say(env, "inform police phone")[0] == ["inform hotel", "inform hotel area north"]
    assert say(env)[0] == ["request hotel phone"]


def test_a_user_with_patience_closes_when_nothing_goes_on(town: MakeEnv) -> None:
    env = town(patience=2)
    opened(env, {"police": {"requests": ["phone", "address"]}})
    assert say(env)[0] == ["request police address", "request police phone"], "a first question is progress"
    assert say(env)[0] == ["request police address", "request police phone"], "a repeated one is not"
    assert (say(env)[0], env.user.reason) == (["bye"], "patience")


def test_the_user_says_as_much_of_its_own_accord_as_max_initiative_allows(town: MakeEnv) -> None:
    wanted = {"constraints": {"area": "north", "food": "thai", "pricerange": "cheap"}, "requests": ["phone"]}
    for number in (1, 2, 4):
        assert len(opened(town(max_initiative=number), {"restaurant": wanted})) == number
