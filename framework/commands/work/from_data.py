"""Command evaluate --from-data: the values of saved models by fitted Q evaluation, without a step of an environment."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

import algos
from algos.base import Agent, Array, UnfitError
from config.model.memory_spec import DataSpec
from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tell.language import tr
from framework.collect.fragment import Columns
from framework.commands.work.evaluate import new_file
from framework.disk.atomic import write_whole
from framework.disk.checkpoints import CheckpointStore
from framework.errors import JoystickError
from framework.memory.offline_data import OfflineData, select_data
from framework.runs.model import Model, opened
from framework.runs.signals import StopSignals
from framework.screen.formatting import counted, short
from framework.screen.stages import part, stage
from framework.seeding import number

AT_ONCE = 4096
"""Number of observations that a policy sees at once."""
UPDATES = 5000
"""Number of gradient steps for each model, if none is written and no more are needed."""


class Value(NamedTuple):
    """The value of a model."""

    model: str
    mean: float
    """Discounted return from the first states of the data."""
    spread: float
    """Standard deviation between critics."""


def run(config: RunConfig, request: Namespace, signals: StopSignals) -> int:
    """Prints the value of the model that the settings name, or of all that the run has kept, and names the best one.
    Returns the exit status."""
    out = new_file("--out", request.out, config, of_lines=True)
    with opened(config) as model:
        agent = evaluable(config, model)
        with errors_of_the_flag():
            spec = DataSpec((request.from_data,), start=config.start)
            steps, masks = loaded(select_data(spec, agent.spec, config.general.seed, config.env.action_mask))
        values = []
        for name in names(config, model):
            signals.check()
            if name is not None:
                saved = CheckpointStore(model.saved.path.parent).read(name, with_journal=False)
                agent.load_state(saved.tree["agent"])
            label = str(as_written(model.saved.path)) if name is None else str(name)
            values.append(value_of(label, agent, steps, masks, config, request.updates, signals.check))
    if out is not None:
        write_whole(out, "".join(json.dumps(value._asdict()) + "\n" for value in values).encode())
    if model.note:
        print(model.note)
    print("\n".join(table(values, steps, config.algo.gamma)))
    if len(values) > 1:
        best = max(values, key=lambda value: value.mean).model
        print(tr("best by these data: {model} (--model {model})", model=best))
    return 0


@contextmanager
def errors_of_the_flag() -> Iterator[None]:
    """Context in which errors of the data name the flag instead of the setting of a run that learns from data."""
    try:
        yield
    except JoystickError as error:
        raise JoystickError(str(error).replace("algo_cfg.data:", "--from-data:")) from error


def evaluable(config: RunConfig, model: Model) -> Agent:
    """Returns the agent of a model. Raises JoystickError if its actions depend on more than the observation."""
    agent = model.agent
    if not isinstance(agent, Agent) or agent.spec.joint is not None or agent.spec.agents > 1:
        raise JoystickError("--from-data: is for one policy, and this run has several")
    try:
        remembers, why = agent.as_module().state_size > 0, tr("its network is recurrent")
    except UnfitError as error:  # perhaps a table, or a rule
        remembers, why = agent.initial_state(1) is not None, str(error)
    if remembers:
        raise JoystickError(
            "--from-data: the actions of {algorithm} depend on more than the observation: {reason}",
            algorithm=config.algorithms,
            reason=why,
        )
    return agent


def names(config: RunConfig, model: Model) -> list[int | None]:
    """Returns the numbers of the models to evaluate; None stands for the one that is open."""
    if "general_cfg.load_model_step" in config.explicit:
        return [None]
    return list(CheckpointStore(model.saved.path.parent).numbers()) or [None]


def loaded(data: OfflineData) -> tuple[Columns, Array | None]:
    """Returns the transitions of the data, and masks of legal actions of the next states and of the first ones, or
    None."""
    with stage(tr("reading data"), lambda: ""):
        pieces = list(data.pieces())
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    ended = columns["terminated"] | columns["truncated"]
    start = np.concatenate([[True], ended[:-1]])
    steps = {name: columns[name] for name in ("obs", "action", "reward", "next_obs", "terminated")} | {"start": start}
    if "next_action_mask" not in columns:
        return steps, None
    return steps, np.concatenate([columns["next_action_mask"], columns["action_mask"][start]])


def value_of(
    label: str, agent: Agent, steps: Columns, masks: Array | None, config: RunConfig, updates: int | None,
    check: Callable[[], None],
) -> Value:  # fmt: skip
    """Returns the value of the agent with its present weights. updates: None for as many as are needed."""
    states = np.concatenate([steps["next_obs"], steps["obs"][steps["start"]]])
    actions = np.concatenate(list(chosen(agent, states, masks)))
    count = len(steps["reward"])
    fitted = algos.fitted_q(
        agent.spec, steps, config.algo.gamma, number(config.general.seed or 1, "init"), agent.device
    )
    planned = updates or max(UPDATES, fitted.least_updates())
    with stage(tr("fitting the values of {model}", model=label), lambda: part(fitted.made, planned, tr("updates"))):
        for _ in fitted.fit(actions[:count], planned):
            check()
    return Value(label, *fitted.value(actions[count:]))


def chosen(agent: Agent, states: Array, masks: Array | None) -> Iterator[Array]:
    """Yields the best known actions in states, piece by piece."""
    for at in range(0, len(states), AT_ONCE):
        obs = states[at : at + AT_ONCE]
        mask = None if masks is None else masks[at : at + AT_ONCE]
        yield agent.predict_action(obs, agent.initial_state(len(obs)), mask).action


def table(values: list[Value], steps: Columns, gamma: float) -> Iterator[str]:
    """Yields a line for each model, and one for the data themselves."""
    rows = [(value.model, f"{short(value.mean)} ± {short(value.spread)}") for value in values]
    discounted, plain = returns(steps, gamma)
    episodes = counted(int(steps["start"].sum()), "episode")
    rows.append((tr("the data"), tr("{value}, undiscounted {plain}, {episodes}", value=short(discounted),
                                    plain=short(plain), episodes=episodes)))  # fmt: skip
    width = max(len(name) for name, _ in rows)
    yield tr("discounted return from the first states, by fitted Q evaluation (gamma {gamma:g}):", gamma=gamma)
    yield from (f"{name:<{width}}  {text}" for name, text in rows)


def returns(steps: Columns, gamma: float) -> tuple[float, float]:
    """Returns the mean return of the episodes, discounted and not. What would follow a truncation is missing."""
    begins = np.flatnonzero(steps["start"])
    place = np.arange(len(steps["reward"])) - np.repeat(begins, np.diff([*begins, len(steps["reward"])]))
    reward = steps["reward"].astype(np.float64)
    return float((reward * gamma**place).sum() / len(begins)), float(reward.sum() / len(begins))
