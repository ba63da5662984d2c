"""What a notebook shows of runs, policies and films. No notebook is needed, and nothing loads anything."""

import base64
import io
import os
import re
import signal
import sys
import threading
import time
import types
from html.parser import HTMLParser
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from PIL import Image

import joystick
from framework.pages import cell, charts, html_page
from framework.runs.notebook import Cell, Film, LiveCurve

SETTINGS = {"max_total_step": 2000, "save_fig": False, "loggers": ["csv"], "online_eval_episode": 2}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that was trained and closed."""
    folder = tmp_path_factory.mktemp("run") / "run"
    with joystick.Run("PPO", "CartPole-v1", seed=1, preset=None, into=folder, general_cfg=SETTINGS) as run:
        run.train(2000)
    return run


def run_of(into="run", **options):
    general = {**SETTINGS, **options.pop("general_cfg", {})}
    algo = {"batch_size": 256, "sgd_batch_size": 64}
    return joystick.Run(
        "PPO", "CartPole-v1", seed=1, preset=None, into=into, general_cfg=general, algo_cfg=algo, **options
    )


class _Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.seen = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def tags_of(page):
    """Returns the tags of a block; checks that it loads nothing, runs nothing and styles only itself."""
    seen = _Tags(page).seen
    assert not {"script", "link", "iframe", "html", "body"} & {tag for tag, _ in seen}
    sources = [value for _, attrs in seen for name, value in attrs.items() if name in ("src", "href")]
    assert all(source.startswith("data:") for source in sources)
    rules = re.findall(r"([^{}]+)\{", page.partition("<style>")[2].partition("</style>")[0])
    assert rules
    assert all(one.strip().startswith(".joystick") for rule in rules for one in rule.split(","))
    return seen


def test_a_run_is_shown_as_cards_and_a_curve_while_it_trains_and_after(trained):
    with run_of("open") as run:
        begun = run._repr_html_()
        assert "img" not in [tag for tag, _ in tags_of(begun)]
        run.train(600)
        shown = run._repr_html_()
        assert ("<dt>steps</dt>" in shown, f"<dd>{run.count.step:,}</dd>" in shown) == (True, True)
        assert not Path("open/results/learning_curve.png").exists()
    for page in (shown, trained._repr_html_()):
        assert [tag for tag, _ in tags_of(page)].count("img") == 1
        assert "PPO on CartPole-v1" in page
    assert "<dt>score</dt>" in trained._repr_html_()


def test_what_is_shown_is_text():
    page = cell.block(
        "<script>alert(1)</script>", "<b>", cell.block("<kbd>", "<u>", html_page.pairs([("<s>", "<em>")]))
    )
    line = charts.Line("<a>", {"<q>": np.arange(2)}, np.arange(2), series="<del>")
    page += cell.chart([line], "<ins>", "<q>")
    page += base64.b64decode(re.search(r"base64,([^\"]*)", page)[1]).decode()
    assert {"script", "kbd", "u", "s", "em", "a", "del", "ins", "q"}.isdisjoint({tag for tag, _ in _Tags(page).seen})


def test_plot_gives_a_picture_and_leaves_the_task_directory_as_it_is(trained):
    before = {path: path.stat().st_mtime_ns for path in trained.task.rglob("*")}
    picture = trained.plot()
    assert Image.open(io.BytesIO(picture._repr_png_())).format == "PNG"
    assert picture.save("curve.png").read_bytes() == picture.png
    print_out, drawing = (picture.save(f"curve.{ending}").read_bytes() for ending in ("pdf", "svg"))
    assert print_out.startswith(b"%PDF")
    assert b"/CIDFontType2" in print_out
    assert b"/Type3" not in print_out
    assert b"<svg" in drawing
    for name, said in (
        ("curve.jpg", r"a figure is saved as \.png or \.pdf or \.svg; name it curve\.png"),
        ("no/curve.png", "cannot be written"),
    ):
        with pytest.raises(joystick.JoystickError, match=said):
            picture.save(name)
    assert "learning curve" in repr(picture)
    assert {path: path.stat().st_mtime_ns for path in trained.task.rglob("*")} == before


@pytest.mark.parametrize(("kind", "tag"), [("gif", "img"), ("mp4", "video")])
def test_film_gives_what_a_notebook_shows_and_the_path_and_changes_no_training(kind, tag):
    pytest.importorskip("pygame")
    if kind == "mp4":
        pytest.importorskip("imageio_ffmpeg")
    rows = []
    for filmed in (False, True):
        with run_of(f"run{filmed}", general_cfg={"video_format": kind}) as run:
            run.train(256)
            if filmed:
                film = run.film()
                assert film.path == run.task / "videos" / f"update_{run.count.update}.{kind}"
                assert Path(os.fspath(film)).stat().st_size > 500
                assert film.scores["episodes"] == 1
                assert [name for name, _ in tags_of(film._repr_html_())].count(tag) == 1
                assert f"videos/{film.path.name}" in repr(film)
            run.train(256)
        rows.append((run.task / "results" / "train.csv").read_bytes())
    assert rows[0] == rows[1]
    with pytest.raises(joystick.JoystickError, match="the run is closed"):
        run.film()


def test_an_environment_that_cannot_draw_is_refused():
    with joystick.Run("DQN", env_name="toy", env_cfg={"id": "choice"}, into="run") as run:
        with pytest.raises((joystick.JoystickError, joystick.EnvError)):
            run.film()
        with pytest.raises(joystick.JoystickError, match=r"film\(0\): expected a whole number"):
            run.film(0)


class Blind(gymnasium.Env):
    """A step of nothing, which nobody sees."""

    observation_space, action_space = gymnasium.spaces.Box(-1, 1, (1,)), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, True, False, {}


def test_an_environment_of_ones_own_that_cannot_draw_is_told_what_it_lacks():
    lacks = "Blind has no parameter render_mode; a video needs it"
    with joystick.Run("DQN", Blind, into="run") as run, pytest.raises(joystick.JoystickError, match=lacks):
        run.film()


class Shell:
    """What IPython gives in a kernel: a shell with a number of its cell, and outputs that are updated."""

    kernel = object()

    def __init__(self, monkeypatch):
        self.execution_count, self.outputs = 1, []
        python, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        python.get_ipython, display.display = lambda: self, self.display
        monkeypatch.setitem(sys.modules, "IPython", python)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, bundle, raw, display_id):
        assert (raw, display_id) == (True, True)
        states = [bundle]
        self.outputs.append(states)
        return types.SimpleNamespace(update=lambda bundle, raw: states.append(bundle))


def test_a_program_shows_progress_on_the_terminal_if_asked_for(capsys):
    with run_of() as run:
        run.train(500)
        assert capsys.readouterr() == ("", "")
        run.train(500, progress=True)
        last = capsys.readouterr().out.splitlines()[-1]
        assert "step 1,024 of 2,000" in last
        assert "mean of" in last


def test_a_notebook_shows_progress_in_one_output_of_a_cell_and_leaves_the_summary(monkeypatch, capsys):
    shell = Shell(monkeypatch)
    with run_of() as run:
        monkeypatch.setattr(Cell, "interval", 0.0)
        run.train(500)
        run.train(500)
        shell.execution_count = 2
        run.train(250)
        run.train(250, progress=False)
    assert len(shell.outputs) == 2
    first, second = shell.outputs
    assert len(first) >= 4  # a picture in each round, and two summaries
    assert 'class="track"' in first[0]["text/html"]
    for states in (first, second):
        page = states[-1]["text/html"]
        assert [tag for tag, _ in tags_of(page)].count("img") == 1
        assert "data:image/svg+xml" in page
        assert 'class="track"' not in page
    assert "<dd>1,024</dd>" in first[-1]["text/html"]
    assert "step 1,024 of 2,000" in first[-1]["text/plain"]
    assert "<dd>1,280</dd>" in second[-1]["text/html"]
    assert capsys.readouterr() == ("", "")


def test_a_cell_is_redrawn_twice_a_second_at_most_and_its_curve_takes_a_small_share_of_the_time(monkeypatch):
    assert Cell.interval == 0.5
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def read():
        now[0] += 0.1
        return str(now[0])

    curve = LiveCurve(read)
    assert curve() == "100.1"
    for later, shown in ((105.0, "100.1"), (105.09, "100.1"), (105.11, "105.21")):
        now[0] = later
        assert curve() == shown


def test_training_goes_on_without_a_display_that_fails(monkeypatch):
    shell = Shell(monkeypatch)

    def fails(bundle, raw, display_id):
        raise OSError("the browser is gone")

    sys.modules["IPython.display"].display = fails
    with run_of() as run:
        assert run.train(500)["step"] == 512
    assert shell.outputs == []


def test_the_end_of_a_run_is_said_and_what_comes_next(monkeypatch):
    shell = Shell(monkeypatch)
    with run_of() as run:
        run.train(5000)
        assert "Ended: max_total_step 2000 reached. close() compares" in shell.outputs[0][-1]["text/html"]
        run.train(100)
        assert len(shell.outputs) == 1


def pressing(run, name, at):
    """Presses Ctrl-C at a call of a method of the evaluator's environment."""
    env, calls = run._experiment.evaluator.env, []
    method = getattr(env, name)

    def press(*args):
        calls.append(1)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return method(*args)

    setattr(env, name, press)


def test_ctrl_c_saves_and_says_what_the_next_call_does_which_says_that_it_goes_on(monkeypatch, capsys):
    with run_of() as run:
        trainer, one = run._experiment.trainer, run._experiment.trainer.round

        def interrupted():
            one()
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(trainer, "round", interrupted)
        with pytest.raises(KeyboardInterrupt) as info:
            run.train(1000)
        monkeypatch.setattr(trainer, "round", one)
        step, update = run.count.step, run.count.update
        place = os.path.relpath(run.task)
        assert str(info.value) == (
            f"{place} is saved at step {step}: the next train() goes on from there, and train({1000 - step}) trains "
            "the rest; close() ends the run"
        )
        assert info.value._render_traceback_() == [f"Interrupted: {info.value}"]
        assert (run.task / "models" / str(update)).is_dir()
        run.train(1000 - step)
        assert capsys.readouterr().err == f"goes on from step {step}: {1000 - step} more steps\n"
        run.train(100)
        assert capsys.readouterr() == ("", "")
        assert run.count.step in range(1000, 1300)


@pytest.mark.parametrize("method", ["evaluate", "film"])
def test_ctrl_c_in_an_evaluation_or_a_film_leaves_the_run_as_it_was(method):
    pytest.importorskip("pygame")
    with run_of() as run:
        run.train(300)
        before = run.evaluate(2)
        pressing(run, "step", 5)
        with pytest.raises(KeyboardInterrupt, match="the run is as it was before"):
            getattr(run, method)(3)
        assert not list((run.task / "videos").glob("*"))
        assert run.evaluate(2) == before
        assert run.train(300)["step"] > 300


def test_ctrl_c_in_an_evaluation_of_train_saves_and_the_next_call_begins_with_it():
    general = {**SETTINGS, "online_eval": True, "model_save_unit": "step", "model_save_fre": 256}
    algo = {"batch_size": 256, "sgd_batch_size": 64}
    rows = []
    for pressed in (False, True):
        settings = {"into": f"run{pressed}", "general_cfg": general, "algo_cfg": algo}
        with joystick.Run("PPO", "CartPole-v1", seed=1, preset=None, **settings) as run:
            if pressed:
                pressing(run, "step", 5)
                with pytest.raises(KeyboardInterrupt, match="is saved at step 256: the next train"):
                    run.train(256)
                assert not (run.task / "results" / "eval.csv").read_text().splitlines()[1:]
            run.train(256 if not pressed else 1)
            rows.append((run.task / "results" / "eval.csv").read_text().splitlines()[1])
    assert rows[0] == rows[1]


def test_ctrl_c_at_the_end_of_a_run_leaves_it_saved_and_closed():
    run = run_of()
    run.train(5000)
    pressing(run, "step", 5)
    with pytest.raises(KeyboardInterrupt, match=r"is saved and closed; Run.resume\('.*run'\) continues it"):
        run.close()
    with joystick.Run.resume("run") as again:
        assert again.train(100)["done"]


def test_another_thread_may_look_at_a_run_that_trains():
    pages = []

    def look(info):
        other = threading.Thread(target=lambda: pages.append(run._repr_html_()))
        other.start()
        other.join()

    with run_of(callbacks={"on_train_result": look}) as run:
        run.train(300)
    assert ["PPO on CartPole-v1" in page for page in pages] == [True]


def test_names_with_html_in_them_are_text(trained):
    evil = "<img src=x onerror=alert(1)>"
    with run_of(evil.replace("/", "")) as run:
        run.train(256)
        run.save()
        film = Film(run.task / evil, evil, {})
        pages = [run._repr_html_(), joystick.load(run, "latest")._repr_html_(), film._repr_html_()]
    for page in pages:
        assert not [attrs for tag, attrs in tags_of(page) if "onerror" in attrs]
        assert "&lt;img" in page


def test_a_policy_of_a_program_is_shown():
    page = joystick.policy("DQN", gymnasium.make("CartPole-v1"))._repr_html_()
    tags_of(page)
    assert "Discrete(2)" in page
    assert "<dt>updates</dt><dd>0</dd>" in page


def test_a_policy_says_what_it_is(trained):
    policy = joystick.load(trained.task, "latest")
    update = trained.count.update
    assert repr(policy) == f"<joystick.TrainedPolicy PPO on CartPole-v1, update {update} of {trained.task}>"
    page = policy._repr_html_()
    tags_of(page)
    assert f"update {update} of" in page
    assert "Discrete(2)" in page


def test_a_film_that_was_deleted_is_named():
    with joystick.Run("QLearning", "FrozenLake-v1", seed=1, into="run", general_cfg=SETTINGS) as run:
        film = run.film()
    film.path.unlink()
    assert "update_0.gif (deleted)" in film._repr_html_()
