"""Policy of the soft actor-critics: a squashed Gaussian and the entropy temperature."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from algos.base import Act, Array, EnvSpec, Explore, PolicyModule, Streams, Tree
from algos.common.maths.gaussian import SquashedGaussian
from algos.common.maths.state_noise import SquashedStateGaussian, StateDependentStd
from algos.common.nets import networks
from algos.common.parts import optim
from algos.common.parts.acting import Greedy, Policy
from algos.common.parts.continuous import Bounds, Explorer, SquashedNoise, standard_normal
from algos.common.parts.optim import GradientStep, Outcome
from algos.common.parts.sequences import Carried, Observed, outputs_of
from algos.common.parts.state import load_state_of, state_of
from algos.sac.losses import policy_loss
from algos.sac.temperature import Temperature


class SoftPolicy(Policy):
    """Squashed Gaussian policy that acts in the environment's units and learns in the cube -1..1. cfg is a
    ContinuousConfig and a TemperatureConfig."""

    METRICS = ("actor_loss", "entropy", "alpha")
    KEPT = ("optimizer", "temperature", "metrics")

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
        self.bounds = Bounds(spec.action_space, device)
        size, sde = self.bounds.size, getattr(cfg, "use_sde", False)
        self.distribution = SquashedStateGaussian(size) if sde else SquashedGaussian(size)
        outputs: Any = self.distribution.outputs
        if sde:
            outputs = lambda features: StateDependentStd(features.width, size, 0.0, learns_features=True)  # noqa: E731
        self.network = networks.build(spec, cfg.actor_layers, outputs, cfg, streams.init, normalizer=normalizer)
        self.network.to(device)
        self.optimizer = optim.make(self.network.parameters(), cfg, cfg.actor_lr, beta1=beta1)
        self.temperature = Temperature(cfg, device)
        self.target_entropy = -float(self.bounds.size) if cfg.target_entropy is None else cfg.target_entropy
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

    # acting -----------------------------------------------------------------------------------------------

    def initial_state(self, rows: int) -> Array | None:
        return self.explorer.initial_state(rows)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        """Returns samples; for None the modes of the distributions."""
        if explore is None:
            return self.explorer.act(self.distribution.mode, obs, state)
        rng = explore.rng
        return self.explorer.act(lambda outputs: self.distribution.sample(outputs, rng), obs, state, explore)

    def as_module(self) -> PolicyModule:
        return Greedy(self.network, lambda outputs: self.bounds.bounded(self.distribution.best(outputs)))

    # learning ---------------------------------------------------------------------------------------------

    def noise(self, rows: int) -> Tensor:
        """Returns the standard normal noise [B, A] of sampled actions."""
        return standard_normal(rows, self.bounds.size, self.rng, self.device)

    def draw(self, obs: Observed, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Samples actions [B, A] in the cube; returns them with their log densities [B]."""
        return self.distribution.draw(outputs_of(self.network, obs), noise)

    def improve(self, obs: Observed, noise: Tensor, reduce: optim.Reduce) -> None:
        """Makes one actor step towards actions of higher value, and one of the temperature."""
        self.metrics, entropy = self.step(obs, noise, reduce=reduce)
        self.temperature.step(entropy, self.target_entropy, reduce)

    def _loss(self, obs: Observed, noise: Tensor) -> tuple[Tensor, Outcome]:
        """Returns the loss of the policy, and the entropy of each sample [B]."""
        alpha = self.temperature.alpha()
        action, log_prob = self.draw(obs, noise)
        loss = policy_loss(log_prob, self.value(obs, action), alpha)
        entropy = -log_prob.detach()
        return loss, Outcome({"actor_loss": loss.detach(), "entropy": entropy.mean(), "alpha": alpha}, entropy)

    # checkpoints ------------------------------------------------------------------------------------------

    def state(self) -> Tree:
        """Returns what learning depends on in addition to the weights, and the metrics of the last step."""
        return state_of(self, self.KEPT)

    def load_state(self, state: Tree) -> None:
        """Restores state()."""
        load_state_of(self, self.KEPT, state)
