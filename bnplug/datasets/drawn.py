"""Data sets that are drawn at random from a known distribution: digits, waves, cards, two papers' synthetic cases.

`random_state` is 0 unless told, so that a name alone stands for the same rows everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from bnplug.arrays import IntArray
from bnplug.datasets.dataset import Data

# The segments that each digit lights: top, upper left, upper right, middle, lower left, lower right, bottom.
_SEGMENTS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ]
)

# Three triangles of height 6 over positions 1 to 21, with their tops at 11, 15 and 7.
_WAVES = np.array([np.maximum(6 - np.abs(np.arange(1, 22) - top), 0) for top in (11, 15, 7)], dtype=np.float64)


def led(n: int = 1000, noise: float = 0.1, random_state: Any = 0) -> Data:
    """Return digits on a seven-segment display, each segment inverted with probability `noise`.

    Parameters
    ----------
    n : int
        Rows; every row's digit is drawn uniformly.
    noise : float
        The probability that a segment shows the opposite; 0.1 in Breiman et al. (1984) and in the UCI data,
        where the best possible accuracy is 74%.
    random_state : int, RandomState or None

    Examples
    --------
    >>> X, y = led(5, noise=0)
    >>> X.columns.tolist()
    ['Led1', 'Led2', 'Led3', 'Led4', 'Led5', 'Led6', 'Led7']
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r}: expected a probability, from 0 to 1")
    rng = check_random_state(random_state)
    digits = rng.randint(0, 10, n)
    inverted = rng.random_sample((n, 7)) < noise
    X = pd.DataFrame(_SEGMENTS[digits] ^ inverted, columns=[f"Led{i}" for i in range(1, 8)])
    return X, pd.Series(digits, name="class")


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
    random_state : int, RandomState or None

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
    four of a kind, 8 straight flush, 9 royal flush. A straight may begin or end with an ace.

    Parameters
    ----------
    n : int
        Rows. The UCI data have 25,010 for training and 1,000,000 for testing.
    random_state : int, RandomState or None

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
    columns = {f"{letter}{i + 1}": own[:, i] for i in range(5) for letter, own in (("S", suits), ("C", ranks))}
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

    Parameters
    ----------
    n : int
        Rows.
    random_state : int, RandomState or None

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
    random_state : int, RandomState or None

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
