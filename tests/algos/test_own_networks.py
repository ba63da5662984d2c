"""Layers of one's own: shapes, weights, states, and what is refused before anything is made."""

import json
import re
from pathlib import Path

import numpy as np
import own_networks
import pytest
import torch
from gymnasium.spaces import Box

import main
from algos.base import EnvSpec
from algos.common.nets import networks
from algos.common.nets.layers import seed_dropout
from algos.common.nets.observations import NetworkError
from algos.common.nets.recurrent import Recurrent
from algos.common.settings import NetworkConfig
from config.model.layers import Custom as Layer
from config.model.layers import Flatten, Gru, Linear
from config.own import objects as own
from config.read.loader import ConfigError
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, score, spec_of, toy_of, trained
from tests.tools.paths import in_the_suite
from tests.tools.ray import same, weights

LINE = EnvSpec("line", Box(-1, 1, (4,), np.float32), Box(-1, 1, (1,)), 1, (), None)
PICTURE = EnvSpec("picture", Box(0, 255, (3, 12, 12), np.uint8), Box(-1, 1, (1,)), 1, (), None)


def custom(name="Trunk", **options):
    return Layer(module=f"own_networks:{name}", options=options)


def built(layers, spec=LINE, seed=1, cfg=None, **settings):
    return networks.build(spec, layers, 2, cfg or NetworkConfig(), seed, **settings)


# --------------------------------------------------------------------------------------------------- what is made


def test_a_custom_layer_stands_anywhere_in_a_list_and_its_width_is_found():
    for layers in (
        [custom(width=6)],
        [Linear(layer_size=[5]), custom(width=6), Linear(layer_size=[3])],
        [custom(), custom(width=3)],
    ):
        assert built(layers)(torch.zeros(7, 4)).shape == (7, 2)
    network = built([Linear(layer_size=[5]), custom(width=6), Linear(layer_size=[3])])
    assert [tuple(weight.shape) for weight in network.parameters()][2:5] == [(6, 5), (6,), (3, 6)]
    assert "2.module.body.weight" in network.state_dict()


def test_an_image_goes_into_the_first_custom_layer_and_may_come_out_as_one():
    """Without a custom layer at the front, a list for an image begins with default convolutions."""
    network = built([custom("Image", channels=5), Linear(layer_size=[3])], PICTURE)
    assert network(torch.zeros(2, 3, 12, 12, dtype=torch.uint8)).shape == (2, 2)
    first, _, linear, *_ = (tuple(weight.shape) for weight in network.parameters())
    assert (first, linear) == ((5, 3, 3, 3), (3, 5 * 10 * 10))
    first, *_ = (tuple(weight.shape) for weight in built([Flatten(), custom()], PICTURE).parameters())
    assert first == (8, 3 * 144)


@pytest.mark.parametrize("init", ["default", "orthogonal"])
def test_its_first_weights_are_its_own_and_depend_on_the_seed_alone(init):
    cfg = NetworkConfig(init=init)
    one, other, third = (built([custom(rate=0.5), Linear(layer_size=[3])], seed=s, cfg=cfg) for s in (1, 1, 2))
    torch.manual_seed(1)
    expected = own_networks.Trunk((4,)).body.weight
    torch.testing.assert_close(one[0].module.body.weight, expected, rtol=0, atol=0)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert not torch.equal(one[0].module.body.weight, third[0].module.body.weight)


def test_measuring_a_layer_draws_no_random_number_that_a_later_layer_would_have():
    class Draws(own_networks.Trunk):
        def forward(self, x):
            return super().forward(x) + 0 * torch.randn(8)

    own.register("Draws", Draws)
    plain = built([custom(), Linear(layer_size=[3])])
    drawing = built([Layer(module="Draws"), Linear(layer_size=[3])])
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), drawing.parameters(), strict=True))
    before = torch.get_rng_state()
    built([Layer(module="Draws")])
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_inside_acts_while_learning_only_and_is_seeded():
    network, x = built([custom(width=64, rate=0.5)]), torch.ones(3, 4)
    with torch.no_grad():
        assert torch.equal(network(x), network(x))
    assert not torch.equal(network(x), network(x))
    outs = []
    for _ in range(2):
        seed_dropout(network, np.random.default_rng(5))
        outs.append(network(x))
    assert torch.equal(*outs)


def test_a_cell_makes_the_network_recurrent_and_its_state_is_carried():
    network = built([Linear(layer_size=[5]), custom("Remembers", size=3), Gru(layer_size=[2])])
    assert isinstance(network, Recurrent)
    assert network.state_sizes == [3, 2]
    obs, first = torch.randn(6, 2, 4), torch.zeros(6, 2, dtype=torch.bool)
    first[3, 1] = True
    whole, state = network.unroll(obs, torch.ones(2, 5), first), torch.ones(2, 5)
    for t in range(6):
        state = torch.where(first[t].unsqueeze(1), 0.0, state)
        out, state = network.step(obs[t], state)
        torch.testing.assert_close(out, whole[t])
    cfg = NetworkConfig(branches={"x": [custom()]})
    assert not cfg.remembers()
    cfg = NetworkConfig(branches={"x": [custom("Remembers")]})
    assert cfg.remembers()


@pytest.mark.parametrize("algo", in_the_suite(["PPO", "A2C"], "PPO"))
def test_a_cue_seen_at_the_first_step_is_remembered_by_a_cell_of_ones_own(algo):
    """The recall toy, as with gru in test_recurrent.py; without a state its mean is 0."""
    env = toy_of("recall", rows=8, delay=2)
    settings = {
        "PPO": {"batch_size": 128, "sgd_batch_size": 64, "k_epochs": 4, "lookup_step": 4, "lr": 0.01},
        "A2C": {"batch_size": 64, "lr": 0.01},
    }[algo]
    layers = [Linear(layer_size=[16], activation="tanh"), custom("Remembers")]
    one = agent_of(algo, spec_of(env), actor_layers=layers, critic_layers=layers, **settings)
    assert score(trained(one, env, {"PPO": 13, "A2C": 100}[algo]), toy_of("recall", delay=2)) == 1.0


@pytest.mark.parametrize("algo", ["SAC", "DQN"])
def test_critics_and_value_networks_take_custom_layers(algo):
    """Custom layers of a critic see the observation; the action comes after them."""
    env = toy_of("recall", rows=2, continuous=algo == "SAC")
    keys = ("actor_layers", "critic_layers") if algo == "SAC" else ("value_layers",)
    for layers in ([custom(), Linear(layer_size=[8])], [custom("Remembers", size=4), Linear(layer_size=[8])]):
        sizes = {"batch_size": 4, "learning_starts": 8}
        one = agent_of(algo, spec_of(env), **dict.fromkeys(keys, layers), **sizes)
        names = [name for name in one.weights() if "module" in name]
        assert names
        before = {name: one.weights()[name].copy() for name in names}
        after = trained(one, env, 30).weights()
        assert all(not np.array_equal(after[name], before[name]) for name in names)


@pytest.mark.parametrize("algo", ["DQN", "SAC", "PPO", "IQL"])
def test_weights_that_a_layer_has_frozen_stay(algo):
    env = toy_of("match", rows=2) if algo == "DQN" else toy_of("target", rows=2)
    keys = ("value_layers",) if algo == "DQN" else ("actor_layers", "critic_layers")
    sizes = {"batch_size": 16} if algo == "PPO" else {"batch_size": 4, "learning_starts": 8}
    one = agent_of(algo, spec_of(env), **{key: [custom("Pretrained")] for key in keys}, **sizes)
    before = {name: weight.copy() for name, weight in one.weights().items()}
    after = trained(one, env, 20).weights()
    moved = {name: not np.array_equal(after[name], before[name]) for name in before if "module" in name}
    assert moved
    assert all(moves == ("learned" in name) for name, moves in moved.items())


def test_the_layers_of_the_page_work(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "networks.md").read_text(encoding="utf-8")
    (tmp_path / "my_networks.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2]))
    monkeypatch.syspath_prepend(tmp_path)
    layers = [Layer(module="my_networks:Memory", options={"size": 3}), Layer(module="my_networks:Trunk")]
    network = built(layers)
    assert network.state_size == 3
    assert network.step(torch.zeros(5, 4), torch.zeros(5, 3))[0].shape == (5, 2)


# ------------------------------------------------------------------------------------------------------------ runs


@pytest.mark.parametrize("layers", ["Trunk, options: {width: 6, rate: 0.3}", "Remembers, options: {size: 5}"])
def test_a_run_with_a_custom_layer_resumes_to_the_byte(layers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    allow = ("--allow-import", "own_networks")
    layer = f"[{{layer_type: custom, module: 'own_networks:{layers.replace(',', chr(39) + ',', 1)}}}]"
    words = (
        "general_cfg.algo_name=PPO", "general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.max_episode=-1",
        "general_cfg.online_eval_episode=2", "general_cfg.model_save_fre=40", "general_cfg.model_save_unit=step",
        "env_cfg.max_episode_steps=20", "algo_cfg.batch_size=20", "algo_cfg.sgd_batch_size=10",
        f"algo_cfg.actor_layers={layer}", f"algo_cfg.critic_layers={layer}", "general_cfg.preset=null",
    )  # fmt: skip
    for name, steps in (("a", 120), ("b", 60)):
        assert main.main([*allow, *words, f"general_cfg.max_total_step={steps}", "--into", name]) == 0
    assert main.main([*allow, "--resume", str(tmp_path / "b"), "general_cfg.max_total_step=120"]) == 0
    assert (tmp_path / "a/results/train.csv").read_bytes() == (tmp_path / "b/results/train.csv").read_bytes()
    assert same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert main.main(["--resume", str(tmp_path / "b"), "general_cfg.max_total_step=160"]) == 2


def test_a_layer_that_fails_in_the_last_evaluation_is_to_blame_and_not_the_checkpoint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_networks.Spoilt, "is_spoilt", True)
    layer = "[{layer_type: custom, module: 'own_networks:Spoilt'}]"
    words = (
        "general_cfg.algo_name=PPO", "general_cfg.preset=null", "general_cfg.save_fig=false", "env_cfg.n_envs=1",
        "general_cfg.online_eval=false", "general_cfg.online_eval_episode=3", "general_cfg.max_total_step=40",
        "env_cfg.max_episode_steps=20", "algo_cfg.batch_size=20", "algo_cfg.sgd_batch_size=10",
        f"algo_cfg.actor_layers={layer}",
    )  # fmt: skip
    main.main(["--allow-import", "own_networks", *words, "--into", "a"])
    said = " ".join("".join(capsys.readouterr()).split())
    assert "the best model could not be chosen: Spoilt, a custom layer, failed: RuntimeError: " in said
    assert re.search(r"\(\S*own_networks\.py:\d+\)", said)
    assert "the best model could NOT be chosen; to choose it: " in said
    assert "does not fit" not in said
    assert not json.loads((tmp_path / "a/run.json").read_text())["finished"]


# ---------------------------------------------------------------------------------------------------------- refused


def refused(*layers, allow=("own_networks",), key="actor_layers"):
    with pytest.raises(ConfigError) as caught:
        loaded(None, "general_cfg.algo_name=PPO", f"algo_cfg.{key}=[{', '.join(layers)}]", allow_import=allow)
    return str(caught.value)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("module: 'own_networks:Trank'", "module own_networks has no 'Trank'; did you mean Trunk?"),
        ("module: Trunk", "'Trunk' is not registered in this process; call joystick.register('Trunk', ...) before"),
        ("module: 'own_networks:NoModule'", "own_networks:NoModule is not a class that inherits from torch.nn.Module"),
        ("module: 'own_networks:function'", "own_networks:function is not a class that inherits from torch.nn.Module"),
        (
            "module: 'own_networks:Trunk', options: {widht: 3}",
            ":Trunk: options: widht: unknown; did you mean width?",
        ),
        ("module: 'own_networks:Trunk', options: {zzz: 3}", "options: zzz: unknown; known are: rate, width"),
        ("module: 'own_networks:WrongCell'", "own_networks:WrongCell: options: fault: is required, and not set"),
        ("options: {width: 3}", "algo_cfg.actor_layers[0]: module is missing; expected text"),
    ],
)
def test_a_wrong_class_or_option_is_named_before_the_run(layer, message):
    own._REGISTERED.clear()
    assert message in refused(f"{{layer_type: custom, {layer}}}")


def test_no_module_is_imported_without_permission():
    """SEC-3"""
    layer = "{layer_type: custom, module: 'unknown_here:Trunk'}"
    message = "algo_cfg.actor_layers: imports unknown_here; to allow it, add --allow-import unknown_here"
    assert message in refused(layer)
    assert "No module named" not in refused(layer)
    assert "No module named" not in refused(layer, "{layer_type: linear, layer_size: 0}")
    assert "No module named 'unknown_here'" in refused(layer, allow=("unknown_here",))


def test_an_algorithm_without_recurrence_and_a_branch_refuse_a_cell(monkeypatch):
    import algos

    cell = "{layer_type: custom, module: 'own_networks:Remembers'}"
    with pytest.raises(ConfigError, match="branches: a branch cannot have custom layers; put them in the layer list"):
        loaded(None, "general_cfg.algo_name=PPO", f"algo_cfg.branches={{x: [{cell}]}}", allow_import=["own_networks"])
    monkeypatch.setattr(algos.get("PPO").Config, "SPECIAL_LAYERS", ())
    assert "this algorithm does not support recurrent custom layers" in refused(cell)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("Wrong", {}, r"zeros \(2, 5\) cannot pass: RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
        ("Wrong", {"fault": "init"}, "it could not be made: RuntimeError: of its own"),
        ("Wrong", {"fault": "rows"}, r"it gives shape \(4,\) for 2 rows; expected \(2, width\)"),
        ("Wrong", {"fault": "flat"}, r"it gives shape \(8,\) for 2 rows; expected \(2, width\)"),
        ("Wrong", {"fault": "whole"}, r"it gives torch\.int64; expected a tensor of float32"),
        ("Wrong", {"fault": "half"}, r"it gives torch\.float16; expected a tensor of float32"),
        ("Wrong", {"fault": "none"}, "it gives NoneType; expected a tensor of float32"),
        ("Wrong", {"fault": "numpy"}, "it gives ndarray; expected a tensor of float32"),
        ("WrongCell", {"fault": "size"}, "it has run, and state_size is None; expected the numbers that it carries"),
        ("WrongCell", {"fault": "state"}, r"run gives a state of shape \(2, 3\); expected \(2, 16\)"),
        ("WrongCell", {"fault": "last"}, r"it gives shape \(2, 16\) for 2 rows; expected \(1, 2, width\)"),
    ],
)
def test_a_wrong_shape_is_named_in_the_chain_of_shapes(name, options, reason):
    chain = rf"^\(4,\) -linear 5-> \(5,\) -custom own_networks:{name}-> does not fit: {reason}"
    with pytest.raises(NetworkError, match=chain):
        built([Linear(layer_size=[5]), custom(name, **options)])
    with pytest.raises(NetworkError, match=r"^algo_cfg\.actor_layers: \(3,\) -linear 5"):
        agent_of("PPO", spec_of(toy_of("reach")), actor_layers=[Linear(layer_size=[5]), custom(name, **options)])


@pytest.mark.parametrize(("source", "exact"), [("torch", False), ("numpy", False), (None, True)])
def test_a_run_whose_layers_draw_while_they_act_says_that_it_cannot_be_repeated(source, exact, tmp_path):
    """It claimed to be exact. Dropout draws only while it learns, from the stream of learning."""
    options = f"module: 'own_networks:Noisy', options: {{source: {source}}}"
    if source is None:
        options = "module: 'own_networks:Trunk', options: {rate: 0.5}"
    words = [
        "general_cfg.max_total_step=64",
        "general_cfg.online_eval=false",
        "algo_cfg.batch_size=64",
        "algo_cfg.sgd_batch_size=64",
    ]
    words += ["general_cfg.save_fig=false", f"algo_cfg.actor_layers=[{{layer_type: custom, {options}}}]"]
    line = ["--algo", "PPO", "--env", "CartPole-v1", "--allow-import", "own_networks", "--into", str(tmp_path / "x")]
    assert main.main([*line, *words]) == 0
    verdict = json.loads((tmp_path / "x" / "run.json").read_text(encoding="utf-8"))["repeatable"]
    assert verdict["exact"] == exact
    assert verdict["inexact_because"] == [] if exact else verdict["inexact_because"][0].endswith("decides: Noisy")


def test_a_layer_without_memory_is_not_told_as_its_mistake(tmp_path, capsys):
    words = ["general_cfg.max_total_step=64", "general_cfg.online_eval=false", "algo_cfg.batch_size=64"]
    words += [
        "algo_cfg.sgd_batch_size=64",
        "algo_cfg.actor_layers=[{layer_type: custom, module: 'own_networks:Large'}]",
    ]
    line = ["--algo", "PPO", "--env", "CartPole-v1", "--allow-import", "own_networks", "--into", str(tmp_path / "x")]
    assert main.main([*line, *words]) == 2
    said = capsys.readouterr().err
    assert "error: no memory is left: [enforce fail] DefaultCPUAllocator" in said
    assert "a custom layer, failed" not in said
    assert "DefaultCPUAllocator" in json.loads((tmp_path / "x" / "run.json").read_text(encoding="utf-8"))["outcome"]
