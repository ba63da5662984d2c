"""Callbacks and foreach_env in a multi-agent environment: observations, actions, rewards and infos by agent."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import joystick
from tests.framework.record.test_agent_records import PPO

HEARD: list[list[Any]] = []


class Hears(joystick.Callbacks):
    METRICS = ("left",)

    def on_episode_start(self, *, episode: Any, env: Any) -> None:
        assert episode.last_action() is None
        episode.user_data["steps"] = [(episode.last_observation(), None, 0.0)]

    def on_episode_step(self, *, episode: Any, env: Any) -> None:
        rewards = {name: episode.last_reward(name) for name in {*env.possible_agents, *episode.last_observation()}}
        episode.user_data["steps"].append((episode.last_observation(), episode.last_action(), rewards))
        for name, obs in episode.last_observation().items():
            assert np.array_equal(episode.last_observation(name), obs)
        assert episode.last_reward() == sum(reward for reward in rewards.values() if reward is not None)
        assert episode.last_observation("nobody") is None
        assert episode.last_info("nobody") is None

    def on_episode_end(self, *, episode: Any, env: Any) -> None:
        HEARD.append(episode.user_data["steps"])
        episode.metrics["left"] = len(episode.last_observation())


def run_of(toy: str, folder: Path, **policies: list[str]) -> joystick.Run:
    settings = {"env_name": "toy", "general_cfg": {"save_fig": False}, "env_cfg": {"id": toy, "n_envs": 2}, "seed": 1}
    words = [f"policies_cfg.{name}.{word}" for name in policies for word in policies[name]]
    return joystick.Run("PPO", **settings, words=words, callbacks=Hears, into=folder)  # type: ignore[arg-type]


def test_callbacks_see_each_agent_by_name(tmp_path: Path) -> None:
    HEARD.clear()
    with run_of("scripted", tmp_path / "run", all=["agents=*", *PPO]) as run:
        result = run.train(12)
        assert run.foreach_env(lambda env, context: (env.possible_agents, context.vector_index), changes=False) == [
            (["p", "q", "r"], 0),
            (["p", "q", "r"], 1),
        ]
    assert result["custom"]["left"] == 2
    steps = HEARD[0]
    seen = [{name: float(obs[0]) for name, obs in observed.items()} for observed, _, _ in steps]
    assert seen[0] == {"p": 0, "q": 10}
    assert seen[2] == {"p": 2, "q": 12}
    assert seen[3] == {"p": 3, "r": 23}
    assert seen[6] == {"p": 6, "r": 26}
    acted = [None if actions is None else set(actions) for _, actions, _ in steps]
    assert acted == [None, {"p", "q"}, {"p", "q"}, {"p"}, {"p", "r"}, {"p", "r"}, {"p", "r"}]
    assert steps[2][2] == {"p": 2, "q": 10, "r": None}
    assert steps[4][2] == {"p": 4, "q": None, "r": -4}


def test_agents_with_changing_names_are_named(tmp_path: Path) -> None:
    HEARD.clear()
    with run_of("levels", tmp_path / "run", high=["agents=high_level", *PPO], low=["agents=low_level_*", *PPO]) as run:
        run.train(60)
    acted: dict[str, int] = defaultdict(int)
    for _, actions, _ in HEARD[0][1:]:
        for name in actions:
            acted[name] += 1
    assert acted == {"high_level": 3, "low_level_0": 4, "low_level_1": 4, "low_level_2": 4}


def test_a_single_agent_has_its_own_values(tmp_path: Path) -> None:
    class Plain(joystick.Callbacks):
        METRICS = ("sum",)

        def on_episode_end(self, *, episode: Any, env: Any) -> None:
            assert isinstance(episode.last_observation(), np.ndarray)
            episode.metrics["sum"] = episode.total_reward

    joystick.register("Plain", Plain)
    with joystick.Run("DQN", "CartPole-v1", seed=1, callbacks=Plain, into=tmp_path / "run") as run:
        result = run.train(100)
    assert result["custom"]["sum"] == result["return_mean"]
    assert result["policies"] == {}
