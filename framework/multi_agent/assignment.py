"""Which policies control which agents of the environment. Does not need torch."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any

from gymnasium.spaces import Box, Discrete

from config import own
from config.loader import ConfigError, RunConfig
from config.schema import AlgoConfig
from envs.joint import AgentType, JointLayout
from framework.multi_agent.slots import JointSlots, Slots, is_vector

DEFAULT = "default"
"""Name of the only policy, if the settings name none."""

Assigned = tuple[str, AlgoConfig, ModuleType, Slots]


def assign(config: RunConfig, layout: JointLayout) -> list[Assigned]:
    """Returns name, settings, package and slots of each policy, in the order of the settings. Raises ConfigError with
    all problems."""
    if not config.policies and len(layout.types) > 1:
        raise ConfigError([f"env_cfg.id: {_paste(layout)}"])
    settings: dict[str, tuple[AlgoConfig, ModuleType]] = {
        name: (policy, config.policy_packages[name]) for name, policy in config.policies.items()
    } or {DEFAULT: (config.algo, config.algo_package)}
    matches = {name: _matched(algo, layout) for name, (algo, _) in settings.items()}
    problems = list(_problems(matches, layout)) or list(_idle(config, settings, matches))
    if not problems:
        problems = [text for name, (algo, _) in settings.items() for text in _misfits(name, algo, matches, layout)]
    if problems:
        raise ConfigError([_placed(config, problem) for problem in problems])
    rivals = {agent: [name for name in matches if agent in matches[name]] for agent in layout.agents}
    return [
        (name, algo, package, _slots(name, algo, matches[name], rivals, layout))
        for name, (algo, package) in settings.items()
    ]


def _matched(algo: AlgoConfig, layout: JointLayout) -> tuple[str, ...]:
    """Returns the agents of a policy. Slots of agents with changing names match without #0."""
    patterns = getattr(algo, "patterns", ["*"])
    if (selector := getattr(algo, "selector", None)) is not None:
        function = own.find(selector)
        return tuple(agent for agent in layout.agents if function(agent.partition("#")[0]))

    def matches(agent: str) -> bool:
        return any(fnmatchcase(agent, each) or fnmatchcase(agent.partition("#")[0], each) for each in patterns)

    return tuple(agent for agent in layout.agents if matches(agent))


def _problems(matches: dict[str, tuple[str, ...]], layout: JointLayout) -> Iterator[str]:
    known = f"the environment has {_listed(layout.agents)}"
    for name, agents in matches.items():
        if not agents:
            yield f"policies_cfg.{name}.agents: no agent matches; {known}"
        kinds = [(kind, [agent for agent in kind.agents if agent in agents]) for kind in layout.types]
        if len(found := [(kind, mine) for kind, mine in kinds if mine]) > 1:
            text = "; ".join(f"{_listed(mine)}: {_spaces(kind)}" for kind, mine in found)
            yield f"policies_cfg.{name}.agents: these have different spaces, and need policies of their own: {text}"
    if left := [agent for agent in layout.agents if not any(agent in agents for agents in matches.values())]:
        yield f"policies_cfg: no policy for {_listed(left)}; add them to the agents of a policy"


def _idle(
    config: RunConfig, settings: Mapping[str, tuple[AlgoConfig, ModuleType]], matches: dict[str, tuple[str, ...]]
) -> Iterator[str]:
    """Yields why nothing would be learned: from all agents, or from some that several policies share."""
    idle = [name for name, (algo, _) in settings.items() if not getattr(algo, "train", True)]
    if len(idle) == len(settings) and config.general.mode == "train":
        yield f"policies_cfg.{idle[0]}.train: no policy would learn; set train: true for one of them"
    for number, name in enumerate(idle):
        for other in idle[:number]:
            if shared := [agent for agent in matches[name] if agent in matches[other]]:
                yield f"policies_cfg.{name}.agents: {other} matches {_listed(shared)} too, and neither of them learns"


def _placed(config: RunConfig, problem: str) -> str:
    """Returns a problem with the place where its setting was written."""
    key = problem.partition(": ")[0]
    place = config.where.get(key) or next((at for path, at in config.where.items() if path.startswith(f"{key}.")), "")
    return f"{place}: {problem}" if place else problem


def is_joint(algo: AlgoConfig) -> bool:
    """Returns True if an algorithm with these settings controls all agents of its policy as one."""
    return bool(getattr(algo, "is_joint", type(algo).JOINT))


def _misfits(name: str, algo: AlgoConfig, matches: dict[str, tuple[str, ...]], layout: JointLayout) -> Iterator[str]:
    """Yields why agents cannot be controlled in the way that the settings of their policy want."""
    agents = matches[name]
    kind = layout.types[layout.place(agents[0])[0]]
    section = f"policies_cfg.{name}"
    if getattr(algo, "opponents", None) and (len(agents) == 1 or is_joint(algo)):
        yield f"{section}.opponents: earlier versions play some of the agents of a policy; this one has a single row"
    if not is_joint(algo):
        if getattr(algo, "agent_id", None) and not is_vector(kind.observation_space):
            yield f"{section}.agent_id: an index is appended to vectors only; the agents see {kind.observation_space}"
        return
    rivals = [other for other in matches if other != name and set(matches[other]) & set(agents)]
    if rivals:
        yield f"{section}.agents: controls all of its agents as one, so {rivals[0]} must not match any of them"
    if not is_vector(kind.observation_space):
        yield f"{section}.joint: only vectors are joined; the agents see {kind.observation_space}"
    if not isinstance(kind.action_space, Discrete | Box):
        yield f"{section}.joint: needs Discrete or Box actions; the agents have {kind.action_space}"
    if kind.masked and not type(algo).JOINT:
        yield f"{section}.joint: the agents have action masks, which only QMIX and VDN obey for several agents as one"


def _slots(
    name: str, algo: AlgoConfig, agents: tuple[str, ...], rivals: dict[str, list[str]], layout: JointLayout
) -> Slots:
    if is_joint(algo):
        return JointSlots(layout, agents, name)
    opponents = getattr(algo, "opponents", None)
    wanted: Any = getattr(algo, "agent_id", None)
    vector = is_vector(layout.types[layout.place(agents[0])[0]].observation_space)
    agent_id = (type(algo).AGENT_ID and vector) if wanted is None else bool(wanted)
    slots = Slots(layout, agents, [rivals[agent] for agent in agents], name, agent_id)
    slots.past_share = opponents.past if opponents else 0.0
    return slots


def _paste(layout: JointLayout) -> str:
    """Returns the message for agents of several types without policies, with settings to paste."""
    kinds = "; ".join(f"{_listed(kind.agents)}: {_spaces(kind)}" for kind in layout.types)
    parts = []
    for number, kind in enumerate(layout.types):
        names = list(dict.fromkeys(agent.partition("#")[0] for agent in kind.agents))
        parts.append(f"policy_{number}: {{agents: [{', '.join(names)}]}}")
    add = f"policies_cfg: {{{', '.join(parts)}}}"
    return f"the agents have different spaces ({kinds}), and need policies of their own; add {add}"


def _listed(agents: Sequence[str], most: int = 12) -> str:
    more = f" and {len(agents) - most} more" if len(agents) > most else ""
    return ", ".join(agents[:most]) + more


def _spaces(kind: AgentType) -> str:
    seen, acts = kind.observation_space, kind.action_space
    shape = f"Box {' x '.join(map(str, seen.shape))}" if isinstance(seen, Box) else str(seen)
    does = f"Box {' x '.join(map(str, acts.shape))}" if isinstance(acts, Box) else str(acts)
    return f"{shape} -> {does}"
