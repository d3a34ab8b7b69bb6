"""Members that cannot afford a row leave it to others, and a row's answer depends on nothing but the row."""

import numpy as np
import pandas as pd
import pytest
from bnplug_mixture.answering import mean_of_known, refused_rows, where_possible

import bnplug


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{j}": rng.integers(0, 6, 150).astype(str) for j in range(7)})
    y = np.where(rng.random(150) < 0.8, X["x0"] < X["x1"], X["x2"] < X["x3"])
    return X, y, X.mask(rng.random(X.shape) < 0.4)


# The features are independent: without a correction for chance they have parents.
KDB = ("kdb", {"k": 3, "correction": None})


def make(**params):
    defaults = {
        "structures": [("tan", {"correction": None}), KDB],
        "member__parameters": ("ml", {"alpha": 9.0}),
        "member__calibrate": None,
        "generative": "ml",
    }
    return bnplug.make_classifier("mixture", **{**defaults, "n_members": 1, "random_state": 0, **params})


def test_a_row_that_takes_too_large_tables_is_left_to_other_members(rows):
    X, y, holes = rows
    model = make(quick_clique_size=100).fit(X, y)
    tan, found = make(structures=("tan", {"correction": None})).fit(X, y), model.predict_proba(holes)
    both = make().fit(X, y).predict_proba(holes)
    alone, together = (np.isclose(found, other).all(axis=1) for other in (tan.predict_proba(holes), both))
    assert (alone | together).all()
    assert alone.any()
    assert together.any()


def test_members_that_refuse_a_row_do_not_take_part_in_what_next(rows):
    X, y, holes = rows
    shown = holes.head(20)
    models = [make(quick_clique_size=100), make(structures=("tan", {"correction": None})), make()]
    found, tan, both = (
        model.fit(X, y).what_next(shown).set_index(["row", "feature"])["information"] for model in models
    )
    alone, together = (np.isclose(found, other.loc[found.index]) for other in (tan, both))
    assert (alone | together).all()
    assert alone.any()
    assert together.any()


def test_rows_are_answered_alike_alone_and_together(rows):
    X, y, holes = rows
    model = make(quick_clique_size=100).fit(X, y)
    together = model.predict_proba(holes)
    assert np.allclose(together[:12], [model.predict_proba(holes.iloc[[row]])[0] for row in range(12)])
    explained = model.explain(holes.head(5))
    total = explained.groupby(["row", "class"])["contribution"].sum().to_numpy().reshape(5, 2)
    assert np.allclose(total, np.log(together[:5] / (1 - together[:5])))


def test_members_and_twins_use_calibrated_evidence(rows):
    X, y, holes = rows
    model = make().fit(X, y)
    for networks, factors in ((model.members_, (0.5, 0.8)), (model.generative_, (0.3, 0.6))):
        for network in networks:
            network.set_calibration(factors)
    model._take_over({"members": model.members_, "generative": model.generative_})
    networks = [*model.members_, *model.generative_]
    incomplete = holes[holes.isna().any(axis=1)]
    expected = np.mean([network.predict_proba(incomplete) for network in networks], axis=0)
    np.testing.assert_allclose(model.predict_proba(incomplete), expected, atol=1e-12)
    explained = pd.concat([network.explain(incomplete) for network in networks])
    expected = explained.groupby(["row", "feature", "class"])["contribution"].mean()
    found = model._quick.contributions([network.encode(incomplete) for network in model.members_])
    wanted = [expected[row, "(prior)"].to_numpy() for row in incomplete.index]
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-12)


def test_where_all_refuse_they_are_asked_again_with_larger_tables(rows):
    X, y, holes = rows
    structures = {"structures": KDB}
    patient, quick = (make(**structures, quick_clique_size=size).fit(X, y) for size in (10**6, 20))
    assert np.allclose(quick.predict_proba(holes), patient.predict_proba(holes))
    assert np.allclose(quick.explain(holes.head(3))["contribution"], patient.explain(holes.head(3))["contribution"])
    with pytest.raises(ValueError, match="max_clique_size"):
        make(**structures, member__max_clique_size=20).fit(X, y).predict_proba(holes)
    assert make(**structures, member__max_clique_size=20).fit(X, y).predict_proba(X).shape == (150, 2)


def test_a_query_is_of_those_who_can(rows):
    X, y, _ = rows
    model = make(generative=None, member__max_clique_size=100).fit(X, y)
    last = max(X.columns, key=lambda name: len(model.members_[1].tables_.parents[name]))
    with pytest.raises(ValueError, match="max_clique_size"):
        model.members_[1].query("class", {last: "1"})
    answer, tan = (own.query("class", {last: "1"})["probability"] for own in (model, model.members_[0]))
    assert np.allclose(answer, tan)


def test_refusals_are_row_by_row():
    def picky(codes):
        if (codes[0] == 255).any():
            raise ValueError("too large")
        return codes.T.astype(float)

    codes = np.array([[1, 255, 2], [5, 6, 255]], dtype=np.uint8)
    found = where_possible(picky, codes)
    assert refused_rows(found).tolist() == [False, True, False]
    assert found[2].tolist() == [2.0, 255.0]
    assert isinstance(where_possible(picky, codes[:, [1]]), ValueError)
    assert isinstance(mean_of_known([ValueError("a"), ValueError("b")]), ValueError)
