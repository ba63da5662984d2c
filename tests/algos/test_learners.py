"""Several learners with a part of every minibatch each: threads that add up their gradients at a barrier."""

import threading

import numpy as np
import pytest
import torch

import algos
from algos.base import Progress
from algos.common.settings import NetworkConfig
from framework.loop.learner import AgentLearner
from framework.loop.share import Share, digest
from tests.tools.core import agent_of, collector_of, memory_of, of_one_agent, spec_of, toy_of
from tests.tools.paths import one_of_each

ROWS = 4
HALFWAY = Progress(step=100, episode=10, update=50, fraction=0.5)
SMALL = {"batch_size": 64, "sgd_batch_size": 16, "k_epochs": 2, "start_steps": 20, "updates_per_train": 1,
         "lookup_step": 8, "burn_in": 2}  # fmt: skip
LAYERS = ("value_layers", "actor_layers", "critic_layers")
GRU = [{"layer_type": "gru", "layer_size": 8}]


class Together:
    """Sums over the learners, which wait for one another. Tensors of other shapes, or another number of calls, are
    errors and no endless wait."""

    def __init__(self, world):
        self.world, self.barrier, self.given = world, threading.Barrier(world, timeout=20), [None] * world

    def share(self, rank):
        def total(tensors):
            self.given[rank] = [tensor.clone() for tensor in tensors]
            self.barrier.wait()
            shapes = [[tensor.shape for tensor in tensors] for tensors in self.given]
            sums = [torch.stack(parts).sum(0) for parts in zip(*self.given, strict=True)]
            self.barrier.wait()
            assert all(other == shapes[0] for other in shapes)
            for tensor, found in zip(tensors, sums, strict=True):
                tensor.copy_(found)

        return Share(rank, self.world, total)

    def run(self, jobs):
        """What each learner's job gives, each in a thread."""
        results = [None] * self.world

        def work(rank):
            try:
                results[rank] = jobs[rank]()
            except Exception as error:
                results[rank] = error
                self.barrier.abort()

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(self.world)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results


def toy_for(algo):
    config = algos.get(algo).Config
    if algo == "REINFORCE":  # episodes of different lengths: some rows have nothing to learn from
        return toy_of("walk", ROWS)
    if getattr(config(), "her_ratio", 0):
        return toy_of("reach", ROWS)
    if "Box" not in config.OBSERVATION_SPACES:
        return toy_of("walk", ROWS)
    return toy_of("match" if "Discrete" in config.ACTION_SPACES else "target", ROWS, steps=5)


def agent_for(algo, **settings):
    fields = algos.get(algo).Config.model_fields
    small = {name: value for name, value in SMALL.items() if name in fields}
    return agent_of(algo, spec_of(toy_for(algo)), **{**small, **settings})


def chunks_for(algo, count, **settings):
    """Fresh experience, of an agent that does not learn."""
    env, agent, found = toy_for(algo), agent_for(algo, **settings), []
    collector, memory = collector_of(env, agent), memory_of(agent, goal=env.goal)
    while len(found) < count:
        memory.add(collector.collect(agent.cfg.memory(ROWS).fragment, HALFWAY)[0])
        while len(found) < count and (chunk := memory.take(0.5)) is not None:
            columns = {name: value.copy() for name, value in chunk.columns.items()}
            found.append(chunk._replace(columns=columns))
    return found


def learned(agent, chunks, share=None):
    learner = AgentLearner(agent, agent.cfg.memory(ROWS))
    if share is not None:
        learner.divide(share)
    return [learner.learn(chunk, HALFWAY) for chunk in chunks]


def compared(algo, world=2, count=3, **settings):
    """One learner with the whole of every batch, and several with a part each: agents and what they say."""
    chunks = chunks_for(algo, count, **settings)
    alone = agent_for(algo, **settings)
    said = learned(alone, chunks)
    agents = [agent_for(algo, **settings) for _ in range(world)]
    together = Together(world)
    jobs = [lambda rank=rank: learned(agents[rank], chunks, together.share(rank)) for rank in range(world)]
    results = together.run(jobs)
    assert len({digest(agent.weights()) for agent in agents}) == 1, "all learners have the same weights"
    assert [[each.updates for each in result] for result in results] == [[each.updates for each in said]] * world
    return alone, agents, said, results


def apart(one, other):
    """The largest difference between weights."""
    a, b = one.weights(), other.weights()
    return max(float(np.abs(a[name] - b[name]).max()) for name in a)


WITH_NETWORK = [algo for algo in of_one_agent() if issubclass(algos.get(algo).Config, NetworkConfig)]


@pytest.mark.long
@pytest.mark.parametrize("algo", one_of_each(WITH_NETWORK))
def test_learners_that_share_their_batches_keep_the_same_weights(algo):
    compared(algo, count=2)


def test_learners_cut_windows_alike_whatever_the_sizes_of_their_parts():
    """The predictor of a bonus draws a number for each step that it sees, and the order of the steps is drawn next."""
    agents = compared("PPO", world=3, count=1, bonus="rnd")[1]
    assert len({agent.streams.learn.random() for agent in agents}) == 1


EXACT = {
    "DQN": ("DQN", {}),
    "DQN, its gradient clipped": ("DQN", {"max_grad_norm": 0.1}),
    "DQN by priority": ("DQN", {"buffer_type": "PER"}),
    "DDPG, its targets copied": ("DDPG", {"target_update": 2, "tau": 1.0}),
    "DRQN": ("DRQN", {"batch_size": 16, "lookup_step": 4, "burn_in": 2}),
    "HierarchicalDQN": ("HierarchicalDQN", {}),
    "PQN": ("PQN", {}),
    "PQN, its rewards scaled": ("PQN", {"normalize_reward": True, "optimizer": "sgd", "lr": 0.05}),
    "PPO": ("PPO", {"normalize_advantage": True, "normalize_obs": True, "normalize_reward": True}),
    **{
        f"PPO with a limit of {limit}": ("PPO", {"normalize_advantage": True, "target_kl": limit, "lr": 3e-4})
        for limit in (3e-5, 3e-4, 1e-3)
    },
    "PPO with a price": ("PPO", {"ppo_type": "kl", "lr": 0.003}),
    "PPO with a memory": ("RecurrentPPO", {}),
    "A2C": ("A2C", {"normalize_advantage": True}),
    "TRPO": ("TRPO", {"normalize_advantage": True}),
    "TRPO with a memory": ("TRPO", {"actor_layers": GRU, "critic_layers": GRU, "sgd_batch_size": 16}),
    "REINFORCE": ("REINFORCE", {"baseline": "value"}),
    "REINFORCE with a memory": ("REINFORCE", {"baseline": "value", "actor_layers": GRU}),
}
"""Those that draw nothing for each sample, so that they do the same whoever has it."""


@pytest.mark.long
@pytest.mark.parametrize("name", EXACT)
def test_several_learners_learn_what_one_with_the_whole_batch_does(name):
    """The sums come in another order, and nothing else is different: after tens of updates a thousandth of the way that
    the weights have gone at most. With three learners, the parts have different sizes."""
    algo, settings = EXACT[name]
    alone, agents, said, results = compared(algo, 3, **settings)
    way = apart(alone, agent_for(algo, **settings))
    assert way > 1e-3
    assert apart(alone, agents[0]) < 1e-3 * way
    stops = [each.updates for each in said]
    if "target_kl" in settings:
        assert min(stops) < 8, "the limit ends a window early, for all learners at the same update"
    for k, one in enumerate(said):
        for metric, values in one.metrics.items():
            joined = np.mean([result[k].metrics[metric] for result in results], axis=0)
            np.testing.assert_allclose(joined, values, rtol=0.01, atol=0.005)
    if said[0].priorities is not None:
        for k, one in enumerate(said):
            joined = np.concatenate([result[k].priorities for result in results], axis=1)
            np.testing.assert_allclose(joined, one.priorities, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("size", [15, 17, 23])
@pytest.mark.parametrize("world", [2, 3])
def test_a_last_minibatch_of_another_size_is_divided_too(world, size):
    """64 samples in minibatches of 15, 15, 15 and 19; of 17, 17 and 30; of 23 and 41."""
    settings = {"sgd_batch_size": size, "normalize_advantage": True}
    alone, agents, _, _ = compared("PPO", world, **settings)
    assert apart(alone, agents[0]) < 1e-3 * apart(alone, agent_for("PPO", **settings))


def test_the_parts_of_a_minibatch_are_the_whole_and_their_weights_their_shares():
    whole = {"obs": torch.arange(22.0).view(11, 2), "reward": torch.arange(11.0)}
    parts, weights = [], []
    for rank in range(3):
        share = Share(rank, 3, lambda tensors: None)
        parts.append(share.part(whole))
        one = [torch.ones(2), torch.ones(1)]
        share.average(one)
        weights.append(float(one[0][0]))
    assert [len(part["reward"]) for part in parts] == [3, 4, 4]
    assert weights == pytest.approx([3 / 11, 4 / 11, 4 / 11])
    for name, column in whole.items():
        assert torch.equal(torch.cat([part[name] for part in parts]), column)
    assert all(value.data_ptr() % 16 == 0 for part in parts for value in part.values())
