"""Target networks of the actor-critics: when they move, and how far."""

import pytest
import torch
from helpers_actor_critic import ALL, agent_for, batch_for

WITH_TARGETS = [name for name in ALL if name != "CrossQ"]
WITH_ACTOR = ("TD3", "DDPG", "DDPG_HER", "MADDPG")
"""Those whose target networks move together with the actor."""


def slow_and_online(agent):
    """The target networks, and those that they follow."""
    follows_both = hasattr(agent, "targets")
    return (agent.targets, agent.networks) if follows_both else (agent.target, agent.critic)


def is_copy(agent):
    """Whether the target networks are at this moment what those are that they follow."""
    slow, online = (list(module.parameters()) for module in slow_and_online(agent))
    return all(torch.equal(a, b) for a, b in zip(slow, online, strict=True))


@pytest.mark.parametrize("algo", WITH_TARGETS)
def test_targets_are_copied_at_each_target_update_th_update_also_after_a_restart(algo):
    """RES-1: those that move with the actor count its updates: with policy_freq 2, each sixth of the critics."""
    freq = 2 if algo in WITH_ACTOR else 1
    settings = {"target_update": 3, "tau": 1.0, "policy_freq": freq}
    agent, batch = agent_for(algo, **settings), batch_for(algo)
    copied = []
    for update in range(1, 12 * freq + 1):
        if update == 4 * freq + 1:
            state, agent = agent.state(), agent_for(algo, seed=2, **settings)
            agent.load_state(state)
        before = [p.clone() for p in slow_and_online(agent)[0].parameters()]
        agent.update(batch)
        stayed = all(torch.equal(a, b) for a, b in zip(slow_and_online(agent)[0].parameters(), before, strict=True))
        assert stayed != is_copy(agent), f"update {update}: neither left alone nor copied"
        copied += [update] if is_copy(agent) else []
    assert copied == [3 * freq, 6 * freq, 9 * freq, 12 * freq]


@pytest.mark.parametrize("algo", [name for name in WITH_TARGETS if name not in WITH_ACTOR])
def test_the_target_follows_the_critics_a_little_at_each_update(algo):
    agent, batch = agent_for(algo, tau=0.25), batch_for(algo)
    old = [p.clone() for p in agent.target.parameters()]
    agent.update(batch)
    new = [p.detach() for p in agent.critic.parameters()]
    for slow, before, now in zip(agent.target.parameters(), old, new, strict=True):
        torch.testing.assert_close(slow, 0.75 * before + 0.25 * now)
