"""Measures the training of rlox, whose environments and buffers are written in Rust, on the same workloads.

python rlox_training.py THREADS dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH | sac STEPS | td3 STEPS
Prints {"steps": ..., "seconds": ..., "first": ...}: first is the seconds of a short training before.
"""

import json
import sys
import time
from typing import Any

import torch
from rlox.algorithms.dqn import DQN
from rlox.algorithms.ppo import PPO
from rlox.algorithms.sac import SAC
from rlox.algorithms.td3 import TD3


def dqn(steps: int, width: int) -> Any:
    """Returns DQN with the settings of the quick start; it clips gradients and uses the Huber loss."""
    return DQN(
        "CartPole-v1", buffer_size=100_000, learning_rate=1e-4, batch_size=64, gamma=0.95, target_update_freq=4,
        exploration_fraction=1.0, exploration_initial_eps=0.95, exploration_final_eps=0.01, learning_starts=64,
        double_dqn=False, hidden=width, train_freq=1, gradient_steps=1, seed=1,
    )  # fmt: skip


def ppo(steps: int, rows: int, minibatch: int) -> Any:
    """Returns PPO with 128 steps per row and four epochs, 64x64 for both networks, on its own CartPole."""
    return PPO(
        "CartPole-v1", n_envs=rows, seed=1, n_steps=128, n_epochs=4, batch_size=minibatch, learning_rate=3e-4,
        ent_coef=0.0,
    )  # fmt: skip


def continuous(kind: Any) -> Any:
    """Returns SAC or TD3 on Pendulum with an update in each step after 100."""
    return kind("Pendulum-v1", buffer_size=100_000, batch_size=256, learning_starts=100, hidden=256, seed=1)


def main() -> None:
    """Trains shortly, and then as the command line says. Threads 0: as many as torch chooses."""
    if threads := int(sys.argv[1]):
        torch.set_num_threads(threads)
    kind, numbers = sys.argv[2], [int(word) for word in sys.argv[3:]]

    def trained(steps: int) -> float:
        makers = {"dqn": dqn, "ppo": ppo}
        model = makers[kind](*numbers) if kind in makers else continuous({"sac": SAC, "td3": TD3}[kind])
        begin = time.perf_counter()
        model.train(steps)
        return time.perf_counter() - begin

    steps = numbers[0]
    first = trained(min(steps, 128 * numbers[1]) if kind == "ppo" else 200)
    learned = steps if kind in ("dqn", "ppo") else steps - 100
    print(json.dumps({"steps": learned, "seconds": trained(steps), "first": first}))


if __name__ == "__main__":
    main()
