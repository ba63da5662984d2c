"""Finders of algorithms and kinds of environment by name. Imports nothing heavy."""

import algos
import envs
from config.read.finder import Finder

ALGOS = Finder(algos.get, algos.available)
ENVS = Finder(envs.get, envs.available)
