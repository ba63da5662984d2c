"""What a person sees of a run: the film, the learning curve, the console, the report."""

import io
import json
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import imageio.v3 as imageio
import numpy as np
import pytest
import yaml

from config.general import GeneralConfig
from framework.output import LOGGER, figures, gif, html_report, terminal
from framework.output.console import Console, Outcome
from framework.output.csv_log import CsvLog
from framework.output.gif import GifWriter

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


@pytest.mark.parametrize(("fps", "hundredths"), [(50, 2), (30, 3), (60, 2), (4, 25), (20, 5), (15, 7), (1, 100)])
def test_frames_are_shown_as_long_as_the_environment_says(tmp_path: Path, fps: float, hundredths: int) -> None:
    """VID-2: 1000 / fps milliseconds, rounded to the 10 of GIF, in the bytes and as imageio reads them."""
    writer = GifWriter(tmp_path / "video.gif", fps)
    for n in range(5):
        writer.add(picture(n))
    film = writer.close()
    assert delays(tmp_path / "video.gif") == {hundredths}
    assert imageio.immeta(tmp_path / "video.gif")["duration"] == 10 * hundredths
    assert film.frames == 5
    assert film.seconds == pytest.approx(5 * hundredths / 100)


def test_a_fast_environment_keeps_its_speed_by_leaving_frames_out() -> None:
    """Browsers slow frames of 10 ms down to 100 ms, so none is shorter than 20."""
    assert gif.timing(125) == (20, 2)
    assert gif.timing(1000) == (20, 15)
    assert gif.timing(0) == gif.timing(float("nan")) == gif.timing(30) == (30, 1)


def test_the_film_shows_what_was_filmed(tmp_path: Path) -> None:
    """VID-1, the writer's side: not black, and to the pixel where a picture has at most 256 colours."""
    writer = GifWriter(tmp_path / "video.gif", 30)
    frames = [picture(n) for n in (0, 1, 1, 7, 0)]
    for frame in frames:
        writer.add(frame)
    writer.close()
    np.testing.assert_array_equal(imageio.imread(tmp_path / "video.gif", mode="RGB"), frames)
    assert not list(tmp_path.glob("*.tmp"))


def test_a_photograph_keeps_its_look_with_256_colours(tmp_path: Path) -> None:
    frame = np.zeros((64, 64, 3), np.uint8)
    frame[..., 0], frame[..., 1] = np.meshgrid(np.arange(0, 256, 4), np.arange(0, 256, 4))
    writer = GifWriter(tmp_path / "video.gif", 30)
    writer.add(frame)
    writer.close()
    seen = imageio.imread(tmp_path / "video.gif", mode="RGB", index=0)
    assert np.abs(seen.astype(int) - frame).mean() < 8


def test_what_is_no_picture_is_left_out_and_said(tmp_path: Path) -> None:
    """VID-3: no frames make no file; other sizes are fitted; grey, float and transparent pictures are taken."""
    empty = GifWriter(tmp_path / "none.gif", 30)
    empty.add(None)
    empty.add(np.zeros((2, 2, 7)))
    film = empty.close()
    assert (film.path, film.frames) == (None, 0)
    assert "no pictures" in film.text
    assert list(tmp_path.iterdir()) == []

    writer = GifWriter(tmp_path / "video.gif", 30)
    writer.add(picture(0))
    writer.add(np.full((80, 80, 3), 255, np.uint8))
    writer.add(np.full((40, 60), 99.7))
    writer.add(np.full((40, 60, 4), 7, np.uint8))
    film = writer.close()
    frames = imageio.imread(tmp_path / "video.gif", mode="RGB")
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


def test_large_pictures_become_smaller(tmp_path: Path) -> None:
    writer = GifWriter(tmp_path / "video.gif", 30)
    writer.add(np.zeros((1000, 2000, 3), np.uint8))
    writer.close()
    assert imageio.imread(tmp_path / "video.gif", index=0).shape[:2] == (320, 640)


# --------------------------------------------------------------------------------------------------- figure


def test_the_running_mean_is_that_of_the_last_values() -> None:
    np.testing.assert_allclose(figures.smooth(np.array([2.0, 4.0, 9.0, 1.0]), 2), [2.0, 3.0, 6.5, 5.0])
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
    assert imageio.imread(path).shape[:2] == (690, 1200)
    assert [file.name for file in path.parent.iterdir()] == ["learning_curve.png"]


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
        "import sys; from pathlib import Path; from framework.output.figures import learning_curve\n"
        f"learning_curve([], [], Path({str(tmp_path / 'x.png')!r}), title='x')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=environment)


# --------------------------------------------------------------------------------------------------- console


class Count:
    def __init__(self, step: int, episode: int, update: int) -> None:
        self.step, self.episode, self.update = step, episode, update


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
    console.start(Count(0, 0, 0))
    for n in range(rounds):
        clock.now += seconds
        console.episode(n + 1, float(n), 20, {"loss": 0.5, "epsilon": 0.1})
        console.round(Count(20 * (n + 1), n + 1, 10 * (n + 1)), (n + 1) / 100)


def test_a_pipe_gets_plain_lines_that_say_how_things_stand(tmp_path: Path, clock: Clock) -> None:
    """OSX-6: no carriage return, no escape sequence, a line for each tenth of the run."""
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=50)
    console.evaluation(500, 199.25, 1.5, 10, best=True)
    console.close()
    lines = stream.getvalue().splitlines()
    assert lines[4] == (
        "50%, 0:50 so far, 0:50 left | trained episode 50 of 100, step 1,000 (20/s), update 500 (10/s) | "
        "return 49, mean of 20: 39.5, best 49, length 20 | agent loss 0.5, epsilon 0.1"
    )
    assert lines[5] == "evaluation: 199.2 ± 1.5 over 10 episodes at update 500, the best so far"
    assert len(lines) == 6
    assert not set("\r\x1b") & set(stream.getvalue())


def test_a_terminal_gets_a_block_that_fits_its_width(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OSX-6: in 40 columns nothing wraps; at most eight pictures a second are drawn; nothing of it stays."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, seconds=0.01)
    console.warn("the disk is nearly full")
    console.close()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue()).replace("\r", "\n")
    assert max(map(len, text.splitlines())) <= 40
    assert re.search(r"trained .*…$", text, re.M)
    assert 5 <= text.count("trained") <= 12
    assert "warning: the disk is nearly full" in text
    assert stream.getvalue().rstrip().endswith("\x1b[2K")


def test_speed_and_time_left_are_those_of_the_last_half_minute(tmp_path: Path, clock: Clock) -> None:
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    play(console, clock, rounds=40, seconds=0.5)
    for n in range(41, 81):
        clock.now += 2.0
        console.round(Count(20 * n, n, 10 * n), n / 100)
    console.close()
    assert "80%, 1:40 so far, 0:40 left | trained episode 80 of 100, step 1,600 (10/s)" in stream.getvalue()


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_color_and_dumb_terminals_get_plain_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OSX-6."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert isinstance(terminal.choose(Terminal()), terminal.Live)
    monkeypatch.setenv(name, "dumb")
    assert isinstance(terminal.choose(Terminal()), terminal.Plain)


def test_a_console_without_a_character_shows_a_question_mark(tmp_path: Path, clock: Clock) -> None:
    """OSX-3: an old code page does not stop a run; the log has the text as it was."""
    raw = io.BytesIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(), io.TextIOWrapper(raw, encoding="ascii"))
    console.note("1 ± 2 车")
    console.close()
    assert raw.getvalue() == b"1 ? 2 ?\n"
    assert "1 ± 2 车" in (tmp_path / "log.txt").read_text(encoding="utf-8")


def test_a_reader_that_goes_away_stops_nothing(tmp_path: Path) -> None:
    """OSX-6: `| head -1`, and a closed stdout; the process ends well, the log is whole."""
    code = (
        "import sys; from pathlib import Path; from config.general import GeneralConfig\n"
        "from framework.output.console import Console\n"
        f"console = Console(Path({str(tmp_path / 'log.txt')!r}), GeneralConfig())\n"
        "for n in range(5000): console.note(f'note {n}')\n"
        "console.close(); print('a print after the reader has gone')\n"
    )
    for end in ("| head -1", ">&-"):
        command = f'"{sys.executable}" -c "$CODE" {end}; echo "${{PIPESTATUS[0]}}" >&2'
        done = subprocess.run(["bash", "-c", command], env={**os.environ, "CODE": code}, capture_output=True, text=True)
        assert done.stderr == "0\n"
        assert (tmp_path / "log.txt").read_text().count("note") == 5000
        (tmp_path / "log.txt").unlink()


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
    console.summary(outcome(tmp_path / "a b", finished=False, reason="interrupted", score=None, best_model=None))
    console.close()
    text = stream.getvalue()
    assert "score        193.2 ± 8 over 10 episodes   (random policy 22)\n" in text
    assert "trained      100 episodes, 12,000 steps, 11,900 updates in 1:05\n" in text
    assert (
        "python main.py general_cfg.mode=test general_cfg.load_checkpoint=true "
        "general_cfg.load_path=Train_X env_cfg.render_mode=rgb_array\n"
    ) in text
    assert f"python main.py --resume '{tmp_path}/a b'\n" in text


# --------------------------------------------------------------------------------------------------- report

EVIL = "<script>alert(1)</script>\"'&"


def task_dir(path: Path, **changes: Any) -> Path:
    """A task directory as a run leaves it."""
    config = {
        "general_cfg": GeneralConfig(max_episode=77).model_dump(mode="json"),
        "algo_cfg": {"lr": 0.5, "batch_size": 64},
        "env_cfg": {"id": "CartPole-v1", "render_mode": None},
    }
    for folder in ("results", "models/500", "models/1000", "models/best", "videos"):
        (path / folder).mkdir(parents=True)
    (path / "config.yaml").write_text(yaml.safe_dump(changes.get("config", config)))
    (path / "run.json").write_text(changes.get("run", '{"seed": 7, "command_line": ["--yaml", "a b.yaml"]}'))
    log = CsvLog(path / "results" / "eval.csv", ["update", "step", "mean", "std", "episodes", "best"])
    log.append({"update": 500, "step": 510, "mean": 12.5, "std": 1.5, "episodes": 10, "best": True})
    log.append({"update": 1000, "step": 1010, "mean": 11.0, "std": 2.0, "episodes": 10, "best": False})
    log.close()
    figures.learning_curve([], [], path / "results" / "learning_curve.png", title="x")
    return path


def test_the_report_tells_what_was_run_and_how_it_came_out(tmp_path: Path) -> None:
    page = html_report.write(task_dir(tmp_path / "Train_X")).read_text(encoding="utf-8")
    assert "<h1>DQN on CartPole-v1</h1>" in page
    assert "<dt>score</dt><dd>11 ± 2</dd>" in page
    assert "<dt>best evaluation</dt><dd>12.5</dd>" in page
    assert "<td>general_cfg.max_episode</td><td>77</td><td>100</td>" in page
    assert "<td>algo_cfg.lr</td><td>0.5</td><td>0.0002</td>" in page
    assert "algo_cfg.batch_size" not in page
    assert "<td>1,000</td>" in page
    assert "<td>500</td><td>12.5 ± 1.5 over 10 episodes</td>" in page
    assert "python main.py --yaml &#x27;a b.yaml&#x27;" in page
    assert "data:image/png;base64," in page


def test_the_report_shows_every_text_as_text_and_loads_nothing(tmp_path: Path) -> None:
    """SEC-5: no script, no address, no reference to another file, whatever the run is called."""
    config = {
        "general_cfg": {"algo_name": EVIL, "mode": "train", EVIL: EVIL},
        "algo_cfg": {EVIL: [EVIL]},
        "env_cfg": {"id": EVIL},
    }
    run = {"started": EVIL, "seed": EVIL, "outcome": EVIL, "command_line": [EVIL], "versions": {EVIL: EVIL},
           "preset": EVIL, "inexact_resume": EVIL, "resumes": [{"from": EVIL}], "random_return": EVIL}  # fmt: skip
    folder = task_dir(tmp_path / EVIL.replace("/", "-"), config=config, run=json.dumps(run))
    page = html_report.write(folder).read_text(encoding="utf-8")
    assert 'src="data:image/png' in page
    assert all(source.startswith("data:") for source in re.findall(r'(?:src|href)="([^"]*)', page))
    page = re.sub(r"data:image/png;base64,[^\"]*", "", page)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|<iframe|<object|javascript:", page)
    assert not re.search(r"<[a-z]+[^>]* on\w+=", page)


def test_the_report_of_an_empty_or_damaged_directory_is_a_page_too(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: [b")
    (tmp_path / "run.json").write_text("[1")
    assert "</html>" in html_report.write(tmp_path).read_text()


def test_the_report_does_not_import_what_a_config_names(tmp_path: Path) -> None:
    """SEC-3: a dotted name in a directory that came from elsewhere is shown, not looked up."""
    config = {"general_cfg": {"algo_name": "antigravity.evil", "env_name": "os.path"}, "algo_cfg": {"lr": 1}}
    page = html_report.write(task_dir(tmp_path / "x", config=config)).read_text()
    assert "antigravity" not in sys.modules
    assert "<td>algo_cfg.lr</td><td>1</td><td></td>" in page
