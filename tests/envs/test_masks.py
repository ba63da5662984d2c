"""Action masks: where they are found, that they are those of the observation returned last, and what is refused."""

from itertools import product

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from algos.base import Act, Progress
from envs.base import EnvError
from envs.common import masks
from envs.common import rows as gym_rows
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.loop.evaluator import Evaluator
from framework.runs.policy import TrainedPolicy
from tests.tools.core import collector_of, copied, saved_and_read, toy_of
from tests.tools.envs import assembled, corridor_with, everyone, foreign
from tests.tools.paths import in_the_suite

KINDS = ["sync", "async"]
MODES = ["Disabled", "SameStep", "NextStep"]


class Gates(gymnasium.Env):
    """Shows a number of its own and which of 3 gates are open; walking into a closed one raises. Episodes are 2 to 5
    steps long, by their seed. At the end no gate is open. `said` is where the mask stands: info, obs or rest (a Dict
    with two other parts)."""

    action_space = Discrete(3, start=5)
    said = "info"

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        parts = {"place": Box(0, 999, (2,)), "action_mask": MultiBinary(3)}
        more = {"hour": Discrete(2)} if self.said == "rest" else {}
        self.observation_space = parts["place"] if self.said == "info" else Dict({**parts, **more})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._time, self._length = 0, int(self.np_random.integers(2, 6))
        return self._seen()

    def step(self, action):
        if not self._open[action - 5]:
            raise ValueError(f"gate {action} is closed")
        self._time += 1
        return self._seen()[0], 1.0, self._time == self._length, False, self._info

    def _seen(self):
        place = self.np_random.integers(0, 999, 2).astype(np.float32)
        self._open = (self.np_random.random(3) < 0.4).astype(np.int8)
        self._open[int(place[0]) % 3] = 1
        shown = self._open * 0 if self._time == self._length else self._open
        self._info = {"action_mask": shown} if self.said == "info" else {}
        obs = {"place": place, "action_mask": shown, "hour": self._time % 2}
        return place if self.said == "info" else {key: obs[key] for key in self.observation_space}, self._info


class GatesInObs(Gates):
    said = "obs"


class GatesAmongOthers(Gates):
    said = "rest"


class Legal:
    """Draws a legal action, and keeps what it was shown."""

    def __init__(self):
        self.seen = []

    def initial_state(self, rows):
        return None

    def sample_action(self, obs, state, progress, rng, mask=None):
        self.seen.append((obs.copy(), mask))
        return Act((rng.random(mask.shape) * mask).argmax(axis=1))

    predict_action = None


def gates(kind, factory=Gates, rows=3):
    return assembled(factory, "gates", rows, kind)


def played(env, steps=40):
    """Columns of so many steps, each legal where it was taken: an illegal one raises."""
    collector = collector_of(env, Legal())
    columns = copied(collector.collect(steps, Progress())[0])
    env.close()
    return columns


# ------------------------------------------------------------------------------------------- where they are found


class GatesOutOfTime(Gates):
    """The same, cut off in place of ended."""

    def step(self, action):
        obs, reward, terminated, _, info = super().step(action)
        return obs, reward, False, terminated, info


@pytest.mark.parametrize("kind", [*KINDS, *MODES])
def test_where_an_episode_is_cut_off_no_action_need_be_legal(kind):
    """Many environments clear the mask at any end."""
    in_obs = type("InObs", (GatesOutOfTime,), {"said": "obs"})
    for factory in (GatesOutOfTime, in_obs):
        env = gates(kind, factory) if kind in KINDS else foreign(SyncVectorEnv, kind, factory)
        columns = played(env, 60)
        ended = columns["truncated"] & columns.get("valid", np.ones((60, 3), bool))
        assert ended.sum() > 10
        assert columns["next_action_mask"][ended].all()


@pytest.mark.parametrize("factory", [Gates, GatesInObs])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_in_the_info_and_one_in_the_observation_give_the_same_columns(kind, factory):
    """The agent sees the rest of the observation as it is; Discrete(3, start=5) has the mask of action 5 at 0."""
    env = gates(kind, factory)
    assert env.observation_space == Box(0, 999, (2,), np.float32)
    assert env.parts == ()
    expected, found = played(gates("sync")), played(env)
    assert {"action_mask", "next_action_mask"} < found.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    assert found["action_mask"].dtype == bool
    assert found["action_mask"].shape == (40, 3, 3)
    assert not found["action_mask"].all()


def test_the_mask_is_that_of_the_observation_and_the_next_one_that_of_its_true_successor():
    """TRM-5: gate place % 3 is always open, which tells to which observation a mask belongs. At an end nothing is
    legal, and every action will do."""
    columns = played(gates("sync"), 60)
    for obs, mask in (("obs", "action_mask"), ("next_obs", "next_action_mask")):
        place = columns[obs][..., 0].astype(int) % 3
        assert np.take_along_axis(columns[mask], place[..., None], axis=2).all()
    ended = columns["terminated"]
    assert ended.sum() > 20
    assert columns["next_action_mask"][ended].all()
    assert not columns["next_action_mask"][~ended].all(axis=1).all()
    running = ~ended[:-1]
    np.testing.assert_array_equal(columns["action_mask"][1:][running], columns["next_action_mask"][:-1][running])


FACTORIES = Gates, GatesInObs, GatesAmongOthers
OF_OTHERS = list(product((SyncVectorEnv, AsyncVectorEnv), MODES, FACTORIES))
IN_PROCESSES = [(AsyncVectorEnv, *pair) for pair in zip(MODES, FACTORIES, strict=True)]
"""Each way of starting anew and of showing masks once: what processes send is what environments in a list give."""


@pytest.mark.long
@pytest.mark.parametrize(("kind", "mode", "factory"), in_the_suite(OF_OTHERS, *OF_OTHERS[:9], *IN_PROCESSES))
def test_vector_environments_of_others_give_the_masks_of_the_true_observations(kind, mode, factory):
    """Also those that start anew by themselves: the mask of the end is not that of the new start."""
    columns = played(foreign(kind, mode, factory), 60)
    real = columns.get("valid", np.ones((60, 3), bool))
    first = {"obs": "action_mask", "next_obs": "next_action_mask"}
    start = 2 if factory is GatesAmongOthers else 0  # the flat vector is hour (one-hot), then place
    for obs, mask in first.items():
        place = columns[obs][real][:, start].astype(int) % 3
        assert columns[mask][real][np.arange(len(place)), place].all()
    ended = columns["terminated"] & real
    assert ended.sum() > 10
    assert columns["next_action_mask"][ended].all()
    assert not columns["next_action_mask"][real & ~ended].all(axis=1).all()


def test_what_remains_of_a_dict_is_what_it_was():
    """One part is the observation itself, a number for a table; several are flattened, without the mask."""
    assert toy_of("masked", mask="obs").observation_space == Discrete(8)
    assert toy_of("masked", mask="info").observation_space == Discrete(8)
    env = gates("sync", GatesAmongOthers)
    assert [part[0] for part in env.parts] == ["hour", "place"]
    assert env.observation_space.shape == (4,)


def test_taxi_says_its_masks_in_the_info():
    """At the start of seed 0, state 314, only south and north are open (gymnasium 1.4)."""
    env = gym_env.make(Gym(id="Taxi-v4"), 2)
    obs = env.reset(everyone(env), np.array([0, 1]))
    core = gymnasium.make("Taxi-v4").unwrapped
    expected = [core.action_mask(int(state)).astype(bool) for state in obs]
    np.testing.assert_array_equal(env.action_mask, expected)
    assert env.action_mask[0].tolist() == [True, True, False, False, False, False]
    out = env.step(env.action_mask.argmax(axis=1))
    np.testing.assert_array_equal(env.action_mask, [core.action_mask(int(state)).astype(bool) for state in out.obs])


@pytest.mark.parametrize("kind", KINDS)
def test_each_call_gives_an_array_of_its_own_and_a_reset_changes_only_its_rows(kind):
    env = gates(kind)
    env.reset(everyone(env), np.array([1, 2, 3]))
    start = env.action_mask
    kept = start.copy()
    env.step(start.argmax(axis=1))
    later = env.action_mask.copy()
    assert env.action_mask is not start
    np.testing.assert_array_equal(start, kept)
    env.reset(np.array([False, True, False]), np.array([0, 2, 0]))
    np.testing.assert_array_equal(env.action_mask, [later[0], kept[1], later[2]])
    env.close()


def test_environments_without_masks_have_none():
    env = toy_of("counter")
    env.reset(everyone(env), np.array([1]))
    env.step(np.array([0]))
    assert env.action_mask is None
    native = gym_env.make(Gym(), 3)
    native.reset(everyone(native), np.arange(3))
    assert native.action_mask is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", ["info", "obs"])
def test_masks_can_be_ignored_and_are_no_observation_even_then(kind, mask):
    env = toy_of("masked", rows=2, mask=mask, action_mask=False, vectorization=kind)
    assert env.observation_space == Discrete(8)
    obs = env.reset(everyone(env), np.array([1, 2]))
    assert env.action_mask is None
    with pytest.raises(EnvError, match="is illegal"):
        env.step(obs % 4)
    env.close()
    taxi = gym_env.make(Gym(id="Taxi-v4", action_mask=False), 1)
    taxi.reset(everyone(taxi), np.array([0]))
    assert taxi.action_mask is None


def test_a_vector_environment_of_another_can_be_told_to_ignore_masks():
    from envs.common.vector import GymnasiumVector, mode_of

    env = GymnasiumVector(mode_of(SyncVectorEnv([GatesInObs] * 2)), "gates", obey_masks=False)
    assert env.reset(everyone(env), np.arange(2)).shape == (2, 2)
    assert env.action_mask is None


def test_where_a_step_says_nothing_every_action_is_legal():
    env = assembled(corridor_with(reset=says(np.array([0, 1]))["reset"]), "mine", 2, "sync")
    env.reset(everyone(env), np.array([1, 2]))
    assert env.action_mask.tolist() == [[False, True]] * 2
    env.step(np.ones(2, int))
    assert env.action_mask.all()


class FirstLegal:
    """Chooses the first legal action; without a mask action 0."""

    def initial_state(self, rows):
        return None

    def predict_action(self, obs, state, mask=None):
        self.seen = obs.copy()
        return Act(np.zeros(len(obs), int) if mask is None else mask.argmax(axis=1))


@pytest.mark.parametrize("kind", [*KINDS, *MODES])
def test_a_trained_policy_takes_the_mask_from_the_observation_as_training_does(kind):
    for factory, more in ((GatesInObs, {}), (GatesAmongOthers, {"hour": 1})):
        env = gates(kind, factory) if kind in KINDS else foreign(SyncVectorEnv, kind, factory)
        policy = TrainedPolicy(FirstLegal(), env)
        obs = {"place": np.array([3.0, 4.0], np.float32), "action_mask": np.array([0, 0, 1], np.int8), **more}
        assert policy.act(obs) == 7
        assert policy.agent.seen.tolist() == [[3.0, 4.0]] if not more else policy.agent.seen.shape == (1, 4)
        assert policy.act(obs, mask=[0, 1, 0]) == 6
        rest = {key: obs[key] for key in ("place", *more)} if more else obs["place"]
        assert policy.act(rest, mask=[0, 1, 0]) == 6
        env.close()
    ignoring = assembled(GatesInObs, "gates", 1, "sync", obey_masks=False)
    assert TrainedPolicy(FirstLegal(), ignoring).act({key: obs[key] for key in ("place", "action_mask")}) == 5


# ------------------------------------------------------------------------------------------------------- refusals


def said(**changes):
    with pytest.raises(EnvError) as caught:
        assembled(corridor_with(**changes), "mine", 1, "sync")
    return str(caught.value)


def says(mask, later="same"):
    """A corridor whose infos hold this mask at the start and this one later."""
    later = mask if isinstance(later, str) else later

    def reset(self, *, seed=None, options=None):
        self._obs[0], self._time = 0, 0
        return self._obs, {} if mask is None else {"action_mask": mask}

    def step(self, action):
        self._time += 1
        return self._obs, 0.0, self._time == 9, False, {"action_mask": later}

    return {"reset": reset, "step": step}


@pytest.mark.parametrize(
    ("mask", "got"),
    [
        (np.ones(3, np.int8), "an array of int8 with shape (3,)"),
        ([1, 2], "list [1, 2]"),
        ([1, [0]], "list [1, [0]]"),
        ("01", "str '01'"),
        ({"left": 1}, "dict {'left': 1}"),
    ],
)
def test_a_mask_of_another_form_is_refused_with_what_was_expected(mask, got):
    message = said(**says(mask))
    assert f"action_mask of reset: expected 2 numbers 0 or 1, one for each action, got {got}. Say 1" in message
    assert "env_cfg.action_mask: false ignores it" in message
    assert assembled(corridor_with(**says(mask)), "mine", 1, "sync", obey_masks=False).observation_space


def test_masks_are_for_actions_that_are_chosen_from_a_few():
    message = said(**says(np.ones(2)), action_space=Box(-1, 1, (2,)))
    assert "action_mask of reset: expected actions that are chosen from a few, got Box(" in message
    assert "Masks are for" in message
    message = said(**says((np.ones(2), np.ones(3))), action_space=MultiDiscrete([2, 2]))
    assert "expected a mask of MultiDiscrete([2 2]), got the action_mask has shape (3,), and there are 2" in message


def test_a_start_without_a_legal_action_and_a_mask_that_comes_too_late_are_refused():
    assert "action_mask of reset: expected a legal action, got 0 everywhere" in said(**says(np.zeros(2)))
    assert "action_mask of reset: expected one like that of step, got none" in said(**says(None, np.ones(2)))
    assert "action_mask of step: expected 2 numbers" in said(**says(np.ones(2), np.ones(5)))


def test_an_observation_that_is_nothing_but_a_mask_is_refused():
    space = Dict({"action_mask": MultiBinary(2)})
    mask = {"action_mask": np.ones(2, np.int8)}
    changes = {"reset": lambda self, seed=None, options=None: (mask, {}), "observation_space": space}
    changes["step"] = lambda self, action: (mask, 0.0, False, False, {})
    assert "the observation has no part besides action_mask" in said(**changes)


def stuck():
    """From its third step on, nothing is legal."""

    def step(self, action):
        self._time += 1
        legal = np.full(2, self._time < 3, np.int8)
        return self._obs, 0.0, False, False, {"action_mask": legal}

    return corridor_with(**{**says(np.array([0, 1])), "step": step})


@pytest.mark.parametrize("kind", [*KINDS, "Disabled", "SameStep", "NextStep"])
def test_a_row_without_a_legal_action_is_named_with_its_seed(kind):
    env = assembled(stuck(), "mine", 2, kind) if kind in KINDS else foreign(SyncVectorEnv, kind, stuck(), 2)
    env.reset(everyone(env), np.array([41, 42]))
    assert env.action_mask.tolist() == [[False, True]] * 2
    env.step(np.ones(2, int))
    env.step(np.ones(2, int))
    with pytest.raises(EnvError, match=r"row (0|1).*no action is legal.*seed of the episode 4(1|2)"):
        env.step(np.ones(2, int))
    env.close()


# ---------------------------------------------------------------------------------------------- where they are used


@pytest.mark.parametrize("mask", ["info", "obs"])
def test_the_random_policy_only_takes_legal_actions(mask):
    """Knowing nothing is worth less than 1 a step, and an illegal action would raise."""
    mean = Evaluator(toy_of("masked", rows=4, mask=mask), 3, -1).random_return(200)
    assert 0.5 < mean < 1.5


def test_an_environment_that_fails_while_its_steps_are_timed_is_named(monkeypatch):
    """The contract was checked on fewer steps."""
    monkeypatch.setattr(gym_rows.machine, "cores", lambda: 2)
    calls = []

    def step(self, action):
        calls.append(action)
        if len(calls) > 5:
            raise KeyError("no sixth step")
        return says(None)["step"](self, action)

    with pytest.raises(EnvError, match=r"mine failed in step 5 of row 0: KeyError: 'no sixth step' at test_masks.py"):
        assembled(corridor_with(**{**says(None), "step": step}), "mine", 2, "auto")


def test_the_first_actions_of_the_probe_and_of_the_clock_are_legal(monkeypatch):
    """`auto` takes some steps to measure the time of one."""

    def step(self, action):
        assert action == 1
        return says(np.array([0, 1]))["step"](self, action)

    monkeypatch.setattr(gym_rows.machine, "cores", lambda: 2)
    env = assembled(corridor_with(**{**says(np.array([0, 1])), "step": step}), "mine", 2, "auto")
    assert env.reset(everyone(env), np.arange(2)).shape == (2, 1)


@pytest.mark.parametrize("factory", [Gates, GatesInObs])
def test_rows_of_different_ages_go_on_to_the_bit(factory):
    """RES-2: before its own episode begins, a row that is played again stands in another one, where the recorded
    actions may be illegal."""
    whole = collector_of(gates("sync", factory), Legal())
    states, columns = [], []
    for _ in range(25):
        states.append(saved_and_read(whole.state()))
        columns.append(copied(whole.collect(1, Progress())[0]))
        whole.settle()
    for t, state in enumerate(states):
        other = collector_of(gates("sync", factory), Legal(), seed=77)
        assert other.load_state(state) == []
        assert saved_and_read(other.state())["tape"].tobytes() == state["tape"].tobytes()
        for expected in columns[t:]:
            found = other.collect(1, Progress())[0].columns
            other.settle()
            assert {name: value.tobytes() for name, value in expected.items()} == {
                name: value.tobytes() for name, value in found.items()
            }


@pytest.mark.parametrize("mask", [[1, 0.5], [np.nan, 1], [-np.inf, 1], [1, 2], ["1", "0"], "a", [[1], [0, 1]]])
def test_a_mask_has_nothing_but_0_and_1(mask):
    """A text "0" counted as legal, and so did every number but 0."""
    with pytest.raises(EnvError, match="action_mask does not fit"):
        masks.legal(mask, Discrete(2))
    assert masks.legal([1.0, 0.0], Discrete(2)).tolist() == [True, False]
