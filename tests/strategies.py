"""Generated inputs that several test modules share."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from bnplug.table.table import Table

#: Whether this is the run of `make test-long`.
LONG = os.environ.get("BNPLUG_LONG") == "1"


@st.composite
def frames(draw, max_features=4, max_rows=30, missing=False, min_features=1):
    """A frame of small discrete features and a class `c` that has two states at least."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_features = draw(st.integers(min_features, max_features))
    n_rows = draw(st.integers(4, max_rows))
    cards = [draw(st.integers(1, 4)) for _ in range(n_features)]
    frame = pd.DataFrame({f"x{i}": rng.integers(0, card, n_rows) for i, card in enumerate(cards)})
    if missing:
        frame = frame.mask(rng.random(frame.shape) < 0.2)
        frame.iloc[0] = 0
    labels = rng.integers(0, draw(st.integers(2, 3)), n_rows)
    labels[:2] = [0, 1]
    frame.insert(draw(st.integers(0, n_features)), "c", labels)
    return frame


@st.composite
def tables(draw, weighted=False, **kwargs):
    """A table of such a frame, with whole weights where asked."""
    frame = draw(frames(**kwargs))
    weights = None
    if weighted:
        weights = draw(st.lists(st.integers(1, 3), min_size=len(frame), max_size=len(frame)))
    return Table.from_frame(frame, "c", weights)


def random_parents(rng, n_variables, max_parents=3):
    """Parents of every variable in a random DAG."""
    order = rng.permutation(n_variables)
    parents = [[] for _ in range(n_variables)]
    for position, v in enumerate(order):
        size = rng.integers(0, min(position, max_parents) + 1)
        parents[v] = sorted(int(p) for p in rng.choice(order[:position], size, replace=False))
    return parents


def seeds(n):
    """The seeds of a test that is made with several: `n` of them, ten times as many in a long run."""
    return range(10 * n if LONG else n)


def some(cases, step):
    """Every `step`-th case of an enumeration; all of them in a long run."""
    return cases if LONG else cases[::step]
