"""Adam as torch has it, without what torch does around each step."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

State = tuple[list[Tensor], list[Tensor], list[Tensor]]


class FusedAdam(torch.optim.Adam):
    """torch's fused Adam or AdamW: same kernel, same state, same bits, about 100 us less per step on a CPU."""

    def __init__(
        self, parameters: Iterable[Any], lr: float, epsilon: float, weight_decay: float, decoupled: bool
    ) -> None:
        super().__init__(
            parameters, lr, eps=epsilon, weight_decay=weight_decay, fused=True, decoupled_weight_decay=decoupled
        )
        self._kernel: Callable[..., None] = torch._fused_adamw_ if decoupled else torch._fused_adam_
        self._cached: list[State] | None = None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._cached = None

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step with the gradients that the parameters hold."""
        grads = [[p.grad for p in group["params"]] for group in self.param_groups]
        if any(grad is None for some in grads for grad in some) or (self._cached is None and not self._remember()):
            super().step()
            return
        assert self._cached is not None
        for group, some, (means, squares, steps) in zip(self.param_groups, grads, self._cached, strict=True):
            torch._foreach_add_(steps, 1)
            beta1, beta2 = group["betas"]
            self._kernel(
                group["params"],
                some,
                means,
                squares,
                [],
                steps,
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    step.hooked = True  # type: ignore[attr-defined]  # or torch wraps step in a profiler's hook, half of the 100 us

    def _remember(self) -> bool:
        """Lists of the state of all parameters, by group; False until torch's own step has made it."""
        names = ("exp_avg", "exp_avg_sq", "step")
        groups = [[self.state.get(p) for p in group["params"]] for group in self.param_groups]
        if not all(state for group in groups for state in group):
            return False
        self._cached = [tuple([state[name] for state in group] for name in names) for group in groups]  # type: ignore
        return True
