"""Dialogues in tests: a town that is small enough to be read, and systems that say what a test tells them."""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from envs.dialog.acts import Entry, parse
from envs.dialog.config import Config
from envs.dialog.dialog import DialogEnv
from envs.dialog.env import single
from framework.dialog import processes
from tests.tools.process import ForkedPopen, become

SYSTEM_INTENTS = ("inform", "request", "recommend", "book", "nooffer", "nobook", "bye", "reqmore", "greet")
TOWN: dict[str, Any] = {
    "restaurant": [
        {"name": "blue spoon", "food": "thai", "pricerange": "cheap", "area": "north",
         "address": "1 mill lane", "phone": "01234567890", "postcode": "aa11aa"},
        {"name": "old oven", "food": "thai", "pricerange": "cheap", "area": "south",
         "address": "2 mill lane", "phone": "01234567891", "postcode": "aa22aa"},
        {"name": "red table", "food": "greek", "pricerange": "expensive", "area": "north",
         "address": "3 mill lane", "phone": "01234567892", "postcode": "?"},
    ],
    "hotel": [
        {"name": "high lodge", "area": "north", "pricerange": "cheap", "stars": 3, "type": "hotel", "internet": "yes",
         "parking": "yes", "address": "4 mill lane", "phone": "01234567893", "postcode": "aa33aa"},
        {"name": "low lodge", "area": "south", "pricerange": "cheap", "stars": 4, "type": "hotel", "internet": "none",
         "parking": "no", "address": "5 mill lane", "phone": "01234567894", "postcode": "aa44aa"},
    ],
    "attraction": [
        {"name": "grand hall", "type": "park", "area": "north", "address": "6 mill lane", "phone": "01234567895",
         "postcode": "aa55aa", "entrance fee": "?"},
    ],
    "train": [
        {"trainID": "TR0001", "departure": "aldmere", "destination": "carrow", "day": "monday", "leaveAt": "08:00",
         "arriveBy": "09:00", "duration": "60 minutes", "price": "5 pounds"},
        {"trainID": "TR0002", "departure": "aldmere", "destination": "carrow", "day": "monday", "leaveAt": "12:00",
         "arriveBy": "13:00", "duration": "60 minutes", "price": "7 pounds"},
        {"trainID": "TR0003", "departure": "aldmere", "destination": "carrow", "day": "monday", "leaveAt": "23:30",
         "arriveBy": "24:30", "duration": "60 minutes", "price": "9 pounds"},
    ],
    "taxi": {"taxi_colors": ["black"], "taxi_types": ["van"], "taxi_phone": []},
    "hospital": [{"department": "cardiology", "phone": "01234567896"}],
    "police": [{"name": "police station", "address": "7 mill lane", "phone": "01234567897", "postcode": "aa66aa"}],
}  # fmt: skip


def write_town(folder: Path, **changed: Any) -> str:
    """Writes the files of the town; `changed` replaces domains, as text if it is no list or dict."""
    folder.mkdir(exist_ok=True)
    for name, content in {**TOWN, **changed}.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}_db.json").write_text(text, encoding="utf-8")
    return str(folder)


def entry(text: str, rank: int = 1) -> Entry:
    """The act of the system's vocabulary that a text such as `inform restaurant phone` means."""
    words = text.split(maxsplit=2)
    if len(words) == 3 and words[2] == "choice":
        return Entry("inform", words[1], "choice")
    act = parse(f"{text} x" if words[0] in ("inform", "recommend") else text, SYSTEM_INTENTS)
    return Entry(*act[:3], rank)


def action(env: DialogEnv, *texts: str) -> Any:
    return env.actions.of([env.codec.number[entry(text)] for text in texts])


def say(env: DialogEnv, *texts: str) -> tuple[list[str], Any]:
    """Lets the system say something: the user's answer, and what the step returned."""
    result = env.step(action(env, *texts))
    return [str(act) for act in env.transcript[-1].user], result


def of_town(folder: str, **settings: Any) -> DialogEnv:
    return single(Config(id="full", data_dir=folder, **settings))


def opened(env: DialogEnv, goal: dict[str, Any], seed: int = 0) -> list[str]:
    """Begins a dialogue with this goal: the user's first acts."""
    env.reset(seed=seed, options={"goal": goal})
    return [str(act) for act in env.transcript[-1].user]


Policy = Callable[[DialogEnv, np.ndarray], Any]


def expert(env: DialogEnv, obs: np.ndarray) -> Any:
    return env.expert(obs[None])[0]


def play(env: DialogEnv, policy: Policy, dialogues: int | Sequence[int]) -> dict[str, float]:
    """Mean metrics, and the mean return, of dialogues with seeds 0, 1 ... or with these."""
    seeds = range(dialogues) if isinstance(dialogues, int) else dialogues
    totals: dict[str, list[float]] = {"return": []}
    for seed in seeds:
        obs, info = env.reset(seed=seed)
        ended, score = False, 0.0
        while not ended:
            obs, reward, terminated, truncated, info = env.step(policy(env, obs))
            ended, score = terminated or truncated, score + reward
        totals["return"].append(score)
        for name in set(env.metrics) & set(info):
            totals.setdefault(name, []).append(info[name])
    return {name: float(np.mean(values)) for name, values in totals.items()}


class ForkedPlayer(ForkedPopen):
    """subprocess.Popen for a process that plays dialogues (framework/dialog/processes.py): a forked one, which need not
    import torch."""

    def __init__(self, command: Sequence[str], **_: Any) -> None:
        calls, send = os.pipe()
        receive, answers = os.pipe()
        sys.stdout.flush()
        self.returncode = None
        self.pid = os.fork()
        if not self.pid:
            os.dup2(calls, 0)
            os.dup2(answers, 1)
            os.closerange(3, 1000)
            become(_serve, 1, 2)
        os.close(calls)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(send, "wb"), os.fdopen(receive, "rb")

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _serve() -> int:
    processes.serve()
    return 0
