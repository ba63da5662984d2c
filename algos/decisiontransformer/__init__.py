"""Decision Transformer: imitates what earned a wanted return in given data (Chen et al., 2021)."""

from algos.decisiontransformer.config import Config as Config

NAME = "DecisionTransformer"
ALIASES = ("DT", "decision_transformer")
