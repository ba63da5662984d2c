"""Weights that a new run starts from: policies_cfg.NAME.load names a policy of another run."""

from collections.abc import Mapping
from typing import Any

from algos.base import Tree
from config import tasks
from config.loader import ConfigError, RunConfig
from framework.checkpoint.store import BAD_CONTENT, CheckpointStore
from framework.errors import JoystickError
from framework.runs.task_dir import ROOT, TaskDir


def named(config: RunConfig) -> dict[str, tuple[Tree, str]]:
    """Returns the state of the agent that each policy starts from, and its place; nothing in a run that is resumed.
    Raises ConfigError for one that cannot be found."""
    if config.task is not None:
        return {}
    found, problems = {}, []
    for name, policy in config.policies.items():
        if policy.load is None:
            continue
        try:
            found[name] = _state(policy.load, name)
        except (tasks.TaskError, JoystickError) as error:
            problems.append(f"policies_cfg.{name}.load: {error}")
    if problems:
        raise ConfigError(problems)
    return found


def _state(load: str, name: str) -> tuple[Tree, str]:
    """Returns the state of an agent in the best model of a run, or in its newest one."""
    task, _, policy = load.rpartition(":") if ":" in load else (load, "", "")
    folder = tasks.find(task, ROOT)
    TaskDir(folder).check()
    store = CheckpointStore(folder / "models")
    saved = store.read("best", with_journal=False) if store.has_best() else store.newest(lambda text: None)
    agent: Tree = saved.tree["agent"]
    policies = agent.get("policies")
    if not isinstance(policies, Mapping):
        if policy:
            raise JoystickError(f"{folder} has a single policy without a name; leave out :{policy}")
        return agent, str(saved.path)
    chosen = policy or (name if name in policies else "")
    if not chosen and len(policies) == 1:
        chosen = next(iter(policies))
    if chosen not in policies:
        raise JoystickError(f"{folder} has the policies {', '.join(policies)}; write {task}:POLICY")
    return policies[chosen], str(saved.path)


def install(backend: Any, states: Mapping[str, tuple[Tree, str]]) -> None:
    """Replaces the state of policies, except for their random streams. Raises JoystickError if it does not fit."""
    whole = backend.state()
    for name, (state, place) in states.items():  # they come last, so that they count for layers that they share
        own = whole["agent"]["policies"].pop(name)
        if misfit := _misfit(own, state):
            raise JoystickError(f"policies_cfg.{name}.load: {place} does not fit this policy: {misfit}")
        whole["agent"]["policies"][name] = {**state, **({"learn": own["learn"]} if "learn" in own else {})}
    try:
        backend.load_state(whole, ())
        backend.agent.begin_leagues(states)
        backend.set_weights(backend.agent.weights())
    except (*BAD_CONTENT, RuntimeError, AttributeError) as error:
        names = ", ".join(f"policies_cfg.{name}.load" for name in states)
        raise JoystickError(f"{names}: the weights do not fit: {error}") from error


def _misfit(ours: object, theirs: object, path: str = "") -> str:
    """Returns the first part of which another agent's state differs in name or shape; empty if none does."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in {**ours, **theirs}:
            where = f"{path}.{name}" if path else str(name)
            if name not in theirs or name not in ours:
                if not path:  # an optimizer has moments only after its first step
                    return f"only one of them has {where}"
                continue
            if where != "learn" and (found := _misfit(ours[name], theirs[name], where)):
                return found
        return ""
    if path.endswith("carry"):  # of each row; the rows may differ
        return ""
    mine, its = getattr(ours, "shape", None), getattr(theirs, "shape", None)
    return f"{path} has shape {tuple(its or ())}, and needs {tuple(mine or ())}" if mine != its else ""
