"""VDN: QMIX whose mixer is a sum."""

from typing import Any, ClassVar, Literal

from algos.qmix.config import Config as Family


class Config(Family):
    """VDN: cooperating agents share a value network; the sum of their values is learned as one."""

    FIXED: ClassVar[dict[str, Any]] = {"mixer": "sum"}

    mixer: Literal["monotonic", "sum"] = "sum"
