"""Scores, tables and neighbours to try searches on."""

from __future__ import annotations

import itertools
import time

import networkx as nx
import numpy as np
import pandas as pd

from bnplug.contracts import Evaluator, ScoreFunction
from bnplug.counts.counting import count
from bnplug.table.table import Table


def family_score(table, v, parents):
    """Log-likelihood of one family, less half of log M for each free parameter."""
    counts = count(table, v, parents).reshape(table.cards[v], -1)
    positive = counts > 0
    terms = counts[positive] * np.log((counts / np.maximum(counts.sum(0), 1))[positive])
    return float(terms.sum() - 0.5 * np.log(table.n_rows) * (counts.shape[0] - 1) * counts.shape[1])


class PlainMdl(ScoreFunction):
    """A third party's score: no evaluator of its own."""

    def score(self, table, dag):
        return sum(family_score(table, v, own) for v, own in enumerate(dag.parents))


class DecomposableMdl(PlainMdl):
    def evaluator(self, table, n_jobs=1):
        return DecomposableEvaluator(table)


class DecomposableEvaluator(Evaluator):
    decomposable = True

    def __init__(self, table):
        self.table = table

    def start(self, parents):
        self.parents = [list(own) for own in parents]
        self.value = sum(family_score(self.table, v, own) for v, own in enumerate(self.parents))
        return self.value

    def propose_many(self, candidates, at_least=None):
        return np.array([self.propose(changes) for changes in candidates])

    def propose(self, changes):
        self.n_evaluations += 1
        old = sum(family_score(self.table, v, self.parents[v]) for v in changes)
        return self.value - old + sum(family_score(self.table, v, own) for v, own in changes.items())

    def commit(self, changes):
        return self.start([changes.get(v, own) for v, own in enumerate(self.parents)])


class Edges(ScoreFunction):
    """The number of edges: every graph can be improved until it is complete."""

    def __init__(self, interrupt_after=None, seconds=0.0):
        self.interrupt_after = interrupt_after
        self.seconds = seconds

    def score(self, table, dag):
        self.calls_ = getattr(self, "calls_", 0) + 1
        if self.calls_ == self.interrupt_after:
            raise KeyboardInterrupt
        time.sleep(self.seconds)
        return float(len(dag.edges))


class FewerEdges(ScoreFunction):
    def score(self, table, dag):
        return -float(len(dag.edges))


class Constant(ScoreFunction):
    def __init__(self, value=1.0):
        self.value = value

    def score(self, table, dag):
        return self.value


def make_table(seed=0, features=3, rows=60, states=2):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, states, rows)
    columns = {"x1": first}
    for i in range(2, features + 1):
        copied = columns[f"x{rng.integers(1, i)}"]
        columns[f"x{i}"] = np.where(rng.random(rows) < 0.7, copied, rng.integers(0, states, rows))
    columns["class"] = (columns["x1"] + columns[f"x{features}"] + (rng.random(rows) < 0.2)) % 2
    return Table.from_frame(pd.DataFrame(columns), "class")


def neighbours(dag):
    """All DAGs one deletion, reversal or addition away, as sets of edges."""
    edges, nodes = set(dag.edges), getattr(dag, "nodes", None) or dag.names
    for u, v in itertools.permutations(nodes, 2):
        options = [edges - {(u, v)}, edges - {(u, v)} | {(v, u)}] if (u, v) in edges else [edges | {(u, v)}]
        for option in options:
            graph = nx.DiGraph(sorted(option))
            graph.add_nodes_from(nodes)
            if nx.is_directed_acyclic_graph(graph):
                yield graph


def parents_of(table, graph):
    return [sorted(table.index(p) for p in graph.predecessors(name)) for name in table.names]


def replay(table, start, moves):
    """Yield the graph at the start and after each move."""
    edges = {("class", name) for name in table.names if name != "class"} if start == "nb" else set()
    yield edges
    for move in moves:
        kind, u, _, v = move.split(" ")
        edges = edges - {(u, v)} if kind != "add" else edges | {(u, v)}
        edges = edges | {(v, u)} if kind == "reverse" else edges
        yield edges
