"""Video, learning curve and console of a run."""

import io
import logging
import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio import v3 as imageio
from PIL import Image

from algos.base import Progress
from config.config import GeneralConfig
from config.read.loader import load
from config.tell import language
from framework.archive.curves import EVALUATION
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Episode
from framework.film.camera import Camera
from framework.film.gif import GifWriter
from framework.film.pictures import CAPTION_HEIGHT, captioned
from framework.film.video import Film
from framework.log import LOGGER
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Count
from framework.pages import figures, fonts
from framework.pages.axes import legend_columns
from framework.record.console import Console, Outcome
from framework.runs import exactness
from framework.runs.signals import StopSignals
from framework.screen import terminal
from framework.screen.formatting import resume_command, video_command
from framework.screen.speed import Pace
from framework.screen.stages import look, stage
from tests.tools.core import toy_of

# --------------------------------------------------------------------------------------------------- film


def picture(n: int, size: tuple[int, int] = (40, 60)) -> np.ndarray:
    """A white picture with a square that moves, of the kind that environments draw."""
    frame = np.full((*size, 3), 255, np.uint8)
    frame[5:15, n % 40 : n % 40 + 8] = (200, n % 256, 30)
    return frame


def delays(path: Path) -> set[int]:
    """Hundredths of a second between frames, from the bytes of the file."""
    return {
        int.from_bytes(match[1], "little") for match in re.finditer(rb"!\xf9\x04.(..).\x00,", path.read_bytes(), re.S)
    }


def frames_of(path: Path) -> np.ndarray:
    """All frames of a GIF [n, height, width, 3]."""
    return imageio.imread(path, mode="RGB")


def durations(path: Path) -> list[int]:
    """Milliseconds for which each frame of a GIF stays."""
    return [imageio.immeta(path, index=n)["duration"] for n in range(len(frames_of(path)))]


@pytest.mark.parametrize(("fps", "hundredths"), [(50, 2), (30, 3), (60, 2), (4, 25), (20, 5), (15, 7), (1, 100)])
def test_frames_are_shown_as_long_as_the_environment_says(tmp_path: Path, fps: float, hundredths: int) -> None:
    """VID-2: 1000 / fps milliseconds, rounded to the 10 of GIF, in the bytes and as imageio reads them."""
    writer = GifWriter(tmp_path / "video.gif", fps)
    for n in range(5):
        writer.add(picture(n))
    film = writer.close()
    assert delays(tmp_path / "video.gif") == {hundredths}
    assert durations(tmp_path / "video.gif") == [10 * hundredths] * 5
    assert film.frames == 5
    assert film.seconds == pytest.approx(5 * hundredths / 100)


def test_a_fast_environment_keeps_its_speed_by_leaving_frames_out() -> None:
    """Browsers slow frames of 10 ms down to 100 ms, so none is shorter than 20."""
    assert GifWriter.timing(125) == (20, 2)
    assert GifWriter.timing(1000) == (20, 15)
    assert GifWriter.timing(30) == (30, 1)


def test_the_film_shows_what_was_filmed(tmp_path: Path) -> None:
    """VID-1, the writer's side: not black, and to the pixel where a picture has at most 256 colours."""
    writer = GifWriter(tmp_path / "video.gif", 30)
    frames = [picture(n) for n in (0, 1, 1, 7, 0)]
    for frame in frames:
        writer.add(frame)
    writer.close()
    np.testing.assert_array_equal(frames_of(tmp_path / "video.gif"), frames)
    assert not list(tmp_path.glob("*.part"))


def test_a_photograph_keeps_its_look_with_256_colours(tmp_path: Path) -> None:
    frame = np.zeros((64, 64, 3), np.uint8)
    frame[..., 0], frame[..., 1] = np.meshgrid(np.arange(0, 256, 4), np.arange(0, 256, 4))
    writer = GifWriter(tmp_path / "video.gif", 30)
    writer.add(frame)
    writer.close()
    seen = frames_of(tmp_path / "video.gif")[0]
    assert np.abs(seen.astype(int) - frame).mean() < 8


def test_what_is_no_picture_is_left_out_and_said(tmp_path: Path) -> None:
    """VID-3: no frames make no file; other sizes are fitted; grey, float and transparent pictures are taken."""
    empty = GifWriter(tmp_path / "none.gif", 30)
    empty.add(None)
    empty.add(np.zeros((2, 2, 7)))
    film = empty.close()
    assert (film.path, film.frames) == (None, 0)
    assert "no pictures; render() is to return an array of uint8 with shape (height, width, 3)" in film.text
    assert list(tmp_path.iterdir()) == []

    writer = GifWriter(tmp_path / "video.gif", 30)
    writer.add(picture(0))
    writer.add(np.full((80, 80, 3), 255, np.uint8))
    writer.add(np.full((40, 60), 99.7))
    writer.add(np.full((40, 60, 4), 7, np.uint8))
    film = writer.close()
    frames = frames_of(tmp_path / "video.gif")
    assert frames.shape == (4, 40, 60, 3)
    assert (frames[1, :, 10:50] == 255).all()
    assert (frames[1, :, :10] == 0).all()
    assert (frames[2] == 99).all()
    assert "fitted to the first" in film.text


def test_a_film_of_a_hundred_thousand_frames_is_cut_off(tmp_path: Path) -> None:
    """VID-3: memory holds one picture, and the file has an end."""
    writer = GifWriter(tmp_path / "video.gif", 30, max_frames=50)
    frame = picture(0)
    for _ in range(100_000):
        writer.add(frame)
    film = writer.close()
    assert film.frames == 50
    assert "cut off after 50 frames" in film.text
    held = [value for value in vars(writer).values() if isinstance(value, list | np.ndarray)]
    assert sum(np.asarray(value).nbytes for value in held) <= frame.nbytes


@pytest.mark.parametrize("colors", [1, 2, 3, 5, 255, 256])
def test_a_frame_has_a_table_of_its_own_colors_no_longer_than_needed(tmp_path: Path, colors: int) -> None:
    """The first frame has 256, so that the table of the file is not that of the later ones."""
    ramp = np.resize(np.arange(colors, dtype=np.uint8), (64, 64))
    shades = [np.stack([ramp + n, ramp, 7 * ramp], axis=2) for n in range(9)]
    many = np.resize(np.arange(256, dtype=np.uint8), (64, 64))
    frames = [np.stack([many, many, 255 - many], axis=2), *shades]
    writer = GifWriter(tmp_path / "video.gif", 30)
    for frame in frames:
        writer.add(frame)
    writer.close()
    np.testing.assert_array_equal(frames_of(tmp_path / "video.gif"), frames)


def test_a_film_of_few_colors_costs_few_bytes_a_frame(tmp_path: Path) -> None:
    """A table of 256 colors alone would be 768 bytes."""
    writer = GifWriter(tmp_path / "video.gif", 30)
    for n in range(100):
        writer.add(picture(n))
    writer.close()
    assert (tmp_path / "video.gif").stat().st_size < 100 * 100


def test_a_film_of_2000_frames_is_in_no_memory(tmp_path: Path) -> None:
    """All frames would be 14 MB; what has changed of them, with what Python needs for each, 2 MB."""
    writer = GifWriter(tmp_path / "video.gif", 50, max_frames=2_000)
    moving = [picture(n) for n in range(40)]
    for n in range(100):
        writer.add(moving[n % 40])
    tracemalloc.start()
    try:
        for n in range(100, 2_000):
            writer.add(moving[n % 40])
        film = writer.close()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert film.frames == 2_000
    assert most < 2**20


def film(tmp_path: Path, lengths: list[int], episodes: int, max_frames: int = 6000) -> Film:
    """A video of episodes that last so many steps of reward 2, with a white picture of 40 x 300."""
    env = toy_of("counter", render_mode="rgb_array")
    env.render = lambda row=0: np.full((40, 300, 3), 255, np.uint8)
    env.reset(np.array([True]), np.array([1]))
    env.reset(np.array([True]), np.array([1]))
    camera = Camera(GifWriter(tmp_path / "video.gif", 50, max_frames), range(1, episodes + 1))
    step = env.step(np.zeros(1, int))._replace(reward=np.array([2.0], np.float32))
    for number, length in enumerate(lengths):
        for _ in range(length):
            camera.step(None, None, step, env)
        camera.end(Episode(0, 0, number, 7, 2.0 * length, length, True, length), env)
    return camera.close()


def test_episodes_are_told_apart_in_a_video_and_nothing_of_the_picture_is_covered(tmp_path: Path) -> None:
    """A line above each picture changes with step and return; each episode ends with a second of its last picture."""
    made = film(tmp_path, [3, 2], episodes=2)
    frames = frames_of(tmp_path / "video.gif")
    assert frames.shape == (7, 40 + CAPTION_HEIGHT, 300, 3)
    assert (frames[:, CAPTION_HEIGHT:] == 255).all()
    captions = [frame[:CAPTION_HEIGHT].tobytes() for frame in frames]
    assert len(set(captions)) == 7
    assert set(np.unique(frames[:, :CAPTION_HEIGHT])) == {0, 255}
    assert durations(tmp_path / "video.gif") == [20, 20, 20, 1000, 20, 20, 1000]
    assert made.seconds == pytest.approx(2.1)
    assert made.text == "video: 7 frames, 2.1 s"


@pytest.mark.parametrize("lengths", [[3, 2], [3, 3]], ids=["at an end", "within an episode"])
def test_a_video_says_how_many_episodes_it_shows(tmp_path: Path, lengths: list[int]) -> None:
    made = film(tmp_path, lengths, episodes=200, max_frames=7)
    assert made.frames == 7
    assert made.text.endswith("cut off after 7 frames; 2 of 200 episodes")


def test_a_caption_is_shortened_to_the_width_of_the_picture() -> None:
    wide, narrow, tiny = (Image.new("RGB", (width, 30)) for width in (200, 60, 8))
    text = "episode 1   step 2   return 3"
    drawn = [np.asarray(captioned(picture, text)) for picture in (wide, narrow, tiny)]
    assert drawn[0][:, 100:].any()
    np.testing.assert_array_equal(drawn[1], captioned(narrow, "episode 1"))
    assert drawn[1].any()
    assert not drawn[2].any()


def test_large_pictures_become_smaller(tmp_path: Path) -> None:
    writer = GifWriter(tmp_path / "video.gif", 30)
    writer.add(np.zeros((1000, 2000, 3), np.uint8))
    writer.close()
    assert frames_of(tmp_path / "video.gif").shape[1:3] == (320, 640)


# --------------------------------------------------------------------------------------------------- figure


def test_the_running_mean_is_that_of_the_last_values() -> None:
    step, value, episodes = figures.running_mean(np.arange(4.0), np.array([2.0, 4.0, 9.0, 1.0]), 2)
    np.testing.assert_allclose(value, [2.0, 3.0, 6.5, 5.0])
    assert (step.tolist(), episodes.tolist()) == ([0, 1, 2, 3], [1, 2, 2, 2])
    assert [len(each) for each in figures.running_mean(np.array([]), np.array([]))] == [0, 0, 0]
    assert [figures.window_for(n) for n in (3, 19, 20, 100, 400, 2000, 10_000, 200_000)] == [
        1,
        1,
        5,
        5,
        20,
        100,
        100,
        1000,
    ]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_episodes_that_end_at_the_same_step_are_one_point_whatever_the_order_of_their_rows(window: int) -> None:
    """At step 10 the mean of 1 and 3, at 20 of 5 alone or with those before, at 30 of 7, 9 and 2 as a whole."""
    wanted = {1: [2, 5, 6], 2: [2, 3, 6], 3: [2, 3, 6]}[window]
    for order in ([1, 3, 5, 7, 9, 2], [3, 1, 5, 2, 7, 9]):
        step, value, episodes = figures.running_mean(np.array([10, 10, 20, 30, 30, 30]), np.array(order, float), window)
        assert (step.tolist(), value.tolist()) == ([10, 20, 30], wanted)
    assert episodes.tolist() == [2, 1 if window == 1 else 3, 3]


def rows_of_eight(steps: int) -> list[dict[str, Any]]:
    """Rows of train.csv of eight environments whose episodes end together: returns 0 to 7 at each end."""
    return [{"step": 224 * (n // 8 + 1), "return": float(n % 8), "a": n % 8 / 10} for n in range(8 * steps)]


@pytest.mark.parametrize("ends", [1, 36, 500], ids=["8 episodes", "288 episodes", "4,000 episodes"])
def test_the_mean_of_episodes_that_end_together_is_no_comb(
    ends: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean is 3.5 at each end, in both panels; a comb would go up and down between 0 and 7. No line joins the
    episodes, and a band has each end once."""
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "_save", lambda figure, *rest: drawn.append(figure))
    figures.learning_curve(rows_of_eight(ends), [], tmp_path / "x.png", title="x", numbers=["a"])
    above, below = drawn.pop().axes
    for axes, level in ((above, 3.5), (below, 0.35)):
        lines = [line.get_data() for line in axes.lines if line.get_linestyle() == "-"]
        assert len(lines) == 1
        step, mean = lines[0]
        assert len(step) == len(set(step)) == ends
        assert mean == pytest.approx([level] * ends)
    for band in above.collections:
        steps = band.get_paths()[0].vertices[1:-1, 0]
        assert max(np.unique_counts(steps).counts) <= 4, "twice in the upper edge, or twice in the lower one"


def test_a_band_holds_every_episode() -> None:
    middle, low, high = figures.bands(np.arange(10.0), np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3.0]), 2)
    assert (middle.tolist(), low.tolist(), high.tolist()) == ([2.0, 7.0], [1.0, 2.0], [5.0, 9.0])


def rows(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"step": 10 * (n + 1), "return": float(rng.normal(n, 5))} for n in range(count)]


@pytest.mark.parametrize(
    ("train", "evaluations"),
    [([], 0), (rows(1), 1), (rows(300), 100), (rows(20_000), 0), ([{"step": 1, "return": float("nan")}], 5)],
    ids=["nothing", "one episode", "300 episodes", "20,000 episodes", "NaN"],
)
def test_a_curve_is_drawn_of_any_run(tmp_path: Path, train: list[dict[str, Any]], evaluations: int) -> None:
    """VID-4: without a display, with characters that no font has, with NaN, with nothing at all."""
    points = [{"step": 10 * n, "mean": float(n), "std": float("nan") if n == 3 else 1.0} for n in range(evaluations)]
    path = tmp_path / "results" / "learning_curve.png"
    warnings.simplefilter("error")
    figures.learning_curve(train, points, path, title="DQN on 车杆 $x", random_return=1.5, expected_return=float("nan"))
    with Image.open(path) as picture:
        assert picture.size == (1200, 690)
    assert [file.name for file in path.parent.iterdir()] == ["learning_curve.png"]


def shown_in(figure_of: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The texts of a figure as they are when it is drawn."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    texts: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *rest, **look: texts.extend(figure.findobj(Text)))
    figure_of()
    return texts


@pytest.fixture
def only_dejavu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A machine whose fonts are those that matplotlib brings with it. Returns files of Chinese ones that it has."""
    from matplotlib import font_manager

    every = [path for path in font_manager.findSystemFonts() if "CJK" in path]
    kept = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", kept)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    remembered = (fonts._families, fonts._read_new_fonts, fonts._warn)
    for function in remembered:
        function.cache_clear()
    yield every
    for function in remembered:
        function.cache_clear()


def chinese(path: Path) -> None:
    ended = [{"step": n, "return": 1.0, "成功率": n / 10} for n in range(1, 5)]
    figures.learning_curve(ended, [], path, title="DQN on 无人机 $x", numbers=["成功率"])


@pytest.mark.usefixtures("only_dejavu")
def test_a_character_that_no_font_has_is_a_question_mark_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    said: list[str] = []
    monkeypatch.setattr(LOGGER, "warning", lambda text, *words: said.append(text % words))
    for _ in range(2):
        chinese(tmp_path / "a.png")
    assert len(said) == 1
    assert said[0].startswith("figures show ? in place of 人 功 成 无 机 ..., which no font of this machine has;")
    assert "apt install fonts-noto-cjk" in said[0]
    assert not recwarn.list
    texts = [text.get_text() for text in shown_in(lambda: chinese(tmp_path / "b.png"), monkeypatch)]
    assert {"DQN on ??? $x", "???"} <= set(texts)


def test_chinese_is_drawn_with_a_font_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, only_dejavu: list[str]
) -> None:
    """A font that was installed after matplotlib made its list is read, too."""
    from matplotlib import font_manager

    if not only_dejavu:
        pytest.skip("needs the Debian package fonts-noto-cjk")
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: only_dejavu)
    monkeypatch.setattr(LOGGER, "warning", lambda *words: pytest.fail("nothing is missing"))
    chinese(tmp_path / "a.png")
    assert not recwarn.list
    texts = {text.get_text(): text.get_family() for text in shown_in(lambda: chinese(tmp_path / "b.png"), monkeypatch)}
    assert [len(texts[name]) for name in ("DQN on 无人机 $x", "成功率", "return")] == [2, 2, 1]
    assert texts["成功率"][1].startswith("Noto Sans CJK")


@pytest.mark.parametrize("installed", [True, False])
def test_words_of_a_figure_are_chinese_where_a_font_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only_dejavu: list[str], installed: bool
) -> None:
    from matplotlib import font_manager

    if installed and not only_dejavu:
        pytest.skip("needs the Debian package fonts-noto-cjk")
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: only_dejavu if installed else [])
    monkeypatch.setattr(LOGGER, "warning", lambda *words: pytest.fail("nothing is missing"))
    line = np.arange(3.0), np.arange(3.0)

    def draw() -> None:
        figures.seed_curves([line] * 3, tmp_path / "a.png", title="x", quantity=EVALUATION, seeds=[1, 2, 3])

    with language.chosen("zh"):
        texts = {text.get_text() for text in shown_in(draw, monkeypatch)}
    said = {"评估回报", "环境步数", "种子 2", "3 个随机种子", "均值的 95 % 置信区间"}
    meant = {"evaluation return", "environment steps", "seed 2", "3 seeds", "95 % interval of the mean"}
    assert (said if installed else meant) <= texts


@pytest.mark.usefixtures("only_dejavu")
def test_a_figure_without_such_characters_looks_for_no_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_families", lambda letters: pytest.fail(f"looked for {letters}"))
    one = [{"step": 1, "mean": 1.0, "std": 1.0, "episodes": 3}]
    figures.learning_curve(rows(300), one, tmp_path / "a.png", title="DQN on CartPole-v1 – ½ Übung")


def test_chinese_names_take_twice_the_room_in_a_legend() -> None:
    assert (legend_columns(["成" * 7] * 5), legend_columns(["成" * 8] * 5)) == (5, 3)


def test_a_figure_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "curve.png").write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        figures.learning_curve(rows(3), [], tmp_path / "curve.png", title="x")
    assert (tmp_path / "curve.png").read_text() == "old"


def test_drawing_needs_no_pyplot(tmp_path: Path) -> None:
    """VID-4: pyplot would choose a backend with windows; in a fresh process without DISPLAY it is not even imported."""
    code = (
        "import sys; from pathlib import Path; from framework.pages.figures import learning_curve\n"
        f"learning_curve([], [], Path({str(tmp_path / 'x.png')!r}), title='x')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=environment)


def test_an_error_bar_is_the_standard_error_and_stays_among_the_returns() -> None:
    """std 0.4 of 16 episodes is 0.1; success of 0.95 with a highest return of 1 reaches 1, not 1.05."""
    row = {"step": 10, "mean": 0.95, "std": 0.4, "episodes": 16, "min": 0.0, "max": 1.0}
    for values, low, high in (
        (row, 0.85, 1.0),
        ({**row, "max": 9.0, "min": 0.9}, 0.9, 1.05),
        ({**row, "std": None}, 0.95, 0.95),
    ):
        step, mean, lower, upper = figures.error_bars([values])
        assert (step.tolist(), mean.tolist()) == ([10], [0.95])
        assert (lower[0], upper[0]) == (pytest.approx(low), pytest.approx(high))


def test_names_of_lines_do_not_overlap() -> None:
    assert figures.spread_out([5.0, 1.0, 9.0], 2) == [5, 1, 9]
    assert figures.spread_out([3.0, 3.0, 3.0], 2) == [1, 3, 5]
    assert figures.spread_out([], 2) == []


def test_a_window_that_cannot_be_opened_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """show_fig without a display: a word in place of silence, and the figure all the same."""
    import matplotlib

    monkeypatch.setattr(LOGGER, "propagate", True)
    said: list[str] = []
    monkeypatch.setattr(LOGGER, "warning", lambda text, *words: said.append(text % words))
    before = matplotlib.get_backend()
    try:
        matplotlib.use("agg")
        figures.learning_curve(rows(3), [], tmp_path / "a.png", title="x", show=True)
    finally:
        matplotlib.use(before)
    assert said == [f"show_fig: no window can be opened here; the figure is in {tmp_path / 'a.png'}"]
    assert (tmp_path / "a.png").exists()


# --------------------------------------------------------------------------------------------------- console


SHOWN = ("loss", "epsilon")


def ended(number: int, total: float, length: int, **metrics: float) -> tuple[list[Episode], list[dict[str, Any]]]:
    """An episode that has ended, and its row in train.csv."""
    return [Episode(0, 0, number - 1, 0, total, length, True, 0)], [{"episode": number, **metrics}]


def evaluated(mean: float, std: float = 0.0) -> Evaluation:
    """An evaluation of 10 episodes."""
    return Evaluation([Episode(0, i, 0, 0, mean + (std if i % 2 else -std), 1, True, 0) for i in range(10)])


def test_the_return_of_an_episode_is_that_of_the_score() -> None:
    [played, absent] = evaluated(3.0, 1.0).episodes[:2]
    scored = Evaluation([played._replace(metrics={"return_a": 9.0}), absent], "return_a")
    assert [scored.return_of(episode) for episode in scored.episodes] == [9.0, 4.0]
    assert Evaluation([played]).return_of(played) == 2.0


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def play(console: Console, clock: Clock, rounds: int = 100, seconds: float = 1.0) -> None:
    """A run of 100 episodes of 20 steps, one round each."""
    console.start(Progress(), columns=SHOWN)
    for n in range(rounds):
        clock.now += seconds
        console.episodes(*ended(n + 1, float(n), 20, loss=0.5, epsilon=0.1))
        console.round(Progress(20 * (n + 1), n + 1, 10 * (n + 1), (n + 1) / 100))


def test_a_pipe_gets_plain_lines_that_say_how_things_stand(tmp_path: Path, clock: Clock) -> None:
    """OSX-6: no carriage return, no escape sequence, a line for each tenth of the run."""
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=50)
    console.evaluation(evaluated(199.25, 1.5), Count(update=500), best=True)
    console.close()
    lines = stream.getvalue().splitlines()
    assert lines[4] == (
        "50%, 0:50 so far, 0:50 left | trained episode 50 of 100, step 1,000 (20/s), update 500 (10/s) | "
        "return 49, mean of 20: 39.5, best 49, length 20 | agent loss 0.5, epsilon 0.1"
    )
    assert lines[5] == "evaluation: 199.2 ± 1.5 over 10 episodes at update 500, the best so far"
    assert len(lines) == 6
    assert not set("\r\x1b") & set(stream.getvalue())


def test_the_returns_that_are_shown_are_those_of_the_policy_of_the_score(tmp_path: Path, clock: Clock) -> None:
    """The returns of two players add up to 0; an episode in which the policy did not play has none of its own."""
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=4, score_policy="player"), stream)
    console.start(Progress())
    for number, own in enumerate((-1.0, 1.0, None, -1.0), 1):
        clock.now += 10
        episodes, rows = ended(number, 0.0, 20)
        console.episodes(episodes, [{**rows[0], **({} if own is None else {"return_player": own})}])
        console.round(Progress(20 * number, number, 0, number / 4))
    console.close()
    last = stream.getvalue().splitlines()[-1]
    assert "return -1 of player, mean of 3: -0.3333, best 1, length 20" in last


def test_a_terminal_gets_a_block_that_fits_its_width(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OSX-6: in 40 columns long rows wrap; at most eight pictures a second are drawn; nothing of it stays."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, seconds=0.01)
    console.warn("the disk is nearly full")
    console.close()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue()).replace("\r", "\n")
    block = [line for line in text.splitlines() if not line.startswith("warning")]
    assert max(map(len, block)) <= 40 - len("^C")
    assert "…" not in text
    assert re.search(
        r"trained episode \d+ of 100, step [\d,]+ \([\d,]+/s\), update \d+ \([\d,]+/s\)", " ".join(text.split())
    )
    assert 5 <= text.count("trained") <= 12
    assert "warning: the disk is nearly full" in text
    assert stream.getvalue().rstrip().endswith("\x1b[2K")


def test_speed_and_time_left_are_those_of_the_last_half_minute(tmp_path: Path, clock: Clock) -> None:
    """Episodes left are counted by the steps of recent ones: 20 of them of 20 steps, at 10 steps a second."""
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=40, seconds=0.5)
    for n in range(41, 81):
        clock.now += 2.0
        console.round(Progress(20 * n, n, 10 * n, n / 100))
    console.close()
    assert "80%, 1:40 so far, 0:40 left | trained episode 80 of 100, step 1,600 (10/s)" in stream.getvalue()


def test_what_is_done_after_the_training_is_shown_below_its_end(tmp_path: Path, clock: Clock) -> None:
    """The last picture is of the last round that was drawn, a few of them before the end."""
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=95)
    before = stream.getvalue()
    console.trained(Progress(2000, 100, 1000, 1.0))
    assert stream.getvalue() == before, "only the work that follows shows it"
    clock.now += 60
    with stage("filming"):
        assert "100%, 1:35 so far, 0:00 left | trained episode 100 of 100" in stream.getvalue()[len(before) :]
    console.close()


def test_dumb_terminals_get_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """OSX-6."""
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(terminal.choose(Terminal()), terminal.Live)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(terminal.choose(Terminal()), terminal.Plain)


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7][0-9;]*m")


@pytest.mark.parametrize("colours", [True, False])
def test_no_color_removes_the_colours_and_not_the_block(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, colours: bool
) -> None:
    """Warnings and the bar have a colour where it is allowed; errors on stderr too."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "" if colours else "1")
    stream, errors = Terminal(), Terminal()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=3)
    shown = stream.getvalue()
    console.warn("careful")
    console.close()
    monkeypatch.setattr(sys, "stderr", errors)
    terminal.print_error("error: no")
    assert "trained" in shown
    assert bool(COLOUR.search(shown)) is colours
    assert ("\x1b[33mwarning: careful" in stream.getvalue()) is colours
    assert ("\x1b[31merror: no\x1b[0m" in errors.getvalue()) is colours
    assert "error: no" in errors.getvalue()


def test_the_first_picture_has_share_speed_and_time_left(tmp_path: Path, clock: Clock) -> None:
    """The first round of PPO is 2,048 steps long: speeds are measured from the start of training, after a resume from
    the counters of the checkpoint."""
    for start, seconds, line in (
        (Progress(), 0.0, "10%, 0:40 so far, 5:52 left | trained episode 0, step 2,048 of 20,048 (51/s), "),
        (Progress(8000), 60.0, "50%, 1:40 so far, 3:15 left | trained episode 0, step 10,048 of 20,048 (51/s), "),
    ):
        stream = io.StringIO()
        console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=-1, max_total_step=20_048), stream)
        console.start(start, seconds)
        clock.now += 40
        step = start.step + 2048
        console.round(Progress(step, 0, 320, step / 20_048))
        console.close()
        assert stream.getvalue() == f"{line}update 320 (8/s)\n"


def test_time_left_follows_the_limit_that_comes_first(tmp_path: Path, clock: Clock) -> None:
    """10 steps/s, 5 updates/s, episodes of 40 steps: 500 steps take 50 s, 200 updates 40 s, 6 episodes 24 s."""
    counts = Progress(100, 4, 50)
    limits = {"max_total_step": 600, "max_update": 250, "max_episode": 10}
    for names, left in (
        (["max_total_step"], 50),
        (["max_update"], 40),
        (["max_episode"], 24),
        (list(limits), 24),
        ([], None),
    ):
        cfg = GeneralConfig(**{"max_episode": -1, **{name: limits[name] for name in names}})
        pace = Pace(cfg)
        pace.start(0.0, Progress())
        pace.episodes([40])
        pace.mark(10.0, counts)
        assert pace.left(counts, 10.0) == left
    assert Pace(GeneralConfig(max_time=100)).left(Progress(), 30.0) == 70
    assert Pace(GeneralConfig(max_episode=10)).left(Progress(), 30.0) is None


def test_time_left_is_not_told_by_an_instant_or_a_pause(clock: Clock) -> None:
    """4 steps in 7 ms, and then a gradient step is compiled: 10 seconds are no 1:39."""
    pace = Pace(GeneralConfig(max_episode=-1, max_total_step=600))
    pace.start(0.0, Progress())
    pace.mark(0.007, now := Progress(4))
    assert pace.left(now, 10.0, pause=10.0) is None
    pace.mark(10.0, now := Progress(100))
    assert pace.left(now, 10.5, pause=0.5) == 50
    assert pace.left(now, 21.0, pause=11.0) is None


def test_time_left_follows_iterations(clock: Clock) -> None:
    """From 30 % to 55 % of the iterations in 10 s: 45 % take 18 s more. Of two limits, the first one counts."""
    for limits, left in (({}, 18), ({"max_total_step": 170}, 7)):
        pace = Pace(GeneralConfig(max_episode=-1, max_iteration=20, **limits))
        pace.start(0.0, Progress(0, 0, 0, 0.30))
        pace.mark(10.0, now := Progress(100, 4, 50, 0.55))
        assert pace.left(now, 10.0) == pytest.approx(left)


def test_what_keeps_training_waiting_is_shown_and_goes_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    with stage("playing 10 episodes", logged=True):
        assert "playing 10 episodes" in stream.getvalue()
    play(console, clock, rounds=2)
    shown = len(stream.getvalue())
    with stage("evaluating the model of update 20", logged=True):
        assert re.search(r"trained.*now.*evaluating the model of update 20", stream.getvalue()[shown:], re.S)
        shown = len(stream.getvalue())
    assert "trained" in stream.getvalue()[shown:]
    assert "evaluating" not in stream.getvalue()[shown:]
    console.close()


def test_a_signal_handler_finds_no_block_on_the_terminal(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it writes would end up within the block, and the next picture would leave a part of both."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=2)
    with StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop.received == signal.SIGTERM
    assert stream.getvalue().endswith("\x1b[2K")
    assert "saving" in capfd.readouterr().err
    before = len(stream.getvalue())
    play(console, clock, rounds=1)
    assert "trained" in stream.getvalue()[before:]

    block = terminal._block
    monkeypatch.setattr(terminal, "_block", lambda *parts: (terminal.announce("while it draws"), block(*parts))[1])
    play(console, clock, rounds=1)
    assert stream.getvalue().endswith("\x1b[2K"), "removed once it was drawn"
    assert capfd.readouterr().err == "\nwhile it draws\n"
    console.close()


def test_a_tie_is_not_the_best_so_far_again(tmp_path: Path) -> None:
    """Nor is one after a resume, whose best is that of the checkpoint."""
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(), stream)
    for mean, best in ((100.0, True), (200.0, True), (200.0, True), (150.0, False)):
        console.evaluation(evaluated(mean), Count(update=1), best)
    assert [line.endswith("the best so far") for line in stream.getvalue().splitlines()] == [True, True, False, False]
    console.start(Progress(), best=200.0)
    console.evaluation(evaluated(200.0), Count(update=1), True)
    assert not stream.getvalue().endswith("the best so far\n")
    console.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a file that is a full disk")
def test_a_full_disk_costs_lines_of_the_log_and_not_the_run(tmp_path: Path) -> None:
    console = Console(tmp_path / "log.txt", GeneralConfig(), io.StringIO())
    (file,) = (handler for handler in LOGGER.handlers if isinstance(handler, logging.FileHandler))
    file.setStream(open("/dev/full", "w", encoding="utf-8"))  # noqa: SIM115  # the handler closes it
    console.note("a line")
    file.later("another one")
    file.flush()
    console.close()


def test_a_line_of_the_log_ends_without_a_comma(tmp_path: Path) -> None:
    console = Console(tmp_path / "log.txt", GeneralConfig(), io.StringIO())
    console.start(Progress(), columns=SHOWN)
    console.episodes(*ended(1, 11.0, 11))
    console.episodes(*ended(2, 12.0, 12, loss=0.5))
    console.close()
    text = (tmp_path / "log.txt").read_text()
    assert "episode 1: return 11, length 11\n" in text
    assert "episode 2: return 12, length 12, loss 0.5\n" in text


def test_a_console_without_a_character_shows_a_question_mark(tmp_path: Path, clock: Clock) -> None:
    """OSX-3: an old code page does not stop a run; the log has the text as it was."""
    raw = io.BytesIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(), io.TextIOWrapper(raw, encoding="ascii"))
    console.note("1 ± 2 车")
    console.close()
    assert raw.getvalue() == b"1 ? 2 ?\n"
    assert "1 ± 2 车" in (tmp_path / "log.txt").read_text(encoding="utf-8")


def test_a_reader_that_goes_away_stops_nothing(tmp_path: Path) -> None:
    """OSX-6: `| head -1`; the process ends well, the log is whole."""
    code = (
        "import sys; from pathlib import Path; from config.config import GeneralConfig\n"
        "from framework.record.console import Console\n"
        f"console = Console(Path({str(tmp_path / 'log.txt')!r}), GeneralConfig())\n"
        "for n in range(5000): console.note(f'note {n}')\n"
        "console.close(); print('a print after the reader has gone')\n"
    )
    command = f'"{sys.executable}" -c "$CODE" | head -1; echo "${{PIPESTATUS[0]}}" >&2'
    done = subprocess.run(["bash", "-c", command], env={**os.environ, "CODE": code}, capture_output=True, text=True)
    assert done.stderr == "0\n"
    assert (tmp_path / "log.txt").read_text().count("note") == 5000


def test_a_process_without_stdout_has_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OSX-6: Python's stdout is None where the shell has closed it (`>&-`)."""
    monkeypatch.setattr(sys, "stdout", None)
    console = Console(tmp_path / "log.txt", GeneralConfig())
    console.note("a note")
    console.close()
    assert "a note" in (tmp_path / "log.txt").read_text()


def test_warnings_of_the_framework_are_shown_and_logged_once(tmp_path: Path) -> None:
    stream = io.StringIO()
    for _ in range(2):  # a second console does not repeat the first one's lines
        console = Console(tmp_path / "log.txt", GeneralConfig(), stream)
        LOGGER.warning("TensorBoard stopped")
        console.log_traceback(ValueError("secret of the log"))
        console.close()
    assert stream.getvalue() == "warning: TensorBoard stopped\n" * 2
    assert (tmp_path / "log.txt").read_text().count("ValueError: secret of the log") == 2


def outcome(task: Path, **changes: Any) -> Outcome:
    facts: dict[str, Any] = {
        "reason": "max_episode 100 reached",
        "finished": True,
        "count": Count(12_000, 100, 11_900),
        "seconds": 65.2,
        "score": {"mean": 193.25, "std": 8.0, "episodes": 10},
        "best": 195.0,
        "best_update": 5500,
        "random_return": 22.0,
        "figure": task / "results" / "learning_curve.png",
        "best_model": task / "models" / "best",
    }
    return Outcome(task=task, **(facts | changes))


def test_the_summary_names_the_score_the_files_and_the_next_command(tmp_path: Path) -> None:
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(), stream)
    console.summary(outcome(Path("tasks/Train_X")))
    stopped = {"finished": False, "reason": "interrupted", "score": None, "best_model": None}
    (tmp_path / "a b/models/11900").mkdir(parents=True)
    console.summary(outcome(tmp_path / "a b", **stopped))
    console.summary(outcome(tmp_path / "without a model", **stopped))
    console.close()
    text = stream.getvalue()
    assert "score        193.2 ± 8 over 10 episodes   (random policy 22)\n" in text
    assert "trained      100 episodes, 12,000 steps, 11,900 updates in 1:05\n" in text
    assert "to watch it  python main.py film Train_X\n" in text
    assert f"to resume  python main.py resume '{tmp_path}/a b'\n" in text
    assert text.count("to resume") == 1, "a run without a checkpoint is refused"


def test_commands_for_a_task_outside_of_tasks_name_its_place() -> None:
    """A bare name would be looked for under tasks/."""
    assert resume_command(Path("run")) == f"python main.py resume {Path('run').absolute()}"
    assert video_command(Path("run")) == f"python main.py film {Path('run').absolute()}"
    assert resume_command(Path("../run")) == f"python main.py resume {Path('..').resolve()}/run"
    assert resume_command(Path("tasks/a b")) == "python main.py resume 'tasks/a b'"
    assert video_command(Path("tasks/a b")) == "python main.py film 'a b'"
    assert video_command(Path("tasks/-v")) == "python main.py film tasks/-v", "-v would be a flag"


def summary_of(task: Path, **changes: Any) -> dict[str, str]:
    """Label -> text of the last screen."""
    stream = io.StringIO()
    console = Console(task / "logs" / "log.txt", GeneralConfig(), stream)
    console.summary(outcome(task, **changes))
    console.close()
    found = [re.split(r" {2,}", line, maxsplit=1) for line in stream.getvalue().splitlines()]
    return {label: text for label, text in found}


def test_the_summary_names_every_file_that_a_person_may_open(tmp_path: Path) -> None:
    """Those that exist; and no command for a video that is there, or that the environment cannot give."""
    said = summary_of(tmp_path)
    assert {"report", "curve", "video", "trajectories"} & said.keys() == set()
    assert said["to watch it"].startswith("python main.py")
    assert "to watch it" not in summary_of(tmp_path, can_film=False)
    files = {
        "report": "report.html",
        "curve": "results/learning_curve.png",
        "video": "videos/video.gif",
        "trajectories": "results/trajs.pkl",
        "log": "logs/log.txt",
    }
    for file in files.values():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    said = summary_of(tmp_path)
    assert {label: said.get(label) for label in files} == {label: str(tmp_path / file) for label, file in files.items()}
    assert "to watch it" not in said
    assert "curve" not in summary_of(tmp_path, figure=None), "an earlier session's"


def test_the_summary_counts_one_episode_and_names_a_score_that_is_not_above_random(tmp_path: Path) -> None:
    said = summary_of(tmp_path, count=Count(1, 1, 1), score={"mean": -500.0, "std": 0.0, "episodes": 1},
                      random_return=-500.0, expected_return=-73.0)  # fmt: skip
    assert said["trained"] == "1 episode, 1 step, 1 update in 1:05"
    assert said["score"] == "-500 ± 0 over 1 episode", "in 80 columns"
    assert said["against"] == "random policy -500, expected -73: not above the random policy"
    assert Path(said["what to do"]).is_file(), "a page"
    said = summary_of(tmp_path, score={"mean": -499.0, "std": 0.0, "episodes": 1}, random_return=-500.0)
    assert "not above" not in said["score"]
    assert "what to do" not in said


def test_the_last_screen_of_a_test_names_its_files(tmp_path: Path) -> None:
    (tmp_path / "report.html").touch()
    stream = io.StringIO()
    console = Console(tmp_path / "logs" / "log.txt", GeneralConfig(), stream)
    played = Evaluation([Episode(0, 0, number, number, 0.5 + number, 3, True, 3) for number in range(2)])
    console.tested(tmp_path, Path("tasks/a/models/best"), played, None, None)
    console.close()
    labels = ["score", "lowest, highest", "model", "report", "log", "episodes"]
    assert [line.split("  ")[0] for line in stream.getvalue().splitlines()] == labels
    assert str(tmp_path / "report.html") in stream.getvalue()


@pytest.mark.parametrize("entries", [3, 5])
def test_the_legend_is_no_wider_than_its_figure(entries: int, tmp_path: Path) -> None:
    figure = figures._figure(show=False)
    names = ("episode", "mean of 12 episodes", "expected 255", "random policy -144.4", "evaluation ± standard error")
    axes = figure.add_subplot()
    for name in names[:entries]:
        axes.plot([0, 1], [0, 1], label=name)
    figures._save(figure, tmp_path / "x.png")
    [legend] = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert legend._ncols == (3 if entries == 5 else 5)


def test_on_a_pipe_what_takes_long_is_said_at_once_and_again(tmp_path: Path, clock: Clock) -> None:
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(), stream)
    with stage("playing 2 episodes", logged=True):
        assert stream.getvalue() == "playing 2 episodes\n"
        for _ in range(25):
            clock.now += 1
            look()
    console.close()
    assert stream.getvalue().splitlines()[1:] == ["playing 2 episodes, 0:10 so far", "playing 2 episodes, 0:20 so far"]


def test_no_line_of_the_summary_about_the_score_is_wider_than_a_terminal(tmp_path: Path) -> None:
    score = {"mean": 23.95, "std": 3.584, "episodes": 20}
    for expected in (None, 500.0):
        said = summary_of(tmp_path, score=score, random_return=19.35, expected_return=expected)
        assert all(len(f"{'':14}{said[label]}") <= 80 for label in ("score", "against") if label in said)
        assert ("against" in said) is (expected is not None)


@pytest.mark.parametrize(
    ("algo", "settings", "change", "said"),
    [
        ("PPO", {"lr_schedule": "linear"}, "general_cfg.max_total_step: 200 -> 300",
         "algo_cfg.lr_schedule: from here on as in a run that was planned with general_cfg.max_total_step as now"),
        ("PER_DQN", {}, "general_cfg.max_episode: 2 -> 3",
         "algo_cfg.per_beta: from here on as in a run that was planned with general_cfg.max_episode as now"),
        ("PPO", {}, "general_cfg.max_total_step: 200 -> 300",
         "general_cfg.max_total_step: changes when the run ends, and no schedule"),
        ("PPO", {"lr_schedule": "linear"}, "general_cfg.log_level: info -> debug", ""),
    ],
)  # fmt: skip
def test_a_resume_says_what_another_limit_does_to_schedules(
    algo: str, settings: dict[str, Any], change: str, said: str
) -> None:
    values = {"general_cfg": {"algo_name": algo}, "algo_cfg": settings}
    config = load(None, find_algo=ALGOS, find_env=ENVS, values=values)
    assert list(exactness.of_limits(config, [change])) == ([said] if said else [])


def test_a_picture_of_floats_from_0_to_1_is_not_black() -> None:
    from framework.film.pictures import picture_of

    frame = np.zeros((4, 4, 3))
    frame[1, 2] = (1.0, 0.5, np.nan)
    picture = picture_of(frame)
    assert picture is not None
    assert np.asarray(picture)[1, 2].tolist() == [255, 127, 0]
    bright = picture_of(np.full((2, 2, 3), 200.0))
    assert bright is not None
    assert np.asarray(bright).max() == 200, "floats above 1 are bytes"
