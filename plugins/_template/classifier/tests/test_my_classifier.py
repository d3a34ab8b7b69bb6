"""The classifier is what it says."""

import numpy as np
import pytest

import bnplug
from bnplug.datasets import iris


@pytest.fixture(scope="module")
def fitted():
    X, y = iris()
    return bnplug.make_classifier("my-classifier", n_members=4, random_state=0).fit(X, y)


def test_it_is_the_mean_of_its_members(fitted):
    X, _ = iris()
    assert len(fitted.members_) == 4
    assert np.allclose(fitted.predict_proba(X), sum(member.predict_proba(X) for member in fitted.members_) / 4)


def test_members_have_seen_different_samples(fitted):
    X, _ = iris()
    first, *others = (member.predict_proba(X) for member in fitted.members_)
    assert not any(np.allclose(first, other) for other in others)


def test_it_is_saved_and_loaded(fitted, tmp_path):
    X, _ = iris()
    bnplug.save(fitted, tmp_path / "model")
    assert (bnplug.load(tmp_path / "model").predict_proba(X) == fitted.predict_proba(X)).all()


def test_without_members_it_is_refused():
    X, y = iris()
    with pytest.raises(ValueError, match="n_members=0 must be a finite positive number"):
        bnplug.make_classifier("my-classifier", n_members=0).fit(X, y)
