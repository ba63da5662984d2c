"""--algo auto on the command line: what it says, what is written wins, and what it refuses."""

import pytest
import yaml

import main


def printed(capsys, *words):
    status = main.main(["--algo", "auto", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_it_says_what_it_chose_and_why_and_how_to_write_the_same(capsys):
    status, out, err = printed(capsys, "--env", "Pendulum-v1", "general_cfg.max_total_step=5000", "--print-config")
    assert status == 0
    assert "--algo auto: SAC, since there are continuous actions" in err
    assert "the same is: --algo SAC general_cfg.preset=none general_cfg.max_total_step=5000" in err
    assert "tuned presets for this environment: A2C, " in err
    config = yaml.safe_load(out)
    assert config["general_cfg"]["algo_name"] == "SAC"
    assert config["algo_cfg"]["learning_starts"] == 250


def test_what_it_says_to_write_is_the_same_run(capsys):
    words = ("--env", "CliffWalking-v1", "general_cfg.max_total_step=300", "--print-config")
    _, out, err = printed(capsys, *words)
    [line] = [line for line in err.splitlines() if line.startswith("the same is: ")]
    assert main.main([*line.removeprefix("the same is: ").split(), *words[:2], words[3]]) == 0
    again = capsys.readouterr().out
    assert yaml.safe_load(again) == yaml.safe_load(out)


def test_settings_that_are_written_win(capsys):
    words = ("--env", "CartPole-v1", "algo_cfg.lr=0.5", "general_cfg.model_save_fre=77", "--print-config")
    _, out, _ = printed(capsys, *words)
    config = yaml.safe_load(out)
    assert (config["algo_cfg"]["lr"], config["general_cfg"]["model_save_fre"]) == (0.5, 77)


def test_flags_that_are_written_win(capsys):
    flags = ("--stop", '{"timesteps_total": 5000}', "--config", '{"lr": 0.02}', "--checkpoint-freq", "7")
    _, out, _ = printed(capsys, "--env", "CartPole-v1", *flags, "--print-config")
    config = yaml.safe_load(out)
    assert (config["general_cfg"]["max_total_step"], config["general_cfg"]["model_save_fre"]) == (5000, 7)
    assert config["algo_cfg"]["lr"] == 0.02
    assert config["algo_cfg"]["learning_starts"] == 250, "the choice knows the length"
    _, out, _ = printed(capsys, "--env", "CartPole-v1", "--epoch", "3", "--batchsz", "1000", "--print-config")
    assert yaml.safe_load(out)["general_cfg"]["max_total_step"] == 3000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--yaml", "presets/CartPole-v1/DQN.yaml"], "--algo auto chooses for an environment; leave out --yaml"),
        (["--env", "NoSuchEnv-v0"], "NoSuchEnv"),
    ],
)
def test_without_an_environment_to_look_at_nothing_is_started(capsys, words, said):
    status, _, err = printed(capsys, *words, "--dry-run")
    assert status == 2
    assert said in err


@pytest.mark.run
def test_it_trains(tmp_path, capsys):
    short = ("general_cfg.max_total_step=300", "general_cfg.save_fig=false")
    status, _, err = printed(capsys, "--env", "FrozenLake-v1", *short, "--into", str(tmp_path / "run"))
    assert status == 0, err
    assert "--algo auto: QLearning" in (tmp_path / "run" / "logs" / "log.txt").read_text()
