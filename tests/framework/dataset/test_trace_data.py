"""Traces as data: what general_cfg.traces wrote, and what RLlib's writers wrote, is read and learned from."""

import base64
import json
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest

import joystick
from framework.dataset import open_data
from framework.dataset.episodes import episodes
from framework.errors import DataError
from framework.record.traces import pack
from main import main

QUICK = {"seed": 1, "save_fig": False, "online_eval": False, "max_step": 30, "traces": "results/traces"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def traced(into="traced", algo="PPO", env="CartPole-v1", steps=300, **general):
    options = {"general_cfg": {**QUICK, **general}, "env_cfg": {"n_envs": 3}, "preset": None}
    if algo == "PPO":
        options["algo_cfg"] = {"batch_size": 60, "sgd_batch_size": 30}
    with joystick.Run(algo, env, into=into, **options) as run:
        run.train(steps)
    return run.task


# ------------------------------------------------------------------------------------------------ our own


@pytest.mark.parametrize("compress", [["obs", "new_obs"], []])
def test_the_traces_of_a_run_are_the_transitions_of_its_trajectories(compress):
    task = traced(traces_compress=compress, collect_traj=True)
    ours, theirs = (
        list(episodes(open_data(str(task / "results" / name)).pieces())) for name in ("traces", "trajs.pkl")
    )
    whole = {each["obs"].tobytes(): each for each in ours}
    assert len(theirs) > 5
    for each in theirs:
        for name, column in each.items():
            np.testing.assert_array_equal(whole[each["obs"].tobytes()][name], column)
    assert len(ours) - len(theirs) <= 3  # those that were running at the end


def test_a_task_directory_without_trajectories_means_its_traces():
    task = traced()
    words = [str(task), str(task / "results" / "traces"), str(task / "results" / "traces" / "output-*.json")]
    found = [open_data(word) for word in words]
    assert len({data.sha256 for data in found}) == 1
    assert found[0].summary.transitions >= 300


def test_running_episodes_are_truncated_and_noted():
    [note] = open_data(str(traced())).notes
    assert "the last step of " in note
    assert "counts as truncated: no flag marks it" in note


def test_discrete_observations_and_continuous_actions_are_read():
    for env, obs, action in (("FrozenLake-v1", "i", ()), ("Pendulum-v1", "f", (1,))):
        task = traced(env, env=env, steps=200)
        data = open_data(str(task))
        piece = next(data.pieces())
        assert piece["obs"].dtype.kind == obs
        assert piece["action"].shape[1:] == action


@pytest.mark.parametrize("compress", [["obs", "new_obs"], []])
def test_observations_of_several_whole_numbers_are_learned_from(compress):
    traced(algo="DQN", env="Blackjack-v1", steps=200, traces_compress=compress)
    data = {"data": "traced", "batch_size": 32}
    with joystick.Run("BC", "Blackjack-v1", into="b", preset=None, general_cfg={"max_update": 2}, algo_cfg=data) as run:
        run.train()
    assert run.task.name == "b"


def test_the_state_of_a_recurrent_policy_is_no_observation():
    small = {"batch_size": 64, "sgd_batch_size": 32, "k_epochs": 1}
    with joystick.Run("RecurrentPPO", "CartPole-v1", into="r", preset=None, general_cfg=QUICK, algo_cfg=small) as run:
        run.train(100)
    assert next(open_data("r").pieces())["obs"].shape[1:] == (4,)
    assert run.task.name == "r"


def test_a_last_line_without_its_end_is_read_if_it_is_whole():
    [path] = (traced(steps=60) / "results" / "traces").iterdir()
    steps = len(joystick.read_traces(path)["t"])
    text = path.read_bytes().removesuffix(b"\n")
    for content, read in ((text, steps), (text[:-1], 0)):
        path.write_bytes(content)
        if read:
            assert len(joystick.read_traces(path)["t"]) == open_data(str(path)).summary.transitions == read
        else:
            with pytest.raises(DataError, match="holds no traces"):
                joystick.read_traces(path)


def test_a_blank_line_of_traces_is_no_piece():
    [path] = (traced(steps=60) / "results" / "traces").iterdir()
    steps = len(joystick.read_traces(path)["t"])
    path.write_bytes(path.read_bytes() + b"\n \r\n ")
    assert len(joystick.read_traces(path)["t"]) == open_data(str(path)).summary.transitions == steps


def test_a_file_of_traces_becomes_a_data_set_of_minari(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    [path] = (traced(steps=60) / "results" / "traces").iterdir()
    assert main(["convert", str(path), "minari:traced/new-v0"]) == 0
    assert open_data("minari:traced/new-v0").summary.transitions == open_data(str(path)).summary.transitions


def test_an_algorithm_learns_from_traces_the_command_data_shows_them_and_convert_writes_them(capsys):
    traced()
    words = [
        "--algo",
        "BC",
        "--env",
        "CartPole-v1",
        "general_cfg.max_update=30",
        "general_cfg.seed=1",
        "general_cfg.save_fig=false",
    ]
    assert main([*words, "algo_cfg.data=traced", "--into", "bc"]) == 0
    assert main([*words, "algo_cfg.data=traced/results/traces", "--into", "again"]) == 0
    rows = [Path(name, "results", "eval.csv").read_bytes() for name in ("bc", "again")]
    assert rows[0] == rows[1]
    capsys.readouterr()
    assert main(["data", "traced/results/traces"]) == 0
    assert "transitions" in capsys.readouterr().out
    assert main(["convert", "traced/results/traces", "new.npz"]) == 0
    assert open_data("new.npz").summary.transitions == open_data("traced").summary.transitions
    assert main(["convert", "traced", "new.json"]) == 2
    assert "new.json is not a data file; its ending tells the format: .pkl, .npz" in capsys.readouterr().err
    assert not Path("new.json").exists()


# ------------------------------------------------------------------------------------------------ RLlib's


def batch(steps=4, end=True, first=0, episode=7, **columns):
    """A line as RLlib 0.6 to 1.x write it: lists, `dones` alone."""
    t = np.arange(first, first + steps)
    dones = [False] * (steps - 1) + [end]
    line = {
        "type": "SampleBatch", "t": t.tolist(), "eps_id": [episode] * steps, "agent_index": [0] * steps,
        "obs": [[float(i), 0.5] for i in t], "actions": (t % 2).tolist(), "rewards": [1.0] * steps,
        "prev_actions": [0] * steps, "prev_rewards": [0.0] * steps, "dones": dones, "infos": [{}] * steps,
        "new_obs": [[float(i + 1), 0.5] for i in t], "action_prob": [0.5] * steps, "action_logp": [-0.7] * steps,
        "unroll_id": [0] * steps, "weights": [1.0] * steps, "advantages": [0.0] * steps,
    }  # fmt: skip
    return {**line, **columns}


def written(*lines, name="output-2019-02-23_12-02-03_worker-2_0.json"):
    Path("debug").mkdir(exist_ok=True)
    Path("debug", name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "debug"


def read(*lines):
    return list(episodes(open_data(written(*lines)).pieces()))


def test_pieces_of_an_episode_are_joined_though_others_stand_between():
    """By hand: steps 0..3 and 4..5 of episode 7, with episode 8 between them."""
    found = read(batch(end=False), batch(3, episode=8), batch(2, first=4))
    assert [each["obs"][:, 0].tolist() for each in found] == [[0, 1, 2], [0, 1, 2, 3, 4, 5]]
    assert [each["terminated"].tolist()[-1] for each in found] == [True, True]
    assert found[1]["action"].tolist() == [0, 1, 0, 1, 0, 1]
    assert found[1]["obs"].dtype == np.float32


def test_a_time_limit_in_the_infos_is_a_truncation():
    infos = [{}] * 3 + [{"TimeLimit.truncated": True}]
    [each] = read(batch(infos=infos))
    assert (each["terminated"].tolist(), each["truncated"].tolist()) == ([False] * 4, [False] * 3 + [True])


def test_a_batch_of_one_policy_is_read_and_agents_are_kept_apart():
    steps = batch(4, agent_index=[0, 0, 1, 1], dones=[False, True, False, True])
    del steps["type"]
    found = read({"type": "MultiAgentBatch", "count": 4, "policy_batches": {"default_policy": steps}})
    assert [len(each["reward"]) for each in found] == [2, 2]


def test_a_line_that_is_being_written_is_left_out():
    folder = written(batch())
    [path] = Path(folder).iterdir()
    path.write_text(path.read_text() + json.dumps(batch())[:50])
    assert open_data(folder).summary.transitions == 4


def test_images_in_lists_are_bytes_and_packed_columns_keep_their_type():
    image = np.arange(4 * 12, dtype=np.uint8).reshape(4, 2, 2, 3)
    for value in (image.tolist(), pack(image)):
        [each] = read(batch(obs=value, new_obs=value))
        assert each["obs"].dtype == np.uint8
        np.testing.assert_array_equal(each["obs"], image)


def _pickled(column, frame=lambda data: data):
    return base64.b64encode(frame(pickle.dumps(column))).decode()


PICKLE = (
    r"line 1: obs is packed by pickle, which could run code and is not read; write the traces anew with output_compr"
)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"obs": _pickled(np.zeros((4, 2)))}, PICKLE),
        ({"obs": _pickled(np.zeros((4, 2)), zlib.compress)}, PICKLE),
        ({"obs": _pickled(np.zeros((4, 2)), lambda data: b"\x04\x22\x4d\x18" + data)}, PICKLE),
        ({"obs": "not base64!"}, "line 1: it is not a trace: "),
        ({"obs": base64.b64encode(zlib.compress(b"nothing")).decode()}, "line 1: "),
        ({"obs": {"a": [1]}}, "line 1: obs is a dict; a list is needed"),
        ({"obs": [[1.0, 2.0]] * 3}, "line 1: the columns differ in length: obs 3, action 4"),
        ({"obs": [[1.0], [1.0, 2.0], [1.0], [1.0]]}, "line 1: the entries of obs differ in shape, or are not numbers"),
        ({"eps_id": [7]}, "line 1: the columns differ in length: rewards 4, eps_id 1, agent_id 4"),
        ({"rewards": [1.0, float("nan"), 1.0, 1.0]}, "reward of line 1, step 1 is nan; a finite number is needed"),
        ({"type": "Other"}, 'it is not a trace: an object with "type": "SampleBatch"'),
        (
            {"type": "MultiAgentBatch", "policy_batches": {"cars": {}, "lights": {}}},
            "several policies, cars, lights; data",
        ),
        ({"type": "MultiAgentBatch", "policy_batches": {"cars": {"acts": [True, False]}}}, "an agent does not act"),
        ({"type": "MultiAgentBatch", "policy_batches": 3}, "line 1: it is not a trace: "),
        ({"dones": [0, 0, 0, 2]}, "terminated of line 1, step 3 is 2; true or false"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_the_line(columns, message):
    with pytest.raises(DataError, match=message) as caught:
        read(batch(**columns))
    assert "output-2019-02-23_12-02-03_worker-2_0.json: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]\n", "line 1: it is not a trace"),
        ("{nonsense}\n", "line 1: it is not JSON"),
        ("", "it holds no transition"),
        ("[" * 100_000 + "\n", "line 1: "),
        ('{"type": "SampleBatch"}\n', "line 1: obs is missing, which may be called obs,"),
    ],
)
def test_a_damaged_file_is_a_sentence(text, message):
    written()
    Path("debug/output-2019-02-23_12-02-03_worker-2_0.json").write_text(text)
    with pytest.raises(DataError, match=message):
        open_data("debug")


def test_a_column_that_unfolds_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("framework.dataset.traces.MOST_LINE_BYTES", 2**16)
    bomb = base64.b64encode(zlib.compress(bytes(2**20))).decode()
    with pytest.raises(DataError, match="obs has more than 0 MiB"):
        read(batch(obs=bomb))


def test_a_folder_without_any_data_says_what_makes_them():
    Path("empty").mkdir()
    with pytest.raises(
        DataError, match=r"no results/trajs\*, no traces; general_cfg.collect_traj=true makes a run write"
    ):
        open_data("empty")
