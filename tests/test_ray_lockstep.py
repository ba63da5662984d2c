"""With run_ahead 0, many processes are one: the same numbers, from the same code."""

import pytest

from tests.helpers_ray import EPISODES, RAY, same, train, weights

pytestmark = pytest.mark.xdist_group("ray")  # one after the other: each takes several processes

ALGOS = {
    "DQN": (
        "--algo=DQN", "general_cfg.max_total_step=400", "algo_cfg.batch_size=16", "algo_cfg.learning_starts=50",
        "algo_cfg.normalize_obs=true",
    ),
    "PPO": (
        "--algo=PPO", "general_cfg.max_total_step=512", "algo_cfg.batch_size=128", "algo_cfg.sgd_batch_size=32",
        "env_cfg.n_envs=4", "algo_cfg.normalize_obs=true", "algo_cfg.normalize_reward=true",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALGOS)
def test_one_worker_gives_the_weights_of_one_process(name, tmp_path):
    """RAY-7: also the same episodes, from the same seeds."""
    words = ("--env=CartPole-v1", *ALGOS[name])
    alone = train(tmp_path / "single", *words)
    ray = train(tmp_path / "ray", *words, RAY, "general_cfg.run_ahead=0")
    assert same(weights(alone), weights(ray))
    assert (alone / EPISODES).read_bytes() == (ray / EPISODES).read_bytes()
