"""Two published methods written against the public contract: a constraint-based learner and an ensemble."""

from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier, Learned, PartialGraph, StructureLearner


class PeterClark(StructureLearner):
    """The PC algorithm (Spirtes, Glymour and Scheines 2000), which finds an equivalence class."""

    def __init__(self, alpha=0.01, max_condition=2):
        self.alpha = alpha
        self.max_condition = max_condition

    def learn(self, table):
        n = len(table.names)
        self._tests = 0
        near, separators = {v: set(range(n)) - {v} for v in range(n)}, {}
        for size in range(self.max_condition + 1):
            for u, v in combinations(range(n), 2):
                sets = (s for a, b in ((u, v), (v, u)) for s in combinations(sorted(near[a] - {b}), size))
                found = next((s for s in sets if self._independent(table, u, v, s)), None) if v in near[u] else None
                if found is not None:
                    separators[u, v] = found
                    near[u].discard(v)
                    near[v].discard(u)
        arrows, lines = oriented(near, separators)
        pdag = PartialGraph(table.names, arrows, lines)
        return Learned(extended(n, arrows, lines), pdag, details={"tests": self._tests})

    def _independent(self, table, u, v, given):
        """Return whether a G2 test with the conventional degrees of freedom finds no dependence."""
        self._tests += 1
        (counts,) = table.counts([(u, v, *given)])
        n = counts.reshape(*counts.shape[:2], -1)
        expected = n.sum(axis=0, keepdims=True) * n.sum(axis=1, keepdims=True) / np.maximum(n.sum(axis=(0, 1)), 1e-300)
        seen = n > 0
        statistic = 2 * float((n[seen] * np.log(n[seen] / expected[seen])).sum())
        degrees = (n.shape[0] - 1) * (n.shape[1] - 1) * n.shape[2]
        return bool(chi2.sf(statistic, max(degrees, 1)) > self.alpha)


def oriented(near, separators):
    """Return directed and undirected edges: colliders, and what they imply by Meek's rules 1 to 3."""
    arrows = set()
    for w in near:
        for u, v in combinations(sorted(near[w]), 2):
            if v not in near[u] and w not in separators[u, v] and not {(w, u), (w, v)} & arrows:
                arrows |= {(u, w), (v, w)}
    lines = {(u, v) for u in near for v in near[u] if not {(u, v), (v, u)} & arrows}
    changed = True
    while changed:
        changed = False
        for u, v in sorted(lines):
            into_v = {w for w in near[v] if (w, v) in arrows}
            away = any((w, u) in arrows and v not in near[w] for w in near[u])
            through = any((u, w) in arrows for w in into_v)
            kites = any(b not in near[a] for a, b in combinations([w for w in into_v if (u, w) in lines], 2))
            if away or through or kites:
                arrows.add((u, v))
                lines -= {(u, v), (v, u)}
                changed = True
                break
    return arrows, {(u, v) for u, v in lines if u < v}


def extended(n, arrows, lines):
    """Return the parents of a directed graph with these edges (Dor and Tarsi 1992), or one near it."""
    parents = [[u for u, v in arrows if v == w] for w in range(n)]
    left, arrows, lines = set(range(n)), set(arrows), set(lines)
    while left:
        sinks = [v for v in sorted(left) if not any(a == v for a, _ in arrows)]
        v = next((v for v in sinks if clique_around(v, arrows, lines)), (sinks or sorted(left))[0])
        parents[v] += [a if b == v else b for a, b in lines if v in (a, b)]
        parents[v] = [u for u in parents[v] if u in left]
        left.discard(v)
        arrows, lines = ({e for e in edges if v not in e} for edges in (arrows, lines))
    return parents


def clique_around(v, arrows, lines):
    """Return whether each neighbor of v by an undirected edge is joined to all others."""
    joined = {frozenset(edge) for edge in arrows | lines}
    around = {w for edge in joined if v in edge for w in edge} - {v}
    neighbors = {w for edge in lines if v in edge for w in edge} - {v}
    return all(a == b or frozenset((a, b)) in joined for a in neighbors for b in around)


class A2DE(ClassifierMixin, BaseEstimator):
    """The mean of all two-dependence estimators, one for each pair of features (Webb et al. 2012)."""

    components: ClassVar = {"discretizer": "discretizer"}

    def __init__(self, discretizer="mdl"):
        self.discretizer = discretizer

    def fit(self, X, y, sample_weight=None):
        self.coder_ = self._coder().fit(X, y, sample_weight)
        self.classes_ = self.coder_.classes_
        codes, weights = self._codes(X), np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        classes = np.searchsorted(self.classes_, np.asarray(y))
        cards = self._cards()
        self.counts_ = {}
        for i, j in self._pairs():
            for k in range(len(cards)):
                counts = np.zeros((len(self.classes_), cards[i], cards[j], cards[k]))
                known = (codes[[i, j, k]] < cards[[i, j, k], None]).all(axis=0)
                cells = (classes[known], codes[i][known], codes[j][known], codes[k][known])
                np.add.at(counts, cells, weights[known])
                self.counts_[i, j, k] = counts
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        codes, cards = self._codes(X), self._cards()
        log_joints = []
        for i, j in self._pairs():
            first, second = (np.minimum(codes[v], cards[v] - 1) for v in (i, j))
            both = self.counts_[i, j, i].sum(axis=3)
            prior = np.log((both + 1 / both.size) / (both.sum() + 1))
            log_joint = prior[:, first, second].T
            for k in set(range(len(cards))) - {i, j}:
                n = self.counts_[i, j, k]
                given = np.log((n + 1) / (n.sum(axis=3, keepdims=True) + n.shape[3]))
                terms = given[:, first, second, np.minimum(codes[k], cards[k] - 1)].T
                log_joint = log_joint + np.where((codes[k] < cards[k])[:, None], terms, 0.0)
            usable = (codes[i] < cards[i]) & (codes[j] < cards[j])
            log_joints.append(np.where(usable[:, None], log_joint, -np.inf))
        posterior = self.coder_.predict_proba(X)
        if log_joints:
            total = logsumexp(log_joints, axis=0)
            some = np.isfinite(total).any(axis=1)
            posterior[some] = softmax(total[some], axis=1)
        return posterior

    def predict(self, X):
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def saved_state(self):
        state, arrays = self.coder_.saved_state()
        return state, arrays | {"counts " + " ".join(map(str, key)): n for key, n in self.counts_.items()}

    def restore_state(self, state, arrays):
        own = {name: arrays[name] for name in arrays if name.startswith("counts ")}
        self.coder_ = self._coder().restore_state(state, {n: a for n, a in arrays.items() if n not in own})
        self.classes_ = self.coder_.classes_
        self.counts_ = {tuple(map(int, name.split()[1:])): counts for name, counts in own.items()}
        return self

    def _coder(self):
        return BayesianNetworkClassifier("nb", discretizer=self.discretizer)

    def _cards(self):
        return self.coder_.schema_.cards[self.coder_.schema_.features]

    def _codes(self, X):
        return self.coder_.encode(X)[self.coder_.schema_.features].astype(int)

    def _pairs(self):
        return list(combinations(range(len(self.coder_.schema_.features)), 2))
