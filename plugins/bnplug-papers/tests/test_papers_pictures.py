"""The picture of accuracy with features missing."""

import numpy as np
import pandas as pd
from bnplug_papers.kit.pictures import missing_features


def test_missing_features_are_means_over_draws():
    rows = [("tan", 0, 0, 0.9), ("tan", 2, 0, 0.6), ("tan", 2, 1, 0.8), ("nb", 0, 0, 0.5), ("nb", 2, 0, 0.4)]
    ax = missing_features(pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"]))
    tan, nb = ax.lines
    np.testing.assert_allclose(tan.get_xydata(), [[0, 90], [2, 70]])
    np.testing.assert_allclose(nb.get_xydata(), [[0, 50], [2, 40]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["tan", "nb"]
