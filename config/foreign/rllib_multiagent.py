"""RLlib's mapping `multiagent` as policies_cfg: policies (policy_graphs), policy_mapping_fn, policies_to_train.

The policies have to be known before their algorithms are: so this is translated before all other names. The settings of
each policy are translated with those of its algorithm.
"""

from collections.abc import Callable, Mapping
from typing import Any

from config.foreign import rllib
from config.foreign.cases import NoCounterpartError
from config.foreign.dialect import Changes, Hint
from config.foreign.rllib_values import LISTS, layers, shares_layers
from config.foreign.table import Scope
from config.model import policies
from config.model.fields import Strict
from config.model.policies import PolicyConfig
from config.own import objects as own
from config.read.sources import Source
from config.read.yaml_reader import Place
from config.tell.error_text import shown
from config.tell.language import tr
from config.tell.names import did_you_mean

KEY = "multiagent"
POLICIES = ("policies", "policy_graphs")
PARTS = ("policy_class", "observation_space", "action_space", "config")
"""Parts of a policy, in their order."""
NOTHING = ("policy_map_capacity", "policy_map_cache", "policy_states_are_swappable", "count_steps_by", "replay_mode")
"""Keys that change nothing here with these values: any, any, any, env_steps, independent."""
ONLY = {"count_steps_by": "env_steps", "replay_mode": "independent"}
_KEYS = (*POLICIES, "policy_mapping_fn", "policies_to_train", "observation_fn", *NOTHING)
EXAMPLE = '{"cars": (None, None, None, {"gamma": 0.9})}'
_WORDS_OF_CLASSES = ("TF", "Torch", "Eager", "Policy", "Graph", "Loss", "Dynamic", "Static")
"""Endings of the names of RLlib's classes, behind the algorithm: PPOTFPolicy, DQNPolicyGraph."""


def policies_of(value: Any, algorithm: Callable[[str], str | None]) -> dict[str, dict[str, Any]]:
    """Returns policies_cfg for RLlib's multiagent: agents, train and algo_name of each policy under our names, and its
    own settings as they are. algorithm: returns our name of an algorithm, None for an unknown one. Raises
    NoCounterpartError."""
    if not isinstance(value, Mapping):
        raise NoCounterpartError(
            "got {value}; expected a mapping with policies and policy_mapping_fn", value=shown(value)
        )
    if strange := [key for key in value if key not in _KEYS]:
        raise NoCounterpartError(
            "{key} has no counterpart here{near}", key=strange[0], near=did_you_mean(str(strange[0]), _KEYS)
        )
    if value.get("observation_fn") is not None:
        raise NoCounterpartError("observation_fn has no counterpart here; write a wrapper around the environment")
    if wrong := [key for key, only in ONLY.items() if value.get(key) not in (None, only)]:
        raise NoCounterpartError(
            "{key}: {value} has no counterpart here, only {only}",
            key=wrong[0],
            value=value[wrong[0]],
            only=ONLY[wrong[0]],
        )
    named = _policies(value)
    agents = _agents(value.get("policy_mapping_fn"), named)
    trained = _trained(value.get("policies_to_train"), named)
    return {
        name: {
            "agents": agents[name],
            **_settings(name, spec, algorithm),
            **({} if name in trained else {"train": False}),
        }
        for name, spec in named.items()
    }


def _policies(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the policies by name."""
    keys = [key for key in POLICIES if value.get(key) is not None]
    if len(keys) == 2:
        raise NoCounterpartError("policies and policy_graphs are the same; keep one")
    if not keys:
        raise NoCounterpartError("has no policies; write policies: {example}", example=EXAMPLE)
    named = value[keys[0]]
    if isinstance(named, list | tuple | set | frozenset) and all(isinstance(name, str) for name in named):
        named = dict.fromkeys(sorted(named) if isinstance(named, set | frozenset) else named)
    if not isinstance(named, Mapping) or not named or not all(isinstance(name, str) for name in named):
        raise NoCounterpartError(
            "{key}: got {value}; expected policies by name, such as {example}",
            key=keys[0],
            value=shown(named),
            example=EXAMPLE,
        )
    return dict(named)


def _agents(mapping: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the agents of each policy: the function that names the policy of an agent, or patterns."""
    if mapping is None and len(named) == 1:
        return dict.fromkeys(named, "*")
    if isinstance(mapping, str) and own.is_own(mapping):
        return dict.fromkeys(named, mapping)
    if not isinstance(mapping, Mapping):
        got = tr("is missing") if mapping is None else tr("got {value}", value=shown(mapping))
        raise NoCounterpartError(
            "policy_mapping_fn: {got}; expected a function from the name of an agent to that of its "
            'policy (in a file "my_module:function"), or policies by pattern, such as {{"car_*": "cars"}}',
            got=got,
        )
    patterns: dict[str, list[str]] = {name: [] for name in named}
    for pattern, of in mapping.items():
        for policy in of if isinstance(of, list | tuple) else [of]:
            if policy not in named:
                raise NoCounterpartError(
                    "policy_mapping_fn: {pattern}: there is no policy {policy!r}{near}",
                    pattern=pattern,
                    policy=policy,
                    near=_near(policy, named),
                )
            patterns[policy].append(pattern)
    if idle := [name for name, matching in patterns.items() if not matching]:
        raise NoCounterpartError("policy_mapping_fn: gives policy {policy} no agents", policy=idle[0])
    return patterns


def _trained(names: Any, named: Mapping[str, Any]) -> list[str]:
    if names is None:
        return list(named)
    if isinstance(names, str) or not isinstance(names, list | tuple | set | frozenset):
        raise NoCounterpartError("policies_to_train: got {value}; expected a list of policies", value=shown(names))
    if strange := [name for name in names if name not in named]:
        raise NoCounterpartError(
            "policies_to_train: there is no policy {policy!r}{near}", policy=strange[0], near=_near(strange[0], named)
        )
    return list(names)


def _near(name: Any, named: Mapping[str, Any]) -> str:
    return did_you_mean(str(name), named) or tr("; there are {names}", names=", ".join(named))


def _settings(name: str, spec: Any, algorithm: Callable[[str], str | None]) -> dict[str, Any]:
    """Returns the algorithm and the settings of a policy. The spaces are the environment's own."""
    if isinstance(spec, list | tuple):
        if len(spec) != len(PARTS):
            raise NoCounterpartError(
                "policy {name}: got {count} parts; expected ({parts})",
                name=name,
                count=len(spec),
                parts=", ".join(PARTS),
            )
        spec = dict(zip(PARTS, spec, strict=True))
    spec = {} if spec is None else spec
    if not isinstance(spec, Mapping):
        raise NoCounterpartError(
            "policy {name}: got {value}; expected None, or ({parts})",
            name=name,
            value=shown(spec),
            parts=", ".join(PARTS),
        )
    if strange := [key for key in spec if key not in PARTS]:
        raise NoCounterpartError(
            "policy {name}: {key} is none of {parts}", name=name, key=strange[0], parts=", ".join(PARTS)
        )
    settings = spec.get("config") or {}
    if not isinstance(settings, Mapping):
        raise NoCounterpartError(
            "policy {name}: config: got {value}; expected settings by name", name=name, value=shown(settings)
        )
    kind = spec.get("policy_class")
    return {**settings, **({} if kind is None else {"algo_name": _algorithm(name, kind, algorithm)})}


def _algorithm(name: str, kind: Any, algorithm: Callable[[str], str | None]) -> str:
    """Returns our name of the algorithm that a class of RLlib, or a name, means."""
    word = str(kind).rpartition(":")[2].rpartition(".")[2]
    stems = [word]
    while any(stems[-1].endswith(end) and stems[-1] != end for end in _WORDS_OF_CLASSES):
        end = next(end for end in _WORDS_OF_CLASSES if stems[-1].endswith(end))
        stems.append(stems[-1].removesuffix(end))
    name_here = next((ours for stem in stems if (ours := algorithm(stem))), None)
    if name_here is None:
        raise NoCounterpartError(
            "policy {name}: {word} is no algorithm here; write None, or a name such as DQN; your own is "
            "a package of algos, as docs/algorithms.md describes",
            name=name,
            word=word,
        )
    return name_here


# ----------------------------------------------------------------------------------------------------- in the loader


def put_policies(source: Source, algorithm: Callable[[str], str | None]) -> None:
    """Puts the policies of a source's multiagent under policies_cfg. Their own settings wait for `translate`."""
    value, place = source.foreign.get(KEY, (None, None))
    if not value or place is None:
        return
    del source.foreign[KEY]
    try:
        by_policy = policies_of(value, algorithm)
    except NoCounterpartError as reason:
        return source.refuse(place, str(reason))
    for name, settings in by_policy.items():
        section, at = policies.section_of(name), f"{place.path}.{name}"
        source.sections.setdefault(section, {})
        source.places.setdefault(section, Place(place.text, section))
        of_policy = source.of_policies.setdefault(section, {})
        for key, setting in settings.items():
            if key in PolicyConfig.model_fields:
                source.put(section, key, setting, Place(place.text, at))
            else:
                of_policy |= rllib.words_of(key, setting, Place(place.text, f"{at}.{key}"))


def translate(source: Source, models: Mapping[str, type[Strict]], every_source: list[Source], hint: Hint) -> Changes:
    """Puts the settings of a source's policies under our names, with a note on each. models: of all sections."""
    notes: list[str] = []
    for section, words in source.of_policies.items():
        if section not in models:
            continue
        part = Source(True, foreign=dict(words))
        scope = Scope({"algo_cfg": models[section]}, [*every_source, part], policies.name_of(section) or "")
        notes += rllib.translate(part, scope, lambda _, key, section=section: hint(section, key)).notes  # type: ignore[misc]
        source.problems += part.problems
        for key, value in part.sections.get("algo_cfg", {}).items():
            source.put(section, key, value, part.places["algo_cfg"].parts[key])
        if "model" not in words and shares_layers(scope) and len(scope.paths(*LISTS)) > 1:
            for path, built in layers(None, scope).settings.items():  # those of all policies would be one for all
                source.put(section, path.partition(".")[2], built, Place("multiagent", section))
        for other in part.sections.keys() - {"algo_cfg"}:
            for place in part.places[other].parts.values():
                source.refuse(place, tr("is a setting of the run, and none of a policy"))
    return Changes(notes)
