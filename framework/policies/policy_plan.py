"""Plan of a run: its policies, and the memory of each. Does not need torch.

A run of a single agent has one policy with an empty name. Whatever depends on an algorithm's memory asks the plan.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from config.model.memory_spec import MemorySpec, ReplaySpec, RolloutSpec
from config.model.schema import AlgoConfig
from config.read.loader import RunConfig
from envs.several.joint import JointLayout
from framework.policies.assignment import assign
from framework.policies.slots import Slots

if TYPE_CHECKING:
    from algos.base import EnvSpec


@dataclass(frozen=True)
class PolicyPlan:
    """One policy: its algorithm, its agents, and the description of the environment that it gets."""

    name: str
    """Name in policies_cfg; empty in a run of a single agent."""
    algo: AlgoConfig
    package: ModuleType
    spec: "EnvSpec"
    """Description of the environment for its agent. Rows are the slots of all environments that its memory joins."""
    train: bool = True
    slots: Slots | None = None
    """Its agents' places in joint observations; None in a run of a single agent."""
    window_rows: int = 0
    """Slots of the environments whose fragments are split together."""
    section: str = "algo_cfg"
    """Section of its settings."""

    @cached_property
    def memory(self) -> MemorySpec:
        return self.algo.memory(self.spec.rows)

    @property
    def minibatch(self) -> int:
        """Number of samples that a layer sees at once in an update; of sequences, the rows of a step."""
        spec = self.memory
        if isinstance(spec, ReplaySpec):
            return spec.batch_size
        steps = self.spec.rows * (spec.length if spec.sequence == 1 else 1)
        return min(spec.minibatch or steps, steps)

    @property
    def per_row(self) -> int:
        """Number of its slots in each environment."""
        return self.slots.count if self.slots else 1


@dataclass(frozen=True)
class Plan(ABC):
    """All policies of a run."""

    policies: tuple[PolicyPlan, ...]

    joins: ClassVar[bool] = False
    """True if the fragments of all workers are joined whatever is learned from them."""
    counts_minibatches: ClassVar[bool] = True
    """False if the work of learners is counted in chunks, since they are of several policies."""

    @property
    def learning(self) -> tuple[PolicyPlan, ...]:
        """Policies that learn."""
        return tuple(policy for policy in self.policies if policy.train)

    @property
    def slots(self) -> dict[str, Slots]:
        """Places of the agents of each policy in joint observations, by its name; empty for a single agent."""
        return {policy.name: policy.slots for policy in self.policies if policy.slots}

    @property
    def fragment(self) -> int:
        """Steps of the vector environment between two looks at the memory: the smallest number of all policies."""
        return min((policy.memory.fragment for policy in self.learning), default=1)

    @property
    def fresh(self) -> bool:
        """True if a policy learns from windows of fresh steps."""
        return any(isinstance(policy.memory, RolloutSpec) for policy in self.learning)

    @abstractmethod
    def ratio(self) -> float | None:
        """Returns the updates per transition that the settings ask for; None if a policy has windows of fresh steps, or
        several have replay memories."""

    @abstractmethod
    def work(self, rows: int) -> float:
        """Returns the work (see distributed.throttle) that each step of a worker with this number of rows allows."""


class SinglePlan(Plan):
    """The policy of a run of a single agent."""

    @property
    def policy(self) -> PolicyPlan:
        return self.policies[0]

    def ratio(self) -> float | None:
        spec = self.policy.memory
        return spec.updates_per_step if isinstance(spec, ReplaySpec) else None

    def work(self, rows: int) -> float:
        spec = self.policy.memory
        return spec.updates_per_step * rows if isinstance(spec, ReplaySpec) else 1 / spec.length


@dataclass(frozen=True)
class JointPlan(Plan):
    """The policies of the agents of a multi-agent environment, one or several."""

    layout: JointLayout
    """Layout of joint observations."""

    joins: ClassVar[bool] = True
    counts_minibatches: ClassVar[bool] = False

    def ratio(self) -> None:
        return None

    def work(self, rows: int) -> float:
        return sum(self._chunks(policy, rows) for policy in self.learning)

    @staticmethod
    def _chunks(policy: PolicyPlan, rows: int) -> float:
        """Returns the most chunks that a step of a worker allows, if all agents act at every step."""
        spec = policy.memory
        if isinstance(spec, RolloutSpec):
            return 1 / spec.length
        return min(1 / spec.fragment, spec.updates_per_step * rows * policy.per_row)


def needs_global_state(config: RunConfig) -> bool:
    """Returns True if a policy learns from the state of the whole environment."""
    return any(algo.needs_global_state() for algo in config.learning)


def plan(config: RunConfig, spec: "EnvSpec") -> SinglePlan | JointPlan:
    """Returns the policies of a run. Raises ConfigError if they do not suit the agents of the environment."""
    if spec.joint is None:
        return SinglePlan((PolicyPlan("", config.algo, config.algo_package, spec),))
    return JointPlan(tuple(_policies(config, spec)), spec.joint)


def _policies(config: RunConfig, spec: "EnvSpec") -> Iterator[PolicyPlan]:
    shared: dict[str, Any] = {}
    apart = config.run_ahead > 0 and config.general.mp_backend == "ray"
    for name, algo, package, slots in assign(config, spec.joint):
        rows = spec.rows * slots.count
        # windows of workers that do not wait for one another are not joined; their transitions share a replay memory
        shared_memory = apart and algo.train and isinstance(algo.memory(rows), ReplaySpec)
        its = replace(
            spec,
            observation_space=slots.observation_space,
            action_space=slots.action_space,
            rows=rows * (config.general.n_workers if shared_memory else 1),
            parts=slots.parts,
            joint=None,
            agents=slots.members,
            global_state=slots.global_size if algo.needs_global_state() else 0,
            shared=shared,
        )
        section = f"policies_cfg.{name}" if config.policies else "algo_cfg"
        yield PolicyPlan(name, algo, package, its, algo.train, slots, rows, section)
