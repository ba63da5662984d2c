"""Texts of configurations that nobody would write: presets that were changed, structures, and plain bytes."""

import json
import random
import re
from pathlib import Path
from typing import Any

from config.foreign.convert import converted
from config.foreign.experiments import load_all
from config.read.presets import PRESETS
from config.read.tuning import from_file
from framework import catalog
from framework.archive.run import RecordedRun

MARKS = (
    "[", "]", "{", "}", ":", ": ", "- ", ",", "? ", "&a ", "*a", "!!str ", "!x ", "|", ">", "#", " #", "'", '"', "\n",
    "\n\n", "\t", "  ", "---", "...", "%", "@", "`", "~", "null", "\\", "\u3000", "：", "，", "“", "é", "名", "\ufeff",
    "\0", "\x1b", "\u2028", "\x85", "<<: *a", "1e999", "-1", "0x", "_", ".nan", ".inf", "nan", "1" * 500, "a" * 3000,
    "=", "$(id)",
)  # fmt: skip
VALUES = (
    None, True, False, 0, -1, 1, 3, 2**63, 2**70, -(2**63), 0.0, 1e-300, 1e300, float("inf"), float("nan"), "", "x",
    "PPO", "gym", "toy", "CartPole-v1", "null", "../..", "/dev/zero", "a.b", "os:system", "*", [], [None], [[]], {},
    {"a": 1}, {"uniform": [0, 1]}, ["PPO", "DQN"], [{"layer_type": "linear"}], "é名：，", "\0", "x" * 5000, [1] * 300,
    {"": ""},
)  # fmt: skip
SECTIONS = ("general_cfg", "algo_cfg", "env_cfg", "policies_cfg", "tune_cfg", "agent_cfg", "a", "", "run")


class Texts:
    """Draws texts. The same seed and number give the same text."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.presets = [path.read_text(encoding="utf-8") for path in sorted(PRESETS.glob("*/*.yaml"))]
        self.keys = sorted({key for text in self.presets for key in re.findall(r"^ *(\w+):", text, re.MULTILINE)})

    def draw(self, number: int) -> bytes:
        """Returns a text."""
        draws = random.Random(f"{self.seed} {number}")
        return draws.choice([self.changed, self.changed, self.structure, self.structure, self.nested, self.noise])(
            draws
        )

    def changed(self, draws: random.Random) -> bytes:
        """Returns a preset with up to six changes."""
        text = draws.choice(self.presets)
        for _ in range(draws.randint(1, 6)):
            text = draws.choice([_insert, _remove, _double, self.replaced, self.crossed])(text, draws)
        return text.encode("utf-8", "surrogatepass")

    def replaced(self, text: str, draws: random.Random) -> str:
        """Returns a text with another value for one of its keys."""
        lines = [match for match in re.finditer(r"(?<=: ).*$", text, re.MULTILINE)]
        if not lines:
            return text
        line = draws.choice(lines)
        return text[: line.start()] + json.dumps(draws.choice(VALUES)) + text[line.end() :]

    def crossed(self, text: str, draws: random.Random) -> str:
        """Returns the start of a text and the end of a preset."""
        other = draws.choice(self.presets)
        return text[: draws.randrange(len(text) + 1)] + other[draws.randrange(len(other)) :]

    def structure(self, draws: random.Random) -> bytes:
        """Returns sections with any settings and any values."""
        sections = {
            draws.choice(SECTIONS): self._settings(draws) if draws.random() < 0.8 else draws.choice(VALUES)
            for _ in range(draws.randint(0, 4))
        }
        value = sections if draws.random() < 0.95 else draws.choice(VALUES)
        return json.dumps(value, ensure_ascii=draws.random() < 0.5).encode("utf-8", "surrogatepass")

    def _settings(self, draws: random.Random) -> dict[str, Any]:
        count = draws.randint(0, 8)
        return {draws.choice((*self.keys, "algo_name", "env_name", "id")): self._value(draws) for _ in range(count)}

    def _value(self, draws: random.Random, depth: int = 0) -> Any:
        if depth > 4 or draws.random() < 0.7:
            return draws.choice(VALUES)
        parts = [self._value(draws, depth + 1) for _ in range(draws.randint(0, 4))]
        return parts if draws.random() < 0.5 else {draws.choice(self.keys): part for part in parts}

    def nested(self, draws: random.Random) -> bytes:
        """Returns few characters, many times."""
        text = "".join(draws.choices(MARKS, k=draws.randint(1, 3)))
        prefix = draws.choice(("", "a: ", "algo_cfg:\n  value_layers: ", "- "))
        return (prefix + text * min(draws.choice((10, 100, 30_000)), 100_000 // len(text))).encode()

    def noise(self, draws: random.Random) -> bytes:
        """Returns any bytes, or any characters."""
        if draws.random() < 0.5:
            return draws.randbytes(draws.randint(0, 300))
        return "".join(draws.choices([*MARKS, *self.keys], k=draws.randint(0, 200))).encode()


def _insert(text: str, draws: random.Random) -> str:
    place = draws.randrange(len(text) + 1)
    return text[:place] + draws.choice(MARKS) * draws.choice((1, 1, 1, 60)) + text[place:]


def _remove(text: str, draws: random.Random) -> str:
    place = draws.randrange(len(text) + 1)
    return text[:place] + text[place + draws.choice((1, 1, 5, 50)) :]


def _double(text: str, draws: random.Random) -> str:
    first, last = sorted((draws.randrange(len(text) + 1), draws.randrange(len(text) + 1)))
    return text[:last] + text[first:last] + text[last:]


def read_as(content: bytes, way: str, number: int, folder: Path) -> None:
    """Reads a text in one of the ways in which commands read texts."""
    (folder / "config.yaml").write_bytes(content)
    options: dict[str, Any] = {"find_algo": catalog.ALGOS, "find_env": catalog.ENVS}
    if way == "runs":
        _ = RecordedRun(folder).names
    elif way == "convert":
        converted(str(folder / "config.yaml"), catalog.ALGOS, catalog.ENVS)
    elif way == "tune":
        from_file(folder / "config.yaml", [], {}, **options)
    elif way == "word":
        key = ("algo_cfg.value_layers", "general_cfg.algo_name", "env_cfg.wrappers", "policies_cfg.a.lr")[number % 4]
        load_all(None, [f"{key}={content.decode(errors='replace')}"], **options)
    elif way == "--config":
        load_all(None, [], config=content.decode(errors="replace"), algo="PPO", **options)
    elif way == "resume":
        (folder / "models").mkdir(exist_ok=True)
        load_all(None, [], resume=str(folder), **options)
    else:
        load_all(folder / "config.yaml", ["general_cfg.algo_name=DQN"] if way == "file and word" else [], **options)


WAYS = ("file", "file", "file and word", "word", "--config", "resume", "runs", "tune", "convert")
