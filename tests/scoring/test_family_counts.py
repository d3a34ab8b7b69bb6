"""Families are scored on the rows in which the child is known; "unknown" is a state of incomplete parents."""

from __future__ import annotations

from math import lgamma, log

import numpy as np
import pandas as pd
import pytest
from blocked import mapped
from scoring import slow
from strategies import seeds

from bnplug import Table, structure_learner
from bnplug.builtin.scores import K2, MDL, BDeu, LogLikelihood
from bnplug.datasets import tic_tac_toe
from bnplug.scoring._families import FamilyCounts

SCORES = ["bdeu", "mdl", "k2"]


def children_of(variable, score, table, start="nb"):
    """The number of children that a variable gets in a climb."""
    learner = structure_learner("hill-climb", score=score, start=start, max_parents=4)
    return sum(table.index(variable) in parents for parents in learner.learn(table).parents)


@pytest.fixture(scope="module")
def four_rows():
    """x is known in three of four rows, its parent p in three others."""
    frame = pd.DataFrame({"x": ["a", "b", "b", None], "p": [0, 0, None, 1], "c": ["n", "y", "y", "n"]})
    return Table.from_frame(frame, "c")


def test_the_terms_of_a_family_computed_by_hand(four_rows):
    # Columns of x given p: {a: 1, b: 1} for 0, nothing for 1, {b: 1} for unknown.
    graph, empty = [[1], [], []], [[], [], []]
    rises = {
        LogLikelihood(): -2 * log(2) - (log(1 / 3) + 2 * log(2 / 3)),
        # Two more columns for one free parameter each.
        MDL(): -2 * log(2) - (log(1 / 3) + 2 * log(2 / 3)) - 2 * 0.5 * log(4),
        # 1! 1! / 3! and 1! / 2!, against 1! 2! / 4!.
        K2(): log(1 / 6) + log(1 / 2) - log(2 / 24),
        # Three configurations share the prior: a column has 1, a cell 1/2.
        BDeu(equivalent_sample_size=3.0): (
            2 * (lgamma(1.5) - lgamma(0.5)) - lgamma(3) + lgamma(1.5) - lgamma(0.5) - lgamma(2)
            - (lgamma(2.5) - lgamma(1.5) + lgamma(3.5) - lgamma(1.5) - lgamma(6) + lgamma(3))
        ),
    }  # fmt: skip
    for score, rise in rises.items():
        evaluator = score.evaluator(four_rows)
        assert evaluator.start(graph) - evaluator.start(empty) == pytest.approx(rise, abs=1e-12), score


def test_the_score_of_a_child_ignores_rows_that_lack_it(four_rows):
    evaluator = LogLikelihood().evaluator(four_rows)
    values = [evaluator.start(parents) for parents in ([[], [], []], [[2], [], []])]
    # x follows from the class in the three rows in which it is known.
    assert values[1] - values[0] == pytest.approx(-(log(1 / 3) + 2 * log(2 / 3)))


def test_a_local_term_sees_the_number_of_states_with_unknown(four_rows):
    counts = FamilyCounts(four_rows)
    assert counts.view(0).cards.tolist() == [2, 3, 2]
    assert counts.view(1).cards.tolist() == [3, 2, 2]
    assert counts.view(2).cards.tolist() == [3, 3, 2]
    assert four_rows.cards.tolist() == [2, 2, 2]


def test_complete_tables_are_counted_as_they_are():
    table = slow.random_table(np.random.default_rng(0), 30, (3, 2, 2), 1)
    counts = FamilyCounts(table)
    assert counts.table is table
    assert counts.view(2) is table


def test_as_many_states_as_a_code_can_number():
    # 255 states and "unknown" need a wider type of codes.
    values = [*map(str, range(255)), None] * 4
    table = Table.from_frame(pd.DataFrame({"wide": values, "c": ["n", "y"] * 512}), "c")
    counts = FamilyCounts(table)
    assert counts.table.codes.dtype == np.uint16
    for family, n_states in (((0, 1), 255), ((1, 0), 2)):
        ((_, _, counted),) = counts.batches([family])
        assert counted.tables(n_states)[0].sum() == 4 * (255 if n_states == 255 else 256)
    assert counts.count_with_each(1, [], [0]).tables(2)[0].sum() == 4 * 256


@pytest.mark.parametrize("score", [LogLikelihood(), MDL(), K2(), BDeu()])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_blocks_score_alike(score, weighted, tmp_path):
    table = slow.random_table(np.random.default_rng(4), 120, (3, 2, 4, 2), 1, weighted=weighted, missing=0.3)
    blocks = mapped(table, tmp_path)
    parents = [[1, 2], [], [1, 3], [1]]
    one, many = score.evaluator(table), score.evaluator(blocks)
    assert many.start(parents) == pytest.approx(one.start(parents), rel=1e-12)
    changes = [{0: [1]}, {0: [1, 2, 3]}, {3: [0, 1]}, {1: [3]}]
    np.testing.assert_allclose(many.propose_many(changes), one.propose_many(changes), rtol=1e-12)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("start", ["nb", "empty"])
def test_a_coin_with_missing_cells_is_no_parent(score, start):
    X, y = tic_tac_toe()
    rng = np.random.default_rng(0)
    coin = pd.Series(rng.choice(["heads", "tails"], len(X))).where(rng.random(len(X)) > 0.2, None)
    table = Table.from_frame(X.astype(str).assign(coin=coin, outcome=y), "outcome")
    assert children_of("coin", score, table, start) == 0


def test_a_coin_with_missing_cells_is_no_better_parent_by_likelihood():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.integers(0, 2, 500), "coin": rng.integers(0, 2, 500), "c": rng.integers(0, 2, 500)})
    frame["coin"] = frame["coin"].where(rng.random(500) > 0.5, None)
    evaluator = LogLikelihood().evaluator(Table.from_frame(frame, "c"))
    rise = evaluator.start([[1], [], []]) - evaluator.start([[], [], []])
    # Chance alone: twice the rise is chi-squared with two degrees of freedom. Half of the rows would be 170.
    assert 0 <= rise < 10


@pytest.mark.parametrize("score", ["bdeu", "mdl"])
def test_annealing_gives_a_coin_with_missing_cells_no_children(score):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (1, 600))
    frame = pd.DataFrame({f"x{i}": np.where(rng.random(600) < 0.9, codes[0], 1 - codes[0]) for i in range(5)})
    frame["coin"] = pd.Series(rng.integers(0, 2, 600)).where(rng.random(600) > 0.3, None)
    frame["c"] = codes[0]
    table = Table.from_frame(frame, "c")
    dag = structure_learner("sa", score=score, random_state=0).learn(table)
    assert sum(table.index("coin") in own for own in dag.parents) == 0


def random_table(rng):
    """Rows of a random network over ten variables, and a column of noise, with and without missing cells."""
    n_rows = int(rng.integers(1000, 5001))
    columns = {}
    for v in range(10):
        parents = list(rng.choice(v, min(v, int(rng.integers(0, 3))), replace=False)) if v else []
        card = int(rng.integers(2, 5))
        configuration = sum((columns[f"x{p}"] * 5**i for i, p in enumerate(parents)), np.zeros(n_rows, dtype=int))
        cumulative = np.cumsum(rng.dirichlet(np.full(card, 0.7), 5 ** len(parents)), axis=1)
        columns[f"x{v}"] = (rng.random(n_rows)[:, None] > cumulative[configuration]).sum(axis=1)
    frame = pd.DataFrame(columns).astype(str)
    noise = pd.Series(rng.integers(0, rng.integers(2, 21), n_rows).astype(str))
    hidden = rng.random(n_rows) < rng.uniform(0.01, 0.8)
    tables = [Table.from_frame(frame.assign(noise=column), "x9") for column in (noise, noise.mask(hidden))]
    return tables


@pytest.mark.parametrize("score", SCORES)
def test_noise_with_missing_cells_gets_no_more_children_than_without(score):
    # 200 tables in the long run.
    more = []
    for seed in seeds(20):
        complete, incomplete = random_table(np.random.default_rng(seed))
        more.append(children_of("noise", score, incomplete) - children_of("noise", score, complete))
    assert np.mean(more) <= 0.2
    assert max(more) <= 3
