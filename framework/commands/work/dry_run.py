"""Describes the run that a configuration would start (--dry-run). Writes nothing."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from gymnasium import spaces

from config.config import GeneralConfig
from config.model.memory_spec import ReplaySpec, RolloutSpec
from config.program import PROGRAM
from config.read.loader import RunConfig
from config.tell.language import tr
from framework.assemble import build, offline, resources
from framework.assemble import fit as compatibility
from framework.assemble.expert import expert_of
from framework.loop.curriculum import Phases
from framework.memory.offline_data import OfflineData
from framework.policies.policy_plan import Plan, PolicyPlan, plan
from framework.runs import initial_weights
from framework.runs.remarks import beforehand
from framework.screen.formatting import byte_size, counted
from framework.screen.stages import stage
from framework.screen.tables import entry
from framework.screen.terminal import fitted

MOST_AGENTS = 8
"""Agents of a policy that are named."""


def describe(config: RunConfig) -> int:
    """Prints changed settings, shapes, parameters, memory and disk of a run. Refuses what the run would refuse."""
    with stage(tr("building what the run would train")):
        lines = _lines(config)
    print(fitted("\n".join(lines)))
    return 0


def _lines(config: RunConfig) -> list[str]:
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = compatibility.spec_of_all(config, build.env_spec(config, env))
        agent = build.make_agent(config, spec, config.general.seed or 1, build.device_of(config))
        weights = agent.weights()
        its = plan(config, spec)
        resources.memories_that_fit(config, its)
        expert_of(config, spec, build.make_agent)
        Phases(
            config.general.curriculum, build.make_rows(config, agent, its, env, build.make_callbacks(config)).metrics
        )
        initial_weights.named(config, agent)
        fitting = initial_weights.fitting(config, agent)
        seed = config.general.seed or 1
        data = {policy.name: offline.offline_data(config, policy, seed) for policy in its.learning}
        workers = config.general.n_workers if config.general.mp_backend == "ray" else 1
        windows = workers * env.rows // spec.rows
        width = max(28, 1 + max(map(len, weights), default=0))
        per_save = resources.checkpoint_bytes(weights)
        return [
            *_changed(config),
            *([entry(tr("algorithm"), config.algo_package.NAME)] if not its.slots else []),
            entry(tr("environment"), f"{spec.id}{tr(', ')}{counted(env.rows, 'row')}"),
            *_processes(config.general),
            *(line for policy in its.policies for line in _policy(policy)),
            entry(tr("parameters"), f"{agent.parameter_count():,}"),
            *(f"  {name:<{width}}{'x'.join(map(str, array.shape)) or tr('number')}" for name, array in weights.items()),
            *([entry("start_from", fitting.text)] if fitting else []),
            *(line for policy in its.learning for line in _data(data[policy.name])),
            *(line for policy in its.learning for line in _memory(config, policy, windows)),
            *(entry(tr("note"), text) for text in beforehand(config, its, spec.rows)),
            entry(
                tr("checkpoint"),
                tr("about {size} each, and what is new in the memory since the last one", size=byte_size(per_save)),
            ),
            entry(tr("disk"), _disk(config, its, per_save, resources.journal_bytes(config, its))),
            entry(tr("free disk"), byte_size(shutil.disk_usage(Path.cwd()).free)),
            entry(tr("all settings"), f"{PROGRAM} ... --print-config"),
        ]
    finally:
        env.close()


def _changed(config: RunConfig) -> Iterator[str]:
    """Yields the settings that differ from the defaults, each with its source."""
    rows = []
    for section, instance in config.sections().items():
        for key, value in instance.model_dump().items():
            if key not in type(instance).model_fields or instance.changed(key):
                source = config.where.get(f"{section}.{key}", "")
                rows.append((f"{section}.{key}", json.dumps(value, default=str), source))
    if rows:
        yield tr("settings that differ from the defaults:")
        width = max(len(name) for name, *_ in rows)
        yield from (f"  {name:{width}}  {value}{source and f'  ({source})'}" for name, value, source in rows)
        yield ""


def _space(space: spaces.Space) -> str:
    """Returns a space in a few words; the bounds of a Box would fill lines."""
    if isinstance(space, spaces.Box):
        low, high = space.low.min(), space.high.max()
        return tr(
            "Box, shape {shape}, {dtype}, from {low:g} to {high:g}",
            shape="x".join(map(str, space.shape)) or "1",
            dtype=space.dtype,
            low=low,
            high=high,
        )
    if isinstance(space, spaces.Dict):
        return ", ".join(f"{name}: {_space(part)}" for name, part in space.spaces.items())
    return str(space)


def _policy(policy: PolicyPlan) -> Iterator[str]:
    """Yields the lines about what a policy sees and does."""
    if policy.slots is not None:
        agents = ", ".join(policy.slots.agents[:MOST_AGENTS]) + (
            ", ..." if len(policy.slots.agents) > MOST_AGENTS else ""
        )
        learns = tr("{name}: {algorithm}, for {agents}")
        fixed = tr("{name}: {algorithm}, does not learn, for {agents}")
        text = learns if policy.train else fixed
        yield entry(tr("policy"), text.format(name=policy.name, algorithm=policy.package.NAME, agents=agents))
    yield entry(tr("observation"), _space(policy.spec.observation_space))
    yield entry(tr("action"), _space(policy.spec.action_space))


def _data(data: OfflineData | None) -> Iterator[str]:
    """Yields the line about the data that a policy is given."""
    if data is not None:
        text = counted(data.transitions, "transition")
        if data.held_out:
            text = tr("{learned}, {count:,} more are held out", learned=text, count=data.held_out.transitions)
        yield entry(tr("data"), f"{text}, SHA-256 {data.sha256[:12]}")


def _memory(config: RunConfig, policy: PolicyPlan, windows: int) -> Iterator[str]:
    """Yields the line about the memory of what a policy collects."""
    memory = policy.memory
    if memory.data is not None and memory.data.updates < 0:
        return  # nothing is collected
    size = tr("{size} when full", size=byte_size(resources.policy_bytes(config, policy) * windows))
    if resources.depth_of(policy):
        once = tr("about {size}, since each observation is stored once")
        frames = tr("about {size}, since each frame is stored once")
        size = (frames if policy.spec.frames > 1 else once).format(size=size)
    if isinstance(memory, RolloutSpec) and memory.unit == "episodes":
        size = tr("{size} for each step of them", size=byte_size(resources.step_bytes(config, policy)))
    description = _replay(memory) if isinstance(memory, ReplaySpec) else _rollout(memory, policy.spec.rows, windows)
    of = f"{policy.name}: " if policy.name else ""
    yield entry(tr("memory"), of + tr(", ").join((description, size)))


def _disk(config: RunConfig, its: Plan, per_save: int, journal: int) -> str:
    """Returns the disk space that checkpoints and the journal of the memory take in all, if the limits tell."""
    number = resources.checkpoints(config, its)
    if number is None:
        return tr("grows with each checkpoint; general_cfg.keep_checkpoints limits their number")
    return tr(
        "at most about {size} in all, with {checkpoints}",
        size=byte_size(number * per_save + journal),
        checkpoints=counted(number, "checkpoint"),
    )


def _replay(spec: ReplaySpec) -> str:
    return tr(
        "replay of {capacity:,} transitions, batches of {batch_size}, {ratio:g} updates a step",
        capacity=spec.capacity,
        batch_size=spec.batch_size,
        ratio=spec.updates_per_step,
    )


def _processes(cfg: GeneralConfig) -> list[str]:
    if cfg.mp_backend == "single":
        return []
    text = tr("{workers} with so many rows each, {learners} and a data server, on a Ray of their own")
    if cfg.ray_address is not None:
        text = tr("{workers} with so many rows each, {learners} and a data server, in the cluster at {address}")
    workers, learners = counted(cfg.n_workers, "worker"), counted(cfg.n_learners, "learner")
    return [entry(tr("processes"), text.format(workers=workers, learners=learners, address=cfg.ray_address))]


def _rollout(spec: RolloutSpec, rows: int, windows: int) -> str:
    """rows: of a window. windows: that are filled side by side, each by a worker."""
    steps = f"{counted(spec.length, 'step')} x {counted(rows, 'row')}"
    window = steps if spec.unit == "steps" else counted(spec.length, "complete episode")
    if windows > 1:
        window = tr("{window} for each of {windows} workers", window=window, windows=windows)
    times = tr("once") if spec.epochs == 1 else counted(spec.epochs, "time")
    if spec.minibatch is None:
        share = tr("as a whole")
    elif spec.sequence > 1:
        share = tr("in batches of {count:,} sequences of {length} steps", count=spec.minibatch, length=spec.sequence)
    else:
        share = tr("in batches of {count:,}", count=spec.minibatch)
    return tr("windows of {window}, learned from {times}, {share}", window=window, times=times, share=share)
