"""Names of algorithms: a folder is named as the algorithm, and a name of before leads to the one of today."""

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gymnasium.spaces import Box, Discrete

import algos
from algos.base import EnvSpec
from config.read import presets
from config.read.loader import ConfigError, RunConfig, load
from config.tell.names import nearest
from framework.assemble import identity
from framework.catalog import ALGOS, ENVS
from framework.errors import CheckpointError
from framework.runs import resume

SPEC = EnvSpec("CartPole-v1", Box(-1, 1, (2,)), Discrete(2), 1)
REMARK = "A3C is IMPALA here: workers send transitions, not gradients, and V-trace corrects their lag"


def config(*words: str, **options: Any) -> RunConfig:
    return load(None, words, find_algo=ALGOS, find_env=ENVS, **options)


@pytest.mark.parametrize("name", algos.available())
def test_the_folder_of_an_algorithm_is_its_name_in_lower_case(name: str) -> None:
    """algos.get imports that folder alone, and not all of them."""
    assert algos.get(name).__name__ == f"algos.{name.lower()}"


@pytest.mark.parametrize(("before", "now"), [("A3C", "IMPALA"), ("RandomPolicy", "Random")])
def test_an_earlier_name_is_the_same_algorithm(before: str, now: str) -> None:
    assert algos.get(before) is algos.get(before.lower()) is algos.get(now)
    assert before not in algos.available()


@pytest.mark.parametrize(("before", "now"), [("a3c", "impala"), ("random_policy", "random")])
def test_an_earlier_folder_can_be_imported(before: str, now: str) -> None:
    """An algorithm of a user's own may have such a family."""
    old, new = (importlib.import_module(f"algos.{name}") for name in (before, now))
    assert (old.NAME, old.Config) == (new.NAME, new.Config)
    family = importlib.import_module(f"algos.{before}.config").Config
    assert family.model_json_schema() == new.Config.model_json_schema()
    mine = SimpleNamespace(Config=type("Config", (family,), {"__module__": "mine.config"}))
    assert issubclass(algos.agent_class(SimpleNamespace(Config=family)), importlib.import_module("algos.base").Agent)
    assert mine.Config.model_fields.keys() == new.Config.model_fields.keys()


def test_the_earlier_path_of_a_preset_is_answered_with_the_present_one() -> None:
    folder = "CartPole-v1"
    path = presets.PRESETS / folder / "A3C.yaml"
    for name, now in ((str(path), f"{path.with_stem('IMPALA')}"), (f"{folder}/A3C", f"{folder}/IMPALA")):
        words = [] if name.endswith(".yaml") else [f"general_cfg.preset={name}"]
        with pytest.raises(ConfigError) as refused:
            load(name if not words else None, words, find_algo=ALGOS, find_env=ENVS)
        assert f"did you mean {now}?" in str(refused.value)


def test_every_earlier_name_with_a_remark_is_a_synonym() -> None:
    """A preset of the earlier name may be what a user types."""
    earlier = [(alias, name) for name in ALGOS.available() for alias in getattr(ALGOS.get(name), "REMARKS", {})]
    assert ("A3C", "IMPALA") in earlier
    for alias, name in earlier:
        assert nearest(f"x/{alias}.yaml", [f"x/{name}.yaml", f"x/{alias[:-1]}.yaml"]) == f"x/{name}.yaml"


@pytest.mark.parametrize(
    "words", [("general_cfg.algo_name=a3c",), ("policies_cfg.p.algo_name=A3C", "policies_cfg.p.agents='*'")]
)
def test_a_config_of_before_is_read_with_a_remark(words: tuple[str, ...]) -> None:
    read = config(*words)
    name = read.policies["p"].algo_name if read.policies else read.general.algo_name
    assert name == "IMPALA"
    assert REMARK in read.notes
    assert REMARK not in config("general_cfg.algo_name=IMPALA").notes


def test_a_command_of_before_finds_the_preset() -> None:
    read = config(algo="A3C", env="CartPole-v1")
    assert Path(read.preset or "").name == "IMPALA.yaml"
    assert (read.general.algo_name, read.algo.batch_size) == ("IMPALA", 128)
    assert read.algo == config(algo="IMPALA", env="CartPole-v1").algo


def saved(read: RunConfig, algo: str) -> Any:
    """A checkpoint as it was saved when the algorithm had this name."""
    sections = resume.plain(read)
    sections["general_cfg"]["algo_name"] = algo
    return SimpleNamespace(
        facts={**identity.identity(read, SPEC), "algo": algo, "config": sections}, path=Path("models/5")
    )


def test_a_checkpoint_of_before_goes_on() -> None:
    read = config("general_cfg.algo_name=IMPALA", "general_cfg.seed=1")
    before = saved(read, "A3C")
    identity.check_identity(before, read, SPEC)
    assert resume.changes(read, before) == ()
    other = saved(read, "A2C")
    with pytest.raises(CheckpointError, match="trained with A2C, and this config says IMPALA"):
        identity.check_identity(other, read, SPEC)
    with pytest.raises(ConfigError, match="algo_name: A2C -> IMPALA: cannot change in a resumed run"):
        resume.changes(read, other)


@pytest.mark.long
def test_policies_of_before_go_on() -> None:
    pytest.importorskip("mpe2", reason="needs PettingZoo")
    words = (
        "policies_cfg.a.algo_name=A3C",
        "policies_cfg.a.agents=x",
        "policies_cfg.b.algo_name=DQN",
        "policies_cfg.b.agents=y",
    )
    read = config(*words, "general_cfg.seed=1", "general_cfg.env_name=pettingzoo", "env_cfg.id=mpe/simple_spread_v3")
    before = saved(read, "A3C+DQN")
    before.facts["policies"]["a"]["algo"] = "A3C"
    before.facts["config"]["general_cfg"]["algo_name"] = read.general.algo_name
    before.facts["config"]["policies_cfg"]["a"]["algo_name"] = "A3C"
    identity.check_identity(before, read, SPEC)
    assert resume.changes(read, before) == ()
