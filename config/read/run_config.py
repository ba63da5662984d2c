"""Complete and valid configuration of one run, and its form as YAML."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from config.config import GeneralConfig
from config.model import SECTIONS, policies
from config.model.fields import Strict
from config.model.memory_spec import whole_rounds
from config.model.schema import AlgoConfig, EnvConfig
from config.read.yaml_reader import inline
from config.tell.help_texts import help_text
from config.tell.language import tr


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run, and the source of each."""

    general: GeneralConfig
    algo: AlgoConfig
    env: EnvConfig
    """Settings of the environment of training."""
    algo_package: ModuleType
    env_package: ModuleType
    where: dict[str, str]
    """Source of each setting that is not a Python default: algo_cfg.lr -> file.yaml:12 or command line."""
    explicit: frozenset[str]
    """Settings that the user wrote, in YAML or on the command line; not those of a preset or a resumed run."""
    expected_return: float | None = None
    """Return that the first comment line of the YAML promises."""
    preset: str | None = None
    """Path of the preset that is used."""
    task: Path | None = None
    """Task directory that load_path names, if load_checkpoint is true."""
    into: Path | None = None
    """New folder for the run, from --into, in place of one under tasks/."""
    start: Path = field(default_factory=Path.cwd)
    """Working directory when the settings were read, from which relative paths count; an environment may change it."""
    pause_at_step: int | None = None
    """Environment step at which training pauses, from --pause-at-step; limits and schedules do not depend on it."""
    take_over: bool = False
    """True, from --take-over, to go on with a copy in a store whose writer has gone silent."""
    no_evaluation: bool = False
    """True, from --no-evaluation, to play only the evaluations of online_eval."""
    allow_import: tuple[str, ...] = ()
    """User packages that the command line allows to import."""
    own_modules: tuple[str, ...] = ()
    """Modules of the user's own whose classes, functions or packages settings name."""
    objects: Mapping[str, Any] = field(default_factory=dict)
    """Classes and functions of the user's own that settings name and no other process could import: by their registered
    name."""
    eval_env: EnvConfig | None = None
    """Settings of the environment of evaluations, if general_cfg.eval_env has some of its own."""
    notes: tuple[str, ...] = ()
    """Remarks on how the configuration was decided, for the user."""
    policies: Mapping[str, Any] = field(default_factory=dict)
    """Policies of policies_cfg by name. Each is the config of its algorithm too; algo_name is its full name."""
    policy_packages: Mapping[str, ModuleType] = field(default_factory=dict)
    """Packages of their algorithms, by name of the policy."""

    @property
    def algorithms(self) -> str:
        """Name of the algorithm; those of several policies are joined by +."""
        return policies.joined(package.NAME for package in self.policy_packages.values() or [self.algo_package])

    @property
    def env_id(self) -> str:
        """Id of the environment, or the kind of one that has none."""
        return str(getattr(self.env, "id", self.general.env_name))

    @property
    def title(self) -> str:
        """Algorithm and environment in words, such as PPO on CartPole-v1."""
        return tr("{algorithms} on {environment}", algorithms=self.algorithms, environment=self.env_id)

    @property
    def learning(self) -> tuple[AlgoConfig, ...]:
        """Settings of the algorithms that learn; known before the environment is."""
        trained = tuple(policy for policy in self.policies.values() if policy.train)
        return trained if self.policies else (self.algo,)

    @property
    def run_ahead(self) -> int:
        """Number of chunks that may be queued for the learner while workers keep collecting."""
        setting = self.general.run_ahead
        return min((type(algo).RUN_AHEAD for algo in self.learning), default=0) if setting is None else setting

    @property
    def planned_steps(self) -> int | None:
        """Environment steps after which a limit in steps or iterations ends the run; None without one. Several workers
        that run ahead may end an iteration with a few fragments more."""
        cfg = self.general
        in_step = cfg.mp_backend == "ray" and not self.run_ahead
        rows = self.env.n_envs * (cfg.n_workers if in_step else 1)
        of_round = rows * min((algo.memory(rows).fragment for algo in self.learning), default=1)
        limits = (cfg.max_total_step, cfg.max_iteration * whole_rounds(cfg.iteration_steps, of_round))
        return min((limit for limit in limits if limit > 0), default=None)

    def with_general(self, **changes: Any) -> "RunConfig":
        """Returns the same configuration with other general settings, which are not checked."""
        return replace(self, general=self.general.model_copy(update=changes))

    def of_evaluation(self) -> "RunConfig":
        """Returns the same configuration with the environment of evaluations, which tests and films have, too."""
        return replace(self, env=self.eval_env or self.env)

    def sections(self) -> dict[str, Strict]:
        """Returns the three sections, and a section policies_cfg.NAME for each policy."""
        sections: dict[str, Strict] = dict(zip(SECTIONS, (self.general, self.algo, self.env), strict=True))
        return sections | {policies.section_of(name): policy for name, policy in self.policies.items()}

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Returns the sections as plain builtins, with the policies below policies_cfg."""
        plain = {"general_cfg": self.general.model_dump(), "algo_cfg": self.algo.model_dump()}
        plain["env_cfg"] = self.env.model_dump()
        if self.policies:
            plain[policies.SECTION] = {name: policies.dump(policy) for name, policy in self.policies.items()}
        else:
            del plain["general_cfg"]["score_policy"]  # names a policy
        del plain["general_cfg"]["preset"]  # every setting is here, and this file needs none
        return plain

    def to_yaml(self) -> str:
        """Returns a file for --yaml that gives this configuration again."""
        lines = [] if self.expected_return is None else [f"# Return {self.expected_return:.12g} is expected.\n"]
        plain = self.as_dict()
        below = plain.pop(policies.SECTION, {})
        for name, section in zip(SECTIONS, (self.general, self.algo, self.env), strict=True):
            lines.append(f"{name}:\n")
            lines.extend(_setting(key, value, _help(section, key)) for key, value in plain[name].items())
        return "".join([*lines, *self._policies_in_yaml(plain["algo_cfg"], below)])

    def _policies_in_yaml(self, algo: dict[str, Any], below: dict[str, dict[str, Any]]) -> Iterator[str]:
        """Yields the lines of policies_cfg, without what a policy inherits from algo_cfg. Each help text comes once."""
        explained = set()
        if below:
            yield f"{policies.SECTION}:\n"
        for name, values in below.items():
            yield f"  {name}:\n"
            inherited = algo if values["algo_name"] == self.general.algo_name else {}
            for key, value in values.items():
                if key not in inherited or inherited[key] != value:
                    text = _help(self.policies[name], key)
                    yield _setting(key, value, "" if text in explained else text, "    ")
                    explained.add(text)


def _help(section: Strict, key: str) -> str:
    """Returns the help text of a setting; empty if there is none."""
    return help_text(type(section), key) if key in type(section).model_fields else ""


def _setting(key: str, value: Any, help_text: str, indent: str = "  ") -> str:
    """Returns a setting with its help, on the same line if it is short, otherwise above. Layers get a line each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        text = "".join([f"{indent}{key}:\n", *(f"{indent}  - {inline(item)}\n" for item in value)])
    else:
        text = f"{indent}{key}: {inline(value)}\n"
    if not help_text:
        return text
    beside = f"{text.rstrip()}  # {help_text}\n"
    return beside if text.count("\n") == 1 and len(beside) <= 121 else f"{indent}# {help_text}\n{text}"
