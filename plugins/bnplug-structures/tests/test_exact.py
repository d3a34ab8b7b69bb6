"""exact returns the best of all graphs, within constraints."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from bnplug import Structure, Table, score_function, structure_learner
from bnplug.datasets import corral, monks, p08_synthetic
from bnplug.table.block_table import BlockTable
from bnplug.testing.data import without_class


def all_graphs(names):
    pairs = list(combinations(range(len(names)), 2))
    for directions in product((None, False, True), repeat=len(pairs)):
        parents = [[] for _ in names]
        for (u, v), reverse in zip(pairs, directions, strict=True):
            if reverse is not None:
                parents[u if reverse else v].append(v if reverse else u)
        try:
            yield Structure(names, parents)
        except ValueError:
            continue


def coin_tosses(seed, n=60):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.integers(0, [2, 3, 2, 4], (n, 4)), columns=list("abcd"))


def narrow(data, columns, target):
    X, y = data
    return X[columns].assign(**{target: y})


TABLES = {
    "corral": narrow(corral(), ["A0", "A1", "B0"], "corral"),
    "monks": narrow(monks(2), ["a1", "a2", "a4"], "monk"),
    "synthetic": narrow(p08_synthetic(300), list(p08_synthetic(300)[0].columns[:3]), "y"),
    "coins": coin_tosses(0),
    "missing": coin_tosses(1).mask(np.random.default_rng(2).random((60, 4)) < 0.2).assign(d=coin_tosses(1)["d"]),
}


@pytest.fixture(params=TABLES)
def table(request):
    frame = TABLES[request.param]
    return Table.from_frame(frame, frame.columns[-1])


@pytest.mark.parametrize("name", ["mdl", "bdeu", "k2", "ll"])
def test_none_of_the_543_graphs_is_better(table, name):
    score = score_function(name)
    graphs = list(all_graphs(table.names))
    assert len(graphs) == 543
    best = max(score.score(table, graph) for graph in graphs)
    learner = structure_learner("exact", score=name)
    assert score.score(table, learner.learn(table)) == pytest.approx(best, abs=1e-8)
    assert learner.score_ == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("most", [1, 2])
def test_limits_and_constraints_leave_the_best_of_the_other_graphs(table, most):
    a, b, c, d = table.names
    score = score_function("bdeu")
    constraints = {"required": [(d, b)], "forbidden": [(a, c)], "tiers": [[d], [a, b, c]]}

    def possible(graph):
        late = any(child == d for _, child in graph.edges)
        return (d, b) in graph.edges and (a, c) not in graph.edges and not late and max(map(len, graph.parents)) <= most

    best = max(score.score(table, graph) for graph in all_graphs(table.names) if possible(graph))
    learned = structure_learner("exact", score="bdeu", max_parents=most, **constraints).learn(table)
    assert possible(learned)
    assert score.score(table, learned) == pytest.approx(best, abs=1e-8)
    assert possible(structure_learner("tabu", score="bdeu", max_parents=most, **constraints).learn(table))


def chain(n, n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, n_rows)]
    for _ in range(n - 1):
        columns.append(np.where(rng.random(n_rows) < 0.3, rng.integers(0, 2, n_rows), columns[-1]))
    names = [f"x{i}" for i in range(n)]
    return Table(np.array(columns, np.uint8), names, dict.fromkeys(names, (0, 1)), names[0])


def test_blocks_and_tables_without_a_class_give_the_same_graph():
    table = chain(7)
    graph = structure_learner("exact").learn(table)
    blocks = BlockTable.cut(table, [100, 150, 50])
    assert structure_learner("exact").learn(blocks) == graph
    assert structure_learner("exact").learn(without_class(table)) == graph


def test_bounds_skip_most_sets_of_a_chain():
    learner = structure_learner("exact", max_parents=2)
    graph = learner.learn(chain(14))
    assert learner.n_expanded_ < 0.5 * 2**14
    skeleton = {frozenset(edge) for edge in graph.edges}
    assert {frozenset((f"x{i}", f"x{i + 1}")) for i in range(13)} <= skeleton


def test_what_takes_too_long_is_refused():
    with pytest.raises(ValueError, match="at most 25 variables; this table has 26"):
        structure_learner("exact").learn(chain(26))
    with pytest.raises(ValueError, match="20 variables with up to 19 parents have 10485760 parent sets"):
        structure_learner("exact", max_parents=None).learn(chain(20))
    with pytest.raises(ValueError, match=r"the parents \['x1', 'x2'\] of 'x0' are required; max_parents=1"):
        structure_learner("exact", max_parents=1, required=[("x1", "x0"), ("x2", "x0")]).learn(chain(3))


def test_a_score_that_is_not_decomposable_is_refused():
    with pytest.raises((TypeError, ValueError), match="decomposable"):
        structure_learner("exact", score="cr").learn(chain(3))
