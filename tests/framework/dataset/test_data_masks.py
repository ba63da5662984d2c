"""Action masks in data: in every format, from the recorders to the targets of the algorithms that learn from them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import algos
import joystick
from algos.base import Agent, EnvSpec, Progress
from config.model.layers import mlp
from config.model.memory_spec import DataSpec, ReplaySpec
from config.read.loader import RunConfig, load
from envs import toy
from envs.toy import env as toy_env
from framework.assemble.build import env_spec
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Fragment, Origin
from framework.dataset import open_data
from framework.dataset.convert import convert
from framework.dataset.fit import problems
from framework.dataset.trajectories import MASKS, TrajectoryWriter, read
from framework.dataset.writers import episode_writer
from framework.errors import DataError, JoystickError
from framework.loop.learner import AgentLearner
from framework.memory.offline_data import select_data
from framework.memory.offline_replay import OfflineReplay
from framework.seeding import stream
from main import main
from tests.framework.dataset.test_collect_format import FORMS
from tests.framework.record.test_traces import killed_after
from tests.tools.core import agent_of
from tests.tools.dataset import episode, flat, jsonl, recorded
from tests.tools.distributed import Run as Cluster
from tests.tools.distributed import config_of, fake_rays, local, remote
from tests.tools.fake_ray import FakeRay
from tests.tools.paths import in_the_suite

Columns = dict[str, np.ndarray]


def masked_episode(length: int, start: float = 0.0, ended: bool = True) -> Columns:
    """An episode of which each action is legal, and of the two others the one that the number of the state says."""
    steps = np.arange(length + 1)
    mask = np.zeros((length + 1, 3), bool)
    mask[steps, steps % 2] = mask[steps, (steps + int(start)) % 3] = True
    mask[-1] = True
    return {**episode(length, start, ended), "action_mask": mask[:-1], "next_action_mask": mask[1:]}


EPISODES = [masked_episode(3), masked_episode(4, 10, ended=False), masked_episode(2, 20)]


def all_of(data: Any) -> Columns:
    pieces = list(data.pieces())
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def check(data: Any, *episodes: Columns) -> None:
    found, expected = all_of(data), flat(*(episodes or EPISODES))
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    assert {found[name].dtype for name in MASKS} == {np.dtype(bool)}


def recorded_in(folder: Path, form: str = "pkl", episodes: list[Columns] = EPISODES) -> Path:
    writer = episode_writer(form, folder)  # type: ignore[arg-type]
    for each in episodes:
        writer.add(recorded(each))
    writer.close()
    return folder


# the files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_what_is_collected_with_masks_has_them_in_every_format(tmp_path: Path, form: str) -> None:
    check(open_data(recorded_in(tmp_path, form)))


@pytest.mark.parametrize("ending", [".pkl", ".npz", ".jsonl", ".jsonl.gz", ".minari"])
def test_a_conversion_keeps_them(tmp_path: Path, ending: str) -> None:
    if ending == ".minari":
        pytest.importorskip("minari")
        pytest.importorskip("h5py")
    convert(str(recorded_in(tmp_path / "here")), str(tmp_path / f"new{ending}"))
    check(open_data(tmp_path / f"new{ending}"))


@pytest.mark.parametrize("without", [("next_action_mask",), ("next_action_mask", "next_obs")])
def test_the_next_mask_is_that_of_the_next_step_and_true_after_the_end(
    tmp_path: Path, without: tuple[str, ...]
) -> None:
    ends = [masked_episode(3), masked_episode(2, 20)]
    lines = [{name: column for name, column in each.items() if name not in without} for each in ends]
    found = all_of(open_data(jsonl(tmp_path / "a.jsonl", *lines)))
    np.testing.assert_array_equal(found["next_action_mask"], flat(*ends)["next_action_mask"])
    np.savez(tmp_path / "a.npz", **{name: np.concatenate([each[name] for each in lines]) for name in lines[0]})
    np.testing.assert_array_equal(all_of(open_data(tmp_path / "a.npz"))["next_action_mask"], found["next_action_mask"])


def test_a_mask_without_a_legal_action_after_the_end_allows_all(tmp_path: Path) -> None:
    """As of a state at which nothing is left to do."""
    each = masked_episode(3)
    each["next_action_mask"] = each["next_action_mask"].copy()
    each["next_action_mask"][-1] = False
    assert all_of(open_data(jsonl(tmp_path / "a.jsonl", each)))["next_action_mask"][-1].all()


def test_files_of_which_only_some_have_masks_are_refused_with_the_file(tmp_path: Path) -> None:
    with_masks, without = masked_episode(3), episode(3)
    jsonl(tmp_path / "a.jsonl", with_masks)
    jsonl(tmp_path / "b.jsonl", without)
    with pytest.raises(DataError, match=r"b\.jsonl: an episode has no action_mask, and the first .*a\.jsonl have"):
        open_data(str(tmp_path / "*.jsonl"))
    with pytest.raises(DataError, match=r"an episode has action_mask, and the first steps of .* have none"):
        open_data(jsonl(tmp_path / "c.jsonl", without, with_masks))


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([[1, 2], [1, 1], [1, 1]], r"action_mask of line 1, step 0 is 2; true or false"),
        ([1, 1, 1], r"a step of action_mask has the shape \(\); one true or false for each action"),
        ([[[1]], [[1]], [[1]]], r"the shape \(1, 1\)"),
        ([[1, 1], [1, 1]], "the columns differ in length"),
    ],
)
def test_what_is_no_mask_is_refused_with_its_place(tmp_path: Path, mask: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        open_data(jsonl(tmp_path / "a.jsonl", {**episode(3), "action_mask": mask}))


def test_a_next_mask_alone_is_left_out(tmp_path: Path) -> None:
    each = masked_episode(3)
    del each["action_mask"]
    assert not {*MASKS} & all_of(open_data(jsonl(tmp_path / "a.jsonl", each))).keys()


def test_the_card_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(recorded_in(tmp_path) / "trajs.pkl")
    assert main(["data", path]) == 0
    assert "masks      of 3 actions" in capsys.readouterr().out
    assert main(["data", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["action_mask"] == 3


# trajs.pkl ------------------------------------------------------------------------------------------------


def test_trajs_pkl_has_further_lists_only_if_there_are_masks(tmp_path: Path) -> None:
    content = read(recorded_in(tmp_path / "with") / "trajs.pkl")
    assert tuple(content)[-2:] == MASKS
    assert {len(value) for value in content.values()} == {3}
    assert not {*MASKS} & read(recorded_in(tmp_path / "without", episodes=[episode(2)]) / "trajs.pkl").keys()


def test_a_file_that_was_begun_without_masks_goes_on_without(tmp_path: Path) -> None:
    """As that of a run of an earlier version, which is resumed."""
    writer = TrajectoryWriter(tmp_path, limit=2)
    writer.add(recorded(episode(2)))
    state = writer.state()
    writer.close()
    writer = TrajectoryWriter(tmp_path, limit=2)
    writer.restore(state)
    for _ in range(3):
        writer.add(recorded(masked_episode(2)))
    writer.close()
    assert not {*MASKS} & all_of(open_data(tmp_path)).keys()
    assert open_data(tmp_path).summary.episodes == 4


def test_a_checkpoint_before_the_first_episode_leaves_its_keys_open(tmp_path: Path) -> None:
    straight = recorded_in(tmp_path / "straight") / "trajs.pkl"
    writer = TrajectoryWriter(tmp_path / "cut")
    state = writer.state()
    writer.add(recorded(EPISODES[0]))
    again = TrajectoryWriter(tmp_path / "cut")
    assert again.restore(state)
    for each in EPISODES:
        again.add(recorded(each))
    again.close()
    assert (tmp_path / "cut/trajs.pkl").read_bytes() == straight.read_bytes()
    check(open_data(tmp_path / "cut/trajs.pkl"))


# runs -----------------------------------------------------------------------------------------------------

TOY = [
    "--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=masked", "env_cfg.n_envs=2", "env_cfg.steps=3",
    "general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.online_eval=false",
    "general_cfg.collect_traj=true", "general_cfg.model_save_unit=step", "general_cfg.model_save_fre=100",
    "algo_cfg.learning_starts=32", "algo_cfg.batch_size=16", "general_cfg.max_episode=-1",
    "algo_cfg.value_layers=[{layer_type: linear, layer_size: [8]}]", "general_cfg.max_total_step=240",
]  # fmt: skip


def results(folder: Path, *more: str) -> Path:
    assert main([*TOY, *more, "--into", str(folder)]) == 0
    return folder


def legal_of(obs: np.ndarray, mask: np.ndarray) -> None:
    """Checks masks of the toy: what the observation names is illegal, and the action after it is legal."""
    assert not mask[np.arange(len(obs)), obs % 4].any()
    assert mask[np.arange(len(obs)), (obs + 1) % 4].all()


SAID = [(form, said) for form in FORMS for said in ("info", "obs")]


@pytest.mark.parametrize(
    ("form", "said"), in_the_suite(SAID, *((form, ("info", "obs")[n % 2]) for n, form in enumerate(FORMS)))
)
def test_a_run_writes_the_masks_of_its_steps(tmp_path: Path, form: str, said: str) -> None:
    more = (f"general_cfg.collect_format={form}", f"env_cfg.mask={said}", "general_cfg.max_total_step=150")
    found = all_of(open_data(results(tmp_path / "run", *more)))
    going_on = ~(found["terminated"] | found["truncated"])
    legal_of(found["obs"], found["action_mask"])
    legal_of(found["next_obs"][going_on], found["next_action_mask"][going_on])
    following = np.flatnonzero(going_on)
    np.testing.assert_array_equal(found["next_action_mask"][following], found["action_mask"][following + 1])
    assert np.take_along_axis(found["action_mask"], found["action"][:, None], 1).all()


def test_so_does_a_test_of_a_model(tmp_path: Path) -> None:
    task = results(tmp_path / "run", "general_cfg.collect_traj=false", "general_cfg.max_total_step=60")
    test = ["general_cfg.mode=test", "general_cfg.load_checkpoint=true", f"general_cfg.load_path={task}"]
    more = ["general_cfg.max_episode=12", "general_cfg.collect_traj=true", "--into", str(tmp_path / "test")]
    assert main([*test, *more]) == 0
    found = all_of(open_data(tmp_path / "test"))
    legal_of(found["obs"], found["action_mask"])


def test_a_run_that_was_killed_and_resumed_has_the_masks_of_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, cut = results(tmp_path / "straight"), tmp_path / "cut"
    killed_after(70, TOY, cut, monkeypatch)
    assert main(["--resume", str(cut)]) == 0
    assert (cut / "results/trajs.pkl").read_bytes() == (straight / "results/trajs.pkl").read_bytes()


# the memory -----------------------------------------------------------------------------------------------

SPEC = ReplaySpec(capacity=100, batch_size=8, warmup=0, updates_per_step=1.0)


def toy_spec() -> EnvSpec:
    words = ["general_cfg.env_name=toy", "env_cfg.id=masked", "general_cfg.algo_name=DQN"]
    rows = toy_env.make(toy.Config(id="masked", steps=3), 1)
    return env_spec(load(None, words, find_algo=ALGOS, find_env=ENVS), rows)


def toy_data(path: Path, masks: bool = True) -> Path:
    """Episodes of one step: the state k, and the action k + 1, the only legal one. After the step, which is truncated,
    only the action 1 is legal."""
    count = 20
    k = np.arange(count) % 3
    mask = np.zeros((count, 4), bool)
    mask[np.arange(count), k + 1] = True
    after = np.zeros((count, 4), bool)
    after[:, 1] = True
    columns: Columns = {
        "obs": k, "action": k + 1, "reward": np.ones(count, np.float32), "next_obs": k + 4,
        "terminals": np.zeros(count, bool), "timeouts": np.ones(count, bool),
    }  # fmt: skip
    np.savez(path, **columns, **({"action_mask": mask, "next_action_mask": after} if masks else {}))
    return path


def memory_of(path: Path, spec: ReplaySpec = SPEC, masks: bool = True, **settings: Any) -> OfflineReplay:
    wanted = DataSpec((str(path),), **settings)
    return OfflineReplay(
        ReplaySpec(**{**spec.__dict__, "data": wanted}), stream(1, "memory"), stream(1, "memory/data"),
        select_data(wanted, toy_spec(), 1, masks), most=4,
    )  # fmt: skip


def collected(masks: bool = True) -> Fragment:
    """Six steps of two rows in the state 11, in which the action 2 alone is legal, and after which 3 is."""
    mask, after = np.zeros((2, 6, 2, 4), bool)
    mask[..., 2] = after[..., 3] = True
    columns = {
        "obs": np.full((6, 2), 11), "next_obs": np.full((6, 2), 11), "action": np.full((6, 2), 2),
        "reward": np.zeros((6, 2), np.float32), "terminated": np.zeros((6, 2), bool),
        "truncated": np.zeros((6, 2), bool), **({"action_mask": mask, "next_action_mask": after} if masks else {}),
    }  # fmt: skip
    return Fragment(columns, {"state": None, "first": np.ones(2, bool)}, Origin())


def test_minibatches_of_data_have_their_masks(tmp_path: Path) -> None:
    columns = memory_of(toy_data(tmp_path / "a.npz")).take(0.0).columns
    assert columns["action_mask"].dtype == columns["next_action_mask"].dtype == bool
    assert columns["action_mask"].sum(-1).max() == 1
    assert np.take_along_axis(columns["action_mask"], columns["action"][..., None], 2).all()
    assert (columns["next_action_mask"] == [False, True, False, False]).all()
    assert not {*MASKS} & memory_of(toy_data(tmp_path / "a.npz"), masks=False).take(0.0).columns.keys()


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("sequence", [1, 3])
def test_minibatches_of_both_keep_the_masks_of_collected_steps(tmp_path: Path, masks: bool, sequence: int) -> None:
    """All actions are legal in data without masks."""
    spec = ReplaySpec(**{**SPEC.__dict__, "sequence": sequence})
    memory = memory_of(toy_data(tmp_path / "a.npz", masks), spec, updates=0, share=0.5)
    memory.add(collected())
    columns = memory.take(0.0).columns
    own = columns["obs"] == 11
    assert own.any(axis=-1).all()
    assert not own.all(axis=-1).any()
    assert (columns["action_mask"][own] == [False, False, True, False]).all()
    assert (columns["next_action_mask"][own] == [False, False, False, True]).all()
    assert columns["next_action_mask"][~own].all() != masks
    assert columns["action_mask"].shape == (*columns["reward"].shape, 4)


def test_data_with_masks_suit_an_environment_without(tmp_path: Path) -> None:
    memory = memory_of(toy_data(tmp_path / "a.npz"), masks=False, updates=0)
    memory.add(collected(masks=False))
    assert not {*MASKS} & memory.take(0.0).columns.keys()


def test_masks_for_another_number_of_actions_are_refused(tmp_path: Path) -> None:
    data, spec = open_data(recorded_in(tmp_path) / "trajs.pkl"), toy_spec()
    assert "action_mask is for 3 actions; the environment has Discrete(4)" in problems(
        data.summary, spec.observation_space, spec.action_space
    )


def test_an_action_that_its_own_mask_forbids_is_refused(tmp_path: Path) -> None:
    path = toy_data(tmp_path / "a.npz")
    columns = dict(np.load(path))
    columns["action"][4] = 0
    np.savez(path, **columns)
    with pytest.raises(
        JoystickError, match=r"algo_cfg\.data: action 0 of transition 4 of .*a\.npz is not legal by its"
    ):
        memory_of(path)
    memory_of(path, masks=False)


# the algorithms -------------------------------------------------------------------------------------------

LEARNERS = {
    "DQN": {}, "DiscreteCQL": {"cql_alpha": 0.0}, "SQIL": {}, "SAC_D": {}, "DiscreteBCQ": {"bcq_threshold": 0.0},
}  # fmt: skip
"""Algorithm -> settings."""


def tempted(algo: str, path: Path) -> Agent:
    """An agent that values action 0, which the data never show, at 50."""
    layers = {key: mlp(16) for key in algos.get(algo).Config.model_fields if key.endswith("_layers")}
    agent = agent_of(
        algo, toy_spec(), 1, data=str(path), batch_size=32, gamma=0.9, offline_updates=1, **layers, **LEARNERS[algo]
    )
    for name in {"network", "critic", "target"} & vars(agent).keys():
        bias = [weight for key, weight in getattr(agent, name).named_parameters() if key.endswith("bias")][-1]
        with torch.no_grad():
            bias.zero_()
            bias.view(-1)[::4] = 50.0
    return agent


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("algo", LEARNERS)
def test_targets_from_a_memory_of_data_count_legal_actions_only(tmp_path: Path, algo: str, masks: bool) -> None:
    """The value of what follows is that of action 1, the only legal one; without masks it is that of action 0."""
    agent = tempted(algo, toy_data(tmp_path / "a.npz", masks))
    wanted = agent.cfg.memory(1)
    assert isinstance(wanted, ReplaySpec)
    assert wanted.data is not None
    data = select_data(wanted.data, toy_spec(), 1)
    memory = OfflineReplay(wanted, stream(1, "memory"), stream(1, "memory/data"), data, most=1)
    metrics = AgentLearner(agent, wanted).learn(memory.take(0.0), Progress()).metrics
    loss = metrics["critic_loss" if algo == "SAC_D" else "loss"][0]
    assert loss < 5 if masks else loss > 5


def settings_of(path: Path, tmp_path: Path, **algo_cfg: Any) -> dict[str, Any]:
    return {
        "into": tmp_path / "run", "env_cfg": {"id": "masked", "steps": 3},
        "general_cfg": {"env_name": "toy", "seed": 1, "max_total_step": 60, "save_fig": False, "iteration_steps": 30},
        "algo_cfg": {"data": str(path), "batch_size": 8, "value_layers": mlp(8), **algo_cfg},
    }  # fmt: skip


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("algo", ["DQN", "SQIL"])
def test_a_run_says_that_data_have_no_masks(tmp_path: Path, algo: str, masks: bool) -> None:
    path = toy_data(tmp_path / "a.npz", masks)
    with joystick.Run(algo, **settings_of(path, tmp_path)) as run:
        while not run.train()["done"]:
            pass
    said = "algo_cfg.data has no action masks, and the environment has: all actions count as legal in the data"
    assert (said in (tmp_path / "run/logs/log.txt").read_text(encoding="utf-8")) != masks


# with Ray -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algo", ["DQN", "SQIL", "SAC_D"])
def test_masks_of_data_come_through_ray_as_in_one_process(tmp_path: Path, algo: str) -> None:
    """To the bit, and without them the numbers are others: they are learned from."""

    def config(name: str, masks: bool, **of_ray: int) -> RunConfig:
        words = [f"algo_cfg.data={toy_data(tmp_path / name, masks)}", "env_cfg.steps=3"]
        return config_of(algo, *words, toy="masked", **of_ray)

    alone = config("a.npz", masks=True)
    one = Cluster(alone, local(alone)).until(40)
    many = config("a.npz", masks=True, workers=1)
    other = Cluster(many, remote(many)).until(40)
    bare = config("b.npz", masks=False, workers=1)
    without = Cluster(bare, remote(bare)).until(40)
    assert one.learned
    assert one.state() == other.state()
    assert without.state()["agent"] != other.state()["agent"]
    ahead = config("a.npz", masks=True, workers=2, ahead=2, rows=4)
    assert Cluster(ahead, remote(ahead, FakeRay(1))).until(60).rest().learned


@pytest.mark.parametrize("masks", [True, False])
def test_a_run_with_ray_says_that_data_have_no_masks_and_writes_those_of_its_own(
    tmp_path: Path, masks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_rays(monkeypatch)
    path = toy_data(tmp_path / "a.npz", masks)
    settings = settings_of(path, tmp_path)
    settings["general_cfg"] |= {"mp_backend": "ray", "n_workers": 2, "collect_traj": True}
    with joystick.Run("DQN", **settings) as run:
        while not run.train()["done"]:
            pass
    said = "algo_cfg.data has no action masks, and the environment has: all actions count as legal in the data"
    assert (said in (tmp_path / "run/logs/log.txt").read_text(encoding="utf-8")) != masks
    own = all_of(open_data(tmp_path / "run"))
    assert own["action_mask"].shape == (len(own["action"]), 4)
    assert np.take_along_axis(own["action_mask"], own["action"][:, None], axis=1).all()
    assert not own["action_mask"].all()
