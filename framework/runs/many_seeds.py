"""--seeds: one training run per seed, each in its own process and task directory, then one table and figure."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from config import machine
from config.general import GeneralConfig
from config.loader import ConfigError, RunConfig
from config.program import MAIN
from framework import build, compatibility, resources
from framework.checkpoint.atomic import write_whole
from framework.checkpoint.store import CheckpointStore
from framework.output import terminal
from framework.output.csv_log import last_row
from framework.output.formatting import begin_command, clock, counted, resume_command, short, spread
from framework.runs import seeds_table, signals
from framework.runs.signals import StopSignals
from framework.runs.task_dir import TaskDir, circumstances, new_folder

POLL_SECONDS = 0.1
LOOK_SECONDS = 0.5
"""Seconds between two reads of the files of the runs."""
FAILED = 1
"""Exit status if a run failed; 2 means that nothing was started."""


def run(config: RunConfig, command_line: list[str], seeds: Sequence[int], jobs: int | None) -> int:
    """Trains the group. Returns its exit status."""
    _refuse(config)
    env_id, fitting = _checked(config)
    general = config.general
    processes = general.n_workers + general.n_learners if general.mp_backend == "ray" else 1
    at_once = int(min(jobs or max(1, machine.cores() // processes), len(seeds), fitting))
    general = general.model_copy(update={"torch_threads": config.general.torch_threads or 1, "show_fig": False})
    folder = new_folder("seeds", env_id, config.algo_package.NAME, config.into)
    work = _Group(replace(config, general=general), folder, seeds, at_once)
    work.begin(command_line)
    with StopSignals(again=work.end_at_once) as stop:
        try:
            work.train(stop)
        finally:
            work.end_all()
    return work.finish(stop, show=config.general.show_fig)


def _refuse(config: RunConfig) -> None:
    for key, wrong, why in (
        ("mode", "test", "trains; to test one of its runs, omit --seeds"),
        ("load_checkpoint", True, "starts every run from the beginning; omit it, or omit --seeds"),
    ):
        if getattr(config.general, key) == wrong:
            place = config.where.get(f"general_cfg.{key}", "default")
            raise ConfigError([f"{place}: general_cfg.{key}: --seeds {why}"])


def _checked(config: RunConfig) -> tuple[str, float]:
    """Returns the environment's id and the number of runs that fit into memory. Refuses once, before there is a folder,
    what each run would refuse. The agent is built on the CPU, so that this process takes no memory of a GPU."""
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = build.env_spec(config, env)
        build.make_agent(config, spec, config.general.seed, torch.device("cpu"))
        return spec.id, resources.memories_that_fit(config, compatibility.spec_of_all(config, spec))
    finally:
        env.close()


@dataclass
class Run:
    """One seed's run: waiting (no process), running (no status) or ended."""

    seed: int
    task: TaskDir
    errors: Path
    """File with its stderr."""
    process: subprocess.Popen[bytes] | None = None
    status: int | None = None
    began: float = 0.0
    seconds: float = 0.0
    signalled: bool = field(default=False, repr=False)
    """True if the process was asked to stop."""

    @property
    def running(self) -> bool:
        return self.process is not None and self.status is None

    def start(self, command: list[str]) -> None:
        """Starts the process in its own group, so that Ctrl-C reaches it only through this process, and once."""
        self.began = time.monotonic()
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, process_group=0
            )

    def ended(self) -> bool:
        """Returns True once, when the process has ended. After a signal its status is 128 + signal, as in a shell."""
        code = self.process.poll() if self.running and self.process else None
        if code is None:
            return False
        self.status = code if code >= 0 else 128 - code
        self.seconds = time.monotonic() - self.began
        if self.status == 0 or self.stopped:
            self.errors.unlink(missing_ok=True)
        return True

    @property
    def stopped(self) -> bool:
        """True if a signal asked it to stop."""
        return self.status is not None and self.status - 128 in signals.NAMES

    def complaint(self) -> str:
        """Returns the reason why it failed, from its stderr."""
        with contextlib.suppress(OSError):
            lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            begin = next((n for n, line in enumerate(lines) if line.startswith("error: ")), len(lines) - 1)
            if lines:
                return "\n".join(lines[begin:])
        killed = self.status == 128 + signal.SIGKILL
        return "killed, perhaps because memory ran out" if killed else "no message"


class _Group:
    """Starts the runs and shows their progress and results."""

    def __init__(self, config: RunConfig, folder: Path, seeds: Sequence[int], at_once: int) -> None:
        self.config, self.folder, self.at_once = config, folder, at_once
        self.runs = [Run(seed, TaskDir(folder / f"seed_{seed}"), folder / f"seed_{seed}.errors.txt") for seed in seeds]
        self.screen = terminal.choose(sys.stdout)
        self.began = time.monotonic()
        self._next_look = 0.0

    def begin(self, command_line: list[str]) -> None:
        """Settings and circumstances are on disk before the first run starts."""
        write_whole(self.folder / "config.yaml", self.config.to_yaml().encode())
        seeds_table.write_facts(
            self.folder,
            {
                **circumstances(command_line),
                "preset": self.config.preset,
                "allow_import": list(self.config.allow_import),
                "seeds": [run.seed for run in self.runs],
                "at_once": self.at_once,
            },
        )
        seeds_table.write_table(self.folder, self.results())
        for note in self.config.notes:
            self.screen.say(note)
        self.screen.say(f"{counted(len(self.runs), 'run')}, {self.at_once} at once: {self.folder}")
        device = self.config.general.device
        if device != "cpu" and self.at_once > 1 and build.device_of(self.config).type != "cpu":
            self.screen.say(f"they share one GPU ({device}); --jobs 1 runs them one after the other")

    # while they run ---------------------------------------------------------------------------------------

    def train(self, stop: StopSignals) -> None:
        """Runs until all seeds finish. After a signal, starts no more and forwards it to running ones."""
        while True:
            running = [run for run in self.runs if run.running]
            waiting = [run for run in self.runs if run.process is None and stop.received is None]
            if stop.received is not None:
                self._forward(running, stop.received)
            elif waiting and len(running) < self.at_once:
                waiting[0].start(self._command(waiting[0]))
                continue
            if not running and not waiting:
                return
            time.sleep(POLL_SECONDS)
            for run in running:
                if run.ended():
                    self._say_end(run)
            self._look()

    def _command(self, run: Run) -> list[str]:
        words = [sys.executable, str(MAIN), "--yaml", str(self.folder / "config.yaml")]
        for package in self.config.allow_import:
            words += ["--allow-import", package]
        return [*words, "--into", str(run.task.path), f"general_cfg.seed={run.seed}"]

    def _forward(self, running: list[Run], number: int) -> None:
        for run in running:
            if not run.signalled and run.process is not None:
                run.process.send_signal(number)
                run.signalled = True

    def end_at_once(self, number: int) -> None:
        """Forwards the second signal, on which the runs end at once, and ends."""
        for run in self.runs:
            if run.running and run.process is not None:
                run.process.send_signal(number)
        signals.end(number)

    def end_all(self) -> None:
        """Terminates the processes that are left after an error."""
        running = [run.process for run in self.runs if run.running and run.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
        self.screen.close()

    def _say_end(self, run: Run) -> None:
        name = f"seed {run.seed}"
        if run.status == 0:
            result = seeds_table.result(run.task, run.seed, run.status, run.seconds)
            self.screen.say(f"{name}: {seeds_table.sentence(result)}", "green")
        elif run.stopped:
            self.screen.say(f"{name}: stopped")
        else:
            self.screen.say(f"warning: {name} failed with status {run.status}: {run.complaint()}", "red")
        with contextlib.suppress(OSError):  # the next end writes it again; a full disk must not stop the other runs
            seeds_table.write_table(self.folder, self.results())

    def _look(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + max(LOOK_SECONDS, self.screen.interval)
        cfg = self.config.general
        looks = [look(run, cfg) for run in self.runs]
        done = sum(run.status is not None for run in self.runs)
        share = sum(share for share, _ in looks) / len(looks)
        head = f"{done} of {len(looks)} runs ended, {clock(now - self.began)} so far"
        if 0 < share < 1:  # runs wait for a free place, so that the group as a whole moves at an even pace
            head += f", about {clock((now - self.began) * (1 - share) / share)} left"
        rows = [(f"seed {run.seed}", text) for run, (_, text) in zip(self.runs, looks, strict=True)]
        self.screen.draw(share, head, rows)

    # the end ----------------------------------------------------------------------------------------------

    def results(self) -> list[seeds_table.Result]:
        """Returns one result per run, in the order of the seeds."""
        return [seeds_table.result(run.task, run.seed, run.status, run.seconds) for run in self.runs]

    def finish(self, stop: StopSignals, show: bool) -> int:
        """Prints the table, draws the figure and names the files and next commands. Returns the exit status."""
        results = self.results()
        for line in seeds_table.table(results):
            self.screen.say(line)
        facts = {"seconds": round(time.monotonic() - self.began, 3), **seeds_table.summary(results)}
        seeds_table.write_facts(self.folder, facts)
        seeds_table.write_table(self.folder, results)
        figure = seeds_table.draw(self.folder, self.config, results, show, self.screen.say)
        rows = [("curves", str(figure))] if figure else []
        rows.append(("table", str(self.folder / "seeds.csv")))
        for run in self.runs:
            if run.status != 0:
                rows.append(self._next_command(run))
        width = max(len(label) for label, _ in rows)
        for label, text in rows:
            self.screen.say(f"{label:<{width}}  {text}")
        failed = any(run.status and not run.stopped for run in self.runs)
        return stop.exit_status if stop.received is not None else FAILED if failed else 0

    def _next_command(self, run: Run) -> terminal.Row:
        allowed = self.config.allow_import
        if CheckpointStore(run.task.models).numbers():
            return f"resume seed {run.seed}", resume_command(run.task.path, allowed)
        return f"start seed {run.seed}", begin_command(self.folder / "config.yaml", run.seed, run.task.path, allowed)


def look(run: Run, cfg: GeneralConfig) -> tuple[float, str]:
    """Returns the share of a run that is done, from 0 to 1, and its progress in words."""
    if run.status is not None:
        return 1.0, f"ended in {clock(run.seconds)}" if run.status == 0 else f"ended with status {run.status}"
    if run.process is None:
        return 0.0, "waiting"
    episode: Any = last_row(run.task.results / "train.csv")
    if episode is None:
        return 0.0, "starting"
    share = cfg.share(episode["step"], episode["episode"], episode["update"])
    if cfg.max_time > 0:
        share = max(share, min(1.0, (time.monotonic() - run.began) / cfg.max_time))
    parts = [f"{share:4.0%}", f"step {episode['step']:,}", f"return {short(episode['return'])}"]
    evaluation: Any = last_row(run.task.results / "eval.csv")
    if evaluation:
        parts.append(f"evaluation {spread(evaluation)}")
    return share, "   ".join(parts)
