"""Interrupts methods at random moments, as Ctrl-C does, and tells what became of each.

Run: python tests/interrupting.py JOBS COUNT SEED

JOBS is a list in JSON, of the parameters of `Job`. Two lines of JSON come out for each job, one before it begins.
"""

import json
import math
import os
import random
import signal
import sys
import threading
import time
import warnings
from functools import wraps

import numpy as np
import pandas as pd

from bnplug import BayesianNetworkClassifier, Learned, MDLDiscretizer, Structure, Table
from bnplug.errors import SearchWarning
from bnplug.hooks import registry
from bnplug.hooks.components import component
from bnplug.scoring import PredictiveEvaluator, _blocks
from bnplug.scoring.decomposable import DecomposableEvaluator

# How often an interrupt is sent again that came too late, or before there was anything to return.
_TRIES = 20


class Watch:
    """When a run begins and ends what is to be interrupted, and where it was when the interrupt came."""

    def __init__(self):
        self.searching = False
        self.reset(None)

    def reset(self, delay):
        """Get ready for a run, with an interrupt `delay` seconds after it begins."""
        self.delay = delay
        self.began = self.ended = self.came = self.timer = None

    def begin(self):
        if self.began is None:
            self.began = time.perf_counter()
            if self.delay is not None:
                self.timer = threading.Timer(self.delay, os.kill, (os.getpid(), signal.SIGINT))
                self.timer.start()

    def end(self):
        if self.began is not None and self.ended is None:
            self.ended = time.perf_counter()

    def end_search(self):
        """End a search at its first graph; other methods may make graphs while they work."""
        if self.searching:
            self.end()

    def interrupt(self, number, frame):
        """Handle SIGINT as Python does, and remember where it came."""
        self.came = "inside" if self.began is not None and self.ended is None else "outside"
        signal.default_int_handler(number, frame)

    def wait(self):
        """Let an interrupt that is under way come, and pass."""
        if self.timer is not None:
            try:
                self.timer.join()
                time.sleep(0.005)
            except KeyboardInterrupt:
                pass


WATCH = Watch()


def watch_searches():
    """A search begins with its first proposal, before which it has found nothing; it ends when it makes its graph."""

    def before(function, note):
        @wraps(function)
        def noting(*args, **kwargs):
            note()
            return function(*args, **kwargs)

        return noting

    for evaluator in (PredictiveEvaluator, DecomposableEvaluator):
        for name in ("propose_many", "propose_in_turn", "walk"):
            if hasattr(evaluator, name):
                setattr(evaluator, name, before(getattr(evaluator, name), WATCH.begin))
    Structure.__init__ = before(Structure.__init__, WATCH.end_search)
    # Small tables, too, are worth threads here.
    _blocks._WORTH_THREADS = 1


def make_table(n_rows, n_features=9):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n_rows)
    codes = np.empty((n_features + 1, n_rows), dtype=np.uint8)
    for v in range(n_features):
        codes[v] = (labels + rng.integers(0, 2, n_rows) * (v % 3) + rng.integers(0, 2, n_rows)) % 4
    # Features that copy others give searches something to find.
    codes[1, ::2], codes[4, ::3], codes[6, ::4] = codes[0, ::2], codes[3, ::3], codes[5, ::4]
    codes[-1] = labels
    names = [*(f"x{v}" for v in range(n_features)), "c"]
    return Table(codes, names, {name: tuple(range(4)) for name in names[:-1]} | {"c": (0, 1, 2)}, "c")


class Job:
    """What is interrupted.

    Parameters
    ----------
    kind : {"structure learner", "parameter learner", "discretizer", "classifier"}
    name : str
    params : dict
    rows : int
    score : str, optional
        For a search: what it maximises. It is then interrupted between its first proposal and its end only.
    """

    def __init__(self, kind, name, params, rows, score=None):
        self.kind, self.name, self.params = kind, name, params
        self.search = score is not None
        # On rows drawn anew, the score of a graph is another one each time.
        self.score = score if self.search and score != "rmho" else None
        self.table = make_table(rows)
        c = self.table.target_index
        self.dag = Structure(self.table.names, [[c] if v == 0 else [v - 1, c] for v in range(c)] + [[]])
        self.predict = self._model().predict_proba if kind == "classifier" else None
        self.numbers = np.random.default_rng(1).normal(size=(rows, 8))

    def _model(self):
        frame = pd.DataFrame(self.table.codes[:-1].T, columns=self.table.names[:-1])
        self.missing_policy = frame.mask(np.random.default_rng(2).random(frame.shape) < 0.4)
        return BayesianNetworkClassifier((self.name, self.params)).fit(frame, self.table.codes[-1])

    def run(self):
        """Return what can be compared between two runs, having checked what a search leaves."""
        if self.kind == "classifier":
            return self._timed(lambda: float(self.predict(self.missing_policy).sum()))
        if self.kind == "discretizer":
            return self._timed(lambda: MDLDiscretizer().fit(self.numbers, self.table.codes[-1]) and True)
        method = registry.build(self.kind, (self.name, self.params))
        if self.kind == "parameter learner":
            return self._timed(lambda: repr(method.fit(self.table, self.dag).probabilities))
        if not self.search:
            return self._timed(lambda: sorted(Learned.of(method.learn(self.table), self.table).structure.edges))
        dag = method.learn(self.table)
        WATCH.end()
        if self.score:
            value = component("score function", self.score, method).score(self.table, dag)
            # Annealing and tabu search go on from worse graphs.
            best = {"sa": "chain_scores_", "tabu": "trace_"}.get(self.name)
            told = max(getattr(method, best)) if best else method.trace_[-1]
            assert math.isclose(value, told, rel_tol=1e-9), f"the graph has the score {value}, not {told}"
        return sorted(dag.edges)

    @staticmethod
    def _timed(function):
        WATCH.begin()
        result = function()
        # What is over in a moment goes on until the interrupt that is under way has come.
        while WATCH.delay is not None and WATCH.came is None:
            function()
        WATCH.end()
        return result

    def uninterrupted(self):
        """Return how long there is to interrupt, and what is found; the first run compiles."""
        for _ in range(2):
            WATCH.reset(None)
            found = self.run()
        return WATCH.ended - WATCH.began, found

    def interrupted(self, delay):
        """Return what came of a run with an interrupt after `delay` seconds."""
        WATCH.reset(delay)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                self.run()
            warned = any(issubclass(one.category, SearchWarning) and "interrupted" in str(one.message) for one in told)
            return "returned" if warned else "finished"
        except KeyboardInterrupt:
            return "raised"
        finally:
            WATCH.wait()


def main(jobs, count, seed):
    watch_searches()
    signal.signal(signal.SIGINT, WATCH.interrupt)
    rng = random.Random(seed)
    for number, parameters in enumerate(jobs):
        print(json.dumps({"begins": number}), flush=True)
        job = Job(**parameters)
        WATCH.searching = job.search
        (seconds, expected), outcomes = job.uninterrupted(), []
        for _ in range(count * _TRIES):
            outcome = job.interrupted(rng.random() * seconds)
            if WATCH.came == "inside":
                outcomes.append(outcome)
            if len(outcomes) == count:
                break
        WATCH.reset(None)
        same = job.run() == expected
        print(json.dumps({"ends": number, "outcomes": outcomes, "same": same, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
