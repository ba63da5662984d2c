"""Section experiments of a file: each is a run with the settings above and its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.foreign.experiments import load_all
from config.read.loader import ConfigError, RunConfig, load
from framework.archive.members import Member
from framework.catalog import ALGOS, ENVS
from framework.jobs import many_runs
from main import main

FIND = {"find_algo": ALGOS, "find_env": ENVS}
FILE = """\
general_cfg: {algo_name: DQN, max_total_step: 500}
algo_cfg: {batch_size: 16, gamma: 0.5}
env_cfg: {id: CartPole-v1, n_envs: 2}
experiments:
  plain:
  steps: {algo_cfg: {n_step: 3}, general_cfg: {max_total_step: 600}}
  another:
    general_cfg: {algo_name: PPO}
    algo_cfg: {gamma: 0.6}
    env_cfg: {id: Acrobot-v1}
"""

Load = Callable[..., dict[str, RunConfig]]


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.chdir(tmp_path)

    def load_text(text: str, *words: str, **options: str) -> dict[str, RunConfig]:
        Path("a.yaml").write_text(text)
        return load_all("a.yaml", words, **FIND, **options)

    return load_text


def test_each_experiment_has_the_settings_above_and_its_own_above_them(loads: Load) -> None:
    configs = loads(FILE, "general_cfg.seed=5")
    assert list(configs) == ["plain", "steps", "another"]
    plain, steps, another = configs.values()
    assert [(c.algo_package.NAME, c.algo.gamma, c.env.id, c.env.n_envs) for c in configs.values()] == [
        ("DQN", 0.5, "CartPole-v1", 2), ("DQN", 0.5, "CartPole-v1", 2), ("PPO", 0.6, "Acrobot-v1", 2)
    ]  # fmt: skip
    assert [config.general.max_total_step for config in configs.values()] == [500, 600, 500]
    assert (plain.algo.n_step, steps.algo.n_step, plain.algo.batch_size, steps.algo.batch_size) == (1, 3, 16, 16)
    assert another.algo.batch_size > 16, "that above is one of DQN"
    assert {config.general.seed for config in configs.values()} == {5}


def test_the_name_of_the_algorithm_above_in_another_case_keeps_its_settings(loads: Load) -> None:
    configs = loads(FILE.replace("max_total_step: 600", "algo_name: dqn"))
    assert (configs["steps"].algo.gamma, configs["steps"].algo.n_step) == (0.5, 3)


def test_a_policy_has_its_settings_above_too(loads: Load) -> None:
    configs = loads(
        "general_cfg: {algo_name: PPO, env_name: toy}\nenv_cfg: {id: target}\n"
        "policies_cfg: {all: {agents: '*', gamma: 0.5}}\n"
        "experiments:\n  a:\n  b: {policies_cfg: {all: {lr: 0.1}}}\n"
    )
    b = configs["b"].policies["all"]
    assert (b.agents, b.gamma, b.lr) == (configs["a"].policies["all"].agents, 0.5, 0.1)


def test_flags_count_for_all_experiments(loads: Load) -> None:
    assert {config.env.id for config in loads(FILE, env="MountainCar-v0").values()} == {"MountainCar-v0"}


def test_what_is_wrong_is_said_where_it_is_written_and_of_all_experiments_at_once(loads: Load) -> None:
    text = (
        FILE.replace("plain:", "plain: {lr: 0.1}").replace("n_step: 3", "n_stop: 3").replace("gamma: 0.6", "gamma: x")
    )
    with pytest.raises(ConfigError) as caught:
        loads(text)
    assert [problem.split(";")[0] for problem in caught.value.problems] == [
        "a.yaml:5: experiments.plain.lr: not inside a section (general_cfg, algo_cfg or env_cfg)",
        "a.yaml:6: experiments.steps.algo_cfg.n_stop: unknown setting",
        "a.yaml:9: experiments.another.algo_cfg.gamma: got 'x' (text)",
    ]


@pytest.mark.parametrize(
    ("section", "answer"),
    [
        ("experiments: 3", "a.yaml:1: experiments: got 3; expected lines of the form name: value"),
        ("experiments:", "a.yaml:1: experiments: got null; expected lines of the form name: value"),
        ("experiments: {}", "a.yaml:1: experiments: got {}; expected lines of the form name: value"),
        ("experiments: {a: 3}", "a.yaml:1: experiments.a: got 3; expected lines of the form name: value"),
        ("experiments: {a: {algo_cfg: 3}}", "a.yaml:1: experiments.a.algo_cfg: got 3; expected lines of the form"),
        (
            "experiments: {a: {experiments: {b: {}}}}",
            "a.yaml:1: experiments.a.experiments: an experiment has",
        ),
        ("experiments: {' ': {}}", "a.yaml:1: experiments. : an experiment needs a name"),
    ],
)
def test_a_section_that_names_no_experiments_says_so(section: str, answer: str, loads: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(section, algo="DQN", env="CartPole-v1")
    assert any(problem.startswith(answer) for problem in caught.value.problems), caught.value.problems


def test_two_experiments_with_equal_settings_are_refused(loads: Load) -> None:
    """A default that is written out would cost the time of a run, and show nothing."""
    with pytest.raises(ConfigError, match="experiments: plain and steps have equal settings"):
        loads(FILE.replace("n_step: 3", "n_step: 1").replace("600", "500"))


@pytest.mark.usefixtures("loads")
def test_commands_for_one_run_say_that_training_reads_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(FILE)
    with pytest.raises(ConfigError, match=r"only training reads them, each as a run: .* --yaml a.yaml --seeds 1..3"):
        load("a.yaml", [], **FIND)
    Path("a.yaml").write_text(FILE.replace("gamma: 0.5", "gamma: {grid: [0.5, 0.6]}"))
    for words in ([], ["algo_cfg.lr=3", "nonsense=1"]):
        assert main(["tune", "--yaml", "a.yaml", *words]) == 2
        [answer, _] = capsys.readouterr().err.splitlines()
        assert answer.startswith("a.yaml:4: experiments: tune tries values of the settings of one run")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (FILE[: FILE.index("  steps")], ["plain 1", "plain 2"]),
        ("one: {run: PPO, env: CartPole-v1, stop: {timesteps_total: 50}}", [1, 2]),
    ],
)
@pytest.mark.usefixtures("loads")
def test_the_seeds_of_a_single_experiment_have_its_name(
    text: str, names: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare takes it from there. A file of RLlib has a name for each run, also for one that is compared with none."""
    members: list[Member] = []
    monkeypatch.setattr(many_runs, "_train", lambda runs, *rest, **options: (members.extend(runs), 0))
    Path("a.yaml").write_text(text)
    assert main(["--yaml", "a.yaml", "--seeds", "1,2"]) == 0
    assert [member.name for member in members] == names
