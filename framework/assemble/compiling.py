"""Decides whether the gradient steps of updates are compiled (general_cfg.compile)."""

import math

import algos
from config.model.memory_spec import ReplaySpec
from config.model.schema import AlgoConfig
from config.read.loader import RunConfig
from config.read.task_config import load_task_config
from config.tell.language import reworded, tr
from framework.assemble.resources import most_steps

FROM_UPDATES = 10_000
"""Least number of planned updates at which `auto` compiles for a CPU: about as many as save what a package costs the
first run of these sizes (docs/speed.md). For a GPU a step is captured in a few hundredths of a second."""


def with_compile(config: RunConfig) -> RunConfig:
    """Replaces auto by on or off: what a resumed run had, or what the plan of a new one says; and on by off where it
    cannot be kept, which makes the resume inexact."""
    chosen = config.general.compile
    if chosen == "auto" and config.task is not None:  # runs without a record are older than the setting
        chosen = load_task_config(config.task).settings().get("general_cfg", {}).get("compile", "off")
    elif chosen == "auto":
        from framework.assemble.build import device_of  # imports torch

        pays = device_of(config).type == "cuda" or planned_updates(config) >= FROM_UPDATES
        chosen = "on" if pays and config.general.mp_backend == "single" else "off"
    if chosen == "on" and not is_asked_for(config) and reason_not(config) is not None:
        chosen = "off"
    return config.with_general(compile=chosen)


def is_asked_for(config: RunConfig) -> bool:
    """Returns True if compile is on by a setting of this command, and not by the record of a resumed run."""
    return config.general.compile == "on" and (config.task is None or "general_cfg.compile" in config.explicit)


def planned_updates(config: RunConfig) -> float:
    """Returns the updates that the limits of the run allow at most; 0 without a limit that tells. Of several policies,
    those of the one that makes most, if it has one agent: how many it has is known later."""
    cfg = config.general
    limits = [float(cfg.max_update)] if cfg.max_update > 0 else []
    if most := most_steps(config):
        limits.append(most * max(_updates_per_step(algo, config.env.n_envs) for algo in config.learning))
    return min(limits, default=0)


def _updates_per_step(algo: AlgoConfig, rows: int) -> float:
    spec = algo.memory(rows)
    if isinstance(spec, ReplaySpec):
        return spec.updates_per_step
    samples = rows * spec.length
    return spec.epochs * math.ceil(samples / (spec.minibatch or samples)) / samples


def reason_not(config: RunConfig) -> str | None:
    """Returns why no updates of a run can be compiled; None if those of a policy can."""
    if config.general.mp_backend == "ray" and config.general.n_learners > 1:
        return tr("minibatches that several learners share cannot be compiled")
    packages = {name: config.policy_packages[name] for name, policy in config.policies.items() if policy.train}
    agents = map(algos.agent_class, packages.values() or [config.algo_package])
    reasons = [agent.uncompiled(algo) for agent, algo in zip(agents, config.learning, strict=True)]
    return _without_compiler(config.general.device != "cpu") if None in reasons else reasons[0]


def _without_compiler(gpu: bool = False) -> str | None:
    """Returns why nothing is compiled on this machine; None if it can be. gpu: for a GPU, if there is one."""
    import torch

    from algos.common.fast import compiled_steps, switch

    if why := switch.OFF.get("compile") or switch.OFF.get("Adam"):  # a graph has our Adam in it
        return tr("steps are not compiled here: {why}", why=reworded(why, switch.REASONS))
    if gpu and torch.cuda.is_available():
        return None  # a graph is captured, by nobody's compiler
    try:
        compiled_steps.compiler()
    except Exception as error:  # whatever a compiler can raise
        return tr("steps are not compiled here: {why}", why=switch.first_line(error))
    return None
