"""What ``cv`` means: every row tested once a repetition, and rows given stay as given."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from bnplug.experiments._inputs import describe_cv, make_splits

X, Y = pd.DataFrame({"a": range(30)}), pd.Series(list("pq") * 15)
ALL = np.ones(30, dtype=bool)


def test_repetitions_test_every_row_once_and_keep_the_shares_of_the_classes():
    splits = make_splits("2x5", X, Y, ALL, 0)
    assert len(splits) == 10
    for repetition in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([test for _, test in repetition])) == list(range(30))
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(30))
        assert Y.iloc[test].value_counts().tolist() == [3, 3]
    assert not np.array_equal(splits[0][1], splits[5][1])


def test_the_seed_decides():
    first, again, other = (make_splits(5, X, Y, ALL, seed)[0][1].tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_a_splitter_gets_the_seed_only_where_it_has_none_and_stays_as_it_is():
    free, own = ShuffleSplit(2), ShuffleSplit(2, random_state=5)
    assert make_splits(free, X, Y, ALL, 5)[0][1].tolist() == make_splits(own, X, Y, ALL, 0)[0][1].tolist()
    assert free.random_state is None


def test_rows_that_are_not_used_are_in_no_fold():
    kept = np.arange(30) % 3 > 0
    for cv in (3, KFold(3), [(range(20), range(20, 30))]):
        for train, test in make_splits(cv, X, Y, kept, 0):
            assert kept[train].all()
            assert kept[test].all()


@pytest.mark.parametrize("cv", ["5", "x", 1, "0x5", [], [([0], [0])], [([0], [])], [([0], [30])], [[0]], None])
def test_what_makes_no_folds_is_refused(cv):
    with pytest.raises(ValueError, match="cv"):
        make_splits(cv, X, Y, ALL, 0)


def test_folds_in_words():
    assert [describe_cv(cv) for cv in (5, "2x5", KFold(3), [([0], [1])] * 2)] == ["5", "2x5", "KFold", "2 given splits"]
