"""The end of a run: what fails after the last save costs a warning, and a signal in any phase costs nothing."""

import errno
import hashlib
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from framework.collect.fragment import Episode
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import read_csv
from framework.disk.task_dir import TaskDir
from framework.film import film
from framework.loop.evaluator import Evaluation, Evaluator
from framework.loop.single_process import SingleProcess
from framework.loop.trainer import Trainer
from framework.pages import figures, html_report
from framework.record.console import Console
from framework.runs.experiment import Experiment
from main import main


class Line(gymnasium.Env):
    """Six places in a row, and a reward for each step to the right that does not slip."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space, action_space = Discrete(6), Discrete(2)
    draws = True
    """False: render raises."""
    ends = False
    """True: the next step calls sys.exit."""
    leaks = 0
    """Number of files that each step opens and does not close."""
    insists = True
    """False: a step for which no file can be opened goes on without."""
    opened: ClassVar[list[IO[bytes]]] = []

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.time = 0
        return 0, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if Line.ends:
            raise SystemExit(3)
        try:
            Line.opened += [open(os.devnull, "rb") for _ in range(Line.leaks)]  # noqa: SIM115
        except OSError:
            if Line.insists:
                raise
        slips = self.np_random.random() < 0.3
        self.time += 1
        self.place = min(5, max(0, self.place + (1 if bool(action) != slips else -1)))
        reward = self.place + 4 * self.np_random.standard_normal()  # so that what is learned goes up and down
        return self.place, float(reward), False, self.time == 12, {}

    def render(self) -> Any:
        if not Line.draws:
            raise RuntimeError("no display here")
        return np.full((8, 8, 3), 40 * self.place, np.uint8)


if "Line-v7" not in gymnasium.registry:
    gymnasium.register("Line-v7", entry_point=Line)

WORDS = [
    "general_cfg.algo_name=QLearning", "env_cfg.id=Line-v7", "env_cfg.vectorization=sync", "general_cfg.seed=5",
    "general_cfg.max_episode=-1", "general_cfg.max_total_step=330", "general_cfg.model_save_fre=50",
    "general_cfg.online_eval_episode=3", "algo_cfg.lr=0.8", "general_cfg.preset=null",
]  # fmt: skip
ONLINE = ["general_cfg.online_eval=true"]
FILMED = ["env_cfg.render_mode=rgb_array"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Line, "draws", True)
    monkeypatch.setattr(Line, "ends", False)
    monkeypatch.setattr(figures, "learning_curve", lambda *args, **options: None)


def train(name: str, *words: str, status: int = 0) -> Path:
    assert main([*WORDS, *words, "--into", f"tasks/{name}"]) == status
    return Path("tasks", name)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def reseal(manifest: Path, body: dict[str, Any]) -> None:
    """Writes a manifest anew, with its checksum. Best shares its files with a numbered checkpoint."""
    text = json.dumps(body, sort_keys=True).encode()
    manifest.unlink()
    manifest.write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")


def outcome(task: Path) -> dict[str, Any]:
    """What two runs must agree in: rows, the newest state, the best one, and what is known of them."""
    models = task / "models"
    newest = max((path for path in models.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    run = json.loads((task / "run.json").read_text())
    return {
        "train": digest(task / "results/train.csv"),
        "eval": (task / "results/eval.csv").read_text(),
        "newest": (newest.name, digest(newest / "state.safetensors")),
        "best": digest(models / "best/state.safetensors"),
        "kept": sorted(path.name for path in models.iterdir()),
        **{key: run[key] for key in ("outcome", "finished", "best", "best_update", "random_return")},
    }


# ------------------------------------------------------------------------------------------- no files any more


@pytest.fixture
def leaking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment that uses up the descriptors of this process, which has few of them."""
    monkeypatch.setattr(Line, "leaks", 1)
    monkeypatch.setattr(Line, "insists", Line.insists)
    resource = pytest.importorskip("resource")  # not on Windows
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 120, before[1]))
    try:
        yield
    finally:
        while Line.opened:
            Line.opened.pop().close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_run_whose_environment_uses_up_all_descriptors_is_saved_and_says_so(
    leaking: None, capsys: pytest.CaptureFixture[str]
) -> None:
    task = train("leaking", "general_cfg.model_save_fre=1000", status=2)
    said = capsys.readouterr().err
    assert "Line-v7 failed in step" in said
    assert "Too many open files" in said
    assert "to resume" in said
    assert "Too many open files" in json.loads((task / "run.json").read_text())["outcome"]
    assert CheckpointStore(task / "models").numbers()


def test_a_save_without_descriptors_is_a_warning_and_the_last_one_is_made(
    leaking: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The evaluations at the end use up the rest: the table and the report are not written."""
    monkeypatch.setattr(Line, "insists", False)
    task = train("tolerant", "general_cfg.model_save_fre=250", status=2)
    assert "could not be saved (Too many open files)" in capsys.readouterr().out
    assert CheckpointStore(task / "models").numbers() == [330]


# ---------------------------------------------------------------------------------------- what fails afterwards


def test_a_film_that_fails_costs_a_warning_and_leaves_the_last_checkpoint_untouched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The film plays the best model, which is not the newest: nothing of it may reach the training."""
    straight = train("straight", *ONLINE)
    monkeypatch.setattr(Line, "draws", False)
    task = train("filmed", *ONLINE, *FILMED)
    assert "the best model could not be filmed" in capsys.readouterr().out
    assert outcome(task) == outcome(straight)
    assert outcome(task)["best_update"] < 330, "the test shows nothing where the best model is the last"


def test_a_film_that_fails_costs_a_test_neither_its_score_nor_its_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train("run")
    monkeypatch.setattr(Line, "draws", False)
    assert main(["--test", "run", "--video", "--into", "tasks/test"]) == 0
    assert "the episodes could not be filmed" in capsys.readouterr().out
    assert json.loads(Path("tasks/test/run.json").read_text())["score"]["episodes"] == 3
    assert Path("tasks/test/report.html").is_file()


def test_what_cannot_be_written_after_the_last_save_costs_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run = TaskDir.write_run

    def full(self: TaskDir, facts: dict[str, Any]) -> None:
        if "outcome" in facts:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_run(self, facts)

    monkeypatch.setattr(TaskDir, "write_run", full)
    train("run")
    out = capsys.readouterr().out
    assert "run.json could not be written: No space left on device\n" in out
    assert "finished" in out


def test_an_environment_that_fails_during_a_resume_is_named_and_the_checkpoint_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = train("run")
    before = outcome(task)
    step = Line.step

    def fails(self: Line, action: Any) -> Any:
        if self.time == 3:
            raise RuntimeError("no server here")
        return step(self, action)

    monkeypatch.setattr(Line, "step", fails)
    assert main(["--resume", "run"]) == 2
    error = capsys.readouterr().err
    assert "no server here" in error
    assert "while the running episodes of tasks/run/models/330 were repeated" in error
    assert outcome(task) == before


def test_a_signal_before_the_first_step_leaves_all_of_the_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    enter = Experiment.__enter__

    def signalled(self: Experiment) -> Experiment:
        os.kill(os.getpid(), signal.SIGINT)
        return enter(self)

    monkeypatch.setattr(Experiment, "__enter__", signalled)
    train("run", status=130)
    assert "nothing was left to train" not in capsys.readouterr().out


def test_a_damaged_older_checkpoint_is_left_out_of_the_choice(capsys: pytest.CaptureFixture[str]) -> None:
    task = train("run")
    best = digest(task / "models/best/state.safetensors")
    (task / "models/100/state.safetensors").write_bytes(b"damaged")
    assert main(["--resume", "run"]) == 0
    assert "it is left out of the comparison" in capsys.readouterr().out
    assert [row["update"] for row in read_csv(task / "results/eval.csv")] == [50, 150, 200, 250, 300, 330]
    assert digest(task / "models/best/state.safetensors") == best


def test_a_damaged_best_model_names_the_one_to_play_instead(capsys: pytest.CaptureFixture[str]) -> None:
    task = train("run")
    (task / "models/best/state.safetensors").write_bytes(b"damaged")
    assert main(["evaluate", "run"]) == 2
    said = "models/best is damaged: state.safetensors does not match its checksum; the newest checkpoint is the model"
    assert f"{said} latest: --model latest\n" in capsys.readouterr().err
    assert main(["evaluate", "run", "--model", "latest"]) == 0


def test_the_best_model_is_there_at_every_moment_of_a_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    """CKP-6: the checkpoint of a finished run without online evaluation knows of no best model."""
    train("run")
    there, play = [], Evaluator.play

    def looks(self: Evaluator, *words: Any, **options: Any) -> Any:
        there.append(Path("tasks/run/models/best/manifest.json").is_file())
        return play(self, *words, **options)

    monkeypatch.setattr(Evaluator, "play", looks)
    assert main(["--resume", "run"]) == 0
    assert len(there) > 5
    assert all(there)


@pytest.mark.parametrize(("end", "is_told"), [(130, True), (150, False)])
def test_a_best_model_that_the_end_of_a_run_has_shown_is_named_by_a_resume_that_goes_on_without_it(
    end: int, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    task = train("run", *ONLINE, "general_cfg.model_save_fre=150", f"general_cfg.max_total_step={end}")
    TaskDir(task).write_run({"best": 99.5, "best_update": end})
    capsys.readouterr()
    assert main(["--resume", "run"]) == 0
    assert "To play it" not in capsys.readouterr().out, "nothing is trained, and the end is evaluated again"
    TaskDir(task).write_run({"best": 99.5, "best_update": end})
    assert main(["--resume", "run", "general_cfg.max_total_step=200"]) == 0
    said = capsys.readouterr().out
    sentence = f"the best model so far, 99.5 at update {end}, was evaluated because the run ended there"
    assert (sentence in said) == is_told
    command = f"python main.py test {task} general_cfg.load_model_step={end}"
    assert (command in said) == is_told
    assert not is_told or "the best so far" not in said, "a lower score is none"


def test_models_since_online_evaluation_was_switched_off_are_compared_at_the_end() -> None:
    task = train("run", *ONLINE, "general_cfg.max_total_step=150")
    assert main(["--resume", "run", "general_cfg.online_eval=false", "general_cfg.max_total_step=330"]) == 0
    rows = read_csv(task / "results/eval.csv")
    assert [row["update"] for row in rows] == [50, 100, 150, 200, 250, 300, 330]
    best = CheckpointStore(task / "models").read("best").facts["update"]
    assert best == max(rows, key=lambda row: (row["mean"], row["update"]))["update"]


def test_evaluations_may_explore_and_change_nothing_of_the_training() -> None:
    """With the exploration of that time: epsilon falls to 0 at update 330. A choice at the end and a test find the
    same, by the counts in the checkpoint."""
    falling = ["algo_cfg.epsilon_start=1.0", "algo_cfg.epsilon_end=0.0", "algo_cfg.epsilon_schedule=linear",
               "algo_cfg.epsilon_decay=330", "general_cfg.online_eval_episode=20"]  # fmt: skip
    explores, online = "general_cfg.explore=true", {}
    for name, words in {"best": ONLINE, "drawn": [*ONLINE, explores], "chosen": [explores]}.items():
        task = train(name, *falling, *words)
        online[name] = read_csv(task / "results/eval.csv")
    assert digest(Path("tasks/drawn/results/train.csv")) == digest(Path("tasks/best/results/train.csv"))
    for update in (50, 330):
        states = [CheckpointStore(Path("tasks", name, "models")).read(update).tree["agent"] for name in online]
        assert repr(states[0]) == repr(states[1]) == repr(states[2])
    drawn, best = ([row["mean"] for row in online[name]] for name in ("drawn", "best"))
    assert [row["mean"] for row in online["chosen"]] == drawn
    assert [one != other for one, other in zip(drawn, best, strict=True)] == [True] * 6 + [False]
    for words, compared in (([], "online evaluation gave"), (["general_cfg.explore=false"], None)):
        assert main(["test", "tasks/drawn", "--model", "100", *words, "--into", f"tasks/test{len(words)}"]) == 0
        said = json.loads(Path(f"tasks/test{len(words)}/run.json").read_text())["compared"]
        assert said is None if compared is None else compared in said and said.endswith(", the same")


def test_a_longer_plan_does_not_change_how_earlier_checkpoints_explore() -> None:
    """The limit that was planned then says how much is explored, at the end of the run and in a test."""
    falling = ["algo_cfg.exploration_type=softmax", "algo_cfg.temperature={linear: [50.0, 0.1]}",
               "general_cfg.explore=true"]  # fmt: skip
    train("run", *falling, "--pause-at-step", "150", "general_cfg.max_total_step=200")
    assert main(["resume", "run", "general_cfg.max_total_step=330"]) == 0
    assert main(["test", "run", "--model", "100", "--into", "tasks/test"]) == 0
    assert json.loads(Path("tasks/test/run.json").read_text())["compared"].endswith(", the same")
    assert main(["resume", "run", "general_cfg.explore=false", "general_cfg.max_total_step=400"]) == 2


@pytest.mark.parametrize("part", ["count", "iteration", "config"])
def test_a_checkpoint_without_what_exploration_needs_is_answered(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    task = train("run", "general_cfg.explore=true")
    for path in task.glob("models/*/manifest.json"):
        body = json.loads(path.read_bytes().splitlines()[0])
        if part == "config":
            body["facts"]["config"] = {"general_cfg": 5}
        else:
            body["tree"]["$dict"][part] = 5
        reseal(path, body)
    assert main(["test", "run"]) == 2
    assert "does not fit this config" in capsys.readouterr().err


def test_nothing_is_saved_after_the_last_save(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("save", "finish"):
        method = getattr(Trainer, name)
        monkeypatch.setattr(Trainer, name, lambda self, *a, m=method, n=name: calls.append(n) or m(self, *a))
    monkeypatch.setattr(html_report, "write", lambda task: 1 / 0)
    monkeypatch.setattr(figures, "learning_curve", lambda *args, **options: 1 / 0)
    monkeypatch.setattr(Evaluator, "random_return", lambda self, agent=None: 1 / 0)
    monkeypatch.setattr("framework.runs.experiment.choose_best", lambda *args: 1 / 0)
    train("run")
    assert calls[-2:] == ["finish", "save"]


def test_sys_exit_in_an_environment_is_an_error_with_a_save(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begins = SingleProcess.round
    rounds: list[None] = []

    def exits(self: SingleProcess, now: Any) -> Any:
        rounds.append(None)
        Line.ends = len(rounds) == 70
        return begins(self, now)

    monkeypatch.setattr(SingleProcess, "round", exits)
    train("run", status=2)
    said = capsys.readouterr().err
    assert "failed in step 10 of row 0: the environment called sys.exit(3) at test_run_end.py" in said
    assert said.index("error:") < said.index("to resume: python main.py resume tasks/run")
    assert CheckpointStore(Path("tasks/run/models")).numbers() == [50, 69]


# ------------------------------------------------------------------------------------------------------ signals

PHASES: dict[str, tuple[Any, str, int, list[str]]] = {
    "training": (SingleProcess, "round", 120, []),
    "training, with few checkpoints kept": (SingleProcess, "round", 120, ["general_cfg.keep_checkpoints=3"]),
    "evaluation": (Evaluator, "play", 3, ONLINE),
    "choice": (Evaluator, "play", 3, []),
    "last evaluation": (Evaluator, "play", 7, ONLINE),
    "random return": (Evaluator, "random_return", 1, []),
    "figure": (figures, "learning_curve", 1, []),
    "film": (film, "replay", 2, FILMED),
    "report": (html_report, "write", 1, []),
}
"""Where the signal comes: at which call of what, in a run with which words."""


@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_in_any_phase_ends_the_run_and_the_resume_comes_to_the_same_end(
    phase: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OSX-1, RES-2: whatever the signal interrupts is done by the resume, as in a run without it. One summary is
    printed, that of the interruption."""
    owner, name, number, words = PHASES[phase]
    straight = outcome(train("straight", *words))
    calls: list[None] = []
    method = getattr(owner, name)

    def signalled(*args: Any, **options: Any) -> Any:
        calls.append(None)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGTERM if phase == "film" else signal.SIGINT)
        return method(*args, **options)

    monkeypatch.setattr(owner, name, signalled)
    capsys.readouterr()
    train("cut", *words, status=143 if phase == "film" else 130)
    assert len(calls) >= number
    assert re.findall(r"^(finished|stopped) ", capsys.readouterr().out, re.MULTILINE) == ["stopped"]
    assert json.loads(Path("tasks/cut/run.json").read_text())["finished"] is False
    assert main(["--resume", "cut"]) == 0
    again = outcome(Path("tasks/cut"))
    if phase == "training":  # with all checkpoints kept, so is that of the interruption; it is not chosen from
        assert set(again.pop("kept")) - set(straight.pop("kept")) == {"120"}
    assert again == straight


def test_a_resumed_run_shows_the_mean_and_the_best_of_all_its_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture at the start of the second session is the last one of the first, of 20 of more than 20 episodes."""
    shown = []
    start, summary = Console.start, Console.summary

    def started(self: Console, *args: Any) -> None:
        shown.append(self._recent())
        start(self, *args)

    def ended(self: Console, outcome: Any) -> None:
        shown.append(self._recent())
        summary(self, outcome)

    monkeypatch.setattr(Console, "start", started)
    monkeypatch.setattr(Console, "summary", ended)
    train("run")
    assert main(["--resume", "run", "general_cfg.max_total_step=700"]) == 0
    assert shown[0] == ""
    assert "mean of 20: " in shown[1]
    assert shown[2] == shown[1] != shown[3]


def test_a_film_in_test_mode_obeys_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    train("run")
    replay = film.replay
    films: list[None] = []

    def signalled(*args: Any, **options: Any) -> Any:
        films.append(None)
        os.kill(os.getpid(), signal.SIGINT)
        return replay(*args, **options)

    monkeypatch.setattr(film, "replay", signalled)
    words = [
        "general_cfg.mode=test",
        "general_cfg.load_checkpoint=true",
        "general_cfg.load_path=run",
    ]
    assert main([*words, *FILMED]) == 130
    assert len(films) == 1


# --------------------------------------------------------------------------------------------------- stop rules


def scored(mean: float) -> Evaluation:
    return Evaluation([Episode(0, 0, 0, 1, mean, 1, True, 1)])


def test_one_lucky_evaluation_stops_no_run_and_a_resume_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lucky at 50 and 150, twice in a row at 250 and 300; a resume in between forgets nothing."""
    means = {50: 9.0, 100: 1.0, 150: 9.0, 200: 1.0, 250: 9.0, 300: 9.5}
    evaluate = Trainer.evaluate

    def faked(self: Trainer) -> Evaluation:
        monkeypatch.setattr(Evaluator, "play", lambda *args, **options: scored(means[self.count.update]))
        return evaluate(self)

    monkeypatch.setattr(Trainer, "evaluate", faked)
    threshold = [*ONLINE, "general_cfg.reward_threshold=9"]
    monkeypatch.setattr(Evaluator, "random_return", lambda self, agent=None: None)
    assert main([*WORDS, *threshold, "--into", "tasks/run", "general_cfg.max_total_step=250"]) == 0
    assert main(["--resume", "run", "general_cfg.max_total_step=900"]) == 0
    run = json.loads(Path("tasks/run/run.json").read_text())
    assert (run["outcome"], run["update"]) == ("reward_threshold 9 reached", 300)


def test_a_higher_threshold_counts_the_evaluations_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluator, "play", lambda *args, **options: scored(9.0))
    monkeypatch.setattr(Evaluator, "random_return", lambda self, agent=None: None)
    threshold = [*ONLINE, "general_cfg.reward_threshold=9", "general_cfg.max_total_step=300"]
    assert main([*WORDS, *threshold, "--into", "tasks/run"]) == 0
    assert json.loads(Path("tasks/run/run.json").read_text())["outcome"] == "reward_threshold 9 reached"
    assert main(["--resume", "run", "general_cfg.reward_threshold=10"]) == 0
    assert json.loads(Path("tasks/run/run.json").read_text())["outcome"] == "max_total_step 300 reached"


def test_a_branch_keeps_the_best_of_its_own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent's best model is not in its folder."""
    monkeypatch.setattr(Evaluator, "random_return", lambda self, agent=None: None)
    monkeypatch.setattr(Evaluator, "play", lambda *args, **options: scored(9.0))
    assert main([*WORDS, *ONLINE, "general_cfg.max_total_step=100", "--into", "tasks/run"]) == 0
    monkeypatch.setattr(Evaluator, "play", lambda *args, **options: scored(1.0))
    start = ["general_cfg.load_checkpoint=true", "general_cfg.load_path=run", "general_cfg.load_model_step=100"]
    words = [*WORDS, *ONLINE, *start, "general_cfg.max_total_step=200"]
    assert main([*words, "--into", "tasks/branch"]) == 0
    facts = json.loads(Path("tasks/branch/run.json").read_text())
    assert facts["best"] == 1.0
    assert CheckpointStore(Path("tasks/branch/models")).read("best").facts["update"] > 100


# ------------------------------------------------------------------------------------------------ what is said


def test_a_run_that_is_no_better_than_chance_or_learned_nothing_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["general_cfg.algo_name=DQN", "algo_cfg.learning_starts=500", "general_cfg.max_total_step=40"]
    train("run", *words)
    out = capsys.readouterr().out
    assert "nothing was learned: 0 updates; learning_starts is 500 steps" in out
    train("episodes", "general_cfg.algo_name=REINFORCE", "algo_cfg.batch_episode=1000")
    assert "the first one needs 1,000 episodes (algo_cfg.batch_episode), and " in capsys.readouterr().out
    for known, worse in ((1e6, True), (-1e6, False)):
        monkeypatch.setattr(Evaluator, "random_return", lambda self, agent=None, known=known: known)
        train(f"than {known}")
        run = json.loads(Path(f"tasks/than {known}/run.json").read_text())
        assert run["worse_than_random"] is worse
        assert (": not above the random policy" in capsys.readouterr().out) is worse


def test_a_limit_that_is_overshot_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    train(
        "run", "general_cfg.algo_name=PPO", "algo_cfg.batch_size=120", "general_cfg.max_episode=1", "algo_cfg.lr=0.001"
    )
    printed = capsys.readouterr().out
    assert "10 episodes for max_episode 1: the last round, of 120 steps, was played to its end" in printed
    assert printed.count("10 episodes for") == 1


# ------------------------------------------------------------------------------------------- exactness, config


def resumed(*words: str, status: int = 0) -> dict[str, Any]:
    """The last resume in run.json."""
    assert main(["--resume", "run", *words]) == status
    return json.loads(Path("tasks/run/run.json").read_text())["resumes"][-1]


def test_a_resume_records_whether_it_is_exact_and_why_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train("run", "general_cfg.save_fig=false")
    entry = resumed("general_cfg.interact_summary_fre=5", "general_cfg.n_workers=2")  # read by Ray only
    assert (entry["exact"], entry["inexact_because"]) == (True, [])
    assert "the resume is exact to the byte" in capsys.readouterr().out
    assert "exact to the byte, as if" in Path("tasks/run/report.html").read_text()
    entry = resumed("algo_cfg.lr=0.5")
    assert (entry["exact"], entry["inexact_because"]) == (False, ["algo_cfg.lr: 0.8 -> 0.5"])
    assert "not exact: algo_cfg.lr: 0.8 -&gt; 0.5" in Path("tasks/run/report.html").read_text()
    entry = resumed("general_cfg.torch_threads=2")
    assert entry["inexact_because"] == ["torch threads: 1 -> 2"]
    monkeypatch.setattr("framework.runs.exactness.installed_version", lambda package: "99")
    reasons = resumed("general_cfg.torch_threads=0")["inexact_because"]  # it keeps the number of the last session
    assert [reason.partition(":")[0] for reason in reasons] == ["torch version", "numpy version", "gymnasium version"]


def test_a_resume_keeps_the_preset_of_its_run() -> None:
    words = ["general_cfg.max_episode=5", "general_cfg.save_fig=false", "--into", "tasks/run"]
    assert main(["--algo", "QLearning", "--env", "FrozenLake-v1", *words]) == 0
    preset = TaskDir(Path("tasks/run")).facts().preset
    assert preset is not None
    assert preset.endswith("FrozenLake-v1/QLearning.yaml")
    resumed("general_cfg.max_episode=10")
    assert TaskDir(Path("tasks/run")).facts().preset == preset
    assert preset in Path("tasks/run/report.html").read_text()


@pytest.mark.parametrize("left", [None, 0, 1000, 5107])
def test_a_config_that_is_lost_or_cut_off_is_restored_from_the_checkpoint(left: int | None) -> None:
    train("run")
    config = Path("tasks/run/config.yaml")
    whole = config.read_bytes()
    assert len(whole) > 5500
    config.unlink() if left is None else config.write_bytes(whole[:left])
    before = outcome(Path("tasks/run"))
    entry = resumed()
    assert (entry["exact"], entry["changed"]) == (True, [])
    assert config.read_bytes() == whole
    assert outcome(Path("tasks/run")) == before
    assert "restored from checkpoint 330" in Path("tasks/run/logs/log.txt").read_text()


def test_an_edited_config_is_a_change_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    """As on the command line: refused with its place where it makes another run, and recorded where it may change."""
    train("run")
    config = Path("tasks/run/config.yaml")
    text = config.read_text()
    number = next(i for i, line in enumerate(text.splitlines(), start=1) if line.startswith("  gamma:"))
    config.write_text(text.replace("gamma: 0.99", "gamma: 0.5"))
    assert main(["--resume", "run"]) == 2
    assert f"tasks/run/config.yaml:{number}: algo_cfg.gamma: 0.99 -> 0.5: cannot change" in capsys.readouterr().err
    config.write_text(text.replace("lr: 0.8 ", "lr: 0.05 "))
    assert resumed()["changed"] == ["algo_cfg.lr: 0.8 -> 0.05"]


def test_a_config_is_written_only_where_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    train("run")
    before = os.stat("tasks/run/config.yaml")
    resumed()
    assert os.stat("tasks/run/config.yaml").st_ino == before.st_ino
    resumed("general_cfg.keep_checkpoints=9")
    assert os.stat("tasks/run/config.yaml").st_ino != before.st_ino, "written aside, and put in its place"


def test_a_checkpoint_without_its_circumstances_allows_no_verdict() -> None:
    """Those of older versions. The manifest is sealed anew."""
    train("run")
    for path in Path("tasks/run/models").glob("*/manifest.json"):
        body = json.loads(path.read_bytes().splitlines()[0])
        del body["facts"]["exactness"], body["facts"]["config"]
        reseal(path, body)
    entry = resumed()
    assert entry["exact"] is None
    assert "does not record" in entry["inexact_because"][0]
