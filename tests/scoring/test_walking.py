"""A walk in compiled code is the walk of proposals in turn and commits, to the last bit of scores and generator."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import networkx as nx
import numpy as np
import pytest
from numba import config
from scoring import slow, third_party
from strategies import seeds

from bnplug.builtin.scores import MDL, BDeu, ConditionalLogLikelihood, HitRate
from bnplug.contracts import ScoringEvaluator, Walks, begin_step, propose_in_turn
from bnplug.errors import ContractError
from bnplug.scoring import Accepted, Bounds, PredictiveScore, Walk, _blocks, _evaluating, decomposable
from bnplug.search import score_tie

compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


class Reference:
    """A walk as its definition has it: one candidate after the other, in Python."""

    def __init__(self, parents, target, generator, scale, k, pairs=None, required=None):
        self.parents = [sorted(own) for own in parents]
        self.target, self.generator, self.scale, self.k = target, generator, scale, k
        self.pairs, self.required = pairs, required
        self.features = [v for v in range(len(parents)) if v != target]
        self.tries, self.accepted, self.changed = 0, [], False

    def legal(self, child, parent):
        ancestors, waiting = set(), [parent]
        while waiting:
            v = waiting.pop()
            ancestors.add(v)
            waiting += [p for p in self.parents[v] if p not in ancestors]
        return child not in ancestors and parent not in self.parents[child]

    def draw(self):
        while True:
            if self.pairs is not None:
                child, parent = self.pairs[int(self.generator.random() * len(self.pairs))]
            else:
                n = len(self.features)
                child, parent = (self.features[int(self.generator.random() * n)] for _ in range(2))
            if self.legal(child, parent):
                own = [p for p in self.parents[child] if p != self.target]
                if len(own) == self.k:
                    loose = [p for p in own if self.required is None or p not in self.required[child]]
                    own.remove(loose[int(self.generator.random() * len(loose))])
                return {child: sorted([*own, parent, self.target])}

    def stuck(self):
        pairs = self.pairs or [(v, u) for v in self.features for u in self.features if u != v]
        return not any(self.legal(*pair) for pair in pairs)

    def run(self, evaluator, max_try, max_success, max_batch=64):
        evaluator.start(self.parents)
        value, successes = begin_step(evaluator), 0
        while self.tries < max_try and successes < max_success and not self.stuck():
            size = min(max_batch, max_try - self.tries, (self.tries + 1) // (successes + 1))
            drawn = [self.draw() for _ in range(size)]
            least = value - np.maximum(self.scale * self.generator.standard_exponential(size), score_tie(value))
            scores = propose_in_turn(evaluator, drawn, least)
            self.tries += len(scores)
            self.changed |= bool((np.abs(scores - value) > score_tie(value)).any())
            if scores[-1] >= least[len(scores) - 1]:
                better = scores[-1] > value + score_tie(value)
                [(child, own)] = drawn[len(scores) - 1].items()
                value = evaluator.commit({child: own})
                self.parents[child] = own
                successes += 1
                self.accepted.append(Accepted(self.tries, child, own, value, bool(better)))


class ReferenceWithoutClass(Reference):
    """A walk over all acyclic graphs: what nothing allows is no candidate, but counts as a try."""

    def draw(self):
        if self.pairs is not None:
            child, parent = self.pairs[int(self.generator.random() * len(self.pairs))]
        else:
            child, parent = (int(self.generator.random() * len(self.parents)) for _ in range(2))
        family = self.parents[child]
        if parent in family and not (self.required and parent in self.required[child]):
            return {child: [p for p in family if p != parent]}
        if len(family) < self.k and self.legal(child, parent):
            return {child: sorted([*family, parent])}
        return {}

    def stuck(self):
        return len(self.parents) < 2

    def run(self, evaluator, max_try, max_success, max_batch=64):
        evaluator.start(self.parents)
        value, successes = evaluator.value, 0
        while self.tries < max_try and successes < max_success:
            size = min(max_batch, max_try - self.tries, (self.tries + 1) // (successes + 1))
            drawn = [self.draw() for _ in range(size)]
            least = value - np.maximum(self.scale * self.generator.standard_exponential(size), score_tie(value))
            for changes, limit in zip(drawn, least, strict=True):
                self.tries += 1
                score = evaluator.propose_many([changes])[0]
                self.changed |= bool(abs(score - value) > score_tie(value))
                if changes and score >= limit:
                    better = score > value + score_tie(value)
                    [(child, family)] = changes.items()
                    value = evaluator.commit(changes)
                    self.parents[child] = family
                    successes += 1
                    self.accepted.append(Accepted(self.tries, child, family, value, bool(better)))
                    break


def naive_bayes(table):
    return [[] if v == table.target_index else [table.target_index] for v in range(len(table.names))]


def check_same(score, table, scale, k=1, max_try=150, max_success=60, parents=None, pairs=None, required=None):
    """Walk both ways; return the walk."""
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    start = parents or naive_bayes(table)
    reference = Reference(start, table.target_index, theirs, scale, k, pairs, required)
    slowly = score.evaluator(table)
    reference.run(slowly, max_try, max_success)
    evaluator = score.evaluator(table)
    evaluator.start(start)
    begin_step(evaluator)
    walk = Walk(
        start, table.target_index, ours, scale=scale, max_try=max_try, max_success=max_success, k=k, pairs=pairs,
        required=required,
    )  # fmt: skip
    assert evaluator.walk(walk)
    while len(walk.accepted) < len(reference.accepted) or walk.tries < reference.tries:
        before = walk.tries
        assert evaluator.walk(walk)
        assert walk.tries > before
    assert walk.accepted == reference.accepted
    assert (walk.tries, walk.changed) == (reference.tries, reference.changed)
    assert [list(own) for own in walk.parents] == reference.parents == [list(own) for own in evaluator.parents]
    assert evaluator.value == slowly.value
    assert ours.random() == theirs.random()
    change = reference.draw() if not reference.stuck() else {}
    assert evaluator.propose_many([change])[0] == slowly.propose_many([change])[0]
    return walk


#: For up to three classes.
COSTS = [0.0, 1.0, 3.0, 2.0, 0.0, 0.5, 1.0, 4.0, 0.0]


def clipped(L, y, params, out):
    for m in range(L.shape[0]):
        rival = -np.inf
        for c in range(L.shape[1]):
            if c != y[m]:
                rival = max(rival, L[m, c])
        out[m] = min(1.0, 0.3 * (L[m, y[m]] - rival))


class Clipped(PredictiveScore):
    """A gain with a plateau whose values are no whole numbers."""

    gain = clipped

    def gain_bounds(self, table):
        return Bounds(maximum=1.0, high_gap=1.0 / 0.3, slope=0.3)


PREDICTIVE = [
    (HitRate(), 0.01),
    (HitRate(), 1.0),
    (HitRate(cv=3), 0.02),
    (Clipped(cv=2, random_state=0), 5.0),
    (HitRate(alpha=0.0), 0.01),
    (ConditionalLogLikelihood(), 3.0),
    (third_party.NegativeCost(COSTS, cv=2, random_state=0), 0.01),
]


@compiled
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("score", "scale"), PREDICTIVE, ids=lambda value: str(value)[:24])
def test_predictive_scores(score, scale, k, seed):
    table = slow.random_table(
        np.random.default_rng(seed), 120, (3, 2, 3, 2, 2, 3), seed % 6, weighted=seed % 2 == 1, missing=0.1 * seed
    )
    assert check_same(score, table, scale, k).accepted


@compiled
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("score", "scale"), [(MDL(), 2.0), (BDeu(), 5.0)])
def test_decomposable_scores(score, scale, k, seed, monkeypatch):
    table = slow.random_table(
        np.random.default_rng(seed), 120, (3, 2, 3, 2, 2, 3), seed % 6, weighted=seed % 2 == 1, missing=0.1 * seed
    )
    walk = check_same(score, table, scale, k, max_try=400, max_success=200)
    monkeypatch.setattr(decomposable, "_WALKED_TRIES", 1)
    assert check_same(score, table, scale, k, max_try=400, max_success=200).accepted == walk.accepted


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize(
    "score", [MDL(), BDeu(), HitRate(cv=2, random_state=0)], ids=lambda score: type(score).__name__
)
def test_walks_over_all_graphs(score, ruled, seed):
    table = slow.random_table(np.random.default_rng(seed), 60, (3, 2, 2, 2), 1, weighted=seed == 1)
    pairs = [(0, 1), (0, 2), (0, 3), (2, 0), (3, 0), (1, 2)] if ruled else None
    required = [[3], [], [], []] if ruled else None
    parents, scale = [list(family) for family in required or [[]] * 4], 0.05 if isinstance(score, HitRate) else 1.0
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    reference = ReferenceWithoutClass(parents, None, theirs, scale, 2, pairs, required)
    reference.run(score.evaluator(table), 500, 500)
    for evaluator in (score.evaluator(table), ScoringEvaluator(score, table)):
        generator = np.random.default_rng(3)
        evaluator.start(parents)
        walk = Walk(
            parents, None, generator, scale=scale, max_try=500, max_success=500, k=2, pairs=pairs, required=required
        )
        while walk.batch_size:
            walk.run(evaluator)
        assert [step[:3] for step in walk.accepted] == [step[:3] for step in reference.accepted]
        np.testing.assert_allclose([step.value for step in walk.accepted], [step.value for step in reference.accepted])
        assert {len(step.parents) for step in walk.accepted} == {0, 1, 2} if not ruled else walk.accepted
        assert (walk.tries, walk.changed) == (500, reference.changed)
    assert generator.random() == theirs.random() != ours.random()


def test_a_walk_over_all_graphs_samples_from_the_exponential_of_the_score():
    table = slow.random_table(np.random.default_rng(4), 12, (2, 2, 3), 1)
    edges = list(permutations(range(3), 2))
    weights = {}
    for chosen in product((False, True), repeat=6):
        graph = nx.DiGraph([edge for edge, there in zip(edges, chosen, strict=True) if there])
        graph.add_nodes_from(range(3))
        if nx.is_directed_acyclic_graph(graph):
            parents = tuple(tuple(sorted(graph.predecessors(v))) for v in range(3))
            weights[parents] = np.exp(BDeu().evaluator(table).start(parents))
    evaluator, n_tries = BDeu().evaluator(table), 1_000_000
    evaluator.start([[]] * 3)
    walk = Walk([[]] * 3, None, np.random.default_rng(0), scale=1.0, max_try=n_tries, max_success=n_tries, k=2)
    while walk.batch_size:
        walk.run(evaluator)
    parents, since, spent = [()] * 3, 0, Counter()
    for step in walk.accepted:
        spent[tuple(parents)] += step.tries - 1 - since
        since = step.tries - 1
        parents[step.child] = tuple(step.parents)
    spent[tuple(parents)] += n_tries - since
    assert len(weights) == 25
    for graph, weight in weights.items():
        assert spent[graph] / n_tries == pytest.approx(weight / sum(weights.values()), abs=0.01)


@compiled
def test_a_term_that_is_nan_is_named():
    class Broken(MDL):
        def local(self, table, child, parents, counts):
            return np.nan if parents == (0, 3) else super().local(table, child, parents, counts)

    table = slow.random_table(np.random.default_rng(1), 40, (2, 2, 2, 2), 3)
    evaluator = Broken().evaluator(table)
    evaluator.start(naive_bayes(table))
    walk = Walk(naive_bayes(table), 3, np.random.default_rng(0), scale=1.0, max_try=99, max_success=99)
    with pytest.raises(ContractError, match=r"\{[12]: \[0, 3\]\} is nan"):
        evaluator.walk(walk)


@compiled
def test_blocks_wide_tables_and_sums_made_anew_change_nothing(monkeypatch):
    table = slow.random_table(np.random.default_rng(5), 90, (3, 4, 3, 2, 5), 3)
    expected = check_same(ConditionalLogLikelihood(), table, 2.0, 2).accepted
    monkeypatch.setattr(_evaluating, "_WALKED_CELLS", 1)
    monkeypatch.setattr(_blocks, "_FIRST_CELLS", 1)
    assert check_same(ConditionalLogLikelihood(), table, 2.0, 2).accepted == expected
    monkeypatch.setattr(_blocks, "_FEWEST_CELLS", 8)
    monkeypatch.setattr(_blocks, "_MOST_CELLS", 8)
    assert len(check_same(ConditionalLogLikelihood(), table, 2.0, 2).accepted) == len(expected)
    monkeypatch.setattr(_evaluating, "REFRESH", 3)
    assert check_same(HitRate(), table, 0.01, 2).accepted


@compiled
@pytest.mark.parametrize("refresh", [1, 2, 1000])
def test_a_walk_ends_where_all_features_are_joined(refresh, monkeypatch):
    """Also where a move was too wide for compiled code, or made the log joint anew."""
    monkeypatch.setattr(_blocks, "_FIRST_CELLS", 1)
    monkeypatch.setattr(_evaluating, "REFRESH", refresh)
    table = slow.random_table(np.random.default_rng(7), 80, (3, 3, 3, 2), 3)
    walk = check_same(HitRate(), table, 10.0, 2)
    assert sum(map(len, walk.parents)) == 6
    assert walk.tries < 150


@compiled
def test_log_joints_are_made_anew_at_every_so_many_moves(monkeypatch):
    monkeypatch.setattr(_evaluating, "REFRESH", 7)
    table, n_made = slow.random_table(np.random.default_rng(7), 80, (3, 3, 3, 2, 2), 3), []
    rebuild = _evaluating.PredictiveEvaluator._rebuild
    monkeypatch.setattr(
        _evaluating.PredictiveEvaluator, "_rebuild", lambda evaluator: n_made.append(1) or rebuild(evaluator)
    )
    evaluator = HitRate().evaluator(table)
    evaluator.start(naive_bayes(table))
    walk = Walk(naive_bayes(table), 3, np.random.default_rng(0), scale=10.0, max_try=60, max_success=50)
    while walk.batch_size and len(walk.accepted) < 50:
        assert evaluator.walk(walk)
    assert len(n_made) == 1 + 50 // 7


@compiled
def test_rules_are_kept_and_a_walk_ends_where_nothing_is_left():
    table = slow.random_table(np.random.default_rng(6), 60, (2, 2, 2, 2, 2), 4)
    parents = [[4], [0, 4], [4], [4], []]
    pairs = [(1, 2), (1, 3), (2, 3), (3, 0)]
    required = [[4], [0, 4], [4], [4], []]
    walk = check_same(HitRate(), table, 0.5, 2, parents=parents, pairs=pairs, required=required)
    assert 0 in walk.parents[1]
    # 1 has two parents, of which 0 stays and 2 and 3 take turns for ever.
    assert len(walk.accepted) == 60
    walk = check_same(HitRate(), table, 0.5, 1, parents=naive_bayes(table), pairs=[(0, 1)])
    assert (walk.tries, walk.parents[0]) == (1, (1, 4))


@compiled
@compiled
def test_a_walk_over_too_many_families_is_left_to_proposals(monkeypatch):
    monkeypatch.setattr(decomposable, "_MOST_WALKED", 4 * 5)
    table = slow.random_table(np.random.default_rng(1), 40, (2, 2, 2, 2), 3)
    evaluator = MDL().evaluator(table)
    evaluator.start(naive_bayes(table))
    for k in (1, 2):
        walk = Walk(naive_bayes(table), 3, np.random.default_rng(0), scale=1.0, max_try=9, max_success=9, k=k)
        assert evaluator.walk(walk) is (k == 1)


def test_a_gain_that_gives_nan_is_named():
    table = slow.random_table(np.random.default_rng(1), 40, (2, 2, 2, 2), 3)
    evaluator = third_party.NegativeCost(COSTS).evaluator(table)
    evaluator.start(naive_bayes(table))
    evaluator._block.criterion.params[:] = np.nan
    walk = Walk(naive_bayes(table), 3, np.random.default_rng(0), scale=1.0, max_try=9, max_success=9)
    with pytest.raises(ContractError, match="gave nan"):
        evaluator.walk(walk)


@pytest.mark.parametrize("score", [HitRate(cv=3), MDL()])
def test_any_evaluator_can_be_walked_with(score):
    """One that makes no walk itself is asked for proposals and commits."""
    table = slow.random_table(np.random.default_rng(1), 60, (2, 3, 2, 2, 2), 4)
    reference = Reference(naive_bayes(table), 4, np.random.default_rng(3), 0.02, 2)
    reference.run(ScoringEvaluator(score, table), 60, 20)
    evaluator, generator = ScoringEvaluator(score, table), np.random.default_rng(3)
    evaluator.start(naive_bayes(table))
    walk = Walk(naive_bayes(table), 4, generator, scale=0.02, max_try=60, max_success=20, k=2)
    assert not isinstance(evaluator, Walks)
    while walk.batch_size and len(walk.accepted) < 20 and not walk.stuck:
        walk.run(evaluator)
    assert walk.accepted == reference.accepted
    assert (walk.tries, walk.changed) == (reference.tries, reference.changed)
    assert generator.random() == reference.generator.random()


def test_an_empty_list_of_pairs_and_a_score_that_is_nan_are_refused():
    table = slow.random_table(np.random.default_rng(1), 40, (2, 2, 2), 2)
    limits = {"scale": 1.0, "max_try": 9, "max_success": 9}
    with pytest.raises(ValueError, match="nothing to draw from"):
        Walk(naive_bayes(table), 2, np.random.default_rng(0), pairs=[], **limits)

    class Broken(HitRate):
        def score(self, table, dag):
            return np.nan

    evaluator = ScoringEvaluator(Broken(), table)
    evaluator.start(naive_bayes(table))
    with pytest.raises(ContractError, match=r"the score of the parents \{[01]: \[[01], 2\]\} is nan"):
        Walk(naive_bayes(table), 2, np.random.default_rng(0), **limits).run(evaluator)


def legal(parents, target):
    """The pairs (child, new parent) that repeat no edge and close no cycle, by networkx."""
    graph = nx.DiGraph((p, v) for v, own in enumerate(parents) for p in own if p != target)
    graph.add_nodes_from(v for v in range(len(parents)) if v != target)
    return {(v, p) for v, p in permutations(graph, 2) if not graph.has_edge(p, v) and not nx.has_path(graph, v, p)}


def drawn_from(parents, target, k, n, seed=0):
    walk = Walk(parents, target, np.random.default_rng(seed), scale=1.0, max_try=9, max_success=9, k=k)
    return [(child, own) for changes in walk.draw(n) for child, own in changes.items()]


@pytest.mark.parametrize(("target", "k"), [(0, 1), (2, 1), (5, 1), (1, 2), (5, 3)])
def test_a_walk_draws_every_legal_change_and_no_other(target, k):
    parents = [[] if v == target else [target] for v in range(6)]
    for seed in range(25):
        drawn, new = drawn_from(parents, target, k, 400, seed), set()
        assert (not drawn) == (not legal(parents, target))
        for child, own in drawn:
            [parent] = set(own) - set(parents[child])
            lost = set(parents[child]) - set(own)
            assert target in own
            assert len(lost) == (len(parents[child]) == k + 1)
            assert target not in lost
            new.add((child, parent))
        assert new == legal(parents, target)
        if drawn:
            parents[drawn[0][0]] = drawn[0][1]
            assert len(parents[drawn[0][0]]) <= k + 1


def test_every_legal_change_is_as_likely():
    # From 0 -> 1 -> 2: only 2 can get 0 in place of 1; every other pair is joined or closes a cycle.
    assert {(child, *own) for child, own in drawn_from([[3], [0, 3], [1, 3], []], 3, 1, 3000)} == {(2, 0, 3)}
    counts = Counter(child for child, _ in drawn_from([[3], [3], [3], []], 3, 1, 3000))
    assert min(counts.values()) > 900


@pytest.mark.parametrize(
    ("parents", "target", "k", "stuck"),
    [
        ([[1], []], 1, 1, True),
        ([[2], [2], []], 2, 1, False),
        ([[2], [0, 2], []], 2, 1, True),
        ([[3], [0, 3], [1, 3], []], 3, 1, False),
        ([[3], [0, 3], [0, 1, 3], []], 3, 2, True),
        ([[3], [0, 3], [0, 3], []], 3, 2, False),
    ],
)
def test_stuck_where_every_two_features_are_joined(parents, target, k, stuck):
    assert (not drawn_from(parents, target, k, 1)) is stuck is (not legal(parents, target))


def test_a_start_with_more_parents_than_k_is_refused():
    with pytest.raises(ValueError, match="more than k=1 feature parents; use a larger k"):
        Walk([[3], [3], [0, 1, 3], []], 3, np.random.default_rng(0), scale=1.0, max_try=10, max_success=5)
