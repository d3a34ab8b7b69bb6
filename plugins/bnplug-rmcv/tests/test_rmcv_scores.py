"""The risks on held-out rows are what a loop over rows makes of their definitions."""

from __future__ import annotations

from math import inf, log

import networkx as nx
import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

import bnplug
from bnplug import Structure
from bnplug.table.coding import smallest_dtype
from bnplug.table.table import Table

TIE = 1e-9


def random_table(rng, n_rows, cards, target):
    """Rows in which every feature follows the class, or the one before it, most of the time."""
    labels = rng.integers(0, cards[target], n_rows)
    columns = []
    for v, card in enumerate(cards):
        source = labels if v % 2 or not columns else columns[-1]
        columns.append(
            labels if v == target else np.where(rng.random(n_rows) < 0.6, source, rng.integers(0, card, n_rows)) % card
        )
    names = [f"v{v}" for v in range(len(cards))]
    states = {name: range(card) for name, card in zip(names, cards, strict=True)}
    return Table(np.array(columns).astype(smallest_dtype(cards)), names, states, names[target])


def random_parents(rng, size):
    """Any graph without a cycle, the class as likely to have parents as any other variable."""
    order = rng.permutation(size).tolist()
    return [[u for u in order[: order.index(v)] if rng.random() < 0.5] for v in range(size)]


def slow_share(table, parents, folds, alpha):
    """The share of rows in a fold whose class wins, parameters counted in all rows outside the fold."""
    codes, target = table.codes.astype(int), table.target_index
    tested = np.flatnonzero(folds >= 0)
    right = 0
    for row in tested:
        train = codes[:, folds != folds[row]]
        joints = []
        for label in range(table.cards[target]):
            value = codes[:, row].copy()
            value[target] = label
            joints.append(sum(slow_log(table, train, value, v, own, alpha) for v, own in enumerate(parents)))
        winner = next(c for c, joint in enumerate(joints) if joint >= max(joints) - TIE)
        right += winner == codes[target, row]
    return right / len(tested)


def slow_log(table, train, value, v, parents, alpha):
    if v != table.target_index and table.target_index not in parents:
        return 0.0  # the same for all classes
    fits = np.all(train[parents] == value[parents][:, None], axis=0)
    cells = table.cards[v] * np.prod(table.cards[parents])
    count = (fits & (train[v] == value[v])).sum() + alpha / cells
    total = fits.sum() + alpha * table.cards[v] / cells
    share = count / total if total > 0 else 1 / table.cards[v]
    return log(share) if share > 0 else -inf


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_scores_equal_a_loop_over_rows(seed, alpha):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 60, [3, 2, 3, 4, 2][: 4 + seed % 2], target=seed % 4)
    parents = random_parents(rng, len(table.names))
    splits = StratifiedKFold(4, shuffle=True, random_state=np.random.RandomState(seed))
    folds = np.empty(60, dtype=int)
    for number, (_, test) in enumerate(splits.split(folds, table.codes[table.target_index])):
        folds[test] = number
    wanted = {"rmcv": folds, "rmho-f": np.where(folds == 0, 0, -1), "rmho": np.where(folds == 0, 0, -1)}
    for name, own in wanted.items():
        score = bnplug.score_function(name, alpha=alpha, random_state=seed).score(
            table, Structure(table.names, parents)
        )
        assert score == pytest.approx(slow_share(table, parents, own, alpha), abs=1e-12), name


def test_more_parent_configurations_than_could_ever_occur():
    """Four parents of 30 states are 810,000 configurations; the 80 rows have at most 80."""
    rng = np.random.default_rng(0)
    table = random_table(rng, 80, [30, 30, 30, 30, 3], target=4)
    folds = np.arange(80) % 4
    score = bnplug.score_function("rmcv", alpha=0.0, cv=PredefinedSplit(folds))
    evaluator = score.evaluator(table)
    evaluator.start([[4], [4], [4], [0, 4], []])
    for changes in ({3: [0, 1, 4]}, {3: [0, 1, 2, 4]}, {4: [0, 1, 2], 0: [], 1: [], 2: []}):
        parents = [list(changes.get(v, own)) for v, own in enumerate(evaluator.parents)]
        wanted = slow_share(table, parents, folds, 0.0)
        assert evaluator.propose_many([changes])[0] == pytest.approx(wanted, abs=1e-12)
        assert evaluator.commit(changes) == pytest.approx(wanted, abs=1e-12)


def test_both_ends_of_a_reversal_count():
    rng = np.random.default_rng(3)
    table = random_table(rng, 60, [3, 3, 2, 3], target=2)
    folds = np.arange(60) % 4
    evaluator = bnplug.score_function("rmcv", alpha=0.0, cv=PredefinedSplit(folds)).evaluator(table)
    parents = [[2], [0, 2], [], [1, 2]]
    evaluator.start(parents)
    for u, v in [(0, 1), (1, 3), (2, 0)]:
        changes = {v: [p for p in parents[v] if p != u], u: [*parents[u], v]}
        changed = [list(changes.get(w, own)) for w, own in enumerate(parents)]
        assert nx.is_directed_acyclic_graph(nx.DiGraph([(p, w) for w, own in enumerate(changed) for p in own]))
        assert evaluator.propose_many([changes])[0] == pytest.approx(slow_share(table, changed, folds, 0.0), abs=1e-12)


def steps(name, random_state, **options):
    table = random_table(np.random.default_rng(1), 80, [3, 3, 3, 2], target=3)
    evaluator = bnplug.score_function(name, random_state=random_state, **options).evaluator(table)
    evaluator.start([[3], [3], [3], []])
    return [evaluator.step() for _ in range(12)]


def test_only_rmho_holds_other_rows_out_at_each_step():
    assert len(set(steps("rmcv", 0))) == len(set(steps("rmho-f", 0))) == 1
    assert len(set(steps("rmho", 0, keep=False))) > 2
    assert steps("rmho", 0, keep=False) == steps("rmho", 0, keep=False) != steps("rmho", 1, keep=False)


def test_rmho_draws_without_a_seed_too():
    assert len(set(steps("rmho", None, keep=False))) > 2


def test_a_kept_score_is_that_of_the_draw_on_which_the_graph_was_chosen():
    table = random_table(np.random.default_rng(1), 80, [3, 3, 3, 2], target=3)
    kept, anew = (bnplug.score_function("rmho", random_state=0, keep=keep).evaluator(table) for keep in (True, False))
    first = kept.start([[3], [3], [3], []])
    assert anew.start([[3], [3], [3], []]) == first
    for _ in range(6):
        anew.step()
        assert kept.step() == kept.value == first
        assert kept.propose_many([{0: []}])[0] == anew.propose_many([{0: []}])[0]
    chosen = kept.commit({1: [0, 3]})
    assert chosen == anew.commit({1: [0, 3]})
    assert kept.step() == chosen


def test_without_a_seed_rows_are_taken_in_their_order():
    table = random_table(np.random.default_rng(1), 80, [3, 3, 3, 2], target=3)
    folds = np.empty(80, dtype=int)
    for number, (_, test) in enumerate(StratifiedKFold(4).split(folds, table.codes[3])):
        folds[test] = number
    parents = [[3], [3], [0, 3], []]
    assert bnplug.score_function("rmcv").score(table, Structure(table.names, parents)) == slow_share(
        table, parents, folds, 1.0
    )


@pytest.mark.parametrize("name", ["rmcv", "rmho", "rmho-f"])
def test_something_must_be_held_out(name):
    table = random_table(np.random.default_rng(1), 80, [3, 3, 3, 2], target=3)
    with pytest.raises(ValueError, match="cv=None holds no row out"):
        bnplug.score_function(name, cv=None).evaluator(table)
