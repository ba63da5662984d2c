"""Losses and statistics of layers of one's own: every algorithm asks for them, and bad ones are sentences."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import own_losses
import pytest
import torch
from own_losses import SEEN

import algos
import joystick
from algos.base import UnfitError
from algos.common.nets import networks
from algos.common.nets.custom import OwnLossError, compare, layers_of
from algos.common.nets.observations import NetworkError
from algos.common.settings import NetworkConfig
from config.model.layers import Custom as Layer
from config.model.layers import Gru, Linear
from config.own import objects as own
from framework.disk.csv_table import read_csv
from framework.errors import JoystickError
from tests.algos import test_contract as contract
from tests.tools.core import agent_of, spec_of, toy_of, trained
from tests.tools.paths import one_of_each

ROOT = Path(__file__).parents[2]


def custom(name="Regularized", **options):
    return Layer(module=f"own_losses:{name}", options=options)


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


# ------------------------------------------------------------------------------------------------ every algorithm

TRIED = one_of_each(dict(contract.CASES))
LISTS = [
    (algo, toy, name)
    for algo, toy in dict(reversed(contract.CASES)).items()
    if algo in TRIED
    for name in algos.get(algo).Config.model_fields
    if contract.has_network(algo)
    and name.endswith("_layers")
    and (algo, name) != ("VDN", "hyper_layers")  # no mixer
    and (name != "bonus_layers" or algo not in ("DRQN", "R2D2"))  # which refuse a bonus
]


@pytest.mark.parametrize(("algo", "toy", "name"), LISTS)
def test_every_list_of_every_algorithm_asks_for_the_loss_and_gives_the_statistics(algo, toy, name, monkeypatch):
    rest = {**contract.small(algo), **({"baseline": "value"} if algo == "REINFORCE" else {})}
    if name == "bonus_layers":
        rest["bonus"] = "icm"
    layers = [{"layer_type": "custom", "module": "own_losses:Regularized"}, *rest.get(name, [])]
    monkeypatch.setattr(contract, "small", lambda algo: {**rest, name: layers})
    if (algo, name) == ("TRPO", "actor_layers"):
        with pytest.raises(ValueError, match="custom_loss of Regularized would not be asked: the step of TRPO"):
            contract.Work(algo, toy)
        return
    work = contract.Work(algo, toy)
    [before] = {value for value in _norms(work)}
    learned = work.learn(work.chunks(4))
    while not SEEN and len(learned) < 40:  # some improve the policy once in many updates
        learned += work.learn(work.chunks(4))
    assert SEEN
    assert all(isinstance(value, torch.Tensor) for inputs in SEEN for value in inputs.values())
    assert {"weight_norm", "asked"} <= {*work.agent.metric_names()}
    assert max(learned[-1].metrics["asked"]) == len(SEEN)
    assert _norms(work)[0] != before


def _norms(work):
    return [layer.linear.weight.norm().item() for layer in layers_of(work.agent._attributes())]


def test_the_loss_reaches_the_weights_as_by_hand():
    """One step of SGD: the gradient of pull * |W|^2 is 2 pull W, which the weights lose times lr."""
    env = toy_of("match", rows=2)
    settings = {"optimizer": "sgd", "lr": 0.01, "lr_schedule": "constant", "max_grad_norm": None,
                "batch_size": 4, "sgd_batch_size": 4, "k_epochs": 1}  # fmt: skip
    after = []
    for pull in (0.0, 3.0):
        layers = {name: [custom(pull=pull)] for name in ("actor_layers", "critic_layers")}
        agent = agent_of("PPO", spec_of(env), **layers, **settings)
        before = {name: value for name, value in agent.weights().items() if name.endswith("module.linear.weight")}
        weights = trained(agent, toy_of("match", rows=2), 1).weights()
        after.append({name: weights[name] for name in before})
    for name, value in before.items():
        np.testing.assert_allclose(after[0][name] - after[1][name], 0.01 * 2 * 3.0 * value, rtol=1e-4, atol=1e-6)


def test_no_algorithm_goes_down_a_gradient_past_the_losses_of_layers():
    """A source test: a loss is lowered by descend, by minimize, or after completed()."""
    for path in sorted(ROOT.glob("algos/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and ".backward(" in (code := ast.unparse(node)):
                assert "completed(" in code, f"{path}:{node.lineno}"


def test_recurrent_networks_give_single_steps():
    layers = [Linear(layer_size=[4]), custom("CellWithLoss"), custom()]
    env = toy_of("recall", rows=2, delay=2)
    sizes = {"batch_size": 16, "sgd_batch_size": 8, "k_epochs": 1, "lookup_step": 2}
    trained(agent_of("PPO", spec_of(env), actor_layers=layers, critic_layers=[Gru(layer_size=[4])], **sizes), env, 2)
    assert {inputs["obs"].shape[1:] for inputs in SEEN} == {env.observation_space.shape}
    assert {len(inputs["obs"]) for inputs in SEEN} == {8}


def test_two_layers_of_a_class_have_numbers_behind_their_names():
    both = {name: [custom()] for name in ("actor_layers", "critic_layers")}
    agent = agent_of("PPO", spec_of(toy_of("match")), **both)
    assert agent.metric_names()[-4:] == ("weight_norm", "asked", "weight_norm_2", "asked_2")
    agent = agent_of("DQN", spec_of(toy_of("match")), value_layers=[custom("ByMetrics")])
    assert agent.metric_names()[-1:] == ("asked",)  # and nothing of its target network


def test_an_agent_without_such_layers_has_the_metrics_that_it_had():
    agent = agent_of("DQN", spec_of(toy_of("match")))
    assert agent.metric_names() == (*agent.METRICS, "grad_norm", "lr")


# ------------------------------------------------------------------------------------------------ runs


def run_of(tmp_path, monkeypatch, algo="PPO", options=None, name="own_losses:Regularized", env=None, **general):
    monkeypatch.chdir(tmp_path)
    layers = [{"layer_type": "custom", "module": name, "options": options or {}}]
    algo_cfg = {"actor_layers": layers, "batch_size": 40, "sgd_batch_size": 20}
    allow = [name.partition(":")[0]]
    settings = {"seed": 1, "save_fig": False, "online_eval": False, "max_step": 20, **general}
    return joystick.Run(
        algo, "CartPole-v1", preset=None, algo_cfg=algo_cfg, general_cfg=settings, env_cfg=env or {}, allow_import=allow
    )


def test_statistics_are_columns_of_the_files(tmp_path, monkeypatch):
    with run_of(tmp_path, monkeypatch, model_summary_fre=10) as run:
        result = run.train(120)
    assert result["metrics"]["weight_norm"] > 0
    [row] = read_csv(run.task / "results/progress.csv")
    assert row["weight_norm"] == result["metrics"]["weight_norm"]
    assert read_csv(run.task / "results/train.csv")[-1]["asked"] > 0
    [line] = (run.task / "results/result.json").read_text().splitlines()
    assert json.loads(line)["metrics"]["asked"] > 0
    assert any(b"weight_norm" in path.read_bytes() for path in run.task.rglob("events.*"))


def test_a_resume_goes_on_with_the_same_columns_and_bits(tmp_path, monkeypatch):
    with run_of(tmp_path, monkeypatch) as run:
        run.train(120)
    with joystick.Run.resume(run.task.name, allow_import=["own_losses"]) as again:
        again.train(120)
        resumed = again.weights()
    with run_of(tmp_path, monkeypatch) as whole:
        whole.train(120)
        whole.train(120)
        np.testing.assert_equal(resumed, whole.weights())


def test_the_layer_of_the_page_works(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8")
    [code] = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "custom_loss" in block]
    (tmp_path / "page_networks.py").write_text(f"import torch\nfrom torch import nn\n\n\n{code}")
    monkeypatch.syspath_prepend(tmp_path)
    norms = []
    for pull in (0.0, 10.0):
        monkeypatch.setattr(own, "_REGISTERED", {})
        with run_of(tmp_path, monkeypatch, options={"pull": pull}, name="page_networks:Regularized") as run:
            norms.append(run.train(400)["metrics"]["weight_norm"])
    assert norms[1] < 0.95 * norms[0]


def test_several_learners_and_workers_ask_for_the_loss(tmp_path, monkeypatch):
    from tests.tools.distributed import fake_rays

    fake_rays(monkeypatch)
    ray = {"mp_backend": "ray", "n_workers": 2, "run_ahead": 0}
    with run_of(tmp_path, monkeypatch, **ray) as run:
        assert run.train(160)["metrics"]["asked"] > 0


def test_such_a_run_is_not_compiled(tmp_path, monkeypatch):
    with pytest.raises(joystick.ConfigError, match="compile: custom layers cannot be compiled"):
        run_of(tmp_path, monkeypatch, compile="on")
    with run_of(tmp_path, monkeypatch, compile="auto", max_total_step=100_000_000) as run:
        assert run.config.general.compile == "off"


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("float", r"custom_loss of Bad returned 0\.5; expected policy_loss plus terms, a tensor with one number"),
        ("none", "custom_loss of Bad returned None; expected policy_loss plus terms"),
        (
            "vector",
            r"custom_loss of Bad returned a tensor of torch\.float32 with shape \(4,\); expected policy_loss plus",
        ),
        ("whole", r"custom_loss of Bad returned a tensor of torch\.int64 with shape \(\)"),
        ("nan", "custom_loss of Bad returned nan; expected a finite number"),
        ("infinite", "custom_loss of Bad returned inf; expected a finite number"),
        ("detached", "custom_loss of Bad returned a number without gradient, from which nothing is learned; use no"),
        ("column", r"custom_loss of Bad failed: KeyError: 'advantages' \(.*own_losses.py:\d+\)"),
    ],
)
def test_an_unusable_loss_ends_the_run_with_a_sentence(fault, message, tmp_path, monkeypatch):
    with (
        run_of(tmp_path, monkeypatch, options={"fault": fault}, name="own_losses:Bad") as run,
        pytest.raises(JoystickError, match=message),
    ):
        run.train(60)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Bad", {"fault": "list"}, r"custom_stats of Bad returned \[1\.0\]; expected numbers by name, such as"),
        ("Bad", {"fault": "text"}, "custom_stats of Bad: norm is 'high'; expected a number"),
        (
            "Bad",
            {"fault": "shape"},
            r"custom_stats of Bad: norm is a tensor of torch\.float32 with shape \(3,\)",
        ),
        (
            "Bad",
            {"fault": "weight"},
            r"norm is a tensor of torch\.float32 with shape \(\d+, \d+\); expected a number$",
        ),
        ("Bad", {"fault": "name"}, "custom_stats of Bad: 'the norm' is not a valid name of a column"),
        ("Bad", {"fault": "number"}, "custom_stats of Bad: 3 is not a valid name of a column"),
        ("Bad", {"fault": "raises"}, "custom_stats of Bad failed: RuntimeError: of its own"),
        ("OneArgument", {}, "custom_loss must take two arguments, policy_loss and loss_inputs"),
        ("ThreeArguments", {}, "custom_loss must take two arguments, policy_loss and loss_inputs"),
        ("Weightless", {}, "it has custom_loss and no parameters; a loss is added where its parameters learn"),
    ],
)
def test_what_can_be_seen_before_the_run_is_refused_before_it(name, options, message):
    with pytest.raises(NetworkError, match=message):
        networks.build(contract.TOYS["match"], [custom(name, **options)], 2, NetworkConfig(), 1)


@pytest.mark.parametrize("n_envs", [1, 4], ids=["learning", "acting"])
def test_a_layer_that_fails_in_a_run_is_named_in_one_sentence(n_envs, tmp_path, monkeypatch):
    message = r"^Failing, a custom layer, failed: RuntimeError: of its own \(.*own_losses.py:\d+\)$"
    with (
        run_of(tmp_path, monkeypatch, name="own_losses:Failing", env={"n_envs": n_envs}) as run,
        pytest.raises(JoystickError, match=message),
    ):
        run.train(60)


def test_a_statistic_with_the_name_of_another_metric_is_refused(tmp_path, monkeypatch):
    with pytest.raises(JoystickError, match="custom layers give a metric 'loss', and there is one of this name"):
        run_of(tmp_path, monkeypatch, options={"fault": "taken"}, name="own_losses:Bad")


def test_other_names_than_at_first_are_refused():
    with pytest.raises(OwnLossError, match="are b now, and were a at first; always return the same"):
        compare({"b": torch.zeros(())}, ("a",))


def test_an_unfit_layer_is_no_crash_in_a_program_of_ones_own():
    with pytest.raises((UnfitError, OwnLossError)):
        agent_of("TRPO", spec_of(toy_of("match")), actor_layers=[custom()])
    assert own_losses.SEEN == []
