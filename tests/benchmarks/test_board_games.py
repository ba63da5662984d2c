"""The players of benchmarks/board_games.py: perfect play of tictactoe and connect four, and matches."""

import shutil
from collections import Counter

import numpy as np
import pytest

from benchmarks import board_games, connect_four
from benchmarks.board_games import at_random, best_in_tictactoe, best_moves, judged, match, perfect, result, value
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
    player = perfect(best_in_tictactoe)
    for place, counts in match(env, player, at_random, 20).items():
        assert counts["lost"] == 0, place
        assert counts["won"] >= 10, place
    assert match(env, player, player, 10) == {"first": {"drawn": 10}, "second": {"drawn": 10}}
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


@pytest.mark.long
@installed
def test_moves_that_keep_the_result_are_counted() -> None:
    """A first player that takes the squares in order errs at once if the second one takes the middle."""
    env, moves = make(Config(id="classic/tictactoe_v3"), 1, EnvContext()), Counter[bool]()
    best = perfect(best_in_tictactoe)
    match(env, judged(best, best_in_tictactoe, moves), at_random, 2)
    assert moves[True] >= 12
    assert not moves[False]
    match(env, judged(at_random, best_in_tictactoe, moves), best, 5)
    assert moves[False]
    env.close()


def wins(stones: int) -> bool:
    """Returns True for four in a row, in one of the four directions."""
    return any(stones & stones >> step & stones >> 2 * step & stones >> 3 * step for step in (1, 6, 7, 8))


def by_minimax(own: int, both: int) -> list[int | None]:
    """Returns the value of each column, by trying all games; None for a full one."""

    def of(column: int) -> int | None:
        row = next((row for row in range(6) if not both & connect_four.bit(column, row)), None)
        if row is None:
            return None
        stone = connect_four.bit(column, row)
        if wins(own | stone):
            return 1
        return -max((each for each in by_minimax(own ^ both, both | stone) if each is not None), default=0)

    return [of(column) for column in range(7)]


def test_values_of_connect_four_are_those_of_minimax() -> None:
    """Of positions with six or seven empty squares, in which nobody has four yet."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    rng, seen = np.random.default_rng(1), Counter[int]()
    while seen.total() < 20 or len(seen) < 3:
        own, both = 0, 0
        for _ in range(int(rng.integers(35, 37))):
            legal = [column for column in range(7) if not both & connect_four.bit(column, 5)]
            column = int(rng.choice(legal))
            row = next(row for row in range(6) if not both & connect_four.bit(column, row))
            own, both = own ^ both, both | connect_four.bit(column, row)
            if wins(own ^ both):
                break
        else:
            expected = by_minimax(own, both)
            best = max(each for each in expected if each is not None)
            assert connect_four.value(own, both, compiler) == best
            columns = [column for column, each in enumerate(expected) if each == best]
            assert connect_four.best_columns(own, both, compiler) == columns
            seen[best] += 1


def test_the_board_is_read_with_its_highest_row_first() -> None:
    planes = np.zeros((6, 7, 2), bool)
    planes[5, 3, 1] = planes[4, 3, 0] = planes[5, 0, 0] = True
    assert connect_four.boards(planes) == (
        connect_four.bit(3, 1) | connect_four.bit(0, 0),
        connect_four.bit(3, 0) | connect_four.bit(3, 1) | connect_four.bit(0, 0),
    )
