"""Every engine against enumeration, on random networks with zeros, isolated nodes and tables that sum to anything."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from random_networks import MISSING, enumerated, full_joint, random_rows, random_tables
from scipy.special import logsumexp
from strategies import LONG, random_parents

import bnplug
from bnplug import BayesianNetworkClassifier, datasets
from bnplug.inference.complete import posterior
from bnplug.testing._engine_checks import _query

FOLDER = os.environ.get("BNPLUG_DATA", "")
PUBLISHED = ["car", "chess-kr-vs-kp", "german", "flare", "lymphography"]


def random_case(seed, n_most=8):
    """A network of up to `n_most` variables, any of them the class, and rows with holes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, n_most + 1))
    # A node in five is left without an edge to those before it.
    parents = [own if rng.random() < 0.8 else [] for own in random_parents(rng, n, 3)]
    tables = random_tables(
        rng,
        parents,
        rng.integers(1, 4, n).tolist(),
        int(rng.integers(n)),
        normalized=bool(rng.integers(2)),
        zeros=float(rng.choice([0.0, 0.3])),
    )
    return rng, tables, random_rows(rng, tables, 4, rng.random())


def random_question(rng, tables):
    """Up to three variables, and evidence of both kinds; with the answer, None where that is impossible."""
    chosen = [tables.names[v] for v in rng.permutation(len(tables.names))[: rng.integers(1, 4)]]
    evidence = {}
    for name in tables.names:
        kind, n_states = rng.random(), len(tables.states[name])
        if kind < 0.3 and name not in chosen:
            evidence[name] = int(rng.integers(n_states))
        elif kind > 0.8:
            evidence[name] = rng.random(n_states).tolist()
    answer = _query(tables, chosen, evidence)
    return chosen, evidence, answer if np.isfinite(answer).all() else None


def counts_by_enumeration(tables, codes, weights):
    joint, target = np.exp(full_joint(tables)), tables.names.index(tables.target)
    total = np.zeros_like(joint)
    others = tuple(axis for axis in range(joint.ndim) if axis != target)
    for row, own in zip(codes.T, weights, strict=True):
        index = tuple(
            slice(None) if v == target or state == MISSING else slice(state, state + 1) for v, state in enumerate(row)
        )
        possible = np.zeros_like(joint)
        possible[index] = joint[index]
        of_class = possible.sum(axis=others)
        scale = np.divide(own, of_class, out=np.zeros_like(own), where=of_class > 0)
        total += possible * scale.reshape([-1 if axis == target else 1 for axis in range(joint.ndim)])
    families = [[tables.names.index(u) for u in (name, *tables[name].parents)] for name in tables.names]
    return [np.einsum(total, range(total.ndim), family) for family in families]


@pytest.mark.parametrize(("engine", "n_networks"), [("elimination", 150), ("junction-tree", 12)])
def test_an_exact_engine_answers_as_enumeration_does(engine, n_networks):
    for seed in range(2000 if LONG else n_networks):
        rng, tables, codes = random_case(seed)
        compiled = bnplug.engine(engine).compile(tables, tables.target)
        expected, found = enumerated(tables, codes), compiled.log_joint(codes)
        possible = ~np.isneginf(expected).all(axis=1)
        near = partial(np.testing.assert_allclose, rtol=0, atol=1e-10, err_msg=f"seed {seed}")
        near(posterior(found)[possible], posterior(expected)[possible])
        near(compiled.log_joint(codes, complete=True), expected)
        weights = rng.normal(size=expected.shape)
        answers = compiled.expected_counts(codes, weights)
        for own, other in zip(answers, counts_by_enumeration(tables, codes, weights), strict=True):
            near(own, other)
        variables, evidence, answer = random_question(rng, tables)
        if answer is None:
            with pytest.raises(ValueError, match="impossible"):
                compiled.query(variables, evidence)
        else:
            near(compiled.query(variables, evidence), answer)


@pytest.mark.parametrize(("engine", "n_networks"), [("elimination", 60), ("junction-tree", 6)])
def test_a_network_without_a_class_answers_as_enumeration_does(engine, n_networks):
    for seed in range(n_networks):
        rng, tables, codes = random_case(seed)
        compiled = bnplug.engine(engine).compile(tables)
        joint, target = np.exp(full_joint(tables)), tables.names.index(tables.target)
        index = [tuple(slice(None) if state == MISSING else state for state in row) for row in codes.T]
        with np.errstate(divide="ignore"):
            expected = np.log([[joint[cells].sum()] for cells in index])
        near = partial(np.testing.assert_allclose, rtol=0, atol=1e-10, err_msg=f"seed {seed}")
        near(compiled.log_joint(codes), expected)
        near(compiled.log_joint(codes, complete=True, n_jobs=2), expected)
        # Expected counts of a network without a class: those with a class, weighted by its posterior.
        hidden, weights = codes.copy(), rng.normal(size=(codes.shape[1], 1))
        hidden[target] = MISSING
        by_class = posterior(enumerated(tables, hidden)) * weights
        by_class[np.isneginf(enumerated(tables, hidden)).all(axis=1)] = 0.0
        counts = counts_by_enumeration(tables, hidden, by_class)
        for own, other in zip(compiled.expected_counts(hidden, weights), counts, strict=True):
            near(own, other)
        variables, evidence, answer = random_question(rng, tables)
        if answer is not None:
            near(compiled.query(variables, evidence), answer)
            near(compiled.log_probability({}), 0.0)


@pytest.mark.parametrize("engine", ["elimination", "junction-tree", "sampling"])
def test_shares_are_refused(engine):
    _, tables, codes = random_case(0)
    for compiled in (bnplug.engine(engine).compile(tables, tables.target), bnplug.engine(engine).compile(tables)):
        with pytest.raises(ValueError, match="interpolated features are not supported by this engine"):
            compiled.log_joint(codes, shares=np.ones(codes.shape))


def test_the_full_log_joint_of_sampling_comes_near():
    off = []
    for seed in range(30):
        _, tables, codes = random_case(seed)
        expected = enumerated(tables, codes)
        for target, full in ((tables.target, expected), (None, logsumexp(expected, axis=1, keepdims=True))):
            if target is None:
                codes[tables.names.index(tables.target)] = MISSING
            compiled = bnplug.engine("sampling", n_samples=5000, random_state=seed).compile(tables, target)
            found = compiled.log_joint(codes, complete=True)
            possible = np.isfinite(full)
            off += np.abs(np.exp(found[possible] - full[possible]) - 1.0).tolist()
    assert np.mean(off) < 0.02


def within_four_errors(seed):
    """Whether all posteriors and one answer of `sampling` are within four standard errors of the exact ones."""
    rng, tables, codes = random_case(seed)
    compiled = bnplug.engine("sampling", n_samples=2000, random_state=seed).compile(tables, tables.target)
    expected = enumerated(tables, codes)
    possible = ~np.isneginf(expected).all(axis=1)
    off = np.abs(posterior(compiled.log_joint(codes)) - posterior(expected))
    right = [(off <= 4 * compiled.standard_errors(codes) + 1e-12)[possible].all()]
    variables, evidence, answer = random_question(rng, tables)
    if answer is not None:
        off = np.abs(compiled.query(variables, evidence) - answer)
        right.append((off <= 4 * compiled.query_errors(variables, evidence) + 1e-12).all())
    return all(right)


def test_estimates_are_within_four_standard_errors():
    n_cases = 1000 if LONG else 60
    assert sum(within_four_errors(seed) for seed in range(n_cases)) >= 0.999 * n_cases


def with_holes(table, rate=0.3):
    codes = table.codes[:, :40].copy()
    codes[np.random.default_rng(0).random(codes.shape) < rate] = table.missing
    return codes


def agree(table, structure):
    name, parameters = structure
    dag = bnplug.structure_learner(name, **parameters).learn(table)
    tables = bnplug.parameter_learner("ml").fit(table, dag)
    codes = with_holes(table)
    one, two = (
        posterior(bnplug.engine(name).compile(tables, table.target).log_joint(codes))
        for name in ("elimination", "junction-tree")
    )
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


STRUCTURES = [("tan", {}), ("kdb", {"k": 1})]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda own: own[0])
@pytest.mark.parametrize("make", [datasets.tic_tac_toe, datasets.wine], ids=lambda own: own.__name__)
def test_the_exact_engines_agree_on_data_that_ship(make, structure):
    X, y = make()
    table, _ = bnplug.encode_training(X, y)
    agree(table, structure)


@pytest.mark.skipif(not Path(FOLDER, "car.csv.gz").is_file(), reason="BNPLUG_DATA names no folder of data sets")
@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda own: own[0])
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_exact_engines_agree_on_published_data(name, structure):
    data = datasets.load(name, data_dir=FOLDER)
    table, _ = bnplug.encode_training(data.X, data.y)
    agree(table, structure)


@pytest.mark.parametrize("engine", ["junction-tree", ("sampling", {"n_samples": 200})])
def test_a_classifier_takes_it(engine):
    X, y = datasets.tic_tac_toe()
    model = BayesianNetworkClassifier(engine=engine, random_state=0).fit(X, y)
    exact = BayesianNetworkClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:20]), exact.predict_proba(X[:20]), atol=1e-12)
    holes = X[:20].mask(np.random.default_rng(0).random(X[:20].shape) < 0.3)
    np.testing.assert_allclose(model.predict_proba(holes), exact.predict_proba(holes), atol=0.15)
    np.testing.assert_array_equal(model.predict_proba(holes), model.predict_proba(holes))


def test_the_error_of_elimination_names_sampling():
    rng = np.random.default_rng(0)
    tables = random_tables(rng, [[], [0], [0, 1], [0, 1, 2]], [2, 3, 3, 3])
    codes = np.full((4, 1), MISSING, dtype=np.uint8)
    codes[3] = 1
    with pytest.raises(ValueError, match="engine='sampling'"):
        bnplug.engine("elimination", max_clique_size=4).compile(tables, "v0").log_joint(codes)
    assert np.isfinite(bnplug.engine("sampling").compile(tables, "v0").log_joint(codes)).all()
