"""What all actor-critics with replay have in common: what an update touches, ends, priorities, observations."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.spaces.utils import flatten_space
from pydantic import ValidationError

from algos.base import EnvSpec, Part, Progress, UnfitError
from config.model.layers import Conv2d, mlp
from tests.tools.actor_critic import (
    ALL,
    CONTINUOUS,
    SOFT,
    agent_for,
    batch_for,
    drawn_from_memory,
    small,
    spec_for,
    target_of,
)
from tests.tools.core import agent_of, prepared_by, score, spec_of, stream, toy_of, trained, updated
from tests.tools.paths import in_the_suite

every = pytest.mark.parametrize("algo", ALL)
every_continuous = pytest.mark.parametrize("algo", CONTINUOUS)


def parts(agent):
    """Parameters by the network that they belong to."""
    return {name: dict(module.named_parameters()) for name, module in agent.networks.items()}


def snapshot(agent):
    return {part: {name: p.detach().clone() for name, p in found.items()} for part, found in parts(agent).items()}


def moved(before, after):
    """Which parts have changed, all or none of their parameters."""
    return {
        part for part in before if any(not torch.equal(before[part][name], after[part][name]) for name in after[part])
    }


def still(before, after, part):
    return [name for name in after[part] if torch.equal(before[part][name], after[part][name])]


# ------------------------------------------------------------------------------------------------------- updates


@every
def test_the_actor_moves_once_in_policy_freq_updates_and_the_critics_in_each(algo):
    agent, batch = agent_for(algo, policy_freq=3), batch_for(algo)
    critic_only = {"critic"}
    both = {"actor", "critic", *({"temperature"} if algo in SOFT else ())}
    for update in range(1, 7):
        before = snapshot(agent)
        updated(agent, batch)
        assert moved(before, snapshot(agent)) == (both if update % 3 == 0 else critic_only)


@every
def test_after_a_short_training_every_parameter_has_moved_and_is_finite(algo):
    agent = agent_for(algo, policy_freq=1)
    before = snapshot(agent)
    for seed in range(20):
        updated(agent, batch_for(algo, seed=seed))
    after = snapshot(agent)
    assert [(part, name) for part in after for name in still(before, after, part)] == []
    assert all(torch.isfinite(p).all() for found in after.values() for p in found.values())


@every
def test_gradients_are_finite_and_none_is_left_behind_or_reaches_a_target(algo):
    agent, batch = agent_for(algo, policy_freq=1), batch_for(algo)
    seen = []
    agent.reduce = lambda grads: seen.extend(bool(torch.isfinite(grad).all()) for grad in grads)
    updated(agent, batch)
    everything = sum(len(found) for found in parts(agent).values())
    assert len(seen) == everything, "each parameter has one gradient in an update"
    assert all(seen)
    assert all(p.grad is None for found in parts(agent).values() for p in found.values())
    for module in (getattr(agent, name, None) for name in ("target", "targets")):
        assert module is None or not any(p.requires_grad or p.grad is not None for p in module.parameters())


@every
def test_the_step_of_the_actor_leaves_the_critics_alone(algo):
    """The critics after an update are the same, whether or not the actor has learned from them."""
    one, other = agent_for(algo, policy_freq=1), agent_for(algo, policy_freq=99)
    for agent in (one, other):
        updated(agent, batch_for(algo))
    critic, same = (snapshot(agent)["critic"] for agent in (one, other))
    assert all(torch.equal(critic[name], same[name]) for name in critic)


@every
def test_a_termination_is_worth_its_reward_and_a_truncation_what_follows_as_well(algo):
    """TRM-1: through the memory: step 1 is terminal, step 3 is cut off; rewards are 1 + step."""
    batch = drawn_from_memory(algo, {(1, 0): "terminated", (3, 0): "truncated"})
    agent = agent_for(algo)
    target = target_of(agent, batch).reshape(len(batch["reward"]), -1)
    step = batch["reward"] - 1
    assert set(step.tolist()) == {0, 1, 2, 3, 4}
    assert (target[step == 1] == 2.0).all()
    assert (target[step == 3] != 4.0).all()
    assert batch["discount"][step == 3].unique().item() == pytest.approx(0.9)
    assert batch["discount"][step == 1].unique().item() == 0.0


@every
def test_priorities_come_only_where_they_are_asked_for_and_equal_weights_change_nothing(algo):
    one, other = agent_for(algo), agent_for(algo)
    batch = batch_for(algo)
    plain = updated(one, batch)
    weighted = updated(other, {**batch, "weight": torch.ones(16)})
    assert plain.priorities is None
    assert weighted.priorities.shape == (16,)
    assert (weighted.priorities > 0).all()
    assert weighted.metrics["critic_loss"].item() == pytest.approx(plain.metrics["critic_loss"].item(), rel=1e-5)


@every
def test_weights_scale_the_loss_of_their_sample(algo):
    one, other = agent_for(algo, loss="huber"), agent_for(algo, loss="huber")
    batch = batch_for(algo)
    full = updated(one, {**batch, "weight": torch.ones(16)}).metrics["critic_loss"].item()
    half = updated(other, {**batch, "weight": torch.full((16,), 0.5)}).metrics["critic_loss"].item()
    assert half == pytest.approx(full / 2, rel=1e-5)


@every
def test_rewards_are_scaled_before_they_are_learned_from(algo):
    batch = batch_for(algo)
    batch["discount"].zero_()
    target = target_of(agent_for(algo, reward_scale=0.25), batch).reshape(16, -1)[:, 0]
    torch.testing.assert_close(target, 0.25 * batch["reward"])


@every
def test_learning_rates_follow_the_course_of_the_run(algo):
    settings = {"alpha_lr": 0.4} if algo in SOFT else {}
    agent = agent_for(algo, actor_lr=0.1, critic_lr=0.2, lr_schedule="linear", **settings)
    prepared_by(agent, {name: value[None] for name, value in batch_for(algo).items()}, Progress(fraction=0.75))
    owners = (agent, getattr(agent, "policy", agent))
    names = ("optimizer", "actor_optimizer", "critic_optimizer")
    found = [getattr(owner, name) for owner in owners for name in names if hasattr(owner, name)]
    rates = {group["lr"] for optimizer in found for group in optimizer.param_groups}
    assert sorted(rates) == pytest.approx([0.025, 0.05])
    if algo in SOFT:
        temperature = agent.networks["temperature"]
        assert temperature.optimizer.param_groups[0]["lr"] == pytest.approx(0.1)


@every
def test_the_metrics_of_a_step_of_the_actor_stay_until_the_next(algo):
    agent, batch = agent_for(algo, policy_freq=2), batch_for(algo)
    losses = [updated(agent, batch).metrics["actor_loss"].item() for _ in range(4)]
    assert losses[0] == 0.0
    assert losses[1] == losses[2] != losses[3]


# ---------------------------------------------------------------------------------------------------- exploration


@every_continuous
def test_actions_are_uniform_at_first_and_then_those_of_the_policy(algo):
    agent = agent_for(algo, start_steps=100, exploration_type="none")
    obs = np.zeros((4000, 3), np.float32)
    early = agent.sample_action(obs, None, Progress(step=99), stream(1, "x")).action
    np.testing.assert_allclose(early.mean(0), [0, 5], atol=0.15)
    np.testing.assert_allclose(early.std(0), [4 / 12**0.5, 10 / 12**0.5], rtol=0.05)
    late = agent.sample_action(obs, None, Progress(step=100), stream(1, "x")).action
    best = agent.predict_action(obs, None).action
    deterministic = algo not in SOFT
    assert (np.abs(late - best).max() < 1e-6) == deterministic


@every_continuous
def test_the_values_see_actions_between_minus_one_and_one(algo):
    """JoyRL gave its critics actions of another scale than those of its actor."""
    agent = agent_for(algo)
    bounds = getattr(agent, "policy", agent).bounds
    unit = bounds.to_unit(torch.tensor([[-2.0, 0.0], [0.0, 5.0], [2.0, 10.0]]))
    torch.testing.assert_close(unit, torch.tensor([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]))


@every_continuous
def test_actions_of_float64_are_learned_from(algo):
    spec = spec_for(algo)
    low, high = (bound.astype(np.float64) for bound in (spec.action_space.low, spec.action_space.high))
    spec = EnvSpec("x", spec.observation_space, Box(low, high, dtype=np.float64), 1)
    agent, batch = agent_of(algo, spec, **small(algo, 8)), batch_for(algo)
    losses = updated(agent, {**batch, "action": batch["action"].double()}).metrics
    assert torch.isfinite(losses["critic_loss"])


@every_continuous
def test_actions_without_bounds_are_refused_with_a_sentence(algo):
    spec = EnvSpec("x", Box(-1, 1, (3,)), Box(-np.inf, np.inf, (2,)), 1)
    with pytest.raises(UnfitError, match="have no bounds"):
        agent_of(algo, spec)


# --------------------------------------------------------------------------------------------------- observations

PICTURE = Box(0, 255, (1, 8, 8), np.uint8)


@pytest.mark.parametrize("algo", ["SAC", "TD3", "TQC", "SAC_D", "REDQ", "CrossQ"])
def test_images_go_through_convolutions_before_the_action_joins(algo):
    agent = agent_of(algo, spec_for(algo, PICTURE), **small(algo, 8))
    batch = batch_for(algo)
    picture = torch.randint(0, 256, (16, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    before = snapshot(agent)
    for _ in range(6):
        updated(agent, {**batch, "obs": picture, "next_obs": picture.flip(0)})
    after = snapshot(agent)
    assert "front.1.weight" in after["critic"], "the convolution stands before the ensemble"
    assert still(before, after, "critic") == []
    assert len(agent.predict_action(picture.numpy(), None).action) == 16


@pytest.mark.parametrize("algo", ["SAC", "TD3", "SAC_D"])
def test_parts_of_a_dict_have_branches_of_their_own(algo):
    space = Dict({"camera": Box(0, 1, (1, 6, 6)), "speed": Box(-1, 1, (2,))})
    parts = (Part("camera", 0, 36, (1, 6, 6)), Part("speed", 36, 38, (2,)))
    action = spec_for(algo).action_space
    spec = EnvSpec("x", flatten_space(space), action, 1, parts)
    branches = {"camera": [Conv2d(out_channel=2, kernel_size=3, stride=3), *mlp(4)]}
    agent = agent_of(algo, spec, branches=branches, **small(algo, 8))
    batch = batch_for(algo, observation=spec.observation_space)
    for _ in range(2):
        updated(agent, batch)
    # 4 numbers of the camera, 2 of the speed, and 2 of the action
    assert agent.critic.body[0].weight.shape[1] == (6 if algo == "SAC_D" else 8)


@every
def test_simba_and_other_first_weights_train(algo):
    agent = agent_for(algo, architecture="simba", init="orthogonal", actor_layers=mlp(8, 8), critic_layers=mlp(8, 8))
    before = snapshot(agent)
    for _ in range(agent.cfg.policy_freq):
        updated(agent, batch_for(algo))
    assert moved(before, snapshot(agent)) >= {"actor", "critic"}


@every
def test_statistics_of_observations_are_shared_by_all_networks_and_part_of_the_weights(algo):
    agent, batch = agent_for(algo, normalize_obs=True), batch_for(algo)
    agent.observe(batch["obs"])
    torch.testing.assert_close(agent.normalizer.moments.mean, batch["obs"].double().mean(0))
    fronts = [getattr(agent, name).front[0] for name in ("critic", "target", "target_critic") if hasattr(agent, name)]
    assert all(front is agent.normalizer for front in fronts)
    other = agent_for(algo, seed=2, normalize_obs=True)
    other.load_weights(agent.weights())
    obs = batch["obs"].numpy()
    np.testing.assert_array_equal(other.predict_action(obs, None).action, agent.predict_action(obs, None).action)


# --------------------------------------------------------------------------------------------------------- settings


def test_the_memory_relabels_goals_in_the_hindsight_variants_only():
    relabelled = {algo: agent_for(algo).cfg.memory(1).relabel for algo in ALL}
    assert {algo for algo, share in relabelled.items() if share} == {"DDPG_HER", "SAC_HER"}
    assert relabelled["SAC_HER"] == 0.8


def test_variants_do_what_their_names_say():
    def cfg(algo):
        return agent_of(algo, spec_for(algo)).cfg

    assert (cfg("DDPG").n_critics, cfg("DDPG").policy_noise, cfg("DDPG").exploration_type) == (1, 0.0, "ou")
    assert (cfg("REDQ").n_critics, cfg("REDQ").target_critics, cfg("REDQ").memory(1).updates_per_step) == (10, 2, 20)
    kinds = [layer.layer_type for layer in cfg("DroQ").critic_layers]
    assert kinds == ["linear", "dropout", "layernorm"] * 2
    with pytest.raises(ValidationError, match="n_critics"):
        agent_of("DDPG", spec_for("DDPG"), n_critics=2)


# ------------------------------------------------------------------------------------------------------------ tasks

QUICK = {"batch_size": 32, "start_steps": 100, "actor_lr": 1e-2, "critic_lr": 2e-2, "updates_per_train": 1}
MORE = {
    "TD3": {"expl_noise": 0.3},
    "DDPG": {"tau": 0.05, "actor_lr": 3e-3, "exploration_type": "gaussian", "expl_noise": 0.3},
    "TQC": {"n_quantiles": 5, "drop_quantiles": 1},
    "REDQ": {"n_critics": 4, "policy_freq": 1},
    "DroQ": {"policy_freq": 1},
}


def scored(algo, rounds=350, **settings):
    env = toy_of("target")
    settings |= {"alpha_lr": 2e-2, "alpha_init": 0.1} if algo in SOFT else {}
    agent = agent_of(algo, spec_of(env), **{**small(algo, 16), **QUICK, **MORE.get(algo, {}), **settings})
    return score(trained(agent, env, rounds), env)


@pytest.mark.long
@pytest.mark.parametrize(
    ("algo", "rounds"),
    in_the_suite(
        [("DDPG", 500), ("TD3", 250), ("SAC", 250), ("TQC", 250), ("CrossQ", 500), ("REDQ", 250), ("DroQ", 350)],
        *(("TD3", 250), ("SAC", 250), ("TQC", 250), ("CrossQ", 500)),
    ),
)
def test_a_continuous_action_comes_to_its_target(algo, rounds):
    """The best return is 0, that of standing still -1/3, and the bounds -2 and 3 have another middle than 0."""
    assert scored(algo, rounds) > -0.05


OTHERS = [
    ("SAC", {"buffer_type": "PER"}),
    ("TD3", {"n_step": 3, "loss": "huber"}),
    ("SAC", {"normalize_obs": True, "max_grad_norm": 1.0}),
]


@pytest.mark.long
@pytest.mark.parametrize(("algo", "settings"), in_the_suite(OTHERS, OTHERS[1]))
def test_it_comes_there_with_other_settings_too(algo, settings):
    assert scored(algo, **settings) > -0.05


def test_the_observation_may_be_a_choice():
    agent = agent_of("SAC", spec_for("SAC", Discrete(4)), **small("SAC", 8))
    assert agent.predict_action(np.arange(4), None).action.shape == (4, 2)
