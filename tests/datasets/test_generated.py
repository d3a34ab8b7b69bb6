"""The rules give the published counts, and the published files where they are at hand (BNPLUG_DATA)."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from bnplug import datasets


def rows(X, y):
    return list(map(tuple, X.assign(y=y).to_numpy()))


@pytest.mark.parametrize(
    ("make", "shape", "counts"),
    [
        (datasets.tic_tac_toe, (958, 9), {"positive": 626, "negative": 332}),
        (datasets.balance_scale, (625, 4), {"L": 288, "B": 49, "R": 288}),
        (datasets.corral, (128, 6), {0: 72, 1: 56}),
        (datasets.mofn_3_7_10, (1024, 10), {0: 232, 1: 792}),
        (lambda: datasets.monks(1), (432, 6), {0: 216, 1: 216}),
        (lambda: datasets.monks(2), (432, 6), {0: 290, 1: 142}),
        (lambda: datasets.monks(3), (432, 6), {0: 204, 1: 228}),
    ],
)
def test_sizes_and_class_counts_are_the_published_ones(make, shape, counts):
    X, y = make()
    assert X.shape == shape
    assert y.value_counts().to_dict() == counts
    assert y.name == "class"


@pytest.mark.parametrize("make", [datasets.tic_tac_toe, datasets.balance_scale, datasets.mofn_3_7_10])
def test_no_setting_appears_twice(make):
    assert not make()[0].duplicated().any()


def test_tic_tac_toe_equals_the_published_file(published_file):
    published = published_file("tic-tac-toe")
    assert len(published) == 958
    assert set(rows(*datasets.tic_tac_toe())) == set(map(tuple, published.to_numpy()))


@pytest.mark.parametrize("name", ["balance_scale", "corral"])
def test_balance_scale_and_corral_equal_the_published_files_row_by_row(published_file, name):
    X, y = getattr(datasets, name)()
    pd.testing.assert_frame_equal(X.assign(**{"class": y}), published_file(name.replace("_", "-")))


def test_mofn_equals_the_second_part_of_the_published_file_and_its_rule_holds_on_the_first(published_file):
    published = published_file("mofn-3-7-10")
    X, y = datasets.mofn_3_7_10()
    assert list(X.columns) == list(published.columns[:-1])
    all_settings = set(rows(X, y))
    assert Counter(map(tuple, published.iloc[300:].to_numpy())) == Counter(all_settings)
    assert set(map(tuple, published.iloc[:300].to_numpy())) <= all_settings


def test_corral_by_its_rule():
    X, y = datasets.corral()
    assert (y == ((X["A0"] & X["A1"]) | (X["B0"] & X["B1"]))).all()
    per_setting = (X["Correlated"] == y).groupby([X[name] for name in X.columns[:5]]).agg(["size", "sum"])
    assert (per_setting == [4, 3]).all().all()


def test_a_fourth_monks_problem_is_refused():
    with pytest.raises(ValueError, match="problem=4"):
        datasets.monks(4)


def test_balance_tips_to_the_side_with_more_torque():
    X, y = datasets.balance_scale()
    torque = X["left-weight"] * X["left-distance"] - X["right-weight"] * X["right-distance"]
    assert (np.sign(torque).map({1: "L", 0: "B", -1: "R"}) == y).all()
