"""Rows in blocks on the workers of a cluster: every method finds what it finds in memory."""

import numpy as np
import pytest
import third_party
from clusters import cluster, on_workers
from strategies import some
from test_in_blocks import SEARCHES, TABLES, drawn, learned, same_counts

import bnplug
from bnplug import Structure
from bnplug.gradient import objective
from bnplug.hooks import registry


@pytest.fixture(scope="module", params=some([2, 1, 3], 3))
def client(request):
    with cluster(request.param) as found:
        yield found


@pytest.fixture(params=some(sorted(TABLES), 4))
def pair(request, client):
    """A table in memory, and its rows on workers."""
    table = TABLES[request.param]()
    blocks = on_workers(table, client)
    assert blocks.n_blocks == 7
    assert len(set(blocks.store.homes)) == len(blocks.store.threads)
    return table, blocks


def test_statistics_are_the_same_to_the_last_bit(pair):
    table, blocks = pair
    families = [(0,), (1, 8), (2, 3, 8)] if len(table.names) > 8 else [(0,), (1, 2)]
    same_counts(table, blocks, families)
    folds = np.arange(table.n_rows) % 3 - 1
    whole = table.weights is None or (table.weights % 1 == 0).all()
    for one, other in zip(table.counts(families, folds), blocks.counts(families, folds), strict=True):
        np.testing.assert_allclose(other, one, rtol=0 if whole else 1e-13)


@pytest.mark.parametrize("name", ["nb", "tan", "kdb"])
def test_a_structure_from_counts(pair, name):
    table, blocks = pair
    learner = bnplug.structure_learner(name, **({"k": 2} if name == "kdb" else {}))
    found = learned(learner, blocks)
    assert found == learned(learner, table)
    same_counts(table, blocks, [(v, *own) for v, own in enumerate(found)])


def test_a_structure_by_a_decomposable_score(pair):
    table, blocks = pair
    one, other = (bnplug.structure_learner("hill-climb", score="mdl", n_jobs=n) for n in (1, 2))
    assert learned(one, blocks) == learned(other, table)
    np.testing.assert_allclose(one.trace_, other.trace_, rtol=0 if table.weights is None else 1e-12)


@pytest.mark.parametrize("name", some(sorted(SEARCHES), 2))
def test_a_structure_by_a_predictive_score(pair, name):
    table, blocks = pair
    params = {**SEARCHES[name], **({"max_evaluations": 40} if name == "sa" else {})}
    one, other = (bnplug.structure_learner(name, **params) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    assert one.trace_ == other.trace_  # the rows that are told rightly are counted: whole numbers


@pytest.mark.parametrize("score", some(["cll", "mm", "cmdl"], 3))
def test_a_structure_by_gains_that_are_no_whole_numbers(pair, score):
    table, blocks = pair
    one, other = (bnplug.structure_learner("hill-climb", score=score, max_parents=2) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    np.testing.assert_allclose(one.trace_, other.trace_, rtol=1e-10)


@pytest.mark.parametrize("name", ["ml", "backoff"])
def test_parameters_from_counts(pair, name):
    table, _ = pair
    parents = learned(bnplug.structure_learner("kdb", k=2), table)
    one, other = (bnplug.parameter_learner(name).fit(own, Structure(own.names, parents)) for own in pair)
    for node in table.names:
        np.testing.assert_allclose(np.exp(other[node].values), np.exp(one[node].values), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "params"), [("ccbn-w", {"l2": 1.0, "tol": 1e-9, "max_iter": 2000}), ("ml-bn-svm", {"lam": 0.1})]
)
def test_parameters_that_an_optimiser_finds(pair, name, params, monkeypatch):
    monkeypatch.setattr(objective, "_MOST_GATHERED", 0)
    table, _ = pair
    parents = learned(bnplug.structure_learner("nb"), table)
    one, other = (bnplug.parameter_learner(name, **params).fit(own, Structure(own.names, parents)) for own in pair)
    for node in table.names:
        np.testing.assert_allclose(np.exp(other[node].values), np.exp(one[node].values), rtol=0, atol=1e-6)


@pytest.mark.parametrize("score", some([third_party.Holes(), third_party.Cost(), third_party.Rank(cv=3)], 2))
def test_a_third_partys_score_needs_to_know_nothing_of_clusters(pair, score):
    table, blocks = pair
    one, other = (bnplug.structure_learner("hill-climb", score=score, max_parents=2, max_iter=2) for _ in range(2))
    assert learned(one, blocks) == learned(other, table)
    np.testing.assert_allclose(one.trace_, other.trace_, rtol=1e-12)


def test_a_third_partys_parameters_need_to_know_nothing_of_clusters(pair):
    learner, (table, _) = third_party.Steep(alpha=2.0), pair
    one, other = (learner.fit(own, Structure(own.names, own.naive_bayes())) for own in pair)
    for node in table.names:
        np.testing.assert_allclose(np.exp(other[node].values), np.exp(one[node].values), rtol=0, atol=1e-12)


# What makes runs short, alike, and near enough to the optimum; every other method has its defaults.
OPTIONS = {
    "sa": {"random_state": 1, "restarts": 1, "max_evaluations": 40},
    **{name: {"random_state": 1} for name in ("ro", "rmho", "rmho-f", "rmho-ar")},
    **{name: {"l2": 1.0, "tol": 1e-9, "max_iter": 2000} for name in ("ccbn-d", "ccbn-e", "ccbn-w")},
    "ccbn-loo": {"lam": 1.0, "temperature": 1.0, "tol": 1e-12, "max_iter": 2000},
    "ml-bn-svm": {"lam": 0.1},
    "mcmc": {"random_state": 1, "n_steps": 2000, "chains": 2, "tolerance": 0.0},
}


def installed(kind):
    return [method.name for method in registry.methods(kind)]


@pytest.fixture
def few(client):
    """A table in memory, and its rows on workers."""
    table = drawn(200)
    return table, on_workers(table, client)


@pytest.mark.long
@pytest.mark.parametrize("name", installed("structure learner"))
def test_every_structure_learner_that_is_installed(few, name):
    one, other = (learned(bnplug.structure_learner(name, **OPTIONS.get(name, {})), own) for own in few)
    assert one == other


@pytest.mark.long
@pytest.mark.parametrize("name", installed("score function"))
def test_every_score_that_is_installed(few, name):
    score = name, OPTIONS.get(name, {})
    climb = bnplug.structure_learner("hill-climb", score=score, max_parents=2, max_iter=3)
    one, other = (learned(climb, own) for own in few)
    assert one == other


@pytest.mark.long
@pytest.mark.parametrize("name", installed("parameter learner"))
def test_every_parameter_learner_that_is_installed(few, name, monkeypatch):
    monkeypatch.setattr(objective, "_MOST_GATHERED", 0)
    parents = learned(bnplug.structure_learner("tan"), few[0])
    one, other = (
        bnplug.parameter_learner(name, **OPTIONS.get(name, {})).fit(own, Structure(own.names, parents)) for own in few
    )
    for node in few[0].names:
        np.testing.assert_allclose(np.exp(other[node].values), np.exp(one[node].values), rtol=0, atol=1e-6)
