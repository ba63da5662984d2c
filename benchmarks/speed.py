"""Measures the speed of training, as ratios: our command line, a bare loop, other frameworks, the floor.

python benchmarks/speed.py [--peers] [--only dqn,small,ppo,native,sac,td3,images,zoo,solved] [--threads 1,0]
    [--repeats 3] [--device cuda] [--python PATH] [--record [--kind NAME]]
    [--sides ours,sb3]

The sides take turns, one process at a time, and a ratio is the median of the ratios of single turns, so that other load
on the machine affects all sides. Threads 0: each side has the number that it chooses itself. Speeds are without what
comes before steady training: compiling, and with JAX and RLlib a short training, whose seconds have a table of their
own. Prints the tables of docs/speed.md. Exit status 1: a goal was missed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import speed_page  # noqa: E402

PEERS = ROOT / ".venv-peers"
PACKAGES = {
    "sb3": ("stable-baselines3==2.9.2", "gymnasium[classic-control,box2d,mujoco]==1.4.0", "torch==2.13.0"),
    "tianshou": ("tianshou==2.0.1", "torch==2.13.0"),
    "sbx": ("sbx-rl==0.28.0", "torch==2.13.0"),
    "rlox": ("rlox==1.2.0", "gymnasium==1.4.0", "torch==2.13.0"),
    "rllib": ("ray[rllib]==2.60.0", "torch==2.13.0"),
}
"""Other framework -> packages of its virtual environment."""
OTHERS = tuple(PACKAGES)
BLANK = "blank_images:JoystickBlank-v0"


class Speed(float):
    """Steps per second; for a workload until a task is solved, runs per second."""

    first: float | None = None
    """Seconds before steady training, if they are told apart."""


Measure = Callable[[int], float]
"""Number of the turn -> speed."""

own_python: Path | None = None
"""Python with the packages of all others, if --python names one."""


@dataclass(frozen=True)
class Workload:
    """The same work for every side. Of several variants, our slowest and the fastest of another side count."""

    title: str
    goal: float
    """Smallest ratio of our speed to that of stable-baselines3."""
    sides: dict[str, list[Measure]]
    solving: bool = False
    """True if the seconds until the task is solved are measured."""
    share: float | None = None
    """Smallest ratio of our speed to our floor."""
    threads: int = 1
    """Threads of each side; 0: as many as it chooses."""


class BenchmarkError(Exception):
    """Raised if a side fails."""


# the sides ------------------------------------------------------------------------------------------------


def ours(
    *words: str,
    threads: int,
    updates: bool = False,
    compiled: bool = False,
    device: str = "cpu",
    surroundings: Mapping[str, str] = MappingProxyType({}),
) -> Measure:
    """Returns the measurement of a run of main.py, from the steps (or updates) and seconds in its task directory,
    without those of compiling."""
    fixed = (
        "general_cfg.preset=none",
        "general_cfg.max_episode=-1",
        "general_cfg.max_step=-1",
        "general_cfg.model_save_fre=1000000000",
        "general_cfg.save_fig=false",
        f"general_cfg.torch_threads={threads}",
        f"general_cfg.compile={'on' if compiled else 'off'}",
        f"general_cfg.device={device}",
    )

    def measure(turn: int) -> float:
        run = train((*fixed, *words, f"general_cfg.seed={turn}"), surroundings)
        compiling = run.get("compile_seconds", 0.0)
        speed = Speed(run["update" if updates else "step"] / (run["seconds"] - compiling))
        speed.first = compiling
        return speed

    return measure


def ours_solving(preset: str) -> Measure:
    """Returns the measurement of a preset that stops as the others do, from the start of the process to its end."""
    path = ROOT / "presets" / "CartPole-v1" / preset
    solved = "general_cfg.reward_threshold=475", "general_cfg.reward_threshold_limit=1"

    def measure(turn: int) -> float:
        begin = time.perf_counter()
        run = train(("--yaml", str(path), *solved, f"general_cfg.seed={turn}"))
        seconds = time.perf_counter() - begin
        return 1 / seconds if run["outcome"].startswith("reward_threshold") else 0.0

    return measure


def train(words: Iterable[str], surroundings: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Runs main.py in an empty directory; returns the facts in run.json."""
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        output(
            [sys.executable, str(ROOT / "main.py"), *words],
            Path(folder),
            PYTHONPATH=os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]),
            **surroundings,
        )
        [path] = Path(folder).glob("tasks/*/run.json")
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def lean(*words: object, threads: int) -> Measure:
    """Returns the measurement of a loop of benchmarks/lean.py."""
    return lambda turn: script(Path(sys.executable), "lean.py", threads, *words)


def floors(*works: tuple[object, ...], threads: int) -> dict[str, list[Measure]]:
    """Returns the measurements of the kernels alone, by benchmarks/floor.py: torch's, and ours."""

    def floor(products: str, work: tuple[object, ...]) -> Measure:
        return lambda turn: script(Path(sys.executable), "floor.py", products, threads, *work)

    return {side: [floor(side, work) for work in works] for side in ("floor", "fast")}


def python_of(side: str) -> Path:
    """Returns the Python that has a framework."""
    return own_python or PEERS / side / "bin" / "python"


def peer(side: str, *words: object, threads: int) -> Measure:
    """Returns the measurement of another framework, by its script in benchmarks/peers."""
    return lambda turn: script(python_of(side), f"peers/{side}_training.py", threads, *words)


def sb3(*words: object, threads: int, device: str = "cpu") -> Measure:
    """Returns the measurement of stable-baselines3."""
    return lambda turn: script(python_of("sb3"), "peers/sb3_training.py", device, threads, *words)


def everyone(*words: object, threads: int, device: str, but: tuple[str, ...] = ()) -> dict[str, list[Measure]]:
    """Returns the measurements of all frameworks that have this work."""
    sides = {side: [peer(side, *words, threads=threads)] for side in OTHERS if side not in ("sb3", *but)}
    return {"sb3": [sb3(*words, threads=threads, device=device)], **sides}


def sb3_solving(name: str) -> Measure:
    """Returns the measurement of stable-baselines3 with tuned settings, from the start of the process to its end."""

    def measure(turn: int) -> float:
        begin = time.perf_counter()
        facts = last_line(python_of("sb3"), "peers/sb3_training.py", "cpu", 1, name, turn)
        return 1 / (time.perf_counter() - begin) if facts["solved"] else 0.0

    return measure


def script(python: Path, name: str, *words: object) -> float:
    facts = last_line(python, name, *words)
    speed = Speed(facts["steps"] / facts["seconds"])
    speed.first = facts.get("first")
    return speed


def last_line(python: Path, name: str, *words: object) -> dict[str, Any]:
    """Runs a script of this folder; returns the JSON in the last line of its output."""
    command = [str(python), str(ROOT / "benchmarks" / name), *map(str, words)]
    facts: dict[str, Any] = json.loads(output(command, ROOT).splitlines()[-1])
    return facts


def output(command: list[str], folder: Path, **environment: str) -> str:
    """Runs a program; returns its stdout. Raises BenchmarkError with the end of its stderr if it fails."""
    env = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise BenchmarkError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


# the work -------------------------------------------------------------------------------------------------


def rows_of_ppo(rows: int, steps: int) -> tuple[str, ...]:
    """Returns the settings of PPO with windows of 128 steps and four epochs of four minibatches. Observations stay as
    they are, as on all other sides; our default follows their mean and deviation."""
    return (
        "general_cfg.algo_name=PPO",
        f"general_cfg.max_total_step={steps}",
        f"env_cfg.n_envs={rows}",
        f"algo_cfg.batch_size={rows * 128}",
        f"algo_cfg.sgd_batch_size={rows * 32}",
        "algo_cfg.k_epochs=4",
        "algo_cfg.normalize_obs=false",
    )


QUICK_START = (
    "general_cfg.algo_name=DQN", "algo_cfg.lr=0.0001", "algo_cfg.gamma=0.95", "algo_cfg.batch_size=64",
    "algo_cfg.buffer_size=100000", "algo_cfg.train_fre=1", "algo_cfg.updates_per_train=1",
    "algo_cfg.learning_starts=64", "algo_cfg.target_update=4", "algo_cfg.double=false", "algo_cfg.loss=mse",
    "algo_cfg.epsilon_schedule=exponential", "algo_cfg.epsilon_start=0.95", "algo_cfg.epsilon_end=0.01",
    "algo_cfg.epsilon_decay=500",
)  # fmt: skip
"""Settings of DQN in the guide's quick start, with an update in each step. Without double Q-learning, as on all other
sides: it passes each minibatch through the online network once more."""
ZOO = {
    "LunarLander-v3": (
        16, 65_536, "env_cfg.n_envs=16", "algo_cfg.batch_size=16384", "algo_cfg.sgd_batch_size=64",
        "algo_cfg.k_epochs=4", "algo_cfg.normalize_obs=false",
    ),
    "Acrobot-v1": (
        16, 65_536, "env_cfg.n_envs=16", "algo_cfg.batch_size=4096", "algo_cfg.sgd_batch_size=64",
        "algo_cfg.k_epochs=4", "algo_cfg.normalize_obs=true", "algo_cfg.normalize_reward=true",
    ),
    "HalfCheetah-v5": (
        1, 8_192, "env_cfg.n_envs=1", "algo_cfg.batch_size=512", "algo_cfg.sgd_batch_size=64", "algo_cfg.k_epochs=20",
        "algo_cfg.normalize_obs=true", "algo_cfg.normalize_reward=true",
        "algo_cfg.actor_layers=[{layer_type: linear, layer_size: [256, 256], activation: relu}]",
        "algo_cfg.critic_layers=[{layer_type: linear, layer_size: [256, 256], activation: relu}]",
    ),
}  # fmt: skip
"""Environment -> rows, steps, and the settings of PPO in rl-baselines3-zoo that its speed depends on."""
NATURE = (
    "[{layer_type: conv2d, out_channel: 32, kernel_size: 8, stride: 4, shared: first}, "
    "{layer_type: conv2d, out_channel: 64, kernel_size: 4, stride: 2, shared: second}, "
    "{layer_type: conv2d, out_channel: 64, kernel_size: 3, stride: 1, shared: third}, "
    "{layer_type: linear, layer_size: [512], activation: relu, shared: top}]"
)
"""Layers of the Nature network, shared by actor and critic."""


@dataclass(frozen=True)
class Works:
    """Makes the works for a number of threads and a device."""

    threads: int
    device: str

    def work(self, title: str, goal: float, sides: dict[str, list[Measure]], share: float | None = None) -> Workload:
        """Returns a work; on a GPU without the sides that are loops and kernels for a CPU."""
        if self.device == "cpu":
            return Workload(title, goal, sides, share=share, threads=self.threads)
        kept = {side: sides[side] for side in ("ours", "plain", "sb3")}
        return Workload(f"{title}, {self.device}", goal, kept, threads=self.threads)

    def ours(self, *variants: tuple[str, ...], updates: bool = False) -> dict[str, list[Measure]]:
        """Returns our sides: compiled, by autograd, and with torch's public functions alone."""
        measure = partial(ours, threads=self.threads, device=self.device, updates=updates)
        ways: dict[str, Any] = {
            "ours": {"compiled": True}, "plain": {}, "public": {"surroundings": {"JOYSTICK_PLAIN": "1"}}
        }  # fmt: skip
        return {side: [measure(*words, **way) for words in variants] for side, way in ways.items()}

    def sb3(self, *works: tuple[object, ...]) -> dict[str, list[Measure]]:
        """Returns the side of stable-baselines3."""
        return {"sb3": [sb3(*work, threads=self.threads, device=self.device) for work in works]}

    def lean(self, *works: tuple[object, ...]) -> dict[str, list[Measure]]:
        """Returns the side of the bare loops."""
        return {"lean": [lean(*work, threads=self.threads) for work in works]}

    def others(self, *work: object, but: tuple[str, ...] = ()) -> dict[str, list[Measure]]:
        """Returns the sides of all other frameworks but those."""
        return everyone(*work, threads=self.threads, device=self.device, but=but)

    def floors(self, *works: tuple[object, ...]) -> dict[str, list[Measure]]:
        """Returns the two floors."""
        return floors(*works, threads=self.threads)

    def dqn(self, width: int, goal: float, share: float | None) -> Workload:
        """Returns DQN with two layers of this width."""
        layers = f"algo_cfg.value_layers=[{{layer_type: linear, layer_size: [{width}, {width}], activation: relu}}]"
        work = ("dqn", 4000, width)
        words = ("general_cfg.max_total_step=4000", layers, *QUICK_START)
        sides = {**self.ours(words, updates=True), **self.lean(work), **self.others(*work), **self.floors(work)}
        return self.work(f"DQN, {width}x{width}, batch 64, an update each step", goal, sides, share)

    def ppo(self) -> Workload:
        """Returns PPO with few rows."""
        work = ("ppo", 61_440, 8, 256)
        sides = {**self.ours(rows_of_ppo(8, 61_440)), **self.lean(work), **self.others(*work), **self.floors(work)}
        return self.work("PPO, 64x64, 8 rows x 128 steps, minibatch 256, 4 epochs", 5.0, sides)

    def native(self) -> Workload:
        """Returns PPO with many rows."""
        many = tuple(("ppo", 524_288, rows, 32 * rows) for rows in (256, 1024))
        fewer = tuple(("ppo", 65_536, rows, 32 * rows) for rows in (8, 16, 32, 64))
        sides = {
            **self.ours(*(rows_of_ppo(rows, 524_288) for rows in (256, 1024))),
            **self.lean(*many),
            **self.sb3(*fewer),
            "rlox": [peer("rlox", *work, threads=self.threads) for work in many],
            **self.floors(*many),
        }
        title = "PPO, vector CartPole, 256 and 1024 rows (the slower) against 8 to 64 (the fastest)"
        return self.work(title, 4.0, sides)

    def continuous(self, name: str, goal: float) -> Workload:
        """Returns SAC or TD3."""
        wide = "[{layer_type: linear, layer_size: [256, 256], activation: relu}]"
        words = (
            f"general_cfg.algo_name={name}", "env_cfg.id=Pendulum-v1", "general_cfg.max_total_step=1500",
            f"algo_cfg.actor_layers={wide}", f"algo_cfg.critic_layers={wide}", "algo_cfg.batch_size=256",
            "algo_cfg.learning_starts=100", "algo_cfg.train_fre=1", "algo_cfg.updates_per_train=1",
        )  # fmt: skip
        sides = {
            **self.ours(words, updates=True),
            **self.others(name.lower(), 1500, but=("rllib",)),
            **self.floors((name.lower(), 1400)),
        }
        return self.work(f"{name}, Pendulum, 256x256, batch 256, updates", goal, sides, share=0.9)

    def images(self) -> Workload:
        """Returns DQN on images."""
        work = ("images", 1000)
        sides = {**self.ours(nature_dqn(1000)), **self.sb3(work), **self.floors(work)}
        title = "DQN, images of 84x84x4 that cost nothing, Nature network, batch 32, an update per 4 steps"
        return self.work(title, 1.5, sides, share=0.85)

    def ppo_images(self) -> Workload:
        """Returns PPO on images, whose actor and critic share the convolutions, as with stable-baselines3."""
        work = ("ppo_images", 4096)
        layers = f"algo_cfg.actor_layers={NATURE}", f"algo_cfg.critic_layers={NATURE}"
        images = "--allow-import", "blank_images", f"env_cfg.id={BLANK}"
        sides = {**self.ours((*images, *rows_of_ppo(8, 4096), *layers)), **self.sb3(work), **self.floors(work)}
        title = "PPO, images of 84x84x4 that cost nothing, Nature network, 8 rows x 128 steps, minibatch 256, 4 epochs"
        return self.work(title, 1.3, sides)

    def zoo(self, name: str) -> Workload:
        """Returns PPO on an environment with the settings of rl-baselines3-zoo."""
        rows, steps, *words = ZOO[name]
        mine = (f"env_cfg.id={name}", "general_cfg.algo_name=PPO", f"general_cfg.max_total_step={steps}", *words)
        alone = [lean("env", steps, rows, name, threads=self.threads)]
        sides = {**self.ours(mine), **self.sb3(("zoo", steps, name)), "env": alone}
        return self.work(f"PPO, {name}, settings of rl-baselines3-zoo, environment included", 2.0, sides)


def solved(name: str, goal: float) -> Workload:
    """Returns an algorithm until CartPole-v1 is solved."""
    sides = {"ours": [ours_solving(f"{name}.yaml")], "sb3": [sb3_solving(f"solved_{name.lower()}")]}
    return Workload(f"{name} until CartPole-v1 is solved, whole process", goal, sides, solving=True)


def workloads(threads: int = 1, device: str = "cpu") -> dict[str, list[Workload]]:
    """Returns the workloads by their name for --only."""
    works = Works(threads, device)
    by_name = {
        "dqn": [works.dqn(256, 2.2, 0.75)],
        "small": [works.dqn(64, 3.0, None)],
        "ppo": [works.ppo()],
        "native": [works.native()],
        "sac": [works.continuous("SAC", 1.6)],
        "td3": [works.continuous("TD3", 1.5)],
        "images": [works.images(), works.ppo_images()],
        "zoo": [works.zoo(name) for name in ZOO],
    }
    if threads == 1 and device == "cpu":
        by_name["solved"] = [solved("PPO", 2.5), solved("DQN", 4.0)]
    return by_name


def nature_dqn(steps: int) -> tuple[str, ...]:
    """Returns the settings of DQN on images, with an update in each fourth step from step 100 on. Double Q-learning is
    off and epsilon falls to 0.05 within a tenth of the steps, as with stable-baselines3."""
    return (
        "--allow-import", "blank_images", f"env_cfg.id={BLANK}", "general_cfg.algo_name=DQN",
        f"general_cfg.max_total_step={steps}", "algo_cfg.batch_size=32", "algo_cfg.learning_starts=100",
        "algo_cfg.train_fre=4", "algo_cfg.updates_per_train=1", "algo_cfg.buffer_size=10000",
        "algo_cfg.target_update=1000", "algo_cfg.double=false", f"algo_cfg.epsilon_decay={steps // 10}",
        "algo_cfg.value_layers=[{layer_type: linear, layer_size: [512], activation: relu}]",
    )  # fmt: skip


# measuring and showing ------------------------------------------------------------------------------------


def measured(workload: Workload, sides: Iterable[str], repeats: int) -> dict[str, list[float]]:
    """Returns the speeds of each side, one for each turn."""
    speeds: dict[str, list[float]] = {side: [] for side in sides if side in workload.sides}
    for turn in range(1, repeats + 1):
        for side, found in speeds.items():
            choose = min if side in ("ours", "plain", "public", "floor", "fast") else max
            found.append(choose(measure(turn) for measure in workload.sides[side]))
            text = f"{found[-1]:.3g} runs/s" if workload.solving else f"{found[-1]:,.0f} /s"
            print(f"{workload.title}: turn {turn}, {side} {text}", file=sys.stderr, flush=True)
    return speeds


def measurement(workload: Workload, speeds: dict[str, list[float]], place: str, kind: str) -> dict[str, Any]:
    """Returns a measurement as benchmarks/speed_page.py reads it."""
    firsts = {
        side: [round(speed.first, 1) for speed in found if isinstance(speed, Speed) and speed.first is not None]
        for side, found in speeds.items()
    }
    return {
        "work": workload.title, "threads": workload.threads, "kind": kind, "place": place,
        "solving": workload.solving, "goal": workload.goal, "share": workload.share, "speeds": speeds,
        "firsts": {side: found for side, found in firsts.items() if found},
    }  # fmt: skip


def is_missed(one: speed_page.Measured) -> bool:
    """Returns True if a goal that was measured is not reached."""
    return any(value < goal for value, goal in speed_page.judged(one))


def circumstances(repeats: int) -> str:
    """Returns the conditions of the measurement. A load well above 0 means that the numbers are noisy."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = f"; load of other programs before: {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}; medians of {repeats} turns{load}."


def make_peers(sides: Iterable[str]) -> None:
    """Creates a virtual environment for each other framework among these sides, once."""
    for side, packages in PACKAGES.items():
        if side not in sides:
            continue
        ready = PEERS / side / ".ready"
        if ready.exists() and ready.read_text(encoding="utf-8").split() == list(packages):
            continue
        print(f"creating {PEERS / side} with {' and '.join(packages)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(PEERS / side)], check=True)
        subprocess.run([str(python_of(side)), "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.write_text("\n".join(packages), encoding="utf-8")


def parse(argv: list[str] | None) -> argparse.Namespace:
    names = list(workloads())
    parser = argparse.ArgumentParser(description="Measures the speed of training. Run nothing else at the same time.")
    parser.add_argument(
        "--peers", action="store_true", help=f"measure other frameworks too, each in its environment in {PEERS.name}"
    )
    parser.add_argument("--only", default=",".join(names), help=f"some of {', '.join(names)}, separated by commas")
    parser.add_argument("--sides", help=f"some of {', '.join(speed_page.SIDES)}, separated by commas")
    parser.add_argument("--threads", default="1", help="1, 0 (each side chooses), or both, separated by commas")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of ours and stable-baselines3")
    parser.add_argument("--python", help=f"Python with the packages of the others, instead of {PEERS.name}")
    parser.add_argument("--record", action="store_true", help="store the measurements in benchmarks/results/speed.json")
    parser.add_argument("--kind", help="kind of machine under which they are stored; its device, if left out")
    parser.add_argument("--repeats", type=int, default=3, help="number of turns; the table shows medians")
    request = parser.parse_args(argv)
    request.only = request.only.split(",")
    if unknown := set(request.only) - set(names):
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(names)}")
    if request.sides and not {"ours"} <= set(request.sides.split(",")) <= set(speed_page.SIDES):
        parser.error(f"--sides: ours, and others of {', '.join(speed_page.SIDES)}")
    if not set(request.threads.split(",")) <= {"0", "1"}:
        parser.error("--threads: 1, 0, or 1,0")
    request.threads = [int(word) for word in request.threads.split(",")]
    if request.repeats < 1:
        parser.error("--repeats: at least 1")
    return request


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, 1 if a goal was missed, or 2 if a side failed."""
    global own_python
    request = parse(argv)
    own_python = Path(request.python) if request.python else None
    asked = request.sides.split(",") if request.sides else list(speed_page.SIDES)
    sides = [side for side in speed_page.SIDES if side in asked and (request.peers or side not in OTHERS)]
    place, results = circumstances(request.repeats), []
    try:
        if request.peers and not request.python:
            make_peers(sides)
        found = [workloads(threads, request.device) for threads in request.threads]
        for workload in [work for works in found for name in request.only for work in works.get(name, ())]:
            speeds = measured(workload, sides, request.repeats)
            results.append(measurement(workload, speeds, place, request.kind or request.device))
            if request.record:
                speed_page.record(results[-1:])
    except (BenchmarkError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(speed_page.tables(results) if results else "nothing was measured: no work of --only has these threads")
    return int(any(map(is_missed, results)))


if __name__ == "__main__":
    sys.exit(main())
