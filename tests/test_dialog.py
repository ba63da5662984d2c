"""The dialogue environment: sizes, the rule policy, what must not be possible, and what an episode depends on."""

import gc
import hashlib
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiBinary

import envs
from benchmarks import dialog as benchmark
from envs.dialog import Config, ids, knows
from envs.dialog.acts import ANY, UNKNOWN, Act, Booking, Entry, parse, system_vocabulary, user_vocabulary
from envs.dialog.convlab import SYSTEM, USER, convlab, names
from envs.dialog.dialog import DialogEnv
from envs.dialog.env import single
from envs.dialog.ontology import IDS
from envs.dialog.templates import system_says, user_says
from envs.dialog.transcript import text
from envs.gym.probe import probe
from tests.helpers_dialog import action, expert, of_town, opened, play, say, write_town

BOOKING = {"people": "2", "day": "monday", "time": "11:30"}
MULTIWOZ = os.environ.get("JOYSTICK_MULTIWOZ", "")
with_multiwoz = pytest.mark.skipif(not Path(MULTIWOZ).is_dir() or not MULTIWOZ, reason="JOYSTICK_MULTIWOZ is no folder")

# ---------------------------------------------------------------------------------------- acts and numbers


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
        "request restaurant name", "inform restaurant address", "inform restaurant area", "inform restaurant food", "inform restaurant name",
        "inform restaurant phone", "inform restaurant postcode", "inform restaurant pricerange",
        "inform restaurant choice", "nooffer restaurant", "recommend restaurant name", "book restaurant",
        "nobook restaurant", "request restaurant people", "request restaurant day", "request restaurant time",
        "bye general", "reqmore general", "greet general",
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
        "inform hotels area": "'hotels' is no domain; there are: restaurant, hotel",
        "inform hotel food thai": "'food' is no slot of hotel; there are: address, area",
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


@pytest.mark.parametrize(("env_id", "highest"), [("mini", 0.15), ("town", 0.03), ("full", 0.03)])
def test_saying_everything_at_once_does_not_pay(env_id: str, highest: float) -> None:
    result = play(single(Config(id=env_id)), lambda env, obs: np.ones(env.action_space.shape, np.int8), 300)
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


def test_a_thousand_dialogues_need_no_more_memory() -> None:
    env = single(Config(id="full"))
    play(env, expert, 300)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for seed in range(1000):
        env.reset(seed=seed)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 50_000


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


# ------------------------------------------------------------------------------------------- beside it


class Person:
    """Types two lines, whatever it hears."""

    turn, ended, reason = 0, False, None

    def open(self) -> list[Act]:
        return [parse("inform police")]

    def respond(self, acts: Any) -> list[Act]:
        self.heard, self.ended = [str(act) for act in acts], True
        return [parse("inform hotel area NORTH"), parse("bye")]

    def finished(self) -> int:
        return 0


def test_a_person_can_take_the_place_of_the_user(tmp_path: Path) -> None:
    person = Person()
    env = single(Config(id="full", data_dir=write_town(tmp_path)), lambda goal, rng, cfg: person)
    env.reset(seed=0)
    result = say(env, "inform police phone")[1]
    assert person.heard == ["inform police phone 01234567897"]
    assert (result[2], result[4]["complete"]) == (True, 0.0)
    shown = env.transcript[-1]
    assert (shown.belief, shown.booking, shown.matches) == ({"area": "north"}, {}, 1)


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


def test_the_benchmark_counts_exchanges(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.main(["--env", "mini", "--seconds", "0.05", "reward=user"]) == 0
    assert json.loads(capsys.readouterr().out)["exchanges"] > 20
