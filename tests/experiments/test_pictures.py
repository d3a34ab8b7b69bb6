"""What the pictures show: points, curves and labels that follow from the figures."""

import sys

import numpy as np
import pandas as pd
import pytest

from bnplug.experiments import compare, hide_features, pictures
from bnplug.experiments.statistics import bonferroni_dunn, nemenyi

TABLE = pd.DataFrame({"good": np.linspace(0.8, 0.9, 12), "fair": np.linspace(0.7, 0.8, 12), "bad": 0.1, "$x_1": 0.05})


@pytest.fixture(scope="module")
def found():
    return compare(["nb", "tan"], ["corral", "iris"], cv=2)


def bars(ax):
    """Return the thick lines under the axis."""
    return [line.get_xdata() for line in ax.lines if line.get_linewidth() == 4]


def test_critical_difference_joins_what_does_not_differ():
    result = nemenyi(TABLE)
    ax = pictures.critical_difference(result)
    texts = [text.get_text() for text in ax.texts]
    assert {"good  1.00", "fair  2.00", "bad  3.00", "$x_1  4.00"} <= set(texts)
    assert f"critical difference {result.critical_difference:.2f}" in texts
    assert 1 < result.critical_difference < 2
    np.testing.assert_allclose(bars(ax), [[1, 2.03], [1.97, 3.03], [2.97, 4]])


def test_critical_difference_around_a_control():
    result = bonferroni_dunn(TABLE, "fair")
    (bar,) = bars(pictures.critical_difference(result))
    np.testing.assert_allclose(bar, [1, 2 + result.critical_difference])


def test_a_difference_longer_than_the_axis_has_no_end():
    ax = pictures.critical_difference(nemenyi(TABLE.head(2)))
    ruler = [line for line in ax.lines if line.get_linewidth() == 2]
    assert len(ruler) == 2
    assert max(ruler[0].get_xdata()) == 4


def test_scatter_places_data_sets_by_the_two_methods(found):
    ax = pictures.scatter(found, "nb", "tan")
    table = 100 * found.table()
    np.testing.assert_allclose(ax.collections[0].get_offsets(), table[["nb", "tan"]])
    texts = {text.get_text() for text in ax.texts}
    assert {"corral", "iris", "tan better", "nb better"} == texts
    upper = next(text for text in ax.texts if text.get_text() == "tan better")
    assert upper.get_position()[1] > 0.5
    flipped = pictures.scatter(found, "nb", "tan", "rmse")
    upper = next(text for text in flipped.texts if text.get_text() == "nb better")
    assert upper.get_position()[1] > 0.5
    with pytest.raises(ValueError, match="no method 'svm'"):
        pictures.scatter(found, "nb", "svm")


def test_time_against_accuracy(found):
    ax = pictures.time_accuracy(found)
    seconds = np.exp(np.log(found.table("fit_seconds")["tan"]).mean())
    np.testing.assert_allclose(ax.collections[1].get_offsets()[0], [seconds, 100 * found.table()["tan"].mean()])
    low, high = ax.get_xlim()
    assert high / low >= 10 - 1e-9


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_pictures_are_saved_and_pyplot_is_left_alone(tmp_path, found, suffix):
    pictures.save_figure(pictures.time_accuracy(found), tmp_path / f"a.{suffix}")
    assert (tmp_path / f"a.{suffix}").stat().st_size > 1000
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_the_same_picture_has_the_same_bytes(tmp_path, found):
    for name in ("a.png", "b.png"):
        pictures.save_figure(pictures.scatter(found, "nb", "tan"), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with pytest.raises(ValueError, match="one of these endings"):
        pictures.save_figure(pictures.scatter(found, "nb", "tan"), tmp_path / "a.gif")


class Counts:
    """Predicts for each row how many of its features are missing; remembers the rows."""

    def __init__(self):
        self.rows = []

    def predict(self, X):
        self.rows.append(X.isna().to_numpy())
        return X.isna().sum(axis=1).to_numpy()


def test_each_row_lacks_so_many_features_and_all_models_the_same_ones():
    X = pd.DataFrame(np.arange(40).reshape(10, 4))
    first, second = Counts(), Counts()
    found = hide_features({"a": first, "b": second}, X, np.full(10, 2), [0, 2, 4], draws=3)
    assert found.groupby(["missing", "method"]).size().tolist() == [1, 1, 3, 3, 3, 3]
    assert found.groupby("missing")["accuracy"].mean().to_dict() == {0: 0.0, 2: 1.0, 4: 0.0}
    assert all((one == other).all() for one, other in zip(first.rows, second.rows, strict=True))
    assert (first.rows[1] != first.rows[2]).any()
    with pytest.raises(ValueError, match="5 features cannot be missing: there are 4"):
        hide_features({}, X, np.zeros(10), [5])
