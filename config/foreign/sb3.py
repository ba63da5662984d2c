"""Words of Stable-Baselines3, sb3-contrib and rl-baselines3-zoo: arguments of algorithms and policies, hyperparameters
in files, flags, and the defaults that a file leaves out."""

from typing import Any

from config.foreign import sb3_values, values
from config.foreign.table import tables, words
from config.program import PROGRAM

TABLES = tables("sb3", vars(values) | vars(sb3_values))
WORDS = words(TABLES)
"""All words; where the meaning of one depends on another, the other one comes first."""

_SHARED = {"gamma": 0.99, "policy": "MlpPolicy", "normalize": False}
_ACTOR_CRITIC = {
    **_SHARED, "gae_lambda": 0.95, "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "net_arch": [64, 64],
    "activation_fn": "Tanh",
}  # fmt: skip
_REPLAY = {
    **_SHARED, "buffer_size": 1_000_000, "learning_starts": 100, "batch_size": 256, "tau": 0.005, "train_freq": 1,
    "gradient_steps": 1, "learning_rate": 1e-3,
}  # fmt: skip
_SOFT = {**_REPLAY, "learning_rate": 3e-4, "ent_coef": "auto", "net_arch": [256, 256]}
_VALUES = {
    **_REPLAY, "batch_size": 32, "tau": 1.0, "train_freq": 4, "target_update_interval": 10_000,
    "exploration_initial_eps": 1.0, "net_arch": [64, 64],
}  # fmt: skip
_PPO = {**_ACTOR_CRITIC, "learning_rate": 3e-4, "n_steps": 2048, "batch_size": 64, "n_epochs": 10, "clip_range": 0.2}
_LSTM = {"lstm_hidden_size": 256, "enable_critic_lstm": True}
DEFAULTS: dict[str, dict[str, Any]] = {
    "PPO": _PPO,
    "RecurrentPPO": {**_PPO, **_LSTM, "n_steps": 128, "batch_size": 128},
    "A2C": {**_ACTOR_CRITIC, "learning_rate": 7e-4, "n_steps": 5, "gae_lambda": 1.0, "use_rms_prop": True},
    "TRPO": {
        **{key: value for key, value in _ACTOR_CRITIC.items() if key not in ("ent_coef", "vf_coef", "max_grad_norm")},
        "learning_rate": 1e-3, "n_steps": 2048, "batch_size": 128, "cg_max_steps": 15, "cg_damping": 0.1,
        "line_search_max_iter": 10, "n_critic_updates": 10, "target_kl": 0.01,
    },
    "DQN": {
        **_VALUES, "learning_rate": 1e-4, "exploration_fraction": 0.1, "exploration_final_eps": 0.05,
        "max_grad_norm": 10,
    },
    "QRDQN": {
        **_VALUES, "learning_rate": 5e-5, "exploration_fraction": 0.005, "exploration_final_eps": 0.01,
        "n_quantiles": 200,
    },
    "DDPG": {**_REPLAY, "noise_type": None, "n_critics": 1, "net_arch": [400, 300]},
    "TD3": {**_REPLAY, "noise_type": None, "policy_delay": 2, "net_arch": [400, 300]},
    "SAC": _SOFT,
    "TQC": {**_SOFT, "top_quantiles_to_drop_per_net": 2, "n_quantiles": 25, "n_critics": 2},
    "CrossQ": {
        **{key: value for key, value in _SOFT.items() if key != "tau"}, "learning_rate": 1e-3, "policy_delay": 3,
        "net_arch": {"pi": [256, 256], "qf": [1024, 1024]},
    },
}  # fmt: skip
"""Our name of an algorithm -> the defaults of Stable-Baselines3 and sb3-contrib, by their words."""


def entries(value: dict[Any, Any]) -> list[str]:
    """Returns the names of the environments for which a file of rl-baselines3-zoo has hyperparameters; none for any
    other file."""
    parts = [part for part in value.values() if isinstance(part, dict)]
    theirs = any({"n_timesteps", "policy"} & set(part) for part in parts) and len(parts) == len(value)
    return [str(name) for name in value] if theirs else []


def origin(value: dict[Any, Any], file: str) -> str:
    """Returns the end of a sentence about a file of rl-baselines3-zoo; empty for any other."""
    if not (environments := entries(value)):
        return ""
    env = next((name for name in environments if name not in ("default", "atari")), "CartPole-v1")
    return (
        f"; it looks like hyperparameters of rl-baselines3-zoo: {PROGRAM} convert {file} --env {env} > NEW.yaml"
        " writes those of an environment for use here"
    )
