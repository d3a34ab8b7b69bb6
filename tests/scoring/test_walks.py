"""Every score equals its slow definition, whole and along random walks of changes."""

import sys
from math import log
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit, ShuffleSplit, StratifiedKFold
from strategies import seeds

import bnplug
from bnplug import Structure

sys.path.insert(0, str(Path(__file__).parent))
import slow


def expected(name, table, parents, folds=None):
    if name == "cr":
        return slow.predictive(table, parents, slow.correct, folds, mean=True)
    if name == "cll":
        return slow.predictive(table, parents, slow.log_posterior, folds)
    if name == "cmdl":
        penalty = 0.5 * slow.dimension(table, parents) * log(table.total_weight)
        return slow.predictive(table, parents, slow.log_posterior) - penalty
    terms = {"k2": slow.k2_term, "bdeu": slow.bdeu_term}
    value = slow.decomposable(table, parents, terms.get(name, slow.log_likelihood_term))
    if name == "mdl":
        value -= 0.5 * slow.dimension_with_unknown(table, parents) * log(table.total_weight)
    return value


def walk(score, table, steps, rng, check, n_jobs=1):
    """Propose and commit random changes; `check` gets each graph and what the evaluator says of it."""
    parents = [[] for _ in table.names]
    evaluator = score.evaluator(table, n_jobs)
    check(parents, evaluator.start(parents))
    for _ in range(steps):
        candidates = [slow.random_change(rng, parents) for _ in range(4)]
        before = evaluator.value
        single = [evaluator.propose_many([changes])[0] for changes, _ in candidates]
        batch = evaluator.propose_many([changes for changes, _ in candidates])
        assert batch == pytest.approx(single, abs=1e-9)
        assert evaluator.value == before
        for (_, changed), value in zip(candidates, batch, strict=True):
            check(changed, value)
        changes, parents = candidates[rng.integers(4)]
        check(parents, evaluator.commit(changes))
        check(parents, evaluator.value)


@pytest.mark.parametrize("name", ["ll", "mdl", "k2", "bdeu", "cr", "cll", "cmdl"])
@pytest.mark.parametrize("seed", seeds(3))
def test_scores_equal_slow_loops_along_a_walk(name, seed):
    rng = np.random.default_rng([seed, 7])
    table = slow.random_table(rng, 24, [2, 3, 3, 2], seed % 4, weighted=seed == 1, missing=0.15 if seed == 2 else 0)
    score = bnplug.score_function(name)

    def check(parents, value):
        assert value == pytest.approx(expected(name, table, parents), abs=1e-9)

    walk(score, table, 6, rng, check)
    parents = slow.random_change(rng, [[] for _ in table.names])[1]
    check(parents, score.score(table, Structure(table.names, parents)))


@pytest.mark.parametrize("name", ["cr", "cll"])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_train_on_the_rest(name, weighted):
    rng = np.random.default_rng(11)
    table = slow.random_table(rng, 30, [2, 3, 2, 3], 3, weighted=weighted)
    folds = rng.integers(-1, 3, 30)
    score = bnplug.score_function(name, cv=PredefinedSplit(folds))

    def check(parents, value):
        assert value == pytest.approx(expected(name, table, parents, folds), abs=1e-9)

    walk(score, table, 5, rng, check)


def test_a_number_of_folds_is_stratified_and_shuffled_by_a_seed():
    rng = np.random.default_rng(3)
    table = slow.random_table(rng, 40, [3, 3, 2], 2)
    parents = [[2], [0, 2], []]
    labels = table.codes[2]
    for seed, splitter in [
        (None, StratifiedKFold(4)),
        (5, StratifiedKFold(4, shuffle=True, random_state=5)),
    ]:
        folds = np.empty(40, dtype=int)
        for k, (_, test) in enumerate(splitter.split(labels, labels)):
            folds[test] = k
        value = bnplug.score_function("cr", cv=4, random_state=seed).score(table, Structure(table.names, parents))
        assert value == pytest.approx(expected("cr", table, parents, folds), abs=1e-12)


@pytest.mark.parametrize("name", ["mdl", "cr", "cll"])
def test_threads_do_not_change_a_bit(name):
    rng = np.random.default_rng(5)
    table = slow.random_table(rng, 3000, [4, 4, 3, 3, 3], 4, weighted=True)
    candidates = [slow.random_change(rng, [[4], [4], [4], [4], []])[0] for _ in range(30)]
    values = []
    for n_jobs in (1, 2):
        evaluator = bnplug.score_function(name).evaluator(table, n_jobs)
        evaluator.start([[4], [4], [4], [4], []])
        values.append(evaluator.propose_many(candidates))
    assert (values[0] == values[1]).all()


@pytest.mark.parametrize("name", ["cr", "cll"])
def test_only_what_is_strictly_below_may_be_dropped(name):
    rng = np.random.default_rng(6)
    table = slow.random_table(rng, 5000, [4, 4, 3, 3, 3], 4)
    start = [[4], [4], [4], [4], []]
    candidates = [slow.random_change(rng, start)[0] for _ in range(40)]
    evaluator = bnplug.score_function(name, cv=4).evaluator(table)
    evaluator.start(start)
    exact = evaluator.propose_many(candidates)
    for bound in (np.median(exact), exact.max()):
        found = evaluator.propose_many(candidates, at_least=bound)
        kept = ~np.isneginf(found)
        assert (found[kept] == exact[kept]).all()
        assert (exact[~kept] < bound).all()


def test_changes_that_cannot_matter_change_nothing():
    rng = np.random.default_rng(8)
    table = slow.random_table(rng, 50, [3, 3, 3, 2], 3)
    evaluator = bnplug.score_function("cr").evaluator(table)
    value = evaluator.start([[], [3], [3], []])
    before = evaluator.n_evaluations
    assert evaluator.propose_many([{0: [1]}])[0] == value
    assert evaluator.n_evaluations == before
    penalized = bnplug.score_function("cmdl").evaluator(table)
    value = penalized.start([[], [3], [3], []])
    assert penalized.propose_many([{0: [1]}])[0] == pytest.approx(value - 0.5 * 4 * np.log(50))


def test_unseen_configurations_tie_and_the_lowest_class_wins():
    table = slow.random_table(np.random.default_rng(1), 12, [2, 2, 3], 2)
    score = bnplug.score_function("cr", alpha=0.0, floor=1e-5, cv=PredefinedSplit(np.arange(12) % 3))
    for parents in ([[2], [0, 2], []], [[1, 2], [2], []], [[], [], [0, 1]]):
        slow_value = slow.predictive(table, parents, slow.correct, np.arange(12) % 3, 0.0, 1e-5, mean=True)
        assert score.score(table, Structure(table.names, parents)) == pytest.approx(slow_value, abs=1e-12)


def test_bad_resampling_and_smoothing_are_errors():
    table = slow.random_table(np.random.default_rng(1), 20, [2, 2], 1)
    dag = Structure(table.names, [[1], []])
    with pytest.raises(ValueError, match=r"overlap|disjoint|complement"):
        bnplug.score_function("cr", cv=ShuffleSplit(3, test_size=0.5, random_state=0)).score(table, dag)
    with pytest.raises(ValueError, match="alpha > 0 or floor > 0"):
        bnplug.score_function("cll", alpha=0).score(table, dag)
    with pytest.raises(ValueError, match="alpha"):
        bnplug.score_function("cr", alpha=-1).score(table, dag)
