"""The parts of a run that are of one kind for a single agent, and of another one for several policies."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

import algos
from algos.base import Agent, EnvSpec, Streams, TrainableActor
from config import machine
from config.model.memory_spec import ReplaySpec, RolloutSpec
from config.read.loader import RunConfig
from envs.base import Goal
from framework import memory
from framework.assemble import offline, resources
from framework.collect.fragment import Recorder
from framework.dataset.store import StepStore
from framework.errors import JoystickError
from framework.loop.joint_learner import JointLearner
from framework.loop.learner import AgentLearner, Learner
from framework.memory.expert_windows import ExpertWindows
from framework.memory.offline_replay import OfflineReplay
from framework.policies.agent import MultiPolicyAgent
from framework.policies.memory import MultiPolicyMemory
from framework.policies.policy_plan import JointPlan, PolicyPlan, SinglePlan
from framework.policies.returns import AgentReturns
from framework.record.joint_recorders import AgentSteps, AgentTrajectories
from framework.record.recorders import TrajectoryRecorder
from framework.seeding import stream


class Parts(ABC):
    """Makes the parts of a run that follow from its plan."""

    @abstractmethod
    def agent(
        self, agents: Mapping[str, Agent], spec: EnvSpec, device: torch.device, expert: Callable[[], Any]
    ) -> TrainableActor:
        """Returns what acts, made of the agents of the policies. expert: returns the expert that the settings name."""

    @abstractmethod
    def learner(self, agent: TrainableActor) -> Learner:
        """Returns what applies the updates of this agent."""

    @abstractmethod
    def memory(self, seed: int, goal: Goal | None, collectors: int, apart: bool, most: int) -> memory.Memory:
        """Returns the memory (see build.make_memory). most: largest number of minibatches in a chunk."""

    @abstractmethod
    def returns(self, rows: int, training: bool) -> list[Recorder]:
        """Returns what sums the rewards of the agents of each policy."""

    @abstractmethod
    def trajectories(self, writer: StepStore | None, rows: int, training: bool) -> Recorder:
        """Returns what records whole trajectories."""

    @abstractmethod
    def steps(self) -> AgentSteps | None:
        """Returns what makes the columns of a trace for each policy; None for the columns of the fragment itself."""


def _compile(config: RunConfig, agent: TrainableActor, policies: Iterable[PolicyPlan]) -> None:
    """Lets the updates of these policies be compiled, if the run says so and they can be."""
    if config.general.compile != "on":
        return
    for policy in policies:
        learner = agent.by_policy()[policy.name]
        if learner.uncompiled(policy.algo) is None:
            for step in learner.gradient_steps():
                step.compile(policy.minibatch)


class SingleParts(Parts):
    """Parts of a run with a single agent."""

    def __init__(self, config: RunConfig, policy: PolicyPlan) -> None:
        self.config, self.policy = config, policy

    def agent(
        self, agents: Mapping[str, Agent], spec: EnvSpec, device: torch.device, expert: Callable[[], Any]
    ) -> TrainableActor:
        agent = agents[""]
        if self.config.algo.EXPERT_ACTS:
            agent.expert = expert()
        return agent

    def learner(self, agent: TrainableActor) -> Learner:
        _compile(self.config, agent, [self.policy])
        return AgentLearner(agent.by_policy()[""], self.policy.memory)

    def memory(self, seed: int, goal: Goal | None, collectors: int, apart: bool, most: int) -> memory.Memory:
        config, policy, spec = self.config, self.policy, self.policy.memory
        rng, depth = stream(seed, "memory"), resources.depth_of(policy)
        data, data_rng = offline.offline_data(config, policy, seed), stream(seed, "memory/data")
        if data is None or spec.data is None:
            mirror = self._mirror() if depth else None
            return memory.make(spec, rng, goal, collectors, apart, most, depth, mirror)
        if isinstance(spec, RolloutSpec):
            return ExpertWindows(memory.rollout(spec, collectors, apart), data_rng, data)
        pace = offline.pace(config, spec.data.updates, most)
        return OfflineReplay(spec, rng, data_rng, data, goal, collectors, pace, seed, depth)

    def _mirror(self) -> torch.device | None:
        """Returns the GPU that learns if it can have the frames of the replay memory too: images that are not
        compressed, in the process that learns, which leave at least half of its free memory, also while they are moved
        to more room."""
        config, policy = self.config, self.policy
        device, spec = device_of(config), policy.memory
        assert isinstance(spec, ReplaySpec)
        here = device.type == "cuda" and config.general.mp_backend == "single"
        if not here or spec.compress or policy.spec.observation_space.dtype != np.uint8:
            return None
        return device if 2.5 * resources.policy_bytes(config, policy) <= torch.cuda.mem_get_info(device)[0] else None

    def returns(self, rows: int, training: bool) -> list[Recorder]:
        return []

    def trajectories(self, writer: StepStore | None, rows: int, training: bool) -> Recorder:
        return TrajectoryRecorder(writer, rows)

    def steps(self) -> None:
        return None


class JointParts(Parts):
    """Parts of a run with policies in a multi-agent environment."""

    def __init__(self, config: RunConfig, plan: JointPlan) -> None:
        self.config, self.plan = config, plan

    def agent(
        self, agents: Mapping[str, Agent], spec: EnvSpec, device: torch.device, expert: Callable[[], Any]
    ) -> TrainableActor:
        random = {
            policy.name: _at_random(policy)
            for policy in self.plan.policies
            if self.plan.slots[policy.name].meets_random
        }
        return MultiPolicyAgent(self.plan, spec, agents, random, device)

    def learner(self, agent: TrainableActor) -> Learner:
        assert isinstance(agent, MultiPolicyAgent)
        _compile(self.config, agent, self.plan.learning)
        return JointLearner(agent, self.plan)

    def memory(self, seed: int, goal: Goal | None, collectors: int, apart: bool, most: int) -> memory.Memory:
        return MultiPolicyMemory(self.plan, seed, collectors, apart, most)

    def returns(self, rows: int, training: bool) -> list[Recorder]:
        return [AgentReturns(self.plan, rows, training)]

    def trajectories(self, writer: StepStore | None, rows: int, training: bool) -> Recorder:
        return AgentTrajectories(self.plan, writer, rows, training)

    def steps(self) -> AgentSteps:
        return AgentSteps(self.plan)


def _at_random(policy: PolicyPlan) -> Agent:
    """Makes an agent that draws the actions of a policy."""
    package = algos.get("Random")
    agent: Agent = algos.agent_class(package)(package.Config(), policy.spec, Streams(init=0), torch.device("cpu"))
    return agent


def parts_of(config: RunConfig, plan: SinglePlan | JointPlan) -> Parts:
    """Returns what makes the parts of a run with this plan."""
    return JointParts(config, plan) if isinstance(plan, JointPlan) else SingleParts(config, plan.policy)


def device_of(config: RunConfig) -> torch.device:
    """Returns the device of general_cfg.device. Raises JoystickError if it is not available."""
    name = config.general.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if why := machine.missing_device(name):  # on a machine of a cluster; elsewhere the loader has checked it
        raise JoystickError("general_cfg.device is {name}, but {why}", name=name, why=why)
    return torch.device(name)
