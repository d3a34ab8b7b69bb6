"""Data sets that follow from a rule, that are drawn from a known distribution, or that scikit-learn ships.

`n` is a number of rows. `random_state`, an int, a RandomState or None, is 0 by default, so a name alone stands for the
same rows everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from bnplug.datasets.dataset import Data
from bnplug.typing import IntArray

_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
_SQUARES = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]

# How many values each attribute of the MONK's problems has.
_MONKS_STATES = (3, 3, 2, 3, 4, 2)

# The segments that each digit lights: top, upper left, upper right, middle, lower left, lower right, bottom.
_DIGITS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"
_SEGMENTS = np.array([[int(lit) for lit in digit] for digit in _DIGITS.split()])

# Three triangles of height 6 over positions 1 to 21, with their tops at 11, 15 and 7.
_WAVES = np.array([np.maximum(6 - np.abs(np.arange(1, 22) - top), 0) for top in (11, 15, 7)], dtype=np.float64)


def tic_tac_toe() -> Data:
    """Return every possible final board of tic-tac-toe, where x moves first.

    The 958 boards of the UCI "tic-tac-toe endgame" data: squares hold ``x``, ``o`` or ``b`` (blank), and
    the class is ``positive`` where x has won.

    Examples
    --------
    >>> X, y = tic_tac_toe()
    >>> X.shape, (y == "positive").sum()
    ((958, 9), np.int64(626))
    """
    boards = np.array(["x", "o", "b"])[np.indices((3,) * 9).reshape(9, -1).T]
    x_wins, o_wins = ((boards[:, _LINES] == player).all(axis=2).any(axis=1) for player in "xo")
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
    X = pd.DataFrame(product(range(1, 6), repeat=4), columns=names)
    torque = X["left-weight"] * X["left-distance"] - X["right-weight"] * X["right-distance"]
    return X, pd.Series(np.array(["B", "L", "R"], dtype=object)[np.sign(torque)], name="class")


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


def _corral_class(bits: tuple[int, ...]) -> int:
    a0, a1, b0, b1 = bits[:4]
    return (a0 & a1) | (b0 & b1)


def led(n: int = 1000, noise: float = 0.1, random_state: Any = 0) -> Data:
    """Return digits on a seven-segment display, each segment inverted with probability `noise`.

    Parameters
    ----------
    n : int
        Rows; every row's digit is drawn uniformly.
    noise : float
        The probability that a segment shows the opposite; 0.1 in Breiman et al. (1984) and in the UCI data,
        where the best possible accuracy is 74%.

    Examples
    --------
    >>> X, y = led(5, noise=0)
    >>> X.columns.tolist()
    ['Led1', 'Led2', 'Led3', 'Led4', 'Led5', 'Led6', 'Led7']
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r}: expected a probability, from 0 to 1")
    rng = check_random_state(random_state)
    shown = rng.randint(0, 10, n)
    inverted = rng.random_sample((n, 7)) < noise
    X = pd.DataFrame(_SEGMENTS[shown] ^ inverted, columns=[f"Led{i}" for i in range(1, 8)])
    return X, pd.Series(shown, name="class")


def waveform(n: int = 5000, noise_features: int = 0, random_state: Any = 0) -> Data:
    """Return noisy mixtures of two of three triangular waves, at 21 positions (Breiman et al., 1984).

    Class c, of 0 to 2, mixes the two waves other than wave c, with a weight that is uniform between 0 and 1,
    and every feature gets standard normal noise. The best possible accuracy is about 87%. The numbers of the waves,
    and so the class labels, are those of the UCI data.

    Parameters
    ----------
    n : int
        Rows; every row's class is drawn uniformly.
    noise_features : int
        Further features of standard normal noise alone; 19 in the UCI data with 40 features.

    Examples
    --------
    >>> X, y = waveform(100, noise_features=19)
    >>> X.shape, sorted(set(y))
    ((100, 40), [0, 1, 2])
    """
    rng = check_random_state(random_state)
    classes = rng.randint(0, 3, n)
    weight = rng.random_sample((n, 1))
    features = rng.standard_normal((n, 21 + noise_features))
    features[:, :21] += weight * _WAVES[(classes + 1) % 3] + (1 - weight) * _WAVES[(classes + 2) % 3]
    X = pd.DataFrame(features, columns=[f"x{i}" for i in range(1, 22 + noise_features)])
    return X, pd.Series(classes, name="class")


def poker_hand(n: int = 100_000, random_state: Any = 0) -> Data:
    """Return hands of five cards and what they are worth: the rule of the UCI "poker hand" data, which are such a draw.

    Cards are dealt without replacement and in order: suits 1 to 4 (``S1`` to ``S5``), ranks 1, the ace, to 13 (``C1``
    to ``C5``). Classes: 0 nothing, 1 one pair, 2 two pairs, 3 three of a kind, 4 straight, 5 flush, 6 full house, 7
    four of a kind, 8 straight flush, 9 royal flush. A straight may begin or end with an ace. The UCI data have 25,010
    rows for training and 1,000,000 for testing.

    Examples
    --------
    >>> X, y = poker_hand(1000)
    >>> X.columns.tolist(), y.value_counts().head(2).to_dict()
    (['S1', 'C1', 'S2', 'C2', 'S3', 'C3', 'S4', 'C4', 'S5', 'C5'], {0: 491, 1: 422})
    """
    rng = check_random_state(random_state)
    decks, rows = np.tile(np.arange(52, dtype=np.int8), (n, 1)), np.arange(n)
    for place in range(5):
        drawn = rng.randint(place, 52, n)
        decks[:, place], decks[rows, drawn] = decks[rows, drawn], decks[:, place].copy()
    cards = decks[:, :5].astype(np.int64)
    suits, ranks = cards // 13 + 1, cards % 13 + 1
    columns = {f"{letter}{i + 1}": part[:, i] for i in range(5) for letter, part in (("S", suits), ("C", ranks))}
    return pd.DataFrame(columns), pd.Series(_worth(suits, ranks), name="class")


def _worth(suits: IntArray, ranks: IntArray) -> IntArray:
    """Return the class of each poker hand."""
    counts = (ranks[:, :, None] == np.arange(1, 14)).sum(axis=1)
    most, pairs = counts.max(axis=1), (counts == 2).sum(axis=1)
    ordered = np.sort(ranks, axis=1)
    royal = (ordered == (1, 10, 11, 12, 13)).all(axis=1)
    straight = (np.diff(ordered, axis=1) == 1).all(axis=1) | royal
    flush = (suits == suits[:, :1]).all(axis=1)
    hands = [flush & royal, flush & straight, most == 4, (most == 3) & (pairs == 1), flush, straight, most == 3,
             pairs == 2, pairs == 1]  # fmt: skip
    return np.select(hands, range(9, 0, -1), 0)


def p08_synthetic(n: int = 1000, random_state: Any = 0) -> Data:
    """Return the case in which only a discriminative structure tells the classes apart.

    Equations 1 to 4 of Pernkopf and Bilmes (2008): three binary features, classes 1 and 2. X1-X2 and X2-X3
    depend on each other most, but only X1-X3 differs between the classes. Exact accuracies: naive Bayes 50%,
    generative TAN 57.5%, discriminative TAN and Bayes' rule 65%.

    Examples
    --------
    >>> X, y = p08_synthetic(4)
    >>> X.columns.tolist(), y.name
    (['X1', 'X2', 'X3'], 'C')
    """
    rng = check_random_state(random_state)
    classes = rng.randint(1, 3, n)
    x1 = rng.randint(0, 2, n)
    x2 = np.where(rng.random_sample(n) < 0.5, x1, rng.randint(0, 2, n))
    x1_or_its_negation = np.where(classes == 1, x1, 1 - x1)
    source = rng.random_sample(n)
    x3 = np.select([source < 0.3, source < 0.8], [x1_or_its_negation, x2], rng.randint(0, 2, n))
    return pd.DataFrame({"X1": x1, "X2": x2, "X3": x3}), pd.Series(classes, name="C")


def z17_synthetic(n: int = 10_000, alpha: float = 1.0, random_state: Any = 0) -> Data:
    """Return the case whose conditional likelihood is the more elongated, the larger `alpha`.

    Zaidi et al. (2017), 5.5.1: three binary features, uniform and independent, and
    ``P(y = 1 | x) = 1 / (1 + exp(-(10^alpha x1 + x2 + 10^-alpha x3)))`` (the paper drops the "1 +").

    Parameters
    ----------
    n : int
        Rows; the paper draws 10,000.
    alpha : float
        The paper goes from 0, where all features weigh the same, to 1.

    Examples
    --------
    >>> X, y = z17_synthetic(100, alpha=0.5)
    >>> X.shape, sorted(set(y))
    ((100, 3), [0, 1])
    """
    rng = check_random_state(random_state)
    features = rng.randint(0, 2, (n, 3))
    log_odds = features @ np.array([10.0**alpha, 1.0, 10.0**-alpha])
    classes = (rng.random_sample(n) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    return pd.DataFrame(features, columns=["x1", "x2", "x3"]), pd.Series(classes, name="y")


def iris() -> Data:
    """Return Fisher's iris data: 150 rows, 4 numeric features, 3 classes."""
    return _shipped("iris", "species")


def wine() -> Data:
    """Return the wine recognition data: 178 rows, 13 numeric features, 3 classes."""
    return _shipped("wine", "cultivar")


def breast_cancer() -> Data:
    """Return the Wisconsin diagnostic breast cancer data: 569 rows, 30 numeric features, 2 classes."""
    return _shipped("breast_cancer", "diagnosis")


def digits() -> Data:
    """Return the handwritten digits: 1797 rows, 64 features of 17 grey levels, 10 classes."""
    return _shipped("digits", "digit")


def _shipped(name: str, target: str) -> Data:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return bunch.data, pd.Series([bunch.target_names[code] for code in bunch.target], name=target)
