"""Data sets of a comparison: loaded, split, and told apart by what they hold."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bnplug.datasets import Dataset, iris
from bnplug.experiments._inputs import split_data
from bnplug.table.kinds import discrete_columns


def one(item, cv=3, missing="ignore", random_state=0):
    return split_data([item], cv, missing, random_state, None)[0]


def test_classes_are_positions():
    data = one("iris")
    _, y = iris()
    assert data.classes == ["setosa", "versicolor", "virginica"]
    assert [data.classes[c] for c in data.truth] == y.tolist()
    assert (data.name, data.cv, list(data.splits)) == ("iris", "3", [0, 1, 2])
    assert list(data.only(1).splits) == [1]


def test_a_pair_is_named_by_its_place(tmp_path):
    X, y = iris()
    found = split_data([(X, y), "iris", (X.to_numpy(), y.tolist())], 2, "ignore", 0, None)
    assert [data.name for data in found] == ["data1", "iris", "data3"]
    with pytest.raises(TypeError, match="expected a name, a Dataset or a pair"):
        one(X)


def test_the_digest_tells_rows_classes_kinds_and_folds_apart():
    X, y = iris()
    whole = one((X, y))
    assert one((X.copy(), y.copy())).digest() == whole.digest()
    others = [
        one((X + (X.index == 3).astype(float)[:, None], y)),
        one((X, y[::-1].to_numpy())),
        one((X, y), random_state=1),
        one((X, y), cv=4),
        replace(whole, categorical_features=("petal width (cm)",)),
    ]
    assert len({data.digest() for data in [whole, *others]}) == 6


def test_rows_with_holes_are_left_out_of_the_folds_where_they_are_dropped():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0] * 5})
    data = one((X, list("pq") * 10), missing="drop")
    used = {int(row) for split in data.splits.values() for part in split for row in part}
    assert used == {row for row in range(20) if row % 4 != 1}


def test_what_a_data_set_lists_as_categories_is_one_and_the_classifier_decides_of_the_others():
    X = pd.DataFrame({"zip": [10115.0, 20095, 80331, np.nan] * 6, "age": range(24), "rooms": [1, 2, 3] * 8})
    data = one(Dataset("toy", X, pd.Series(list("pq") * 12), ("zip",), "made up"))
    assert data.categorical_features == "auto"
    assert discrete_columns(data.X).tolist() == [True, False, True]
    assert data.X["zip"].isna().sum() == 6
    assert "zip" not in X.select_dtypes(object)
