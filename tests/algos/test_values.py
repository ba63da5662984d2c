"""The family of DQN: distributions, noise on the weights, soft values and memories, by hand and on toys."""

import numpy as np
import pytest
import torch

import algos
from algos.base import Progress
from algos.common.maths.exploration import epsilon_greedy, greedy, masked, softmax
from algos.common.nets.layers import ImplicitQuantiles, NoisyLinear
from algos.common.parts import passes
from algos.dqn.agent import log_policy_bonus
from algos.dqn.distributional import HEADS, project, quantile_huber
from algos.dqn.heads import Successor, rescaled, restored, soft_value
from config.model.layers import Gru, Linear, Lstm, mlp
from framework.loop.evaluator import Evaluator
from tests.tools.core import agent_of, collector_of, memory_of, score, spec_of, toy_of, trained, updated
from tests.tools.paths import in_the_suite

FAMILY = (
    "DQN", "DoubleDQN", "DuelingDQN", "NoisyDQN", "PER_DQN", "SoftQ", "MunchausenDQN", "C51", "QRDQN", "IQN",
    "RainbowDQN", "DRQN",
)  # fmt: skip
ALL_OF_THEM = pytest.mark.parametrize("algo", FAMILY)


def tensor(*values):
    return torch.tensor(values)


def head(algo, actions=2, **settings):
    cfg = algos.get(algo).Config(**settings)
    return HEADS[cfg.HEAD](cfg, actions, torch.device("cpu"))


# -------------------------------------------------------------------------------------------------------- formulas


@pytest.mark.long
def test_a_projected_distribution_gives_each_atoms_share_to_its_two_neighbours():
    """Bellemare et al. (2017), algorithm 1, on the support -1, 0, 1, 2."""
    support = tensor(-1.0, 0.0, 1.0, 2.0)
    # probability 0.4 at 0.25: 0.75 of it to 0 and 0.25 to 1; 0.5 at 5 (beyond): all to 2; 0.1 at 1 (on it): all to 1
    probability, atoms = tensor([0.4, 0.5, 0.1]), tensor([0.25, 5.0, 1.0])
    torch.testing.assert_close(project(probability, atoms, support), tensor([0.0, 0.3, 0.2, 0.5]))


def test_the_target_of_c51_is_the_shifted_distribution_of_the_best_next_action():
    categorical = head("C51", n_atoms=3, v_min=0.0, v_max=2.0)
    # expected returns 0.5 and 1.5: the second action is best; the last sample ends
    logits = torch.log(tensor([[0.5, 0.5, 1e-12], [1e-12, 0.5, 0.5]]).expand(2, 2, 3))
    after = Successor(tensor(0.25, 1.0), tensor(0.5, 0.0), logits, categorical.values(logits), None)
    torch.testing.assert_close(categorical.values(logits)[0], tensor(0.5, 1.5))
    # atoms 0, 1, 2 -> 0.25, 0.75, 1.25 with 0, 0.5, 0.5: 0.75 gives 1/4 to 0 and 3/4 to 1, 1.25 gives 3/4 and 1/4 to 2
    expected = tensor([0.125, 0.75, 0.125], [0.0, 1.0, 0.0])
    torch.testing.assert_close(categorical.target(after)[0], expected)


def test_c51_reports_the_mass_at_each_edge_of_its_support_and_beyond_it():
    """Support 0, 1, 2; the best next action has 0, 0.5 and 0.5."""
    categorical = head("C51", n_atoms=3, v_min=0.0, v_max=2.0)
    logits = torch.log(tensor([[0.5, 0.5, 1e-12], [1e-12, 0.5, 0.5]]).expand(3, 2, 3))
    # atoms +1: 2 and 3, all at 2, half from beyond; atoms -2: -1 and 0, all at 0, half from beyond; atoms / 2 + 1:
    # 1.5 and 2, at 2 are 0.25 and 0.5
    reward, discount = tensor(1.0, -2.0, 1.0), tensor(1.0, 1.0, 0.5)
    after = Successor(reward, discount, logits, categorical.values(logits), None)
    _, metrics = categorical.target(after)
    expected = {"at_v_min": 1 / 3, "at_v_max": (1 + 0.75) / 3, "outside": 1 / 3}
    assert {name: value.item() for name, value in metrics.items()} == pytest.approx(expected)
    assert tuple(metrics) == categorical.METRICS


def test_the_greatest_possible_return_is_not_beyond_the_support():
    """1 + 0.99 * 100, for every number of atoms and n-step return."""
    categorical = head("C51", actions=1, n_atoms=7, v_min=0.0, v_max=100.0)
    logits = torch.full((3, 1, 7), -50.0)
    logits[:, :, -1] = 50.0
    reward, discount = tensor(1.0, 1.99, 2.9701), tensor(0.99, 0.9801, 0.970299)
    _, metrics = categorical.target(Successor(reward, discount, logits, categorical.values(logits), None))
    assert metrics["outside"] == 0
    assert metrics["at_v_max"].item() == pytest.approx(1.0)


def test_c51_says_which_edge_of_its_support_the_returns_pass():
    categorical = head("C51", v_min=-5.0, v_max=10.0)
    assert categorical.warning({"at_v_min": 0.5, "at_v_max": 0.4, "outside": 0.5}) is None
    # returns of exactly v_min, such as 0 with v_min 0, are not beyond it
    assert categorical.warning({"at_v_min": 0.9, "at_v_max": 0.0, "outside": 0.0}) is None
    assert "v_max 10 is too low for the returns seen: 60% of" in categorical.warning({"at_v_max": 0.6, "outside": 0.6})
    assert "v_min -5 is too high for the returns seen" in categorical.warning({"at_v_min": 0.6, "outside": 0.6})
    agent = agent_of("C51", spec_of(toy_of("match")))
    assert agent.METRICS == ("loss", "q_mean", "at_v_min", "at_v_max", "outside")
    assert agent.warning({"at_v_max": 0.6, "outside": 0.6}, 1000) is None
    assert agent.warning({"at_v_max": 0.6, "outside": 0.6}, 1001)


def test_the_loss_of_c51_is_the_cross_entropy_and_its_priority_the_divergence():
    categorical = head("C51", n_atoms=2, v_min=0.0, v_max=1.0)
    out, target = torch.log(tensor([[0.25, 0.75]], [[0.5, 0.5]])), tensor([0.5, 0.5], [0.5, 0.5])
    each, error = categorical.loss(out, torch.zeros(2, dtype=torch.int64), target)
    # -(0.5 ln 0.25 + 0.5 ln 0.75) = 0.836988, less the entropy ln 2 = 0.693147
    torch.testing.assert_close(each, tensor(0.836988, 0.693147), atol=1e-6, rtol=0)
    torch.testing.assert_close(error, tensor(0.143841, 0.0), atol=1e-6, rtol=0)


def test_quantile_regression_weighs_errors_by_the_side_on_which_they_are():
    """Dabney et al. (2018a), equations 9 and 10."""
    # quantiles 0 and 1 at fractions 1/4 and 3/4, target samples 0.5 and 3
    values, fractions, target = tensor([0.0, 1.0]), tensor(0.25, 0.75), tensor([0.5, 3.0])
    # errors of 0: 0.5 and 3, both above: 1/4 (0.5^2 / 2) and 1/4 (3 - 0.5): mean of 0.03125 and 0.625
    # errors of 1: -0.5 and 2: |3/4 - 1| (0.125) and 3/4 (2 - 0.5): mean of 0.03125 and 1.125
    assert quantile_huber(values, fractions, target, kappa=1.0).item() == pytest.approx(0.328125 + 0.578125)
    # kappa 0.5: Huber of 0.5 is 0.125, of 3 is 0.5 (3 - 0.25) = 1.375, of 2 is 0.875, each over kappa
    expected = (0.25 * 0.25 + 0.25 * 2.75) / 2 + (0.25 * 0.25 + 0.75 * 1.75) / 2
    assert quantile_huber(values, fractions, target, kappa=0.5).item() == pytest.approx(expected)


def test_quantile_regression_sums_over_quantiles_and_averages_over_samples():
    """Dabney et al. (2018a), equation 10: two quantiles, three samples of the target."""
    values, fractions, target = tensor([0.0, 1.0]), tensor(0.25, 0.75), tensor([0.5, 3.0, 1.0])
    # errors of 0: 0.5, 3 and 1, each times 1/4: 1/4 (0.125 + 2.5 + 0.5) = 0.78125
    # errors of 1: -0.5, 2 and 0: 1/4 * 0.125 + 3/4 * 1.5 + 0 = 1.15625
    assert quantile_huber(values, fractions, target, kappa=1.0).item() == pytest.approx((0.78125 + 1.15625) / 3)


def test_fractions_may_differ_from_sample_to_sample():
    values, target = tensor([0.0, 1.0], [0.0, 1.0]), tensor([0.5, 3.0], [0.5, 3.0])
    fractions = tensor([0.25, 0.75], [0.5, 0.5])
    both = quantile_huber(values, fractions, target, 1.0)
    assert both[0] == quantile_huber(values[:1], fractions[0], target[:1], 1.0)
    assert both[1] == quantile_huber(values[:1], fractions[1], target[:1], 1.0) != both[0]


def test_the_target_of_quantiles_is_that_of_the_action_with_the_best_mean():
    quantile = head("QRDQN", n_quantiles=2)
    out = tensor([[0.0, 4.0], [1.0, 2.0]], [[0.0, 4.0], [9.0, 9.0]])
    after = Successor(tensor(1.0, 1.0), tensor(0.5, 0.0), out, quantile.values(out), None)
    assert quantile.target(after)[0].tolist() == [[1.0, 3.0], [1.0, 1.0]]
    assert quantile.middle["cpu"].tolist() == [0.25, 0.75]


def test_a_soft_value_is_the_logarithm_of_the_mean_exponential():
    """Haarnoja et al. (2017), equation 5: 2 ln(e^(1/2) + e^(3/2)) = 3.626523."""
    torch.testing.assert_close(soft_value(tensor([1.0, 3.0]), 2.0), tensor(3.626523).view(1))
    assert soft_value(tensor([1.0, 3.0]), 0.01).item() == pytest.approx(3.0)
    soft = head("SoftQ", temperature=2.0)
    out = tensor([1.0, 3.0], [1.0, 3.0])
    target, _ = soft.target(Successor(tensor(1.0, 1.0), tensor(0.5, 0.0), out, out, None))
    torch.testing.assert_close(target, tensor(1 + 0.5 * 3.626523, 1.0))


@pytest.mark.parametrize("algo", ["SoftQ", "QRDQN"])
def test_soft_targets_are_finite_at_any_temperature_where_actions_are_illegal(algo):
    """One legal action, of value 1; after the end none is. A schedule may end near 0."""
    soft = head(algo, soft=True, double=False, temperature=1e-12)
    value = masked(tensor([1.0, 3.0], [1.0, 3.0]), tensor([True, False], [False, False]))
    out = value if algo == "SoftQ" else tensor([1.0, 3.0], [1.0, 3.0]).unsqueeze(2)
    target, _ = soft.target(Successor(tensor(0.5, 0.5), tensor(0.5, 0.0), out, value, None))
    assert target.flatten().tolist() == [1.0, 0.5]


def test_the_bonus_of_an_action_is_its_scaled_log_probability_down_to_the_floor():
    """Vieillard et al. (2020). Values 1 and 3 at temperature 2 have the soft value 3.626523: the bonuses are
    1 - 3.626523 = -2.626523, which is below the floor, and 3 - 3.626523 = -0.626523."""
    values = tensor([1.0, 3.0], [1.0, 3.0])
    torch.testing.assert_close(log_policy_bonus(values, tensor(0, 1), 2.0, -1.0), tensor(-1.0, -0.626523))
    torch.testing.assert_close(log_policy_bonus(values, tensor(0, 1), 2.0, -9.0), tensor(-2.626523, -0.626523))
    # the best action by far is certain; the other one has log probability (1 - 3) / 0.01 = -200
    torch.testing.assert_close(log_policy_bonus(values, tensor(0, 1), 0.01, -9.0), tensor(-2.0, 0.0))


@pytest.mark.parametrize("masked", [False, True])
def test_the_target_of_munchausen_dqn_is_that_of_the_soft_value_plus_the_weighted_bonus(masked):
    """The next state has values 3 and 1: pi = e^(3/2) / (e^(3/2) + e^(1/2)) = 0.731059, and 0.268941. So
    0.731059 (3 - 2 ln 0.731059) + 0.268941 (1 - 2 ln 0.268941) = 2.651201 + 0.975322 = 3.626523."""
    settings = {"temperature": 2.0, "munchausen_alpha": 0.5, "reward_scale": 10.0, "loss": "mse"}
    agent = agent_of("MunchausenDQN", spec_of(toy_of("match")), **settings)
    agent.target, agent.network = lambda obs: obs, torch.zeros_like
    batch = {
        "obs": tensor([1.0, 3.0, 9.0], [1.0, 3.0, 9.0], [1.0, 3.0, 9.0]), "action": tensor(0, 1, 1),
        "next_obs": tensor([3.0, 1.0, 9.0], [3.0, 1.0, 9.0], [3.0, 1.0, 9.0]),
        "reward": tensor(0.5, 0.5, 0.5), "discount": tensor(0.9, 0.9, 0.0),
    }  # fmt: skip
    legal = tensor([True, True, False]).expand(3, 3)
    if masked:
        batch |= {"action_mask": legal, "next_action_mask": legal}
    else:
        batch |= {"obs": batch["obs"][:, :2], "next_obs": batch["next_obs"][:, :2]}
    # 5 - 0.5 * 1 + 0.9 * 3.626523;  5 - 0.5 * 0.626523 + 0.9 * 3.626523;  5 - 0.5 * 0.626523 after the end
    loss, outcome = agent._loss(batch)
    torch.testing.assert_close(outcome.per_sample, tensor(7.763871, 7.950609, 4.686738))
    assert loss.item() == pytest.approx((7.763871**2 + 7.950609**2 + 4.686738**2) / 3, rel=1e-5)


def test_rescaled_values_are_small_and_come_back():
    """Pohlen et al. (2018): sqrt(3 + 1) - 1 + 0.003; the inverse is one of both, for values of any size."""
    torch.testing.assert_close(rescaled(tensor(3.0, -3.0, 0.0)), tensor(1.003, -1.003, 0.0))
    values = tensor(0.0, 1e-4, -0.5, 3.0, 1e3, -1e5)
    torch.testing.assert_close(restored(rescaled(values)), values, rtol=1e-4, atol=1e-6)


def test_a_target_of_rescaled_values_adds_the_reward_to_the_value_itself():
    """R2D2 (Kapturowski et al., 2019, equation 1). The next value 1.003 is the rescaled 3: with 6.5 + 0.5 * 3 = 8 the
    target is sqrt(9) - 1 + 0.008, and after the end, with 6.5, sqrt(7.5) - 1 + 0.0065."""
    scalar = head("DQN", value_rescale=True, double=False)
    value = tensor([0.5, 1.003], [0.5, 1.003])
    after = Successor(tensor(6.5, 6.5), tensor(0.5, 0.0), value, value, None)
    torch.testing.assert_close(scalar.target(after)[0], tensor(2.008, 7.5**0.5 - 1 + 0.0065))


@pytest.mark.parametrize("algo", ["QRDQN", "IQN"])
def test_soft_quantiles_are_a_mixture_of_those_of_the_actions_shifted_by_their_log_probabilities(algo):
    """Temperature 2, values 3 and 1: pi = 0.731059 and 0.268941, and -2 ln pi = 0.626523 and 2.626523. The quantiles
    (2, 4) and (0, 2) mix to 0.731059 (2.626523, 4.626523) + 0.268941 (2.626523, 4.626523) = (2.626523, 4.626523):
    with 0.5 + 0.5 Z they are 1.813261 and 2.813261."""
    quantiles = head(algo, n_quantiles=2, soft=True, double=False, temperature=2.0)
    out = tensor([[2.0, 4.0], [0.0, 2.0]])
    if algo == "IQN":
        out = torch.cat([out, tensor([[0.3, 0.6]])], 1)
    value = quantiles.values(out)
    torch.testing.assert_close(value, tensor([3.0, 1.0]))
    after = Successor(tensor(0.5), tensor(0.5), out, value, None)
    torch.testing.assert_close(quantiles.target(after)[0], tensor([1.813261, 2.813261]))
    legal = masked(value, tensor([True, False]))  # of one action, whose log probability is 0
    torch.testing.assert_close(quantiles.target(after._replace(value=legal))[0], tensor([1.5, 2.5]))


def test_the_bonus_is_a_part_of_the_reward_of_every_head():
    """0.5 times the bonus -0.626523 of the action worth 3 at temperature 2, beside a reward of 1."""
    settings = {"soft": True, "double": False, "munchausen_alpha": 0.5, "temperature": 2.0, "n_quantiles": 2}
    agent = agent_of("QRDQN", spec_of(toy_of("match")), **settings, munchausen_floor=-9.0)
    agent.target = lambda obs: obs
    out = tensor([[0.0, 2.0], [2.0, 4.0]])
    batch = {"obs": out, "next_obs": out, "action": tensor(1), "reward": tensor(1.0), "discount": tensor(0.0)}
    seen, target = [], agent.head.target
    agent.head.target = lambda after: (seen.append(after.reward), target(after))[1]
    agent.network = lambda obs: obs.clone().requires_grad_()
    agent._loss(batch)
    torch.testing.assert_close(seen[0], tensor(1 - 0.5 * 0.626523))


@ALL_OF_THEM
def test_evaluations_take_the_best_action_but_for_a_share_of_random_ones(algo):
    """Whatever the exploration; the share is 0 unless it is set."""
    env, obs = toy_of("match", rows=400), np.zeros((400, 1), np.float32)
    plain, mixed = (agent_of(algo, spec_of(env), **settings) for settings in ({}, {"eval_epsilon": 0.5}))
    state, rng = plain.initial_state(400), np.random.default_rng(0)
    best = plain.predict_action(obs, state).action
    np.testing.assert_array_equal(plain.evaluate_action(obs, state, rng).action, best)
    mask = np.zeros((400, 2), bool)
    mask[np.arange(400), 1 - best] = True
    others = mixed.evaluate_action(obs, state, rng).action != best
    assert others.mean() == pytest.approx(0.25, abs=0.07)  # half of the random actions are the best one
    np.testing.assert_array_equal(mixed.evaluate_action(obs, state, rng, mask).action, 1 - best)


def test_values_of_ones_own_agent_get_the_random_stream_wherever_they_are_asked_for(monkeypatch):
    """Without a memory they are computed only if an action depends on them."""
    agent, rng, given = agent_of("DQN", spec_of(toy_of("match")), epsilon=0.0), np.random.default_rng(0), []
    values = type(agent).values

    def noted(self, obs, state=None, stream=None):
        given.append(stream)
        return values(self, obs, state, stream)

    monkeypatch.setattr(type(agent), "values", noted)
    agent.sample_action(np.zeros((2, 1), np.float32), None, Progress(), rng)
    assert given == [rng]


def test_the_random_actions_of_evaluations_are_the_same_each_time():
    env = toy_of("match", rows=2, steps=50)
    agent = agent_of("DQN", spec_of(env), eval_epsilon=0.5)
    scores = [Evaluator(env, 7, -1).play(agent, 4).returns.tolist() for _ in range(2)]
    assert scores[0] == scores[1]
    assert scores[0] != Evaluator(env, 8, -1).play(agent, 4).returns.tolist()


def test_boltzmann_exploration_has_the_probabilities_of_its_formula():
    """Values 0 and ln 3 at temperature 1: 1/4 and 3/4; at 1/2 they are 1/10 and 9/10; an illegal one has none."""
    rng, values = np.random.default_rng(0), np.tile([0.0, np.log(3.0)], (20_000, 1))
    assert softmax(values, 1.0, rng).mean() == pytest.approx(0.75, abs=0.01)
    assert softmax(values, 0.5, rng).mean() == pytest.approx(0.9, abs=0.01)
    assert softmax(values, 1.0, rng, np.tile([True, False], (20_000, 1))).max() == 0


# ----------------------------------------------------------------------------------------------------------- noise


def test_a_noisy_layer_adds_its_deviation_times_factorised_noise():
    """Fortunato et al. (2018), equations 9 to 11, with f(x) = sign(x) sqrt(|x|)."""
    layer = NoisyLinear(2, 1, std_init=0.5)
    layer.load_state_dict(
        {
            "weight": tensor([1.0, 2.0]),
            "bias": tensor(3.0).view(1),
            "weight_deviation": tensor([0.5, 0.25]),
            "bias_deviation": tensor(2.0).view(1),
        }
    )
    x = tensor([10.0, 100.0])
    assert layer(x).tolist() == [[213.0]]

    class Given:
        def standard_normal(self, size, dtype):
            return np.array([4.0, 0.25, -9.0], dtype)  # of the output; of the two inputs

    layer.draw(Given())
    # f: 2, 0.5, -3. Weights 1 + 0.5 * 2 * 0.5 = 1.5 and 2 + 0.25 * 2 * -3 = 0.5; bias 3 + 2 * 2 = 7: 15 + 50 + 7
    assert layer(x).tolist() == [[72.0]]
    layer.draw(None)
    assert layer(x).tolist() == [[213.0]]


def test_the_linear_layers_of_a_residual_block_are_noisy_too():
    layers = [{"layer_type": "linear", "layer_size": 4}, {"layer_type": "residual", "layers": mlp(4)}]
    agent = agent_of("NoisyDQN", spec_of(toy_of("match")), value_layers=layers)
    assert len(agent.noise) == 3


def test_a_noisy_layer_keeps_what_the_linear_one_says():
    layers = [{"layer_type": "linear", "layer_size": 4, "activation": "tanh", "bias": False}]
    agent = agent_of("NoisyDQN", spec_of(toy_of("match")), value_layers=layers)
    hidden, output = agent.noise
    assert hidden.bias is hidden.bias_deviation is None
    assert output.bias is not None
    x = torch.ones(1, hidden.weight.shape[1])
    hidden.draw(np.random.default_rng(0))
    inputs, outputs = hidden.noise
    torch.testing.assert_close(
        hidden(x), x @ (hidden.weight + hidden.weight_deviation * torch.outer(outputs, inputs)).T
    )
    assert any(isinstance(part, torch.nn.Tanh) for part in agent.network.modules())


def test_noise_begins_as_large_as_the_setting_says():
    """sigma = std_init / sqrt(inputs), section 3.2."""
    layer = NoisyLinear(16, 8, std_init=0.5)
    assert layer.weight_deviation.unique().tolist() == layer.bias_deviation.unique().tolist() == [0.125]
    assert layer.weight.abs().max() <= 0.25


def test_noise_is_drawn_for_every_batch_and_is_off_in_a_test():
    """COMPAT W4: it never changed, and it was on in tests."""
    agent = agent_of("NoisyDQN", spec_of(toy_of("match")))
    obs, rng = np.ones((1, 1), np.float32), np.random.default_rng(0)
    seen = []
    for _ in range(3):
        seen.append(agent.values(obs, rng=rng)[0].tolist())
    assert len({str(values) for values in seen}) == 3
    agent.predict_action(obs, None)
    quiet = agent.values(obs)[0].tolist()
    assert quiet not in seen
    agent.predict_action(obs, None)
    assert agent.values(obs)[0].tolist() == quiet


def test_the_two_networks_have_noise_of_their_own_in_each_update():
    work = trained(agent_of("NoisyDQN", spec_of(toy_of("match")), batch_size=8), toy_of("match"), 10)
    first, second = work.noise[0].noise[0], work.target_noise[0].noise[0]
    assert not torch.equal(first, second)


# -------------------------------------------------------------------------------------------------------- quantiles


def test_implicit_quantiles_are_drawn_while_learning_and_evenly_spaced_in_a_test():
    module = ImplicitQuantiles(4, torch.nn.Linear(4, 2), quantiles=2)
    features = torch.ones(3, 4)
    out = module(features)
    assert out.shape == (3, 3, 2)
    assert out[0, -1].tolist() == [0.25, 0.75]
    module.draw(np.random.default_rng(0))
    assert len(module(features)[:, -1].unique()) == 6


def test_implicit_quantiles_follow_the_formula():
    """Dabney et al. (2018b), equation 4: relu(sum_i cos(pi i tau) w_ij + b_j), times the features."""
    module = ImplicitQuantiles(1, torch.nn.Identity(), quantiles=1)
    with torch.no_grad():
        module.embed.weight.zero_()
        module.embed.bias.fill_(0.5)
        module.embed.weight[0, 2] = 1.0
    module.rng = type("Given", (), {"random": lambda self, size, dtype: np.full(size, 1 / 12, dtype)})()
    # cos(2 pi / 12) = 0.866025, and 0.5: 1.366025 times 2; then the fraction itself
    torch.testing.assert_close(module(tensor([2.0]).view(1, 1)), tensor(2.732051, 1 / 12).view(1, 2, 1))


def test_the_loss_of_implicit_quantiles_reads_the_fractions_of_its_own_outputs():
    """Whatever the network was asked in between. Action 1 has quantiles 0 and 1 at fractions 1/4 and 3/4."""
    implicit = head("IQN", n_quantiles=2)
    out = tensor([[9.0, 9.0], [0.0, 1.0], [0.25, 0.75]])
    target = tensor([0.5, 3.0])
    assert implicit.values(out).tolist() == [[9.0, 0.5]]
    each, error = implicit.loss(out, tensor(1), target)
    assert each.item() == pytest.approx(0.328125 + 0.578125)  # computed by hand above
    assert error.item() == 1.25


# ------------------------------------------------------------------------------------------------- memory of a policy

SEQUENCES = {"lookup_step": 4, "burn_in": 2, "batch_size": 8, "train_fre": 2}


@pytest.mark.long
def test_a_cue_seen_at_the_first_step_is_remembered():
    env = toy_of("recall", delay=2)
    agent = agent_of(
        "DRQN", spec_of(env), value_layers=[Linear(layer_size=[16]), Lstm(layer_size=[16])], lr=0.01, gamma=0.9,
        epsilon_decay=300, target_update=20, lookup_step=4, burn_in=0, batch_size=16,
    )  # fmt: skip
    trained(agent, env, 200)
    assert score(agent, env) == 1.0


def test_a_network_without_a_memory_cannot_remember_it():
    env = toy_of("recall", delay=2)
    assert abs(score(trained(agent_of("DQN", spec_of(env), gamma=0.9), env, 200), env, 100)) < 0.5


def test_sequences_carry_the_state_that_the_collector_had():
    """The stored state before a sequence is what the network gives when it plays the episode up to there again."""
    env = toy_of("match", rows=2, steps=5)
    agent = agent_of("DRQN", spec_of(env), **SEQUENCES)
    collector, memory = collector_of(env, agent), memory_of(agent)
    memory.add(collector.collect(40, Progress())[0])
    columns = memory.take(0.0).columns
    assert columns["obs"].shape == (columns["obs"].shape[0], 6, 8, 1)
    assert columns["state"].shape == (columns["obs"].shape[0], 8, 128)
    k, b = np.argwhere(columns["first"][:, 1])[0]  # the second step begins an episode, so does the sixth after it
    state = torch.zeros(1, 128)
    for step in range(1, 6):
        seen = torch.from_numpy(columns["obs"][k, step, b][None])
        assert columns["first"][k, step, b] == (step == 1)
        with torch.no_grad():
            _, state = agent.network.step(seen, state)
    assert not columns["first"][k, 0, b]


def test_burn_in_steps_bring_the_state_up_to_date_and_are_not_learned_from():
    env = toy_of("match", rows=2, steps=7)
    agent = agent_of("DRQN", spec_of(env), **SEQUENCES)
    collector, memory = collector_of(env, agent), memory_of(agent)
    memory.add(collector.collect(40, Progress())[0])
    chunk = memory.take(0.0).columns
    batch = {name: torch.from_numpy(value[0].copy()) for name, value in chunk.items()}
    flat = agent.carried.with_views(batch, agent.cfg.burn_in)
    out = passes.outputs_of(agent.network, flat["obs"])
    assert out.shape == passes.outputs_of(agent.target, flat["next_obs"]).shape == (32, 2)
    # by hand, step by step, each row from its stored state
    state, expected = batch["state"], []
    for step in range(6):
        state = torch.where(batch["first"][step].unsqueeze(1), 0.0, state)
        values, state = agent.network.step(batch["obs"][step], state)
        expected.append(values)
    torch.testing.assert_close(out, torch.cat(expected[2:]))
    assert torch.equal(flat["reward"], batch["reward"][2:].flatten())


def test_the_successor_of_a_step_is_judged_with_the_memory_of_its_own_episode():
    """TRM-5 for sequences: behind an end the true last observation, not the first of the next episode."""
    agent = agent_of("DRQN", spec_of(toy_of("match")), **SEQUENCES)
    torch.manual_seed(0)
    obs, next_obs, state = torch.randn(5, 2, 1), torch.randn(5, 2, 1), torch.randn(2, 128)
    first = torch.zeros(5, 2, dtype=torch.bool)
    first[3, 0] = True
    next_obs[:-1][~first[1:]] = obs[1:][~first[1:]]
    out, following = agent.network.unroll_both(obs, next_obs, state, first)
    torch.testing.assert_close(out, agent.network.unroll(obs, state, first))
    for step in range(5):
        state = torch.where(first[step].unsqueeze(1), 0.0, state)
        _, state = agent.network.step(obs[step], state)
        torch.testing.assert_close(following[step], agent.network.step(next_obs[step], state)[0])


@pytest.mark.parametrize("algo", ["DQN", "C51", "QRDQN", "IQN"])
def test_dummy_steps_within_sequences_are_not_learned_from(algo):
    """Whatever they hold, the loss stays the same."""
    layers = [Linear(layer_size=[8]), Gru(layer_size=[8])]
    settings = {"value_layers": layers, "lookup_step": 4, "burn_in": 2, "normalize_obs": True, "double": True}
    valid = torch.ones(1, 6, 3, dtype=torch.bool)
    valid[0, 4, 1] = valid[0, 5, 2] = False
    results = []
    for reward in (0.0, 99.0):
        agent = agent_of(algo, spec_of(toy_of("match")), **settings)
        obs = torch.randn(2, 1, 6, 3, 1, generator=torch.Generator().manual_seed(0))
        first = torch.zeros(1, 6, 3, dtype=torch.bool)
        # a dummy step follows an end; here it is one itself, so that nothing of it is remembered
        first[0, 4, 1] = first[0, 5, 1] = first[0, 5, 2] = True
        obs[0, 0][~valid[0]] += reward
        chunk = {
            "obs": obs[0], "next_obs": obs[1], "first": first, "valid": valid, "state": torch.zeros(1, 3, 8),
            "action": torch.zeros(1, 6, 3, dtype=torch.int64), "discount": torch.full((1, 6, 3), 0.9),
            "reward": torch.where(valid, 1.0, reward),
        }  # fmt: skip
        batch = {name: value[0] for name, value in agent.prepare(chunk, Progress()).items()}
        metrics = updated(agent, batch).metrics
        results.append([metric.item() for metric in metrics.values()])
    assert results[0] == pytest.approx(results[1])


def test_a_distribution_of_a_single_quantile_is_refused():
    with pytest.raises(ValueError, match="n_quantiles"):
        algos.get("QRDQN").Config(n_quantiles=1)


# ----------------------------------------------------------------------------------------------------------- masks


def test_an_illegal_action_is_never_drawn_and_never_the_best():
    rng, values = np.random.default_rng(0), np.tile([5.0, 1.0, 2.0, 9.0], (2_000, 1))
    mask = np.tile([False, True, True, False], (2_000, 1))
    assert set(epsilon_greedy(values, 1.0, rng, mask)) == {1, 2}
    assert np.mean(epsilon_greedy(values, 1.0, rng, mask) == 1) == pytest.approx(0.5, abs=0.05)
    assert set(greedy(values, mask)) == set(epsilon_greedy(values, 0.0, rng, mask)) == {2}


@ALL_OF_THEM
def test_an_illegal_next_action_is_worth_nothing_in_the_target(algo):
    """The loss with a mask is the loss of a network to which the illegal action does not look good."""
    settings = {"value_layers": [Linear(layer_size=[8]), Lstm(layer_size=[8])]} if algo == "DRQN" else {}
    agent = agent_of(algo, spec_of(toy_of("match")), **settings)
    agent.head.values = agent.network = agent.target = lambda out: out
    batch = {"reward": tensor(0.0).view(1), "discount": tensor(1.0).view(1), "next_obs": tensor([1.0, 7.0])}
    best = [
        agent._successor({**batch, **mask}).best().item()
        for mask in ({}, {"next_action_mask": tensor([True, False]).view(1, 2)})
    ]
    assert best == [1, 0]


@ALL_OF_THEM
def test_the_online_network_chooses_among_legal_actions(algo):
    """Its best action of three is illegal, and the target network's is not: its second best is taken."""
    agent = agent_of(algo, spec_of(toy_of("match")), double=True)
    agent.head.values = lambda out: out
    agent.target, agent.network = lambda obs: tensor([9.0, 1.0, 2.0]), lambda obs: tensor([3.0, 5.0, 7.0])
    batch = {"reward": tensor(0.0).view(1), "discount": tensor(1.0).view(1), "next_obs": tensor([0.0])}
    after = agent._successor({**batch, "next_action_mask": tensor([True, True, False])})
    assert after.best().item() == 1


# ----------------------------------------------------------------------------------------------------------- tasks

QUICK = {"lr": 0.01, "batch_size": 32, "target_update": 2, "train_fre": 2}
SMALL = {"value_layers": mlp(16, activation="tanh")}
REMEMBERS = {"value_layers": [Linear(layer_size=[16]), Gru(layer_size=[16])], "lookup_step": 4, "burn_in": 0}


def quick(algo, **settings):
    return {**QUICK, **(REMEMBERS if algo == "DRQN" else SMALL), **settings}


@pytest.mark.long
@ALL_OF_THEM
def test_the_action_that_fits_the_observation_is_learned(algo):
    env = toy_of("match")
    wide = {"v_min": -1.5, "v_max": 1.5} if algo in ("C51", "RainbowDQN") else {}
    agent = agent_of(algo, spec_of(env), epsilon_decay=100, **quick(algo, **wide))
    assert score(trained(agent, env, 75), env) == 1.0


@pytest.mark.long
@pytest.mark.parametrize("algo", in_the_suite(["NoisyDQN", "C51", "QRDQN", "IQN", "DRQN"], "C51", "QRDQN", "DRQN"))
def test_the_value_goes_on_past_a_time_limit_and_not_past_an_end(algo):
    """TRM-1: reward 1 for ever, cut off after 5 steps, gamma 0.8: 1 / (1 - 0.8) = 5; whoever took the cut for an end
    would learn at most 3.4. Two steps of which the last gives 1 and ends: 0.8, then 1."""
    wide = {"v_min": 0.0, "v_max": 6.0} if algo == "C51" else {}
    for name, settings, expected in (("time_limit", {"steps": 5}, [5.0]), ("two_step", {}, [0.8, 1.0])):
        env = toy_of(name, **settings)
        # the highest of two noisy values is too high on average: little noise keeps that small
        agent = agent_of(algo, spec_of(env), gamma=0.8, **quick(algo, lr=0.03, std_init=0.1, **wide))
        trained(agent, env, 250 if algo == "NoisyDQN" else 125)
        agent.predict_action(np.zeros((1, 1), np.float32), agent.initial_state(1))
        state, values = agent.initial_state(1), []
        for obs in range(len(expected)):
            value, state = agent.values(np.full((1, 1), obs, np.float32), state)
            values.append(value.max())
        assert values == pytest.approx(expected, abs=0.35), name


@pytest.mark.long
@pytest.mark.parametrize(
    "more", in_the_suite([{}, {"buffer_type": "PER"}, {"dueling": True}, REMEMBERS], {"dueling": True})
)
def test_the_bonus_widens_the_gap_between_the_actions(more):
    """Rewards 1 and -1 that end the episode, weight 1/2, temperature 1: Q(a) = r + (Q(a) - V) / 2, so that the gap of 2
    becomes 4; V - Q(1) = ln(1 + e^-4) = 0.01815. Q(1) = 1 - 0.01815 / 2, Q(0) = -1 - 4.01815 / 2."""
    env = toy_of("choice")
    settings = {"temperature": 1.0, "munchausen_alpha": 0.5, "munchausen_floor": -9.0, "epsilon_end": 0.5}
    agent = trained(agent_of("MunchausenDQN", spec_of(env), **{**quick("MunchausenDQN"), **settings, **more}), env, 200)
    values, _ = agent.values(np.zeros((1, 1), np.float32), agent.initial_state(1))
    np.testing.assert_allclose(values, [[-3.00908, 0.99092]], atol=0.15)
    assert score(agent, env) == 1.0


@pytest.mark.long
@ALL_OF_THEM
def test_everything_that_learns_moves_and_the_target_network_only_by_its_own_rule(algo):
    env = toy_of("match", steps=3)
    agent = agent_of(algo, spec_of(env), **quick(algo, target_update=10**6))
    before, target = agent.weights(), [parameter.clone() for parameter in agent.target_parameters]
    norms = []
    agent.reduce = lambda grads: norms.extend(grad.norm() for grad in grads)
    trained(agent, env, 50)
    assert [name for name, array in agent.weights().items() if np.array_equal(array, before[name])] == []
    assert all(torch.isfinite(norm) for norm in norms)
    assert norms
    assert all(torch.equal(a, b) for a, b in zip(target, agent.target_parameters, strict=True))
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in agent.target_parameters)
