"""Defaults of DiscreteCQL: DQN's, except for these."""

from algos.dqn.config import Config as Family


class Config(Family):
    """DiscreteCQL: DQN on given data, with values that are low for actions that the data do not choose."""

    OFFLINE = True
    RUN = {}

    cql_alpha = 1.0
    lr = 2e-4
    loss = "mse"
    batch_size = 128
    target_update = 1
    tau = 0.005
