"""An environment of dialogues put together in Python, from parts with ConvLab-2's names."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from envs.base import EnvError
from envs.common.error_text import short
from envs.dialog import other_words
from envs.dialog.config import Config
from envs.dialog.dialog import DialogEnv
from envs.dialog.env import single
from envs.dialog.parts import OwnPart, Parts

POSITIONS = "Environment(sys_nlg, usr, sys_nlu, sys_dst, evaluator)"


class RulePolicy(other_words.Answering):
    """The hand-written policy of one side. character: `sys` for the system, `usr` for the simulated user."""

    WORDS = other_words.OF_A_RULE

    def __init__(self, is_train: bool = False, character: str = "sys") -> None:
        if not isinstance(character, str) or character not in ("sys", "usr"):
            raise EnvError("RulePolicy: character: got {character!r}; expected 'sys' or 'usr'", character=character)
        if not isinstance(is_train, bool):
            raise EnvError(
                "RulePolicy: is_train: got {is_train!r}; expected True or False, and character='usr' by name",
                is_train=is_train,
            )
        self.is_train, self.character = is_train, character
        self._expert: Callable[[np.ndarray], np.ndarray] | None = None

    def bind(self, env: Any) -> None:
        """Prepares for the observations of an environment."""
        if self.character == "usr":
            raise EnvError(
                "RulePolicy: character 'usr' is the user; the system's policy is RulePolicy(character='sys')"
            )
        if not isinstance(env, DialogEnv):
            raise EnvError("RulePolicy talks in dialogues; got {env} as environment", env=short(repr(env)))
        self._expert = env.expert

    def predict(self, state: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Returns the action for an observation [D]."""
        if self._expert is None:
            raise EnvError("RulePolicy has met no environment yet: call bind(env) before predict")
        action: np.ndarray = self._expert(np.asarray(state)[None])[0]
        return action

    def act(self, state: np.ndarray, mask: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """Returns the action in a sample."""
        return self.predict(state)


class RuleDST(other_words.Answering):
    """The tracker that is built in."""

    WORDS = other_words.OF_THE_TRACKER


class MultiWozEvaluator(other_words.Answering):
    """The evaluator that is built in. An environment with it has the reward `convlab`."""

    WORDS = other_words.OF_THE_EVALUATOR


class PipelineAgent(NamedTuple):
    """A simulated user of parts: what it understands (nlu), its policy, and how it speaks (nlg)."""

    nlu: Any
    dst: Any
    policy: Any
    nlg: Any
    name: str = "user"

    def __getattr__(self, name: str) -> Any:
        raise other_words.absent("PipelineAgent", name, other_words.OF_AN_AGENT, self._fields)


OURS = (RulePolicy, RuleDST, MultiWozEvaluator, PipelineAgent)


def environment(cfg: Config, sys_nlg: Any, usr: Any, sys_nlu: Any, sys_dst: Any, evaluator: Any) -> DialogEnv:
    """Makes an environment of everything but the system's policy."""
    for name, value in (("usr", usr), ("sys_dst", sys_dst)):
        if value is None:
            instead = (
                "RuleDST()" if name == "sys_dst" else "PipelineAgent(None, None, RulePolicy(character='usr'), None)"
            )
            raise EnvError(
                "Environment: {name}: got None; expected {instead}, or a class of your own", name=name, instead=instead
            )
    if not isinstance(usr, PipelineAgent):
        usr = PipelineAgent(None, None, usr, None)
    parts = Parts(
        user=_user(usr),
        tracker=_own_part("tracker", "sys_dst", sys_dst, RuleDST),
        evaluator=None if evaluator is None else _own_part("evaluator", "evaluator", evaluator, MultiWozEvaluator),
        nlu=_language("nlu", "sys_nlu", sys_nlu),
        nlg=_language("nlg", "sys_nlg", sys_nlg),
        user_nlu=_language("user_nlu", "PipelineAgent: nlu", usr.nlu),
        user_nlg=_language("user_nlg", "PipelineAgent: nlg", usr.nlg),
    )
    if faults := list(parts.problems(cfg.reward)):
        raise EnvError("\n".join(f"{getattr(parts, key).where}: {text}" for key, text in faults))
    return single(cfg, parts)


def _user(agent: PipelineAgent) -> OwnPart | None:
    """Returns the user of the user's own of a simulator; None for ours."""
    if agent.dst is not None:
        raise EnvError("PipelineAgent: dst: got an object; a simulated user keeps its own state, write None")
    policy = agent.policy
    if policy is None:
        raise EnvError("PipelineAgent: policy: got None; expected RulePolicy(character='usr'), or a class of your own")
    if isinstance(policy, RulePolicy):
        if policy.character == "sys":
            raise EnvError("PipelineAgent: policy: this is the system's; a simulator has RulePolicy(character='usr')")
        return None
    return _own_part("user", "usr", policy, None)


def _own_part(key: str, position: str, thing: Any, ours: type | None) -> OwnPart | None:
    """Returns a part that is made for each dialogue; None for ours, also by its class."""
    if ours is not None and (thing is ours or isinstance(thing, ours)):
        return None
    where = f"Environment: {position}"
    _stands_elsewhere(thing, where)
    if not callable(thing):
        raise EnvError(
            "{where}: got an object of {kind}; expected its class, which is made for each dialogue",
            where=where,
            kind=type(thing).__name__,
        )
    return OwnPart(key, thing, {}, where)


def _stands_elsewhere(thing: Any, where: str) -> None:
    """Raises EnvError for one of our parts in the place of another one."""
    kind = thing if inspect.isclass(thing) else type(thing)
    if issubclass(kind, OURS):
        raise EnvError(
            "{where}: got {kind}, which stands elsewhere in {positions}",
            where=where,
            kind=kind.__name__,
            positions=POSITIONS,
        )


def _language(key: str, position: str, thing: Any) -> OwnPart | None:
    """Returns a part that understands or speaks, which may be a class or an object; None for none."""
    if thing is None:
        return None
    where = position if ": " in position else f"Environment: {position}"
    _stands_elsewhere(thing, where)
    if inspect.isclass(thing):
        return OwnPart(key, thing, {}, where)
    part = OwnPart(key, _Same(thing), {}, where)
    part()
    return part


class _Same:
    """Returns an object that is made already."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __call__(self) -> Any:
        return self.thing

    @property
    def __name__(self) -> str:
        return type(self.thing).__name__
