"""Whole episodes without learning: the same ones every time, and no trace of them in the training."""

from collections.abc import Callable

import pytest

from algos.base import Progress
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from framework.collect.fragment import Episode
from framework.log import LOGGER, Lines
from framework.loop.evaluator import Evaluation, Evaluator, replay
from framework.record.recorders import Tape
from framework.seeding import number
from tests.tools.core import CountingEnv, PolicyOfNothing, StepRecorder, TapeAgent, collector_of, copied


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What returns the messages of the warnings that were logged, whatever runs have left of the logger."""
    monkeypatch.setattr(LOGGER, "propagate", True)
    caplog.set_level("WARNING", LOGGER.name)
    return lambda: [record.getMessage() for record in caplog.records]


def test_play_takes_the_first_episodes_of_each_row_and_not_the_shortest():
    """Row 0 needs 2 steps, row 1 needs 5: of four episodes, two are of each, in the order of the rows."""
    collector = collector_of(CountingEnv((2, "terminated"), (5, "terminated")))
    episodes = collector.play(4, Progress())
    assert collector.finished == 4, "row 0 played others meanwhile, which nobody waits for"
    assert [(e.row, e.number, e.length) for e in episodes] == [(0, 0, 2), (1, 0, 5), (0, 1, 2), (1, 1, 5)]
    assert [e.seed for e in episodes] == [1, 101, 2, 102]
    assert [e.row for e in collector_of(CountingEnv(*[(2, "truncated")] * 3)).play(2, Progress())] == [0, 1]


def test_play_can_be_broken_off():
    class Stop(Exception):
        pass

    calls = []

    def check():
        calls.append(None)
        if len(calls) == 4:
            raise Stop

    collector = collector_of(CountingEnv((9, "terminated")))
    with pytest.raises(Stop):
        collector.play(5, Progress(), check)
    assert collector.steps == 3


def test_an_evaluation_plays_the_same_episodes_every_time_and_disturbs_no_training():
    """DET-3, EVL-2: its own environment, seeds and streams."""

    def trained(evaluating):
        env = gym_env.make(Gym(vectorization="sync"), 2)
        evaluator = Evaluator(gym_env.make(Gym(vectorization="sync"), 3), 1, 20)
        agent, scores, seen = PolicyOfNothing(), [], []
        collector = collector_of(env, agent)
        for _ in range(3):
            seen.append(copied(collector.collect(20, Progress())[0])["obs"].tobytes())
            collector.settle()
            if evaluating:
                scores.append(evaluator.play(agent, 5).episodes)
                assert evaluator.random_return(3) > 0
        assert all(score == scores[0] for score in scores)
        return seen

    assert trained(True) == trained(False)


def test_the_episodes_of_an_evaluation_do_not_depend_on_its_rows():
    def seeds(rows):
        env = CountingEnv(*[(2, "terminated")] * rows)
        return [episode.seed for episode in Evaluator(env, 5, -1).play(TapeAgent(), 6).episodes]

    assert seeds(1) == seeds(2) == seeds(3) == [number(5, "evaluation", i) for i in range(6)]


def test_the_facts_of_an_evaluation_are_those_of_its_returns():
    # returns 1 + 2 and 1 + 2 + 3 + 4 + 5
    evaluation = Evaluator(CountingEnv((2, "terminated"), (5, "terminated")), 5, -1).play(TapeAgent(), 2)
    assert evaluation.facts() == {"mean": 9.0, "std": 6.0, "min": 3.0, "max": 15.0, "median": 9.0, "episodes": 2}


def test_an_episode_can_be_played_again_from_its_seed_and_its_actions():
    """For a film: in an environment of one row, step by step the same."""
    tape, seen = Tape(2), StepRecorder()
    evaluator = Evaluator(gym_env.make(Gym(vectorization="sync"), 2), 5, 30)
    episodes = evaluator.play(PolicyOfNothing(), 4, (tape, seen)).episodes
    for episode in episodes:
        again, actions = StepRecorder(), tape.episodes[episode.row, episode.number]
        assert len(actions) == episode.length
        assert replay(gym_env.make(Gym(vectorization="sync"), 1), episode, actions, again).total == episode.total
        assert (episode.row, again.ended[0][1]) in seen.ended


def test_a_random_policy_may_find_no_end_within_its_steps(monkeypatch):
    """No clock decides: 40 steps are enough for two episodes of 20, and 39 are not."""
    evaluator = Evaluator(CountingEnv((20, "terminated")), 5, -1)
    monkeypatch.setattr("framework.loop.evaluator.MOST_RANDOM_STEPS", 40)
    assert evaluator.random_return(2) == 210.0
    monkeypatch.setattr("framework.loop.evaluator.MOST_RANDOM_STEPS", 39)
    assert evaluator.random_return(2) is None


def test_the_log_says_once_that_the_random_policy_is_measured():
    log = Lines("INFO")
    with log.captured():
        Evaluator(CountingEnv((20, "terminated")), 5, -1).random_return(2)
    assert [text for _, text in log.take()] == ["measuring the random policy"]


def test_the_random_policy_plays_the_first_episodes_of_each_row_and_not_the_shortest():
    """Of two episodes one is row 1's long one, 1 + .. + 30 = 465, although row 0 ends 15 in that time: 3 + 465."""
    env = CountingEnv((2, "terminated"), (30, "terminated"))
    assert Evaluator(env, 5, -1).random_return(2) == (3 + 465) / 2


def test_a_score_leaves_out_the_episodes_that_do_not_have_it():
    """A policy that controls no agent in an episode must not get 0 for it."""
    episode = Episode(0, 0, 0, 1, -5.0, 3, True, 3)
    played = [episode._replace(metrics={"return_a": -10.0}), episode, episode._replace(metrics={"return_a": -20.0})]
    assert Evaluation(played, "return_a").mean == -15.0
    assert Evaluation(played).mean == -5.0


def test_a_score_of_a_policy_that_never_played_is_told_once(warned):
    evaluator = Evaluator(CountingEnv((2, "terminated")), 1, 5, score="return_a")
    assert [evaluator.play(TapeAgent(), 2).mean for _ in range(2)] == [0.0, 0.0]
    assert warned() == ["no agent of policy a played in the episodes of an evaluation: its score, 0, says nothing"]


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ([(9, "terminated"), (9, "truncated")], "no episode came to an end: general_cfg.max_step cut off 4 episodes "
                                                "after 5 steps"),
        ([(9, "terminated"), (2, "terminated")], None),
        ([(9, "terminated"), (5, "truncated")], None),
    ],
    ids=["none ends", "some end", "time limit"],
)  # fmt: skip
def test_it_is_said_if_every_episode_had_to_be_cut_off(ends, sentence):
    """An end that the environment makes itself is one, also that of its own time limit at the same step."""
    evaluator = Evaluator(CountingEnv(*ends), 1, 5)
    assert evaluator.latest is None
    assert evaluator.play(TapeAgent(), 4).endless() == sentence
    assert evaluator.latest.endless() == sentence


def test_what_nothing_else_cuts_off_is_cut_off_after_the_longest_episode(monkeypatch, warned):
    monkeypatch.setattr("framework.loop.evaluator.LONGEST_EPISODE", 7)
    evaluator = Evaluator(CountingEnv((9, "terminated")), 1, -1)
    for _ in range(2):
        said = evaluator.play(TapeAgent(), 2).endless()
        assert (
            said
            == "no episode came to an end: 2 episodes, cut off after 7 steps each; general_cfg.max_step does so earlier"
        )
    assert warned() == ["an evaluation episode was cut off after 7 steps; set general_cfg.max_step to cut earlier"]
