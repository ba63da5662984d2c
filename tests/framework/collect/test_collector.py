"""The loop that steps environments: a recorded tape of calls, and true successors."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from algos.base import Act, Progress
from envs.base import EnvError
from framework.errors import NumericsError
from tests.tools.core import (
    CountingEnv,
    PolicyOfNothing,
    TapeAgent,
    cartpole,
    collector_of,
    copied,
    toy_of,
)
from tests.tools.envs import foreign


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
    assert episode == (0, 0, 0, 1, 3.0, 2, True, 2, None, {}, False)
    assert episode._fields[:8] == ("worker", "row", "number", "seed", "total", "length", "terminated", "steps")
    assert episode._fields[8:] == ("phase", "metrics", "cut")


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
    later, _ = collector.collect(2, Progress())
    assert later.origin[:2] == (0, 3)
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

    def sample_action(self, obs, state, progress, rng, mask=None):
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
