"""Measures the training of Tianshou on the same workloads, in a virtual environment of its own.

python tianshou_training.py THREADS dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH | sac STEPS | td3 STEPS
Prints {"steps": ..., "seconds": ...}; seconds is the duration of collecting and training, without evaluation.
"""

import json
import sys
import time
from typing import Any

import gymnasium
import torch
from tianshou.algorithm import DQN, PPO, SAC, TD3
from tianshou.algorithm.modelfree.ddpg import ContinuousDeterministicPolicy
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.modelfree.sac import AutoAlpha, SACPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorDeterministic, ContinuousActorProbabilistic, ContinuousCritic
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

QUIET = {"max_epochs": 1, "verbose": False, "show_progress": False}


def rows_of(env_id: str, rows: int) -> tuple[Any, Any, Any]:
    """Returns environments, and their spaces of observations and actions."""
    envs = DummyVectorEnv([lambda: gymnasium.make(env_id) for _ in range(rows)])
    envs.seed(1)
    env = gymnasium.make(env_id)
    return envs, env.observation_space, env.action_space


def collector_of(policy: Any, envs: Any, size: int, noise: bool = False) -> Any:
    """Returns a collector with an empty buffer."""
    buffer = VectorReplayBuffer(size, len(envs))
    return Collector[CollectStats](policy, envs, buffer, exploration_noise=noise)


def off_policy(algorithm: Any, collector: Any, steps: int, first: int, batch: int) -> dict[str, Any]:
    """Trains with an update in each step, after the first ones, which are random."""
    begin = time.perf_counter()
    collector.reset()
    collector.collect(n_step=first, random=True)
    params = OffPolicyTrainerParams(
        training_collector=collector, epoch_num_steps=steps - first, collection_step_num_env_steps=1,
        update_step_num_gradient_steps_per_sample=1.0, batch_size=batch, **QUIET,
    )  # fmt: skip
    algorithm.run_training(params)
    return {"steps": steps, "seconds": time.perf_counter() - begin}


def dqn(steps: int, width: int) -> dict[str, Any]:
    """Trains DQN with the settings of the quick start."""
    envs, seen, actions = rows_of("CartPole-v1", 1)
    model = Net(state_shape=seen.shape, action_shape=actions.n, hidden_sizes=(width, width))
    policy = DiscreteQLearningPolicy(model=model, action_space=actions, observation_space=seen, eps_training=0.1)
    algorithm = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-4), gamma=0.95, target_update_freq=4, is_double=False
    )
    return off_policy(algorithm, collector_of(algorithm, envs, 100_000, noise=True), steps, 64, 64)


def ppo(steps: int, rows: int, minibatch: int) -> dict[str, Any]:
    """Trains PPO with 128 steps per row and four epochs, 64x64 tanh for both networks."""
    envs, seen, actions = rows_of("CartPole-v1", rows)
    shape: dict[str, Any] = {"state_shape": seen.shape, "hidden_sizes": (64, 64), "activation": torch.nn.Tanh}
    actor = DiscreteActor(preprocess_net=Net(**shape), action_shape=actions.n, softmax_output=False)
    policy = DiscreteActorPolicy(actor=actor, action_space=actions, observation_space=seen)
    critic = DiscreteCritic(preprocess_net=Net(**shape))
    algorithm = PPO(
        policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=3e-4), ent_coef=0.0, max_grad_norm=0.5,
        gae_lambda=0.95, gamma=0.99, max_batchsize=100_000,
    )  # fmt: skip
    window = 128 * rows
    collector = collector_of(algorithm, envs, window)
    begin = time.perf_counter()
    collector.reset()
    params = OnPolicyTrainerParams(
        training_collector=collector, epoch_num_steps=steps, collection_step_num_env_steps=window,
        batch_size=minibatch, update_step_num_repetitions=4, **QUIET,
    )  # fmt: skip
    algorithm.run_training(params)
    return {"steps": steps, "seconds": time.perf_counter() - begin}


def continuous(kind: str, steps: int) -> dict[str, Any]:
    """Trains SAC or TD3 on Pendulum with an update in each step after 100; returns the updates."""
    envs, seen, actions = rows_of("Pendulum-v1", 1)
    state = Net(state_shape=seen.shape, hidden_sizes=(256, 256))

    def critic() -> ContinuousCritic:
        both = Net(state_shape=seen.shape, action_shape=actions.shape, hidden_sizes=(256, 256), concat=True)
        return ContinuousCritic(preprocess_net=both)

    adam = AdamOptimizerFactory(lr=3e-4)
    learned = {
        "policy_optim": adam, "critic": critic(), "critic_optim": adam, "critic2": critic(), "critic2_optim": adam,
    }  # fmt: skip
    spaces = {"action_space": actions, "observation_space": seen}
    if kind == "sac":
        actor = ContinuousActorProbabilistic(
            preprocess_net=state, action_shape=actions.shape, unbounded=True, conditioned_sigma=True
        )
        alpha = AutoAlpha(-1.0, 0.0, adam)
        algorithm: Any = SAC(policy=SACPolicy(actor=actor, **spaces), alpha=alpha, **learned)
    else:
        deterministic = ContinuousActorDeterministic(preprocess_net=state, action_shape=actions.shape)
        policy = ContinuousDeterministicPolicy(actor=deterministic, exploration_noise="default", **spaces)
        algorithm = TD3(policy=policy, **learned)
    collector = collector_of(algorithm, envs, 100_000, noise=kind == "td3")
    return {**off_policy(algorithm, collector, steps, 100, 256), "steps": steps - 100}


def main() -> None:
    """Runs the workload that the command line names. Threads 0: as many as torch chooses."""
    torch.manual_seed(1)
    if threads := int(sys.argv[1]):
        torch.set_num_threads(threads)
    kind, numbers = sys.argv[2], [int(word) for word in sys.argv[3:]]
    works: dict[str, Any] = {"dqn": dqn, "ppo": ppo}
    print(json.dumps(works[kind](*numbers) if kind in works else continuous(kind, *numbers)))


if __name__ == "__main__":
    main()
