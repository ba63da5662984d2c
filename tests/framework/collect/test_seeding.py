"""One seed, many streams; every episode has a seed of its own."""

from algos.base import Progress
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.seeding import draw_seed, number, stream
from tests.tools.core import PolicyOfNothing, collector_of, copied


def seeds_of(seed, worker, rows=3, episodes=300):
    return [number(seed, "episode", worker, row, episode) for row in range(rows) for episode in range(episodes)]


def test_every_episode_has_its_own_seed_which_is_a_function_of_its_place():
    """DET-4, DET-5: the same again in another order, and no other worker, row, episode or run has it."""
    alone = seeds_of(1, 0)
    assert alone == seeds_of(1, 0)
    assert number(1, "episode", 0, 2, 299) == alone[-1]
    everywhere = [seed for run in (1, 2) for worker in range(3) for seed in seeds_of(run, worker)]
    assert len(set(everywhere)) == len(everywhere)
    assert all(0 <= seed < 2**31 for seed in everywhere)


def test_streams_depend_on_seed_name_and_numbers_alone():
    """DET-5: another worker moves no stream; DET-6: memory, learning and acting have streams of their own."""
    names = [("act", 0), ("act", 1), ("memory",), ("learn",), ("init",), ("episode", 0, 0, 0)]
    first = [stream(1, *name).random() for name in names]
    assert first == [stream(1, *name).random() for name in names]
    assert len({*first, *(stream(2, *name).random() for name in names)}) == 2 * len(names)


def test_a_drawn_seed_is_never_the_zero_that_asks_for_one():
    assert all(0 < draw_seed() < 2**31 for _ in range(100))


def test_episodes_start_differently_and_the_pair_repeats():
    """DET-2, DET-4"""

    def starts(seed):
        env = gym_env.make(Gym(vectorization="sync"), 1)
        collector = collector_of(
            env, PolicyOfNothing(), episode_seed=lambda row, n: number(seed, "episode", 0, row, n), max_step=2
        )
        return copied(collector.collect(4, Progress())[0])["obs"][[0, 2]].tolist()

    assert starts(1) == starts(1)
    assert starts(1)[0] != starts(1)[1]
    assert starts(1) != starts(2)
