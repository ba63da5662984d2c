"""Everything between a valid configuration and a finished run: collecting, learning, saving, and telling."""

from config import machine
from config.own import former

machine.choose_waiting()  # before torch is loaded
former.answer()
