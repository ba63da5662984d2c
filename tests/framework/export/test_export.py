"""Exported policies: the module of an agent, the files, their comparison with the agent, and the printed examples."""

import contextlib
import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from safetensors.numpy import load_file

import algos
import joystick
from algos.base import Agent, EnvSpec, PolicyModule, UnfitError
from envs.common.recipe import of_gymnasium
from framework.commands.work import export
from framework.disk import atomic
from framework.errors import JoystickError
from framework.export import check, example, onnx_file
from framework.export.policy import FileModule
from framework.export.recordings import Seen
from main import main
from tests.algos.test_contract import TOYS, agent_for, small, spaces_suit
from tests.framework.record.test_agent_records import DQN, words
from tests.tools.core import agent_of
from tests.tools.joint import joint_spec, slot_spec
from tests.tools.paths import in_the_suite
from tests.tools.process import forked_program

WITHOUT_NETWORK = {"QLearning", "Sarsa", "ExpectedSarsa", "MonteCarlo", "DynaQ", "DoubleQLearning",
                   "SarsaLambda", "DynaQPlus", "PrioritizedSweeping", "ValueIteration", "PolicyIteration",
                   "Random", "Expert", "HierarchicalDQN", "DecisionTransformer"}  # fmt: skip
SPECIAL = {
    "DDPG_HER": "reach",
    "SAC_HER": "reach",
    "ValueIteration": "walk",
    "PolicyIteration": "walk",
    "Expert": "walk",
}
CASES = [
    (algo, toy)
    for algo in algos.available()
    if algo != "MAPPO"  # it acts as PPO, and its critic needs a global state
    for toy in ([SPECIAL[algo]] if algo in SPECIAL else ("match", "shifted", "digits", "bits", "target"))
    if spaces_suit(algo, TOYS[toy])
]
"""Every algorithm in every kind of space, those for given data among them."""


@pytest.fixture(scope="module", autouse=True)
def one_table_of_operators() -> Iterator[None]:
    """torch makes its table of ONNX's operators anew for each file, which takes as long as the rest of the file."""
    with pytest.MonkeyPatch.context() as patch:
        with contextlib.suppress(ImportError, AttributeError):  # a room that torch keeps to itself
            from torch.onnx._internal.exporter._registration import ONNXRegistry

            patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(cache(ONNXRegistry.from_torchlib)))
        yield


def observed(space: Any, rows: int, seed: int) -> np.ndarray:
    space.seed(seed)
    return np.stack([space.sample() for _ in range(rows)])


def seen_by(agent: Agent, rows: int, steps: int, masks: int = 0) -> list[Seen]:
    """Steps of an agent that sees samples of its space; row 0 begins an episode in every third one."""
    state, found = agent.initial_state(rows), []
    rng = np.random.default_rng(0)
    for step in range(steps):
        fresh = np.zeros(rows, bool) if step else np.ones(rows, bool)
        if step % 3 == 0 and state is not None:
            fresh[0] = True
            state[0] = agent.initial_state(1)[0]
        obs = observed(agent.spec.observation_space, rows, step)
        mask = (rng.random((rows, masks)) < 0.5) | (np.arange(masks) == step % masks) if masks else None
        act = agent.predict_action(obs, state, mask)
        found.append(Seen(obs, fresh, np.zeros(rows, bool), mask, act.action))
        state = act.state
    return found


def module_of(agent: Agent, masked: bool = False, *starts: Any) -> FileModule:
    return FileModule(agent.as_module(), masked, *starts).eval()


def test_there_is_a_case_for_every_algorithm() -> None:
    assert {algo for algo, _ in CASES} == set(algos.available()) - {"MAPPO"}


@pytest.mark.parametrize(("algo", "toy"), CASES)
def test_the_module_of_an_agent_chooses_its_best_known_actions(algo: str, toy: str) -> None:
    agent = agent_for(algo, toy)
    if algo in WITHOUT_NETWORK:
        with pytest.raises(UnfitError, match=r"table|goal|return"):
            agent.as_module()
        return
    seen = seen_by(agent, rows=3, steps=7)
    module = module_of(agent)
    found = check.compare(module.run, module, seen)
    assert found == (21, 0.0, 1.0)
    outputs = module.run({"obs": seen[0].obs, "state": np.zeros((3, module.policy.state_size), np.float32)})
    assert outputs["action"].dtype == seen[0].action.dtype


@pytest.mark.parametrize("algo", ["DQN", "PPO", "SAC_D", "PQN", "DiscreteBCQ", "DRQN", "QMIX"])
def test_the_module_obeys_the_mask(algo: str) -> None:
    agent = agent_for(algo, "shifted")
    actions = int(agent.spec.action_space.n)
    seen = seen_by(agent, rows=4, steps=20, masks=actions)
    module = module_of(agent, masked=True)
    assert module.inputs[-1] == "action_mask"
    assert check.compare(module.run, module, seen).equal == 1.0
    legal = [step.mask[np.arange(4), step.action] for step in seen]
    assert np.all(legal)
    blind = module_of(agent)
    assert check.compare(blind.run, blind, [step._replace(mask=None) for step in seen]).equal < 1.0


@pytest.mark.parametrize(
    ("algo", "spec"),
    [
        ("QMIX", joint_spec(state=3)),
        ("VDN", joint_spec(agents=3)),
        ("MADDPG", joint_spec(Box(-1, 1, (2,)))),
        ("MASAC", joint_spec(Box(-1, 1, (2,)))),
        ("MAPPO", slot_spec()),
    ],
)
@pytest.mark.parametrize("recurrent", [False, True])
def test_the_module_of_several_agents_chooses_their_actions(algo: str, spec: EnvSpec, recurrent: bool) -> None:
    layers = [{"layer_type": "gru", "layer_size": [6]}] if recurrent else [{"layer_type": "linear", "layer_size": [6]}]
    kind = "value_layers" if algo in ("QMIX", "VDN") else "actor_layers"
    agent = agent_of(algo, spec, **{**small(algo), kind: layers})
    module = module_of(agent)
    assert ("state" in module.inputs) is recurrent
    assert check.compare(module.run, module, seen_by(agent, rows=3, steps=7)).equal == 1.0


def test_each_of_several_agents_has_its_own_mask() -> None:
    agent = agent_of("VDN", joint_spec(agents=3), **small("VDN"))
    module, rng = module_of(agent, masked=True), np.random.default_rng(0)
    legal = rng.integers(0, 2, (5, 3))
    mask = np.arange(2) == legal[..., None]
    found = module.run({"obs": observed(agent.spec.observation_space, 5, 0), "action_mask": mask})
    np.testing.assert_array_equal(found["action"], legal)


def test_observations_and_actions_of_the_file_count_as_the_environment_does() -> None:
    agent = agent_of("DQN", EnvSpec("here", Discrete(3), Discrete(2), 1), **small("DQN"))
    [step] = seen_by(agent, rows=3, steps=1)
    plain, shifted = module_of(agent), module_of(agent, False, 7, 5)
    assert (shifted.run({"obs": step.obs + 7})["action"] == plain.run({"obs": step.obs})["action"] + 5).all()
    assert check.compare(shifted.run, shifted, [step], 7, 5).equal == 1.0


SPACES = {
    "vector": (Box(-5, 5, (3,)), Box(np.float32([-1, 0]), np.float32([1, 4]))),
    "image": (Box(0, 255, (36, 36, 3), np.uint8), Discrete(4)),
    "digits": (MultiDiscrete([3, 4]), MultiDiscrete([3, 2], start=[1, 0])),
    "masked": (Box(-1, 1, (2,)), Discrete(5)),
}
FILES = [
    ("HAPPO", "vector", {"normalize_obs": True}),
    ("PPO", "image", {"actor_layers": [{"layer_type": "conv2d", "out_channel": 4, "kernel_size": 8, "stride": 4}]}),
    ("RecurrentPPO", "digits", {}),
    ("RainbowDQN", "masked", {}),
    ("DRQN", "masked", {"value_layers": [{"layer_type": "attention", "layer_size": 8, "window": 3}]}),
    ("BCQ", "vector", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("algo", "spaces", "settings"), in_the_suite(FILES, *(case for case in FILES if case[0] != "RainbowDQN"))
)
def test_an_onnx_file_gives_the_actions_of_the_agent_for_any_number_of_rows(
    algo: str, spaces: str, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With masks, so does the program that is printed where there is no environment to play in."""
    pytest.importorskip("onnxscript")
    onnx = pytest.importorskip("onnx")
    observations, actions = SPACES[spaces]
    agent = agent_of(algo, EnvSpec("here", observations, actions, 2), **{**small(algo), **settings})
    agent.observe(torch.from_numpy(observed(observations, 50, 9)))
    masks = (5,) if spaces == "masked" else ()
    module = module_of(agent, bool(masks))
    first = seen_by(agent, 1, 1, sum(masks))[0]
    inputs = {
        "obs": first.obs,
        "state": np.zeros((1, module.policy.state_size), np.float32),
        "action_mask": first.mask,
    }
    data = onnx_file.content(module, inputs, {"algorithm": algo, "step": "7"})
    session = onnx_file.Session(data)
    for rows in (1, 6):
        found = check.compare(session.run, module, seen_by(agent, rows, 5, sum(masks)))
        assert found.equal == 1.0
        assert found.largest < 1e-4
    saved = onnx.load_from_string(data)
    assert {(each.key, each.value) for each in saved.metadata_props} >= {("algorithm", algo), ("step", "7")}
    assert [each.name for each in saved.graph.input] == list(module.inputs)
    assert saved.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    if masks:
        monkeypatch.chdir(tmp_path)
        Path("policy.onnx").write_bytes(data)
        done = forked_program(example.onnx_example(Path("policy.onnx"), module, (observations, actions), masks, None))
        assert (done.returncode, done.stderr) == (0, "")
        action = agent.predict_action(np.zeros_like(first.obs), agent.initial_state(1)).action[0]
        assert done.stdout.splitlines()[0] == f"action: {action}"
    if settings.get("normalize_obs"):
        agent.normalizer.shift.add_(1.0)
        assert check.compare(session.run, module, seen_by(agent, 6, 5)).largest > 1e-3


# the command ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained PPO with normalised observations."""
    folder = tmp_path_factory.mktemp("runs") / "poles"
    settings = ["algo_cfg.normalize_obs=true", "general_cfg.max_total_step=500", "general_cfg.save_fig=false"]
    words = ["--algo", "PPO", "--env", "CartPole-v1", "general_cfg.seed=1", "general_cfg.online_eval=false"]
    assert main([*words, *settings, "--into", str(folder)]) == 0
    return folder


def printed_example(out: str) -> str:
    return out.split("To use it:\n\n")[1]


def test_the_printed_example_plays_an_episode_without_this_project(
    cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    before = sorted(cartpole.rglob("*"))
    assert main(["export", str(cartpole), "--to", "onnx"]) == 0
    out = capsys.readouterr().out
    assert "1,000 observations: 100.00% of the actions are the agent's" in out
    assert sorted(cartpole.rglob("*")) == before
    program = printed_example(out)
    assert len(program.splitlines()) <= 20
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert not done.stderr
    policy, env = joystick.load(cartpole), __import__("gymnasium").make("CartPole-v1")
    obs, total, over = env.reset(seed=0)[0], 0.0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy.act(obs))
        total, over = total + reward, terminated or truncated
    assert done.stdout.split() == ["return:", str(total)]


def test_the_description_and_the_weights_are_enough_to_act(
    cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "policy.safetensors"
    assert main(["export", str(cartpole), "--to", "safetensors", "--out", str(place)]) == 0
    out = capsys.readouterr().out
    assert "100.00%" in out
    done = forked_program(printed_example(out))
    assert done.stdout.startswith("PPO CartPole-v1"), done.stderr
    weights, facts = load_file(place), json.loads(place.with_suffix(".json").read_text())
    assert (facts["run"], facts["step"] >= 500, facts["action"]["n"]) == ("poles", True, 2)
    assert {name: tuple(each["shape"]) for name, each in facts["tensors"].items()} == {
        name: array.shape for name, array in weights.items()
    }
    norm, policy = facts["network"]["normalisation"], joystick.load(cartpole)
    for obs in np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32):
        x = np.clip((obs - weights[norm["shift"]]) * weights[norm["factor"]], -10, 10)
        for layer in facts["network"]["layers"]:
            if layer["layer"] == "Linear":
                x = weights[f"{layer['name']}.weight"] @ x + weights[f"{layer['name']}.bias"]
            elif layer["layer"] == "Tanh":
                x = np.tanh(x)
        assert x.argmax() == policy.act(obs)


def test_each_of_several_policies_is_a_file_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "OBSERVATIONS", 50)
    run, place = tmp_path / "run", tmp_path / "both.safetensors"
    drqn = ["algo_name=DRQN", "learning_starts=20", "batch_size=4", "lookup_step=3", "burn_in=1"]
    policies = {"a": ["agents=pole_0", *drqn], "b": ["agents=pole_1", *DQN]}
    assert main([*words("poles", policies, 120), "--into", str(run)]) == 0
    assert main(["export", str(run), "--to", "safetensors", "--out", str(place)]) == 0
    found = {each.name: json.loads(each.read_text()) for each in tmp_path.glob("*.json")}
    assert sorted(found) == ["both.a.json", "both.b.json"]
    assert found["both.a.json"]["inputs"] == ["obs", "state"]
    assert found["both.b.json"]["inputs"] == ["obs"]
    assert main(["export", str(run), "--to", "safetensors", "--policy", "b", "--out", str(place)]) == 0
    assert json.loads(place.with_suffix(".json").read_text())["policy"] == "b"
    capsys.readouterr()
    assert main(["export", str(run), "--to", "safetensors", "--policy", "c"]) == 2
    assert "there is no policy 'c'" in capsys.readouterr().err


def test_a_policy_that_is_no_network_does_not_keep_the_others_from_being_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "OBSERVATIONS", 50)
    run, place = tmp_path / "run", tmp_path / "both.safetensors"
    policies = {"a": ["agents=pole_0", "algo_name=Random"], "b": ["agents=pole_1", *DQN]}
    assert main([*words("poles", policies, 120), "--into", str(run)]) == 0
    assert main(["export", str(run), "--to", "safetensors", "--out", str(place)]) == 0
    assert [file.name for file in tmp_path.glob("*.safetensors")] == ["both.b.safetensors"]
    assert "Random, policy a, cannot be exported: " in capsys.readouterr().out
    assert main(["export", str(run), "--to", "safetensors", "--policy", "a"]) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "export needs --to: write --to onnx or --to safetensors"),
        (["--to", "SafeTensors", "--out", "a.onnx"], "does not end in .safetensors"),
        (["--to", "torch"], "--to torch is not known: write --to onnx or --to safetensors"),
        (["--to", "safetensors", "--video"], "leave out --video"),
        (["--to", "safetensors", "--policy", "a"], "the run has a single agent"),
        (["--to", "safetensors", "--out", "a.onnx"], "does not end in .safetensors"),
        (["--to", "safetensors", "--out", "nowhere/a.safetensors"], "the folder nowhere does not exist"),
    ],
)
def test_a_wrong_request_is_refused_and_writes_nothing(
    given: list[str], message: str, cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(SystemExit):
        assert main(["export", str(cartpole), *given]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_agent_that_acts_in_its_turn_keeps_its_recurrent_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file was compared as if its state went on while the other player moves."""
    pytest.importorskip("pettingzoo")
    game = ["general_cfg.env_name=pettingzoo", "env_cfg.id=classic/tictactoe_v3", "env_cfg.n_envs=8"]
    settings = ["general_cfg.max_total_step=300", "general_cfg.online_eval=false", "general_cfg.seed=1"]
    assert main(["--algo", "RecurrentPPO", *game, *settings, "--into", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    place = tmp_path / "policy.safetensors"
    assert main(["export", str(tmp_path / "run"), "--to", "safetensors", "--out", str(place)]) == 0
    assert "100.00% of the actions are the agent's" in capsys.readouterr().out


def test_flags_of_export_elsewhere_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["test", "NAME", "--to", "onnx"])
    assert "--to is for: python main.py export NAME" in capsys.readouterr().err


def test_a_table_is_refused_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    given = ["--algo", "QLearning", "--env", "FrozenLake-v1", "general_cfg.max_episode=5", "--into", str(run)]
    assert main(given) == 0
    assert main(["export", str(run), "--to", "safetensors"]) == 2
    assert "QLearning cannot be exported: its policy is not a network but a table" in capsys.readouterr().err


def test_a_missing_package_is_one_line_with_the_command_that_installs_it(
    cartpole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["export", str(cartpole), "--to", "onnx"]) == 2
    err = capsys.readouterr().err
    assert "needs the package onnx, which is not installed: pip install" in err
    assert len(err.strip().splitlines()) == 1


def test_a_file_that_acts_otherwise_is_not_written(
    cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(module: FileModule, data: bytes) -> FileModule:
        return FileModule(_Contrary(module.policy), False)

    monkeypatch.setattr(export.tensors_file, "loaded", other)
    place = tmp_path / "policy.safetensors"
    assert main(["export", str(cartpole), "--to", "safetensors", "--out", str(place)]) == 2
    assert "does not choose the agent's actions, and was not written: 1,000 observations: 0.00%" in (
        capsys.readouterr().err
    )
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_no_half_of_a_pair(
    cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the next try would be refused, since a file exists."""
    write, place = atomic.write_durably, tmp_path / "policy.safetensors"

    def full(path: Path, data: bytes) -> None:
        write(path, data[:100])
        if path.name.startswith("policy.json"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(atomic, "write_durably", full)
    words = ["export", str(cartpole), "--to", "safetensors", "--out", str(place)]
    assert main(words) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "No space left on device" in said.err
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    assert main(words) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["policy.json", "policy.safetensors"]


def test_an_output_that_is_not_finite_where_the_agents_is_is_refused() -> None:
    agent = agent_of("DQN", EnvSpec("here", Box(-1, 1, (2,)), Discrete(3), 1), **small("DQN"))
    module, seen = module_of(agent), seen_by(agent, rows=3, steps=2)

    def spoiled(value: float) -> Any:
        return lambda arrays: {**module.run(arrays), "outputs": np.full_like(module.run(arrays)["outputs"], value)}

    for value in (np.nan, -np.inf):
        with pytest.raises(JoystickError, match="not finite where the agent's is"):
            check.compare(spoiled(value), module, seen)
    assert check._difference(np.array([-np.inf, np.nan, 1.0]), np.array([-np.inf, np.nan, 3.0])) == 2.0
    assert check._difference(np.array([0.0, 1.0]), np.array([np.nan, 1.0])) == np.inf


@pytest.mark.parametrize(("space", "entries"), [(MultiDiscrete([2, 3]), 5), (MultiBinary(3), 6)])
def test_a_program_takes_no_mask_of_several_choices_from_an_environment(space: Any, entries: int) -> None:
    """Their form in an info, such as a tuple of arrays, is not that of the file."""
    observed = Box(-1, 1, (2,))
    module = module_of(agent_of("PPO", EnvSpec("here", observed, space, 1), **small("PPO")), masked=True)
    played = example.Played(of_gymnasium("Here-v1", {}, None), observed)
    program = example.onnx_example(Path("a.onnx"), module, (observed, space), (entries,), played)
    assert f"mask = np.ones((1, {entries}), bool)" in program
    assert "env" not in program


def test_texts_of_an_example_are_written_as_python_reads_them() -> None:
    made = of_gymnasium("Here-v1", {"text": "it's", "other": 'a "b" \\', "deep": {"x": "y's"}}, None)
    assert made is not None
    given: dict[str, Any] = {}
    gymnasium = type("", (), {"make": staticmethod(lambda name, **options: given.update(options, id=name))})
    exec("\n".join(made.lines), {"gymnasium": gymnasium})
    assert given == {"id": "Here-v1", "text": "it's", "other": 'a "b" \\', "deep": {"x": "y's"}}
    compile(example.tensors_example(Path('a"b.safetensors')), "example", "exec")


CONV = "[{layer_type: conv2d, out_channel: 4, kernel_size: 8, stride: 4}]"
RUNNING = [
    ("PPO", "exported_envs:Parts", []),
    ("A2C", "exported_envs:Choices", []),
    ("PPO", "exported_envs:Picture", [f"algo_cfg.actor_layers={CONV}", f"algo_cfg.critic_layers={CONV}"]),
    ("PPO", "exported_envs:Picture", [
        "env_cfg.wrappers=[GrayScale, {wrapper_name: Resize, shape: 12}, FlattenObservation]",
    ]),
    ("DRQN", "exported_envs:Masked", ["algo_cfg.value_layers=[{layer_type: gru, layer_size: [8]}]"]),
    ("DQN", "exported_envs:MaskedPart", []),
    ("PPO", "exported_envs:MaskedParts", []),
    ("SAC", "exported_envs:Dial", ["env_cfg.size=3"]),
    ("TD3", "Pendulum-v1", [
        "env_cfg.wrappers=[{wrapper_name: RescaleAction, min_action: -1, max_action: 1}]",
        "env_cfg.max_episode_steps=20",
    ]),
]  # fmt: skip
"""Algorithms, environments and settings with observations and actions of every kind."""
AS_OTHERS = RUNNING[3], RUNNING[5]
"""Wrappers and masks in parts of observations, which others have too."""


@pytest.mark.parametrize(
    ("algo", "env", "settings"),
    in_the_suite(RUNNING, *(case for case in RUNNING if case not in AS_OTHERS)),
)
def test_the_printed_program_runs_as_it_is_printed_and_acts_as_the_policy(
    algo: str, env: str, settings: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(export, "OBSERVATIONS", 100)
    file = f"""\
general_cfg: {{algo_name: {algo}, env_name: {"python" if "exported" in env else "gym"}, max_total_step: 60, seed: 1,
  save_fig: false, online_eval_episode: 1}}
env_cfg: {{id: "{env}"}}
"""
    if "PPO" in algo:
        settings = [*settings, "algo_cfg.batch_size=32", "algo_cfg.sgd_batch_size=16", "algo_cfg.k_epochs=1"]
    Path("run.yaml").write_text(file)
    allow = ["--allow-import", "exported_envs"]
    assert main([*allow, "--yaml", "run.yaml", "--into", "run", *settings]) == 0
    capsys.readouterr()
    assert main([*allow, "export", "./run", "--to", "onnx"]) == 0
    program = printed_example(capsys.readouterr().out)
    assert "env = " in program
    done = forked_program(program)
    assert (done.returncode, done.stderr) == (0, "")
    word, total = done.stdout.split()
    assert word == "return:"
    assert float(total) == pytest.approx(played(program), abs=1e-3)
    saved = onnx.load("run.onnx").metadata_props
    assert next(each.value for each in saved if each.key == "program") + "\n" == program


OF_OWN = ["general_cfg.env_name=python", "env_cfg.id=exported_envs:Dial", "env_cfg.size=3"]


@pytest.mark.parametrize(("algo", "env", "steps"), [("DQN", ["env_cfg.id=CartPole-v1"], 5), ("SAC", OF_OWN, 2)])
def test_the_printed_program_ends_episodes_after_max_step(
    algo: str, env: list[str], steps: int, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(export, "OBSERVATIONS", 20)
    allow = ["--allow-import", "exported_envs"]
    words = [*allow, f"general_cfg.algo_name={algo}", *env, f"general_cfg.max_step={steps}"]
    short = ["general_cfg.max_total_step=40", "general_cfg.seed=1"]
    assert (
        main([*words, *short, "general_cfg.save_fig=false", "general_cfg.online_eval_episode=1", "--into", "run"]) == 0
    )
    capsys.readouterr()
    assert main([*allow, "export", "./run", "--to", "onnx"]) == 0
    made = made_by(printed_example(capsys.readouterr().out))
    made.reset(seed=0)
    ends = [made.step(made.action_space.sample())[2:4] for _ in range(steps)]
    assert ends == [(False, False)] * (steps - 1) + [(False, True)]


def test_the_printed_program_plays_the_environment_of_evaluations_in_their_phase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(export, "OBSERVATIONS", 20)
    allow = ["--allow-import", "exported_envs"]
    phases = "general_cfg.curriculum={phases: [{below: 100, value: 0}, {value: 2}]}"
    words = ["general_cfg.algo_name=SAC", "general_cfg.env_name=python", "env_cfg.id=exported_envs:Noisy", phases]
    words += ["env_cfg.noise=0.5", "general_cfg.eval_env={noise: 0}", "general_cfg.max_total_step=40"]
    words += ["general_cfg.seed=1", "general_cfg.save_fig=false", "general_cfg.online_eval_episode=1"]
    assert main([*allow, *words, "--into", "run"]) == 0
    capsys.readouterr()
    assert main([*allow, "export", "./run", "--to", "onnx"]) == 0
    env = made_by(printed_example(capsys.readouterr().out)).unwrapped
    assert (env.noise, env.phase) == (0, 2)


def made_by(program: str) -> Any:
    """Returns the environment of the program."""
    scope: dict[str, Any] = {}
    lines = [line for line in program.splitlines() if line.startswith(("import", "from", "env"))]
    exec("\n".join(lines), scope)
    return scope["env"]


def played(program: str) -> float:
    """Return of an episode of the environment of the program, with the policy of the run."""
    env, policy = made_by(program), joystick.load("./run", allow_import=["exported_envs"])
    (obs, info), total, over = env.reset(seed=0), 0.0, False
    while not over:
        seen, mask = obs, info.get("action_mask")
        if "action_mask" in (getattr(env.observation_space, "spaces", ())):
            seen, mask = obs if len(obs) > 2 else obs["x"], obs["action_mask"]
        if isinstance(env.observation_space, Box) and np.ndim(obs) == 0:
            seen = np.reshape(obs, 1)
        obs, reward, terminated, truncated, info = env.step(policy.act(seen, mask))
        total, over = total + float(reward), terminated or truncated
    return total


def test_a_policy_that_never_acted_is_refused_with_a_sentence(
    cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "play", lambda *given: {"": []})
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(cartpole), "--to", "safetensors"]) == 2
    assert "policy PPO did not act in the 1,000 steps that were played" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


class _Contrary(PolicyModule):
    """The other one of two actions."""

    def __init__(self, inner: PolicyModule) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, obs: Any, state: Any, mask: Any) -> Any:
        outputs, action, state = self.inner(obs, state, mask)
        return outputs, 1 - action, state


@pytest.mark.parametrize("there", ["seeds_seed_1.safetensors", "seeds_seed_1.json"])
def test_the_file_of_a_seed_is_named_after_its_group_and_none_is_replaced(
    there: str, cartpole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    group = tmp_path / "seeds"
    shutil.copytree(cartpole, group / "seed_1")
    (group / "group.json").write_text("{}")
    assert main(["export", str(group / "seed_1"), "--to", "safetensors"]) == 0
    written = {file.name for file in tmp_path.iterdir() if file.is_file()}
    assert written == {"seeds_seed_1.safetensors", "seeds_seed_1.json"}
    for name in written - {there}:
        (tmp_path / name).unlink()
    assert main(["export", str(group / "seed_1"), "--to", "safetensors"]) == 2
    assert f"{there} exists; --out names another file" in capsys.readouterr().err
    assert len([file for file in tmp_path.iterdir() if file.is_file()]) == 1
