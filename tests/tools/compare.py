"""Folders of runs, as a training leaves them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Points = Sequence[tuple[int, float]]
"""Steps and scores."""


def make_run(
    folder: Path,
    evaluations: Points = ((100, 1.0), (200, 2.0)),
    *,
    seed: int = 1,
    algo: str = "DQN",
    env: str = "CartPole-v1",
    online: bool = True,
    episodes: Points = ((100, 10.0), (200, 20.0)),
    general: dict[str, Any] | None = None,
    learning: dict[str, Any] | None = None,
    world: dict[str, Any] | None = None,
    seconds: float = 0.01,
    **facts: Any,
) -> Path:
    """Writes a finished run with an evaluation and an episode for each of these points. general, learning, world: more
    settings of general_cfg, algo_cfg and env_cfg. seconds: duration of a step. facts: more of run.json."""
    for name in ("results", "models"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    sections = {
        "general_cfg": {"algo_name": algo, "seed": seed, "online_eval": online, **(general or {})},
        "algo_cfg": learning or {},
        "env_cfg": {"id": env, **(world or {})},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(sections))
    known = {"finished": True, "seed": seed, "command_line": ["--algo", algo], **facts}
    (folder / "run.json").write_text(json.dumps(known))
    rows = [f"{step},{step},1,{mean},0.0,{mean},{mean},{mean},10,1" for step, mean in evaluations]
    _write(folder / "results" / "eval.csv", ["update,step,episode,mean,std,min,max,median,episodes,best", *rows])
    rows = [f"{number},{step},{step},{value}" for number, (step, value) in enumerate(episodes, start=1)]
    _write(folder / "results" / "train.csv", ["episode,step,update,return", *rows])
    times = [json.dumps({"step": s, "update": s, "seconds_total": s * seconds}) for s, _ in evaluations]
    _write(folder / "results" / "result.json", times)
    return folder


def make_group(folder: Path, scores: Sequence[float], first: int = 1, **settings: Any) -> Path:
    """Writes a group of --seeds: a run for each final score, with half of it at step 100. first: the lowest seed."""
    for seed, score in enumerate(scores, start=first):
        make_run(folder / f"seed_{seed}", [(100, score / 2), (200, score)], seed=seed, **settings)
    (folder / "group.json").write_text(json.dumps({"seeds": list(range(1, len(scores) + 1))}))
    return folder


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
