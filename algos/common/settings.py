"""Settings that families of algorithms share: networks, tables, replay memories, actor-critics.

An algorithm's config.py inherits one of these, and adds its own. Nothing heavy is imported.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from config.schema import (
    AlgoConfig,
    Fraction,
    Gru,
    Int,
    Layer,
    Layers,
    Lstm,
    NonNegative,
    Positive,
    PositiveFraction,
    PositiveInt,
    Problem,
    ReplaySpec,
    lower,
    mlp,
    upper,
)

EXPLORATION_SPELLINGS = {"epsilon-greedy": "e-greedy", "epsilon_greedy": "e-greedy", "egreedy": "e-greedy",
                         "boltzmann": "softmax"}  # fmt: skip


def exploration(value: Any) -> Any:
    """Other spellings of exploration_type."""
    return EXPLORATION_SPELLINGS.get(value.lower(), value.lower()) if isinstance(value, str) else value


def _not_noisy(value: Any) -> Any:
    """Noise on the weights is a setting of its own."""
    if isinstance(value, str) and value.lower() == "noisy":
        raise ValueError("expected e-greedy, softmax or none; for noise on the weights set noisy: true, and none here")
    return value


Exploration = Annotated[
    Literal["e-greedy", "softmax", "none"], BeforeValidator(exploration), BeforeValidator(_not_noisy)
]
ReplayKind = Annotated[Literal["REPLAY_QUE", "REPLAY", "PER", "PER_QUE"], BeforeValidator(upper)]


READ_WITH_EPSILON: dict[str, tuple[str, tuple[Any, ...]]] = {
    key: ("exploration_type", ("e-greedy",))
    for key in ("epsilon_start", "epsilon_end", "epsilon_decay", "epsilon_schedule")
}


def problems_of_epsilon(cfg: Any) -> Iterator[Problem]:
    """Yields the contradictions between the settings of exploration_type e-greedy."""
    if cfg.exploration_type == "e-greedy" and cfg.epsilon_end > cfg.epsilon_start:
        message = f"{cfg.epsilon_end} is more than epsilon_start, {cfg.epsilon_start}"
        yield Problem("epsilon_end", message, depends_on=("epsilon_start", "exploration_type"))


class NetworkConfig(AlgoConfig):
    """What every algorithm with a neural network has."""

    ALIASES: ClassVar = {"max_norm": "max_grad_norm"}
    HAS_GRADIENTS: ClassVar = True
    READ_WITH: ClassVar = {key: ("lstm_or_gru_layers", ()) for key in ("lookup_step", "burn_in")}
    SPECIAL_LAYERS: ClassVar[tuple[str, ...]] = ()
    """Those of SPECIAL_LAYERS below that the algorithm knows how to use."""

    optimizer: Literal["adam", "adamw", "rmsprop", "sgd"] = "adam"
    """Rule that turns gradients into steps."""
    weight_decay: NonNegative = 0.0
    """Pull of the weights towards zero (adamw: decoupled)."""
    lr_schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Course of the learning rate over the planned run: linear and cosine end at 0 and need max_episode,
    max_total_step or max_update."""
    max_grad_norm: Positive | None = None
    """Longest gradient, as its norm over all parameters; null does not clip."""
    init: Literal["default", "orthogonal", "xavier", "kaiming"] = "default"
    """Distribution of the first weights; default is the algorithm's own choice."""
    architecture: Literal["mlp", "simba"] = "mlp"
    """mlp builds the layer lists as written; simba puts residual blocks with layer normalisation in their place."""
    branches: dict[str, Layers] | None = None
    """Layers for each named part of a Dict or Tuple observation; the results are joined before the layer list.
    null flattens the whole observation into one vector."""
    normalize_obs: bool = False
    """Subtract the running mean of the observations and divide by their deviation: of those that are learned from,
    fresh or drawn from the memory. Saved with the weights, frozen in evaluation and test. Observations that are choices
    (Discrete) stay as they are."""

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, layer in self._layers():
            kind = layer.layer_type
            if kind in USERS_OF_SPECIAL_LAYERS and kind not in self.SPECIAL_LAYERS:
                message = f"this algorithm does not support {kind} layers ({USERS_OF_SPECIAL_LAYERS[kind]} do)"
                yield Problem(key, message)
            elif key == "branches" and isinstance(layer, Lstm | Gru):
                yield Problem(key, f"a branch cannot have {kind} layers; put them in the layer list after the branches")

    def _layers(self) -> Iterator[tuple[str, Layer]]:
        """Every layer of every list, and the setting where it stands."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            lists = value.values() if isinstance(value, dict) else [value]
            yield from ((key, layer) for one in lists if isinstance(one, list) for layer in one)

    def carried(self) -> int:
        """How many numbers layers carry from one step to the next."""
        remembering = [layer for _, layer in self._layers() if isinstance(layer, Lstm | Gru)]
        return sum(sum(layer.layer_size) * (2 if isinstance(layer, Lstm) else 1) for layer in remembering)

    def schedule(self) -> str:
        return self.lr_schedule

    def remembers(self) -> bool:
        """Returns True if the networks are recurrent."""
        return self.carried() > 0

    @property
    def lstm_or_gru_layers(self) -> bool:
        """True if there are any."""
        return self.remembers()


USERS_OF_SPECIAL_LAYERS = {
    "lstm": "DRQN, RecurrentPPO, A2C and others",
    "gru": "DRQN, RecurrentPPO, A2C and others",
    "noisy_linear": "NoisyDQN, RainbowDQN and others",
    "batchrenorm": "CrossQ",
}
"""Layers that need something of the algorithm, and algorithms that have it."""


class TableConfig(AlgoConfig):
    """What every algorithm has that learns a table of action values by trying."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    OBSERVATION_SPACES: ClassVar = ("Discrete", "MultiDiscrete", "MultiBinary")
    ADJUSTABLE: ClassVar = AlgoConfig.ADJUSTABLE | {"temperature", "ucb_c"}
    READ_WITH: ClassVar = {
        **READ_WITH_EPSILON,
        "temperature": ("exploration_type", ("softmax",)),
        "ucb_c": ("exploration_type", ("ucb",)),
    }

    exploration_type: Annotated[Literal["e-greedy", "softmax", "ucb", "none"], BeforeValidator(exploration)] = (
        "e-greedy"
    )
    """e-greedy: the best action, or any with probability epsilon; softmax: by the values at the temperature; ucb: the
    highest upper bound, which favours what was seldom tried; none: the best action."""
    epsilon_start: Fraction = 0.95
    """Share of random actions at the start."""
    epsilon_end: Fraction = 0.01
    """Share of random actions that remains."""
    epsilon_decay: Positive = 300
    """Environment steps: of the exponential's time constant, or until epsilon_end with epsilon_schedule linear."""
    epsilon_schedule: Literal["exponential", "linear"] = "exponential"
    """exponential: end + (start - end) exp(-step / decay); linear: a straight line."""
    temperature: Positive = 1.0
    """With exploration_type softmax: how much worse an action may be and still be taken often."""
    ucb_c: NonNegative = 1.0
    """With exploration_type ucb: weight of the bound's width against the value."""
    initial_value: float = 0.0
    """Value of every action before anything is learned; high values make the agent curious."""

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        yield from problems_of_epsilon(self)


class ReplayConfig(NetworkConfig):
    """What is drawn from the memory, how often, and what is made of it."""

    ALIASES: ClassVar = {
        **NetworkConfig.ALIASES,
        "max_buffer_size": "buffer_size",
        "learn_frequency": "train_fre",
    }
    MAY_LAG: ClassVar = True
    RUN_AHEAD: ClassVar = 2
    READ_WITH: ClassVar = {
        "per_alpha": ("buffer_type", ("PER", "PER_QUE")),
        "per_beta": ("buffer_type", ("PER", "PER_QUE")),
        "per_epsilon": ("buffer_type", ("PER", "PER_QUE")),
    }

    batch_size: PositiveInt = 256
    """Transitions of a minibatch, or with lstm or gru layers sequences."""
    train_fre: PositiveInt = 1
    """Environment steps (transitions) between two looks at the memory."""
    updates_per_train: PositiveInt = 1
    """Gradient updates at each look: updates_per_train / train_fre updates per transition."""
    learning_starts: Annotated[Int, Field(ge=0)] = 0
    """Transitions collected before the first update; at least batch_size."""
    n_step: PositiveInt = 1
    """Rewards summed before the value of a later state is used."""
    loss: Literal["mse", "huber"] = "mse"
    """Penalty of a wrong value: mse, or huber, which grows linearly beyond 1."""
    reward_scale: Positive = 1.0
    """Factor on every reward before it is learned from."""

    buffer_type: ReplayKind = "REPLAY_QUE"
    """REPLAY or REPLAY_QUE draw uniformly; PER or PER_QUE draw by priority."""
    buffer_size: PositiveInt = 1_000_000
    """Transitions kept."""
    per_alpha: Fraction = 0.6
    """How much priorities count, with buffer_type PER: 0 not at all, 1 fully."""
    per_beta: Fraction = 0.4
    """Correction for drawing by priority at the start; it rises to 1 over the planned run."""
    per_epsilon: Positive = 0.01
    """Added to each priority, so that nothing is never drawn."""
    her_ratio: Fraction = 0.0
    """Share of the samples whose goal is replaced by one that was reached later in the same episode."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of a sampled sequence that are learned from."""
    burn_in: Annotated[Int, Field(ge=0)] = 8
    """With lstm or gru layers: steps before them that only bring the memory up to date."""

    def memory(self, rows: int) -> ReplaySpec:
        return ReplaySpec(
            capacity=self.buffer_size,
            batch_size=self.batch_size,
            warmup=max(self.batch_size, self.learning_starts),
            updates_per_step=self.updates_per_train / self.train_fre,
            n_step=self.n_step,
            gamma=self.gamma,
            fragment=max(1, self.train_fre // rows),
            priority_alpha=self.per_alpha if self.buffer_type.startswith("PER") else 0.0,
            priority_beta=self.per_beta,
            priority_epsilon=self.per_epsilon,
            relabel=self.her_ratio,
            sequence=self.burn_in + self.lookup_step if self.remembers() else 1,
        )

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        for key in ("batch_size", "learning_starts"):
            if getattr(self, key) > self.buffer_size:
                message = f"{getattr(self, key)} is more than buffer_size, {self.buffer_size}"
                yield Problem(key, message, depends_on=("buffer_size",))
        if self.her_ratio and self.n_step > 1:
            yield Problem("her_ratio", "goals are relabelled in single steps; set n_step to 1", depends_on=("n_step",))
        if self.remembers():
            yield from self._problems_of_sequences()

    def _problems_of_sequences(self) -> Iterator[Problem]:
        length = self.burn_in + self.lookup_step
        if length > self.buffer_size:
            message = f"{length} steps with burn_in are more than buffer_size, {self.buffer_size}"
            yield Problem("lookup_step", message, depends_on=("burn_in", "buffer_size"))
        if self.n_step > 1:
            yield Problem("n_step", "lstm and gru layers learn from single steps; set it to 1")
        if self.her_ratio:
            yield Problem("her_ratio", "goals are relabelled in single steps, and lstm and gru layers need sequences")
        if self.buffer_type.startswith("PER"):
            yield Problem("buffer_type", f"{self.buffer_type} does not support lstm and gru layers; use REPLAY")


class ActorCriticConfig(ReplayConfig):
    """An actor that follows the values of several critics."""

    ALIASES: ClassVar = {**ReplayConfig.ALIASES, "explore_steps": "start_steps"}
    ADJUSTABLE: ClassVar = NetworkConfig.ADJUSTABLE | {"alpha_lr", "expl_noise"}

    actor_layers: Layers = mlp(256, 256)
    """Layers between the observation and the policy; the output layer is added by itself."""
    critic_layers: Layers = mlp(256, 256)
    """Layers of each critic. The action joins behind the last conv2d, pooling, flatten, embed, lstm or gru, or at the
    start; what is before it is shared by all critics."""
    n_critics: PositiveInt = 2
    """Critics that learn side by side."""
    actor_lr: Positive = 3e-4
    """Learning rate of the actor."""
    critic_lr: Positive = 1e-3
    """Learning rate of the critics."""
    policy_freq: PositiveInt = 1
    """Updates of the critics for one of the actor."""
    start_steps: Annotated[Int, Field(ge=0)] = 1000
    """Environment steps (transitions) with random actions at the start of a run."""


class ContinuousConfig(ActorCriticConfig):
    """The same for actions in a bounded Box."""

    ACTION_SPACES: ClassVar = ("Box",)
    NEEDS_BOUNDS: ClassVar = True
    READ_WITH: ClassVar = {
        "expl_noise": ("exploration_type", ("gaussian", "ou")),
        "ou_theta": ("exploration_type", ("ou",)),
    }

    exploration_type: Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)] = "none"
    """Noise on the actions while exploring: gaussian; ou, an Ornstein-Uhlenbeck process that begins anew with each
    episode; none."""
    expl_noise: NonNegative = 0.1
    """Standard deviation of that noise, where actions go from -1 to 1; of ou at each step."""
    ou_theta: Fraction = 0.15
    """Share by which ou is pulled back to 0 at each step."""


class TargetConfig(NetworkConfig):
    """Networks that make the targets, and follow those that learn."""

    target_update: PositiveInt = 1
    """Updates between two moves of the target networks."""
    tau: PositiveFraction = 0.005
    """Share of the learning networks that is mixed into their targets at each move; 1 is a hard copy."""


class TemperatureConfig(NetworkConfig):
    """Settings of the entropy temperature."""

    READ_WITH: ClassVar = {key: ("alpha", ("auto",)) for key in ("alpha_init", "alpha_lr", "target_entropy")}

    alpha: Positive | Literal["auto"] = "auto"
    """Worth of a unit of entropy, as reward: a number, or auto, which learns it so that target_entropy is kept."""
    alpha_init: Positive = 1.0
    """First value of alpha, with auto."""
    alpha_lr: Positive = 3e-4
    """Learning rate of alpha, with auto."""
    target_entropy: float | None = None
    """Entropy of the policy that auto aims at; null is the algorithm's own choice."""
