"""Settings that families of algorithms share: networks, tables, replay memories, actor-critics.

An algorithm's config.py inherits one of these and adds its own settings. Imports nothing heavy.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from config.model.course import Schedule, rising
from config.model.fields import (
    Decay,
    Fraction,
    Int,
    NonNegative,
    Positive,
    PositiveFraction,
    PositiveInt,
    Problem,
    Strict,
    lower,
    upper,
)
from config.model.inherit import Condition
from config.model.layers import Custom, Layers, custom_problems, flat, is_recurrent, mlp, state_size
from config.model.memory_spec import DataSpec, ReplaySpec, RewardClip
from config.model.schedules import Rate, ScheduledFraction, ScheduledNonNegative, ScheduledPositive
from config.model.schema import AlgoConfig, run
from config.tell.language import tr

EXPLORATION_SPELLINGS = {"epsilon-greedy": "e-greedy", "epsilon_greedy": "e-greedy", "egreedy": "e-greedy",
                         "boltzmann": "softmax"}  # fmt: skip


def more_than(cfg: Any, name: str, limit: str, *others: str) -> Iterator[Problem]:
    """Yields a problem if a setting is more than another one. others: further settings that it depends on."""
    value, most = getattr(cfg, name), getattr(cfg, limit)
    if value > most:
        message = tr("{value} is more than {setting}, {limit}", value=value, setting=limit, limit=most)
        yield Problem(name, message, depends_on=(limit, *others))


def exploration(value: Any) -> Any:
    """Translates other spellings of exploration_type."""
    return EXPLORATION_SPELLINGS.get(value.lower(), value.lower()) if isinstance(value, str) else value


def _not_noisy(value: Any) -> Any:
    """Rejects `noisy`, which is a setting of its own."""
    if isinstance(value, str) and value.lower() == "noisy":
        raise ValueError(
            tr("expected e-greedy, softmax or none; for noise on the weights set noisy: true, and none here")
        )
    return value


Exploration = Annotated[
    Literal["e-greedy", "softmax", "none"], BeforeValidator(exploration), BeforeValidator(_not_noisy)
]
ActionNoise = Annotated[Literal["gaussian", "ou", "none"], BeforeValidator(lower)]
TableExploration = Annotated[Literal["e-greedy", "softmax", "ucb", "none"], BeforeValidator(exploration)]
Beta = Annotated[float, Field(ge=0.0, lt=1.0)]
Betas = Annotated[list[Beta], Field(min_length=2, max_length=2)] | None
RateCourse = Literal["constant", "linear", "cosine"]
Loss = Literal["mse", "huber"]
ReplayKind = Annotated[Literal["REPLAY_QUE", "REPLAY", "PER", "PER_QUE"], BeforeValidator(upper)]


class EpsilonConfig(AlgoConfig):
    """Settings of algorithms that explore by the values of actions."""

    READ_WITH = {
        "epsilon": ("exploration_type", ("e-greedy",)),
        "epsilon_start": ("epsilon", (None,)),
        "epsilon_end": ("epsilon", (None,)),
        "epsilon_decay": ("epsilon", (None,)),
        "epsilon_schedule": ("epsilon", (None,)),
        "temperature": ("exploration_type", ("softmax",)),
    }

    exploration_type: Exploration = "e-greedy"
    """e-greedy: the best action, or with probability epsilon a random one; softmax: in proportion to
    exp(value / temperature); none: the best action."""
    temperature: ScheduledPositive = 1.0
    """Softmax temperature, with exploration_type softmax: a higher one makes worse actions more likely."""
    epsilon: ScheduledFraction | None = None
    """Probability of a random action, such as {linear: [1.0, 0.05]} over the planned run; null: by epsilon_start,
    epsilon_end, epsilon_decay and epsilon_schedule, which count environment steps."""
    epsilon_start: Fraction = 1.0
    """Probability of a random action at the start."""
    epsilon_end: Fraction = 0.05
    """Probability of a random action at the end."""
    epsilon_decay: Decay = 2000
    """Time constant of the exponential in environment steps; with epsilon_schedule linear, steps until epsilon_end."""
    epsilon_schedule: Literal["exponential", "linear"] = "exponential"
    """exponential: end + (start - end) exp(-step / decay); linear: a straight line."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.exploration_type == "e-greedy" and self.epsilon is None:
            yield from more_than(self, "epsilon_end", "epsilon_start", "exploration_type", "epsilon")


RECURRENT = Condition(lambda cfg: cfg.remembers(), tr("no lstm or gru layers"))


class NetworkConfig(AlgoConfig):
    """Settings of every algorithm with a neural network."""

    ALIASES = {"max_norm": "max_grad_norm"}
    HAS_GRADIENTS = True
    READ_WITH = {
        "lookup_step": RECURRENT,
        "burn_in": RECURRENT,
        "adam_betas": ("optimizer", ("adam", "adamw", "radam")),
        "adam_epsilon": ("optimizer", ("adam", "adamw", "radam")),
        "momentum": ("optimizer", ("sgd", "rmsprop")),
    }
    SPECIAL_LAYERS: ClassVar[tuple[str, ...]] = ()
    """Keys of USERS_OF_SPECIAL_LAYERS that the algorithm supports."""
    LARGE_IMAGES: ClassVar[Layers | None] = None
    """Layers that are put before a list without convolutions for images of at least 36 x 36 pixels; None: the
    convolutions of Nature DQN."""

    optimizer: Literal["adam", "adamw", "radam", "rmsprop", "sgd"] = "adam"
    """Optimizer of all networks."""
    adam_betas: Betas = None
    """Decay rates of the averages of the gradient and of its square, with adam, adamw and radam. null: [0.9, 0.999], or
    the algorithm's own choice."""
    adam_epsilon: Positive | None = None
    """Epsilon in the denominator of optimizer adam, adamw or radam. A larger value limits the steps where gradients are
    small; the papers on distributional methods use 0.01 / batch_size. null: 1e-8, or the algorithm's own choice."""
    momentum: Beta = 0.0
    """Momentum of optimizer sgd or rmsprop: the share of the last step that is added to each."""
    weight_decay: NonNegative | None = None
    """Weight decay (L2; decoupled with adamw). null: 0.01 with adamw, 0 otherwise."""
    lr_schedule: RateCourse = "constant"
    """Schedule of the learning rates that are numbers, over the planned run: linear and cosine decay towards 0 and need
    max_episode, max_total_step, max_update or max_iteration. A rate such as {linear: [0.001, 0.0001]} has its own. An
    on-policy window is learned with the rate at the start of its collection."""
    max_grad_norm: Positive | None = None
    """Clips the global gradient norm to this value; null disables clipping."""
    init: Literal["default", "orthogonal", "xavier", "kaiming"] = "default"
    """Initialization of the weights; default is the algorithm's own choice."""
    architecture: Literal["mlp", "simba"] = "mlp"
    """mlp builds the layer lists as written; simba replaces linear layers by residual blocks with layer
    normalization."""
    branches: dict[str, Layers] | None = None
    """Layers for each named part of a Dict or Tuple observation; their outputs are concatenated before the layer list.
    null flattens the whole observation into one vector."""
    reward_clip: RewardClip = "none"
    """Change of each reward before it is learned from, ahead of n-step returns and scaling: sign keeps only its sign
    (-1, 0 or 1), clip limits it to [-1, 1]. Returns and evaluation scores count the unchanged rewards."""
    normalize_obs: bool = False
    """Subtract the running mean of the observations and divide by their standard deviation. Each collected observation
    counts once. Saved with the weights, frozen in evaluation and test. Discrete observations stay as they are."""

    def own(self) -> Iterator[tuple[str, str]]:
        yield from ((key, layer.module) for key, layer in self.all_layers() if isinstance(layer, Custom))

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, layer in self.all_layers():
            recurrent, kind = is_recurrent(layer), layer.layer_type
            special = "gru" if recurrent and kind in ("custom", "attention") else kind
            if special in USERS_OF_SPECIAL_LAYERS and special not in self.SPECIAL_LAYERS:
                message = tr(
                    "this algorithm does not support {kind} layers ({algos} do)",
                    kind=tr("recurrent custom") if kind == "custom" else kind,
                    algos=USERS_OF_SPECIAL_LAYERS[special],
                )
                yield Problem(key, message)
            elif key == "branches" and recurrent:
                yield Problem(
                    key,
                    tr("a branch cannot have {kind} layers; put them in the layer list after the branches", kind=kind),
                )
            if isinstance(layer, Custom):
                yield from (Problem(key, message) for message in custom_problems(layer))

    def all_layers(self) -> Iterator[tuple[str, Any]]:
        """Yields every layer of every list, and of the residual blocks in it, with the setting that holds it."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            lists = value.values() if isinstance(value, dict) else [value]
            yield from (
                (key, layer)
                for layers in lists
                if isinstance(layers, list)
                for layer in flat(layers)
                if isinstance(layer, Strict)
            )

    def state_size(self) -> int:
        return sum(state_size(layer) for _, layer in self.all_layers())

    def schedules(self) -> dict[str, Any]:
        course = self.lr_schedule
        return {**({"lr_schedule": course} if course in ("linear", "cosine") else {}), **super().schedules()}

    def remembers(self) -> bool:
        """Returns True if the networks are recurrent."""
        return any(is_recurrent(layer) for _, layer in self.all_layers())


USERS_OF_SPECIAL_LAYERS = {
    "lstm": tr("DRQN, RecurrentPPO, A2C and others"),
    "gru": tr("DRQN, RecurrentPPO, A2C and others"),
    "noisy_linear": tr("NoisyDQN, RainbowDQN and others"),
    "batchnorm": tr("SAC, FlashSAC, CrossQ and others"),
    "batchrenorm": "CrossQ",
}
"""Layers that need support by the algorithm, and algorithms that give it."""


class TableConfig(EpsilonConfig):
    """Settings of every algorithm that learns a table of action values from experience."""

    ACTION_SPACES = ("Discrete",)
    OBSERVATION_SPACES = ("Discrete", "MultiDiscrete", "MultiBinary")
    ADJUSTABLE = {"temperature", "ucb_c"}
    RUN = run(episodes=2000, save=10_000)
    READ_WITH = {"ucb_c": ("exploration_type", ("ucb",))}

    exploration_type: TableExploration = "e-greedy"  # type: ignore[assignment]  # one kind more than with networks
    """e-greedy: a random action with probability epsilon, otherwise the best one; softmax: Boltzmann exploration at the
    temperature; ucb: the action with the highest upper confidence bound; none: the best action. Of several best ones a
    random one is taken."""
    epsilon_decay = 10_000
    ucb_c: NonNegative = 1.0
    """With exploration_type ucb: weight of the exploration bonus."""
    initial_value: float = 0.0
    """Initial value of every action; a high one encourages exploration (optimistic initialization)."""


GIVEN_DATA = Condition(lambda cfg: cfg.data is not None, tr("no given data"))
LEARNS_OFFLINE = Condition(lambda cfg: cfg.learns_offline, tr("no updates from data alone"))


class GivenData(AlgoConfig):
    """Settings of algorithms that can learn from given data."""

    ALIASES = {"expert_path": "data"}
    READ_WITH = {
        "data_top": GIVEN_DATA,
        "data_fraction": GIVEN_DATA,
        "data_held_out": LEARNS_OFFLINE,
        "data_epochs": LEARNS_OFFLINE,
    }

    data: str | list[str] | None = None
    """Files with transitions to learn from: a path, a glob, a task directory, or a list of these (docs/offline.md).
    null: the run learns from what it collects."""
    data_top: PositiveFraction = 1.0
    """Share of the episodes of the data that are used: those with the highest returns."""
    data_fraction: PositiveFraction = 1.0
    """Share of these episodes that are used, drawn by the seed."""
    data_held_out: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of these episodes that is kept from learning, drawn by the seed: the metrics of an update from them are
    columns validation_... of results/progress.csv."""
    data_epochs: PositiveInt | None = None
    """Length of a run that learns from the data alone, in passes over them: sets general_cfg.max_update to as many
    minibatches as have all of their transitions so often. null: max_update is as written."""

    def offline_updates_of(self) -> int:
        return 0 if self.data is None else -1

    def data_spec(self, share: float = 1.0) -> DataSpec | None:
        """Returns what the memory has to know of the data; None if there are none. share: of each minibatch."""
        if self.data is None:
            return None
        paths = (self.data,) if isinstance(self.data, str) else tuple(self.data)
        return DataSpec(
            paths, self.data_top, self.data_fraction, self.data_held_out, share, self.offline_updates_of(),
            rewards=self.reads_rewards,
        )  # fmt: skip

    @property
    def reads_rewards(self) -> bool:
        """True if the rewards of the data are learned from."""
        return True

    def data_epochs_of(self) -> int | None:
        return self.data_epochs if self.learns_offline else None

    def held_out(self) -> float:
        return self.data_held_out if self.learns_offline else 0.0

    @property
    def needs_data(self) -> bool:
        """True if there is nothing to learn from without data."""
        return self.OFFLINE or self.IMITATES

    @property
    def learns_offline(self) -> bool:
        """True if there are updates from data alone."""
        return self.offline_updates_of() != 0

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.needs_data and self.data is None:
            yield Problem("data", tr("is required: the files to learn from, such as tasks/NAME/results/trajs*.pkl"))
        if self.data_epochs and self.offline_updates_of() > 0:
            message = tr("is for a run from data alone; this one collects after offline_updates of them")
            yield Problem("data_epochs", message, depends_on=("offline_updates",))


class CollectingConfig(GivenData):
    """Settings of algorithms that learn from a memory while they collect, and from given data beside it."""

    MAY_LAG = True
    RUN_AHEAD = 2
    READ_WITH = {
        "data_share": Condition(
            lambda cfg: cfg.data is not None and cfg.offline_updates_of() >= 0, tr("no steps beside given data")
        ),
        "offline_updates": GIVEN_DATA,
    }

    buffer_size: PositiveInt = 1_000_000
    """Capacity of the replay buffer, in transitions."""
    train_fre: PositiveInt = 1
    """Environment steps (transitions) between updates."""
    updates_per_train: PositiveInt = 1
    """Gradient updates each time: updates_per_train / train_fre updates per transition."""
    learning_starts: Annotated[Int, Field(ge=0)] = 0
    """Transitions collected before the first update; at least batch_size."""
    data_share: Fraction = 0.5
    """Share of each minibatch that comes from the data while the run collects."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        for key in ("batch_size", "learning_starts"):
            yield from more_than(self, key, "buffer_size")


class ReplayConfig(CollectingConfig, NetworkConfig):
    """Settings of algorithms that learn from a replay buffer."""

    ALIASES = {"max_buffer_size": "buffer_size", "learn_frequency": "train_fre"}
    READ_WITH = {
        "reward_clip": Condition(lambda cfg: not cfg.imitate, tr("no rewards to learn from")),
        "per_alpha": ("buffer_type", ("PER", "PER_QUE")),
        "per_beta": ("buffer_type", ("PER", "PER_QUE")),
        "per_epsilon": ("buffer_type", ("PER", "PER_QUE")),
        "per_eta": Condition(
            lambda cfg: cfg.remembers() and cfg.buffer_type.startswith("PER"), tr("no prioritized sequences")
        ),
    }

    batch_size: PositiveInt = 256
    """Transitions per minibatch; with lstm or gru layers, sequences per minibatch."""
    n_step: PositiveInt = 1
    """Steps of the n-step return: rewards summed before bootstrapping from a value. With lstm or gru layers, fewer at
    the end of a sequence."""
    loss: Loss = "mse"
    """Loss of the TD error: mse, or huber, which grows linearly beyond 1."""
    reward_scale: Positive = 1.0
    """Factor on every reward before it is learned from, after reward_clip."""

    buffer_type: ReplayKind = "REPLAY_QUE"
    """REPLAY or REPLAY_QUE sample uniformly; PER or PER_QUE sample by priority."""
    buffer_compress: bool = False
    """Compress the images in the replay buffer (zlib): images of games then take a fifth of the memory or less, and
    each minibatch some milliseconds more."""
    random_shift: Annotated[Int, Field(ge=0)] = 0
    """Largest number of pixels by which the images of a minibatch are shifted at random, up, down, left or right (DrQ).
    0: not at all."""
    per_alpha: Fraction = 0.6
    """Exponent of the priorities, with buffer_type PER: 0 samples uniformly, 1 in proportion to the TD error."""
    per_beta: ScheduledFraction = 0.4
    """Exponent of the importance sampling weights: a number rises to 1 over the planned run, a schedule such as
    {linear: [0.4, 0.8]} is followed."""
    per_epsilon: Positive = 0.01
    """Added to every priority so that each transition can be sampled."""
    per_eta: Fraction = 0.9
    """With lstm or gru layers and buffer_type PER: the priority of a sequence is eta times the largest of its TD
    errors, plus 1 - eta times their mean."""
    offline_updates: Annotated[Int, Field(ge=-1)] | None = None
    """Updates from the data alone, before the run collects; -1: it collects nothing. null: -1 for algorithms that are
    made for given data, otherwise 0."""
    imitate: bool = False
    """Learn from rewards of 1 in the data and of 0 in what the run collects, instead of the environment's (SQIL)."""
    her_ratio: Fraction = 0.0
    """Share of samples whose goal is replaced by one reached later in the same episode (hindsight)."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of each sampled sequence that are trained on."""
    burn_in: Annotated[Int, Field(ge=0)] = 8
    """With lstm or gru layers: preceding steps that only refresh the recurrent state (burn-in)."""

    @property
    def reads_rewards(self) -> bool:
        return not self.imitate

    def memory(self, rows: int) -> ReplaySpec:
        return ReplaySpec(
            capacity=self.buffer_size,
            batch_size=self.batch_size,
            warmup=max(self.batch_size, self.learning_starts),
            updates_per_step=self.updates_per_train / self.train_fre,
            n_step=1 if self.remembers() else self.n_step,  # with sequences, they are summed within them
            gamma=self.gamma,
            fragment=max(1, self.train_fre // rows),
            priority_alpha=self.per_alpha if self.buffer_type.startswith("PER") else 0.0,
            priority_beta=self.per_beta if isinstance(self.per_beta, Schedule) else rising(self.per_beta),
            priority_epsilon=self.per_epsilon,
            relabel=self.her_ratio,
            sequence=self.burn_in + self.lookup_step if self.remembers() else 1,
            stride=max(1, self.lookup_step // 2),
            reward_clip=self.reward_clip,
            compress=self.buffer_compress,
            statistics=self.normalize_obs,
            data=self.data_spec(self.data_share),
        )

    def data_spec(self, share: float = 1.0) -> DataSpec | None:
        spec = super().data_spec(share)
        return spec and replace(spec, imitate=self.imitate)

    @property
    def needs_data(self) -> bool:
        return super().needs_data or self.imitate

    def offline_updates_of(self) -> int:
        if self.data is None:
            return 0
        return self.offline_updates if self.offline_updates is not None else -1 if self.OFFLINE else 0

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.data is not None and self.buffer_type.startswith("PER"):
            message = tr("{kind} does not sample from given data; use REPLAY", kind=self.buffer_type)
            yield Problem("buffer_type", message)
        if self.imitate and self.offline_updates_of() < 0:
            message = tr(
                "makes every reward of the data 1, which says something only beside the 0 of collected "
                "steps, and this run collects none; set offline_updates to 0 or more"
            )
            yield Problem("imitate", message, depends_on=("offline_updates",))
        if self.her_ratio and self.imitate:
            message = tr("computes rewards anew, and imitate replaces them; set one of the two to its default")
            yield Problem("her_ratio", message, depends_on=("imitate",))
        if self.her_ratio and self.n_step > 1:
            yield Problem(
                "her_ratio", tr("goals are relabeled in single steps; set n_step to 1"), depends_on=("n_step",)
            )
        if self.remembers():
            yield from self._problems_of_sequences()

    def _problems_of_sequences(self) -> Iterator[Problem]:
        length = self.burn_in + self.lookup_step
        if length > self.buffer_size:
            size = self.buffer_size
            message = tr("{steps} steps with burn_in are more than buffer_size, {size}", steps=length, size=size)
            yield Problem("lookup_step", message, depends_on=("burn_in", "buffer_size"))
        if self.n_step > self.lookup_step:
            message = tr("returns are summed within sequences, which have {steps} steps", steps=self.lookup_step)
            yield Problem("n_step", message, depends_on=("lookup_step",))
        if self.her_ratio:
            yield Problem(
                "her_ratio", tr("goals are relabeled in single steps, and lstm and gru layers need sequences")
            )


class ActorCriticConfig(ReplayConfig):
    """Settings of an actor trained by the gradient of an ensemble of critics."""

    ALIASES = {"explore_steps": "start_steps"}
    ADJUSTABLE = {"expl_noise"}

    actor_layers: Layers = mlp(256, 256)
    """Layers of the policy network; its output layer is added automatically."""
    critic_layers: Layers = mlp(256, 256)
    """Layers of each critic. The action is concatenated after the last conv2d, pooling, flatten, embed, lstm or gru
    layer, or at the input; the layers before it are shared by all critics."""
    n_critics: PositiveInt = 2
    """Number of critics in the ensemble."""
    actor_lr: Rate = 3e-4
    """Learning rate of the actor."""
    critic_lr: Rate = 1e-3
    """Learning rate of the critics."""
    learning_starts = 2000
    policy_freq: PositiveInt = 1
    """Critic updates per actor update (policy delay)."""
    start_steps: Annotated[Int, Field(ge=0)] = 2000
    """Environment steps (transitions) with uniformly random actions at the start of a run."""


class ContinuousConfig(ActorCriticConfig):
    """Settings of actor-critics for actions in a bounded Box."""

    ACTION_SPACES: ClassVar[tuple[str, ...]] = ("Box",)
    NEEDS_BOUNDS = True
    RUN = run(steps=200_000, save=10_000)
    READ_WITH = {
        "expl_noise": ("exploration_type", ("gaussian", "ou")),
        "ou_theta": ("exploration_type", ("ou",)),
    }

    exploration_type: ActionNoise = "none"
    """Action noise while exploring: gaussian; ou, an Ornstein-Uhlenbeck process that is reset with each episode;
    none."""
    expl_noise: ScheduledNonNegative = 0.1
    """Standard deviation of the action noise, with actions scaled to -1..1; with ou, of each increment."""
    ou_theta: Fraction = 0.15
    """Mean reversion rate of the ou process per step."""


class TargetConfig(NetworkConfig):
    """Settings of target networks."""

    target_update: PositiveInt = 1
    """Gradient updates between target-network updates."""
    tau: PositiveFraction = 0.005
    """Polyak factor of each target update: target = (1 - tau) target + tau online; 1 is a hard copy."""


class StateNoiseConfig(NetworkConfig):
    """Settings of exploration noise that is a function of the state."""

    READ_WITH = {"sde_sample_freq": ("use_sde", (True,))}

    use_sde: bool = False
    """Noise of continuous actions that is a function of the state (gSDE): the last features times a matrix that is
    drawn anew each episode, so that actions do not shake."""
    sde_sample_freq: PositiveInt | None = None
    """Steps after which the matrix is drawn anew within an episode, too; null: it is not."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.use_sde and self.remembers():
            yield Problem("use_sde", tr("does not support lstm and gru layers"))
        if self.use_sde and getattr(self, "exploration_type", "none") != "none":
            message = tr("adds noise to that of use_sde; set it to none")
            yield Problem("exploration_type", message, depends_on=("use_sde",))


class PolicyGradientConfig(NetworkConfig):
    """Settings of a policy and a value network that learn from what has just been collected."""

    ACTION_SPACES: ClassVar[tuple[str, ...]] = ("Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict")
    SPECIAL_LAYERS: ClassVar[tuple[str, ...]] = ("lstm", "gru")
    RUN = run(steps=500_000, save=20_480, rows=8)

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the policy network; its output layer is added automatically."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the value network; its output layer is added automatically."""
    entropy_coef: ScheduledNonNegative = 0.0
    """Entropy bonus coefficient."""
    log_std_init: float = 0.0
    """Initial log standard deviation of continuous actions; with unlike finite bounds, of actions scaled to -1..1."""
    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the discounted return. Saved with the model."""


class MinibatchConfig(NetworkConfig):
    """Settings of algorithms that learn in minibatches from a window of batch_size transitions."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        yield from more_than(self, "sgd_batch_size", "batch_size")


class JointRateConfig(PolicyGradientConfig):
    """Settings of policy gradients with one learning rate for policy and value network."""

    ALIASES = {"critic_loss_coef": "value_coef", "vf_coef": "value_coef"}

    lr: Rate = 1e-3
    """Learning rate of policy and value network, unless actor_lr or critic_lr is set."""
    actor_lr: Rate | None = None
    """Learning rate of the policy network; null is lr."""
    critic_lr: Rate | None = None
    """Learning rate of the value network; null is lr."""
    value_coef: NonNegative = 0.5
    """Weight of the value loss, which is half of the mean squared error."""


OWN_REWARD = Condition(lambda cfg: cfg.bonus != "none", tr("no bonus"))
LEARNED_REWARD = ("bonus", ("rnd", "icm"))


class BonusConfig(NetworkConfig):
    """Settings of rewards of the agent's own for what it has not seen before."""

    ADJUSTABLE = {"bonus_coef"}
    READ_WITH = {
        "bonus_coef": OWN_REWARD,
        "bonus_gamma": LEARNED_REWARD,
        "bonus_lr": LEARNED_REWARD,
        "bonus_layers": LEARNED_REWARD,
        "bonus_features": LEARNED_REWARD,
        "bonus_share": LEARNED_REWARD,
        "bonus_forward": ("bonus", ("icm",)),
        "bonus_bits": ("bonus", ("count",)),
    }

    bonus: Literal["none", "rnd", "icm", "count"] = "none"
    """Reward of the agent's own for what is new: rnd, the error of predicting a random network's outputs; icm, the
    error of predicting the next state's features; count, 1 / sqrt(visits of the state)."""
    bonus_coef: ScheduledNonNegative = 0.5
    """Weight of the bonus beside the environment's reward; with rnd in an actor-critic, of its advantages."""
    bonus_gamma: Fraction = 0.99
    """Discount factor of the bonus, whose returns go on where episodes end; with rnd in an actor-critic it has values
    of its own. With rnd and icm the deviation of these returns scales it."""
    bonus_lr: Rate = 1e-4
    """Learning rate of the networks that predict."""
    bonus_layers: Layers = mlp(64, 64)
    """Layers of the networks that predict; their output layer is added automatically."""
    bonus_features: PositiveInt = 64
    """Number of their outputs."""
    bonus_share: PositiveFraction = 0.25
    """Share of the samples of each minibatch that they learn from."""
    bonus_forward: Fraction = 0.2
    """icm: weight of the loss of the features; that of the actions has the rest."""
    bonus_bits: Annotated[Int, Field(ge=1, le=62)] = 32
    """count: bits of the code of an observation that is not discrete. More bits tell more states apart."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.bonus != "none" and any(map(is_recurrent, self.bonus_layers)):
            yield Problem("bonus_layers", tr("what predicts has no recurrent state; leave lstm and gru layers out"))
        if self.bonus == "rnd" and any(getattr(layer, "shared", None) for layer in self.bonus_layers):
            message = tr("layers of rnd cannot be shared: those of one of its two networks never learn")
            yield Problem("bonus_layers", message, depends_on=("bonus",))


class OfflineActorCriticConfig(ReplayConfig, TargetConfig):
    """Settings of actor-critics that are made to learn from given data, for actions in a bounded Box."""

    ACTION_SPACES = ("Box",)
    OFFLINE = True
    NEEDS_BOUNDS = True

    actor_layers: Layers = mlp(256, 256)
    """Layers of the policy network; its output layer is added automatically."""
    critic_layers: Layers = mlp(256, 256)
    """Layers of each critic, and of a value network."""
    n_critics: PositiveInt = 2
    """Number of critics in the ensemble."""
    actor_lr: Rate = 3e-4
    """Learning rate of the policy."""
    critic_lr: Rate = 3e-4
    """Learning rate of the critics, and of a value network."""


class CentralCriticConfig(PolicyGradientConfig):
    """Settings of on-policy actor-critics whose critic may see more than the policy."""

    critic_input: Literal["own", "global"] = "own"
    """Input of the value network while learning: own, the agent's observation; global, the global state of an
    environment of several agents, followed by that observation."""

    def needs_global_state(self) -> bool:
        return self.critic_input == "global"

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        critic = [layer for key, layer in self.all_layers() if key == "critic_layers"]
        if self.critic_input == "global" and any(map(is_recurrent, critic)):
            message = tr("a critic of the global state has no recurrent state; put lstm and gru layers in actor_layers")
            yield Problem("critic_layers", message, depends_on=("critic_input",))


class TemperatureConfig(NetworkConfig):
    """Settings of the entropy temperature."""

    READ_WITH = {key: ("alpha", ("auto",)) for key in ("alpha_init", "alpha_lr", "target_entropy")}

    alpha: Positive | Literal["auto"] = "auto"
    """Entropy temperature: a number, or auto to tune it towards target_entropy."""
    alpha_init: Positive = 1.0
    """Initial value of alpha, with auto."""
    alpha_lr: Rate = 3e-4
    """Learning rate of alpha, with auto."""
    target_entropy: float | None = None
    """Entropy of the policy that auto tunes alpha for; null is the algorithm's own choice."""


WITHOUT_SDE = Condition(lambda cfg: not getattr(cfg, "use_sde", False), tr("use_sde has noise of its own"))


class SoftPolicyConfig(ContinuousConfig, TemperatureConfig):
    """Settings of soft actor-critics for actions in a bounded Box."""

    READ_WITH = {
        "target_std": ("alpha", ("auto",)),
        "smooth_log_std": WITHOUT_SDE,
        "noise_repeat": WITHOUT_SDE,
    }

    target_std: Positive | None = None
    """Standard deviation of each action, scaled to -1..1, whose entropy as a normal distribution is the target of
    alpha; null: target_entropy is."""
    smooth_log_std: bool = False
    """Map the log standard deviations to -10..2 by a tanh, instead of limiting them to -20..2."""
    noise_repeat: PositiveInt = 1
    """Largest number n of steps for which the same normal noise of the policy is used while exploring, each with a
    probability in proportion to 1 / n^2. 1: it is drawn in each step."""
    normalize_weights: bool = False
    """Divide the weights of each output of linear and convolutional layers by their norm after each gradient step;
    scale and shift of each normalization become vectors of constant norm."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.noise_repeat > 1 and self.exploration_type == "ou":
            message = tr("repeats the noise of the policy, and ou is a process of its own; set one of the two")
            yield Problem("noise_repeat", message, depends_on=("exploration_type",))
        if self.target_std is not None and self.target_entropy is not None:
            message = tr("is the entropy's target, too; set one of target_std and target_entropy")
            yield Problem("target_std", message, depends_on=("target_entropy",))
        if self.normalize_weights and self.weight_decay:
            message = tr("weight_decay has no effect on weights of constant norm; set it to 0")
            yield Problem("normalize_weights", message, depends_on=("weight_decay",))
        if self.batch_size < 2 and any(layer.layer_type == "batchnorm" for _, layer in self.all_layers()):
            yield Problem("batch_size", tr("is 1, and batch normalization needs more than one transition"))
