"""Learning on a Dask cluster beside learning in this process, on the same rows: seconds, and the same model.

    python benchmarks/dask_scale.py tan            # 20,000,000 rows of 20 features, two workers: at most 1.3
    python benchmarks/dask_scale.py search         # 1,000,000 x 30, hill climbing by `cr`: at most 1.5
    python benchmarks/dask_scale.py short          # the same, three moves only: hardly a search
    python benchmarks/dask_scale.py boosting       # lightgbm.dask on rows of `tan`, where it is installed
    python benchmarks/dask_scale.py workers        # both with 1, 2 and 3 workers
    python benchmarks/dask_scale.py killed         # a worker is killed in the middle of ten fits

Rows are made by a rule, on the workers and here alike, and are in memory before the clock starts. Workers have one
thread each; the local fit has two (``n_jobs=2``). The first fit of all is on few rows, for what is compiled and loaded.
With ``--repeats 5`` the local fit and the cluster's take turns five times, and the median of the ratios counts: other
work on the machine comes and goes, and is the same for both that way. Seconds of the processors are those of all
processes.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pandas as pd

ROWS_OF_A_PART = 500_000
FLOATS = 4


def part(number, n_rows, n_columns, floats=FLOATS):
    """Rows by a rule: a class of three, columns of 2 to 6 states that go with it and each other, some floats."""
    random = np.random.default_rng(number)
    y = random.integers(0, 3, n_rows, dtype=np.int8)
    columns, before = {}, y
    for i in range(n_columns - floats):
        states = np.int8(2 + i % 5)
        noise = random.integers(0, states, n_rows, dtype=np.int8)
        which = random.random(n_rows, dtype=np.float32)
        value = np.where(which < 0.15 + 0.01 * i, y % states, np.where(which < 0.5, before % states, noise))
        columns[f"d{i}"] = before = value.astype(np.int8)
    for i in range(floats):
        columns[f"f{i}"] = (random.standard_normal(n_rows, dtype=np.float32) + 0.4 * (y - i % 3)).round(2)
    return pd.DataFrame({**columns, "y": y})


def parts(n_rows):
    """The number of parts, and the rows of each."""
    n_parts = max(2, -(-n_rows // ROWS_OF_A_PART))
    return n_parts, n_rows // n_parts


def here(n_rows, n_columns, floats):
    n_parts, each = parts(n_rows)
    frame = pd.concat([part(i, each, n_columns, floats) for i in range(n_parts)], ignore_index=True)
    return frame.drop(columns="y"), frame["y"]


def on_workers(client, n_rows, n_columns, floats):
    import dask.dataframe as dd
    from distributed import wait

    n_parts, each = parts(n_rows)
    meta = part(0, 2, n_columns, floats).iloc[:0]
    frame = dd.from_map(part, range(n_parts), n_rows=each, n_columns=n_columns, floats=floats, meta=meta).persist()
    wait(frame)
    return frame.drop(columns="y"), frame["y"]


@contextmanager
def workers(n):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        yield client


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def same(one, other):
    return one.tables_.edges == other.tables_.edges and all(
        np.array_equal(one.tables_[name].values, other.tables_[name].values) for name in one.tables_.names
    )


PROBLEMS = {
    "tan": {"structure": "tan", "n_rows": 20_000_000, "n_columns": 20, "floats": FLOATS, "limit": 1.3},
    "search": {
        "structure": ("hill-climb", {"score": "cr", "max_parents": 2}),
        "n_rows": 1_000_000, "n_columns": 30, "floats": 0, "limit": 1.5,
    },
    "short": {
        "structure": ("hill-climb", {"score": "cr", "max_parents": 2, "max_iter": 3}),
        "n_rows": 1_000_000, "n_columns": 30, "floats": 0,
    },
}  # fmt: skip


def local_fits(problem):
    """Return a function that fits in this process, which has what it needs."""
    from bnplug import BayesianNetworkClassifier

    model = partial(BayesianNetworkClassifier, problem["structure"], "ml", n_jobs=2)
    model().fit(*here(2_000, problem["n_columns"], problem["floats"]))
    X, y = here(problem["n_rows"], problem["n_columns"], problem["floats"])
    return lambda: model().fit(X, y)


def dask_fits(problem, client):
    """Return a function that fits on the workers, which have what they need."""
    from bnplug.dask import DaskBayesianNetworkClassifier

    model = partial(DaskBayesianNetworkClassifier, problem["structure"], "ml", client=client)
    model().fit(*on_workers(client, 2_000, problem["n_columns"], problem["floats"]))
    X, y = on_workers(client, problem["n_rows"], problem["n_columns"], problem["floats"])
    return lambda: model().fit(X, y)


def timed(function, pids):
    """Return the seconds of the wall and of the processors that a function takes, and what it returns."""
    from psutil import Process

    def used():
        return sum(sum(Process(pid).cpu_times()[:2]) for pid in pids)

    before = used()
    taken, result = seconds(function)
    return taken, used() - before, result


def beside(name, n_rows, counts, repeats):
    problem = {**PROBLEMS[name], **({} if n_rows is None else {"n_rows": n_rows})}
    print(f"{name}: {problem['n_rows']:,} rows x {problem['n_columns']} features", flush=True)
    alone = local_fits(problem)
    for n in counts:
        with workers(n) as client:
            pids = [os.getpid(), *client.run(os.getpid).values()]
            together, ratios = dask_fits(problem, client), []
            for _ in range(repeats):
                (wall, used, model), (own, own_used, found) = timed(alone, pids[:1]), timed(together, pids)
                ratios.append(own / wall)
                says = "the same model" if same(model, found.to_local()) else "ANOTHER MODEL"
                print(
                    f"  here, n_jobs=2: {wall:.1f} s ({used:.1f} of the processors); {n} workers: {own:.1f} s "
                    f"({own_used:.1f}), {own / wall:.2f} of that; {says}",
                    flush=True,
                )
        limit = f", at most {problem['limit']}" if n == 2 and "limit" in problem else ""
        print(f"  {n} workers: median of {repeats}: {np.median(ratios):.2f}{limit}", flush=True)


def boosting(n_rows):
    try:
        from lightgbm import DaskLGBMClassifier
    except ImportError:
        print("lightgbm is not installed: pip install lightgbm")
        return
    from bnplug.dask import DaskBayesianNetworkClassifier

    rows = n_rows or 2_000_000
    with workers(2) as client:
        X, y = on_workers(client, rows, 20, FLOATS)
        held_out, truth = part(10_000, 100_000, 20).drop(columns="y"), part(10_000, 100_000, 20)["y"]
        for name, model in {
            "TAN": DaskBayesianNetworkClassifier("tan", "ml", client=client),
            "kdb, k=2": DaskBayesianNetworkClassifier("kdb", "ml", client=client),
            "lightgbm, 100 trees": DaskLGBMClassifier(n_estimators=100, client=client, verbose=-1),
        }.items():
            taken, fitted = seconds(lambda model=model: model.fit(X, y))
            accuracy = float((fitted.to_local().predict(held_out) == truth.to_numpy()).mean())
            print(f"  {name}: {taken:.1f} s, accuracy {accuracy:.4f} on 100,000 rows held out", flush=True)


class Killer:
    """Counts the tasks that a client starts, and kills a worker when it starts a given one."""

    def __init__(self, client, number=None):
        self.pid = next(iter(client.run(os.getpid).values()))
        self.n_tasks, self.number, self.submit = 0, number, client.submit
        client.submit = self

    def __call__(self, *args, **options):
        self.n_tasks += 1
        if self.n_tasks == self.number:
            os.kill(self.pid, signal.SIGKILL)
        return self.submit(*args, **options)


def killed(n_fits):
    from bnplug import BayesianNetworkClassifier
    from bnplug.dask import DaskBayesianNetworkClassifier

    structure = ("hill-climb", {"score": ("cr", {"cv": 3}), "max_parents": 2, "max_iter": 4})
    expected = BayesianNetworkClassifier(structure, "ml").fit(*here(100_000, 12, 2))
    right, n_tasks = 0, None
    for i in range(n_fits + 1):
        with workers(2) as client:
            rows = on_workers(client, 100_000, 12, 2)
            killer = Killer(client, None if n_tasks is None else max(1, round(n_tasks * (i - 0.5) / n_fits)))
            taken, found = seconds(partial(DaskBayesianNetworkClassifier(structure, "ml").fit, *rows))
            if n_tasks is None:
                n_tasks = killer.n_tasks
                print(f"  undisturbed: {n_tasks} tasks, {taken:.1f} s", flush=True)
                continue
            right += same(expected, found.to_local())
            print(f"  fit {i}: killed at task {killer.number}, done after {taken:.1f} s", flush=True)
    print(f"the same model {right} times of {n_fits}")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["tan", "search", "boosting", "killed"])
    parser.add_argument("--rows", type=lambda text: int(float(text)))
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args(arguments)
    for what in given.what:
        if what in PROBLEMS:
            beside(what, given.rows, [2], given.repeats)
        elif what == "workers":
            for name in ("tan", "search"):
                beside(name, given.rows, [1, 2, 3], given.repeats)
        elif what == "boosting":
            boosting(given.rows)
        else:
            killed(10)


if __name__ == "__main__":
    main(sys.argv[1:])
