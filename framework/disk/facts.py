"""Facts that run.json, group.json and tune.json hold: strict where they are written, lenient where they are read."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler, field_validator
from pydantic import ValidationInfo as Info

Number = int | float
Object = dict[str, Any]


class Circumstances(BaseModel):
    """Circumstances of a run, a group of runs or a tuning: command, machine, versions."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    command_line: list[str] | None = None
    """Words of the command, without the program."""
    started: str | None = None
    """Time of the beginning, with the offset from UTC."""
    python: str | None = None
    """Version of Python."""
    platform: str | None = None
    """Name of the system."""
    cores: int | None = None
    """Number of cores of the machine."""
    cpu: str | None = None
    """Name of the processor."""
    versions: dict[str, str | None] | None = None
    """Versions of the packages that numbers depend on; null for one that is not installed."""
    git_commit: str | None = None
    """Commit of the code, with + if the code differed from it; null outside a checkout."""
    preset: str | None = None
    """Preset that settings were taken from; null: none."""
    allow_import: list[str] | None = None
    """Packages that the settings may import."""

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_none(cls, value: Any, check: ValidatorFunctionWrapHandler, info: Info) -> Any:
        try:
            return check(value)
        except ValidationError:
            if info.context is None:
                raise
            return None

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Returns the facts of a file of any version and origin. One that is missing, or of another type, is None;
        keys that have no field are left out."""
        return cls.model_validate({key: values[key] for key in cls.model_fields if key in values}, context="lenient")

    def has(self, key: str) -> bool:
        """Returns True if the file had this key, whatever its value."""
        return key in self.model_fields_set


class RunFacts(Circumstances):
    """Facts of a training run or of a test, as run.json has them."""

    code: dict[str, str] | None = None
    """Files of the user's own code -> SHA-256, as the run began with them; a resume has its own."""
    branched_from: str | None = None
    """Checkpoint that the run branched from."""
    changed: list[str] | None = None
    """Settings that differ from those of that checkpoint, as `section.key: old -> new`."""
    exact: bool | None = None
    """True if a branch equals an uninterrupted run to the byte; null: unknown."""
    inexact_because: list[str] | str | None = None
    """Reasons why a branch does not."""
    resumes: list[Object] | None = None
    """A mapping for each resume: `from`, the checkpoint, the circumstances, `changed`, `exact`, `inexact_because`."""
    expected_return: Number | None = None
    """Return that the preset promises."""
    seed: int | None = None
    """Random seed."""
    data_return: Number | None = None
    """Mean return of the given data that the run learns from."""
    torch_threads: int | None = None
    """Number of torch threads."""
    kernels: str | None = None
    """Kernels in the place of torch's own, with the amounts of work from which they compute (general_cfg.kernels)."""
    gpu: str | None = None
    """Name of the GPU."""
    numbers: list[str] | None = None
    """Names of the numbers that the environment gives an episode."""
    repeatable: Object | None = None
    """`exact`: true if a run in one go can be repeated to the byte; `inexact_because`: reasons why not."""
    processes: Object | None = None
    """With Ray: the node of the driver, and the process ids of the parts."""
    processes_said: str | None = None
    """With Ray: the part that limits the speed, in a sentence."""
    foreach_env: str | None = None
    """Changes that the program has made to the environments, in a sentence."""
    altered_files: list[str] | None = None
    """Files that were altered or damaged before a resume."""
    outcome: str | None = None
    """Stop rule that has ended the run, `paused at step N`, `interrupted`, or `failed: ` and the error."""
    finished: bool | None = None
    """True if a stop rule has ended the run, false if a resume goes on."""
    step: int | None = None
    """Number of environment steps of training."""
    episode: int | None = None
    """Number of training episodes."""
    update: int | None = None
    """Number of gradient updates."""
    seconds: Number | None = None
    """Seconds of training."""
    compile_seconds: Number | None = None
    """Seconds of them in which gradient steps were compiled, or loaded from the cache."""
    compiled_steps: list[str] | None = None
    """Packages of compiled gradient steps, by their names in the cache."""
    peak_memory: Object | None = None
    """Bytes: `own`, of the process; `children`, of the processes that it has started, and `processes`, their number."""
    best: Number | None = None
    """Score of models/best."""
    best_update: int | None = None
    """Update of models/best."""
    random_return: Number | None = None
    """Mean return of random actions in the place of the policies that learn."""
    worse_than_random: bool | None = None
    """True if the last evaluation is not above that."""
    can_film: bool | None = None
    """False if the environment cannot be filmed."""
    policies: dict[str, Object] | None = None
    """With several agents: `algorithm`, `learns` and `agents` of each policy."""
    score_policy: str | None = None
    """Policy whose return is the score; null: the sum of all agents."""
    profile: list[Object] | None = None
    """With general_cfg.profile: `name`, `seconds` and `calls` of each part of the training."""
    pauses: dict[str, Object] | None = None
    """Step that a pause was asked for at -> the counts and the score there."""
    checkpoint: str | None = None
    """Model that was tested."""
    checkpoint_facts: Object | None = None
    """Facts of a tested model, by its checkpoint."""
    score: Object | None = None
    """Score of a test: `mean`, `std`, `min`, `max`, `median` of the returns, and the number of `episodes`."""
    compared: str | None = None
    """Score of a test beside that of the online evaluation, in a sentence."""
    filmed: Object | None = None
    """Episode of `film --episode`: the `run`, the `episode` and its `seed`."""


class GroupFacts(Circumstances):
    """Facts of a group of runs: what is read of group.json again."""

    runs: list[str] | None = None
    """Names of its runs, if they belong to experiments."""
    seeds: list[int] | None = None
    """Seeds of its runs, if these differ in nothing else."""
    seconds: Number | None = None
    """Duration of the session that has ended it; null while runs are left."""
    told: Object | None = None
    """Folder of a run -> bytes of its logs/log.txt whose warnings the end of a session has repeated."""

    @property
    def names(self) -> Sequence[int | str] | None:
        """Names of its runs: experiments with their seeds, or seeds."""
        return self.runs if self.has("runs") else self.seeds


class TuningFacts(Circumstances):
    """Facts of a tuning: what is read of tune.json again."""

    trials: Object | None = None
    """Name of a trial -> mapping with its `settings`, and for a copy its `parent` and `at_step`."""
    failed: Any = {}
    """Name of a trial that has failed -> its `status` and `reason`; of any other form, as the file has it."""
    finished: bool | None = None
    """True if it has ended."""
    best: str | None = None
    """Name of the best trial."""
    function: str | None = None
    """Name of the function of the user's own whose settings are tried; None: those of training runs."""

    @property
    def settings(self) -> dict[str, Object]:
        """Settings of the trials, by their names; a trial with another content is left out."""
        entries = {name: entry for name, entry in (self.trials or {}).items() if isinstance(entry, dict)}
        return {name: entry["settings"] for name, entry in entries.items() if isinstance(entry.get("settings"), dict)}
