"""The loop that steps environments: a recorded tape of calls, true successors, seeds, and going on exactly."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from helpers_core import CountingEnv, PolicyOfNothing, TapeAgent, collector_of, saved_and_read, toy_of
from helpers_envs import Corridor, corridor_with, foreign

from algos.base import Act, Progress
from envs.base import EnvError
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.errors import NumericsError
from framework.evaluator import Evaluator, replay
from framework.recorders import Tape
from framework.seeding import draw_seed, number, stream


def copied(fragment):
    return {name: value.copy() for name, value in fragment.columns.items()}


# ------------------------------------------------------------------------------------------------------ the loop


def test_the_loop_acts_steps_and_resets_in_this_order():
    """Row 0 ends after 2 steps; seeds are 100 row + episode + 1, observations 10 seed + step."""
    tape = []
    env = CountingEnv((2, "terminated"), (9, "terminated"), tape=tape)
    collector = collector_of(env, TapeAgent(tape))
    fragment, episodes = collector.collect(3, Progress(step=7))
    a, b, c = fragment.columns["action"].tolist()
    assert tape == [
        ("reset", [True, True], [1, 101]),
        ("sample", [10.0, 1010.0], 7),
        ("step", a),
        ("sample", [11.0, 1011.0], 7),
        ("step", b),
        ("reset", [True, False], [2]),
        ("sample", [20.0, 1012.0], 7),
        ("step", c),
    ]
    (episode,) = episodes
    assert episode == (0, 0, 0, 1, 3.0, 2, True, 2)
    assert episode._fields == ("worker", "row", "number", "seed", "total", "length", "terminated", "steps")


def test_the_columns_hold_what_was_seen_done_and_given():
    """TRM-5: the successor of the last step is the true one, 12, and not the new start, 20."""
    collector = collector_of(CountingEnv((2, "terminated"), (9, "truncated")))
    fragment, _ = collector.collect(3, Progress())
    columns = fragment.columns
    assert columns["obs"][..., 0].tolist() == [[10, 1010], [11, 1011], [20, 1012]]
    assert columns["next_obs"][..., 0].tolist() == [[11, 1011], [12, 1012], [21, 1013]]
    assert columns["reward"].tolist() == [[1, 1], [2, 2], [1, 3]]
    assert columns["terminated"].tolist() == [[False, False], [True, False], [False, False]]
    assert not columns["truncated"].any()
    assert columns["log_prob"].tolist() == (-columns["action"].astype(float)).tolist()
    assert (fragment.steps, fragment.rows, fragment.origin.first_step) == (3, 2, 0)
    assert fragment.start["first"].tolist() == [True, True]
    later, _ = collector.collect(2, Progress(), version=5)
    assert later.origin == (0, 0, 5, 3)
    assert later.start["first"].tolist() == [False, False]


def test_a_policy_that_does_not_explore_predicts_and_draws_nothing():
    tape = []
    collector = collector_of(CountingEnv((9, "terminated")), TapeAgent(tape), explore=False)
    before = collector.rng.bit_generator.state
    fragment, _ = collector.collect(2, Progress())
    assert [call[0] for call in tape] == ["predict", "predict"]
    assert fragment.columns["action"].tolist() == [[3], [3]]
    assert collector.rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("kind", "flags"),
    [("terminated", (True, False)), ("truncated", (False, True)), ("both", (True, False))],
)
def test_either_flag_ends_an_episode_and_a_termination_wins(kind, flags):
    """TRM-2, TRM-3: the environment raises if it is stepped after an end."""
    fragment, episodes = collector_of(CountingEnv((3, kind))).collect(7, Progress())
    assert [episode.length for episode in episodes] == [3, 3]
    assert [episode.terminated for episode in episodes] == [flags[0]] * 2
    assert (fragment.columns["terminated"][2, 0], fragment.columns["truncated"][2, 0]) == flags
    assert fragment.columns["obs"][3, 0, 0] == 20


def test_max_step_truncates_and_leaves_a_termination_at_the_same_step_alone():
    fragment, episodes = collector_of(CountingEnv((9, "truncated")), max_step=4).collect(9, Progress())
    assert [(episode.length, episode.terminated) for episode in episodes] == [(4, False), (4, False)]
    assert np.flatnonzero(fragment.columns["truncated"]).tolist() == [3, 7]
    fragment, _ = collector_of(CountingEnv((4, "terminated")), max_step=4).collect(4, Progress())
    assert fragment.columns["terminated"][3, 0]
    assert not fragment.columns["truncated"].any()


@pytest.mark.parametrize("kind", ["sync", "async", "native"])
def test_every_kind_of_environment_gives_the_same_columns_with_true_successors(kind):
    """TRM-5, RES-2: within an episode each successor is the next observation, and at its end it is not."""
    columns, _ = played(cartpole(kind), 60)
    reference, _ = played(cartpole("sync"), 60)
    assert columns == reference


def cartpole(kind, rows=3):
    return lambda: gym_env.make(Gym(vectorization=kind, max_episode_steps=15), rows)


def played(make, steps):
    """The bytes of all columns, after a check of the chain of successors."""
    env = make()
    collector = collector_of(env, PolicyOfNothing(), max_step=11)
    columns = copied(collector.collect(steps, Progress())[0])
    env.close()
    ended = columns["terminated"] | columns["truncated"]
    chained = (columns["obs"][1:] == columns["next_obs"][:-1]).all(axis=2)
    np.testing.assert_array_equal(chained, ~ended[:-1])
    assert columns["terminated"].any()
    assert columns["truncated"].any()
    return {name: value.tobytes() for name, value in columns.items()}, ended


def test_dummy_steps_of_next_step_autoreset_are_marked_and_do_not_count():
    """Row 0 goes right and is paid 1/2 + 1 + 3/2 in 3 steps, row 1 goes left and pays 1/2 + .. + 7/2 in 7."""
    collector = collector_of(foreign(SyncVectorEnv, "NextStep", rows=2), RightAndLeft())
    fragment, episodes = collector.collect(7, Progress())
    assert fragment.columns["valid"].T.tolist() == [[True, True, True, False, True, True, True], [True] * 7]
    assert [(e.row, e.length, e.total) for e in episodes] == [(0, 3, 3.0), (0, 3, 3.0), (1, 7, -14.0)]
    ended = fragment.columns["terminated"] | fragment.columns["truncated"]
    assert not (ended & ~fragment.columns["valid"]).any()


class RightAndLeft(PolicyOfNothing):
    """Row 0 always to the right, row 1 always to the left."""

    def sample_action(self, obs, state, progress, rng):
        return Act(np.array([1, 0]))


@pytest.mark.parametrize("field", ["reward", "obs"])
def test_a_number_that_is_not_finite_ends_the_run_where_it_comes_in(field):
    """NUM-1: by the environment, which knows the seed, or else by the collector."""
    collector = collector_of(toy_of("bad", field=field, value="inf", step=3), PolicyOfNothing())
    with pytest.raises((NumericsError, EnvError), match=r"step 3.*(inf|finite)"):
        collector.collect(5, Progress())


def test_the_collector_itself_refuses_a_reward_that_is_not_a_number():
    """NUM-1"""
    env = CountingEnv((9, "terminated"), (9, "terminated"))
    step = env.step

    def broken(action):
        out = step(action)
        out.reward[1] = np.nan if out.reward[1] == 4 else out.reward[1]
        return out

    env.step = broken
    collector = collector_of(env)
    collector.collect(2, Progress())
    with pytest.raises(NumericsError, match="reward = nan in row 1 at step 4"):
        collector.collect(3, Progress())


# -------------------------------------------------------------------------------------------------------- seeds


def seeds_of(seed, worker, rows=3, episodes=300):
    return [number(seed, "episode", worker, row, episode) for row in range(rows) for episode in range(episodes)]


def test_every_episode_has_its_own_seed_which_is_a_function_of_its_place():
    """DET-4, DET-5: the same again in another order, and no other worker, row, episode or run has it."""
    alone = seeds_of(1, 0)
    assert alone == seeds_of(1, 0)
    assert number(1, "episode", 0, 2, 299) == alone[-1]
    everywhere = [seed for run in (1, 2) for worker in range(3) for seed in seeds_of(run, worker)]
    assert len(set(everywhere)) == len(everywhere)
    assert all(0 <= seed < 2**31 for seed in everywhere)


def test_streams_depend_on_seed_name_and_numbers_alone():
    """DET-5: another worker moves no stream; DET-6: memory, learning and acting have streams of their own."""
    names = [("act", 0), ("act", 1), ("memory",), ("learn",), ("init",), ("episode", 0, 0, 0)]
    first = [stream(1, *name).random() for name in names]
    assert first == [stream(1, *name).random() for name in names]
    assert len({*first, *(stream(2, *name).random() for name in names)}) == 2 * len(names)


def test_a_drawn_seed_is_never_the_zero_that_asks_for_one():
    assert all(0 < draw_seed() < 2**31 for _ in range(100))


def test_episodes_start_differently_and_the_pair_repeats():
    """DET-2, DET-4"""

    def starts(seed):
        env = gym_env.make(Gym(vectorization="sync"), 1)
        collector = collector_of(
            env, PolicyOfNothing(), episode_seed=lambda row, n: number(seed, "episode", 0, row, n), max_step=2
        )
        return copied(collector.collect(4, Progress())[0])["obs"][[0, 2]].tolist()

    assert starts(1) == starts(1)
    assert starts(1)[0] != starts(1)[1]
    assert starts(1) != starts(2)


# -------------------------------------------------------------------------------------------------------- play


def test_play_takes_the_first_episodes_of_each_row_and_not_the_shortest():
    """Row 0 needs 2 steps, row 1 needs 5: of four episodes, two are of each, in the order of the rows."""
    collector = collector_of(CountingEnv((2, "terminated"), (5, "terminated")))
    episodes = collector.play(4, Progress())
    assert [(e.row, e.number, e.length) for e in episodes] == [(0, 0, 2), (1, 0, 5), (0, 1, 2), (1, 1, 5)]
    assert [e.seed for e in episodes] == [1, 101, 2, 102]
    assert [e.row for e in collector_of(CountingEnv(*[(2, "truncated")] * 3)).play(2, Progress())] == [0, 1]


def test_play_can_be_broken_off():
    class Stop(Exception):
        pass

    calls = []

    def check():
        calls.append(None)
        if len(calls) == 4:
            raise Stop

    collector = collector_of(CountingEnv((9, "terminated")))
    with pytest.raises(Stop):
        collector.play(5, Progress(), check)
    assert collector.steps == 3


def test_an_evaluation_plays_the_same_episodes_every_time_and_disturbs_no_training():
    """DET-3, EVL-2: its own environment, seeds and streams."""

    def trained(evaluating):
        env = gym_env.make(Gym(vectorization="sync"), 2)
        evaluator = Evaluator(gym_env.make(Gym(vectorization="sync"), 3), 1, 20)
        agent, scores, seen = PolicyOfNothing(), [], []
        collector = collector_of(env, agent)
        for _ in range(3):
            seen.append(copied(collector.collect(20, Progress())[0])["obs"].tobytes())
            collector.settle()
            if evaluating:
                scores.append(evaluator.play(agent, 5).episodes)
                assert evaluator.random_return(3) > 0
        assert all(score == scores[0] for score in scores)
        return seen

    assert trained(True) == trained(False)


def test_the_episodes_of_an_evaluation_do_not_depend_on_its_rows():
    def seeds(rows):
        env = CountingEnv(*[(2, "terminated")] * rows)
        return [episode.seed for episode in Evaluator(env, 5, -1).play(TapeAgent(), 6).episodes]

    assert seeds(1) == seeds(2) == seeds(3) == [number(5, "evaluation", i) for i in range(6)]


def test_the_facts_of_an_evaluation_are_those_of_its_returns():
    # returns 1 + 2 and 1 + 2 + 3 + 4 + 5
    evaluation = Evaluator(CountingEnv((2, "terminated"), (5, "terminated")), 5, -1).play(TapeAgent(), 2)
    assert evaluation.facts() == {"mean": 9.0, "std": 6.0, "min": 3.0, "max": 15.0, "median": 9.0, "episodes": 2}


def test_an_episode_can_be_played_again_from_its_seed_and_its_actions():
    """For a film: in an environment of one row, step by step the same."""
    tape, seen = Tape(2), Recorder()
    evaluator = Evaluator(gym_env.make(Gym(vectorization="sync"), 2), 5, 30)
    episodes = evaluator.play(PolicyOfNothing(), 4, (tape, seen)).episodes
    for episode in episodes:
        again, actions = Recorder(), tape.episodes[episode.row, episode.number]
        assert len(actions) == episode.length
        assert replay(gym_env.make(Gym(vectorization="sync"), 1), episode, actions, again) == episode.total
        assert (episode.row, again.ended[0][1]) in seen.ended


def test_a_random_policy_may_find_no_end_within_its_time():
    assert Evaluator(CountingEnv((10**9, "terminated")), 5, -1).random_return(seconds=0.01) is None


# ---------------------------------------------------------------------------------------------------- going on


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
    assert len(collector._tape) < 4096 + 2000


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
    recorder = Recorder()
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
    assert fragment.origin.incarnation == 1
    # an exact resume of that run is not another break
    assert again.load_state(state) == []
    assert again.collect(4, Progress())[0].origin == (0, 1, 0, 5)


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
    assert (fragment.origin.incarnation, fragment.origin.first_step) == (1, 9)


def corridor_copying():
    def step(self, action):
        obs, *rest = Corridor.step(self, action)
        return obs.copy(), *rest

    return corridor_with(step=step)


class Recorder:
    """Keeps the running steps of each row, as trajectories do."""

    def __init__(self):
        self.running, self.ended, self.dropped = {}, [], []

    def step(self, obs, action, step, env):
        for row in range(env.rows):
            self.running.setdefault(row, []).append((obs[row].tolist(), step.reward[row].item()))

    def end(self, episode):
        self.ended.append((episode.row, self.running.pop(episode.row)))

    def drop(self, row):
        self.dropped.append(row)
        self.running.pop(row, None)


def test_recorders_see_whole_episodes_and_get_the_running_ones_back_at_a_resume():
    """RES-2, TRJ-1: rows of different ages, one of them idle while the others are played again."""

    def make():
        return CountingEnv((4, "terminated"), (7, "truncated"), (13, "terminated"))

    whole, first, second = Recorder(), Recorder(), Recorder()
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
            return (np.zeros((rows, 2), np.float32), np.zeros(rows, np.int64))

        def sample_action(self, obs, state, progress, rng):
            after = (state[0] + 1, state[1] + 1)
            return super().sample_action(obs, state, progress, rng)._replace(action=state[1] % 3, state=after)

    def make():
        return CountingEnv((2, "terminated"), (5, "terminated"))

    collector = collector_of(make(), Counts())
    fragment, _ = collector.collect(6, Progress())
    assert fragment.columns["action"].T.tolist() == [[0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 0]]
    assert fragment.start["state"][1].tolist() == [0, 0]
    collector.settle()
    other = collector_of(make(), Counts())
    other.load_state(saved_and_read(collector.state()))
    np.testing.assert_equal(other.collect(5, Progress())[0].columns, collector.collect(5, Progress())[0].columns)
