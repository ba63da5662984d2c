"""With run_ahead 0, many processes are one: the same numbers, from the same code. test_distributed.py shows it
for every algorithm, with a Ray that runs all in this process; here is the real one."""

from tests.tools.ray import EPISODES, RAY, same, train, weights

WORDS = (
    "--env=CartPole-v1", "--algo=DQN", "general_cfg.max_total_step=400", "algo_cfg.batch_size=16",
    "algo_cfg.learning_starts=50", "algo_cfg.normalize_obs=true", "algo_cfg.buffer_type=PER",
)  # fmt: skip


def test_one_worker_gives_the_weights_of_one_process(tmp_path):
    """RAY-7: also the same episodes, from the same seeds. With priorities, all parts talk to one another."""
    alone = train(tmp_path / "single", *WORDS)
    ray = train(tmp_path / "ray", *WORDS, RAY, "general_cfg.run_ahead=0")
    assert same(weights(alone), weights(ray))
    assert (alone / EPISODES).read_bytes() == (ray / EPISODES).read_bytes()
