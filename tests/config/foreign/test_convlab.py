"""The flags of ConvLab-2's training scripts, and the config.json of its policies."""

import json
from pathlib import Path
from typing import Any

import pytest

from config.foreign import convlab
from framework import commands
from framework.catalog import ALGOS
from main import main
from tests.tools import foreign_pages
from tests.tools.dialog import write_town

RUN = ("--algo", "PPO", "--env", "CartPole-v1")
PAGE = Path(__file__).parents[3] / "docs" / "dialog.md"
PLACES = {"save_dir": "save", "log_dir": "log", "save_per_epoch": 5, "load": "save/best"}
PPO = {"batchsz": 32, "gamma": 0.98, "epsilon": 0.1, "tau": 0.9, "policy_lr": 1e-4, "value_lr": 5e-5, **PLACES,
       "update_round": 5, "h_dim": 100, "hv_dim": 50}  # fmt: skip
PG = {"batchsz": 32, "gamma": 0.98, "lr": 1e-3, **PLACES, "update_round": 5, "h_dim": 100}
MLE = {"batchsz": 16, "epoch": 12, "lr": 1e-3, **PLACES, "print_per_batch": 400, "h_dim": 100, "pos_weight": 5,
       "weight_decay": 1e-5}  # fmt: skip
GDPL = {**PPO, "lr": 3e-4, "lr_irl": 1e-3, "anneal": 5000, "clip": 0.02, "hi_dim": 50}
"""The names are those of ConvLab-2's files."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(content: Any, name: str = "config.json") -> str:
    """A file as ConvLab-2 has it, indented with tabs."""
    Path(name).write_text(content if isinstance(content, str) else json.dumps(content, indent="\t"))
    return name


def settings_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], str]:
    """The settings that a command prints, as text by name, and its remarks."""
    assert main([*words, "--print-config"]) == 0, capsys.readouterr().err
    shown = capsys.readouterr()
    lines = [line.partition("  #")[0].strip().partition(": ") for line in shown.out.splitlines() if ": " in line]
    return {name: value for name, _, value in lines if name[:1] != "#"}, shown.err


def test_the_flags_alone_are_the_example_of_dialogues(capsys: pytest.CaptureFixture[str]) -> None:
    shown, notes = settings_of(["--batchsz", "1024", "--epoch", "200", "--process_num", "8"], capsys)
    expected = {"algo_name": "PPO", "env_name": "dialog", "id": "mini", "batch_size": "1024",
                "max_total_step": "204800", "mp_backend": "ray", "n_workers": "8"}  # fmt: skip
    assert {name: shown[name] for name in expected} == expected
    line = "no algorithm and no environment are named: the example of ConvLab-2, dialogues in mini, the domain"
    assert notes.count(line) == 1


@pytest.mark.parametrize("words", [["--batchsz", "512"], ["--process_num", "1"], ["--process_num", "2"]])
def test_one_flag_is_enough(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = settings_of(words, capsys)
    assert (shown["algo_name"], shown["id"]) == ("PPO", "mini")


def test_the_example_takes_the_databases_of_multiwoz(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_town(tmp_path / "multiwoz")
    shown, notes = settings_of(["--batchsz", "1024"], capsys)
    assert (shown["id"], shown["data_dir"], shown["n_envs"], shown["start_from"]) == ("full", "multiwoz", "8", "null")
    assert "dialogues in the databases of MultiWOZ" in notes


@pytest.mark.parametrize(
    ("words", "algo", "env"),
    [
        (["--algo", "A2C"], "A2C", "CartPole-v1"),
        (["--env", "mini"], "DQN", "mini"),
        (["general_cfg.algo_name=A2C"], "A2C", "CartPole-v1"),
        (["env_cfg.id=Acrobot-v1"], "DQN", "Acrobot-v1"),
        (["--config", "{algo_cfg: {gamma: 0.9}}"], "DQN", "CartPole-v1"),
    ],
)
def test_with_an_algorithm_or_an_environment_the_flags_set_what_they_name(
    words: list[str], algo: str, env: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, notes = settings_of([*words, "--batchsz", "64"], capsys)
    assert (shown["algo_name"], shown["id"], shown["batch_size"]) == (algo, env, "64")
    assert "example of ConvLab-2" not in notes


def test_a_yaml_file_names_both(capsys: pytest.CaptureFixture[str]) -> None:
    written("general_cfg:\n  algo_name: A2C\n", "mine.yaml")
    assert settings_of(["--yaml", "mine.yaml", "--process_num", "2"], capsys)[0]["id"] == "CartPole-v1"


@pytest.mark.parametrize("as_text", [False, True], ids=["file", "text"])
def test_config_json_of_ppo_is_read(as_text: bool, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(PPO)
    shown, notes = settings_of(["--config", Path(file).read_text() if as_text else file], capsys)
    expected = {"algo_name": "PPO", "id": "mini", "sgd_batch_size": "32", "gamma": "0.98", "eps_clip": "0.1",
                "gae_lambda": "0.9", "actor_lr": "0.0001", "critic_lr": "5.0e-05", "k_epochs": "5"}  # fmt: skip
    assert {name: shown[name] for name in expected} == expected
    place = "--config" if as_text else "config.json:4"
    assert f"{place}: epsilon -> algo_cfg.eps_clip" in notes
    for name in PLACES:
        assert f": {name} needs nothing here: " in notes


def test_the_sizes_are_two_layers_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", written(PPO), "--print-config"]) == 0
    shown = capsys.readouterr().out
    for name, size in (("actor_layers", 100), ("critic_layers", 50)):
        assert f"{name}:\n    - {{layer_type: linear, layer_size: [{size}, {size}], activation: relu}}" in shown


def test_config_json_of_pg_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    shown, notes = settings_of(["--config", written(PG)], capsys)
    assert (shown["algo_name"], shown["gamma"], shown["lr"]) == ("REINFORCE", "0.98", "0.001")
    assert "config.json:2: batchsz needs nothing here: REINFORCE learns once from a whole window" in notes
    assert "update_round needs nothing here" in notes


def test_config_json_of_mle_is_read_for_imitation(capsys: pytest.CaptureFixture[str]) -> None:
    shown, notes = settings_of(["--env", "town", "--config", written(MLE)], capsys)
    expected = {
        "algo_name": "BC",
        "id": "town",
        "batch_size": "16",
        "data_epochs": "12",
        "lr": "0.001",
        "weight_decay": "1.0e-05",
    }
    assert {name: shown[name] for name in expected} == expected
    assert "pos_weight needs nothing here: each act of a set counts once" in notes


def test_words_of_the_command_line_are_stronger(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--config", written(PPO), "--env", "town", "algo_cfg.eps_clip=0.3", "--batchsz", "256", "--epoch", "2"]
    shown, _ = settings_of(words, capsys)
    assert (shown["id"], shown["eps_clip"], shown["batch_size"], shown["max_total_step"]) == (
        "town",
        "0.3",
        "256",
        "512",
    )
    assert settings_of(["--config", "config.json", "--algo", "MAPPO"], capsys)[0]["eps_clip"] == "0.1"


def test_the_table_of_the_page_is_that_of_the_data() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- names of config.json -->\n")
    assert rest.partition("\n\n")[0].splitlines() == foreign_pages.of_convlab()


def test_every_setting_of_the_table_exists() -> None:
    for kind, algo in convlab.POLICIES.items():
        for name, row in convlab.TABLES[kind].items():
            assert row.settings in ALGOS.get(algo).Config.model_fields, name


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (GDPL, "lr_irl: GDPL is not here: it learns its reward from dialogues of people"),
        (
            {**PPO, "epslon": 1},
            "config.json:15: epslon: is no setting of ConvLab-2's policy ppo; did you mean epsilon?",
        ),
        ({**PPO, "print_every": 1}, "config.json:15: print_every: is no setting of ConvLab-2's policy ppo; known are:"),
        ({**PPO, "batchsz": 0}, "config.json:2: batchsz: got 0; expected a whole number at least 1"),
        ({**PPO, "batchsz": "32"}, "config.json:2: batchsz: got '32' (text); expected a whole number"),
        ({**PPO, "epsilon": 2}, "config.json:4: epsilon: got 2; expected a number"),
        ({**PPO, "tau": -1}, "config.json:5: tau: got -1; expected a number from 0 to 1"),
        ({**PPO, "policy_lr": None, "value_lr": -1}, "config.json:7: value_lr: got -1; expected a number above 0"),
        ({**PPO, "h_dim": 0}, "config.json:13: h_dim: got 0; expected a whole number, at least 1"),
        ({**PPO, "h_dim": [100]}, "config.json:13: h_dim: got [100]; expected a whole number, at least 1"),
        ({**PPO, "hv_dim": True}, "config.json:14: hv_dim: got true; expected a whole number, at least 1"),
        ({**PPO, "update_round": 1.5}, "config.json:12: update_round: got 1.5; expected a whole number"),
        ({**MLE, "epoch": 0}, "config.json:3: epoch: got 0; expected a whole number at least 1"),
        ('{"h_dim": 1, "h_dim": 2, "tau": 0.9}', "h_dim"),
        ('{"h_dim": 1', "config.json:1"),
        ("[1, 2]", "config.json: expected {name: value}"),
        ("", "config.json: expected {name: value}"),
    ],
)
def test_what_is_wrong_in_a_config_json_is_a_sentence(
    content: Any, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", written(content)]) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_config_json_that_is_not_there_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, sentence in (("nowhere.json", "nowhere.json: no such file"), ("folder.json", "is a directory")):
        (tmp_path / "folder.json").mkdir(exist_ok=True)
        assert main(["--config", name]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--batchsz", "0"], ["--process_num", "0"], ["--epoch", "-1"], ["--epoch", "3"]])
def test_numbers_of_the_flags_are_whole_and_positive(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 2
    assert not list(tmp_path.iterdir())


def test_the_flags_are_settings_and_a_note_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--batchsz", "256", "--epoch", "3", "--process_num", "2", "--print-config"]) == 0
    shown = capsys.readouterr()
    text = shown.out + shown.err
    for part in ("batch_size: 256", "max_total_step: 768", "mp_backend: ray", "n_workers: 2", "max_episode: -1"):
        assert part in shown.out
    assert "--batchsz sets algo_cfg.batch_size=256; --epoch sets general_cfg.max_total_step=768" in text


def test_one_process_needs_no_ray() -> None:
    assert commands.parse([*RUN, "--process_num", "1"]).abbreviated == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epoch", "3"], "--epoch E is E windows of --batchsz B"),
        (["--batchsz", "8", "algo_cfg.batch_size=16"], "--batchsz sets algo_cfg.batch_size=8; leave out one"),
        (["--process_num", "2", "general_cfg.mp_backend=single"], "--process_num sets general_cfg.mp_backend=ray"),
        (["--batchsz", "many"], "invalid number 'many'"),
    ],
)
def test_what_contradicts_them_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[Any]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*RUN, *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
