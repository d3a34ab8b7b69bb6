"""Simulated annealing: proposals tried in a second, commits included; and proposals tried beside hill climbing's.

Speed: `cr` at 8,000 rows and 10 classes, resubstitution and 5 folds. A whole search with the paper's constants, from
naive Bayes to its end, in one thread; beside it, bare candidates in batches, in the same process: those of search.py,
which add a parent to naive Bayes, and those that annealing makes, which replace a parent in a tree and so count one
feature more. Processor time; searches and batches take turns, and the best round counts. Bound: half the rate of
candidates that replace a parent. Idle, 44% and 63% of it before candidates that will most likely be accepted were moved
to before they are scored, 52% and 71% after that; 55 and 56%, 67 and 73% in two runs since gaps alone score those.

Evaluations: hill climbing to a whole tree (complete=True) and annealing with D = 0.8, on random data with 50 features
and with 200, few rows: numbers of evaluations depend on the number of features, not of rows.

Run: python benchmarks/annealing.py [ROUNDS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from search import CANDIDATES, N_FEATURES, naive_bayes, random_table

import bnplug
from bnplug.builtin.scores import HitRate
from bnplug.table.table import Table


def seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def replacements(n: int) -> list[dict[int, list[int]]]:
    """Candidates that give a feature of the chain x0 -> x1 -> ... another parent, no descendant of it."""
    rng = np.random.default_rng(0)
    children = rng.integers(2, N_FEATURES, n)
    return [{int(v): [int(rng.integers(0, v - 1)), N_FEATURES]} for v in children]


def speed(rounds: int) -> None:
    print("                            candidates / s                     annealing")
    print(" rows classes folds   search.py  replacing       /s  of search.py  of replacing  evaluations  commits")
    for cv in (None, 5):
        table = random_table(8000, 10)
        score = HitRate(cv=cv, random_state=0)
        added, chain = naive_bayes(score, table), score.evaluator(table)
        chain.start([[N_FEATURES], *([v, N_FEATURES] for v in range(N_FEATURES - 1)), []])
        replacing = replacements(400)
        learner = bnplug.structure_learner("sa", score=score, random_state=0, n_jobs=1)
        times = []
        for _ in range(rounds + 1):
            one = seconds(lambda e=added: e.propose_many(CANDIDATES)) / len(CANDIDATES)
            other = seconds(lambda e=chain, c=replacing: e.propose_many(c)) / len(replacing)
            times.append(
                (
                    one,
                    other,
                    seconds(lambda s=learner, t=table: s.learn(t)) / max(1, getattr(learner, "n_evaluations_", 1)),
                )
            )
        bare, replaced, annealed = 1 / np.array(times)[1:].min(axis=0)
        print(
            f"8,000      10 {cv or '-':>5} {bare:11.0f} {replaced:10.0f} {annealed:8.0f} {annealed / bare:13.0%} "
            f"{annealed / replaced:13.0%} {learner.n_evaluations_:12} {len(learner.trace_) - 1:8}"
        )


def random_features(n_features: int) -> Table:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (n_features + 1, 200)).astype(np.uint8)
    # Neighbours depend on each other in a way that depends on the class, so that trees help.
    for v in range(1, n_features):
        codes[v] ^= (codes[v - 1] ^ codes[-1]) & (rng.random(200) < 0.5)
    names = [f"x{v}" for v in range(n_features)] + ["c"]
    return Table(codes, names, dict.fromkeys(names, (0, 1)), "c")


def evaluations() -> None:
    print("\nfeatures   hill climbing   annealing   times fewer      score: hill climbing   annealing")
    for n_features in (50, 200):
        table = random_features(n_features)
        score = ("cr", {"cv": 5})
        climb = bnplug.structure_learner("hill-climb", score=score, tree=True, complete=True, random_state=0, n_jobs=-1)
        anneal = bnplug.structure_learner("sa", score=score, D=0.8, random_state=0, n_jobs=1)
        climb.learn(table)
        anneal.learn(table)
        used = climb.n_evaluations_, anneal.n_evaluations_
        print(
            f"{n_features:8} {used[0]:15} {used[1]:11} {used[0] / used[1]:13.1f} "
            f"{max(climb.trace_):26.3f} {max(anneal.trace_):11.3f}"
        )


if __name__ == "__main__":
    speed(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    evaluations()
