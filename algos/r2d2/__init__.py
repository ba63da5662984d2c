"""Recurrent experience replay (Kapturowski et al., 2019): prioritized sequences from stored states."""

from algos.r2d2.config import Config as Config

NAME = "R2D2"
