"""EDAC (An et al., 2021): SAC on given data, with many critics whose gradients are kept apart."""

from algos.edac.config import Config as Config

NAME = "EDAC"
