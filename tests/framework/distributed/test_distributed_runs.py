"""Whole runs through the command line, with a Ray that runs everything in this process."""

import hashlib
import json
import os
import re
import signal
from collections import Counter
from functools import cache
from itertools import count

import pytest

import joystick
from framework.dataset.trajectories import read
from framework.disk.checkpoints import CheckpointStore
from framework.disk.csv_table import read_csv
from framework.distributed import ray_errors, worker_pool
from framework.distributed.ray_backend import RayBackend
from framework.errors import of_machine
from framework.loop.backend import WorkerLost
from framework.loop.evaluator import Evaluator
from framework.loop.trainer import Trainer
from framework.runs import experiment
from main import main
from tests.tools.distributed import fake_rays
from tests.tools.paths import in_the_suite

GENERAL = [
    "general_cfg.seed=3", "general_cfg.save_fig=false", "general_cfg.max_episode=-1", "general_cfg.online_eval=true",
    "general_cfg.online_eval_episode=2", "general_cfg.model_save_unit=step", "general_cfg.model_save_fre=60",
    "general_cfg.env_timeout=0", "general_cfg.env_name=toy", "env_cfg.id=match", "env_cfg.steps=7", "env_cfg.n_envs=2",
]  # fmt: skip
SMALL = "[{layer_type: linear, layer_size: [8]}]"
REPLAY = [f"algo_cfg.value_layers={SMALL}", "algo_cfg.batch_size=16", "algo_cfg.learning_starts=32"]
ALGOS = {
    "DQN": ["--algo=DQN", *REPLAY],
    "PER_DQN": ["--algo=PER_DQN", *REPLAY, "algo_cfg.n_step=3"],
    "PPO": ["--algo=PPO", f"algo_cfg.actor_layers={SMALL}", f"algo_cfg.critic_layers={SMALL}", "algo_cfg.batch_size=32",
            "algo_cfg.sgd_batch_size=16", "algo_cfg.normalize_reward=true", "algo_cfg.lr_schedule=constant"],
}  # fmt: skip
UNPLANNED = ["DQN", "PPO"]
"""Nothing in them follows the planned length of the run, which is another one before the resume."""
LOCKSTEP = ("general_cfg.mp_backend=ray", "general_cfg.run_ahead=0")


@pytest.fixture
def rays(monkeypatch):
    """Every Ray that was started; `rays.fate` decides who dies in the next one."""
    return fake_rays(monkeypatch)


def train(folder, algo, steps, *words):
    assert main([*GENERAL, *ALGOS[algo], f"general_cfg.max_total_step={steps}", *words, "--into", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """Returns the folder of a run of an algorithm with two workers in lockstep, for 180 steps, from which nobody died
    and which nobody stopped. It is only read."""

    @cache
    def trained(algo):
        with pytest.MonkeyPatch.context() as patch:
            fake_rays(patch)
            folder = tmp_path_factory.mktemp("straight") / algo
            return train(folder, algo, 180, *LOCKSTEP, "general_cfg.n_workers=2")

    return trained


def resume(folder, steps, *words):
    assert main(["--resume", str(folder), f"general_cfg.max_total_step={steps}", *words]) == 0


def fingerprint(task):
    """Digests of the results and of everything in the last checkpoint but its journal's place."""
    files = [*sorted((task / "results").glob("*.csv"))]
    saved = CheckpointStore(task / "models").newest(print)
    assert saved.tree["count"]["update"] > 10
    files.append(saved.path / "state.safetensors")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def counted_once(task):
    rows = read_csv(task / "results/train.csv")
    assert [row["episode"] for row in rows] == list(range(1, len(rows) + 1))
    assert max(Counter((row["worker"], row["row"], row["seed"]) for row in rows).values()) == 1
    assert len({row["seed"] for row in rows}) == len(rows)
    return rows


@pytest.mark.parametrize("algo", in_the_suite(ALGOS, "PER_DQN", "PPO"))
def test_a_run_with_one_worker_in_lockstep_is_the_run_of_one_process(algo, rays, tmp_path):
    """RAY-7, TRJ-1: the curves, the evaluations, the checkpoint and the trajectories."""
    of_algorithm = {
        "DQN": ("algo_cfg.epsilon={cosine: [1.0, 0.1]}", "algo_cfg.bonus=count"),
        "PER_DQN": ("algo_cfg.per_beta={linear: [0.2, 0.6]}",),
        "PPO": ("algo_cfg.entropy_coef={linear: [0.1, 0.0]}", "algo_cfg.bonus=rnd", f"algo_cfg.bonus_layers={SMALL}"),
    }
    words = ("general_cfg.collect_traj=true", *of_algorithm[algo])
    one = train(tmp_path / "one", algo, 160, *words)
    other = train(tmp_path / "other", algo, 160, *words, *LOCKSTEP)
    assert fingerprint(one) == fingerprint(other)
    a, b = (read(task / "results/trajs.pkl") for task in (one, other))
    assert a.keys() == b.keys()
    assert [list(map(float, rewards)) for rewards in a["reward"]] == [list(map(float, r)) for r in b["reward"]]
    assert len(rays) == 1
    assert not any(rays[0].alive(kind) for kind in ("Worker", "DataServer", "LearnerActor")), "nothing of ours is left"


def test_a_ray_that_ends_in_an_evaluation_is_started_again_and_none_is_left_for_what_follows_training(
    rays, straight, tmp_path, monkeypatch, capfd
):
    """RAY-8: Ray ends its driver some seconds after its raylet, so an evaluation must not wait until it is over; and
    nobody starts processes again for the choice of the best model, the films and the report."""
    play, choose, playing, counts, alive = Evaluator.play, experiment.choose_best, [], count(1), []

    def played(self, *words, **options):
        playing.append(next(counts))
        try:
            return play(self, *words, **options)
        finally:
            playing.clear()

    def chosen(*words):
        alive.extend(rays[-1].alive(kind) for kind in ("Worker", "DataServer", "LearnerActor"))
        return choose(*words)

    monkeypatch.setattr(Evaluator, "play", played)
    monkeypatch.setattr(experiment, "choose_best", chosen)
    monkeypatch.setattr(ray_errors, "ended_part", lambda: playing.pop() and "raylet" if playing == [2] else None)
    folder = train(tmp_path / "run", "DQN", 180, *LOCKSTEP, "general_cfg.n_workers=2")
    assert capfd.readouterr().out.count("raylet has ended: killed, out of memory, or crashed; all processes begin") == 1
    assert alive == [[], [], []]
    assert fingerprint(folder) == fingerprint(straight("DQN"))


@pytest.mark.parametrize("algo", UNPLANNED)
def test_a_run_with_several_workers_that_was_resumed_was_never_stopped(algo, rays, straight, tmp_path):
    """RES-1: in lockstep, to the bit."""
    cut = train(tmp_path / "cut", algo, 110, *LOCKSTEP, "general_cfg.n_workers=2")
    resume(cut, 180)
    assert fingerprint(cut) == fingerprint(straight(algo))


@pytest.mark.parametrize("algo", in_the_suite(ALGOS, "PER_DQN"))
def test_a_run_goes_on_with_any_number_of_workers_and_repeats_no_seed(algo, rays, tmp_path):
    """RAY-4: two, three, one, two; each worker's rows go on where they stood."""
    task = train(tmp_path / "run", algo, 60, *LOCKSTEP, "general_cfg.n_workers=2")
    for steps, workers in ((120, 3), (180, 1), (240, 2)):
        before = len(counted_once(task))
        resume(task, steps, f"general_cfg.n_workers={workers}")
        assert {row["worker"] for row in counted_once(task)[before:]} == set(range(workers))
    assert {row["worker"] for row in counted_once(task)} == {0, 1, 2}


DEAD = [(algo, kind) for algo in ALGOS for kind in ("LearnerActor", "DataServer")]


@pytest.mark.parametrize(
    ("algo", "kind"), in_the_suite(DEAD, ("DQN", "LearnerActor"), ("PER_DQN", "DataServer"), ("PPO", "DataServer"))
)
def test_a_learner_or_data_server_that_dies_leaves_no_trace_in_the_results(
    algo, kind, rays, straight, tmp_path, capsys
):
    """RAY-1, RAY-8: all begin again at the last checkpoint, and the curves have each episode once."""
    expected = fingerprint(straight(algo))
    capsys.readouterr()
    method, count = ("learn", 5) if kind == "LearnerActor" else ("add", 4)
    rays.fate = lambda call: "before" if tuple(call) == (kind, 0, method, count) else None
    broken = train(tmp_path / "broken", algo, 180, *LOCKSTEP, "general_cfg.n_workers=2")
    assert "all processes begin again at checkpoint" in capsys.readouterr().out
    assert fingerprint(broken) == expected


def test_a_learner_that_dies_while_the_finished_run_is_saved_costs_no_more_than_time(rays, tmp_path, capsys):
    """RAY-1: the run has met its limit, and its last checkpoint is still to come."""
    asked = []
    rays.fate = lambda call: asked.append(call) if call.method == "state" and call.kind == "LearnerActor" else None
    straight = train(tmp_path / "straight", "DQN", 100, *LOCKSTEP, "general_cfg.n_workers=2")
    rays.fate = lambda call: "before" if call == asked[-1] else None
    broken = train(tmp_path / "broken", "DQN", 100, *LOCKSTEP, "general_cfg.n_workers=2")
    assert "all processes begin again at checkpoint" in capsys.readouterr().out
    assert fingerprint(broken) == fingerprint(straight)


def test_processes_that_die_again_while_they_are_brought_back_are_brought_back(rays, straight, tmp_path, capsys):
    """A node of a cluster is lost, and the cluster does not know yet: it places new processes there."""
    dying = [("LearnerActor", 0, "learn", 5), ("Worker", 2, "__init__", 0), ("LearnerActor", 2, "load_state", 0)]
    rays.fate = lambda call: "before" if tuple(call) in dying else None
    broken = train(tmp_path / "broken", "DQN", 180, *LOCKSTEP, "general_cfg.n_workers=2")
    assert capsys.readouterr().out.count("all processes begin again at checkpoint 0") == 3
    assert fingerprint(broken) == fingerprint(straight("DQN"))


def test_processes_that_die_however_often_they_are_brought_back_end_the_run(rays, tmp_path, capsys):
    rays.fate = lambda call: "before" if call.kind == "DataServer" and call.method == "add" else None
    words = (*LOCKSTEP, "general_cfg.n_workers=2", "general_cfg.max_total_step=180")
    assert main([*GENERAL, *ALGOS["DQN"], *words, "--into", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().out.count("all processes begin again") == 5


def test_processes_that_end_with_a_run_that_was_asked_to_stop_are_not_brought_back(rays, straight, tmp_path, capsys):
    """A batch system sends SIGTERM to all processes of a job."""

    def fate(call):
        if tuple(call) != ("DataServer", 0, "add", 9):
            return None
        os.kill(os.getpid(), signal.SIGTERM)
        return "before"

    rays.fate = fate
    words = (*LOCKSTEP, "general_cfg.n_workers=2", "general_cfg.max_total_step=180")
    assert main([*GENERAL, *ALGOS["DQN"], *words, "--into", str(tmp_path / "run")]) == 128 + signal.SIGTERM
    said = capsys.readouterr()
    newest = CheckpointStore(tmp_path / "run/models").newest(print).path.name
    assert "all processes begin again" not in said.out
    assert f"its newest checkpoint is {newest}. To resume: python main.py resume" in said.err
    rays.fate = lambda call: None
    resume(tmp_path / "run", 180)
    assert fingerprint(tmp_path / "run") == fingerprint(straight("DQN"))


def test_a_branch_has_a_checkpoint_to_be_brought_back_to(rays, straight, tmp_path, capsys):
    """Before it has saved by its own clock."""
    task = straight("DQN")
    words = (f"general_cfg.load_path={task}", "general_cfg.load_checkpoint=true", "general_cfg.n_workers=2")
    start = CheckpointStore(task / "models").numbers()[1]
    rays.fate = lambda call: "before" if tuple(call) == ("DataServer", 0, "add", 2) else None
    train(tmp_path / "branch", "DQN", 150, *LOCKSTEP, *words, f"general_cfg.load_model_step={start}")
    assert f"all processes begin again at checkpoint {start}" in capsys.readouterr().out
    numbers = [row["episode"] for row in read_csv(tmp_path / "branch" / "results/train.csv")]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.parametrize("ahead", [0, 2])
def test_workers_that_die_while_a_run_goes_on_are_replaced_and_said(ahead, rays, tmp_path, capsys, monkeypatch):
    """RAY-1, RAY-2"""
    monkeypatch.setattr(worker_pool, "LONGEST_FRAGMENT", 8)
    rays.fate = lambda call: "after" if call.kind == "Worker" and call.method == "collect" and call.count == 5 else None
    words = ("general_cfg.mp_backend=ray", f"general_cfg.run_ahead={ahead}", "general_cfg.n_workers=2")
    task = train(tmp_path / "run", "PER_DQN", 240, *words, "algo_cfg.train_fre=8")
    assert "another takes its place" in capsys.readouterr().out
    rows = counted_once(task)
    assert {row["worker"] for row in rows} == {0, 1}


def test_a_worker_that_dies_again_and_again_ends_the_run_with_the_reason(rays, tmp_path, capsys, monkeypatch):
    """RAY-2: replaced later and later, and not for ever. What was collected before is saved."""
    monkeypatch.setattr(worker_pool, "MOST_DEATHS", 5)
    monkeypatch.setattr(worker_pool, "FIRST_PAUSE", 0.001)
    fatal = ("Worker", "collect", 28)
    rays.fate = lambda call: "before" if (call.kind, call.method, call.count) == fatal else None
    words = (*LOCKSTEP, "general_cfg.max_total_step=2000")
    assert main([*GENERAL, *ALGOS["DQN"], *words, "--into", str(tmp_path / "run")]) == 2
    out, err = (" ".join(text.split()) for text in capsys.readouterr())
    pauses = re.findall(r"worker 0 died \(killed before collect.*?\); another takes its place in (\S+) s", out)
    assert pauses == ["0.001", "0.002", "0.004", "0.008", "0.016"]
    assert "worker 0 died 6 times, the last time because killed before collect" in err
    assert "main.py resume " in err
    assert "Traceback" not in out + err
    counted_once(tmp_path / "run")
    saved = CheckpointStore(tmp_path / "run" / "models").newest(print)
    assert saved.facts["step"] == 6 * 28 * 2, "more than the last save point, 300"
    assert not saved.facts["save_point"]
    assert of_machine(WorkerLost("so that --keep-alive goes on")), "a process is killed where memory runs out"


def test_a_program_gets_each_iteration_once_though_processes_begin_again_at_an_earlier_one(rays, tmp_path):
    words = (*GENERAL, *ALGOS["DQN"][1:], *LOCKSTEP)
    numbers = {}
    for name, fate in {"straight": None, "broken": ("DataServer", 0, "add", 50)}.items():
        rays.fate = lambda call, fate=fate: "before" if tuple(call) == fate else None
        with joystick.Run("DQN", words=words, into=tmp_path / name, preset=None) as run:
            numbers[name] = [run.train(steps)["step"] for steps in (10, 20, 10, 40, 6, 2, 2, 20)]
    assert numbers["broken"] == numbers["straight"]


@pytest.mark.parametrize("words", [(), (*LOCKSTEP, "general_cfg.n_workers=2")], ids=["one process", "two workers"])
def test_a_branch_can_be_gone_on_with_as_if_it_had_never_stopped(words, rays, tmp_path):
    """RES-6: its own journal holds what it began with."""
    task = train(tmp_path / "run", "DQN", 120, *words)
    start = CheckpointStore(task / "models").numbers()[1]
    from_there = [f"general_cfg.load_path={task}", "general_cfg.load_checkpoint=true"]
    for name, steps in (("straight", 160), ("cut", 130)):
        train(tmp_path / name, "DQN", steps, *words, *from_there, f"general_cfg.load_model_step={start}")
    resume(tmp_path / "cut", 160)
    assert fingerprint(tmp_path / "cut") == fingerprint(tmp_path / "straight")


def test_the_speed_of_the_whole_run_is_that_of_training(rays, monkeypatch, tmp_path):
    """What is said of the processes is known before the final save and evaluation, which are no part of it."""
    order = []
    load, finish = RayBackend.load, Trainer.finish
    monkeypatch.setattr(
        RayBackend, "load", lambda self, whole=False: order.append(("load", whole)) or load(self, whole)
    )
    monkeypatch.setattr(Trainer, "finish", lambda self: order.append("finish") or finish(self))
    train(tmp_path / "run", "DQN", 120, *LOCKSTEP)
    assert [event for event in order if event != ("load", False)] == [("load", True), "finish"]
    assert "busy, learners" in json.loads((tmp_path / "run" / "run.json").read_text())["processes_said"]
