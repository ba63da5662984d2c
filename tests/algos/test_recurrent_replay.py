"""Replay actor-critics that remember: what is carried while acting, and what sequences teach."""

import numpy as np
import pytest
import torch

import algos
from algos.base import Progress
from algos.common.nets.layers import BatchRenorm as Renorm
from algos.common.nets.recurrent import Recurrent, View, n_step_returns
from algos.common.parts.passes import outputs_of
from config.model.layers import BatchRenorm, Gru, Linear, Lstm
from config.read.loader import ConfigError
from framework.assemble import build, resources
from framework.loop.learner import AgentLearner
from framework.policies.policy_plan import plan
from tests.tools.actor_critic import ALL
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, collector_of, memory_of, score, spec_of, stream, toy_of, trained, updated
from tests.tools.distributed import config_of
from tests.tools.paths import in_the_suite

REPLAY = [name for name in ALL if not algos.get(name).Config().her_ratio]
every = pytest.mark.parametrize("algo", REPLAY)
LATER = Progress(step=10**6)


def layers(algo, cell, *behind):
    """A linear layer, the cell if there is one, and linear layers of these sizes."""
    norm = [BatchRenorm(momentum=0.1)] if algo == "CrossQ" else []
    sizes = [[*norm, Linear(layer_size=[size])] for size in behind]
    return [*norm, Linear(layer_size=[16]), *([cell] if cell else []), *(one for size in sizes for one in size), *norm]


def toy(algo, rows=1, delay=2):
    return toy_of("recall", rows, delay=delay, **({} if algo == "SAC_D" else {"continuous": True}))


def agent(algo, rows=3, actor=True, critic=True, cell=None, **settings):
    cell = cell or Gru(layer_size=[16])
    lists = {"actor_layers": layers(algo, actor and cell), "critic_layers": layers(algo, critic and cell, 16)}
    common = {"lookup_step": 4, "burn_in": 2, "batch_size": 8, "start_steps": 0, "train_fre": rows, "policy_freq": 1}
    if algo in ("REDQ", "DroQ"):
        common["updates_per_train"] = 1
    return agent_of(algo, spec_of(toy(algo, rows)), **lists, **{**common, **settings})


def networks(one):
    """The online networks whose states are carried, and those that see sequences with the same states."""
    policy = one.policy if hasattr(one, "policy") else one
    return getattr(policy, "network", None) or one.actor, one.critic.front, policy.carried


def chunk_of(one, steps=60, rows=3, delay=2):
    """The first chunk of fresh experience, and the collector's columns."""
    algo = "SAC_D" if hasattr(one, "actions") else "SAC"
    collector, memory = collector_of(toy(algo, rows, delay), one), memory_of(one)
    fragment = collector.collect(steps, LATER)[0]
    columns = {name: value.copy() for name, value in fragment.columns.items()}
    memory.add(fragment)
    return memory.take(0.0), columns


def batch_of(chunk, k=0):
    return {name: torch.from_numpy(value[k].copy()) for name, value in chunk.columns.items()}


def by_hand(network, batch, state, warm):
    """Outputs for obs and next_obs, one step after the other, each row with the memory of its own episode."""
    found, following = [], []
    for t in range(len(batch["reward"])):
        state = torch.where(batch["first"][t].unsqueeze(1), 0.0, state)
        out, state = network.step(batch["obs"][t], state)
        found.append(out)
        following.append(network.step(batch["next_obs"][t], state)[0])
    return torch.cat(found[warm:]), torch.cat(following[warm:])


# ------------------------------------------------------------------------------------------------------- what is seen


@pytest.mark.long
@pytest.mark.parametrize(("actor", "critic"), [(True, True), (True, False), (False, True)])
@every
def test_a_sequence_gives_what_acting_gave_step_by_step(algo, actor, critic):
    """TRM-5: for observations and true successors, through the ends of episodes; the state before is the stored one."""
    one = agent(algo, actor=actor, critic=critic)
    batch = batch_of(chunk_of(one, delay=7)[0])
    assert batch["first"].any(0).tolist() not in ([True] * 8, [False] * 8), "some sequences are within one episode"
    policy, front, carried = networks(one)
    views, states = carried.with_views(batch, 2), carried.parts(batch["state"])
    with torch.no_grad():
        for name, network in (("actor", policy), ("critic", front)):
            if name in states:
                obs, next_obs = by_hand(network, batch, states[name], 2)
            else:
                obs, next_obs = (network(batch[column][2:].flatten(0, 1)) for column in ("obs", "next_obs"))
            torch.testing.assert_close(outputs_of(network, views["obs"], name), obs)
            torch.testing.assert_close(outputs_of(network, views["next_obs"], name), next_obs)
    assert torch.equal(views["reward"], batch["reward"][2:].flatten())
    assert isinstance(policy, Recurrent) == actor
    assert isinstance(front, Recurrent) == critic


@every
def test_the_state_is_carried_from_step_to_step_and_begins_anew_with_each_episode(algo):
    one = agent(algo)
    policy, front, carried = networks(one)
    columns = chunk_of(one, steps=9)[1]
    ended = columns["terminated"] | columns["truncated"]
    for t in range(8):
        x, state = torch.from_numpy(columns["obs"][t]), carried.parts(torch.from_numpy(columns["state"][t]))
        with torch.no_grad():
            after = torch.cat([net.step(x, state[n])[1] for n, net in (("actor", policy), ("critic", front))], 1)
        expected = np.where(ended[t][:, None], 0.0, after.numpy())
        np.testing.assert_allclose(columns["state"][t + 1][:, : carried.size], expected, atol=1e-6)
    noises = {"DDPG": 1, "FlashSAC": 2}
    assert columns["state"].shape[2] == 32 + noises.get(algo, 0), "noise of these has a state too"
    if algo == "DDPG":
        noise = columns["state"][:, :, 32]
        np.testing.assert_array_equal(noise[1:] == 0, ended[:-1])


@every
def test_random_actions_and_the_best_ones_carry_the_memory_on_as_well(algo):
    one = agent(algo, start_steps=100)
    obs = np.array([[1, 0], [-1, 0], [0, 1]], np.float32)
    random = one.sample_action(obs, one.initial_state(3), Progress(), stream(1, "x")).state[:, :32]
    chosen = one.sample_action(obs, one.initial_state(3), LATER, stream(1, "x")).state[:, :32]
    best = one.predict_action(obs, one.initial_state(3)).state[:, :32]
    assert random.any()
    assert np.array_equal(random, chosen)
    assert np.array_equal(random, best)


def test_a_memory_of_another_size_than_the_noise_stays_apart_from_it():
    """The noise is what stands behind the memory, whatever else is carried."""
    for actor, critic, size in ((True, True, 32), (True, False, 16), (False, True, 16), (False, False, 0)):
        assert agent("DDPG", actor=actor, critic=critic).initial_state(3).shape == (3, size + 1)


# ----------------------------------------------------------------------------------------------------- what is learned


@pytest.mark.long
@every
def test_every_parameter_moves_and_targets_have_no_gradients(algo):
    """The cells of the actor and of the critics among them."""
    one = agent(algo, cell=Lstm(layer_size=[8]))
    before, seen = one.weights(), []
    one.reduce = lambda grads: seen.extend(bool(torch.isfinite(grad).all()) for grad in grads)
    learner = AgentLearner(one, one.cfg.memory(3))
    learner.learn(chunk_of(one, steps=10)[0], LATER)
    after = one.weights()
    assert all(seen)
    assert [name for name in before if np.array_equal(before[name], after[name])] == []
    assert sum("weight_hh" in name for name in before) == 2
    for module in (getattr(one, name, None) for name in ("target", "targets")):
        assert module is None or not any(p.requires_grad or p.grad is not None for p in module.parameters())


@every
def test_the_steps_of_the_burn_in_are_not_learned_from(algo):
    """Whatever rewards they have; what they show counts, since it is remembered."""
    chunk = chunk_of(agent(algo))[0]
    results = []
    for change in ("nothing", "reward", "obs"):
        one, batch = agent(algo), batch_of(chunk)
        if change != "nothing":
            batch[change][:2] += 5.0
        results.append([value.item() for value in updated(one, batch).metrics.values()])
    assert results[0] == results[1]
    assert results[0] != results[2]


@every
def test_dummy_steps_are_not_learned_from(algo):
    """Whatever stands in them, the metrics and the statistics of the observations stay the same. Only batch
    renormalisation within a network that remembers sees what they show."""
    chunk = chunk_of(agent(algo))[0]
    first, valid = chunk.columns["first"][:1].copy(), np.ones_like(chunk.columns["first"][:1])
    # a dummy step follows an end; here it is one itself, so that nothing of it is remembered
    valid[0, 4, 1] = valid[0, 5, 2] = False
    first[0, 4, 1] = first[0, 5, 1] = first[0, 5, 2] = True
    results = []
    for garbage in (0.0, 99.0):
        one = agent(algo, normalize_obs=True)
        columns = {name: value[:1].copy() for name, value in chunk.columns.items()} | {"first": first, "valid": valid}
        for name in ("reward",) if algo == "CrossQ" else ("obs", "next_obs", "reward"):
            columns[name][~valid] += garbage
        columns["next_obs"][0, 3, 1] = columns["next_obs"][0, 4, 2] = 0.5  # not those of the dummy steps
        batch = one.prepare({name: torch.from_numpy(value) for name, value in columns.items()}, LATER)
        metrics = updated(one, {name: value[0] for name, value in batch.items()}).metrics
        results.append([value.item() for value in metrics.values()])
    assert results[0] == pytest.approx(results[1], rel=1e-5)


def test_statistics_of_crossq_are_those_of_the_steps_that_are_learned_from():
    """Neither the burn-in nor the successor of a last step is a batch of its own."""
    one = agent("CrossQ")
    learner = AgentLearner(one, one.cfg.memory(3))
    updates = learner.learn(chunk_of(one, steps=20)[0], LATER).updates
    found = {part.count.item() for part in one.networks.modules() if isinstance(part, Renorm)}
    assert found == {updates}


CUES = [("SAC_D", True), ("SAC_D", False), ("TD3", True), ("TD3", False), ("CrossQ", True)]


@pytest.mark.long
@pytest.mark.parametrize(("algo", "remembers"), in_the_suite(CUES, ("SAC_D", True), ("TD3", True), ("TD3", False)))
def test_a_cue_seen_at_the_first_step_is_remembered_with_a_memory_only(algo, remembers):
    """The largest return is 1; who always says the same has 0 on average."""
    env = toy(algo, rows=8)
    settings = {"tau": 0.05} if algo != "CrossQ" else {}
    settings |= {"expl_noise": 0.3} if algo == "TD3" else {"alpha": 0.02}
    settings |= {"batch_size": 32, "start_steps": 200, "actor_lr": 0.003, "critic_lr": 0.01, "gamma": 0.9}
    result = score(trained(agent(algo, 8, remembers, remembers, **settings), env, 130), toy(algo), 100)
    assert result > 0.8 if remembers else abs(result) < 0.5


# -------------------------------------------------------------------------- n-step returns and priorities of sequences


def column(*rows, dtype=torch.float32):
    return torch.tensor(rows, dtype=dtype).T


def test_returns_are_summed_within_the_sequence_and_the_episode():
    """gamma 0.5, three steps. Row 0 has no end: 1 + 1 + 1, then 2 + 2 + 2, and less at the end of the sequence. Row 1
    ends with a termination in its second step, row 2 with a time limit, after which the next value counts."""
    reward = column([1, 2, 4, 8], [1, 2, 4, 8], [1, 2, 4, 8])
    discount = column([0.5] * 4, [0.5, 0.0, 0.5, 0.5], [0.5] * 4)
    first = column([0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], dtype=torch.bool)
    steps = {"reward": reward, "discount": discount, "first": first}
    total, after, last = n_step_returns(steps, 3, 0.5)
    assert total.T.tolist() == [[3, 6, 8, 8], [2, 2, 8, 8], [2, 2, 8, 8]]
    assert after.T.tolist() == [[0.125, 0.125, 0.25, 0.5], [0, 0, 0.25, 0.5], [0.25, 0.5, 0.25, 0.5]]
    assert (last.view(4, 3).T // 3).tolist() == [[2, 3, 3, 3], [1, 1, 3, 3], [1, 1, 3, 3]]
    valid = column([1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1], dtype=torch.bool)
    _, _, last = n_step_returns(steps, 3, 0.5, valid)
    # the dummy step (2, 1) is number 7 of 12; what comes after it moves up by one
    assert last.tolist() == [6, 4, 5, 8, 4, 5, 8, 10, 8, 9, 10]


@pytest.mark.parametrize("algo", ["SAC", "SAC_D"])
def test_n_step_targets_use_the_reward_sum_and_the_successor_at_its_end(algo):
    """The columns and outputs for next_obs are those of the last step, computed there one by one."""
    one = agent(algo, lookup_step=6, n_step=3)
    batch = batch_of(chunk_of(one, delay=7)[0])
    network, _, _ = networks(one)
    single = one.single_steps(batch)
    plain = networks(one)[2].with_views(batch, 2)
    steps = {name: batch[name][2:] for name in ("reward", "discount", "first")}
    total, discount, last = n_step_returns(steps, 3, one.cfg.gamma)
    assert (last != torch.arange(len(last))).any()
    torch.testing.assert_close(single["reward"], total.flatten())
    torch.testing.assert_close(single["discount"], discount.flatten())
    torch.testing.assert_close(
        outputs_of(network, single["next_obs"]), outputs_of(network, plain["next_obs"])[last], rtol=0, atol=0
    )
    torch.testing.assert_close(outputs_of(network, single["obs"]), outputs_of(network, plain["obs"]), rtol=0, atol=0)


def test_the_priority_of_a_sequence_is_a_mixture_of_its_largest_and_its_mean_error():
    """0.75 * 4 + 0.25 * 2 and 0.75 * 3 + 0.25 * 2; with a dummy step, the other one has 0.75 * 3 + 0.25 * 3."""
    errors = torch.tensor([4.0, 1.0, 0.0, 3.0])
    first = torch.zeros(2, 2, dtype=torch.bool)
    view = View({"first": first}, {}, {}, None)
    assert view.priorities(errors, 0.75).tolist() == [3.5, 2.75]
    valid = torch.tensor([[True, False], [True, True]])
    assert View({"first": first}, {}, {}, valid).priorities(errors[[0, 2, 3]], 0.75).tolist() == [3.5, 3.0]


def test_what_a_sequence_taught_becomes_its_priority_and_its_weight():
    """From the update of the agent to the sum tree of the memory, (eta max + (1 - eta) mean + epsilon)^alpha."""
    env = toy_of("recall", 2, delay=3)
    settings = {"lookup_step": 4, "burn_in": 2, "batch_size": 5, "n_step": 2, "learning_starts": 0, "train_fre": 2}
    one = agent_of("R2D2", spec_of(env), **settings, per_alpha=1.0, per_epsilon=0.5, value_layers=[Gru(layer_size=[8])])
    collector, memory = collector_of(env, one), memory_of(one)
    memory.add(collector.collect(40, LATER)[0])
    chunk = memory.take(0.0)
    assert chunk.columns["weight"].shape == chunk.columns["reward"].shape
    assert (chunk.keys.serial % 2 == 0).all()
    learned = AgentLearner(one, one.cfg.memory(2)).learn(chunk, LATER)
    assert learned.priorities.shape == (len(chunk.columns["reward"]), 5)
    memory.feedback(chunk.keys, learned.priorities)
    last = {int(place): new for places, news in zip(chunk.keys.place, learned.priorities, strict=True)
            for place, new in zip(places, news, strict=True)}  # fmt: skip
    stored = memory._tree.of(np.array(list(last)))
    np.testing.assert_allclose(stored, np.array(list(last.values())) + 0.5, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("n_step", [1, 3])
def test_r2d2_remembers_a_cue_seen_at_the_first_step(n_step):
    env = toy_of("recall", 8, delay=2)
    settings = {"lookup_step": 4, "burn_in": 2, "batch_size": 32, "train_fre": 8, "learning_starts": 200, "lr": 3e-3}
    settings |= {"gamma": 0.9, "target_update": 20, "epsilon_decay": 1500, "normalize_obs": False, "n_step": n_step}
    layers = [Linear(layer_size=[16]), Gru(layer_size=[16])]
    one = trained(agent_of("R2D2", spec_of(env), value_layers=layers, **settings), env, 200)
    assert score(one, toy_of("recall", 1, delay=2), 100) > 0.8


# ------------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("n_step=17", "n_step: returns are summed within sequences, which have 16 steps"),
        ("her_ratio=0.5", "her_ratio: goals are relabeled in single steps, and lstm and gru layers need sequences"),
        ("buffer_size=20", r"lookup_step: 24 steps with burn_in are more than buffer_size"),
    ],
)
@pytest.mark.parametrize("algo", ["SAC", "DQN"])
def test_what_goes_with_single_steps_only_is_refused_beside_a_memory(algo, setting, message):
    key = "value_layers" if algo == "DQN" else "actor_layers"
    words = [f"algo_cfg.{key}=[{{layer_type: gru, layer_size: 8}}]", f"algo_cfg.{setting}", "algo_cfg.batch_size=16"]
    with pytest.raises(ConfigError, match=message):
        loaded(None, f"general_cfg.algo_name={algo}", "env_cfg.id=Pendulum-v1", *words)


def test_the_size_of_a_memory_counts_what_layers_carry():
    """4 bytes each: of an lstm its output and its cell, of a gru its output."""
    words = "algo_cfg.value_layers=[{layer_type: lstm, layer_size: 4}, {layer_type: gru, layer_size: 5}]"
    config = config_of("DRQN", words, "algo_cfg.buffer_size=1000", rows=1)
    plain = config_of("DQN", "algo_cfg.buffer_size=1000", rows=1)
    spec = build.env_spec(config, build.make_env(config, 1))
    assert resources.memory_bytes(config, plan(config, spec)) - resources.memory_bytes(
        plain, plan(plain, spec)
    ) == 1000 * 4 * (2 * 4 + 5)
