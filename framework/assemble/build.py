"""Makes environments, agents, memories and collectors from a config. The only factory."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

import algos
import envs
from algos.base import Agent, EnvSpec, OwnLossError, Progress, Streams, TrainableActor, UnfitError
from config import machine
from config.model.fields import whole
from config.model.memory_spec import ReplaySpec
from config.own import objects as own
from config.read.loader import RunConfig
from config.tell.language import tr
from envs.base import EnvContext, Goal, VectorEnv
from framework import memory
from framework.assemble import resources
from framework.assemble.expert import expert_of
from framework.assemble.parts import Parts, device_of, parts_of
from framework.collect.env_calls import Watch
from framework.collect.episode_numbers import EpisodeNumbers
from framework.collect.fragment import Recorder
from framework.collect.training import TrainingCollector
from framework.dataset.store import StepStore
from framework.errors import JoystickError
from framework.log import LOGGER
from framework.loop.evaluator import Evaluator
from framework.loop.iteration import EpisodeRows
from framework.loop.learner import Learner
from framework.policies.policy_plan import Plan, PolicyPlan, needs_global_state
from framework.policies.policy_plan import plan as plan_of
from framework.policies.returns import return_name, return_names
from framework.record import callbacks, loggers
from framework.record.callbacks import CallbackRecorder, Callbacks, sees_episodes
from framework.record.loggers import Logger
from framework.record.recorders import Tape
from framework.record.traces import TraceRecorder
from framework.screen.formatting import counted
from framework.screen.stages import stage
from framework.seeding import number, one_thread, stream

WORK_OF_A_THREAD = 8_000_000
"""Multiplications of the largest layer in the forward pass of a minibatch for each thread, if there are several: 256
samples in a layer of 256 x 256 are enough for two. With less, threads wait for each other longer than they save."""
CPU = torch.device("cpu")
"""Device of acting agents in workers and in the driver of several processes."""


def make_env(config: RunConfig, rows: int, draw: bool = False, worker: int = 0, recreated: bool = False) -> VectorEnv:
    """Makes a vector environment. Only one that draws gets the render mode. worker: 0 in the driver and for every
    evaluation, from 1 in Ray workers; recreated: True in the replacement of a lost worker."""
    own.provide(config.objects)
    cfg = config.env if draw else config.env.model_copy(update={"render_mode": None})
    workers = config.general.n_workers if config.general.mp_backend == "ray" else 0
    context = EnvContext(
        worker_index=worker, num_workers=workers, recreated=recreated, global_state=needs_global_state(config)
    )
    env = envs.make(config.env_package, cfg, rows, context)
    try:
        _check_default_dtype()
        if (curriculum := config.general.curriculum) is not None:
            env.phase_method = curriculum.method
            env.set_phase(np.ones(rows, bool), [whole(curriculum.first)] * rows)  # an error comes before any process
    except BaseException:
        env.close()
        raise
    return env


def _check_default_dtype() -> None:
    """Raises JoystickError if what was imported or made before has changed the number type of every network."""
    if (dtype := torch.get_default_dtype()) != torch.float32:
        raise JoystickError(
            "torch's default dtype is {dtype}, and networks here are float32: code of the environment, or other "
            "code of yours, has called torch.set_default_dtype; give dtype={dtype} to single tensors instead",
            dtype=dtype,
        )


@contextlib.contextmanager
def opened_env(config: RunConfig, rows: int, watch: Watch, draw: bool = False) -> Iterator[VectorEnv]:
    """Makes a vector environment, and closes it at the end. If it cannot be closed, that is a warning: nothing depends
    on it any more. A forked child has no part in it, and does not close it when it ends."""
    process = os.getpid()
    with stage(tr("making {environments}", environments=counted(rows, "environment"))), watch("make"):
        env = make_env(config, rows, draw)
    try:
        yield env
    finally:
        try:
            if os.getpid() == process:
                with stage(tr("closing {environments}", environments=counted(rows, "environment"))), watch("close"):
                    env.close()
        except Exception as error:
            LOGGER.warning(tr("the environment could not be closed: %s"), error)


def drawing(config: RunConfig) -> RunConfig:
    """Returns the settings with an environment that draws films."""
    return replace(config, env=config.env.model_copy(update={"render_mode": config.env.FILM[0]}))


def open_drawing(config: RunConfig, watch: Watch) -> Callable[[], contextlib.AbstractContextManager[VectorEnv]]:
    """Returns what opens an environment of one row that draws as render_mode says."""
    return partial(opened_env, config, 1, watch, draw=True)


def env_spec(config: RunConfig, env: VectorEnv) -> EnvSpec:
    """Returns the description of an environment that an agent gets."""
    model = env.model if config.algo.NEEDS_MODEL else None
    spaces = env.observation_space, env.action_space
    return EnvSpec(
        config.env_id, *spaces, env.rows, env.parts, model, env.frames, expert=env.expert, joint=env.joint,
        starts=(env.observation_start, env.action_start),
    )  # fmt: skip


def choose_threads(config: RunConfig, agent: TrainableActor, processes: int = 1) -> None:
    """Sets the number of torch's threads in a process that learns: as many as an update has work for, at most all
    cores, shared among this many processes. It depends on the settings and the number of cores alone."""
    most = max(1, machine.cores() // processes)
    torch.set_num_threads(config.general.torch_threads or min(most, _useful_threads(config, agent)))


def keep_threads(config: RunConfig, before: Any) -> None:
    """Sets the number of torch's threads that the run had before it was resumed, since the last bits of its numbers
    depend on it; unless the settings name one, or there are fewer cores now. The learners of Ray choose their own."""
    if config.general.mp_backend == "ray":
        return
    if not config.general.torch_threads and isinstance(before, int) and 0 < before <= machine.cores():
        torch.set_num_threads(before)


def _useful_threads(config: RunConfig, agent: TrainableActor) -> int:
    """Returns the number of threads that an update is fastest with: by the largest product of minibatch and layer; with
    images, as many as there are."""
    plan, work = plan_of(config, agent.spec), 0
    for policy in plan.learning:
        if len(policy.spec.observation_space.shape or ()) >= 2:
            return machine.cores()
        layers = (array.size for name, array in agent.by_policy()[policy.name].weights().items() if array.ndim == 2)
        work = max(work, policy.minibatch * max(layers, default=0))
    return max(1, work // WORK_OF_A_THREAD)


def gpu_name(config: RunConfig) -> str | None:
    """Returns the name of the GPU that general_cfg.device selects on this machine; None if it selects none."""
    if config.general.device == "cpu" or not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name(device_of(config))


def make_agent(config: RunConfig, spec: EnvSpec, seed: int, device: torch.device) -> TrainableActor:
    """Makes an agent with initial weights. Raises JoystickError if its settings do not fit the environment."""
    own.provide(config.objects)
    plan = plan_of(config, replace(spec, shared={}))  # shared layers are those of one agent
    if config.general.mode == "train":
        resources.inputs_that_fit(plan)
    with one_thread():
        agents = {policy.name: _make_policy(policy, seed, device) for policy in plan.policies}
    return parts_of(config, plan).agent(agents, spec, device, partial(expert_of, config, spec, make_agent))


def _make_policy(policy: PolicyPlan, seed: int, device: torch.device) -> Agent:
    """Makes the agent of one policy, with random streams of its own."""
    suffix = f"/{policy.name}" if policy.name else ""
    streams = Streams(init=number(seed, f"init{suffix}"), learn=stream(seed, f"learn{suffix}"))
    try:
        agent: Agent = algos.make_agent(policy.package, policy.algo, policy.spec, streams, device)
        agent.metric_names()  # a statistic of the user's own may have the name of another metric
    except (UnfitError, OwnLossError) as error:
        raise JoystickError(f"policies_cfg.{policy.name}: {error}" if policy.name else str(error)) from error
    return agent


def make_learner(config: RunConfig, spec: EnvSpec, agent: TrainableActor) -> Learner:
    """Makes what applies the updates of an agent made by make_agent."""
    machine.keep_freed_memory()
    return parts_of(config, plan_of(config, spec)).learner(agent)


def make_memory(
    config: RunConfig, spec: EnvSpec, seed: int, goal: Goal | None = None, collectors: int = 1, apart: bool = False
) -> memory.Memory:
    """Makes the memory of the algorithm. Raises JoystickError if it does not fit into this machine, or is too small for
    a single sample. goal: that of the environment, for hindsight. spec.rows: rows of all collectors. apart: True if
    their windows are not joined."""
    plan = plan_of(config, spec)
    resources.memories_that_fit(config, plan)
    for policy in plan.learning:
        _check_sequences(policy)
    most = resources.most_at_once(config, plan)
    return parts_of(config, plan).memory(seed, goal, collectors, apart, most)


def _check_sequences(policy: PolicyPlan) -> None:
    """Raises JoystickError if a replay memory is too small for a single sequence."""
    replay, rows = policy.memory, policy.spec.rows
    if isinstance(replay, ReplaySpec) and replay.capacity // rows < replay.least:
        raise JoystickError(
            "a sequence has {sequence} steps, and {section}.buffer_size {capacity} keeps {steps} "
            "of each of {rows} rows; choose a larger one, or fewer env_cfg.n_envs",
            sequence=replay.least,
            section=policy.section,
            capacity=replay.capacity,
            steps=replay.capacity // rows,
            rows=rows,
        )


def make_rows(
    config: RunConfig, agent: TrainableActor, plan: Plan, env: VectorEnv, callbacks: Callbacks | None
) -> EpisodeRows:
    """Makes what turns episodes into rows of train.csv and progress.csv."""
    custom = (*numbers_of_episodes(plan, env), *(callbacks.METRICS if callbacks else ()))
    validated = config.algo.held_out() > 0
    return EpisodeRows(agent, custom, config.general.curriculum is not None, tuple(plan.slots), validated, env.metrics)


def make_callbacks(config: RunConfig) -> Callbacks | None:
    """Makes an instance of the user's callbacks, or returns None if there are none. Raises JoystickError if it cannot
    be made."""
    name = config.general.callbacks
    if name is None:
        return None
    own.provide(config.objects)
    try:
        cls = own.find(name)
        fault = callbacks.problem(cls)
        instance: Callbacks | None = None if fault else cls()
    except Exception as error:  # the user's own code may raise anything
        raise JoystickError(f"general_cfg.callbacks: {error}") from error
    if fault:
        raise JoystickError(f"general_cfg.callbacks: {fault}")
    return instance


def make_loggers(config: RunConfig) -> dict[str, Logger]:
    """Makes the loggers of a run, by their names; csv is none. Raises JoystickError if one cannot be made."""
    own.provide(config.objects)
    instances: dict[str, Logger] = {}
    for name in config.general.loggers:
        if name in instances or name == "csv":
            continue
        try:
            cls = own.find(loggers.HOMES.get(name, name))
            fault = loggers.problem(cls)
            instances |= {} if fault else {name: cls()}
        except Exception as error:  # the user's own code may raise anything
            raise JoystickError(f"general_cfg.loggers: {error}") from error
        if fault:
            raise JoystickError(f"general_cfg.loggers: {fault}")
    return instances


def _parts_in(config: RunConfig, env: VectorEnv) -> Parts:
    return parts_of(config, plan_of(config, env_spec(config, env)))


def numbers_of_episodes(plan: Plan, env: VectorEnv) -> tuple[str, ...]:
    """Returns the names of the numbers of an episode besides its return: the environment's, and the returns of several
    policies."""
    return (*env.metrics, *return_names(plan))


def _numbering(parts: Parts, env: VectorEnv, training: bool) -> list[Recorder]:
    """Makes what gives the episodes these numbers."""
    return [*([EpisodeNumbers()] if env.metrics else []), *parts.returns(env.rows, training)]


def make_evaluator(
    config: RunConfig,
    env: VectorEnv,
    check: Callable[[], None],
    watch: Watch,
    phase: Callable[[], float | None] = lambda: None,
    recorders: Iterable[Recorder] = (),
    progress: Callable[[], Progress | None] = lambda: None,
) -> Evaluator:
    """Makes what plays whole episodes. recorders: see every evaluation. progress: returns how far training is, if the
    episodes explore."""
    cfg = config.general
    score = return_name(cfg.score_policy) if cfg.score_policy else None
    seeing = (*_numbering(_parts_in(config, env), env, training=False), *recorders)
    return Evaluator(env, cfg.seed, cfg.max_step, check, watch, seeing, phase, score, progress)


def trajectories(config: RunConfig, env: VectorEnv, writer: StepStore | None) -> Recorder:
    """Makes what records whole trajectories; one of each agent in a multi-agent environment."""
    return _parts_in(config, env).trajectories(writer, env.rows, training=False)


def make_recorders(config: RunConfig, env: VectorEnv, callbacks: Callbacks | None, worker: int = 0) -> list[Recorder]:
    """Makes what records the episodes of a collector in training."""
    cfg, parts = config.general, _parts_in(config, env)
    recorders = _numbering(parts, env, training=True)
    if callbacks is not None and sees_episodes(callbacks):
        recorders.append(CallbackRecorder(callbacks, env.rows, worker))
    if cfg.collect_traj:
        recorders.append(parts.trajectories(None, env.rows, training=True))
    if cfg.traces:
        first_worker = 1 if cfg.mp_backend == "ray" else 0  # as in EnvContext.worker_index
        recorders.append(TraceRecorder(env.rows, cfg.traces_compress, parts.steps(), first_worker))
    if cfg.video_fre and env.replayable:
        recorders.append(Tape(env.rows))
    return recorders


def acting_stream(seed: int, worker: int, incarnation: int) -> np.random.Generator:
    """Returns the exploration stream of a worker. A replacement of a lost worker has another incarnation and stream."""
    return stream(seed, "act", worker, *([incarnation] if incarnation else []))


def make_collector(
    config: RunConfig,
    env: VectorEnv,
    agent: TrainableActor,
    seed: int,
    worker: int = 0,
    recorders: Iterable[Recorder] = (),
    incarnation: int = 0,
    episodes: np.ndarray | None = None,
    remembered: int = 1,
    watch: Watch | None = None,
    phase: float | None = None,
) -> TrainingCollector:
    """Makes the collector of a worker, or the only one in a single process. The replacement of a lost worker has a
    later incarnation, with a stream of its own, and continues with these episode numbers [N] in the present phase."""
    curriculum = config.general.curriculum
    first = curriculum.first if curriculum and phase is None else phase
    agent.expert = agent.expert or expert_of(config, agent.spec, make_agent)

    rng = acting_stream(seed, worker, incarnation)
    return TrainingCollector(
        env,
        agent,
        rng,
        partial(number, seed, "episode", worker),
        config.general.max_step,
        worker,
        incarnation,
        tuple(recorders),
        first_episode=episodes,
        remembered=remembered,
        watch=watch or Watch(),
        phase=first if curriculum else None,
    )
