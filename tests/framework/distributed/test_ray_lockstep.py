"""With run_ahead 0, many processes are one: the same numbers, from the same code. test_distributed.py shows it
for every algorithm, with a Ray that runs all in this process; here is the real one."""

from pathlib import Path

from own_parts import Line

from config.own import objects as own
from tests.tools.ray import EPISODES, RAY, episodes, same, train, weights

WORDS = (
    "general_cfg.env_name=python", "env_cfg.id=mine", "env_cfg.size=4", "env_cfg.wrappers=[own_parts:Halved]",
    "--allow-import", "own_parts", "general_cfg.max_step=30", "--algo=DQN", "general_cfg.max_total_step=200",
    "algo_cfg.batch_size=16", "algo_cfg.learning_starts=50", "algo_cfg.normalize_obs=true", "algo_cfg.buffer_type=PER",
)  # fmt: skip


def test_one_worker_gives_the_weights_of_one_process(tmp_path, monkeypatch):
    """RAY-7: also the same episodes, from the same seeds. With priorities, all parts talk to one another. The function
    that makes the environment has no module, and travels; the class of its wrapper is imported there."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setattr(own, "_REGISTERED", {})
    own.register("mine", lambda env_config: Line(env_config["size"]))
    alone = train(tmp_path / "single", *WORDS)
    ray = train(tmp_path / "ray", *WORDS, RAY, "general_cfg.run_ahead=0")
    assert same(weights(alone), weights(ray))
    assert (alone / EPISODES).read_bytes() == (ray / EPISODES).read_bytes()
    assert all(float(row["return"]) == -float(row["length"]) / 2 for row in episodes(ray))
