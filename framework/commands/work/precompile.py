"""Compiles the gradient steps of runs ahead (doctor --compile), so that the first of them need not wait."""

import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from algos.common.fast import compiled_steps
from config.read.loader import ConfigError, RunConfig, load
from config.tell.language import tr
from envs.base import EnvError
from framework.assemble import compiling
from framework.catalog import ALGOS, ENVS
from framework.errors import ERROR, MISTAKE, JoystickError
from framework.record.console import Console
from framework.runs.experiment import Experiment
from framework.screen import stages

COMMON = (("DQN", "CartPole-v1"), ("SAC", "Pendulum-v1"), ("PPO", "Pendulum-v1"))
"""Algorithms and environments of the first pages of the documentation: those of their runs that compile."""
LONGEST = 120.0
"""Seconds of training after which a step that has not been made by then is not compiled."""


def run(request: Namespace) -> int:
    """Compiles the steps of the run that a YAML file describes, or of the common ones; prints what was done.
    Returns the exit status."""
    status = 0
    try:
        configs = list(_configs(request))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return MISTAKE
    for title, config in configs:
        try:
            for line in compile_steps(config):
                print(f"{title}: {line}", flush=True)
        except (JoystickError, ConfigError, EnvError) as error:
            print(f"{ERROR}{title}: {error}", file=sys.stderr)
            status = MISTAKE
    return status


def _configs(request: Namespace) -> Iterator[tuple[str, RunConfig]]:
    """Yields the configurations, with what is said before their lines."""
    how = {"find_algo": ALGOS, "find_env": ENVS, "allow_import": request.allow_import}
    if request.yaml:
        yield request.yaml, load(request.yaml, [], **how)
        return
    for algo, env in COMMON:
        yield tr("{algo} on {env}", algo=algo, env=env), load(None, [], algo=algo, env=env, **how)


def compile_steps(config: RunConfig) -> Iterator[str]:
    """Trains until each gradient step is compiled, in a folder that is deleted. Yields what was done."""
    if (why := compiling.reason_not(config)) is not None:
        yield why
        return
    if (why := compiled_steps.folder().refusal) is not None:
        yield tr("nothing would be kept: {reason}", reason=why)
        return
    config = compiling.with_compile(config)
    if config.general.compile == "off":
        yield tr("such a run is not compiled (general_cfg.compile)")
        return
    config = config.with_general(
        seed=config.general.seed or 1, online_eval_episode=1, collect_traj=False, loggers=["csv"]
    )
    with tempfile.TemporaryDirectory(prefix="joystick-steps-") as folder:
        config = replace(config, into=Path(folder) / "run")
        experiment = Experiment(config, make_console=lambda log, cfg: Console(log, cfg, show=False))
        with stages.stage(tr("compiling gradient steps")), experiment:
            yield from _of_run(experiment)


def _of_run(experiment: Experiment) -> Iterator[str]:
    trainer, began = experiment.trainer, time.monotonic()
    steps = trainer.agent.gradient_steps()
    compiled: list[str] = []
    for step in steps:
        step.give_up = compiled.append
    while not compiled and not all(step.package for step in steps) and time.monotonic() - began < LONGEST:
        trainer.round()
    yield from compiled
    for number, step in enumerate(steps, 1):
        if step.package is not None:
            yield tr(
                "step {number} of {count}: {seconds:.1f} s, {name}",
                number=number,
                count=len(steps),
                seconds=step.seconds,
                name=step.package,
            )
        elif not compiled:
            yield tr(
                "step {number} of {count} was not made within {limit:g} s",
                number=number,
                count=len(steps),
                limit=LONGEST,
            )
