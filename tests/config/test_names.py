"""A name that stands elsewhere is answered with what to type, and names of presets are names of environments too."""

from pathlib import Path

import pytest

from config.read.loader import ConfigError, load
from config.tell.names import nearest, without_password
from envs import gym
from framework.catalog import ALGOS, ENVS
from main import main


def loaded(*words, **flags):
    return load(None, words, find_algo=ALGOS, find_env=ENVS, **flags)


@pytest.mark.parametrize(
    ("words", "env", "answer"),
    [
        (("general_cfg.env_name=gym",), "reach", "(it exists with general_cfg.env_name=toy env_cfg.id=reach)"),
        (("general_cfg.env_name=toy",), "Taxi-v4", "(it exists with general_cfg.env_name=gym env_cfg.id=Taxi-v4)"),
        (
            (),
            "CartPole-v1-hidden",
            ": --algo DRQN, R2D2 or RecurrentPPO --env CartPole-v1-hidden)",
        ),
        ((), "zzz", "there is no environment 'zzz'; the command list envs shows all"),
    ],
)
def test_an_id_that_stands_elsewhere_is_answered_with_what_to_type(words, env, answer):
    with pytest.raises(ConfigError) as caught:
        loaded(*words, env=env)
    assert str(caught.value).endswith(answer)


@pytest.mark.parametrize(
    ("env", "kind"), [("bitflip", "toy"), ("reach", "toy"), ("full", "dialog"), ("Taxi-v4", "gym")]
)
def test_an_id_decides_on_the_kind_of_environment_where_none_is_written(env, kind):
    algo = "Expert" if kind == "dialog" else None
    loads = [load(None, (), find_algo=ALGOS, find_env=ENVS, env=env, algo=algo)]
    values = {"env_cfg": {"id": env}, "general_cfg": {"algo_name": algo or "DQN", "preset": "none"}}
    loads.append(load(None, (), find_algo=ALGOS, find_env=ENVS, values=values))
    assert [(config.general.env_name, config.env.id) for config in loads] == [(kind, env)] * 2


@pytest.mark.parametrize(
    ("algo", "env", "kind", "env_id"),
    [("DQN", "bit_flipping", "toy", "bitflip"), ("DRQN", "CartPole-v1-hidden", "gym", "CartPole-v1")],
)
def test_a_preset_that_is_listed_can_be_named_where_its_environment_has_another_name(algo, env, kind, env_id):
    config = loaded(algo=algo, env=env)
    assert (config.general.env_name, config.env.id) == (kind, env_id)
    assert config.preset == str(Path("presets") / env / f"{algo}.yaml")


@pytest.mark.parametrize("env", ["Breakout-v4", "Breakout-v0", "BreakoutNoFrameskip-v4", "ALE/Breakout-v5"])
def test_every_name_of_a_game_of_atari_has_the_presets_of_atari(env):
    """Raw frames would fill the memory: a million steps of 210 x 160 x 3 bytes."""
    assert gym.present_name(env) == "ALE/Breakout-v5"
    try:
        preset = loaded(algo="DQN", env=env).preset
    except ConfigError as error:
        preset = str(error)
        assert "use ALE/Breakout-v5, which has one, or auto" in preset
    assert str(Path("presets") / "_atari" / "DQN.yaml") in preset


@pytest.mark.parametrize(
    "env", ["MountainCar-v0", "Taxi-v4", "Blackjack-v1", "Ant-v4", "Nothing-v4", "my_module:Env-v0"]
)
def test_a_name_that_only_looks_like_an_old_game_stays(env):
    assert gym.present_name(env) == env


@pytest.mark.parametrize("algo", ["IQN", "QRDQN"])
def test_without_a_preset_of_the_family_those_of_others_are_named(algo):
    notes = loaded(algo=algo, env="ALE/Pong-v5").notes
    others = "BTR, DQN, PPO, PQN, RainbowDQN"
    assert notes[1] == f"ALE/Pong-v5 may need the env_cfg of the presets in presets/_atari, which are for {others}"
    assert len(loaded(algo="DQN", env="ALE/Pong-v5").notes) == 1


@pytest.mark.parametrize(("name", "near"), [("ＰＰＯ", "PPO"), ("ｄｑｎ", "DQN"), ("ＰＰＰＯ", "PPO"), ("算法", None)])
def test_full_width_letters_are_read_as_the_plain_ones(name: str, near: str | None) -> None:
    assert nearest(name, ["DQN", "PPO", "SAC"]) == near


@pytest.mark.parametrize(
    ("name", "said"), [("PG", "REINFORCE is the same"), ("MLE", "BC is the same"), ("ES", "random search")]
)
def test_an_algorithm_of_another_library_is_answered_with_ours(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown name '{name}'; {said}"):
        load(None, [f"general_cfg.algo_name={name}"], find_algo=ALGOS, find_env=ENVS)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'https://me:secret@host/x' is no store", "'https://***@host/x' is no store"),
        ("s3://key:a/b and hf://token@user/name", "s3://key:a/b and hf://***@user/name"),
        ("hf://user/name@main, me@host:22", "hf://user/name@main, me@host:22"),
    ],
)
def test_a_message_repeats_no_password_of_a_url(text, shown):
    assert without_password(text) == shown


def test_a_refused_url_is_shown_without_its_password(capsys):
    for words in (["resume", "https://me:secret@host/run"], ["convert", "s3://me:secret@b/c", "new.npz"]):
        assert main(words) == 2
        assert "secret" not in "".join(capsys.readouterr())
