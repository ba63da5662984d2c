"""REINFORCE: returns and baselines by hand, and windows of complete episodes."""

import pytest
import torch

from algos.base import Progress
from algos.reinforce import Config
from algos.reinforce.agent import monte_carlo, scaled
from tests.tools.core import collector_of, memory_of, ramp, toy_of
from tests.tools.policy import learning, prepared, quick


def tensor(*values):
    return torch.tensor(values)


def test_a_monte_carlo_return_is_what_the_episode_still_brings():
    """Sutton and Barto (2018), equation 3.9: G_t = R_(t+1) + gamma G_(t+1).

    Rewards 1, 2, 3, 4 with gamma 1/2, the first episode ends after the second step."""
    # 1 + 2/2 = 2, 2;  3 + 4/2 = 5, 4
    ended = tensor(False, True, False, True)[:, None]
    assert monte_carlo(tensor(1.0, 2.0, 3.0, 4.0)[:, None], ended, 0.5)[:, 0].tolist() == [2, 2, 5, 4]


def test_advantages_are_divided_by_the_root_mean_square_of_valid_steps():
    """NUM-1: sqrt((9 + 16 + 25) / 2) = 5 of the valid 5 and 5; nothing is divided by nothing."""
    assert scaled(tensor(5.0, 99.0, -5.0), tensor(True, False, True)).tolist() == pytest.approx([1, 19.8, -1])
    assert scaled(tensor(0.0, 0.0), tensor(True, True)).tolist() == [0, 0]


END = {(2, 0): "terminated"}
CUT = {(0, 0): "terminated", (2, 0): "truncated"}


@pytest.mark.parametrize(
    ("baseline", "ends", "target", "advantage"),
    [
        # 1 + 3.5/2, 2 + 3/2, 3
        ("none", END, [2.75, 3.5, 3], [2.75, 3.5, 3]),
        # their mean is 9.25 / 3
        ("mean", END, [2.75, 3.5, 3], [2.75 - 9.25 / 3, 3.5 - 9.25 / 3, 3 - 9.25 / 3]),
        ("value", END, [2.75, 3.5, 3], [2.75 - 0, 3.5 - 1, 3 - 2]),
        # cut off at observation 2.5: unknown without a critic, else 3 + 2.5/2 = 4.25 and 2 + 4.25/2
        ("none", CUT, [1, 3.5, 3], [1, 3.5, 3]),
        ("value", CUT, [1, 4.125, 4.25], [1 - 0, 4.125 - 1, 4.25 - 2]),
    ],
)
def test_each_baseline_is_subtracted_and_a_cut_is_worth_what_a_critic_says(baseline, ends, target, advantage):
    """Sutton and Barto (2018), equation 13.8 (Williams, 1992), weights the gradient of log pi by G_t, and
    equation 13.11 by G_t - b(S_t). TRM-1"""
    window = prepared("REINFORCE", ends, baseline=baseline, normalize_advantage=False)
    assert window["target"][:, 0].tolist() == pytest.approx(target)
    assert window["advantage"][:, 0].tolist() == pytest.approx(advantage)


def test_steps_that_were_handed_out_before_move_no_statistic():
    agent = quick("REINFORCE", toy_of("match"), normalize_obs=True)
    columns = {
        name: torch.from_numpy(value) for name, value in ramp(0, 3, 1, {(0, 0): "terminated", **END}).columns.items()
    }
    window = agent.prepare({**columns, "valid": tensor(False, True, True)[:, None]}, Progress())
    assert agent.normalizer.moments.mean.item() == 1.5
    # returns with gamma 0.99: 2 + 2.97 = 4.97 and 3, so 0.985 each from their mean
    assert window["advantage"][1:, 0].tolist() == pytest.approx([1, -1])


def test_an_update_waits_for_so_many_complete_episodes():
    env = toy_of("two_step", 4)
    agent, rounds = quick("REINFORCE", env, batch_episode=6), 0
    memory, collector = memory_of(agent), collector_of(env, agent)
    while (chunk := memory.take(0.0)) is None:
        memory.add(collector.collect(1, Progress())[0])
        rounds += 1
    # episodes of two steps in four rows: after four steps eight are complete, and all of them are taken
    assert (rounds, chunk.columns["valid"].sum()) == (4, 16)


def test_settings_of_the_value_are_named_where_nothing_has_a_value():
    unread = dict(Config(baseline="mean", critic_lr=0.1, value_coef=1.0).unread())
    assert {"critic_lr", "value_coef"} <= unread.keys()
    assert list(Config(baseline="value", critic_lr=0.1).unread()) == []
    assert "critic.0.weight" not in learning("REINFORCE")[0].weights()
