"""Values of Stable-Baselines3, sb3-contrib and rl-baselines3-zoo that are written otherwise here."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.table import Scope, Translation
from config.foreign.values import linear, rates
from config.tell.language import tr

_ACTIVATIONS = {"leakyrelu": "leakyrelu", "identity": "none", "swish": "silu"}
_DT = 0.01
"""Time step of the Ornstein-Uhlenbeck process of Stable-Baselines3; here it is one."""
_THETA = 0.15
_MOST = 2**53
"""Smallest number that is too large to be counted exactly."""


@dataclass(frozen=True)
class Entry(Scope):
    """The settings that exist in this run, beside all words of an entry."""

    theirs: Mapping[str, Any] = field(default_factory=dict)
    """Words of the entry, with those of its keyword arguments and the defaults of Stable-Baselines3."""

    def word(self, name: str, default: Any = None) -> Any:
        return self.theirs.get(name, default)


# ---------------------------------------------------------------------------------------------- text -> values


def number(value: Any) -> Any:
    """Returns the number in a text, and 1000000 for 1e6; any other value unchanged."""
    try:
        value = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(value) if isinstance(value, float) and value > 1 and value.is_integer() else value


def counted(value: Any) -> Any:
    """Returns a number from 0, also one that is written as text. Raises NoCounterpartError for anything else."""
    value = number(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        raise NoCounterpartError("expected a number, 0 or more")
    return value


def falling(value: Any) -> tuple[Any, bool]:
    """Returns a rate, and True if it falls linearly, which rl-baselines3-zoo writes as lin_0.001."""
    text = str(value)
    return (number(text.removeprefix("lin_")), True) if text.startswith("lin_") else (number(value), False)


def keywords(value: Any) -> dict[str, Any]:
    """Returns the arguments in a text such as dict(net_arch=[64, 64], activation_fn=nn.ReLU), which is never evaluated;
    those of a mapping as they are. Names of classes become text."""
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    try:
        read = _literal(ast.parse(str(value).strip(), mode="eval").body)
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        read = None
    if not isinstance(read, dict):
        raise NoCounterpartError("expected a mapping, or a text such as dict(net_arch=[64, 64])")
    return {str(key): part for key, part in read.items()}


def _literal(node: ast.expr) -> Any:
    """Returns the value of a literal, a call of dict, or the name of a class; raises ValueError for any other code."""
    match node:
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=arguments):
            return {str(argument.arg): _literal(argument.value) for argument in arguments}
        case ast.Dict():
            return {_literal(key): _literal(part) for key, part in zip(node.keys, node.values, strict=True) if key}
        case ast.List() | ast.Tuple():
            return [_literal(part) for part in node.elts]
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ast.literal_eval(node)


# ------------------------------------------------------------------------------------------ length and batches


def rollout_steps(value: Any, scope: Scope) -> Meaning:
    """Translates steps of each row of an on-policy algorithm."""
    steps, rows = counted(value), _rows(scope)
    return Meaning({"algo_cfg.batch_size": steps * rows}, f"n_steps {steps} x n_envs {rows}")


def minibatch(value: Any, scope: Scope) -> Meaning:
    """Translates the minibatch of an on-policy algorithm: what is collected has no more transitions than that."""
    [path] = scope.algo("sgd_batch_size")
    return Meaning({path: min(counted(value), counted(scope.word("n_steps", value)) * _rows(scope))})


def _rows(scope: Scope) -> int:
    return int(counted(scope.word("n_envs", 1)))


# --------------------------------------------------------------------------------------- rates and coefficients


def learning_rate(value: Any, scope: Scope) -> Meaning:
    rate, falls = falling(value)
    auto = str(scope.word("ent_coef", "auto")).startswith("auto")
    paths = [path for path in rates(scope, "alpha_lr") if auto or not path.endswith("alpha_lr")]
    return Meaning({**dict.fromkeys(paths, rate), **({"algo_cfg.lr_schedule": "linear"} if falls else {})})


def clipped(setting: str) -> Translation:
    """Returns a translation of a range, which may fall there."""

    def translate(value: Any, scope: Scope) -> Meaning:
        most, falls = falling(value)
        if setting == "value_clip" and isinstance(most, int | float) and most < 0:
            return Meaning({}, tr("values are not clipped"))
        if falls and setting == "eps_clip":
            return Meaning({path: {"linear": [most, 0.0]} for path in scope.algo(setting)})
        return Meaning(
            dict.fromkeys(scope.algo(setting), most), tr("constant here, there it falls to 0") if falls else ""
        )

    return translate


def entropy(value: Any, scope: Scope) -> Meaning:
    """Translates ent_coef: a coefficient, or for SAC the temperature, which may be auto or auto_0.1."""
    [path, *_] = scope.algo("entropy_coef", "alpha")
    kind, _, first = str(value).partition("_")
    if kind != "auto":
        return Meaning({path: number(value)})
    return Meaning({path: "auto", **({"algo_cfg.alpha_init": number(first)} if first else {})})


def optimizer_parts(value: Any, scope: Scope) -> Meaning:
    """Translates optimizer_kwargs. Where they are written, what they leave out is torch's default there, also where an
    algorithm has another one without them."""
    parts, of_rmsprop = keywords(value), _is_rmsprop(scope)
    if of_rmsprop and parts.get("eps") == _RMSPROP_EPSILON:
        del parts["eps"]
    elif not of_rmsprop and scope.has("algo_cfg.entropy_coef"):
        parts.setdefault("eps", _ADAM_EPSILON)
    elif not of_rmsprop and _without_targets(scope):
        parts.setdefault("betas", _ADAM_BETAS)
    names = {part: name for part, name in _OPTIMIZER_PARTS.items() if not (of_rmsprop and part == "eps")}
    settings = {f"algo_cfg.{name}": parts.pop(part) for part, name in names.items() if part in parts}
    if parts and not settings:
        raise NoCounterpartError(
            "parts of the optimizer are settings: optimizer, weight_decay, adam_epsilon, adam_betas, momentum"
        )
    if not settings:
        return Meaning({}, tr("optimizer: rmsprop has 1e-5"))
    return Meaning(settings, tr("without {names}, which is not offered", names=", ".join(parts)) if parts else "")


_OPTIMIZER_PARTS = {
    "eps": "adam_epsilon", "betas": "adam_betas", "weight_decay": "weight_decay", "momentum": "momentum",
}  # fmt: skip
"""Argument of an optimizer of torch -> setting here."""
_ADAM_EPSILON, _ADAM_BETAS, _RMSPROP_EPSILON = 1e-8, [0.9, 0.999], 1e-5


def _is_rmsprop(scope: Scope) -> bool:
    name = scope.word("optimizer_class")
    return bool(scope.word("use_rms_prop")) if name is None else "rmsprop" in str(name).lower()


# ------------------------------------------------------------------------------------------------- off-policy


def train_freq(value: Any, scope: Scope) -> Meaning:
    """Translates steps of each row between updates; [1, episode] counts episodes."""
    number_of, unit = _frequency(value)
    remark = tr("after each step, there after each episode") if unit == "episode" else ""
    return Meaning(dict.fromkeys(scope.algo("train_fre"), counted(number_of) * _rows(scope)), remark)


def _frequency(value: Any) -> tuple[Any, str]:
    """Returns the number and the unit of train_freq."""
    return tuple(value) if isinstance(value, list | tuple) and len(value) == 2 else (value, "step")


def gradient_steps(value: Any, scope: Scope) -> Meaning:
    """Translates the number of updates; -1 is one for each step that was collected."""
    frequency = scope.word("train_freq", 1)
    if value == -1:
        meaning = train_freq(frequency, scope)
        value = next(iter(meaning.settings.values()))
    elif _frequency(frequency)[1] == "episode":
        raise NoCounterpartError(
            "updates after an episode, whose length is not known; write updates_per_train, after train_fre steps"
        )
    return Meaning(dict.fromkeys(scope.algo("updates_per_train"), value))


def target_update(value: Any, scope: Scope) -> Meaning:
    """Translates environment steps, which algorithms that explore by epsilon count, into updates."""
    steps, updates = (scope.number(f"algo_cfg.{key}") for key in ("train_fre", "updates_per_train"))
    return Meaning(
        {"algo_cfg.target_update": max(1, round(max(counted(value), steps) * updates / steps))},
        tr("environment steps there, updates here"),
    )


def exploration_fraction(value: Any, scope: Scope) -> Meaning:
    steps = number(scope.word("n_timesteps"))
    if not isinstance(steps, int):
        raise NoCounterpartError("write epsilon_decay, in environment steps, with epsilon_schedule: linear")
    [path] = scope.algo("epsilon_decay")
    settings = {"algo_cfg.epsilon_schedule": "linear", path: max(1, round(counted(value) * steps))}
    return Meaning(settings, f"{counted(value):g} of {steps:,} steps")


def noise_std(value: Any, scope: Scope) -> Meaning:
    """Translates the deviation of the noise; that of the process is per unit of time there, and per step here."""
    [path] = scope.algo("expl_noise")
    if "ornstein" not in str(scope.word("noise_type")):
        return Meaning({path: value})
    settings = {path: round(counted(value) * _DT**0.5, 6), "algo_cfg.ou_theta": _THETA * _DT}
    return Meaning(settings, tr("the process has time steps of {dt:g} there, and of 1 here", dt=_DT))


def relabeled(value: Any, scope: Scope) -> Meaning:
    """Translates the number of relabeled copies of a transition."""
    copies = counted(value)
    return Meaning(dict.fromkeys(scope.algo("her_ratio"), round(copies / (copies + 1), 4)))


# ---------------------------------------------------------------------------------------------------- networks


def layers(value: Any, scope: Scope) -> Meaning:
    """Translates net_arch, with the other arguments of networks: activation_fn, lstm_hidden_size, images."""
    actor, critic = _sizes(value)
    if scope.has("algo_cfg.value_layers"):
        return Meaning({"algo_cfg.value_layers": list(_network(actor, scope))})
    recurrent = scope.word("lstm_hidden_size") is not None
    if recurrent and scope.word("enable_critic_lstm") is None:
        raise LookupError("lstm_hidden_size")  # of an algorithm without a memory
    lists = {
        "algo_cfg.actor_layers": list(_network(actor, scope, recurrent)),
        "algo_cfg.critic_layers": list(_network(critic, scope, recurrent and scope.word("enable_critic_lstm"))),
    }
    scope.algo("actor_layers")
    return Meaning(lists, tr("sequences of lookup_step are trained on, whole ones there") if recurrent else "")


def _sizes(value: Any) -> tuple[list[Any], list[Any]]:
    """Returns the sizes of the layers of actor and critic."""
    value = value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) else value
    if isinstance(value, dict):
        return value.get("pi") or [], value.get("vf") or value.get("qf") or []
    if not isinstance(value, list) or any(isinstance(size, dict) for size in value):
        raise NoCounterpartError("write the layers of each network; layers with the same `shared` name are one")
    return value, value


def _network(sizes: list[Any], scope: Scope, recurrent: bool = False) -> Iterator[dict[str, Any]]:
    """Yields layers: what images become, a memory, and linear layers, with norms between them for CrossQ."""
    activation = _activation(scope)
    if str(scope.word("policy")).startswith("Cnn"):
        yield from _image_features(scope)
    if recurrent:
        yield {"layer_type": "lstm", "layer_size": [scope.word("lstm_hidden_size")]}
    norms = [{"layer_type": "batchrenorm"}] if _without_targets(scope) else []
    for group in [[size] for size in sizes] if norms else [sizes] if sizes else []:
        yield from norms
        yield linear(group, activation)
    yield from norms


def _image_features(scope: Scope) -> Iterator[dict[str, Any]]:
    """Yields the layers after the default convolutions of images, and those too where actor and critic share them, as
    with PPO and A2C there."""
    last = linear([512], "relu")
    if scope.has("algo_cfg.value_coef") and scope.word("share_features_extractor", True):
        yield from ({**layer, "shared": f"image_{place}"} for place, layer in enumerate([*CONVOLUTIONS, last], 1))
    else:
        yield last


CONVOLUTIONS = [
    {"layer_type": "conv2d", "out_channel": channels, "kernel_size": size, "stride": stride}
    for channels, size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1))
]
"""The default convolutions of images, written down: only layers of a list can be shared."""


def _without_targets(scope: Scope) -> bool:
    """Returns True for CrossQ, which has an entropy temperature and no target networks."""
    return scope.has("algo_cfg.target_entropy") and not scope.has("algo_cfg.tau")


def _activation(scope: Scope) -> str:
    name = str(scope.word("activation_fn", "ReLU")).rpartition(".")[2].lower()
    return _ACTIVATIONS.get(name, name)


# ------------------------------------------------------------------------------------------------ environments


def normalized(value: Any, scope: Scope) -> Meaning:
    """Translates normalize: true, false, or the arguments of VecNormalize. What is not normalized there is said to an
    algorithm that would do it by itself."""
    arguments = dict.fromkeys(("norm_obs", "norm_reward"), value) if isinstance(value, bool) else keywords(value)
    flags = {key: arguments.pop(key, True) for key in ("norm_obs", "norm_reward")}
    ours = {"norm_obs": "normalize_obs", "norm_reward": "normalize_reward"}
    fields = scope.models["algo_cfg"].model_fields
    settings = {
        f"algo_cfg.{ours[key]}": bool(flag)
        for key, flag in flags.items()
        if ours[key] in fields and (flag or fields[ours[key]].default)
    }
    lacking = flags["norm_reward"] and not scope.has("algo_cfg.normalize_reward")
    remarks = [tr("rewards in a replay buffer keep one scale")] if lacking else []
    if lost := [key for key, part in arguments.items() if _VEC_NORMALIZE.get(key, ...) != part]:
        remarks.append(tr("without {names}, which is not offered", names=", ".join(lost)))
    return Meaning(settings, "; ".join(remarks) or ("" if any(flags.values()) else tr("nothing is normalized")))


_VEC_NORMALIZE = {"clip_obs": 10, "clip_reward": 10, "epsilon": 1e-8}
"""Other arguments of VecNormalize, with the values that they have here."""


def arguments(value: Any, scope: Scope) -> Meaning:
    """Translates env_kwargs."""
    return Meaning({f"env_cfg.{key}": part for key, part in keywords(value).items()})


def wrapped(value: Any, scope: Scope) -> Meaning:
    """Translates env_wrapper and frame_stack: frames are stacked outside of all wrappers."""
    settings: dict[str, Any] = {}
    missing, paths = [], []
    for entry in [*(value if isinstance(value, list) else [value]), *_stacked(scope)]:
        name, options = _named(entry)
        is_ours = _add_wrapper(settings, name, options)
        missing += _lost(name, options) if is_ours else [name]
        paths += [] if is_ours else [str(next(iter(entry)) if isinstance(entry, dict) and entry else entry)]
    if missing and not settings:
        module = paths[0].rpartition(".")[0] or "my_module"
        raise NoCounterpartError(
            "there is no {names} here; name it in env_cfg.wrappers as {path}, with --allow-import {package}",
            names=", ".join(missing),
            path=f"{module}:{missing[0]}",
            package=module.partition(".")[0],
        )
    return Meaning(settings, tr("without {names}, which is not offered", names=", ".join(missing)) if missing else "")


def _named(entry: Any) -> tuple[str, dict[str, Any]]:
    """Returns the name of a class without its modules, and its arguments."""
    name, options = next(iter(entry.items())) if isinstance(entry, dict) and entry else (entry, {})
    options = options if isinstance(options, dict) else {}
    return str(name).rpartition(".")[2], {"stack_size" if key == "num_stack" else key: options[key] for key in options}


def stacked(value: Any, scope: Scope) -> Meaning:
    """Translates frame_stack, unless env_wrapper has taken it in."""
    if scope.word("env_wrapper") or not value or value == 1:
        return Meaning({})
    return Meaning({"env_cfg.wrappers": [{"wrapper_name": "FrameStack", "stack_size": value}]})


def _stacked(scope: Scope) -> list[dict[str, Any]]:
    frames = scope.word("frame_stack")
    return [{"FrameStack": {"stack_size": frames}}] if frames else []


def _add_wrapper(settings: dict[str, Any], kind: str, options: dict[str, Any]) -> bool:
    """Adds what one wrapper is here, and returns True if there is a counterpart."""
    if kind == "AtariWrapper":
        life = {"env_cfg.episodic_life": True} if options.get("terminal_on_life_loss", True) else {}
        clip = {"algo_cfg.reward_clip": "sign"} if options.get("clip_reward", True) else {}
        settings.update({"env_cfg.vectorization": "native", **life, **clip})
    elif kind == "FrameStack" and "env_cfg.vectorization" in settings:
        frames = options.get("stack_size", 4)
        settings.update({} if frames == 4 else {"env_cfg.stack_num": frames})
    elif kind == "TimeLimit":
        settings["env_cfg.max_episode_steps"] = options.get("max_episode_steps")
    elif kind in _WRAPPERS:
        settings.setdefault("env_cfg.wrappers", []).append(_wrapper(kind, options))
    else:
        return False
    return True


_WRAPPERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "FrameStack": ("FrameStack", ("stack_size",)), "FrameSkip": ("SkipFrame", ("skip",)),
    "MaxAndSkipEnv": ("MaxAndSkip", ("skip",)), "NoopResetEnv": ("NoopReset", ("noop_max",)),
    "FireResetEnv": ("FireReset", ()), "WarpFrame": ("WarpFrame", ("width", "height")),
    "YAMLCompatResizeObservation": ("Resize", ("shape",)), "ResizeObservation": ("Resize", ("shape",)),
    "GrayscaleObservation": ("GrayScale", ()), "GrayScaleObservation": ("GrayScale", ()),
    "TimeFeatureWrapper": ("TimeAwareObservation", ()),
}  # fmt: skip
"""Wrapper there -> wrapper here, and those of its settings that it has."""


_READ = {
    "AtariWrapper": ("terminal_on_life_loss", "clip_reward"), "TimeLimit": ("max_episode_steps",),
    "GrayscaleObservation": ("keep_dim",), "GrayScaleObservation": ("keep_dim",),
}  # fmt: skip
"""Wrapper there -> those of its settings that are read, or change nothing here."""


def _lost(kind: str, options: dict[str, Any]) -> list[str]:
    """Returns the settings of a wrapper that have no counterpart."""
    readable = (*_WRAPPERS.get(kind, ("", ()))[1], *_READ.get(kind, ()))
    return [tr("{key} of {name}", key=key, name=kind) for key in options if key not in readable]


def _wrapper(kind: str, options: dict[str, Any]) -> Any:
    """Returns an entry of our list of wrappers."""
    name, settings = _WRAPPERS[kind]
    settings_here = {key: options[key] for key in settings if key in options}
    return {"wrapper_name": name, **settings_here} if settings_here else name


def vec_wrapped(value: Any, scope: Scope) -> Meaning:
    """Translates wrappers of vector environments."""
    settings: dict[str, Any] = {}
    for entry in value if isinstance(value, list) else [value]:
        settings |= _vec_wrapper(*_named(entry), scope).settings
    return Meaning(settings, "" if settings else tr("nothing is needed for it"))


def _vec_wrapper(kind: str, options: dict[str, Any], scope: Scope) -> Meaning:
    if kind == "VecFrameStack":
        return stacked(options.get("n_stack", 4), scope)
    if kind == "VecNormalize":
        return normalized(options or True, scope)
    if kind in ("VecMonitor", "VecTransposeImage"):
        return Meaning({})
    raise NoCounterpartError("there is no {kind} here; env_cfg.wrappers has those of one environment", kind=kind)


def unsaid(name: str, theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what an algorithm does there without a word, and here by a setting."""
    if name == "DQN":
        return {"algo_cfg.loss": "huber", "algo_cfg.double": False}
    if name in ("PPO", "A2C") and not falling(theirs.get("learning_rate"))[1]:
        return {"algo_cfg.lr_schedule": "constant"}
    size = theirs.get("batch_size") if name == "QRDQN" and "optimizer_class" not in theirs else None
    return {"algo_cfg.adam_epsilon": 0.01 / size} if isinstance(size, int) and size > 0 else {}
