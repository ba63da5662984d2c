"""Rewards are clipped where they are learned from, and nowhere else: n-step returns by hand, scores that stay raw."""

from pathlib import Path

import numpy as np
import pytest

import algos
from algos.base import Progress
from algos.common.settings import NetworkConfig
from config.model.memory_spec import RolloutSpec
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.memory import PerWorker, Rollout
from tests.tools.core import agent_of, collector_of, memory_of, ramp, replay, spec_of, toy_of

ROOT = Path(__file__).parents[3]
NETWORKS = [name for name in algos.available() if issubclass(algos.get(name).Config, NetworkConfig)]


def rewarded(*rewards):
    """A ramp of steps of one row with these rewards."""
    fragment = ramp(0, len(rewards), ends={(len(rewards) - 1, 0): "terminated"})
    fragment.columns["reward"][:] = np.array(rewards, np.float32)[:, None]
    return fragment


@pytest.mark.parametrize(
    ("kind", "returns"),
    [
        ("none", [3.0 - 0.5 * 2.0, -2.0 + 0.5 * 0.5, 0.5]),
        ("sign", [1.0 - 0.5, -1.0 + 0.5, 1.0]),
        ("clip", [1.0 - 0.5, -1.0 + 0.5 * 0.5, 0.5]),
    ],
)
def test_single_rewards_are_changed_before_two_of_them_are_added(kind, returns):
    """Rewards 3, -2 and 0.5, discounted by a half."""
    memory = replay(capacity=3, batch=64, n_step=2, reward_clip=kind)
    memory.add(rewarded(3.0, -2.0, 0.5))
    columns = memory.take(0.0).columns
    found = dict(zip(columns["obs"].ravel().tolist(), columns["reward"].ravel().tolist(), strict=True))
    assert found == pytest.approx(dict(zip((0.0, 1.0, 2.0), returns, strict=True)))


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "HierarchicalDQN"])
def test_every_network_that_learns_from_rewards_hands_the_setting_to_its_memory(name):
    """HierarchicalDQN refuses it: it sums rewards as they are."""
    kind = algos.get(name).Config
    assert kind().memory(2).reward_clip == "none"
    assert kind(reward_clip="sign").memory(2).reward_clip == "sign"


def test_windows_are_clipped_and_the_fragment_is_not():
    fragment = rewarded(3.0, -2.0, 0.0)
    for memory in (Rollout(RolloutSpec(3, reward_clip="sign")), PerWorker(RolloutSpec(3, reward_clip="sign"), 1)):
        memory.add(fragment)
        assert memory.take(0.0).columns["reward"].ravel().tolist() == [1.0, -1.0, 0.0]
        assert fragment.columns["reward"].ravel().tolist() == [3.0, -2.0, 0.0]


@pytest.mark.parametrize("algo", ["PPO", "DQN"])
def test_episodes_keep_the_return_of_the_environment(algo):
    """Rewards of two_step are multiplied by 5; the score is 5, and what is learned from is 1."""
    env = toy_of("two_step", 2)
    step = env.step
    env.step = lambda action: (out := step(action))._replace(reward=5 * out.reward)
    agent = agent_of(algo, spec_of(env), reward_clip="clip", batch_size=16)
    memory = memory_of(agent)
    episodes, fragment = [], None
    while (chunk := memory.take(0.0)) is None:
        fragment, ended = collector_of(env, agent).collect(8, Progress())
        memory.add(fragment)
        episodes += ended
    assert {episode.total for episode in episodes} == {5.0}
    assert fragment.columns["reward"].max() == 5.0
    assert chunk.columns["reward"].max() == 1.0


@pytest.mark.long
@pytest.mark.parametrize(("wish", "highest"), [({}, 10.0), ({"reward_clipping": True}, 1.0)])
def test_games_of_atari_are_scored_by_their_own_rewards(wish, highest):
    """A dot of Ms. Pac-Man is 10 points. The vector environment of ale_py makes that 1, unless it is told not to."""
    pytest.importorskip("ale_py")
    env = gym_env.make(Gym(id="ALE/MsPacman-v5", vectorization="native", **wish), 2)
    env.reset(np.ones(2, bool), np.array([1, 2]))
    rng = np.random.default_rng(0)
    assert max(env.step(rng.integers(0, 9, 2)).reward.max() for _ in range(120)) == highest
    env.close()


@pytest.mark.parametrize("preset", sorted((ROOT / "presets" / "_atari").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_presets_of_atari_learn_from_signs(preset):
    assert "reward_clip: sign" in preset.read_text()
