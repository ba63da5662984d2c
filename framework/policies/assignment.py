"""Assignment of the agents of an environment to policies. Does not need torch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any

from gymnasium.spaces import Box, Discrete

from config.model import policies
from config.model.policies import PolicyConfig
from config.read.loader import ConfigError, RunConfig
from config.tell.language import tr
from envs.several.joint import AgentType, JointLayout
from framework.policies import policy_mapping
from framework.policies.slots import JointSlots, Slots, is_vector

DEFAULT = "default"
"""Name of the only policy, if the settings name none."""

Assigned = tuple[str, Any, ModuleType, Slots]
"""Name, settings (a PolicyConfig and an AlgoConfig), package and slots."""
Settings = Mapping[str, tuple[Any, ModuleType]]
Matches = Mapping[str, tuple[str, ...]]
"""Policy -> its agents."""


def assign(config: RunConfig, layout: JointLayout) -> list[Assigned]:
    """Returns name, settings, package and slots of each policy, in the order of the settings. Raises ConfigError with
    all problems."""
    if not config.policies and len(layout.types) > 1:
        raise ConfigError(f"env_cfg.id: {_paste(layout)}")
    settings = {name: (policy, config.policy_packages[name]) for name, policy in config.policies.items()}
    if not settings:
        settings = {DEFAULT: (_policy_of_all(config), config.algo_package)}
    matches = {name: _matched(name, algo, layout, settings) for name, (algo, _) in settings.items()}
    problems = list(_problems(settings, matches, layout)) or list(_idle(config, settings))
    if not problems:
        problems = [text for name, (algo, _) in settings.items() for text in _misfits(name, algo, matches, layout)]
    if problems:
        raise ConfigError(*[_placed(config, problem) for problem in problems])
    rivals = {agent: [name for name in matches if agent in matches[name]] for agent in layout.agents}
    return [
        (name, algo, package, _slots(name, algo, matches[name], rivals, layout, name == config.general.score_policy))
        for name, (algo, package) in settings.items()
    ]


def moved_by_others(config: RunConfig) -> list[str]:
    """Returns for each policy that does not learn which of its layers change all the same, since policies that learn
    share them."""
    shared = {name: set(_shared_layers(policy.model_dump())) for name, policy in config.policies.items()}
    learned = set().union(*(shared[name] for name, policy in config.policies.items() if policy.train))
    return [
        tr(
            "policy {name} has train: false, and its layers with shared: {layers} change all the same, since a policy "
            "that learns shares them; to keep them, give policies_cfg.{name} layers without this name",
            name=name,
            layers=", ".join(sorted(shared[name] & learned)),
        )
        for name, policy in config.policies.items()
        if not policy.train and shared[name] & learned
    ]


def _shared_layers(value: Any) -> Iterator[str]:
    """Yields the names of shared layers in plain settings."""
    if isinstance(value, Mapping):
        if "layer_type" in value and value.get("shared"):
            yield value["shared"]
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for part in value:
        yield from _shared_layers(part)


def _policy_of_all(config: RunConfig) -> Any:
    """Returns the policy of a run whose settings name none: all agents, with the settings of algo_cfg."""
    values = {"agents": "*", "algo_name": config.general.algo_name, **config.algo.model_dump()}
    return policies.combined(type(config.algo)).model_validate(values)


def _matched(name: str, algo: PolicyConfig, layout: JointLayout, names: Iterable[str]) -> tuple[str, ...]:
    """Returns the agents of a policy. Slots of agents with changing names match without #0."""
    if algo.selector is not None:
        stems = {agent: agent.partition("#")[0] for agent in layout.agents}
        return tuple(agent for agent, stem in stems.items() if policy_mapping.is_for(algo.selector, stem, name, names))
    return tuple(agent for agent in layout.agents if any(_fits(agent, pattern) for pattern in algo.patterns))


def _fits(agent: str, pattern: str) -> bool:
    return fnmatchcase(agent, pattern) or fnmatchcase(agent.partition("#")[0], pattern)


def _problems(settings: Settings, matches: Matches, layout: JointLayout) -> Iterator[str]:
    roster = tr("the environment has {agents}", agents=_listed(layout.agents))
    for name, agents in matches.items():
        patterns = settings[name][0].patterns
        idle = [pattern for pattern in patterns if not any(_fits(agent, pattern) for agent in layout.agents)]
        if idle or not agents:
            yield (
                tr(
                    "policies_cfg.{name}.agents: no agent matches {pattern!r}; {roster}",
                    name=name,
                    pattern=idle[0],
                    roster=roster,
                )
                if idle
                else tr("policies_cfg.{name}.agents: no agent matches; {roster}", name=name, roster=roster)
            )
        kinds = [(kind, [agent for agent in kind.agents if agent in agents]) for kind in layout.types]
        if len(groups := [(kind, mine) for kind, mine in kinds if mine]) > 1:
            text = "; ".join(f"{_listed(mine)}: {_spaces(kind)}" for kind, mine in groups)
            yield tr(
                "policies_cfg.{name}.agents: these have different spaces, and need policies of their own: {spaces}",
                name=name,
                spaces=text,
            )
    if left := [agent for agent in layout.agents if not any(agent in agents for agents in matches.values())]:
        yield tr("policies_cfg: no policy for {agents}; add them to the agents of a policy", agents=_listed(left))


def _idle(config: RunConfig, settings: Settings) -> Iterator[str]:
    """Yields why nothing would be learned."""
    idle = [name for name, (algo, _) in settings.items() if not algo.train]
    if len(idle) == len(settings) and config.general.mode == "train":
        yield tr("policies_cfg.{name}.train: no policy would learn; set train: true for one of them", name=idle[0])


def _placed(config: RunConfig, problem: str) -> str:
    """Returns a problem with the place where its setting was written."""
    key = problem.partition(": ")[0]
    place = config.where.get(key) or next((at for path, at in config.where.items() if path.startswith(f"{key}.")), "")
    return f"{place}: {problem}" if place else problem


def _misfits(name: str, algo: PolicyConfig, matches: Matches, layout: JointLayout) -> Iterator[str]:
    """Yields why agents cannot be controlled in the way that the settings of their policy want."""
    agents = matches[name]
    kind = layout.types[layout.place(agents[0])[0]]
    section = f"policies_cfg.{name}"
    yield from _opposed(section, algo, agents)
    if not algo.is_joint:
        if algo.agent_id and not is_vector(kind.observation_space):
            yield tr(
                "{section}.agent_id: an index is appended to vectors only; the agents see {space}",
                section=section,
                space=kind.observation_space,
            )
        return
    rivals = [other for other in matches if other != name and set(matches[other]) & set(agents)]
    if rivals:
        yield tr(
            "{section}.agents: controls all of its agents as one, so {rival} must not match any of them",
            section=section,
            rival=rivals[0],
        )
    if not is_vector(kind.observation_space):
        yield tr(
            "{section}.joint: only vectors are joined; the agents see {space}",
            section=section,
            space=kind.observation_space,
        )
    if not isinstance(kind.action_space, Discrete | Box):
        yield tr(
            "{section}.joint: needs Discrete or Box actions; the agents have {space}",
            section=section,
            space=kind.action_space,
        )
    if kind.masked and not algo.JOINT:
        yield tr(
            "{section}.joint: the agents have action masks, which only QMIX and VDN obey for several agents as one",
            section=section,
        )


def _opposed(section: str, algo: PolicyConfig, agents: Sequence[str]) -> Iterator[str]:
    """Yields why opponents cannot play some agents of a policy."""
    if algo.opponents and (len(agents) == 1 or algo.is_joint):
        yield tr(
            "{section}.opponents: earlier versions play some of the agents of a policy; this one has a single row",
            section=section,
        )
    elif algo.opponents and (shared := [agent for agent in agents if "#" in agent]):
        yield tr(
            "{section}.opponents: one agent alone learns in an episode against earlier versions, and the slots of "
            "agents whose names change ({slots}) may be empty; opponents need agents that are in every episode",
            section=section,
            slots=_listed(shared),
        )
    elif algo.evaluate_against == "random" and (len(agents) == 1 or algo.is_joint):
        yield tr(
            "{section}.evaluate_against: all agents of the policy but one act at random; this policy has one agent, or "
            "controls all of them as one",
            section=section,
        )
    elif algo.evaluate_against == "random" and (shared := [agent for agent in agents if "#" in agent]):
        yield tr(
            "{section}.evaluate_against: the policy plays one agent in an episode against random ones, and the slots "
            "of agents whose names change ({slots}) may be empty; it needs agents that are in every episode",
            section=section,
            slots=_listed(shared),
        )


def _slots(
    name: str,
    algo: PolicyConfig,
    agents: tuple[str, ...],
    rivals: dict[str, list[str]],
    layout: JointLayout,
    scored: bool,
) -> Slots:
    if algo.is_joint:
        return JointSlots(layout, agents, name)
    vector = is_vector(layout.types[layout.place(agents[0])[0]].observation_space)
    past_share = algo.opponents.past if algo.opponents else 0.0
    names = [rivals[agent] for agent in agents]
    return Slots(layout, agents, names, name, algo.adds_id and vector, past_share, algo.meets_random(scored))


def _paste(layout: JointLayout) -> str:
    """Returns the message for agents of several types without policies, with settings to paste."""
    kinds = "; ".join(f"{_listed(kind.agents)}: {_spaces(kind)}" for kind in layout.types)
    parts = []
    for number, kind in enumerate(layout.types):
        names = list(dict.fromkeys(agent.partition("#")[0] for agent in kind.agents))
        parts.append(f"policy_{number}: {{agents: [{', '.join(names)}]}}")
    add = f"policies_cfg: {{{', '.join(parts)}}}"
    return tr(
        "the agents have different spaces ({spaces}), and need policies of their own; add {settings}",
        spaces=kinds,
        settings=add,
    )


def _listed(agents: Sequence[str], most: int = 12) -> str:
    more = tr(" and {count} more", count=len(agents) - most) if len(agents) > most else ""
    return ", ".join(agents[:most]) + more


def _spaces(kind: AgentType) -> str:
    seen, acts = kind.observation_space, kind.action_space
    shape = f"Box {' x '.join(map(str, seen.shape))}" if isinstance(seen, Box) else str(seen)
    does = f"Box {' x '.join(map(str, acts.shape))}" if isinstance(acts, Box) else str(acts)
    return f"{shape} -> {does}"
