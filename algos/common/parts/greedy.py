"""The best known actions of a network as a module of its own (Agent.as_module)."""

from collections.abc import Callable

from torch import Tensor, nn

from algos.base import PolicyModule
from algos.common.maths.masking import masked
from algos.common.nets.recurrent import Recurrent

Choice = Callable[[Tensor], Tensor]


def highest(values: Tensor) -> Tensor:
    """Returns the first of the best actions [...] of values [..., A]."""
    return values.argmax(-1)


class Greedy(PolicyModule):
    """A network, and the choice of an action from its outputs [N, ...]. Illegal actions are masked in between."""

    def __init__(self, network: nn.Module, choose: Choice, read: Choice = lambda outputs: outputs) -> None:
        """read: from outputs to the numbers that an action is chosen by."""
        super().__init__()
        self.network, self._choose, self._read = network, choose, read
        self.state_size = network.state_size if isinstance(network, Recurrent) else 0

    def forward(self, obs: Tensor, state: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        if isinstance(self.network, Recurrent) and state is not None:
            outputs, state = self.network.step(obs, state)
        else:
            outputs = self.network(obs)
        outputs = self._read(outputs)
        return outputs, self._choose(masked(outputs, mask)), state
