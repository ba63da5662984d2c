"""Settings with which a run of a few hundred steps learns from the first one.

The defaults are made for long runs: DQN begins to learn at step 1,000, SAC at step 2,000. Tests of agents write these
settings (`short`); in modules that start whole runs they are the defaults.
"""

from collections.abc import Iterator
from typing import Any, get_args

import algos
from algos.flashsac.config import inverted
from config.model import policies
from config.model.schema import AlgoConfig
from config.tell.error_text import models

SMALL_DQN = (
    "general_cfg.algo_name=DQN", "general_cfg.seed=3", "general_cfg.save_fig=false", "algo_cfg.learning_starts=10",
    "algo_cfg.batch_size=4", "algo_cfg.value_layers=[{layer_type: linear, layer_size: [4], activation: relu}]",
)  # fmt: skip
"""Words of a run that learns with a network of four units from its tenth step on."""
_EPSILON = {"epsilon_start": 0.95, "epsilon_end": 0.01, "epsilon_decay": 500.0, "epsilon_schedule": "exponential"}
_EACH_STEP = {"learning_starts": 0, "train_fre": 1, "updates_per_train": 1}
_QUICK = {**_EPSILON, **_EACH_STEP, "gamma": 0.95, "target_update": 4, "lr": 2e-4}
_PLAIN = {**_QUICK, "loss": "mse", "double": False}
_SUPPORT = {"n_atoms": 51, "v_min": -10.0, "v_max": 10.0}
_TABLE = {"epsilon_start": 0.95, "epsilon_end": 0.01, "epsilon_decay": 300.0}
_ACTOR = {"learning_starts": 0, "start_steps": 1000}
_MANY = {**_ACTOR, "updates_per_train": 20, "policy_freq": 20}
_BARE = {**_QUICK, "loss": "mse"}
_TEAM = {"train_fre": 1, "learning_starts": 0}
_TABLE_AT_ONCE = {**_TABLE, "lr": 0.1}
_GOALS = {**_ACTOR, "gamma": 0.99, "normalize_obs": False}
_WINDOWS = {"lr_schedule": "constant", "normalize_obs": False}
_SHORT_WINDOWS = {**_WINDOWS, "gae_lambda": 1.0, "lr": 7e-4, "batch_size": 64}

SHORT: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("DQN", "DuelingDQN", "NoisyDQN", "PER_DQN"), _PLAIN),
    **dict.fromkeys(("DoubleDQN", "SoftQ", "MunchausenDQN"), _BARE),
    **dict.fromkeys(("IQN", "QRDQN"), _QUICK),
    **dict.fromkeys(("QMIX", "VDN"), _TEAM),
    **dict.fromkeys(("QLearning", "DoubleQLearning", "ExpectedSarsa", "Sarsa", "SarsaLambda", "DynaQ", "DynaQPlus",
                     "PrioritizedSweeping"), _TABLE_AT_ONCE),
    **dict.fromkeys(("SAC", "TD3", "TQC", "CrossQ", "MADDPG", "MASAC", "CQL", "TD3_BC"), _ACTOR),
    **dict.fromkeys(("CalQL", "EDAC", "ReBRAC"), _ACTOR),
    "FlashSAC": {**_ACTOR, "batch_size": 64, "actor_layers": inverted(16, 1), "critic_layers": inverted(16, 1)},
    **dict.fromkeys(("REDQ", "DroQ"), _MANY),
    **dict.fromkeys(("DDPG_HER", "SAC_HER"), _GOALS),
    **dict.fromkeys(("A2C", "IMPALA"), _SHORT_WINDOWS),
    "C51": {**_QUICK, **_SUPPORT, "double": False},
    "RainbowDQN": {**_EPSILON, **_SUPPORT, "updates_per_train": 1, "learning_starts": 0, "target_update": 2000,
                   "batch_size": 32, "lr": 6.25e-5},
    "DRQN": {**_EPSILON, "gamma": 0.95, "target_update": 4, "lr": 2e-4, "learning_starts": 0, "batch_size": 16},
    "R2D2": {**_EPSILON, "n_step": 2, "gamma": 0.95, "target_update": 4, "lr": 2e-4, "learning_starts": 0,
             "batch_size": 16},
    "SQIL": {**_EPSILON, **_EACH_STEP, "target_update": 4, "lr": 2e-4, "loss": "mse"},
    "DiscreteCQL": {**_EPSILON, **_EACH_STEP},
    "MonteCarlo": _TABLE,
    "SAC_D": {**_ACTOR, "train_fre": 1, "updates_per_train": 1, "target_entropy_scale": 0.98},
    "DDPG": {**_ACTOR, "tau": 0.001, "actor_lr": 1e-4},
    "APPO": {**_WINDOWS, "lr": 3e-4, "sgd_batch_size": 64},
    "BTR": {"learning_starts": 0, "train_fre": 1, "lr": 2e-4, "batch_size": 32, "target_update": 4},
    "PPO": {**_WINDOWS, "lr": 3e-4, "sgd_batch_size": 64, "k_epochs": 10},
    "MAPPO": {**_WINDOWS, "lr": 3e-4, "batch_size": 2048, "sgd_batch_size": 64, "entropy_coef": 0.0},
    "COMA": {"batch_size": 64},
    "HAPPO": {**_WINDOWS, "batch_size": 64, "sgd_batch_size": 64},
    "RecurrentPPO": {"normalize_obs": False, "sgd_batch_size": 64},
    "TRPO": {"normalize_obs": False, "sgd_batch_size": 64},
    "REINFORCE": {**_WINDOWS, "lr": 2e-3, "batch_episode": 8, "baseline": "mean"},
    "PQN": {"epsilon_decay": 20000.0, "lr_schedule": "constant", "q_lambda": 0.65},
}  # fmt: skip
"""Algorithm -> settings."""


def narrow(layers: list[dict[str, Any]], width: int) -> list[dict[str, Any]]:
    """Returns layers, as a file has them, with this width, those of residual blocks too."""
    return [
        {
            **layer,
            **({"layer_size": [width]} if "layer_size" in layer else {}),
            **({"layers": narrow(layer["layers"], width)} if "layers" in layer else {}),
        }
        for layer in layers
    ]


def short(algo: str, **settings: Any) -> dict[str, Any]:
    """Returns the settings of a short run of an algorithm, with these in their place."""
    return {**SHORT.get(algo, {}), **settings}


_products: dict[tuple[type[AlgoConfig], str], Any] = {}
"""Defaults of the product while the others hold."""


def begin() -> None:
    """Makes these the defaults of the algorithms, and of classes that tests have derived from them."""
    if not _products:
        for model, name, value in list(_changes()):
            _products[model, name] = model.model_fields[name].default
            model.model_fields[name].default = value
        _rebuild()


def end() -> None:
    """Makes the defaults those of the product again."""
    if _products:
        for (model, name), value in _products.items():
            model.model_fields[name].default = value
        _rebuild()
        _products.clear()


def _changes() -> Iterator[tuple[type[AlgoConfig], str, Any]]:
    """Yields a class, a setting and its default."""
    zoo = {algos.get(name).Config: SHORT.get(algos.get(name).NAME, {}) for name in algos.available()}
    for model in dict.fromkeys(models(AlgoConfig)):
        nearest = next((parent for parent in model.__mro__ if parent in zoo), None)
        for name, value in zoo.get(nearest, {}).items():
            field = model.model_fields[name]
            if field.default == nearest.model_fields[name].default and get_args(field.annotation) != (field.default,):
                yield model, name, value


def _rebuild() -> None:
    for model in dict.fromkeys(model for model, _ in _products):
        model.model_rebuild(force=True)
    policies.combined.cache_clear()
