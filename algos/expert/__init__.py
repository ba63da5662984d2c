"""Acts as an expert does, and learns nothing: to evaluate one, and to collect what it does."""

from algos.expert.config import Config as Config

NAME = "Expert"
ALIASES = ("ExpertPolicy",)
