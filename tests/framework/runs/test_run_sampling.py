"""run.sample and run.update: whole episodes, learned from as from a window."""

import contextlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import joystick
from framework.disk.csv_table import read_csv
from framework.distributed import launch
from framework.errors import JoystickError
from framework.runs.sampling import accepted, chunks
from tests.tools.fake_ray import FakeRay


def run_of(tmp_path: Path, algo: str = "PPO", name: str = "run", **env_cfg: int) -> joystick.Run:
    return joystick.Run(
        algo, "CartPole-v1", seed=1, into=tmp_path / name, env_cfg={"n_envs": 3, **env_cfg},
        general_cfg={"online_eval": False, "max_total_step": 4000, "max_episode": -1, "save_fig": False},
    )  # fmt: skip


def test_a_sample_has_whole_episodes_and_at_least_so_many_steps(tmp_path: Path) -> None:
    with run_of(tmp_path) as run:
        sample = run.sample(200)
        assert len(sample.reward) >= 200
        window, ends = sample.window, sample.window.terminated | sample.window.truncated
        assert ends[-1]
        begins = np.concatenate([[True], ends[:-1]])
        assert (np.abs(sample.state[begins]) < 0.051).all()  # CartPole begins within 0.05
        assert np.array_equal(sample.next_state[:-1][~ends[:-1]], sample.state[1:][~ends[:-1]])
        assert np.array_equal(sample.mask == 0, window.terminated)
        assert run.count.step == 0


def test_two_samples_differ_and_a_second_run_repeats_them(tmp_path: Path) -> None:
    samples = []
    for name in ("a", "b"):
        with run_of(tmp_path, name=name) as run:
            samples.append([run.sample(50).state for _ in range(2)])
    assert not np.array_equal(samples[0][0][:10], samples[0][1][:10])
    assert all(np.array_equal(one, other) for one, other in zip(*samples, strict=True))


class Corridor(gymnasium.Env):
    """Its episodes are longer in later phases."""

    observation_space, action_space = gymnasium.spaces.Box(0, 1, (1,)), gymnasium.spaces.Discrete(2)
    length = 3

    def set_phase(self, phase: float) -> None:
        self.length = 3 + 2 * int(phase)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> Any:
        self.at += 1
        return np.array([self.at / self.length], np.float32), -1.0, self.at >= self.length, False, {}


def test_a_sample_is_of_the_phase_of_the_curriculum(tmp_path: Path) -> None:
    general = {"max_step": 50, "iteration_steps": 500, "curriculum": {"method": "set_phase"}, "save_fig": False}
    with joystick.Run("PPO", Corridor, seed=1, into=tmp_path / "run", general_cfg=general) as run:
        run.set_phase(5)
        sample = run.sample(20)
        assert len(sample.reward) == 13 * int((sample.mask == 0).sum())
        run.update(sample)
        task = run.task
    assert {row["phase"] for row in read_csv(task / "results/train.csv")} == {5}


def test_update_learns_and_counts_what_the_sample_has(tmp_path: Path) -> None:
    with run_of(tmp_path) as run:
        before = run.weights()
        sample = run.sample(300)
        metrics = run.update(sample)
        episodes = int((sample.window.terminated | sample.window.truncated).sum())
        assert (run.count.step, run.count.episode) == (len(sample.reward), episodes)
        assert run.count.update > 0
        assert np.isfinite(list(metrics.values())).all()
        assert any(not np.array_equal(before[name], value) for name, value in run.weights().items())
        task = run.task
    rows = read_csv(task / "results" / "train.csv")
    assert len(rows) == episodes
    assert sum(int(row["length"]) for row in rows) == len(sample.reward)


@pytest.mark.parametrize("in_place", [True, False])
def test_the_returns_of_a_sample_are_those_of_the_environment(tmp_path: Path, in_place: bool) -> None:
    with run_of(tmp_path) as run:
        sample = run.sample(100)
        if in_place:
            sample.window.reward -= 100.0
        else:
            sample.window.reward = sample.window.reward - 100.0
        run.update(sample)
        task = run.task
    assert all(row["return"] == row["length"] for row in read_csv(task / "results" / "train.csv"))


def test_after_the_end_of_a_run_nothing_is_learned_from_a_sample(tmp_path: Path) -> None:
    """It would be in no checkpoint."""
    with run_of(tmp_path) as run:
        sample = run.sample(10)
        assert run.train(4000)["done"]
        with pytest.raises(JoystickError, match=r"update: .* max_total_step 4000 reached"):
            run.update(sample)
        count, task = run.count, run.task
    assert joystick.load(task, "latest").about["model"].startswith(f"update {count.update} ")


def test_a_loop_of_sample_and_update_goes_on_exactly_after_a_resume(tmp_path: Path) -> None:
    with run_of(tmp_path, name="whole") as run:
        for _ in range(2):
            run.update(run.sample(100))
        whole = run.weights()
    with run_of(tmp_path, name="parts") as run:
        run.update(run.sample(100))
        run.save()
    with joystick.Run.resume(tmp_path / "parts") as run:
        run.update(run.sample(100))
        assert all(np.array_equal(whole[name], value) for name, value in run.weights().items())


def test_the_window_holds_each_row_in_a_column_of_its_own(tmp_path: Path) -> None:
    with run_of(tmp_path) as run:
        sample = run.sample(100)
        (chunk,) = chunks(run.config.algo.memory(3), sample, run.agent.spec, 0.0)
        for row in range(3):
            valid = chunk.columns.get("valid", np.ones(chunk.columns["reward"].shape, bool))[:, row]
            assert np.array_equal(chunk.columns["obs"][valid, row], sample.state[sample.window.row == row])
        event = accepted(sample, run._experiment.trainer.counter.progress())
        assert sum(episode.length for episode in event.episodes) == len(sample.reward) == event.steps


def test_a_learner_of_another_process_learns_the_same_from_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = []
    for name, words in (("one", {}), ("ray", {"mp_backend": "ray", "n_workers": 2})):
        monkeypatch.setattr(launch.ray_cluster, "started", lambda *given: contextlib.nullcontext(FakeRay()))
        general = {"online_eval": False, "max_total_step": 4000, "max_episode": -1, **words}
        algo = {"sgd_batch_size": 64, "batch_size": 192}
        with joystick.Run(
            "PPO",
            "CartPole-v1",
            seed=1,
            into=tmp_path / name,
            env_cfg={"n_envs": 3},
            general_cfg=general,
            algo_cfg=algo,
        ) as run:
            run.update(run.sample(150))
            weights.append(run.weights())
            assert run.count.update > 0
    assert all(np.array_equal(weights[0][name], value) for name, value in weights[1].items())


def test_update_of_an_off_policy_algorithm_is_refused(tmp_path: Path) -> None:
    with run_of(tmp_path, "DQN") as run, pytest.raises(JoystickError, match="DQN learns by train"):
        run.update(run.sample(10))


@pytest.mark.parametrize("wrong", [None, {"state": 1}, [1, 2]])
def test_update_takes_a_sample_only(tmp_path: Path, wrong: object) -> None:
    with run_of(tmp_path) as run, pytest.raises(JoystickError, match=r"run\.sample"):
        run.update(wrong)


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("obs", lambda values: np.zeros((len(values), 6), np.float32), r"'obs' .* shape \(\d+, 6\)"),
        ("obs", lambda values: values * np.nan, "'obs' .* not finite"),
        ("reward", lambda values: values[:-1], "'reward' .* shape"),
        ("reward", lambda values: values[:, None], "'reward' .* shape"),
        ("reward", lambda values: values.astype(object), "'reward' .* type object"),
        ("reward", lambda values: 1.0, r"'reward' .* shape \(\)"),
        ("terminated", lambda values: values[:3], "'terminated' .* shape"),
        ("log_prob", lambda values: values[:3], "'log_prob' .* shape"),
        ("row", lambda values: values + 3, "a row that is none of 3"),
        ("terminated", None, "no column 'terminated'"),
    ],
)
def test_a_wrong_column_is_refused_and_the_run_goes_on(tmp_path: Path, column: str, change: Any, message: str) -> None:
    with run_of(tmp_path) as run:
        sample = run.sample(20)
        if change is None:
            del sample.window[column]
        else:
            sample.window[column] = change(np.asarray(sample.window[column]))
        with pytest.raises(JoystickError, match=message):
            run.update(sample)
        assert run.count.step == 0
        run.update(run.sample(20))
        assert run.count.update > 0
