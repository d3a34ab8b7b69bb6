"""What experts say goes into parameters as virtual rows or as it is; each number here is computed by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import full_joint, random_tables
from sklearn.base import clone
from strategies import random_parents

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, Structure, Table, make_classifier, parameter_learner
from bnplug.builtin.parameters._expert import Prior, families

#: Rain one day in five; then the street is wet nine times in ten, else three times in ten.
EXPERT = {
    "rain": {"yes": 0.2, "no": 0.8},
    "wet": ("rain", {"yes": {"yes": 0.9, "no": 0.1}, "no": {"yes": 0.3, "no": 0.7}}),
}
FRAME = pd.DataFrame({"wet": ["yes", "yes", "no", "no"], "rain": ["yes", "no", "no", "no"]})


@pytest.fixture
def table():
    return Table.from_frame(FRAME, "rain")


def network():
    """The same as LogTables, its states in another order than the data's."""
    states = {"rain": ["yes", "no"], "wet": ["yes", "no"]}
    tables = {"rain": ((), np.log([0.2, 0.8])), "wet": (("rain",), np.log([[0.9, 0.3], [0.1, 0.7]]))}
    return LogTables(["rain", "wet"], states, tables)


def forms():
    return {"dict": EXPERT, "tables": network(), "pgmpy": network().to_network(), "bif": None}


def expert(form, tmp_path):
    if form == "bif":
        path = tmp_path / "expert.bif"
        BayesianNetworkClassifier.from_tables(network().with_target("rain")).to_bif(path)
        return bnplug.read_bif(path).tables_
    return forms()[form]


def fitted(table, edges, **params):
    parents = [[table.index(a) for a, b in edges if b == name] for name in table.names]
    tables = parameter_learner("ml", **params).fit(table, Structure(table.names, parents))
    return {name: np.exp(own.values) for name, own in tables.tables.items()}


@pytest.mark.parametrize("form", sorted(forms()))
def test_virtual_rows_are_spread_as_the_prior_says(form, table, tmp_path):
    # 10 virtual rows: 2 of rain; of these 1.8 wet; of the 8 others 2.4. States of the data: no, yes.
    found = fitted(table, [("rain", "wet")], prior=expert(form, tmp_path), alpha=10)
    np.testing.assert_allclose(found["rain"], [(3 + 8) / 14, (1 + 2) / 14])
    np.testing.assert_allclose(found["wet"], [[(2 + 5.6) / 11, 0.2 / 3], [(1 + 2.4) / 11, 2.8 / 3]])


def test_the_structure_may_differ_from_that_of_the_prior(table):
    # P(wet) = 0.2 * 0.9 + 0.8 * 0.3 = 0.42; of 100 virtual rows 42 are wet, 18 of them with rain.
    found = fitted(table, [("wet", "rain")], prior=EXPERT, alpha=100)
    np.testing.assert_allclose(found["wet"], [(2 + 58) / 104, (2 + 42) / 104])
    np.testing.assert_allclose(found["rain"], [[(2 + 56) / 60, (1 + 24) / 44], [(0 + 2) / 60, (1 + 18) / 44]])
    apart = fitted(table, [], prior=EXPERT, alpha=100)
    np.testing.assert_allclose(apart["wet"], found["wet"])


def test_what_the_prior_does_not_have_is_uniform_and_what_the_data_do_not_is_summed_out(table):
    more = Table.from_frame(FRAME.assign(wind=["a", "b", "d", "a"]), "rain")
    found = fitted(more, [("rain", "wind"), ("rain", "wet")], prior=EXPERT, alpha=30)
    # Of wind each state has 1/3 of the 6 virtual rows with rain, and of the 24 without.
    np.testing.assert_allclose(found["wind"][:, 1], [(1 + 2) / 7, 2 / 7, 2 / 7])
    np.testing.assert_allclose(found["wind"][:, 0], [(1 + 8) / 27, (1 + 8) / 27, (1 + 8) / 27])
    hidden = {
        **EXPERT,
        "cloud": {"yes": 0.25, "no": 0.75},
        "rain": ("cloud", {"yes": {"yes": 0.8, "no": 0.2}, "no": {"no": 1.0}}),
    }
    np.testing.assert_allclose(fitted(table, [], prior=hidden, alpha=10)["rain"], [11 / 14, 3 / 14])
    np.testing.assert_allclose(
        fitted(more, [("wind", "wet")], prior={"rain": EXPERT["rain"]}, alpha=6)["wind"], [(2 + 2) / 10, 3 / 10, 3 / 10]
    )


def test_without_virtual_rows_a_prior_says_nothing(table):
    edges = [("rain", "wet")]
    plain, with_prior = fitted(table, edges, alpha=0), fitted(table, edges, alpha=0, prior=EXPERT)
    for name in table.names:
        np.testing.assert_array_equal(plain[name], with_prior[name])


def test_a_uniform_prior_is_none(table):
    uniform = {"rain": {"yes": 0.5, "no": 0.5}, "wet": {"yes": 0.5, "no": 0.5}}
    edges = [("rain", "wet")]
    plain, with_prior = fitted(table, edges, alpha=3), fitted(table, edges, alpha=3, prior=uniform)
    for name in table.names:
        np.testing.assert_allclose(plain[name], with_prior[name])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_prior_of_a_family_is_what_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, random_parents(rng, 4), rng.integers(2, 4, 4).tolist())
    joint = np.exp(full_joint(tables))
    table = Table.empty(tables.names, tables.states, tables.names[0])
    v, *parents = rng.permutation(4)[: rng.integers(1, 5)].tolist()
    parents.sort()
    summed = joint.sum(axis=tuple(u for u in range(4) if u not in (v, *parents)))
    kept = sorted((v, *parents))
    expected = summed.transpose([kept.index(u) for u in (v, *parents)])
    np.testing.assert_allclose(Prior(tables, table).joint(v, parents), expected, atol=1e-12)


@pytest.mark.parametrize("form", sorted(forms()))
def test_a_fixed_table_stays_as_it_is(form, table, tmp_path):
    given = expert(form, tmp_path)
    found = fitted(table, [("rain", "wet")], fixed={"wet": given["wet"] if form == "dict" else given}, alpha=1)
    np.testing.assert_allclose(found["wet"], [[0.7, 0.1], [0.3, 0.9]])
    np.testing.assert_allclose(found["rain"], [3.5 / 5, 1.5 / 5])
    both = fitted(table, [("rain", "wet")], fixed=given, alpha=1)
    np.testing.assert_allclose(both["rain"], [0.8, 0.2])
    np.testing.assert_allclose(both["wet"], found["wet"])


def test_the_parents_of_a_fixed_table_go_by_name():
    frame = pd.DataFrame(list(product("ny", [0, 1, 2], [False, True])), columns=["c", "a", "b"])
    table = Table.from_frame(frame, "c")
    rows = {(b, a): {"y": (1 + a) / 4 - b / 8, "n": 1 - (1 + a) / 4 + b / 8} for a in (0, 1, 2) for b in (False, True)}
    found = fitted(table, [("a", "c"), ("b", "c")], fixed={"c": (["b", "a"], rows)})
    # Axes: the class (n, y), then a and b as the structure has them.
    np.testing.assert_allclose(found["c"][1], [[0.25, 0.125], [0.5, 0.375], [0.75, 0.625]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": 3}, "prior must be LogTables, a pgmpy network or a dict of tables, not an int"),
        ({"prior": {"rains": EXPERT["rain"]}}, r"the variables \['rains'\], none of which is in the data"),
        ({"prior": {"wet": EXPERT["wet"]}}, "'wet' has the parent 'rain', which has no table"),
        ({"prior": {"rain": {"yes": 1.0}}}, r"the prior does not know the states \['no'\] of 'rain', only \['yes'\]"),
        (
            {"prior": {**EXPERT, "rain": {"yes": 0.2, "no": 0.7, "hail": 0.1}}},
            r"table of 'wet' has 'rain' with states \['yes', 'no'\], not \['yes', 'no', 'hail'\]",
        ),
        ({"prior": {"rain": {"yes": 0.2, "no": 0.7}}}, "table of 'rain': .* must be probabilities that sum to one"),
        ({"prior": {"rain": {"yes": -0.2, "no": 1.2}}}, "must be probabilities that sum to one"),
        ({"prior": {"rain": {"yes": "often", "no": 0.2}}}, "are not probabilities"),
        ({"prior": {"rain": [0.2, 0.8]}}, r"table of 'rain' is {state: probability}, or \(parents,"),
        ({"prior": {"rain": 0.2}}, r"table of 'rain' is {state: probability}"),
        (
            {"fixed": {"rains": EXPERT["rain"]}},
            "fixed has a table of 'rains', which is not a variable.*Did you mean 'rain'",
        ),
        (
            {"fixed": {"wet": {"yes": 0.5, "no": 0.5}}},
            r"the table of 'wet' has the parents \[\], the structure has \['rain'\]",
        ),
        (
            {"fixed": {"rain": ("wet", {"yes": {"yes": 1.0}, "no": {"no": 1.0}})}},
            r"has the parents \['wet'\], the structure has \[\].*required=\[\('wet', 'rain'\)\]",
        ),
        (
            {"fixed": {"rain": {"yes": 0.2, "no": 0.7, "hail": 0.1}}},
            r"has the states \['hail'\] of 'rain', which the data do not.*categories \['yes', 'no', 'hail'\]",
        ),
        (
            {"fixed": {"wet": ("rain", {"yes": {"yes": 1.0, "no": 0.0}})}},
            r"does not know the states \['no'\] of 'rain'",
        ),
        (
            {"fixed": {"wet": ("rain", {("yes", "no"): {"yes": 1.0}})}},
            r"the parents \['rain'\]; \('yes', 'no'\) is not",
        ),
        ({"fixed": {"wet": ("rain", {"yes": 0.9, "no": 0.3})}}, "{state: probability} for each configuration"),
        ({"fixed": {"wind": network()}}, "the network for 'wind' has no such variable"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(params, message, table):
    with pytest.raises(ValueError, match=message):
        fitted(table, [("rain", "wet")], **params)


def test_a_configuration_that_is_left_out_is_said():
    rows = {("a", 0): {"y": 1.0}, ("b", 1): {"y": 1.0}, ("a", 1): {"y": 1.0}}
    with pytest.raises(ValueError, match=r"says nothing of the parents' states \('b', 0\)"):
        families({"x": (["p", "q"], rows)}, "fixed")


def test_a_classifier_is_told_to_give_its_tables(table):
    model = BayesianNetworkClassifier("nb").fit(FRAME[["wet"]], FRAME["rain"])
    with pytest.raises(ValueError, match="pass the classifier's tables_"):
        fitted(table, [], prior=model)
    fitted(table, [], prior=model.tables_)


def test_a_column_that_was_left_out_is_passed_over(table):
    less = Table(table.codes, table.names, table.states, table.target, left_out=["id"])
    found = fitted(less, [("rain", "wet")], fixed={"id": {"x": 1.0}, "rain": EXPERT["rain"]})
    np.testing.assert_allclose(found["rain"], [0.8, 0.2])


@pytest.mark.parametrize("form", ["dict", "tables", "pgmpy"])
def test_a_model_keeps_what_experts_said(form, tmp_path):
    given = forms()[form]
    learner = parameter_learner("ml", alpha=20, prior=given, fixed={"rain": EXPERT["rain"]})
    X, y = FRAME[["wet"]], FRAME["rain"]
    model = BayesianNetworkClassifier("nb", learner).fit(X, y)
    np.testing.assert_allclose(model.cpt("rain").loc["yes"], 0.2)
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert type(loaded.get_params()["parameters__prior"]) is type(given)
    for other in (clone(model), clone(loaded), loaded):
        again = other.fit(X, y)
        np.testing.assert_array_equal(again.tables_["wet"].values, model.tables_["wet"].values)


def test_tables_go_into_expressions():
    text = "nb+ml(fixed={'rain': {'yes': 0.5, 'no': 0.5}}, prior={'rain': {'yes': 0.2, 'no': 0.8}}, alpha=5)"
    model = make_classifier(text).fit(FRAME[["wet"]], FRAME["rain"])
    np.testing.assert_allclose(model.cpt("rain")["probability"], 0.5)


def test_each_configuration_gets_virtual_rows_like_all_rows(table):
    """Friedman, Geiger and Goldszmidt's smoothing, by hand: (n[x, h] + s P(x)) / (n[h] + s)."""
    found = fitted(table, [("rain", "wet")], prior="marginal", alpha=5)
    counts = table.counts([(table.index("wet"), table.index("rain"))])[0]
    marginal = counts.sum(axis=1, keepdims=True) / counts.sum()
    np.testing.assert_allclose(found["wet"], (counts + 5 * marginal) / (counts.sum(axis=0) + 5), rtol=1e-12)
    # Without parents it changes nothing.
    np.testing.assert_allclose(found["rain"], fitted(table, [], alpha=0)["rain"], rtol=1e-12)


def test_a_prior_of_the_rows_themselves_is_not_for_em(table):
    with pytest.raises(ValueError, match="prior='dirichlet' is not a network"):
        fitted(table, [], prior="dirichlet")
    X = pd.DataFrame({"a": [0, 1, None, 1] * 5, "b": [0, 1, 1, 0] * 5}, dtype="Int64")
    model = bnplug.BayesianNetworkClassifier("nb", bnplug.parameter_learner("ml", prior="marginal"), missing="em")
    with pytest.raises(ValueError, match="prior='marginal' is estimated from the rows themselves"):
        model.fit(X, list("pqpp") * 5)
