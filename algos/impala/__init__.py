"""Importance weighted actor-learner architecture (Espeholt et al., 2018): A2C by workers that do not wait for the
learner, whose lag V-trace corrects."""

from algos.impala.config import Config as Config
from config.tell.language import tr

NAME = "IMPALA"
ALIASES = ("A3C",)
REMARKS = {"A3C": tr("A3C is IMPALA here: workers send transitions, not gradients, and V-trace corrects their lag")}
