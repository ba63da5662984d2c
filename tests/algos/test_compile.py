"""general_cfg.compile: when updates are compiled, that they learn the same, and that the choice stays."""

import copy
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import load_file

import algos
from algos.common.fast import compiled_steps, measuring, program
from algos.common.fast.layers import Network
from algos.common.nets.layers import ImplicitQuantiles, NoisyLinear, draw
from algos.common.parts import optim
from algos.common.parts.optim import GradientStep
from config.model.kernels import Kernels
from config.read.loader import RunConfig, load
from framework.assemble import compiling
from framework.catalog import ALGOS, ENVS
from framework.policies.policy_plan import PolicyPlan
from main import main
from tests.tools.compiler import can_compile, compiler_cache, compiles, programs
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, of_one_agent, spec_of, toy_of, trained
from tests.tools.paths import in_the_suite, one_of_each

__all__ = ["can_compile", "compiler_cache", "compiles", "programs"]
QUICK = {
    "batch_size": 16, "learning_starts": 16, "start_steps": 16, "sgd_batch_size": 8, "k_epochs": 2,
    "updates_per_train": 1,
}  # fmt: skip
COMPILED = [
    name
    for name in sorted({*of_one_agent(), *algos.offline()})
    if algos.agent_class(algos.get(name)).uncompiled(algos.get(name).Config()) is None
]
LONG = "general_cfg.max_total_step=1000000"
SMALL = "algo_cfg.value_layers=[{layer_type: linear, layer_size: [8]}]"
RUN = [
    "--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=match", "general_cfg.seed=3", "general_cfg.save_fig=false",
    "general_cfg.max_episode=-1", "general_cfg.model_save_fre=50", SMALL, "algo_cfg.learning_starts=32",
    "algo_cfg.batch_size=16",
]  # fmt: skip


def alone(gradients: Any) -> None:
    """Averages the gradients of a single learner."""


def adam(parameters: list[torch.Tensor], lr: float = 0.1) -> Any:
    return optim.make(parameters, algos.get("DQN").Config(), lr)


def test_the_families_that_learn_by_gradients_compile() -> None:
    families = {"DQN", "DoubleDQN", "RainbowDQN", "C51", "SAC", "REDQ", "TD3", "DDPG", "PPO", "A2C", "PQN"}
    assert families <= set(COMPILED)
    assert {"IQN", "BTR", "CQL", "CalQL", "DroQ"} <= set(COMPILED), "they draw numbers within their losses"
    assert not {"DRQN", "RecurrentPPO", "QLearning", "TRPO"} & set(COMPILED)


def toy_for(algo: str) -> str:
    package = algos.get(algo)
    if getattr(package.Config(), "her_ratio", 0):
        return "reach"
    return "match" if "Discrete" in package.Config.ACTION_SPACES else "target"


DROPOUT = [{"layer_type": "linear", "layer_size": [8]}, {"layer_type": "dropout", "rate": 0.2}]
VARIANTS = [
    ("PPO", "digits", {}), ("PPO", "bits", {}), ("PPO", "target", {"ppo_type": "kl"}),
    ("DroQ", "target", {"critic_layers": DROPOUT}),
]  # fmt: skip
STEPS = [*((algo, toy_for(algo), {}) for algo in COMPILED if algo != "BC"), *VARIANTS]
LOSSES = ("DQN", "QRDQN", "RainbowDQN", "MunchausenDQN", "IQN", "CalQL", "EDAC", "VDN")
"""One for each further loss of a class of agents, by priority, with random numbers in it, and differentiated twice: a
graph has the lines of the loss in it."""


@pytest.mark.parametrize(
    ("algo", "toy", "more"),
    in_the_suite(
        STEPS,
        *((algo, toy_for(algo), {}) for algo in sorted({*one_of_each(COMPILED), *LOSSES} - {"BC", "C51", "QMIX"})),
        *VARIANTS,
    ),
)
def test_compiled_steps_are_those_of_autograd(algo: str, toy: str, more: dict[str, Any], programs: list[str]) -> None:
    """The same weights after the same updates; a graph that misses a term, or a parameter, would give others."""
    package, fields = algos.get(algo), algos.get(algo).Config.model_fields
    layers = {key: [{"layer_type": "linear", "layer_size": [8]}] for key in fields if key.endswith("_layers")}
    settings = {**{key: value for key, value in QUICK.items() if key in fields}, **layers, **more}
    if "max_grad_norm" in fields:
        settings["max_grad_norm"] = 0.01
    weights, norms = [], []
    for compiled in (False, True):
        env = toy_of(toy, 2)
        agent = agent_of(algo, spec_of(env), **settings)
        if compiled:
            for step in agent.gradient_steps():
                step.compile(PolicyPlan("", agent.cfg, package, agent.spec).minibatch)
        weights.append(trained(agent, env, 20).weights())
        parts = [*vars(agent).items(), *getattr(getattr(agent, "policy", None), "__dict__", {}).items()]
        norms.append({name: float(part.grad_norm) for name, part in parts if hasattr(part, "grad_norm")})
    assert len(set(programs)) == len(agent.gradient_steps()), "each of them was used"
    assert norms[0]
    assert norms[1] == pytest.approx(norms[0], rel=1e-4)
    for name, expected in weights[0].items():
        np.testing.assert_allclose(weights[1][name], expected, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_compiled_step_of_imitation_is_that_of_autograd(programs: list[str]) -> None:
    """BC collects nothing, so that its minibatches are made here."""
    package, rng = algos.get("BC"), np.random.default_rng(1)
    weights = []
    obs, actions = rng.standard_normal((5, 16, 1), np.float32), rng.integers(0, 2, (5, 16))
    for compiled in (False, True):
        agent = agent_of("BC", spec_of(toy_of("match", 2)), batch_size=16)
        if compiled:
            agent.step.compile(PolicyPlan("", agent.cfg, package, agent.spec).minibatch)
        for seen, action in zip(obs, actions, strict=True):
            agent.update({"obs": torch.from_numpy(seen), "action": torch.from_numpy(action)})
        weights.append(agent.weights())
    assert len(programs) == 5
    for name, expected in weights[0].items():
        np.testing.assert_allclose(weights[1][name], expected, rtol=1e-5, atol=1e-6, err_msg=name)


def config_of(*words: str, algo: str = "DQN") -> RunConfig:
    return load(None, ["general_cfg.seed=1", *words], algo=algo, find_algo=ALGOS, find_env=ENVS)


@pytest.mark.parametrize(
    ("algo", "words", "updates"),
    [
        ("DQN", ["general_cfg.max_total_step=5000", "algo_cfg.train_fre=1", "algo_cfg.updates_per_train=1"], 5000),
        ("DQN", ["general_cfg.max_total_step=5000", "algo_cfg.train_fre=4", "algo_cfg.updates_per_train=2"], 2500),
        ("DQN", ["general_cfg.max_total_step=5000", "general_cfg.max_update=70"], 70),
        ("DQN", ["general_cfg.max_episode=50", "general_cfg.max_step=-1"], 0),
        ("DQN", ["general_cfg.max_episode=50", "general_cfg.max_step=200", "algo_cfg.train_fre=4",
                 "algo_cfg.updates_per_train=2"], 5000),
        ("DQN", ["general_cfg.max_episode=50", "general_cfg.max_step=200", "general_cfg.max_total_step=5000",
                 "algo_cfg.train_fre=1", "algo_cfg.updates_per_train=1"], 5000),
        # windows of 8 x 128 steps, four minibatches of 256, 10 epochs: 40 updates for 1,024 steps
        ("PPO", ["general_cfg.max_total_step=10240", "env_cfg.n_envs=8", "algo_cfg.batch_size=1024",
                 "algo_cfg.sgd_batch_size=256", "algo_cfg.k_epochs=10"], 400),
        # an iteration of at least 1,000 steps is a window
        ("PPO", ["general_cfg.max_iteration=10", "env_cfg.n_envs=8", "algo_cfg.batch_size=2048",
                 "algo_cfg.sgd_batch_size=256", "algo_cfg.k_epochs=10"], 800),
    ],
)  # fmt: skip
def test_the_planned_updates_follow_from_the_limits(algo: str, words: list[str], updates: int) -> None:
    config = config_of("general_cfg.max_episode=-1", "general_cfg.max_total_step=-1", *words, algo=algo)
    assert compiling.planned_updates(config) == pytest.approx(updates)


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([LONG], "on"),
        (["general_cfg.max_total_step=9000"], "off"),
        ([LONG, "general_cfg.compile=off"], "off"),
        (["general_cfg.max_total_step=100", "general_cfg.compile=on"], "on"),
        ([LONG, "general_cfg.mp_backend=ray"], "off"),
        ([LONG, "algo_cfg.value_layers=[{layer_type: lstm, layer_size: 8}]"], "off"),
    ],
)
def test_auto_compiles_long_runs_that_can_be(words: list[str], chosen: str, programs: list[str]) -> None:
    config = config_of("general_cfg.max_episode=-1", *words)
    assert compiling.with_compile(config).general.compile == chosen


@pytest.mark.usefixtures("can_compile")
def test_auto_stays_off_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise compiled_steps.CompileError("there is no C++ compiler (g++)")

    monkeypatch.setattr(compiled_steps, "compiler", fails)
    config = config_of(LONG, "general_cfg.max_episode=-1")
    assert compiling.with_compile(config).general.compile == "off"
    expected = "steps are not compiled here: there is no C++ compiler (g++)"
    assert compiling.reason_not(config) == expected


POLES = ["--algo=PPO", "general_cfg.env_name=toy", "env_cfg.id=poles", "general_cfg.max_total_step=600",
         "general_cfg.max_episode=-1", "general_cfg.save_fig=false", "general_cfg.online_eval=false",
         "general_cfg.seed=3", "general_cfg.preset=none", "algo_cfg.batch_size=128",
         "algo_cfg.sgd_batch_size=64"]  # fmt: skip
TWO = "policies_cfg.a.agents=[pole_0]", "policies_cfg.b.agents=[pole_1]"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ([], 1),
        ([*TWO, "policies_cfg.b.algo_name=DQN", "policies_cfg.b.learning_starts=100"], 2),
        ([*TWO, "policies_cfg.b.algo_name=TRPO"], 1),
    ],
)
def test_each_policy_that_can_be_is_compiled(
    words: list[str], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str]
) -> None:
    """Also where no policies_cfg names them, and by auto. They learn the same as by autograd."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compiling, "FROM_UPDATES", 1)
    assert main([*POLES, *words, "--into", "tasks/on"]) == 0
    assert settings_of(Path("tasks/on")) == "on"
    assert len(set(programs)) == count
    assert main([*POLES, *words, "general_cfg.compile=off", "--into", "tasks/off"]) == 0
    on, off = ((Path("tasks", run) / "results" / "train.csv").read_text().splitlines() for run in ("on", "off"))
    assert len(on) > 10
    assert [line.split(",")[:4] for line in on] == [line.split(",")[:4] for line in off]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--algo=TRPO", "general_cfg.env_name=toy", "env_cfg.id=poles"], "this algorithm has no compiled updates"),
        (["--algo=QLearning", "--env=FrozenLake-v1"], "this algorithm has no compiled updates"),
        (["--algo=DQN", "algo_cfg.value_layers=[{layer_type: lstm, layer_size: 8}]"], "lstm layers cannot be"),
    ],
)
def test_on_is_refused_with_the_reason(
    words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*words, "general_cfg.compile=on"]) == 2
    assert f"command line: general_cfg.compile: {why}" in " ".join(capsys.readouterr().err.split())
    assert not Path("tasks").exists()


@pytest.mark.parametrize(("written", "meant"), [("on", "on"), ("true", "on"), ("Off", "off"), ("AUTO", "auto")])
def test_the_words_of_yaml_are_understood(written: str, meant: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"general_cfg:\n  compile: {written}\n")
    assert loaded(tmp_path / "run.yaml").general.compile == meant


def test_a_run_is_resumed_without_compiling_where_nothing_can_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """On another machine: it trains on, and says that the resume is not exact. Asked for, it is refused."""
    monkeypatch.chdir(tmp_path)
    words = [*RUN, "general_cfg.max_total_step=120", "general_cfg.compile=on"]
    assert main([*words, "--into", "tasks/run", "--pause-at-step", "60"]) == 0
    monkeypatch.setattr(compiling, "_without_compiler", lambda gpu: "no C++ compiler")
    assert main(["--resume", "run", "general_cfg.compile=on"]) == 2
    assert "no C++ compiler" in capsys.readouterr().err
    assert main(["--resume", "run"]) == 0
    assert settings_of(Path("tasks/run")) == "off"
    because = json.loads(Path("tasks/run/run.json").read_text())["resumes"][-1]["inexact_because"]
    assert because == ["compiled updates: on -> off", "C++ compiler: a compiler -> None"]


def test_a_run_in_which_nothing_was_compiled_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PolicyPlan, "minibatch", property(lambda self: 1))
    assert main([*RUN, "general_cfg.max_total_step=60", "general_cfg.compile=on", "--into", "tasks/run"]) == 0
    assert "no update was compiled" in Path("tasks/run/logs/log.txt").read_text()


def settings_of(task: Path) -> Any:
    return yaml.safe_load((task / "config.yaml").read_text())["general_cfg"]["compile"]


def test_a_resumed_run_keeps_the_choice_and_another_one_is_not_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str]
) -> None:
    """Also if the new limit alone would compile, and in runs that are older than the setting."""
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, "general_cfg.max_total_step=60", "--into", "tasks/run"]) == 0
    assert settings_of(Path("tasks/run")) == "off"
    assert not programs
    text = Path("tasks/run/config.yaml").read_text()
    monkeypatch.setattr(compiling, "FROM_UPDATES", 20)
    assert main(["--resume", "run", "general_cfg.max_total_step=120"]) == 0
    lines = [line for line in text.splitlines() if "compile" not in line]
    Path("tasks/run/config.yaml").write_text("\n".join(lines) + "\n")
    assert main(["--resume", "run", "general_cfg.max_total_step=150"]) == 0
    assert not programs
    assert main(["--resume", "run", "general_cfg.max_total_step=180", "general_cfg.compile=on"]) == 0
    assert programs
    resumes = json.loads(Path("tasks/run/run.json").read_text())["resumes"]
    said = "compiled updates: off -> on"
    assert [said in resume["inexact_because"] for resume in resumes] == [False, False, True]
    assert main([*RUN, "general_cfg.max_total_step=60", "--into", "tasks/other"]) == 0
    assert settings_of(Path("tasks/other")) == "on"


def files_of(task: Path) -> list[bytes]:
    """What a run leaves that must not depend on the cache."""
    return [(task / "results" / name).read_bytes() for name in ("train.csv", "eval.csv")] + [newest(task).read_bytes()]


def newest(task: Path) -> Path:
    """The last state of a run."""
    return sorted(task.glob("models/*/state.safetensors"))[-1]


PRODUCTS = (
    "algo_cfg.dueling=true",
    "algo_cfg.batch_size=32",
    "algo_cfg.value_layers=[{layer_type: linear, layer_size: [24], activation: leakyrelu}, "
    "{layer_type: linear, layer_size: [24], activation: gelu}]",
)
"""A step with products for which torch's compiler has rules of its own: before activations, with and without gradients,
and of two layers that share their features. Those of its first and last layers are loops."""


def test_a_compiled_run_is_the_same_with_and_without_its_package_and_over_a_resume(
    compiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its products are oneDNN's, and what it learns is what it learns without a compiler."""
    monkeypatch.chdir(tmp_path)
    choice = measuring.Choice(Kernels(products=1, compiled_products=1), {})
    monkeypatch.setattr(measuring, "chosen", lambda: choice)
    words = [*RUN, *PRODUCTS, "general_cfg.compile=on", "general_cfg.max_total_step=150"]
    said = "compiling a gradient step for this machine, once"
    random.seed(0)
    seeded = random.getstate()
    assert main([*words, "--into", "tasks/made"]) == 0
    assert random.getstate() == seeded, "an environment may draw from it"
    assert capsys.readouterr().out.count(said) == 1
    assert main([*words, "--into", "tasks/loaded"]) == 0
    assert main([*words, "--into", "tasks/parts", "--pause-at-step", "75"]) == 0
    assert main(["--resume", "parts"]) == 0
    assert main([*words, "--into", "tasks/plain", "general_cfg.compile=off"]) == 0
    assert said not in capsys.readouterr().out
    made, others = Path("tasks/made"), [Path("tasks/loaded"), Path("tasks/parts")]
    for other in others:
        assert files_of(made) == files_of(other)
    assert json.loads((others[1] / "run.json").read_text())["resumes"][-1]["exact"] is True
    compiled, plain = load_file(newest(made)), load_file(newest(Path("tasks/plain")))
    for name, expected in plain.items():
        np.testing.assert_allclose(compiled[name], expected, rtol=1e-4, atol=1e-6, err_msg=name)
    [package] = [path.name for path in compiles.iterdir() if path.is_dir()]
    assert b"_linear_pointwise" in (compiles / package / "step.so").read_bytes()
    runs = [json.loads((task / "run.json").read_text()) for task in (made, others[0])]
    assert [run["compiled_steps"] for run in runs] == [[package], [package]]
    assert runs[1]["compile_seconds"] < 5 < runs[0]["seconds"]


def test_a_step_that_cannot_be_compiled_is_made_by_autograd_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The run says so once and records it, so that a resume does the same."""
    monkeypatch.chdir(tmp_path)

    def fails(text: str, tell: compiled_steps.Tell) -> compiled_steps.Package:
        raise compiled_steps.CompileError("no space left")

    monkeypatch.setattr(compiled_steps, "load", fails)
    words = [*RUN, "general_cfg.compile=on", "general_cfg.max_total_step=120", "--into", "tasks/run"]
    assert main([*words, "--pause-at-step", "60"]) == 0
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("made by autograd: no space left") == 1
    assert settings_of(Path("tasks/run")) == "off"
    assert main(["--resume", "run"]) == 0
    assert json.loads(Path("tasks/run/run.json").read_text())["resumes"][-1]["exact"] is True


@pytest.mark.usefixtures("programs")
def test_each_network_has_a_program_of_its_own() -> None:
    """Two of equal sizes in one process are told apart by nothing but their layers."""
    found = []
    for activation in (torch.nn.ReLU(), torch.nn.Tanh()):
        network = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), activation)
        torch.nn.init.ones_(network[0].weight)
        optimizer = adam(list(network.parameters()))
        step = GradientStep(lambda batch, network=network: (network(batch["obs"]).sum(), None), optimizer, None)
        step.compile(2)
        step({"obs": torch.ones(2, 1)}, reduce=alone)
        found.append(optimizer.grad_norm.item())
    assert found == pytest.approx([2.0, 2 * (1 - math.tanh(1) ** 2)])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_graph_on_a_gpu_gives_the_same_numbers_and_copies_of_them_cuda() -> None:
    found = []
    for compiled in (False, True):
        weight = torch.ones(2, device="cuda", requires_grad=True)
        optimizer = adam([weight], lr=0.1)
        scale = torch.ones((), device="cuda")

        def loss(batch: dict[str, torch.Tensor], weight: Any = weight, scale: Any = scale) -> Any:
            outputs = batch["obs"] @ weight * scale
            return outputs.square().mean(), ({"mean": outputs.detach().mean()}, None)

        step: Any = GradientStep(loss, optimizer, 0.5)
        if compiled:
            step.compile(3)
        results, versions = [], [weight._version]
        for turn in range(4):
            scale.fill_(turn)  # the graph reads tensors anew
            results.append(step({"obs": torch.arange(6.0).reshape(3, 2).cuda()}, reduce=alone)[0]["mean"])
            versions.append(weight._version)
        assert sorted(set(versions)) == versions  # a copy that acts sees each change
        found.append([*(each.item() for each in results), *weight.tolist(), optimizer.grad_norm.item()])
    assert found[1] == found[0]
    assert len(set(found[0][:4])) == 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("algo", COMPILED)
def test_cuda_graphs_are_the_steps_of_autograd(algo: str) -> None:
    env = toy_of(toy_for(algo), 2)
    weights = []
    for compiled in (False, True):
        settings = {key: value for key, value in QUICK.items() if key in algos.get(algo).Config.model_fields}
        agent = agent_of(algo, spec_of(env), device="cuda", **settings)
        for step in agent.gradient_steps() if compiled else ():
            step.compile(PolicyPlan("", agent.cfg, algos.get(algo), agent.spec).minibatch)
        weights.append(trained(agent, toy_of(toy_for(algo), 2), 40).weights())
    for name, expected in weights[0].items():
        np.testing.assert_array_equal(weights[1][name], expected, err_msg=name)


def test_a_minibatch_of_another_size_is_not_compiled(programs: list[str]) -> None:
    """The last one of an epoch has another size in each window if steps are left out; each would take seconds."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = adam([weight])
    step = GradientStep(lambda batch: ((batch["obs"] @ weight).sum(), len(batch["obs"])), optimizer, None)
    step.compile(3)
    for size, calls in ((3, 1), (2, 1), (3, 2)):
        assert step({"obs": torch.full((size, 2), 0.5)}, reduce=alone) == size
        assert len(programs) == calls
        assert optimizer.grad_norm.item() == pytest.approx(0.5 * size * math.sqrt(2))


def test_a_minibatch_of_another_type_is_not_compiled(programs: list[str]) -> None:
    """The graph would take its bytes for numbers of the old type."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = adam([weight])
    step = GradientStep(lambda batch: ((batch["obs"].float() @ weight).sum(), None), optimizer, None)
    step.compile(3)
    for dtype, calls in ((torch.float32, 1), (torch.float64, 1), (torch.float32, 2)):
        step({"obs": torch.full((3, 2), 0.5, dtype=dtype)}, reduce=alone)
        assert len(programs) == calls
        assert optimizer.grad_norm.item() == pytest.approx(1.5 * math.sqrt(2))


@pytest.mark.usefixtures("programs")
def test_statistics_of_batches_are_learned_in_a_compiled_step() -> None:
    """Weights of CrossQ are told apart by rounding alone (test_plain.py), its first statistics are not."""
    found = []
    for compiled in (False, True):
        agent = agent_of(
            "CrossQ", spec_of(env := toy_of("target", 2)), **{key: QUICK[key] for key in ("batch_size", "start_steps")}
        )
        for step in agent.gradient_steps() if compiled else ():
            step.give_up = pytest.fail
            step.compile(16)
        weights = trained(agent, env, 14).weights()
        found.append(
            {name: value for name, value in weights.items() if name.endswith((".mean", ".deviation", ".count"))}
        )
    for name, expected in found[0].items():
        np.testing.assert_allclose(found[1][name], expected, rtol=0.05, atol=0.01, err_msg=name)
    assert {float(value) for name, value in found[1].items() if name.endswith(".count")} != {0.0}


@pytest.mark.usefixtures("programs")
def test_two_inputs_that_are_one_tensor_in_the_first_call_may_be_two_later() -> None:
    weight = torch.ones(1)
    step = GradientStep(
        lambda batch: ((batch["obs"] * p - batch["next_obs"]).sum(), None), adam([p := weight.requires_grad_()]), None
    )
    step.compile(1)
    same = torch.full((1,), 2.0)
    step({"obs": same, "next_obs": same}, reduce=alone)
    step({"obs": torch.full((1,), 5.0), "next_obs": torch.full((1,), 7.0)}, reduce=alone)
    assert step.optimizer.grad_norm.item() == 5.0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gradients_of_convolutions_are_in_the_order_of_their_weights_cuda() -> None:
    weights = []
    for compiled in (False, True):
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(4, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 2)
        )
        network = network.cuda().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        step = GradientStep(
            lambda batch, network=network: (network(batch["obs"]).square().mean(), None),
            adam(list(network.parameters())), 0.5,
        )  # fmt: skip
        if compiled:
            step.compile(4)
        obs = torch.randn(4, 4, 5, 5).cuda().to(memory_format=torch.channels_last)
        for _ in range(3):
            step({"obs": obs}, reduce=alone)
        weights.append([weight.detach().cpu() for weight in network.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))


class Recorded:
    """A graph whose operations are those of a program, on a CPU."""

    def __init__(self, work: Any) -> None:
        recording = program.record(work, ())
        step, _ = program.module(recording.text)
        self.outputs = work().clone()
        self.replay = lambda: self.outputs.copy_(step(*recording.inputs)[0])


def test_a_graph_with_noise_is_none_of_the_passes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def capture(device: Any, first: Any, work: Any) -> tuple[Recorded, torch.Tensor]:
        return (graph := Recorded(work)), graph.outputs

    monkeypatch.setattr(compiled_steps, "capture", capture)
    network, obs, rng = Network(NoisyLinear(3, 2, 0.5)), torch.ones(1, 3), np.random.default_rng(0)
    acting = compiled_steps.Passes(network, torch.device("cpu"))
    for turn in range(60):
        draw([network[0]], rng if turn % 3 else None)
        with torch.inference_mode():
            torch.testing.assert_close(acting(obs), network(obs))
    assert len(acting._graphs) == 2


def test_a_network_that_draws_in_its_pass_has_no_graphs() -> None:
    quantiles = Network(ImplicitQuantiles(3, torch.nn.Linear(3, 2), 4))
    assert compiled_steps.passes(quantiles, torch.device("cuda")) is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_graphs_that_act_are_the_passes_of_the_network_cuda() -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 2))
    device = torch.device("cuda")
    found = compiled_steps.passes(network.to(device), device)
    assert found is not None
    for turn in range(40):
        obs = torch.randn(1 + turn % 2, 4, 5, 5)
        with torch.inference_mode():
            expected = network(obs.to(device))
            assert torch.equal(found(obs), expected)
        with torch.no_grad():
            network[-1].weight.add_(0.1)  # the graph reads weights anew
    assert len(found._graphs) == 2
    assert not copy.deepcopy(found)._graphs
