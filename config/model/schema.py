"""Base sections of a configuration: what every section of an algorithm and of an environment has.

Every model is typed, bounded, and documented field by field. The docstrings are the help text, the reference page and
the JSON Schema. Imports nothing heavy: an invalid configuration is rejected before torch loads.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from config.model.course import varies
from config.model.fields import Fraction, PositiveInt, Problem, Strict
from config.model.inherit import Condition
from config.model.memory_spec import MemorySpec
from config.tell.language import UserError

# ------------------------------------------------------------------------------------ sections of algo and env


OF_THE_ENVIRONMENT = "environment"
"""Name of the expert that comes with the environment."""


def run(save: int, steps: int = -1, episodes: int = -1, rows: int | None = None) -> dict[str, dict[str, Any]]:
    """Returns the settings of a run with a limit of steps or of episodes, which end with the environment alone. save:
    steps, or updates with a limit of episodes, between two save points; rows: n_envs, None for its default."""
    limits = {"max_total_step": steps} if steps > 0 else {}
    unit = {"model_save_unit": "step"} if steps > 0 else {}
    evaluation = {"online_eval": True, "online_eval_episode": 20}
    general = {**limits, "max_episode": episodes, "max_step": -1, **evaluation, "model_save_fre": save, **unit}
    return {"general_cfg": general, "env_cfg": {"n_envs": rows} if rows else {}}


class AlgoConfig(Strict):
    """Settings that every algorithm has."""

    ACTION_SPACES: ClassVar[tuple[str, ...]]
    """Names of the gymnasium action spaces that the algorithm supports."""
    OBSERVATION_SPACES: ClassVar[tuple[str, ...]] = ("Box", "Discrete", "MultiDiscrete", "MultiBinary")

    MAY_LAG: ClassVar[bool] = False
    """True if the algorithm can learn from data of an earlier policy, so that workers need not wait for the learner."""
    RUN_AHEAD: ClassVar[int] = 0
    """Value of general_cfg.run_ahead if that is null."""
    NEEDS_BOUNDS: ClassVar[bool] = False
    """True if the algorithm needs a Box action space with finite bounds."""
    NEEDS_MODEL: ClassVar[bool] = False
    """True if the algorithm plans with the environment's transition model (EnvSpec.model)."""

    EXPERT_ACTS: ClassVar[bool] = False
    """True if the expert (asked_expert) acts in evaluation and test, too."""
    LEARNS: ClassVar[bool] = True
    """False for an algorithm that only acts, as an opponent of policies that learn (policies_cfg)."""
    JOINT: ClassVar[bool] = False
    """True if the algorithm controls all agents of its policy as one (policies_cfg.NAME.joint)."""
    AGENT_ID: ClassVar[bool] = False
    """Value of policies_cfg.NAME.agent_id if that is null."""

    OFFLINE: ClassVar[bool] = False
    """True if the algorithm is made to learn from given data (algo_cfg.data), which it needs."""
    IMITATES: ClassVar[bool] = False
    """True if the algorithm collects, and learns from that only with an expert: with given data of one, or with a
    policy that it asks."""
    HAS_GRADIENTS: ClassVar[bool] = False
    """True if several learners can share an update by averaging gradients."""

    ADJUSTABLE: ClassVar[set[str]] = {
        "lr_schedule", "max_grad_norm", "weight_decay", "entropy_coef", "eps_clip", "target_kl",
        "epsilon", "epsilon_start", "epsilon_end", "epsilon_decay", "epsilon_schedule", "data_epochs",
    }  # fmt: skip
    """Settings besides learning rates that may change on resume; changing another one would make it a different run."""

    RUN: ClassVar[dict[str, dict[str, Any]]] = {}
    """Settings of general_cfg and env_cfg by section with which --algo and --env begin where there is no preset; empty
    where given data decide how long a run is."""

    BEFORE: ClassVar[dict[str, Any]] = {}
    """Setting that older runs do not record -> the value by which they went, if that is not the default everywhere.
    Their models are played with it; a resume has to name it."""

    NEEDED: ClassVar[dict[str, Condition]] = {}
    """Conditions on settings without which this would be another algorithm of its family: setting -> Condition, in
    whose reason {value} is the setting's."""

    gamma: Fraction = 0.99
    """Discount factor."""

    @classmethod
    def adjustable(cls) -> set[str]:
        """Returns the settings that may change on resume: ADJUSTABLE, and the learning rates, whose names end in lr."""
        return {*cls.ADJUSTABLE, *(name for name in cls.model_fields if name.endswith("lr"))}

    def memory(self, rows: int) -> MemorySpec:
        """Returns the memory that this algorithm needs for this number of environment rows."""
        raise UserError(
            "{config} has no function memory(rows), which returns a RolloutSpec or a ReplaySpec",
            config=f"{type(self).__module__}.{type(self).__qualname__}",
        )

    def needs_global_state(self) -> bool:
        """Returns True if it learns from the state of the whole multi-agent environment."""
        return False

    def offline_updates_of(self) -> int:
        """Returns the number of updates from given data alone before anything is collected; -1: all of them."""
        return 0

    def asked_expert(self) -> str | None:
        """Returns the policy that says what it would do in each state that is visited: a task directory, a function of
        the user's own, or `environment`; None if there is none."""
        return None

    def data_epochs_of(self) -> int | None:
        """Returns the length of a run from given data in passes over them; None if it has another limit."""
        return None

    def held_out(self) -> float:
        """Returns the share of given data that is kept from learning."""
        return 0.0

    def state_size(self) -> int:
        """Returns the size of the recurrent state: the numbers that layers carry from one step to the next."""
        return 0

    def schedules(self) -> dict[str, Any]:
        """Returns the settings by which something follows the planned length of the run, and their values."""
        settings = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value for name, value in settings if varies(value)}

    def advice(self, steps: int, updates: int) -> Iterator[str]:
        """Yields remarks on settings that are allowed but do nothing in a training run with these limits of environment
        steps and updates; -1 means none."""
        yield from ()

    def must_wait(self) -> str | None:
        """Returns why these settings need data of the newest policy although MAY_LAG is true; None if they do not."""
        return None

    def checks(self) -> Iterator[Problem]:
        yield from super().checks()
        for key, condition in self.NEEDED.items():
            if not condition.holds(self):
                yield Problem(key, condition.otherwise.format(value=getattr(self, key)))


FILM: Any = object()
"""Value of env_cfg.render_mode for the one in which the environment is filmed, until that is known. No text is it."""


class EnvConfig(Strict):
    """Settings that every environment has. Other keys are passed to the environment's constructor."""

    FILM: ClassVar[tuple[str, str]] = ("rgb_array", "video.gif")
    """The render_mode in which episodes are filmed, and the name of the file."""

    render_mode: Literal["human", "rgb_array", "text"] | None = None
    """null: no rendering; human: a window, or the terminal for text; rgb_array: videos/video.gif (or .mp4), without a
    display; text: videos/dialogue.txt, of dialogues."""
    n_envs: PositiveInt = 1
    """Number of environments stepped together (rows); with mp_backend ray, per worker."""
    action_mask: bool = True
    """Obey the `action_mask` that the environment gives in its info or in a Dict observation; false ignores it."""

    @property
    def constructor(self) -> dict[str, Any]:
        """Arguments of the environment's constructor."""
        return dict(self.model_extra or {})

    def own(self) -> Iterator[tuple[str, str]]:
        env_id = getattr(self, "id", None)
        if isinstance(env_id, str) and ":" in env_id:
            yield "id", env_id
