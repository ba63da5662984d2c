"""A collector that goes on: exactly where its environments can be played again, and honestly where they cannot."""

from typing import ClassVar

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import joystick
from algos.base import Progress
from envs.base import EnvError
from envs.common.vector import GymnasiumVector, mode_of
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.collect import collector as collecting
from framework.collect.collector import Tape
from framework.disk.csv_table import read_csv
from framework.record.callbacks import CallbackRecorder
from tests.tools.core import (
    CountingEnv,
    PolicyOfNothing,
    StepRecorder,
    TapeAgent,
    cartpole,
    collector_of,
    copied,
    saved_and_read,
)
from tests.tools.data import Counts
from tests.tools.envs import Corridor, corridor_with, foreign


def cut_and_continued(make, agent, cuts, total, **settings):
    """Rows reported, and whether the columns after each cut are those of a run that never stopped. The state goes
    through the form that it has on disk."""
    env = make()
    whole = collector_of(env, agent, **settings)
    columns, states = [], {}
    for t in range(total):
        if t in cuts:
            states[t] = saved_and_read(whole.state())
        fragment, episodes = whole.collect(1, Progress())
        columns.append((copied(fragment), episodes))
        whole.settle()
    env.close()
    for t, state in states.items():
        other_env = make()
        other = collector_of(other_env, agent, seed=77, **settings)
        assert other.load_state(state) == []
        assert other.steps == t
        for expected, episodes in columns[t:]:
            fragment, ended = other.collect(1, Progress())
            other.settle()
            assert ended == episodes
            for name, value in expected.items():
                assert fragment.columns[name].tobytes() == value.tobytes(), (t, name)
        other_env.close()


def test_a_counter_goes_on_from_any_step_as_if_it_had_never_stopped():
    """RES-2: in mid-episode, at the end of an episode, and with rows of different ages."""

    def make():
        return CountingEnv((3, "terminated"), (7, "truncated"), (50, "terminated"))

    cut_and_continued(make, TapeAgent(), range(25), 26)
    cut_and_continued(make, TapeAgent(), range(25), 26, max_step=5)


@pytest.mark.parametrize(("kind", "cuts"), [("sync", range(0, 40, 3)), ("native", range(0, 40, 3)), ("async", [17])])
def test_cartpole_goes_on_to_the_bit(kind, cuts):
    """RES-2"""
    cut_and_continued(cartpole(kind), PolicyOfNothing(), cuts, 45, max_step=11)


def test_lunar_lander_goes_on_to_the_bit():
    """RES-2: its physics cannot be copied, only played again."""
    cut_and_continued(
        lambda: gym_env.make(Gym(id="LunarLander-v3", vectorization="sync"), 2), PolicyOfNothing(4), [60, 130], 150
    )


def test_a_second_resume_equals_the_first():
    """RES-8"""
    env = CountingEnv((9, "terminated"), (4, "truncated"))
    collector = collector_of(env)
    collector.collect(6, Progress())
    collector.settle()
    once, twice = (collector_of(CountingEnv((9, "terminated"), (4, "truncated"))) for _ in range(2))
    once.load_state(saved_and_read(collector.state()))
    twice.load_state(saved_and_read(once.state()))
    np.testing.assert_equal(twice.state(), collector.state())


def test_the_state_in_the_middle_of_a_round_is_that_of_the_last_whole_round():
    env = CountingEnv((9, "terminated"), (4, "terminated"))
    collector = collector_of(env)
    collector.collect(5, Progress())
    collector.settle()
    before = saved_and_read(collector.state())
    step = env.step

    def failing(action):
        if collector.steps == 10:
            raise EnvError("gone")
        return step(action)

    env.step = failing
    with pytest.raises(EnvError):
        collector.collect(20, Progress())
    assert collector.steps == 10
    np.testing.assert_equal(saved_and_read(collector.state()), before)


def test_the_tape_is_as_long_as_the_oldest_running_episode_and_no_longer():
    collector = collector_of(CountingEnv((2000, "terminated"), (5, "terminated")))
    for _ in range(8):
        collector.collect(900, Progress())
        collector.settle()
        assert len(collector.state()["tape"]) == collector.steps % 2000
    assert len(collector._tape.actions) < 4096 + 2000


def test_an_episode_that_never_ends_costs_no_more_than_the_longest_replay(monkeypatch):
    """CKP-8: 10 steps may be replayed. Row 0 never ends; row 1 does after 3 steps, and goes on exactly."""
    monkeypatch.setattr(collecting, "LONGEST_REPLAY", 10)
    monkeypatch.setattr(Tape, "FORGOTTEN_AT_ONCE", 0)
    ends = (10**6, "terminated"), (3, "terminated")
    collector = collector_of(CountingEnv(*ends), remembered=3)
    for steps, length, different in ((10, 10, []), (1, 2, [0]), (7, 0, [0]), (1, 1, [0])):
        collector.collect(steps, Progress())
        collector.settle()
        state = saved_and_read(collector.state())
        assert len(state["tape"]) == length
        other = collector_of(CountingEnv(*ends), seed=5)
        assert other.load_state(state) == different
        assert other.running().tolist() == [len(different), collector.steps // 3]
        expected, fragment = copied(collector_state_of(collector, ends)), copied(other.collect(2, Progress())[0])
        np.testing.assert_array_equal(fragment["obs"][:, 1], expected["obs"][:, 1])
        assert fragment["obs"][0, 0, 0] == (20 if different else 10 + collector.steps)
    collector.collect(500, Progress())
    for _ in range(3):
        collector.settle()
    assert len(collector._tape.actions) <= 2
    assert len(collector.state(back=2)["tape"]) == collector.steps % 3


def collector_state_of(collector, ends):
    """The next two steps of a run that was never saved and has the same actions in row 1."""
    whole = collector_of(CountingEnv(*ends))
    whole.collect(collector.steps, Progress())
    return whole.collect(2, Progress())[0]


class Forgetful(CountingEnv):
    """Row 1 does not repeat itself: its observations are off by so much, or it ends early. A blind one shows nothing;
    pay is a factor on all rewards."""

    def __init__(self, *ends, off=0.0, early=False, blind=False, pay=1):
        self.off, self.early, self.blind, self.pay = off, early, blind, pay
        super().__init__(*ends)

    def _obs(self):
        seen = super()._obs() + np.array([[0.0], [self.off]], np.float32)
        return seen * (not self.blind)

    def step(self, action):
        out = super().step(action)
        out.reward[:] *= self.pay
        if self.early and self._step[1] == 2:
            out.terminated[1] = self._ended[1] = True
        return out


@pytest.mark.parametrize(
    ("first", "second"),
    [({}, {"off": 0.25}), ({}, {"early": True}), ({"blind": True}, {"blind": True, "early": True})],
)
def test_a_row_that_comes_out_differently_starts_anew_and_is_reported(first, second):
    """Another observation, or an end that did not come then: the other rows go on exactly."""
    collector = collector_of(Forgetful((9, "terminated"), (9, "terminated"), **first))
    collector.collect(5, Progress())
    collector.settle()
    recorder = StepRecorder()
    other, again = (collector_of(Forgetful((9, "terminated"), (9, "terminated"), **second)) for _ in range(2))
    other.recorders = (recorder,)
    assert other.load_state(saved_and_read(collector.state())) == [1]
    assert recorder.dropped[-1] == 1
    state = saved_and_read(other.state())
    fragment, episodes = other.collect(4, Progress())
    expected, _ = collector.collect(4, Progress())
    np.testing.assert_array_equal(fragment.columns["obs"][:, 0], expected.columns["obs"][:, 0])
    assert fragment.start["first"].tolist() == [False, True]
    assert [(e.number, e.seed, e.total) for e in episodes if e.row == 0] == [(0, 1, 45.0)]
    # a resume of that run is exact again
    assert again.load_state(state) == []
    assert again.collect(4, Progress())[0].origin[:2] == (0, 5)


def test_what_was_paid_before_a_resume_stays_paid():
    collector = collector_of(Forgetful((9, "terminated"), (9, "terminated")))
    collector.collect(5, Progress())
    collector.settle()
    other = collector_of(Forgetful((9, "terminated"), (9, "terminated"), pay=10))
    assert other.load_state(saved_and_read(collector.state())) == []
    # 1 + .. + 5, then ten times 6 + .. + 9
    assert [episode.total for episode in other.collect(4, Progress())[1]] == [315.0, 315.0]


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_an_environment_that_cannot_be_replayed_begins_anew_in_all_rows(mode):
    def make():
        return foreign(SyncVectorEnv, mode, corridor_copying(), rows=2)

    collector = collector_of(make(), PolicyOfNothing())
    collector.collect(9, Progress())
    collector.settle()
    other = collector_of(make(), PolicyOfNothing())
    assert other.load_state(saved_and_read(collector.state())) == [0, 1]
    fragment, _ = other.collect(1, Progress())
    assert fragment.columns["obs"].reshape(-1).tolist() == [0, 0]
    assert fragment.origin.first_step == 9


def corridor_copying():
    def step(self, action):
        obs, *rest = Corridor.step(self, action)
        return obs.copy(), *rest

    return corridor_with(step=step)


def test_recorders_see_whole_episodes_and_get_the_running_ones_back_at_a_resume():
    """RES-2, TRJ-1: rows of different ages, one of them idle while the others are played again."""

    def make():
        return CountingEnv((4, "terminated"), (7, "truncated"), (13, "terminated"))

    whole, first, second = StepRecorder(), StepRecorder(), StepRecorder()
    collector = collector_of(make(), recorders=(whole, first))
    collector.collect(10, Progress())
    collector.settle()
    other = collector_of(make(), recorders=(second,))
    other.load_state(saved_and_read(collector.state()))
    assert second.running == first.running
    assert second.ended == []
    collector.collect(20, Progress())
    other.collect(20, Progress())
    assert whole.ended[-len(second.ended) :] == second.ended
    for row, steps in whole.ended:
        assert [reward for _, reward in steps] == list(range(1, (4, 7, 13)[row] + 1))


def test_a_recurrent_state_starts_anew_with_each_episode_and_is_carried_on_by_a_resume():
    class Counts(PolicyOfNothing):
        """Its state counts the steps of the episode, and it does what the count says."""

        def initial_state(self, rows):
            return np.zeros((rows, 1), np.float32)

        def sample_action(self, obs, state, progress, rng, mask=None):
            counted = state[:, 0].astype(np.int64) % 3
            return super().sample_action(obs, state, progress, rng)._replace(action=counted, state=state + 1)

    def make():
        return CountingEnv((2, "terminated"), (5, "terminated"))

    collector = collector_of(make(), Counts())
    fragment, _ = collector.collect(6, Progress())
    assert fragment.columns["action"].T.tolist() == [[0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 0]]
    assert fragment.start["state"].tolist() == [[0], [0]]
    assert fragment.columns["state"][..., 0].T.tolist() == [[0, 1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 0]]
    collector.settle()
    other = collector_of(make(), Counts())
    other.load_state(saved_and_read(collector.state()))
    np.testing.assert_equal(other.collect(5, Progress())[0].columns, collector.collect(5, Progress())[0].columns)


def test_a_recurrent_state_does_not_survive_a_dummy_step():
    """Under NEXT_STEP gymnasium inserts a dummy step after an end: what the policy carries out of it is forgotten. Row
    1 goes to the right and ends after 3 steps, while row 0 goes on."""

    class Counts(PolicyOfNothing):
        def initial_state(self, rows):
            return np.zeros((rows, 1), np.float32)

        def sample_action(self, obs, state, progress, rng, mask=None):
            return super().sample_action(obs, state, progress, rng)._replace(action=np.array([0, 1]), state=state + 1)

    collector = collector_of(foreign(SyncVectorEnv, "NextStep", corridor_copying(), rows=2), Counts())
    columns = collector.collect(7, Progress())[0].columns
    assert columns["valid"][:, 1].tolist() == [True] * 3 + [False] + [True] * 3
    assert columns["state"][:, 1, 0].tolist() == [0, 1, 2, 0, 0, 1, 2]


def long_rows(num_envs: int) -> SyncVectorEnv:
    """Rows whose episodes have 4, 5, 6, ... steps, with dummy steps between them."""
    return SyncVectorEnv([lambda n=n: Counts(4 + n) for n in range(num_envs)], autoreset_mode=AutoresetMode.NEXT_STEP)


def test_the_steps_of_train_csv_count_no_dummy_steps_and_never_go_back(tmp_path):
    general = {"max_total_step": 2000, "online_eval": False, "save_fig": False}
    more = {"general_cfg": general, "algo_cfg": {"batch_size": 512}, "env_cfg": {"n_envs": 4}}
    with joystick.Run("PPO", long_rows, seed=1, into=tmp_path / "run", **more) as run:
        run.train()
        task, total = run.task, run.count.step
    steps = [row["step"] for row in read_csv(task / "results/train.csv")]
    assert steps == sorted(steps)
    assert steps[-1] <= total


class Begins(joystick.Callbacks):
    """Keeps the first observation of each episode."""

    seen: ClassVar[list[float]] = []

    def on_episode_start(self, *, episode, env):
        self.seen.append(float(episode.last_observation()[0]))


def test_an_episode_that_begins_with_a_dummy_step_tells_callbacks_its_own_first_observation(monkeypatch):
    monkeypatch.setattr(Begins, "seen", [])
    env = GymnasiumVector(mode_of(long_rows(3)), "long")
    collector_of(env, PolicyOfNothing(), recorders=(CallbackRecorder(Begins(), 3),)).collect(40, Progress())
    assert len(Begins.seen) == 3 + 8 + 6 + 5  # episodes of 4, 5 and 6 steps and a dummy step each
    assert set(Begins.seen) == {0.0}
