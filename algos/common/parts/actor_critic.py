"""Shared parts of the policy gradient algorithms: acting, advantages of a window, and learning rates."""

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar, NamedTuple

import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from algos.base import Act, Array, Batch, EnvSpec, Explore, PolicyModule, Result, Streams, UnfitError
from algos.common.fast.layers import Network
from algos.common.maths.distributions import Distribution, distribution_for
from algos.common.maths.gaussian import StateDependentStd, StateGaussian, StateNoise, features_of, head_of
from algos.common.maths.returns import RewardScaler, discounted_sums, gae, rewards_of
from algos.common.nets import networks
from algos.common.nets.layers import Features, RandomZeros
from algos.common.nets.observations import Normalizer
from algos.common.parts import optim, passes, team
from algos.common.parts.acting import Greedy, Policy, PolicyAgent
from algos.common.parts.bonus import Bonus, bonus_for
from algos.common.parts.passes import Carried

EPSILON = 1e-5
"""Epsilon of Adam, as in OpenAI's implementations."""


class ActorCritic(Policy):
    """A policy network, the action distribution that its outputs parametrize, and a separate value network. Their
    recurrent states, if any, are one vector [N, S], the policy's first."""

    def __init__(
        self, cfg: Any, spec: EnvSpec, seed: int, normalizer: Normalizer | None, device: torch.device,
        with_critic: bool = True, distribution: Distribution | None = None, heads: int = 1,
    ) -> None:  # fmt: skip
        """distribution: of the actions; None is that of their space. heads: number of values of a state."""
        self.device = device
        self.normalizer = normalizer
        self.state_normalizer: Normalizer | None = None
        self.distribution = distribution or _distribution(cfg, spec)
        outputs: Any = self.distribution.outputs
        if isinstance(self.distribution, StateGaussian):
            outputs = partial(_state_dependent, self.distribution.size, cfg.log_std_init)
        actor = networks.build(
            spec, cfg.actor_layers, outputs, cfg, seed,
            init="orthogonal", gain=0.01, normalizer=normalizer,
        )  # fmt: skip
        self.actor: nn.Module = actor.extend(self.distribution.tail(cfg.log_std_init)).to(device)
        self.networks = nn.ModuleDict({"actor": self.actor})
        self.critic: nn.Module | None = None
        self.sees = "obs"
        """Column that the critic reads."""
        if getattr(cfg, "critic_input", "own") == "global":
            if not spec.global_state:
                raise UnfitError("algo_cfg.critic_input is global, and {env} has no global state", env=spec.id)
            self.sees, spec, normalizer = team.central(self, spec)
        if with_critic:
            critic = networks.build(
                spec, cfg.critic_layers, heads, cfg, seed + 1, init="orthogonal", normalizer=normalizer
            )  # fmt: skip
            self.critic = self.networks["critic"] = critic.to(device)
        self._together = in_common(self.actor, self.critic) if self.sees == "obs" else None
        """Layers that both networks begin with, and the rest of each; None if there are none."""
        head = head_of(self.actor)
        self.noise = None if head is None else StateNoise(head, cfg.sde_sample_freq)
        """Noise that depends on the state; None for noise of each step."""
        self.carried = Carried(self.actor, device)
        self.carried.add("critic", self.critic)
        self.explained_variance = torch.zeros((), device=device)
        """Share of the variance of the last window's targets that the baseline explains."""

    # acting

    def initial_state(self, rows: int) -> Array | None:
        return super().initial_state(rows) if self.noise is None else self.noise.initial(rows)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns samples, with the columns `drawn`, before scaling and clipping to the space, and `log_prob` [N]; for
        None the modes of the distributions."""
        outputs, after = self.carried.act(obs, state if self.carried.size else None)
        outputs = self.distribution.masked(outputs, mask)
        if self.noise is not None and isinstance(self.distribution, StateGaussian):
            after = self.noise.initial(len(obs)) if state is None else state
            if explore is not None:
                noise, after = self.noise.draw(features_of(outputs, self.distribution.size), after, explore.rng)
                drawn, log_prob = self.distribution.given(outputs, noise)
                return Act(self.distribution.to_env(drawn), {"drawn": drawn, "log_prob": log_prob}, after)
        if explore is None:
            return Act(self.distribution.to_env(self.distribution.mode(outputs)), state=after)
        drawn, log_prob = self.distribution.sample(outputs, explore.rng)
        return Act(self.distribution.to_env(drawn), {"drawn": drawn, "log_prob": log_prob}, after)

    def noted(self, obs: Array, action: Array, mask: Array | None) -> dict[str, Array]:
        """Returns the columns for actions of a space in which `drawn` is the action itself."""
        outputs, _ = self.carried.act(obs, self.carried.initial(len(obs)))
        log_prob = self.distribution.log_prob(
            torch.as_tensor(self.distribution.masked(outputs, mask)), torch.as_tensor(action)
        )
        return {"drawn": action, "log_prob": log_prob.numpy()}

    def as_module(self) -> PolicyModule:
        return Greedy(self.actor, self.distribution.best, mask=self.distribution.masked)

    # learning

    def observe(self, window: Batch) -> None:
        """Updates the statistics of observations with a window [T, N, ...]."""
        team.observe_window(self, window)

    def outputs(self, batch: Batch) -> Tensor:
        """Returns the distribution parameters [M, size], illegal actions masked."""
        return self.distribution.masked(passes.outputs_of(self.actor, batch["obs"]), batch.get("action_mask"))

    def before(self, window: Batch) -> tuple[Tensor, Tensor]:
        """Returns outputs [T, N, size] and log probabilities [T, N] of a window's actions under the current policy."""
        part: Batch = {name: window[name] for name in ("obs", "first", "action_mask") if name in window}
        if "state" in window and self.carried.size:  # the whole history of each row is one sequence
            part = self.carried.with_views({**part, "state": window["state"][0]})
        else:
            part = {name: column.flatten(0, 1) for name, column in part.items()}
        outputs = self.outputs(part)
        log_prob = self.distribution.log_prob(outputs, window["drawn"].flatten(0, 1))
        shape = window["log_prob"].shape
        return outputs.unflatten(0, shape), log_prob.view(shape)

    def value(self, batch: Batch) -> Tensor:
        """Returns V(s) [M], or with several heads [M, heads]."""
        assert self.critic is not None
        return passes.outputs_of(self.critic, batch[self.sees], "critic").squeeze(1)

    def outputs_and_value(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns `outputs` and `value`; layers with which both networks begin are computed once."""
        if self._together is None or not isinstance(batch["obs"], Tensor):
            return self.outputs(batch), self.value(batch)
        front, actor, critic = self._together
        features = front(batch["obs"])
        return self.distribution.masked(actor(features), batch.get("action_mask")), critic(features).squeeze(1)

    def values(self, window: Batch) -> tuple[Tensor, Tensor]:
        """Returns V(s) and V of the true successor, [T, N] each, or with several heads [T, N, heads]."""
        assert self.critic is not None
        state = self.carried.parts(window["state"][0] if "state" in window else None)
        window = {**window, "obs": window[self.sees], "next_obs": window[f"next_{self.sees}"]}
        value, next_value = passes.of_window(self.critic, window, state.get("critic"))
        return value.squeeze(2), next_value.squeeze(2)


def in_common(first: nn.Module, second: nn.Module | None) -> tuple[Network, Network, Network] | None:
    """Returns the layers with which two networks begin, and the rest of each; None if they share no weights there."""
    if not (isinstance(first, Network) and isinstance(second, Network)):
        return None
    pairs = takewhile(lambda pair: _are_one(*pair), zip(first, second, strict=False))
    front = [module for module, _ in pairs]
    if not any(list(module.parameters()) for module in front):
        return None
    return Network(*front), Network(*list(first)[len(front) :]), Network(*list(second)[len(front) :])


def _are_one(first: nn.Module, second: nn.Module) -> bool:
    """Returns True for one layer, and for two of a function without weights or chance."""
    is_function = not isinstance(first, RandomZeros) and not first.state_dict()
    return first is second or (is_function and type(first) is type(second) and repr(first) == repr(second))


def _distribution(cfg: Any, spec: EnvSpec) -> Distribution:
    """Returns the distribution over the actions that the settings ask for."""
    if not getattr(cfg, "use_sde", False):
        return distribution_for(spec.action_space)
    if not isinstance(space := spec.action_space, Box):
        raise UnfitError("algo_cfg.use_sde is for actions in a Box, and {space} is not", space=space)
    return StateGaussian(space)


def _state_dependent(size: int, log_std: float, features: Features) -> nn.Module:
    """Returns the output layer of a policy whose noise depends on the state."""
    return StateDependentStd(features.width, size, log_std, learns_features=False)


# a window -------------------------------------------------------------------------------------------------

SEEN = ("obs", "global_state", "state", "first", "action_mask", "drawn", "log_prob", "valid")
"""Columns of a window that an update needs, if present."""


def seen(window: Batch) -> Batch:
    """Returns the columns of a window that an update needs."""
    return {name: window[name] for name in SEEN if name in window}


def advantages(
    networks: ActorCritic, window: Batch, scaler: RewardScaler | None, gamma: float, lam: float, vtrace: bool = False,
    bonus: Bonus | None = None, coef: float | Tensor = 1.0,
) -> Batch:  # fmt: skip
    """Returns the columns `advantage`, `target` (of the value) and `value` of a window, [T, N] each. vtrace corrects
    for steps collected by an earlier version of the policy. coef: weight of a bonus; if it has values of its own,
    targets and values are [T, N, 2]."""
    valid, reward = window.get("valid"), rewards_of(window, scaler)
    values, next_values = networks.values(window)
    ratio = (networks.before(window)[1] - window["log_prob"]).exp() if vtrace else None
    flags = window["terminated"], window["truncated"]
    if bonus is None:
        both = False
        value, next_value = values, next_values
    else:
        own, both = bonus.of_window(window), bonus.TWO_HEADS
        reward = reward if both else reward + coef * own
        value, next_value = (values[..., 0], next_values[..., 0]) if both else (values, next_values)
    advantage, target = gae(reward, value, next_value, *flags, gamma, lam, valid, ratio)
    networks.explained_variance = explained_variance(value, target, valid)
    if bonus is not None and both:
        own_advantage, own_target = without_ends(
            own, values[..., 1], next_values[..., 1], bonus.gamma, lam, valid, ratio
        )
        advantage, target = advantage + coef * own_advantage, torch.stack([target, own_target], -1)
    columns = {} if bonus is None else bonus.columns(window)
    return {"advantage": advantage, "target": target, "value": values, **columns}


@torch.no_grad()
def without_ends(
    reward: Tensor, value: Tensor, next_value: Tensor, gamma: float, lam: float, valid: Tensor | None,
    ratio: Tensor | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns advantages and returns [T, N] that go on where episodes end: after the last step of one comes the first
    of the next (Burda et al., 2019, section 2.3), however many steps without the agent are between them. After the last
    step of a window comes its successor."""
    real, length = torch.ones_like(value, dtype=torch.bool) if valid is None else valid, len(value)
    step = torch.where(real, torch.arange(length, device=value.device)[:, None], length)
    step = step.flip(0).cummin(0).values.flip(0)  # the first real step from each one on
    step = torch.cat([step[1:], torch.full_like(step[:1], length)])
    following = torch.where(step < length, value.gather(0, step.clamp(max=length - 1)), next_value)
    weight = torch.ones_like(value) if ratio is None else ratio.clamp(max=1.0)
    delta = torch.where(real, weight * (reward + gamma * following - value), 0.0)
    advantage = discounted_sums(delta, torch.where(real, gamma * lam * weight, 1.0)) * real
    return advantage, advantage + value


def explained_variance(value: Tensor, target: Tensor, valid: Tensor | None = None) -> Tensor:
    """Returns 1 - Var(target - value) / Var(target) over a window [T, N]: 1 for a perfect baseline, 0 for a constant
    one or where the targets do not vary, and below 0 for one that is worse than none."""
    error = target - value
    if valid is not None:
        error, target = error[valid], target[valid]
    spread = target.var(correction=0)
    return torch.where(spread > 0, 1.0 - error.var(correction=0) / spread, 0.0)


def policy_loss(log_prob: Tensor, advantage: Tensor) -> Tensor:
    """Returns -mean A log pi(a|s), whose gradient is that of the policy gradient theorem; both [B]."""
    return -(log_prob * advantage).mean()


class PolicyLoss(NamedTuple):
    """loss [], kl [] (an estimate of KL(old, new)) and clipped [] (the share of clipped ratios)."""

    loss: Tensor
    kl: Tensor
    clipped: Tensor


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float | Tensor) -> PolicyLoss:
    """Returns -mean min(r A, clip(r, 1 - c, 1 + c) A) with r = pi/pi_old (Schulman et al., 2017, equation 7); all [B].
    kl is the estimator mean((r - 1) - log r), never negative."""
    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    low, high = 1.0 - clip, 1.0 + clip
    limited = ratio.clamp(low, high)  # type: ignore[arg-type]  # both are numbers, or both are tensors
    loss = -torch.min(ratio * advantage, limited * advantage).mean()
    with torch.no_grad():
        kl = ((ratio - 1.0) - log_ratio).mean()
        clipped = (ratio != limited).float().mean()
    return PolicyLoss(loss, kl, clipped)


def squared_error(value: Tensor, target: Tensor) -> Tensor:
    """Returns half the mean squared error; both [B], or [B, heads], whose losses are summed."""
    return 0.5 * (value - target).square().mean(0).sum()


def standardize(advantage: Tensor, valid: Tensor | None = None) -> Tensor:
    """Normalizes to mean 0 and standard deviation 1 over the valid steps of the minibatch; one alone is unchanged."""
    real = advantage if valid is None else advantage[valid]
    if real.numel() < 2:
        return advantage
    deviation, mean = torch.std_mean(real, correction=0)
    return (advantage - mean) / (deviation + 1e-8)


def standardized(batch: Batch) -> Batch:
    """Returns the minibatch with normalized advantages."""
    return {**batch, "advantage": standardize(batch["advantage"], batch.get("valid"))}


# agents ---------------------------------------------------------------------------------------------------


def _rates(cfg: Any) -> tuple[float, float]:
    """Returns the learning rates of actor and critic."""
    return cfg.actor_lr or cfg.lr, cfg.critic_lr or cfg.lr


def make_optimizer(cfg: Any, *actor_and_critic: nn.Module) -> optim.Optimizer:
    """Returns one optimizer over actor and critic (or the actor alone), each with its own learning rate; that of a
    layer that they share is the actor's."""
    groups: list[dict[str, Any]] = []
    for network, lr in zip(actor_and_critic, _rates(cfg), strict=False):
        before = {id(p) for group in groups for p in group["params"]}
        groups.append({"params": [p for p in network.parameters() if id(p) not in before], "lr": lr})
    return optim.make(groups, cfg, cfg.lr, epsilon=EPSILON)


class OnPolicyAgent(PolicyAgent[ActorCritic]):
    """A policy network and a value network, with one optimizer. They go down the policy gradient; an algorithm defines
    the advantages and the targets of a window (`prepare`)."""

    METRICS: ClassVar[tuple[str, ...]] = ("loss", "policy_loss", "value_loss", "entropy", "explained_variance")
    KEPT: ClassVar[tuple[str, ...]] = ("networks", "optimizer", "scaler", "bonus")

    def __init__(
        self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device, with_critic: bool = True
    ) -> None:
        super().__init__(cfg, spec, streams, device)
        self.scaler = RewardScaler(spec.rows, cfg.gamma, device) if cfg.normalize_reward else None
        self.bonus = bonus_for(cfg, spec, streams, device)
        heads = 1
        if self.bonus is not None:
            self.METRICS = (*type(self).METRICS, *self.bonus.METRICS)  # type: ignore[misc]
            heads += self.bonus.TWO_HEADS
        self.policy = ActorCritic(cfg, spec, streams.init, self.normalizer, device, with_critic, heads=heads)
        self.networks = self.policy.networks
        self.optimizer = make_optimizer(cfg, *self.networks.values())
        self.step = self.minimize(self._loss, self.optimizer)

    def advantages(self, window: Batch, vtrace: bool = False) -> Batch:
        """Returns the columns of `advantages` of a window, by the settings."""
        cfg, coef = self.cfg, 1.0 if self.bonus is None else self.now.bonus_coef
        return advantages(self.policy, window, self.scaler, cfg.gamma, cfg.gae_lambda, vtrace, self.bonus, coef)

    def update(self, batch: Batch) -> Result:
        metrics = self.step(batch, reduce=self.reduce)
        if self.bonus is not None:
            metrics = {**metrics, **self.bonus.learn(batch, self.reduce, self.learners)}
        return Result({**metrics, "explained_variance": self.policy.explained_variance})

    def _loss(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Returns the loss of both networks, and the metrics."""
        cfg, distribution = self.cfg, self.policy.distribution
        if self.policy.critic is None:
            outputs, value = self.policy.outputs(batch), torch.zeros((), device=self.device)
        else:
            outputs, values = self.policy.outputs_and_value(batch)
            value = squared_error(values, batch["target"])
        policy = policy_loss(distribution.log_prob(outputs, batch["drawn"]), batch["advantage"])
        entropy = distribution.entropy(outputs).mean()
        loss = policy + cfg.value_coef * value - self.now.entropy_coef * entropy
        return loss, detached(self.METRICS, loss, policy, value, entropy)


def detached(names: Sequence[str], *metrics: Tensor) -> dict[str, Tensor]:
    """Returns metrics without gradients by the first of these names."""
    return {name: metric.detach() for name, metric in zip(names, metrics, strict=False)}
