"""Learns with several policies: each chunk goes to the learner of its policy."""

from copy import copy

from algos.base import Progress
from framework.loop.learner import AgentLearner, Learned, Learner
from framework.loop.share import Share
from framework.memory.chunk import Chunk
from framework.policies.agent import MultiPolicyAgent
from framework.policies.policy_plan import JointPlan


class JointLearner(Learner):
    """The learners of all policies that learn."""

    def __init__(self, agent: MultiPolicyAgent, plan: JointPlan) -> None:
        self.agent: MultiPolicyAgent = agent
        self._learners = {
            policy.name: AgentLearner(agent.agents[policy.name], policy.memory) for policy in plan.learning
        }
        self._learning: Learner = next(iter(self._learners.values()))
        """The learner of the latest chunk."""

    def divide(self, share: Share) -> None:
        for learner in self._learners.values():
            learner.divide(copy(share))

    def doing(self) -> str:
        return self._learning.doing()

    def learn(self, chunk: Chunk, progress: Progress) -> Learned:
        """Makes all updates of a chunk, with the metrics of its policy."""
        self._learning = self._learners[chunk.policy]
        learned = self._learning.learn(chunk, progress)
        if chunk.policy in self.agent.leagues:
            self.agent.leagues[chunk.policy].learned(learned.updates)
        return learned._replace(metrics={f"{chunk.policy}/{name}": value for name, value in learned.metrics.items()})
