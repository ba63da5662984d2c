"""Ensembles of critics: each member is the network that it would be alone."""

import pytest
import torch
from gymnasium.spaces import Box
from torch import nn
from torch.nn import functional as F

from algos.base import EnvSpec
from algos.common.maths.targets import priorities, td_loss
from algos.common.nets.critics import EnsembleLinear, EnsembleNorm, build
from algos.common.nets.observations import NetworkError
from algos.common.settings import NetworkConfig
from config.model.layers import BatchNorm, Conv2d, Dropout, Embed, LayerNorm, RmsNorm, mlp
from tests.tools.actor_critic import OBS, spec_for
from tests.tools.core import agent_of

SPEC = spec_for("SAC")


def make(layers, members=3, **settings):
    out = settings.pop("out", 1)
    return build(SPEC, layers, NetworkConfig(**settings), 5, members=members, actions=2, out=out)


def alone(layer, member, x):
    """What one member of a layer gives, by torch's own functions."""
    if isinstance(layer, EnsembleLinear):
        return F.linear(x, layer.weight[member].T, layer.bias[member, 0])
    if isinstance(layer, EnsembleNorm):
        return F.layer_norm(x, x.shape[-1:], layer.weight[member, 0], layer.bias[member, 0])
    return layer(x)


def test_every_member_is_a_network_of_its_own():
    critic = make([*mlp(8), LayerNorm(activation="tanh"), *mlp(4)], out=5)
    with torch.no_grad():
        for parameter in critic.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)) / 9)
    obs, action = torch.randn(6, 3), torch.randn(6, 2)
    q = critic(obs, action)
    assert q.shape == (3, 6, 5)
    for member in range(3):
        x = torch.cat([obs, action], 1)
        for layer in critic.body:
            x = alone(layer, member, x)
        torch.testing.assert_close(q[member], x)
    assert not torch.allclose(q[0], q[1])


@pytest.mark.parametrize(
    "layers", [mlp(8, 4), [*mlp(8), LayerNorm(activation="tanh")], [*mlp(8), RmsNorm()], [*mlp(8), BatchNorm()]]
)
@pytest.mark.parametrize("architecture", ["mlp", "simba"])
@pytest.mark.parametrize("members", [1, 3])
def test_the_first_member_alone_needs_no_other_one(layers, architecture, members):
    if architecture == "simba" and len(layers) > 1:
        pytest.skip("its norms are built in")
    critic = make(layers, members, architecture=architecture)
    obs, action = torch.randn(6, 3), torch.randn(6, 2, requires_grad=True)
    values = critic(obs, action)[:1]
    (expected,) = torch.autograd.grad(values.sum(), [action])
    with torch.no_grad():
        for parameter in critic.body.parameters():
            parameter[1:] = torch.nan
    first = critic.first(obs, action)
    torch.testing.assert_close(first, values)
    torch.testing.assert_close(torch.autograd.grad(first.sum(), [action])[0], expected)


def test_first_weights_depend_on_the_seed_alone_and_are_those_of_torch():
    torch.manual_seed(1)
    first = make(mlp(64))
    torch.manual_seed(2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), make(mlp(64)).parameters(), strict=True))
    weight, plain = first.body[0].weight, nn.Linear(5, 64).weight
    assert weight.abs().max().item() == pytest.approx(plain.abs().max().item(), rel=0.1)
    assert weight.abs().max().item() <= 5**-0.5


def test_what_sees_the_observation_alone_is_initialized_too_unless_another_network_has_it():
    spec = EnvSpec("x", Box(0, 1, (1, 8, 8)), Box(-1, 1, (2,)), 4)
    front = [Conv2d(out_channel=4, kernel_size=4), Conv2d(out_channel=2, kernel_size=2, stride=1, shared="eyes")]
    cfg = NetworkConfig(init="orthogonal")
    first, second = (build(spec, [*front, *mlp(4)], cfg, seed, members=2, actions=2).front for seed in (1, 2))
    for layer in (part for part in first if isinstance(part, nn.Conv2d)):
        rows = layer.weight.detach().flatten(1)
        torch.testing.assert_close(rows @ rows.T, 2 * torch.eye(len(rows)))
        assert not layer.bias.detach().any()
    assert second[-3] is first[-3] is spec.shared["eyes"][0]


def test_orthogonal_weights_are_so_for_each_member():
    critic = make(mlp(4), init="orthogonal")
    for weight in critic.body[0].weight:
        torch.testing.assert_close(weight.T @ weight, 2 * torch.eye(4), atol=1e-5, rtol=0)
    assert not critic.body[0].bias.any()
    torch.testing.assert_close(critic.body[-1].weight.norm(dim=1), torch.ones(3, 1))


def test_kaiming_weights_have_the_deviation_of_their_inputs():
    weight = make(mlp(500), init="kaiming").body[0].weight
    assert weight.std().item() == pytest.approx((2 / 5) ** 0.5, rel=0.05)


def test_simba_is_a_projection_blocks_and_a_norm():
    critic = make(mlp(8, 8), architecture="simba")
    names = [type(module).__name__ for module in critic.body]
    assert names == ["EnsembleLinear", "Residual", "Residual", "EnsembleNorm", "EnsembleLinear"]
    assert critic(torch.zeros(4, 3), torch.zeros(4, 2)).shape == (3, 4, 1)
    with pytest.raises(NetworkError, match=r"^algo_cfg\.critic_layers: simba: .* must end with linear layers"):
        agent_of("SAC", SPEC, critic_layers=[*mlp(8), Dropout()], architecture="simba")
    with pytest.raises(NetworkError, match=r"^algo_cfg\.critic_layers: simba: its blocks need an activation"):
        agent_of("SAC", SPEC, critic_layers=mlp(8, activation="none"), architecture="simba")


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(NetworkError, match="embed"):
        make([*mlp(8), Embed(embedding_dim=3)])


def test_values_of_observations_alone_need_no_action():
    critic = build(EnvSpec("x", OBS, Box(-1, 1, (1,)), 1), mlp(8), NetworkConfig(), 5, members=2, actions=0, out=4)
    assert critic(torch.zeros(7, 3)).shape == (2, 7, 4)


@pytest.mark.parametrize(
    ("weight", "huber", "expected"),
    [
        # two critics, errors (2, 0.5) and (0, -1): mean squares 4.25 / 2 and 1 / 2
        (None, False, 2.625),
        # beyond 1 a Huber loss is |error| - 1/2, within it error^2 / 2: (1.5 + 0.125) / 2 and 0.5 / 2
        (None, True, 1.0625),
        ((1.0, 0.5), False, (4 + 0.125) / 2 + 0.25),
    ],
)
def test_the_loss_is_the_sum_of_those_of_the_critics(weight, huber, expected):
    q, target = torch.tensor([[2.0, 3.0], [4.0, 4.5]]), torch.tensor([4.0, 3.5])
    weight = None if weight is None else torch.tensor(weight)
    assert td_loss(q, target, weight, huber).item() == pytest.approx(expected)
    assert priorities(q, target).tolist() == [1.0, 0.75]
