"""Data sets made by rule, with what real files have: columns of no use, rare classes, odd names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

N = 90


def plain(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    """Return three columns that tell something of a class of two, and the class."""
    y = pd.Series(rng.choice(["p", "q"], N), name="y")
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(N) < 0.8, y, rng.choice(["p", "q"], N)),
            "b": rng.choice(["u", "v", "w"], N),
            "x": rng.normal(size=N) + 2 * (y == "q"),
        }
    )
    return X, y


def _constant(X, y, rng):
    return X.assign(same="k", zero=0, one=1.5), y


def _empty(X, y, rng):
    return X.assign(none=None, nan=np.nan, never=pd.Categorical([None] * N, categories=["u"])), y


def _identifiers(X, y, rng):
    return X.assign(id=np.arange(N), key=[f"n{i}" for i in range(N)], customerId=rng.permutation(10**6)[:N]), y


def _empty_in_training(X, y, rng):
    return X.assign(late=np.where(np.arange(N) % 3, None, "k")), y


def _one_column(X, y, rng):
    return pd.DataFrame({"same": "k", "a": X["a"], "void": np.nan}), y


def _only_constants(X, y, rng):
    return pd.DataFrame({"same": ["k"] * N, "zero": 0, "id": np.arange(N)}), y


def _class_of_one_row(X, y, rng):
    return X, y.where(np.arange(N) != 4, "once")


def _rare_classes(X, y, rng):
    return X, pd.Series(np.where(np.arange(N) < 12, np.arange(N) // 2 + 5, (y == "p") * 1), name="kind")


def _names(X, y, rng):
    odd = ["", " ", "a,b", "größe (cm)", "line\nbreak", "class", "probability", "(prior)", "x.1", "年齢", '"']
    return X.assign(**{name: rng.choice(["u", "v"], N) for name in odd}), y.rename("class")


def _labels(X, y, rng):
    odd = np.array(["other", "missing", "", "a,b", "(0.1, 0.5]", "nan", "<b>", "日本", '"', "all"], dtype=object)
    return X.assign(o=odd[rng.integers(10, size=N)], t=pd.Series([1, "1", 2.5] * 30, dtype=object)), y.map(
        {"p": "<=1", "q": "other"}
    )


def _codes(X, y, rng):
    return X.assign(
        code=[f"c{i}" for i in rng.integers(300, size=N)], zip=[f"{i:05}" for i in rng.integers(35, size=N)]
    ), y


def _times(X, y, rng):
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(10**7, size=N), unit="s")
    return X.assign(when=days, day=days.date, took=pd.to_timedelta(rng.integers(99, size=N), unit="h")), y


def _holes(X, y, rng):
    X = X.assign(
        n=rng.integers(4, size=N), t=rng.random(N) < 0.5, c=pd.Categorical(rng.choice(["k", "l"], N), ["k", "l", "m"])
    )
    return X.mask(rng.random(X.shape) < 0.3), y


#: What each data set makes of plain columns and their class.
RULES: dict[str, Callable[..., tuple[pd.DataFrame, pd.Series]]] = {
    rule.__name__.strip("_"): rule
    for rule in (
        _constant, _empty, _identifiers, _empty_in_training, _one_column, _only_constants, _class_of_one_row,
        _rare_classes, _names, _labels, _codes, _times, _holes,
    )
}  # fmt: skip


def odd_data(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a data set by name, always the same."""
    rng = np.random.default_rng(list(RULES).index(name))
    return RULES[name](*plain(rng), rng)
