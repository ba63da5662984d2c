"""Parts of a dialogue of the user's own in the place of ours: what each needs, and what makes them."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from config.model.fields import Problem
from config.own import objects as own
from config.tell.language import tr
from envs.base import EnvError
from envs.common.error_text import short
from envs.dialog.acts import BYE, Act, Booking, Mark
from envs.dialog.config import PARTS, Config, named
from envs.dialog.database import Table
from envs.dialog.evaluator import METRICS
from envs.dialog.goal import Goal
from envs.dialog.ontology import DOMAINS, GENERAL

EXAMPLE = "[joystick.dialog.parse('inform restaurant food thai')]"


class Contract(NamedTuple):
    """Needs of a part: its methods and attributes."""

    arguments: tuple[str, ...]
    """Arguments of its constructor, in this order."""
    methods: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """Settings that its constructor gets, too, if it has parameters of these names."""
    in_words: str = ""


UNDERSTANDS = Contract((), ("predict",), in_words=tr("an NLU has predict(what was said), which returns acts"))
SAYS = Contract((), ("generate",), in_words=tr("an NLG has generate(acts), which returns what is said"))
CONTRACTS = {
    "user": Contract(
        ("goal", "rng"),
        ("open", "respond"),
        ("ended",),
        ("max_turn", "patience", "max_initiative"),
        tr("a user has open(), respond(acts) and ended"),
    ),
    "tracker": Contract(
        ("tables", "domains", "places"),
        ("hear", "note", "matches"),
        ("belief", "booking", "booked", "active", "tables"),
        in_words=tr(
            "a tracker has hear(acts), note(acts), matches(domain), belief, booking, booked, active and tables"
        ),
    ),
    "evaluator": Contract(
        ("goal", "tables"),
        ("note", "report"),
        in_words=tr("an evaluator has note(acts) and report(reason, exchanges)"),
    ),
    "nlu": UNDERSTANDS,
    "nlg": SAYS,
    "user_nlu": UNDERSTANDS,
    "user_nlg": SAYS,
}
"""Contract of each setting in PARTS."""
OF_REWARD = {"task": "strict", "convlab": "success"}
"""Reward -> method that an evaluator needs for it, unless it has a method `reward`."""


@dataclass(frozen=True)
class OwnPart:
    """A part of the user's own. Calling it makes the part, and checks it."""

    key: str
    """Setting, one of PARTS."""
    make: Callable[..., Any]
    """Class or function."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments."""
    where: str = ""
    """Name of the place in messages."""

    @property
    def contract(self) -> Contract:
        return CONTRACTS[self.key]

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        parameters = own.parameters_of(self.make, len(arguments)) or ()
        names = {parameter.name for parameter in parameters}
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        taken = {name: value for name, value in settings.items() if takes_all or name in names}
        part = self.make(*arguments, **{**taken, **self.options})
        if fault := lacking(part, self.contract):
            raise EnvError(f"{self.where}: {_called(part)} {fault}")
        return part

    def problems(self, reward: str) -> Iterator[str]:
        """Yields what can be seen to be wrong before it is made. reward: env_cfg.reward."""
        if not callable(self.make):
            occasion = tr("each dialogue") if self.contract.arguments else tr("each environment")
            yield tr(
                "got {value}; expected a class or a function, which is called for {occasion}",
                value=short(self.make),
                occasion=occasion,
            )
            return
        contract = self.contract
        if inspect.isclass(self.make):
            fault = lacking(self.make, contract._replace(attributes=()))
            if not fault and self.key == "evaluator":
                fault = no_reward(self.make, reward)
            if fault:
                yield f"{self.make.__name__} {fault}"
                return
        yield from self._unfit_arguments(contract)

    def _unfit_arguments(self, contract: Contract) -> Iterator[str]:
        """Yields what is wrong with the arguments of the constructor."""
        if taken := [name for name in self.options if name in contract.arguments]:
            yield tr(
                "{kind}: argument {name}: each dialogue gives it; leave it out",
                kind=_called(self.make),
                name=taken[0],
            )
            return
        parameters, count = own.parameters_of(self.make), len(contract.arguments)
        if parameters is None:
            return
        places = [part for part in parameters if part.kind in (part.POSITIONAL_ONLY, part.POSITIONAL_OR_KEYWORD)]
        if len(places) < count and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
            names = ", ".join(contract.arguments)
            yield tr(
                "{kind} takes {count} of the arguments it is made with: {names}",
                kind=_called(self.make),
                count=len(places),
                names=names,
            )
            return
        problems = own.keyword_problems(self.make, self.options, skip=count, supplied=contract.optional)
        yield from (
            tr("{kind}: argument {name}: {problem}", kind=_called(self.make), name=name, problem=message)
            for name, message, *_ in problems
        )


def lacking(part: Any, contract: Contract) -> str | None:
    """Returns what a part, or its class, lacks; None if it has everything."""
    if missing := [name for name in contract.methods if not callable(getattr(part, name, None))]:
        return tr("has no method {names}; {needs}", names=tr(" and no method ").join(missing), needs=contract.in_words)
    if missing := [name for name in contract.attributes if not hasattr(part, name)]:
        return tr(
            "has no attribute {names}; {needs}",
            names=tr(" and no attribute ").join(missing),
            needs=contract.in_words,
        )
    return None


def no_reward(evaluator: Any, reward: str) -> str | None:
    """Returns why an evaluator, or its class, cannot give this reward; None if it can."""
    method = OF_REWARD.get(reward)
    if method is None or hasattr(evaluator, "reward") or hasattr(evaluator, method):
        return None
    return tr(
        "has no method {method}, which env_cfg.reward {reward} asks, and no method reward(reason) of its own",
        method=method,
        reward=reward,
    )


def _called(part: Any) -> str:
    """Returns the name of a class, or of the class of an object."""
    return getattr(part, "__name__", None) or type(part).__name__


def _call(where: str, method: str, part: Any) -> str:
    """Returns the name of a call of a part in messages."""
    return tr("{where}: {method} of {kind}", where=where, method=method, kind=_called(part))


class Parts(NamedTuple):
    """Parts of the user's own by setting; None: ours."""

    user: OwnPart | None = None
    tracker: OwnPart | None = None
    evaluator: OwnPart | None = None
    nlu: OwnPart | None = None
    nlg: OwnPart | None = None
    user_nlu: OwnPart | None = None
    user_nlg: OwnPart | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the numbers of a dialogue."""
        return METRICS if self.evaluator is None else tuple(getattr(self.evaluator.make, "METRICS", ()))

    def problems(self, reward: str) -> Iterator[tuple[str, str]]:
        """Yields (setting, sentence) for what can be seen to be wrong before anything is made."""
        for part in filter(None, self):
            yield from ((part.key, text) for text in part.problems(reward))
        names = getattr(self.evaluator.make, "METRICS", ()) if self.evaluator else ()
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            yield (
                "evaluator",
                tr("METRICS is {names}; expected names of numbers, such as ('success',)", names=short(names)),
            )


OURS = Parts()


def of_settings(cfg: Config) -> Parts:
    """Returns the parts that the settings name. Raises EnvError for one that cannot be imported."""
    return Parts(**{key: _of_setting(cfg, key) for key in PARTS if getattr(cfg, key) is not None})


def _of_setting(cfg: Config, key: str) -> OwnPart:
    name, options = named(getattr(cfg, key))
    try:
        return OwnPart(key, own.find(name), options, f"env_cfg.{key}")
    except own.OwnError as error:
        raise EnvError(f"env_cfg.{key}: {error}") from error


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields what is wrong with the parts that the settings name."""
    for key in PARTS:
        if getattr(cfg, key) is None:
            continue
        try:
            part = _of_setting(cfg, key)
        except EnvError as error:
            yield Problem(key, str(error).removeprefix(f"env_cfg.{key}: "))
            continue
        yield from (Problem(place, text) for place, text in OURS._replace(**{key: part}).problems(cfg.reward))


# ------------------------------------------------------------------------------------------- in a dialogue


class Guest:
    """A user of the user's own in the place of the simulated one. It never says more than max_turn allows."""

    def __init__(self, part: OwnPart, goal: Goal, rng: np.random.Generator, cfg: Config) -> None:
        settings = {name: getattr(cfg, name) for name in part.contract.optional}
        self.user, self.max_turn, self.where = part(goal, rng, **settings), cfg.max_turn, part.where
        self.turn, self.ended = 0, False

    @property
    def reason(self) -> str | None:
        return "max_turn" if self._is_late else getattr(self.user, "reason", None)

    @property
    def _is_late(self) -> bool:
        return self.turn > self.max_turn

    def open(self) -> list[Act]:
        self.turn += 2
        acts = acts_of(self.user.open(), _call(self.where, "open", self.user))
        if self.user.ended:
            raise EnvError(
                "{where}: {kind} has ended after open; a dialogue ends in respond",
                where=self.where,
                kind=_called(self.user),
            )
        return acts

    def respond(self, acts: Sequence[Act]) -> list[Act]:
        self.turn += 2
        if self._is_late:
            self.ended = True
            return [BYE]
        answer = acts_of(self.user.respond(acts), _call(self.where, "respond", self.user))
        self.ended = bool(self.user.ended)
        return answer

    def finished(self) -> int:
        return int(self.user.finished()) if hasattr(self.user, "finished") else 0


class Judge:
    """An evaluator of the user's own in the place of ours, with a look at what it returns."""

    def __init__(self, part: OwnPart, goal: Goal, tables: Mapping[str, Table], cfg: Config) -> None:
        self.evaluator, self.where = part(goal, tables), part.where
        if fault := no_reward(self.evaluator, cfg.reward):
            raise EnvError(f"{self.where}: {_called(self.evaluator)} {fault}")

    def note(self, acts: Sequence[Act]) -> None:
        self.evaluator.note(acts)

    def report(self, reason: str | None, exchanges: int) -> Mapping[str, float | None]:
        report = self.evaluator.report(reason, exchanges)
        if not isinstance(report, Mapping):
            raise EnvError(
                "{call} gives {value}; expected numbers by name", call=self._method("report"), value=short(repr(report))
            )
        return report

    def reward(self, reason: str | None) -> float | None:
        if not hasattr(self.evaluator, "reward"):
            return None
        reward = self.evaluator.reward(reason)
        if reward is not None and (isinstance(reward, bool) or not isinstance(reward, int | float | np.number)):
            raise EnvError(
                "{call} gives {value}; expected a number", call=self._method("reward"), value=short(repr(reward))
            )
        return reward if reward is None else float(reward)

    def strict(self, reason: str | None) -> bool:
        return bool(self.evaluator.strict(reason))

    def success(self, only: str | None = None) -> bool:
        return bool(self.evaluator.success(only))

    def _method(self, name: str) -> str:
        return _call(self.where, name, self.evaluator)


class Language:
    """The channel between both sides: they say their acts, and understand those of the other. Without
    parts of the user's own, acts are passed on as they are."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._says = {key: part() for key in ("nlg", "user_nlg") if (part := getattr(parts, key))}
        self._hears = {key: part() for key in ("user_nlu", "nlu") if (part := getattr(parts, key))}

    def begin(self, rng: np.random.Generator) -> None:
        """Begins a dialogue: each part that has a method reset gets random numbers of its own."""
        parts = [*self._says.values(), *self._hears.values()]
        for part in parts:
            if hasattr(part, "reset"):
                part.reset(np.random.default_rng(rng.integers(2**63)))

    def to_user(self, acts: Sequence[Act]) -> Sequence[Act]:
        """Returns what the user understands of what the system says."""
        return self._through("nlg", "user_nlu", acts)

    def to_system(self, acts: Sequence[Act]) -> Sequence[Act]:
        """Returns what the system understands of what the user says."""
        return self._through("user_nlg", "nlu", acts)

    def _through(self, speaker: str, hearer: str, acts: Sequence[Act]) -> Sequence[Act]:
        speech: Any = acts
        if speaker in self._says:
            speech, last = self._says[speaker].generate(acts), ("generate", speaker)
        if hearer in self._hears:
            speech, last = self._hears[hearer].predict(speech), ("predict", hearer)
        if speech is acts:
            return acts
        method, key = last
        part: OwnPart = getattr(self._parts, key)
        end = "" if method == "predict" else tr("; {hearer} makes acts of what is said", hearer=hearer)
        return acts_of(speech, _call(part.where, method, part.make), end)


def acts_of(value: Any, whose: str, end: str = "") -> list[Act]:
    """Returns a list of acts. Raises EnvError for anything else; whose: what has given it; end: what to do about it."""
    if isinstance(value, Act) or not isinstance(value, list | tuple):
        raise EnvError(
            "{call} gives {value}; expected a list of acts, such as {example}{remedy}",
            call=whose,
            value=short(repr(value)),
            example=EXAMPLE,
            remedy=end,
        )
    for act in value:
        if not isinstance(act, Act) or not _is_act(act):
            raise EnvError(
                "{call} gives {act} in its list; expected acts, such as {example}{remedy}",
                call=whose,
                act=short(repr(act)),
                example=EXAMPLE,
                remedy=end,
            )
    return list(value)


def _is_act(act: Act) -> bool:
    named_so = isinstance(act.intent, str) and (act.slot is None or isinstance(act.slot, str))
    valued = act.value is None or isinstance(act.value, str | Mark | Booking)
    return named_so and valued and isinstance(act.domain, str) and (act.domain in DOMAINS or act.domain == GENERAL)
