"""TRPO: conjugate gradients, steps and their search, by hand."""

import math

import pytest
import torch

from algos.base import Progress
from algos.trpo.agent import surrogate
from algos.trpo.natural_gradient import conjugate_gradient, flat, hessian_product, longest_step, place
from config.model.layers import Gru, Linear, Lstm, mlp
from framework.loop.learner import AgentLearner
from tests.tools.policy import learning, samples

REMEMBERS = [Linear(layer_size=[3], activation="tanh"), Gru(layer_size=[3])]


def tensor(*values):
    return torch.tensor(values)


MATRIX = tensor([4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0])


def test_conjugate_gradients_solve_a_system_in_as_many_steps_as_it_has_unknowns():
    """The 2 x 2 example of every textbook: x = (1/11, 7/11). One step goes along b by b^T b / b^T A b = 5/20."""
    small, b = tensor([4.0, 1.0], [1.0, 3.0]), tensor(1.0, 2.0)
    assert conjugate_gradient(lambda v: small @ v, b, 1).tolist() == [0.25, 0.5]
    assert conjugate_gradient(lambda v: small @ v, b, 2).tolist() == pytest.approx([1 / 11, 7 / 11])
    # 4 x + y = 6, x + 3 y + z = 10, y + 2 z = 8
    x = conjugate_gradient(lambda v: MATRIX @ v, tensor(6.0, 10.0, 8.0), 3)
    assert x.tolist() == pytest.approx([1, 2, 3], rel=1e-5)
    many = conjugate_gradient(lambda v: MATRIX @ v, tensor(6.0, 10.0, 8.0), 50)
    assert many.tolist() == pytest.approx([1, 2, 3], rel=1e-5)
    assert conjugate_gradient(lambda v: MATRIX @ v, torch.zeros(3), 3).tolist() == [0, 0, 0]


def test_a_product_with_second_derivatives_needs_no_matrix():
    """Of f = x^3 + x y^2 at (2, 3): the matrix (6 x, 2 y; 2 y, 2 x) = (12, 6; 6, 4)."""
    x, y = tensor(2.0).requires_grad_(), tensor(3.0).requires_grad_()
    product = hessian_product(x**3 + x * y**2, [x, y])
    assert product(tensor(1.0, 0.0)).tolist() == [12, 6]
    assert product(tensor(1.0, -1.0)).tolist() == [6, 2]


def test_the_longest_step_reaches_the_limit_of_the_quadratic_model():
    """Appendix C: sqrt(2 delta / x^T H x); with x = (1, 0), H = diag(8, 1), delta 1/4, it is sqrt(0.5 / 8) = 1/4."""
    step = longest_step(tensor(1.0, 0.0), lambda v: tensor(8.0, 1.0) * v, 0.25)
    assert step.tolist() == [0.25, 0]
    assert 0.5 * step @ (tensor(8.0, 1.0) * step) == 0.25
    assert longest_step(torch.zeros(2), lambda v: v, 0.25).tolist() == [0, 0]


def test_a_step_is_placed_in_the_memory_that_the_parameters_have():
    parameters = [torch.zeros(2, 2), torch.ones(1)]
    start, where = [p.clone() for p in parameters], [p.data_ptr() for p in parameters]
    place(parameters, start, tensor(1.0, 2.0, 3.0, 4.0, 5.0))
    assert flat(parameters).tolist() == [1, 2, 3, 4, 6]
    assert [p.data_ptr() for p in parameters] == where


def test_the_surrogate_is_the_mean_of_ratios_times_advantages():
    """Schulman et al. (2015), equation 14: (1.5 * 2 - 0.5 * 1) / 2."""
    old = tensor(-1.0, -3.0)
    assert surrogate(old + tensor(1.5, 0.5).log(), old, tensor(2.0, -1.0)).item() == pytest.approx(1.25)


@pytest.mark.parametrize("toy", ["match", "digits", "bits", "target"])
def test_a_step_stays_within_the_limit_and_uses_most_of_it(toy):
    agent, window = learning("TRPO", toy, rows=16, steps=16, max_kl=0.02)
    batch = samples(agent.prepare(window, Progress()))
    old = agent.policy.outputs(batch).detach()
    metrics = agent.update(batch).metrics
    kl = agent.policy.distribution.kl(old, agent.policy.outputs(batch)).mean().item()
    assert metrics["kl"].item() == pytest.approx(kl, rel=1e-3)
    assert 0.002 < kl <= 0.02
    assert metrics["gain"] > 0


def test_the_direction_solves_the_damped_system_of_the_fisher_matrix():
    """F of a policy whose two logits are parameters: with p = (1/4, 3/4) it is p1 p2 (1, -1; -1, 1)."""
    agent, _ = learning("TRPO", cg_damping=0.5, normalize_advantage=False)
    logits = torch.nn.Parameter(torch.tensor([0.0, math.log(3.0)]))
    agent.policy.actor, agent.policy_parameters = (lambda obs: logits.expand(len(obs), 2)), [logits]
    # both actions with advantage 1 and -1: g = mean A (1[a] - p) = ((3/4, -3/4) - (-1/4, 1/4)) / 2 = (1/2, -1/2)
    batch = {"obs": torch.zeros(2, 1), "drawn": tensor(0, 1), "advantage": tensor(1.0, -1.0)}
    step, _ = agent._full_step(batch)
    # (F + I/2) x = g: (1, -1) is an eigenvector, of 2 * 3/16 + 1/2 = 7/8, so x = (4/7, -4/7)
    length = math.sqrt(2 * 0.05 / (7 / 8 * 2 * (4 / 7) ** 2))
    assert step.tolist() == pytest.approx([4 / 7 * length, -4 / 7 * length], rel=1e-4)


def test_a_step_that_does_no_good_is_not_taken():
    agent, window = learning("TRPO")
    batch = samples(agent.prepare(window, Progress()))
    agent._full_step = lambda batch, real=agent._full_step: (-real(batch)[0], tensor(0.0)[0])
    before = agent.weights()
    metrics = agent.update(batch).metrics
    after = agent.weights()
    assert metrics["kl"] == metrics["step_share"] == metrics["gain"] == 0
    same = {name for name in before if (before[name] == after[name]).all()}
    assert same == {name for name in before if name.startswith("actor")}


def test_too_long_a_step_is_halved_until_it_is_near_enough():
    agent, window = learning("TRPO", rows=16, steps=16)
    batch = samples(agent.prepare(window, Progress()))
    agent._full_step = lambda batch, real=agent._full_step: (4 * real(batch)[0], tensor(0.0)[0])
    metrics = agent.update(batch).metrics
    assert metrics["step_share"].item() in (0.5, 0.25, 0.125)
    assert 0 < metrics["kl"] <= 0.05


def test_several_learners_agree_on_the_gradient_its_products_the_search_and_the_value():
    """What `reduce` leaves is what is used: with the gradient turned around, no step does good."""
    agent, window = learning("TRPO", cg_steps=1)
    sizes = []

    def turn_the_first_around(grads):
        grads = list(grads)
        sizes.append(sum(grad.numel() for grad in grads))
        if len(sizes) == 1:
            grads[0].neg_()

    agent.reduce = turn_the_first_around
    assert agent.update(samples(agent.prepare(window, Progress()))).metrics["step_share"] == 0
    policy, value = (sum(p.numel() for p in network.parameters()) for network in agent.networks.children())
    # the gradient, one direction and the length; ten tries; ten epochs of one minibatch
    assert sizes == [policy] * 3 + [2] * 10 + [value] * 10


@pytest.mark.parametrize("cell", [Lstm, Gru])
def test_products_with_the_fisher_matrix_go_through_a_memory(cell):
    """Against differences of the divergence's gradient, in double precision."""
    layers = [Linear(layer_size=[3], activation="tanh"), cell(layer_size=[3])]
    agent, window = learning("TRPO", "recall", actor_layers=layers, lookup_step=4)
    batch = next(AgentLearner(agent, agent.cfg.memory(2))._minibatches(agent.prepare(window, Progress())))
    batch = {name: column.double() if column.is_floating_point() else column for name, column in batch.items()}
    agent.networks.double()
    steps, parameters = agent.policy.carried.with_views(batch), agent.policy_parameters
    old, start = agent.policy.outputs(steps).detach(), [p.clone() for p in parameters]

    def divergence():
        return agent.policy.distribution.kl(old, agent.policy.outputs(steps)).mean()

    def gradient(step):
        place(parameters, start, step)
        return flat(torch.autograd.grad(divergence(), parameters))

    vector = torch.randn(sum(p.numel() for p in parameters), dtype=torch.double)
    product = hessian_product(divergence(), parameters)(vector)
    assert product.abs().max() > 1e-6
    difference = (gradient(1e-4 * vector) - gradient(-1e-4 * vector)) / 2e-4
    torch.testing.assert_close(product, difference, atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("critic", [REMEMBERS, mlp(8)])
def test_the_value_is_fitted_to_all_sequences_in_minibatches_of_about_the_size(critic):
    agent, window = learning(
        "TRPO", "recall", steps=16, actor_layers=REMEMBERS, critic_layers=critic,
        lookup_step=4, sgd_batch_size=8, k_epochs=1, normalize_advantage=False,
    )  # fmt: skip
    batch = next(AgentLearner(agent, agent.cfg.memory(2))._minibatches(agent.prepare(window, Progress())))
    assert batch["target"].shape == (4, 8)
    seen, value = [], agent.policy.value
    agent.policy.value = lambda part: seen.append(part["target"]) or value(part)
    agent.update(batch)
    assert [len(target) for target in seen] == [8] * 4
    torch.testing.assert_close(torch.cat(seen).sort()[0], batch["target"].flatten().sort()[0])
