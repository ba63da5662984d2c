"""MADDPG: an actor for each agent, trained by central critics."""

from torch import nn

from algos.base import EnvSpec
from algos.common.fast.layers import Network
from algos.common.nets.recurrent import Recurrent
from algos.common.parts import team
from algos.td3.agent import Agent as Family


class Agent(Family):
    """TD3 whose policy consists of the agents' own actors, or of one that each of them applies by itself."""

    def _actor(self, size: int, seed: int) -> Network | Recurrent:
        cfg, spec = self.cfg, self.spec
        build = team.shared_by_agents if cfg.shared_actor else team.own_of_agents
        network = build(spec, cfg.actor_layers, size // spec.agents, cfg, seed, self.normalizer)
        return network.extend([nn.Flatten()])

    def _critic_input(self) -> tuple[str, EnvSpec, nn.Module | None]:
        return team.central(self, self.spec)
