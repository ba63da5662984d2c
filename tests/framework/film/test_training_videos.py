"""Videos of training episodes: repeated from seed and actions, and the training never knows."""

import hashlib
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import own_parts
import pytest
from PIL import Image, ImageSequence

from framework.dataset.trace_reader import read_traces
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import read_csv
from framework.film import film
from main import main
from tests.framework.record.test_traces import DQN, PPO, killed_after, train
from tests.tools.distributed import Rays, fake_rays

EVERY = "general_cfg.video_fre=5"
NO_TRACES = "general_cfg.traces=null"


@pytest.fixture
def rays(monkeypatch: pytest.MonkeyPatch) -> Rays:
    return fake_rays(monkeypatch)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without videos. It is only read, as the next one."""
    return train(tmp_path_factory.mktemp("runs") / "plain", DQN, 200, NO_TRACES)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with videos."""
    return train(tmp_path_factory.mktemp("runs") / "filmed", DQN, 200, EVERY, NO_TRACES)


def fingerprint(task: Path) -> dict[str, str]:
    saved = CheckpointStore(task / "models").newest(print)
    files = [task / "results/train.csv", task / "results/eval.csv", saved.path / "state.safetensors"]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.exists()}


def videos(task: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (task / "videos").glob("*")}


def checked(task: Path, every: int = 5) -> set[str]:
    """Every video belongs to a row of train.csv, and there is one for every such row. Returns the names."""
    rows = {row["episode"]: row for row in read_csv(task / "results/train.csv")}
    due = {number: row for number, row in rows.items() if number % every == 0}
    names = {f"worker-{row['worker']}.episode-{number}": row for number, row in due.items()}
    assert videos(task).keys() == {name + end for name in names for end in (".gif", ".meta.json")}
    for name, row in names.items():
        meta = json.loads((task / "videos" / f"{name}.meta.json").read_text())
        wanted = {key: row[key] for key in ("episode", "length", "return", "seed")}
        assert meta == {**wanted, "exact": True}
    return set(names)


def test_videos_change_no_number_of_the_training(plain: Path, filmed: Path, tmp_path: Path) -> None:
    """DET-3: train.csv and the whole state of the agent, which learns from a replay memory or from windows."""
    windows = [train(tmp_path / str(n), PPO, 200, *words, NO_TRACES) for n, words in enumerate(([], [EVERY]))]
    for without, videos_too in ((plain, filmed), windows):
        assert fingerprint(without) == fingerprint(videos_too)
        assert len(checked(videos_too)) >= 3
        assert not (without / "videos").exists()


def test_a_video_shows_the_episode(tmp_path: Path) -> None:
    """The picture of a line is as bright as the cell: those of the trace. The last one stays."""
    task = train(tmp_path / "run", DQN, 200, EVERY, "general_cfg.traces_compress=[]")
    name = min(checked(task))
    meta = json.loads((task / "videos" / f"{name}.meta.json").read_text())
    columns = read_traces(task / "results/traces")
    cells = [info["at"] for info in columns["infos"][columns["eps_id"] == meta["seed"]]]
    with Image.open(task / "videos" / f"{name}.gif") as gif:
        frames = [int(np.asarray(frame.convert("RGB"))[-1, 0, 0]) for frame in ImageSequence.Iterator(gif)]
    assert frames == [*cells, cells[-1]]
    assert len(cells) == meta["length"]


def test_with_ray_the_actions_travel_to_the_process_that_films(filmed: Path, rays: Rays, tmp_path: Path) -> None:
    words = ("general_cfg.mp_backend=ray", "general_cfg.run_ahead=0", EVERY, NO_TRACES)
    other = train(tmp_path / "other", DQN, 200, *words)
    assert videos(filmed) == videos(other)
    two = train(tmp_path / "two", DQN, 200, *words, "general_cfg.n_workers=2")
    assert {name.split(".")[0] for name in checked(two)} == {"worker-0", "worker-1"}


def test_a_run_that_was_killed_and_resumed_has_the_videos_of_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of episodes that were running at the checkpoint, of which a part was played before."""
    words = [*DQN, EVERY, NO_TRACES, "general_cfg.max_total_step=400", "algo_cfg.train_fre=4"]
    straight, cut = train(tmp_path / "straight", words, 400), tmp_path / "cut"
    killed_after(45, words, cut, monkeypatch)
    (cut / "videos/worker-7.episode-1000.gif").write_bytes(b"of a later episode")
    (cut / "videos/notes.txt").write_bytes(b"mine")
    assert main(["--resume", str(cut), "--allow-import", "own_parts"]) == 0
    assert videos(cut) == {**videos(straight), "notes.txt": b"mine"}


def test_an_episode_that_a_signal_kept_from_being_filmed_is_filmed_by_the_resumed_run(
    filmed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*DQN, EVERY, NO_TRACES, "general_cfg.max_total_step=200"]
    film_into, films = film.film_into, []

    def signalled(*given: Any) -> Any:
        films.append(given)
        if len(films) == 2:
            signal.raise_signal(signal.SIGINT)
        return film_into(*given)

    with monkeypatch.context() as patch:
        patch.setattr(film, "film_into", signalled)
        assert main([*words, "--into", str(tmp_path / "cut")]) == 130
    assert len([name for name in videos(tmp_path / "cut") if name.endswith(".json")]) == 1
    assert main(["--resume", str(tmp_path / "cut"), "--allow-import", "own_parts"]) == 0
    assert videos(tmp_path / "cut") == videos(filmed)


def test_an_environment_without_pictures_is_answered_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--algo=DQN", "general_cfg.env_name=toy", "env_cfg.id=match", EVERY, "--into", str(tmp_path / "run")]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "general_cfg.video_fre: toy match does not offer rgb_array" in said
    assert not (tmp_path / "run").exists()


def warnings_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out, err = capsys.readouterr()
    return [line for line in (out + err).splitlines() if line.startswith("warning")]


def test_an_environment_that_fails_to_draw_costs_one_warning(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    drawn = []

    def failing(self: own_parts.Line) -> Any:
        drawn.append(None)
        raise ZeroDivisionError("no brush")

    monkeypatch.setattr(own_parts.Line, "render", failing)
    task = train(tmp_path / "run", DQN, 200, EVERY, NO_TRACES)
    (warning,) = warnings_of(capsys)
    assert "no further training episodes are filmed" in warning
    assert "no brush" in warning
    assert len(drawn) == 1
    assert fingerprint(task) == fingerprint(plain)
    assert "ZeroDivisionError" in (task / "logs/log.txt").read_text()


def test_an_episode_that_goes_differently_costs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reset(self: own_parts.Line, *, seed: int | None = None, options: Any = None) -> Any:
        own_parts.gymnasium.Env.reset(self, seed=seed)
        self.at = 0 if self.render_mode else int(self.np_random.integers(0, self.size))
        return self._seen(), {}

    monkeypatch.setattr(own_parts.Line, "reset", reset)
    task = train(tmp_path / "run", DQN, 200, EVERY, NO_TRACES)
    (warning,) = warnings_of(capsys)
    assert "went differently: return" in warning
    metas = [json.loads(path.read_text()) for path in (task / "videos").glob("*.json")]
    assert not all(meta["exact"] for meta in metas)
    returns = {row["episode"]: row["return"] for row in read_csv(task / "results/train.csv")}
    assert all(returns[meta["episode"]] == meta["return"] for meta in metas)


def test_an_environment_that_cannot_be_replayed_is_not_filmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("envs.base.VectorEnv.replayable", False)
    task = train(tmp_path / "run", DQN, 200, EVERY, NO_TRACES)
    (warning,) = warnings_of(capsys)
    assert "cannot be repeated from seeds and actions" in warning
    assert not videos(task)
