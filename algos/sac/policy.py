"""Policy of the soft actor-critics: a squashed Gaussian and the entropy temperature, and choices beside it."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from algos.base import Act, Array, EnvSpec, Explore, PolicyModule, Streams, Tree, UnfitError
from algos.common.maths.gaussian import SquashedGaussian, SquashedStateGaussian, StateDependentStd
from algos.common.maths.targets import entropy_of, soft_value
from algos.common.nets import networks
from algos.common.nets.layers import changed_by
from algos.common.nets.recurrent import Observed, Recurrent
from algos.common.parts import optim, team
from algos.common.parts.acting import Greedy, Policy
from algos.common.parts.continuous import Bounds, Explorer, SquashedNoise, standard_normal
from algos.common.parts.optim import GradientStep, Outcome
from algos.common.parts.passes import Carried, outputs_of
from algos.common.parts.state import load_state_of, state_of
from algos.sac.choices import Choosing
from algos.sac.losses import policy_loss
from algos.sac.temperature import Temperature
from config.model.composite import Composite, kinds_of

SMOOTH_LOG_STD = (-10.0, 2.0)


def _target_entropy(cfg: Any, size: int) -> float:
    """Returns the entropy that alpha is tuned for: that of `size` normal variables with the deviation target_std, or
    -size."""
    if cfg.target_std is not None:
        return size * 0.5 * math.log(2.0 * math.pi * math.e * float(cfg.target_std) ** 2)
    return -float(size) if cfg.target_entropy is None else float(cfg.target_entropy)


class MeansFirst(nn.Module):
    """Outputs of single agents [B, S, 2 k] -> [B, 2 S k]: the means of all, followed by their log deviations."""

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (2, -1)).transpose(1, 2).flatten(1)


def _of_agents(
    cfg: Any, spec: EnvSpec, outputs: int, seed: int, normalizer: nn.Module | None
) -> networks.Network | Recurrent:
    """Returns the actors of several agents as one network, each of which sees its own observation (MASAC)."""
    build = team.shared_by_agents if cfg.shared_actor else team.own_of_agents
    return build(spec, cfg.actor_layers, outputs // spec.agents, cfg, seed, normalizer).extend([MeansFirst()])


class SoftPolicy(Policy):
    """Squashed Gaussian policy that acts in the environment's units and learns in the cube -1..1. cfg is a
    ContinuousConfig and a TemperatureConfig."""

    METRICS: ClassVar[tuple[str, ...]] = ("actor_loss", "entropy", "alpha")
    KEPT: ClassVar[tuple[str, ...]] = ("optimizer", "temperature", "metrics")

    def __init__(
        self,
        cfg: Any,
        spec: EnvSpec,
        streams: Streams,
        device: torch.device,
        normalizer: nn.Module | None,
        value: Callable[[Observed, Tensor], Tensor],
        beta1: float = 0.9,
    ) -> None:
        """value: the value [B] of actions [B, A] in the cube, which the policy maximizes."""
        self.cfg, self.rng, self.device = cfg, streams.learn, device
        space = spec.action_space
        supported = not set(kinds_of(space)).isdisjoint(cfg.ACTION_SPACES)
        self.choices = Choosing(cfg, space, device) if isinstance(space, Composite) and supported else None
        """Choices in the actions of a Tuple or Dict; None for a Box alone."""
        self.bounds = Bounds(space if self.choices is None else self.choices.box, device)
        size, sde, smooth = (
            self.bounds.size,
            getattr(cfg, "use_sde", False),
            SMOOTH_LOG_STD if cfg.smooth_log_std else None,
        )
        if sde and cfg.JOINT:
            raise UnfitError("algo_cfg.use_sde is for the actions of one agent")
        if sde and self.choices is not None:
            raise UnfitError("algo_cfg.use_sde is for actions in a Box, and {space} is not", space=space)
        self.distribution = SquashedStateGaussian(size) if sde else SquashedGaussian(size, smooth)
        outputs: Any = self.distribution.outputs + (0 if self.choices is None else self.choices.logits)
        if sde:
            outputs = lambda features: StateDependentStd(features.width, size, 0.0, learns_features=True)  # noqa: E731
        if cfg.JOINT:
            self.network = _of_agents(cfg, spec, outputs, streams.init, normalizer)
        else:
            self.network = networks.build(spec, cfg.actor_layers, outputs, cfg, streams.init, normalizer=normalizer)
        self.network.to(device)
        self.optimizer = optim.make(changed_by(self.network), cfg, cfg.actor_lr, beta1=beta1)
        self.temperature = Temperature(cfg, device)
        self.target_entropy = _target_entropy(cfg, self.bounds.size)
        self.value = value
        self.step = GradientStep(self._loss, self.optimizer, cfg.max_grad_norm)  # not of the critics
        self.carried = Carried(self.network, device)
        noise = None
        if isinstance(self.distribution, SquashedStateGaussian):
            noise = SquashedNoise(self.network, self.distribution, cfg.sde_sample_freq)
        self.explorer = Explorer(cfg, self.bounds, self.carried, noise)
        zero = torch.zeros((), device=device)
        self.metrics = {"actor_loss": zero, "entropy": zero, "alpha": self.temperature.alpha()}
        """Metrics of the last policy step."""
        self.modules: dict[str, nn.Module] = {"actor": self.network, "temperature": self.temperature}
        """The parts of the policy that have weights."""
        if self.choices is not None:
            self.choice_temperature = self.modules["choice_temperature"] = self.choices.temperature
            self.KEPT = (*self.KEPT, "choice_temperature")  # type: ignore[misc]
            self.metrics |= {"choice_entropy": zero, "choice_alpha": self.choice_temperature.alpha()}

    @property
    def outcomes(self) -> int:
        """Number of actions that a critic gives values of at once."""
        return 1 if self.choices is None else self.choices.outcomes

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array | None:
        return self.explorer.initial_state(rows)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns samples; for None the modes of the distributions."""
        if self.choices is not None:
            return self._act_in_parts(self.choices, obs, state, mask, explore)
        if explore is None:
            return self.explorer.act(self.distribution.mode, obs, state)
        rng, distribution = explore.rng, self.distribution

        def draw(outputs: Array, noise: Array | None = None) -> Array:
            return distribution.sample(outputs, rng) if noise is None else distribution.with_noise(outputs, noise)

        return self.explorer.act(draw, obs, state, explore)

    def _act_in_parts(
        self, choices: Choosing, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None
    ) -> Act:
        """Returns flat actions: the choices, and the numbers as for a Box alone."""
        logits = np.zeros((len(obs), choices.logits), np.float32)  # random at the start of a run

        def unit(outputs: Array, noise: Array | None = None) -> Array:
            logits[:], numbers = outputs[:, : choices.logits], outputs[:, choices.logits :]
            if noise is not None:
                return self.distribution.with_noise(numbers, noise)
            return (
                self.distribution.mode(numbers) if explore is None else self.distribution.sample(numbers, explore.rng)
            )

        act = self.explorer.act(unit, obs, state, explore)
        values = choices.values(choices.masked(logits, mask), None if explore is None else explore.rng)
        return act._replace(action=choices.joined(values, act.action))

    def as_module(self) -> PolicyModule:
        if self.choices is not None:
            return Greedy(self.network, partial(self._best_in_parts, self.choices), mask=self.choices.masked)
        return Greedy(self.network, lambda outputs: self.bounds.bounded(self.distribution.best(outputs)))

    def _best_in_parts(self, choices: Choosing, outputs: Tensor) -> Tensor:
        numbers = self.bounds.bounded(self.distribution.best(outputs[:, choices.logits :]))
        return choices.best(outputs, numbers)

    # learning ---------------------------------------------------------------------------------------------

    def noise(self, rows: int) -> Tensor:
        """Returns the standard normal noise [B, A] of sampled actions."""
        return standard_normal(rows, self.bounds.size, self.rng, self.device)

    def draw(self, obs: Observed, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Samples actions [B, A] in the cube; returns them with their log densities [B]."""
        return self.distribution.draw(outputs_of(self.network, obs), noise)

    def draw_in_parts(
        self, choices: Choosing, obs: Observed, noise: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Samples numbers [B, A] in the cube; returns them with their log densities [B], and log pi(.|s) [B, K] of the
        combinations of choices."""
        outputs = outputs_of(self.network, obs)
        return *self.distribution.draw(outputs[:, choices.logits :], noise), choices.log_pi(outputs, mask)

    def to_unit(self, action: Tensor) -> Tensor:
        """Returns actions of the environment [B, ...] as critics get them, [B, A]: of a Tuple or Dict the numbers."""
        return self.bounds.to_unit(action if self.choices is None else action[:, self.choices.numbers])

    def chosen(self, q: Tensor, action: Tensor) -> Tensor:
        """Returns the values [n, B] of actions of the environment [B, ...] from the outputs of critics."""
        return q if self.choices is None else self.choices.chosen(q, action)

    def next_value(
        self, obs: Observed, noise: Tensor, mask: Tensor | None, q_of: Callable[[Tensor], Tensor], backup: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the values [n, B] of drawn actions, and their log densities [B]; with choices, the soft value over
        all of them [1, B]. q_of: the outputs of the target critics for actions [B, A]; backup: False leaves out the
        entropy of choices."""
        if (choices := self.choices) is not None:
            with torch.no_grad():
                action, log_prob, log_pi = self.draw_in_parts(choices, obs, noise, mask)
                alpha = choices.temperature.alpha() if backup else log_prob.new_zeros(())
                return soft_value(log_pi, choices.by_outcome(q_of(action)).amin(0), alpha).unsqueeze(0), log_prob
        with torch.no_grad():
            action, log_prob = self.draw(obs, noise)
        # not within no_grad, since the weights are frozen: there is no graph
        return q_of(action), log_prob

    def improve(self, obs: Observed, noise: Tensor, reduce: optim.Reduce, mask: Tensor | None = None) -> None:
        """Makes one actor step towards actions of higher value, and one of the temperature."""
        masks = () if mask is None else (mask,)
        self.metrics, entropy = self.step(obs, noise, *masks, reduce=reduce)
        if self.choices is not None:
            entropy, of_choices = entropy
            self.choices.temperature.step(of_choices, self.choices.target_entropy(mask), reduce)
        self.temperature.step(entropy, self.target_entropy, reduce)

    def _loss(self, obs: Observed, noise: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Outcome]:
        """Returns the loss of the policy, and the entropy of each sample [B]; with choices [2, B], theirs last."""
        if self.choices is not None:
            return self._loss_in_parts(self.choices, obs, noise, mask)
        alpha = self.temperature.alpha()
        action, log_prob = self.draw(obs, noise)
        loss = policy_loss(log_prob, self.value(obs, action), alpha)
        entropy = -log_prob.detach()
        return loss, Outcome({"actor_loss": loss.detach(), "entropy": entropy.mean(), "alpha": alpha}, entropy)

    def _loss_in_parts(
        self, choices: Choosing, obs: Observed, noise: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Outcome]:
        alpha, choice_alpha = self.temperature.alpha(), choices.temperature.alpha()
        action, log_prob, log_pi = self.draw_in_parts(choices, obs, noise, mask)
        value = soft_value(log_pi, choices.by_outcome(self.value(obs, action)), choice_alpha)
        loss = policy_loss(log_prob, value, alpha)
        entropies = torch.stack([-log_prob.detach(), entropy_of(log_pi.detach())])
        entropy, choice_entropy = entropies.mean(1)
        metrics = {"actor_loss": loss.detach(), "entropy": entropy, "alpha": alpha}
        return loss, Outcome(metrics | {"choice_entropy": choice_entropy, "choice_alpha": choice_alpha}, entropies)

    # checkpoints ------------------------------------------------------------------------------------------

    def state(self) -> Tree:
        """Returns what learning depends on in addition to the weights, and the metrics of the last step."""
        return state_of(self, self.KEPT)

    def load_state(self, state: Tree) -> None:
        """Restores state()."""
        load_state_of(self, self.KEPT, state)
