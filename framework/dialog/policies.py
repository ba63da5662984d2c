"""Policies of a system that a program's own loop trains: PPO and PG."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Space

from config.foreign.dialects import of_policy
from config.read.loader import ConfigError, load
from config.tell.language import tr
from config.tell.names import did_you_mean
from framework.assemble.build import device_of
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Columns
from framework.data import algorithm
from framework.data.algorithm import AlgorithmPolicy
from framework.data.settings import whole
from framework.dataset.columns import MASKS
from framework.dialog.other_words import OF_A_POLICY
from framework.errors import JoystickError

DATASET = "multiwoz"


def ppo(is_train: bool = False, dataset: str = "Multiwoz", **settings: Any) -> "SystemPolicy":
    """Makes a policy that PPO trains. is_train: it explores in samples, and may be updated. settings: seed, device,
    config (a config.json of ConvLab-2's PPO, or its content), and the settings of algo_cfg."""
    return SystemPolicy("PPO", is_train, dataset, **settings)


def pg(is_train: bool = False, dataset: str = "Multiwoz", **settings: Any) -> "SystemPolicy":
    """Makes a policy that the policy gradient trains, which is called REINFORCE here; arguments as for PPO."""
    return SystemPolicy("REINFORCE", is_train, dataset, **settings)


class SystemPolicy:
    """A policy of the system. It meets its environment in `sample`, or by `bind`; before, it has no networks."""

    def __init__(
        self,
        algo: str,
        is_train: bool,
        dataset: str,
        *,
        seed: int = 0,
        device: str = "cpu",
        config: str | Path | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.name = {"REINFORCE": "PG"}.get(algo, algo)
        if not isinstance(is_train, bool):
            raise JoystickError(
                "{name}: is_train: got {value!r}; expected True or False", name=self.name, value=is_train
            )
        if not isinstance(dataset, str) or dataset.lower() != DATASET:
            raise JoystickError(
                "{name}: dataset: got {value!r}; the acts and databases are those of MultiWOZ",
                name=self.name,
                value=dataset,
            )
        self.is_train, self.algo, self.seed = is_train, algo, whole(f"{self.name}: seed", seed, least=0)
        self.settings = {**({} if config is None else _of_file(config, algo)), **settings}
        values = {"general_cfg": {"algo_name": algo, "device": device}, "algo_cfg": self.settings}
        self.device = str(device_of(load(None, [], find_algo=ALGOS, find_env=ENVS, values=values)))
        self._policy: AlgorithmPolicy | None = None
        self._masked = False
        """True if the environment says which actions are legal."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        word, own = OF_A_POLICY.get(name), [each for each in dir(type(self)) if not each.startswith("_")]
        instead = tr("; {remark}", remark=word) if word else did_you_mean(name, own)
        raise AttributeError(
            tr("{module} has no {name!r}{instead}", module=self.__dict__.get("name", ""), name=name, instead=instead)
        )

    def bind(self, env: Any) -> None:
        """Makes the networks for the spaces of an environment. Raises JoystickError if they are for others."""
        if self._policy is None:
            self._policy = _made(self, env)
            self._masked = "action_mask" in env.reset(seed=0)[1]
            return
        spec = self._policy.agent.spec
        for name in ("observation_space", "action_space"):
            mine, other = getattr(spec, name), getattr(env, name)
            if mine != other:
                raise JoystickError(
                    "{name} was made for the {kind} {mine}, and this environment has {other}",
                    name=self.name,
                    kind=name,
                    mine=mine,
                    other=other,
                )

    def act(self, state: np.ndarray, mask: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """Returns the action in a sample: with exploration if is_train, otherwise the most likely one."""
        if not self.is_train:
            return self.predict(state, mask)
        policy = self._bound("act")
        act = policy.agent.sample_action(self._observed(state), None, policy.progress(), rng, _row(mask))
        return np.asarray(act.action[0])

    def predict(self, state: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Returns the most likely action for an observation [D]."""
        policy = self._bound("predict")
        return np.asarray(policy.agent.predict_action(self._observed(state), None, _row(mask)).action[0])

    def _observed(self, state: Any) -> np.ndarray:
        """Returns an observation as a batch of one. Raises JoystickError for another shape."""
        space = self._bound("predict").agent.spec.observation_space
        if np.shape(state) != space.shape:
            raise JoystickError(
                "{name}: state: has the shape {shape}; expected {expected}",
                name=self.name,
                shape=np.shape(state),
                expected=space.shape,
            )
        return np.asarray(state, space.dtype)[None]

    def update(
        self, epoch: int, n: int, s: Any, a: Any, r: Any, mask: Any, action_mask: Any = None
    ) -> dict[str, float]:
        """Learns from n steps of whole dialogues, as sample returns them: observations s, actions a, rewards r, and
        mask, 0 where a dialogue ends; arrays or tensors. epoch is a number of the program's own, on which nothing
        depends. Returns the means of the metrics."""
        policy = self._bound("update")
        if not self.is_train:
            raise JoystickError(
                "{name} was made with is_train=False, and does not learn; {name}(True) does", name=self.name
            )
        spec = policy.agent.spec
        whole(f"{self.name}.update: epoch", epoch, least=0)
        n = whole(f"{self.name}.update: n", n)
        columns = _columns(self.name, spec.observation_space, spec.action_space, n, s, a, r, mask)
        if self._masked != (action_mask is not None):
            raise JoystickError(
                tr(
                    "{name}.update: this environment has action masks: give action_mask=batch.action_mask",
                    name=self.name,
                )
                if self._masked
                else tr("{name}.update: this environment has no action masks", name=self.name)
            )
        if action_mask is not None:
            columns |= _masks(self.name, action_mask, columns, spec.action_space)
        return policy.learn_from(columns)

    def weights(self) -> dict[str, np.ndarray]:
        """Returns all arrays that acting depends on, by name."""
        return self._bound("weights").weights()

    def set_weights(self, weights: dict[str, np.ndarray]) -> None:
        """Replaces them."""
        self._bound("set_weights").set_weights(weights)

    def _bound(self, call: str) -> AlgorithmPolicy:
        if self._policy is None:
            raise JoystickError(
                "{name} has met no environment yet: call sample(env, policy, batchsz, process_num) "
                "or bind(env) before {call}",
                name=self.name,
                call=call,
            )
        return self._policy


def _row(value: Any) -> Any:
    """Returns an array as a batch of one; None for None."""
    return None if value is None else np.asarray(value)[None]


def _of_file(config: Any, algo: str) -> dict[str, Any]:
    """Returns the settings of a config.json of ConvLab-2. Raises ConfigError with all that is wrong."""
    source = of_policy(config, algo)
    if source.problems:
        raise ConfigError(*source.problems)
    return source.sections.get("algo_cfg", {})


def _made(policy: SystemPolicy, env: Any) -> AlgorithmPolicy:
    """Makes networks and optimizer for an environment."""
    trained = algorithm.policy(policy.algo, env, seed=policy.seed, device=policy.device, **policy.settings)
    if trained.agent.initial_state(1) is not None:
        raise JoystickError("{name} learns here from single exchanges; leave out lstm and gru layers", name=policy.name)
    return trained


def _columns(name: str, observations: Space, actions: Space, n: int, s: Any, a: Any, r: Any, mask: Any) -> Columns:
    """Returns the columns that are learned from. Raises JoystickError for arrays that do not fit."""
    obs = _array(name, "s", s, n, observations.shape, np.float32)
    action = _array(name, "a", a, n, actions.shape, actions.dtype)
    reward = _array(name, "r", r, n, (), np.float32)
    flags = _array(name, "mask", mask, n, (), np.float32)
    if not all(map(actions.contains, action)):
        raise JoystickError("{name}.update: a: has an action that is not in {actions}", name=name, actions=actions)
    if not np.isin(flags, (0.0, 1.0)).all():
        raise JoystickError("{name}.update: mask: has other values than 0, where a dialogue ends, and 1", name=name)
    if flags[-1]:
        raise JoystickError("{name}.update: mask: ends with 1; the last dialogue is whole, and ends with 0", name=name)
    ends = flags == 0.0
    following = np.where(ends.reshape(-1, *(1 for _ in obs.shape[1:])), obs, np.roll(obs, -1, axis=0))
    return {
        "obs": obs,
        "action": action,
        "reward": reward,
        "next_obs": following,
        "terminated": ends,
        "truncated": np.zeros_like(ends),
    }


def _array(name: str, argument: str, value: Any, n: int, shape: tuple[int, ...] | None, kind: Any) -> np.ndarray:
    """Returns an argument of update as an array [n, ...]."""
    plain = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
    try:
        array = np.asarray(plain)
        expected = (n, *(shape or ()))
        if array.shape == (*expected, 1):
            array = array[..., 0]
        if array.dtype.kind not in "biuf":
            raise ValueError
    except (TypeError, ValueError):
        raise JoystickError(
            "{name}.update: {argument}: got {kind}; expected an array or a tensor of numbers",
            name=name,
            argument=argument,
            kind=type(value).__name__,
        ) from None
    if array.shape != expected:
        raise JoystickError(
            "{name}.update: {argument}: has the shape {shape}; expected {expected} for n={n}",
            name=name,
            argument=argument,
            shape=array.shape,
            expected=expected,
            n=n,
        )
    if not np.isfinite(array).all():
        raise JoystickError(
            "{name}.update: {argument}: has a value that is not a finite number", name=name, argument=argument
        )
    if np.issubdtype(kind, np.integer) and array.dtype.kind == "f" and (array % 1).any():
        raise JoystickError(
            "{name}.update: {argument}: has a value that is not a whole number", name=name, argument=argument
        )
    return np.ascontiguousarray(array, kind)


def _masks(name: str, action_mask: Any, columns: Columns, actions: Any) -> Columns:
    """Returns the columns of legal actions; of a state that follows the last exchange nothing is asked."""
    legal = _array(name, "action_mask", action_mask, len(columns["obs"]), (int(actions.n),), bool)
    if not legal[np.arange(len(legal)), columns["action"]].all():
        raise JoystickError("{name}.update: a: has an action that action_mask does not allow", name=name)
    return {MASKS[0]: legal, MASKS[1]: np.where(columns["terminated"][:, None], True, np.roll(legal, -1, axis=0))}
