"""What a notebook shows of runs, policies and films. No notebook is needed, and nothing loads anything."""

import contextlib
import io
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

import joystick
from framework.runs.notebook import about, html
from framework.screen.terminal import OneLine, Steady

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
    with joystick.Run("PPO", "CartPole-v1", seed=1, preset=None, into="open", general_cfg=SETTINGS) as run:
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
    page = html("<script>alert(1)</script>", "<b>", about("<i>", "<u>", [("<s>", "<em>")]))
    assert {"script", "i", "u", "s", "em"}.isdisjoint({tag for tag, _ in _Tags(page).seen})


def test_plot_gives_a_picture_and_leaves_the_task_directory_as_it_is(trained):
    before = {path: path.stat().st_mtime_ns for path in trained.task.rglob("*")}
    picture = trained.plot()
    assert Image.open(io.BytesIO(picture._repr_png_())).format == "PNG"
    assert picture.save("curve.png").read_bytes() == picture.png
    assert "learning curve" in repr(picture)
    assert {path: path.stat().st_mtime_ns for path in trained.task.rglob("*")} == before


@pytest.mark.parametrize(("kind", "tag"), [("gif", "img"), ("mp4", "video")])
def test_film_gives_what_a_notebook_shows_and_the_path_and_changes_no_training(kind, tag):
    pytest.importorskip("pygame")
    if kind == "mp4":
        pytest.importorskip("imageio_ffmpeg")
    rows = []
    for filmed in (False, True):
        general = {**SETTINGS, "video_format": kind}
        with joystick.Run("PPO", "CartPole-v1", seed=1, preset=None, into=f"run{filmed}", general_cfg=general) as run:
            run.train(300)
            if filmed:
                film = run.film()
                assert film.path == run.task / "videos" / f"update_{run.count.update}.{kind}"
                assert Path(os.fspath(film)).stat().st_size > 500
                assert film.scores["episodes"] == 1
                assert [name for name, _ in tags_of(film._repr_html_())].count(tag) == 1
                assert str(film.path) in repr(film)
            run.train(300)
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


def printed(**options):
    """Returns what two iterations print."""
    into, algo = f"run{len(os.listdir())}", {"batch_size": 256, "sgd_batch_size": 64}
    stream = io.StringIO()
    run = joystick.Run("PPO", "CartPole-v1", preset=None, into=into, general_cfg=SETTINGS, algo_cfg=algo)
    with run, contextlib.redirect_stdout(stream):
        run.train(500, **options)
        run.train(500, **options)
    return stream.getvalue()


def test_progress_is_a_line_for_each_iteration_if_asked_for_and_in_a_notebook(monkeypatch):
    assert printed() == ""
    first, second, rest = printed(progress=True).split("\n")
    assert "step 512 of 2,000" in first.rpartition("\r")[2]
    assert "step 1,024 of 2,000" in second.rpartition("\r")[2]
    assert rest == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert printed().count("\n") == 2
    assert printed(progress=False) == ""


def test_a_line_of_progress_covers_the_one_before(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    screen = OneLine(Steady(stream))
    screen.draw(0.5, "a" * 30, [])
    screen.draw(0.6, "b", [("c", "d")])
    screen.say("the best so far")
    screen.close()
    assert stream.getvalue() == f"\r{'a' * 19}\rb | c d{' ' * 12}\rthe best so far\n"


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
