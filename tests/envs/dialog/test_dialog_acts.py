"""Dialogue acts as text and as numbers, observations and action masks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import MultiBinary

import envs
from envs.common.probe import probe
from envs.dialog import Config, ids, knows
from envs.dialog.acts import ANY, UNKNOWN, Act, Booking, Entry, parse, system_vocabulary, user_vocabulary
from envs.dialog.convlab import SYSTEM, USER, convlab, names
from envs.dialog.dialog import DialogEnv
from envs.dialog.env import single
from envs.dialog.ontology import IDS
from envs.dialog.templates import system_says, user_says
from tests.tools.dialog import action, expert, of_town, opened, say, write_town

BOOKING = {"people": "2", "day": "monday", "time": "11:30"}


@pytest.mark.parametrize(
    ("env_id", "system", "user", "numbers"), [("mini", 22, 15, 53), ("town", 81, 64, 208), ("full", 90, 73, 229)]
)
def test_each_id_has_its_vocabularies_and_observation(env_id: str, system: int, user: int, numbers: int) -> None:
    env = single(Config(id=env_id))
    assert (len(system_vocabulary(IDS[env_id])), len(user_vocabulary(IDS[env_id]))) == (system, user)
    assert env.observation_space.shape == (numbers,)
    assert isinstance(env.action_space, MultiBinary)
    assert (env.action_space.n, env.action_space.never_empty, env.action_space.likely) == (system, True, 2.0)
    assert len(set(system_vocabulary(IDS[env_id]))) == system, "no act twice"


def test_the_acts_have_a_fixed_order() -> None:
    assert [" ".join(filter(None, entry[:3])) for entry in system_vocabulary(IDS["mini"])] == [
        "request restaurant food", "request restaurant pricerange", "request restaurant area",
        "request restaurant name", "inform restaurant address", "inform restaurant area", "inform restaurant food",
        "inform restaurant name", "inform restaurant phone", "inform restaurant postcode",
        "inform restaurant pricerange", "inform restaurant choice", "nooffer restaurant", "recommend restaurant name",
        "book restaurant", "nobook restaurant", "request restaurant people", "request restaurant day",
        "request restaurant time", "bye general", "reqmore general", "greet general",
    ]  # fmt: skip
    more = set(system_vocabulary(IDS["mini"], 3)) - set(system_vocabulary(IDS["mini"]))
    assert {entry.rank for entry in more} == {2, 3}
    assert len(more) == 2 * (7 + 1)


def test_the_acts_of_convlab_are_209_and_78_and_its_observation_has_340_numbers() -> None:
    codec = convlab()
    assert (len(codec.system), len(codec.user), codec.size) == (209, 78, 340)
    counts = {name: sum(each[0] == name for each in names(SYSTEM)) for name in SYSTEM}
    assert counts == {"hotel": 47, "restaurant": 45, "attraction": 40, "train": 35, "booking": 19, "taxi": 10,
                      "hospital": 5, "police": 4, "general": 4}  # fmt: skip
    assert sum(each[0] == "general" for each in names(USER)) == 3
    assert ["-".join(name) for name in names(SYSTEM)[:4]] == [
        "attraction-inform-addr-1", "attraction-inform-addr-2", "attraction-inform-addr-3", "attraction-inform-area-1"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ["inform restaurant food indian", "inform train leaveAt 10:15", "request attraction entrance fee", "inform hotel",
     "inform taxi departure the old oven", "inform hotel area *", "bye"],
)  # fmt: skip
def test_an_act_is_read_as_it_is_written(line: str) -> None:
    assert str(parse(line)) == line


def test_an_act_that_is_typed_badly_is_explained() -> None:
    assert parse("INFORM hotel Parking no") == Act("inform", "hotel", "parking", "no")
    assert parse("inform hotel area *").value is ANY
    for line, message in {
        "": "begins with no intent",
        "book hotel": "begins with no intent; there are: inform, request, bye",
        "inform": "a domain is missing",
        "inform hotels area": "'hotels' is not a domain; there are: restaurant, hotel",
        "inform hotel food thai": "'food' is not a slot of hotel; there are: address, area",
        "inform hotel area": "a value is missing: inform hotel area VALUE",
        "request hotel area north": "a request has a slot and no value",
        "request hotel": "a request has a slot and no value",
    }.items():
        with pytest.raises(ValueError, match=message.replace("*", "\\*")):
            parse(line)


def test_acts_are_said_in_sentences() -> None:
    assert user_says([Act("inform", "attraction"), Act("inform", "attraction", "area", "north")]) == (
        "It is about an attraction. The area is north."
    )
    assert user_says([Act("request", "taxi", "car type"), Act("inform", "train", "leaveAt", ANY)]) == (
        "What is the car? Any time of departure will do."
    )
    assert system_says([]) == "..."
    made = Booking("00000007", {"people": "2"})
    acts = [Act("book", "train", None, made), Act("inform", "hotel", "postcode", UNKNOWN), Act("nooffer", "hotel")]
    assert system_says(acts) == (
        "Your train is booked (number of people 2); the reference is 00000007. I do not know the postcode of the "
        "hotel. There is no such hotel."
    )


# ------------------------------------------------------------------------------- observation and masks


def ones(env: DialogEnv, obs: np.ndarray) -> set[Any]:
    """What the observation tells."""
    return {name for name, place in env.codec.place.items() if obs[place] == 1.0}


def test_the_observation_tells_acts_and_what_is_known_but_no_values(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path))
    goal = {"restaurant": {"constraints": {"food": "thai"}, "requests": ["phone"], "booking": BOOKING}}
    opened(env, goal)
    obs = say(env, "inform restaurant choice", "book restaurant")[1][0]
    assert ones(env, obs) == {
        ("user", "request", "restaurant", "phone"),
        ("system", env.codec.number[Entry("inform", "restaurant", "choice")]),
        ("belief", "restaurant", "food"), ("active", "restaurant"), ("matches", "restaurant", 2),
        *(("matches", name, level) for name, level in {"hotel": 2, "attraction": 1, "train": 2}.items()),
    }  # fmt: skip
    assert obs[env.codec.place["turn",]] == pytest.approx(4 / 40)
    say(env, "inform restaurant phone")
    told = ones(env, say(env, "book restaurant")[1][0])
    assert {("booking", "restaurant", slot) for slot in BOOKING} | {("booked", "restaurant")} <= told


def test_the_number_of_matches_is_told_in_six_steps() -> None:
    env = single(Config(id="town"))
    env.reset(seed=0)
    for name, counts in {"hotel": (0, 1, 2, 3, 4, 5), "train": (0, 1, 3, 6, 11, 41)}.items():
        for level, count in enumerate(counts):
            for number in (count, (*counts, 200)[level + 1] - 1):
                env.tracker._matches[name] = (1 << number) - 1
                told = ones(env, env.codec.encode([], [], env.tracker, 0.0, False))
                assert {each for each in told if each[:2] == ("matches", name)} == {("matches", name, level)}


def test_a_mask_allows_what_would_be_said(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), actions="one")
    part = {"constraints": {"food": "greek"}, "unsatisfiable": {"food": "french"}, "booking": BOOKING}
    _, info = env.reset(seed=0, options={"goal": {"restaurant": part}})
    allowed = lambda mask, text: bool(mask[int(action(env, text))])  # noqa: E731
    expected = {"nooffer restaurant": True, "recommend restaurant name": False, "book restaurant": False,
                "request restaurant food": True, "nooffer hotel": False, "inform hotel phone": True,
                "inform taxi car type": True, "bye": True}  # fmt: skip
    assert {line: allowed(info["action_mask"], line) for line in expected} == expected
    say(env, "nooffer restaurant")
    info = say(env, "recommend restaurant name")[1][4]
    expected = {"nooffer restaurant": False, "recommend restaurant name": True, "book restaurant": True}
    assert {line: allowed(info["action_mask"], line) for line in expected} == expected
    assert "action_mask" not in of_town(write_town(tmp_path)).reset(seed=0)[1]
    assert "action_mask" not in of_town(write_town(tmp_path), actions="one", action_mask=False).reset(seed=0)[1]


def test_a_set_of_acts_is_legal_if_all_of_it_is() -> None:
    env = single(Config(actions="composite", composite=20))
    for seed in range(5):
        obs, info = env.reset(seed=seed)
        ended = False
        while not ended:
            mask = info["action_mask"]
            assert mask.shape == (env.action_space.n,)
            assert all(mask[i] == min(mask[list(env.actions.chosen(i))]) for i in range(22, len(mask)))
            obs, _, ended, _, info = env.step(expert(env, obs))


@pytest.mark.parametrize("settings", [{}, {"id": "town", "actions": "one"}, {"id": "full", "features": "convlab"}])
def test_the_environment_follows_the_interface_of_gymnasium(settings: dict[str, Any]) -> None:
    env = single(Config(**settings))
    probe(env, "dialog")
    env.action_space.seed(0)
    for seed in range(5):
        obs, _ = env.reset(seed=seed)
        ended = False
        while not ended:
            assert env.observation_space.contains(obs)
            obs, _, terminated, truncated, info = env.step(env.action_space.sample())
            ended = terminated or truncated
        assert {"success", "strict", "complete", "exchanges"} <= set(info) <= {*env.metrics, "action_mask"}


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_rows_give_metrics_and_the_expert(vectorization: str) -> None:
    package = envs.get("dialog")
    env = envs.make(package, Config(n_envs=2, vectorization=vectorization), 2)
    try:
        obs = env.reset(np.ones(2, bool), np.arange(2))
        assert obs.shape == (2, 53)
        assert env.metrics == ("success", "strict", "complete", "book", "precision", "recall", "f1", "exchanges")
        assert env.expert is not None
        ended = np.zeros(2, bool)
        while not ended[0]:
            step = env.step(env.expert(obs, None))
            obs, ended = step.obs.copy(), step.terminated | step.truncated
            if ended[1] and not ended[0]:
                obs = env.reset(ended, np.arange(2))
        assert env.info(0)["strict"] == 1.0
    finally:
        env.close()
    assert (ids(), knows("town"), knows("village")) == (["mini", "town", "full"], True, False)
