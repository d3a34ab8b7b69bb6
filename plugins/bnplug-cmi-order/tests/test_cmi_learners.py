"""Parents along an order are those that a slow loop over all sets of parents finds."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from bnplug_cmi_order.learners import ConditionalInformationOrder, RandomOrder, SingleParentInformationOrder
from bnplug_cmi_order.orders import order_by_all, order_by_single

import bnplug
from bnplug import Structure, datasets, structure_learner
from bnplug.counts.information import pairwise_information
from bnplug.errors import SearchWarning
from bnplug.table.table import Table

LEARNERS = [ConditionalInformationOrder, SingleParentInformationOrder, RandomOrder]


class SlowRate(bnplug.ScoreFunction):
    """The classification rate on the training rows, with alpha = 1, by a loop over families."""

    def score(self, table, dag):
        c = table.target_index
        parents = [list(own) for own in dag.parents]
        joint = np.zeros((table.n_rows, table.cards[c]))
        for v in range(len(table.names)):
            for k in range(table.cards[c]):
                codes = table.codes.astype(int)
                actual = codes.copy()
                codes[c] = k
                same_parents = (actual[parents[v]][:, None, :] == codes[parents[v]][:, :, None]).all(axis=0)
                same = same_parents & (actual[v][None, :] == codes[v][:, None])
                configurations = np.prod(table.cards[parents[v]])
                share = 1 / (table.cards[v] * configurations)
                joint[:, k] += np.log(same.sum(1) + share) - np.log(same_parents.sum(1) + table.cards[v] * share)
        winner = (joint >= joint.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1)
        return float((winner == table.codes[c]).mean())


def make_table(seed=0, features=5, rows=40, states=2):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, states, (rows, features)), columns=list("abcdefgh"[:features]))
    noise = rng.integers(0, 2, rows)
    frame["class"] = np.where(rng.random(rows) < 0.8, frame["a"] ^ frame["b"], noise)
    return Table.from_frame(frame, "class")


def slow_parents(table, score, order, k=1, clique=False, candidates=None):
    c = table.target_index
    parents = table.naive_bayes()
    value = score.score(table, Structure(table.names, parents))
    trace = [value]
    near = pairwise_information(table)
    for position, v in enumerate(order[1:], 1):
        earlier = order[:position]
        if candidates is not None:
            # Rounding makes ties of what differs in the last bits only.
            kept = sorted(earlier, key=lambda u: (-round(near[v, u], 8), u))[:candidates]
            earlier = [u for u in earlier if u in kept]
        best, best_value = None, value
        for size in range(1, k + 1):
            for several in combinations(earlier, size):
                if clique and any(a not in parents[b] for a, b in combinations(several, 2)):
                    continue
                changed = [*parents[:v], [c, *several], *parents[v + 1 :]]
                found = score.score(table, Structure(table.names, changed))
                if found > best_value + 1e-12:
                    best, best_value = [c, *several], found
        if best is not None:
            parents[v], value = best, best_value
            trace.append(value)
    return parents, trace


@pytest.mark.parametrize("parameters", [{}, {"k": 2}, {"k": 2, "clique": True}, {"k": 3, "candidates": 2}])
@pytest.mark.parametrize("score", [SlowRate(), "cr"])
@pytest.mark.parametrize("seed", [0, 1])
def test_parents_are_the_brute_force_ones(parameters, score, seed):
    table = make_table(seed)
    learner = ConditionalInformationOrder(score, **parameters)
    dag = learner.learn(table)
    parents, trace = slow_parents(table, SlowRate(), order_by_all(table), **parameters)
    assert set(dag.edges) == set(Structure(table.names, parents).edges)
    assert learner.trace_ == pytest.approx(trace)
    assert learner.n_evaluations_ > 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_parents_come_earlier_in_the_order(learner):
    table = make_table(3, features=6)
    learned = learner(SlowRate(), random_state=1)
    dag = learned.learn(table)
    assert sorted(learned.order_) == list("abcdef")
    for u, v in dag.edges:
        assert u == "class" or learned.order_.index(u) < learned.order_.index(v)
    assert {child for parent, child in dag.edges if parent == "class"} == set("abcdef")
    assert max(len(dag.by_name[name]) for name in "abcdef") <= 2


def test_the_orders_are_those_of_the_names():
    table = make_table(3, features=6)
    names = np.array(table.names)
    omi, omisp = ConditionalInformationOrder("mdl"), SingleParentInformationOrder("mdl")
    omi.learn(table)
    omisp.learn(table)
    assert omi.order_ == names[order_by_all(table)].tolist()
    assert omisp.order_ == names[order_by_single(table)].tolist()


def test_max_condition_reaches_the_order():
    table = make_table(5, features=8, rows=30)
    learner = ConditionalInformationOrder("mdl", max_condition=1)
    learner.learn(table)
    assert learner.order_ == [table.names[v] for v in order_by_all(table, max_condition=1)]
    assert order_by_all(table, max_condition=1) != order_by_all(table)


def test_a_random_order_follows_its_random_state():
    table = make_table(features=8)

    def order(seed):
        learner = RandomOrder("mdl", random_state=seed)
        learner.learn(table)
        return learner.order_

    assert order(0) == order(0)
    assert len({tuple(order(seed)) for seed in range(5)}) == 5


class Wishes(bnplug.ScoreFunction):
    """Every edge is welcome."""

    def score(self, table, dag):
        return float(len(dag.edges))


def test_cliques_make_a_partial_2_tree():
    table = make_table(features=8)
    learner = ConditionalInformationOrder(Wishes(), k=2, clique=True)
    dag = learner.learn(table)
    features = nx.Graph(dag.to_dag().subgraph(learner.order_).to_undirected())
    assert nx.is_chordal(features)
    assert max(map(len, nx.find_cliques(features))) == 3
    # The first two features have 0 and 1 feature parents, all others two.
    assert features.number_of_edges() == 1 + 2 * 6
    for v in learner.order_:
        own = [p for p in dag.by_name[v] if p != "class"]
        assert all(features.has_edge(*pair) for pair in combinations(own, 2))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("wrong", [{"k": 0}, {"candidates": 0}])
def test_wrong_parameters_are_named(learner, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=0 must be at least 1"):
        learner("mdl", **wrong).learn(make_table())


def test_a_negative_condition_is_refused():
    with pytest.raises(ValueError, match="max_condition=-1"):
        ConditionalInformationOrder("mdl", max_condition=-1).learn(make_table())


def test_one_feature_is_naive_bayes():
    table = make_table(features=2).take(np.arange(20))
    single = Table.from_frame(pd.DataFrame({"a": table.codes[0], "class": table.codes[2]}), "class")
    for learner in LEARNERS:
        assert set(learner("mdl").learn(single).edges) == {("class", "a")}


def test_an_interrupt_returns_the_graph_found_so_far():
    class Interrupted(Wishes):
        def score(self, table, dag):
            if len(dag.edges) > 6:
                raise KeyboardInterrupt
            return super().score(table, dag)

    with pytest.warns(SearchWarning, match="omi was interrupted"):
        dag = ConditionalInformationOrder(Interrupted()).learn(make_table())
    assert len(dag.edges) == 6


@pytest.mark.parametrize("learner", LEARNERS)
def test_threads_and_repetition_do_not_matter(learner):
    table = make_table(4, features=7, rows=300, states=2)
    results = []
    for n_jobs in (1, 2, 2):
        learned = learner("cr", random_state=0, n_jobs=n_jobs)
        results.append((sorted(learned.learn(table).edges), learned.order_, learned.trace_))
    assert results[0] == results[1] == results[2]


def test_required_parents_come_first_and_stay():
    X, y = datasets.corral()
    table = Table.from_frame(X.assign(target=y), "target")
    for name in ("omi", "omisp", "ro"):
        learner = structure_learner(
            name, score="mdl", k=2, required=[("Irrelevant", "A0")], tiers=[["B1"], ["B0", "Irrelevant"]], candidates=1
        )
        dag = learner.learn(table)
        assert learner.order_.index("B1") < min(map(learner.order_.index, ("B0", "Irrelevant")))
        assert learner.order_.index("Irrelevant") < learner.order_.index("A0")
        assert ("Irrelevant", "A0") in dag.edges


def test_parents_that_are_required_are_a_clique_where_cliques_are():
    X, y = datasets.corral()
    table = Table.from_frame(X.assign(target=y), "target")
    both = [("A0", "B0"), ("A1", "B0")]
    with pytest.raises(
        ValueError, match=r"clique=True needs parents that are adjacent; .'A0', 'A1'. are required of 'B0'"
    ):
        structure_learner("omi", score="mdl", k=2, clique=True, required=both).learn(table)
    joined = structure_learner("omi", score="mdl", k=2, clique=True, required=[*both, ("A0", "A1")]).learn(table)
    assert {*both, ("A0", "A1")} <= set(joined.edges)


def test_an_order_by_the_score_is_that_of_naive_bayes_over_ever_more_features():
    table, slow = make_table(3), SlowRate()
    order, left = [], list(table.features)
    while left:
        scores = [slow.score(table, Structure(table.names, naive_bayes_over(table, [*order, v]))) for v in left]
        order.append(left.pop(int(np.argmax(scores))))
    for score in ("cr", slow):
        learner = ConditionalInformationOrder(score=score, by="score")
        learner.learn(table)
        assert learner.order_ == [table.names[v] for v in order]
    with pytest.raises(ValueError, match="by='rate' is not 'information' or 'score'"):
        ConditionalInformationOrder(by="rate").learn(table)


def naive_bayes_over(table, features):
    return [[table.target_index] if v in features else [] for v in range(len(table.names))]
