"""Whole runs through the command line, in one process and small: what is promised of a task directory."""

import hashlib
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image, ImageSequence

import algos
import joystick
from framework.archive import task_list
from framework.dataset.trajectories import read
from framework.disk.csv_table import read_csv
from framework.errors import JoystickError
from framework.loop.evaluator import Evaluator
from framework.pages import html_report
from main import main
from tests.tools.core import of_one_agent
from tests.tools.paths import in_the_suite, one_of_each
from tests.tools.process import Forked, forked

ROOT = Path(__file__).parents[3]
SMALL = [{"layer_type": "linear", "layer_size": [16], "activation": "relu"}]
RUNS: dict[str, dict[str, Any]] = {
    "DQN": {
        "general_cfg": {"model_save_fre": 100, "max_total_step": 500},
        "algo_cfg": {"value_layers": SMALL, "batch_size": 16},
    },
    "DQN with everything": {
        "general_cfg": {"algo_name": "DQN", "model_save_fre": 40, "max_total_step": 180},
        "algo_cfg": {
            "value_layers": [*SMALL, {"layer_type": "dropout", "rate": 0.1}],
            "batch_size": 16,
            "buffer_size": 90,
            "n_step": 3,
            "double": True,
            "dueling": True,
            "normalize_obs": True,
            "epsilon_decay": 60,
        },
        "env_cfg": {"n_envs": 2},
    },
    "DQN with priorities": {
        "general_cfg": {"algo_name": "DQN", "model_save_fre": 60, "max_total_step": 300},
        "algo_cfg": {"value_layers": SMALL, "batch_size": 16, "buffer_size": 120, "buffer_type": "PER"},
    },
    "PPO": {
        "general_cfg": {"model_save_fre": 8, "max_total_step": 1024},
        "algo_cfg": {
            "batch_size": 128,
            "sgd_batch_size": 32,
            "k_epochs": 2,
            "normalize_obs": True,
            "normalize_reward": True,
        },
        "env_cfg": {"n_envs": 4},
    },
    "PPO on a continuous action": {
        "general_cfg": {"algo_name": "PPO", "model_save_fre": 8, "max_total_step": 512},
        "algo_cfg": {"batch_size": 128, "sgd_batch_size": 32, "k_epochs": 2},
        "env_cfg": {"id": "Pendulum-v1", "n_envs": 2},
    },
    "PPO with a price": {
        "general_cfg": {"algo_name": "PPO", "model_save_fre": 8, "max_total_step": 1024},
        "algo_cfg": {"ppo_type": "kl", "batch_size": 128, "sgd_batch_size": 64, "k_epochs": 2},
    },
    "A2C": {
        "general_cfg": {"model_save_fre": 4, "max_total_step": 512},
        "algo_cfg": {"batch_size": 32, "normalize_obs": True, "normalize_reward": True, "optimizer": "rmsprop"},
        "env_cfg": {"n_envs": 4},
    },
    "REINFORCE": {
        "general_cfg": {"model_save_fre": 2, "max_total_step": 1024},
        "algo_cfg": {"batch_episode": 4, "baseline": "value", "normalize_obs": True, "normalize_reward": True},
        "env_cfg": {"n_envs": 3},
    },
    "TRPO": {
        "general_cfg": {"model_save_fre": 2, "max_total_step": 1024},
        "algo_cfg": {"batch_size": 128, "k_epochs": 2, "normalize_obs": True, "normalize_reward": True},
        "env_cfg": {"n_envs": 2},
    },
    "QLearning": {
        "general_cfg": {"model_save_fre": 100, "max_total_step": 500},
        "env_cfg": {"id": "CliffWalking-v1", "n_envs": 2},
    },
    "Sarsa, whose windows overlap": {
        "general_cfg": {"algo_name": "Sarsa", "model_save_fre": 100, "max_total_step": 500},
        "env_cfg": {"id": "CliffWalking-v1", "n_envs": 2},
    },
    "MonteCarlo, which learns from episodes": {
        "general_cfg": {"algo_name": "MonteCarlo", "model_save_fre": 4, "max_total_step": 500},
        "env_cfg": {"id": "FrozenLake-v1", "n_envs": 2},
    },
    "DynaQ, whose actions are masked": {
        "general_cfg": {"algo_name": "DynaQ", "model_save_fre": 60, "max_total_step": 300},
        "env_cfg": {"id": "Taxi-v4", "n_envs": 2},
    },
}


TINY = {
    "batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2, "learning_starts": 20, "start_steps": 20, "lookup_step": 4,
    "burn_in": 2, "batch_episode": 2, "updates_per_train": 1,
}  # fmt: skip
SEQUENCES = {"lookup_step", "burn_in"}
"""Refused where nothing remembers."""


def _small(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Layers of 8 numbers, also those within blocks."""
    sizes = [{"layer_size": [8]} if "layer_size" in layer else {} for layer in layers]
    within = [{"layers": _small(layer["layers"])} if "layers" in layer else {} for layer in layers]
    return [{**layer, **size, **block} for layer, size, block in zip(layers, sizes, within, strict=True)]


def tiny(algo: str) -> dict[str, Any]:
    """A run of an algorithm that has none above: its defaults with everything made small."""
    default = algos.get(algo).Config()
    unread = set() if getattr(default, "remembers", bool)() else SEQUENCES
    values = {key: value for key, value in TINY.items() if key in type(default).model_fields.keys() - unread}
    for key in ("value_layers", "actor_layers", "critic_layers"):
        if layers := getattr(default, key, []):
            values[key] = _small([layer.model_dump() for layer in layers])
    env: dict[str, Any] = {"id": "CartPole-v1" if "Discrete" in default.ACTION_SPACES else "Pendulum-v1"}
    general = {
        "algo_name": algo, "model_save_fre": 30, "model_save_unit": "step", "max_total_step": 90, "max_step": 25,
        "online_eval_episode": 1,
    }  # fmt: skip
    if "Box" not in default.OBSERVATION_SPACES:
        env = {"id": "FrozenLake-v1"}
    if getattr(default, "her_ratio", 0):
        general["env_name"], env = "toy", {"id": "reach"}
    if default.EXPERT_ACTS:
        general["env_name"], env = "toy", {"id": "walk"}
    return {"general_cfg": general, "algo_cfg": values, "env_cfg": {**env, "n_envs": 2}}


ABOVE = {run.split()[0].rstrip(",") for run in RUNS}
"""Algorithms of the runs above."""
TINY_RUNS = [name for name in of_one_agent() if name not in ABOVE]
RUNS |= {name: tiny(name) for name in TINY_RUNS}
TRIED = one_of_each([*sorted(ABOVE), *TINY_RUNS])
"""Of the algorithms, those whose resume is tried here: test_contract.py loads the state of each."""


def remembering(algo: str, **more: Any) -> dict[str, Any]:
    """The same with a memory in both lists."""
    run = tiny(algo)
    for key in ("actor_layers", "critic_layers"):
        layers = run["algo_cfg"][key]
        run["algo_cfg"][key] = [*layers[:2], {"layer_type": "lstm", "layer_size": [4]}, *layers[2:]]
    fields = algos.get(algo).Config.model_fields
    sequences = {key: TINY[key] for key in SEQUENCES & fields.keys()}
    run["algo_cfg"] |= {"batch_size": 4, **sequences, **more}
    return run


WITH_A_MEMORY = ("SAC", "SAC_D", "CrossQ", "DDPG")
"""One for each kind of state that is carried: of a policy, without and with batch renormalisation, and of noise."""
RUNS |= {f"{name} with a memory": remembering(name, train_fre=8, normalize_obs=True) for name in WITH_A_MEMORY}
RUNS["PPO in dialogues"] = {
    "general_cfg": {"env_name": "dialog", "model_save_fre": 8, "max_total_step": 300},
    "algo_cfg": {"batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2, "actor_layers": SMALL, "critic_layers": SMALL},
    "env_cfg": {"id": "town", "n_envs": 3, "error_value": 0.1},
}
RUNS["TRPO with a memory"] = remembering("TRPO", batch_size=32)
CUT_TWICE = ("DQN with everything", "PPO")
"""One with a replay memory, and one with windows."""
PLANNED = ("DQN with priorities", "PER_DQN", "RainbowDQN", "R2D2", "BTR")
"""With priorities, beta follows the plan of the whole run: another limit is another run."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(name: str, **general: Any) -> dict[str, Any]:
    run = {section: dict(values) for section, values in RUNS[name].items()}
    run["general_cfg"] = {
        "algo_name": name.split()[0],
        "seed": 3,
        "max_episode": -1,
        "max_step": 60,
        "online_eval": True,
        "online_eval_episode": 2,
        "collect_traj": True,
        "save_fig": False,
        "loggers": ["csv"],
        **run["general_cfg"],
        **general,
    }
    return run


def train(run: dict[str, Any], *words: str) -> Path:
    """Run it here; the task directory that was made."""
    Path("run.yaml").write_text(yaml.safe_dump(run))
    before = set(tasks())
    assert main(["--yaml", "run.yaml", *words]) == 0
    (made,) = set(tasks()) - before
    return made


def tasks() -> list[Path]:
    return sorted(Path("tasks").iterdir()) if Path("tasks").exists() else []


def last_model(task: Path) -> Path:
    return max((path for path in (task / "models").iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))


def fingerprint(task: Path) -> dict[str, str]:
    """Digests of the results and of everything in the last checkpoint but its journal's place."""
    files = [*sorted((task / "results").glob("*.csv")), *sorted((task / "results").glob("*.pkl"))]
    files.append(last_model(task) / "state.safetensors")
    return {str(path.relative_to(task)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def manifest(model: Path) -> dict[str, Any]:
    return json.loads((model / "manifest.json").read_text().splitlines()[0])


RESUMED = [name for name in RUNS if name not in {*TINY_RUNS} - {*TRIED} | {*PLANNED}]
AS_OTHERS = {
    "DQN", "A2C", "PPO with a price", "PPO on a continuous action", "TRPO", "TQC", "CrossQ", "CrossQ with a memory",
    "DDPG with a memory", "SAC_D with a memory", "DroQ", "DDPG", "DDPG_HER", "VDN", "ValueIteration", "SAC_D", "MADDPG",
    "DRQN", "PQN", "COMA",
}  # fmt: skip
"""Runs whose memory, collector and environments are those of another one that is resumed here; the agents are not, and
test_contract.py loads the state of each."""


@pytest.mark.parametrize("name", in_the_suite(RESUMED, *(name for name in RESUMED if name not in AS_OTHERS)))
def test_stopped_and_resumed_is_never_stopped(name: str) -> None:
    """RES-1, RES-2, RES-3, RES-4, RES-8: byte for byte, with a cut in mid-episode; two of them are cut twice."""
    whole = settings(name)
    end = whole["general_cfg"]["max_total_step"]
    straight = train(whole)
    cut = train(whole, f"general_cfg.max_total_step={end // 3 + 9}")
    for limit in (end * 2 // 3 + 5, end) if name in CUT_TWICE else (end,):
        assert main(["--resume", str(cut), f"general_cfg.max_total_step={limit}"]) == 0
    assert fingerprint(cut) == fingerprint(straight)


@pytest.mark.parametrize("name", in_the_suite(["DQN with priorities", "PPO", "RainbowDQN"], "PPO", "RainbowDQN"))
def test_killed_at_any_moment_and_resumed_is_never_killed(name: str) -> None:
    """RES-2, CKP-1: kill -9 in the middle of whatever it does."""
    long = {"max_total_step": 300} if name in TINY_RUNS else {}  # time to be killed in
    straight = train(settings(name, **long))
    before = set(tasks())
    process = Forked("--yaml", "run.yaml")
    while not (made := set(tasks()) - before) or len(list((next(iter(made)) / "models").glob("[0-9]*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (cut,) = made
    assert main(["--resume", str(cut)]) == 0
    assert fingerprint(cut) == fingerprint(straight)


def test_two_runs_with_one_seed_are_one_run_whatever_else_is_switched_on() -> None:
    """DET-1, DET-3: evaluation, trajectories, figures and threads of logging change no number."""
    plain = settings("DQN", online_eval=False, collect_traj=False, max_total_step=250)
    a = train(plain)
    more = {"save_fig": True, "loggers": ["csv", "tensorboard"], "model_summary_fre": 1, "interact_summary_fre": 7}
    b = train(settings("DQN", max_total_step=250, **more))
    assert (a / "results/train.csv").read_bytes() == (b / "results/train.csv").read_bytes()
    states = [(last_model(task) / "state.safetensors").read_bytes() for task in (a, b)]
    assert states[0] == states[1]
    other = train({**plain, "general_cfg": {**plain["general_cfg"], "seed": 4}})
    assert (a / "results/train.csv").read_bytes() != (other / "results/train.csv").read_bytes()


def test_seed_0_draws_a_seed_and_records_it() -> None:
    """DET-2: the effective config repeats the run."""
    a = train(settings("QLearning", seed=0, max_total_step=200))
    again = yaml.safe_load((a / "config.yaml").read_text())
    assert again["general_cfg"]["seed"] > 0
    b = train(again)
    assert fingerprint(a) == fingerprint(b)


def test_a_test_scores_what_online_evaluation_scored(capsys: pytest.CaptureFixture[str]) -> None:
    """EVL-1: the same seeds, the same rows, the same bits."""
    task = train(settings("PPO"))
    rows = read_csv(task / "results/eval.csv")
    words = ["general_cfg.mode=test", "general_cfg.load_checkpoint=true", f"general_cfg.load_path={task.name}"]
    for step in ("best", last_model(task).name):
        known = set(tasks())
        assert main([*words, f"general_cfg.load_model_step={step}"]) == 0
        (made,) = set(tasks()) - known
        tested = read_csv(made / "results/test.csv")
        update = manifest(task / "models" / step)["facts"]["update"]
        expected = [row["mean"] for row in rows if row["update"] == update][-1]
        assert np.mean([row["return"] for row in tested]) == expected
        assert ", the same" in capsys.readouterr().out


@pytest.mark.parametrize(("old", "new"), [(",mean,", ",meen,"), (",episodes,", ",count,"), ("update,", "number,")])
def test_a_test_and_a_report_need_no_whole_table_of_evaluations(old: str, new: str) -> None:
    task = train(settings("QLearning", max_total_step=50))
    table = task / "results/eval.csv"
    table.write_text(table.read_text().replace(old, new, 1))
    words = ["general_cfg.mode=test", "general_cfg.load_checkpoint=true", f"general_cfg.load_path={task.name}"]
    assert main([*words, "general_cfg.max_episode=2"]) == 0
    html_report.write(task)


def test_a_test_films_every_episode_and_the_film_is_not_black() -> None:
    """VID-1: without a display, at the environment's own speed."""
    task = train(settings("QLearning", max_total_step=50))
    words = ["general_cfg.mode=test", "general_cfg.load_checkpoint=true", f"general_cfg.load_path={task.name}"]
    short = ["general_cfg.max_episode=2", "general_cfg.max_step=8"]
    assert main([*words, "env_cfg.render_mode=rgb_array", *short]) == 0
    (made,) = (path for path in tasks() if path.name.startswith("Test"))
    frames = [
        np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(Image.open(made / "videos/video.gif"))
    ]
    assert len(frames) > 1
    assert max(frame.std() for frame in frames) > 10


def test_trajectories_hold_every_step_of_every_finished_episode() -> None:
    """TRJ-1: the sum of their lengths is that of the episodes in train.csv."""
    task = train(settings("DQN", max_total_step=250))
    rows, kept = read_csv(task / "results/train.csv"), read(task / "results/trajs.pkl")
    assert [len(reward) for reward in kept["reward"]] == [row["length"] for row in rows]
    assert [float(np.sum(reward)) for reward in kept["reward"]] == [row["return"] for row in rows]
    for state, successor in zip(kept["state"], kept["next_state"], strict=True):
        assert np.array_equal(state[1:], successor[:-1])
    assert len({tuple(state[0]) for state in kept["state"]}) == len(rows), "W1: every episode has its own start"


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize(("number", "status"), in_the_suite(SIGNALS, SIGNALS[0]))
def test_a_signal_saves_and_says_how_to_go_on(number: signal.Signals, status: int) -> None:
    """OSX-1: then the resumed run equals the undisturbed one. test_run_end.py has SIGTERM too. DQN takes long enough
    for a signal to come in time on a busy machine."""
    run = settings("DQN")
    straight = train(run)
    before = set(tasks())
    process = Forked("--yaml", "run.yaml")
    while not (made := set(tasks()) - before) or not list((next(iter(made)) / "models").glob("[0-9]*")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, number)
    assert process.wait() == status
    (cut,) = made
    assert f"python main.py resume {cut}" in process.stdout
    assert main(["--resume", str(cut)]) == 0
    assert fingerprint(cut) == fingerprint(straight)


def test_stopped_while_its_last_models_are_compared_a_run_keeps_them_all_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OSX-1: nothing was evaluated on the way, and the signal comes while an older model plays."""
    run = settings("QLearning", online_eval=False, model_save_fre=50)
    straight = train(run)
    plays, play = [], Evaluator.play

    def interrupted(self: Evaluator, *words: Any, **options: Any) -> Any:
        plays.append(words)
        if len(plays) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return play(self, *words, **options)

    monkeypatch.setattr(Evaluator, "play", interrupted)
    assert main(["--yaml", "run.yaml", "--into", "cut"]) == 130
    models = [sorted((task / "models").glob("[0-9]*/state.safetensors")) for task in (straight, Path("cut"))]
    assert len(models[0]) == len(models[1]) == 5
    assert [path.read_bytes() for path in models[0]] == [path.read_bytes() for path in models[1]]


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (None, 130, ""),
        (JoystickError("no memory"), 2, "no memory"),
        (ValueError("of torch"), 2, "ValueError: of torch"),
    ],
)
def test_a_test_without_an_end_tells_runs_why(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: Exception | None,
    status: int,
    reason: str,
) -> None:
    task = train(settings("QLearning"))

    def play(self: Evaluator, *words: Any, **options: Any) -> Any:
        if fault:
            raise fault
        os.kill(os.getpid(), signal.SIGINT)
        self.check()

    monkeypatch.setattr(Evaluator, "play", play)
    capsys.readouterr()
    assert main(["test", str(task), "--into", "tested"]) == status
    capsys.readouterr()
    [listed] = json.loads(task_list.as_json("tested", Path()))
    assert (listed["state"], listed["reason"]) == ("failed" if fault else "interrupted", reason)


def test_what_may_not_change_is_refused_and_what_may_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """RES-5."""
    task = train(settings("DQN", max_total_step=200))
    assert main(["--resume", str(task), "algo_cfg.gamma=0.5", "algo_cfg.batch_size=8"]) == 2
    said = capsys.readouterr().err
    assert "algo_cfg.gamma: 0.95 -> 0.5" in said
    assert "algo_cfg.batch_size: 16 -> 8" in said
    assert main(["--resume", str(task), "algo_cfg.lr=0.01", "general_cfg.max_total_step=300"]) == 0
    changed = json.loads((task / "run.json").read_text())["changed"]
    assert "algo_cfg.lr: 0.0002 -> 0.01" in changed
    assert "general_cfg.max_total_step: 200 -> 300" in changed


def test_a_finished_run_says_that_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """RES-6."""
    task = train(settings("QLearning", max_total_step=200))
    before = fingerprint(task)
    assert main(["--resume", str(task)]) == 0
    assert "nothing was left to train" in capsys.readouterr().out
    assert fingerprint(task) == before


def test_an_older_checkpoint_begins_a_branch_and_leaves_the_run_alone() -> None:
    """RES-6: load_checkpoint with a step."""
    task = train(settings("QLearning", max_total_step=300, model_save_fre=50))
    before = fingerprint(task)
    words = [
        "general_cfg.load_checkpoint=true",
        f"general_cfg.load_path={task.name}",
        "general_cfg.load_model_step=100",
    ]
    known = set(tasks())
    assert main(["--yaml", "run.yaml", *words]) == 0
    (branch,) = set(tasks()) - known
    assert fingerprint(task) == before
    final = (last_model(branch) / "state.safetensors").read_bytes()
    assert final == (last_model(task) / "state.safetensors").read_bytes()


def test_a_damaged_newest_checkpoint_is_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    """CKP-4, RES-6: from the one before, the run comes out the same."""
    task = train(settings("QLearning"))
    straight = fingerprint(task)
    victim = last_model(task) / "state.safetensors"
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    assert main(["--resume", str(task)]) == 0
    assert "going back to the one before" in capsys.readouterr().err
    assert fingerprint(task) == straight


def test_the_config_is_on_disk_before_the_first_step_and_is_itself_a_valid_yaml(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """CKP-7: an environment that fails at once leaves config.yaml and run.json."""
    failing = ["general_cfg.env_name=toy", "env_cfg.id=crash", "general_cfg.save_fig=false"]
    assert main(failing) == 2
    assert "toy crash failed in step 3" in capsys.readouterr().err
    (task,) = tasks()
    facts = json.loads((task / "run.json").read_text())
    assert facts["command_line"] == failing
    assert facts["versions"]["torch"]
    assert main(["--yaml", str(task / "config.yaml"), "--print-config"]) == 0
    assert "Traceback" in (task / "logs/log.txt").read_text()


def test_an_environment_that_hangs_is_named_and_the_run_is_kept() -> None:
    """ENV-5: a watchdog ends it, after saving."""
    words = ["general_cfg.env_name=toy", "env_cfg.id=hang", "general_cfg.env_timeout=1", "general_cfg.save_fig=false"]
    done = forked(*words)
    assert done.returncode == 2
    assert "hang has not answered for 1 s" in done.stderr
    (task,) = tasks()
    assert last_model(task).is_dir()


@pytest.mark.parametrize(("first", "earlier"), [(4, "the earlier ones are untouched"), (1, "there is no other yet")])
def test_a_full_disk_costs_a_checkpoint_and_not_the_run(
    first: int, earlier: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKP-2."""
    from framework.disk import checkpoints as store

    real, calls = store.write_durably, []

    def full(path: Path, data: bytes) -> None:
        calls.append(path)
        if first <= len(calls) < first + 3:
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(store, "write_durably", full)
    task = train(settings("QLearning", model_save_fre=50))
    assert f"could not be saved (No space left on device); {earlier}" in capsys.readouterr().out
    monkeypatch.undo()
    assert not list((task / "models").glob("*.tmp"))


def test_a_read_only_place_is_refused_at_the_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKP-3."""

    def refuse(self: Path, *args: Any, **kwargs: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["general_cfg.max_episode=1"]) == 2
    assert "cannot make the task directory" in capsys.readouterr().err


def test_a_second_process_is_kept_out(capsys: pytest.CaptureFixture[str]) -> None:
    """RES-6: a directory that a live run writes."""
    from framework.disk.task_dir import TaskDir

    task = train(settings("QLearning", max_total_step=150))
    holder = TaskDir(task)
    holder.open()
    assert main(["--resume", str(task)]) == 2
    assert "is being written by another run" in capsys.readouterr().err
    holder.close()


def test_two_runs_in_one_second_get_two_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """OSX-4."""
    monkeypatch.setattr(time, "strftime", lambda pattern: "20260131-101500")
    from framework.disk.task_dir import TaskDir

    names = [TaskDir.create("train", "ALE/Pong-v5", "DQN").path.name for _ in range(2)]
    assert names == ["Train_ALE-Pong-v5_DQN_20260131-101500", "Train_ALE-Pong-v5_DQN_20260131-101500_2"]


def test_dqn_on_a_continuous_action_space_is_an_explained_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    """CFG-11: before anything is created."""
    assert main(["env_cfg.id=Pendulum-v1"]) == 2
    said = capsys.readouterr().err
    assert "DQN needs actions that are Discrete" in said
    assert re.search("Algorithms that can: .*PPO", said)
    assert tasks() == []


@pytest.mark.parametrize("env_id", ["digits", "bits", "shifted", "parts", "image", "match"])
def test_ppo_with_running_statistics_starts_on_every_kind_of_observation(env_id: str) -> None:
    words = ["general_cfg.max_total_step=64", "algo_cfg.batch_size=32", "algo_cfg.sgd_batch_size=16"]
    words += ["env_cfg.n_envs=8", "algo_cfg.normalize_obs=true", "algo_cfg.lr_schedule=linear"]
    words += ["general_cfg.online_eval_episode=1", "algo_cfg.k_epochs=2"]
    toy = ["general_cfg.env_name=toy", f"env_cfg.id={env_id}", "general_cfg.save_fig=false"]
    assert main(["--algo", "PPO", *toy, *words]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["algo_cfg.value_layers=[{layer_type: conv2d, out_channel: 8}]"],
        ["algo_cfg.value_layers=[{layer_type: embed, embedding_dim: 8}]"],
        ["algo_cfg.branches={camera: [{layer_type: linear, layer_size: 8}]}"],
        [
            "algo_cfg.lr_schedule=linear",
            "general_cfg.preset=null",
            "general_cfg.max_episode=-1",
            "general_cfg.max_time=1",
        ],
    ],
)
def test_settings_that_do_not_fit_are_refused_before_anything_is_made(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert tasks() == []


def test_another_interval_of_saving_takes_effect_when_a_run_goes_on() -> None:
    task = train(settings("QLearning", model_save_fre=10, max_total_step=400, keep_checkpoints=3))
    assert main(["--resume", str(task), "general_cfg.max_total_step=1000", "general_cfg.model_save_fre=100"]) == 0
    assert [row["update"] for row in read_csv(task / "results/eval.csv")][-4:] == [200, 300, 400, 500]


def test_the_config_of_a_resumed_run_still_repeats_it() -> None:
    task = train(settings("QLearning", max_total_step=200))
    assert main(["--resume", str(task), "general_cfg.max_total_step=300"]) == 0
    again = yaml.safe_load((task / "config.yaml").read_text())["general_cfg"]
    assert (again["load_checkpoint"], again["load_path"], again["max_total_step"]) == (False, None, 300)


def test_an_environment_without_an_end_is_cut_off_in_evaluation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("framework.loop.evaluator.LONGEST_EPISODE", 50)
    endless = ["general_cfg.env_name=toy", "env_cfg.id=counter", "env_cfg.end=never", "general_cfg.max_step=-1"]
    assert main([*endless, "general_cfg.max_total_step=80", "general_cfg.save_fig=false"]) == 0
    said = capsys.readouterr().out
    assert said.count("was cut off after 50 steps; set general_cfg.max_step") == 1
    assert "no episode came to an end: 20 episodes, cut off after 50 steps each" in said


@pytest.mark.parametrize(
    ("room", "message"),
    [
        (0, "NO model could be saved, and none is left of this run: make room, and start it again"),
        (1, "the last model could NOT be saved; once there is room: python main.py resume "),
    ],
)
def test_a_last_model_that_could_not_be_saved_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], room: int, message: str
) -> None:
    from framework.disk.checkpoints import CheckpointStore

    save, saved = CheckpointStore.save, []

    def full(*args: Any) -> Path:
        if len(saved) == room:
            raise OSError(28, "No space left on device")
        saved.append(args)
        return save(*args)

    monkeypatch.setattr(CheckpointStore, "save", full)
    small = ["general_cfg.max_total_step=600", "algo_cfg.learning_starts=64", "algo_cfg.batch_size=8"]
    assert main([*small, "general_cfg.model_save_fre=20", "general_cfg.save_fig=false", "--into", "full"]) == 2
    assert message in " ".join(capsys.readouterr().out.split())
    [listed] = json.loads(task_list.as_json("full", Path()))
    assert listed["reason"].startswith("its last model could not be saved")
    assert json.loads(Path("full/run.json").read_text())["finished"] is False, "its group goes on with it"


def test_a_run_whose_best_model_could_not_be_chosen_is_chosen_from_by_its_resume(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from framework.disk.checkpoints import CheckpointStore

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(CheckpointStore, "mark_best", full)
        settings = ("general_cfg.max_total_step=80", "general_cfg.online_eval=false", "general_cfg.save_fig=false")
        assert main([*settings, "--into", "full"]) == 0
    assert "the best model could NOT be chosen; to choose it:" in capsys.readouterr().out
    assert json.loads(Path("full/run.json").read_text())["finished"] is False, "its group goes on with it"
    assert not Path("full/models/best").exists()
    assert main(["--resume", "full"]) == 0
    assert json.loads(Path("full/run.json").read_text())["finished"] is True
    assert Path("full/models/best").is_dir()


def test_a_run_that_is_resumed_to_a_higher_limit_has_not_ended_until_it_ends() -> None:
    """One that is killed then is started again, by --keep-alive and by its group."""
    task = train(settings("QLearning", max_total_step=200))

    def finished() -> bool:
        return bool(json.loads((task / "run.json").read_text())["finished"])

    assert finished()
    with joystick.Run.resume(task, words=["general_cfg.max_total_step=300"]):
        assert not finished()
    assert main(["--resume", str(task), "general_cfg.max_total_step=300"]) == 0
    assert finished()
    assert main(["--resume", str(task)]) == 0  # nothing is left to train
    assert finished()
