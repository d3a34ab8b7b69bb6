import pytest

from bnplug import datasets


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("iris", 150, 4, 3), ("wine", 178, 13, 3), ("breast_cancer", 569, 30, 2), ("digits", 1797, 64, 10)],
)
def test_sets_that_scikit_learn_ships(name, rows, features, classes):
    X, y = getattr(datasets, name)()
    assert X.shape == (rows, features)
    assert y.nunique() == classes
    assert y.name
    assert datasets.load(name.replace("_", "-")).categorical_features == "auto"
