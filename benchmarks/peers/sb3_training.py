"""Measures stable-baselines3 on the same workloads, in a virtual environment of its own.

python sb3_training.py DEVICE THREADS dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH | sac STEPS | td3 STEPS |
images STEPS | ppo_images STEPS | zoo STEPS ENV | solved_ppo SEED | solved_dqn SEED
Prints {"steps": ..., "seconds": ..., "solved": ...}; seconds is the duration of learn() alone.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import DQN, PPO, SAC, TD3
from stable_baselines3.common.callbacks import EvalCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

ENV = "CartPole-v1"
DEVICE = sys.argv[1]


def dqn(steps: int, width: int) -> dict[str, Any]:
    """Trains DQN with the settings of the quick start."""
    model = DQN(
        "MlpPolicy",
        ENV,
        learning_rate=1e-4,
        buffer_size=100_000,
        learning_starts=64,
        batch_size=64,
        gamma=0.95,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=4,
        exploration_fraction=1.0,
        exploration_initial_eps=0.95,
        exploration_final_eps=0.01,
        policy_kwargs={"net_arch": [width, width]},
        device=DEVICE,
        seed=1,
    )
    return learned(model, steps)


def ppo(steps: int, rows: int, minibatch: int) -> dict[str, Any]:
    """Trains PPO with 128 steps per row and four epochs; 64x64 tanh is its default network."""
    env = make_vec_env(ENV, rows, seed=1)
    return learned(PPO("MlpPolicy", env, n_steps=128, batch_size=minibatch, n_epochs=4, device=DEVICE, seed=1), steps)


def continuous(kind: Any, steps: int) -> dict[str, Any]:
    """Trains SAC or TD3 on Pendulum with an update in each step after 100; returns the updates."""
    net = {"net_arch": [256, 256]}
    model = kind(
        "MlpPolicy", "Pendulum-v1", batch_size=256, learning_starts=100, train_freq=1, gradient_steps=1,
        policy_kwargs=net, device=DEVICE, seed=1,
    )  # fmt: skip
    return {**learned(model, steps), "steps": model._n_updates}


ZOO: dict[str, dict[str, Any]] = {
    "LunarLander-v3": {
        "rows": 16, "n_steps": 1024, "batch_size": 64, "n_epochs": 4, "gae_lambda": 0.98, "gamma": 0.999,
        "ent_coef": 0.01,
    },
    "Acrobot-v1": {
        "rows": 16, "normalize": True, "n_steps": 256, "batch_size": 64, "n_epochs": 4, "gae_lambda": 0.94,
        "gamma": 0.99, "ent_coef": 0.0,
    },
    "HalfCheetah-v5": {
        "rows": 1, "normalize": True, "n_steps": 512, "batch_size": 64, "n_epochs": 20, "gae_lambda": 0.92,
        "gamma": 0.98, "ent_coef": 0.000401762, "learning_rate": 2.0633e-05, "clip_range": 0.1, "vf_coef": 0.58096,
        "max_grad_norm": 0.8,
        "policy_kwargs": {
            "net_arch": [256, 256], "activation_fn": torch.nn.ReLU, "log_std_init": -2.0, "ortho_init": False,
        },
    },
}  # fmt: skip
"""Settings of PPO in rl-baselines3-zoo."""


def zoo(steps: int, name: str) -> dict[str, Any]:
    """Trains PPO with the zoo's settings."""
    settings = dict(ZOO[name])
    env = make_vec_env(name, settings.pop("rows"), seed=1)
    if settings.pop("normalize", False):
        env = VecNormalize(env, gamma=settings["gamma"])
    return learned(PPO("MlpPolicy", env, device=DEVICE, seed=1, **settings), steps)


def images(steps: int) -> dict[str, Any]:
    """Trains DQN on images that cost nothing, with an update in each fourth step after 100."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import blank_images

    model = DQN(
        "CnnPolicy", blank_images.ID, buffer_size=10_000, learning_starts=100, batch_size=32, train_freq=4,
        gradient_steps=1, target_update_interval=1000, device=DEVICE, seed=1,
    )  # fmt: skip
    return learned(model, steps)


def ppo_images(steps: int) -> dict[str, Any]:
    """Trains PPO on such images, with 8 rows of 128 steps, four epochs and the settings of the zoo's games."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import blank_images

    env = make_vec_env(blank_images.ID, 8, seed=1)
    model = PPO("CnnPolicy", env, n_steps=128, batch_size=256, n_epochs=4, device=DEVICE, seed=1)
    return learned(model, steps)


def solved_ppo(seed: int) -> dict[str, Any]:
    """Trains PPO with the tuned settings of rl-baselines3-zoo until an evaluation reaches 475."""
    env = make_vec_env(ENV, 8, seed=seed)
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=32,
        batch_size=256,
        gae_lambda=0.8,
        gamma=0.98,
        n_epochs=20,
        ent_coef=0.0,
        learning_rate=lambda left: left * 0.001,
        clip_range=lambda left: left * 0.2,
        device=DEVICE,
        seed=seed,
    )
    return learned(model, 100_000, evaluation(seed, every=4096 // env.num_envs))


def solved_dqn(seed: int) -> dict[str, Any]:
    """Trains DQN with the tuned settings of rl-baselines3-zoo until an evaluation reaches 475."""
    model = DQN(
        "MlpPolicy",
        ENV,
        learning_rate=2.3e-3,
        batch_size=64,
        buffer_size=100_000,
        learning_starts=1000,
        gamma=0.99,
        target_update_interval=10,
        train_freq=256,
        gradient_steps=128,
        exploration_fraction=0.16,
        exploration_final_eps=0.04,
        policy_kwargs={"net_arch": [256, 256]},
        device=DEVICE,
        seed=seed,
    )
    return learned(model, 50_000, evaluation(seed, every=2048))


def evaluation(seed: int, every: int) -> EvalCallback:
    """Returns an evaluation of 20 greedy episodes from distinct start states, in ten rows, like our own."""
    env: VecEnv = make_vec_env(ENV, 10, seed=1000 + seed)
    stop = StopTrainingOnRewardThreshold(475.0, verbose=0)
    return EvalCallback(env, callback_on_new_best=stop, n_eval_episodes=20, eval_freq=every, verbose=0, warn=False)


def learned(model: Any, steps: int, callback: EvalCallback | None = None) -> dict[str, Any]:
    """Calls learn(); returns its steps and seconds, and whether 475 was reached."""
    begin = time.perf_counter()
    model.learn(steps, callback=callback)
    seconds = time.perf_counter() - begin
    solved = callback is not None and callback.best_mean_reward >= 475.0
    return {"steps": model.num_timesteps, "seconds": seconds, "solved": bool(solved)}


def main() -> None:
    """Runs the workload that the command line names. Threads 0: as many as torch chooses."""
    if threads := int(sys.argv[2]):
        torch.set_num_threads(threads)
    works: dict[str, Callable[..., dict[str, Any]]] = {
        "dqn": dqn,
        "ppo": ppo,
        "sac": lambda steps: continuous(SAC, steps),
        "td3": lambda steps: continuous(TD3, steps),
        "images": images,
        "ppo_images": ppo_images,
        "zoo": zoo,
        "solved_ppo": solved_ppo,
        "solved_dqn": solved_dqn,
    }
    work = works[sys.argv[3]]
    print(json.dumps(work(*(int(word) if word.isdecimal() else word for word in sys.argv[4:]))))


if __name__ == "__main__":
    main()
