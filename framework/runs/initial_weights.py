"""Weights that a new run starts from: general_cfg.start_from names a run, policies_cfg.NAME.load a policy of one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torch.nn import Module

from algos.base import Array, TrainableActor, Tree
from config.read import tasks
from config.read.loader import ConfigError, RunConfig
from config.read.paths import as_written
from config.tell.language import tr
from framework.disk.checkpoints import BAD_CONTENT, CheckpointStore
from framework.disk.task_dir import ROOT, TaskDir
from framework.errors import JoystickError

MOST_NAMED = 4
"""Number of weights that a message names."""
MOMENTS = ".moments.mean"
"""End of the name of the mean by which a network normalizes observations."""
COUNT = ".moments.count"
"""End of the name of the number of observations that the mean is of."""


class Fitting(NamedTuple):
    """Weights of another run that fit an agent by name and shape."""

    arrays: Mapping[str, Mapping[str, Mapping[str, Array]]]
    """Policy -> part of its state -> name -> weights. A single agent's policy has the empty name."""
    text: str
    """The line of output: what is taken, from where, and what is not."""


def fitting(config: RunConfig, agent: TrainableActor) -> Fitting | None:
    """Returns the weights that general_cfg.start_from gives this agent; None if it names none, and in a run that is
    resumed. Raises ConfigError if none fits."""
    name = config.general.start_from
    if name is None or config.task is not None:
        return None
    place = config.where.get("general_cfg.start_from", "default")
    arrays: dict[str, Mapping[str, Mapping[str, Array]]] = {}
    lines, problems = [], []
    state = agent.state()
    for policy, learner in agent.by_policy().items():
        settings = config.policies.get(policy)
        if settings is not None and (settings.load is not None or not settings.LEARNS):
            continue  # a run of its own, or nothing to begin with
        its = state["policies"][policy] if policy else state
        ours = {part: its[part] for part in learner.KEPT if isinstance(getattr(learner, part), Module)}
        package = config.algo_package if settings is None else config.policy_packages[policy]
        try:
            arrays[policy], line = _fitting_policy(ours, *_state(config, name, policy), package.NAME)
        except (tasks.TaskError, JoystickError) as error:
            problems.append(_of_policy(policy, str(error)))
            line = tr("new: {names}", names=_listed([f"{part}.{key}" for part in ours for key in ours[part]], ()))
        lines.append(_of_policy(policy, line))
    if not arrays:
        nothing = tr("every policy has a load of its own, or does not learn; leave it out")
        raise ConfigError(f"{place}: general_cfg.start_from: {next(iter(problems), nothing)}")
    return Fitting(arrays, "\n".join(lines))


def _of_policy(name: str, text: str) -> str:
    """Returns a sentence on a policy, with its name if it has one."""
    return tr("policy {name}: {warning}", name=name, warning=text) if name else text


def _fitting_policy(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], saved: str, algorithm: str
) -> tuple[Mapping[str, Mapping[str, Array]], str]:
    """Returns the weights of a policy that fit, and the line of output. Raises JoystickError if none does."""
    arrays, new, behind_new = _fit(ours, theirs)
    unlike = ""
    if ours and _normalizes(theirs) != _normalizes(ours):
        unlike = tr(
            "; one of the two runs normalizes observations, and the other does not, so that their networks differ: "
            "give both the same algo_cfg.normalize_obs"
        )
    taken = [f"{part}.{key}" for part, weights in arrays.items() for key in weights]
    if not taken:
        raise JoystickError(_no_weights(saved, new, algorithm) + ", ..." * (len(new) > MOST_NAMED) + unlike)
    text = tr("weights of {saved}: {names}", saved=saved, names=_listed(taken, new))
    if new:
        text = tr("{taken}; new: {names}", taken=text, names=_listed(new, taken))
    if behind_new:
        text += tr(
            "; {networks}: the layers differ from those there, and what is taken is of little use; give both runs the "
            "same, such as algo_cfg.actor_layers",
            networks=", ".join(behind_new),
        )
    return arrays, text + unlike


def _fit(
    ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Array]], list[str], dict[str, None]]:
    """Returns their weights that fit ours; ours that are new, with their shapes; and the networks in which one of
    another shape comes before one that fits, which was learned behind it."""
    arrays: dict[str, dict[str, Array]] = {}
    new: list[str] = []
    reshaped: set[str] = set()
    behind_new: dict[str, None] = {}
    for part, weights in ours.items():
        its = theirs.get(part)
        for key, weight in weights.items():
            tensor = its.get(key) if isinstance(its, Mapping) else None
            if tensor is not None and tensor.shape == weight.shape and _counts_ours(key, its or {}, weights):
                arrays.setdefault(part, {})[key] = tensor
                if (network := _network(f"{part}.{key}")) in reshaped:
                    behind_new[network] = None
            else:
                if tensor is None or tensor.shape == weight.shape:
                    unlike = ""
                else:
                    reshaped.add(_network(f"{part}.{key}"))
                    unlike = tr(" ({there} there, {here} here)", there=_shape(tensor), here=_shape(weight))
                new.append(f"{part}.{key}{unlike}")
    return arrays, new, behind_new


def _counts_ours(key: Any, theirs: Mapping[Any, Any], ours: Mapping[Any, Any]) -> bool:
    """Returns False for the count of moments that are new: they would pass for those of so many observations."""
    name = f".{key}"  # a normalizer that is no part of a network, such as that of COMA's state, has no name before it
    mean = (name.removesuffix(COUNT) + MOMENTS)[1:]
    return not name.endswith(COUNT) or (mean in theirs and theirs[mean].shape == ours[mean].shape)


def _normalizes(state: Mapping[str, Any]) -> bool:
    """Returns True if networks of this state have moments of the observations."""
    networks = [weights for weights in state.values() if isinstance(weights, Mapping)]
    return any(str(key).endswith(MOMENTS) for weights in networks for key in weights)


def _no_weights(saved: str, new: Sequence[str], algorithm: str) -> str:
    """Returns why nothing can be taken over. new: weights of this run."""
    if not new:
        return tr(
            "no weights of {saved} have a name and a shape of this run's: {algorithm} has no networks",
            saved=saved,
            algorithm=algorithm,
        )
    return tr(
        "no weights of {saved} have a name and a shape of this run's; here are {names}",
        saved=saved,
        names=", ".join(new[:MOST_NAMED]),
    )


def _listed(names: Sequence[str], others: Sequence[str]) -> str:
    """Returns names of weights; a network none of whose weights is among the others is one name."""
    split = {_network(name) for name in names} & {_network(name) for name in others}
    return ", ".join(dict.fromkeys(name if _network(name) in split else _network(name) for name in names))


def _network(name: str) -> str:
    """Returns the network of weights such as networks.actor.0.weight."""
    part, first, *_ = name.split(".")
    return part if first.isdecimal() else f"{part}.{first}"


def _shape(array: Array) -> str:
    return "x".join(map(str, array.shape)) or tr("one number")


def start_with(backend: Any, weights: Fitting) -> None:
    """Replaces these weights of the agent, in all processes."""
    whole = backend.state()
    for policy, parts in weights.arrays.items():
        its = whole["agent"]["policies"].pop(policy) if policy else whole["agent"]
        if policy:  # it comes last, so that it counts for layers that it shares with one that is new
            whole["agent"]["policies"][policy] = its
        for part, arrays in parts.items():
            its[part] = {**its[part], **arrays}
    backend.load_state(whole, ())
    if any(weights.arrays):
        backend.agent.begin_leagues(weights.arrays)
    backend.set_weights(backend.agent.weights())


def named(config: RunConfig, agent: TrainableActor) -> dict[str, Tree]:
    """Returns the state that each policy of this agent starts from; nothing in a run that is resumed. Raises
    ConfigError for one that cannot be found, or does not fit."""
    loads = {name: policy.load for name, policy in config.policies.items() if policy.load is not None}
    if config.task is not None or not loads:
        return {}
    states: dict[str, Tree] = {}
    problems, ours = [], agent.state()["policies"]
    for name, load in loads.items():
        try:
            states[name], place = _state(config, load, name)
            if misfit := _misfit(ours[name], states[name]):
                raise JoystickError(
                    "{place} does not fit this policy: {misfit}; general_cfg.start_from in its place takes the weights "
                    "that fit",
                    place=place,
                    misfit=misfit,
                )
        except (tasks.TaskError, JoystickError) as error:
            problems.append(f"policies_cfg.{name}.load: {error}")
    if problems:
        raise ConfigError(*problems)
    return states


def _state(config: RunConfig, load: str, name: str) -> tuple[Tree, str]:
    """Returns the state of an agent in the best model of a run, or in its newest one."""
    task, colon, policy = load.rpartition(":")
    if not colon or policy.startswith("/"):  # a URL has a colon of its own
        task, policy = load, ""
    folder = tasks.find(task, ROOT, config.start)
    TaskDir(folder).check()
    store = CheckpointStore(folder / "models")
    saved = store.best_or_newest()
    agent: Tree = saved.tree["agent"]
    policies = agent.get("policies")
    if not isinstance(policies, Mapping):
        if policy:
            raise JoystickError(
                "{path} has a single policy without a name; leave out :{policy}", path=as_written(folder), policy=policy
            )
        return agent, str(as_written(saved.path))
    chosen = policy or (name if name in policies else "")
    if not chosen and len(policies) == 1:
        chosen = next(iter(policies))
    if chosen not in policies:
        raise JoystickError(
            "{path} has the policies {policies}; write {task}:POLICY",
            path=as_written(folder),
            policies=", ".join(policies),
            task=task,
        )
    return policies[chosen], str(as_written(saved.path))


def install(backend: Any, states: Mapping[str, Tree]) -> None:
    """Replaces the state of policies, except for their random streams. Raises JoystickError if it does not fit."""
    whole = backend.state()
    for name, state in states.items():  # they come last, so that they count for layers that they share
        current = whole["agent"]["policies"].pop(name)
        whole["agent"]["policies"][name] = {**state, **({"learn": current["learn"]} if "learn" in current else {})}
    try:
        backend.load_state(whole, ())
        backend.agent.begin_leagues(states)
        backend.set_weights(backend.agent.weights())
    except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
        names = ", ".join(f"policies_cfg.{name}.load" for name in states)
        raise JoystickError("{names}: the weights do not fit: {error}", names=names, error=error) from error


def _misfit(ours: object, theirs: object, path: str = "") -> str:
    """Returns the first part of which another agent's state differs in name or shape; empty if none does."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        # moments of an optimizer do not fit either where weights do not
        for name in sorted({**ours, **theirs}, key=lambda name: "optimizer" in str(name)):
            where = f"{path}.{name}" if path else str(name)
            if name not in theirs or name not in ours:
                if not path:  # an optimizer has moments only after its first step
                    return tr("only one of them has {part}", part=where)
                continue
            if where != "learn" and (misfit := _misfit(ours[name], theirs[name], where)):
                return misfit
        return ""
    mine, its = getattr(ours, "shape", None), getattr(theirs, "shape", None)
    if path.endswith("carry") or mine == (0,):  # of each row, which may differ, or of what was seen: nothing yet
        return ""
    return (
        tr("{path} has shape {shape}, and needs {needed}", path=path, shape=tuple(its or ()), needed=tuple(mine or ()))
        if mine != its
        else ""
    )
