"""Optimizers, clipping and learning rates."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from algos.common.fast.optimizers import FusedAdam
from algos.common.parts import optim
from algos.common.parts.state import load_state_tree, state_tree
from algos.common.settings import NetworkConfig
from config.model.course import Schedule
from tests.tools.compiler import can_compile, programs

__all__ = ["can_compile", "programs"]
torch.set_num_threads(1)


def quadratic(parameters: list[nn.Parameter]) -> torch.Tensor:
    return sum((p * p).sum() for p in parameters)  # type: ignore[return-value]


def some_parameters() -> list[nn.Parameter]:
    rng = np.random.default_rng(0)
    return [nn.Parameter(torch.tensor(rng.standard_normal(shape), dtype=torch.float32)) for shape in ((37, 5), (7,))]


@pytest.mark.long
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_our_adam_gives_the_bits_of_torch(name: str) -> None:
    ours, theirs = some_parameters(), some_parameters()
    mine = optim.make(ours, NetworkConfig(optimizer=name, weight_decay=0.1), 0.01)
    reference = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
    torchs = reference(theirs, 0.01, weight_decay=0.1, fused=True)
    assert isinstance(mine, FusedAdam)
    for _ in range(5):
        for optimizer, parameters in ((mine, ours), (torchs, theirs)):
            quadratic(parameters).backward()
            optim.apply_gradients(optimizer, parameters, None, lambda grads: None)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_an_optimizer_is_used_as_in_a_script_of_torch() -> None:
    """An algorithm of one's own may call zero_grad, backward and step."""
    ours, theirs = some_parameters(), some_parameters()
    mine, reference = optim.make(ours, NetworkConfig(), 0.01), torch.optim.Adam(theirs, 0.01)
    for optimizer, parameters in ((mine, ours), (reference, theirs)):
        for _ in range(3):
            optimizer.zero_grad()
            quadratic(parameters).backward()
            optimizer.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_adam_in_a_graph_moves_as_its_kernel_does(name: str) -> None:
    """Steps of either kind in turn, with groups of different learning rates, and a state that was loaded."""
    found = []
    for graph in (False, True):
        parameters = some_parameters()
        groups: Any = [{"params": [p], "lr": lr} for p, lr in zip(parameters, (0.01, 0.002), strict=True)]
        optimizer = optim.make(groups, NetworkConfig(optimizer=name, weight_decay=0.1), 0.01)
        assert isinstance(optimizer, FusedAdam)
        for turn in range(8):
            gradients = torch.autograd.grad(quadratic(parameters), parameters)
            if turn == 5:
                state = state_tree(optimizer)  # type: ignore[arg-type]
                optimizer = optim.make(groups, NetworkConfig(optimizer=name, weight_decay=0.1), 0.01)
                load_state_tree(optimizer, state)  # type: ignore[arg-type]
                assert isinstance(optimizer, FusedAdam)
            if graph and turn != 3:
                optimizer.move(gradients, optimizer.rates())
                continue
            for p, gradient in zip(parameters, gradients, strict=True):
                p.grad = gradient
            optimizer.step()
        found.append(
            [*parameters, *(each for one in optimizer._moments for column in one.by_parameter() for each in column)]
        )
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-7)


def test_the_first_step_of_adam_in_a_graph_by_hand() -> None:
    """Without the bias, the moments are g and g^2: each parameter moves by the learning rate against its gradient."""
    p = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
    left = nn.Parameter(torch.ones(1))
    optimizer = FusedAdam([p, left], 0.1, 1e-8, 0.0, False)
    optimizer.move([torch.tensor([5.0, -0.01, 0.0]), None], optimizer.rates())
    assert p.tolist() == pytest.approx([0.9, 2.1, 3.0])
    assert left.item() == 1.0, "a parameter without a gradient"


@pytest.mark.parametrize("graph", [False, True], ids=["autograd", "graph"])
def test_parameters_frozen_after_a_step_was_made_stay_as_they_are(graph: bool) -> None:
    """An agent of one's own freezes layers of the family that has made its step."""
    frozen, learning = parameters = some_parameters()
    optimizer = optim.make(parameters, NetworkConfig(weight_decay=0.1), 0.01)
    assert isinstance(optimizer, FusedAdam)
    step = optim.GradientStep(lambda *_: (quadratic(parameters), None), optimizer, 1.0)
    frozen.requires_grad_(False)
    before = [p.detach().clone() for p in parameters]
    if graph:
        step._step(optimizer.rates())
    else:
        step(torch.zeros(1), reduce=lambda grads: None)
    assert torch.equal(frozen, before[0])
    assert not torch.equal(learning, before[1])


def test_a_group_without_any_gradient_stays_as_it_is() -> None:
    groups = [{"params": [nn.Parameter(torch.ones(2))]} for _ in range(2)]
    optimizer = FusedAdam(groups, 0.1, 1e-8, 0.0, False)
    groups[0]["params"][0].grad = torch.tensor([1.0, -1.0])
    optimizer.step()
    assert groups[0]["params"][0].tolist() == pytest.approx([0.9, 1.1])
    assert groups[1]["params"][0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["adam", "adamw", "rmsprop", "sgd"])
def test_an_optimizer_goes_on_from_its_state_to_the_bit(name: str) -> None:
    cfg = NetworkConfig(optimizer=name, weight_decay=0.01)
    one = some_parameters()
    first = optim.make(one, cfg, 0.01)

    def learn(optimizer: torch.optim.Optimizer, parameters: list[nn.Parameter]) -> None:
        for _ in range(3):
            quadratic(parameters).backward()
            optim.apply_gradients(optimizer, parameters, 1.0, lambda grads: None)

    learn(first, one)
    first.param_groups[0]["lr"] = 0.003
    other = [nn.Parameter(p.detach().clone()) for p in one]
    second = optim.make(other, cfg, 0.01)
    learn(second, other)  # a past of its own, which loading must wipe out
    load = [p.detach().clone() for p in one]
    load_state_tree(second, state_tree(first))
    with torch.no_grad():
        for p, weights in zip(other, load, strict=True):
            p.copy_(weights)
    learn(first, one)
    learn(second, other)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("settings", "decay"),
    [
        ({}, 0.0),
        ({"optimizer": "sgd"}, 0.0),
        ({"optimizer": "adamw"}, 0.01),
        ({"optimizer": "adamw", "weight_decay": 0.0}, 0.0),
        ({"weight_decay": 0.1}, 0.1),
    ],
)
def test_adamw_decays_unless_told_not_to(settings: dict[str, Any], decay: float) -> None:
    """Without a decay it would be adam."""
    assert optim.weight_decay(NetworkConfig(**settings)) == decay
    weight = nn.Parameter(torch.ones(1))
    optimizer = optim.make([weight], NetworkConfig(**settings), 0.1)
    (0.0 * weight).sum().backward()
    optim.apply_gradients(optimizer, [weight], None, lambda grads: None)
    if settings.get("optimizer") == "adamw":
        assert weight.item() == pytest.approx(1 - 0.1 * decay)


def test_the_state_of_an_optimizer_is_a_tree_of_arrays() -> None:
    parameters = some_parameters()
    optimizer = optim.make(parameters, NetworkConfig(), 0.01)
    quadratic(parameters).backward()
    optim.apply_gradients(optimizer, parameters, None, lambda grads: None)
    tree = state_tree(optimizer)
    assert tree["lr"] == [0.01]
    assert {name: array.shape for name, array in tree["moments"]["0"].items()} == {
        "step": (),
        "exp_avg": (37, 5),
        "exp_avg_sq": (37, 5),
    }


def test_a_parameter_without_a_gradient_stays_as_it_is() -> None:
    parameters = some_parameters()
    optimizer = optim.make(parameters, NetworkConfig(), 0.01)
    before = parameters[1].detach().clone()
    for _ in range(2):
        quadratic(parameters[:1]).backward()
        optim.apply_gradients(optimizer, parameters, None, lambda grads: None)
    assert torch.equal(parameters[1], before)


def test_gradients_are_averaged_then_clipped_then_applied_then_cleared() -> None:
    # loss 1.5 w0^2 + 2 w1^2 at (1, 1): gradient (3, 4); reduce doubles it: (6, 8), norm 10; clipped to 5: (3, 4)
    w = nn.Parameter(torch.ones(2))
    optimizer = optim.make([w], NetworkConfig(optimizer="sgd"), 0.1)
    (w.square() * torch.tensor([1.5, 2.0])).sum().backward()
    optim.apply_gradients(optimizer, [w], 5.0, lambda grads: [g.mul_(2) for g in grads] and None)
    assert optimizer.grad_norm.item() == pytest.approx(10)
    assert w.tolist() == pytest.approx([0.7, 0.6])
    assert w.grad is None


def after(cfg: NetworkConfig, lr: float, *gradients: float) -> list[float]:
    """A parameter that begins at 1, after a step with each of these gradients."""
    parameter = nn.Parameter(torch.ones(1))
    optimizer, found = optim.make([parameter], cfg, lr), []
    for gradient in gradients:
        parameter.grad = torch.full((1,), gradient)
        optimizer.step()
        found.append(parameter.item())
    return found


def test_momentum_adds_a_share_of_the_step_before() -> None:
    """v = 2, then 0.5 2 - 1 = 0, then 0.5 0 + 4; each goes down by a tenth. Without it 2, -1 and 4."""
    assert after(NetworkConfig(optimizer="sgd", momentum=0.5), 0.1, 2.0, -1.0, 4.0) == pytest.approx([0.8, 0.8, 0.4])
    assert after(NetworkConfig(optimizer="sgd"), 0.1, 2.0, -1.0, 4.0) == pytest.approx([0.8, 0.9, 0.5])


def test_rectified_adam_moves_by_the_mean_until_the_variance_is_tractable() -> None:
    """With beta_2 = 0.9 the longest average is 19. After t steps it is 19 - 2 t 0.9^t / (1 - 0.9^t): 1 after the first,
    4.581 after the fifth, 5.390 after the sixth. The bias-corrected mean of gradients 2 is 2: five steps of 0.2,
    and then sqrt(1.390 3.390 19 / (15 17 5.390)) = 0.2552 of Adam's step of 0.1."""
    cfg = NetworkConfig(optimizer="radam", adam_betas=[0.5, 0.9])
    moved = after(cfg, 0.1, *[2.0] * 6)
    assert moved[:5] == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0], abs=1e-6)
    assert moved[5] == pytest.approx(-0.02552, rel=1e-3)


@pytest.mark.parametrize(
    ("settings", "reference"),
    [
        ({"optimizer": "radam"}, partial(torch.optim.RAdam)),
        ({"optimizer": "radam", "adam_betas": [0.5, 0.9], "adam_epsilon": 0.01},
         partial(torch.optim.RAdam, betas=(0.5, 0.9), eps=0.01)),
        ({"optimizer": "sgd", "momentum": 0.9}, partial(torch.optim.SGD, momentum=0.9)),
        ({"optimizer": "adam", "adam_betas": [0.5, 0.9], "adam_epsilon": 0.01},
         partial(torch.optim.Adam, betas=(0.5, 0.9), eps=0.01)),
    ],
)  # fmt: skip
def test_settings_of_an_optimizer_mean_what_they_do_in_torch(settings: dict[str, Any], reference: Any) -> None:
    ours, theirs = some_parameters(), some_parameters()
    mine = optim.make(ours, NetworkConfig(weight_decay=0.1, **settings), 0.01)
    torchs = reference(theirs, lr=0.01, weight_decay=0.1)
    for _ in range(8):
        for optimizer, parameters in ((mine, ours), (torchs, theirs)):
            quadratic(parameters).backward()
            optim.apply_gradients(optimizer, parameters, None, lambda grads: None)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("settings", [{"optimizer": "radam"}, {"optimizer": "sgd", "momentum": 0.9}])
def test_a_restored_optimizer_takes_the_same_steps(settings: dict[str, Any]) -> None:
    cfg = NetworkConfig(**settings)
    whole, parts = some_parameters(), some_parameters()
    first, second = optim.make(whole, cfg, 0.01), optim.make(parts, cfg, 0.01)
    for turn in range(9):
        for optimizer, parameters in ((first, whole), (second, parts)):
            quadratic(parameters).backward()
            optim.apply_gradients(optimizer, parameters, None, lambda grads: None)
        if turn == 5:
            saved = state_tree(second)
            second = optim.make(parts, cfg, 0.5)
            load_state_tree(second, saved)
    assert all(torch.equal(a, b) for a, b in zip(whole, parts, strict=True))


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("settings", [{"optimizer": "radam"}, {"optimizer": "sgd", "momentum": 0.9}])
def test_a_compiled_step_is_the_plain_one(settings: dict[str, Any]) -> None:
    weights = []
    for samples in (0, 3):
        weight = nn.Parameter(torch.ones(2))
        optimizer = optim.make([weight], NetworkConfig(**settings, adam_betas=[0.5, 0.9], weight_decay=0.1), 0.1)
        step = optim.GradientStep(lambda batch, w=weight: ((batch["obs"] @ w).square().mean(), None), optimizer, 0.5)
        if samples:
            step.compile(samples)
        for turn in range(8):  # the seventh step of RAdam is rectified
            step({"obs": torch.arange(6.0).reshape(3, 2) / (turn + 1)}, reduce=lambda grads: None)
        assert bool(step.package) == bool(samples)
        weights.append(weight.tolist())
    assert weights[1] == pytest.approx(weights[0], rel=1e-5)


def test_a_short_gradient_is_not_clipped() -> None:
    grads = [torch.tensor([3.0]), torch.tensor([4.0])]
    norm = optim.norm_of(grads)
    assert norm.item() == 5.0
    assert optim.clip_factor(norm, 6.0).item() == 1.0
    assert optim.clip_factor(norm, 2.5).item() == pytest.approx(0.5)


def test_the_learning_rate_follows_its_schedule() -> None:
    def rates(lr: Any, course: str, *fractions: float) -> list[float]:
        [group] = optim.make(some_parameters(), NetworkConfig(lr_schedule=course), lr).param_groups
        return [group[optim.SCHEDULE].at(fraction) for fraction in fractions]

    assert rates(0.4, "linear", 0.0, 0.25, 1.0, 1.5) == pytest.approx([0.4, 0.3, 0.0, 0.0])
    # cosine: (1 + cos 60 degrees) / 2 = 3/4 after a third
    assert rates(0.4, "cosine", 0.0, 1 / 3, 1.0) == pytest.approx([0.4, 0.3, 0.0])
    assert rates(0.4, "constant", 0.9) == [0.4]
    # a schedule of its own goes before lr_schedule
    assert rates(Schedule(linear=[0.4, 0.2]), "cosine", 0.5, 1.0) == pytest.approx([0.3, 0.2])
