"""Section policies_cfg: each policy is a strict section of its own, with the settings of its algorithm."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import jsonschema
import pytest
import yaml
from gymnasium.spaces import Box, Discrete

import algos
from algos.base import EnvSpec
from config.foreign import convert
from config.foreign.experiments import load_all
from config.model import policies
from config.model.memory_spec import ReplaySpec, RolloutSpec
from config.read.finder import Finder
from config.read.loader import ConfigError, RunConfig, load
from config.read.task_config import load_task_config
from config.tell import describe, json_schema
from framework.archive import task_list
from framework.assemble import identity
from framework.catalog import ALGOS, ENVS
from framework.disk.checkpoints import CheckpointStore
from framework.errors import CheckpointError
from framework.pages import html_report
from framework.runs import resume
from framework.runs.session import Run
from tests.tools.config_fixtures import loaded
from tests.tools.core import replay

TRAFFIC = """\
general_cfg: {algo_name: PPO}
algo_cfg: {lr: 7.0e-4, batch_size: 300}
policies_cfg:
  car1:  {agents: [car_*], gamma: 0.85}
  car2:  {agents: [car_*]}
  light:
    agents: traffic_light_*
    algo_name: doubledqn
    batch_size: 32
    opponents: {past: 0.3}
  judge: {agents: judge, train: false, lr: 1e-5, load: "Train_x:judge"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def write(content: str) -> Path:
        path = tmp_path / "pol.yaml"
        path.write_text(content)
        return path

    return write


@pytest.fixture
def traffic(file: Callable[[str], Path]) -> RunConfig:
    return loaded(file(TRAFFIC))


def refused(path: Path | None = None, *overrides: str, **options: Any) -> list[str]:
    """The problems, without the folder of the file."""
    with pytest.raises(ConfigError) as caught:
        loaded(path, *overrides, **options)
    folder = f"{path.parent}/" if path else "\0"
    return [problem.replace(folder, "") for problem in caught.value.problems]


# --------------------------------------------------------------------------------------------- what a policy is


def test_a_policy_is_the_config_of_its_algorithm_and_says_which_agents_it_controls(traffic: RunConfig) -> None:
    assert list(traffic.policies) == ["car1", "car2", "light", "judge"]
    car, light = traffic.policies["car1"], traffic.policies["light"]
    assert isinstance(car, algos.get("PPO").Config)
    assert isinstance(light, algos.get("DoubleDQN").Config)
    assert (car.agents, car.train, car.joint, car.agent_id, car.load, car.opponents) == (
        ["car_*"], True, None, None, None, None,
    )  # fmt: skip
    assert (light.opponents.past, light.opponents.every, light.opponents.keep) == (0.3, 100, 5)
    assert isinstance(car.memory(4), RolloutSpec)
    assert isinstance(light.memory(4), ReplaySpec)
    assert light.algo_name == "DoubleDQN"
    assert {name: package.NAME for name, package in traffic.policy_packages.items()} == {
        "car1": "PPO", "car2": "PPO", "light": "DoubleDQN", "judge": "PPO",
    }  # fmt: skip
    assert traffic.algorithms == "PPO+DoubleDQN"
    assert loaded().algorithms == "DQN"
    assert (light.patterns, light.selector) == (["traffic_light_*"], None)


def test_unset_settings_come_from_algo_cfg_for_policies_with_its_algorithm_alone(traffic: RunConfig) -> None:
    batches = {name: policy.batch_size for name, policy in traffic.policies.items()}
    assert batches == {"car1": 300, "car2": 300, "light": 32, "judge": 300}
    assert {name: policy.lr for name, policy in traffic.policies.items()} == {
        "car1": 7e-4, "car2": 7e-4, "light": 5e-4, "judge": 1e-5,
    }  # fmt: skip
    assert (traffic.policies["car1"].gamma, traffic.policies["car2"].gamma) == (0.85, 0.99)
    assert traffic.where["policies_cfg.car1.lr"] == traffic.where["algo_cfg.lr"]
    assert traffic.where["policies_cfg.judge.lr"].endswith("pol.yaml:11")
    assert {"policies_cfg.light.batch_size", "policies_cfg.car1.agents"} <= traffic.explicit
    assert "policies_cfg.light.lr" not in traffic.where


def test_a_null_that_means_the_default_means_what_algo_cfg_says(file: Callable[[str], Path]) -> None:
    """A null that is a value stays one."""
    text = TRAFFIC.replace("batch_size: 300", "batch_size: 300, max_grad_norm: 3")
    car = loaded(file(text.replace("gamma: 0.85", "lr: null, max_grad_norm: null"))).policies["car1"]
    assert (car.lr, car.max_grad_norm) == (7e-4, None)


def test_policies_can_be_written_on_the_command_line_and_in_python(file: Callable[[str], Path]) -> None:
    words = ("policies_cfg.car1.lr=1e-3", "policies_cfg.new={agents: [n1, n2], algo_name: DQN}", "algo_cfg.lr=2e-3")
    typed = loaded(file(TRAFFIC), *words)
    assert [typed.policies[name].lr for name in ("car1", "car2", "judge", "new")] == [1e-3, 2e-3, 1e-5, 5e-4]
    assert typed.where["policies_cfg.car1.lr"] == "command line"
    given = {"policies_cfg": {"a": {"agents": ("x", "y"), "lr": 0.5}}, "policies_cfg.b": {"agents": "z"}}
    python = loaded(values=given).policies
    assert (python["a"].agents, python["a"].lr, python["b"].agents) == (["x", "y"], 0.5, "z")
    assert refused(values={"policies_cfg": {"a": {"agents": "x", "lr": "fast"}}}) == [
        "Python: policies_cfg.a.lr: got 'fast' (text); expected a number above 0 or a schedule"
    ]


def test_a_run_in_python_has_policies_too() -> None:
    with pytest.raises(ConfigError, match=r"Python: policies_cfg\.a\.agents: got \[\]; expected names of agents"):
        Run(policies_cfg={"a": {"agents": ()}})


def test_policies_can_be_part_of_an_experiment(file: Callable[[str], Path]) -> None:
    text = "one: {run: PPO, env: CartPole-v1, config: {lr: 0.5, policies_cfg: {a: {agents: x}, b: {}}}}"
    with pytest.raises(ConfigError, match=r"pol\.yaml:1: policies_cfg\.b: agents is missing"):
        load_all(file(text), find_algo=ALGOS, find_env=ENVS)
    [config] = load_all(file(text.replace("b: {}", "b: {agents: y}")), find_algo=ALGOS, find_env=ENVS).values()
    assert [policy.lr for policy in config.policies.values()] == [0.5, 0.5]


def test_a_policy_survives_every_kind_of_copy(traffic: RunConfig) -> None:
    """Ray sends them with cloudpickle."""
    for policy in traffic.policies.values():
        for again in (pickle.loads(pickle.dumps(policy)), cloudpickle.loads(cloudpickle.dumps(policy)),
                      copy.deepcopy(policy), policy.model_copy()):  # fmt: skip
            assert type(again) is type(policy)
            assert again == policy
            assert again.memory(3) == policy.memory(3)
            assert type(again).adjustable() == type(policy).adjustable()
    assert traffic.policies["car1"].model_copy(update={"lr": 9.0}).lr == 9.0


def test_a_list_of_agents_is_no_list_of_layers(traffic: RunConfig) -> None:
    assert not traffic.policies["car1"].remembers()
    assert traffic.policies["car1"].state_size() == 0
    layers = "policies_cfg.car1.actor_layers=[{layer_type: lstm, layer_size: 8}]"
    assert (
        loaded(None, "general_cfg.algo_name=PPO", "policies_cfg.car1.agents=[a]", layers).policies["car1"].state_size()
    )


# ------------------------------------------------------------------------------------------------------- errors

WRONG = """\
general_cfg: {algo_name: PPO, score_policy: lihgt}
algo_cfg: {gamma: 2, nolr: 3, sgd_batch_size: 9999}
policies_cfg:
  car1:  {gamma: 0.85, train: false, opponents: {past: 0.5}}
  car-2:  {agents: "*"}
  light:
    agents: traffic_light_*
    algo_name: DQN
    lerning_starts: 32
    max_norm: 1
    max_grad_norm: 1
    batch_sise: 2
    max_kl: 3
  judge:
  five: 5
  other: {agents: [], opponents: 1}
  past: {agents: x, opponents: {past: 2, evry: 5}}
  nix: {agents: x, algo_name: PPPO, whatever: 1}
"""


def test_all_that_is_wrong_is_reported_at_once_with_file_and_line(file: Callable[[str], Path]) -> None:
    """CFG-1, 2: what a policy inherits from algo_cfg is reported once, where it is written."""
    assert refused(file(WRONG)) == [
        "pol.yaml:1: general_cfg.score_policy: names no policy of policies_cfg; did you mean light?",
        "pol.yaml:2: algo_cfg.gamma: got 2; expected a number from 0 to 1",
        "pol.yaml:2: algo_cfg.nolr: unknown setting",
        "pol.yaml:2: algo_cfg.sgd_batch_size: 9999 is more than batch_size, 2048",
        "pol.yaml:4: policies_cfg.car1: agents is missing; expected text or a list, each item text",
        "pol.yaml:4: policies_cfg.car1.opponents: a policy that does not learn has no earlier versions; leave it out, "
        "or set train: true",
        "pol.yaml:5: policies_cfg.car-2: is not a valid policy name; expected letters, digits and _, beginning with a "
        "letter",
        "pol.yaml:9: policies_cfg.light.lerning_starts: unknown setting; did you mean learning_starts?",
        "pol.yaml:11: policies_cfg.light.max_grad_norm: another spelling of max_norm, which is set too; keep one",
        "pol.yaml:12: policies_cfg.light.batch_sise: unknown setting; did you mean batch_size?",
        "pol.yaml:13: policies_cfg.light.max_kl: unknown setting; it is a setting of TRPO, and algo_name is DQN",
        "pol.yaml:14: policies_cfg.judge: agents is missing; expected text or a list, each item text",
        "pol.yaml:15: policies_cfg.five: got 5; expected lines of the form name: value",
        "pol.yaml:16: policies_cfg.other.agents: got []; expected names of agents, or patterns such as car_*",
        "pol.yaml:16: policies_cfg.other.opponents: got 1; expected a mapping (name: value) or null",
        "pol.yaml:17: policies_cfg.past.opponents.past: got 2; expected a number from 0 to 1",
        "pol.yaml:17: policies_cfg.past.opponents.evry: unknown setting; did you mean every?",
        "pol.yaml:18: policies_cfg.nix.algo_name: unknown name 'PPPO'; did you mean PPO? "
        "(python main.py list algos shows all)",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policies_cfg: 5", "pol.yaml:1: policies_cfg: got 5; expected policies, as NAME: {agents: PATTERN, "
                            "setting: value}"),
        ("policies_cfg: [a]", 'pol.yaml:1: policies_cfg: got ["a"]; expected policies, as NAME: {agents: PATTERN, '
                              "setting: value}"),
        ("policy_cfg: {a: {agents: x}}", "pol.yaml:1: policy_cfg: not inside a section (general_cfg, algo_cfg or "
                                         "env_cfg); did you mean policies_cfg?"),
        ("policies_cfg: {a: {agents: x, learning_rate: 1}}",
         "pol.yaml:1: policies_cfg.a.learning_rate: unknown setting; it is called lr here"),
        ("policies_cfg: {a: {agents: x, seed: 1}}",
         "pol.yaml:1: policies_cfg.a.seed: unknown setting; it belongs under general_cfg"),
        ("policies_cfg: {a: {agents: x}}\ngeneral_cfg: {agents: y}",
         "pol.yaml:2: general_cfg.agents: unknown setting; it belongs under policies_cfg.a"),
        ("policies_cfg: {a: {agents: x, agents: y}}",
         "pol.yaml:1: policies_cfg.a.agents: written twice, first at pol.yaml:1; keep one"),
        ("policies_cfg: {a: {agents: x, learning_starts: 0, batch_size: 9, buffer_size: 8}}",
         "pol.yaml:1: policies_cfg.a.batch_size: 9 is more than buffer_size, 8"),
        ("policies_cfg: {a: {agents: x, learning_starts: 0, buffer_size: 8}}",
         "default of DQN: policies_cfg.a.batch_size: 64 is more than buffer_size, 8; you have set "
         "policies_cfg.a.buffer_size (pol.yaml:1): change that, or set policies_cfg.a.batch_size, too"),
        ("algo_cfg: {batch_size: 9, learning_starts: 0}\npolicies_cfg: {a: {agents: x, buffer_size: 8}}",
         "pol.yaml:1: policies_cfg.a.batch_size: 9 is more than buffer_size, 8"),
        ("policies_cfg: {a: {agents: x, joint: true, agent_id: true}}",
         "pol.yaml:1: policies_cfg.a.agent_id: agents that are controlled as one have their places in the "
         "observation; leave it out"),
        ("policies_cfg: {a: {agents: x, algo_name: Random, train: true}}",
         "pol.yaml:1: policies_cfg.a.train: this algorithm does not learn; leave it out"),
        ("policies_cfg: {a: {agents: x, algo_name: Random, opponents: {past: 1}}}",
         "pol.yaml:1: policies_cfg.a.opponents: a policy that does not learn has no earlier versions; leave it out, "
         "or set train: true"),
        ("general_cfg: {score_policy: a}",
         "pol.yaml:1: general_cfg.score_policy: names no policy of policies_cfg; policies: none"),
        ("general_cfg: {algo_name: Random}",
         "pol.yaml:1: general_cfg.algo_name: does not learn; it is for an opponent in policies_cfg"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence(file: Callable[[str], Path], text: str, message: str) -> None:
    assert refused(file(text)) == [message]


def joint_algorithm(name: str) -> ModuleType:
    """DQN under another name, which controls all agents as one."""
    if name != "Together":
        return algos.get(name)
    package = ModuleType("algos.together")
    package.NAME, package.ALIASES = "Together", ()
    package.Config = type("Config", (algos.get("DQN").Config,), {"JOINT": True, "__module__": __name__})
    return package


def test_an_algorithm_that_controls_all_agents_as_one_cannot_do_otherwise() -> None:
    finder = Finder(joint_algorithm, algos.available)
    words = ("policies_cfg.a.agents=x", "policies_cfg.a.algo_name=Together")
    policy = load(None, words, find_algo=finder, find_env=ENVS).policies["a"]
    assert (policy.joint, policy.is_joint, policy.adds_id) == (None, True, False)
    with pytest.raises(ConfigError, match=r"policies_cfg\.a\.joint: this algorithm controls all agents of a policy"):
        load(None, [*words, "policies_cfg.a.joint=false"], find_algo=finder, find_env=ENVS)


# ---------------------------------------------------------------------------------------- code of the user's own


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that leaves a file when it is imported."""
    (tmp_path / "picking.py").write_text(
        f"open({str(tmp_path / 'imported')!r}, 'w')\ndef cars(agent):\n    return agent[0] == 'c'\nnumber = 5\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "imported"


def test_a_function_that_chooses_agents_is_imported_with_permission_alone(module: Path) -> None:
    """SEC-3"""
    word = "policies_cfg.a.agents=picking:cars"
    problem = "command line: policies_cfg.a.agents: imports picking; to allow it, add --allow-import picking"
    assert refused(None, word) == [problem]
    assert not module.exists()
    policy = loaded(None, word, allow_import=["picking"]).policies["a"]
    assert (policy.selector, policy.patterns) == ("picking:cars", [])
    assert list(policy.own()) == [("agents", "picking:cars")]
    for name, why in (("nix", "module picking has no 'nix'"), ("number", "picking:number is not a function")):
        assert refused(None, f"policies_cfg.a.agents=picking:{name}", allow_import=["picking"]) == [
            f"command line: policies_cfg.a.agents: {why}"
        ]


def test_a_layer_of_the_users_own_in_a_policy_needs_permission_too(module: Path) -> None:
    """SEC-3: written in algo_cfg, it is reported once."""
    layers = "value_layers=[{layer_type: custom, module: picking:cars}]"
    end = "imports picking; to allow it, add --allow-import picking"
    assert refused(None, "policies_cfg.a.agents=x", f"policies_cfg.a.{layers}") == [
        f"command line: policies_cfg.a.value_layers: {end}"
    ]
    assert refused(None, "policies_cfg.a.agents=x", f"algo_cfg.{layers}") == [
        f"command line: algo_cfg.value_layers: {end}"
    ]
    assert not module.exists()


def test_a_function_that_python_gives_travels_with_the_configuration() -> None:
    from config.own import objects as own

    def lights(agent: str) -> bool:
        return agent.startswith("light")

    config = loaded(values=own.by_name({"policies_cfg": {"a": {"agents": lights}}}))
    assert config.policies["a"].selector == "lights"
    assert config.objects == {"lights": lights}


# ------------------------------------------------------------------------------------------------- as a file


def test_config_yaml_gives_the_same_configuration_again(traffic: RunConfig, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(traffic.to_yaml())
    again = loaded(path)
    assert again.as_dict() == traffic.as_dict()
    assert again.policies == traffic.policies
    assert again.to_yaml() == traffic.to_yaml()


def test_config_yaml_has_what_a_policy_does_not_inherit_with_each_help_text_once(traffic: RunConfig) -> None:
    text = traffic.to_yaml()
    plain = yaml.safe_load(text)["policies_cfg"]
    general = ["agents", "algo_name", "train", "joint", "agent_id", "load", "opponents", "evaluate_against"]
    assert list(plain["car1"]) == [*general, "gamma"]
    assert list(plain["car2"]) == general
    assert list(plain["judge"]) == [*general, "lr"]
    assert {"gamma", "value_layers", "lr"} <= set(plain["light"])
    assert text.count("# Algorithm of the policy; null") == 1
    assert "\n    gamma: 0.85  # Discount factor.\n" in text
    changed = yaml.safe_load(traffic.to_yaml())
    assert list(changed) == ["general_cfg", "algo_cfg", "env_cfg", "policies_cfg"]


def test_without_policies_nothing_names_them() -> None:
    config = loaded()
    assert list(config.as_dict()) == ["general_cfg", "algo_cfg", "env_cfg"]
    assert "polic" not in "".join(line for line in config.to_yaml().splitlines() if not line.lstrip().startswith("#"))
    assert "score_policy" not in config.as_dict()["general_cfg"]
    assert loaded(None, "policies_cfg.a.agents=x").as_dict()["general_cfg"]["score_policy"] is None


def test_params_have_every_setting_of_every_policy(traffic: RunConfig) -> None:
    plain = json.loads(json.dumps(traffic.as_dict()))["policies_cfg"]
    assert set(plain["car2"]) == {*policies.PolicyConfig.model_fields, *algos.get("PPO").Config.model_fields}
    assert plain["car2"]["lr"] == 7e-4
    assert list(traffic.sections())[3:] == [f"policies_cfg.{name}" for name in traffic.policies]


def test_settings_that_no_policy_reads_are_noted() -> None:
    words = ("general_cfg.algo_name=PPO", "policies_cfg.a.agents=x", "algo_cfg.kl_target=0.5")
    assert "not used: algo_cfg.kl_target (ppo_type is clip)" in loaded(None, *words).notes
    assert not any("not used" in note for note in loaded(None, *words, "policies_cfg.a.ppo_type=kl").notes)
    words_of_dqn = ("general_cfg.preset=null", "algo_cfg.lr=1")
    other = loaded(None, *words_of_dqn, "policies_cfg.a.agents=x", "policies_cfg.a.algo_name=PPO")
    assert "not used: algo_cfg.lr (no policy has algo_name DQN)" in other.notes
    mine = loaded(None, *words[:2], "policies_cfg.a.kl_target=0.5").notes
    assert "not used: policies_cfg.a.kl_target (ppo_type is clip)" in mine


# ------------------------------------------------------------------------------------------------------- resume

SPEC = EnvSpec("CartPole-v1", Box(-1, 1, (2,)), Discrete(2), 1)


def of_run(*words: str, **options: Any) -> RunConfig:
    return load(None, words, find_algo=ALGOS, find_env=ENVS, **options)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two policies with a checkpoint."""
    monkeypatch.chdir(tmp_path)
    words = (
        "general_cfg.algo_name=PPO",
        "policies_cfg.a={agents: [a_*]}",
        "policies_cfg.b={agents: b, algo_name: DQN}",
        "general_cfg.preset=null",
    )
    first = of_run("general_cfg.seed=5", *words)
    made = resume.start(first, SPEC)
    made.task.config.write_text(first.to_yaml())
    facts = {**identity.identity(first, SPEC), "config": resume.plain(first)}
    made.store.save(100, {"number": 100}, replay(), facts)
    made.task.close()
    return made.task.path


def test_the_directory_of_a_run_names_all_algorithms(task: Path) -> None:
    assert task.name.startswith("Train_CartPole-v1_PPO+DQN_")
    [listed] = task_list.find_runs(root=task.parent)
    assert listed.algorithm == "PPO+DQN"
    assert html_report._title(load_task_config(task).settings()) == "PPO+DQN on CartPole-v1"
    table = html_report.settings_table(load_task_config(task).settings()).replace("<wbr>", "")
    assert "policies_cfg.b.algo_name</td><td>DQN</td><td>null" in table
    assert "policies_cfg.b.lr" not in table, "it has its default"


def test_what_makes_another_policy_may_not_change_in_a_resumed_run(task: Path) -> None:
    """RES-5"""
    saved = CheckpointStore(task / "models").newest(print)
    same = of_run(resume=str(task))
    assert load_task_config(task).note == "", "what a policy inherits is not missing in config.yaml"
    assert resume.changes(same, saved) == ()
    identity.check_identity(saved, same, SPEC)
    words = ("policies_cfg.b.lr=0.5", "algo_cfg.lr=0.25", "algo_cfg.gamma=0.5", "policies_cfg.b.train=false")
    with pytest.raises(ConfigError) as caught:
        resume.changes(of_run(*words, resume=str(task)), saved)
    end = "cannot change in a resumed run; start a new run for that"
    assert list(caught.value.problems) == [
        f"command line: algo_cfg.gamma: 0.99 -> 0.5: {end}",
        f"command line: policies_cfg.a.gamma: 0.99 -> 0.5: {end}",
        f"command line: policies_cfg.b.train: True -> False: {end}",
    ]
    assert resume.changes(of_run(*words[:2], resume=str(task)), saved) == (
        "algo_cfg.lr: 0.0005 -> 0.25", "policies_cfg.a.lr: 0.0005 -> 0.25", "policies_cfg.b.lr: 0.0005 -> 0.5",
    )  # fmt: skip


def test_other_policies_are_another_run(task: Path) -> None:
    saved = CheckpointStore(task / "models").newest(print)
    more = of_run("policies_cfg.c.agents=c", resume=str(task))
    with pytest.raises(ConfigError, match=r"command line: policies_cfg\.c: cannot be added in a resumed run"):
        resume.changes(more, saved)
    with pytest.raises(CheckpointError, match=r"has the policies .*'agents': \['a_\*'\].*this config says"):
        identity.check_identity(saved, more, SPEC)
    path = task / "config.yaml"
    path.write_text(path.read_text().partition("\n  b:")[0] + "\n")
    config = load_task_config(task)
    assert "lacks" in config.note, "a truncated file is restored from the checkpoint"
    assert list(of_run(resume=str(task)).policies) == ["a", "b"]
    with pytest.raises(ConfigError, match=r"policies_cfg\.b: cannot be left out in a resumed run"):
        resume.changes(of_run("policies_cfg.a.agents=[a_*]", "general_cfg.algo_name=PPO"), saved)
    with pytest.raises(ConfigError) as caught:
        of_run("policies_cfg.b.algo_name=SAC", resume=str(task))
    assert caught.value.problems == (f"{task} was trained with DQN, and policies_cfg.b.algo_name is SAC",)
    for manifest in task.glob("models/*/manifest.json"):
        manifest.unlink()
    path.write_text("services: {}\n")
    with pytest.raises(ConfigError, match=r"config.yaml: there is no general_cfg.algo_name: these are not the "):
        of_run(resume=str(task))


# ---------------------------------------------------------------------------------- schema, describe, convert


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema.schema(ALGOS, ENVS))


def test_the_schema_knows_policies_with_the_settings_of_any_algorithm(
    validator: jsonschema.Draft202012Validator, traffic: RunConfig
) -> None:
    """CFG-10"""
    validator.validate(yaml.safe_load(TRAFFIC.replace("1e-5", "0.00001")))
    validator.validate(yaml.safe_load(traffic.to_yaml()))
    validator.validate({"policies_cfg": {"a": {"agents": "x", "algo_name": "my.algo", "anything": 1}}})
    validator.validate({"general_cfg": {"algo_name": "my.algo"}, "policies_cfg": {"a": {"agents": "x", "own": 1}}})
    for wrong in ({"a": {}}, {"a-b": {"agents": "x"}}, {"a": {"agents": "x", "batch_sise": 1}}, 5, {"a": 5},
                  {"a": {"agents": "x", "lr": "fast"}}, {"a": {"agents": "x", "opponents": {}}},
                  {"a": {"agents": "x", "algo_name": "PPOO"}}):  # fmt: skip
        assert list(validator.iter_errors({"policies_cfg": wrong})), wrong


def test_policies_are_described_and_converted() -> None:
    page = describe.describe("policies_cfg", ALGOS, ENVS)
    assert page == describe.describe("policies", ALGOS, ENVS)
    for key in policies.PolicyConfig.model_fields:
        assert f"- `{key}` (" in page
        assert f"- `{key}` (" in describe.describe(f"policies_cfg.{key}", ALGOS, ENVS)


def test_a_conversion_keeps_policies(file: Callable[[str], Path]) -> None:
    text = convert.converted(str(file(TRAFFIC)), ALGOS, ENVS)
    assert loaded(file(text)).policies == loaded(file(TRAFFIC)).policies


def test_a_policy_that_the_preset_does_not_have_replaces_all_policies_of_the_preset(tmp_path: Path) -> None:
    """Otherwise two sets of policies would share the agents. A setting of a policy of the preset changes that one."""
    (tmp_path / "game").mkdir()
    content = "# Return 9.\ngeneral_cfg: {algo_name: PPO, score_policy: red}\n"
    content += "policies_cfg: {red: {agents: r}, blue: {agents: b}}\n"
    (tmp_path / "game/PPO.yaml").write_text(content)
    given = {"algo": "PPO", "env": "game", "preset_root": tmp_path}
    kept = loaded(None, "policies_cfg.red.lr=0.5", **given)
    assert (list(kept.policies), kept.policies["red"].lr, kept.general.score_policy) == (["red", "blue"], 0.5, "red")
    other = loaded(None, "policies_cfg.all.agents=*", **given)
    assert (list(other.policies), other.general.score_policy) == (["all"], None)
    assert (kept.expected_return, other.expected_return) == (9.0, None)
    assert any("the policies of the preset (red, blue) are not used" in note for note in other.notes)
