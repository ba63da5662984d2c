"""Remarks on a run, on what a newcomer would wonder about: before its first step, and at its end."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete, Space

from algos.base import EnvSpec
from config.config import RUN_LIMITS
from config.model.arrays import Array
from config.model.layers import Parts
from config.model.memory_spec import ReplaySpec
from config.read.loader import RunConfig
from config.tell.language import tr
from framework.archive.run import RecordedRun
from framework.disk.csv_table import Table
from framework.loop.iteration import Count
from framework.policies.policy_plan import Plan, PolicyPlan, plan
from framework.screen.formatting import counted, short

OVERSHOOT = 1.05
"""Share of a limit above which a warning says why training went beyond it."""
LONG = 2.0
"""Number of times its limit of steps that a run takes before it is said beforehand."""
LEAST_STEPS = 1000
"""Number of steps below which a run tries its settings out, and cannot have learned much."""
LEAST_SIDE = 16
"""Pixels of the side of an image from which on convolutions serve it better than linear layers."""
NETWORKS = ("value_layers", "actor_layers", "critic_layers")
"""Settings with the layers of the networks that see the observation."""
MOST_RANDOM = 0.5
"""Share of random actions at the end of a training above which its exploration has not come down."""
LEAST_ENTROPY = 1e-3
"""Entropy below which a policy does not try other actions any more."""
MOST_TIMES = 20
"""Factor by which estimates exceed the largest possible value before they are said to: a few times are usual."""


def beforehand(config: RunConfig, planned: Plan, rows: int) -> Iterator[str]:
    """Yields which images no convolutions get, and what the limit of steps leaves no room for: learning, actions of the
    policy, or the limit itself, since a round is played to its end. rows: of the environment."""
    for policy in planned.learning:
        yield from _flat_images(policy)
    limit, every = config.general.max_total_step, planned.fragment * rows
    if limit <= 0 or not planned.learning:
        return
    end = math.ceil(limit / every) * every
    for policy in planned.learning:
        spec, section = policy.memory, policy.section
        if spec.data is not None and (spec.data.share == 1 or spec.data.updates):
            continue  # it learns from data alone, or first
        if isinstance(spec, ReplaySpec) and spec.warmup > end * policy.per_row:
            yield tr(
                "the run ends at step {end:,}, before its first update: {section}.learning_starts or batch_size is "
                "{warmup:,}",
                end=end,
                section=section,
                warmup=spec.warmup,
            )
        elif (steps := getattr(policy.algo, "start_steps", 0)) >= end:
            yield tr(
                "the run ends at step {end:,}, and all of its actions are random: {section}.start_steps is {steps:,}",
                end=end,
                section=section,
                steps=steps,
            )
    if end > LONG * limit:
        shortest = min(planned.learning, key=lambda policy: policy.memory.fragment)
        section, key = shortest.section, "train_fre" if isinstance(shortest.memory, ReplaySpec) else "batch_size"
        if planned.fragment == 1:  # a round is a step of each row, and a table has no batch_size
            section, key = "env_cfg", "n_envs"
        yield tr(
            "the run takes {end:,} steps: the limit of {limit:,} is checked every {every:,} steps; a smaller "
            "{section}.{key} does so earlier",
            end=end,
            limit=limit,
            every=every,
            section=section,
            key=key,
        )


def _flat_images(policy: PolicyPlan) -> Iterator[str]:
    """Yields which images among the parts of the observations linear layers get as single numbers."""
    if not hasattr(policy.algo, "branches"):
        return
    lists = [layers for name in NETWORKS if (layers := getattr(policy.algo, name, None)) is not None]
    first = [layers[0] if layers else None for layers in lists]
    for part in policy.spec.parts:
        if first and all(isinstance(layer, Parts) and part.name not in layer.names for layer in first):
            continue  # no network sees it
        sides = sorted(part.shape)[-2:]
        if len(part.shape) == 3 and min(sides) >= LEAST_SIDE and part.name not in (policy.algo.branches or {}):
            yield tr(
                "linear layers get the image {name} of the observation as {count:,} numbers; {section}.branches="
                "{{{name}: []}} gives it convolutions",
                name=part.name,
                count=part.stop - part.start,
                section=policy.section,
            )


def remarks(
    config: RunConfig, count: Count, spec: EnvSpec, reason: str, run: RecordedRun, is_poor: bool
) -> Iterator[str]:
    """Yields what a newcomer would wonder about: a run without updates, numbers that say why it learns badly, a limit
    that was overshot, and a score that is 0 whatever the policies do. is_poor: the score is not above the random
    policy's."""
    if not count.update:
        starts = getattr(config.algo, "learning_starts", None)
        if starts:
            yield tr("nothing was learned: 0 updates; learning_starts is {starts} steps", starts=starts)
        elif episodes := getattr(config.algo, "batch_episode", None):
            yield tr(
                "nothing was learned: 0 updates; the first one needs {episodes} (algo_cfg.batch_episode), "
                "and {ended} came to an end",
                episodes=counted(episodes, "episode"),
                ended=f"{count.episode:,}",
            )
        else:
            yield tr("nothing was learned: 0 updates")
    policies = [policy for policy in plan(config, spec).policies if policy.slots]
    is_trained = count.update and count.step >= LEAST_STEPS and reason.partition(" ")[0] in RUN_LIMITS
    if is_trained and not policies:
        yield from faults(config, spec.action_space, run.episodes, is_poor)
    cfg = config.general
    limits = {
        "max_total_step": (cfg.max_total_step, count.step, "step"),
        "max_update": (cfg.max_update, count.update, "update"),
    }
    limit, done, unit = limits.get(reason.partition(" ")[0], (0, 0, ""))
    if limit > 0 and done > OVERSHOOT * limit:
        every = plan(config, spec).fragment * spec.rows
        yield tr(
            "stopped at {amount}: the limit of {limit:,} is checked every {every:,} steps",
            amount=counted(done, unit),
            limit=limit,
            every=every,
        )
    zero_sum = run.evaluations and not any(row["min"] or row["max"] for row in run.evaluations)
    if zero_sum and policies:
        yield from _of_zero_sums(config, policies)


def faults(config: RunConfig, space: Space, episodes: Table, is_poor: bool) -> Iterator[str]:
    """Yields what the numbers of a run say about why it learns badly."""
    cfg = config.algo
    last = {name: _last(episodes.numbers(name)) for name in ("epsilon", "entropy", "q_mean")}
    if last["epsilon"] > MOST_RANDOM and hasattr(cfg, "epsilon_decay"):
        yield tr(
            "{share:.0%} of the actions were still random at the end of the training: "
            "algo_cfg.epsilon_decay is {decay:,.0f} steps",
            share=last["epsilon"],
            decay=cfg.epsilon_decay,
        )
    is_discrete = isinstance(space, Discrete | MultiDiscrete | MultiBinary)
    if is_poor and is_discrete and abs(last["entropy"]) < LEAST_ENTROPY and hasattr(cfg, "entropy_coef"):
        yield tr(
            "the policy is certain of its actions (entropy {entropy:.2g}) and tries no others: a lower algo_cfg.lr, or "
            "a higher algo_cfg.entropy_coef, keeps it from that",
            entropy=last["entropy"],
        )
    if abs(last["q_mean"]) > MOST_TIMES * (limit := largest_value(config, episodes)):
        yield tr(
            "q_mean is {value}, and the rewards and algo_cfg.gamma allow about {limit}: values that chase their own "
            "errors; a lower algo_cfg.lr or a slower target network keeps them down",
            value=short(last["q_mean"]),
            limit=short(limit),
        )


def _last(values: Array) -> float:
    """Returns the last number of a column; NaN without one."""
    numbers = values[np.isfinite(values)]
    return float(numbers[-1]) if len(numbers) else math.nan


def largest_value(config: RunConfig, episodes: Table) -> float:
    """Returns the largest discounted return that the rewards of a training allow, with a bonus of 1 a step for what an
    algorithm adds to them, such as its entropy; infinity without a discount, or without an episode."""
    gamma = getattr(config.algo, "gamma", 1.0)
    rewards = np.abs(episodes.numbers("return") / episodes.numbers("length"))
    rewards = rewards[np.isfinite(rewards)] * getattr(config.algo, "reward_scale", 1.0)
    return math.inf if gamma == 1.0 or not len(rewards) else float(rewards.max() + 1.0) / (1.0 - gamma)


def _of_zero_sums(config: RunConfig, policies: Sequence[PolicyPlan]) -> Iterator[str]:
    """Yields what lets models differ in a run of several agents whose returns were 0 in all evaluations."""
    name, slots, scored = policies[0].name, policies[0].slots, config.general.score_policy
    score = f"general_cfg.score_policy={name}"
    if len(policies) == 1 and slots is not None and slots.can_meet_random and not slots.meets_random:
        settings = f"policies_cfg.{name}.evaluate_against=random"
        if not config.policies:
            settings = f"'policies_cfg={{{name}: {{agents: \"*\", evaluate_against: random}}}}'"
        yield tr(
            "the returns of all agents added up to 0 in every episode of every evaluation, so no model is better than "
            "another; if they play against one another, {settings} in a new run scores one of them against random ones",
            settings=settings if scored else f"{score} {settings}",
        )
    elif len(policies) > 1 and not scored:
        yield tr(
            "the returns of all agents added up to 0 in every episode of every evaluation, so no "
            "model is better than another; {setting} in a new run scores the agents of one policy",
            setting=score,
        )
