"""Learning from given data: the memory, the phases of a run, exact resume, and what is refused."""

import contextlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import algos
import joystick
from algos.base import EnvSpec
from algos.bc.agent import cloning_loss, squared_error
from algos.dqn.agent import conservatism
from algos.iql.agent import expectile_loss, weighted_cloning_loss
from algos.sac.losses import conservatism as sac_conservatism
from algos.td3.agent import cloning_loss as td3_loss
from config.model.memory_spec import DataSpec, ReplaySpec
from config.read.loader import ConfigError, RunConfig, load
from envs import vector_of as env_of
from framework.assemble import resources
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Fragment, Origin
from framework.commands.work import entry
from framework.disk.csv_table import read_csv
from framework.errors import JoystickError
from framework.jobs import many_runs
from framework.memory.offline_data import select_data
from framework.memory.offline_replay import OfflineReplay, _joined
from framework.runs import experiment, resume
from framework.seeding import stream
from tests.tools.paths import in_the_suite

UNIT = np.float32(0.005)
SMALL = {"layer_type": "linear", "layer_size": [8]}


def write(path: Path, returns: list[float], length: int = 4, obs: int = 4, actions: Any = None) -> Path:
    """Writes an episode for each return. Observations count the transitions, in units of UNIT."""
    total = len(returns) * length
    rng = np.random.default_rng(1)
    reward = np.zeros(total, np.float32)
    reward[length - 1 :: length] = returns
    terminals = np.arange(total) % length == length - 1
    count = np.arange(total, dtype=np.float32)[:, None] + np.zeros(obs, np.float32)
    action = rng.integers(2, size=total) if actions is None else actions(total)
    obs_of = {"observations": UNIT * count, "next_observations": UNIT * (count + 1)}
    np.savez(path, **obs_of, actions=action, rewards=reward, terminals=terminals)
    return path


def test_a_run_says_what_was_seen_in_its_data(tmp_path: Path) -> None:
    """Of many files, which may all lack the same, the first ones."""
    for number in range(5):
        with np.load(write(tmp_path / f"{number}.npz", [1, 2])) as file:
            columns = {name: column[:-1] for name, column in file.items()}
        np.savez(tmp_path / f"{number}.npz", **columns)
    small = {"save_fig": False, "max_update": 2, "seed": 1}
    settings = {"data": f"{tmp_path}/*.npz", "batch_size": 8, "actor_layers": [SMALL], "data_top": 0.5}
    with joystick.Run("BC", "CartPole-v1", into=tmp_path / "run", general_cfg=small, algo_cfg=settings) as run:
        run.train()
    log = (tmp_path / "run/logs/log.txt").read_text(encoding="utf-8")
    assert log.count("the last step of 1 episode counts as truncated: ") == log.count("algo_cfg.data: ") - 2 == 3
    assert "algo_cfg.data: 2 more notes of this kind" in log
    assert "algo_cfg.data: learns from 5 of 10 episodes, 20 of 35 transitions" in log


def spec_of(env: str = "CartPole-v1") -> EnvSpec:
    rows = env_of(env)
    return EnvSpec(env, rows.observation_space, rows.action_space, 1)


def stored(
    path: Path,
    updates: int = -1,
    share: float = 0.5,
    to_go: bool = False,
    return_limit: float | None = None,
    **settings: Any,
) -> OfflineReplay:
    data = DataSpec((str(path),), updates=updates, share=share, **settings)
    spec = ReplaySpec(
        capacity=100,
        batch_size=8,
        warmup=0,
        updates_per_step=1.0,
        gamma=0.5,
        n_step=2,
        data=data,
        to_go=to_go,
        return_limit=return_limit,
    )
    return OfflineReplay(spec, stream(1, "memory"), stream(1, "memory/data"), select_data(data, spec_of(), 1), most=4)


# the memory -----------------------------------------------------------------------------------------------


def test_minibatches_come_from_the_data_with_n_step_returns(tmp_path: Path) -> None:
    memory = stored(write(tmp_path / "a.npz", [1.0, 3.0]))
    chunk = memory.take(0.0)
    assert chunk is not None
    assert chunk.columns["obs"].shape == (4, 8, 4)
    place = np.round(chunk.columns["obs"][..., 0] / UNIT)
    end = place % 4 == 3
    before = place % 4 == 2
    value = np.where(place < 4, 1.0, 3.0)
    assert np.array_equal(chunk.columns["reward"], np.where(end, value, np.where(before, 0.5 * value, 0)))
    assert np.array_equal(chunk.columns["discount"], np.where(end | before, 0, 0.25).astype(np.float32))


@pytest.mark.parametrize(("top", "fraction", "kept"), [(0.5, 1.0, {3, 4}), (1.0, 0.5, None), (0.25, 1.0, {4})])
def test_the_best_share_of_the_episodes_and_a_random_one(
    tmp_path: Path, top: float, fraction: float, kept: set[int] | None
) -> None:
    memory = stored(write(tmp_path / "a.npz", [1.0, 3.0, 2.0, 4.0]), top=top, fraction=fraction)
    rewards = {int(x) for x in memory.data._rings.flat["reward"][: memory.data.size] if x}
    assert rewards == kept if kept else len(rewards) == 2


@pytest.mark.parametrize(("share", "given"), [(0.25, 2), (0.0, 0), (0.05, 1), (0.97, 7), (1.0, 8)])
def test_updates_from_the_data_come_first_and_then_a_share_of_each_minibatch(
    tmp_path: Path, share: float, given: int
) -> None:
    """A share that is neither 0 nor 1 is of both, however small a minibatch is: here 8."""
    memory = stored(write(tmp_path / "a.npz", [1.0, 3.0]), updates=6, share=share)
    assert memory.offline
    sizes = [len(memory.take(0.0).columns["reward"]) for _ in range(2)]
    assert sizes == [4, 2]
    assert not memory.offline
    assert memory.take(0.0) is None
    steps = 5
    columns = {
        "obs": np.full((steps, 1, 4), -0.1, np.float32), "next_obs": np.full((steps, 1, 4), -0.1, np.float32),
        "action": np.zeros((steps, 1), np.int64), "reward": np.zeros((steps, 1), np.float32),
        "terminated": np.zeros((steps, 1), bool), "truncated": np.zeros((steps, 1), bool),
    }  # fmt: skip
    memory.add(Fragment(columns, {"state": None, "first": np.ones(1, bool)}, Origin()))
    chunk = memory.take(0.0)
    assert (chunk.columns["obs"][..., 0] >= 0).sum(1).tolist() == [given] * len(chunk.columns["obs"])


def test_state_holds_the_sum_of_the_data_and_not_the_data(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", [1.0, 3.0])
    memory = stored(path)
    memory.take(0.0)
    state = memory.state()
    assert state["sha256"] == memory.sha256
    again = stored(path)
    again.load_state(state, ())
    assert np.array_equal(again.take(0.0).columns["obs"], memory.take(0.0).columns["obs"])
    other = stored(write(tmp_path / "b.npz", [1.0, 2.0]))
    with pytest.raises(JoystickError, match="have changed since the checkpoint"):
        other.load_state(state, ())


def test_episodes_that_are_held_out_are_in_no_minibatch_and_make_one_of_their_own(tmp_path: Path) -> None:
    data = write(tmp_path / "a.npz", [1.0, 3.0, 2.0, 4.0, 5.0])
    memory = stored(data, held_out=0.4)
    rewards = {int(x) for x in memory.data._rings.flat["reward"][: memory.data.size] if x}
    assert memory.held_out is not None
    kept = memory.held_out.columns
    # with n_step 2 and gamma 0.5 the last two steps of an episode see its return, or half of it
    held_out = {1.0, 2.0, 3.0, 4.0, 5.0} - rewards
    assert {float(x) for x in kept["reward"].flat if x} <= held_out | {x / 2 for x in held_out}
    assert len(rewards) == 3
    assert kept["reward"].shape == (1, 8)
    again = stored(data, held_out=0.4).held_out
    assert again is not None
    assert np.array_equal(again.columns["obs"], kept["obs"])
    with pytest.raises(JoystickError, match="leaves none to learn from"):
        stored(data, held_out=0.95)


# losses ---------------------------------------------------------------------------------------------------


def test_the_losses_have_the_numbers_of_their_equations() -> None:
    t = torch.tensor
    assert cloning_loss(t([-1.0, -3.0]), t([0.5, 1.5]), 0.1).item() == pytest.approx(2 - 0.1)
    assert squared_error(t([[1.0, 0.0]]), t([[0.0, 2.0]])).item() == pytest.approx(2.5)
    # expectile 0.7: 0.7 * 1 for u = 1, 0.3 * 4 for u = -2
    assert expectile_loss(t([1.0, -2.0]), 0.7).item() == pytest.approx((0.7 + 1.2) / 2)
    # weights exp(2 * 0) = 1 and min(exp(2 * 5), 100) = 100
    assert weighted_cloning_loss(t([-1.0, -0.5]), t([0.0, 5.0]), 2.0, 100.0).item() == pytest.approx((1 + 50) / 2)
    # log(e^0 + e^0) - 0 = log 2, and log(e^1 + e^3) - 3
    expected = (np.log(2) + np.log(np.e + np.e**3) - 3) / 2
    assert conservatism(t([[0.0, 0.0], [1.0, 3.0]]), t([0, 1])).item() == pytest.approx(expected)
    # the second action of the first state and the first one of the second are illegal: log e^0 - 0 and log e^3 - 3
    mask = t([[True, False], [False, True]])
    assert conservatism(t([[0.0, 5.0], [9.0, 3.0]]), t([0, 1]), mask).item() == pytest.approx(0.0)
    # lambda = 2 / mean |Q| = 2 / 3; -2/3 * mean(4, 2) + mean of squares (1, 0)
    loss = td3_loss(t([[4.0, 2.0]]), t([[1.0], [0.0]]), t([[0.0], [0.0]]), 2.0)
    assert loss.item() == pytest.approx(-2 / 3 * 3 + 0.5)
    # two uniform actions in [-1, 1]^1 have the density 1/2: log mean(e^1 / .5, e^3 / .5) - 2
    values, density = t([[[1.0], [3.0]]]), torch.full((2, 1), -np.log(2))
    expected = np.log((2 * np.e + 2 * np.e**3) / 2) - 2
    assert sac_conservatism(values, density, t([[2.0]])).item() == pytest.approx(expected)


# runs -----------------------------------------------------------------------------------------------------


def run_of(
    tmp_path: Path, algo: str, name: str, data: Path, updates: int = 60, steps: int = -1, env: str = "",
    general: dict[str, Any] | None = None, **algo_cfg: Any,
) -> joystick.Run:  # fmt: skip
    env = env or ("CartPole-v1" if "Discrete" in algos.get(algo).Config.ACTION_SPACES else "Pendulum-v1")
    fields = algos.get(algo).Config.model_fields
    layers = {key: [SMALL] for key in fields if key.endswith("_layers")}
    usual = {"online_eval": True, "online_eval_episode": 2, "model_save_fre": 20, "max_step": 20, "save_fig": False}
    limits = {"max_update": updates, "iteration_steps": 20, "max_total_step": steps, "reward_threshold": None}
    return joystick.Run(
        algo, env, seed=1, into=tmp_path / name, general_cfg=usual | limits | (general or {}),
        algo_cfg={"data": str(data), "batch_size": 8, **layers, **algo_cfg},
    )  # fmt: skip


def data_for(tmp_path: Path, algo: str) -> Path:
    if "Discrete" in algos.get(algo).Config.ACTION_SPACES:
        return write(tmp_path / "data.npz", [1.0] * 20)
    actions = np.random.default_rng(2).uniform(-2, 2, (80, 1)).astype(np.float32)
    return write(tmp_path / "data.npz", [1.0] * 20, obs=3, actions=lambda total: actions)


@pytest.mark.parametrize("algo", algos.offline())
def test_every_algorithm_learns_and_is_resumed_to_the_bit(tmp_path: Path, algo: str) -> None:
    data, weights = data_for(tmp_path, algo), []
    with run_of(tmp_path, algo, "whole", data, updates=40) as run:
        first = run.weights()
        run.train()
        shutil.copytree(tmp_path / "whole", tmp_path / "cut")
        result = run.train()
        assert (result["step"], result["update"], result["iteration"]) == (0, 40, 2)
        assert all(np.isfinite(value) for value in result["metrics"].values())
        weights.append(run.weights())
    assert any(not np.array_equal(first[name], value) for name, value in weights[0].items())
    with joystick.Run.resume(tmp_path / "cut") as run:
        assert run.count.update == 20
        run.train()
        weights.append(run.weights())
    assert all(np.array_equal(weights[0][name], value) for name, value in weights[1].items())
    for file in ("eval.csv", "progress.csv", "train.csv"):
        whole, cut = ((tmp_path / name / "results" / file).read_bytes() for name in ("whole", "cut"))
        assert whole == cut


def test_a_resume_ends_at_its_higher_limit(tmp_path: Path) -> None:
    """A chunk divides the limit: one of 40 that began at 20 would end at 60."""
    often = {"model_save_fre": 40, "iteration_steps": 1000}
    with run_of(tmp_path, "BC", "run", data_for(tmp_path, "BC"), updates=20, general=often) as run:
        run.train()
    with joystick.Run.resume(tmp_path / "run", ["general_cfg.max_update=40"]) as run:
        assert run.train()["update"] == 40


def test_a_resume_with_other_data_is_refused(tmp_path: Path) -> None:
    data = data_for(tmp_path, "BC")
    with run_of(tmp_path, "BC", "run", data) as run:
        run.train()
    write(data, [2.0] * 20)
    with pytest.raises(JoystickError, match="have changed since the checkpoint"):
        joystick.Run.resume(tmp_path / "run")


def test_a_resume_takes_the_same_data_from_another_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, other = data_for(tmp_path, "BC"), write(tmp_path / "other.npz", [2.0] * 20)
    monkeypatch.chdir(tmp_path)
    with run_of(tmp_path, "BC", "run", Path("data.npz")) as run:
        run.train()
    moved = data.rename(tmp_path / "moved.npz")
    advice = "data.npz does not exist; a resume takes the same data from another path: algo_cfg.data=PATH"
    with pytest.raises(JoystickError, match=advice):
        joystick.Run.resume(tmp_path / "run")
    with pytest.raises(JoystickError, match="have changed since the checkpoint"):
        joystick.Run.resume(tmp_path / "run", [f"algo_cfg.data={other}"])
    with joystick.Run.resume(tmp_path / "run", [f"algo_cfg.data={moved}"]):
        resumed = json.loads((tmp_path / "run/run.json").read_text())["resumes"][-1]
        assert (resumed["changed"], resumed["exact"]) == ([f"algo_cfg.data: data.npz -> {moved}"], True)
    joystick.Run.resume(tmp_path / "run").close()


def test_a_run_neither_begins_nor_ceases_to_have_data_in_a_resume(tmp_path: Path) -> None:
    data = data_for(tmp_path, "DQN")
    few = {"max_total_step": 20, "max_update": -1, "max_step": 10, "save_fig": False}
    for name, before, now in (("without", None, data), ("with", data, None)):
        algo_cfg = {"data": None if before is None else str(before), "batch_size": 8, "offline_updates": None}
        with joystick.Run("DQN", "CartPole-v1", into=tmp_path / name, general_cfg=few, algo_cfg=algo_cfg) as run:
            run.train()
        words = f"algo_cfg.data={'null' if now is None else now}"
        with pytest.raises(ConfigError, match="cannot change in a resumed run"):
            joystick.Run.resume(tmp_path / name, [words])


def test_a_run_of_cql_that_backed_up_the_entropy_goes_on_only_if_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before entropy_backup was a setting, CQL did."""

    def older(settings: Any) -> dict[str, Any]:
        sections = resume.plain(settings)
        del sections["algo_cfg"]["entropy_backup"]
        return sections

    with monkeypatch.context() as patch:
        patch.setattr(experiment, "plain", older)
        with run_of(tmp_path, "CQL", "run", data_for(tmp_path, "CQL"), entropy_backup=True) as run:
            run.train()
    config = tmp_path / "run/config.yaml"
    lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
    config.write_text("".join(line for line in lines if "entropy_backup" not in line), encoding="utf-8")
    said = r"entropy_backup: True -> False: the run began before .*; algo_cfg\.entropy_backup=true goes on as it began"
    with pytest.raises(ConfigError, match=said):
        joystick.Run.resume(tmp_path / "run")
    with joystick.Run.resume(tmp_path / "run", ["algo_cfg.entropy_backup=true"]) as run:
        assert run.train()["update"] == 40


@pytest.mark.parametrize(("algo", "updates"), [("IQL", 40), ("IQL", 39), ("DAgger", 40)])
def test_a_run_that_would_end_before_it_collects_is_refused(tmp_path: Path, algo: str, updates: int) -> None:
    data, of = data_for(tmp_path, "IQL"), {"expert": f"{__name__}:data_for"} if algo == "DAgger" else {}
    said = (
        f"general_cfg.max_update: {updates} updates are over before the run collects: algo_cfg.offline_updates is 40; "
        "set a higher max_update, or limit the run by max_total_step or max_episode alone"
    )
    with pytest.raises(ConfigError, match=re.escape(said)):
        run_of(tmp_path, algo, "run", data, updates=updates, steps=200, offline_updates=40, **of)
    assert not (tmp_path / "run").exists()


def test_without_a_limit_a_run_that_collects_after_its_data_has_the_usual_one(tmp_path: Path) -> None:
    """A limit of as many updates as come before the first step would end it there."""
    words = ["algo_cfg.offline_updates=40", f"algo_cfg.data={data_for(tmp_path, 'IQL')}", "general_cfg.algo_name=IQL"]
    config = load(None, [*words, "general_cfg.preset=null", "env_cfg.id=Pendulum-v1"], find_algo=ALGOS, find_env=ENVS)
    assert (config.general.max_update, config.general.max_episode) == (-1, 100)
    alone = load(
        None, [*words[1:], "general_cfg.preset=null", "env_cfg.id=Pendulum-v1"], find_algo=ALGOS, find_env=ENVS
    )
    assert (alone.general.max_update, alone.general.max_episode) == (10_000, -1)


ONLINE = ["DQN", "AWAC", "BCQ", "DiscreteBCQ", "ReBRAC", "CalQL", "FQL"]


@pytest.mark.parametrize("algo", in_the_suite(ONLINE, "DQN", "AWAC", "CalQL"))
def test_after_the_updates_from_the_data_the_run_collects(tmp_path: Path, algo: str) -> None:
    data = data_for(tmp_path, algo)
    with run_of(
        tmp_path, algo, "run", data, updates=-1, steps=200, offline_updates=40, train_fre=1, updates_per_train=1,
        learning_starts=0,
    ) as run:  # fmt: skip
        results = [run.train() for _ in range(4)]
    assert [(each["update"], each["step"]) for each in results[:2]] == [(20, 0), (40, 0)]
    assert results[2]["step"] == 20
    assert results[3]["step"] == 40
    assert results[3]["update"] > 40
    evaluations = read_csv(tmp_path / "run" / "results" / "eval.csv")
    assert [int(row["update"]) for row in evaluations][:2] == [20, 40]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"data": None}, "data: is required"),
        ({"data": "missing.npz"}, "missing.npz"),
        ({"data": "x.npz", "data_top": 0.0}, "data_top"),
    ],
)
def test_data_that_are_missing_are_said(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises((ConfigError, JoystickError), match=words):
        joystick.Run("BC", "CartPole-v1", into=tmp_path / "run", algo_cfg=settings)
    assert not (tmp_path / "run").exists()


def test_several_runs_without_their_data_are_refused_before_anything_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    overrides = ["general_cfg.algo_name=BC", "env_cfg.id=CartPole-v1", "algo_cfg.data=nowhere"]
    config = load(None, overrides, find_algo=ALGOS, find_env=ENVS)

    def begun(configs: dict[str, RunConfig], title: str) -> int:
        return entry.guarded(lambda: many_runs.begin(configs, title, [], (1, 2), None, entry.check_training)[1])

    assert begun({"": config}, "") == 2
    assert begun({"A": config, "B": config}, "two") == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: algo_cfg.data: nowhere does not exist; docs/offline.md says how such data is made",
        "error: A: algo_cfg.data: nowhere does not exist; docs/offline.md says how such data is made",
        "B: algo_cfg.data: nowhere does not exist; docs/offline.md says how such data is made",
    ]
    assert not list(tmp_path.iterdir())


def test_limits_of_what_is_collected_are_refused_when_nothing_is(tmp_path: Path) -> None:
    data = data_for(tmp_path, "BC")
    with pytest.raises(ConfigError, match="max_total_step: counts what is collected"):
        joystick.Run("BC", "CartPole-v1", algo_cfg={"data": str(data)}, general_cfg={"max_total_step": 100})


def test_without_a_limit_the_number_of_updates_is_said(tmp_path: Path) -> None:
    data = data_for(tmp_path, "BC")
    run = joystick.Run("BC", "Acrobot-v1", into=tmp_path / "run", algo_cfg={"data": str(write(data, [1.0], obs=6))})
    with run:
        assert run.config.general.max_update == 10_000
        assert "no limit is set: max_update is 10,000" in run.config.notes


def test_data_of_another_environment_are_refused(tmp_path: Path) -> None:
    data = data_for(tmp_path, "BC")
    with pytest.raises(JoystickError, match=r"algo_cfg\.data: .*obs"):
        joystick.Run("BC", "Acrobot-v1", into=tmp_path / "run", algo_cfg={"data": str(data)})


def test_prioritised_sampling_from_given_data_is_refused() -> None:
    with pytest.raises(ConfigError, match="PER does not sample from given data"):
        joystick.Run("DQN", "CartPole-v1", algo_cfg={"data": "x.npz", "buffer_type": "PER"})


def test_data_are_for_a_single_agent_and_for_runs() -> None:
    several = {"general_cfg": {"env_name": "toy"}, "env_cfg": {"id": "poles"}, "algo_cfg": {"data": "x.npz"}}
    with pytest.raises(ConfigError, match="data: is for a single agent"):
        joystick.Run("DQN", **several)
    with pytest.raises(ConfigError, match="data: is for a run"):
        joystick.policy("DQN", "CartPole-v1", data="x.npz")


def test_data_that_are_larger_than_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources.machine, "available_bytes", lambda: 2000)
    monkeypatch.setattr(resources, "kept_bytes", lambda config, policy: 20)
    resources.data_that_fit(None, None, 100)
    with pytest.raises(JoystickError, match=r"101 transitions need .* data_top and data_fraction"):
        resources.data_that_fit(None, None, 101)


@pytest.mark.parametrize(
    "algo",
    in_the_suite(
        ["BC", "IQL", "DiscreteCQL", "BCQ", "DecisionTransformer", "ReBRAC", "CalQL", "FQL"],
        "BC",
        "IQL",
        "DiscreteCQL",
        "ReBRAC",
    ),
)
def test_losses_on_data_held_out_are_columns_and_change_nothing(tmp_path: Path, algo: str) -> None:
    data = data_for(tmp_path, algo)
    with run_of(tmp_path, algo, "plain", data, data_fraction=1.0) as plain:
        chosen = plain.weights()
        plain.train()
    with run_of(tmp_path, algo, "run", data, data_held_out=0.5) as run:
        assert all(np.array_equal(chosen[name], value) for name, value in run.weights().items())
        streams = []
        for _ in range(2):
            run.train()
            experiment = run._experiment
            before, random = run.weights(), experiment.backend.agent.state()["learn"]
            experiment.backend.validate(experiment.trainer.counter.progress)
            streams.append(random == experiment.backend.agent.state()["learn"])
            assert all(np.array_equal(before[name], value) for name, value in run.weights().items())
        assert streams == [True, True]
    with joystick.Run.resume(tmp_path / "run") as run:
        run.train()
    rows = read_csv(tmp_path / "run/results/progress.csv")
    names = [f"validation_{name}" for name in run._experiment.backend.agent.METRICS]
    assert all(np.isfinite(row[name]) for row in rows for name in names)
    assert len({row[names[0]] for row in rows}) == 3
    assert "validation" not in (tmp_path / "plain/results/progress.csv").read_text()


def test_the_last_iteration_has_losses_on_data_held_out_though_it_is_shorter(tmp_path: Path) -> None:
    words = {"data": data_for(tmp_path, "BC"), "data_held_out": 0.5}
    with run_of(tmp_path, "BC", "run", **words) as run:
        limit = run.config.general.max_update
        while not run.train(limit - limit // 3)["done"]:
            pass
    rows = read_csv(tmp_path / "run/results/progress.csv")
    assert [row["update"] for row in rows] == [limit - limit // 3, limit]
    assert all(np.isfinite(row["validation_loss"]) for row in rows)


def test_a_loss_on_data_held_out_is_that_of_an_update_from_them(tmp_path: Path) -> None:
    with run_of(tmp_path, "BC", "run", data_for(tmp_path, "BC"), data_held_out=0.5) as run:
        result = run.train()
        agent, chunk = run._experiment.backend.agent, run._experiment.backend.memory.held_out
        batch = {name: torch.from_numpy(value[0]) for name, value in chunk.columns.items()}
        assert agent.update(batch).metrics["loss"].item() == result["metrics"]["validation_loss"]


def test_the_length_of_a_run_in_passes_over_the_data(tmp_path: Path) -> None:
    """80 transitions, of which 3 of 4 are used, in minibatches of 8: 2 passes are 15 updates, and 3 are 23."""
    data = data_for(tmp_path, "BC")
    epochs = {"updates": -1, "data_fraction": 0.75}
    with run_of(tmp_path, "BC", "run", data, data_epochs=2, **epochs) as run:
        while not (result := run.train())["done"]:
            pass
        assert (result["update"], result["reason"]) == (15, "max_update 15 reached")
    with joystick.Run.resume(tmp_path / "run", ["algo_cfg.data_epochs=3"]) as run:
        while not (result := run.train())["done"]:
            pass
        assert result["update"] == 23
    with pytest.raises(ConfigError, match="collects after offline_updates"):
        run_of(tmp_path, "IQL", "online", data_for(tmp_path, "IQL"), data_epochs=2, offline_updates=5)


def test_a_written_number_of_updates_counts_and_not_the_passes_of_a_preset() -> None:
    def config(*settings: str) -> RunConfig:
        return load(None, settings, find_algo=ALGOS, find_env=ENVS, algo="BC", env="town")

    updates = config("general_cfg.max_update=100")
    assert (updates.general.max_update, updates.algo.data_epochs) == (100, None)
    [note] = [note for note in updates.notes if note.startswith("not used, since ")]
    assert note.startswith("not used, since max_update is written: data_epochs 40 (")
    both = config("general_cfg.max_update=100", "algo_cfg.data_epochs=3")
    assert both.algo.data_epochs == 3
    assert "max_update becomes that of data_epochs: 3" in both.notes
    assert config("general_cfg.max_time=100").algo.data_epochs == 40


# collecting -----------------------------------------------------------------------------------------------


def test_a_test_collects_the_episodes_that_count_and_explores_if_asked_to(tmp_path: Path) -> None:
    """After 300 of 400 steps of decay a quarter of the actions is random, half of which are the greedy one; at step 0
    all were random."""
    from main import main

    task, limits = str(tmp_path / "run"), ["general_cfg.max_total_step=300", "general_cfg.max_step=20"]
    exploring = ["algo_cfg.epsilon_start=1.0", "algo_cfg.epsilon_end=0.0", "algo_cfg.epsilon_schedule=linear",
                 "algo_cfg.epsilon_decay=400", "algo_cfg.train_fre=1"]  # fmt: skip
    small = ["algo_cfg.value_layers=[{layer_type: linear, layer_size: [4]}]", "general_cfg.seed=1"]
    assert main(["--env", "CartPole-v1", "--into", task, *limits, *exploring, *small]) == 0
    shares = {}
    for explore in ("false", "true"):
        into = tmp_path / f"explore_{explore}"
        words = ["general_cfg.collect_traj=true", f"general_cfg.explore={explore}", "general_cfg.collect_format=npz"]
        assert main(["test", task, "--episodes", "12", "--into", str(into), *words]) == 0
        written, tested = np.load(into / "results/trajs_0.npz"), list(read_csv(into / "results/test.csv"))
        assert sorted(np.diff(np.flatnonzero(written["terminals"] | written["timeouts"]), prepend=-1)) == sorted(
            row["length"] for row in tested
        )
        shares[explore] = min(written["actions"].mean(), 1 - written["actions"].mean())
    assert shares["false"] < 0.02
    assert 0.02 < shares["true"] < 0.3


def test_exploration_after_data_alone_is_that_of_the_end_of_its_schedules(tmp_path: Path) -> None:
    """No step is ever made that would end random actions: without it, evaluations that explore were random."""
    data, quiet = data_for(tmp_path, "DiscreteCQL"), {"epsilon_start": 1.0, "epsilon_end": 0.0}
    with run_of(tmp_path, "DiscreteCQL", "run", data, general={"explore": True}, **quiet) as run:
        run.train()
        exploring = run.evaluate(5)["returns"]
    with joystick.Run.resume(tmp_path / "run") as run:
        assert run._experiment.trainer.exploration().step == sys.maxsize
        assert run.evaluate(5)["returns"] == exploring
        obs = np.zeros((50, 4), np.float32)
        drawn = run.agent.sample_action(obs, None, run._experiment.trainer.exploration(), np.random.default_rng(0))
        assert len(set(drawn.action.tolist())) == 1


# with Ray -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("algo", "steps"), [("IQL", -1), ("IQL", 120)])
def test_with_ray_in_lockstep_the_weights_are_those_of_one_process(
    tmp_path: Path, algo: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From data alone, and from data first and online afterwards; the second with a resume between the two."""
    from framework.distributed import launch
    from tests.tools.fake_ray import FakeRay

    monkeypatch.setattr(launch.ray_cluster, "started", lambda *given: contextlib.nullcontext(FakeRay()))
    data, weights = data_for(tmp_path, algo), []
    online = {"offline_updates": 40, "updates": -1} if steps > 0 else {}
    for name, backend in (("single", {}), ("ray", {"mp_backend": "ray", "run_ahead": 0})):
        with run_of(tmp_path, algo, name, data, steps=steps, general=backend, **online) as run:
            run.train()
        with joystick.Run.resume(tmp_path / name) as run:
            while not run.train()["done"]:
                pass
            weights.append(run.weights())
            assert run.count.update >= 60
    assert all(np.array_equal(weights[0][name], value) for name, value in weights[1].items())


def test_with_ray_and_workers_ahead_every_update_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from framework.distributed import launch
    from tests.tools.fake_ray import FakeRay

    monkeypatch.setattr(launch.ray_cluster, "started", lambda *given: contextlib.nullcontext(FakeRay()))
    with run_of(tmp_path, "BC", "run", data_for(tmp_path, "BC"), general={"mp_backend": "ray"}) as run:
        while not (result := run.train())["done"]:
            pass
        assert (result["step"], result["update"]) == (0, 60)


def test_the_state_of_a_noise_is_no_part_of_mixed_single_steps():
    """A noise that goes on, such as ou, puts its state beside collected steps; given data have none."""
    fresh = {"reward": np.zeros((1, 2), np.float32), "state": np.zeros((1, 2, 3), np.float32)}
    joined = _joined(fresh, {"reward": np.ones((1, 1), np.float32), "action": np.zeros((1, 1))}, 1)
    assert {name: column.tolist() for name, column in joined.items()} == {"reward": [[0.0, 0.0, 1.0]]}


def test_dummy_steps_in_collected_sequences_stay_such_beside_given_data():
    """Given data have no dummy steps."""
    fresh = {"reward": np.zeros((1, 3, 1), np.float32), "valid": np.array([[[True], [False], [True]]])}
    given = {"reward": np.ones((1, 3, 2), np.float32), "action": np.zeros((1, 3, 2))}
    joined = _joined(fresh, given, 3)
    assert joined["valid"].tolist() == [[[True, True, True], [False, True, True], [True, True, True]]]


@pytest.mark.parametrize("updates", [0, 4])
def test_given_observations_count_in_statistics_once_whenever_the_run_collects(tmp_path: Path, updates: int) -> None:
    data = DataSpec((str(write(tmp_path / "a.npz", [1.0, 3.0])),), updates=updates)
    spec = ReplaySpec(capacity=100, batch_size=8, warmup=0, updates_per_step=1.0, statistics=True, data=data)
    memory = OfflineReplay(spec, stream(1, "memory"), stream(1, "data"), select_data(data, spec_of(), 1), most=4)
    arrived = [memory.take(0.0).arrived["obs"]] if updates else []
    for _ in range(2):
        obs = np.full((2, 1, 4), -1, np.float32)
        columns = {
            "obs": obs, "next_obs": obs, "action": np.zeros((2, 1), np.int64), "reward": np.zeros((2, 1), np.float32),
            "terminated": np.zeros((2, 1), bool), "truncated": np.zeros((2, 1), bool),
        }  # fmt: skip
        memory.add(Fragment(columns, {"state": None, "first": np.ones(1, bool)}, Origin()))
        arrived.append(memory.take(0.0).arrived["obs"])
    seen = np.concatenate(arrived)[:, 0]
    assert sorted(np.round(seen / UNIT).tolist()) == [-200.0] * 4 + list(range(8))
