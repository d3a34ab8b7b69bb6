"""The margin score equals a loop over rows, and its lam is chosen on rows that no search has seen."""

from __future__ import annotations

from math import log, prod

import numpy as np
import pytest
from bnplug_margin.score import LAM_GRID, MaximumMargin
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import PredefinedSplit

import bnplug
from bnplug import QuantileDiscretizer, Structure
from bnplug.table.table import Table


def table_of(rng, n_rows=60, cards=(3, 2, 4, 3), weighted=False, missing=0.0):
    """Features that depend on the class, the last variable, and on their neighbour."""
    labels = rng.integers(0, cards[-1], n_rows)
    codes = np.empty((len(cards), n_rows), dtype=np.uint8)
    for v, card in enumerate(cards[:-1]):
        previous = codes[v - 1] if v else labels
        codes[v] = np.where(rng.random(n_rows) < 0.6, (labels + previous) % card, rng.integers(0, card, n_rows))
        codes[v][rng.random(n_rows) < missing] = 255
    codes[-1] = labels
    names = [f"v{v}" for v in range(len(cards))]
    weights = rng.choice([0.5, 1.0, 3.0], n_rows) if weighted else None
    return Table(codes, names, dict(zip(names, map(range, cards), strict=True)), names[-1], weights)


def slow_parameter(table, node, parents, values, rows, alpha, floor):
    """theta of a state, counted row by row; None where a value is missing."""
    family = [node, *parents]
    if any(values[v] == table.missing for v in family):
        return None
    states = int(table.cards[node])
    counts = [alpha / (states * prod(int(table.cards[p]) for p in parents))] * states
    for m in rows:
        row = table.codes[:, m]
        if row[node] != table.missing and all(row[p] == values[p] for p in parents):
            counts[row[node]] += 1.0 if table.weights is None else float(table.weights[m])
    theta = [n / sum(counts) if sum(counts) > 0 else 1 / states for n in counts]
    lifted = [max(share, floor) for share in theta]
    return lifted[values[node]] / sum(lifted)


def slow_score(table, parents, folds, lam, alpha, floor):
    """The definition: for every tested row, parameters from the rows outside its fold."""
    c, total = table.target_index, 0.0
    for m in range(table.n_rows):
        if folds is not None and folds[m] < 0:
            continue
        rows = range(table.n_rows) if folds is None else np.flatnonzero(folds != folds[m])
        joint = []
        for label in range(int(table.cards[c])):
            values = [*map(int, table.codes[:-1, m]), label]
            terms = [
                slow_parameter(table, v, own, values, rows, alpha, floor)
                for v, own in enumerate(parents)
                if v == c or c in own
            ]
            joint.append(sum(log(theta) for theta in terms if theta is not None))
        own = joint.pop(int(table.codes[c, m]))
        weight = 1.0 if table.weights is None else table.weights[m]
        total += weight * min(1.0, lam * (own - max(joint)))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_equals_a_loop_over_rows(seed):
    rng = np.random.default_rng(seed)
    classes = 2 if seed % 2 else 3
    table = table_of(rng, 40, (3, 2, 2, classes), weighted=seed % 3 == 0, missing=0.1 * (seed % 3 == 1))
    folds = [None, rng.permutation(40) % 5, rng.permutation(40) % 4 - 1][seed % 3]
    alpha, floor = [(1.0, 0.0), (0.0, 1e-3)][seed // 3]
    lam = float(rng.choice([0.05, 0.3, 2.0]))
    cv = None if folds is None else PredefinedSplit(folds)
    parents = [[3], [0, 3], [3], []]
    evaluator = MaximumMargin(lam=lam, alpha=alpha, floor=floor, cv=cv).evaluator(table)
    assert evaluator.start(parents) == pytest.approx(slow_score(table, parents, folds, lam, alpha, floor), abs=1e-9)
    candidates = [{1: [3]}, {2: [1, 3]}, {0: []}, {1: [0, 2, 3]}]
    for changes, value in zip(candidates, evaluator.propose_many(candidates), strict=True):
        changed = [list(changes.get(v, own)) for v, own in enumerate(parents)]
        assert value == pytest.approx(slow_score(table, changed, folds, lam, alpha, floor), abs=1e-9)
    assert evaluator.commit(candidates[1]) == pytest.approx(evaluator.start([[3], [0, 3], [1, 3], []]), abs=1e-9)


def test_a_candidate_below_the_bound_is_below_it():
    table = table_of(np.random.default_rng(3), 400, (3, 3, 3, 3, 4))
    evaluator = MaximumMargin(lam=0.3).evaluator(table)
    value = evaluator.start([[4]] * 4 + [[]])
    candidates = [{v: [u, 4]} for v in range(4) for u in range(4) if u != v]
    free, bounded = evaluator.propose_many(candidates), evaluator.propose_many(candidates, at_least=value)
    kept = np.isfinite(bounded)
    assert (bounded[kept] == free[kept]).all()
    assert (free[~kept] < value).all()


def test_a_hand_computed_case():
    codes = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0]], dtype=np.uint8)
    table = Table(codes, ["x", "c"], {"x": (0, 1), "c": (0, 1)}, "c")
    # Joints times 7 are 3.25, 0.25 for x = 0 and 1.25, 2.25 for x = 1; three rows reach 1, two gain, one loses.
    expected = 3 + 0.5 * log(2.25 / 1.25)
    assert MaximumMargin(lam=0.5, cv=None).score(table, Structure(table.names, [[1], []])) == pytest.approx(
        expected, abs=1e-12
    )


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    binned = QuantileDiscretizer(n_bins=3).set_output(transform="pandas").fit_transform(X.iloc[:, :8])
    return Table.from_frame(binned.assign(c=y), "c")


def test_cross_validation_chooses_the_lam_of_the_best_rate(cancer):
    score = MaximumMargin(lam="cv", random_state=0)
    evaluator = score.evaluator(cancer)
    assert score.lam_ == LAM_GRID[int(score.cv_rates_.argmax())]
    assert score.cv_rates_.shape == (10,)
    assert 0.85 < score.cv_rates_.min() <= score.cv_rates_.max() < 1
    parents = bnplug.structure_learner("tan").learn(cancer).parents
    fixed = MaximumMargin(lam=score.lam_, random_state=0).evaluator(cancer)
    assert evaluator.start(parents) == fixed.start(parents)
    assert score.lam == "cv"


def test_the_choice_does_not_depend_on_threads(cancer):
    rates = []
    for n_jobs in (1, 2):
        score = MaximumMargin(lam="cv", cv=3)
        score.choose_lam(cancer, n_jobs)
        rates.append(score.cv_rates_)
    assert (rates[0] == rates[1]).all()


def test_the_choice_works_with_resubstitution_and_any_splitter(cancer):
    folds = np.arange(cancer.n_rows) % 4 - 1
    for cv in (None, PredefinedSplit(folds)):
        assert MaximumMargin(lam="cv", cv=cv).choose_lam(cancer) in LAM_GRID
    with pytest.raises(ValueError, match="leaves a fold out"):
        MaximumMargin(lam="cv", cv=PredefinedSplit(np.minimum(folds, 0))).choose_lam(cancer)


@pytest.mark.parametrize("params", [{"lam": 0.0}, {"lam": -1}, {"lam": "auto"}, {"lam": np.inf}, {"alpha": 0.0}])
def test_what_it_cannot_do_with(params, cancer):
    with pytest.raises(ValueError, match=r"lam=|alpha > 0"):
        MaximumMargin(**params).evaluator(cancer)


def test_hill_climbing_with_it_raises_the_score(cancer):
    learner = bnplug.structure_learner("hill-climb", score=("mm", {"lam": 0.3}), tree=True, random_state=0)
    learner.learn(cancer)
    assert learner.trace_[-1] > learner.trace_[0]
    assert clone(learner).get_params()["score"] == ("mm", {"lam": 0.3})


def test_settling_chooses_what_the_evaluator_would(cancer):
    score = MaximumMargin(lam="cv", cv=3, random_state=0)
    settled = score.choose_parameters(cancer)
    assert score.lam == "cv"
    assert settled.lam == score.evaluator(cancer).score.lam
    given = MaximumMargin(lam=0.5)
    assert given.choose_parameters(cancer) is given
