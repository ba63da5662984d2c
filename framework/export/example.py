"""Examples that use an exported file without this project."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gymnasium.spaces import Space

from framework.export.policy import FileModule


def onnx_example(file: Path, module: FileModule, observed: Space, masks: tuple[int, ...], made: str | None) -> str:
    """Returns a program that runs the file with onnxruntime and numpy. observed: space of an observation; masks:
    shape of a mask of actions; made: expression that makes an environment whose own observations and actions these
    are; None if the observations have to come from elsewhere."""
    return "\n".join(_with_env(file, module, observed, made) if made else _without(file, module, observed, masks))


def _session(file: Path, module: FileModule) -> Iterator[str]:
    yield f"policy = onnxruntime.InferenceSession({_literal(file.as_posix())})"
    if "state" in module.inputs:
        yield f"state = np.zeros((1, {module.policy.state_size}), np.float32)  # at the start of an episode"


def _call(module: FileModule, obs: str, mask: str) -> Iterator[str]:
    given = {"obs": obs, "state": "state", "action_mask": mask}
    feed = ", ".join(f'"{name}": {given[name]}' for name in module.inputs)
    found = "action, outputs, state" if "state" in module.inputs else "action, outputs"
    yield f"{found} = policy.run(None, {{{feed}}})"


def _with_env(file: Path, module: FileModule, observed: Space, made: str) -> Iterator[str]:
    yield from ("import gymnasium", "import numpy as np", "import onnxruntime", "")
    yield from _session(file, module)
    yield f"env = {made}"
    yield from ("obs, info = env.reset(seed=0)", "total, ended = 0.0, False", "while not ended:")
    yield from (f"    {line}" for line in _call(module, f"np.asarray(obs, np.{observed.dtype})[None]", ""))
    yield "    obs, reward, terminated, truncated, info = env.step(action[0])"
    yield "    total, ended = total + float(reward), terminated or truncated"
    yield 'print("return:", total)'


def _without(file: Path, module: FileModule, observed: Space, masks: tuple[int, ...]) -> Iterator[str]:
    yield from ("import numpy as np", "import onnxruntime", "")
    yield from _session(file, module)
    shape = (1, *(observed.shape or ()))
    yield f"obs = np.zeros({shape}, np.{observed.dtype})  # an observation as training saw it"
    if "action_mask" in module.inputs:
        yield f"mask = np.ones({(1, *masks)}, bool)  # True for legal actions"
    yield "for step in range(3):"
    yield from (f"    {line}" for line in _call(module, "obs", "mask"))
    yield '    print("action:", action[0])'


def tensors_example(file: Path) -> str:
    """Returns a program that reads the weights and their description."""
    return "\n".join(
        (
            "import json",
            "from pathlib import Path",
            "",
            "from safetensors.numpy import load_file",
            "",
            f"weights = load_file({_literal(file.as_posix())})",
            f"facts = json.loads(Path({_literal(file.with_suffix('.json').as_posix())}).read_text())",
            'print(facts["algorithm"], facts["environment"])',
            'for layer in facts["network"]["layers"]:',
            '    print(layer["name"], layer["layer"], layer["settings"])',
            "for name, array in weights.items():",
            "    print(name, array.shape, array.dtype)",
        )
    )


def making(env_name: str, env_id: str, settings: dict[str, Any], changed: bool) -> str | None:
    """Returns the expression that makes an environment of gymnasium; None for those of another kind, and where
    settings change what the agent sees."""
    if env_name != "gym" or changed:
        return None
    words = "".join(f", {key}={_literal(value)}" for key, value in settings.items())
    return f"gymnasium.make({_literal(env_id)}{words})"


def _literal(value: Any) -> str:
    """Returns a value as it is written in a program, texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
