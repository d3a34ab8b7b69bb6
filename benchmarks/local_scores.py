"""What local scores cost: `local_scores` beside bare counting, and an exact search over 12 ternary variables.

The first table has the cost of `score.local_scores(table, families)` on a fresh score, divided by that of
`table.counts(families)` in the same round: processor time, medians of ROUNDS rounds. Families are all those with up to
three parents, at most 4,000, drawn at random. "Python" is a score of a third party that implements `local` alone, here
the Akaike criterion; "zero" returns 0 for every family, which leaves the cost of counting and of one Python call.
"kept" is a second request for the same families.

The second table has the seconds of `examples/exact_dynamic_programming.py` on 1,000 rows of 12 variables of three
states, 24,576 families, by score: processor time after kernels have been compiled.

Bounds: 1.5 for the built-in scores, 1 second for the search by `bdeu`.

Run: python benchmarks/local_scores.py [ROUNDS]
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bnplug import score_function
from bnplug.scoring import DecomposableScore, dimension, log_likelihood
from bnplug.table.table import Table

#: Variables, states, rows, the share of missing cells, and whether rows have weights.
SHAPES = [
    (12, 3, 1_000, 0.0, False), (12, 3, 1_000, 0.1, False), (12, 3, 1_000, 0.0, True), (37, 4, 1_000, 0.0, False),
    (37, 2, 10_000, 0.0, False), (37, 4, 10_000, 0.1, True), (20, 5, 100_000, 0.0, False), (20, 20, 10_000, 0.0, False),
]  # fmt: skip
MOST_FAMILIES = 4_000


class Akaike(DecomposableScore):
    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: npt.NDArray) -> float:
        return log_likelihood(counts) - dimension(table, child, parents)


class Zero(DecomposableScore):
    def local(self, table: Table, child: int, parents: tuple[int, ...], counts: npt.NDArray) -> float:
        return 0.0


SCORES: dict[str, Callable[[], DecomposableScore]] = {
    name: lambda name=name: score_function(name) for name in ("bdeu", "k2", "mdl", "ll")
} | {"Python": Akaike, "zero": Zero}


def random_table(n: int, card: int, n_rows: int, missing: float, weighted: bool) -> Table:
    """Variables that copy an earlier one in half of the rows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, card, (n, n_rows)).astype(np.uint8)
    for v in range(1, n):
        copies = rng.random(n_rows) < 0.5
        codes[v, copies] = codes[rng.integers(0, v), copies]
    codes[:-1][rng.random((n - 1, n_rows)) < missing] = 255
    names = [f"v{v}" for v in range(n)]
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    return Table(codes, names, dict.fromkeys(names, range(card)), names[-1], weights)


def families_of(n: int, most_parents: int = 3) -> list[tuple[int, ...]]:
    others = [[u for u in range(n) if u != v] for v in range(n)]
    every = [(v, *p) for v in range(n) for k in range(most_parents + 1) for p in combinations(others[v], k)]
    chosen = np.random.default_rng(0).permutation(len(every))[:MOST_FAMILIES]
    return [every[i] for i in chosen]


def seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def ratios(rounds: int) -> None:
    print(f"{'variables':>9} {'states':>6} {'rows':>7} {'missing':>7} {'weights':>7} {'families':>8}  us each", end="")
    print("".join(f"{name:>8}" for name in [*SCORES, "kept"]))
    for n, card, n_rows, missing, weighted in SHAPES:
        table, families = random_table(n, card, n_rows, missing, weighted), families_of(n)
        costs = []
        for _ in range(rounds + 1):
            bare = seconds(lambda t=table, f=families: t.counts(f) and None)
            scores = [make() for make in SCORES.values()]
            row = [seconds(lambda s=s, t=table, f=families: s.local_scores(t, f)) for s in [*scores, scores[0]]]
            costs.append([bare, *(np.array(row) / bare)])
        bare, *ratio = np.median(costs[1:], axis=0)
        print(f"{n:9} {card:6} {n_rows:7} {missing:7} {'yes' if weighted else 'no':>7} {len(families):8}", end="")
        print(f"{bare / len(families) * 1e6:9.1f}" + "".join(f"{figure:8.2f}" for figure in ratio))


def exact_search(rounds: int) -> None:
    example = Path(__file__).parents[1] / "examples" / "exact_dynamic_programming.py"
    learner = runpy.run_path(str(example))["ExactLearner"]
    table = random_table(12, 3, 1_000, 0.0, False)
    print("\nscore     seconds")
    for name, make in SCORES.items():
        costs = [seconds(lambda make=make: learner(score=make()).learn(table)) for _ in range(rounds + 1)][1:]
        print(f"{name:8} {np.median(costs):8.2f}")


if __name__ == "__main__":
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ratios(n_rounds)
    exact_search(n_rounds)
