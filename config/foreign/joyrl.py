"""JoyRL's keys, algorithms, environments and wrappers, and what they are here. config/foreign/joyrl_settings.py
rewrites settings with them. Imports little: the models of settings take their other spellings from here."""

from typing import Any

from config.foreign import table, values
from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.table import Row, Table, tables
from config.tell.language import tr

SOFT_UPDATE = 0.005
"""JoyRL's default of tau_soft_update."""

CUSTOM = "custom"
"""Value of device with which learner_device is the device, as it is without device."""

TEST_MODES = ("test", "predict", "collect")
"""Values of mode with which nothing is trained."""


def is_test(scope: Any) -> bool:
    """Returns True for a run in which nothing is trained."""
    return scope.value("general_cfg.mode") in TEST_MODES


def device_is_written(scope: Any) -> bool:
    return scope.value("general_cfg.device") not in (None, CUSTOM)


def render_mode_is_written(scope: Any) -> bool:
    return any(scope.written(section).get("render_mode") for section in ("general_cfg", "env_cfg"))


def gae_is_written(scope: Any) -> bool:
    return "gae_lambda" in scope.written("algo_cfg")


def lower(value: Any) -> str:
    return str(value).lower()


def her(value: Any, scope: Any) -> Meaning:
    if type(value) is not int or value < 0:
        raise NoCounterpartError("expected a number n, 0 or more, which sets her_ratio to n / (n + 1)")
    return Meaning({"algo_cfg.her_ratio": round(value / (value + 1), 4)})


def soft_update(value: Any, scope: Any) -> Meaning:
    tau, interval = scope.algo("tau", "target_update")
    settings = scope.written("algo_cfg")
    share = settings.get("tau_soft_update", settings.get("tau", SOFT_UPDATE))
    return Meaning({tau: share, interval: 1} if value else {tau: 1.0})


def alpha_is_number(scope: Any) -> bool:
    return isinstance(scope.value("algo_cfg.alpha"), int | float)


def rate(value: Any, scope: Any) -> Meaning:
    """Translates the one rate of a file of SAC, which is that of all networks."""
    rates = scope.paths("actor_lr", "critic_lr", *(["alpha_lr"] if scope.value("algo_cfg.alpha") is None else []))
    if not rates or any(key.endswith("_lr") for key in scope.written("algo_cfg")):
        raise LookupError("lr")
    return Meaning(dict.fromkeys(rates, value))


NETWORKS = tuple(f"{network}{part}_layers" for network in ("", "actor_", "critic_") for part in ("branch", "merge"))
_TABLES = tables("joyrl", vars(values) | globals())
_BOTH, SHARED = _TABLES["general_cfg and algo_cfg"], _TABLES["of other libraries too"]
"""Keys of two sections; keys of algo_cfg that other libraries have too, with meanings of their own: read so in a file
of JoyRL alone."""
KEYS: dict[str, Table] = {
    "general_cfg": {**_TABLES["general_cfg"], **_BOTH},
    "algo_cfg": {**_BOTH, **_TABLES["algo_cfg"]},
    "env_cfg": _TABLES["env_cfg"],
}
"""Section -> key of JoyRL there -> what it is here."""

ALGORITHMS = _TABLES[table.ALGORITHMS]
"""JoyRL's algorithm, in small letters -> ours."""

_EVERY = {
    "lr_schedule": "constant", "normalize_obs": False, "learning_starts": 0, "start_steps": 0, "train_fre": 1,
    "updates_per_train": 1, "epsilon_schedule": "exponential", "epsilon_start": 0.95, "epsilon_end": 0.01,
    "epsilon_decay": 500, "double": False, "loss": "mse",
}  # fmt: skip
_DQN = {"gamma": 0.95, "lr": 1e-4, "batch_size": 64, "buffer_size": 100_000, "target_update": 4, "tau": 1.0}
_TABLE = {"gamma": 0.95, "lr": 0.1}
_ACTOR_CRITIC = {"lr": 3e-4, "critic_lr": 1e-3, "gamma": 0.99, "entropy_coef": 0.01, "batch_size": 256}
DEFAULTS: dict[str, dict[str, Any]] = {
    "DQN": _DQN,
    "DoubleDQN": {**_DQN, "gamma": 0.99, "double": True},
    "DuelingDQN": {**_DQN, "gamma": 0.99},
    "NoisyDQN": _DQN,
    "PER_DQN": _DQN,
    "SoftQ": _DQN,
    "C51": {"batch_size": 256, "tau": 0.005, "target_update": 1, "n_atoms": 51, "v_min": -10.0, "v_max": 10.0},
    "RainbowDQN": {"n_step": 1, "batch_size": 32, "target_update": 200, "n_atoms": 51, "v_min": 0.0, "v_max": 200.0},
    "QLearning": _TABLE,
    "Sarsa": _TABLE,
    "DynaQ": {"gamma": 0.9, "lr": 0.1, "epsilon_decay": 300},
    "MonteCarlo": {"gamma": 0.9, "lr": 0.1, "epsilon_start": 0.15, "epsilon_end": 0.15},
    "REINFORCE": {"lr": 0.01, "baseline": "none"},
    "A2C": _ACTOR_CRITIC,
    "IMPALA": {**_ACTOR_CRITIC, "value_coef": 0.001},
    "PPO": {**_ACTOR_CRITIC, "sgd_batch_size": 32, "k_epochs": 4},
    "DDPG": {"actor_lr": 1e-4, "critic_lr": 1e-3, "tau": 0.001, "batch_size": 128, "buffer_size": 100_000},
    "TD3": {"actor_lr": 1e-4, "critic_lr": 1e-3, "batch_size": 100, "start_steps": 100},
    "SAC": {"actor_lr": 3e-4, "critic_lr": 1e-3, "alpha_lr": 1e-4, "batch_size": 64},
}
"""Our name of an algorithm of JoyRL -> its defaults there by our names, beside those of every algorithm."""


def defaults(algo: str) -> dict[str, Any]:
    """Returns the defaults of one of JoyRL's algorithms by our names, networks aside; none for any other."""
    return {**_EVERY, **DEFAULTS[algo]} if algo in DEFAULTS else {}


ENVS = {"FrozenLakeNoSlippery-v1": ("FrozenLake-v1", {"is_slippery": False})}
"""JoyRL's environment -> ours, and its arguments."""

IDENTITY_WRAPPERS = ("MultiHeadObsWrapper", "MultiHeadActionWrapper", "CliffWalkingWapper")
"""Wrappers of JoyRL that change nothing here; the last one only draws."""

WRAPPERS = {"GrayScaleObservation": "GrayScale", "ClipRewardEnv": "SignReward", "ClipReward": "SignReward"}
"""Other names of wrappers -> ours."""

OVERRULED = {
    "gae_lambda": ("return_form", ("td", "mc")),
    "target_update": ("enable_soft_update", ("true",)),
    "tau": ("enable_soft_update", ("false",)),
    "tau_soft_update": ("enable_soft_update", ("false",)),
}
"""Setting -> the key of JoyRL, and its values in small letters, with which the setting is not read."""

SHARES_BY_DEFAULT = ("PPO",)
"""Algorithms whose actor and critic share their layers in JoyRL, unless independ_actor is true."""


def row_of(section: str, name: str) -> Row | None:
    """Returns the row of a key in a section; None if JoyRL has no such key there."""
    return KEYS.get(section, {}).get(name)


def hint(section: str, name: str) -> str:
    """Returns the end of a sentence about a key with no counterpart of the same name; empty for other keys."""
    row = row_of(section, name)
    reason = row and (row.remark or row.needless)
    return tr("; JoyRL's key, here: {reason}", reason=reason) if reason else ""


def without_identity(wrappers: Any) -> tuple[Any, list[str]]:
    """Returns a list of wrappers without those that change nothing, and the names of these."""
    if not isinstance(wrappers, list):
        return wrappers, []
    dropped = [name for entry in wrappers if (name := wrapper_name(entry)) in IDENTITY_WRAPPERS]
    return [entry for entry in wrappers if wrapper_name(entry) not in IDENTITY_WRAPPERS], dropped


def wrapper_name(entry: Any) -> str:
    """Returns the name of a wrapper, without the modules of JoyRL's dotted path; module:Class stays whole."""
    name = str(entry.get("wrapper_name", "") if isinstance(entry, dict) else entry)
    return name if ":" in name else name.rpartition(".")[2]
