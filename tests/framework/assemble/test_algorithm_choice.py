"""--algo auto: which algorithm is chosen for which spaces and lengths, and that its settings are valid there."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Tuple

from config.model.composite import Composite
from config.read.loader import load
from framework.assemble.algorithm_choice import Task, choose
from framework.catalog import ALGOS, ENVS

VECTOR, IMAGE = Box(-1, 1, (4,), np.float32), Box(0, 255, (84, 84, 3), np.uint8)
BOUNDED, UNBOUNDED = Box(-2, 2, (2,), np.float32), Box(-np.inf, np.inf, (2,), np.float32)


@pytest.mark.parametrize(
    ("task", "algo", "why"),
    [
        (Task(Discrete(4), Discrete(48)), "QLearning", "48 states"),
        (Task(Discrete(2), MultiDiscrete([10, 10])), "QLearning", "100 states"),
        (Task(Discrete(2), MultiBinary(4)), "QLearning", "16 states"),
        (Task(Discrete(2), MultiBinary(20)), "DQN", "2 actions"),
        (Task(Discrete(2), VECTOR), "DQN", "at most 200,000 steps"),
        (Task(Discrete(2), VECTOR, 200_001), "PPO", "fresh experience"),
        (Task(Discrete(6), IMAGE), "PPO", "images, and 6 actions"),
        (Task(Discrete(6), VECTOR, goals=True), "DQN", "goals"),
        (Task(BOUNDED, VECTOR), "SAC", "at most 1,000,000 steps"),
        (Task(BOUNDED, VECTOR, 1_000_001), "PPO", "more than 1,000,000 steps"),
        (Task(BOUNDED, IMAGE), "PPO", "images, and continuous actions"),
        (Task(Discrete(6), VECTOR, pictures=("camera",)), "PPO", "images, and 6 actions"),
        (Task(Composite(Tuple((Discrete(2), BOUNDED))), VECTOR), "PPO", "several numbers (Tuple)"),
        (Task(BOUNDED, VECTOR, goals=True), "SAC_HER", "replaced in hindsight"),
        (Task(UNBOUNDED, VECTOR), "PPO", "without bounds"),
        (Task(MultiDiscrete([3, 3]), VECTOR), "PPO", "several numbers (MultiDiscrete)"),
        (Task(Discrete(2), VECTOR, several=True), "PPO", "several agents"),
    ],
)
def test_the_algorithm_follows_from_spaces_and_steps(task, algo, why):
    choice = choose(task)
    assert choice.algo == algo
    assert why in choice.why


def test_each_image_among_the_parts_has_a_branch_of_its_own():
    choice = choose(Task(Discrete(6), VECTOR, pictures=("front", "back")))
    assert choice.settings["algo_cfg.branches"] == {"front": [], "back": []}
    assert 'algo_cfg.branches={"front": [], "back": []}' in choice.words()
    assert "algo_cfg.branches" not in choose(Task(Discrete(6), IMAGE)).settings


@pytest.mark.parametrize("steps", [200, 5_000, 50_000, 600_000, 5_000_000])
@pytest.mark.parametrize(
    ("task", "env"),
    [
        (Task(Discrete(4), Discrete(48)), "CliffWalking-v1"),
        (Task(Discrete(2), VECTOR), "CartPole-v1"),
        (Task(BOUNDED, VECTOR), "Pendulum-v1"),
        (Task(UNBOUNDED, VECTOR), "Pendulum-v1"),
        (Task(Discrete(2), VECTOR, goals=True), "CartPole-v1"),
    ],
)
def test_what_is_chosen_is_a_valid_run_of_the_length_asked_for(task, env, steps):
    choice = choose(task._replace(steps=steps))
    config = load(
        None, ["general_cfg.preset=none", *choice.words()], algo=choice.algo, env=env, find_algo=ALGOS, find_env=ENVS
    )
    assert config.general.max_total_step == steps
    assert 1 <= config.general.model_save_fre <= steps
    for key, value in choice.settings.items():
        section, _, name = key.partition(".")
        section = {"general_cfg": config.general, "algo_cfg": config.algo, "env_cfg": config.env}[section]
        assert getattr(section, name) == value


def test_a_shorter_run_explores_for_a_shorter_time_and_begins_to_learn_earlier():
    long, short = (choose(Task(Discrete(2), VECTOR, steps)).settings for steps in (100_000, 2_000))
    assert (long["algo_cfg.epsilon_decay"], short["algo_cfg.epsilon_decay"]) == (12_500, 250)
    assert (long["algo_cfg.learning_starts"], short["algo_cfg.learning_starts"]) == (1000, 100)
