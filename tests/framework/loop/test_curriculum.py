"""Phases of training: which episode is played in which phase, in one process and in several, after a resume too."""

import contextlib
import re
import runpy
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from own_parts import OldLine, PhaseByHand, Staged, by_hand

import joystick
from config.model.curriculum import Curriculum
from envs.base import EnvContext, EnvError, Step, VectorEnv
from envs.common.vector import GymnasiumVector, SameStep
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import read_csv
from framework.disk.task_dir import read_facts
from framework.distributed import launch
from framework.errors import JoystickError
from framework.loop.curriculum import Phases
from main import main
from tests.tools.fake_ray import FakeRay
from tests.tools.paths import EVERY, in_the_suite

LIST = {"metric": "step", "phases": [{"below": 40, "value": 0}, {"below": 100, "value": 1}, {"value": 2}]}
GENERAL = {
    "max_episode": -1, "max_step": -1, "iteration_steps": 20, "save_fig": False, "online_eval_episode": 2,
    "model_save_fre": 10_000, "max_total_step": 10_000,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _ray_in_this_process(monkeypatch):
    monkeypatch.setattr(launch.ray_cluster, "started", lambda *given: contextlib.nullcontext(FakeRay()))


def run_of(folder: Path, curriculum: Any, env: Any = Staged, workers: int = 0, rows: int = 2, **more: Any):
    general = {**GENERAL, "curriculum": curriculum, **more.pop("general", {})}
    if workers:
        general |= {"mp_backend": "ray", "n_workers": workers, "run_ahead": 0}
    env_cfg = {"n_envs": rows, "vectorization": "sync", **more.pop("env_cfg", {})}
    small = {"batch_size": 8 * max(workers, 1) * rows, "sgd_batch_size": 8, "k_epochs": 1}
    return joystick.Run("PPO", env, seed=5, general_cfg=general, env_cfg=env_cfg, algo_cfg=small, into=folder, **more)


def played(folder: Path) -> list[tuple]:
    """(worker, row, phase, length) of all episodes, in the order of their rows."""
    rows = read_csv(folder / "results" / "train.csv")
    return sorted((row["worker"], row["row"], i, row["phase"], row["length"]) for i, row in enumerate(rows))


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "results" / name).read_bytes() for name in ("train.csv", "progress.csv")}


def by_config(folder: Path, workers: int = 0) -> Path:
    with run_of(folder, LIST, workers=workers) as run:
        for _ in range(9):
            run.train()
    return folder


def by_loop(folder: Path, workers: int = 0) -> Path:
    with run_of(folder, {}, workers=workers) as run:
        for _ in range(9):
            run.set_phase(by_hand(run.train()))
    return folder


def by_callback(folder: Path, workers: int = 0) -> Path:
    with run_of(folder, {"method": "set_phase"}, workers=workers, callbacks=PhaseByHand) as run:
        for _ in range(9):
            run.train()
    return folder


# ----------------------------------------------------------------------------------------------------- phases


@pytest.mark.parametrize("workers", in_the_suite([0, 2], 0))
def test_list_loop_and_callback_give_the_same_phases(tmp_path, workers):
    """The files of all three are equal to the byte."""
    one = by_config(tmp_path / "config", workers)
    for other in (by_loop(tmp_path / "loop", workers), by_callback(tmp_path / "callback", workers)):
        assert files(other) == files(one)
    episodes = played(one)
    assert {phase for *_, phase, _ in episodes} == {0, 1, 2}
    assert all(length == 4 + 2 * phase for *_, phase, length in episodes)
    header, *rows = files(one)["progress.csv"].decode().splitlines()
    assert [row.split(",")[header.split(",").index("phase")] for row in rows][:2] == ["0", "0"]


def test_two_workers_have_the_phases_of_two_rows(tmp_path):
    """The lengths of these episodes depend on nothing but their phase, so episode k of each row is in the same one."""

    def of(folder: Path, **more: Any) -> list[list[float]]:
        with run_of(folder, LIST, **more) as run:
            for _ in range(9):
                run.train()
        rows = played(folder)
        places = sorted({(worker, row) for worker, row, *_ in rows})
        return [[phase for worker, row, _, phase, _ in rows if (worker, row) == place] for place in places]

    alone = of(tmp_path / "0", rows=2)
    shared = of(tmp_path / "2", rows=1, workers=2)
    assert alone == shared
    assert set(alone[0]) == {0, 1, 2}


def test_a_phase_begins_with_the_next_episode_of_each_row(tmp_path):
    """By hand: windows of 8 steps and 2 rows, so phase 1 is set after step 48, 24 of each row, when episode 7 of 4
    steps has just been reset in phase 0; it ends at 28, and the next ones are of 6 steps."""
    with run_of(tmp_path / "run", LIST) as run:
        for _ in range(4):
            run.train()
        assert run.count.step == 2 * 16 * 4
    lengths = [row["length"] for row in read_csv(tmp_path / "run" / "results" / "train.csv") if row["row"] == 1]
    assert lengths[:10] == [4.0] * 9 + [6.0]


# ---------------------------------------------------------------------------------------------------- resuming


@pytest.mark.parametrize(
    ("cut", "workers"), in_the_suite([(cut, workers) for cut in (2, 4, 5) for workers in (0, 2)], (4, 0), (5, 2))
)
def test_a_resume_in_mid_episode_plays_each_episode_in_its_own_phase(tmp_path, workers, cut):
    straight = by_config(tmp_path / "straight", workers)
    with run_of(tmp_path / "cut", LIST, workers=workers) as run:
        for _ in range(cut):
            run.train()
        run.save()
        run.train()  # lost, as after a kill
        run._closed = True
        run._experiment.close()
    assert "phase" in CheckpointStore(tmp_path / "cut" / "models").newest(print).tree
    with joystick.Run.resume(tmp_path / "cut") as run:
        for _ in range(9 - cut):
            run.train()
        resumes = read_facts(run._experiment.task.run)["resumes"]
    assert resumes[-1]["exact"] is True, resumes
    assert files(tmp_path / "cut") == files(straight)


def test_a_phase_that_the_program_sets_is_saved_at_the_close(tmp_path):
    with run_of(tmp_path / "run", {}) as run:
        run.train()
        run.save()
        run.set_phase(1.5)
    with joystick.Run.resume(tmp_path / "run") as run:
        run.train()
        assert run.train()["phase"] == 1.5
    assert "1.5" in {row.split(",")[9] for row in files(tmp_path / "run")["train.csv"].decode().splitlines()}


@pytest.mark.parametrize("phase", [np.int64(3), np.float32(3)])
def test_a_phase_may_be_a_number_of_numpy(phase):
    phases = Phases(Curriculum())
    assert phases.set(phase)
    assert repr(phases.now) == "3"


def test_a_resume_may_move_the_bounds_but_not_drop_the_present_phase(tmp_path):
    with run_of(tmp_path / "run", LIST) as run:
        for _ in range(3):
            run.train()
        assert run.train()["phase"] == 1
    moved = "{metric: step, phases: [{below: 40, value: 0}, {below: 150, value: 1}, {value: 2}]}"
    with joystick.Run.resume(tmp_path / "run", [f"general_cfg.curriculum={moved}"]) as run:
        assert [run.train()["phase"] for _ in range(2)] == [2, 2]
        [because] = read_facts(run._experiment.task.run)["resumes"][-1]["inexact_because"]
        assert because.startswith("general_cfg.curriculum: {")
    with pytest.raises(JoystickError, match="the checkpoint is in phase 2, which"):
        joystick.Run.resume(tmp_path / "run", ["general_cfg.curriculum={metric: step, phases: [{value: 0}]}"])


def test_a_run_without_a_curriculum_gets_none_in_its_directory(tmp_path):
    with run_of(tmp_path / "run", None) as run:
        run.train()
    before = files(tmp_path / "run")
    with pytest.raises(JoystickError, match="other columns"):
        joystick.Run.resume(tmp_path / "run", ["general_cfg.curriculum={}"])
    assert files(tmp_path / "run") == before


def test_a_replacement_of_a_lost_worker_begins_in_the_present_phase(tmp_path, monkeypatch):
    monkeypatch.setattr("framework.distributed.worker_pool.FIRST_PAUSE", 0.0)
    with run_of(tmp_path / "run", {}, workers=1, general={"run_ahead": 0}) as run:
        run.train()
        run.set_phase(2)
        run.train()
        ray = run._experiment.backend.ray
        ray.kill(ray.alive("Worker")[0])
        run.train()
    lengths = [row["length"] for row in read_csv(tmp_path / "run" / "results" / "train.csv")]
    assert lengths == [4] * 10 + [8] * 6


# --------------------------------------------------------------------------------------------------- evaluation


@pytest.mark.parametrize(("curriculum", "expected"), [(LIST, 8), ({**LIST, "evaluate_at": "now"}, 4), ({}, 4)])
def test_an_evaluation_plays_the_last_phase_or_the_present_one(tmp_path, curriculum, expected):
    with run_of(tmp_path / "run", curriculum) as run:
        run.train()
        assert run.evaluate()["mean"] == expected


def test_a_test_plays_the_phase_of_the_evaluations(tmp_path, capsys):
    """The phase of the checkpoint where that is the present one."""
    for curriculum in (LIST, {}):
        folder = tmp_path / f"run{len(curriculum)}"
        with run_of(folder, curriculum, "own_parts:Staged", env_name="python", allow_import=["own_parts"]) as run:
            run.train()
            if not curriculum:
                run.set_phase(2)
        into = folder.with_name(folder.name + "test")
        assert main(["--allow-import", "own_parts", "--test", str(folder), "--into", str(into)]) == 0
        assert {row["return"] for row in read_csv(into / "results" / "test.csv")} == {8}
        capsys.readouterr()
        assert main(["--allow-import", "own_parts", "evaluate", str(folder)]) == 0
        assert ": 8 ± 0 over" in capsys.readouterr().out


# ----------------------------------------------------------------------------------------------------- metrics


def following(metric: str, *results: dict[str, Any], **more: Any) -> list[float]:
    cfg = Curriculum(metric=metric, phases=[{"below": 10, "value": 5}, {"below": 20, "value": 6}, {"value": 7}], **more)
    phases, found = Phases(cfg), []
    for result in results:
        phases.follow({"metrics": {}, "policies": {}, "custom": {}, **result})
        found.append(phases.now)
    return found


def test_a_phase_follows_the_metric_and_does_not_go_back():
    returns = [{"return_mean": value} for value in (9.9, None, 10, 3, 25, 15, 0)]
    assert following("return_mean", *returns) == [5, 5, 6, 6, 7, 7, 7]
    assert following("return_mean", *returns, may_go_back=True) == [5, 5, 6, 5, 7, 6, 5]


def test_metrics_of_the_algorithm_and_of_callbacks_decide_too():
    assert following("value_loss", {"metrics": {"value_loss": 12}}) == [6]
    assert following("angle_max", {"policies": {}, "custom": {"angle_max": 30}}) == [7]
    assert following("evaluation", {"evaluation": 3}, {"evaluation": None}, {"evaluation": 11}) == [5, 5, 6]


def test_a_metric_of_the_algorithm_is_known_before_anything_is_created(tmp_path):
    with run_of(tmp_path / "a", {**LIST, "metric": "value_loss"}) as run:
        run.train()
    with pytest.raises(JoystickError, match=r"no 'value_los'; did you mean value_loss\?; known: iteration, step"):
        run_of(tmp_path / "b", {**LIST, "metric": "value_los"})
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("curriculum", "said"),
    [
        ({"phases": [{"below": 2, "value": 0}, {"below": 1, "value": 1}, {"value": 2}]}, "not in order: `below` 2"),
        ({"phases": [{"value": 0}, {"value": 1}]}, "phase 1 of 2 has no `below`"),
        ({"phases": [{"below": 1, "value": 0}]}, "the last phase has `below`"),
        ({"phases": [{"below": 1, "value": 0}, {"value": 0}]}, "two phases have the same value"),
        ({"phases": [{"below": 1}, {"value": 0}]}, "value is missing; expected a number"),
        ({"phases": [{"below": 1, "value": True}, {"value": 0}]}, "phases[0].value: got true; expected a number"),
        ({"phase": []}, "general_cfg.curriculum.phase: unknown setting; did you mean phases?"),
        ({"metric": "seconds"}, "depends on the clock"),
        ({"metric": "evaluation"}, "needs online_eval: true"),
        ({"method": "set phase"}, "expected"),
    ],
)
def test_a_bad_curriculum_is_answered_when_it_is_read(tmp_path, curriculum, said):
    with pytest.raises(joystick.ConfigError, match=re.escape(said)) as caught:
        run_of(tmp_path / "run", curriculum, general={"online_eval": False})
    assert "Python: general_cfg.curriculum" in str(caught.value)


def test_set_phase_needs_a_curriculum_without_a_list(tmp_path):
    with run_of(tmp_path / "a", None) as run, pytest.raises(JoystickError, match="this run has no curriculum"):
        run.set_phase(1)
    assert "phase" not in files(tmp_path / "a")["train.csv"].decode()
    with run_of(tmp_path / "b", LIST) as run, pytest.raises(JoystickError, match="phases decides"):
        run.set_phase(1)
    with run_of(tmp_path / "c", {}) as run, pytest.raises(JoystickError, match="finite number"):
        run.set_phase(float("nan"))


# ------------------------------------------------------------------------------------------------- environments


class Whole(VectorEnv):
    """A vector environment of one's own."""

    observation_space, action_space = Box(0, 9, (1,)), Discrete(2)

    def __init__(self, num_envs: int) -> None:
        self.rows = num_envs

    def reset(self, mask: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        return np.zeros((self.rows, 1), np.float32)

    def step(self, action: np.ndarray) -> Step:
        return Step(np.zeros((self.rows, 1), np.float32), *np.zeros((3, self.rows), np.float32))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("env", "curriculum", "said"),
    [
        (
            Staged,
            {"method": "set_task"},
            r"Staged has no method set_task\(value\), which general_cfg.curriculum.method",
        ),
        (Whole, {}, r"Whole has no method set_phase\(mask, phases\)"),
        ("CartPole-v1", {}, "CartPoleEnv has no method set_phase"),
    ],
)
def test_an_environment_without_the_method_is_refused(tmp_path, env, curriculum, said, workers):
    with pytest.raises(EnvError, match=said):
        run_of(tmp_path / "run", curriculum, env, workers)
    assert not (tmp_path / "run").exists()


def test_a_native_vector_environment_is_refused():
    env = GymnasiumVector(SameStep(gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")), "it")
    with pytest.raises(EnvError, match="begins the next episode by itself"):
        env.set_phase(np.ones(2, bool), [0, 0])


def test_an_error_of_the_method_names_it_and_saves_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(Staged, "broken", 3)
    said = r"Staged.set_phase\(3\) failed in row 0: ValueError: there is no such phase"
    with run_of(tmp_path / "run", {}) as run:
        run.train()
        run.set_phase(3)
        with pytest.raises(EnvError, match=said):
            run.train()
    assert CheckpointStore(tmp_path / "run" / "models").numbers()


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_rows_in_processes_get_their_phases(tmp_path, vectorization):
    env = joystick_env("own_parts:Staged", 3, vectorization)
    env.set_phase(np.array([True, False, True]), [2, 9, 1.5])
    obs = env.reset(np.ones(3, bool), np.arange(3))
    assert obs[:, 0].tolist() == [2, 0, 1.5]
    env.phase_method = "other"
    with pytest.raises(EnvError, match="has no method other"):
        env.set_phase(np.ones(3, bool), [0, 0, 0])
    assert env.reset(np.ones(3, bool), np.arange(3)).shape == (3, 3)  # the processes are alive
    env.close()


def joystick_env(name: str, rows: int, vectorization: str) -> VectorEnv:
    import envs
    from envs import python

    return envs.make(python, python.Config(id=name, n_envs=rows, vectorization=vectorization), rows, EnvContext())


def test_an_old_environment_has_its_own_methods():
    old = OldLine()
    old.set_phase = lambda value: setattr(old, "limit", value)  # type: ignore[attr-defined]
    joystick.OldGym(old).set_phase(3)
    assert old.limit == 3
    with pytest.raises(AttributeError, match="set_task"):
        joystick.OldGym(old).set_task(3)


def test_the_example_of_the_page_trains_in_three_phases(tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "curriculum.md"
    [code] = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if not EVERY:  # a third of its length
        assert ("10_000" in code, "// 3000" in code) == (True, True)
        code = code.replace("10_000", "3_000").replace("// 3000", "// 1000")
    (tmp_path / "example.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    runpy.run_path("example.py")
    [task] = (tmp_path / "tasks").iterdir()
    assert {row["phase"] for row in read_csv(task / "results" / "train.csv")} == {0, 1, 2}


# --------------------------------------------------------------------------------------------------- foreach_env


def place(env: Any, context: EnvContext) -> tuple:
    return type(env).__name__, context.worker_index, context.vector_index, context["first"]


@pytest.mark.parametrize(("workers", "places"), [(0, [(0, 0), (0, 1)]), (2, [(1, 0), (1, 1), (2, 0), (2, 1)])])
def test_a_function_reaches_the_environment_of_every_row(tmp_path, workers, places):
    with run_of(tmp_path / "run", None, workers=workers, env_cfg={"first": 1}) as run:
        run.train()
        assert run.foreach_env(place, changes=False) == [("Staged", *each, 1) for each in places]
        run.train()
    with joystick.Run.resume(tmp_path / "run") as run:
        assert read_facts(run._experiment.task.run)["resumes"][-1]["exact"] is True


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_a_function_reaches_rows_in_processes(vectorization):
    env, factor = joystick_env("own_parts:Staged", 2, vectorization), 3

    def windy(env: Any, context: EnvContext) -> float:
        env.wind = factor * (1 + context.vector_index)
        return env.wind

    env.reset(np.ones(2, bool), np.arange(2))
    assert env.visit(windy) == [3, 6]
    assert env.visit(lambda env, context: env.wind) == [3, 6]
    with pytest.raises(ZeroDivisionError):
        env.visit(lambda env, context: 1 / context.vector_index)
    assert env.visit(lambda env, context: env.wind) == [3, 6]  # the processes are alive
    if vectorization == "async":
        with pytest.raises(EnvError, match="a result of type generator cannot be sent"):
            env.visit(lambda env, context: (i for i in range(3)))
        lock = threading.Lock()
        with pytest.raises(EnvError, match="the function cannot be sent"):
            env.visit(lambda env, context: lock)
    env.close()


def calm(env: Any, context: EnvContext) -> None:
    env.wind = 0.0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_change_of_the_environments_is_reported_at_the_resume(tmp_path, workers):
    with run_of(tmp_path / "run", None, workers=workers) as run:
        run.train()
        before = run.save()
        run.foreach_env(calm)
        assert (before / "manifest.json").exists()
        step = run.count.step
    with joystick.Run.resume(tmp_path / "run") as run:
        facts = read_facts(run._experiment.task.run)
        assert facts["resumes"][-1]["exact"] is False
        said = f"environments were changed by foreach_env at step {step}"
        assert facts["resumes"][-1]["inexact_because"] == [said]
        run.train()
        run.foreach_env(calm)
        run.foreach_env(calm)
        assert run._experiment.numbers["foreach_env"].startswith("environments were changed by foreach_env 2 times")
    assert "foreach_env 2 times" in (tmp_path / "run" / "report.html").read_text()
