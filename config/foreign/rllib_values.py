"""RLlib's settings whose values mean something else here, need nothing, or have no counterpart."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from config import sources
from config.names import did_you_mean
from config.program import PROGRAM
from config.schema import Strict

STOP_RULES = (
    "training_iteration", "episode_reward_mean", "episode_return_mean", "timesteps_total", "time_total_s",
    "episodes_total", "num_env_steps_sampled_lifetime",
)  # fmt: skip
"""Names in --stop; config/foreign/names.py has the settings that they mean."""


class Meaning(NamedTuple):
    """Settings that a name and its value mean here."""

    settings: dict[str, Any]
    """section.key -> value; empty: nothing is to be set."""
    remark: str = ""


class NoCounterpartError(Exception):
    """A name or value that means nothing here; the message says what to write in its place."""


@dataclass(frozen=True)
class Known:
    """Settings that exist in this run, and the values that are written."""

    models: Mapping[str, type[Strict]]
    sources: Iterable[sources.Source]

    def has(self, path: str) -> bool:
        section, _, key = path.partition(".")
        model = self.models.get(section)
        return model is not None and key in model.model_fields

    def algo(self, *keys: str) -> list[str]:
        """Returns those of these settings that the algorithm has, with their section. Raises LookupError if it has
        none."""
        found = [f"algo_cfg.{key}" for key in keys if self.has(f"algo_cfg.{key}")]
        if not found:
            raise LookupError(keys)
        return found

    def number(self, path: str) -> float:
        """Returns a number that is written, or else the default."""
        section, _, key = path.partition(".")
        model = self.models[section]
        written = sources.merge(self.sources, section, model)[0].get(key)
        return float(written if isinstance(written, int | float) and written > 0 else model.model_fields[key].default)


def _workers(value: Any, known: Known) -> Meaning:
    if value == 0:
        return Meaning({"general_cfg.mp_backend": "single"})
    return Meaning({"general_cfg.mp_backend": "ray", "general_cfg.n_workers": value})


def _gpus(value: Any, known: Known) -> Meaning:
    if value == 0:
        return Meaning({"general_cfg.device": "cpu"})
    settings = {"general_cfg.device": "auto", "general_cfg.num_gpus_per_learner": value}
    return Meaning(settings, "the CPU where there is no GPU")


def _lr(value: Any, known: Known) -> Meaning:
    return Meaning(dict.fromkeys(known.algo("lr") if known.has("algo_cfg.lr") else known.algo(*_RATES), value))


_RATES = ("actor_lr", "critic_lr")
_LISTS = ("value_layers", "actor_layers", "critic_layers")
_ACTIVATIONS = {"linear": "none", "swish": "silu", "leaky_relu": "leakyrelu"}


def _model(value: Any, known: Known) -> Meaning:
    """Translates fcnet_hiddens and fcnet_activation, with RLlib's defaults."""
    lists = known.algo(*_LISTS)
    if not isinstance(value, dict):
        raise NoCounterpartError("expected a mapping such as {fcnet_hiddens: [64, 64], fcnet_activation: tanh}")
    same = {"fcnet_hiddens": None, "fcnet_activation": None, "vf_share_layers": None, "use_lstm": False}
    if strange := [key for key in value if key not in same or same[key] not in (None, value[key])]:
        recurrent = "; write a layer {layer_type: lstm, layer_size: [64]} in the list"
        hint = (
            recurrent
            if strange[0] == "use_lstm"
            else did_you_mean(strange[0], same) or f"; write the layers as {' and '.join(lists)}"
        )
        raise NoCounterpartError(f"{strange[0]} has no counterpart here{hint} ({PROGRAM} describe linear)")
    hiddens, activation = value.get("fcnet_hiddens", [256, 256]), value.get("fcnet_activation", "tanh")
    known_by = _ACTIVATIONS.get(activation, activation) if isinstance(activation, str) else activation
    shared = value.get("vf_share_layers") is True and len(lists) > 1
    if shared and isinstance(hiddens, list):
        sizes = enumerate(hiddens, start=1)
        layers = [{**_linear(size, known_by), "shared": f"trunk_{number}"} for number, size in sizes]
    else:
        layers = [_linear(hiddens, known_by)] if hiddens else []
    return Meaning(dict.fromkeys(lists, layers))


def _linear(size: Any, activation: Any) -> dict[str, Any]:
    return {"layer_type": "linear", "layer_size": size, "activation": activation}


def _optimization(value: Any, known: Known) -> Meaning:
    """Translates the learning rates of SAC."""
    names = {
        "actor_learning_rate": "actor_lr",
        "critic_learning_rate": "critic_lr",
        "entropy_learning_rate": "alpha_lr",
    }
    return _renamed(value, names, known)


def _replay_buffer(value: Any, known: Known) -> Meaning:
    """Translates size, priorities and warm-up of a replay buffer."""
    names = {
        "capacity": "buffer_size", "prioritized_replay_alpha": "per_alpha", "prioritized_replay_beta": "per_beta",
        "prioritized_replay_eps": "per_epsilon", "learning_starts": "learning_starts",
    }  # fmt: skip
    kind = str(value.get("type", "")) if isinstance(value, dict) else ""
    meaning = _renamed(value, names, known, without=("type", "storage_unit", "replay_sequence_length"))
    priorities = {"algo_cfg.buffer_type": "PER"} if "Prioritized" in kind else {}
    return Meaning({**priorities, **meaning.settings})


def _renamed(value: Any, names: Mapping[str, str], known: Known, without: Iterable[str] = ()) -> Meaning:
    """Translates a mapping whose keys are settings of ours by other names. without: keys that need nothing."""
    if not isinstance(value, dict):
        raise NoCounterpartError("expected a mapping (name: value)")
    if strange := [key for key in value if key not in names and key not in without]:
        raise NoCounterpartError(f"{strange[0]} has no counterpart here{did_you_mean(strange[0], names)}")
    return Meaning({known.algo(ours)[0]: value[theirs] for theirs, ours in names.items() if theirs in value})


def _use_huber(value: Any, known: Known) -> Meaning:
    [path] = known.algo("loss")
    return Meaning({path: {True: "huber", False: "mse"}.get(value, value) if isinstance(value, bool) else value})


def _atoms(value: Any, known: Known) -> Meaning:
    if value == 1 and not known.has("algo_cfg.n_atoms"):
        return Meaning({}, "one value for each action")
    return Meaning(dict.fromkeys(known.algo("n_atoms"), value))


def _noisy(value: Any, known: Known) -> Meaning:
    if value is False and not known.has("algo_cfg.noisy"):
        return Meaning({}, "its networks have no noise")
    return Meaning(dict.fromkeys(known.algo("noisy"), value))


def _exploration(value: Any, known: Known) -> Meaning:
    """Translates epsilon-greedy exploration."""
    kind = str(value.get("type", "EpsilonGreedy")).rpartition(".")[2] if isinstance(value, dict) else ""
    if kind == "StochasticSampling" and not known.has("algo_cfg.exploration_type"):
        return Meaning({}, "actions are drawn from the policy")
    names = {"initial_epsilon": "start", "final_epsilon": "end", "epsilon_timesteps": "decay"}
    if kind != "EpsilonGreedy" or set(value) - {"type", *names} or not known.has("algo_cfg.epsilon_schedule"):
        raise NoCounterpartError("write exploration_type and the settings that belong to it under algo_cfg")
    settings = {f"algo_cfg.epsilon_{ours}": value[theirs] for theirs, ours in names.items() if theirs in value}
    return Meaning({"algo_cfg.epsilon_schedule": "linear", **settings})


def _fragment(value: Any, known: Known) -> Meaning:
    if known.has("algo_cfg.train_fre"):
        return Meaning({"algo_cfg.train_fre": value})
    return Meaning({}, "fragments follow from batch_size")


def _target_update(value: Any, known: Known) -> Meaning:
    """Translates environment steps into gradient updates."""
    [path] = known.algo("target_update")
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        return Meaning({path: value})
    per_step = known.number("algo_cfg.updates_per_train") / known.number("algo_cfg.train_fre")
    return Meaning({path: max(1, round(value * per_step))}, "environment steps in RLlib, gradient updates here")


def _evaluation_interval(value: Any, known: Known) -> Meaning:
    if value == 0:
        return Meaning({"general_cfg.online_eval": False})
    saves = {"general_cfg.model_save_unit": "iteration", "general_cfg.model_save_fre": value}
    return Meaning({"general_cfg.online_eval": True, **saves}, "each evaluation saves a checkpoint too")


def _checkpoint_freq(value: Any, known: Known) -> Meaning:
    return Meaning({"general_cfg.model_save_unit": "iteration", "general_cfg.model_save_fre": value})


def _env_config(value: Any, known: Known) -> Meaning:
    if not isinstance(value, dict):
        raise NoCounterpartError("expected a mapping (name: value)")
    return Meaning({f"env_cfg.{key}": argument for key, argument in value.items()})


def _kl_coeff(value: Any, known: Known) -> Meaning:
    [path] = known.algo("kl_lambda")
    if value == 0:
        return Meaning({}, "ppo_type clip has no KL penalty")
    return Meaning({path: value}, "read with ppo_type: kl, which replaces the clipping")


def _prioritized(value: Any, known: Known) -> Meaning:
    [path] = known.algo("buffer_type")
    return Meaning({path: {True: "PER", False: "REPLAY_QUE"}.get(value, value) if isinstance(value, bool) else value})


def _twin_q(value: Any, known: Known) -> Meaning:
    return Meaning(dict.fromkeys(known.algo("n_critics", "target_critics"), 1 + value if value in (0, 1) else value))


def _clip_rewards(value: Any, known: Known) -> Meaning:
    [path] = known.algo("reward_clip")
    kinds = {"True": "sign", "False": "none", "1": "clip", "1.0": "clip"}
    if str(value) not in kinds:
        raise NoCounterpartError("write algo_cfg.reward_clip: sign, clip (to -1..1) or none, or algo_cfg.reward_scale")
    return Meaning({path: kinds[str(value)]})


def _filter(value: Any, known: Known) -> Meaning:
    [path] = known.algo("normalize_obs")
    return Meaning({path: {"MeanStdFilter": True, "NoFilter": False}.get(str(value), value)})


def _use_gae(value: Any, known: Known) -> Meaning:
    return Meaning({}, "it is always used") if value is True else Meaning(dict.fromkeys(known.algo("gae_lambda"), 1.0))


def _log_level(value: Any, known: Known) -> Meaning:
    if not known.has("general_cfg.log_level"):
        return Meaning({}, "the log has everything")
    return Meaning({"general_cfg.log_level": {"WARN": "warning"}.get(str(value), str(value).lower())})


VALUES: dict[str, Callable[[Any, Known], Meaning]] = {
    **dict.fromkeys(("num_workers", "num_rollout_workers", "num_env_runners"), _workers),
    **dict.fromkeys(("num_gpus", "num_gpus_per_learner"), _gpus),
    **dict.fromkeys(("clip_rewards", "reward_clip"), _clip_rewards),
    "lr": _lr,
    "model": _model,
    "exploration_config": _exploration,
    **dict.fromkeys(("rollout_fragment_length", "sample_batch_size"), _fragment),
    "optimization": _optimization,
    "replay_buffer_config": _replay_buffer,
    "use_huber": _use_huber,
    "num_atoms": _atoms,
    "noisy": _noisy,
    "target_network_update_freq": _target_update,
    "evaluation_interval": _evaluation_interval,
    "checkpoint_freq": _checkpoint_freq,
    "env_config": _env_config,
    "kl_coeff": _kl_coeff,
    "prioritized_replay": _prioritized,
    "twin_q": _twin_q,
    "observation_filter": _filter,
    "use_gae": _use_gae,
    "log_level": _log_level,
}
"""RLlib's name -> function of its value and the settings that exist here."""

LAST = ("target_network_update_freq",)
"""Names that are translated after all others, whose values they depend on."""

NOTHING: dict[str, tuple[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("framework", "use_pytorch", "eager", "eager_tracing"), ("networks are torch's", ())),
    **dict.fromkeys(
        ("enable_connectors", "enable_rl_module_and_learner", "enable_env_runner_and_connector_v2"),
        ("there is one way from the environment to the network", ()),
    ),
    "explore": ("training explores, and tests do not", (True,)),
    "batch_mode": ("windows are cut by steps; the value of the next state stands for the rest of an episode", ()),
    "simple_optimizer": ("there is one", ()),
    "use_critic": ("it is always used", (True,)),
    "shuffle_sequences": ("minibatches are always shuffled", (True,)),
    "normalize_actions": ("networks act in -1..1, and actions are scaled to the bounds", (True,)),
    "clip_actions": ("actions are always within the bounds", ()),
    "compress_observations": ("observations are kept as they are", ()),
    "create_env_on_driver": ("the environments for checks and evaluation are made there", ()),
    "disable_env_checking": ("each environment is checked once", ()),
    "ignore_worker_failures": ("lost workers are replaced", ()),
    "recreate_failed_workers": ("lost workers are replaced", (True,)),
    "restart_failed_env_runners": ("lost workers are replaced", (True,)),
    "num_cpus_for_driver": ("the driver requests none", ()),
    "evaluation_num_workers": ("the driver evaluates", ()),
    "evaluation_config": ("evaluation does not explore", ({"explore": False}, {})),
    "evaluation_duration_unit": ("evaluation plays whole episodes", ("episodes",)),
    **dict.fromkeys(
        ("metrics_num_episodes_for_smoothing", "metrics_smoothing_episodes", "smoothing_num_episodes"),
        ("progress.csv has the mean of each iteration", ()),
    ),
    "soft_horizon": ("an episode that max_step ends is followed by a reset", (False,)),
    "no_done_at_end": ("max_step truncates, and the value of the next state counts", (False,)),
    "render_env": ("env_cfg.render_mode renders", (False,)),
    "multiagent": ("policies_cfg names the policies", ({},)),
}
"""RLlib's name -> why nothing needs to be set, and the values for which that is so; none: all values."""

REFUSED = {
    "explore": f"training explores; {PROGRAM} evaluate NAME plays without exploration",
    "lr_schedule": "write algo_cfg.lr_schedule: linear or cosine (section algo_cfg of --config)",
    "multiagent": "write the section policies_cfg, with a policy for each entry",
    "evaluation_config": "evaluation uses the settings of the run; write them there",
    "soft_horizon": "write an environment that does not end",
    "no_done_at_end": "write an environment that does not end",
    "render_env": "write env_cfg.render_mode: human",
    "recreate_failed_workers": "lost workers are always replaced",
}
"""RLlib's name -> what to write in its place. A name that is in NOTHING too is refused with other values."""
