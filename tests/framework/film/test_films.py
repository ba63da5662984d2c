"""Films: mp4, the worst episodes, a grid, and a training episode once more."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio import v3 as imageio
from PIL import Image

from config.read.loader import load
from config.tell import language
from envs.base import Step
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.catalog import ALGOS, ENVS
from framework.collect.env_calls import Watch
from framework.collect.fragment import Episode
from framework.commands.work import film as again
from framework.disk.csv_table import read_csv
from framework.film import mp4, pictures
from framework.film.camera import Lens, Mosaic
from framework.film.film import Taped, film_into
from framework.film.gif import GifWriter
from framework.film.mp4 import Mp4Writer
from framework.film.pictures import CAPTION_HEIGHT, GAP, captioned
from framework.loop.evaluator import Evaluation
from framework.pages import fonts
from framework.record.recorders import Tape
from framework.runs.final_output import FilmSelection
from main import main
from tests.framework.record.test_output import film
from tests.framework.runs.test_run_end import FILMED, ONLINE, WORDS

ffmpeg: Any = pytest.importorskip("imageio_ffmpeg")


def frames_of(path: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Facts about a video, and its frames [n, height, width, 3]."""
    facts = imageio.immeta(path, plugin="FFMPEG")
    return facts, imageio.imread(path, plugin="FFMPEG")


def gif_frames(path: Path) -> np.ndarray:
    return imageio.imread(path, mode="RGB")


# mp4 --------------------------------------------------------------------------------------------------------


def test_an_mp4_has_the_pictures_at_the_speed_of_the_environment_and_holds_the_last_one(tmp_path: Path) -> None:
    """41 x 61 become 42 x 62, which the codec needs; 5 frames of 40 ms, and a last one of a second: 25 frames."""
    writer = Mp4Writer(tmp_path / "videos" / "video.mp4", 25)
    for level in (0, 60, 120, 180, 240):
        writer.add(np.full((41, 61, 3), level, np.uint8))
    writer.hold(np.full((41, 61, 3), 255, np.uint8))
    made = writer.close()
    facts, frames = frames_of(tmp_path / "videos" / "video.mp4")
    assert (facts["fps"], facts["size"]) == (25, (62, 42))
    assert made.text == "video: 6 frames, 1.2 s"
    assert len(frames) == 30
    levels = frames[:, 5:35, 5:55].mean((1, 2, 3))
    np.testing.assert_allclose(levels, [0, 60, 120, 180, 240, *[255] * 25], atol=3)
    assert [path.name for path in (tmp_path / "videos").iterdir()] == ["video.mp4"]


def test_an_mp4_leaves_out_frames_that_no_screen_shows(tmp_path: Path) -> None:
    assert Mp4Writer.timing(60) == (pytest.approx(1000 / 60), 1)
    assert Mp4Writer.timing(125) == (pytest.approx(24), 3)
    empty = Mp4Writer(tmp_path / "none.mp4", 30)
    made = empty.close()
    assert made.path is None
    assert not list(tmp_path.iterdir())


def test_an_mp4_does_not_follow_a_link_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "video.mp4.tmp").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(OSError, match="link"):
        Mp4Writer(tmp_path / "video.mp4", 30).add(np.zeros((20, 20, 3), np.uint8))
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("ending", ["exit 1", "exit 0"])
def test_an_ffmpeg_that_fails_leaves_the_older_video(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes all frames, as on a full disk, and writes nothing."""
    program, path = tmp_path / "ffmpeg", tmp_path / "video.mp4"
    real = ffmpeg.get_ffmpeg_exe()
    program.write_text(f'#!/bin/sh\ncase "$*" in *rawvideo*) cat > /dev/null; {ending};; esac\nexec {real} "$@"\n')
    program.chmod(0o755)
    path.write_text("older")
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    writer = Mp4Writer(path, 30)
    writer.add(np.zeros((20, 20, 3), np.uint8))
    with pytest.raises(OSError, match="ffmpeg failed"):
        writer.close()
    assert path.read_text() == "older"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ffmpeg", "video.mp4"]


@pytest.mark.parametrize("body", ["exit 1", "exit 0", "kill -9 $$", "echo ffmpeg version 7", "cat > /dev/null"])
def test_an_ffmpeg_that_does_nothing_is_named(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says of its encoders cannot be read."""
    program, path = tmp_path / "ffmpeg", tmp_path / "video.mp4"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    path.write_text("older")
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    ffmpeg._io.get_first_available_h264_encoder.cache_clear()
    writer = Mp4Writer(path, 30)
    with pytest.raises(OSError, match="ffmpeg does not work: pip install") as caught:
        writer.add(np.zeros((20, 20, 3), np.uint8))
    assert str(caught.value).startswith(str(program))
    writer.abandon()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ffmpeg", "video.mp4"]


@pytest.mark.parametrize("name", ["video.gif", "video.mp4"])
@pytest.mark.parametrize("columns", [0, 2])
def test_a_video_that_breaks_off_leaves_the_older_one(name: str, columns: int, tmp_path: Path) -> None:
    calls = iter(range(5))

    def check() -> None:
        if next(calls, None) is None:
            raise RuntimeError("broken off")

    (tmp_path / name).write_text("older")
    config = load(None, [*WORDS, *FILMED], find_algo=ALGOS, find_env=ENVS)
    taped = [Taped(n, Episode(0, 0, 0, 1, 0.0, 12, False, 12), np.zeros(12, np.int64)) for n in (1, 2)]
    with pytest.raises(RuntimeError, match="broken off"):
        film_into(tmp_path / name, build.open_drawing(config, Watch()), taped, check, Watch(), columns)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(name, "older")]


def test_without_the_package_mp4_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert main([*WORDS, "general_cfg.video_format=mp4", "--into", str(tmp_path / "run")]) == 2
    err = capsys.readouterr().err
    assert f"mp4 needs the package imageio-ffmpeg, which is not installed: {mp4.INSTALL}" in err
    assert not list(tmp_path.iterdir())


# several at once ---------------------------------------------------------------------------------------------


class Grey:
    """An environment whose picture is a level of grey."""

    def __init__(self, level: int) -> None:
        self.level = level

    def render(self) -> np.ndarray:
        return np.full((30, 230, 3), self.level, np.uint8)


def test_an_episode_of_a_grid_keeps_its_last_picture_until_all_are_over(tmp_path: Path) -> None:
    """Two rows and two columns for three episodes, of which the first is over after one step."""
    lenses = [Lens(number) for number in (4, 5, 6)]
    writer = GifWriter(tmp_path / "video.gif", 50)
    mosaic = Mosaic(writer, lenses, columns=2)
    reward = Step(np.zeros(1), np.array([2.0], np.float32), np.zeros(1, bool), np.zeros(1, bool))
    env: Any
    for step in range(3):
        for at, lens in enumerate(lenses):
            env = Grey(60 * at + 50 + step)
            if at or not step:
                lens.step(None, None, reward, env)  # type: ignore[arg-type]
            if not at and not step:
                lens.end(Episode(0, 0, 0, 7, 2.0, 1, True, 1), env)
        mosaic.take()
    writer.close()
    frames = gif_frames(tmp_path / "video.gif")
    height, width = 30 + CAPTION_HEIGHT, 230
    assert frames.shape == (3, 2 * height + GAP, 2 * width + GAP, 3)
    cells = [frames[:, :height, :width], frames[:, :height, -width:], frames[:, -height:, :width]]
    assert [cell[:, -1, -1, 0].tolist() for cell in cells] == [[50] * 3, [110, 111, 112], [170, 171, 172]]
    selection = captioned(Image.new("RGB", (230, 30), (50, 50, 50)), "episode 4   step 1   return 2   end")
    np.testing.assert_array_equal(cells[0][2], np.asarray(selection))
    assert not frames[:, -height:, -width:].any()


@pytest.mark.parametrize("frame", [np.eye(4, dtype=bool), np.eye(4), np.eye(4, dtype=np.float32)])
def test_pictures_of_bits_and_of_floats_up_to_one_are_black_and_white(frame: np.ndarray) -> None:
    picture = pictures.picture_of(frame)
    assert picture is not None
    assert (np.asarray(picture)[:, :, 0] == 255 * np.eye(4)).all()


def test_a_large_grid_is_made_smaller_before_its_captions_are_written(tmp_path: Path) -> None:
    lenses = [Lens(number) for number in range(9)]
    writer = GifWriter(tmp_path / "video.gif", 50, max_side=300)
    for lens in lenses:
        lens.frame = np.zeros((400, 400, 3), np.uint8)
    Mosaic(writer, lenses, columns=3).take()
    writer.close()
    [frame] = gif_frames(tmp_path / "video.gif")
    assert max(frame.shape) <= 300
    assert set(np.unique(frame[:CAPTION_HEIGHT])) == {0, 255}  # sharp letters


def played(*returns: float, score: str | None = None) -> tuple[Evaluation, Tape]:
    episodes = [Episode(0, 0, at, at, value, 1, True, at, metrics={"won": -value}) for at, value in enumerate(returns)]
    tape = Tape(1)
    tape.episodes = {(0, at): np.zeros(1) for at in range(len(returns))}
    return Evaluation(episodes, score), tape


@pytest.mark.parametrize(
    ("selection", "score", "numbers"),
    [
        (FilmSelection(), None, [1, 2, 3, 4]),
        (FilmSelection(worst=True), None, [3]),
        (FilmSelection(worst=True), "won", [2]),
        (FilmSelection(grid=(1, 3)), None, [1, 2, 3]),
        (FilmSelection(worst=True, grid=(1, 2)), None, [3, 1]),
    ],
)
def test_the_worst_episodes_are_those_of_the_lowest_score(
    selection: FilmSelection, score: str | None, numbers: list[int]
) -> None:
    assert [taped.number for taped in selection.of(*played(2.0, 9.0, 1.0, 5.0, score=score))] == numbers


def test_a_caption_has_no_word_of_the_user_so_any_font_has_its_characters() -> None:
    lens = Lens(57)
    lens.over = True
    assert lens.caption == "episode 57   step 0   return 0   end"


def test_a_caption_shows_the_number_of_the_episode(tmp_path: Path) -> None:
    film(tmp_path, [1], episodes=1)
    first = gif_frames(tmp_path / "video.gif")[0]
    white = Image.new("RGB", (300, 40), (255, 255, 255))
    np.testing.assert_array_equal(first, np.asarray(captioned(white, "episode 1   step 1   return 2")))


# the command -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 12 steps an episode with random rewards, and its trajectories."""
    folder = tmp_path_factory.mktemp("runs") / "line"
    assert main([*WORDS, *ONLINE, "general_cfg.collect_traj=true", "--into", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("form", ["pkl", "npz"])
def test_a_training_episode_is_filmed_again_with_the_same_rewards(
    form: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if form != "pkl":
        trained = tmp_path / "run"
        more = ["general_cfg.collect_traj=true", f"general_cfg.collect_format={form}"]
        assert main([*WORDS, *more, "--into", str(trained)]) == 0
    row = read_csv(trained / "results/train.csv")[16]
    capsys.readouterr()
    assert main(["film", str(trained), "--episode", "17", "--into", str(tmp_path / "film")]) == 0
    assert "episode 17 again: the same 12 rewards" in capsys.readouterr().out
    meta = json.loads((tmp_path / "film/videos/video.meta.json").read_text())
    assert meta == {**{name: row[name] for name in ("episode", "length", "return", "seed")}, "exact": True}
    assert len(gif_frames(tmp_path / "film/videos/video.gif")) == 13
    facts = json.loads((tmp_path / "film/run.json").read_text())
    assert facts["filmed"]["episode"] == 17
    assert RecordedRun(tmp_path / "film").state == "finished"


def test_another_reward_in_a_repetition_is_said(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = again._taped

    def changed(*args: Any) -> Any:
        taped = whole(*args)
        taped.rewards[[4, 7]] += np.float32([1.0, -1.0])
        return taped

    monkeypatch.setattr(again, "_taped", changed)
    assert main(["film", str(trained), "--episode", "17", "--into", str(tmp_path / "film")]) == 0
    assert "went differently: another reward in 2 steps, the first in step 5" in capsys.readouterr().out
    assert json.loads((tmp_path / "film/videos/video.meta.json").read_text())["exact"] is False


def test_trajectories_of_a_resumed_part_belong_to_the_last_episodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Collected from the resume on: those before it are refused, those after it are found."""
    run, half = tmp_path / "run", [*WORDS, "general_cfg.max_total_step=120"]
    assert main([*half, "--into", str(run)]) == 0
    assert main(["resume", str(run), "general_cfg.max_total_step=240", "general_cfg.collect_traj=true"]) == 0
    assert len(read_csv(run / "results/train.csv")) == 20
    capsys.readouterr()
    assert main(["film", str(run), "--episode", "15", "--into", str(tmp_path / "film")]) == 0
    assert "the same 12 rewards" in capsys.readouterr().out
    assert main(["film", str(run), "--episode", "3", "--into", str(tmp_path / "other")]) == 2
    assert "do not have it in its place" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_a_film_is_of_the_worst_episodes_in_a_grid(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--episodes", "5", "--worst", "--grid", "1x2", "general_cfg.video_format=mp4"]
    assert main(["film", str(trained), *given, "--into", str(tmp_path / "film")]) == 0
    episodes = read_csv(tmp_path / "film/results/test.csv")
    assert len(episodes) == 5
    [said] = re.findall(r"the worst of 5 episodes: (\d) .*, (\d) ", capsys.readouterr().out)
    returns = [row["return"] for row in episodes]
    assert [returns[int(number) - 1] for number in said] == sorted(returns)[:2]
    facts, frames = frames_of(tmp_path / "film/videos/video.mp4")
    assert facts["size"] == (2 * 8 + GAP, 8 + CAPTION_HEIGHT)
    assert len(frames) == 12 + 10  # at 10 frames a second, and a second of the last picture
    assert '<video controls loop muted playsinline src="data:video/mp4' in (tmp_path / "film/report.html").read_text()


def test_a_branch_says_which_episodes_it_has(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = min(int(place.name) for place in (trained / "models").glob("[0-9]*"))
    words = ["load_checkpoint=true", f"load_path={trained}", f"load_model_step={start}"]
    assert main([*(f"general_cfg.{word}" for word in words), "--into", str(tmp_path / "branch")]) == 0
    first = int(read_csv(tmp_path / "branch" / "results" / "train.csv")[0]["episode"])
    assert first > 1
    assert main(["film", str(tmp_path / "branch"), "--episode", "1"]) == 2
    assert f"train.csv has the episodes {first} to 27" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--grid", "3"], "invalid grid '3': use rows x columns"),
        (["--grid", "10x10"], "invalid grid '10x10'"),
        (["--grid", "2x2", "--episodes", "3"], "--grid shows 4 episodes; --episodes 3 plays fewer"),
        (["--grid", "2x2", "--worst"], "--grid shows 4 episodes, and 3 are played; add --episodes 4"),
        (["--episode", "5", "--worst"], "--episode films one episode of the training; leave out --worst"),
        (["--episode", "0"], "invalid number '0'"),
        (["--episode", "900"], "train.csv has the episodes 1 to 27"),
    ],
)
def test_a_wrong_request_is_refused_and_writes_nothing(
    given: list[str], message: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["film", str(trained), *given])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_run_without_trajectories_has_no_episode_to_film_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main([*WORDS, "general_cfg.max_total_step=60", "--into", str(run)]) == 0
    assert main(["film", str(run), "--episode", "2"]) == 2
    message = capsys.readouterr().err
    assert "--episode 2 needs the trajectories of the run" in message
    assert "--episodes 2 films 2 new ones" in message


def test_flags_of_film_elsewhere_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["test", "NAME", "--worst"])
    assert "--worst, --grid and --episode are for:" in capsys.readouterr().err


def test_a_caption_is_in_the_language_of_the_reader_if_a_font_has_its_letters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(language.VARIABLE, "zh")
    language.language.cache_clear()
    lens, white = Lens(57), Image.new("RGB", (230, 30), (255, 255, 255))
    try:
        monkeypatch.setattr(fonts, "_families", lambda letters: ((), letters))
        assert lens.caption == "episode 57   step 0   return 0"
        monkeypatch.setattr(fonts, "_families", lambda letters: (("Some",), frozenset()))
        assert lens.caption == "回合 57   步数 0   回报 0"
    finally:
        language.language.cache_clear()
    monkeypatch.setattr(fonts, "file_with", lambda text: None)
    pictures._font.cache_clear()
    assert captioned(white, "回合 57").size == (230, 30 + CAPTION_HEIGHT), "a font without the letters draws boxes"
    pictures._font.cache_clear()
