"""What a candidate costs: `cr`, and a third party's gain, beside numpy's add and argmax on the same matrix.

A candidate adds a feature to the parents of a child of the class, on naive Bayes with 20 random features of
five states; the matrix has the rows and classes of the log joint. Costs are processor time of one thread, in one
run, the parties taking turns: ratios of the best rounds and of the median ones. Evaluations per second are wall
time, with one thread and with all. Last come the microseconds of a candidate that are not the kernel's: what a batch of
200 takes on a table of 200 rows, by arrays as searches give them, less what the compiled call alone takes there.

Memory is what an evaluator of naive Bayes holds after those candidates, and the most that it took on the way, as
multiples of the log joint alone, `rows x classes` doubles (bound 1.5); beside it, what of that are codes.

Bounds for `cr`: 0.15 at 60,000 x 10, 0.2 at 16,000 x 26, 0.35 at 3,196 x 2; for the third party's 0.7 everywhere. On
two busy cores, medians of `cr` in the order below: 0.09, 0.10, 0.19, 0.29 and 0.87 before one compiled call took a
whole batch, 0.03, 0.10, 0.12, 0.18 and 0.38 after that; of the third party's 0.52, 0.61, 0.97, 1.08 and 1.51, and 0.33,
0.51, 0.59, 0.53 and 1.08. Idle, on another day, `cr` 0.03, 0.09, 0.12, 0.16 and 0.31 and the third party's 0.34, 0.51,
0.56, 0.48 and 0.84 before neighbouring numbers were vectorised and classes kept for gains without a plateau; after that
0.03, 0.10, 0.12, 0.22 and 0.30, and 0.33, 0.50, 0.56, 0.60 and 0.59, where numpy's own pass took 130 microseconds
instead of 172 in the fourth line. Memory at 60,000 x 10 was 1.57 before rows were looked at in parts and gaps had 32
bits, and is 1.47 after, 1.43 at 16,000 x 26; smaller tables, where room of constant size weighs, are above the bound.

Run: python benchmarks/search.py [ROUNDS]
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from itertools import permutations

import numpy as np
import numpy.typing as npt

from bnplug.builtin.scores import HitRate
from bnplug.contracts import Evaluator
from bnplug.scoring import Candidates, PredictiveScore, winner
from bnplug.table.table import Table

#: Rows, classes and folds (None: resubstitution).
SHAPES: list[tuple[int, int, int | None]] = [
    (60_000, 10, None), (16_000, 26, 4), (8_000, 10, None), (8_000, 10, 5), (3_196, 2, 4),
]  # fmt: skip
N_FEATURES = 20
CANDIDATES = Candidates.of([{v: [p, N_FEATURES]} for v, p in permutations(range(N_FEATURES), 2)])


def negative_cost(L: npt.NDArray, y: npt.NDArray, params: npt.NDArray, out: npt.NDArray) -> None:
    n_classes = L.shape[1]
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * n_classes + winner(L, m)]


class NegativeCost(PredictiveScore):
    """What the decisions cost; it declares no bounds, so every row is looked at."""

    gain = negative_cost
    aggregate = "mean"

    def gain_params(self, table: Table) -> npt.NDArray:
        return 1.0 - np.eye(table.cards[table.target_index])


def random_table(n_rows: int, n_classes: int) -> Table:
    """Features of five states, each distributed in its own way in each class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_rows)
    codes = np.empty((N_FEATURES + 1, n_rows), dtype=np.uint8)
    for v in range(N_FEATURES):
        theta = rng.dirichlet(np.full(5, 2.0), size=n_classes)
        codes[v] = (rng.random((n_rows, 1)) > theta.cumsum(axis=1)[labels, :-1]).sum(axis=1)
    codes[-1] = labels
    names = [f"x{v}" for v in range(N_FEATURES)] + ["c"]
    return Table(codes, names, {name: range(5) for name in names[:-1]} | {"c": range(n_classes)}, "c")


def naive_bayes(score: PredictiveScore, table: Table, n_jobs: int = 1) -> Evaluator:
    evaluator = score.evaluator(table, n_jobs)
    evaluator.start([[N_FEATURES]] * N_FEATURES + [[]])
    return evaluator


def numpy_pass(n_rows: int, n_classes: int) -> Callable[[], object]:
    joint, change = np.random.default_rng(0).normal(size=(2, n_rows, n_classes))
    result = np.empty_like(joint)
    return lambda: np.add(joint, change, out=result).argmax(axis=1)


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.thread_time, least: float = 0.01) -> float:
    """Of one run, the mean of as many as take 10 ms together."""
    started = clock()
    run()
    runs = 1 + int(least / max(clock() - started, 1e-6))
    started = clock()
    for _ in range(runs):
        run()
    return (clock() - started) / runs


def candidate_costs(rounds: int) -> None:
    print("                               best round     median round        cr / s")
    print("  rows classes folds  numpy us    cr  cost      cr  cost      1 thread        all")
    some = CANDIDATES[:200]
    for n_rows, n_classes, cv in SHAPES:
        table = random_table(n_rows, n_classes)
        rate = naive_bayes(HitRate(cv=cv), table)
        cost = naive_bayes(NegativeCost(cv=cv), table)
        threads = naive_bayes(HitRate(cv=cv), table, n_jobs=-1)
        parties = [
            (numpy_pass(n_rows, n_classes), 1),
            (lambda e=rate: e.propose_many(some), len(some)),
            (lambda e=cost: e.propose_many(some), len(some)),
        ]
        costs = np.array([[seconds(run) / n for run, n in parties] for _ in range(rounds + 1)])[1:]
        best, median = costs.min(axis=0), np.median(costs, axis=0)
        speeds = [
            len(CANDIDATES) / seconds(lambda e=e: e.propose_many(CANDIDATES), time.perf_counter, 0.5)
            for e in (rate, threads)
        ]
        print(f"{n_rows:6} {n_classes:7} {cv or '-':>5} {best[0] * 1e6:9.1f}", end="")
        for figures in (best, median):
            print(f" {figures[1] / figures[0]:5.2f} {figures[2] / figures[0]:5.2f}  ", end="")
        print(f" {speeds[0]:11.0f} {speeds[1]:10.0f}")


def python_share() -> None:
    evaluator = naive_bayes(HitRate(), random_table(200, 2))
    some, state = CANDIDATES[:200], evaluator._block  # noqa: SLF001
    batch = evaluator._batch(some, np.full(200, -np.inf))  # noqa: SLF001

    def kernel() -> None:
        batch.status[:] = 0
        state.score_batch(batch, 0, 200, False, state.scratch)

    whole, alone = (min(seconds(run) for _ in range(20)) for run in (lambda: evaluator.propose_many(some), kernel))
    print(f"microseconds of a candidate that are Python's: {(whole - alone) / 200 * 1e6:.2f} (bound 1)")


def memory() -> None:
    print("\n  rows classes folds   held   most  codes   (times rows x classes doubles)")
    for n_rows, n_classes, cv in SHAPES:
        table = random_table(n_rows, n_classes)
        naive_bayes(HitRate(cv=cv), table).propose_many(CANDIDATES)
        tracemalloc.start()
        evaluator = naive_bayes(HitRate(cv=cv), table)
        evaluator.propose_many(CANDIDATES)
        sizes = np.array([*tracemalloc.get_traced_memory(), table.codes.nbytes]) / (8 * n_rows * n_classes)
        tracemalloc.stop()
        print(f"{n_rows:6} {n_classes:7} {cv or '-':>5} {sizes[0]:6.2f} {sizes[1]:6.2f} {sizes[2]:6.2f}")


if __name__ == "__main__":
    candidate_costs(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    python_share()
    memory()
