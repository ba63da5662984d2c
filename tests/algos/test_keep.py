"""What an agent keeps by name: each kind of attribute comes back to the bit, and what has no kind is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from algos import base
from algos.common.maths.returns import RewardScaler
from algos.common.parts import optim
from algos.common.parts.state import load_state_of, load_state_tree, state_of, state_tree
from algos.common.settings import NetworkConfig
from tests.tools.core import saved_and_read

NAMES = ("network", "optimizer", "rng", "scaler", "nothing", "updates", "penalty", "done", "loss", "metrics")


def parts(seed):
    """One of each kind, with a past that depends on the seed."""
    torch.manual_seed(seed)
    network, rng, scaler = nn.Linear(2, 1), np.random.default_rng(seed), RewardScaler(1, 0.9)
    optimizer = optim.make(list(network.parameters()), NetworkConfig(), 0.1 * seed)
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    rng.random(seed)
    scaler.scale(torch.full((2, 1), float(seed)), torch.zeros(2, 1, dtype=torch.bool))
    loss = torch.tensor(seed / 3)
    return SimpleNamespace(
        network=network, optimizer=optimizer, rng=rng, scaler=scaler, nothing=None, updates=seed, penalty=seed / 7,
        done=seed > 1, loss=loss, metrics={"loss": loss / 3},
    )  # fmt: skip


def test_every_kind_comes_back_to_the_bit_and_networks_stay_where_they_are():
    one, other = parts(1), parts(2)
    network, weight = other.network, other.network.weight
    load_state_of(other, NAMES, saved_and_read(state_of(one, NAMES)))
    assert other.network is network
    assert other.network.weight is weight
    assert torch.equal(weight, one.network.weight)
    assert str(state_of(other, NAMES)) == str(state_of(one, NAMES))
    assert (other.updates, other.penalty, other.done, other.nothing) == (1, 1 / 7, False, None)
    assert torch.equal(other.loss, one.loss)
    assert other.rng.random() == one.rng.random()


def test_names_that_stand_for_one_tensor_get_their_own_numbers():
    """Metrics begin as one zero, and a resume gave all of them the number of the last."""
    zero = torch.zeros(())
    one, other = (SimpleNamespace(metrics=values, pair=next(iter(values.values()))) for values in (
        {"loss": torch.tensor(0.25), "entropy": torch.tensor(0.75)}, {"loss": zero, "entropy": zero}
    ))  # fmt: skip
    load_state_of(other, ["metrics", "pair"], saved_and_read(state_of(one, ["metrics", "pair"])))
    assert {name: value.item() for name, value in other.metrics.items()} == {"loss": 0.25, "entropy": 0.75}
    assert (other.pair.item(), zero.item()) == (0.25, 0)


def test_what_is_switched_off_may_be_missing_in_an_older_state_and_nothing_else():
    one, state = parts(1), state_of(parts(2), NAMES)
    load_state_of(one, NAMES, {name: value for name, value in state.items() if name != "nothing"})
    assert (one.updates, one.nothing) == (2, None)
    with pytest.raises(ValueError, match="it has no 'scaler', which KEPT names; it has network, optimizer, rng, "):
        load_state_of(one, NAMES, {name: value for name, value in state.items() if name != "scaler"})


def velocities(optimizer, network, count):
    """The weights after each of so many steps with the same gradient."""
    found = []
    for _ in range(count):
        for parameter in network.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        found.append(network.weight.detach().clone())
    return found


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_velocity_goes_on_with_the_other_implementation_of_gradient_descent(ours_first):
    """A run with JOYSTICK_PLAIN=1 is resumed without it, or the other way around."""
    kinds = [
        lambda network: optim.make(list(network.parameters()), NetworkConfig(optimizer="sgd", momentum=0.9), 0.1),
        lambda network: torch.optim.SGD(network.parameters(), 0.1, 0.9),
    ]
    first, then = kinds if ours_first else kinds[::-1]
    networks = nn.Linear(2, 1), nn.Linear(2, 1)
    one, other = first(networks[0]), then(networks[1])
    velocities(one, networks[0], 3)
    networks[1].load_state_dict(networks[0].state_dict())
    load_state_tree(other, saved_and_read(state_tree(one)))
    for a, b in zip(velocities(one, networks[0], 2), velocities(other, networks[1], 2), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("part", [[1], {1}, np.array(["a"]), np.float32(1)])
def test_what_has_no_kind_is_refused_by_its_name(part):
    with pytest.raises(TypeError, match=r"values\['best'\] is a \w+, which cannot be kept by its name; can be: a mod"):
        state_of(SimpleNamespace(values={"best": part}), ["values"])


def test_a_dict_whose_keys_are_no_texts_is_refused_since_a_checkpoint_has_texts():
    with pytest.raises(TypeError, match=r"^visits has the key 3; a dict that is kept has texts as keys$"):
        state_of(SimpleNamespace(visits={3: 1}), ["visits"])


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ({}, {"left": 3}),
        ({"a": 1}, {"b": {"c": 2.5}}),
        (None, 0.5),
        ("warm", "up"),
        (np.zeros(2, np.int32), np.arange(3, dtype=np.int32)),
        (torch.zeros(2), torch.tensor([0.5, 1.5])),
        (torch.zeros(0, dtype=torch.int64), torch.arange(3)),
    ],
)
def test_numbers_tensors_and_dicts_that_grow_come_back(here, there):
    one, other = SimpleNamespace(value=there), SimpleNamespace(value=here)
    load_state_of(other, ["value"], saved_and_read(state_of(one, ["value"])))
    assert type(other.value) is type(there)
    assert getattr(other.value, "dtype", None) == getattr(there, "dtype", None)
    np.testing.assert_equal(np.asarray(other.value), np.asarray(there))


def test_a_parameter_comes_back_in_place_since_its_optimizer_has_it():
    one, other = (SimpleNamespace(log_alpha=nn.Parameter(torch.tensor([value]))) for value in (0.5, 0.0))
    parameter = other.log_alpha
    load_state_of(other, ["log_alpha"], saved_and_read(state_of(one, ["log_alpha"])))
    assert other.log_alpha is parameter
    assert parameter.item() == 0.5
    with pytest.raises(ValueError, match=r"log_alpha is \(1,\) here and \(3,\) there"):
        load_state_of(other, ["log_alpha"], {"log_alpha": np.zeros(3, np.float32)})


def test_a_network_in_a_dict_may_not_be_missing():
    with pytest.raises(ValueError, match=r"it has no \"nets\['a'\]\", which KEPT names; it has b"):
        load_state_of(SimpleNamespace(nets={"a": nn.Linear(1, 1)}), ["nets"], {"nets": {"b": 1}})


def test_a_generator_of_torch_goes_on():
    one, other = (SimpleNamespace(rng=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    torch.rand(3, generator=one.rng)
    load_state_of(other, ["rng"], saved_and_read(state_of(one, ["rng"])))
    assert torch.equal(torch.rand(2, generator=other.rng), torch.rand(2, generator=one.rng))


def test_an_agent_that_names_nothing_is_told_so():
    class Agent(base.Agent):
        sample_action = predict_action = update = None

    agent = Agent(None, None, base.Streams(1), torch.device("cpu"))
    with pytest.raises(TypeError, match="KEPT is empty"):
        agent.weights()
