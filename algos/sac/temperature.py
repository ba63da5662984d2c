"""The entropy temperature alpha of maximum entropy reinforcement learning."""

import math

import torch
from torch import Tensor, nn

from algos.base import Tree
from algos.common.parts import optim
from algos.common.parts.state import load_state_tree, state_tree
from algos.common.settings import TemperatureConfig
from algos.sac.losses import temperature_gradient


class Temperature(nn.Module):
    """alpha, stored as its logarithm; learned, or a constant."""

    KEPT = ("optimizer",)
    log_alpha: Tensor

    def __init__(self, cfg: TemperatureConfig, device: torch.device) -> None:
        super().__init__()
        first = torch.tensor(math.log(cfg.alpha_init if cfg.alpha == "auto" else cfg.alpha), device=device)
        self.optimizer: optim.Optimizer | None = None
        if cfg.alpha == "auto":
            self.log_alpha = nn.Parameter(first)
            # weight decay would pull alpha towards 1
            self.optimizer = optim.make([self.log_alpha], cfg.model_copy(update={"weight_decay": 0.0}), cfg.alpha_lr)
        else:
            self.register_buffer("log_alpha", first, persistent=False)

    def alpha(self) -> Tensor:
        """0-dimensional, without gradient."""
        return self.log_alpha.detach().exp()

    def step(self, entropy: Tensor, target: Tensor | float, reduce: optim.Reduce) -> None:
        """Makes one step, towards a larger alpha if the entropy [B] is below its target."""
        if self.optimizer is not None:
            self.log_alpha.grad = temperature_gradient(entropy, target)
            optim.apply_gradients(self.optimizer, [self.log_alpha], None, reduce)

    def state(self) -> Tree | None:
        """Returns the state of the optimizer; alpha itself is a weight."""
        return None if self.optimizer is None else state_tree(self.optimizer)

    def load_state(self, state: Tree | None) -> None:
        """Restores state()."""
        if self.optimizer is not None and state is not None:
            load_state_tree(self.optimizer, state)
