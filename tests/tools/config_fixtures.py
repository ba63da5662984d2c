"""A stub environment, and folders with earlier runs and presets, for the tests of config and command line."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from pydantic import ConfigDict

import algos
from config.model.fields import Problem
from config.model.schema import EnvConfig
from config.read.loader import Finder, RunConfig, load

QUICKSTART = Path(__file__).parents[1] / "data" / "quickstart.yaml"


class GymConfig(EnvConfig):
    """A kind of environment that passes unknown keys on."""

    model_config = ConfigDict(extra="allow")
    ALIASES: ClassVar = {"wrapper": "wrappers"}
    id: str = "CartPole-v1"
    """Name of the environment."""
    wrappers: list[Any] | None = None
    """Layers around it."""


def check(cfg: GymConfig) -> Iterator[Problem]:
    for key in cfg.model_extra or {}:
        if key not in ("is_slippery", "word"):
            yield Problem(key, f"{cfg.id} has no such argument")


def find_env(name: str) -> ModuleType:
    if name.lower() != "gym":
        raise LookupError(name)
    package = ModuleType("envs.gym", "Environments of gymnasium.")
    package.Config, package.check = GymConfig, check
    return package


ALGOS = Finder(algos.get, algos.available)
ENVS = Finder(find_env, lambda: ["gym"])


def loaded(path: Path | None = None, *overrides: str, **options: Any) -> RunConfig:
    return load(path, overrides, find_algo=ALGOS, find_env=ENVS, **options)


@pytest.fixture
def task_root(tmp_path: Path) -> Path:
    root = tmp_path / "tasks"
    for name, text in {
        "Train_CartPole-v1_DQN_20260131-101500": "# Return 200 is expected.\n"
        + loaded(None, "general_cfg.preset=null", "algo_cfg.lr=0.5").to_yaml(),
        "Train_Pendulum-v1_PPO_20260131-101501": "general_cfg: {algo_name: PPO, load_model_step: 500, mode: test}",
    }.items():
        (root / name / "models").mkdir(parents=True)
        (root / name / "config.yaml").write_text(text)
    (root / "Train_old").mkdir()
    return root


@pytest.fixture
def preset_root(tmp_path: Path) -> Path:
    root = tmp_path / "presets"
    for name in ("Acrobot-v1/PPO", "ALE-Pong-v5/DQN", "_atari/PPO", "_mujoco/PPO", "_minatar/PPO"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        text = "env_cfg: {id: Acrobot-v1}\n" if name.startswith("Acrobot") else ""
        (root / f"{name}.yaml").write_text(f"# Return -85 in about 30 s: {name}\n{text}algo_cfg: {{lr: 0.01}}\n")
    return root
