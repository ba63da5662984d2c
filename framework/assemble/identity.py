"""The identity of a run: the facts that must agree for a checkpoint to be loaded, and the seed."""

from typing import Any

from algos.base import EnvSpec
from config.model import policies
from config.read.loader import RunConfig
from config.read.paths import as_written
from config.read.task_config import load_task_config
from config.tell.language import tr
from framework.catalog import ALGOS
from framework.disk.checkpoints import Saved
from framework.errors import CheckpointError
from framework.seeding import draw_seed


def with_seed(config: RunConfig) -> RunConfig:
    """Replaces seed 0 by the seed of the resumed run, or by a drawn one, so that every run can be repeated."""
    if config.general.seed:
        return config
    recorded = load_task_config(config.task).settings() if config.task else {}
    seed = recorded.get("general_cfg", {}).get("seed") or draw_seed()
    return config.with_general(seed=seed)


def identity(config: RunConfig, spec: EnvSpec) -> dict[str, Any]:
    """Returns the facts that must agree for a checkpoint to be loaded."""
    control = {
        name: {"algo": config.policy_packages[name].NAME, "agents": policy.agents}
        for name, policy in config.policies.items()
    }
    return {
        "algo": config.algorithms,
        **({"policies": control} if control else {}),
        "env": spec.id,
        "observation_space": str(spec.observation_space),
        "action_space": str(spec.action_space),
        "seed": config.general.seed,
    }


def check_identity(saved: Saved, config: RunConfig, spec: EnvSpec) -> None:
    """Raises CheckpointError if the checkpoint belongs to another algorithm or environment."""
    here = identity(config, spec)
    sentences = {
        "algo": tr("{path} trained with {there}, and this config says {here}"),
        "env": tr("{path} trained on {there}, and this config says {here}"),
        "observation_space": tr("{path} observes {there}, and this config says {here}"),
        "action_space": tr("{path} acts in {there}, and this config says {here}"),
        "policies": tr("{path} has the policies {there}, and this config says {here}"),
    }
    for key, sentence in sentences.items():
        there = saved.facts.get(key)
        if _fact_now(key, there) != _fact_now(key, here.get(key)):
            raise CheckpointError(sentence.format(path=as_written(saved.path), there=there, here=here.get(key)))


def _fact_now(key: str, fact: Any) -> Any:
    """Returns a fact of a checkpoint with the names that algorithms have now."""
    if key == "policies" and fact:
        return {name: {**policy, "algo": name_now(policy["algo"])} for name, policy in fact.items()}
    return name_now(fact) if key == "algo" and fact else fact


def name_now(name: Any) -> Any:
    """Returns the name that an algorithm has now, of one of before; several are joined by +. The user's own stay."""
    try:
        return policies.joined(ALGOS.get(part).NAME if part and "." not in part else part for part in name.split("+"))
    except LookupError:
        return name
