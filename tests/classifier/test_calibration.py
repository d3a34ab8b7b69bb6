"""Calibrated evidence: the posterior of the class by tempered evidence, the same in every question and source."""

from __future__ import annotations

import json
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, full_joint, random_tables
from scipy.special import entr
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables, ModelFileError, TargetLeakageWarning
from bnplug.datasets import tic_tac_toe
from bnplug.errors import BnplugWarning
from bnplug.inference.calibration import HeldOut, fit_calibration, tempered
from bnplug.io.network_files import read_network


@pytest.fixture(scope="module")
def repeated():
    """Each feature several times: naive Bayes counts the evidence as often, and is over-confident."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    seen = np.where(rng.random((300, 2)) < 0.65, y[:, None], 1 - y[:, None])
    X = pd.DataFrame({f"x{i}": np.where(rng.random(300) < 0.03, 1, seen[:, i % 2]) for i in range(12)}).astype(str)
    return X, np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def calibrated(repeated):
    return BayesianNetworkClassifier("tan", calibrate="evidence").fit(*repeated)


def holes(X, share=0.5, n=30):
    return X.head(n).mask(np.random.default_rng(1).random((n, X.shape[1])) < share)


def findings(row):
    return {name: value for name, value in row.items() if pd.notna(value)}


def enumerated(tables, known):
    """Q(class | findings) by the definition, with the joint distribution enumerated; likelihoods by variable."""
    logs = full_joint(tables)
    joint = np.exp(logs - logs.max())

    def of_class(given):
        product = joint
        for v, weights in given.items():
            product = product * np.reshape(weights, [-1 if axis == v else 1 for axis in range(joint.ndim)])
        target = tables.names.index(tables.target)
        return np.log(product.sum(axis=tuple(v for v in range(joint.ndim) if v != target)))

    degrees = []
    for name in BayesianNetworkClassifier.from_tables(tables).markov_blanket():
        weights = known.get(tables.names.index(name))
        share = None if weights is None else np.array(weights) / np.sum(weights)
        degrees.append(0.0 if share is None else 1 - entr(share).sum() / np.log(len(share)))
    k = np.mean(degrees) if degrees else 0.0
    factor = tables.calibration.observed * k + tables.calibration.missing * (1 - k)
    prior = of_class({})
    logits = prior + factor * (of_class(known) - prior)
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


@pytest.mark.parametrize("shape", [TREE, TWO_TREE, CLASS_WITH_PARENTS], ids=["tree", "2-tree", "class with parents"])
def test_answers_are_those_of_the_definition(shape):
    rng = np.random.default_rng(3)
    for _ in range(20):
        cards = [2, *map(int, rng.integers(1, 4, len(shape) - 1))]
        tables = random_tables(rng, shape, cards).with_calibration(rng.uniform(0.05, 2.0, 2))
        network = BayesianNetworkClassifier.from_tables(tables)._marginalizer
        known = {}
        for v in np.flatnonzero(rng.random(len(cards)) < 0.5):
            if v:
                soft = rng.random() < 0.5
                known[int(v)] = rng.uniform(0.1, 1, cards[v]) if soft else np.eye(cards[v])[rng.integers(cards[v])]
        given = {tables.names[v]: weights for v, weights in known.items()}
        np.testing.assert_allclose(network.query(["v0"], given), enumerated(tables, known), atol=1e-12)


def test_a_case_by_hand():
    tables = LogTables(
        ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
        {"c": ((), np.log([0.8, 0.2])), "x": (("c",), np.log([[0.9, 0.1], [0.1, 0.9]]))}, "c",
    )  # fmt: skip
    model = BayesianNetworkClassifier.from_tables(tables.with_calibration((0.5, 1.0)))
    # Odds of 1 to 4 before, times the root of 9.
    assert model.query("c", {"x": 1})["probability"].tolist() == pytest.approx([4 / 7, 3 / 7])
    assert model.query("c")["probability"].tolist() == pytest.approx([0.8, 0.2])
    # The joint query has Q(c | e) P(x | c).
    assert model.query(["c", "x"])["probability"].tolist() == pytest.approx([0.72, 0.08, 0.02, 0.18])


def test_all_questions_agree(repeated, calibrated):
    X, _ = repeated
    rows = holes(X)
    P = calibrated.predict_proba(rows)
    assert np.abs(P - BayesianNetworkClassifier("tan", calibrate=None).fit(*repeated).predict_proba(rows)).max() > 0.05
    by_frame = calibrated.query("class", rows)["probability"].to_numpy().reshape(P.shape)
    np.testing.assert_allclose(by_frame, P, atol=1e-12)
    by_row = [calibrated.query("class", findings(row))["probability"] for _, row in rows.iterrows()]
    np.testing.assert_allclose(by_row, P, atol=1e-12)
    np.testing.assert_allclose(np.exp(calibrated.predict_log_proba(rows)), P, atol=1e-12)
    odds = calibrated.explain(rows).groupby(["row", "class"])["contribution"].sum().unstack()
    np.testing.assert_allclose(odds, np.log(P / (1 - P)), atol=1e-9)


@pytest.mark.parametrize("variables", [["class", "x0"], ["x0", "class"], ["x1", "class", "x0"]])
def test_joint_queries_with_the_class(repeated, calibrated, variables):
    X, _ = repeated
    rows = holes(X).drop(columns=["x0", "x1"])
    joint = calibrated.query(variables, rows)
    P = joint.groupby(["row", "class"])["probability"].sum().unstack()
    np.testing.assert_allclose(P, calibrated.predict_proba(rows.assign(x0=None, x1=None)), atol=1e-12)
    for row in (0, 1):
        alone = calibrated.query(variables, findings(rows.loc[row]))
        np.testing.assert_allclose(joint.loc[joint["row"] == row, "probability"], alone["probability"], atol=1e-12)
    # Given the class, features have the distribution of the network.
    plain = BayesianNetworkClassifier.from_tables(calibrated.tables_.with_calibration((1, 1)), calibrated.encoder_)
    given = {**findings(rows.loc[0]), "class": "yes"}
    mine = calibrated.query(variables, findings(rows.loc[0]))
    mine = mine[mine["class"] == "yes"]
    others = [name for name in variables if name != "class"]
    wanted = plain.query(others, given)["probability"]
    np.testing.assert_allclose(mine["probability"] / mine["probability"].sum(), wanted, atol=1e-12)


def test_soft_evidence_on_the_class_is_not_tempered(repeated, calibrated):
    evidence, likelihood = findings(holes(repeated[0]).loc[0]), {"no": 0.2, "yes": 0.8}
    for known in ({}, evidence):
        expected = calibrated.query("class", known)["probability"].to_numpy() * [0.2, 0.8]
        expected /= expected.sum()
        answer = calibrated.query("class", {**known, "class": likelihood})["probability"]
        np.testing.assert_allclose(answer, expected, atol=1e-12)
    rows = pd.DataFrame([{**evidence, "class": likelihood}])
    np.testing.assert_allclose(calibrated.query("class", rows)["probability"], expected, atol=1e-12)
    line = calibrated.sensitivity({**evidence, "class": likelihood}).iloc[0]
    assert np.abs(expected - line["probability"]).min() < 1e-12
    certain = calibrated.query("class", {**evidence, "class": {"no": 0.0, "yes": 1.0}})["probability"]
    assert certain.tolist() == [0.0, 1.0]


def test_queries_agree_where_the_posterior_of_the_network_underflows():
    names = [f"x{i}" for i in range(40)]
    sure = LogTables(
        ["c", *names], {"c": ["n", "p"], **dict.fromkeys(names, ("no", "yes"))},
        {"c": ((), np.log([0.6, 0.4])), **{name: (("c",), np.log([[1, 1e-20], [1e-20, 1]])) for name in names}}, "c",
    )  # fmt: skip
    row = dict.fromkeys(names, "yes")
    assert BayesianNetworkClassifier.from_tables(sure).query("c", row)["probability"].tolist() == [0.0, 1.0]
    model = BayesianNetworkClassifier.from_tables(sure.with_calibration((0.02, 0.5)))
    P = model.predict_proba(pd.DataFrame([row]))[0]
    assert P[0] == pytest.approx(1.5 * 1e-20**0.8, rel=1e-6)
    np.testing.assert_allclose(model.query("c", row)["probability"], P, rtol=1e-9)
    del row["x0"]
    joint = model.query(["x0", "c"], row)["probability"].to_numpy().reshape(2, 2)
    np.testing.assert_allclose(
        joint.sum(axis=0), model.predict_proba(pd.DataFrame([{**row, "x0": None}]))[0], rtol=1e-9
    )
    derivative = model.sensitivity(row).set_index(["variable", "state"])["derivative"].abs()
    assert derivative["c", "n"].max() == pytest.approx(joint[:, 0].sum() / 0.24, rel=1e-6)


def test_the_next_question_is_worth_its_information_under_calibrated_evidence(repeated, calibrated):
    row = holes(repeated[0]).head(1)
    for _, line in calibrated.what_next(row).iterrows():
        joint = calibrated.query(["class", line["feature"]], findings(row.loc[0]))["probability"].to_numpy()
        joint = joint.reshape(2, -1)
        outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        seen = joint > 0
        information = (joint[seen] * np.log(joint[seen] / outer[seen])).sum()
        assert line["information"] == pytest.approx(information, abs=1e-12)


def dependent(rng, n=120):
    """Rows whose features depend on the class; two of them have missing cells, and one is noise."""
    y = np.where(rng.random(n) < 0.7, "no", "yes")
    X = pd.DataFrame({name: np.where(rng.random(n) < 0.6, y == "yes", rng.random(n) < 0.5) for name in "abd"})
    X = X.replace({True: "t", False: "f"}).astype(object).mask(rng.random((n, 3)) < [0.0, 0.1, 0.2])
    return X.assign(e=rng.choice(["u", "v", "w"], n)), y


GIVEN = [("a", "class"), ("class", "b"), ("b", "d"), ("d", "e")]
STRUCTURES = pytest.mark.parametrize(
    "structure", ["nb", "tan", ("kdb", {"k": 2}), GIVEN], ids=["nb", "tan", "kdb", "given"]
)


@STRUCTURES
@pytest.mark.parametrize("parameters", ["backoff", "ml"])
@pytest.mark.parametrize("missing", ["ignore", "em", {"a": "value", "e": "value"}], ids=["ignore", "em", "value"])
def test_with_all_features_missing_the_answer_is_the_prior(structure, parameters, missing):
    """Columns without missing cells in training have no state for them, also with "value"."""
    rng = np.random.default_rng(7)
    X, y = dependent(rng)
    weights = rng.uniform(0.5, 2.0, len(X))
    model = BayesianNetworkClassifier(structure, parameters, missing=missing, calibrate="evidence").fit(X, y, weights)
    assert model.calibration_ != (1.0, 1.0)
    prior = enumerated(model.tables_, {})
    if structure != GIVEN:
        of_class = np.array([weights[y == label].sum() for label in model.classes_])
        of_class *= len(y) / of_class.sum() if parameters == "backoff" else 1.0
        np.testing.assert_allclose(prior, (of_class + 0.5) / (of_class.sum() + 1), atol=1e-12)
    nothing = pd.DataFrame({name: [None, None] for name in X}, dtype=object)
    np.testing.assert_allclose(model.predict_proba(nothing), [prior, prior], atol=1e-12)
    np.testing.assert_allclose(model.query("class")["probability"], prior, atol=1e-12)
    constant = {name: dict.fromkeys(model.tables_.states[name], 0.3) for name in X}
    np.testing.assert_allclose(model.query("class", constant)["probability"], prior, atol=1e-12)


@STRUCTURES
def test_where_missing_is_a_state_a_missing_cell_is_known(structure):
    X, y = dependent(np.random.default_rng(7))
    model = BayesianNetworkClassifier(structure, missing="value", calibrate="evidence").fit(X, y)
    names = model.tables_.names
    known = {names.index(name): np.eye(3)[2] for name in ("b", "d")}
    nothing = pd.DataFrame({name: [None] for name in X}, dtype=object)
    wanted = enumerated(model.tables_, known)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], wanted, atol=1e-12)
    assert np.abs(wanted - enumerated(model.tables_, {})).max() > 1e-3


@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
@pytest.mark.parametrize("shape", [TREE, TWO_TREE, CLASS_WITH_PARENTS], ids=["tree", "2-tree", "class with parents"])
def test_a_feature_outside_the_markov_blanket_changes_no_prediction(shape, engine):
    """A feature is added to a network: with any evidence about the others, and known if it then says nothing more."""
    rng = np.random.default_rng(11)
    for _ in range(8):
        cards = [int(rng.integers(2, 5)), *map(int, rng.integers(1, 4, len(shape) - 1))]
        tables = random_tables(rng, shape, cards).with_calibration(rng.uniform(0.05, 2.0, 2))
        features = tables.names[1:]
        parents = tuple(sorted(rng.choice(features, int(rng.integers(0, 3)), replace=False).tolist()))
        logs = np.log(rng.dirichlet(np.ones(3), [len(tables.states[name]) for name in parents]))
        more = LogTables(
            [*tables.names, "added"],
            {**tables.states, "added": ("r", "s", "t")},
            {**tables.tables, "added": (parents, np.moveaxis(logs, -1, 0))},
            tables.target,
        ).with_calibration(tables.calibration)
        without, model = (BayesianNetworkClassifier.from_tables(each, engine=engine) for each in (tables, more))
        assert model.markov_blanket() == without.markov_blanket()
        states = pd.DataFrame({name: rng.choice(np.array(tables.states[name], object), 20) for name in features})
        rows = states.mask(rng.random(states.shape) < rng.choice([0.0, 0.5], (20, 1)))
        P = without.predict_proba(rows)
        np.testing.assert_allclose(model.predict_proba(rows.assign(added=None)), P, atol=1e-12)
        told = pd.Series(rng.choice(["r", "s", "t"], 20)).where(rows[list(parents)].notna().all(axis=1))
        assert told.notna().any()
        np.testing.assert_allclose(model.predict_proba(rows.assign(added=told)), P, atol=1e-12)
        for m in range(4):
            soft = {name: dict(zip(tables.states[name], rng.uniform(0.1, 1, len(tables.states[name])), strict=True))
                    for name in features if pd.isna(rows[name][m]) and rng.random() < 0.7}  # fmt: skip
            evidence = findings(rows.loc[m]) | soft
            wanted = without.query(tables.target, evidence)["probability"]
            added = [{}] if pd.isna(told[m]) else [{}, {"added": told[m]}, {"added": {"r": 0.2, "s": 0.7, "t": 0.4}}]
            for finding in added:
                found = model.query(tables.target, evidence | finding)["probability"]
                np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_known_features_outside_the_markov_blanket_contribute_nothing():
    rng = np.random.default_rng(5)
    tables = random_tables(rng, [[], [0], [0, 1], [1], []], [2, 3, 2, 2, 2]).with_calibration((0.4, 0.9))
    model = BayesianNetworkClassifier.from_tables(tables)
    assert model.markov_blanket() == ["v1", "v2"]
    rows = pd.DataFrame({name: [tables.states[name][k] for k in (0, 1)] for name in tables.names[1:]})
    P = model.predict_proba(rows.assign(v3=None, v4=None))
    np.testing.assert_allclose(model.predict_proba(rows), P, atol=1e-12)
    contributions = model.explain(rows).set_index("feature")["contribution"]
    assert np.abs(contributions["v4"]).max() < 1e-12
    # If v1 is missing, its child v3 is evidence about it, but is not counted as known.
    for shown in (["v2"], ["v2", "v3"]):
        hidden = rows.assign(**dict.fromkeys({"v1", "v2", "v3", "v4"} - set(shown)))
        known = {tables.names.index(name): np.eye(2)[0] for name in shown}
        np.testing.assert_allclose(model.predict_proba(hidden)[0], enumerated(tables, known), atol=1e-12)


@pytest.mark.parametrize("soft", [{}, {"x0": {"0": 0.3, "1": 0.9}, "class": {"no": 0.4, "yes": 0.6}}])
def test_derivatives_are_those_of_the_posterior(repeated, calibrated, soft):
    evidence = findings(holes(repeated[0]).loc[0]) | soft
    tables = calibrated.tables_
    for _, line in calibrated.sensitivity(evidence).head(6).iterrows():
        parents, logs = tables[line["variable"]]
        column = tuple(tables.states[parent].index(line["given"][parent]) for parent in parents)
        state = tables.states[line["variable"]].index(line["state"])

        def posterior(step, line=line, at=(slice(None), *column), k=state, logs=logs):
            name, target, values = line["variable"], line["target"], np.exp(logs)
            moved = values[at] * (1 - values[at][k] - step) / (1 - values[at][k])
            moved[k] = values[at][k] + step
            values[at] = moved
            with np.errstate(divide="ignore"):
                changed = BayesianNetworkClassifier.from_tables(
                    tables._with_arrays({name: np.log(values)}), calibrated.encoder_
                )
            return changed.query("class", evidence).set_index("class")["probability"][target]

        assert line["probability"] == pytest.approx(posterior(0.0), abs=1e-12)
        assert line["derivative"] == pytest.approx((posterior(1e-6) - posterior(-1e-6)) / 2e-6, rel=1e-4)


def test_other_answers_are_those_of_the_network(repeated, calibrated):
    plain = BayesianNetworkClassifier("tan").fit(*repeated)
    rows = holes(repeated[0])
    evidence = findings(rows.loc[0])
    free = next(name for name in repeated[0] if name not in evidence)
    assert calibrated.query(free, evidence).equals(plain.query(free, evidence))
    assert calibrated.most_probable(evidence) == plain.most_probable(evidence)
    assert calibrated.conflict(evidence) == plain.conflict(evidence)
    assert calibrated.sample(20, random_state=0).equals(plain.sample(20, random_state=0))
    assert calibrated.impute(rows).equals(plain.impute(rows))


def test_rows_that_are_impossible_get_the_prior():
    X = pd.DataFrame({"a": ["x", "x", "y", "y"] * 5, "b": ["u", "u", "v", "v"] * 5})
    y = ["n", "n", "p", "p"] * 5
    with pytest.warns(TargetLeakageWarning):
        model = BayesianNetworkClassifier("nb", ("ml", {"alpha": 0.0}), calibrate="evidence").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame({"a": ["x"], "b": ["v"]})), [[0.5, 0.5]])


# Fitting


def test_probabilities_are_better(repeated):
    X, y = repeated
    losses = {None: [], "evidence": []}
    for train, test in StratifiedKFold(3, shuffle=True, random_state=1).split(X, y):
        for calibrate, of_folds in losses.items():
            model = BayesianNetworkClassifier("nb", calibrate=calibrate).fit(X.iloc[train], y[train])
            of_folds.append(log_loss(y[test], model.predict_proba(X.iloc[test])))
            of_folds.append(log_loss(y[test], model.predict_proba(holes(X.iloc[test], n=len(test)))))
    assert np.mean(losses["evidence"]) < 0.8 * np.mean(losses[None])


def test_factors_have_the_least_loss():
    rng = np.random.default_rng(0)
    for case in range(10):
        n, k = 200, int(rng.integers(2, 5))
        classes, known, weights = rng.integers(0, k, n), rng.choice([0.5, 1.0], n), rng.uniform(0, 2, n)
        joint = rng.normal(size=(n, k)) * 3
        joint[np.arange(n), classes] += case / 2
        joint[rng.random((n, k)) < 0.1] = -np.inf
        nothing = np.log(np.full((n, k), 1 / k))
        found = fit_calibration([HeldOut(joint, nothing, classes, weights, known)])
        usable = np.isfinite(joint[np.arange(n), classes])

        def loss(t, joint=joint, nothing=nothing, classes=classes, weights=weights, known=known, usable=usable):
            logits = tempered(joint, nothing[0], t[0] * known + t[1] * (1 - known))[usable]
            own = logits[np.arange(len(logits)), classes[usable]]
            return weights[usable] @ (np.logaddexp.reduce(logits, axis=1) - own)

        for step in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01], [0.01, -0.02]):
            assert loss(np.array(found)) <= loss(np.clip(np.array(found) + step, 0.02, 3.0)) + 1e-9


def test_parameters_that_are_not_generative_are_left_as_they_are(repeated):
    model = BayesianNetworkClassifier("nb", "ccbn-w", calibrate="evidence").fit(*repeated)
    assert model.calibration_ == (1.0, 1.0)


def test_without_folds_nothing_changes():
    X, y = pd.DataFrame({"a": ["x", "y"]}), ["n", "p"]
    model = BayesianNetworkClassifier("nb", calibrate="evidence").fit(X, y)
    assert model.calibration_ == (1.0, 1.0)


def test_a_classifier_that_cannot_learn_in_folds_is_not_calibrated(repeated):
    # Complete rows need no tables over several variables, but rows with hidden features do.
    X, y = repeated
    edges = [("class", name) for name in X] + [(f"x{i}", f"x{j}") for j in range(12) for i in range(max(0, j - 3), j)]
    with pytest.warns(BnplugWarning, match="has no effect.*max_clique_size"):
        model = BayesianNetworkClassifier(edges, "ml", calibrate="evidence", max_clique_size=10).fit(X, y)
    plain = BayesianNetworkClassifier(edges, "ml", calibrate=None, max_clique_size=10).fit(X, y)
    assert (model.predict_proba(X) == plain.predict_proba(X)).all()


@pytest.mark.filterwarnings("error")
def test_a_class_with_one_row_gives_no_warning():
    X = pd.DataFrame({"a": list("xyxyxyxy"), "b": list("uuvvuuvv")})
    model = BayesianNetworkClassifier(calibrate="evidence").fit(X, list("nnnnnnnp"))
    assert model.calibration_ != (1.0, 1.0)  # the folds were used


def test_given_structures_weights_and_missing_cells(repeated):
    X, y = repeated
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    edges = [("answer", name) for name in X.columns]
    weights = np.arange(len(y)) % 3
    model = BayesianNetworkClassifier(edges, calibrate="evidence", class_weight="balanced")
    model.fit(X, pd.Series(y, name="answer"), weights)
    assert model.calibration_.observed < 0.7
    scaled = clone(model).fit(X, pd.Series(y, name="answer"), 3.7 * weights)
    assert scaled.calibration_ == pytest.approx(model.calibration_, rel=1e-6)


def test_rows_without_a_class(repeated):
    X, y = repeated
    some = np.where(np.arange(len(y)) % 4 == 0, None, y)
    model = BayesianNetworkClassifier("nb", missing="em", calibrate="evidence").fit(X, some)
    assert model.calibration_.observed < 0.7


def test_files_and_parts_have_the_same_factors(repeated, tmp_path):
    X, y = repeated
    kept = BayesianNetworkClassifier("tan", calibrate="evidence", random_state=3).fit(X, pd.Series(y, name="c"))
    X.assign(c=y).to_parquet(tmp_path / "rows.parquet")
    from_file = clone(kept).fit_files(tmp_path / "rows.parquet", "c")
    assert from_file.calibration_ == kept.calibration_
    in_parts = clone(kept).partial_fit(X, pd.Series(y, name="c"), classes=["no", "yes"])
    assert in_parts.calibration_ == kept.calibration_
    assert in_parts.partial_fit(X.head(50), pd.Series(y[:50], name="c")).calibration_ == kept.calibration_


def test_it_is_saved_and_stays_in_network_files(repeated, calibrated, tmp_path):
    rows = holes(repeated[0])
    P = calibrated.predict_proba(rows)
    calibrated.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.calibration_ == calibrated.calibration_
    assert (loaded.predict_proba(rows) == P).all()
    assert (clone(loaded).fit(*repeated).predict_proba(rows) == P).all()
    for name in ("bif", "xmlbif", "net", "xdsl"):
        calibrated.write(tmp_path / f"model.{name}", name)
        tables, encoder = read_network(tmp_path / f"model.{name}", name)
        again = BayesianNetworkClassifier.from_tables(tables, encoder)
        np.testing.assert_allclose(again.predict_proba(rows), P, atol=1e-9)
    # For another class, the factors mean nothing.
    assert tables.with_target("x0").calibration == (1.0, 1.0)


@pytest.mark.parametrize("factors", ["[0.5]", "[0.5, 7]", "[0.5, null]", '"0.5"', "[0.5, NaN]", "{}", "[1e999, 1]"])
def test_damaged_factors_are_refused(calibrated, tmp_path, factors):
    calibrated.to_bif(tmp_path / "model.bif")
    text = (tmp_path / "model.bif").read_text()
    line = next(line for line in text.splitlines() if "bnplug_calibration" in line)
    damaged = f"    property bnplug_calibration = {quote(factors, safe='')} ;"
    (tmp_path / "model.bif").write_text(text.replace(line, damaged))
    with pytest.raises(ModelFileError):
        bnplug.read_bif(tmp_path / "model.bif")


@pytest.mark.parametrize("factors", [[0.5], [0.5, 7], ["0.5", "0.5"], "11", None, {"0.5": 1, "0.6": 1}, [0.5] * 3])
def test_damaged_factors_of_a_model_folder_are_refused(calibrated, factors):
    state, arrays = calibrated.saved_state()
    with pytest.raises(ModelFileError):
        clone(calibrated).restore_state({**state, "calibration": factors}, arrays)


def test_an_unknown_way_to_calibrate_is_refused():
    for way in ("platt", "temperature"):
        with pytest.raises(ValueError, match=f"calibrate='{way}' is not"):
            BayesianNetworkClassifier(calibrate=way).fit([[0], [1]], ["a", "b"])


def test_boards_keep_their_accuracy():
    X, y = tic_tac_toe()
    plain, model = (BayesianNetworkClassifier(calibrate=way).fit(X, y) for way in (None, "evidence"))
    assert abs(plain.score(X, y) - model.score(X, y)) < 0.01
    assert json.dumps(model.calibration_)
