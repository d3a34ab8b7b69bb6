"""Local scores equal the terms of their definition, add up to the score, and are counted once."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from itertools import combinations
from math import fsum, log
from pickle import dumps, loads

import numpy as np
import pandas as pd
import pytest
from blocked import mapped
from random_networks import TREE, random_rows, random_tables
from scoring import slow
from sklearn.base import clone
from strategies import random_parents, seeds

from bnplug import Structure, Table
from bnplug.builtin.scores import K2, MDL, BDeu, LogLikelihood
from bnplug.compiling import kernel
from bnplug.inference.expected_table import ExpectedTable
from bnplug.scoring import DecomposableScore, _families, decomposable, dimension, log_likelihood
from bnplug.table.block_table import BlockTable

SCORES = [LogLikelihood(), MDL(), K2(), BDeu(), BDeu(equivalent_sample_size=0.7)]


class Counted(DecomposableScore):
    """A score of a third party that notes the families whose terms it computed."""

    def __init__(self, weight=1.0):
        self.weight = weight
        self.asked = []

    def local(self, table, child, parents, counts):
        self.asked.append((child, *parents))
        return log_likelihood(counts) - self.weight * dimension(table, child, parents)


def families_of(n, most=None):
    """All families of n variables with up to so many parents."""
    sizes = range(n if most is None else most + 1)
    return [(v, *p) for v in range(n) for k in sizes for p in combinations([u for u in range(n) if u != v], k)]


def of_graph(parents):
    return [(v, *family) for v, family in enumerate(parents)]


def rise_by_definition(table, family, term):
    """What the parents of a family add to its term, by loops over rows."""
    graph, empty = [[] for _ in table.names], [[] for _ in table.names]
    graph[family[0]] = list(family[1:])
    return slow.decomposable(table, graph, term) - slow.decomposable(table, empty, term)


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize(
    ("score", "term"), [(LogLikelihood(), slow.log_likelihood_term), (K2(), slow.k2_term), (BDeu(), slow.bdeu_term)]
)
def test_each_term_is_that_of_its_definition(score, term, seed):
    rng = np.random.default_rng(seed)
    table = slow.random_table(rng, 25, (3, 2, 4, 2), 1, weighted=seed % 2 == 1, missing=0.15 * (seed // 2))
    families = families_of(4)
    found = dict(zip(families, score.local_scores(table, families), strict=True))
    for family, value in found.items():
        rise = rise_by_definition(table, family, term)
        assert value - found[family[:1]] == pytest.approx(rise, abs=1e-9), family


def test_terms_computed_by_hand():
    # x given c: (1, 1) for n and (0, 2) for y.
    frame = pd.DataFrame({"x": ["a", "b", "b", "b"], "c": ["n", "n", "y", "y"]})
    table = Table.from_frame(frame, "c")
    families = [(0,), (0, 1), (1,)]
    alone, given, of_class = log(1 / 4) + 3 * log(3 / 4), 2 * log(1 / 2), 4 * log(1 / 2)
    assert LogLikelihood().local_scores(table, families) == pytest.approx([alone, given, of_class])
    assert K2().local_scores(table, families) == pytest.approx([log(6 / 120), log(1 / 6 * 2 / 6), log(4 / 120)])
    assert MDL().local_scores(table, families) == pytest.approx(
        [alone - log(4) / 2, given - log(4), of_class - log(4) / 2]
    )


@pytest.mark.parametrize("kind", ["rows", "blocks", "one block", "expected"])
@pytest.mark.parametrize("seed", seeds(6))
def test_terms_of_a_graph_add_up_to_its_score(kind, seed, tmp_path):
    rng = np.random.default_rng(seed)
    if kind == "expected":
        table = expected_table(rng, weighted=seed % 2 == 1)
    else:
        table = slow.random_table(rng, 60, (3, 2, 1, 4, 2), 1, weighted=seed % 2 == 1, missing=0.2 * (seed // 2 % 2))
        if kind == "blocks":
            table = mapped(table, tmp_path)
        elif kind == "one block":
            table = BlockTable.cut(table, [table.n_rows])
    for score in [*SCORES, Counted()]:
        graph = random_parents(rng, len(table.names))
        terms = score.local_scores(table, of_graph(graph))
        assert terms.dtype == np.float64
        assert fsum(terms) == score.score(table, Structure(table.names, graph))
        assert fsum(terms) == pytest.approx(score.evaluator(table).start(graph), rel=1e-12)


def expected_table(rng, weighted):
    """Rows with missing cells, some without a class, as a random network expects them."""
    network = random_tables(rng, TREE, [2, 3, 2, 2, 2, 3], spread=1.5)
    codes, weights = random_rows(rng, network, 40, 0.3), rng.integers(1, 4, 40) / 2 if weighted else None
    rows = Table(codes, network.names, network.states, network.target, weights, missing_policy="em")
    return ExpectedTable(rows, lambda: network)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_terms_depend_neither_on_the_batch_nor_on_threads_nor_on_blocks(weighted, missing, monkeypatch, tmp_path):
    table = slow.random_table(np.random.default_rng(1), 150, (3, 4, 2, 3, 3, 2), 2, weighted=weighted, missing=missing)
    families = families_of(6)
    for score in [LogLikelihood(), BDeu(), Counted()]:
        whole = score.local_scores(table, families)
        alone = [clone(score).local_scores(table, [family])[0] for family in families[::7]]
        assert whole[::7].tolist() == alone
        blocks = clone(score).local_scores(mapped(table, tmp_path), families)
        np.testing.assert_allclose(blocks, whole, rtol=1e-11)
        for name, value in {"_CELLS": 1, "_FAMILIES": 5, "_MOST_NUMBERS": 1, "_COUNTED_TOGETHER": 20}.items():
            with monkeypatch.context() as patch:
                patch.setattr(_families, name, value)
                np.testing.assert_allclose(clone(score).local_scores(table, families), whole, rtol=1e-12)
        with monkeypatch.context() as patch:
            patch.setattr(decomposable, "_WORTH_THREADS", 0)
            patch.setattr(_families, "_FAMILIES", 5)
            assert score.evaluator(table, n_jobs=3).local_scores(families).tolist() == whole.tolist()


def test_order_and_repetition_of_families_change_nothing():
    table = slow.random_table(np.random.default_rng(2), 80, (3, 2, 4, 2), 1)
    score = MDL()
    assert score.local_scores(table, []).shape == (0,)
    families = [(2, 3, 0), [0], np.array([2, 0, 3]), (0, 1), (2, 0, 3)]
    values = score.local_scores(table, iter(families))
    assert values[0] == values[2] == values[4] == MDL().local_scores(table, [(2, 0, 3)])[0]
    assert values[[1, 3]].tolist() == MDL().local_scores(table, [(0,), (0, 1)]).tolist()


@pytest.mark.parametrize("family", [(), (0, 0), (0, 1, 1), (0, -1), (4,), (-1,), (0, 4)])
def test_what_is_no_family_is_refused(family):
    table = slow.random_table(np.random.default_rng(2), 10, (3, 2, 4, 2), 1)
    with pytest.raises(ValueError, match="expected a child and its parents"):
        MDL().local_scores(table, [(0,), family])
    for number in ((0, 1.5), 0, "a"):
        with pytest.raises(TypeError, match=r"a family is \(child, \*parents\), the positions of variables, not "):
            MDL().local_scores(table, [number])


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_large_families_of_few_rows(n_rows):
    table = slow.random_table(np.random.default_rng(3), n_rows, (4,) * 70, 0)
    family = (1, *range(2, 70))
    (likelihood,) = LogLikelihood().local_scores(table, [family])
    assert likelihood == pytest.approx(0, abs=1e-9)  # each row is alone in its configuration
    (marginal,) = K2().local_scores(table, [family])
    assert marginal == pytest.approx(n_rows * log(1 / 4))
    (smoothed,) = BDeu().local_scores(table, [family])
    assert smoothed == pytest.approx(n_rows * log(1 / 4))


def test_more_than_255_states():
    values = [*map(str, range(300))] * 2
    table = Table.from_frame(pd.DataFrame({"wide": values, "c": ["n", "y"] * 300}), "c")
    rises = LogLikelihood().local_scores(table, [(1, 0), (1,), (0, 1), (0,)])
    assert rises == pytest.approx([0, 600 * log(1 / 2), 600 * log(1 / 150), 600 * log(1 / 300)], abs=1e-9)


def test_a_family_is_counted_once():
    table = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1)
    score, families = Counted(), families_of(3)
    first = score.local_scores(table, families)
    assert sorted(score.asked) == sorted(families)
    assert score.local_scores(table, families[::-1]).tolist() == first[::-1].tolist()
    score.score(table, Structure(table.names, [[], [0], [0, 1]]))
    assert len(score.asked) == len(families)


def test_terms_are_those_of_the_parameters_of_now():
    table = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1)
    score = BDeu()
    before = score.local_scores(table, [(0, 1)])[0]
    assert score.set_params(equivalent_sample_size=1).local_scores(table, [(0, 1)])[0] != before
    score.equivalent_sample_size = 10.0
    assert score.local_scores(table, [(0, 1)])[0] == before


def test_terms_are_those_of_the_table():
    tables = [slow.random_table(np.random.default_rng(seed), 50, (3, 2, 4), 1) for seed in (5, 6)]
    score = MDL()
    first, second = (score.local_scores(table, [(0, 1)])[0] for table in tables)
    assert first != second
    assert score.local_scores(tables[0], [(0, 1)])[0] == first


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_neither_table_nor_score_is_kept_alive(missing):
    table, score = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1, missing=missing), MDL()
    score.local_scores(table, [(0, 1)])
    assert id(score) in decomposable._KEPT
    number, gone = id(score), [weakref.ref(table)]
    del table
    gc.collect()
    assert gone[0]() is None
    assert not decomposable._KEPT[number]
    gone.append(weakref.ref(score))
    del score
    gc.collect()
    assert gone[1]() is None
    assert number not in decomposable._KEPT


def test_a_score_that_was_used_can_be_copied_and_pickled():
    @dataclass
    class Unhashable(DecomposableScore):
        weight: float = 1.0

        def local(self, table, child, parents, counts):
            return self.weight * log_likelihood(counts)

    table = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1)
    value = MDL().local_scores(table, [(0, 1)])[0]
    used = MDL()
    used.local_scores(table, [(0, 1)])
    for other in (loads(dumps(used)), clone(used)):
        assert other.local_scores(table, [(0, 1)])[0] == value
    half, whole = (Unhashable(weight).local_scores(table, [(0, 1)])[0] for weight in (0.5, 1.0))
    assert whole == pytest.approx(2 * half)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(decomposable, "_MOST_KEPT", 5)
    table = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1)
    score, families = Counted(), families_of(3)
    expected = Counted().local_scores(table, families)
    assert [score.local_scores(table, [family])[0] for family in families] == expected.tolist()
    terms = decomposable._KEPT[id(score)][table]
    assert sum(map(len, terms)) <= 5
    assert score.local_scores(table, families).tolist() == expected.tolist()


def test_terms_that_a_search_asked_for_are_reused():
    table = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1)
    score = Counted()
    evaluator = score.evaluator(table)
    evaluator.start([[], [], []])
    evaluator.propose_many([{0: [1]}, {0: [2]}, {1: [2]}])
    n_asked = len(score.asked)
    values = evaluator.local_scores([(0, 1), (0, 2), (1, 2), (0,)])
    assert len(score.asked) == n_asked
    assert values == pytest.approx(Counted().local_scores(table, [(0, 1), (0, 2), (1, 2), (0,)]))
    value = evaluator.value
    assert evaluator.local_scores([(2, 0, 1)]).shape == (1,)
    assert evaluator.value == value


@kernel(allocates=False)
def count_cells(starts, stops, sizes, terms):
    """The terms of a third party's compiled score."""
    for i in range(terms.shape[0]):
        terms[i] = np.sqrt(sizes[i]) if stops[i] > starts[i] else np.nan


class Compiled(Counted):
    def local(self, table, child, parents, counts):
        raise AssertionError("terms are computed together")

    def local_batch(self, table, child, parent_sets, counts):
        self.asked += parent_sets
        terms = np.empty(len(parent_sets))
        count_cells(counts.starts, counts.stops, counts.n_configurations, terms)
        return terms


def test_a_third_party_may_compute_many_terms_in_a_compiled_call():
    table = slow.random_table(np.random.default_rng(4), 50, (3, 2, 4), 1, missing=0.1)
    score = Compiled()
    # "Unknown" is a state of the parents; the class is complete.
    assert score.local_scores(table, [(0,), (0, 1), (0, 1, 2)]) ** 2 == pytest.approx([1, 2, 10])
    assert score.asked == [(), (1,), (1, 2)]
    assert score.score(table, Structure(table.names, [[], [0], [0, 1]])) == pytest.approx(1 + 2 + 8**0.5)
