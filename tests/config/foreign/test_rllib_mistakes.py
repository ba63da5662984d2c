"""A mistake of a user of RLlib is answered with a sentence, its place and what to write, and nothing is created."""

from pathlib import Path

import pytest

from main import main

FILES = {
    "two.yaml": "a: {run: PPO, env: CartPole-v1}\nb: {run: DQN, env: CartPole-v1}\n",
    "typo.yaml": "a:\n  rum: PPO\n  run: PPO\n  env: CartPole-v1\n  confg: {lr: 1}\n",
    "algo.yaml": "a:\n  run: PPOO\n  env: CartPole-v1\n",
    "missing.yaml": "a:\n  run: ES\n  env: CartPole-v1\n",
    "env.yaml": "a:\n  run: PPO\n  env: CartPol-v1\n",
    "class.yaml": "a:\n  run: PPO\n  env: ray.rllib.examples.env.random_env.RandomEnv\n",
    "stop.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  stop: {timestep_total: 5}\n",
    "stops.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  stop: 5\n",
    "config.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  config: [1]\n",
    "grid.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  config: {lr: {grid_search: [1, 2]}}\n",
    "envs.yaml": "a:\n  run: PPO\n  env: {grid_search: [CartPole-v1, Acrobot-v1]}\n",
    "eval.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  config:\n    lr: {eval: 'np.random.rand()'}\n",
    "twice.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  config:\n    lr: 0.1\n    lr: 0.2\n",
    "both.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  config:\n    num_sgd_iter: 2\n    num_epochs: 3\n",
    "only.yaml": "env: CartPole-v1\nlr: 0.1\nnum_workers: 2\n",
    "list.yaml": "- run: PPO\n",
    "word.yaml": "hello\n",
    "broken.yaml": "a: {run: PPO\n",
    "checkpoint.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  checkpoint_config: {num_to_keep: 3}\n",
    "restore.yaml": "a:\n  run: PPO\n  env: CartPole-v1\n  restore: x\n",
    "empty_run.yaml": "a:\n  run:\n  env: CartPole-v1\n",
    "box.yaml": "a:\n  run: TD3\n  env: CartPole-v1\n",
}

LINES = (Path(__file__).parents[2] / "data" / "rllib_mistakes.txt").read_text().splitlines()[1:]
MISTAKES = [(line, answer.strip()) for line, answer in zip(LINES[::2], LINES[1::2], strict=True)]
"""A command, and what its answer has in it."""


@pytest.mark.parametrize(("line", "answer"), MISTAKES, ids=lambda text: text[:60])
def test_a_mistake_is_a_sentence_and_nothing_is_created(
    line: str, answer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    try:
        status = main(line.split())
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr().err
    assert status == 2
    assert any(part in said for part in answer.split("|")), said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_there_are_fifty_of_them() -> None:
    assert len(MISTAKES) >= 50
