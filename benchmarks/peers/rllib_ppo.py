"""RLlib's PPO on CartPole, for benchmarks/ray_topology.py: prints {"steps": ..., "seconds": ...}.

python rllib_ppo.py RUNNERS ENVS HORIZON MINIBATCH EPOCHS SECONDS [WIDTH]

WIDTH is the width of both hidden layers; without it RLlib builds its default network.
"""

import json
import logging
import sys
import time

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

runners, envs, horizon, minibatch, epochs = (int(word) for word in sys.argv[1:6])
ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, num_cpus=runners + 1)
plan = (
    PPOConfig()
    .environment("CartPole-v1")
    .env_runners(num_env_runners=runners, num_envs_per_env_runner=envs, rollout_fragment_length=horizon)
    .training(
        train_batch_size_per_learner=max(1, runners) * envs * horizon,
        minibatch_size=minibatch,
        num_epochs=epochs,
        lr=3e-4,
    )
)
if len(sys.argv) > 7:
    plan = plan.rl_module(model_config=DefaultModelConfig(fcnet_hiddens=2 * [int(sys.argv[7])]))
algorithm = plan.build_algo()
algorithm.train()
steps, begin = 0, time.perf_counter()
while time.perf_counter() - begin < float(sys.argv[6]):
    algorithm.train()
    steps += max(1, runners) * envs * horizon
seconds = time.perf_counter() - begin
algorithm.stop()
ray.shutdown()
print(json.dumps({"steps": steps, "seconds": seconds}))
