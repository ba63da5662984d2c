"""The dialogue environment: sizes, the rule policy, what must not be possible, and what an episode depends on."""

import gc
import hashlib
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import envs
from envs.base import EnvError
from envs.dialog import Config
from envs.dialog.acts import Act, Entry
from envs.dialog.channel import Channel
from envs.dialog.dialog import DialogEnv
from envs.dialog.env import single
from envs.dialog.ontology import AFTER, minutes
from envs.dialog.transcript import text
from envs.dialog.user import User
from tests.tools.dialog import expert, of_town, opened, play, say, write_town

BOOKING = {"people": "2", "day": "monday", "time": "11:30"}
MULTIWOZ = os.environ.get("JOYSTICK_MULTIWOZ", "")
with_multiwoz = pytest.mark.skipif(not Path(MULTIWOZ).is_dir() or not MULTIWOZ, reason="JOYSTICK_MULTIWOZ is no folder")

# --------------------------------------------------------------------------------------- the rule policy


@pytest.mark.parametrize(
    ("env_id", "exchanges", "score"),
    [("mini", 2.5, 76.5), ("town", 4.27, 73.9), ("full", 3.55, 74.7)],
)
def test_the_rule_policy_does_every_task(env_id: str, exchanges: float, score: float) -> None:
    result = play(single(Config(id=env_id)), expert, 300)
    assert [result[name] for name in ("success", "strict", "complete", "recall", "book")] == [1.0] * 5
    assert result["exchanges"] == pytest.approx(exchanges, abs=0.25)
    assert result["return"] == pytest.approx(score, abs=0.3)


KINDS: list[dict[str, Any]] = [
    {"actions": "one"},
    {"actions": "composite"},
    {"actions": "composite", "composite": 3},
    {"features": "convlab"},
    {"features": "convlab", "actions": "one"},
    {"ranks": 3},
]


@pytest.mark.long
@pytest.mark.parametrize("settings", KINDS)
def test_the_rule_policy_does_every_task_with_all_kinds_of_actions_and_features(settings: dict[str, Any]) -> None:
    env = single(Config(id="full", **settings))
    result = play(env, expert, 60)
    assert result["strict"] == 1.0
    assert result["exchanges"] < 6.5


@with_multiwoz
@pytest.mark.parametrize("features", ["full", "convlab"])
def test_the_rule_policy_does_every_task_in_the_town_of_multiwoz(features: str) -> None:
    result = play(single(Config(id="full", data_dir=MULTIWOZ, features=features)), expert, 200)
    assert [result[name] for name in ("success", "strict", "complete")] == [1.0] * 3
    assert result["exchanges"] == pytest.approx(3.6, abs=0.3)


@pytest.mark.parametrize(("env_id", "highest"), [("mini", 0.2), ("town", 0.08), ("full", 0.1)])
def test_two_acts_at_random_rarely_do_a_task(env_id: str, highest: float) -> None:
    rng = np.random.default_rng(0)

    def two(env: DialogEnv, obs: np.ndarray) -> Any:
        return env.actions.of(rng.choice(len(env.codec.system), 2, replace=False).tolist())

    result = play(single(Config(id=env_id)), two, 300)
    assert 0.0 < result["strict"] < highest


def test_without_bookings_in_the_observation_the_rule_policy_tries_to_book_and_asks() -> None:
    env = single(Config(id="full", features="convlab"))
    seen = np.zeros(340, np.float32)
    seen[[env.codec.place["user", "inform", "restaurant", "people"], env.codec.place["matches", "restaurant", 1]]] = 1.0
    acts = {env.codec.system[number][:3] for number in env.expert.policy.acts(seen)}
    assert acts == {("book", "booking", "ref"), ("request", "booking", "day"), ("request", "booking", "time")}


def test_the_expert_takes_rows_of_observations_and_needs_no_mask() -> None:
    env = single(Config(id="town", actions="one"))
    assert isinstance(env.action_space, Discrete)
    rows = [env.reset(seed=seed) for seed in range(3)]
    chosen = env.expert(np.stack([obs for obs, _ in rows]), np.stack([info["action_mask"] for _, info in rows]))
    assert chosen.shape == (3,)
    assert all(info["action_mask"][number] for (_, info), number in zip(rows, chosen, strict=True))


def test_frequent_sets_of_acts_become_actions() -> None:
    env = single(Config(actions="composite", composite=4))
    assert isinstance(env.action_space, Discrete)
    assert env.action_space.n == 22 + 4
    first = env.actions.chosen(22)
    assert [str(Act(*env.codec.system[number][:3])) for number in first] == [
        "inform restaurant choice", "recommend restaurant name"
    ]  # fmt: skip
    assert single(Config(actions="composite", composite=1000)).action_space.n < 200, "no more than there are"


def test_the_expert_of_single_acts_repeats_nothing_while_there_is_more_to_say(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), actions="one")
    opened(env, {"police": {"requests": ["phone", "postcode"]}})
    informed = env.codec.number[Entry("inform", "police", "phone")]
    acts = sorted(env.codec.number[Entry("inform", "police", slot)] for slot in ("phone", "postcode"))
    assert env.actions.of(acts) == informed
    assert env.actions.of(acts, before=[informed]) == acts[1]
    assert env.actions.of([informed], before=[informed]) == informed


# ----------------------------------------------------------------------------- what must not be possible


@pytest.mark.long
@pytest.mark.parametrize(("env_id", "highest"), [("mini", 0.15), ("town", 0.03), ("full", 0.03)])
def test_saying_everything_at_once_does_not_pay(env_id: str, highest: float) -> None:
    result = play(single(Config(id=env_id)), lambda env, obs: np.ones(env.action_space.shape, np.int8), 150)
    assert result["strict"] < highest
    assert result["return"] < -40.0


def test_only_the_first_acts_are_said(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), max_acts=3)
    opened(env, {"police": {"requests": ["phone"]}})
    env.step(np.ones(env.action_space.shape, np.int8))
    assert [str(act) for act in env.transcript[-1].system] == [
        "request restaurant food", "request restaurant pricerange", "request restaurant area"
    ]  # fmt: skip


def test_nothing_is_booked_before_all_values_are_known(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path))
    opened(env, {"restaurant": {"constraints": {"food": "thai"}, "booking": BOOKING}})
    for turn in (("book restaurant",), ("request restaurant people", "request restaurant time"), ("book restaurant",)):
        env.tracker.booking["restaurant"].pop("day", None)
        reward = say(env, *turn)[1][1]
        assert (env.evaluator.bookings, env.tracker.booked) == ({}, {})
        assert reward == -1.0 - 0.25 * len(env.transcript[-1].system), "what is not said costs nothing"
    env.tracker.hear([Act("inform", "restaurant", "food", "french"), Act("inform", "restaurant", "day", "monday")])
    say(env, "book restaurant")
    assert env.evaluator.bookings == {}, "nothing matches"


def test_answers_of_several_entities_are_no_strict_success(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path), ranks=2)
    goal = {"restaurant": {"constraints": {"food": "thai"}, "requests": ["phone", "address"]}}
    number = env.codec.number
    phone, address = Entry("inform", "restaurant", "phone"), Entry("inform", "restaurant", "address")
    for ranks, strict in {(1, 1): 1.0, (2, 2): 1.0, (1, 2): 0.0}.items():
        opened(env, goal)
        say(env)
        chosen = [number[phone._replace(rank=ranks[0])], number[address._replace(rank=ranks[1])]]
        info = env.step(env.actions.of(chosen))[4]
        assert (info["complete"], info["success"], info["strict"]) == (1.0, 1.0, strict)
    opened(env, {"restaurant": {**goal["restaurant"], "constraints": {"food": "greek"}}})
    env.step(env.actions.of([number[phone._replace(rank=2)]]))
    assert env.transcript[-1].system == (), "there is no second one"


def test_denying_what_exists_makes_the_user_close(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path))
    opened(env, {"hotel": {"constraints": {"area": "north"}, "requests": ["phone"]}})
    _, reward, terminated, _, info = say(env, "nooffer hotel")[1]
    assert (terminated, info["complete"], reward) == (True, 0.0, -41.25)


def test_success_is_paid_once_and_a_dialogue_that_has_ended_goes_on_no_more(tmp_path: Path) -> None:
    env = of_town(write_town(tmp_path))
    opened(env, {"police": {"requests": ["phone"]}})
    assert say(env, "inform police phone")[1][1] == 80 - 1 - 0.25
    with pytest.raises(RuntimeError, match="after the end"):
        say(env, "inform police phone")


def test_no_dialogue_is_longer_than_max_turn_and_steps_are_counted_exactly() -> None:
    env = single(Config(id="town"))
    for seed in range(20):
        env.reset(seed=seed)
        steps, ended = 0, False
        while not ended:
            _, _, terminated, truncated, info = env.step(np.zeros(env.action_space.shape, np.int8))
            steps, ended = steps + 1, terminated or truncated
        assert (steps, info["exchanges"], len(env.transcript)) == (20, 20.0, 21)


# -------------------------------------------------------------------------- what an episode depends on


def fingerprint(env: DialogEnv, seed: int) -> str:
    """Everything that a dialogue with random acts, errors included, shows."""
    rng, digest = np.random.default_rng(seed), hashlib.sha256()
    obs, _ = env.reset(seed=seed)
    ended = False
    while not ended:
        digest.update(obs.tobytes())
        obs, reward, terminated, truncated, info = env.step(env.actions.of(rng.choice(22, 3, replace=False).tolist()))
        digest.update(repr((reward, terminated, truncated, info)).encode())
        ended = terminated or truncated
    digest.update(repr(env.transcript).encode())
    return digest.hexdigest()


def test_a_dialogue_is_a_function_of_its_seed_and_the_actions() -> None:
    cfg = Config(id="town", error_slot=0.1, error_value=0.1, error_intent=0.1)
    one, other = single(cfg), single(cfg)
    first = [fingerprint(one, seed) for seed in range(20)]
    assert len(set(first)) == 20
    assert [fingerprint(other, seed) for seed in reversed(range(20))][::-1] == first, "no state is kept"


def test_a_dialogue_that_was_cut_leaves_nothing_behind() -> None:
    env = single(Config(id="town"))
    expected = fingerprint(env, 3)
    for seed in range(10):
        env.reset(seed=seed)
        env.step(np.ones(env.action_space.shape, np.int8))
    assert fingerprint(env, 3) == expected


@pytest.mark.long
def test_hundreds_of_dialogues_need_no_more_memory() -> None:
    env = single(Config(id="full"))
    play(env, expert, 200)
    tracemalloc.start()
    sizes = []
    for seeds in ([499], range(500)):  # both end with the same dialogue, which is in memory
        for seed in seeds:
            env.reset(seed=seed)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[1] - sizes[0] < 25_000


def test_the_channel_errs_for_the_system_and_not_for_the_evaluator() -> None:
    clean, noisy = single(Config(id="town")), single(Config(id="town", error_value=0.3))
    assert play(noisy, expert, 60)["strict"] < 0.9
    noisy.reset(seed=0)
    assert noisy.goal == (clean.reset(seed=0), clean.goal)[1], "the goal is that of the seed"
    assert any(exchange.heard != exchange.user for exchange in noisy.transcript)


def test_each_kind_of_error_stays_within_the_domain() -> None:
    for kind, same in {"error_slot": "intent", "error_value": "slot", "error_intent": "domain"}.items():
        env = single(Config(id="town", **{kind: 1.0}))
        for seed in range(20):
            env.reset(seed=seed)
            opening = env.transcript[0]
            for act, heard in zip(opening.user, opening.heard, strict=True):
                assert (getattr(act, same), act.domain) == (getattr(heard, same), heard.domain)
                assert act.slot is None or act != heard


def test_a_taxi_that_is_misheard_goes_from_a_place_to_a_place_at_a_time() -> None:
    env, channel, rng = single(Config(id="town")), Channel(value=1.0), np.random.default_rng(0)
    env.reset(seed=0)
    for slot, is_time in {"departure": False, "destination": False, AFTER: True}.items():
        [heard] = channel.heard([Act("inform", "taxi", slot, "old oven")], env.tables, rng)
        assert (minutes(str(heard.value)) is not None) == is_time
        assert heard.value != "old oven"


@pytest.mark.parametrize("booking", [{"people": "10", "time": "18:00"}, {"people": "2", "time": "9:00"}])
def test_a_booking_of_a_goal_of_ones_own_can_be_made(booking: dict[str, str]) -> None:
    """The tracker has times with two digits of hours, and 10 people are not 1."""
    env = single(Config(id="town"))
    goal = {"restaurant": {"constraints": {"food": "indian"}, "booking": {"day": "monday", **booking}}}
    obs, info = env.reset(seed=0, options={"goal": goal})
    ended = False
    while not ended:
        obs, _, terminated, truncated, info = env.step(env.expert(obs[None])[0])
        ended = terminated or truncated
    assert info["strict"] == 1.0


# ------------------------------------------------------------------------------------------- beside it


def test_a_person_can_take_the_place_of_the_user_for_one_dialogue(tmp_path: Path) -> None:
    typed, shown = iter(["inform police", "hotel area NORTH; bye"]), list[str]()
    env = of_town(write_town(tmp_path))
    env.talk(lambda prompt: next(typed), shown.append)
    env.reset(seed=0)
    result = say(env, "inform police phone")[1]
    assert "system: The phone of the police is 01234567897." in shown
    assert (result[2], env.user.reason) == (True, "patience"), "the goal was not reached"
    last = env.transcript[-1]
    assert (last.belief, last.booking, last.matches) == ({"area": "north"}, {}, 1)
    assert isinstance((env.reset(seed=0), env.user)[1], User)


def test_each_exchange_is_printed_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = of_town(write_town(tmp_path), render_mode="human")
    opened(env, {"police": {"requests": ["phone"]}})
    say(env, "greet")
    say(env, "inform police phone")
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        "",
        "You look for the police. You want to know: phone.",
        "user:   It is about the police.",
        "system: Hello.",
        "user:   What is the phone?",
        "system: The phone of the police is 01234567897.",
        "user:   Thank you, goodbye.",
    ]
    assert text(env.goal, env.transcript) == printed[1:]


def test_only_one_row_is_printed() -> None:
    with pytest.raises(EnvError, match="shows one environment, not 2"):
        envs.make(envs.get("dialog"), Config(render_mode="human"), 2)
