"""general_cfg.collect_format: all formats hold the same transitions, and go on without a seam after a resume."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.dataset import archives, minari_sets, open_data, writers
from framework.dataset.store import StepStore
from framework.dataset.trajectories import read
from framework.dataset.writers import episode_writer
from framework.disk.csv_table import read_csv
from framework.errors import DataError
from main import main
from tests.framework.record.test_agent_records import TRAFFIC, words
from tests.framework.record.test_traces import killed_after
from tests.tools.dataset import NAMES, episode, flat, recorded, same, whole

FORMS = ("pkl", "npz", "jsonl")
TOY = [
    "--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=counter", "env_cfg.n_envs=2", "general_cfg.seed=3",
    "general_cfg.save_fig=false", "general_cfg.online_eval=false", "general_cfg.collect_traj=true",
    "general_cfg.model_save_unit=step", "general_cfg.model_save_fre=100", "algo_cfg.learning_starts=32",
    "algo_cfg.batch_size=16", "algo_cfg.value_layers=[{layer_type: linear, layer_size: [8]}]",
    "general_cfg.max_episode=-1", "general_cfg.max_total_step=240",
]  # fmt: skip


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("trajs*")}


def made(n: int) -> dict[str, Any]:
    return recorded(episode(2 + n, 10 * n, ended=n % 3 > 0))


# ------------------------------------------------------------------------------------------------------- writers


@pytest.mark.parametrize("form", FORMS)
def test_the_files_of_each_format_hold_the_same_transitions(tmp_path: Path, form: str) -> None:
    writer = episode_writer(form, tmp_path)
    for n in range(4):
        writer.add(made(n))
    writer.close()
    same(whole(open_data(tmp_path)), flat(*(episode(2 + n, 10 * n, ended=n % 3 > 0) for n in range(4))))
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("form", ["npz", "jsonl"])
@pytest.mark.parametrize("cut_after", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("killed_after", [0, 1, 4, 6])
@pytest.mark.parametrize("saved_again", [False, True])
def test_a_resumed_run_writes_the_bytes_of_one_that_never_stopped(
    tmp_path: Path, form: str, cut_after: int, killed_after: int, saved_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RES-4: also where files were begun or written again since the checkpoint. The killed writer is never closed."""
    monkeypatch.setattr(writers, "LIMIT", 3)
    straight = episode_writer(form, tmp_path / "straight")
    for n in range(10):
        straight.add(made(n))
    straight.close()
    writer = episode_writer(form, tmp_path / "killed")
    for n in range(cut_after):
        writer.add(made(n))
    state = json.loads(json.dumps(writer.state()))
    for n in range(killed_after):
        writer.add(made(40 + n))
    if saved_again:
        writer.state()
    resumed = episode_writer(form, tmp_path / "killed")
    assert resumed.restore(state)
    for n in range(cut_after, 10):
        resumed.add(made(n))
    resumed.close()
    assert written(tmp_path / "killed") == written(tmp_path / "straight")


def test_a_state_before_the_first_episode_leaves_no_archive(tmp_path: Path) -> None:
    writer = episode_writer("npz", tmp_path)
    state = writer.state()
    writer.add(made(1))
    writer.close()
    assert list(written(tmp_path)) == ["trajs_0.npz"]
    again = episode_writer("npz", tmp_path)
    assert again.restore(state)
    again.close()
    assert written(tmp_path) == {}


def test_an_archive_of_1000_episodes_or_32_mib_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = episode_writer("npz", tmp_path)
    for _ in range(1001):
        writer.add(recorded(episode(1)))
    writer.close()
    assert [open_data(tmp_path / f"trajs_{n}.npz").summary.episodes for n in (0, 1)] == [1000, 1]
    monkeypatch.setattr(writers, "LIMIT_BYTES", 80)
    writer = episode_writer("npz", tmp_path / "small")
    for _ in range(3):
        writer.add(recorded(episode(3)))  # 90 bytes
    writer.close()
    assert len(written(tmp_path / "small")) == 3
    assert open_data(tmp_path / "small").summary.episodes == 3


def test_an_archive_has_the_names_that_others_read(tmp_path: Path) -> None:
    writer = episode_writer("npz", tmp_path)
    writer.add(made(1))
    writer.close()
    with np.load(tmp_path / "trajs_0.npz", allow_pickle=False) as content:
        assert set(content) == set(NAMES.values())
        assert content["observations"].shape == (3, 2)
        assert content["terminals"].tolist() == [False, False, True]


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_what_was_changed_before_the_checkpoint_is_found_at_a_resume(tmp_path: Path, form: str) -> None:
    writer = episode_writer(form, tmp_path)
    writer.add(made(1))
    state = writer.state()
    writer.close()
    [path] = tmp_path.iterdir()
    content = path.read_bytes()
    if form == "jsonl":
        path.write_bytes(content.replace(b"10.0", b"90.0", 1))
    else:
        episodes = [block.columns for block in archives.read(path)]
        episodes[0]["obs"][0, 0] = 90
        with open(path, "wb") as file:
            archives.write(file, 3, {name: (column, [column]) for name, column in episodes[0].items()})
    again = episode_writer(form, tmp_path)
    assert not again.restore(state)
    again.close()


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_a_state_that_the_file_no_longer_covers_is_refused(tmp_path: Path, form: str) -> None:
    writer = episode_writer(form, tmp_path)
    writer.add(made(1))
    state = writer.state()
    writer.close()
    [path] = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - 9)
    with pytest.raises(ValueError, match=r"shorter than at the checkpoint|is damaged"):
        episode_writer(form, tmp_path).restore(state)
    path.unlink()
    with pytest.raises(ValueError, match=r"shorter than at the checkpoint|is missing"):
        episode_writer(form, tmp_path).restore(state)


def test_a_torn_last_line_is_cut_off_before_the_next_episode(tmp_path: Path) -> None:
    """TRJ-2: cut at any byte, the file goes on after its last whole episode."""
    path = tmp_path / "trajs.jsonl"
    writer = episode_writer("jsonl", tmp_path)
    for n in range(2):
        writer.add(made(n))
    writer.close()
    content = path.read_bytes()
    for size in [*range(0, len(content), 61), len(content)]:
        path.write_bytes(content[:size])
        again = episode_writer("jsonl", tmp_path)
        again.add(made(5))
        again.close()
        assert [int(n) for n in open_data(path).summary.lengths] == [*[2, 3][: content[:size].count(b"\n")], 7]


@pytest.mark.parametrize("before", FORMS)
@pytest.mark.parametrize("now", FORMS)
def test_a_resume_in_another_format_is_refused_with_the_one_to_take(tmp_path: Path, before: str, now: str) -> None:
    writer = episode_writer(before, tmp_path)
    writer.add(made(1))
    state = writer.state()
    writer.close()
    again = episode_writer(now, tmp_path)
    if before == now:
        assert again.restore(state)
    else:
        with pytest.raises(ValueError, match=f"are in {before}; resume with general_cfg.collect_format={before}"):
            again.restore(state)
    again.close()


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_episodes_wait_in_memory_while_the_disk_is_full(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "LIMIT", 2)
    writer = episode_writer(form, tmp_path)
    with monkeypatch.context() as patch:
        _fill_the_disk(patch)
        for n in range(3):
            writer.add(made(n))
        with pytest.raises(OSError, match="No space left"):
            writer.state()
        assert not list(tmp_path.glob("*.tmp"))
    writer.state()
    writer.close()
    assert open_data(tmp_path).summary.lengths.tolist() == [2, 3, 4]


def _fill_the_disk(patch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(archives, "write", full)
    patch.setattr("framework.disk.csv_log.LineLog._write", full)


def test_infos_travel_in_json_with_null_for_what_is_no_number(tmp_path: Path) -> None:
    writer = episode_writer("jsonl", tmp_path)
    info = [{"x": float("nan"), "y": np.array([1.0, np.inf]), "z": b"raw"}, {"w": (1, [2])}]
    writer.add(recorded(episode(2), info))
    writer.close()
    line = json.loads((tmp_path / "trajs.jsonl").read_text())
    assert line["info"] == [{"x": None, "y": [1.0, None], "z": "b'raw'"}, {"w": [1, [2]]}]
    assert open_data(tmp_path).summary.transitions == 2


def test_an_episode_that_is_too_long_for_a_line_names_the_format_to_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framework.dataset.lines.MOST_LINE_BYTES", 2**16)
    with pytest.raises(DataError, match="as a line of JSON; the format npz has no limit"):
        episode_writer("jsonl", tmp_path).add(recorded(episode(3000)))


def test_the_name_of_a_policy_in_the_info_of_a_single_agent_names_no_file(tmp_path: Path) -> None:
    """Only several agents have both, and names of policies lead nowhere."""
    writer = episode_writer("npz", tmp_path)
    writer.add(recorded(episode(1), [{"policy": "a"}]))
    writer.add(recorded(episode(1), [{"policy": "../a", "agent": "b"}]))
    writer.add(recorded(episode(1), [{"policy": "fast", "agent": "b"}]))
    writer.close()
    assert sorted(written(tmp_path)) == ["trajs_0.npz", "trajs_fast_0.npz"]


# ---------------------------------------------------------------------------------------------------------- runs


def results(folder: Path, *more: str) -> Path:
    assert main([*TOY, *more, "--into", str(folder)]) == 0
    return folder / "results"


def test_a_run_writes_the_same_episodes_in_each_format(tmp_path: Path) -> None:
    limit = "general_cfg.max_total_step=150"
    found = {form: results(tmp_path / form, f"general_cfg.collect_format={form}", limit) for form in FORMS}
    first = whole(open_data(found["pkl"]))
    for form, place in found.items():
        same(whole(open_data(place)), first)
        rows = read_csv(place / "train.csv")
        assert open_data(place).summary.returns.tolist() == pytest.approx([row["return"] for row in rows])
        assert all(name.endswith(form) for name in written(place))


@pytest.mark.parametrize("form", ["npz", "jsonl"])
def test_a_run_that_was_killed_and_resumed_has_the_files_of_one_that_was_not(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = f"general_cfg.collect_format={form}"
    straight, cut = results(tmp_path / "straight", given), tmp_path / "cut"
    killed_after(70, [*TOY, given], cut, monkeypatch)
    assert main(["--resume", str(cut)]) == 0
    assert written(cut / "results") == written(straight)


def test_a_resume_of_a_run_in_another_format_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(tmp_path / "run", "general_cfg.collect_format=npz", "general_cfg.max_total_step=150")
    capsys.readouterr()
    more = ["general_cfg.max_total_step=500", "general_cfg.collect_format=jsonl"]
    assert main(["--resume", str(tmp_path / "run"), *more]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "its trajectories are in npz; resume with general_cfg.collect_format=npz" in said


def test_a_data_set_of_minari_is_written_when_the_run_ends_and_anew_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("minari")
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    task = Path("run")  # a relative path, as a task directory has
    place = results(task, "general_cfg.collect_format=minari", "general_cfg.max_total_step=150")
    first = whole(open_data(place / "trajs.minari"))
    same(first, whole(open_data(place)))
    assert main(["--resume", "./run", "general_cfg.max_total_step=250"]) == 0
    longer = whole(open_data(place / "trajs.minari"))
    assert len(longer["reward"]) > len(first["reward"])
    same(longer, whole(open_data(place)))


def test_without_minari_its_format_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise DataError(minari_sets.INSTEAD)

    monkeypatch.setattr(minari_sets, "storages", missing)
    assert main([*TOY, "general_cfg.collect_format=minari", "--into", str(tmp_path / "run")]) == 2
    assert "general_cfg.collect_format: a Minari data set needs a package that is not installed here: pip" in (
        " ".join(capsys.readouterr().err.split())
    )
    assert not (tmp_path / "run").exists()


def test_with_several_agents_there_is_a_series_of_archives_for_each_policy(tmp_path: Path) -> None:
    """The transitions are those of trajs.pkl, agent by agent."""
    for form in FORMS:
        task = ["--into", str(tmp_path / form), f"general_cfg.collect_format={form}"]
        assert main([*words("traffic", TRAFFIC, 80), *task]) == 0
    content = read(tmp_path / "pkl/results/trajs.pkl")
    assert set(written(tmp_path / "npz/results")) == {f"trajs_{policy}_0.npz" for policy in TRAFFIC}
    lines = [json.loads(line) for line in (tmp_path / "jsonl/results/trajs.jsonl").read_text().splitlines()]
    assert [line["info"][0]["agent"] for line in lines] == [infos[0]["agent"] for infos in content["info"]]
    for policy in TRAFFIC:
        own = [n for n, infos in enumerate(content["info"]) if infos[0]["policy"] == policy]
        with np.load(tmp_path / f"npz/results/trajs_{policy}_0.npz", allow_pickle=False) as found:
            for name, key in (("observations", "state"), ("rewards", "reward"), ("timeouts", "truncated")):
                np.testing.assert_array_equal(found[name], np.concatenate([content[key][n] for n in own]))


def test_the_writers_have_what_a_run_asks_of_them(tmp_path: Path) -> None:
    for form in FORMS:
        writer: StepStore = episode_writer(form, tmp_path)
        assert writer.path.is_relative_to(tmp_path)
        writer.close()
    assert list(tmp_path.iterdir()) == []
