"""What a configuration may name: the algorithms and the kinds of environment that have a folder."""

import algos
import envs
from config.finder import Finder

ALGOS = Finder(algos.get, algos.available)
ENVS = Finder(envs.get, envs.available)
