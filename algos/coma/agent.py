"""COMA: a policy that all agents share, and a central critic with a counterfactual baseline."""

import math
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.base import Batch, EnvSpec, Progress, Result, Streams
from algos.coma.config import Config
from algos.common.maths import targets
from algos.common.maths.returns import RewardScaler, gae, rewards_of
from algos.common.nets import networks
from algos.common.nets.observations import encode
from algos.common.parts import optim, team
from algos.common.parts.acting import PolicyAgent
from algos.common.parts.actor_critic import EPSILON, policy_loss, seen, squared_error


def critic_input(state: Tensor, action: Tensor, actions: int) -> Tensor:
    """Returns what the critic sees for each agent [M S, D + S A + S]: the state [M, D], the actions [M, S] of the
    others as one-hot vectors (its own is zero), and the agent's one-hot index."""
    rows, agents = action.shape
    taken = F.one_hot(action, actions).to(state.dtype)  # [M, S, A]
    others = 1.0 - torch.eye(agents, dtype=state.dtype, device=state.device)  # [agent, other]
    of_others = (taken.unsqueeze(1) * others.view(1, agents, agents, 1)).flatten(2)
    index = torch.eye(agents, dtype=state.dtype, device=state.device).expand(rows, -1, -1)
    return torch.cat([state.unsqueeze(1).expand(-1, agents, -1), of_others, index], 2).flatten(0, 1)


def counterfactual(values: Tensor, action: Tensor, policy: Tensor) -> Tensor:
    """Returns Q(s, u) - sum_a pi(a|o) Q(s, (a, u of the others)) [M, S] (equation 4), of values and probabilities
    [M, S, A] of each agent's actions, and the actions [M, S]."""
    return values.gather(2, action.unsqueeze(2)).squeeze(2) - (policy * values).sum(2)


class Agent(PolicyAgent[team.TeamPolicy]):
    """A policy network and a critic that all agents share, and a target critic."""

    METRICS: ClassVar = ("policy_loss", "critic_loss", "entropy", "q_mean")
    KEPT: ClassVar = ("networks", "target", "optimizer", "critic_optimizer", "scaler", "updates", "state_normalizer")
    CUTS_MINIBATCHES: ClassVar = True
    PREPARES_WITH_DROPOUT: ClassVar = True

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        self.actions = team.actions_of_each(spec)
        self.policy = team.TeamPolicy(cfg, spec, streams.init, self.normalizer, device, shared=True)
        self.sees, seen_spec, normalizer = team.central(self, spec)
        modules, shape = encode(seen_spec.observation_space, normalizer)
        self.encode = nn.Sequential(*modules, nn.Flatten()).to(device)
        """From the state to numbers [M, D]."""
        width = math.prod(shape) + spec.agents * (self.actions + 1)
        inputs = team.of_state(replace(spec, global_state=width))
        self.critic = networks.build(inputs, cfg.critic_layers, self.actions, cfg, streams.init + 1).to(device)
        self.networks = nn.ModuleDict({"actor": self.policy.network, "critic": self.critic})
        self.target = targets.frozen_copy(self.critic)
        self.critic_parameters: list[Tensor] = list(self.critic.parameters())
        self.target_parameters: list[Tensor] = list(self.target.parameters())
        actor = self.policy.network.parameters()
        self.optimizer = optim.make(actor, cfg, cfg.actor_lr or cfg.lr, epsilon=EPSILON)
        self.critic_optimizer = optim.make(self.critic_parameters, cfg, cfg.critic_lr or cfg.lr, epsilon=EPSILON)
        self.updates = 0
        """Number of steps of the critic."""

    @torch.no_grad()
    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Adds the targets of the critic [T, N, S], and the actions as numbers from 0."""
        cfg, valid = self.cfg, window.get("valid")
        team.observe_window(self, window)
        reward, ended = rewards_of(window, self.scaler), window["terminated"] | window["truncated"]
        index = self.policy.index(window["drawn"].flatten(0, 1)).view(*reward.shape, -1)
        value = self._of_taken(window[self.sees], index)
        following = torch.cat([value[1:], value[-1:]])
        cut = ended | (torch.arange(len(reward), device=self.device).unsqueeze(1) == len(reward) - 1)
        following[cut] = self._drawn_value(window, cut)
        each = (column.unsqueeze(2).expand_as(value) for column in (reward, window["terminated"], window["truncated"]))
        reward, terminated, truncated = each
        real = None if valid is None else valid.unsqueeze(2).expand_as(value)
        _, target = gae(reward, value, following, terminated, truncated, cfg.gamma, cfg.td_lambda, real)
        columns = {name: column for name, column in seen(window).items() if name not in ("drawn", "log_prob")}
        return {**columns, "state": window[self.sees], "index": index, "target": target}

    def _of_taken(self, state: Tensor, index: Tensor) -> Tensor:
        """Returns the target critic's values [T, N, S] of the actions [T, N, S]."""
        values = self._values(self.target, state.flatten(0, 1), index.flatten(0, 1))
        return values.gather(2, index.flatten(0, 1).unsqueeze(2)).view(index.shape)

    def _drawn_value(self, window: Batch, cut: Tensor) -> Tensor:
        """Returns the target critic's values [K, S] of the states after steps at which an episode or the window ends,
        with actions that the policy draws there."""
        mask = window["next_action_mask"][cut] if "next_action_mask" in window else None
        part: Batch = {"obs": window["next_obs"][cut], **({} if mask is None else {"action_mask": mask})}
        drawn, _ = self.policy.sample(self.policy.outputs(part).cpu().numpy(), self.streams.learn)
        index = self.policy.index(torch.from_numpy(drawn).to(self.device))
        values = self._values(self.target, window[f"next_{self.sees}"][cut], index)
        return values.gather(2, index.unsqueeze(2)).squeeze(2)

    def _values(self, critic: nn.Module, state: Tensor, index: Tensor) -> Tensor:
        """Returns the values [M, S, A] of each agent's actions beside those of the others [M, S]."""
        return critic(critic_input(self.encode(state), index, self.actions)).view(len(index), -1, self.actions)

    def update(self, batch: Batch) -> Result:
        """Trains the critic with minibatches of the window, and then makes one step of the policy."""
        losses = [self._fit(part) for part in self.minibatches(batch, self.cfg.sgd_batch_size, self.cfg.k_epochs)]
        part = self.share(batch)
        outputs = self.policy.outputs(part)
        log_policy = F.log_softmax(outputs, 2)
        with torch.no_grad():
            values = self._values(self.critic, part["state"], part["index"])
            advantage = counterfactual(values, part["index"], log_policy.exp())
        log_prob = log_policy.gather(2, part["index"].unsqueeze(2)).squeeze(2)
        policy, entropy = policy_loss(log_prob, advantage), self.policy.entropies(outputs).mean()
        self.descend(policy - self.now.entropy_coef * entropy, part, self.optimizer)
        numbers = (policy.detach(), torch.stack(losses).mean(), entropy.detach(), values.mean())
        return Result(dict(zip(self.METRICS, numbers, strict=True)))

    def _fit(self, part: Batch) -> Tensor:
        """Makes one step of the critic; returns its loss."""
        values = self._values(self.critic, part["state"], part["index"])
        taken = values.gather(2, part["index"].unsqueeze(2)).squeeze(2)
        loss = squared_error(taken, part["target"])
        self.descend(loss, part, self.critic_optimizer)
        self.updates += 1
        targets.follow(self.target_parameters, self.critic_parameters, self.cfg, self.updates)
        return loss.detach()
