"""--seeds: one training run per seed, each in a process and a task directory of its own, then one table and figure."""

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
from framework import build, compatibility, resources
from framework.output import terminal
from framework.output.csv_log import last_row
from framework.output.formatting import begin_command, clock, resume_command, short
from framework.runs import seeds_table, signals
from framework.runs.signals import StopSignals
from framework.runs.task_dir import TaskDir, circumstances, new_folder

MAIN = Path(__file__).resolve().parents[2] / "main.py"
POLL_SECONDS = 0.1
LOOK_SECONDS = 0.5
"""Between two looks at what the runs have written."""
FAILED = 1
"""Exit status where a run failed; 2 says that nothing was started."""


def run(config: RunConfig, command_line: list[str], seeds: Sequence[int], jobs: int | None) -> int:
    """Exit status of the group."""
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
        ("mode", "test", "trains; to test one of its runs, leave --seeds out"),
        ("load_checkpoint", True, "begins every run anew; leave it out, or leave --seeds out"),
    ):
        if getattr(config.general, key) == wrong:
            place = config.where.get(f"general_cfg.{key}", "default")
            raise ConfigError([f"{place}: general_cfg.{key}: --seeds {why}"])


def _checked(config: RunConfig) -> tuple[str, float]:
    """The environment's id, and how many of the runs fit into memory. What a run would refuse is refused here, once,
    before there is a folder. The agent is built on the CPU: this process is to take nothing of a GPU."""
    env = build.make_env(config, config.env.n_envs)
    try:
        spec = build.env_spec(config, env)
        build.device_of(config)
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
    """What it says on stderr."""
    process: subprocess.Popen[bytes] | None = None
    status: int | None = None
    began: float = 0.0
    seconds: float = 0.0
    told: bool = field(default=False, repr=False)
    """It was asked to stop."""

    @property
    def running(self) -> bool:
        return self.process is not None and self.status is None

    def start(self, command: list[str]) -> None:
        """In a process group of its own, so that the Ctrl-C of a terminal reaches it through us alone, and once."""
        self.began = time.monotonic()
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, process_group=0
            )

    def ended(self) -> bool:
        """Whether it has ended just now. The status of a process that a signal ended is that of a shell."""
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
        """Whether it ended because we, or somebody, asked it to."""
        return self.status is not None and self.status - 128 in signals.NAMES

    def complaint(self) -> str:
        """Why it failed, as far as it said so."""
        with contextlib.suppress(OSError):
            lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            begin = next((n for n, line in enumerate(lines) if line.startswith("error: ")), len(lines) - 1)
            if lines:
                return "\n".join(lines[begin:])
        killed = self.status == 128 + signal.SIGKILL
        return "it was killed; perhaps memory ran out" if killed else "it said nothing"


class _Group:
    """The runs, and what a person sees of them."""

    def __init__(self, config: RunConfig, folder: Path, seeds: Sequence[int], at_once: int) -> None:
        self.config, self.folder, self.at_once = config, folder, at_once
        self.runs = [Run(seed, TaskDir(folder / f"seed_{seed}"), folder / f"seed_{seed}.errors.txt") for seed in seeds]
        self.screen = terminal.choose(sys.stdout)
        self.began = time.monotonic()
        self._next_look = 0.0

    def begin(self, command_line: list[str]) -> None:
        """Settings and circumstances are on disk before the first run starts."""
        (self.folder / "config.yaml").write_text(self.config.to_yaml(), encoding="utf-8")
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
        self.screen.say(f"{len(self.runs)} runs, {self.at_once} at once: {self.folder}")
        device = self.config.general.device
        if device != "cpu" and self.at_once > 1 and build.device_of(self.config).type != "cpu":
            self.screen.say(f"they share one GPU ({device}); --jobs 1 runs them one after the other")

    # while they run ---------------------------------------------------------------------------------------

    def train(self, stop: StopSignals) -> None:
        """Until all have ended. After a signal no other is started, and those that run are told."""
        while True:
            running = [run for run in self.runs if run.running]
            waiting = [run for run in self.runs if run.process is None and stop.received is None]
            if stop.received is not None:
                self._tell(running, stop.received)
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

    def _tell(self, running: list[Run], number: int) -> None:
        for run in running:
            if not run.told and run.process is not None:
                run.process.send_signal(number)
                run.told = True

    def end_at_once(self, number: int) -> None:
        """The second signal, which the runs too understand as: end now."""
        for run in self.runs:
            if run.running and run.process is not None:
                run.process.send_signal(number)
        signals.end(number)

    def end_all(self) -> None:
        """Leave no process behind, whatever went wrong here."""
        running = [run.process for run in self.runs if run.running and run.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
        self.screen.close()

    def _say_end(self, run: Run) -> None:
        name = f"seed {run.seed}"
        if run.status == 0:
            self.screen.say(
                f"{name}: {seeds_table.told(seeds_table.result(run.task, run.seed, run.status, run.seconds))}"
            )
        elif run.stopped:
            self.screen.say(f"{name}: stopped")
        else:
            self.screen.say(f"warning: {name} failed with status {run.status}: {run.complaint()}")
        with contextlib.suppress(OSError):  # it is written again; a full disk must not stop the other runs
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
        rows = [(f"seed {run.seed}", text) for run, (_, text) in zip(self.runs, looks, strict=True)]
        self.screen.draw(share, head, rows)

    # the end ----------------------------------------------------------------------------------------------

    def results(self) -> list[seeds_table.Result]:
        """One per run, in the order of the seeds."""
        return [seeds_table.result(run.task, run.seed, run.status, run.seconds) for run in self.runs]

    def finish(self, stop: StopSignals, show: bool) -> int:
        """Table, figure, and how to go on. Returns the exit status."""
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
                rows.append(self._way_on(run))
        width = max(len(label) for label, _ in rows)
        for label, text in rows:
            self.screen.say(f"{label:<{width}}  {text}")
        failed = any(run.status and not run.stopped for run in self.runs)
        return stop.exit_status if stop.received is not None else FAILED if failed else 0

    def _way_on(self, run: Run) -> terminal.Row:
        allowed = self.config.allow_import
        if any(run.task.models.glob("[0-9]*")):
            return f"seed {run.seed}, to go on", resume_command(run.task.path, allowed)
        return f"seed {run.seed}, to begin", begin_command(
            self.folder / "config.yaml", run.seed, run.task.path, allowed
        )


def look(run: Run, cfg: GeneralConfig) -> tuple[float, str]:
    """How far a run is, from 0 to 1, and what to show of it."""
    if run.status is not None:
        return 1.0, f"ended in {clock(run.seconds)}" if run.status == 0 else f"ended with status {run.status}"
    if run.process is None:
        return 0.0, "waits"
    episode: Any = last_row(run.task.results / "train.csv")
    if episode is None:
        return 0.0, "starts"
    share = cfg.share(episode["step"], episode["episode"], episode["update"])
    if cfg.max_time > 0:
        share = max(share, min(1.0, (time.monotonic() - run.began) / cfg.max_time))
    parts = [f"{share:4.0%}", f"step {episode['step']:,}", f"return {short(episode['return'])}"]
    evaluation: Any = last_row(run.task.results / "eval.csv")
    if evaluation:
        parts.append(f"evaluation {short(evaluation['mean'])} ± {short(evaluation['std'])}")
    return share, "   ".join(parts)
