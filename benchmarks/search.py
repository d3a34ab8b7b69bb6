"""What a candidate costs: `cr`, and a third party's loss, against numpy's add and argmax on the same matrix.

Run ``python benchmarks/search.py``. A candidate adds a feature as a parent to a child of the class, on naive Bayes
with 20 random features of five states each; the matrix has the rows and classes of the log joint. All figures
are processor time of one thread, taken in one run, in turns; ratios of the best and of the median rounds are shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from bnplug.contracts import Evaluator
from bnplug.scoring import ClassificationRate, PredictiveScore, winner
from bnplug.table import Table

#: Rows, classes and folds (None: resubstitution).
SHAPES: list[tuple[int, int, int | None]] = [(60000, 10, None), (16000, 26, 4), (3196, 2, 4)]
ROUNDS = 40
N_FEATURES = 20


def negative_cost(L: npt.NDArray, y: npt.NDArray, params: npt.NDArray, out: npt.NDArray) -> None:
    n_classes = L.shape[1]
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * n_classes + winner(L, m)]


class NegativeCost(PredictiveScore):
    """What the decisions cost; it declares no bounds, so every row is looked at."""

    loss = negative_cost
    aggregate = "mean"

    def loss_params(self, table: Table) -> npt.NDArray:
        return 1.0 - np.eye(table.cards[table.target_index])


def random_table(n_rows: int, n_classes: int, seed: int = 0) -> Table:
    """Features of five states, each distributed in its own way in each class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    codes = np.empty((N_FEATURES + 1, n_rows), dtype=np.uint8)
    for v in range(N_FEATURES):
        theta = rng.dirichlet(np.full(5, 2.0), size=n_classes)
        codes[v] = (rng.random((n_rows, 1)) > theta.cumsum(axis=1)[labels, :-1]).sum(axis=1)
    codes[-1] = labels
    names = [f"x{v}" for v in range(N_FEATURES)] + ["c"]
    states = {name: range(5) for name in names[:-1]} | {"c": range(n_classes)}
    return Table(codes, names, states, "c")


def naive_bayes(score: PredictiveScore, table: Table, n_jobs: int = 1) -> Evaluator:
    evaluator = score.evaluator(table, n_jobs)
    evaluator.start([[N_FEATURES]] * N_FEATURES + [[]])
    return evaluator


def seconds(run: Callable[[], object]) -> float:
    """Processor time, which other processes on the machine disturb less."""
    started = time.thread_time()
    run()
    return time.thread_time() - started


def measure(runs: Sequence[Callable[[], object]]) -> npt.NDArray[np.float64]:
    """Seconds of every run in every round, the runs taking turns."""
    for run in runs:
        run()
    return np.array([[seconds(run) for run in runs] for _ in range(ROUNDS)])


def candidate_costs() -> None:
    candidates = [{v: [p, N_FEATURES]} for v, p in permutations(range(N_FEATURES), 2)][:100]
    print(f"{'rows':>6} {'classes':>7} {'folds':>5} {'accuracy':>8} {'numpy us':>9}", end="")
    print(f"{'cr us':>9} {'ratio':>6} {'median':>6}   {'cost us':>9} {'ratio':>6} {'median':>6}   {'cr / s':>8}")
    for n_rows, n_classes, cv in SHAPES:
        table = random_table(n_rows, n_classes)
        rate = naive_bayes(ClassificationRate(cv=cv), table)
        cost = naive_bayes(NegativeCost(cv=cv), table)
        joint, change = np.random.default_rng(0).normal(size=(2, n_rows, n_classes))
        result = np.empty_like(joint)
        times = measure(
            [
                lambda: np.add(joint, change, out=result).argmax(axis=1),
                lambda: rate.propose_many(candidates),
                lambda: cost.propose_many(candidates[:20]),
            ]
        ) / [1, len(candidates), 20]
        best, median = times.min(axis=0) * 1e6, np.median(times, axis=0) * 1e6
        print(f"{n_rows:6} {n_classes:7} {cv or '-':>5} {rate.value:8.3f} {best[0]:9.1f}", end="")
        for i in (1, 2):
            print(f"{best[i]:9.1f} {best[i] / best[0]:6.2f} {median[i] / median[0]:6.2f}   ", end="")
        print(f"{1e6 / median[1]:8.0f}")


if __name__ == "__main__":
    candidate_costs()
