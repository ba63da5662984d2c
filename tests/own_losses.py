"""Custom layers with a loss and statistics of their own, as RLlib's models have them."""

import torch
from torch import Tensor, nn

SEEN: list[dict] = []
"""Arguments of the last call of custom_loss."""


class Regularized(nn.Module):
    """A layer whose weights are pulled to zero."""

    def __init__(self, in_shape: tuple[int, ...], width: int = 8, pull: float = 1.0) -> None:
        super().__init__()
        self.linear, self.pull = nn.Linear(in_shape[0], width), pull
        self.asked = 0

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x))

    def custom_loss(self, policy_loss: Tensor, loss_inputs: dict) -> Tensor:
        self.asked += 1
        SEEN.append(loss_inputs)
        return policy_loss + self.pull * self.linear.weight.square().sum()

    def custom_stats(self) -> dict[str, float]:
        return {"weight_norm": self.linear.weight.norm(), "asked": self.asked}


class ByMetrics(Regularized):
    """The statistics by the other name."""

    custom_stats = None

    def metrics(self) -> dict[str, float]:
        return {"asked": self.asked}


class CellWithLoss(nn.Module):
    """A recurrent layer with a loss."""

    def __init__(self, in_shape: tuple[int, ...], size: int = 4) -> None:
        super().__init__()
        self.state_size, self.cell = size, nn.GRUCell(*in_shape, size)

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        outs = []
        for step in x:
            state = self.cell(step, state)
            outs.append(state)
        return torch.stack(outs), state

    def custom_loss(self, policy_loss: Tensor, loss_inputs: dict) -> Tensor:
        SEEN.append(loss_inputs)
        return policy_loss + self.cell.weight_hh.square().sum()


class Bad(Regularized):
    """A loss that is no loss, or statistics that are none."""

    def __init__(self, in_shape: tuple[int, ...], fault: str) -> None:
        super().__init__(in_shape)
        self.fault = fault

    def custom_loss(self, policy_loss: Tensor, loss_inputs: dict) -> Tensor:
        match self.fault:
            case "float":
                return 0.5
            case "none":
                return None
            case "vector":
                return policy_loss + self.linear.weight.sum(0)
            case "whole":
                return policy_loss.long()
            case "nan":
                return policy_loss * float("nan")
            case "infinite":
                return policy_loss + float("inf")
            case "detached":
                return policy_loss.detach()
            case "column":
                return policy_loss + loss_inputs["advantages"].mean()
        return policy_loss

    def custom_stats(self) -> dict[str, float]:
        match self.fault:
            case "list":
                return [1.0]
            case "text":
                return {"norm": "high"}
            case "shape":
                return {"norm": torch.ones(3)}
            case "name":
                return {"the norm": 1.0}
            case "number":
                return {3: 1.0}
            case "raises":
                raise RuntimeError("of its own")
            case "weight":
                return {"norm": self.linear.weight}
            case "taken":
                return {"loss": 1.0}
        return {}


class OneArgument(Regularized):
    def custom_loss(self, policy_loss: Tensor) -> Tensor:
        return policy_loss


class ThreeArguments(Regularized):
    def custom_loss(self, policy_loss: Tensor, loss_inputs: dict, model: nn.Module) -> Tensor:
        return policy_loss


class Weightless(nn.Module):
    def __init__(self, in_shape: tuple[int, ...]) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x

    def custom_loss(self, policy_loss: Tensor, loss_inputs: dict) -> Tensor:
        return policy_loss


class Failing(Regularized):
    """Fails in its first pass of more than two rows: not where its zeros pass."""

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 2:
            raise RuntimeError("of\nits own")
        return super().forward(x)
