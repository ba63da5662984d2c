"""ReBRAC (Tarasov et al., 2023): TD3 on given data, with penalties in the policy and in the targets of the critics."""

from algos.rebrac.config import Config as Config

NAME = "ReBRAC"
