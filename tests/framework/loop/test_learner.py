"""The shape of minibatches, and what comes back from a chunk."""

import numpy as np
import pytest
import torch

from algos.base import Agent, Progress, Result, Streams
from config.model.memory_spec import RolloutSpec
from framework.errors import NumericsError
from framework.loop.learner import AgentLearner
from framework.memory import Chunk
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import ramp, replay


class Listener(Agent):
    """An agent that keeps what it is given; stops after so many updates, and says NaN in one of them."""

    predict_action = None

    def __init__(self, stop_after=None, nan_at=None, prioritised=False):
        super().__init__(None, None, Streams(0, np.random.default_rng(0)), torch.device("cpu"))
        self.batches, self.prepared = [], []
        self.stop_after, self.nan_at, self.prioritised = stop_after, nan_at, prioritised

    def prepare(self, window, progress):
        self.prepared.append(progress)
        return {**window, "twice": 2 * window["reward"]}

    def standardize(self, batch):
        return batch

    def update(self, batch):
        self.batches.append(batch)
        loss = float("nan") if len(self.batches) == self.nan_at else float(len(self.batches))
        metrics = {"loss": torch.tensor(loss), "size": torch.tensor(float(len(batch["reward"])))}
        priorities = batch["reward"] if self.prioritised else None
        return Result(metrics, priorities, stop=len(self.batches) == self.stop_after)


def learned(columns, spec, **settings):
    agent = Listener(**settings)
    return agent, AgentLearner(agent, spec).learn(Chunk(columns), Progress(update=40))


def test_replay_chunks_are_updates_in_order_each_from_memory_of_its_own():
    """A row of a larger array may start at any byte, and then a network gives other bits."""
    memory = replay(capacity=50, batch=3, updates_per_step=0.5)
    memory.add(ramp(0, 10))
    chunk, agent = memory.take(0.0), Listener(prioritised=True)
    result = AgentLearner(agent, memory.spec).learn(chunk, Progress())
    assert result.updates == len(agent.batches) == 5
    np.testing.assert_array_equal([batch["reward"].numpy() for batch in agent.batches], chunk.columns["reward"])
    np.testing.assert_array_equal(agent.batches[2]["twice"].numpy(), 2 * chunk.columns["reward"][2])
    assert all(value.data_ptr() % 16 == 0 for batch in agent.batches for value in batch.values())
    assert result.metrics == {"loss": [1, 2, 3, 4, 5], "size": [3] * 5}
    np.testing.assert_array_equal(result.priorities, chunk.columns["reward"])


@pytest.mark.parametrize(
    ("minibatch", "sizes"),
    [(None, [12]), (12, [12]), (100, [12]), (4, [4, 4, 4]), (5, [5, 5, 2]), (7, [7, 5]), (1, [1] * 12)],
)
def test_every_step_of_a_window_is_learned_from_once_in_each_epoch(minibatch, sizes):
    """A remainder is a smaller last minibatch; none is larger than asked."""
    agent, result = learned(ramp(0, 6, 2).columns, RolloutSpec(length=6, epochs=3, minibatch=minibatch))
    assert [len(batch["reward"]) for batch in agent.batches] == sizes * 3
    assert result.updates == 3 * len(sizes)
    per_epoch = len(sizes)
    orders = []
    for epoch in range(3):
        batches = agent.batches[epoch * per_epoch : (epoch + 1) * per_epoch]
        orders.append(torch.cat([batch["obs"] for batch in batches]).flatten().tolist())
        assert sorted(orders[-1]) == [*range(6), *range(1000, 1006)]
    assert orders[0] != orders[1] or len(sizes) == 1
    for batch in agent.batches:
        assert torch.equal(batch["next_obs"], batch["obs"] + 0.5)


def test_the_order_of_minibatches_is_that_of_the_learning_stream():
    spec = RolloutSpec(length=6, epochs=2, minibatch=4)
    one, other = (learned(ramp(0, 6, 2).columns, spec)[0] for _ in range(2))
    for a, b in zip(one.batches, other.batches, strict=True):
        assert torch.equal(a["obs"], b["obs"])


def test_dummy_steps_are_not_learned_from():
    columns = ramp(0, 6, 1, {(2, 0): "dummy", (4, 0): "dummy"}).columns
    agent, _ = learned(columns, RolloutSpec(length=6, minibatch=2))
    assert sorted(torch.cat([batch["obs"] for batch in agent.batches]).flatten().tolist()) == [0, 1, 3, 5]
    assert "valid" not in agent.batches[0]


def test_a_window_of_nothing_but_dummies_makes_no_update():
    agent, result = learned(ramp(0, 1, 1, {(0, 0): "dummy"}).columns, RolloutSpec(length=1))
    assert (agent.batches, result) == ([], ({}, 0, None))


def test_an_agent_may_stop_the_epochs():
    agent, result = learned(ramp(0, 6, 2).columns, RolloutSpec(length=6, epochs=9, minibatch=4), stop_after=2)
    assert len(agent.batches) == result.updates == len(result.metrics["loss"]) == 2


@pytest.mark.parametrize("algo", ["TD3", "SAC"])
def test_losses_on_data_held_out_are_also_those_of_an_actor_whose_turn_it_is_not(algo):
    """With policy_freq 3, also after the updates 3, 6, ..., after which iterations often end."""
    agent = agent_for(algo, policy_freq=3)
    learner = AgentLearner(agent, agent.cfg.memory(1))
    one, other = (Chunk({k: v[None].numpy() for k, v in batch_for(algo, seed=n).items()}) for n in range(2))
    for _ in range(3):
        trained = learner.learn(one, Progress()).metrics["actor_loss"][0]
        held_out = learner.validate(other, Progress())["actor_loss"]
        assert held_out not in (0.0, trained)
    assert agent.updates == 3


def test_a_metric_has_a_number_for_each_update_that_gives_it():
    class Seldom(Listener):
        def update(self, batch):
            result = super().update(batch)
            return result if len(self.batches) % 2 else Result({"size": result.metrics["size"]})

    columns, spec = ramp(0, 6, 2).columns, RolloutSpec(length=6, epochs=1, minibatch=4)
    result = AgentLearner(Seldom(), spec).learn(Chunk(columns), Progress())
    assert result.metrics == {"loss": [1, 3], "size": [4, 4, 4]}


def test_a_metric_that_is_not_finite_ends_the_run_and_says_which_and_when():
    """NUM-1"""
    with pytest.raises(NumericsError, match=r"loss became nan at update 43; a smaller learning rate"):
        learned(ramp(0, 6, 2).columns, RolloutSpec(length=6, epochs=9, minibatch=4), nan_at=3)


def test_gradients_that_other_code_has_switched_off_are_on_while_it_learns():
    agent = agent_for("TD3")
    chunk = Chunk({name: value[None].numpy() for name, value in batch_for("TD3").items()})
    with torch.no_grad():
        AgentLearner(agent, agent.cfg.memory(1)).learn(chunk, Progress())
        assert not torch.is_grad_enabled()
    assert agent.updates == 1


def test_sequences_are_whole_pieces_of_single_rows_with_the_state_before_them():
    columns = ramp(0, 8, rows=3).columns
    columns["state"] = 100 + columns["obs"]
    spec = RolloutSpec.of_transitions(25, rows=3, epochs=2, minibatch=9, sequence=4)
    assert (spec.length, spec.minibatch, spec.fragment) == (8, 2, 8)
    agent, result = learned(columns, spec)
    assert result.updates == 6
    for epoch in (agent.batches[:3], agent.batches[3:]):
        heads = [float(batch["obs"][0, i, 0]) for batch in epoch for i in range(2)]
        assert sorted(heads) == [0, 4, 1000, 1004, 2000, 2004]
    for batch in agent.batches:
        assert (batch["obs"].diff(dim=0) == 1).all()
        assert torch.equal(batch["state"], 100 + batch["obs"][0])
        assert batch["twice"].shape == (4, 2)


def test_a_window_of_transitions_has_at_least_one_sequence_and_one_in_a_minibatch():
    assert RolloutSpec.of_transitions(64, rows=128, minibatch=8) == RolloutSpec(length=1, minibatch=8)
    assert RolloutSpec.of_transitions(64, 16, 1, 8, sequence=16) == RolloutSpec(length=16, minibatch=1, sequence=16)


def test_sequences_without_a_valid_step_are_in_no_minibatch():
    """Two rows of four steps, cut into pieces of two: the second piece of row 1 is empty."""
    valid = np.array([[True, True], [True, False], [True, False], [False, False]])
    reward = np.arange(8, dtype=np.float32).reshape(4, 2)
    columns = {"obs": reward, "reward": reward, "valid": valid, "first": np.zeros((4, 2), bool)}
    agent, _ = learned({**columns, "state": reward[..., None]}, RolloutSpec(4, minibatch=1, sequence=2))
    seen = sorted((batch["reward"].flatten().tolist(), batch["state"].flatten().tolist()) for batch in agent.batches)
    assert seen == [([0, 2], [0]), ([1, 3], [1]), ([4, 6], [4])]
    agent, _ = learned({**columns, "state": reward[..., None]}, RolloutSpec(4, sequence=2))
    assert agent.batches[0]["state"].flatten().tolist() == [0, 1, 4], "nor in a window that the agent itself cuts"
