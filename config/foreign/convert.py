"""Converts a YAML file of JoyRL: python main.py convert OLD.yaml > NEW.yaml, with a comment for each change."""

from collections.abc import Callable, Iterator
from typing import Any, get_args

import yaml

from config import policies
from config.config import GeneralConfig
from config.error_text import shown
from config.fields import steps_of_factor
from config.finder import Finder
from config.foreign import joyrl
from config.foreign import names as foreign_names
from config.loader import ConfigError
from config.names import printable
from config.opening import named
from config.run_config import SECTIONS
from config.schema import AlgoConfig, EnvConfig, Strict
from config.yaml_reader import DocumentError, Dumper, read

Settings = dict[str, Any]
Branch = tuple[str, list[Settings]]
"""Name and layers of a part of a network."""
LOST = "Not converted; look for a setting that does the same:"
NEEDLESS = "Left out, since nothing is needed here:"


def converted(path: str, find_algo: Finder, find_env: Finder) -> str:
    """Returns the text of the new file. Keys without a counterpart become comments at its top."""
    try:
        document = read(path, named)
    except DocumentError as error:
        raise ConfigError([str(error)]) from None
    value = document.value
    if not isinstance(value, dict):
        raise ConfigError([f"{path}: got {shown(value)}; expected the sections {', '.join(SECTIONS)}"])
    if not any(name in value for name in SECTIONS):
        message = f"has none of the sections {', '.join(SECTIONS)}: it is not a file of JoyRL"
        raise ConfigError([f"{path}: {message}{foreign_names.origin(value)}"])
    if wrong := [name for name in SECTIONS if not isinstance(value.get(name) or {}, dict)]:
        raise ConfigError([f"{path}: {name}: expected lines of the form name: value" for name in wrong])
    old = {name: dict(value.get(name) or {}) for name in SECTIONS}
    work = _Conversion(old, find_algo, find_env)
    for key in value:
        if key not in (*SECTIONS, policies.SECTION):
            work.omit(LOST, str(key), value[key], f"the sections are {', '.join(SECTIONS)}")
    work.run()
    kept = {key: value[key] for key in value if key == policies.SECTION}
    return work.text() + (yaml.dump(kept, Dumper=Dumper, sort_keys=False, allow_unicode=True) if kept else "")


class _Conversion:
    """Rewrites the three sections, and keeps a comment for each change."""

    def __init__(self, old: dict[str, Settings], find_algo: Finder, find_env: Finder) -> None:
        self.old, self.find_algo, self.find_env = old, find_algo, find_env
        self.new: dict[str, Settings] = {name: {} for name in SECTIONS}
        self.comments: dict[tuple[str, str], str] = {}
        self.omitted: dict[str, list[str]] = {LOST: [], NEEDLESS: []}
        self.algo: type[AlgoConfig] = AlgoConfig
        self.env: type[EnvConfig] = EnvConfig

    def run(self) -> None:
        self._names()
        models: dict[str, type[Strict]] = {"general_cfg": GeneralConfig, "algo_cfg": self.algo, "env_cfg": self.env}
        self._networks()
        for section, settings in self.old.items():
            for key, value in settings.items():
                self._setting(section, key, value, models)
        self._processes()
        self._wrappers()

    def put(self, section: str, key: str, value: Any, comment: str = "") -> None:
        self.new[section][key] = value
        if comment:
            self.comments[section, key] = comment

    def omit(self, heading: str, path: str, value: Any, why: str) -> None:
        """Notes a setting that the new file does not have."""
        self.omitted[heading].append(f"{path}: {shown(value).removesuffix(' (text)')} ({why})")

    def _names(self) -> None:
        """Converts the names of algorithm and environment."""
        general, env = self.old["general_cfg"], self.old["env_cfg"]
        algo = str(general.pop("algo_name", None) or "DQN")
        meant = joyrl.ALGOS.get(algo.lower(), algo)
        try:
            package = self.find_algo.get(meant) if "." not in meant else None
        except LookupError:
            package = None
        if package:
            self.algo, meant = package.Config, package.NAME
        else:
            self.omit(LOST, "general_cfg.algo_name", algo, "there is no such algorithm here")
        self.put("general_cfg", "algo_name", meant, f"was {algo}" if meant != algo else "")
        kind = str(general.pop("env_name", None) or "gym")
        if kind not in self.find_env.available():
            self.put("general_cfg", "env_name", "gym", f"was {kind}, now env_cfg.id")
            env.setdefault("id", kind)
            kind = "gym"
        else:
            self.put("general_cfg", "env_name", kind)
        package = self.find_env.get(kind)
        self.env = package.Config
        if isinstance(env.get("id"), str):
            self._id(env.pop("id"), getattr(package, "current_id", str))

    def _id(self, old: str, current_id: Callable[[str], str]) -> None:
        """Converts the id of an environment that has another name or version here."""
        name, arguments = joyrl.ENVS.get(old, (old, {}))
        name = current_id(name)
        was_kind = self.comments.get(("general_cfg", "env_name")) == f"was {old}, now env_cfg.id"
        self.put("env_cfg", "id", name, f"was {old}" if name != old and not was_kind else "")
        for key, value in arguments.items():
            self.put("env_cfg", key, value, "from the old id")

    def _setting(self, section: str, key: str, value: Any, models: dict[str, type[Strict]]) -> None:
        """Converts one setting: as it is, by another name, in another section, or as a comment."""
        name = models[section].field_name(key)
        if name == "max_episode" and self.algo.OFFLINE:
            self.omit(NEEDLESS, f"{section}.{key}", value, "the run learns from data alone; max_update is its limit")
        elif name == "buffer_type" and not self._takes(name, value):
            self.omit(LOST, f"{section}.{key}", value, "this algorithm has no such memory")
        elif name in models[section].model_fields:
            self.put(section, name, self._value(name, value), f"was {key}" if name != key else "")
        elif remark := joyrl.accepted(section, key, value):
            self.omit(NEEDLESS, f"{section}.{key}", value, remark)
        elif key in joyrl.RENAMED and joyrl.RENAMED[key] in models[section].model_fields:
            self.put(section, joyrl.RENAMED[key], value, f"was {key}")
        elif key in _MOVES:
            self._move(section, key, value)
        elif owner := next((other for other in SECTIONS if key in models[other].spellings()), None):
            self.put(owner, models[owner].field_name(key), value, f"was under {section}")
        elif section == "env_cfg" and not joyrl.known(section, key):
            self.put(section, key, value)
        else:
            self._lost(section, key, value)

    def _value(self, name: str, value: Any) -> Any:
        """Returns a setting's value in its present form."""
        if name == "epsilon_decay" and (steps := steps_of_factor(value)):
            self.comments["algo_cfg", name] = f"was {value} per step; this is its time constant in steps"
            return steps
        if name == "device" and value == "cuda":
            self.comments["general_cfg", name] = "was cuda; auto is cuda where there is a GPU"
            return "auto"
        if name.endswith("_layers"):
            return _layers(value) or None
        if name == "mode" and value in ("predict", "collect"):
            self.comments["general_cfg", "mode"] = f"was {value}"
            return "test"
        if name == "mp_backend" and value == "mp":
            self.comments["general_cfg", name] = "was mp"
            return "single"
        return value

    def _move(self, section: str, key: str, value: Any) -> None:
        """Converts a key whose value belongs to another setting."""
        if key == "test_eps" and self.old["general_cfg"].get("mode") in ("test", "predict"):
            self.put("general_cfg", "max_episode", value, "was test_eps")
        elif key == "n_steps_per_learn" and "updates_per_train" not in self.algo.model_fields:
            self.omit(NEEDLESS, f"{section}.{key}", value, "the number of updates follows from the algorithm")
        elif key == "n_steps_per_learn":
            self.put("algo_cfg", "updates_per_train", value, "was n_steps_per_learn")
        elif key == "return_form" and "gae_lambda" in self.algo.model_fields and value in joyrl.RETURN_FORMS:
            self.put("algo_cfg", "gae_lambda", joyrl.RETURN_FORMS[value], f"was return_form: {value}")
        elif key == "her_sample_num" and "her_ratio" in self.algo.model_fields and isinstance(value, int):
            self.put("algo_cfg", "her_ratio", round(value / (value + 1), 4), f"was her_sample_num: {value}")
        elif key == "train_iterations":
            self.put("general_cfg", "max_update", value, "was algo_cfg.train_iterations")
        elif key in ("actor_hidden_dim", "critic_hidden_dim"):
            self._hidden(section, key, value)
        elif key == "hidden_dim" and not any(name.endswith("_layers") for name in self.algo.model_fields):
            self.omit(NEEDLESS, f"{section}.{key}", value, "this algorithm has no network")
        else:
            self._lost(section, key, value)

    def _hidden(self, section: str, key: str, value: Any) -> None:
        """Converts the width of a network of JoyRL's first versions, which had two hidden layers."""
        name = key.replace("hidden_dim", "layers")
        if name not in self.algo.model_fields:
            self.omit(NEEDLESS, f"{section}.{key}", value, "this algorithm has no such network")
        elif name not in self.old["algo_cfg"]:
            layer = {"layer_type": "linear", "layer_size": [value, value], "activation": "relu"}
            self.put("algo_cfg", name, [layer], f"was {key}: {value}")

    def _lost(self, section: str, key: str, value: Any) -> None:
        """Notes a setting that has to be converted by hand."""
        known = joyrl.known(section, key)
        self.omit(LOST, f"{section}.{key}", value, f"here: {known.meaning}" if known else "no counterpart")

    def _networks(self) -> None:
        """Converts the networks of 0.6: branches whose outputs are joined and go through merge layers."""
        old = self.old["algo_cfg"]
        for prefix in ("actor_", "critic_", ""):
            given = [name for name in (f"{prefix}branch_layers", f"{prefix}merge_layers") if name in old]
            if not given:
                continue
            old_layers = old[given[0]]
            branches = self._observed(prefix, _branches(old.pop(f"{prefix}branch_layers", None)))
            merged = _layers(old.pop(f"{prefix}merge_layers", None))
            targets = [f"{prefix}layers"] if prefix else ["value_layers", "actor_layers", "critic_layers"]
            targets = [name for name in targets if name in self.algo.model_fields and name not in self.new["algo_cfg"]]
            if len(branches) > 1 and "branches" in self.algo.model_fields:
                self.put("algo_cfg", "branches", dict(branches), f"was {given[0]}")
                layers = merged
            else:
                layers = [layer for _, branch in branches for layer in branch] + merged
            for name in targets:
                self.put("algo_cfg", name, layers, f"was {' and '.join(given)}")
            if not targets:
                self.omit(LOST, f"algo_cfg.{given[0]}", old_layers, "this algorithm has no such network")

    def _observed(self, prefix: str, branches: Iterator[Branch]) -> list[Branch]:
        """Returns the branches of observations; a critic's branch of the action ends, since the action joins them."""
        observed = []
        for name, layers in branches:
            if not (prefix == "critic_" and name.lower().startswith("action")):
                observed.append((name, layers))
            elif layers:
                path = "algo_cfg.critic_branch_layers"
                self.omit(LOST, path, name, "the action joins the observation before the critic's last layers")
        return observed

    def _takes(self, name: str, value: Any) -> bool:
        """Returns True if the algorithm's setting has this value, or any."""
        field = self.algo.model_fields.get(name)
        known = get_args(field.annotation) if field else ()
        return not known or str(value).upper() in known

    def _processes(self) -> None:
        """Gives several workers what JoyRL gave them: processes under Ray, otherwise environments in one process."""
        general, count = self.new["general_cfg"], self.new["general_cfg"].get("n_workers", 1)
        if count == 1 or general.get("mp_backend") == "ray":
            return
        if "n_interactors" in self.old["general_cfg"]:
            self.put("general_cfg", "mp_backend", "ray", "added: n_interactors were Ray processes")
        else:
            del general["n_workers"]
            self.comments.pop(("general_cfg", "n_workers"), None)
            self.put("env_cfg", "n_envs", count, "was n_workers, stepped in one process")

    def _wrappers(self) -> None:
        env = self.new["env_cfg"]
        if not env.get("wrappers"):
            return
        given = env["wrappers"] if isinstance(env["wrappers"], list) else [env["wrappers"]]
        kept, dropped = joyrl.without_identity(given)
        for name in dropped:
            self.omit(NEEDLESS, "env_cfg.wrappers", name, "changes nothing here")
        if any(joyrl.wrapper_name(entry) == "AtariWrapper" for entry in kept):
            kept = [entry for entry in kept if joyrl.wrapper_name(entry) != "AtariWrapper"]
            self.put("env_cfg", "vectorization", "native", "was AtariWrapper")
        self.put("env_cfg", "wrappers", [_wrapper(entry) for entry in kept])
        if env["wrappers"] != kept:
            self.comments["env_cfg", "wrappers"] = f"was {', '.join(map(joyrl.wrapper_name, kept))}"
        if not kept:
            del env["wrappers"]

    def text(self) -> str:
        """Returns the new file."""
        lines = []
        for heading, omitted in self.omitted.items():
            lines += [f"# {heading}\n", *(f"#   {printable(line)}\n" for line in omitted)] if omitted else []
        for section, settings in self.new.items():
            if not settings:
                continue
            lines.append(f"{section}:\n")
            for key, value in settings.items():
                comment = self.comments.get((section, key))
                flow = yaml.dump({key: value}, Dumper=Dumper, default_flow_style=True, sort_keys=False, width=10_000)
                lines.append(f"  {flow.strip()[1:-1]}" + (f"  # {printable(comment)}" if comment else "") + "\n")
        return "".join(lines)


_MOVES = (
    "test_eps", "n_steps_per_learn", "return_form", "her_sample_num", "enable_soft_update", "hidden_dim",
    "actor_hidden_dim", "critic_hidden_dim", "train_iterations",
)  # fmt: skip
ENDS = ("n_states", "n_actions")
"""Sizes that JoyRL's first versions wrote for the numbers of inputs and outputs of a network."""


def _branches(value: Any) -> Iterator[Branch]:
    """Yields name and layers of each branch; a plain list of layers is one branch."""
    items = value if isinstance(value, list) else [value] if value else []
    named = [item for item in items if isinstance(item, dict) and "layers" in item]
    if not named and items:
        yield "observation", _layers(items)
    for number, item in enumerate(named, start=1):
        name = item.get("name") or item.get("feature_name") or f"feature_{number}"
        yield str(name), _layers(item["layers"])


def _layers(value: Any) -> list[Settings]:
    """Returns the layers of a list in their present form."""
    layers = [layer for old in (value if isinstance(value, list) else []) if (layer := _layer(old))]
    sizes = [size for layer in layers if isinstance(layer.get("layer_size"), list) for size in layer["layer_size"]]
    return list(_outputs(layers)) if set(ENDS).intersection(map(str, sizes)) else layers


def _outputs(layers: list[Settings]) -> Iterator[Settings]:
    """Yields layers whose sizes are [inputs, outputs] with their outputs alone; the last one is made by itself."""
    for layer in layers:
        *_, outputs = layer["layer_size"] if isinstance(layer.get("layer_size"), list) else [None]
        if outputs not in ENDS:
            yield layer if outputs is None else {**layer, "layer_size": [outputs]}


def _layer(old: Any) -> Settings | None:
    """Returns a layer in its present form; None for one that does nothing."""
    if not isinstance(old, dict):
        return None
    kind = str(old.get("layer_type", "linear")).lower()
    if kind in ("none", "input"):
        return None
    layer = {"layer_size" if key == "layer_dim" else key: value for key, value in old.items()}
    if kind == "pooling" and layer.get("padding") in (0, [0], [0, 0]):
        del layer["padding"]
    if kind == "norm":
        return {"layer_type": "layernorm"}
    return {**layer, "layer_type": kind}


def _wrapper(entry: Any) -> Any:
    """Returns a wrapper by its present name and settings."""
    name = joyrl.wrapper_name(entry)
    settings = {key: value for key, value in entry.items() if key != "wrapper_name"} if isinstance(entry, dict) else {}
    name = {"GrayScaleObservation": "GrayScale", "ClipRewardEnv": "SignReward", "ClipReward": "SignReward"}.get(
        name, name
    )
    if name == "FrameStack" and "num_stack" in settings:
        settings["stack_size"] = settings.pop("num_stack")
    if name == "ResizeObservation" and isinstance(settings.get("shape"), int):
        settings["shape"] = [settings["shape"]] * 2
    return {"wrapper_name": name, **settings} if settings else name
