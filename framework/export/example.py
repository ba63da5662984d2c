"""Examples that use an exported file without this project."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gymnasium.spaces import Box, Dict, Discrete, Space, Tuple

from config.model.composite import ActionPart, Composite
from envs.base import Recipe, literal
from framework.export.policy import FileModule

MASK = "action_mask"
"""Key of a mask of actions in an info or a Dict observation."""


class Played(NamedTuple):
    """Environment of a program: the lines that make it, and the space of the observations that it gets."""

    recipe: Recipe
    space: Space
    number: bool = False
    """True if an action is a number, and not an array."""


def onnx_example(
    file: Path,
    module: FileModule,
    spaces: tuple[Space, Space],
    masks: tuple[int, ...],
    played: Played | None,
    flat: bool = False,
) -> str:
    """Returns a program that runs the file with onnxruntime and numpy. spaces: of an observation and of an action of
    the file; masks: shape of a mask of actions; played: None if the observations have to come from elsewhere; flat:
    True if they are flattened then."""
    observed, acted = spaces
    if played is None or (masks and not isinstance(acted, Discrete)):  # a program would have to flatten masks
        return "\n".join(_without(file, module, observed, acted, masks, flat))
    return "\n".join(_with_env(file, module, observed, acted, masks, played))


def own_action(space: Space) -> str:
    """Returns an expression of the environment's own action, from the array `action` of a batch of one."""
    return _nested(space.source, iter(space.parts)) if isinstance(space, Composite) else "action[0]"


def _nested(space: Space, parts: Iterator[ActionPart]) -> str:
    """Returns an expression of a Dict or Tuple, or of the next part."""
    match space:
        case Dict():
            items = (f"{literal(key)}: {_nested(part, parts)}" for key, part in space.spaces.items())
            return f"{{{', '.join(items)}}}"
        case Tuple():
            values = [_nested(part, parts) for part in space.spaces]
            return f"({', '.join(values)}{',' if len(values) == 1 else ''})"
    part = next(parts)
    if isinstance(space, Discrete):
        return f"int(action[0, {part.start}])"
    array = f"action[0, {part.start}:{part.stop}].astype(np.{space.dtype})"
    return array if len(space.shape or ()) == 1 else f"{array}.reshape({space.shape})"


def _session(file: Path, module: FileModule) -> Iterator[str]:
    yield f"policy = onnxruntime.InferenceSession({literal(file.as_posix())})"
    if "state" in module.inputs:
        yield f"state = np.zeros((1, {module.policy.state_size}), np.float32)  # at the start of an episode"


def _call(module: FileModule, obs: str, mask: str) -> Iterator[str]:
    inputs = {"obs": obs, "state": "state", "action_mask": mask}
    feed = ", ".join(f'"{name}": {inputs[name]}' for name in module.inputs)
    outputs = "action, outputs, state" if "state" in module.inputs else "action, outputs"
    yield f"{outputs} = policy.run(None, {{{feed}}})"


def _with_env(
    file: Path, module: FileModule, observed: Space, acted: Space, masks: tuple[int, ...], played: Played
) -> Iterator[str]:
    encoded = _encoded(played.space, observed)
    mask = f'obs["{MASK}"]' if _has_mask(played.space) else f'info.get("{MASK}", np.ones({masks and masks[0]}))'
    yield from dict.fromkeys([*played.recipe.imports, "import numpy as np", "import onnxruntime", *encoded.imports])
    yield ""
    yield from _session(file, module)
    yield from (*played.recipe.lines, *encoded.before)
    yield from ("obs, info = env.reset(seed=0)", "total, ended = 0.0, False", "while not ended:")
    yield from (f"    {line}" for line in _call(module, encoded.batch, f"np.asarray({mask}, bool)[None]"))
    action = "action[0, 0]" if played.number else own_action(acted)
    yield f"    obs, reward, terminated, truncated, info = env.step({action})"
    yield "    total, ended = total + float(reward), terminated or truncated"
    yield 'print("return:", total)'


class _Encoded(NamedTuple):
    """Code that turns an observation of the environment into one of the file."""

    batch: str
    """Expression of a batch of one observation."""
    imports: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """Lines before the loop."""


def _has_mask(space: Space) -> bool:
    return isinstance(space, Dict) and MASK in space.spaces


def _encoded(space: Space, observed: Space) -> _Encoded:
    obs, place, imports, before = "obs", "env.observation_space", [], []
    if isinstance(space, Dict) and _has_mask(space):
        parts = {key: part for key, part in space.spaces.items() if key != MASK}
        if len(parts) == 1:
            [(key, space)] = parts.items()
            obs, place = f"obs[{literal(key)}]", f"{place}[{literal(key)}]"
        else:
            imports.append("from gymnasium.spaces import Dict")
            before.append(f'space = Dict({{key: part for key, part in {place}.items() if key != "{MASK}"}})')
            obs, place, space = "{key: obs[key] for key in space}", "space", Dict(parts)
    array = f"np.asarray({obs}, np.{observed.dtype})"
    if isinstance(space, Dict | Tuple):
        leaves = list(_leaves(space, "obs" if obs.startswith("{") else obs))
        if all(isinstance(leaf, Discrete) for _, leaf in leaves):
            array = f"np.asarray([{', '.join(name for name, _ in leaves)}], np.{observed.dtype})"
        else:
            imports.append("from gymnasium.spaces import flatten")
            array = f"np.asarray(flatten({place}, {obs}), np.{observed.dtype})"
    scalar = isinstance(space, Box) and not space.shape
    return _Encoded(f"{array}{'.reshape(1, 1)' if scalar else '[None]'}", tuple(imports), tuple(before))


def _leaves(space: Space, name: str) -> Iterator[tuple[str, Space]]:
    """Yields expression and space of each part of an observation."""
    if isinstance(space, Dict | Tuple):
        for key, part in space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces):
            yield from _leaves(part, f"{name}[{literal(key)}]")
    else:
        yield name, space


def _without(
    file: Path, module: FileModule, observed: Space, acted: Space, masks: tuple[int, ...], flat: bool
) -> Iterator[str]:
    yield from ("import numpy as np", "import onnxruntime", "")
    yield from _session(file, module)
    shape = (1, *(observed.shape or ()))
    comment = "gymnasium.spaces.flatten of an observation" if flat else "an observation as training saw it"
    yield f"obs = np.zeros({shape}, np.{observed.dtype})  # {comment}"
    if "action_mask" in module.inputs:
        yield f"mask = np.ones({(1, *masks)}, bool)  # True for legal actions"
    yield "for step in range(3):"
    yield from (f"    {line}" for line in _call(module, "obs", "mask"))
    yield f'    print("action:", {own_action(acted)})'


def tensors_example(file: Path) -> str:
    """Returns a program that reads the weights and their description."""
    return "\n".join(
        (
            "import json",
            "from pathlib import Path",
            "",
            "from safetensors.numpy import load_file",
            "",
            f"weights = load_file({literal(file.as_posix())})",
            f"facts = json.loads(Path({literal(file.with_suffix('.json').as_posix())}).read_text(encoding='utf-8'))",
            'print(facts["algorithm"], facts["environment"])',
            'for layer in facts["network"]["layers"]:',
            '    print(layer["name"], layer["layer"], layer["settings"])',
            "for name, array in weights.items():",
            "    print(name, array.shape, array.dtype)",
        )
    )
