import os
from pathlib import Path

import pandas as pd
import pytest

from bnplug import datasets


def test_tic_tac_toe_has_the_published_counts():
    X, y = datasets.tic_tac_toe()
    assert X.shape == (958, 9)
    assert y.value_counts().to_dict() == {"positive": 626, "negative": 332}
    assert not X.assign(y=y).duplicated().any()


def test_tic_tac_toe_equals_the_published_file():
    path = Path(os.environ.get("BNPLUG_DATA", ""), "tic-tac-toe.csv.gz")
    if not path.is_file():
        pytest.skip("BNPLUG_DATA names no folder with tic-tac-toe.csv.gz")
    X, y = datasets.tic_tac_toe()
    assert set(map(tuple, X.assign(y=y).to_numpy())) == set(map(tuple, pd.read_csv(path).to_numpy()))


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("iris", 150, 4, 3), ("wine", 178, 13, 3), ("breast_cancer", 569, 30, 2), ("digits", 1797, 64, 10)],
)
def test_shipped_sets(name, rows, features, classes):
    X, y = getattr(datasets, name)()
    assert X.shape == (rows, features)
    assert y.nunique() == classes
    assert y.name
