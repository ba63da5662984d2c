"""Section policies_cfg: the policies of a multi-agent environment, each with an algorithm and settings of its own.

In the loader each policy is a section, policies_cfg.NAME. Its model combines PolicyConfig with the algorithm's Config.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from config.model.fields import Fraction, PositiveInt, Problem, Strict
from config.model.schema import AlgoConfig
from config.own import objects as own
from config.tell.language import tr

SECTION = "policies_cfg"
EXPECTED = tr("policies, as NAME: {agents: PATTERN, setting: value}")
NAMES = r"^[A-Za-z][A-Za-z0-9_]*$"
"""Pattern of the names of policies."""


def _named(agents: str | list[str]) -> str | list[str]:
    if not all([agents] if isinstance(agents, str) else agents or [""]):
        raise ValueError(
            tr("got {agents}; expected names of agents, or patterns such as car_*", agents=json.dumps(agents))
        )
    return agents


class Opponents(Strict):
    """Earlier versions of the policy that control some of its agents."""

    past: Fraction
    """Share of the episodes in which an earlier version controls all agents of the policy but one, which learns. The
    seed of the episode draws the agent and the version."""
    every: PositiveInt = 100
    """Number of updates between versions that are kept."""
    keep: PositiveInt = 5
    """Number of versions that are kept, newest first."""


class PolicyConfig(Strict):
    """A policy: the agents that it controls, its algorithm, and how it takes part in the training. All settings of the
    algorithm may be written beside these; those left out come from algo_cfg if the algorithm is general_cfg.algo_name,
    and from the defaults of the algorithm otherwise."""

    ALGO: ClassVar[type[AlgoConfig]]
    """Settings model of the algorithm."""
    JOINT: ClassVar[bool]
    AGENT_ID: ClassVar[bool]
    LEARNS: ClassVar[bool]
    STAND_INS = {"agents": "*"}

    agents: Annotated[str | list[str], AfterValidator(_named)]
    """Agents of the policy: a name, a pattern such as car_*, a list of them, or a function as my_module:function with
    --allow-import my_module, which gets a name and returns True or False. They have equal spaces. If several policies
    match an agent, each episode draws one."""
    algo_name: str | None = None
    """Algorithm of the policy; null: general_cfg.algo_name."""
    train: bool = True
    """false: the policy acts, and its weights never change. The default of Random, which cannot learn, is false."""
    joint: bool | None = None
    """true: all agents of the policy are controlled as one, with their observations side by side and the sum of their
    rewards. null: true if the algorithm needs it."""
    agent_id: bool | None = None
    """Append the number of the agent, as a one-hot vector, to vector observations. null: as the algorithm's paper
    does."""
    load: Annotated[str, Field(min_length=1)] | None = None
    """Task directory of a run to start from, as NAME, or NAME:POLICY for a policy of another name: its best weights,
    with their target networks and optimizer. null: weights are drawn."""
    opponents: Opponents | None = None
    """Self-play against earlier versions of the policy, as {past: 0.5, every: 100, keep: 5}. null: none."""
    evaluate_against: Literal["random", "itself"] | None = None
    """Opponent in evaluations, tests and films. random: one agent of the policy, which the seed of the episode draws,
    is played by it, all its others act at random, and the return of that agent is the policy's. itself: it plays all of
    its agents. null: random for the policy of general_cfg.score_policy if it has opponents, itself for all others."""

    @property
    def selector(self) -> str | None:
        """Name of the function that chooses the agents; None if `patterns` do."""
        return self.agents if isinstance(self.agents, str) and own.is_own(self.agents) else None

    @property
    def patterns(self) -> list[str]:
        """Names and shell patterns of the agents; none if `selector` chooses them."""
        if self.selector is not None:
            return []
        return [self.agents] if isinstance(self.agents, str) else self.agents

    @property
    def is_joint(self) -> bool:
        """True if all agents of the policy are controlled as one."""
        return self.JOINT if self.joint is None else self.joint

    def meets_random(self, scored: bool) -> bool:
        """Returns True if all agents of the policy but one act at random in evaluations. scored: its return is the
        score."""
        usual = "random" if scored and self.opponents is not None else "itself"
        return (self.evaluate_against or usual) == "random"

    @property
    def adds_id(self) -> bool:
        """True if vector observations get the number of the agent."""
        return not self.is_joint and (self.AGENT_ID if self.agent_id is None else self.agent_id)

    def own(self) -> Iterator[tuple[str, str]]:
        yield from super().own()
        if self.selector is not None:
            yield "agents", self.selector

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.JOINT and self.joint is False:
            yield Problem("joint", tr("this algorithm controls all agents of a policy as one; leave it out"))
        if self.is_joint and self.agent_id:
            message = tr("agents that are controlled as one have their places in the observation; leave it out")
            yield Problem("agent_id", message, depends_on=("joint",))
        if self.train and not self.LEARNS:
            yield Problem("train", tr("this algorithm does not learn; leave it out"))
        if self.opponents is not None and not self.train:
            message = tr("a policy that does not learn has no earlier versions; leave it out, or set train: true")
            yield Problem("opponents", message, depends_on=("train",))
        if (fault := self._fault_of_selector()) is not None:
            yield Problem("agents", fault)

    def _fault_of_selector(self) -> str | None:
        """Returns the reason why the function that chooses the agents cannot be called; None if it can."""
        if self.selector is None:
            return None
        try:
            is_function = callable(own.find(self.selector))
            return None if is_function else tr("{name} is not a function", name=self.selector)
        except own.OwnError as error:
            return str(error)

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (type(self).ALGO,), self.__getstate__()


@cache
def combined(algo: type[AlgoConfig]) -> type[PolicyConfig]:
    """Returns the model of a policy with this algorithm."""
    members: dict[str, Any] = {"__module__": __name__, "__doc__": PolicyConfig.__doc__, "ALGO": algo}
    if not algo.LEARNS:
        members["train"] = False
    return type("Policy", (PolicyConfig, algo), members)


def _blank(algo: type[AlgoConfig]) -> PolicyConfig:
    """Returns an instance without values, for pickle."""
    model = combined(algo)
    return model.__new__(model)


# ---------------------------------------------------------------------------------------------- names, plain values


def section_of(name: str) -> str:
    """Returns the section of a policy."""
    return f"{SECTION}.{name}"


def name_of(section: str) -> str | None:
    """Returns the policy that a section belongs to; None for general_cfg, algo_cfg and env_cfg."""
    return section.removeprefix(f"{SECTION}.") if section.startswith(f"{SECTION}.") else None


def misnamed(name: str) -> str | None:
    """Returns the reason why this cannot be the name of a policy; None if it can."""
    if re.fullmatch(NAMES, name):
        return None
    return tr("is not a valid policy name; expected letters, digits and _, beginning with a letter")


def dump(policy: Strict) -> dict[str, Any]:
    """Returns the settings of a policy as plain builtins: those of PolicyConfig first."""
    values = policy.model_dump()
    return {key: values[key] for key in [*PolicyConfig.model_fields, *values]}


def flat(sections: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns plain settings with a section for each policy, which has what it inherits from algo_cfg too."""
    every = {name: values for name, values in sections.items() if name != SECTION}
    usual = _mapping(sections.get("general_cfg")).get("algo_name")
    for name, values in below(sections).items():
        inherits = values.get("algo_name") in (None, usual)
        every[section_of(name)] = {**(_mapping(every.get("algo_cfg")) if inherits else {}), **values}
    return every


def below(sections: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns what plain settings have under policies_cfg; nothing in place of a value that is not a mapping."""
    return {name: _mapping(values) for name, values in _mapping(sections.get(SECTION)).items()}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def algorithms(settings: Any) -> str:
    """Returns the algorithms that plain settings name, joined by +; empty if they name none."""
    sections = _mapping(settings)
    usual = str(_mapping(sections.get("general_cfg")).get("algo_name") or "")
    return joined(str(values.get("algo_name") or usual) for values in below(sections).values()) or usual


def joined(names: Iterable[str]) -> str:
    """Returns distinct names of algorithms, joined by +."""
    return "+".join(dict.fromkeys(names))
