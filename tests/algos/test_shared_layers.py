"""Layers with a name: one module in all networks of a run that name it, moved by the optimizer of each."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn

from algos.base import EnvSpec, Part, Progress, UnfitError
from algos.common.nets import critics
from algos.common.nets.networks import NetworkError, build
from algos.common.parts.actor_critic import in_common
from algos.common.parts.optim import parameters_of
from algos.common.settings import NetworkConfig
from config.model.layers import Conv2d, Dropout, Embed, Gru, LayerNorm, Layers, Linear, Lstm, NoisyLinear, Parts
from tests.tools.core import agent_of
from tests.tools.distributed import frozen
from tests.tools.joint import numbers

CFG = NetworkConfig()


def spec_of(space=None, actions=None):
    """A spec with a registry of its own."""
    return EnvSpec("x", space or Box(-1, 1, (4,), np.float32), actions or Discrete(3), 4)


def trunk(**settings) -> Layers:
    return [Linear(layer_size=[6], shared="trunk", **settings), Linear(layer_size=[5])]


def linears(network: nn.Module) -> list[nn.Module]:
    return [module for module in network.modules() if isinstance(module, nn.Linear)]


def bits(module: nn.Module) -> list[bytes]:
    return [tensor.numpy().tobytes() for tensor in module.state_dict().values()]


# ---------------------------------------------------------------------------------------------------- networks


@pytest.mark.parametrize("init", ["default", "orthogonal", "kaiming"])
def test_two_networks_have_one_module_with_the_first_weights_of_the_first(init):
    spec, cfg = spec_of(), NetworkConfig(init=init)
    one = build(spec, trunk(), 2, cfg, 1)
    first = bits(linears(one)[0])
    other = build(spec, trunk(activation="tanh"), 3, cfg, 2)
    assert linears(one)[0] is linears(other)[0]
    assert bits(linears(one)[0]) == first
    assert linears(one)[1] is not linears(other)[1]
    assert first == bits(linears(build(spec_of(), [Linear(layer_size=[6]), Linear(layer_size=[5])], 2, cfg, 1))[0])
    assert [type(module).__name__ for module in other][:2] == ["Linear", "Tanh"], "activations are the network's own"


def test_without_a_name_and_in_another_run_nothing_is_shared():
    spec = spec_of()
    plain = [build(spec, [Linear(layer_size=[6])], 2, CFG, 1) for _ in range(2)]
    assert linears(plain[0])[0] is not linears(plain[1])[0]
    assert spec.shared == {}
    runs = [build(spec_of(), trunk(), 2, CFG, 1) for _ in range(2)]
    assert linears(runs[0])[0] is not linears(runs[1])[0]
    assert replace(spec, rows=8).shared is spec.shared


def test_the_other_weights_of_a_network_are_those_without_sharing():
    spec = spec_of()
    build(spec, trunk(), 2, CFG, 1)
    alone, beside = build(spec_of(), trunk(), 2, CFG, 2), build(spec, trunk(), 2, CFG, 2)
    assert [bits(layer) for layer in linears(alone)[1:]] == [bits(layer) for layer in linears(beside)[1:]]


@pytest.mark.parametrize(
    "layer",
    [
        Lstm(layer_size=[3], shared="x"),
        Gru(layer_size=[3, 2], shared="x"),
        LayerNorm(shared="x"),
        NoisyLinear(layer_size=[3], shared="x"),
        Linear(layer_size=[3, 2], shared="x"),
    ],
    ids=lambda layer: layer.layer_type,
)
def test_every_layer_with_weights_can_be_shared(layer):
    spec = spec_of()
    one, other = (build(spec, [Linear(layer_size=[4]), layer], 2, CFG, seed) for seed in (1, 2))
    both = {id(p) for p in one.parameters()} & {id(p) for p in other.parameters()}
    assert both == {id(p) for p in spec.shared["x"].parameters()}
    assert both


def test_a_table_of_a_discrete_observation_and_noisy_linear_layers():
    spec = spec_of(Discrete(7))
    one, other = (build(spec, [Embed(embedding_dim=3, shared="x")], 2, CFG, seed) for seed in (1, 2))
    assert one[1] is other[1]
    spec = spec_of()
    one, other = (build(spec, trunk(), 2, CFG, seed, noise=0.5) for seed in (1, 2))
    assert one[0] is other[0]


def test_shapes_that_differ_are_named():
    spec = spec_of()
    build(spec, trunk(), 2, CFG, 1)
    text = r"shared as trunk has Linear \(6, 4\) and \(6,\) in another network, and Linear \(8, 4\) and \(8,\) here"
    with pytest.raises(UnfitError, match=text):
        build(spec, [Linear(layer_size=[8], shared="trunk")], 2, CFG, 1)
    with pytest.raises(UnfitError, match="LayerNorm"):
        build(spec, [LayerNorm(shared="trunk")], 2, CFG, 1)


def test_what_cannot_be_shared_is_refused():
    with pytest.raises(NetworkError, match=r"simba.*cannot be shared"):
        build(spec_of(), trunk(), 2, NetworkConfig(architecture="simba"), 1)
    with pytest.raises(NetworkError, match="behind the action belong to each critic, and cannot be shared"):
        critics.build(spec_of(), trunk(), CFG, 1, members=2, actions=1)
    with pytest.raises(UnfitError, match="the last linear layer of a dueling network is part of each stream"):
        agent_of("DuelingDQN", spec_of(), value_layers=[Linear(layer_size=[4], shared="x")])


def test_a_setting_that_is_not_used_is_not_written():
    assert "shared" not in Linear(layer_size=[4]).model_dump()
    assert Linear(layer_size=[4], shared="x").model_dump()["shared"] == "x"
    assert Linear(**Linear(layer_size=[4], shared="x").model_dump()) == Linear(layer_size=[4], shared="x")


# ------------------------------------------------------------------------------------------------------ agents


def window(agent, steps=8, rows=4):
    rng = np.random.default_rng(0)
    obs = numbers(rng, steps, rows, 4)
    acts = [agent.sample_action(step.numpy(), None, Progress(), rng) for step in obs]
    columns = {name: np.stack([act.columns[name] for act in acts]) for name in acts[0].columns}
    flags = torch.zeros(steps, rows, dtype=torch.bool)
    return {
        "obs": obs, "next_obs": numbers(rng, steps, rows, 4), "reward": numbers(rng, steps, rows),
        "terminated": flags, "truncated": flags, **{name: torch.from_numpy(value) for name, value in columns.items()},
    }  # fmt: skip


def learn(agent):
    chunk = agent.prepare(window(agent), Progress())
    return agent.update({name: column.flatten(0, 1) for name, column in chunk.items()})


@pytest.mark.parametrize("algo", ["PPO", "A2C"])
def test_actor_and_critic_share_a_layer_that_the_optimizer_moves_once(algo):
    settings = {"actor_layers": trunk(), "critic_layers": trunk(), "optimizer": "sgd", "max_grad_norm": None, "lr": 0.1}
    agent = agent_of(algo, spec_of(), **settings)
    [layer] = agent.spec.shared["trunk"]
    before, gradient = layer.weight.detach().clone(), []
    agent.reduce = lambda grads: gradient.extend(
        p.grad.clone() for p in agent.networks.parameters() if p is layer.weight and p.grad is not None
    )
    learn(agent)
    torch.testing.assert_close(layer.weight.detach(), before - 0.1 * gradient[0])
    moved = layer.weight.detach().numpy()
    shared = [name for name, array in agent.weights().items() if np.array_equal(array, moved)]
    assert [name.split(".")[0] for name in shared] == ["actor", "critic"]


def computed(agent, batch) -> tuple[int, Tensor, Tensor, list[Tensor]]:
    """Number of passes through the shared layer in a loss, the outputs of both networks, and the gradients."""
    [layer], passes, plain = agent.spec.shared["trunk"], [], nn.Linear.forward
    layer.forward = lambda x: passes.append(x) or plain(layer, x)
    outputs, values = agent.policy.outputs_and_value(batch)
    (outputs.square().sum() + values.square().sum()).backward()
    del layer.forward
    gradients = [p.grad for p in agent.networks.parameters()]
    agent.networks.zero_grad(set_to_none=True)
    return len(passes), outputs.detach(), values.detach(), gradients


@pytest.mark.parametrize("algo", ["PPO", "A2C"])
def test_layers_with_which_actor_and_critic_begin_are_computed_once(algo):
    agent = agent_of(algo, spec_of(), actor_layers=trunk(), critic_layers=trunk())
    batch = {"obs": numbers(np.random.default_rng(0), 6, 4)}
    once, *of_one_pass = computed(agent, batch)
    agent.policy._together = None
    twice, *of_two = computed(agent, batch)
    assert (once, twice) == (1, 2)
    torch.testing.assert_close(of_one_pass, of_two)


OWN, TRUNK = Linear(layer_size=[6]), Linear(layer_size=[6], shared="trunk")


@pytest.mark.parametrize(
    ("actor", "critic", "modules"),
    [
        ([TRUNK, OWN], [TRUNK, OWN], 2),
        ([TRUNK], [TRUNK.model_copy(update={"activation": "tanh"})], 1),
        ([TRUNK, Dropout(rate=0.5)], [TRUNK, Dropout(rate=0.5)], 2),
        ([TRUNK.model_copy(update={"frozen": True})], [TRUNK], 2),
        ([OWN, TRUNK], [OWN, TRUNK], None),
        ([OWN], [OWN], None),
        ([TRUNK, Lstm(layer_size=[3])], [TRUNK], None),
    ],
)
def test_only_the_layers_that_are_one_are_computed_once(actor, critic, modules):
    """A function without weights belongs to them, but not one of chance, as each network draws its own zeros."""
    spec = spec_of()
    front = in_common(*(build(spec, layers, 2, CFG, seed) for seed, layers in enumerate([actor, critic])))
    assert (None if front is None else len(front[0])) == modules


def test_parts_of_the_same_size_are_not_one_because_a_shared_layer_follows():
    parts = Part("hand", 0, 1, (1,)), Part("truth", 1, 2, (1,))
    spec = EnvSpec("test", Box(-1, 1, (2,)), Discrete(2), 1, parts)
    lists = [[Parts(names=[name]), TRUNK] for name in ("hand", "truth")]
    assert in_common(*(build(spec, layers, 2, CFG, seed) for seed, layers in enumerate(lists))) is None


def test_the_step_of_trpo_leaves_a_frozen_layer_to_the_critic():
    agent = agent_of("TRPO", spec_of(), actor_layers=trunk(frozen=True), critic_layers=trunk(), normalize_obs=False)
    [layer] = agent.spec.shared["trunk"]
    assert agent.policy_parameters
    assert all(weight is not layer.weight for weight in agent.policy_parameters)
    before = layer.weight.detach().clone()
    assert learn(agent).metrics["step_share"] > 0
    assert not torch.equal(layer.weight, before)


def test_a_resumed_agent_with_a_shared_layer_learns_the_same_to_the_bit():
    one, other = (agent_of("PPO", spec_of(), seed, actor_layers=trunk(), critic_layers=trunk()) for seed in (1, 2))
    learn(one)
    other.load_state(one.state())
    assert learn(one).metrics == learn(other).metrics
    assert frozen(one.state()) == frozen(other.state())


def test_either_policy_moves_the_layer_of_both():
    spec = spec_of()
    on = agent_of("PPO", spec, actor_layers=trunk(), critic_layers=[Linear(layer_size=[4])])
    off = agent_of("DQN", replace(spec, rows=1), value_layers=trunk(), target_update=1000)
    [layer] = spec.shared["trunk"]
    rng = np.random.default_rng(0)
    batch = {
        "obs": numbers(rng, 8, 4), "next_obs": numbers(rng, 8, 4), "reward": numbers(rng, 8),
        "action": torch.zeros(8, dtype=torch.int64), "discount": torch.ones(8),
    }  # fmt: skip
    for step in (lambda: learn(on), lambda: off.update(batch)):
        before, weights = layer.weight.detach().clone(), [frozen(other.weights()) for other in (on, off)]
        step()
        assert not torch.equal(layer.weight, before)
        assert all(old != frozen(other.weights()) for old, other in zip(weights, (on, off), strict=True))
    assert not torch.equal(next(off.target.parameters()), layer.weight), "target networks have copies"


@pytest.mark.parametrize("algo", ["SAC", "REDQ", "TD3", "TQC", "CrossQ"])
def test_actors_and_critics_share_what_sees_the_observation(algo):
    """Target networks follow it, and no ensemble freezes it."""
    images = Box(0, 255, (3, 12, 12), np.uint8)
    front = [Conv2d(out_channel=2, shared="eyes")]
    spec = spec_of(images, Box(-1, 1, (2,), np.float32))
    lists = {"actor_layers": front, "critic_layers": front}
    follow = {} if algo == "CrossQ" else {"tau": 0.5}
    agent = agent_of(algo, spec, **lists, policy_freq=1, **follow)
    [eyes] = spec.shared["eyes"]
    assert all(p.requires_grad for p in eyes.parameters())
    seen = torch.randint(0, 256, (6, 3, 12, 12), dtype=torch.uint8)
    rng = np.random.default_rng(0)
    batch = {"obs": seen, "next_obs": seen, "reward": numbers(rng, 6), "discount": torch.ones(6)}
    before = eyes.weight.detach().clone()
    agent.update({**batch, "action": numbers(rng, 6, 2).clamp(-1, 1)})
    assert not torch.equal(eyes.weight, before)
    assert all(p.grad is None for p in eyes.parameters())
    target = getattr(agent, "target", None) or getattr(agent, "target_critic", None)
    if target is not None:
        copies = dict(target.front.named_parameters())
        [weight] = [p for name, p in copies.items() if p.shape == eyes.weight.shape]
        assert not torch.equal(weight, before)
        assert weight is not eyes.weight


OF_TWO = [("IQL", "critic_layers"), ("FQL", "actor_layers"), ("BCQ", "vae_layers")]
"""Algorithms and a setting that two of their networks have, with one optimizer."""


@pytest.mark.parametrize(("algo", "setting"), OF_TWO)
def test_networks_of_one_list_share_a_layer_that_is_moved_once(algo, setting):
    spec = spec_of(Box(0, 255, (3, 12, 12), np.uint8), Box(-1, 1, (2,), np.float32))
    agent = agent_of(algo, spec, optimizer="sgd", **{setting: [Conv2d(out_channel=2, shared="eyes")]})
    [eyes] = spec.shared["eyes"]
    [optimizer] = [each for each in agent.optimizers() if any(p is eyes.weight for p in parameters_of(each))]
    before, rate = eyes.weight.detach().clone(), optimizer.param_groups[0]["lr"]
    for parameter in parameters_of(optimizer):
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    torch.testing.assert_close(eyes.weight.detach(), before - rate)
