"""Scores by loops over rows, straight from their definitions: what the fast ones are compared with."""

from __future__ import annotations

from itertools import product
from math import exp, inf, lgamma, log, prod

import networkx as nx
import numpy as np

from bnplug.scoring import PredictiveEvaluator
from bnplug.table.coding import smallest_dtype
from bnplug.table.table import Table

TIE = 1e-9


def random_table(rng, n_rows, cards, target, weighted=False, missing=0.0):
    """Rows whose features depend on the class and on each other."""
    labels = rng.integers(0, cards[target], n_rows)
    columns = []
    for v, card in enumerate(cards):
        previous = columns[-1] if columns else labels
        noise = rng.integers(0, card, n_rows)
        codes = np.where(rng.random(n_rows) < 0.6, (labels + previous * (v % 2)) % card, noise)
        columns.append(labels if v == target else codes)
    dtype = smallest_dtype(cards)
    codes = np.array(columns).astype(dtype)
    hidden = rng.random(codes.shape) < missing
    hidden[target] = False
    codes[hidden] = np.iinfo(dtype).max
    names = [f"v{v}" for v in range(len(cards))]
    states = {name: range(card) for name, card in zip(names, cards, strict=True)}
    weights = rng.choice([0.5, 1.0, 2.0, 1 / 3], n_rows) if weighted else None
    return Table(codes, names, states, names[target], weights)


def started(score, seed=0, n_rows=700, cards=(3, 3, 2, 2), **options):
    """The state of a search at naive Bayes, by the second variable."""
    table = random_table(np.random.default_rng(seed), n_rows, cards, 1, **options)
    return State(score, table, [[1] if v != 1 else [] for v in range(len(cards))])


class State:
    """An evaluator on rows in memory, and its only block: what tests of kernels look into."""

    def __init__(self, score, table, parents):
        self.evaluator = PredictiveEvaluator(score, table)
        self.evaluator.start(parents)
        self.start, self.move = self.evaluator.start, self.evaluator.commit
        self.batch, self.penalty_after = self.evaluator._batch, self.evaluator._penalty_after

    def __getattr__(self, name):
        return getattr(self.evaluator._block, name)

    @property
    def gain(self):
        return self.evaluator._gain

    @property
    def value(self):
        return self.evaluator.value

    @property
    def penalty(self):
        return self.evaluator._penalty


def random_change(rng, parents):
    """New parents of one variable, or of the two ends of an edge that is reversed, without a cycle."""
    while True:
        u, v = (int(x) for x in rng.choice(len(parents), 2, replace=False))
        if u in parents[v] and rng.random() < 0.5:
            changes = {v: [p for p in parents[v] if p != u], u: [*parents[u], v]}
        else:
            changes = {v: [w for w in range(len(parents)) if w != v and rng.random() < 0.4]}
        changed = [list(changes.get(w, own)) for w, own in enumerate(parents)]
        if nx.is_directed_acyclic_graph(nx.DiGraph([(p, w) for w, own in enumerate(changed) for p in own])):
            return changes, changed


def row_weights(table):
    return np.ones(table.n_rows) if table.weights is None else table.weights


def parameter(table, node, parents, value, train, alpha, floor):
    """The estimate for a node's state and its parents', both in `value`; None where a cell is missing."""
    family = [node, *parents]
    if any(value[v] == table.missing for v in family):
        return None
    rows = train & (table.codes[family] != table.missing).all(axis=0)
    for p in parents:
        rows &= table.codes[p] == value[p]
    r, q = int(table.cards[node]), prod(int(table.cards[p]) for p in parents)
    weights = row_weights(table)
    counts = [weights[rows & (table.codes[node] == k)].sum() + alpha / (r * q) for k in range(r)]
    theta = [n / sum(counts) for n in counts] if sum(counts) > 0 else [1 / r] * r
    if floor > 0:
        lifted = [max(share, floor) for share in theta]
        theta = [share / sum(lifted) for share in lifted]
    return theta[value[node]]


def log_joint(table, parents, row, train, alpha, floor):
    t = table.target_index
    value = table.codes[:, row].astype(int)
    result = []
    for label in range(int(table.cards[t])):
        value[t] = label
        terms = [
            parameter(table, v, own, value, train, alpha, floor) for v, own in enumerate(parents) if v == t or t in own
        ]
        result.append(sum(log(theta) if theta > 0 else -inf for theta in terms if theta is not None))
    return result


def predictive(table, parents, loss, folds=None, alpha=1.0, floor=0.0, mean=False):
    """The sum or mean over tested rows of loss(log joints, class)."""
    labels, weights = table.codes[table.target_index], row_weights(table)
    total = tested = 0.0
    for row in range(table.n_rows):
        if folds is not None and folds[row] < 0:
            continue
        train = np.ones(table.n_rows, dtype=bool) if folds is None else folds != folds[row]
        joint = log_joint(table, parents, row, train, alpha, floor)
        total += weights[row] * loss(joint, int(labels[row]))
        tested += weights[row]
    return total / tested if mean else total


def winner(joint):
    return next(c for c, value in enumerate(joint) if value >= max(joint) - TIE)


def correct(joint, y):
    return float(winner(joint) == y)


def log_posterior(joint, y):
    return joint[y] - max(joint) - log(sum(exp(value - max(joint)) for value in joint))


def gap(joint, y):
    return joint[y] - max(value for c, value in enumerate(joint) if c != y)


def dimension(table, parents):
    return sum((int(table.cards[v]) - 1) * prod(int(table.cards[p]) for p in own) for v, own in enumerate(parents))


def codes_of_parent(table, p):
    """The codes of a parent in a decomposable score: its states, and missing if it has missing cells."""
    codes = list(range(int(table.cards[p])))
    return [*codes, table.missing] if (table.codes[p] == table.missing).any() else codes


def dimension_with_unknown(table, parents):
    """The same where "unknown" is a state of each parent that has missing cells."""
    return sum(
        (int(table.cards[v]) - 1) * prod(len(codes_of_parent(table, p)) for p in own) for v, own in enumerate(parents)
    )


def decomposable(table, parents, term):
    """The sum over variables of term(counts), counts[j][k] for every configuration j of the parents."""
    weights = row_weights(table)
    total = 0.0
    for v, own in enumerate(parents):
        counts = []
        for codes in product(*(codes_of_parent(table, p) for p in own)):
            rows = np.ones(table.n_rows, dtype=bool)
            for p, code in zip(own, codes, strict=True):
                rows &= table.codes[p] == code
            counts.append([weights[rows & (table.codes[v] == k)].sum() for k in range(int(table.cards[v]))])
        total += term(counts)
    return total


def log_likelihood_term(counts):
    return sum(n * log(n / sum(column)) for column in counts for n in column if n > 0)


def k2_term(counts):
    r = len(counts[0])
    return sum(lgamma(r) - lgamma(sum(column) + r) + sum(lgamma(n + 1) for n in column) for column in counts)


def bdeu_term(counts, sample_size=10.0):
    q, r = len(counts), len(counts[0])
    return sum(
        lgamma(sample_size / q)
        - lgamma(sum(column) + sample_size / q)
        + sum(lgamma(n + sample_size / (r * q)) - lgamma(sample_size / (r * q)) for n in column)
        for column in counts
    )
