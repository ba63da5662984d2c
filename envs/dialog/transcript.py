"""A dialogue that was spoken, exchange by exchange, and its text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envs.dialog import templates
from envs.dialog.acts import Act, Mark
from envs.dialog.goal import Goal


class Exchange(NamedTuple):
    """The acts of the system and the answer of the user; the first one is the opening."""

    system: tuple[Act, ...]
    user: tuple[Act, ...]
    heard: tuple[Act, ...]
    """Acts of the user as the system heard them."""
    belief: Mapping[str, str | Mark]
    """Constraints that it knows of the active domain."""
    booking: Mapping[str, str | Mark]
    """Booking values that it knows of the active domain."""
    matches: int | None
    """Number of entities that match; None without a domain."""


def text(goal: Goal, exchanges: Sequence[Exchange]) -> str:
    """Returns the goal and the dialogue in sentences."""
    spoken = [line for number, exchange in enumerate(exchanges) for line in lines(exchange, opening=number == 0)]
    return "\n".join([str(goal), *spoken]) + "\n"


def lines(exchange: Exchange, opening: bool = False) -> list[str]:
    """Returns the sentences of an exchange; in the opening the system has said nothing yet."""
    system = [] if opening else [f"system: {templates.system_says(exchange.system)}"]
    return [*system, f"user:   {templates.user_says(exchange.user)}"]
