"""Traces: the steps of training as JSON lines, which a resume continues without a seam."""

import base64
import errno
import io
import json
import re
import tracemalloc
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import own_parts
import pytest
from gymnasium import spaces

import joystick
from algos.base import Progress
from framework.dataset import store
from framework.dataset.trace_reader import read_traces
from framework.dataset.trajectories import read
from framework.disk import appended, csv_log
from framework.disk.csv_table import read_csv
from framework.errors import JoystickError
from framework.loop.trainer import Trainer
from framework.record import traces
from framework.record.traces import TraceRecorder, TraceWriter
from main import main
from tests.tools.core import CountingEnv, PolicyOfNothing, TapeAgent, collector_of, saved_and_read
from tests.tools.distributed import Rays, fake_rays
from tests.tools.envs import assembled, counting_from
from tests.tools.paths import in_the_suite

SMALL = "[{layer_type: linear, layer_size: [8]}]"
LINE = [
    "--allow-import", "own_parts", "general_cfg.env_name=python", "env_cfg.id=own_parts:Line", "env_cfg.size=3",
    "env_cfg.n_envs=2", "env_cfg.vectorization=sync", "general_cfg.seed=3", "general_cfg.save_fig=false",
    "general_cfg.max_episode=-1", "general_cfg.max_step=30", "general_cfg.online_eval_episode=2",
    "general_cfg.model_save_unit=step", "general_cfg.model_save_fre=100", "general_cfg.traces=results/traces",
]  # fmt: skip
DQN = [
    "--algo=DQN", *LINE, f"algo_cfg.value_layers={SMALL}", "algo_cfg.batch_size=16", "algo_cfg.learning_starts=150",
]  # fmt: skip
PPO = [
    "--algo=PPO", *LINE, f"algo_cfg.actor_layers={SMALL}", f"algo_cfg.critic_layers={SMALL}", "algo_cfg.batch_size=64",
    "algo_cfg.sgd_batch_size=16", "algo_cfg.lr_schedule=constant",
]  # fmt: skip
ALGOS = {"DQN": DQN, "PPO": PPO}


@pytest.fixture
def rays(monkeypatch: pytest.MonkeyPatch) -> Rays:
    return fake_rays(monkeypatch)


def train(folder: Path, words: list[str], steps: int, *more: str) -> Path:
    assert main([*words, f"general_cfg.max_total_step={steps}", *more, "--into", str(folder)]) == 0
    return folder


def written(task: Path, folder: str = "results/traces") -> dict[tuple[int, int], bytes]:
    """Content of the files by worker and number; their names have a date besides."""
    names = {
        path: re.fullmatch(r"output-[\d_-]+_worker-(\d+)_(\d+)\.json", path.name) for path in (task / folder).iterdir()
    }
    return {(int(match[1]), int(match[2])): path.read_bytes() for path, match in names.items() if match}


def sums(columns: dict[str, np.ndarray]) -> dict[int, float]:
    found: dict[int, float] = defaultdict(float)
    for seed, reward in zip(columns["eps_id"].tolist(), columns["rewards"].tolist(), strict=True):
        found[seed] += reward
    return found


# ------------------------------------------------------------------------------------------------------ content


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("workers", [0, 2])
def test_the_sums_of_the_rewards_of_each_episode_are_the_returns_in_train_csv(
    algo: str, workers: int, rays: Rays, tmp_path: Path
) -> None:
    """Episodes run over the end of a fragment: t counts on, and each step begins where the last one ended."""
    more = ["general_cfg.mp_backend=ray", f"general_cfg.n_workers={workers}"] if workers else []
    task = train(tmp_path / "run", ALGOS[algo], 400, *more)
    columns, rows = read_traces(task / "results/traces"), read_csv(task / "results/train.csv")
    totals = sums(columns)
    assert len(rows) > 20
    assert {row["seed"]: row["return"] for row in rows}.items() <= totals.items()
    running = (workers or 1) * 2
    assert len(totals) - len(rows) <= running, "besides, only the running episodes"
    for seed in totals:
        mine = columns["eps_id"] == seed
        assert columns["t"][mine].tolist() == list(range(mine.sum()))
        assert np.array_equal(columns["obs"][mine][1:], columns["new_obs"][mine][:-1])
        assert [info["at"] for info in columns["infos"][mine]] == columns["new_obs"][mine][:, 0].tolist()
        assert not columns["dones"][mine][:-1].any()
    assert columns["dones"].sum() == len(rows)
    assert np.array_equal(columns["dones"], columns["terminateds"] | columns["truncateds"])
    assert {number for number, _ in written(task)} == (set(range(1, workers + 1)) if workers else {0})


def test_a_line_has_the_columns_of_rllib_and_those_of_the_policy(tmp_path: Path) -> None:
    task = train(tmp_path / "run", PPO, 64)
    (data,) = written(task).values()
    (line,) = map(json.loads, data.splitlines())
    names = "eps_id agent_id policy t obs actions rewards terminateds truncateds dones new_obs infos"
    assert line.pop("type") == "SampleBatch"
    assert line.keys() == {*names.split(), "drawn", "action_logp"}
    assert {len(column) for name, column in line.items() if name not in ("obs", "new_obs")} == {64}
    assert set(line["agent_id"]) == {0}
    assert set(line["policy"]) == {"default"}
    unzipped = zlib.decompress(base64.b64decode(line["obs"]))
    obs = np.load(io.BytesIO(unzipped))
    assert obs.shape == (64, 1)
    assert obs.dtype == np.float32
    assert np.isclose(np.exp(line["action_logp"]), 0.5, atol=0.2).all()


def test_compression_changes_no_value(tmp_path: Path) -> None:
    tasks = [
        train(tmp_path / name, PPO, 128, f"general_cfg.traces_compress={value}")
        for name, value in (("none", "[]"), ("two", "[obs, new_obs]"), ("all", "[obs, new_obs, actions, rewards]"))
    ]
    plain, two, both = (read_traces(task / "results/traces") for task in tasks)
    assert plain.keys() == two.keys() == both.keys()
    for name, column in plain.items():
        assert np.array_equal(column, two[name]), name
        assert np.array_equal(column, both[name]), name
    sizes = [sum(map(len, written(task).values())) for task in tasks]
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_fragment_lists_the_steps_of_one_row_after_those_of_another() -> None:
    """Row 0 ends after 2 steps, row 1 after 3; two fragments of 4 steps."""
    recorder = TraceRecorder(2, [])
    collector = collector_of(CountingEnv((2, "terminated"), (3, "truncated")), TapeAgent(), recorders=(recorder,))
    lines = []
    for _ in range(2):
        collector.collect(4, Progress())
        collector.settle()
        ((kind, (worker, text)),) = collector.records
        assert (kind, worker) == ("traces", 0)
        lines.append(json.loads(text))
    assert lines[0]["t"] == [0, 1, 0, 1, 0, 1, 2, 0]
    assert lines[1]["t"] == [0, 1, 0, 1, 1, 2, 0, 1]
    assert lines[0]["rewards"] == [1, 2, 1, 2, 1, 2, 3, 1]
    assert lines[0]["terminateds"] == [False, True, False, True, *[False] * 4]
    assert lines[0]["truncateds"] == [*[False] * 6, True, False]
    assert lines[0]["eps_id"][-1] == lines[1]["eps_id"][4] != lines[1]["eps_id"][0]


def test_after_a_resume_the_replayed_steps_are_not_written_again() -> None:
    def made() -> Any:
        env = CountingEnv((5, "terminated"), (7, "truncated"))
        return collector_of(env, TapeAgent(), recorders=(TraceRecorder(2, []),))

    straight, cut = made(), made()
    for _ in range(3):
        straight.collect(3, Progress())
        straight.settle()
        state = saved_and_read(straight.state())
    assert cut.load_state(state) == []
    for collector in (straight, cut):
        collector.collect(3, Progress())
    assert cut.records == straight.records
    assert len(cut.records) == 1


def test_dummy_steps_and_shifted_values_are_those_of_the_environment(tmp_path: Path) -> None:
    """ENV-6: as in trajs.pkl."""
    env = assembled(counting_from(10, 5), "counted", 2, "sync")
    collector = collector_of(env, PolicyOfNothing(4), recorders=(TraceRecorder(2, []),))
    collector.collect(5, Progress())
    env.close()
    ((_, (_, text)),) = collector.records
    line = json.loads(text)
    assert line["obs"][:5] == [10, 11, 12, 10, 11]
    assert line["new_obs"][:5] == [11, 12, 10, 11, 12]
    assert line["actions"] == [info["action"] for info in line["infos"]]


def test_a_dummy_step_belongs_to_no_episode() -> None:
    class Dummies(CountingEnv):
        """Row 0 makes a dummy step first."""

        valid = np.array([False, True])

        def step(self, action: Any) -> Any:
            out = super().step(action)
            self.valid = np.array([int(self._step[0]) != 1, True])
            return out

    collector = collector_of(
        Dummies((9, "terminated"), (9, "terminated")), TapeAgent(), recorders=(TraceRecorder(2, []),)
    )
    collector.collect(3, Progress())
    ((_, (_, text)),) = collector.records
    assert json.loads(text)["t"] == [0, 1, 0, 1, 2]


def test_the_example_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[3] / "docs" / "traces.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    count = names["run"].count.step
    assert capsys.readouterr().out.startswith(f"{count} steps, observations ({count}, 4)\nreturn of the longest")
    rows = read_csv(names["run"].task / "results/train.csv")
    assert {row["seed"]: row["return"] for row in rows}.items() <= sums(names["steps"]).items()


# ------------------------------------------------------------------------------------------------------- resume


class Killed(BaseException):
    """The end of a process without any of its last words."""


def killed_after(rounds: int, words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends after so many rounds without a save; all that it has written is there."""
    made, plain = [], Trainer.round

    def counted(self: Trainer) -> None:
        if len(made) == rounds:
            raise Killed
        made.append(None)
        plain(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "round", counted)
        with pytest.raises(Killed):
            main([*words, "--into", str(folder)])


KILLS = [(algo, rounds, size) for algo, rounds in (("DQN", 56), ("DQN", 70), ("PPO", 5)) for size in (0.004, 64)]


@pytest.mark.parametrize(("algo", "rounds", "size"), in_the_suite(KILLS, ("DQN", 70, 0.004), ("DQN", 56, 64)))
def test_a_run_that_was_killed_and_resumed_has_the_lines_of_one_that_was_not(
    algo: str, rounds: int, size: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RES-4: no line twice, none missing, also where files were begun since the checkpoint."""
    words = [*ALGOS[algo], f"general_cfg.traces_file_mb={size}", "general_cfg.max_total_step=600"]
    straight = train(tmp_path / "straight", words, 600)
    cut = tmp_path / "cut"
    killed_after(rounds, words, cut, monkeypatch)
    before = written(cut)
    assert main(["--resume", str(cut), "--allow-import", "own_parts"]) == 0
    assert written(cut) == written(straight)
    assert (len(written(cut)) > 2) == (size < 1)
    assert max(len(data) for data in written(cut).values()) < 1.5 * size * 2**20 + 5000
    assert before.keys() <= written(cut).keys()


def test_a_run_with_one_worker_in_lockstep_has_the_same_files(rays: Rays, tmp_path: Path) -> None:
    size = "general_cfg.traces_file_mb=0.004"
    one = train(tmp_path / "one", DQN, 250, size)
    other = train(tmp_path / "other", DQN, 250, size, "general_cfg.mp_backend=ray", "general_cfg.run_ahead=0")
    assert written(one) == {(worker - 1, number): text for (worker, number), text in written(other).items()}
    assert {worker for worker, _ in written(other)} == {1}  # as env_config.worker_index
    assert len(rays) == 1


def test_a_learner_that_dies_costs_no_line_and_doubles_none(
    rays: Rays, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RAY-8: all begin again at the last checkpoint, with the files cut back."""
    words = [*DQN, "general_cfg.traces_file_mb=0.002", "general_cfg.mp_backend=ray", "general_cfg.run_ahead=0"]
    words.append("general_cfg.n_workers=2")
    straight = train(tmp_path / "straight", words, 300)
    rays.fate = lambda call: "before" if tuple(call) == ("LearnerActor", 0, "learn", 20) else None
    broken = train(tmp_path / "broken", words, 300)
    assert "all processes begin again at checkpoint" in capsys.readouterr().out
    assert written(broken) == written(straight)


def test_an_environment_that_fails_leaves_nothing_of_its_last_fragment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The resumed run plays these episodes again: in no file are they twice."""
    words = [*PPO, "general_cfg.collect_traj=true"]
    straight = train(tmp_path / "straight", words, 300)
    steps, step = [], own_parts.Line.step

    def failing(self: own_parts.Line, action: Any) -> Any:
        steps.append(None)
        if len(steps) == 185:  # in the third fragment of 64, after several of its episodes
            raise ZeroDivisionError("once")
        return step(self, action)

    with monkeypatch.context() as patch:
        patch.setattr(own_parts.Line, "step", failing)
        assert main([*words, "general_cfg.max_total_step=300", "--into", str(tmp_path / "cut")]) == 2
    assert len(steps) == 185
    assert main(["--resume", str(tmp_path / "cut"), "--allow-import", "own_parts"]) == 0
    assert written(tmp_path / "cut") == written(straight)
    one, other = (read(task / "results/trajs.pkl")["reward"] for task in (straight, tmp_path / "cut"))
    assert [reward.tolist() for reward in other] == [reward.tolist() for reward in one]


# ------------------------------------------------------------------------------------------------------- writer


def files(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_a_folder_that_leads_out_of_the_task_directory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("../elsewhere", "/tmp/elsewhere", "models", "a//b", ".", "a/..", "tb_logs/x"):
        assert main([*DQN, f"general_cfg.traces={folder}", "--into", str(tmp_path / "run")]) == 2
        assert "a folder in the task directory, such as results/traces" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_settings_of_traces_without_traces_are_said_to_be_unused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["general_cfg.traces=null", "general_cfg.traces_file_mb=1"]
    assert main([*DQN, *words, "--print-config"]) == 0
    said = capsys.readouterr()
    assert "traces_file_mb" in said.err + said.out
    assert "not used" in said.err + said.out


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = train(tmp_path / "run", DQN, 200)
    (path,) = (task / "results/traces").iterdir()
    path.unlink()
    words = ["--resume", str(task), "--allow-import", "own_parts", "general_cfg.max_total_step=300"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert path.name in said
    assert "general_cfg.traces=null resumes without it" in said
    assert main([*words, "general_cfg.traces=null"]) == 0


def test_a_line_that_was_changed_is_reported_at_a_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = train(tmp_path / "run", DQN, 200)
    (path,) = (task / "results/traces").iterdir()
    path.write_bytes(path.read_bytes().replace(b"default", b"another", 1))
    assert main(["--resume", str(task), "--allow-import", "own_parts", "general_cfg.max_total_step=300"]) == 0
    assert "was altered or damaged since the checkpoint" in capsys.readouterr().out


def test_another_folder_from_a_resume_on_leaves_the_first_as_it_was_at_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*DQN, "general_cfg.max_total_step=400"]
    straight = read_traces(train(tmp_path / "straight", words, 400) / "results/traces")
    cut = tmp_path / "cut"
    killed_after(60, words, cut, monkeypatch)
    assert main(["--resume", str(cut), "--allow-import", "own_parts", "general_cfg.traces=more"]) == 0
    first, second = (read_traces(cut / folder) for folder in ("results/traces", "more"))
    for name in ("eps_id", "t", "obs", "actions"):
        joined = np.concatenate([first[name], second[name]])
        assert np.array_equal(joined, straight[name]), name


def test_a_name_in_a_checkpoint_that_is_no_name_of_a_trace_is_refused(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, "traces", 1)
    victim = tmp_path / "notes.txt"
    victim.write_text("mine")
    end = {"name": "../notes.txt", "position": 0, "crc": 0}
    with pytest.raises(ValueError, match="missing"):
        writer.restore({"folder": "traces", "files": {"0": end}})
    with pytest.raises(ValueError, match="task directory"):
        writer.restore({"folder": "..", "files": {}})
    assert victim.read_text() == "mine"


def test_lines_wait_while_the_disk_is_full_and_only_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CKP-2: also where a new file would begin; no checkpoint is saved without them."""
    writer = TraceWriter(tmp_path, "traces", 1e-5)
    writer.add((0, "first" * 4))

    def full(self: csv_log.LineLog, data: bytes) -> None:
        if data:
            raise OSError(errno.ENOSPC, "No space left on device", str(self.path))

    with monkeypatch.context() as patch:
        patch.setattr(csv_log.LineLog, "_write", full)
        writer.add((0, "second"))
        writer.add((0, "third"))
        with pytest.raises(OSError, match="No space"):
            writer.state()
        patch.setattr(store, "MOST_WAITING", 30)
        with pytest.raises(OSError, match="No space"):
            writer.add((0, "fourth"))
    writer.add((0, "fifth"))
    writer.close()
    assert b"".join(files(tmp_path / "traces")).split() == [b"first" * 4, b"second", b"third", b"fourth", b"fifth"]


def test_a_file_that_cannot_be_begun_leaves_no_empty_one_beside_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKP-2: the disk is full once its name is there, and not a moment later."""
    writer = TraceWriter(tmp_path, "traces", 1.0)

    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder))

    with monkeypatch.context() as patch:
        patch.setattr(appended, "sync_folder", full)
        writer.add((0, "first"))
    writer.add((0, "second"))
    writer.close()
    assert [path.name.rpartition("worker")[2] for path in (tmp_path / "traces").iterdir()] == ["-0_0.json"]
    assert b"".join(files(tmp_path / "traces")).split() == [b"first", b"second"]


def test_files_that_are_full_are_on_the_disk_before_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKP-5: a checkpoint makes only the newest one durable."""
    durable = []
    position = csv_log.LineLog.position
    monkeypatch.setattr(csv_log.LineLog, "position", lambda self: (durable.append(self.path.name), position(self))[1])
    writer = TraceWriter(tmp_path, "traces", 1e-5)
    for text in ("first line of ten", "second line of ten"):
        writer.add((4, text))
    writer.close()
    names = sorted(path.name for path in (tmp_path / "traces").iterdir())
    assert [name.rpartition("worker")[2] for name in names] == ["-4_0.json", "-4_1.json"]
    assert durable == names[:1]


# ------------------------------------------------------------------------------------------------------- reader


def test_what_is_no_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(JoystickError, match="holds no traces"):
        read_traces(tmp_path)
    with pytest.raises(JoystickError, match="nowhere does not exist"):
        read_traces(tmp_path / "nowhere")
    file = tmp_path / "output-2026-01-01_00-00-00_worker-0_0.json"
    bomb = base64.b64encode(zlib.compress(b"\0" * 2**21)).decode()
    for text, said in (
        ("nonsense\n", "line 1 is not a trace"),
        ('{"type":"Other"}\n', "its type is neither SampleBatch nor MultiAgentBatch"),
        ("[1]\n", "line 1 is not a trace"),
        (
            '{"type":"SampleBatch","obs":[1,2],"rewards":[1,2,3]}\n',
            "line 1 is not a trace: its columns have 2 and 3 steps",
        ),
        ('{"type":"SampleBatch","obs":"%%%"}\n', "line 1 is not a trace"),
        (f'{{"type":"SampleBatch","obs":"{bomb}"}}\n', "line 1 is not a trace"),
        ('{"type":"SampleBatch","t":[0]}\n{"type":"SampleBatch","u":[0]}\n', "not all lines have the column t"),
        ('{"type":"SampleBatch","t":[0]}\n{"type":"SampleBatch","t":[[0]]}\n', "the column t has different shapes"),
        ('{"type":"SampleBatch","t":null}\n', "t is one value, and not one for each step"),
        (f'{{"type":"SampleBatch","t":"{traces.pack(np.array(0))}"}}\n', "t is one value"),
    ):
        file.write_text(text)
        with pytest.raises(JoystickError, match=said):
            read_traces(tmp_path)


def test_a_column_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framework.dataset.traces.MOST_LINE_BYTES", 2**16)
    line = {"type": "SampleBatch", "obs": traces.pack(np.zeros(100_000, np.float32))}
    file = tmp_path / "one.json"
    file.write_text(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match="obs has more than 0 MiB"):
        read_traces(file)


def test_a_pickle_in_a_column_is_not_opened(tmp_path: Path) -> None:
    data = io.BytesIO()
    np.save(data, np.array([print], object), allow_pickle=True)
    text = base64.b64encode(zlib.compress(data.getvalue())).decode()
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"type": "SampleBatch", "obs": text}) + "\n")
    with pytest.raises(ValueError, match="line 1 is not a trace"):
        read_traces(file)


def test_an_array_that_says_that_it_is_larger_than_its_line_allocates_nothing(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    large = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000,)}"
    for content, said in (
        (
            b"\x93NUMPY\x01\x00" + bytes([len(large), 0]) + large,
            r"obs is damaged: an array of shape \(2000000000,\)",
        ),
        (b"\x93NUMPY\x01\x00" + bytes([len(large) - 9, 0]) + large, "obs is damaged: its header cannot be read"),
        (b"\x93NUMPY\x02\x00" + b"\xff\xff\xff\x7f" + b"{}", "obs has a header of 2,147,483,647 bytes"),
    ):
        text = base64.b64encode(zlib.compress(content)).decode()
        file.write_text(json.dumps({"type": "SampleBatch", "obs": text}) + "\n")
        tracemalloc.start()
        with pytest.raises(JoystickError, match=said):
            read_traces(file)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**22
    file.write_text("[" * 100_000 + "\n")
    with pytest.raises(JoystickError, match="line 1 is not a trace"):
        read_traces(file)


def test_files_are_read_worker_by_worker_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for worker, number, value in ((1, 0, 5), (0, 10, 4), (0, 9, 3), (0, 2, 2)):
        name = f"output-2026-01-{20 - number:02}_00-00-00_worker-{worker}_{number}.json"
        (tmp_path / name).write_text(f'{{"type":"SampleBatch","t":[{value}]}}\n{{"type":"SampleB')
    (tmp_path / "notes.json").write_text("mine")
    assert joystick.read_traces(str(tmp_path))["t"].tolist() == [2, 3, 4, 5]


def test_infos_of_any_kind_are_written(tmp_path: Path) -> None:
    """Arrays become lists, anything else its text."""

    class Chatty(CountingEnv):
        def info(self, row: int) -> dict[str, Any]:
            return {"array": np.arange(3), "thing": spaces.Discrete(2), "bytes": b"ab", "nested": {"x": np.float32(2)}}

    collector = collector_of(Chatty((3, "terminated")), TapeAgent(), recorders=(TraceRecorder(1, []),))
    collector.collect(1, Progress())
    ((_, (_, text)),) = collector.records
    (info,) = json.loads(text)["infos"]
    assert info == {"array": [0, 1, 2], "thing": "Discrete(2)", "bytes": "b'ab'", "nested": {"x": 2.0}}
