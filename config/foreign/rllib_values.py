"""Translations of RLlib's words whose values mean something else here. config/foreign/rllib_keys.py attaches each
function to the words that it translates."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from config.foreign.cases import Meaning, NoCounterpartError
from config.foreign.table import Scope, Translation
from config.foreign.values import Settings, linear, rates
from config.model.fields import is_number
from config.model.memory_spec import whole_rounds
from config.model.schema import FILM
from config.own import objects as own
from config.tell.language import tr

LISTS = ("value_layers", "actor_layers", "critic_layers")
_ACTIVATIONS = {None: "none", "linear": "none", "swish": "silu", "leaky_relu": "leakyrelu"}


def of_ale(scope: Scope) -> bool:
    """Returns True for a game of ale_py on its own vector environment, which scales, stacks and grays the pictures."""
    return "ALE/" in str(scope.value("env_cfg.id")) and scope.value("env_cfg.vectorization") == "native"


def counts_whole_error(scope: Scope) -> bool:
    """Returns True for PPO without V-trace, whose value function has all of the squared error as its loss there."""
    fields = scope.models["algo_cfg"].model_fields
    return "eps_clip" in fields and not ("vtrace" in fields and fields["vtrace"].default)


def not_recurrent(scope: Scope) -> bool:
    return not any(_model(scope, word) is True for word in ("use_lstm", "use_attention"))


def without_hiddens(scope: Scope) -> bool:
    """Returns True if the layers of `post_fcnet_hiddens` are the only ones."""
    return _model(scope, "fcnet_hiddens") == []


def waits(scope: Scope) -> bool:
    """Returns True for an algorithm whose workers wait for the learner unless general_cfg.run_ahead is written."""
    return not getattr(scope.models.get("algo_cfg"), "RUN_AHEAD", 0)


def learns_offline(scope: Scope) -> bool:
    """Returns True for an algorithm that learns from data alone, and counts updates."""
    return bool(getattr(scope.models.get("algo_cfg"), "OFFLINE", False))


def plays_nothing(scope: Scope) -> bool:
    """Returns True for a run whose transitions are all recorded."""
    recorded = scope.word("input", "sampler")
    return learns_offline(scope) or (recorded != "sampler" and not isinstance(recorded, dict))


# ----------------------------------------------------------------------------------------------------- networks


def layers(value: Any, scope: Scope) -> Meaning:
    """Translates all words of `model` that are layers at once, with RLlib's defaults for the others."""
    own_lists = _own_lists(scope)
    lists = [path for path in scope.algo(*LISTS) if path.partition(".")[2] not in own_lists]
    if not lists:
        return Meaning({}, tr("the words for actor and critic name the layers"))
    image = of_ale(scope)
    if image and not _matters_for_images(scope):
        return Meaning({}, tr("a game has the default convolutions for its pictures"))
    built = list(_trunk(scope, image)) + list(_head(scope))
    if shares_layers(scope) and len(lists) > 1:
        name = f"{scope.policy}_trunk" if scope.policy else "trunk"  # each policy has layers of its own
        built = [{**layer, "shared": f"{name}_{number}"} for number, layer in enumerate(_single(built), start=1)]
    return Meaning(dict.fromkeys(lists, built))


def shares_layers(scope: Scope) -> bool:
    """Returns True if policy and value function of an algorithm have their layers in common."""
    return _model(scope, "vf_share_layers") is True


def _model(scope: Scope, word: str, default: Any = None) -> Any:
    """Returns the value of a word of `model`, which old files have beside it."""
    return scope.word(f"model.{word}", scope.word(word, default))


def _own_lists(scope: Scope) -> set[str]:
    """Returns the lists of layers that words beside `model` name."""
    words = {
        "actor_layers": ("actor_hiddens", "policy_model", "policy_model_config"),
        "critic_layers": ("critic_hiddens", "Q_model", "q_model_config"),
    }
    return {name for name, own in words.items() if any(scope.word(word) is not None for word in own)}


def _matters_for_images(scope: Scope) -> bool:
    """Returns True if the convolutions have to be written: fcnet_hiddens are not used with pictures."""
    words = ("conv_filters", "post_fcnet_hiddens", "use_lstm", "use_attention", "custom_model")
    other = _activation(scope, "conv_activation", "relu") != "relu"
    return other or shares_layers(scope) or any(_model(scope, word) for word in words)


def _trunk(scope: Scope, image: bool) -> Iterator[Settings]:
    """Yields convolutions or linear layers."""
    if module := _model(scope, "custom_model"):
        options = _own_options(scope)
        yield {"layer_type": "custom", "module": module, **({"options": options} if options else {})}
        return
    dim = _model(scope, "dim", 84)
    filters = _model(scope, "conv_filters") or (DEFAULT_FILTERS.get(dim) if image else None)
    if filters:
        yield from convolutions(filters, dim, _activation(scope, "conv_activation", "relu"))
        if hiddens := _model(scope, "post_fcnet_hiddens"):
            yield linear(hiddens, _activation(scope, "post_fcnet_activation", "relu"))
        return
    first, last = _model(scope, "fcnet_hiddens", [256, 256]), _model(scope, "post_fcnet_hiddens", [])
    if sizes := [size for part in (first, last) for size in (part if isinstance(part, list) else [part])]:
        kind = ("fcnet_activation", "tanh") if first else ("post_fcnet_activation", "relu")
        yield linear(sizes, _activation(scope, *kind))


def _own_options(scope: Scope) -> Any:
    """Returns the options of a model and of a preprocessor of the user's own."""
    return _model(scope, "custom_model_config", _model(scope, "custom_options", {}))


def own_options(value: Any, scope: Scope) -> Meaning:
    """Translates the options of a model, of a preprocessor, or of both."""
    if not _model(scope, "custom_preprocessor"):
        return layers_with("custom_model")(value, scope)
    settings = layers(value, scope).settings if _model(scope, "custom_model") else {}
    return Meaning({**settings, **wrappers(value, scope).settings})


def _head(scope: Scope) -> Iterator[Settings]:
    """Yields what follows the trunk: a recurrent layer, and the hidden layers of a value network."""
    if _model(scope, "use_lstm") is True:
        yield {"layer_type": "lstm", "layer_size": [_model(scope, "lstm_cell_size", 256)]}
    if _model(scope, "use_attention") is True:
        yield from _attention(scope)
    if (sizes := scope.word("hiddens")) and scope.has("algo_cfg.value_layers"):
        yield linear(sizes, "relu")


def _attention(scope: Scope) -> Iterator[Settings]:
    """Yields a layer for each transformer unit."""
    if _model(scope, "use_lstm") is True:
        raise NoCounterpartError("use_lstm and use_attention are both true; keep one of them")
    units, window = _model(scope, "attention_num_transformer_units", 1), _model(scope, "attention_memory_inference", 50)
    for _ in range(units if isinstance(units, int) else 1):
        size, heads = _model(scope, "attention_dim", 64), _model(scope, "attention_num_heads", 1)
        yield {"layer_type": "attention", "layer_size": [size], "window": window, "heads": heads}


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
    outputs = -(-size // stride)
    return max(0, -(-((outputs - 1) * stride + kernel - size) // 2))


def activation_of(name: Any) -> Any:
    return _ACTIVATIONS.get(name, name) if isinstance(name, str | None) else name


def _activation(scope: Scope, word: str, default: str) -> Any:
    """Returns an activation of `model`. A null that is written is none here, and not the default."""
    names = (word, f"model.{word}")
    cells = [source.foreign[name] for source in scope.sources for name in names if name in source.foreign]
    return activation_of(cells[-1][0] if cells else default)


def layers_with(word: str) -> Translation:
    """Returns a translation of a word of layers that is read with another word of `model`."""

    def translation(value: Any, scope: Scope) -> Meaning:
        if _model(scope, word) or (word == "conv_filters" and of_ale(scope)):
            return layers(value, scope)
        return Meaning({}, tr("it is read with {word}", word=word))

    return translation


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
        hidden, function = scope.word(sizes, [400, 300]), activation_of(scope.word(activation, "relu"))
        return Meaning(dict.fromkeys(scope.algo(name), [linear(hidden, function)] if hidden else []))

    return translation


def network(*names: str) -> Translation:
    """Returns a translation of a mapping of one network. names: of our lists, of which the first that exists is set."""

    def translation(value: Any, scope: Scope) -> Meaning:
        words = ("fcnet_hiddens", "fcnet_activation", "hidden_layer_sizes", "hidden_activation")
        if strange := [word for word in value if word not in words and value[word] is not None]:
            raise NoCounterpartError(
                "{word}: write the layers as {setting}", word=strange[0], setting=scope.algo(*names)[0]
            )
        sizes = value.get("fcnet_hiddens", value.get("hidden_layer_sizes", [256, 256]))
        function = activation_of(value.get("fcnet_activation", value.get("hidden_activation", "relu")))
        return Meaning({scope.algo(*names)[0]: [linear(sizes, function)] if sizes else []})

    return translation


# ------------------------------------------------------------------------------------------------- environments


def env(value: Any, scope: Scope) -> Meaning:
    """Names what became of an id; config/foreign/rllib.py puts it before all other words, in the source that has it: a
    stronger one may have another."""
    scope = Scope(scope.models, [source for source in scope.sources if source.foreign.get("env", ("",))[0] == value])
    now = scope.value("env_cfg.id")
    if value == now:
        return Meaning({"env_cfg.id": now})
    settings = {"env_cfg.id": now, **({"env_cfg.vectorization": "native"} if of_ale(scope) else {})}
    return Meaning(settings, tr("its own vector version: gray pixels, 4 frames") if of_ale(scope) else "")


def env_config(value: Any, scope: Scope) -> Meaning:
    """Translates the arguments of an environment."""
    settings = {key: part for key, part in value.items() if not (of_ale(scope) and key == "frameskip" and part == 1)}
    remark = (
        tr("frameskip 1 is left out: each action is repeated 4 times, as by RLlib")
        if len(settings) < len(value)
        else ""
    )
    return Meaning({f"env_cfg.{key}": argument for key, argument in settings.items()}, remark)


EXAMPLES: Mapping[str, tuple[str, Settings]] = {
    "StatelessCartPole": ("CartPole-v1", {"wrappers": [{"wrapper_name": "SelectObservation", "indices": [0, 2]}]}),
}
"""Class of RLlib's examples -> the id here, and settings of env_cfg."""


def example_here(name: str) -> tuple[str, Settings]:
    """Returns id and settings of env_cfg for a class of RLlib's examples; any other name unchanged."""
    counterpart = EXAMPLES.get(name.rpartition(".")[2]) if name.startswith("ray.rllib.examples") else None
    return counterpart or (name, {})


def wrappers(value: Any, scope: Scope) -> Meaning:
    """Translates grayscale, dim and custom_preprocessor together."""
    preprocessor, size = _model(scope, "custom_preprocessor"), _model(scope, "dim", 84)
    resized = [] if size == 84 else [{"wrapper_name": "Resize", "shape": size}]
    gray = ["GrayScale"] if _model(scope, "grayscale") is True else []
    options = _own_options(scope)
    if not isinstance(options, dict):
        raise NoCounterpartError("expected a mapping (name: value)")
    mine = [{"wrapper_name": preprocessor, **options} if options else preprocessor] if preprocessor else []
    return Meaning({"env_cfg.wrappers": [*gray, *resized, *mine]})


def filmed(value: Any, scope: Scope) -> Meaning:
    remark = tr("a video of each 100th training episode, in videos/ of the task directory")
    return Meaning({"env_cfg.render_mode": FILM, "general_cfg.video_fre": 100}, remark)


# ------------------------------------------------------------------------------------------------------- learning


STEPS_OF_THE_RUN = (
    "timesteps_total", "num_env_steps_sampled", "num_env_steps_sampled_lifetime", "agent_timesteps_total",
    "env_runners/num_env_steps_sampled_lifetime",
)  # fmt: skip
"""Stop rules that are general_cfg.max_total_step here."""


def over_the_run(setting: str) -> Translation:
    """Returns a translation of points [step, value] with straight lines between them into a schedule, whose places are
    fractions of the run. Without any limit the run is as long as they are; one that is not known in steps is refused:
    it would move the points. setting: lr stands for all rates."""

    def translation(value: Any, scope: Scope) -> Meaning:
        paths, points = rates(scope) if setting == "lr" else scope.algo(setting), _points(value)
        size = scope.number("algo_cfg.batch_size") if learns_offline(scope) else None
        other = {"max_episode": "episodes_total"} | ({} if size else {"max_update": ""})
        if limit := next((name for name, word in other.items() if _limit(scope, name, word)), None):
            raise NoCounterpartError(
                "its points are steps, and {limit} may end the run; write {setting}, such as {example}, over the "
                   "fraction of the run", limit=limit, setting=paths[0], example="{linear: [0.001, 0.0001]}"
            )  # fmt: skip
        amount = ("max_update", size) if size else ("max_total_step", 1)
        limits = [_limit(scope, amount[0], *STEPS_OF_THE_RUN, size=amount[1]), _steps_of_iterations(scope, size)]
        total = min(filter(None, limits), default=None)
        if total is None and _limit(scope, "max_time", "time_total_s"):
            raise NoCounterpartError(
                "its points are steps, and the clock alone ends the run; add a limit in steps, such as timesteps_total"
            )
        length = {} if total else {f"general_cfg.{amount[0]}": max(1, round(points[-1][0] / amount[1]))}
        total = total or points[-1][0]
        if not total:
            return Meaning(dict.fromkeys(paths, points[-1][1]))
        remark = tr("over the {steps:,} steps of the run", steps=round(total))
        return Meaning({**dict.fromkeys(paths, _schedule(points, total)), **length}, remark)

    return translation


def _limit(scope: Scope, name: str, *words: str, size: float = 1) -> float | None:
    """Returns a limit of the run that is written, or was by a run that goes on, by our name or as a stop rule; None
    without one. size: steps that one of ours counts for."""
    goes_on = scope.value("general_cfg.load_checkpoint") is True
    for source in reversed([*scope.sources]):
        alone = Scope(scope.models, [source] if source.written or goes_on else [])
        for number, factor in ((alone.value(f"general_cfg.{name}"), size), *((alone.word(word), 1) for word in words)):
            if number is not None:
                return float(number * factor) if is_number(number) and number > 0 else None
    return None


def _steps_of_iterations(scope: Scope, size: float | None) -> float | None:
    """Returns the steps of all iterations that limit the run; None without such a limit. size: steps of the data that
    an update counts for, in a run that learns from them alone."""
    count = _limit(scope, "max_iteration", "training_iteration")
    if count is None:
        return None
    written = (scope.word(word) for word in STEPS_OF_AN_ITERATION)
    steps = next((number for number in written if is_number(number)), None) or scope.number(ITERATION)
    if any(map(scope.word, COUNTED_IN_ITERATIONS)):
        steps = _iteration(scope).settings.get(ITERATION, steps)
    return count * (steps * size if size else whole_rounds(steps, _of_round(scope)))


def _of_round(scope: Scope) -> int:
    """Returns the environment steps of a round: a window, or a fragment of each row for a replay memory."""
    model: Any = scope.models["algo_cfg"]
    rows = _rows_of_round(scope)
    numbers = {key: value for key, value in scope.written("algo_cfg").items() if is_number(value) and value > 0}
    return int(model.model_construct(**numbers).memory(rows).fragment) * rows


def _points(value: Any) -> list[tuple[float, float]]:
    """Reads points [step, value]."""
    pairs = value if isinstance(value, list) else []
    numbers = [tuple(pair) for pair in pairs if isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair))]
    steps = [step for step, _ in numbers]
    if not numbers or len(numbers) < len(pairs) or steps != sorted(steps) or steps[0] < 0:
        raise NoCounterpartError(
            "expected points [step, value] in the order of their steps, such as {example}",
               example="[[0, 0.001], [1000000, 0.0001]]"
        )  # fmt: skip
    return [(float(step), float(number)) for step, number in numbers]


def _schedule(points: list[tuple[float, float]], total: float) -> Settings:
    """Returns the schedule of points [step, value] in a run of so many steps; later ones are out of its reach."""
    within = [point for point in points if point[0] <= total]
    if not within:
        return {"constant": points[0][1]}
    if len(within) < len(points):
        (begin, first), (end, last) = within[-1], points[len(within)]
        within.append((total, first + (last - first) * (total - begin) / (end - begin)))
    if [step for step, _ in within] == [0.0, total]:
        return {"linear": [number for _, number in within]}
    return {"piecewise": [[step / total, number] for step, number in within]}


def optimizer(value: Any, scope: Scope) -> Meaning:
    """Translates a mapping of weight decay and words of old workers."""
    of_workers = ("num_replay_buffer_shards", "grads_per_step", "debug", "max_weight_sync_delay", "betas")
    if strange := [word for word in value if word not in (*of_workers, "weight_decay", "type")]:
        raise NoCounterpartError("{word}: write algo_cfg.optimizer and algo_cfg.weight_decay", word=strange[0])
    settings = {"weight_decay": value.get("weight_decay"), "optimizer": value.get("type")}
    if value.get("betas", [0.9, 0.999]) != [0.9, 0.999]:
        settings["adam_betas"] = value["betas"]
    return Meaning(
        {scope.algo(key)[0]: part for key, part in settings.items() if part is not None}, tr("Ray shares the work")
    )


def train_batch(value: Any, scope: Scope) -> Meaning:
    """Translates the size of a window, of which a minibatch is a part."""
    settings = dict.fromkeys(scope.algo("batch_size"), value)
    whole = scope.has("algo_cfg.sgd_batch_size") and type(value) is int and value > 0
    if whole and value < scope.number("algo_cfg.sgd_batch_size"):
        settings["algo_cfg.sgd_batch_size"] = value
    return Meaning(settings)


def of_learners(setting: str) -> Translation:
    """Returns a translation of a size for each learner; here they share one."""

    def translation(value: Any, scope: Scope) -> Meaning:
        count = int(scope.number("general_cfg.n_learners")) if scope.has("general_cfg.n_learners") else 1
        size = value * count if is_number(value) else value
        whole = setting == "batch_size" and not any(scope.word(word) is not None for word in MINIBATCH)
        settings = train_batch(size, scope).settings if whole else dict.fromkeys(scope.algo(setting), size)
        return Meaning(settings, f"{value} x n_learners {count}" if size != value else "")

    return translation


def fragment(value: Any, scope: Scope) -> Meaning:
    """Translates steps of each row between updates. One update follows those of all workers, unless a word says how
    many do; the learner of Ape-X does not wait for them."""
    rows, workers = _rows(scope), 1 if str(scope.word("run")).upper().startswith("APEX") else _workers(scope)
    steps = {path: value * rows * workers for path in scope.algo("train_fre")}
    counts = {"n_envs": rows, "n_workers": workers}
    remark = " x ".join([f"{value}", *(f"{name} {count}" for name, count in counts.items() if count > 1)])
    remark = remark if rows * workers > 1 else ""
    chosen = any(scope.word(word) is not None for word in ("training_intensity", "updates_per_train"))
    by_hand = any(
        source.written and "updates_per_train" in source.sections.get("algo_cfg", {}) for source in scope.sources
    )
    return Meaning(steps if chosen or by_hand else steps | dict.fromkeys(scope.paths("updates_per_train"), 1), remark)


def _rows(scope: Scope) -> int:
    """Returns the number of environments, which each collect a fragment."""
    return int(scope.number("env_cfg.n_envs")) if scope.has("env_cfg.n_envs") else 1


def _workers(scope: Scope) -> int:
    """Returns the number of workers of Ray; 1 in one process."""
    ray = scope.value("general_cfg.mp_backend") == "ray" and scope.has("general_cfg.n_workers")
    return int(scope.number("general_cfg.n_workers")) if ray else 1


def _rows_of_round(scope: Scope) -> int:
    """Returns the rows that collect a round together: those of all workers that do not run ahead of one another."""
    ahead = scope.value("general_cfg.run_ahead")
    model: Any = scope.models["algo_cfg"]
    return _rows(scope) * (1 if (model.RUN_AHEAD if ahead is None else ahead) else _workers(scope))


def iterations(value: Any, scope: Scope) -> Meaning:
    """Translates the number of iterations of a run."""
    settings, remark = _iteration(scope)
    return Meaning({"general_cfg.max_iteration": value, **settings}, remark)


def checkpoints(value: Any, scope: Scope) -> Meaning:
    """Translates the number of iterations between two checkpoints. Each evaluation saves one, too, so that they are
    among those if their number is a multiple."""
    between = scope.word("evaluation_interval")
    if not between:
        return _save_points(value, scope)
    if not (is_number(value) and is_number(between)) or value % between:
        raise NoCounterpartError(
            "checkpoints come with the evaluations here, and evaluation_interval is {number}; write a multiple of it",
            number=between,
        )
    return Meaning({}, tr("each evaluation saves a checkpoint, and evaluation_interval says when"))


def evaluations(value: Any, scope: Scope) -> Meaning:
    """Translates the number of iterations between two evaluations."""
    settings, remark = _save_points(value, scope)
    each = tr("each evaluation saves a checkpoint too")
    return Meaning({"general_cfg.online_eval": True, **settings}, "; ".join(filter(None, (each, remark))))


def _save_points(value: Any, scope: Scope) -> Meaning:
    settings, remark = _iteration(scope)
    save = {"general_cfg.model_save_unit": "iteration", "general_cfg.model_save_fre": value}
    return Meaning({**save, **settings}, remark)


def _iteration(scope: Scope) -> Meaning:
    """Returns the settings of an iteration, for what is counted in them. Where a window is learned in minibatches, one
    is a train batch there, unless its steps are written; those of other algorithms are ended by a clock or by steps."""
    if any(map(scope.word, STEPS_OF_AN_ITERATION)) or scope.value(ITERATION) is not None:
        return Meaning({})
    if scope.has("algo_cfg.sgd_batch_size") and any(is_number(scope.word(word)) for word in TRAIN_BATCH):
        rows = _rows_of_round(scope)
        window = max(1, int(scope.number("algo_cfg.batch_size")) // rows) * rows  # each row has the same steps
        return Meaning({ITERATION: window}, tr("an iteration is a train batch"))
    steps = int(scope.number(ITERATION))
    return Meaning({}, tr("an iteration has {steps:,} environment steps, or more: {key}", steps=steps, key=ITERATION))


ITERATION = "general_cfg.iteration_steps"
COUNTED_IN_ITERATIONS = ("training_iteration", "evaluation_interval", "checkpoint_freq")
"""Words that count iterations."""
TRAIN_BATCH = ("train_batch_size", "train_batch_size_per_learner", "timesteps_per_batch")
"""Words for the size of a train batch."""
MINIBATCH = ("sgd_minibatch_size", "minibatch_size", "sgd_batchsize")
"""Words for the size of a minibatch."""
STEPS_OF_AN_ITERATION = (
    "timesteps_per_iteration", "min_sample_timesteps_per_reporting", "min_sample_timesteps_per_iteration",
)  # fmt: skip
"""Words for the environment steps of an iteration."""


# ---------------------------------------------------------------------------------------------------- exploration


def epsilon(value: Any, scope: Scope) -> Meaning:
    """Translates points [step, value] of epsilon: a line in steps, or else a schedule over the run."""
    points = _points(value)
    if len(points) != 2 or points[0][0] > 0:
        return over_the_run("epsilon")(value, scope)
    (_, start), (steps, end) = points
    settings = {"epsilon_start": start, "epsilon_end": end, "epsilon_decay": max(1, round(steps))}
    scope.algo("epsilon_decay")
    return Meaning({f"algo_cfg.{key}": value for key, value in {**settings, "epsilon_schedule": "linear"}.items()})


def epsilon_fraction(value: Any, scope: Scope) -> Meaning:
    """Translates a share of schedule_max_timesteps."""
    total = scope.word("schedule_max_timesteps", 100_000)
    if not (is_number(value) and 0 <= value <= 1 and is_number(total)):
        raise NoCounterpartError("expected a number from 0 to 1; algo_cfg.epsilon_decay is here what it sets, in steps")
    settings = {"algo_cfg.epsilon_decay": max(1, round(value * total)), "algo_cfg.epsilon_schedule": "linear"}
    return Meaning(settings, tr("of {steps} steps", steps=total))


def noise_scale(value: Any, scope: Scope) -> Meaning:
    """Translates the deviation of Ornstein-Uhlenbeck noise: its scale times sigma."""
    words = (
        (("exploration_config.ou_base_scale", 0.1), ("exploration_config.ou_sigma", 0.2))
        if scope.word("exploration_config") is not None
        else (
            ("exploration_ou_noise_scale", scope.word("noise_scale", 0.1)),
            ("exploration_ou_sigma", scope.word("exploration_sigma", 0.2)),
        )
    )
    scale, sigma = (scope.word(word, default) for word, default in words)
    if not (is_number(scale) and is_number(sigma)):
        raise NoCounterpartError("expected a number above 0")
    return Meaning(dict.fromkeys(scope.algo("expl_noise"), round(scale * sigma, 6)), tr("scale times sigma"))


# -------------------------------------------------------------------------------------------- evaluation and files


def minari_of_d4rl(value: Any, scope: Scope) -> Meaning:
    """Translates a set of D4RL such as d4rl.hopper-medium-v0, which Minari has as hopper/medium-v0."""
    env_name, _, kind = re.sub(r"-v\d+$", "", value.removeprefix("d4rl.")).partition("-")
    name = f"minari:mujoco/{env_name}/{kind or 'medium'}-v0"
    return recorded(name, scope)._replace(remark=tr("Minari has the sets of D4RL for present environments"))


def data_files(value: Any, scope: Scope) -> Meaning:
    """Translates the paths of a mapping."""
    paths = value.get("paths", value.get("path"))
    if paths is None:
        raise NoCounterpartError("expected {paths: FILES}; algo_cfg.data names them here")
    return recorded(paths, scope)


def _refuse_function(value: Any) -> None:
    """Raises NoCounterpartError for a function of a program, which stands here by its name."""
    if isinstance(value, str) and (own.is_registered(value) or own.comes_from_python(value)):
        raise NoCounterpartError(
            "expected a path, and no function; a run steps its environment itself, and joystick.load(NAME).act(obs) "
            "gives actions to a program outside"
        )


def traced(value: Any, scope: Scope) -> Meaning:
    """Translates where transitions are written to."""
    _refuse_function(value)
    return Meaning({"general_cfg.traces": "results/traces"}, tr("in the task directory; algo_cfg.data reads it"))


def recorded(value: Any, scope: Scope) -> Meaning:
    """Translates recorded data, from which alone a run learns in RLlib."""
    _refuse_function(value)
    settings = dict.fromkeys(scope.algo("data"), value)
    kind: Any = scope.models["algo_cfg"]
    collects = scope.has("algo_cfg.offline_updates") and not (kind.OFFLINE or getattr(kind, "IMITATES", False))
    if not collects or scope.value("algo_cfg.offline_updates") is not None:
        return Meaning(settings)
    alone = {"algo_cfg.offline_updates": -1}
    return Meaning(settings | alone, tr("the run learns from the data alone; general_cfg.max_update is its length"))


def mixture(value: Any, scope: Scope) -> Meaning:
    """Translates shares of one source of data and of what is collected."""
    [*files] = (name for name in value if name != "sampler")
    shares = list(value.values())
    if len(files) != 1 or not all(is_number(share) and share >= 0 for share in shares) or not sum(shares):
        raise NoCounterpartError("a mixture of data is algo_cfg.data: [FILES] with algo_cfg.data_share")
    if not value.get("sampler"):
        return recorded(files[0], scope)
    paths = (*scope.algo("data"), *scope.algo("data_share"))
    return Meaning(dict(zip(paths, (files[0], value[files[0]] / sum(shares)), strict=True)))


def log_level(value: Any, scope: Scope) -> Meaning:
    return Meaning({"general_cfg.log_level": {"WARN": "warning"}.get(str(value), str(value).lower())})


def callbacks(value: Any, scope: Scope) -> Meaning:
    """Translates the path of a class, whose module stands before a colon here."""
    name = value if ":" in value or "." not in value else ":".join(value.rsplit(".", 1))
    return Meaning({"general_cfg.callbacks": name})
