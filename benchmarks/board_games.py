"""Plays a trained policy of tictactoe or connect four against Random and against a perfect player.

python benchmarks/board_games.py TASK [--games 100] [--model best]

TASK is a task directory. Against each opponent, the policy plays that many games as the first player and as many as the
second one. It chooses its best action; the opponents draw from their best actions, which keep the value of the
position: win, draw or loss. The last line says how many moves of the policy did. The perfect player of connect four
needs a C++ compiler, 512 MiB of memory, and much time for the first moves: their positions are searched to the end.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import joystick  # noqa: E402
from algos.base import Agent, Array  # noqa: E402
from benchmarks import connect_four  # noqa: E402
from config.read.loader import load  # noqa: E402
from envs.base import VectorEnv  # noqa: E402
from framework.assemble import build  # noqa: E402
from framework.catalog import ALGOS, ENVS  # noqa: E402

Best = Callable[[Array], Sequence[int]]
"""Observation of the player whose turn it is -> all moves with the result of perfect play."""
Player = Callable[[Array, int, np.random.Generator], int]
"""(joint observation of the game, place 0 or 1, random numbers) -> action."""
Squares = tuple[int, ...]
"""Nine squares of tictactoe: 1 has a mark of the player whose turn it is, -1 one of the other player, 0 is empty."""
TICTACTOE, CONNECT_FOUR = (3, 3, 2), (6, 7, 2)
"""Shapes of observations: rows, columns, planes of the own and the other marks."""
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


# players --------------------------------------------------------------------------------------------------


@cache
def value(squares: Squares) -> int:
    """Returns the result of perfect play for the player whose turn it is: 1 win, 0 draw, -1 loss."""
    if any(all(squares[i] == -1 for i in line) for line in LINES):
        return -1
    return max((-value(after(squares, move)) for move in moves(squares)), default=0)


def moves(squares: Squares) -> list[int]:
    """Returns the empty squares."""
    return [i for i, mark in enumerate(squares) if not mark]


def after(squares: Squares, move: int) -> Squares:
    """Returns the squares after a move, as the other player sees them."""
    return tuple(-1 if i == move else -mark for i, mark in enumerate(squares))


def best_moves(squares: Squares) -> list[int]:
    """Returns all moves with the result of perfect play."""
    return [move for move in moves(squares) if -value(after(squares, move)) == value(squares)]


def best_in_tictactoe(planes: Array) -> list[int]:
    """Returns the best moves by minimax. planes: [3, 3, 2], of the own and the other marks."""
    marks = planes.reshape(9, 2).astype(int)
    return best_moves(tuple((marks[:, 0] - marks[:, 1]).tolist()))


def best_in(shape: tuple[int, ...]) -> Best | None:
    """Returns who knows the best moves of the game with observations of this shape; None without a compiler."""
    if shape == TICTACTOE:
        return best_in_tictactoe
    compiler = connect_four.compiler()
    return None if compiler is None else partial(connect_four.best_moves, compiler=compiler)


def perfect(best: Best) -> Player:
    """Returns a player with the result of perfect play."""
    return lambda seen, place, rng: int(rng.choice(best(seen["t0"]["obs"][place])))


def judged(player: Player, best: Best, moves: Counter[bool]) -> Player:
    """Returns the same player. moves: counts, for True, its moves that keep the result of perfect play."""

    def play(seen: Array, place: int, rng: np.random.Generator) -> int:
        move = player(seen, place, rng)
        moves[move in best(seen["t0"]["obs"][place])] += 1
        return move

    return play


def at_random(seen: Array, place: int, rng: np.random.Generator) -> int:
    """Plays any legal action."""
    return int(rng.choice(np.flatnonzero(seen["t0"]["mask"][place])))


def trained(agent: Agent, env: VectorEnv) -> Player:
    """Returns a player with the best actions of a policy."""
    layout: Any = env.joint

    def play(seen: Array, place: int, rng: np.random.Generator) -> int:
        action = agent.predict_action(layout.encode(seen)[None], None).action
        return int(layout.decode_action(action)["t0"][0, place])

    return play


def board(env: VectorEnv) -> tuple[int, ...]:
    """Returns the shape of what a player observes; empty if not all agents observe the same."""
    types = env.joint.types if env.joint is not None else ()
    return (types[0].observation_space.shape or ()) if len(types) == 1 else ()


# games ----------------------------------------------------------------------------------------------------


def result(env: VectorEnv, players: tuple[Player, Player], seed: int) -> float:
    """Returns the return of the first player in one game: 1 win, 0 draw, -1 loss."""
    layout: Any = env.joint
    rng, total = np.random.default_rng(seed), 0.0
    obs = env.reset(np.ones(1, bool), np.array([seed]))
    while True:
        seen, action = layout.decode(obs)[0], layout.new_action(1)
        place = int(seen["t0"]["acts"].argmax())
        action["t0"][0, place] = players[place](seen, place, rng)
        step = env.step(layout.encode(action))
        obs = step.obs
        total += float(layout.decode(obs)["t0"]["reward"][0, 0])
        if step.terminated[0] or step.truncated[0]:
            return total


def match(env: VectorEnv, one: Player, other: Player, games: int) -> dict[str, Counter[str]]:
    """Returns wins, draws and losses of one player against another, as the first and as the second player."""
    words = {1: "won", 0: "drawn", -1: "lost"}
    first = Counter(words[round(result(env, (one, other), seed))] for seed in range(1, games + 1))
    second = Counter(words[-round(result(env, (other, one), seed))] for seed in range(1, games + 1))
    return {"first": first, "second": second}


def main(argv: list[str] | None = None) -> int:
    """Prints the results of all matches."""
    parser = argparse.ArgumentParser(description="Plays a trained policy against Random and a perfect player.")
    parser.add_argument("task", help="task directory of a run")
    parser.add_argument("--games", type=int, default=100, help="number of games as the first player, and as the second")
    parser.add_argument("--model", default="best", help="best, latest, or the update of a checkpoint")
    request = parser.parse_args(argv)
    config = load(Path(request.task) / "config.yaml", [], find_algo=ALGOS, find_env=ENVS)
    model = int(request.model) if request.model.isdigit() else request.model
    env = build.make_env(config, 1)
    if board(env) not in (TICTACTOE, CONNECT_FOUR):
        parser.error(f"{request.task} is a run of another environment than tictactoe and connect four")
    player = trained(joystick.load(request.task, model).agent, env)
    opponents, best = {"Random": at_random}, best_in(board(env))
    if best is None:
        print("no perfect player: it needs a C++ compiler (c++, or CXX)")
    else:
        opponents["a perfect player"] = perfect(best)
    for name, opponent in opponents.items():
        moves: Counter[bool] = Counter()
        one = player if best is None or name == "Random" else judged(player, best, moves)
        for place, counts in match(env, one, opponent, request.games).items():
            listed = ", ".join(f"{counts[word]} {word}" for word in ("won", "drawn", "lost"))
            print(f"{place} player against {name}: {listed}", flush=True)
        if moves:
            print(f"{moves[True]:,} of {moves.total():,} moves against it keep the result of perfect play")
    env.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
