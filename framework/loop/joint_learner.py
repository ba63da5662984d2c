"""Learns with several policies: each chunk goes to the learner of its policy."""

from algos.base import Progress
from framework.loop.learner import Learned, Learner, Share
from framework.memory.chunk import Chunk
from framework.policies.agent import MultiPolicyAgent
from framework.policies.plan import Plan


class MultiPolicyLearner:
    """The Learners of all policies that learn. Has the interface of a Learner."""

    def __init__(self, agent: MultiPolicyAgent, plan: Plan) -> None:
        self.agent = agent
        self._learners = {policy.name: Learner(agent.agents[policy.name], policy.memory) for policy in plan.learning}

    def divide(self, share: Share) -> None:
        """Makes every learner use its share of every minibatch."""
        for learner in self._learners.values():
            learner.divide(share)

    def learn(self, chunk: Chunk, progress: Progress) -> Learned:
        """Makes all updates of a chunk, with the metrics of its policy."""
        learned = self._learners[chunk.policy].learn(chunk, progress)
        if chunk.policy in self.agent.leagues:
            self.agent.leagues[chunk.policy].learned(learned.updates)
        return learned._replace(metrics={f"{chunk.policy}/{name}": value for name, value in learned.metrics.items()})
