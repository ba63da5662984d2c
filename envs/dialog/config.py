"""Defaults of env_name dialog: task-oriented dialogue with a simulated user."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from config.model.fields import Fraction, Int, NonNegative, Positive, PositiveInt, Problem, lower
from config.model.schema import EnvConfig
from config.own import objects as own
from config.tell.language import tr

NonNegativeInt = Annotated[Int, Field(ge=0)]
PARTS = ("user", "tracker", "evaluator", "nlu", "nlg", "user_nlu", "user_nlg")
"""Settings that put a class of the user's own in the place of a part."""
NAME = "class_name"


def named(value: str | dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns name and arguments of a class of the user's own."""
    if isinstance(value, str):
        return value, {}
    return value[NAME], {key: argument for key, argument in value.items() if key != NAME}


def _with_name(value: str | dict[str, Any] | None) -> str | dict[str, Any] | None:
    if isinstance(value, dict) and not isinstance(value.get(NAME), str):
        raise ValueError(tr("has no {name}; write {{{name}: my_module:MyClass, argument: value}}", name=NAME))
    name = value if value is None else named(value)[0]
    if name is not None and not name.strip():
        raise ValueError(tr("is empty; write my_module:MyClass, or null for the part that is built in"))
    return value


Part = Annotated[str | dict[str, Any] | None, AfterValidator(_with_name)]


class Config(EnvConfig):
    """A system talks to a simulated user that has a goal; dialogue acts are symbols, and an exchange is a step."""

    FILM: ClassVar = ("text", "dialogue.txt")
    READ_WITH = {
        "composite": ("actions", ("composite",)),
        "act_penalty": ("reward", ("task",)),
        "domain_bonus": ("reward", ("task",)),
        "ranks": ("features", ("full",)),
    }

    id: Annotated[Literal["mini", "town", "full"], BeforeValidator(lower)] = "mini"
    """Domains: mini (restaurant), town (restaurant, hotel, attraction, train, taxi), full (also hospital, police)."""
    data_dir: str | None = None
    """Folder with other databases, one file DOMAIN_db.json for each domain of the id. null: this project's."""
    vectorization: Annotated[Literal["auto", "sync", "async"], BeforeValidator(lower)] = "sync"
    """Vectorization of the n_envs rows: sync (one after the other), async (one process each), auto (by the clock)."""

    features: Annotated[Literal["full", "convlab"], BeforeValidator(lower)] = "full"
    """Acts and numbers of the observation: full, or convlab (ConvLab-2's, with id full)."""
    actions: Annotated[Literal["bits", "one", "composite"], BeforeValidator(lower)] = "bits"
    """An action is a set of acts (bits: MultiBinary), one act (one: Discrete), or one act or a set that the rule policy
    often says (composite: Discrete)."""
    composite: PositiveInt = 50
    """Number of sets of acts that are actions, the most frequent ones of the rule policy in 500 dialogues."""
    ranks: PositiveInt = 1
    """Number of matching entities that the system can inform and recommend."""
    max_acts: PositiveInt = 8
    """Number of chosen acts that are said in one exchange, in the order of the vocabulary."""

    user: Part = None
    """Class of your own in the place of the simulated user: my_module:MyUser, which needs --allow-import my_module, or
    with arguments {class_name: my_module:MyUser, turns: 3}. null: the one that is built in."""
    tracker: Part = None
    """Class of your own that keeps the state of the dialogue for the system. null: the one that is built in."""
    evaluator: Part = None
    """Class of your own that gives the numbers of a dialogue, and may give the reward. null: the one that is built
    in."""
    nlu: Part = None
    """Class of your own by which the system understands what the user says. null: it gets the acts themselves."""
    nlg: Part = None
    """Class of your own by which the system says its acts. null: the user gets the acts themselves."""
    user_nlu: Part = None
    """Class of your own by which the user understands what the system says. null: it gets what nlg says."""
    user_nlg: Part = None
    """Class of your own by which the user says its acts. null: nlu gets the acts themselves."""

    max_turn: Annotated[Int, Field(ge=4)] = 40
    """Turns after which the user closes; the opening has two, and so has each exchange."""
    limit_is_truncation: bool = False
    """The end by max_turn is a truncation, not a termination."""
    patience: NonNegativeInt = 0
    """Exchanges in a row without any progress after which the user closes. 0: it never loses patience."""
    max_initiative: PositiveInt = 4
    """Acts that the user says of its own accord in one turn."""
    error_slot: Fraction = 0.0
    """Probability that the system hears another slot of the same domain."""
    error_value: Fraction = 0.0
    """Probability that the system hears another value of the same slot."""
    error_intent: Fraction = 0.0
    """Probability that the system hears a question as a statement, or a statement as a question."""

    reward: Annotated[Literal["task", "user", "convlab"], BeforeValidator(lower)] = "task"
    """Reward: task (strict success), user (the user closes contented), convlab (as in ConvLab-2)."""
    act_penalty: NonNegative = 0.25
    """Cost of each act that is said."""
    domain_bonus: NonNegative = 0.0
    """Reward for each domain once it is done."""
    reward_scale: Positive = 1.0
    """Factor of all rewards."""

    p_domains: list[Fraction] = [0.35, 0.5, 0.15]
    """Probabilities of goals with one domain, with two, and so on."""
    p_name: Fraction = 0.15
    """Probability that a restaurant, hotel or attraction is wanted by its name."""
    p_request: Fraction = 0.3
    """Probability of each question."""
    p_book: Fraction = 0.55
    """Probability of a booking."""
    p_unsatisfiable: Fraction = 0.2
    """Probability that the user first wants what does not exist."""
    max_constraints: PositiveInt = 3
    """Number of constraints of a restaurant, hotel or attraction at most."""
    couple: bool = False
    """Hotel and restaurant of one goal are booked for the same people and day."""

    def own(self) -> Iterator[tuple[str, str]]:
        for key in PARTS:
            value = getattr(self, key)
            if value is not None and own.is_own(named(value)[0]):
                yield key, named(value)[0]

    def problems(self) -> Iterator[Problem]:
        if not self.p_domains or abs(sum(self.p_domains) - 1.0) > 1e-6:
            yield Problem(
                "p_domains",
                tr(
                    "{values} sums to {sum:g}; probabilities sum to 1",
                    values=self.p_domains,
                    sum=sum(self.p_domains),
                ),
            )
        if self.p_request == 0.0 and self.p_book == 0.0:
            yield Problem("p_request", tr("is 0, and so is p_book: goals would ask for nothing; raise one of them"))
        if self.features == "convlab" and self.id != "full":
            yield Problem(
                "features", tr("convlab needs env_cfg.id=full, which has all its domains; the id is {id}", id=self.id)
            )
        if self.render_mode == "rgb_array":
            yield Problem("render_mode", tr("dialogues have no picture; text writes them, human prints each exchange"))
