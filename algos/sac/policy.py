"""Policy of the soft actor-critics: a squashed Gaussian and the entropy temperature."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from gymnasium.spaces import Space
from torch import Tensor, nn

from algos.base import Act, Array, EnvSpec, Explore, PolicyModule, Streams, Tree
from algos.common.maths.gaussian import SquashedGaussian
from algos.common.nets import networks
from algos.common.parts import optim
from algos.common.parts.acting import Greedy, Policy
from algos.common.parts.continuous import Bounds, Explorer, standard_normal
from algos.common.parts.optim import GradientStep, Outcome
from algos.common.parts.sequences import Carried, Observed, outputs_of
from algos.common.parts.state import load_state_of, state_of
from algos.sac.losses import policy_loss
from algos.sac.temperature import Temperature


class SoftPolicy(Policy):
    """Squashed Gaussian policy that acts in the environment's units and learns in the cube -1..1. cfg is a
    ContinuousConfig and a TemperatureConfig."""

    METRICS: ClassVar[tuple[str, ...]] = ("actor_loss", "entropy", "alpha")
    KEPT: ClassVar[tuple[str, ...]] = ("optimizer", "temperature", "metrics")
    logits: int = 0
    """Number of outputs of the network before those of the Gaussian."""
    outcomes: int = 1
    """Number of actions that a critic gives values of at once."""

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
        self.bounds = Bounds(self.box(spec.action_space), device)
        self.distribution = SquashedGaussian(self.bounds.size)
        outputs = self.logits + self.distribution.outputs
        self.network = networks.build(spec, cfg.actor_layers, outputs, cfg, streams.init, normalizer=normalizer)
        self.network.to(device)
        self.optimizer = optim.make(self.network.parameters(), cfg, cfg.actor_lr, beta1=beta1)
        self.temperature = Temperature(cfg, device)
        self.target_entropy = -float(self.bounds.size) if cfg.target_entropy is None else cfg.target_entropy
        self.value = value
        self.step = GradientStep(self._loss, self.optimizer, cfg.max_grad_norm)  # not of the critics
        self.carried = Carried(self.network, device)
        self.explorer = Explorer(cfg, self.bounds, self.carried)
        zero = torch.zeros((), device=device)
        self.metrics = {"actor_loss": zero, "entropy": zero, "alpha": self.temperature.alpha()}
        """Metrics of the last policy step."""

    def box(self, space: Space) -> Space:
        """Returns the Box of the numbers that are squashed."""
        return space

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The parts of the policy that have weights."""
        return {"actor": self.network, "temperature": self.temperature}

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

    # values of actions; what differs where some of an action is chosen from a few is in HybridPolicy

    def to_unit(self, action: Tensor) -> Tensor:
        """Returns actions of the environment [B, ...] as critics get them, [B, A]."""
        return self.bounds.to_unit(action)

    def chosen(self, q: Tensor, action: Tensor) -> Tensor:
        """Returns the values [n, B] of actions of the environment [B, ...] from the outputs of critics."""
        return q

    def next_value(
        self, obs: Observed, noise: Tensor, mask: Tensor | None, q_of: Callable[[Tensor], Tensor], backup: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the values [n, B] of drawn actions, and their log densities [B]. q_of: the outputs of the target
        critics for actions [B, A]; backup: False leaves the entropy of choices out."""
        with torch.no_grad():
            action, log_prob = self.draw(obs, noise)
        # not within no_grad, since the weights are frozen: there is no graph
        return q_of(action), log_prob

    def improve(self, obs: Observed, noise: Tensor, reduce: optim.Reduce, mask: Tensor | None = None) -> None:
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
