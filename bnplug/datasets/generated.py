"""Data sets that follow from a rule over all combinations of values, made exactly rather than drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import BoolArray
from bnplug.datasets.dataset import Data

_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
_SQUARES = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]

# How many values each attribute of the MONK's problems has.
_MONKS_STATES = (3, 3, 2, 3, 4, 2)


def tic_tac_toe() -> Data:
    """Return every board with which a game of tic-tac-toe can end, x having moved first.

    The 958 boards of the UCI "tic-tac-toe endgame" data: squares hold ``x``, ``o`` or ``b`` (blank), and
    the class is ``positive`` where x has won.

    Examples
    --------
    >>> X, y = tic_tac_toe()
    >>> X.shape, (y == "positive").sum()
    ((958, 9), np.int64(626))
    """
    boards = np.array(["x", "o", "b"])[np.indices((3,) * 9).reshape(9, -1).T]
    x_wins, o_wins = _wins(boards, "x"), _wins(boards, "o")
    more_x = (boards == "x").sum(axis=1) - (boards == "o").sum(axis=1)
    full = (boards != "b").all(axis=1)
    # The last move was the winner's, or the board is full without one.
    ends = np.where(more_x == 1, (x_wins | full) & ~o_wins, (more_x == 0) & o_wins & ~x_wins)
    labels = np.where(x_wins[ends], "positive", "negative")
    return pd.DataFrame(boards[ends].tolist(), columns=_SQUARES), pd.Series(labels.tolist(), name="class")


def balance_scale() -> Data:
    """Return every setting of a balance with weights and distances of 1 to 5, and the side that it tips to.

    The 625 rows of the UCI "balance scale" data, in their order: the class is ``L``, ``R`` or, where weight
    times distance is equal on both sides, ``B``.

    Examples
    --------
    >>> X, y = balance_scale()
    >>> X.shape, y.value_counts().to_dict()
    ((625, 4), {'R': 288, 'L': 288, 'B': 49})
    """
    names = ["left-weight", "left-distance", "right-weight", "right-distance"]
    return _labelled(product(range(1, 6), repeat=4), names, _tips_to)


def corral() -> Data:
    """Return the corral data: an irrelevant feature, and one that equals the class in 3 of 4 rows.

    The 128 rows that come with MLC++ as corral.test, in their order. The class is 1 where A0 and A1 are, or
    B0 and B1. Each setting of the first five features appears four times: ``Correlated`` is the class three
    times, and its opposite once.

    Examples
    --------
    >>> X, y = corral()
    >>> X.shape, (X["Correlated"] == y).mean()
    ((128, 6), np.float64(0.75))
    """
    names = ["A0", "A1", "B0", "B1", "Irrelevant", "Correlated"]
    agreeing = [(*bits, _corral_class(bits)) for bits in product((0, 1), repeat=5)]
    return _labelled([*agreeing, *agreeing, *product((0, 1), repeat=6)], names, _corral_class)


def mofn_3_7_10() -> Data:
    """Return all 1024 settings of ten bits; the class is 1 where at least 3 of the 7 bits 2 to 8 are.

    The MLC++ file mofn-3-7-10 has 1324 rows: a training part of 300 distinct settings drawn at random, which
    no rule gives, and then these.

    Examples
    --------
    >>> X, y = mofn_3_7_10()
    >>> X.shape, y.mean()
    ((1024, 10), np.float64(0.7734375))
    """
    names = [f"Bit-{i}" for i in range(10)]
    return _labelled(product((0, 1), repeat=10), names, lambda bits: int(sum(bits[2:9]) >= 3))


def monks(problem: int) -> Data:
    """Return one of the MONK's problems on all 432 robots: six attributes, class 1 where the rule holds.

    The rules (Thrun et al., 1991): 1, ``a1 = a2`` or ``a5 = 1``; 2, exactly two attributes have their first
    value; 3, ``a5 = 3`` and ``a4 = 1``, or ``a5`` not 4 and ``a2`` not 3. These are the published test files.
    The published training files are random draws from them, the third with 5% of its classes changed; no rule
    gives those.

    Parameters
    ----------
    problem : {1, 2, 3}

    Examples
    --------
    >>> [int(monks(problem)[1].sum()) for problem in (1, 2, 3)]
    [216, 142, 228]
    """
    if problem not in _MONKS_RULES:
        raise ValueError(f"problem={problem!r}: the MONK's problems are 1, 2 and 3")
    rule = _MONKS_RULES[problem]
    robots = product(*(range(1, states + 1) for states in _MONKS_STATES))
    return _labelled(robots, [f"a{i}" for i in range(1, 7)], lambda robot: int(rule(*robot)))


_MONKS_RULES: dict[int, Callable[..., bool]] = {
    1: lambda a1, a2, a3, a4, a5, a6: a1 == a2 or a5 == 1,
    2: lambda *attributes: attributes.count(1) == 2,
    3: lambda a1, a2, a3, a4, a5, a6: (a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3),
}


def _labelled(rows: Iterable[tuple[Any, ...]], names: list[str], label: Callable[[tuple[Any, ...]], Any]) -> Data:
    rows = list(rows)
    return pd.DataFrame(rows, columns=names), pd.Series([label(row) for row in rows], name="class")


def _wins(boards: npt.NDArray[np.str_], player: str) -> BoolArray:
    won: BoolArray = (boards[:, _LINES] == player).all(axis=2).any(axis=1)
    return won


def _tips_to(setting: tuple[int, ...]) -> str:
    left_weight, left_distance, right_weight, right_distance = setting
    torque = left_weight * left_distance - right_weight * right_distance
    return "L" if torque > 0 else "R" if torque < 0 else "B"


def _corral_class(bits: tuple[int, ...]) -> int:
    a0, a1, b0, b1 = bits[:4]
    return (a0 & a1) | (b0 & b1)
