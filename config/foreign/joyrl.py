"""JoyRL's keys, algorithms, environments and wrappers, and what they are here."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from config.program import PROGRAM

SECTIONS = ("general_cfg", "algo_cfg", "env_cfg")


class Key(NamedTuple):
    """A key of JoyRL that is not a setting here, or has another name."""

    kind: Literal["alias", "nothing", "move"]
    """alias: another spelling; nothing: accepted with a note, nothing is left to do; move: a value to move."""
    meaning: str
    """alias: the setting; nothing and move: the end of a sentence."""
    sections: tuple[str, ...]
    """Sections in which JoyRL has it; a key of this name in another section is somebody else's."""
    values: tuple[Any, ...] = ()
    """nothing: values that are accepted; none: all."""


_GENERAL, _ALGO, _ENV = (SECTIONS[:1], SECTIONS[1:2], SECTIONS[2:])
_RUN = _GENERAL + _ALGO
_NETWORK = f"{PROGRAM} convert OLD.yaml rewrites the network as one list"

KEYS: dict[str, Key] = {
    # other spellings
    "max_steps": Key("alias", "max_step", _GENERAL),
    "train_eps": Key("alias", "max_episode", _GENERAL),
    "n_interactors": Key("alias", "n_workers", _GENERAL),
    "eval_eps": Key("alias", "online_eval_episode", _GENERAL),
    "policy_summary_fre": Key("alias", "model_summary_fre", _GENERAL),
    "max_buffer_size": Key("alias", "buffer_size", _ALGO),
    "learn_frequency": Key("alias", "train_fre", _ALGO),
    "max_norm": Key("alias", "max_grad_norm", _ALGO),
    "critic_loss_coef": Key("alias", "value_coef", _ALGO),
    "explore_steps": Key("alias", "start_steps", _ALGO),
    "Vmin": Key("alias", "v_min", _ALGO),
    "Vmax": Key("alias", "v_max", _ALGO),
    "wrapper": Key("alias", "wrappers", _ENV),
    # nothing left to do
    "joyrl_version": Key("nothing", "no setting depends on it", _GENERAL),
    "is_learner_async": Key("nothing", "general_cfg.run_ahead decides how far workers run ahead", _GENERAL),
    "exps_trucation_size": Key("nothing", "the fragment length follows from the algorithm", _RUN),
    "interactor_device": Key("nothing", "workers act on the CPU; general_cfg.device is the learner's", _GENERAL),
    "learner_device": Key("nothing", "general_cfg.device is the learner's", _GENERAL),
    "restore_model_meta": Key("nothing", "a resume always restores everything", _GENERAL),
    "eval_per_episode": Key("nothing", "online_eval: true evaluates every model_save_fre updates", _GENERAL),
    "new_step_api": Key("nothing", "the new API is always used", _GENERAL),
    "env_cfg.new_step_api": Key("nothing", "the new API is always used", _ENV, (True, None)),
    "ignore_params": Key("nothing", "settings and constructor arguments are told apart by name", _ENV),
    "action_type": Key("nothing", "follows from the environment", _ALGO),
    "action_type_list": Key("nothing", "follows from the environment", _ALGO),
    "action_space": Key("nothing", "follows from the environment", _ALGO),
    "continuous": Key("nothing", "follows from the environment", _RUN),
    "independ_actor": Key("nothing", "actor and critic are separate networks", _ALGO, (True, None)),
    "share_optimizer": Key("nothing", "actor and critic have separate optimizers", _ALGO, (False, None)),
    "mini_batch_normalize": Key("nothing", "see normalize_advantage", _ALGO),
    "render": Key("nothing", "env_cfg.render_mode selects rendering", _GENERAL, (False, None)),
    "env_cfg.render": Key("nothing", "env_cfg.render_mode selects rendering", _ENV, (False, None)),
    "general_cfg.wrapper": Key("nothing", "env_cfg.wrappers lists them", _GENERAL, (None,)),
    "min_policy": Key("nothing", "probabilities need no lower bound", _ALGO),
    "policy_loss_weight": Key("nothing", "Adam does not depend on the scale of the loss", _ALGO),
    "value_min": Key("nothing", "values are not clipped", _ALGO),
    "value_max": Key("nothing", "values are not clipped", _ALGO),
    # values to move
    "test_eps": Key("move", "max_episode is the number of test episodes in mode test", _GENERAL),
    "n_steps_per_learn": Key("move", "algo_cfg.updates_per_train; on-policy algorithms do not need it", _RUN),
    "return_form": Key("move", "gae_lambda: 0.95 for gae, 0 for td, 1 for mc", _ALGO),
    "branch_layers": Key("move", _NETWORK, _ALGO),
    "merge_layers": Key("move", _NETWORK, _ALGO),
    "actor_branch_layers": Key("move", _NETWORK, _ALGO),
    "actor_merge_layers": Key("move", _NETWORK, _ALGO),
    "critic_branch_layers": Key("move", _NETWORK, _ALGO),
    "critic_merge_layers": Key("move", _NETWORK, _ALGO),
    "critic1_lr": Key("move", "critic_lr, for all critics", _ALGO),
    "critic2_lr": Key("move", "critic_lr, for all critics", _ALGO),
    "tau_soft_update": Key("move", "tau", _ALGO),
    "enable_soft_update": Key("move", "tau below 1 with target_update: 1", _ALGO),
    "her_sample_num": Key("move", "her_ratio: n / (n + 1)", _RUN),
    "hidden_dim": Key("move", "a list of layers, such as value_layers", _RUN),
    "actor_hidden_dim": Key("move", f"two layers of this width in actor_layers ({PROGRAM} convert OLD.yaml)", _ALGO),
    "critic_hidden_dim": Key("move", f"two layers of this width in critic_layers ({PROGRAM} convert OLD.yaml)", _ALGO),
    "train_iterations": Key("move", "general_cfg.max_update", _ALGO),
    "memory_capacity": Key("move", "buffer_size", _ALGO),
}
"""JoyRL key -> what it is here. A key with its section in front is another one than in the other sections."""

RENAMED = {
    "memory_capacity": "buffer_size", "critic1_lr": "critic_lr", "critic2_lr": "critic_lr", "tau_soft_update": "tau",
}  # fmt: skip
"""Values to move that keep their value."""

ALGOS = {"firstvisitmc": "MonteCarlo", "dqn_cnn": "DQN", "vi": "ValueIteration", "sarsa": "Sarsa"}
"""JoyRL's algorithm, in small letters -> ours."""

ENVS = {"FrozenLakeNoSlippery-v1": ("FrozenLake-v1", {"is_slippery": False})}
"""JoyRL's environment -> ours, and its arguments."""

IDENTITY_WRAPPERS = ("MultiHeadObsWrapper", "MultiHeadActionWrapper")
"""Wrappers of JoyRL 0.6 that change nothing here."""

RETURN_FORMS = {"gae": 0.95, "td": 0.0, "mc": 1.0}
"""return_form -> gae_lambda."""


def aliases(section: str) -> dict[str, str]:
    """Returns the other spellings of a section's settings."""
    return {name: key.meaning for name, key in KEYS.items() if key.kind == "alias" and section in key.sections}


def known(section: str, name: str) -> Key | None:
    """Returns the entry of a key in a section; None if JoyRL has no such key there."""
    key = KEYS.get(f"{section}.{name}") or KEYS.get(name)
    return key if key and section in key.sections else None


def accepted(section: str, name: str, value: Any) -> str | None:
    """Returns a remark on a key if nothing is left to do for this value; None for other keys and values."""
    key = known(section, name)
    fits = key and key.kind == "nothing" and (not key.values or value in key.values)
    return key.meaning if key and fits else None


def harmless(section: str) -> Iterator[tuple[str, Key]]:
    """Yields the keys of a section that need nothing, and their entries."""
    for path, key in KEYS.items():
        if key.kind == "nothing" and section in key.sections:
            yield path.rpartition(".")[2], key


def hint(section: str, name: str) -> str:
    """Returns the end of a sentence about a key with no counterpart of the same name; empty for other keys."""
    key = known(section, name)
    return f"; JoyRL's key, here: {key.meaning}" if key and key.kind != "alias" else ""


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
