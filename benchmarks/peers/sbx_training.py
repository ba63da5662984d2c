"""Measures the training of sbx, stable-baselines3 in JAX, on the same workloads.

python sbx_training.py THREADS dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH | sac STEPS | td3 STEPS
Prints {"steps": ..., "seconds": ..., "first": ...}: first is the seconds of a short training before, in which JAX
compiles. With one thread, XLA has one too.
"""

import json
import os
import sys
import time
from typing import Any

if sys.argv[1] == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # XLA has threads that no setting limits

import jax
from sbx import DQN, PPO, SAC, TD3
from stable_baselines3.common.env_util import make_vec_env

ENV = "CartPole-v1"


def dqn(width: int) -> Any:
    """Returns DQN with the settings of the quick start."""
    return DQN(
        "MlpPolicy", ENV, learning_rate=1e-4, buffer_size=100_000, learning_starts=64, batch_size=64, gamma=0.95,
        train_freq=1, gradient_steps=1, target_update_interval=4, exploration_fraction=1.0,
        exploration_initial_eps=0.95, exploration_final_eps=0.01, policy_kwargs={"net_arch": [width, width]}, seed=1,
    )  # fmt: skip


def ppo(rows: int, minibatch: int) -> Any:
    """Returns PPO with 128 steps per row and four epochs; 64x64 tanh is its default network."""
    return PPO("MlpPolicy", make_vec_env(ENV, rows, seed=1), n_steps=128, batch_size=minibatch, n_epochs=4, seed=1)


def continuous(kind: Any) -> Any:
    """Returns SAC or TD3 on Pendulum with an update in each step after 100."""
    net = {"net_arch": [256, 256]}
    return kind("MlpPolicy", "Pendulum-v1", batch_size=256, learning_starts=100, policy_kwargs=net, seed=1)


def main() -> None:
    """Trains shortly, and then as the command line says."""
    jax.config.update("jax_platforms", "cpu")
    kind, (steps, *sizes) = sys.argv[2], [int(word) for word in sys.argv[3:]]

    def trained(steps: int) -> tuple[float, Any]:
        makers = {"dqn": dqn, "ppo": ppo}
        model = makers[kind](*sizes) if kind in makers else continuous({"sac": SAC, "td3": TD3}[kind])
        begin = time.perf_counter()
        model.learn(steps)
        return time.perf_counter() - begin, model

    first, _ = trained(128 * sizes[0] if kind == "ppo" else 200)
    seconds, model = trained(steps)
    learned = model.num_timesteps if kind in ("dqn", "ppo") else steps - 100
    print(json.dumps({"steps": learned, "seconds": seconds, "first": first}))


if __name__ == "__main__":
    main()
