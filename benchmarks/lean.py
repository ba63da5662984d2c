"""Lower bound for the training time: each algorithm as a bare loop, without evaluation, logs or checkpoints.

python benchmarks/lean.py THREADS dqn STEPS WIDTH | ppo STEPS ROWS MINIBATCH | env STEPS ROWS ENV
Prints {"steps": ..., "seconds": ...}.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from copy import deepcopy

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

Array = np.ndarray


def mlp(inputs: int, width: int, outputs: int, activation: type[nn.Module]) -> nn.Sequential:
    """Returns a network with two hidden layers."""
    hidden = nn.Linear(inputs, width), activation(), nn.Linear(width, width), activation()
    return nn.Sequential(*hidden, nn.Linear(width, outputs))


# DQN ------------------------------------------------------------------------------------------------------

BATCH = 64


class Ring:
    """A replay buffer of the newest transitions."""

    def __init__(self, size: int = 100_000) -> None:
        self.obs, self.next_obs = np.zeros((2, size, 4), np.float32)
        self.reward, self.discount = np.zeros((2, size), np.float32)
        self.action = np.zeros(size, np.int64)
        self.size = size

    def add(self, t: int, obs: Array, action: int, reward: float, next_obs: Array, discount: float) -> None:
        i = t % self.size
        self.obs[i], self.action[i], self.reward[i] = obs, action, reward
        self.next_obs[i], self.discount[i] = next_obs, discount

    def sample(self, t: int, rng: np.random.Generator) -> list[Tensor]:
        at = rng.integers(0, min(t + 1, self.size), BATCH)
        columns = (self.obs, self.action, self.reward, self.next_obs, self.discount)
        return [torch.from_numpy(column[at]) for column in columns]


def dqn(steps: int, width: int) -> None:
    """Runs the quick start: two layers of `width`, batch 64, an update each step, a hard target update every fourth."""
    env, rng, ring = gymnasium.make("CartPole-v1", disable_env_checker=True), np.random.default_rng(0), Ring()
    online = mlp(4, width, 2, nn.ReLU)
    target = deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), 1e-4, fused=True)
    obs, _ = env.reset(seed=0)
    for t in range(steps):
        epsilon = 0.01 + 0.94 * np.exp(-t / 500)
        if rng.random() < epsilon:
            action = int(rng.integers(2))
        else:
            with torch.inference_mode():
                action = int(online(torch.from_numpy(obs).unsqueeze(0)).argmax())
        next_obs, reward, terminated, truncated, _ = env.step(action)
        ring.add(t, obs, action, float(reward), next_obs, 0.95 * (not terminated))
        obs = env.reset()[0] if terminated or truncated else next_obs
        if t + 1 >= BATCH:
            dqn_update(online, target, optimizer, ring.sample(t, rng))
        if t % 4 == 0:
            with torch.no_grad():
                torch._foreach_copy_(list(target.parameters()), list(online.parameters()))


def dqn_update(online: nn.Module, target: nn.Module, optimizer: torch.optim.Optimizer, batch: list[Tensor]) -> None:
    """Makes one gradient step on the squared TD error."""
    obs, action, reward, next_obs, discount = batch
    with torch.no_grad():
        wanted = reward + discount * target(next_obs).amax(1)
    loss = F.mse_loss(online(obs).gather(1, action.unsqueeze(1)).squeeze(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# PPO ------------------------------------------------------------------------------------------------------

LENGTH, EPOCHS, GAMMA, LAMBDA, CLIP = 128, 4, 0.99, 0.95, 0.2


def ppo(steps: int, rows: int, minibatch: int) -> None:
    """Runs PPO on gymnasium's vector CartPole: windows of 128 steps, four epochs, 64x64 tanh for actor and critic."""
    env, rng = gymnasium.make_vec("CartPole-v1", rows), np.random.default_rng(0)
    actor, critic = mlp(4, 64, 2, nn.Tanh), mlp(4, 64, 1, nn.Tanh)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, 3e-4, eps=1e-5, fused=True)
    obs, ended = env.reset(seed=0)[0], np.zeros(rows, bool)
    for _ in range(steps // (rows * LENGTH)):
        window = Window(rows)
        for t in range(LENGTH):
            action, log_prob = draw(actor, obs, rng)
            next_obs, reward, terminated, truncated, _ = env.step(action)
            window.put(t, obs, action, log_prob, reward, terminated, terminated | truncated, ~ended)
            obs, ended = next_obs, terminated | truncated
        flat = window.flat(critic, obs)
        for batch in shuffled(flat, minibatch, rng):
            ppo_update(actor, critic, parameters, optimizer, batch)


def draw(actor: nn.Module, obs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Returns sampled actions and their log probabilities [N]."""
    with torch.inference_mode():
        log_p = F.log_softmax(actor(torch.from_numpy(obs)), 1).numpy()
    action = (rng.random(len(obs)) > np.exp(log_p[:, 0])).astype(np.int64)
    return action, log_p[np.arange(len(obs)), action]


class Window:
    """The steps of one round, [T, N]. After an episode's end, gymnasium's vector CartPole inserts an invalid step."""

    def __init__(self, rows: int) -> None:
        self.obs, self.action = np.zeros((LENGTH, rows, 4), np.float32), np.zeros((LENGTH, rows), np.int64)
        self.log_prob, self.reward = np.zeros((2, LENGTH, rows), np.float32)
        self.terminated, self.ended, self.valid = np.zeros((3, LENGTH, rows), bool)

    def put(self, t: int, *values: Array) -> None:
        columns = (self.obs, self.action, self.log_prob, self.reward, self.terminated, self.ended, self.valid)
        for column, value in zip(columns, values, strict=True):
            column[t] = value

    def flat(self, critic: nn.Module, last: Array) -> list[Tensor]:
        """Returns the valid steps: obs, action, log_prob, advantage, return."""
        with torch.inference_mode():
            value = critic(torch.from_numpy(np.concatenate([self.obs, last[None]]))).squeeze(-1).numpy()
        delta = self.reward + GAMMA * value[1:] * ~self.terminated - value[:-1]
        advantage, carry = np.zeros_like(delta), np.zeros_like(delta[0])
        for t in reversed(range(LENGTH)):
            advantage[t] = carry = delta[t] + GAMMA * LAMBDA * ~self.ended[t] * carry
        columns = (self.obs, self.action, self.log_prob, advantage, advantage + value[:-1])
        return [torch.from_numpy(column[self.valid]) for column in columns]


def shuffled(flat: list[Tensor], minibatch: int, rng: np.random.Generator) -> Iterator[list[Tensor]]:
    """Yields the minibatches of all epochs."""
    for _ in range(EPOCHS):
        order = torch.from_numpy(rng.permutation(len(flat[0])))
        for chosen in order.split(minibatch):
            yield [column[chosen] for column in flat]


def ppo_update(
    actor: nn.Module,
    critic: nn.Module,
    parameters: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    batch: list[Tensor],
) -> None:
    """Makes one gradient step on the clipped surrogate and the value loss."""
    obs, action, old_log_prob, advantage, target = batch
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    log_prob = -F.cross_entropy(actor(obs), action, reduction="none")
    ratio = (log_prob - old_log_prob).exp()
    surrogate = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
    loss = 0.25 * F.mse_loss(critic(obs).squeeze(1), target) - surrogate
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 0.5, foreach=True)
    optimizer.step()


def env(steps: int, rows: int, name: str) -> None:
    """Steps an environment with random actions, and learns nothing."""
    envs = gymnasium.make_vec(name, rows, vectorization_mode="sync")
    envs.reset(seed=0)
    for _ in range(steps // rows):
        envs.step(envs.action_space.sample())


def main() -> None:
    """Runs the loop that the command line names. Threads 0: as many as torch chooses."""
    if threads := int(sys.argv[1]):
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    loops: dict[str, Callable[..., None]] = {"dqn": dqn, "ppo": ppo, "env": env}
    loop = loops[sys.argv[2]]
    numbers = [int(word) if word.isdecimal() else word for word in sys.argv[3:]]
    begin = time.perf_counter()
    loop(*numbers)
    print(json.dumps({"steps": numbers[0], "seconds": time.perf_counter() - begin}))


if __name__ == "__main__":
    main()
