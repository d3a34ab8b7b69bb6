"""One signature for rows in memory and in files, with the same result."""

import numpy as np
import pandas as pd
import pytest

from bnplug import BayesianNetworkClassifier, encode_training

ROWS = pd.DataFrame(
    {
        "sky": ["sun", "rain", "sun", "fog"] * 5,
        "wind": np.arange(20) / 7,
        "weight": [1.0, 2.0] * 10,
        "kind": ["go", "stay", "go", "stay"] * 5,
    }
)


def coded(source, target, sample_weight):
    table, encoder = encode_training(source, target, sample_weight, discretizer=("uniform", {"n_bins": 3}))
    return table.states, table.codes.tolist(), table.weights.tolist(), encoder.columns


def test_class_and_weights_are_given_by_name_or_as_arrays(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    by_array = coded(ROWS[["sky", "wind"]], ROWS["kind"], ROWS["weight"])
    assert coded(ROWS, "kind", "weight") == by_array
    assert coded(tmp_path / "rows.csv", "kind", "weight") == by_array


def test_an_unknown_name_and_an_option_of_another_source_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^sample_weight='height': no such column; the columns are \['sky', "):
        encode_training(ROWS, "kind", "height")
    with pytest.raises(ValueError, match=r"^cache: this option does not apply to rows in memory$"):
        encode_training(ROWS, "kind", cache=tmp_path)
    with pytest.raises(ValueError, match=r"^classes: this option does not apply to files$"):
        encode_training(tmp_path / "rows.csv", "kind", classes=["go", "stay"])


def test_fit_takes_class_and_weights_as_arrays_only():
    # As names of columns they would count as features of the model.
    model, kinds = BayesianNetworkClassifier("nb"), ROWS["kind"].tolist()
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model.fit(ROWS, "kind")
    with pytest.raises(ValueError, match="sample_weight contains text"):
        model.fit(ROWS.drop(columns="kind"), kinds, "weight")
