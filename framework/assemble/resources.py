"""Memory and disk that a run needs, compared with what this machine has. Does not need torch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from config import machine
from config.model.composite import Composite, choices_of
from config.model.layers import Linear
from config.model.memory_spec import MOST_AT_ONCE, MemorySpec, ReplaySpec
from config.read.loader import RunConfig
from framework.disk.journal import FRAME_BYTES, KEPT_JOURNALS
from framework.errors import JoystickError, RayError

if TYPE_CHECKING:
    from algos.base import EnvSpec
    from framework.policies.policy_plan import Plan, PolicyPlan

PROCESS_BYTES = 300 * 2**20
"""Memory that one process takes with torch and Ray in it."""
NUMBER_BYTES = 4
"""Size of the number of a frame."""
COMPRESSED = 4
"""Least factor by which images are taken to shrink; images of Atari games shrink by 5 to 32."""
FRAME_COUNTERS = 8
"""Size of what a memory notes of each frame."""
RETURNS_BYTES = 20
"""Size of the columns of a step of given data that tell of its episode's return."""
LEAST_OBSERVATION = 4096
"""Size in bytes of an observation from which a replay memory stores it as frames. With smaller ones that takes longer,
and they rarely fill a memory."""
ONE_HOT_BYTES = 5
"""Size of a zero or one in a minibatch, while it is made."""
WEIGHT_BYTES = 16
"""Size of a weight that is learned: with its gradient and the two means of Adam."""
EPISODE_STEPS = 100
"""Length of the episodes for which the size of a memory of frames is estimated: each begins with a stack of its own."""
CHUNK_BYTES = 64 * 2**20
"""Largest size of a chunk of several minibatches: fewer than MOST_AT_ONCE of them if observations are images."""


def memories_that_fit(config: RunConfig, plan: "Plan") -> float:
    """Returns how many memories fit on this machine; JoystickError if not even one does."""
    needed, free = needed_bytes(config, plan), machine.available_bytes()
    if free is None:
        return float("inf")
    if needed > free:
        names = "+".join(dict.fromkeys(policy.package.NAME for policy in plan.learning))
        raise JoystickError(
            "the memory of {names} needs {needed:.1f} GiB and this machine has {free:.1f} GiB free; "
            "choose a smaller {section}.buffer_size",
            names=names,
            needed=needed / 2**30,
            free=free / 2**30,
            section=plan.learning[0].section,
        )
    return free // needed


def inputs_that_fit(plan: "Plan") -> None:
    """Raises JoystickError if the zeros and ones that stand for Discrete observations do not fit into this machine,
    with the weights that read them; making those takes minutes before it fails."""
    free = machine.available_bytes()
    for policy in plan.learning:
        lists = {name: getattr(policy.algo, name, None) for name in ("value_layers", "actor_layers", "critic_layers")}
        widths = {
            name: layers[0].layer_size[0] for name, layers in lists.items() if layers and isinstance(layers[0], Linear)
        }
        space = policy.spec.observation_space
        entries = int(space.n) if isinstance(space, spaces.Discrete) else 0
        needed = entries * (policy.minibatch * ONE_HOT_BYTES + WEIGHT_BYTES * sum(widths.values()))
        if widths and free is not None and needed > free:
            raise JoystickError(
                "{section}: {entries:,} zeros and ones stand for an observation of {env}, and minibatches of {rows:,} "
                "with the weights of the first layers need {needed:,.1f} GiB; this machine has {free:.1f} GiB free. "
                "Begin {lists} with {layer}, which reads the number of the observation",
                section=policy.section,
                entries=entries,
                env=policy.spec.id,
                rows=policy.minibatch,
                needed=needed / 2**30,
                free=free / 2**30,
                lists=" and ".join(widths),
                layer="{layer_type: embed, embedding_dim: 16}",
            )


def needed_bytes(config: RunConfig, plan: "Plan") -> int:
    """Returns the size of the full memories and of what is copied from them for a while."""
    return memory_bytes(config, plan) + _copied_bytes(config, plan)


def data_that_fit(config: RunConfig, policy: "PolicyPlan", transitions: int) -> None:
    """Raises JoystickError if this many given transitions do not fit into the memory of this machine."""
    needed, free = transitions * kept_bytes(config, policy), machine.available_bytes()
    if free is not None and needed > free:
        raise JoystickError(
            "algo_cfg.data: {transitions:,} transitions need {needed:.1f} GiB and this machine has "
            "{free:.1f} GiB free; data_top and data_fraction choose a part of the episodes",
            transitions=transitions,
            needed=needed / 2**30,
            free=free / 2**30,
        )


def memory_bytes(config: RunConfig, plan: "Plan") -> int:
    """Returns the size of the full memories. For windows of complete episodes, whose length is unknown, this is the
    least."""
    return sum(policy_bytes(config, policy) for policy in plan.learning)


def policy_bytes(config: RunConfig, policy: "PolicyPlan") -> int:
    """Returns the size of the full memory of one policy."""
    memory = policy.memory
    steps = memory.capacity if isinstance(memory, ReplaySpec) else memory.length * policy.spec.rows
    return steps * kept_bytes(config, policy)


def _copied_bytes(config: RunConfig, plan: "Plan") -> int:
    """Returns the size of what is copied from replay memories for a while: a frame by a save, twice if observations
    share images (a load holds it once, as read from the file), and a chunk by sampling and by the learner."""
    replays = [policy for policy in plan.learning if isinstance(policy.memory, ReplaySpec)]
    if not replays:
        return 0
    chunk = max(chunk_bytes(config, policy) for policy in replays)
    return 2 * min(FRAME_BYTES, sum(policy_bytes(config, policy) for policy in replays)) + 2 * chunk


def chunk_bytes(config: RunConfig, policy: "PolicyPlan") -> int:
    """Returns the size of the largest chunk of a policy."""
    memory = policy.memory
    if isinstance(memory, ReplaySpec):
        return minibatches_at_once(config, policy) * _minibatch_bytes(memory, config, policy)
    return memory.length * policy.spec.rows * step_bytes(config, policy)


def most_at_once(config: RunConfig, plan: "Plan") -> int:
    """Returns the largest number of minibatches in a chunk of any replay memory; 1 if there are only windows."""
    counts = [minibatches_at_once(config, policy) for policy in plan.learning if isinstance(policy.memory, ReplaySpec)]
    return min(counts, default=1)


def minibatches_at_once(config: RunConfig, policy: "PolicyPlan") -> int:
    """Returns the largest number of minibatches in a chunk of a replay memory; 1 for a window of fresh steps."""
    memory = policy.memory
    if not isinstance(memory, ReplaySpec):
        return 1
    return max(1, min(MOST_AT_ONCE, CHUNK_BYTES // _minibatch_bytes(memory, config, policy)))


def _minibatch_bytes(memory: ReplaySpec, config: RunConfig, policy: "PolicyPlan") -> int:
    return memory.batch_size * memory.sequence * step_bytes(config, policy)


def step_bytes(config: RunConfig, policy: "PolicyPlan") -> int:
    """Returns the size of one transition: both observations, the action, the policy's state before it, and the columns
    that are added to it. Action masks are counted for every Discrete action, alone and as a part, since only a reset
    tells if there are any."""
    spec, memory = policy.spec, policy.memory
    size = 2 * _bytes(spec.observation_space) + _bytes(spec.action_space) + 10
    data = memory.data if isinstance(memory, ReplaySpec) else None
    if data is not None and data.returns:
        size += RETURNS_BYTES
    if data is None or data.updates >= 0:
        size += 4 * spec.agents * policy.algo.state_size()  # given data have no states
    size += 8 * spec.global_state
    if isinstance(spec.action_space, spaces.Discrete | Composite) and config.env.action_mask:
        size += 2 * choices_of(spec.action_space).entries
    if not isinstance(memory, ReplaySpec):
        size += _bytes(spec.action_space) + 4  # the action as it was drawn, before its bounds, and its log probability
        if policy.memory.data is not None:
            size += 2 * _bytes(spec.observation_space) + _bytes(spec.action_space) + 1  # a transition of the data
    elif policy.algo.asked_expert():
        size += _bytes(spec.action_space)
    return size


def kept_bytes(config: RunConfig, policy: "PolicyPlan", compressed: bool = True) -> int:
    """Returns the size of one transition in the memory of a policy. One with frames has a new one at each step, besides
    those of the first observation of an episode. compressed: False for the journal, where frames are not."""
    whole, depth = step_bytes(config, policy), depth_of(policy)
    if not depth:
        return whole
    obs, memory = _bytes(policy.spec.observation_space), policy.memory
    factor = COMPRESSED if compressed and isinstance(memory, ReplaySpec) and memory.compress else 1
    frame = obs // depth // factor + FRAME_COUNTERS
    return whole - 2 * obs + 2 * depth * NUMBER_BYTES + frame + frame * depth // EPISODE_STEPS


def depth_of(policy: "PolicyPlan") -> int:
    """Returns the number of frames of an observation, each of which the replay memory of a policy stores once; 0 if it
    stores observations whole: small ones, those of several agents, and those whose goals are replaced."""
    space, frames = policy.spec.observation_space, policy.spec.frames
    if policy.slots is not None or not keeps_frames(policy.memory, space):
        return 0
    return frames if (space.shape or (0,))[0] % frames == 0 else 1


def keeps_frames(memory: MemorySpec, space: spaces.Space) -> bool:
    """Returns True if the memory of a single agent with these observations stores their frames."""
    return isinstance(memory, ReplaySpec) and not memory.relabel and _bytes(space) >= LEAST_OBSERVATION


def row_bytes(spec: "EnvSpec") -> int:
    """Returns the size of both observations of a row."""
    return 2 * _bytes(spec.observation_space)


def journal_bytes(config: RunConfig, plan: "Plan") -> int:
    """Returns the size that the journal of the replay memories can reach on the disk: what the oldest of the
    checkpoints whose journal is kept remembers, and everything collected since. 0 for windows of fresh steps."""
    size = sum(_journal_bytes(config, policy) for policy in plan.learning if isinstance(policy.memory, ReplaySpec))
    return size + min(size, FRAME_BYTES)  # of the oldest file, one step may be needed


def _journal_bytes(config: RunConfig, policy: "PolicyPlan") -> int:
    memory, cfg = policy.memory, config.general
    assert isinstance(memory, ReplaySpec)
    if memory.data is not None and memory.data.updates < 0:
        return 0  # given data are in no checkpoint
    journals = cfg.keep_checkpoints if cfg.keep_checkpoints >= 1 else KEPT_JOURNALS
    apart = float(cfg.model_save_fre)
    if cfg.model_save_unit == "update":
        apart /= memory.updates_per_step
    steps = min(memory.capacity + journals * apart, policy.per_row * (most_steps(config) or float("inf")))
    return int(steps * kept_bytes(config, policy, compressed=False))


def checkpoint_bytes(weights: Mapping[str, np.ndarray]) -> int:
    """Returns about the size of a checkpoint without the journal: weights, target networks and optimizer."""
    return 4 * sum(array.nbytes for array in weights.values())


def checkpoints(config: RunConfig, plan: "Plan") -> int | None:
    """Returns the number of checkpoints that are kept, if the limits of the run tell."""
    cfg, steps = config.general, most_steps(config)
    updates = steps * ratio if steps and (ratio := plan.ratio()) is not None else None
    done = steps if cfg.model_save_unit == "step" else updates
    if done is None:
        return None
    count = int(done // cfg.model_save_fre) + 1
    return count if cfg.keep_checkpoints == -1 else min(count, cfg.keep_checkpoints)


def most_steps(config: RunConfig) -> int | None:
    """Returns about how many steps the limits of the run allow; None if they do not tell."""
    cfg = config.general
    of_episodes = cfg.max_episode * cfg.max_step if cfg.max_episode > 0 and cfg.max_step > 0 else None
    return min(filter(None, (config.planned_steps, of_episodes)), default=None)


def _bytes(space: spaces.Space) -> int:
    return int(np.prod(space.shape or ())) * np.dtype(space.dtype or np.int64).itemsize


def processes_that_fit(workers: int, learners: int, size: int = PROCESS_BYTES) -> None:
    """Raises RayError if this machine lacks the memory for this many processes and the data server."""
    free, count = machine.available_bytes(), workers + learners + 1
    if free is not None and count * size > free:
        key = "n_workers" if workers >= learners else "n_learners"
        raise RayError(
            "general_cfg.{key}: n_workers {workers}, n_learners {learners} and the data server need "
            "about {needed:,} MiB and this machine has {free:,} MiB free, which is enough for {enough} "
            "processes",
            key=key,
            workers=workers,
            learners=learners,
            needed=count * size // 2**20,
            free=free // 2**20,
            enough=free // size,
        )
