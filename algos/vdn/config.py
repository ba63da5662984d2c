"""VDN: QMIX whose mixer is a sum."""

from algos.qmix.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """VDN: cooperating agents share a value network; the sum of their values is learned as one."""

    mixer = fixed("sum")
