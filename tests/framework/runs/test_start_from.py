"""general_cfg.start_from: a new run begins with the weights of another one that fit."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import joystick
from framework.disk.checkpoints import CheckpointStore
from main import main

SMALL = "[{layer_type: linear, layer_size: [8], activation: tanh}]"


def run(*words: str) -> int:
    return main(["general_cfg.seed=1", "general_cfg.save_fig=false", "general_cfg.online_eval_episode=1", *words])


def a2c(name: str, *words: str, layers: str = SMALL) -> int:
    return run("--algo", "A2C", "--env", "CartPole-v1", "--into", f"tasks/{name}", "general_cfg.max_total_step=64",
               f"algo_cfg.actor_layers={layers}", f"algo_cfg.critic_layers={layers}", "env_cfg.n_envs=2",
               "algo_cfg.batch_size=16", *words)  # fmt: skip


def weights(name: str, model: int | str = "best") -> dict[str, Any]:
    return CheckpointStore(Path(f"tasks/{name}/models")).read(model, with_journal=False).tree["agent"]["networks"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_weights_of_the_same_name_and_shape_are_taken_and_the_others_are_named(capsys: Any) -> None:
    assert run("--algo", "REINFORCE", "--env", "CartPole-v1", "--into", "tasks/first", "general_cfg.max_episode=4",
               f"algo_cfg.actor_layers={SMALL}") == 0  # fmt: skip
    capsys.readouterr()
    assert a2c("second", "general_cfg.start_from=first", "algo_cfg.lr=1e-12") == 0
    assert "weights of tasks/first/models/best: networks.actor; new: networks.critic\n" in capsys.readouterr().out
    theirs, ours = weights("first"), weights("second")
    for key, value in theirs.items():
        np.testing.assert_allclose(ours[key], value, atol=1e-9)
    wide = SMALL.replace("8", "9")
    assert a2c("third", "general_cfg.start_from=second", "--dry-run", layers=wide) == 0
    shown = capsys.readouterr().out
    assert "networks.actor.2.bias" in shown.partition("new:")[0]
    assert "networks.actor.0.weight (8x4 there, 9x4 here)" in shown
    assert "; networks.actor, networks.critic: the layers differ from those there, and what is taken is of" in shown


@pytest.mark.parametrize(("word", "code"), [("algo_cfg.normalize_obs=true", 2), ("algo_cfg.normalize_obs=false", 0)])
def test_networks_that_differ_by_the_normalization_of_observations_say_so(word: str, code: int, capsys: Any) -> None:
    assert a2c("first", "algo_cfg.normalize_obs=false") == 0
    assert a2c("second", "general_cfg.start_from=first", "--dry-run", word) == code
    shown = "".join(capsys.readouterr())
    assert ("give both the same algo_cfg.normalize_obs" in shown) == (code == 2)


def test_an_algorithm_without_networks_says_so(capsys: Any) -> None:
    assert a2c("first") == 0
    words = ("--algo", "Expert", "--env", "mini", "--into", "tasks/second", "general_cfg.start_from=first")
    assert run(*words, "general_cfg.env_name=dialog") == 2
    assert "a shape of this run's: Expert has no networks" in capsys.readouterr().err


def test_a_run_that_is_resumed_keeps_its_own_weights(capsys: Any) -> None:
    assert a2c("first") == 0
    assert a2c("second", "general_cfg.start_from=first") == 0
    before = weights("second")
    assert main(["resume", "second", "general_cfg.max_total_step=128", "algo_cfg.lr=1e-12"]) == 0
    for key, value in weights("second").items():
        np.testing.assert_allclose(value, before[key], atol=1e-9)
    assert main(["resume", "second", "general_cfg.start_from=second"]) == 2
    assert "cannot change in a resumed run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "general_cfg.start_from: 'nowhere' does not exist"),
        (
            "first",
            "no weights of tasks/first/models/best have a name and a shape of this run's; here are network.0.weight",
        ),
    ],
)
def test_a_run_without_weights_that_fit_is_refused_before_there_is_a_folder(
    name: str, message: str, capsys: Any
) -> None:
    assert a2c("first") == 0
    words = ("--algo", "DQN", "--env", "CartPole-v1", "--into", "tasks/second", f"general_cfg.start_from={name}")
    assert run(*words) != 0
    assert message in capsys.readouterr().err
    assert not Path("tasks/second").exists()


class Cards(gymnasium.Env):
    """One step, with as many numbers to see as there are cards."""

    action_space = Discrete(2)

    def __init__(self, cards: int = 3) -> None:
        self.observation_space = Box(0, 9, (cards,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.uniform(4, 6, self.observation_space.shape).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.reset()[0], float(action), True, False, {}


class Table:
    """The same for two players, one of whom never acts."""

    possible_agents = ("a", "b")

    def __init__(self, cards: int = 3) -> None:
        self.space = Box(0, 9, (cards,))

    def observation_space(self, agent: str) -> Box:
        return self.space

    def action_space(self, agent: str) -> Discrete:
        return Discrete(2)

    def reset(self, seed: Any, options: Any) -> tuple[Any, Any]:
        seen = np.random.default_rng(seed).uniform(4, 6, self.space.shape).astype(np.float32)
        return {agent: seen for agent in "ab"}, {}

    def step(self, actions: Any) -> tuple[Any, ...]:
        return self.reset(0, None)[0], {"a": float(actions["a"])}, {"__all__": True}, {}, {}


def networks(env: Any, name: str, **words: Any) -> dict[str, Any]:
    """Trains a little, and returns the weights at the beginning."""
    general = {"max_total_step": 64, "online_eval": False, "save_fig": False, "seed": 1, **words.pop("general_cfg", {})}
    with joystick.Run(
        "PPO", env, general_cfg=general, algo_cfg={"normalize_obs": True}, into=f"tasks/{name}", **words
    ) as run:
        weights = {key: value.copy() for key, value in run.weights().items()}
        run.train()
    return weights


def test_the_count_of_moments_comes_with_them_alone() -> None:
    """With other observations they begin anew, and would pass for those of as many observations."""
    networks(Cards, "few")
    start = {"start_from": "few"}
    counts = [value for key, value in networks(Cards, "same", general_cfg=start).items() if key.endswith("count")]
    assert counts
    assert min(counts) > 0
    more = networks(Cards, "more", general_cfg=start, env_cfg={"cards": 4})
    assert [float(value) for key, value in more.items() if key.endswith("count")] == [0.0] * len(counts)


def test_each_policy_takes_what_fits_of_the_one_of_its_name(capsys: Any) -> None:
    policies = {"a": {"agents": "a"}, "b": {"agents": "b", "algo_name": "Random"}}
    networks(Table, "few", policies_cfg=policies)
    theirs = joystick.load("few", "latest").weights()
    same = networks(Table, "same", policies_cfg=policies, general_cfg={"start_from": "few"})
    assert all((same[key] == value).all() for key, value in theirs.items())
    new = {"a": {"agents": "a"}, "c": {"agents": "b"}}
    more = networks(Table, "more", policies_cfg=new, env_cfg={"cards": 4}, general_cfg={"start_from": "few"}, show=True)
    told = capsys.readouterr().out.replace("\n  ", " ")
    assert "policy a: weights of tasks/few/models/" in told
    assert "(64x3 there, 64x4 here)" in told
    assert "policy c: new: networks.actor, networks.critic" in told
    taken = [key for key, value in theirs.items() if key in more and more[key].shape == value.shape]
    assert any((more[key] == theirs[key]).all() for key in taken if key.startswith("a/"))
    with pytest.raises(joystick.ConfigError, match=r"policies_cfg.a.load: .* general_cfg.start_from in its place"):
        networks(Table, "load", policies_cfg={"a": {"agents": "*", "load": "few"}}, env_cfg={"cards": 4})


class Board(Table):
    """The same with a global state."""

    def state(self) -> Any:
        return np.full(self.space.shape, 5, np.float32)


def test_agents_without_policies_of_their_own_take_them_too_and_their_state_is_counted_anew() -> None:
    """COMA keeps the moments of the state beside its networks."""
    general = {"max_total_step": 64, "online_eval": False, "save_fig": False, "seed": 1}
    algo = {"normalize_obs": True, "batch_size": 32, "sgd_batch_size": 32}
    counts = []
    for name, cards, start in (("few", 3, {}), ("same", 3, {"start_from": "few"}), ("more", 4, {"start_from": "few"})):
        words: Any = {"general_cfg": general | start, "algo_cfg": algo, "env_cfg": {"cards": cards}}
        with joystick.Run("COMA", Board, into=f"tasks/{name}", **words) as run:
            counts.append(float(run.agent.by_policy()["default"].state_normalizer.moments.count))  # type: ignore[attr-defined]
            run.train()
    assert counts == [0.0, 64.0, 0.0]


def test_layers_that_a_new_policy_shares_are_those_that_were_taken() -> None:
    layers = [{"layer_type": "linear", "layer_size": [6], "shared": "trunk"}]
    policy = {"actor_layers": layers, "normalize_obs": False}
    networks(Table, "few", policies_cfg={"a": {"agents": "a", **policy}, "b": {"agents": "b", "algo_name": "Random"}})
    theirs = joystick.load("few", "latest").weights()
    both = {"a": {"agents": "a", **policy}, "c": {"agents": "b", **policy}}
    now = networks(Table, "more", policies_cfg=both, general_cfg={"start_from": "few"})
    assert theirs
    assert all((now[key] == value).all() for key, value in theirs.items())
