"""Time of an update by autograd and compiled (general_cfg.compile), and what compiling costs.

python benchmarks/compiled.py [ALGO ENVIRONMENT ...]
Each pair is measured in a process of its own with an empty cache, and in a second one with the packages that the first
one has left; with one torch thread. Both sides take turns. All times but that of loading are seconds of a processor, so
that other programs on this machine count as little as they can.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from algos.base import Batch, Progress
from config.read.loader import load
from framework.assemble import build
from framework.catalog import ALGOS, ENVS
from framework.loop.single_process import SingleProcess
from framework.policies.policy_plan import plan

PAIRS = (
    ("DQN", "CartPole-v1"), ("RainbowDQN", "CartPole-v1"), ("SAC", "Pendulum-v1"), ("TD3", "Pendulum-v1"),
    ("PPO", "CartPole-v1"), ("PPO", "Pendulum-v1"), ("PQN", "CartPole-v1"),
)  # fmt: skip
TURNS, UPDATES = 7, 60


def made(algo: str, env_id: str) -> tuple[Any, Batch]:
    """Returns an agent with its preset's settings, and the first batch that it would learn from."""
    config = load(None, overrides=["general_cfg.seed=1"], algo=algo, env=env_id, find_algo=ALGOS, find_env=ENVS)
    env = build.make_env(config, config.env.n_envs)
    spec = build.env_spec(config, env)
    agent = build.make_agent(config, spec, 1, torch.device("cpu"))
    learner, batches = build.make_learner(config, spec, agent), []
    update: Callable[[Batch], Any] = agent.update
    agent.update = lambda batch: (batches.append(batch), update(batch))[1]
    collector, memory = build.make_collector(config, env, agent, 1), build.make_memory(config, spec, 1)
    backend = SingleProcess(collector, memory, learner, plan(config, spec).fragment)
    while not batches:
        list(backend.round(Progress))
    agent.update = update
    env.close()
    return agent, batches[0]


def seconds(agent: Any, batch: Batch, updates: int = UPDATES) -> float:
    """Returns the processor seconds of an update."""
    start = time.process_time()
    for _ in range(updates):
        agent.update(batch)
    return (time.process_time() - start) / updates


def measure(algo: str, env_id: str) -> dict[str, Any]:
    """Returns the seconds of an update on both sides; those of the processes that have compiled; and those of recording
    and loading, by the clock, if nothing had to be compiled."""
    torch.set_num_threads(1)
    (eager, batch), (compiled, _) = made(algo, env_id), made(algo, env_id)
    torch.set_flush_denormal(True)  # as a learner does for its updates alone
    for step in compiled.gradient_steps():
        step.compile(len(batch["obs"]))
    seconds(compiled, batch, 2)  # an actor may learn with each second update
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = [(seconds(eager, batch), seconds(compiled, batch)) for _ in range(TURNS)]
    return {
        "samples": len(batch["obs"]),
        "eager": statistics.median(a for a, _ in found),
        "compiled": statistics.median(b for _, b in found),
        "compiling": children.ru_utime + children.ru_stime,
        "loading": sum(step.seconds for step in compiled.gradient_steps()),
    }


def in_process(algo: str, env_id: str, cache: str) -> dict[str, Any]:
    """Returns what `measure` returns in a new process."""
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one", algo, env_id]
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="ALGO ENVIRONMENT")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = list(zip(options.pairs[::2], options.pairs[1::2], strict=True)) or list(PAIRS)
    if options.one:
        print(json.dumps(measure(*chosen[0])))
        return
    print("| update of | samples | autograd | compiled | ratio | compiling, once | loading | compiling pays after |")
    print("|---|---|---|---|---|---|---|---|")
    for algo, env_id in chosen:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = in_process(algo, env_id, cache), in_process(algo, env_id, cache)
        saved = warm["eager"] - warm["compiled"]
        after = f"{cold['compiling'] / saved:,.0f} updates" if saved > 0 else "never"
        print(
            f"| {algo} on {env_id} | {warm['samples']:,} | {1000 * warm['eager']:.2f} ms | "
            f"{1000 * warm['compiled']:.2f} ms | {warm['eager'] / warm['compiled']:.2f} | {cold['compiling']:.1f} s | "
            f"{warm['loading']:.2f} s | {after} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
