"""The players of benchmarks/board_games.py: perfect play of tictactoe, and matches."""

import pytest

from benchmarks import board_games
from benchmarks.board_games import at_random, best_moves, match, perfect, result, value
from envs.base import EnvContext
from envs.pettingzoo import Config, registry
from envs.pettingzoo.env import make

installed = pytest.mark.skipif(registry.missing() is not None, reason=f"{registry.missing()} is not installed")


def test_perfect_play_is_a_draw_wins_at_once_and_blocks() -> None:
    assert value((0,) * 9) == 0
    assert best_moves((0,) * 9) == list(range(9)), "every first move draws"
    assert best_moves((1, 1, 0, -1, -1, 0, 0, 0, 0)) == [2], "it wins"
    assert best_moves((1, -1, 0, 0, -1, 0, 0, 0, 0)) == [7]
    assert value((-1, -1, -1, 1, 1, 0, 0, 0, 0)) == -1


def test_the_answer_to_a_corner_is_the_middle() -> None:
    assert best_moves((-1, 0, 0, 0, 0, 0, 0, 0, 0)) == [4]


@pytest.mark.long
@installed
def test_a_perfect_player_never_loses_and_draws_against_itself() -> None:
    env = make(Config(id="classic/tictactoe_v3"), 1, EnvContext())
    for place, counts in match(env, perfect, at_random, 20).items():
        assert counts["lost"] == 0, place
        assert counts["won"] >= 10, place
    assert match(env, perfect, perfect, 10) == {"first": {"drawn": 10}, "second": {"drawn": 10}}
    env.close()


@installed
def test_a_game_is_counted_for_the_player_that_won_it() -> None:
    """The first player fills 0, 1, 2 while the second one fills 3, 4, or 8 in place of 2."""

    def fills(*squares: int) -> board_games.Player:
        return lambda seen, place, rng: next(i for i in squares if seen["t0"]["mask"][place][i])

    env = make(Config(id="classic/tictactoe_v3"), 1, EnvContext())
    assert result(env, (fills(0, 1, 2), fills(3, 4, 5)), 1) == 1
    assert result(env, (fills(0, 1, 8), fills(3, 4, 5)), 1) == -1
    assert match(env, fills(3, 4, 5), fills(0, 1, 8), 2) == {"first": {"won": 2}, "second": {"won": 2}}
    env.close()
