"""Measures the training of RLlib in one process on the same workloads.

python rllib_training.py THREADS dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH
Prints {"steps": ..., "seconds": ..., "first": ...}: first is the seconds of building and of the first iteration.
"""

import json
import logging
import sys
import tempfile
import time
from typing import Any

import ray
import torch
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

ENV = "CartPole-v1"


def dqn(width: int) -> Any:
    """Returns DQN with the settings of the quick start."""
    plan = DQNConfig().environment(ENV).env_runners(num_env_runners=0, rollout_fragment_length=1)
    plan = plan.training(
        lr=1e-4, gamma=0.95, train_batch_size=64, double_q=False, dueling=False, target_network_update_freq=4,
        training_intensity=64.0, num_steps_sampled_before_learning_starts=64,
        replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 100_000},
    ).reporting(min_sample_timesteps_per_iteration=1000)  # fmt: skip
    return plan.rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[width, width]))


def ppo(rows: int, minibatch: int) -> Any:
    """Returns PPO with 128 steps per row and four epochs."""
    plan = PPOConfig().environment(ENV)
    plan = plan.env_runners(num_env_runners=0, num_envs_per_env_runner=rows, rollout_fragment_length=128)
    plan = plan.training(
        train_batch_size_per_learner=128 * rows, minibatch_size=minibatch, num_epochs=4, lr=3e-4
    )  # fmt: skip
    model = DefaultModelConfig(fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False)
    return plan.rl_module(model_config=model)


def main() -> None:
    """Trains as the command line says. Threads 0: as many as torch chooses."""
    if threads := int(sys.argv[1]):
        torch.set_num_threads(threads)
    kind, (steps, *sizes) = sys.argv[2], [int(word) for word in sys.argv[3:]]
    with tempfile.TemporaryDirectory(prefix="rllib-") as folder:
        ray.init(
            "local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, num_cpus=1,
            _temp_dir=folder,
        )  # fmt: skip
        begin = time.perf_counter()
        algorithm = {"dqn": dqn, "ppo": ppo}[kind](*sizes).build_algo()
        sampled = _steps(algorithm.train())
        first, begin, before = time.perf_counter() - begin, time.perf_counter(), sampled
        while sampled - before < steps:
            sampled = _steps(algorithm.train())
        seconds = time.perf_counter() - begin
        algorithm.stop()
        ray.shutdown()
    print(json.dumps({"steps": sampled - before, "seconds": seconds, "first": first}))


def _steps(results: dict[str, Any]) -> int:
    return int(results["env_runners"]["num_env_steps_sampled_lifetime"])


if __name__ == "__main__":
    main()
