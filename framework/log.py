"""The logger of the program, and its level."""

import logging

LOGGER = logging.getLogger("joystick")


def level_of(name: str) -> int:
    """Returns the level of the logger for general_cfg.log_level. Warnings always pass: the terminal shows them."""
    return min(logging.getLevelNamesMapping()[name.upper()], logging.WARNING)
