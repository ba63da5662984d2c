"""Random actions have no settings of their own."""

from config.model.inherit import unread
from config.model.schema import AlgoConfig
from config.tell.language import tr


class Config(AlgoConfig):
    """Random: draws every legal action with the same probability, and learns nothing. For policies in policies_cfg."""

    ACTION_SPACES = ("Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict")
    LEARNS = False
    READ_WITH = {"gamma": unread(tr("no learning"))}
