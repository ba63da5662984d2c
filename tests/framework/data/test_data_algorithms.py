"""Every algorithm is a policy of the data layer: it acts, and learns from a buffer of the program's own."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest

import algos
import joystick
from algos.base import Progress
from framework.data.algorithm import AlgorithmPolicy
from framework.errors import JoystickError
from framework.loop.learner import AgentLearner, Learned
from framework.memory.chunk import Chunk
from framework.policies.rollout import SlotRollout
from joystick import Batch, CachedReplayBuffer, Collector, ConfigError, ReplayBuffer, VectorReplayBuffer

REFUSED = {
    "ValueIteration": "plans with a model",
    "PolicyIteration": "plans with a model",
    "DDPG_HER": "set it to 0",
    "SAC_HER": "set it to 0",
    "QMIX": "several agents",
    "VDN": "several agents",
    **dict.fromkeys(("MADDPG", "MASAC", "COMA", "HAPPO"), "several agents"),
    "MAPPO": "several agents",
    "Expert": "asks it only in a run",
    "FlashSAC": "normalize_reward: FlashSAC tracks the returns of a run; set it to false",
}
"""Algorithms that learn nothing from a buffer of single transitions, and words of the message."""


def env_of(algo: str) -> str:
    config = algos.get(algo).Config
    if "Box" not in config.OBSERVATION_SPACES:
        return "FrozenLake-v1"
    return "CartPole-v1" if "Discrete" in config.ACTION_SPACES else "Pendulum-v1"


@pytest.mark.parametrize("algo", sorted({*algos.learning()} - {*REFUSED}))
def test_every_algorithm_collects_and_learns(algo: str) -> None:
    envs = [env_of(algo)] * 2
    policy = joystick.policy(algo, envs, seed=1)
    train = Collector(policy, envs, VectorReplayBuffer(2000, 2), seed=1)
    before = {name: value.copy() for name, value in policy.weights().items()}
    collected = train.collect(n_step=60)
    if "FrozenLake" in envs[0]:
        train.buffer._rings.flat["rew"][:] = 1.0  # random walks seldom reach the goal
    for _ in range(2):
        metrics = policy.update(16 if hasattr(policy.agent.cfg, "buffer_size") else 0, train.buffer)
    assert policy.steps == collected["n/st"] == 60
    assert metrics
    assert np.isfinite(list(metrics.values())).all()
    assert policy.updates > 0
    assert any(not np.array_equal(before[name], value) for name, value in policy.weights().items())
    assert Collector(policy, envs[0], seed=2).collect(n_episode=1)["n/ep"] == 1


def test_an_observation_that_is_not_finite_is_refused() -> None:
    policy = joystick.policy("PPO", ["CartPole-v1"], seed=1)
    with pytest.raises(JoystickError, match=r"^PPO: the observation is not finite: \[\[ ?0"):
        policy(Batch(obs=np.array([[0, np.nan, 0, 0]], np.float32)))
    policy(Batch(obs=np.zeros((1, 4), np.float32)))


def test_what_only_the_memory_of_a_run_knows_is_refused_by_its_setting() -> None:
    assert joystick.policy("FlashSAC", "Pendulum-v1", normalize_reward=False).name == "FlashSAC"
    with pytest.raises(ConfigError, match="bc_critic: TD3 needs the next action"):
        joystick.policy("TD3", "Pendulum-v1", bc_critic=0.1)


@pytest.mark.parametrize("algo", REFUSED)
def test_an_algorithm_that_learns_from_something_else_is_refused(algo: str) -> None:
    with pytest.raises(ConfigError, match=REFUSED[algo]):
        joystick.policy(algo, env_of(algo))


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"lrr": 1}, "did you mean lr"), ({"lr": "fast"}, "expected a number"), ({"n_step": 0}, "n_step")],
)
def test_settings_are_checked_as_strictly_as_those_of_a_run(settings: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        joystick.policy("DQN", "CartPole-v1", **settings)


def test_an_algorithm_and_an_environment_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="SAC needs actions that are Box"):
        joystick.policy("SAC", "CartPole-v1")
    with pytest.raises(ConfigError, match="did you mean PPO"):
        joystick.policy("PPPO", "CartPole-v1")


def learned_from(policy: AlgorithmPolicy, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Returns a list that gets the columns of each chunk that the policy learns from."""
    chunks = []
    learn = AgentLearner.learn

    def recorded(self: AgentLearner, chunk: Chunk, progress: Progress) -> Learned:
        chunks.append(chunk.columns)
        return learn(self, chunk, progress)

    monkeypatch.setattr(AgentLearner, "learn", recorded)
    return chunks


def transitions(buffer: ReplayBuffer, rewards: int, terminated: tuple[int, ...], truncated: tuple[int, ...]) -> None:
    """Adds steps with the rewards 1, 2, ... and observations that count them."""
    for i in range(rewards):
        obs = np.full(4, i, np.float32)
        buffer.add(
            obs=obs, act=0, rew=i + 1.0, terminated=i in terminated, truncated=i in truncated, obs_next=obs + 1,
        )  # fmt: skip


def test_samples_have_the_n_step_returns_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = joystick.policy("DQN", "CartPole-v1", n_step=2, gamma=0.9)
    buffer = ReplayBuffer(20)
    transitions(buffer, 9, terminated=(2,), truncated=(5,))
    chunks = learned_from(policy, monkeypatch)
    policy.update(64, buffer)
    place = chunks[0]["obs"][0, :, 0].astype(int)
    # 1 + 0.9 * 2, 2 + 0.9 * 3, 3 | 4 + 0.9 * 5, 5 + 0.9 * 6, 6 | 7 + 0.9 * 8, 8 + 0.9 * 9, 9
    expected = np.array([2.8, 4.7, 3, 8.5, 10.4, 6, 14.2, 16.1, 9])
    factors = np.array([0.81, 0, 0, 0.81, 0.81, 0.9, 0.81, 0.81, 0.9])
    after = np.array([2, 3, 3, 5, 6, 6, 8, 9, 9])
    assert set(place.tolist()) == set(range(9))
    assert chunks[0]["reward"][0] == pytest.approx(expected[place])
    assert chunks[0]["discount"][0] == pytest.approx(factors[place])
    assert chunks[0]["next_obs"][0, :, 0].tolist() == after[place].tolist()


def test_fresh_transitions_are_a_window_with_a_column_for_each_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = joystick.policy("A2C", ["CartPole-v1"] * 2)
    train = Collector(policy, ["CartPole-v1"] * 2, VectorReplayBuffer(400, 2))
    train.collect(n_step=40)
    chunks = learned_from(policy, monkeypatch)
    policy.update(0, train.buffer)
    stored = train.buffer.sample(0)[0]
    assert chunks[0]["obs"].shape == (20, 2, 4)
    assert np.array_equal(chunks[0]["obs"][:, 1], stored.obs[20:])
    assert np.array_equal(chunks[0]["terminated"][:, 0], stored.terminated[:20])


def test_new_observations_are_counted_once_also_after_the_buffer_was_emptied() -> None:
    policy = joystick.policy("DQN", "CartPole-v1", normalize_obs=True)
    train = Collector(policy, "CartPole-v1", ReplayBuffer(1000))
    for expected in (100, 100, 200):
        if expected != policy_count(policy):
            train.collect(n_step=100)
        policy.update(32, train.buffer)
        assert policy_count(policy) == expected
    train.reset_buffer()
    train.collect(n_step=50)
    policy.update(32, train.buffer)
    assert policy_count(policy) == 250


def test_visits_are_counted_without_a_normalizer() -> None:
    policy = joystick.policy("DQN", "FrozenLake-v1", bonus="count")
    train = Collector(policy, "FrozenLake-v1", ReplayBuffer(1000))
    train.collect(n_step=100)
    policy.update(32, train.buffer)
    begun, ended = 100, int(train.buffer.done.sum())
    assert sum(policy.agent.bonus.counts.values()) == begun + ended


def policy_count(policy: AlgorithmPolicy) -> int:
    """Returns the number of observations that the statistics have seen."""
    return round(float(policy.agent.normalizer.moments.count))


def test_exploration_is_off_in_tests_and_its_schedule_follows_the_collected_steps() -> None:
    policy = joystick.policy("DQN", "CartPole-v1", epsilon_start=1.0, epsilon_end=0.0, epsilon_decay=50)
    obs = Batch(obs=np.zeros((200, 4), np.float32))
    with policy.phase(training=False):
        assert len(set(policy(obs).act.tolist())) == 1
    with policy.phase(training=True):
        assert len(set(policy(obs).act.tolist())) == 2
        for _ in range(20):
            policy(obs)
        assert len(set(policy(obs).act.tolist())) == 1
    assert policy.steps == 22 * 200


def test_epochs_and_minibatches_can_be_given_with_the_update() -> None:
    policy = joystick.policy("PPO", "CartPole-v1")
    train = Collector(policy, "CartPole-v1", ReplayBuffer(1000))
    train.collect(n_step=100)
    policy.update(0, train.buffer, batch_size=25, repeat=3)
    assert policy.updates == 12


@pytest.mark.parametrize(
    ("algo", "size", "words"), [("DQN", 0, "number of samples"), ("PPO", 64, r"update\(0, buffer\)")]
)
def test_the_wrong_kind_of_update_is_refused(algo: str, size: int, words: str) -> None:
    policy = joystick.policy(algo, "CartPole-v1")
    train = Collector(policy, "CartPole-v1", ReplayBuffer(100))
    train.collect(n_step=20)
    with pytest.raises(JoystickError, match=words):
        policy.update(size, train.buffer)


def test_buffers_that_an_algorithm_cannot_learn_from_are_refused() -> None:
    envs = ["CartPole-v1"] * 2
    policy = joystick.policy("DQN", envs[0])
    with pytest.raises(JoystickError, match="empty"):
        policy.update(8, ReplayBuffer(10))
    stacked = ReplayBuffer(10, stack_num=2)
    Collector(policy, envs[0], stacked).collect(n_step=5)
    with pytest.raises(JoystickError, match="wrapper"):
        policy.update(8, stacked)
    scaled = joystick.policy("PPO", envs, normalize_reward=True)
    train = Collector(scaled, envs, ReplayBuffer(1000))
    train.collect(n_episode=2)
    with pytest.raises(JoystickError, match=r"VectorReplayBuffer\(size, 2\)"):
        scaled.update(0, train.buffer)


def test_weights_can_be_carried_to_another_policy() -> None:
    one, other = (joystick.policy("PPO", "CartPole-v1", seed=seed).eval() for seed in (1, 2))
    obs = Batch(obs=np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32))
    assert not np.array_equal(one(obs).act, other(obs).act)
    other.set_weights(one.weights())
    assert np.array_equal(one(obs).act, other(obs).act)


# what an update has to leave for the next one -----------------------------------------------------------------


def learned_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes the number of transitions in each window that is learned from."""
    counts, original = [], AgentLearner.learn

    def learn(self: AgentLearner, chunk: Chunk, progress: Progress) -> Learned:
        valid = chunk.columns.get("valid")
        counts.append(chunk.columns["reward"].size if valid is None else int(valid.sum()))
        return original(self, chunk, progress)

    monkeypatch.setattr(AgentLearner, "learn", learn)
    return counts


@pytest.mark.parametrize(
    ("algo", "settings"), [("Sarsa", {}), ("QLearning", {"n_step": 3}), ("MonteCarlo", {}), ("REINFORCE", {})]
)
def test_transitions_that_wait_for_later_ones_are_learned_from_in_a_later_update(
    algo: str, settings: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    envs = [lambda: gymnasium.make(env_of(algo), max_episode_steps=20)] * 4
    policy, counts = joystick.policy(algo, envs, seed=1, **settings), learned_steps(monkeypatch)
    train = Collector(policy, envs, VectorReplayBuffer(400, 4), seed=1)
    for _ in range(60):
        train.collect(n_step=4)
        policy.update(0, train.buffer)
        train.reset_buffer()
    lengths = 20 if policy.memory.unit == "episodes" else policy.memory.overlap
    assert 240 - 4 * lengths <= sum(counts) <= 240
    assert all(counts), "no window is empty"


def test_what_waits_is_broken_off_where_other_episodes_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    ends, original = [], SlotRollout.drain

    def drain(self: SlotRollout) -> Iterator[Chunk]:
        for chunk in original(self):
            ends.append((chunk.columns["obs"].ravel().tolist(), chunk.columns["truncated"].ravel().tolist()))
            yield chunk

    monkeypatch.setattr(SlotRollout, "drain", drain)
    policy, buffer = joystick.policy("MonteCarlo", "FrozenLake-v1", seed=1), ReplayBuffer(10)
    for obs, after, end in ((0, 1, False), (1, 2, False), (5, 6, False), (6, 7, True)):
        if obs == 5:  # the program has reset its environment
            policy.update(0, buffer)
            buffer.reset()
        buffer.add(obs=obs, act=0, rew=1.0, terminated=end, truncated=False, obs_next=after)
    policy.update(0, buffer)
    assert ends == [([0, 1, 5, 6], [False, True, False, False])]


def test_a_buffer_that_still_holds_what_waits_gives_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, counts = joystick.policy("Sarsa", "FrozenLake-v1", seed=1), learned_steps(monkeypatch)
    train = Collector(policy, "FrozenLake-v1", ReplayBuffer(50), seed=1)
    train.collect(n_step=10)
    for _ in range(2):
        policy.update(0, train.buffer)
    ends = int(train.buffer[:].done[-1])
    assert sum(counts) == 2 * (9 + ends)


def test_each_buffer_gives_its_observations_once() -> None:
    envs = ["CartPole-v1"] * 2
    policy = joystick.policy("DQN", envs, normalize_obs=True, epsilon_start=1.0, epsilon_end=1.0)
    demonstrations = VectorReplayBuffer(1000, 2)
    Collector(policy, envs, demonstrations, seed=5).collect(n_step=10)
    train = Collector(policy, envs, VectorReplayBuffer(1000, 2), seed=1)
    for _ in range(5):
        train.collect(n_step=20)
        policy.update(16, demonstrations)
        policy.update(16, train.buffer)
    assert policy_count(policy) == 110


def test_a_buffer_that_was_emptied_between_two_updates_gives_all_that_is_new() -> None:
    policy = joystick.policy("DQN", "CartPole-v1", normalize_obs=True)
    train = Collector(policy, "CartPole-v1", ReplayBuffer(1000), seed=1)
    for _ in range(3):
        train.collect(n_step=20)
        policy.update(4, train.buffer)
        train.reset_buffer()
    assert policy_count(policy) == 60


def test_an_episode_that_moves_from_its_cache_gives_its_observations_once() -> None:
    envs = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=50)] * 2
    policy = joystick.policy("DQN", envs, normalize_obs=True)
    main = ReplayBuffer(1000)
    train = Collector(policy, envs, CachedReplayBuffer(main, 2, 60), seed=1)
    for _ in range(30):
        train.collect(n_step=10)
        policy.update(16, train.buffer)
    assert policy_count(policy) == len(main)
    assert 200 < len(main) < 300


def test_rows_that_rest_are_no_steps_of_the_schedules() -> None:
    envs = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=2)] * 3
    envs.append(lambda: gymnasium.make("CartPole-v1", max_episode_steps=9))
    policy = joystick.policy("DQN", envs, seed=1)
    result = Collector(policy, envs, VectorReplayBuffer(100, 4), seed=1).collect(n_episode=4)
    assert policy.steps == result["n/st"] == 3 * 2 + 9


def test_a_copy_of_a_policy_has_learned_from_no_buffer() -> None:
    policy = joystick.policy("DQN", "CartPole-v1", normalize_obs=True)
    train = Collector(policy, "CartPole-v1", ReplayBuffer(100), seed=1)
    train.collect(n_step=20)
    policy.update(4, train.buffer)
    twin = copy.deepcopy(policy)
    twin.update(4, train.buffer)
    assert policy_count(twin) == 40


# what a program has stored itself -----------------------------------------------------------------------------


def stored(obs: np.ndarray, act: Any) -> ReplayBuffer:
    buffer = ReplayBuffer(30)
    for _ in range(20):
        buffer.add(obs=obs, act=act, rew=1, terminated=False, truncated=False, obs_next=obs)
    return buffer


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_observations_are_learned_from_in_the_type_of_their_space(dtype: str) -> None:
    policy = joystick.policy("DQN", "CartPole-v1", seed=1)
    assert np.isfinite(list(policy.update(8, stored(np.zeros(4, dtype), 1)).values())).all()
    policy(Batch(obs=np.zeros((2, 4), dtype)))


@pytest.mark.parametrize(
    ("obs", "act", "words"),
    [
        (np.zeros(3), 1, r"DQN: obs of the buffer has the shape \(3,\) and the type float64; expected values of Box"),
        (np.zeros(4), 7, r"DQN: act 7 is none of Discrete\(2\)"),
        (np.zeros(4), -1, r"DQN: act -1 is none of Discrete\(2\)"),
        (np.zeros(4), 0.5, r"DQN: act 0.5 is none of Discrete\(2\)"),
    ],
)
def test_what_is_none_of_a_space_is_refused(obs: np.ndarray, act: Any, words: str) -> None:
    with pytest.raises(JoystickError, match=words):
        joystick.policy("DQN", "CartPole-v1").update(8, stored(obs, act))


def test_an_algorithm_that_learns_from_its_own_actions_refuses_others() -> None:
    policy = joystick.policy("PPO", "CartPole-v1")
    with pytest.raises(JoystickError, match="random=True: the policy learns from its own actions"):
        Collector(policy, "CartPole-v1", ReplayBuffer(100)).collect(n_step=20, random=True)
    assert Collector(policy, "CartPole-v1").collect(n_episode=1, random=True)["n/ep"] == 1, "nothing is learned from it"
    with pytest.raises(JoystickError, match=r"have no policy\.log_prob"):
        policy.update(0, stored(np.zeros(4), 1))


def test_a_recurrent_algorithm_learns_from_random_actions() -> None:
    policy = joystick.policy("DRQN", "CartPole-v1", seed=1)
    train = Collector(policy, "CartPole-v1", ReplayBuffer(500), seed=1)
    train.collect(n_step=200, random=True)
    assert policy.update(4, train.buffer)


@pytest.mark.parametrize(
    "mask", [[[0, 0]] * 4, [[0, 1]], [0, 1], [[1]] * 4, [[1, 0, 1]] * 4, [[1, 0]] * 3, [["x", "y"]] * 4, "a"]
)
def test_a_mask_that_does_not_fit_is_refused(mask: Any) -> None:
    policy = joystick.policy("DQN", "CartPole-v1", seed=1).eval()
    obs = np.zeros((4, 4), np.float32)
    with pytest.raises(JoystickError, match="action_mask"):
        policy(Batch(obs=obs, action_mask=mask))
    assert policy(Batch(obs=obs, action_mask=[[0, 1]] * 4)).act.tolist() == [1] * 4


def test_a_recurrent_state_of_another_shape_is_refused() -> None:
    policy = joystick.policy("RecurrentPPO", "CartPole-v1", seed=1)
    obs = np.zeros((2, 4), np.float32)
    state = policy(Batch(obs=obs)).state
    for wrong in (state[:1], np.zeros((2, 3)), "a"):
        with pytest.raises(JoystickError, match="the state has shape"):
            policy(Batch(obs=obs), wrong)
    policy(Batch(obs=obs), state)


@pytest.mark.parametrize("algo", ["DQN", "PPO", "SAC", "RecurrentPPO"])
def test_a_policy_is_pickled(algo: str) -> None:
    """As for a process of one's own."""
    policy = joystick.policy(algo, env_of(algo), seed=1).eval()
    other = pickle.loads(pickle.dumps(policy))
    obs = np.ones((2, *policy.agent.spec.observation_space.shape), np.float32)
    assert np.array_equal(policy(Batch(obs=obs)).act, other(Batch(obs=obs)).act)
