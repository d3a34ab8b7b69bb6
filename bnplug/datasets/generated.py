"""Data sets that follow from a rule, made exactly rather than drawn."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd

_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
_SQUARES = [
    f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")
]


def tic_tac_toe() -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return every board with which a game of tic-tac-toe can end, x having moved first.

    The 958 boards of the UCI "tic-tac-toe endgame" data: squares hold ``x``, ``o`` or ``b`` (blank), and
    the class is ``positive`` where x has won.

    Examples
    --------
    >>> X, y = tic_tac_toe()
    >>> X.shape, (y == "positive").sum()
    ((958, 9), np.int64(626))
    """
    boards = [board for board in product("xob", repeat=9) if _is_end(board)]
    labels = ["positive" if _wins(board, "x") else "negative" for board in boards]
    return pd.DataFrame(boards, columns=_SQUARES), pd.Series(labels, name="class")


def _wins(board: tuple[str, ...], player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in _LINES)


def _is_end(board: tuple[str, ...]) -> bool:
    """Whether a game can end so: the last move was the winner's, or the board is full without one."""
    more_x = board.count("x") - board.count("o")
    x_wins, o_wins = _wins(board, "x"), _wins(board, "o")
    if x_wins:
        return more_x == 1 and not o_wins
    if o_wins:
        return more_x == 0
    return more_x == 1 and "b" not in board
