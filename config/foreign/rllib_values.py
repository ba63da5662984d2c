"""Translations of RLlib's words whose values mean something else here. config/foreign/rllib_keys.py attaches each
function to the words that it translates."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from config.foreign.table import Meaning, NoCounterpartError, Scope, Translation
from config.foreign.values import Settings, is_number, linear, rates, switch
from config.model.schema import FILM
from config.program import PROGRAM

LISTS = ("value_layers", "actor_layers", "critic_layers")
MAPPING = "expected a mapping (name: value)"
_ACTIVATIONS = {"linear": "none", "swish": "silu", "leaky_relu": "leakyrelu"}
_ALE = "ALE/"
"""Start of the ids of Atari games."""

# ------------------------------------------------------------------------------------------- what else is written


def written(scope: Scope, word: str, default: Any = None) -> Any:
    """Returns the value of another of RLlib's words; the default if it is absent or null."""
    values = (source.foreign[word][0] for source in scope.sources if word in source.foreign)
    return next((value for value in values if value is not None), default)


def _env(scope: Scope, key: str) -> Any:
    """Returns a setting of env_cfg as it is written so far; None for one that is not."""
    return scope.value(f"env_cfg.{key}")


def of_ale(scope: Scope) -> bool:
    """Returns True for a game of ale_py on its own vector environment, which scales, stacks and grays the pictures."""
    return _ALE in str(_env(scope, "id")) and _env(scope, "vectorization") == "native"


# ----------------------------------------------------------------------------------------------------- networks


def layers(value: Any, scope: Scope) -> Meaning:
    """Translates all words of `model` that are layers at once, with RLlib's defaults for the others."""
    own = _own_lists(scope)
    lists = [path for path in scope.algo(*LISTS) if path.partition(".")[2] not in own]
    if not lists:
        return Meaning({}, "the words for actor and critic name the layers")
    image = of_ale(scope)
    if image and not _matters_for_images(scope):
        return Meaning({}, "a game has the default convolutions for its pictures")
    built = list(_trunk(scope, image)) + list(_head(scope))
    if _model(scope, "vf_share_layers", written(scope, "vf_share_layers")) is True and len(lists) > 1:
        built = [{**layer, "shared": f"trunk_{number}"} for number, layer in enumerate(_single(built), start=1)]
    return Meaning(dict.fromkeys(lists, built))


def _model(scope: Scope, word: str, default: Any = None) -> Any:
    return written(scope, f"model.{word}", default)


def _own_lists(scope: Scope) -> set[str]:
    """Returns the lists of layers that words beside `model` name."""
    words = {
        "actor_layers": ("actor_hiddens", "policy_model", "policy_model_config"),
        "critic_layers": ("critic_hiddens", "Q_model", "q_model_config"),
    }
    return {name for name, own in words.items() if any(written(scope, word) is not None for word in own)}


def _matters_for_images(scope: Scope) -> bool:
    """Returns True if the convolutions have to be written: fcnet_hiddens are not used with pictures."""
    words = ("conv_filters", "post_fcnet_hiddens", "use_lstm", "custom_model")
    shared = written(scope, "vf_share_layers") is True or _model(scope, "vf_share_layers") is True
    return shared or _model(scope, "conv_activation", "relu") != "relu" or any(_model(scope, word) for word in words)


def _trunk(scope: Scope, image: bool) -> Iterator[Settings]:
    """Yields convolutions or linear layers."""
    if own := _model(scope, "custom_model"):
        options = _model(scope, "custom_model_config", _model(scope, "custom_options", {}))
        yield {"layer_type": "custom", "module": own, **({"options": options} if options else {})}
        return
    dim = _model(scope, "dim", 84)
    filters = _model(scope, "conv_filters") or (DEFAULT_FILTERS.get(dim) if image else None)
    if filters:
        yield from convolutions(filters, dim, activation_of(_model(scope, "conv_activation", "relu")))
        if hiddens := _model(scope, "post_fcnet_hiddens"):
            yield linear(hiddens, activation_of(_model(scope, "post_fcnet_activation", "relu")))
    elif hiddens := _model(scope, "fcnet_hiddens", [256, 256]):
        yield linear(hiddens, activation_of(_model(scope, "fcnet_activation", "tanh")))


def _head(scope: Scope) -> Iterator[Settings]:
    """Yields what follows the trunk: a recurrent layer, and the hidden layers of a value network."""
    if _model(scope, "use_lstm") is True:
        yield {"layer_type": "lstm", "layer_size": [_model(scope, "lstm_cell_size", 256)]}
    if (sizes := written(scope, "hiddens")) and scope.has("algo_cfg.value_layers"):
        yield linear(sizes, "relu")


def _single(built: list[Settings]) -> Iterator[Settings]:
    """Yields layers with one size each: layers with a common name have one."""
    for layer in built:
        sizes = layer.get("layer_size")
        yield from ({**layer, "layer_size": size} for size in sizes) if isinstance(sizes, list) else (layer,)


DEFAULT_FILTERS = {
    84: [[16, [8, 8], 4], [32, [4, 4], 2], [256, [11, 11], 1]],
    42: [[16, [4, 4], 2], [32, [4, 4], 2], [256, [11, 11], 1]],
}
"""RLlib's convolutions for the side of a picture in pixels."""


def convolutions(filters: Any, side: Any, activation: Any) -> Iterator[Settings]:
    """Yields a conv2d layer for each [filters, kernel, stride]: all but the last have the padding with which a stride
    of 1 keeps the size of the picture. side: of the picture, in pixels."""
    if not isinstance(filters, list) or not all(isinstance(part, list) and len(part) == 3 for part in filters):
        raise NoCounterpartError("expected a list of [filters, kernel, stride], such as [[16, [4, 4], 2]]")
    size = side if isinstance(side, int) else 84
    for number, (channels, kernel, stride) in enumerate(filters, start=1):
        width = kernel[0] if isinstance(kernel, list) and len(set(map(str, kernel))) == 1 else kernel
        step = stride[0] if isinstance(stride, list) and len(set(map(str, stride))) == 1 else stride
        if not all(type(part) is int and part > 0 for part in (channels, width, step)):
            raise NoCounterpartError("expected whole numbers above 0; kernels are squares, such as [[16, [4, 4], 2]]")
        padding = 0 if number == len(filters) else same_padding(size, width, step)
        size = (size + 2 * padding - width) // step + 1
        layer = {"layer_type": "conv2d", "out_channel": channels, "kernel_size": width, "stride": step}
        yield {**layer, "padding": padding, "activation": activation}


def same_padding(size: int, kernel: int, stride: int) -> int:
    """Returns the zeros on each side with which a picture becomes size / stride, rounded up."""
    wanted = -(-size // stride)
    return max(0, -(-((wanted - 1) * stride + kernel - size) // 2))


def activation_of(name: Any) -> Any:
    return _ACTIVATIONS.get(name, name) if isinstance(name, str) else name


shared_layers = switch(layers)


def layers_with(word: str) -> Translation:
    """Returns a translation of a word of layers that is read with another word of `model`."""

    def translation(value: Any, scope: Scope) -> Meaning:
        if _model(scope, word) or (word == "conv_filters" and of_ale(scope)):
            return layers(value, scope)
        return Meaning({}, f"it is read with {word}")

    return translation


def model(value: Any, scope: Scope) -> Meaning:
    """Translates an empty `model`; the words of any other are translated one by one."""
    if not isinstance(value, dict):
        raise NoCounterpartError("expected a mapping such as {fcnet_hiddens: [64, 64], fcnet_activation: tanh}")
    return Meaning({}) if value else layers(value, scope)


@switch
def lstm(value: Any, scope: Scope) -> Meaning:
    return layers(value, scope) if value else Meaning({}, "no layer is recurrent")


def sequence_length(value: Any, scope: Scope) -> Meaning:
    if value == 20 and _model(scope, "use_lstm") is not True:
        return Meaning({}, "no layer is recurrent")
    return Meaning({scope.algo("lookup_step", "context_length")[0]: value})


def hiddens(value: Any, scope: Scope) -> Meaning:
    """Translates the layers after the trunk of a value network."""
    scope.algo("value_layers")
    if of_ale(scope) and not _matters_for_images(scope):
        return Meaning(dict.fromkeys(scope.algo("value_layers"), [linear(value, "relu")] if value else []))
    return layers(value, scope)


def of_one_network(name: str, sizes: str, activation: str) -> Translation:
    """Returns a translation of the layers of one network, whose sizes are a list, with RLlib's default. name: of our
    list; sizes and activation: the words for both."""

    def translation(value: Any, scope: Scope) -> Meaning:
        hidden, function = written(scope, sizes, [400, 300]), activation_of(written(scope, activation, "relu"))
        return Meaning(dict.fromkeys(scope.algo(name), [linear(hidden, function)] if hidden else []))

    return translation


def network(*names: str) -> Translation:
    """Returns a translation of a mapping of one network. names: of our lists, of which the first that exists is set."""

    def translation(value: Any, scope: Scope) -> Meaning:
        words = ("fcnet_hiddens", "fcnet_activation", "hidden_layer_sizes", "hidden_activation")
        if not isinstance(value, dict):
            raise NoCounterpartError("expected a mapping such as {fcnet_hiddens: [256, 256], fcnet_activation: relu}")
        if strange := [word for word in value if word not in words and value[word] is not None]:
            raise NoCounterpartError(f"{strange[0]}: write the layers as {scope.algo(*names)[0]}")
        sizes = value.get("fcnet_hiddens", value.get("hidden_layer_sizes", [256, 256]))
        function = activation_of(value.get("fcnet_activation", value.get("hidden_activation", "relu")))
        return Meaning({scope.algo(*names)[0]: [linear(sizes, function)] if sizes else []})

    return translation


# ------------------------------------------------------------------------------------------------- environments


def env(value: Any, scope: Scope) -> Meaning:
    """Names what became of an id; config/foreign/rllib.py puts it before all other words."""
    now = _env(scope, "id")
    if value == now:
        return Meaning({"env_cfg.id": now})
    settings = {"env_cfg.id": now, **({"env_cfg.vectorization": "native"} if of_ale(scope) else {})}
    return Meaning(settings, "its own vector version: gray pixels, 4 frames" if of_ale(scope) else "")


def env_config(value: Any, scope: Scope) -> Meaning:
    if not isinstance(value, dict):
        raise NoCounterpartError(MAPPING)
    kept = {key: part for key, part in value.items() if not (of_ale(scope) and key == "frameskip" and part == 1)}
    remark = "frameskip 1 is left out: each action is repeated 4 times, as by RLlib" if len(kept) < len(value) else ""
    return Meaning({f"env_cfg.{key}": argument for key, argument in kept.items()}, remark)


EXAMPLES: Mapping[str, tuple[str, Settings]] = {
    "StatelessCartPole": ("CartPole-v1", {"wrappers": [{"wrapper_name": "SelectObservation", "indices": [0, 2]}]}),
}
"""Class of RLlib's examples -> the id here, and settings of env_cfg."""


def example_here(name: str) -> tuple[str, Settings]:
    """Returns id and settings of env_cfg for a class of RLlib's examples; any other name unchanged."""
    known = EXAMPLES.get(name.rpartition(".")[2]) if name.startswith("ray.rllib.examples") else None
    return known or (name, {})


@switch
def frames(value: Any, scope: Scope) -> Meaning:
    if of_ale(scope):
        return Meaning({}, "games are stacked") if value else Meaning({"env_cfg.stack_num": 1})
    wrapper = "env_cfg.wrappers: [{wrapper_name: FrameStack, stack_size: 4}]"
    return Meaning({}, f"it is for Atari games; {wrapper} stacks the pictures of others")


@switch
def no_frames(value: Any, scope: Scope) -> Meaning:
    return frames(not value, scope)


def num_frames(value: Any, scope: Scope) -> Meaning:
    if value == "auto" or value == 0:
        return Meaning({}, "games are stacked, others are not")
    if of_ale(scope):
        return Meaning({"env_cfg.stack_num": value})
    return Meaning({"env_cfg.wrappers": [{"wrapper_name": "FrameStack", "stack_size": value}]})


def side(value: Any, scope: Scope) -> Meaning:
    """Translates the side of a picture."""
    if of_ale(scope):
        return Meaning({"env_cfg.img_height": value, "env_cfg.img_width": value})
    if value == 84:
        return Meaning({}, "it is for Atari games")
    return Meaning({"env_cfg.wrappers": _wrappers(scope)})


@switch
def gray(value: Any, scope: Scope) -> Meaning:
    if of_ale(scope):
        return Meaning({}, "games are gray")
    if not value:
        return Meaning({}, "pictures keep their colors")
    return Meaning({"env_cfg.wrappers": _wrappers(scope)})


def _wrappers(scope: Scope) -> list[Any]:
    """Returns what grayscale, dim and custom_preprocessor mean together."""
    own = _model(scope, "custom_preprocessor")
    size = _model(scope, "dim", 84)
    resized = [] if size == 84 else [{"wrapper_name": "Resize", "shape": size}]
    return [*(["GrayScale"] if _model(scope, "grayscale") is True else []), *resized, *([own] if own else [])]


def preprocessor(value: Any, scope: Scope) -> Meaning:
    return Meaning({"env_cfg.wrappers": _wrappers(scope)})


def preprocessor_pref(value: Any, scope: Scope) -> Meaning:
    if of_ale(scope) and value == "rllib":
        return Meaning({"env_cfg.stack_num": 1}, "a single frame")
    if value not in ("rllib", "deepmind"):
        raise NoCounterpartError("expected rllib or deepmind; env_cfg.wrappers lists wrappers")
    return Meaning({}, "games have their own vector version, and others are wrapped as env_cfg.wrappers says")


def clip_rewards(value: Any, scope: Scope) -> Meaning:
    kinds = {"True": "sign", "False": "none", "1": "clip", "1.0": "clip"}
    if str(value) not in kinds:
        raise NoCounterpartError("write algo_cfg.reward_clip: sign, clip (to -1..1) or none, or algo_cfg.reward_scale")
    if kinds[str(value)] == "none" and not scope.has("algo_cfg.reward_clip"):
        return Meaning({}, "rewards are learned from as they are")
    [path] = scope.algo("reward_clip")
    return Meaning({path: kinds[str(value)]})


@switch
def vectorization(value: Any, scope: Scope) -> Meaning:
    if not value:
        return Meaning({}, "env_cfg.vectorization: auto chooses")
    return Meaning({"env_cfg.vectorization": "async"}, "a process for each row")


# ---------------------------------------------------------------------------------------------- processes, devices


def workers(value: Any, scope: Scope) -> Meaning:
    if value == 0:
        return Meaning({"general_cfg.mp_backend": "single"})
    return Meaning({"general_cfg.mp_backend": "ray", "general_cfg.n_workers": value})


def learners(value: Any, scope: Scope) -> Meaning:
    if value == 0:
        return Meaning({}, "the process of the command learns, or one worker of Ray")
    return Meaning({"general_cfg.n_learners": value})


def gpus(value: Any, scope: Scope) -> Meaning:
    of_learner = ("num_gpus_per_learner", "num_gpus_per_learner_worker")
    if value == 0 and any(written(scope, word) for word in of_learner):
        return Meaning({}, "num_gpus_per_learner is the learner's")
    if value == 0:
        return Meaning({"general_cfg.device": "cpu"})
    settings = {"general_cfg.device": "auto", "general_cfg.num_gpus_per_learner": value}
    return Meaning(settings, "the CPU where there is no GPU")


def one_gpu(value: Any, scope: Scope) -> Meaning:
    return Meaning({"general_cfg.device": "auto" if value else "cpu"}, "the CPU where there is no GPU" if value else "")


def gpu_number(value: Any, scope: Scope) -> Meaning:
    return Meaning({"general_cfg.device": f"cuda:{value}"})


# ------------------------------------------------------------------------------------------------------- learning


def rate(value: Any, scope: Scope) -> Meaning:
    return Meaning(dict.fromkeys(rates(scope), value))


def all_rates(value: Any, scope: Scope) -> Meaning:
    return Meaning(dict.fromkeys(rates(scope, "alpha_lr"), value))


def rate_schedule(value: Any, scope: Scope) -> Meaning:
    """Translates a straight line to a rate near 0."""
    line = isinstance(value, list) and len(value) == 2 and all(isinstance(p, list) and len(p) == 2 for p in value)
    try:
        (start, first), (end, last) = [[float(number) for number in point] for point in value] if line else [(1, 0)] * 2
    except (TypeError, ValueError):
        start, first, end, last = 1.0, 0.0, 0.0, 0.0
    if start != 0 or not (0 <= last <= first / 10 and math.isfinite(end)):
        near = "write algo_cfg.lr_schedule: linear or cosine, which fall to 0 at the end of the run, and algo_cfg.lr"
        raise NoCounterpartError(near)
    settings = {**dict.fromkeys(rates(scope), first), scope.algo("lr_schedule")[0]: "linear"}
    limits = ("timesteps_total", "num_env_steps_sampled", "num_env_steps_sampled_lifetime", "episodes_total")
    if any(written(scope, rule) is not None for rule in limits):
        return Meaning(settings, "it falls to 0 at the end of the run")
    return Meaning({**settings, "general_cfg.max_total_step": round(end)}, "it falls to 0 at the end of the run")


def optimizer(value: Any, scope: Scope) -> Meaning:
    """Translates a name, or a mapping of weight decay and words of old workers."""
    if isinstance(value, str):
        return Meaning(dict.fromkeys(scope.algo("optimizer"), value))
    if not isinstance(value, dict):
        raise NoCounterpartError("write algo_cfg.optimizer: adam, adamw, rmsprop or sgd, and algo_cfg.weight_decay")
    of_workers = ("num_replay_buffer_shards", "grads_per_step", "debug", "max_weight_sync_delay", "betas")
    if strange := [word for word in value if word not in (*of_workers, "weight_decay", "type")]:
        raise NoCounterpartError(f"{strange[0]}: write algo_cfg.optimizer and algo_cfg.weight_decay")
    if value.get("betas", [0.9, 0.999]) != [0.9, 0.999]:
        raise NoCounterpartError("betas: they are 0.9 and 0.999")
    settings = {"weight_decay": value.get("weight_decay"), "optimizer": value.get("type")}
    return Meaning(
        {scope.algo(key)[0]: part for key, part in settings.items() if part is not None}, "Ray shares the work"
    )


def weight_decay(value: Any, scope: Scope) -> Meaning:
    return Meaning({}, "it is off") if value == 0 else Meaning(dict.fromkeys(scope.algo("weight_decay"), value))


def fragment(value: Any, scope: Scope) -> Meaning:
    if not scope.has("algo_cfg.train_fre"):
        return Meaning({}, "fragments follow from batch_size")
    if value == "auto":
        return Meaning({}, "train_fre is the default")
    return Meaning({"algo_cfg.train_fre": value})


def train_batch(value: Any, scope: Scope) -> Meaning:
    if value == "auto":
        return Meaning({}, "batch_size is the default")
    if not scope.has("algo_cfg.batch_size") and scope.has("algo_cfg.batch_episode"):
        raise NoCounterpartError(
            "write algo_cfg.batch_episode: it learns from whole episodes, and this is their number"
        )
    settings = dict.fromkeys(scope.algo("batch_size"), value)
    minibatch = any(
        written(scope, word) is not None for word in ("sgd_minibatch_size", "minibatch_size", "sgd_batchsize")
    )
    whole = scope.has("algo_cfg.sgd_batch_size") and not minibatch and type(value) is int and value > 0
    if whole and value < scope.number("algo_cfg.sgd_batch_size"):
        settings["algo_cfg.sgd_batch_size"] = value
    return Meaning(settings)


def epochs(value: Any, scope: Scope) -> Meaning:
    if value == 1 and not scope.has("algo_cfg.k_epochs"):
        return Meaning({}, "a window is learned once")
    return Meaning(dict.fromkeys(scope.algo("k_epochs"), value))


def replayed_sequence(value: Any, scope: Scope) -> Meaning:
    if value in (1, -1):
        return Meaning({}, "max_seq_len is the length")
    return Meaning({scope.algo("lookup_step")[0]: value})


def capacity(value: Any, scope: Scope) -> Meaning:
    if scope.has("algo_cfg.data") and not scope.has("algo_cfg.buffer_size"):
        return Meaning({}, "data are read into memory once")
    return Meaning(dict.fromkeys(scope.algo("buffer_size"), value))


def steps_in_total(value: Any, scope: Scope) -> Meaning:
    """Translates the steps of a run; one that learns from data alone counts updates here."""
    model = scope.models.get("algo_cfg")
    if not getattr(model, "OFFLINE", False) or not is_number(value) or value <= 0:
        return Meaning({"general_cfg.max_total_step": value})
    updates = max(1, round(value / scope.number("algo_cfg.batch_size")))
    return Meaning({"general_cfg.max_update": updates}, "steps of the data there, updates here")


def intensity(value: Any, scope: Scope) -> Meaning:
    """Translates transitions that are learned from for each one that is collected."""
    [path] = scope.algo("updates_per_train")
    if not is_number(value) or value <= 0:
        raise NoCounterpartError("expected a number above 0; algo_cfg.updates_per_train is here what it sets")
    updates = value * scope.number("algo_cfg.train_fre") / scope.number("algo_cfg.batch_size")
    return Meaning({path: max(1, round(updates))}, "in gradient updates; at least one each time")


def target_update(value: Any, scope: Scope) -> Meaning:
    """Translates environment steps into gradient updates."""
    [path] = scope.algo("target_update")
    if not is_number(value) or value < 0:
        return Meaning({path: value})
    per_step = scope.number("algo_cfg.updates_per_train") / scope.number("algo_cfg.train_fre")
    return Meaning({path: max(1, round(value * per_step))}, "environment steps in RLlib, gradient updates here")


def atoms(value: Any, scope: Scope) -> Meaning:
    if value == 1 and not scope.has("algo_cfg.n_atoms"):
        return Meaning({}, "one value for each action")
    if not scope.has("algo_cfg.n_atoms") and scope.has("algo_cfg.dueling"):
        raise NoCounterpartError("DQN has one value for each action; write run: RainbowDQN, or C51, which have n_atoms")
    return Meaning(dict.fromkeys(scope.algo("n_atoms"), value))


def noisy(value: Any, scope: Scope) -> Meaning:
    if value is False and not scope.has("algo_cfg.noisy"):
        return Meaning({}, "its networks have no noise")
    return Meaning(dict.fromkeys(scope.algo("noisy"), value))


def buffer_kind(value: Any, scope: Scope) -> Meaning:
    """Translates the class of a replay buffer."""
    if "Prioritized" in str(value):
        return Meaning(dict.fromkeys(scope.algo("buffer_type"), "PER"))
    return Meaning({}, "the memory of the algorithm")


def storage(value: Any, scope: Scope) -> Meaning:
    if value in ("timesteps", "sequences"):
        return Meaning({}, "recurrent layers are given sequences, others steps")
    raise NoCounterpartError("recurrent layers are given sequences of lookup_step, others steps; leave it out")


def mapping(value: Any, scope: Scope) -> Meaning:
    """Translates a mapping whose words are translated one by one."""
    if not isinstance(value, dict):
        raise NoCounterpartError(MAPPING)
    return Meaning({}, "" if value else "it is empty")


@switch
def twin_q(value: Any, scope: Scope) -> Meaning:
    paths = scope.algo("n_critics", "target_critics")
    return Meaning(dict.fromkeys(paths, 1 + value))


def observation_filter(value: Any, scope: Scope) -> Meaning:
    kinds = {"MeanStdFilter": True, "ConcurrentMeanStdFilter": True, "NoFilter": False}
    filtered = kinds.get(str(value), value)
    if not isinstance(filtered, bool):
        raise NoCounterpartError("write algo_cfg.normalize_obs: true for MeanStdFilter, false for NoFilter")
    if not filtered and not scope.has("algo_cfg.normalize_obs"):
        return Meaning({}, "observations stay as they are")
    return Meaning(dict.fromkeys(scope.algo("normalize_obs"), filtered))


@switch
def gae(value: Any, scope: Scope) -> Meaning:
    return Meaning({}, "it is always used") if value else Meaning(dict.fromkeys(scope.algo("gae_lambda"), 1.0))


def kl_coeff(value: Any, scope: Scope) -> Meaning:
    [path] = scope.algo("kl_lambda")
    if value == 0:
        return Meaning({}, "ppo_type clip has no KL penalty")
    return Meaning({path: value}, "read with ppo_type: kl, which replaces the clipping")


@switch
def vtrace(value: Any, scope: Scope) -> Meaning:
    if scope.has("algo_cfg.eps_clip"):
        return Meaning({}, "windows are at most general_cfg.run_ahead windows old, and ratios to them are clipped")
    return Meaning(dict.fromkeys(scope.algo("vtrace"), value))


def target_entropy(value: Any, scope: Scope) -> Meaning:
    if value == "auto":
        return Meaning({}, "null is automatic")
    return Meaning(dict.fromkeys(scope.algo("target_entropy"), value))


def temperature(value: Any, scope: Scope) -> Meaning:
    if value == 1 and not scope.has("algo_cfg.temperature"):
        return Meaning({}, "it is 1")
    return Meaning(dict.fromkeys(scope.algo("temperature"), value))


def lagrangian(value: Any, scope: Scope) -> Meaning:
    if value is False:
        return Meaning({}, "the weight of the penalty is constant")
    raise NoCounterpartError("the weight of the penalty is constant: algo_cfg.cql_alpha")


# ---------------------------------------------------------------------------------------------------- exploration


def explored_by(value: Any, scope: Scope) -> Meaning:
    """Translates the class of an exploration."""
    kind = str(value).rpartition(".")[2]
    if kind == "StochasticSampling" and not scope.has("algo_cfg.exploration_type"):
        return Meaning({}, "actions are drawn from the policy")
    kinds = {
        "EpsilonGreedy": "e-greedy", "PerWorkerEpsilonGreedy": "e-greedy", "SoftQ": "softmax",
        "GaussianNoise": "gaussian", "PerWorkerGaussianNoise": "gaussian", "OrnsteinUhlenbeckNoise": "ou",
        "PerWorkerOrnsteinUhlenbeckNoise": "ou",
    }  # fmt: skip
    if kind == "ParameterNoise":
        raise NoCounterpartError("noise of the weights is learned here: algo_cfg.noisy of DQN and its family")
    if kind not in kinds or not scope.has("algo_cfg.exploration_type"):
        raise NoCounterpartError("write exploration_type and the settings that belong to it under algo_cfg")
    return Meaning({"algo_cfg.exploration_type": kinds[kind]})


def epsilon(end: str) -> Translation:
    """Returns a translation of one end of epsilon's line, or of its length in steps. end: start, end or decay."""

    def translation(value: Any, scope: Scope) -> Meaning:
        if scope.has("algo_cfg.expl_noise") and not scope.has(f"algo_cfg.epsilon_{end}"):
            return Meaning({}, "the noise of its actions is constant")
        [path] = scope.algo(f"epsilon_{end}")
        return Meaning({path: 1 if end == "decay" and value == 0 else value, "algo_cfg.epsilon_schedule": "linear"})

    return translation


def epsilon_fraction(value: Any, scope: Scope) -> Meaning:
    """Translates a share of schedule_max_timesteps."""
    if not scope.has("algo_cfg.epsilon_decay"):
        return Meaning({}, "the noise of its actions is constant")
    total = written(scope, "schedule_max_timesteps", 100_000)
    if not (is_number(value) and 0 <= value <= 1 and is_number(total)):
        raise NoCounterpartError("expected a number from 0 to 1; algo_cfg.epsilon_decay is here what it sets, in steps")
    settings = {"algo_cfg.epsilon_decay": max(1, round(value * total)), "algo_cfg.epsilon_schedule": "linear"}
    return Meaning(settings, f"of {total} steps")


def noise_scale(value: Any, scope: Scope) -> Meaning:
    """Translates the deviation of Ornstein-Uhlenbeck noise: its scale times sigma."""
    words = (
        (("exploration_config.ou_base_scale", 0.1), ("exploration_config.ou_sigma", 0.2))
        if written(scope, "exploration_config") is not None
        else (
            ("exploration_ou_noise_scale", written(scope, "noise_scale", 0.1)),
            ("exploration_ou_sigma", written(scope, "exploration_sigma", 0.2)),
        )
    )
    scale, sigma = (written(scope, word, default) for word, default in words)
    if not (is_number(scale) and is_number(sigma)):
        raise NoCounterpartError("expected a number above 0")
    return Meaning(dict.fromkeys(scope.algo("expl_noise"), round(scale * sigma, 6)), "scale times sigma")


@switch
def smooth_target(value: Any, scope: Scope) -> Meaning:
    return Meaning({} if value else {scope.algo("policy_noise")[0]: 0.0}, "TD3 always does")


def explore(value: Any, scope: Scope) -> Meaning:
    if value is True:
        return Meaning({}, "training explores, and tests do not")
    raise NoCounterpartError(f"training explores; {PROGRAM} evaluate NAME plays without exploration")


# -------------------------------------------------------------------------------------------- evaluation and files


def evaluation_interval(value: Any, scope: Scope) -> Meaning:
    if value == 0:
        return Meaning({"general_cfg.online_eval": False})
    saves = {"general_cfg.model_save_unit": "iteration", "general_cfg.model_save_fre": value}
    return Meaning({"general_cfg.online_eval": True, **saves}, "each evaluation saves a checkpoint too")


CHECKPOINTS = "checkpoints are written as general_cfg.model_save_fre says, and at the end, so that a run can go on"


def checkpoint_freq(value: Any, scope: Scope) -> Meaning:
    if value == 0:
        return Meaning({}, CHECKPOINTS)
    if written(scope, "evaluation_interval"):
        return Meaning({}, "each evaluation saves a checkpoint, and evaluation_interval says when")
    return Meaning({"general_cfg.model_save_unit": "iteration", "general_cfg.model_save_fre": value})


def evaluated_return(value: Any, scope: Scope) -> Meaning:
    settings = {"general_cfg.online_eval": True, "general_cfg.reward_threshold": value}
    return Meaning(settings, "in general_cfg.reward_threshold_limit evaluations in a row")


def explored_evaluation(value: Any, scope: Scope) -> Meaning:
    if value is False:
        return Meaning({}, "evaluation does not explore")
    raise NoCounterpartError("evaluation does not explore; eval_epsilon of DQN and its family is its own epsilon")


def evaluation_input(value: Any, scope: Scope) -> Meaning:
    if value == "sampler":
        return Meaning({}, "evaluation plays episodes")
    raise NoCounterpartError("evaluation plays episodes; leave it out")


def monitor(value: Any, scope: Scope) -> Meaning:
    if value is False:
        return Meaning({}, "no videos are made")
    if value is not True:
        raise NoCounterpartError(
            "expected true or false; general_cfg.video_fre is the number of episodes between videos"
        )
    remark = "a video of each 100th training episode, in videos/ of the task directory"
    return Meaning({"env_cfg.render_mode": FILM, "general_cfg.video_fre": 100}, remark)


def render_env(value: Any, scope: Scope) -> Meaning:
    if value is False:
        return Meaning({}, "env_cfg.render_mode renders")
    return Meaning({"env_cfg.render_mode": "human"})


def output(value: Any, scope: Scope) -> Meaning:
    if not isinstance(value, str):
        raise NoCounterpartError("expected a path; general_cfg.traces is a folder in the task directory")
    settings = {"general_cfg.traces": "results/traces"}
    return Meaning(settings, "in the task directory; algo_cfg.data reads it")


def compressed_columns(value: Any, scope: Scope) -> Meaning:
    if written(scope, "output") is None and not isinstance(value, list):
        raise NoCounterpartError("expected a list of columns, such as [obs, new_obs]")
    return Meaning({"general_cfg.traces_compress": value})


def max_file_size(value: Any, scope: Scope) -> Meaning:
    if not is_number(value) or value <= 0:
        raise NoCounterpartError("expected a number of bytes; general_cfg.traces_file_mb is in MiB")
    return Meaning({"general_cfg.traces_file_mb": value / 2**20}, "MiB")


def recorded(value: Any, scope: Scope) -> Meaning:
    """Translates the data to learn from."""
    if value == "sampler":
        return Meaning({}, "the run collects")
    if value == "dataset":
        if written(scope, "input_config") is None:
            raise NoCounterpartError("dataset needs input_config: {paths: FILES}; algo_cfg.data names them here")
        return Meaning({}, "input_config names the files")
    if isinstance(value, dict):
        raise NoCounterpartError("a mixture of data is algo_cfg.data: [FILES] with algo_cfg.data_share")
    if isinstance(value, str) and value.startswith("d4rl."):
        kept = f"minari:mujoco/{_minari(value)}"
        return Meaning(dict.fromkeys(scope.algo("data"), kept), "Minari has the sets of D4RL for present environments")
    return Meaning(dict.fromkeys(scope.algo("data"), value))


def _minari(name: str) -> str:
    """Returns the name of a set of Minari for one of D4RL, such as hopper/medium-v0 for d4rl.hopper-medium-v0."""
    env_name, _, kind = re.sub(r"-v\d+$", "", name.removeprefix("d4rl.")).partition("-")
    return f"{env_name}/{kind or 'medium'}-v0"


def data_files(value: Any, scope: Scope) -> Meaning:
    paths = value.get("paths", value.get("path")) if isinstance(value, dict) else None
    if paths is None:
        raise NoCounterpartError("expected {paths: FILES}; algo_cfg.data names them here")
    return Meaning(dict.fromkeys(scope.algo("data"), paths))


def log_level(value: Any, scope: Scope) -> Meaning:
    return Meaning({"general_cfg.log_level": {"WARN": "warning"}.get(str(value), str(value).lower())})


def callbacks(value: Any, scope: Scope) -> Meaning:
    if not isinstance(value, str):
        raise NoCounterpartError("write a class as general_cfg.callbacks: my_module:MyCallbacks (docs/python.md)")
    name = value if ":" in value or "." not in value else ":".join(value.rsplit(".", 1))
    return Meaning({"general_cfg.callbacks": name})


def repeats(value: Any, scope: Scope) -> Meaning:
    if value in (1, "1"):
        return Meaning({}, "an experiment is one run")
    return Meaning({}, f"an experiment is one run; --seeds 1..{value} trains {value}")


def checkpoint_config(value: Any, scope: Scope) -> Meaning:
    if value in ({}, {"checkpoint_at_end": True}):
        return Meaning({}, "a checkpoint is written at the end")
    raise NoCounterpartError(
        "write checkpoint_freq in its place, or general_cfg.keep_checkpoints in a section of config"
    )


# ------------------------------------------------------------------------------------------------- algorithms

PRIORITIES = {"algo_cfg.buffer_type": "PER", "algo_cfg.n_step": 3}
RAY = {"general_cfg.mp_backend": "ray"}
ALGORITHMS: Mapping[str, tuple[str, Settings, str]] = {
    "PG": ("REINFORCE", {}, "the same algorithm"),
    "SIMPLEQ": ("DQN", {"algo_cfg.double": False},
                "DQN without double, dueling and priorities, which are off unless they are written"),
    "SIMPLE_Q": ("DQN", {"algo_cfg.double": False},
                 "DQN without double, dueling and priorities, which are off unless they are written"),
    "APEX": ("DQN", {**PRIORITIES, "algo_cfg.double": True, "algo_cfg.dueling": True, **RAY},
             "DQN with priorities, 3 steps, and workers of Ray; all workers explore alike"),
    "APEX_DQN": ("DQN", {**PRIORITIES, "algo_cfg.double": True, "algo_cfg.dueling": True, **RAY},
                 "DQN with priorities, 3 steps, and workers of Ray; all workers explore alike"),
    "APEX_DDPG": ("DDPG", {**PRIORITIES, **RAY},
                  "DDPG with priorities, 3 steps, and workers of Ray; all workers explore alike"),
    "APEX_DDPG2": ("DDPG", {**PRIORITIES, **RAY},
                   "DDPG with priorities, 3 steps, and workers of Ray; all workers explore alike"),
    "DDPG2": ("DDPG", {}, "an earlier name"),
    "DDPG_BASELINES": ("DDPG", {}, "an earlier name"),
    "APPO": ("PPO", RAY, "PPO with workers of Ray that run ahead by general_cfg.run_ahead windows, and no V-trace"),
    "DDPPO": ("PPO", RAY, "PPO with workers of Ray; general_cfg.n_learners shares the learning"),
    "R2D2": ("DRQN", {}, "DQN with recurrent layers, without priorities of sequences"),
}  # fmt: skip
"""RLlib's algorithm in upper case -> the one here, settings that it has unless others are written, and a remark."""


_DISCRETE = re.compile(
    r"(^|:)ALE/|(NoFrameskip|Deterministic)-v\d|^(CartPole|Acrobot|MountainCar|LunarLander|FrozenLake|Taxi)-"
)
"""Ids of environments whose actions are Discrete."""


def algorithm_here(name: Any, words: Mapping[str, Any]) -> tuple[Any, Settings, str]:
    """Returns the algorithm here for one of RLlib's, settings that it has unless others are written, and a remark.
    words: all others that are written."""
    ours, settings, remark = ALGORITHMS.get(str(name).upper().replace("-", "_"), (name, {}, ""))
    atoms_written = words.get("num_atoms")
    if str(ours).upper() == "DQN" and isinstance(atoms_written, int) and atoms_written > 1:
        return "C51", settings, f"{remark}{'; ' if remark else ''}DQN with num_atoms is C51"
    if str(ours).upper() == "SAC" and isinstance(words.get("env"), str) and _DISCRETE.search(words["env"]):
        return "SAC_D", settings, "SAC for Discrete actions"
    return ours, settings, remark
