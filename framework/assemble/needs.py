"""Needs of an algorithm, offers of an environment, and the comparison of the two."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from gymnasium.spaces import Box, Space

import algos
from config.model.composite import Composite, kinds_of
from config.model.memory_spec import MemorySpec, ReplaySpec
from config.model.schema import OF_THE_ENVIRONMENT
from config.tell.language import either, tr
from envs.base import VectorEnv
from framework.assemble.resources import LEAST_OBSERVATION, keeps_frames
from framework.errors import JoystickError

ALGORITHM = "algo_name"
"""In the place of a setting: the algorithm itself."""


class Needs(NamedTuple):
    """Requirements of an algorithm with its settings."""

    name: str
    actions: tuple[str, ...]
    """Names of the spaces that it supports."""
    observations: tuple[str, ...]
    facts: frozenset[str]
    """Names in FACTS."""
    always: frozenset[str] = frozenset()
    """Facts that it asks for with its default settings."""


class Offers(NamedTuple):
    """Capabilities of an environment."""

    name: str
    actions: Space
    observations: Space
    facts: Mapping[str, Callable[[], bool]]
    """Name in FACTS -> returns True if it is there; looked at only where an algorithm asks for it."""
    place: Literal["agent", "agents", "buffer"] = "agent"
    """Learner: a single agent, the agents of a policy, or a buffer of the program's own."""


class Fact(NamedTuple):
    """Something beside spaces that an algorithm may ask for, and what is said in each place that lacks it; nothing is
    said where the text is empty."""

    agent: str = ""
    agents: str = ""
    """Without the name of the algorithm it is about the setting."""
    buffer: str = ""
    setting: str = ""
    """Setting by which an algorithm asks for it; empty if it is of its nature."""
    otherwise: str = "{text}"
    """Message for a single agent that asks by the setting; text: without the name of the algorithm."""


_ALONE = tr("is for a single agent")
_WITH_MODEL = tr("without wrappers, FrozenLake-v1, CliffWalking-v1, Taxi-v4 and the toy env_cfg.id=walk have one")
_WITH_GOAL = tr("general_cfg.env_name=toy env_cfg.id=bitflip has them; the interface is in docs/environments.md")
_LARGE = tr(
    "observations of at least {size:,} bytes, without goals that are replaced",
    size=LEAST_OBSERVATION,
)
FACTS = {
    "model": Fact(
        tr("{{name}} needs a transition model, and {{env}} has none ({examples})", examples=_WITH_MODEL),
        tr("{name} plans with the transition model of a single-agent environment"),
        tr("{name} plans with a model, and learns nothing from a buffer"),
    ),
    "bounds": Fact(
        tr("{name} needs bounded actions; those of {env} are unbounded ({actions})"),
        tr("{name} needs bounded actions; those of {env} are unbounded"),
    ),
    "expert of its own": Fact(
        tr(
            "{name} needs an expert, and {env} has none of its own; algo_cfg.expert can name a task "
            "directory, or a function of your own"
        )
    ),
    "expert": Fact(
        "",
        _ALONE + tr("; a scripted player among several is in docs/agents.md"),
        tr("{name} asks it only in a run"),
        "expert",
    ),
    "goals": Fact(
        tr("{{name}} needs an environment with goals, and {{env}} has none ({examples})", examples=_WITH_GOAL),
        tr("{name} relabels the goals of a single-agent environment"),
        tr("{name} relabels goals only in a run; set it to 0"),
        "her_ratio",
        tr("{text}; set it to 0"),
    ),
    "images": Fact(
        tr("is for images: {condition}, unlike those of {{env}}", condition=_LARGE),
        _ALONE,
        tr("is for a run; here the buffer is what is learned from"),
        "buffer_compress",
        tr("{text}; set it to false"),
    ),
    "global state": Fact(
        tr("{name} needs the global state of several agents, and {env} has a single one"),
        setting="critic_input",
        otherwise=tr("global {text}; set it to own"),
    ),
    "data": Fact("", _ALONE, tr("is for a run; here the buffer is what is learned from"), "data"),
    "returns": Fact(buffer=tr("{name} tracks the returns of a run; set it to false"), setting="normalize_reward"),
    "next actions": Fact(
        buffer=tr("{name} needs the next action, which a run's memory knows; set it to 0"), setting="bc_critic"
    ),
    "several agents": Fact(buffer=tr("{name} controls several agents as one; here there is a single one")),
}
"""Name -> what may be asked for, in the order in which it is looked at."""


def needs_of(algo: Any, name: str, default: Any = None) -> Needs:
    """Returns what an algorithm asks for with these settings. default: its default settings, for a single agent."""
    always = frozenset() if default is None else _asked(default)
    return Needs(name, algo.ACTION_SPACES, algo.OBSERVATION_SPACES, _asked(algo), always)


def _asked(algo: Any) -> frozenset[str]:
    learns = getattr(algo, "train", True)
    spec = algo.memory(rows=1) if learns and algo.LEARNS else None
    if learns and algo.LEARNS and not isinstance(spec, MemorySpec):
        raise JoystickError(
            "memory of {config} returned {spec}; expected a RolloutSpec or a ReplaySpec",
            config=f"{type(algo).__module__}.{type(algo).__qualname__}",
            spec=spec,
        )
    replay = spec if isinstance(spec, ReplaySpec) else None
    expert = algo.asked_expert() if learns else None
    needs = {
        "model": algo.NEEDS_MODEL,
        "bounds": algo.NEEDS_BOUNDS,
        "expert of its own": expert == OF_THE_ENVIRONMENT,
        "expert": bool(expert),
        "goals": replay and replay.relabel,
        "images": replay and replay.compress,
        "global state": not algo.JOINT and algo.needs_global_state(),
        "data": spec is not None and spec.data is not None,
        "returns": replay and replay.return_limit is not None,
        "next actions": replay and replay.next_action,
        "several agents": algo.JOINT,
    }
    return frozenset(fact for fact, is_asked in needs.items() if is_asked)


def offers_of(env: VectorEnv, name: str, algo: Any) -> Offers:
    """Returns what an environment of a single agent gives to an algorithm."""
    facts = {
        "model": lambda: env.model is not None,
        "bounds": lambda: is_bounded(env.action_space),
        "expert of its own": lambda: env.expert is not None,
        "goals": lambda: env.goal is not None,
        "images": lambda: keeps_frames(algo.memory(rows=1), env.observation_space),
    }
    return Offers(name, env.action_space, env.observation_space, facts)


def is_bounded(space: Space) -> bool:
    """Returns False for numbers without bounds."""
    if isinstance(space, Composite):
        return all(is_bounded(part.space) for part in space.parts)
    return not isinstance(space, Box) or space.is_bounded()


def misfits(needs: Needs, offers: Offers) -> Iterator[tuple[str, str]]:
    """Yields pairs of a setting, or ALGORITHM, and what is asked for and not given. For a single agent these are the
    spaces, or else the first fact."""
    alone = offers.place == "agent"
    wrong = [] if offers.place == "buffer" else list(_wrong_spaces(needs, offers))
    yield from ((ALGORITHM, text) for text in wrong)
    for name, fact in () if alone and wrong else FACTS.items():
        sentence: str = getattr(fact, offers.place)
        if not sentence or name not in needs.facts or (name in offers.facts and offers.facts[name]()):
            continue
        by_setting = fact.setting and name not in needs.always
        if alone and by_setting:
            sentence = fact.otherwise.format(text=sentence.removeprefix("{name} "))
        elif offers.place == "agents":
            by_setting = "{name}" not in sentence
        text = sentence.format(name=needs.name, env=offers.name, actions=described(offers.actions))
        yield fact.setting if by_setting else ALGORITHM, text
        if alone:
            return


def _wrong_spaces(needs: Needs, offers: Offers) -> Iterator[str]:
    """Yields the spaces that an algorithm does not support."""
    for sentence, space, names in (
        (tr("{name} needs actions that are {kinds}; {env} has {space}"), offers.actions, needs.actions),
        (tr("{name} needs observations that are {kinds}; {env} has {space}"), offers.observations, needs.observations),
    ):
        if not any(name in names for name in kinds_of(space)):
            yield sentence.format(name=needs.name, kinds=either(names), env=offers.name, space=described(space))


def described(space: Space) -> str:
    """Returns a space in a few words; the bounds of a Box would fill lines."""
    if not isinstance(space, Box):
        return str(space)
    shape = " x ".join(map(str, space.shape)) or 1
    if space.shape in ((), (1,)):
        return tr("Box, {shape} number", shape=shape)
    return tr("Box, {shape} numbers", shape=shape)


def able(env: VectorEnv, names: list[str]) -> list[str]:
    """Returns the algorithms that suit this environment with their default settings."""
    configs = {name: algos.get(name).Config() for name in names}
    return [n for n, algo in configs.items() if not any(misfits(needs_of(algo, n, algo), offers_of(env, "", algo)))]
