"""Describes a run for --dry-run, without writing anything."""

import shutil
from pathlib import Path

from config.general import GeneralConfig
from config.loader import RunConfig
from config.schema import ReplaySpec, RolloutSpec
from framework import build, compatibility, resources


def describe(config: RunConfig) -> int:
    """Prints the config, shapes, parameter counts, memory and disk that a run would take."""
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = compatibility.spec_of_all(config, build.env_spec(config, env))
        agent = build.make_agent(config, spec, config.general.seed or 1, build.device_of(config))
        weights = agent.weights()
        wanted = config.algo.memory(spec.rows)
        windows = config.general.n_workers * env.rows // spec.rows
        size = _size(resources.memory_bytes(config, spec) * windows) + " when full"
        if isinstance(wanted, RolloutSpec) and wanted.unit == "episodes":
            size = _size(resources.step_bytes(config, spec)) + " for each step of them"
        kept = _replay(wanted) if isinstance(wanted, ReplaySpec) else _rollout(wanted, spec.rows, windows)
        per_save = 4 * sum(array.nbytes for array in weights.values())
        lines = [
            config.to_yaml().rstrip(),
            "",
            f"algorithm     {config.algo_package.NAME}",
            f"environment   {spec.id}, {_count(env.rows, 'row')}",
            *_processes(config.general),
            f"observation   {spec.observation_space}",
            f"action        {spec.action_space}",
            f"parameters    {agent.parameter_count():,}",
            *(f"  {name:<28}{'x'.join(map(str, array.shape)) or 'number'}" for name, array in weights.items()),
            f"memory        {kept}, {size}",
            f"checkpoint    about {_size(per_save)} each, and what is new in the memory since the last one",
            f"free disk     {_size(shutil.disk_usage(Path.cwd()).free)}",
        ]
    finally:
        env.close()
    print("\n".join(lines))
    return 0


def _replay(spec: ReplaySpec) -> str:
    ratio = f"{spec.updates_per_step:g} updates a step"
    return f"replay of {spec.capacity:,} transitions, batches of {spec.batch_size}, {ratio}"


def _processes(cfg: GeneralConfig) -> list[str]:
    if cfg.mp_backend == "single":
        return []
    place = "on a Ray of their own" if cfg.ray_address is None else f"in the cluster at {cfg.ray_address}"
    workers, learners = _count(cfg.n_workers, "worker"), _count(cfg.n_learners, "learner")
    return [f"processes     {workers} with so many rows each, {learners} and a data server, {place}"]


def _rollout(spec: RolloutSpec, rows: int, windows: int) -> str:
    """rows: of a window. windows: that are filled side by side, each by a worker."""
    steps = f"{_count(spec.length, 'step')} x {_count(rows, 'row')}"
    window = steps if spec.unit == "steps" else _count(spec.length, "complete episode")
    window += f" for each of {windows} workers" if windows > 1 else ""
    times = "once" if spec.epochs == 1 else f"{spec.epochs} times"
    sequences = f" sequences of {spec.sequence} steps" if spec.sequence > 1 else ""
    share = "as a whole" if spec.minibatch is None else f"in batches of {spec.minibatch:,}{sequences}"
    return f"windows of {window}, learned from {times}, {share}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
        count /= 1024
    raise AssertionError
