"""CrossQ: batch renormalisation by hand, and which statistics count when."""

import math

import numpy as np
import pytest
import torch

from algos.common.nets.layers import RENORM_EPSILON, BatchRenorm, batch_statistics
from algos.common.parts import optim
from algos.crossq.config import Config
from algos.sac.losses import soft_target
from config.model import layers as layer_settings
from tests.tools.actor_critic import agent_for, batch_for
from tests.tools.core import stream


def layer_of(*shape, mean=0.5, deviation=0.5, count=10.0, **settings):
    """A layer of one feature, after its warm-up, with these running statistics."""
    layer = BatchRenorm(shape or (1, 1), layer_settings.BatchRenorm(**{"warmup": 10, "momentum": 0.1, **settings}))
    layer.mean.fill_(mean)
    layer.deviation.fill_(deviation)
    layer.count.fill_(count)
    return layer


BATCH = torch.tensor([[0.0], [2.0]])
"""Mean 1 and variance 1."""
DEVIATION = math.sqrt(1 + RENORM_EPSILON)


def learning(layer, x=BATCH):
    with batch_statistics(layer):
        return layer(x)


# ------------------------------------------------------------------------------------------- batch renormalisation


def test_within_its_limits_it_normalises_by_the_running_statistics():
    """Ioffe (2017), algorithm 1: r = s_B / s, d = (m_B - m) / s, and (x - m_B) / s_B r + d = (x - m) / s."""
    # r = 2.001 and d = 1, so 0 and 2 become (0 - 0.5) / 0.5 and (2 - 0.5) / 0.5
    torch.testing.assert_close(learning(layer_of()), torch.tensor([[-1.0], [3.0]]))


def test_r_and_d_are_clipped():
    # r is held at 1.5 and d at 0.25: -1 / 1.0005 * 1.5 + 0.25 and 1 / 1.0005 * 1.5 + 0.25
    out = learning(layer_of(r_max=1.5, d_max=0.25))
    assert out.flatten().tolist() == pytest.approx([-1.5 / DEVIATION + 0.25, 1.5 / DEVIATION + 0.25])
    # on the other side: the running deviation is 4, so that r = 1/4 is held at 2/3, and d = -1/2 at -1/4
    out = learning(layer_of(mean=3.0, deviation=4.0, r_max=1.5, d_max=0.25))
    assert out.flatten().tolist() == pytest.approx([-2 / 3 / DEVIATION - 0.25, 2 / 3 / DEVIATION - 0.25])


def test_until_the_end_of_the_warm_up_it_is_batch_normalisation():
    early = learning(layer_of(count=9.0))
    assert early.flatten().tolist() == pytest.approx([-1 / DEVIATION, 1 / DEVIATION])
    assert not torch.allclose(early, learning(layer_of(count=10.0)))


def test_the_running_statistics_take_a_share_of_the_batch():
    layer = layer_of()
    learning(layer)
    # 0.5 + 0.1 (1 - 0.5), and the deviation, not the variance: 0.5 + 0.1 (1.0005 - 0.5)
    assert layer.mean.item() == pytest.approx(0.55)
    assert layer.deviation.item() == pytest.approx(0.5 + 0.1 * (DEVIATION - 0.5))
    assert layer.count.item() == 11


def test_outside_of_learning_it_uses_the_running_statistics_and_leaves_them():
    layer = layer_of(mean=2.0, deviation=4.0)
    with torch.no_grad():
        layer.weight.fill_(3.0)
        layer.bias.fill_(1.0)
    # (0 - 2) / 4 * 3 + 1 and (2 - 2) / 4 * 3 + 1
    assert layer(BATCH).flatten().tolist() == [-0.5, 1.0]
    assert (layer.mean.item(), layer.deviation.item(), layer.count.item()) == (2.0, 4.0, 10.0)


def test_no_gradient_flows_through_r_and_d():
    layer, x = layer_of(mean=0.3, deviation=0.8), torch.tensor([[0.0], [2.0], [0.7]], requires_grad=True)
    pull = torch.tensor([[1.0], [-2.0], [0.5]])
    (learning(layer, x) * pull).sum().backward()
    again = x.detach().double().requires_grad_()
    mean, deviation = again.mean(), (again.var(correction=0) + RENORM_EPSILON).sqrt()
    r, d = (deviation / 0.8).detach(), ((mean - 0.3) / 0.8).detach()
    (((again - mean) / deviation * r + d) * pull).sum().backward()
    torch.testing.assert_close(x.grad.double(), again.grad, rtol=1e-4, atol=1e-5)
    assert layer.bias.grad.item() == pytest.approx(-0.5)


def test_each_member_of_an_ensemble_has_statistics_of_its_own():
    layer = layer_of(2, 1, 1)
    x = torch.stack([BATCH, 10 * BATCH])
    out = learning(layer, x)
    for member in range(2):
        alone = layer_of()
        torch.testing.assert_close(out[member], learning(alone, x[member]))
        assert layer.mean[member].item() == pytest.approx(alone.mean.item())
        assert layer.deviation[member].item() == pytest.approx(alone.deviation.item())
    shared = layer_of(2, 1, 1)
    torch.testing.assert_close(learning(shared), torch.stack([learning(layer_of())] * 2))


# --------------------------------------------------------------------------------------------------------- updates


def counts(module):
    return {layer.count.item() for layer in module.modules() if isinstance(layer, BatchRenorm)}


def test_critics_learn_statistics_in_each_update_and_the_actor_in_its_own():
    agent, batch = agent_for("CrossQ", policy_freq=2), batch_for("CrossQ")
    for update in range(1, 5):
        agent.update(batch)
        assert counts(agent.critic) == {update}, "the critics that judge the policy keep theirs"
        assert counts(agent.policy.network) == {update // 2}


def test_present_and_next_actions_are_judged_in_one_pass_with_common_statistics():
    """Bhatt et al. (2024): the joint forward pass."""
    agent, batch = agent_for("CrossQ", alpha=0.2), batch_for("CrossQ")
    noise = torch.from_numpy(stream(1, "learn").standard_normal((16, 2), np.float32))
    with torch.no_grad():
        next_action, log_prob = agent.policy.distribution.draw(agent.policy.network(batch["next_obs"]), noise)
        unit = torch.stack([batch["action"][:, 0] / 2, batch["action"][:, 1] / 5 - 1], 1)
    twin = agent_for("CrossQ", alpha=0.2).critic
    with batch_statistics(twin):
        both = twin(torch.cat([batch["obs"], batch["next_obs"]]), torch.cat([unit, next_action])).detach().squeeze(-1)
    q, target = agent._values(batch, noise)
    torch.testing.assert_close(q.detach(), both[:, :16])
    expected = soft_target(batch["reward"], batch["discount"], both[:, 16:], log_prob, torch.tensor(0.2))
    torch.testing.assert_close(target, expected)
    assert q.requires_grad
    assert not target.requires_grad


def test_the_target_takes_the_smaller_value_of_the_critics_themselves():
    # 1 + 0.5 (min(2, 3) - 0.2 * -1) = 2.1
    next_q = torch.tensor([[2.0], [3.0]], requires_grad=True)
    arguments = (torch.tensor([value]) for value in (1.0, 0.5))
    target = soft_target(*arguments, next_q, torch.tensor([-1.0]), torch.tensor(0.2))
    assert target.tolist() == pytest.approx([2.1])
    assert not target.requires_grad


def test_acting_changes_no_statistics_and_depends_on_them():
    agent, batch = agent_for("CrossQ", policy_freq=1), batch_for("CrossQ")
    agent.update(batch)
    before = agent.weights()
    agent.predict_action(batch["obs"].numpy(), None)
    np.testing.assert_equal(agent.weights(), before)
    assert "actor.0.mean" in before
    assert "critic.body.0.deviation" in before


@pytest.mark.long
def test_the_average_of_gradients_is_shorter():
    """Bhatt et al. (2024), appendix: Adam with beta1 1/2."""
    agent = agent_for("CrossQ")
    assert agent.optimizer.betas == agent.policy.optimizer.betas == (0.5, 0.999)
    ours, theirs = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    fast = optim.make([ours], agent.cfg, 0.1, beta1=0.5)
    plain = torch.optim.Adam([theirs], 0.1, betas=(0.5, 0.999))
    for step in range(3):
        for parameter, optimizer in ((ours, fast), (theirs, plain)):
            parameter.grad = torch.tensor([1.0, -step, 3.0 * step])
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


def test_the_former_setting_of_the_first_rate_is_read():
    """Its default was not that of alpha, as without a setting now."""
    assert Config.field_name("adam_beta1") == "adam_betas"
    former = {value: agent_for("CrossQ", adam_betas=value) for value in (0.5, 0.7)}
    assert former[0.5].cfg.adam_betas is None
    assert former[0.5].policy.temperature.optimizer.betas == (0.9, 0.999)
    assert former[0.7].optimizer.betas == (0.7, 0.999)


def test_a_single_transition_and_simba_and_a_layer_elsewhere_are_refused():
    cfg = agent_for("CrossQ").cfg
    assert [problem.key for problem in cfg.model_copy(update={"batch_size": 1}).checks()] == ["batch_size"]
    for settings in ({"architecture": "simba"}, {"architecture": "simba", "critic_layers": layer_settings.mlp(8)}):
        (problem,) = cfg.model_copy(update=settings).checks()
        assert (problem.key, "needs batchrenorm" in problem.message) == ("architecture", True)
    layers = [layer_settings.BatchRenorm(), *layer_settings.mlp(8)]
    problems = list(agent_for("SAC").cfg.model_copy(update={"critic_layers": layers}).checks())
    assert [problem.key for problem in problems] == ["critic_layers"]
    assert "CrossQ" in problems[0].message


@pytest.mark.parametrize(
    ("limits", "planned"),
    [
        ((50_000, -1), "50,000"),
        ((-1, 30_000), "30,000"),
        ((50_000, 30_000), "30,000"),
        ((200_000, -1), None),
        ((-1, -1), None),
    ],
)
def test_a_warmup_that_outlasts_the_run_is_said(limits, planned):
    """Two updates for each transition would make 100,000 of 50,000 steps, which is the warmup."""
    said = list(Config().advice(*limits))
    assert [text.split(" updates")[0] for text in said] == ([f"the run makes at most {planned}"] if planned else [])
    assert list(Config(updates_per_train=2).advice(50_000, -1)) == []
