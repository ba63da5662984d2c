"""MASAC: soft actors of single agents, trained by critics of all of them."""

from gymnasium.spaces import Box
from torch import Tensor, nn

from algos.common.nets import joint
from algos.sac.agent import Agent as Family


class MeansFirst(nn.Module):
    """Outputs of single agents [B, S, 2 k] -> [B, 2 S k]: the means of all, followed by their log deviations."""

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (2, -1)).transpose(1, 2).flatten(1)


class Agent(Family):
    """SAC whose policy consists of the agents' own actors, or of one that each of them applies by itself."""

    def _policy_network(self) -> nn.Module | None:
        cfg, spec = self.cfg, self.spec
        if not isinstance(spec.action_space, Box):  # refused with its reason by SoftPolicy
            return None
        build = joint.shared_by_agents if cfg.shared_actor else joint.own_of_agents
        size = spec.action_space.shape[0] // spec.agents
        network = build(spec, cfg.actor_layers, 2 * size, cfg, self.streams.init, self.normalizer)
        return network.extend([MeansFirst()])
