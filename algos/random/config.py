"""Random actions have no settings of their own."""

from typing import ClassVar

from config.model.schema import AlgoConfig


class Config(AlgoConfig):
    """Random: draws every legal action with the same probability, and learns nothing. For policies in policies_cfg."""

    ACTION_SPACES: ClassVar = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    LEARNS: ClassVar = False
    READ_WITH: ClassVar = {"gamma": ("learning", ())}

    @property
    def learning(self) -> bool:
        """False: there is none, so that no setting of it is read."""
        return False
