"""Measures the dialogue environment: exchanges per second on one core under its rule policy.

python benchmarks/dialog.py [--env town] [--seconds 5] [KEY=VALUE ...]

KEY=VALUE are settings of env_cfg, such as data_dir=FOLDER. The time of the rule policy itself is not counted.
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from envs.dialog.config import Config  # noqa: E402
from envs.dialog.dialog import DialogEnv  # noqa: E402
from envs.dialog.env import single  # noqa: E402


def exchanges(env: DialogEnv, seconds: float) -> tuple[int, float]:
    """Returns the number of exchanges, and the seconds that the environment took for them, resets included."""
    count, spent, clock = 0, 0.0, time.perf_counter
    while spent < seconds:
        start = clock()
        obs, _ = env.reset(seed=count)
        spent, ended = spent + clock() - start, False
        while not ended:
            action = env.expert(obs[None])[0]
            start = clock()
            obs, _, terminated, truncated, _ = env.step(action)
            spent, ended, count = spent + clock() - start, terminated or truncated, count + 1
    return count, spent


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="town", help="mini, town or full")
    parser.add_argument("--seconds", type=float, default=5.0, help="time to measure")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    args = parser.parse_args(words)
    env = single(Config(id=args.env, **dict(word.split("=", 1) for word in args.settings)))
    count, spent = exchanges(env, args.seconds)
    print(json.dumps({"env": args.env, "exchanges": count, "per second": round(count / spent)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
