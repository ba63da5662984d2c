"""Algorithms of algos/ as policies that learn from a buffer of the program's own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from gymnasium.spaces import Discrete, Space
from torch import Tensor

import algos
import envs
from algos.base import Agent, Array, EnvSpec, OwnLossError, Progress, Streams, UnfitError
from config.model.composite import choices_of
from config.model.memory_spec import MemorySpec, ReplaySpec, RolloutSpec
from config.read.loader import ConfigError, load
from config.tell.language import tr
from framework.assemble import fit as compatibility
from framework.assemble import needs
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Columns, check_finite
from framework.data.batch import Batch
from framework.data.buffer import ReplayBuffer
from framework.data.intake import Intake
from framework.data.policy import Policy, check_buffer
from framework.data.settings import whole
from framework.data.values import brief
from framework.dataset.columns import MASKS
from framework.errors import JoystickError
from framework.loop.learner import AgentLearner, Learned
from framework.memory.chunk import Chunk
from framework.memory.n_step import walk
from framework.memory.ring import clipped
from framework.policies.rollout import SlotRollout
from framework.policies.splitter import Transitions
from framework.seeding import number, stream


def policy(
    algo: str, env: Any, *network: Any, seed: int = 0, device: str = "cpu", **settings: Any
) -> "AlgorithmPolicy":
    """Makes a policy of an algorithm, with its default settings but for those given, for an environment (as a Collector
    takes it; of a list, all of one kind): policy("DQN", env, lr=1e-3).

    Raises ConfigError for unknown settings and for an algorithm that does not suit the environment.
    """
    if network:
        raise JoystickError(
            "joystick.policy takes algo and env by position, and settings by name: an algorithm makes its network of "
            "value_layers, actor_layers and critic_layers, and its optimizer of optimizer and lr; a policy with a "
            "network of your own inherits from joystick.Policy (docs/tianshou.md)"
        )
    whole("seed", seed, least=0)
    values = {"general_cfg": {"algo_name": algo}, "algo_cfg": settings}
    config = load(None, [], find_algo=ALGOS, find_env=ENVS, values=values)
    several = env if isinstance(env, Sequence) and not isinstance(env, str) else [env]
    name, rows = config.algo_package.NAME, envs.vector_of(several[:1] if len(several) > 1 else env)
    count = max(rows.rows, len(several))
    member = rows.member(0)
    faults = compatibility.misfits(name, config.algo, rows, type(getattr(member, "unwrapped", member)).__name__)
    memory = config.algo.memory(count)
    buffer = needs.Offers("", rows.action_space, rows.observation_space, {}, "buffer")
    for setting, fault in needs.misfits(needs.needs_of(config.algo, name), buffer):
        faults.append((f"{'general_cfg' if setting == needs.ALGORITHM else 'algo_cfg'}.{setting}", fault))
    if faults:
        raise ConfigError(*[f"Python: {key}: {fault}" for key, fault in faults])
    spec = EnvSpec(name, rows.observation_space, rows.action_space, count, rows.parts)
    streams = Streams(init=number(seed, "init"), learn=stream(seed, "learn"))
    try:
        agent = algos.make_agent(config.algo_package, config.algo, spec, streams, torch.device(device))
    except (UnfitError, OwnLossError) as error:
        raise JoystickError(str(error)) from error
    return AlgorithmPolicy(name, agent, memory, stream(seed, "act", 0))


class AlgorithmPolicy(Policy):
    """Acts and learns as an algorithm does in a run. Its schedules follow the steps that it has acted while collecting,
    and `fraction`."""

    ONE_ARRAY = True

    def __init__(self, name: str, agent: Agent, memory: MemorySpec, rng: np.random.Generator) -> None:
        self.name, self.agent, self.memory, self._rng = name, agent, memory, rng
        """memory: what the algorithm learns from in a run: the length of its returns and sequences."""
        self.steps = 0
        """Number of actions chosen for collecting."""
        self._intakes = WeakKeyDictionary[ReplayBuffer, Intake]()
        """Buffer -> what has been taken from it."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_intakes"}  # copies learn from others

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._intakes = WeakKeyDictionary()

    @property
    def needs_own_actions(self) -> bool:
        return isinstance(self.memory, RolloutSpec) and type(self.agent).noted is not Agent.noted

    def _repr_html_(self) -> str:
        from framework.pages import cell, html_page

        spec, numbers = self.agent.spec, [(tr("steps"), self.steps), (tr("updates"), self.updates)]
        spaces = [(tr("observation"), spec.observation_space), (tr("action"), spec.action_space)]
        weights = sum(array.size for array in self.weights().values())
        cards = html_page.cards([*numbers, (tr("numbers in the weights"), weights)])
        about = tr("{name}, learns by update()", name=self.name)
        return cell.block(type(self).__name__, about, cards, html_page.pairs(spaces))

    def progress(self) -> Progress:
        """Returns what schedules depend on."""
        return Progress(step=self.steps, update=self.updates, fraction=self.fraction)

    def forward(self, batch: Batch, state: Any = None) -> Batch:
        """Returns actions with exploration while training, otherwise as in an evaluation; `policy` holds the columns
        that the algorithm needs to learn, such as log_prob."""
        obs, mask = self._observations(batch), batch.get("action_mask")
        check_finite(obs, self.name)
        if mask is not None:
            mask = self._legal(mask, len(obs))
        start = self.agent.initial_state(len(obs))
        if state is not None and start is not None and np.shape(state) != start.shape:
            raise JoystickError(
                "{name}: the state has shape {shape}; expected {expected}, as the policy has returned it",
                name=self.name,
                shape=np.shape(state),
                expected=start.shape,
            )
        carry = start if state is None else state
        if self.training:
            act = self.agent.sample_action(obs, carry, self.progress(), self._rng, mask)
            self.steps += len(obs)
        else:
            act = self.agent.evaluate_action(obs, carry, self._rng, mask)
        columns = act.columns if carry is None else {**act.columns, "state": carry}
        out = Batch(act=act.action)
        if columns:
            out.policy = Batch(columns)
        if act.state is not None:
            out.state = act.state
        return out

    def _legal(self, mask: Any, rows: int) -> Array:
        """Returns the masks [N, entries] of observations. Raises JoystickError for others."""
        choices, array = choices_of(self.agent.spec.action_space), np.asarray(mask)
        expected = rows, choices.entries
        if array.shape != expected or not ((array == 0) | (array == 1)).all():
            raise JoystickError(
                "{name}: got the action_mask {mask!r:.80}; expected 0 or 1 for each action of each observation, "
                "{expected}",
                name=self.name,
                mask=mask,
                expected=expected,
            )
        legal = array.astype(bool)
        if choices.stuck(legal).any():
            raise JoystickError("{name}: an action_mask is 0 everywhere: no action is legal", name=self.name)
        return legal

    def _observations(self, batch: Batch) -> Array:
        """Returns observations [N, ...]. Raises JoystickError for others than the algorithm learns from."""
        if not isinstance(batch, Batch) or "obs" not in batch:
            raise JoystickError(
                "{name}: got {batch}; expected Batch(obs=...) with observations", name=self.name, batch=brief(batch)
            )
        space = self.agent.spec.observation_space
        obs, shape = np.asarray(batch.obs), space.shape
        if obs.dtype == object or obs.shape[1:] != shape or not obs.ndim:
            raise JoystickError(
                "{name}: got obs of the shape {shape}; expected a row for each observation, "
                "[N{rest}]. (reset() of gymnasium returns obs, info)",
                name=self.name,
                shape=obs.shape,
                rest="".join(f", {size}" for size in shape or ()),
            )
        return self._typed("obs", obs, space)

    def _typed(self, name: str, values: Any, space: Space) -> Array:
        """Returns observations or actions [K, ...] in the type of their space. Raises JoystickError for others."""
        array = np.asarray(values)
        if array.shape[1:] != space.shape or array.dtype.kind not in "biuf":
            raise JoystickError(
                "{algo}: {name} of the buffer has the shape {shape} and the type {dtype}; expected values of {space}",
                algo=self.name,
                name=name,
                shape=array.shape[1:],
                dtype=array.dtype,
                space=space,
            )
        if array.dtype == space.dtype and not isinstance(space, Discrete):
            return array
        typed = array.astype(space.dtype)
        whole_numbers = typed.dtype.kind != "f"
        outside = whole_numbers and (typed != array).reshape(len(array), -1).any(axis=1)
        if isinstance(space, Discrete):
            outside = outside | (typed < 0) | (typed >= space.n)
        if np.any(outside):
            raise JoystickError(
                "{algo}: {name} {value} is none of {space}",
                algo=self.name,
                name=name,
                value=array[outside][0].tolist(),
                space=space,
            )
        return typed

    def rested(self, rows: int) -> None:
        self.steps -= rows if self.training else 0

    def rewarded(self, state: Any, reward: Array) -> Any:
        return self.agent.rewarded(state, reward)

    def learn(self, batch: Batch) -> dict[str, float]:
        """Is not used: `update` does all, since an algorithm prepares what it learns from in its own way."""
        raise JoystickError("{name} learns by update(sample_size, buffer)", name=self.name)

    def update(
        self, sample_size: int, buffer: ReplayBuffer, batch_size: int | None = None, repeat: int | None = None
    ) -> dict[str, float]:
        """Learns from the buffer. An algorithm with a replay memory makes one update from sample_size transitions; one
        that learns from fresh transitions takes all (sample_size 0) for `repeat` epochs in minibatches of batch_size,
        each None: as its settings say. Returns the means of the metrics."""
        check_buffer(buffer)
        self._check(buffer)
        with self.phase(training=True, updating=True):
            if isinstance(self.memory, ReplaySpec):
                learned = [self._learn_from_samples(self.memory, sample_size, buffer)]
            else:
                learned = list(self._learn_from_all(self.memory, sample_size, buffer, batch_size, repeat))
        return self._means(learned)

    def _means(self, learned: list[Learned]) -> dict[str, float]:
        """Counts the updates, and returns the means of the metrics."""
        self.updates += sum(result.updates for result in learned)
        names = dict.fromkeys(name for result in learned for name in result.metrics)
        return {name: float(np.mean([x for result in learned for x in result.metrics.get(name, ())])) for name in names}

    def weights(self) -> dict[str, Array]:
        """Returns all arrays that acting depends on, by name."""
        return self.agent.weights()

    def set_weights(self, weights: dict[str, Array]) -> None:
        """Replaces them."""
        self.agent.load_weights(weights)

    def _steps(self, obs: Any, act: Any, obs_next: Any) -> Columns:
        """Returns observations and actions as columns, in the types of their spaces."""
        spec = self.agent.spec
        return {
            "obs": self._typed("obs", obs, spec.observation_space),
            "action": self._typed("act", act, spec.action_space),
            "next_obs": self._typed("obs_next", obs_next, spec.observation_space),
        }

    def _check(self, buffer: ReplayBuffer) -> None:
        """Raises JoystickError for a buffer that the algorithm cannot learn from."""
        if not len(buffer):
            raise JoystickError("the buffer is empty; collect before the first update")
        if buffer.stack_num > 1:
            raise JoystickError(
                "{name} takes observations as it acts on them: stack frames with a wrapper of the "
                "environment, not with the buffer's stack_num",
                name=self.name,
            )
        rows = self.agent.spec.rows
        if getattr(self.agent.cfg, "normalize_reward", False) and buffer.buffer_num != rows:
            raise JoystickError(
                "normalize_reward follows each of {rows} environments: use VectorReplayBuffer(size, {rows})", rows=rows
            )

    def get_extra_state(self) -> dict[str, Tensor]:
        """Returns weights() as tensors, for state_dict()."""
        return {name: torch.as_tensor(array) for name, array in self.weights().items()}

    def set_extra_state(self, state: dict[str, Tensor]) -> None:
        """Replaces the weights, for load_state_dict()."""
        self.set_weights({name: tensor.cpu().numpy() for name, tensor in state.items()})

    # samples of a replay memory ---------------------------------------------------------------------------

    def _learn_from_samples(self, spec: ReplaySpec, size: int, buffer: ReplayBuffer) -> Learned:
        if size < 1:
            raise JoystickError(
                "{name} has a replay memory: update takes the number of samples, such as 64", name=self.name
            )
        if spec.sequence > 1:
            chunk, places = self._sequences(spec, size, buffer), None
        else:
            chunk, places = self._samples(spec, size, buffer)
        learned = AgentLearner(self.agent, spec).learn(chunk, self.progress())
        if learned.priorities is not None and places is not None and hasattr(buffer, "update_weight"):
            buffer.update_weight(places, learned.priorities[0])
        return learned

    def _samples(self, spec: ReplaySpec, size: int, buffer: ReplayBuffer) -> tuple[Chunk, Array]:
        """Returns a minibatch [1, B, ...] with n-step returns, and its places in the buffer."""
        batch, places = buffer.sample(size)
        rings, place = buffer.rings_at(places)
        reward, factor, last = walk(rings, place, spec.n_step, spec.gamma, "rew", "done", spec.reward_clip)
        columns = {
            **_of_policy(batch),
            **self._steps(batch.obs, batch.act, batch.obs_next if spec.n_step == 1 else buffer[last].obs_next),
            "reward": reward.astype(np.float32),
            "discount": (factor * ~rings.flat["terminated"][last]).astype(np.float32),
        }
        if spec.terminated:
            columns["terminated"] = batch.terminated
        if MASKS[0] in batch:
            columns |= {MASKS[0]: batch[MASKS[0]], MASKS[1]: buffer.get(last, MASKS[1])}
        if "weight" in batch:
            columns["weight"] = batch.weight
        return self._chunk(spec, columns, buffer), places

    def _sequences(self, spec: ReplaySpec, size: int, buffer: ReplayBuffer) -> Chunk:
        """Returns pieces of the buffer's history [1, L, B, ...], which begin anywhere."""
        rings, length = buffer.rings, spec.sequence
        if not rings.pieces(length):
            raise JoystickError(
                "{name} learns from {length} steps in a row; collect more before the first update",
                name=self.name,
                length=length,
            )
        begin = rings.choose(self._rng, (size,), length)
        places = rings.ahead(begin, np.arange(length)[:, None])
        batch = buffer[places.reshape(-1)]

        def shaped(value: Array) -> Array:
            return value.reshape(*places.shape, *value.shape[1:])

        ends = shaped(batch.done.astype(bool))
        policy = {name: shaped(value) for name, value in _of_policy(batch).items()}
        if (state := policy["state"][0] if "state" in policy else self.agent.initial_state(size)) is not None:
            policy["state"] = state
        columns = {
            **policy,
            **{name: shaped(value) for name, value in self._steps(batch.obs, batch.act, batch.obs_next).items()},
            "reward": clipped(shaped(batch.rew.astype(np.float32)), spec.reward_clip),
            "discount": np.float32(spec.gamma) * ~shaped(batch.terminated),
            "first": np.concatenate([np.zeros_like(ends[:1]), ends[:-1]]),
            **{name: shaped(batch[name]) for name in MASKS if name in batch},
        }
        if spec.terminated:
            columns["terminated"] = shaped(batch.terminated)
        return self._chunk(spec, columns, buffer)

    def _chunk(self, spec: ReplaySpec, columns: Columns, buffer: ReplayBuffer) -> Chunk:
        """Returns a chunk of one minibatch, with the observations that are new since the last one."""
        arrived = self._intake(buffer).observations(buffer, spec.final_statistics) if spec.statistics else None
        return Chunk({name: value[None] for name, value in columns.items()}, arrived=arrived)

    def _intake(self, buffer: ReplayBuffer) -> Intake:
        return self._intakes.setdefault(buffer, Intake(buffer))

    # fresh transitions ------------------------------------------------------------------------------------

    def _learn_from_all(
        self, spec: RolloutSpec, size: int, buffer: ReplayBuffer, batch_size: int | None, repeat: int | None
    ) -> Iterator[Learned]:
        if size:
            raise JoystickError("{name} learns from all fresh transitions: update(0, buffer)", name=self.name)
        spec = replace(
            spec,
            epochs=spec.epochs if repeat is None else whole("repeat", repeat),
            minibatch=spec.minibatch if batch_size is None else whole("batch_size", batch_size),
        )
        batch, places = buffer.sample(0)
        columns = {
            **_of_policy(batch),
            **self._steps(batch.obs, batch.act, batch.obs_next),
            "reward": batch.rew.astype(np.float32),
            "terminated": batch.terminated,
            "truncated": batch.done.astype(bool) & ~batch.terminated,
            **{name: batch[name] for name in MASKS if name in batch},
        }
        if self.needs_own_actions and "log_prob" not in columns:
            raise JoystickError(
                "{name} learns from its own actions, and those of the buffer have no policy.log_prob; collect with it",
                name=self.name,
            )
        ring = buffer.rings.ring(places)
        yield from self._learn_windows(spec, self._intake(buffer).windows(buffer, spec, columns, ring, self.fraction))

    def learn_from(self, columns: Columns) -> dict[str, float]:
        """Learns from fresh transitions [K, ...] of one environment, which end with an episode. What the algorithm
        notes when it acts, such as log_prob, follows from its present weights."""
        spec = self.memory
        if not isinstance(spec, RolloutSpec):
            raise JoystickError("{name} has a replay memory, and learns by update(sample_size, buffer)", name=self.name)
        noted = self.agent.noted(columns["obs"], columns["action"], columns.get(MASKS[0]))
        self.steps += len(columns["obs"])
        with self.phase(training=True, updating=True):
            window, first = SlotRollout(spec, 1), np.zeros(len(columns["obs"]), np.int64)
            window.add(Transitions({**columns, **noted}, first, lost=np.zeros(0, np.int64)), self.fraction)
            learned = list(self._learn_windows(spec, window.drain()))
        return self._means(learned)

    def _learn_windows(self, spec: RolloutSpec, windows: Iterable[Chunk]) -> Iterator[Learned]:
        learner = AgentLearner(self.agent, spec)
        for chunk in windows:
            yield learner.learn(chunk, self.progress())


def _of_policy(batch: Batch) -> Columns:
    """Returns the columns that the policy gave."""
    if "policy" not in batch:
        return {}
    return {name: np.asarray(value) for name, value in batch.policy.items()}
