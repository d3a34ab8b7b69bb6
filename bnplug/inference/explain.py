"""What each known feature contributes to the log odds of each class.

Features are revealed one at a time, those not yet revealed being marginalised, and a feature's contribution is
the change of a class's log odds when it is revealed. That change depends on what was revealed before it, so the
mean over two orders is taken: the features as they come, and the reverse. Either way the prior log odds
and all contributions add up to the posterior log odds. If a combination of features is impossible under every class,
the prior log odds are used, as in prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from bnplug.arrays import CodeArray, FloatArray
from bnplug.contracts import Marginals
from bnplug.data.coding import label_index
from bnplug.inference._shown import explanation_display
from bnplug.inference.predicting import predictive_log_joint
from bnplug.notebook._frames import with_display

#: What explanations call the log odds that no feature contributed.
PRIOR = "(prior)"

# Log odds beyond this are as good as certain, and are cut off, so that contributions stay finite.
_CERTAIN = 1000.0


def contributions(marginals: Marginals, codes: CodeArray, target: int, n_jobs: int | None = None) -> FloatArray:
    """Return every feature's contribution to the log odds of every class.

    Parameters
    ----------
    marginals : Marginals
    codes : unsigned array of shape (variables, rows)
        In the order of the tables' names.
    target : int
        Which of the variables is the class.

    Returns
    -------
    float64 array of shape (rows, 1 + features, classes)
        First the prior log odds, then the features in the order of the tables' names; a missing
        feature contributes 0.
    """
    features = [v for v in range(len(codes)) if v != target]
    hidden = np.full_like(codes, np.iinfo(codes.dtype).max)
    prior = _log_odds(marginals.log_joint(hidden, n_jobs))
    result = np.zeros((codes.shape[1], 1 + len(features), prior.shape[1]))
    for order in (range(len(features)), range(len(features) - 1, -1, -1)):
        shown, before = hidden.copy(), prior
        result[:, 0] += before / 2
        for position in order:
            shown[features[position]] = codes[features[position]]
            after = _log_odds(predictive_log_joint(marginals, shown, n_jobs))
            result[:, 1 + position] += (after - before) / 2
            before = after
    return result


def to_long_frame(values: FloatArray, rows: pd.Index, features: list[str], classes: npt.NDArray[Any]) -> pd.DataFrame:
    """Return contributions as a long frame with columns row, feature, class and contribution."""
    names = [PRIOR, *features]
    labels = label_index(classes.tolist())
    index = pd.MultiIndex.from_product([rows, names, range(len(labels))], names=["row", "feature", "class"])
    frame = pd.DataFrame({"contribution": values.ravel()}, index=index).reset_index()
    told = pd.Series(labels.take(frame["class"].to_numpy()), dtype=labels.dtype)
    return with_display(frame.assign(**{"class": told}), explanation_display)


def _log_odds(joint: FloatArray) -> FloatArray:
    """Return log P(c) - log (1 - P(c)) of every class, cut off where it is certain."""
    n_classes = joint.shape[1]
    odds = np.empty_like(joint)
    for c in range(n_classes):
        others = logsumexp(np.delete(joint, c, axis=1), axis=1)
        with np.errstate(invalid="ignore"):
            odds[:, c] = joint[:, c] - others
    # If every row is impossible under a network, all classes get the same log odds.
    impossible = np.isneginf(joint).all(axis=1)
    odds[impossible] = -np.log(n_classes - 1)
    return np.clip(odds, -_CERTAIN, _CERTAIN)
