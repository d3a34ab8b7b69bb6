"""What scores cost that are not sums over rows, or that use the parameters of a parameter learner.

Two scores, each on rows held out (every third), with parameters learned from the others: the area under the ROC curve,
the mean over classes of one class against the rest, a score of pairs of rows; and the share of rows whose class is
predicted. Each is used by a hill climb in two ways:

- plain: the class implements `score` alone. Every candidate means parameters for all families and the log joint of all
  rows.
- cached: `evaluator` returns an evaluator that keeps what each family adds to the log joint of each row and class. A
  candidate then means one addition for each family that changes. That is right for parameter learners whose table of a
  family depends on this family alone, such as `ml` and `backoff`.

Both ways lead to the same graph, which the benchmark asserts. Figures are processor time of one thread, in one run: the
milliseconds of a candidate, the candidates, and the seconds of the climb. The last line of a data set is `cr`, a
compiled score of the core, on the same held-out rows with parameters of its own.

Run: python benchmarks/plain_scores.py [tic-tac-toe] [waveform-21]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata
from sklearn.model_selection import PredefinedSplit

from bnplug import Evaluator, ScoreFunction, Structure, Table, datasets, engine, parameter_learner, score_function
from bnplug import structure_learner as make_learner
from bnplug.inference.complete import posterior

FloatArray = npt.NDArray[np.float64]


class HeldOutScore(ScoreFunction):
    """A measure of the posterior on every third row, with parameters learned from the others."""

    def __init__(self, parameters: str = "backoff", cached: bool = False) -> None:
        self.parameters = parameters
        self.cached = cached

    def measure(self, joint: FloatArray, y: npt.NDArray[Any]) -> float:
        """Return the score of log joints of shape (rows, classes)."""
        raise NotImplementedError

    def score(self, table: Table, dag: Any) -> float:
        train, test = split(table)
        tables = parameter_learner(self.parameters).fit(train, dag)
        return self.measure(
            engine("elimination").compile(tables, table.target).log_joint(test.codes), test.codes[table.target_index]
        )

    def evaluator(self, table: Table, n_jobs: int | None = 1) -> Evaluator:
        return CachingEvaluator(self, table) if self.cached else super().evaluator(table, n_jobs)


class AreaUnderCurve(HeldOutScore):
    def measure(self, joint: FloatArray, y: npt.NDArray[Any]) -> float:
        probabilities, areas = posterior(joint), []
        for c in np.unique(y):
            inside = y == c
            n, ranks = np.count_nonzero(inside), rankdata(probabilities[:, c])
            areas.append((ranks[inside].sum() - n * (n + 1) / 2) / (n * (len(y) - n)))
        return float(np.mean(areas))


class LearnedHitRate(HeldOutScore):
    def measure(self, joint: FloatArray, y: npt.NDArray[Any]) -> float:
        return float(np.mean(posterior(joint).argmax(axis=1) == y))


class CachingEvaluator(Evaluator):
    """Keeps what each family adds to the log joint of each held-out row and class."""

    def __init__(self, score: HeldOutScore, table: Table) -> None:
        self.score, self.table = score, table
        self.train, self.test = split(table)
        self.y = self.test.codes[table.target_index]
        self.learner = parameter_learner(score.parameters)
        self.terms: dict[tuple[int, ...], FloatArray] = {}

    def start(self, parents: Sequence[Iterable[int]]) -> float:
        self.parents = [sorted(family) for family in parents]
        self._learn(self.parents, range(len(self.parents)))
        self.joint = sum(self.terms[v, *family] for v, family in enumerate(self.parents))
        self.value = self.score.measure(self.joint, self.y)
        return self.value

    def propose(self, changes: Any) -> float:
        self.n_evaluations += 1
        parents = [sorted(changes.get(v, family)) for v, family in enumerate(self.parents)]
        self._learn(parents, changes)
        joint = self.joint.copy()
        for v in changes:
            joint += self.terms[v, *parents[v]] - self.terms[v, *self.parents[v]]
        return self.score.measure(joint, self.y)

    def propose_many(self, candidates: Any, at_least: float | None = None) -> FloatArray:
        return np.array([self.propose(changes) for changes in candidates])

    def commit(self, changes: Any) -> float:
        return self.start([changes.get(v, family) for v, family in enumerate(self.parents)])

    def _learn(self, parents: list[list[int]], variables: Iterable[int]) -> None:
        """Learn the parameters of families that are not known yet, all of this graph in one call."""
        new = [v for v in variables if (v, *parents[v]) not in self.terms]
        if new:
            tables = self.learner.fit(self.train, Structure(self.table.names, parents))
            for v in new:
                family = (v, *parents[v])
                self.terms[family] = self._term(family, tables[self.table.names[v]][1])

    def _term(self, family: tuple[int, ...], values: FloatArray) -> FloatArray:
        c, rows = self.table.target_index, len(self.y)
        if c not in family:  # the same for every class
            return np.zeros((rows, 1))
        classes = np.arange(self.table.cards[c])
        return values[tuple(classes[None] if v == c else self.test.codes[v][:, None] for v in family)]


def split(table: Table) -> tuple[Table, Table]:
    held_out = np.arange(table.n_rows) % 3 == 0
    return table.take(~held_out), table.take(held_out)


def tables() -> dict[str, Table]:
    boards, outcome = datasets.tic_tac_toe()
    waves = datasets.load("waveform-21")
    steps = waves.X.apply(lambda column: pd.qcut(column, 4, labels=False))
    return {
        "tic-tac-toe": Table.from_frame(boards.assign(target=outcome), "target"),
        "waveform-21": Table.from_frame(steps.assign(target=waves.y), "target"),
    }


def climb(score: ScoreFunction, table: Table) -> tuple[float, int, Any]:
    learner = make_learner("hill-climb", score=score, max_parents=2)
    started = time.process_time()
    parents = learner.learn(table).parents
    return time.process_time() - started, learner.n_evaluations_, parents


def main(names: Sequence[str]) -> None:
    print(f"{'data':12} {'parameters':10} {'score':16} {'way':8} {'ms each':>8} {'candidates':>10} {'seconds':>8}")
    for name, table in tables().items():
        if names and name not in names:
            continue
        compiled = score_function("cr", cv=PredefinedSplit(np.where(np.arange(table.n_rows) % 3 == 0, 0, -1)))
        for parameters in ("ml", "backoff"):
            for kind in (AreaUnderCurve, LearnedHitRate):
                graphs = []
                for cached in (False, True):
                    score = kind(parameters, cached)
                    score.evaluator(table).start(table.naive_bayes())  # compile
                    spent, n, graph = climb(score, table)
                    graphs.append(graph)
                    line = f"{name:12} {parameters:10} {kind.__name__:16} {'cached' if cached else 'plain':8}"
                    print(f"{line} {spent / n * 1e3:8.3f} {n:10} {spent:8.2f}", flush=True)
                assert graphs[0] == graphs[1]
        climb(compiled, table)
        spent, n, _ = climb(compiled, table)
        print(f"{name:12} {'its own':10} {'cr':16} {'compiled':8} {spent / n * 1e3:8.3f} {n:10} {spent:8.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
