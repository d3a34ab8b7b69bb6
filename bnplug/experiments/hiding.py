"""How fitted models do where features are missing: cells hidden at random, the same ones for every model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bnplug.data.frames import to_frame


def hide_features(
    models: Mapping[str, Any], X: Any, y: Any, counts: Iterable[int], draws: int = 10, random_state: int = 0
) -> pd.DataFrame:
    """Measure accuracy with features missing at random, as in Pernkopf and Bilmes (2008), Figure 3.

    Parameters
    ----------
    models : mapping of str to fitted classifier
        Each must take rows with missing cells.
    X, y : frame and array-like
        Test rows and their classes.
    counts : iterable of int
        How many features are missing in a row; which ones is drawn anew for each row.
    draws : int
        How often the test rows are classified for each of `counts` but 0.
    random_state : int
        The seed of the draws; every model gets the same ones.

    Returns
    -------
    frame
        ``method``, ``missing``, ``draw`` and ``accuracy``.

    Examples
    --------
    >>> from bnplug import BayesianNetworkClassifier, datasets
    >>> X, y = datasets.iris()
    >>> found = hide_features({"tan": BayesianNetworkClassifier("tan").fit(X, y)}, X, y, [0, 4], draws=2)
    >>> found.groupby("missing")["accuracy"].mean().round(2).to_dict()
    {0: 0.97, 4: 0.33}
    """
    frame, truth = to_frame(X, "X"), np.asarray(y)
    rows = []
    for count in counts:
        if not 0 <= count <= frame.shape[1]:
            raise ValueError(f"{count} features cannot be missing: there are {frame.shape[1]}")
        for draw in range(draws if count else 1):
            rng = np.random.default_rng([random_state, count, draw])
            hidden = frame.mask(rng.random(frame.shape).argsort(axis=1) < count) if count else frame
            for name, model in models.items():
                accuracy = float(np.mean(np.asarray(model.predict(hidden)) == truth))
                rows.append((name, count, draw, accuracy))
    return pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])
