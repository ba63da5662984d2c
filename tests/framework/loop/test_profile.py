"""general_cfg.profile: where the time of a run goes."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from algos.base import EnvSpec, TrainableActor
from framework.loop import profile
from framework.loop.profile import Profile
from main import main
from tests.tools.compiler import can_compile, programs
from tests.tools.core import agent_of

__all__ = ["can_compile", "programs"]
RUN = ("--algo", "DQN", "--env", "CartPole-v1", "general_cfg.seed=1", "general_cfg.max_total_step=400",
       "algo_cfg.learning_starts=64", "general_cfg.online_eval_episode=2", "general_cfg.save_fig=false")  # fmt: skip


class Outer:
    def __init__(self) -> None:
        self.inner = Inner()

    def work(self) -> str:
        time.sleep(0.01)
        return self.inner.work() + self.inner.work()


class Inner:
    def work(self) -> str:
        time.sleep(0.02)
        return "x"


def test_the_time_of_a_part_leaves_out_the_parts_that_it_calls() -> None:
    timed, outer = Profile(), Outer()
    timed.watch(outer, "work", "outside")
    timed.watch(outer.inner, "work", "inside")
    with pytest.raises(AttributeError):
        timed.watch(outer, "missing", "a part that was renamed")
    began = time.perf_counter()
    assert outer.work() == "xx"
    elapsed = time.perf_counter() - began
    first, *rest = timed.parts()
    assert (first.name, first.calls) == ("inside", 2)
    assert first.seconds >= 0.04
    outside = next(part for part in rest if part.name == "outside")
    assert outside.seconds >= 0.01
    assert first.seconds + outside.seconds <= elapsed
    timed.close()
    assert vars(outer).keys() == {"inner"}
    outer.work()
    assert timed.calls == {"outside": 1, "inside": 2}


def test_an_error_within_a_part_is_counted_and_goes_on() -> None:
    timed, outer = Profile(), Outer()
    timed.watch(outer, "work", "outside")
    outer.inner = None  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        outer.work()
    assert timed.calls == {"outside": 1}


def test_a_run_says_where_its_time_went_and_learns_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    backward = torch.Tensor.backward
    assert main([*RUN, "--profile", "--into", "tasks/timed"]) == 0
    assert torch.Tensor.backward is backward
    shown = capsys.readouterr().out
    assert "where the time went" in shown
    assert main([*RUN, "--into", "tasks/plain"]) == 0
    assert "where the time went" not in capsys.readouterr().out
    for name in ("train.csv", "eval.csv"):
        assert Path(f"tasks/timed/results/{name}").read_bytes() == Path(f"tasks/plain/results/{name}").read_bytes()
    found: list[Any] = json.loads(Path("tasks/timed/run.json").read_text())["profile"]
    calls = {part["name"]: part["calls"] for part in found}
    assert calls["acting"] >= 400
    assert calls["learning: backward pass"] == calls["learning: optimizer"] > 0
    assert {"environment", "storing", "sampling", "evaluation", "saving", "logging", profile.REST} <= calls.keys()
    seconds = [part["seconds"] for part in found]
    assert seconds == sorted(seconds, reverse=True)
    assert "Where the time went" in Path("tasks/timed/report.html").read_text()


@pytest.mark.usefixtures("programs")
def test_compiled_steps_are_a_part_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, "general_cfg.compile=on", "--profile", "--into", "tasks/run"]) == 0
    run = json.loads(Path("tasks/run/run.json").read_text())
    calls = {part["name"]: part["calls"] for part in run["profile"]}
    assert calls["learning: compiled steps"] == run["update"] > 0
    assert not {"learning: backward pass", "learning: optimizer"} & calls.keys()


def test_the_optimizers_of_all_policies_are_timed() -> None:
    box = Box(-1, 1, (2,), np.float32)
    one, other = (agent_of(name, EnvSpec("x", box, box, 1)) for name in ("SAC", "TD3"))
    several: Any = SimpleNamespace(by_policy=lambda: {"a": one, "b": other})
    expected = {
        one.optimizer, one.policy.optimizer, one.policy.temperature.optimizer,
        other.actor_optimizer, other.critic_optimizer,
    }  # fmt: skip
    assert set(TrainableActor.optimizers(several)) == expected
