"""Runs an Agent that learns in a process of its own, alone or with others that average their gradients."""

import os
import socket
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from algos.base import Array, EnvSpec, Progress, Tree
from config.read.loader import RunConfig
from framework.assemble import build
from framework.assemble.kernels import use_kernels
from framework.distributed.utilization import BusyShare
from framework.log import Line, Lines
from framework.loop.learner import Learned
from framework.loop.share import Share, digest
from framework.memory.chunk import Chunk, Keys

PATIENCE = timedelta(seconds=120)
"""Time that learners wait for one another."""


class LearnerReport(NamedTuple):
    """Report to the driver about a chunk that was learned from."""

    learned: Learned
    keys: Keys | None
    seconds: float
    """Duration of learning from the chunk."""
    busy: float
    """Share of its recent time that this learner has worked."""
    log: list[Line] = []
    """Lines that were logged in this process since the last report."""


class LearnerActor:
    """Learns from a chunk at each call."""

    def __init__(self, config: RunConfig, spec: EnvSpec, rank: int, world: int) -> None:
        use_kernels(config)
        agent = build.make_agent(config, spec, config.general.seed, build.device_of(config))
        build.choose_threads(config, agent, world)
        self.learner = build.make_learner(config, spec, agent)
        self.rank, self.world, self.busy = rank, world, BusyShare()
        self.log = Lines(config.general.log_level)
        self.whole_gpu = agent.device.type == "cuda" and config.general.gpus >= 1

    def address(self) -> tuple[str, int]:
        """Opens the port at which the learners connect; called on the first of them. Returns host and port."""
        import ray

        host = "127.0.0.1" if "JOYSTICK_RAY" in os.environ else str(ray.util.get_node_ip_address())
        door = socket.create_server((host, 0))  # torch itself would listen on every interface
        port: int = door.getsockname()[1]
        self.store = dist.TCPStore(host, port, self.world, True, PATIENCE, False, master_listen_fd=door.detach())
        return host, port

    def join(self, host: str, port: int) -> None:
        """Connects to the other learners. From now on this one learns from its part of every minibatch."""
        if self.rank:
            self.store = dist.TCPStore(host, port, self.world, False, PATIENCE)
        kind = "nccl" if self.whole_gpu else "gloo"  # nccl refuses two learners on one GPU
        dist.init_process_group(kind, store=self.store, rank=self.rank, world_size=self.world, timeout=PATIENCE)
        self.learner.divide(Share(self.rank, self.world, _sum))

    def learn(self, chunk: Chunk | None, progress: Progress) -> tuple[LearnerReport, dict[str, Array] | None]:
        """Makes all updates that a chunk allows. Returns the report, and the weights of the first learner."""
        with self.busy, self.log.captured():
            if chunk is None:
                return LearnerReport(Learned({}, 0), None, 0.0, self.busy.share), None
            learned = self.learner.learn(_own(chunk), progress)
            weights = self.learner.agent.weights() if self.rank == 0 else None
        keys = chunk.keys if learned.priorities is not None else None
        return LearnerReport(learned, keys, self.busy.seconds, self.busy.share, self.log.take()), weights

    def validate(self, chunk: Chunk, progress: Progress) -> dict[str, float]:
        """Returns the metrics of an update from a minibatch, and changes nothing."""
        return self.learner.validate(_own(chunk), progress)

    def digest(self) -> str:
        """Returns a digest of all weights, which is the same for every learner."""
        return digest(self.learner.agent.weights())

    def weights(self) -> dict[str, Array]:
        """Returns everything that acting depends on."""
        return self.learner.agent.weights()

    def load_weights(self, weights: dict[str, Array]) -> None:
        """Replaces everything that acting depends on."""
        self.learner.agent.load_weights(weights)

    def state(self) -> Tree:
        """Returns everything that learning depends on."""
        return self.learner.agent.state()

    def load_state(self, state: Tree) -> None:
        """Restores `state`."""
        self.learner.agent.load_state(state)

    def node(self) -> str:
        """Returns the id of its node in the cluster."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def pid(self) -> int:
        """Returns its process id."""
        return os.getpid()


def _own(chunk: Chunk) -> Chunk:
    """Returns a chunk whose arrays are this process's own, and may be written to."""
    arrived = None if chunk.arrived is None else {name: np.array(value) for name, value in chunk.arrived.items()}
    return chunk._replace(columns={name: np.array(value) for name, value in chunk.columns.items()}, arrived=arrived)


def _sum(tensors: list[torch.Tensor]) -> None:
    """Sums tensors over all learners, in place and with one message."""
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.all_reduce(flat)
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view_as(tensor))
