"""The four operations, for a class that says how two of its objects are combined."""

import operator
from collections.abc import Callable
from typing import Any


class Arithmetic:
    """Gives +, -, * and / to a class with `combined`."""

    __slots__ = ()

    def combined(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        """Returns how(mine, its) for each value of this object and of the other one; NotImplemented if it cannot."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self.combined(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self.combined(other, operator.sub)

    def __mul__(self, other: Any) -> Any:
        return self.combined(other, operator.mul)

    def __truediv__(self, other: Any) -> Any:
        return self.combined(other, operator.truediv)

    def __rsub__(self, other: Any) -> Any:
        return self.combined(other, lambda mine, its: its - mine)

    def __rtruediv__(self, other: Any) -> Any:
        return self.combined(other, lambda mine, its: its / mine)

    __radd__, __rmul__ = __add__, __mul__
