"""Cost of multi-agent environments: time per agent step, against as many rows of a single agent.

python benchmarks/several_policies.py [ALGO ...] [--steps N] [--profile]
Both sides alternate in one process, so that a busy machine slows down both; the ratio is that of their medians. An
agent step is one that its agent learns from: a pole that has fallen makes none.
"""

import argparse
import cProfile
import pstats
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from algos.base import Progress
from config.read.loader import load
from framework.assemble import build
from framework.catalog import ALGOS, ENVS
from framework.loop.single_process import SingleProcess
from framework.policies.policy_plan import plan

SIZES = ((8, 1), (4, 2), (4, 25))
"""Environments and agents of each."""
SETTINGS = {
    "PPO": ("batch_size=1024", "sgd_batch_size=256", "k_epochs=4"),
    "DQN": ("batch_size=64", "learning_starts=200"),
}
REPEATS = 5


class Side:
    """A training without evaluations and files."""

    def __init__(self, algo: str, rows: int, agents: int) -> None:
        """agents: 0 for CartPole-v1 with a single agent."""
        words = ["general_cfg.seed=1", f"env_cfg.n_envs={rows}", "general_cfg.max_total_step=1000000"]
        env = ["general_cfg.env_name=toy", "env_cfg.id=poles", f"env_cfg.poles={agents}"]
        single = ["env_cfg.id=CartPole-v1", "env_cfg.vectorization=sync"]
        words += [*(env if agents else single), *(f"algo_cfg.{word}" for word in SETTINGS.get(algo, ()))]
        words.append(f"general_cfg.algo_name={algo}")  # no preset: both sides have the defaults
        config = load(None, words, find_algo=ALGOS, find_env=ENVS)
        made = build.make_env(config, rows)
        spec = build.env_spec(config, made)
        agent = build.make_agent(config, spec, 1, build.CPU)
        recorders = build.make_recorders(config, made, None)
        memory = build.make_memory(config, spec, 1)
        collector = build.make_collector(config, made, agent, 1, recorders=recorders)
        learner, self.plan = build.make_learner(config, spec, agent), plan(config, spec)
        self.backend = SingleProcess(collector, memory, learner, self.plan.fragment)
        self.collect_seconds = self.seconds = 0.0
        self.agent_steps = 0
        self._watch_collection()

    def _watch_collection(self) -> None:
        """Counts agent steps and the seconds of collection."""
        collect = self.backend.collector.collect

        def counted(steps: int, progress: Progress):  # type: ignore[no-untyped-def]
            began = time.perf_counter()
            fragment, episodes = collect(steps, progress)
            self.collect_seconds += time.perf_counter() - began
            if self.plan.layout is None:
                self.agent_steps += fragment.steps * fragment.rows
            else:
                self.agent_steps += int(self.plan.layout.decode(fragment.columns["obs"])["t0"]["acts"].sum())
            return fragment, episodes

        self.backend.collector.collect = counted  # type: ignore[method-assign]

    def train(self, steps: int) -> tuple[float, float]:
        """Trains for so many agent steps. Returns microseconds per agent step: in all, and of the collection."""
        before, collecting, began = self.agent_steps, self.collect_seconds, time.perf_counter()
        while self.agent_steps < before + steps:
            for _ in self.backend.round(Progress):
                pass
        made = self.agent_steps - before
        return 1e6 * (time.perf_counter() - began) / made, 1e6 * (self.collect_seconds - collecting) / made


def compare(algo: str, envs: int, agents: int, steps: int) -> None:
    """Prints the line of one comparison."""
    several, single = Side(algo, envs, agents), Side(algo, envs * agents, 0)
    for side in (several, single):
        side.train(steps // 4)
    pairs = [(several.train(steps), single.train(steps)) for _ in range(REPEATS)]
    ours, theirs = ([statistics.median(pair[side][part] for pair in pairs) for part in (0, 1)] for side in (0, 1))
    parts = [
        f"{name} {mine:6.1f} us, single {other:6.1f} us, ratio {mine / other:.2f}"
        for name, mine, other in zip(("all", "collection"), ours, theirs, strict=True)
    ]
    print(f"{algo:<5} {envs} x {agents:<3} {'   '.join(parts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algos", nargs="*", default=list(SETTINGS))
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--profile", action="store_true", help="profile the last size instead")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.profile:
        side = Side(given.algos[0], *SIZES[-1])
        profile = cProfile.Profile()
        profile.runcall(side.train, given.steps)
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return
    for algo in given.algos:
        for envs, agents in SIZES:
            compare(algo, envs, agents, given.steps)


if __name__ == "__main__":
    main()
