"""`pc`: equivalence classes from an oracle, statistics against scipy, and conflicts that never make a cycle."""

import numpy as np
import pandas as pd
import pytest
from bnplug_structures.independence import Question, Separation, independence_test
from bnplug_structures.orienting import PartialDag
from bnplug_structures.pc import PC
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from bnplug import Structure, Table, structure_learner
from bnplug.table.block_table import BlockTable

NAMES = "abcdefgh"


@st.composite
def graphs(draw, most=7):
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    parents = [[] for _ in range(n)]
    for i, v in enumerate(order):
        if i:
            parents[v] = draw(st.lists(st.sampled_from(order[:i]), max_size=3, unique=True))
    return Structure(NAMES[:n], parents)


def table_of(names):
    table = Table.from_frame(pd.DataFrame({name: [0, 1] for name in names}), names[0])
    table.target = table.target_index = None
    return table


def drawn(n_rows=600, seed=0, missing=0.0):
    random = np.random.RandomState(seed)
    a, b = random.randint(3, size=(2, n_rows))
    c = np.where(random.rand(n_rows) < 0.8, np.maximum(a, b), random.randint(3, size=n_rows))
    d = np.where(random.rand(n_rows) < 0.7, c > 0, random.rand(n_rows) < 0.5).astype(int)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}, dtype="float")
    return frame.mask(random.rand(*frame.shape) < missing) if missing else frame


@given(graphs())
@settings(max_examples=100)
def test_an_oracle_recovers_the_equivalence_class(truth):
    learned = PC(test=Separation(truth), max_conditions=None).learn(table_of(truth.names))
    assert learned.pdag == truth.cpdag()
    assert learned.structure.cpdag() == truth.cpdag()
    assert not learned.details["undecided triples"]
    assert not learned.details["contradicting colliders"]


@given(graphs(), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_any_answers_lead_to_a_graph_of_the_reported_class(truth, seed):
    """Answers at random contradict each other: still a valid graph, and its class."""
    random, known = np.random.RandomState(seed), {}

    def arbitrary(x, y, given):
        return known.setdefault((x, y, given), float(random.rand() < 0.5))

    learned = PC(test=arbitrary).learn(table_of(truth.names))
    assert learned.pdag == learned.structure.cpdag()


@given(graphs(), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=60)
def test_constraints_hold_whatever_the_answers(truth, random, oracle):
    edges = [(truth.names[p], truth.names[v]) for v, family in enumerate(truth.parents) for p in family]
    required = random.sample(edges, min(2, len(edges)))
    names = list(truth.names)
    pairs = [(u, v) for u in names for v in names if u != v and (u, v) not in required]
    forbidden = random.sample(pairs, min(4, len(pairs)))
    answers = {}
    test = Separation(truth) if oracle else lambda *asked: answers.setdefault(asked, float(random.random() < 0.5))
    learned = PC(test=test, required=required, forbidden=forbidden).learn(table_of(truth.names))
    assert {*required} <= {*learned.structure.edges}
    assert not {*forbidden} & {*learned.structure.edges}
    assert not {*forbidden} & {*learned.pdag.directed}
    assert {*learned.structure.edges} >= {*learned.pdag.directed}


def test_tiers_direct_what_data_cannot():
    truth = Structure("abc", [[], [0], [1]])
    learned = PC(test=Separation(truth), tiers=[["a"], ["b", "c"]]).learn(table_of("abc"))
    assert learned.pdag.directed == (("a", "b"), ("b", "c"))


def test_statistics_are_those_of_scipy_summed_over_slices():
    frame = drawn(missing=0.1)
    table = Table.from_frame(frame.dropna(subset="d"), "d")
    frame = frame.dropna(subset="d")
    for name, kind in (("g", "log-likelihood"), ("chi-squared", "pearson")):
        answers = independence_test(name, table).ask([Question(0, (2,), (1, 3)), Question(1, (), (3,))])
        expected = []
        for x, slices, y in (("a", ["c"], "b"), ("a", ["c"], "d"), ("b", [], "d")):
            rows = frame.dropna(subset=[x, y, *slices])
            parts = [part for _, part in rows.groupby(slices)] if slices else [rows]
            results = [chi2_contingency(pd.crosstab(part[x], part[y]), False, kind) for part in parts]
            expected.append(sum(result.statistic for result in results))
        np.testing.assert_allclose(answers.strengths, expected, atol=1e-6)


def test_degrees_of_freedom_leave_out_what_never_occurs():
    """In slice c = 0 only one state of a occurs: the p-value is that of the other slice alone."""
    frame = pd.DataFrame({"a": [0] * 20 + [0, 1] * 10, "b": [0, 1] * 20, "c": [0] * 20 + [1] * 20})
    frame.loc[30:39, "b"] = [1, 0] * 5
    table = Table.from_frame(frame, "c")
    p_value = independence_test("g", table).ask([Question(0, (2,), (1,))]).p_values
    part = frame[frame["c"] == 1]
    assert p_value == pytest.approx(chi2_contingency(pd.crosstab(part["a"], part["b"]), False, "log-likelihood").pvalue)


def test_sets_with_too_few_rows_do_not_separate():
    frame = drawn(200).assign(row=np.arange(200))
    answers = independence_test("g", Table.from_frame(frame, "d"), min_rows=1).ask([Question(0, (4,), (2,))])
    assert answers.p_values == 1
    assert not answers.separated(0.01).any()


@pytest.mark.parametrize("test", ["g", "chi-squared"])
def test_weights_blocks_threads_and_order_do_not_matter(test):
    frame = drawn(500, missing=0.05).fillna({"d": 0})
    twice = Table.from_frame(pd.concat([frame, frame]), "d")
    weighted = Table.from_frame(frame, "d", np.full(len(frame), 2.0))
    expected = PC(test=test).learn(twice)
    assert PC(test=test).learn(weighted) == expected
    assert PC(test=test, n_jobs=2).learn(twice) == expected
    assert PC(test=test).learn(BlockTable.cut(twice, [100, 101, 799])) == expected
    reordered = PC(test=test).learn(Table.from_frame(frame[["d", "c", "b", "a"]], "d", np.full(len(frame), 2.0)))
    assert {*reordered.pdag.directed} == {*expected.pdag.directed}


def test_the_generating_graph_is_learned_without_a_class():
    table = Table.from_frame(drawn(3000).astype(int), "d")
    table.target = table.target_index = None
    learned = structure_learner("pc").learn(table)
    assert {*learned.pdag.directed} == {("a", "c"), ("b", "c"), ("c", "d")}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"max_conditions": -1}, "max_conditions=-1"),
        ({"test": "z"}, "test='z'"),
        ({"test": lambda x, y, given: 2.0}, "not p-values"),
        ({"min_rows": -1.0}, "min_rows=-1.0"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        PC(**wrong).learn(Table.from_frame(drawn(50).astype(int), "d"))


def test_a_skeleton_without_a_consistent_extension_is_directed_all_the_same():
    """A cycle of four with one collider forced against another."""
    skeleton = np.zeros((4, 4), dtype=bool)
    for u, v in ((0, 1), (1, 2), (2, 3), (3, 0)):
        skeleton[u, v] = skeleton[v, u] = True
    graph = PartialDag(skeleton)
    assert graph.orient_collider((0, 1, 2))
    assert not graph.orient_collider((1, 0, 3))
    assert len([p for family in graph.extend(range(4)) for p in family]) == 4
