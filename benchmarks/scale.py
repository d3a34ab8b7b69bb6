"""A TAN from Parquet files of any size: seconds and rows a second of each reading, and the most memory that it took.

Usage: python benchmarks/scale.py [ROWS ...] [--folder FOLDER] [--jobs JOBS]     (default: 100000 1000000)

The rows are made by rule: 20 features (8 of text, 8 of whole numbers, 4 of floats that all differ) and a class of three
states, 26 bytes a row in files of up to 5 million rows. They go to a temporary folder in FOLDER (1e8 rows need 5 GB
there), which is removed at the end. Every size is learned from in a process of its own, which reads the files twice,
codes them without a cache, and learns structure and parameters; its greatest resident memory is told, with what of the
mapped codes was in it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUP_ROWS, FILE_GROUPS = 500_000, 10


def make(folder: Path, n_rows: int) -> None:
    """Write the rows: some groups of them over and over, in which the floats are moved a little each time."""
    import pyarrow.parquet as parquet

    drawn = [_group(GROUP_ROWS, np.random.default_rng(seed)) for seed in range(min(4, -(-n_rows // GROUP_ROWS)))]
    starts = range(0, n_rows, GROUP_ROWS)
    for number in range(0, len(starts), FILE_GROUPS):
        with parquet.ParquetWriter(folder / f"rows-{number:04d}.parquet", drawn[0].schema) as writer:
            for i in range(number, min(number + FILE_GROUPS, len(starts))):
                writer.write_table(_moved(drawn[i % len(drawn)], 1e-4 * i)[: n_rows - starts[i]])


def _moved(table, step):
    """The same rows with other floats."""
    import pyarrow

    for position, name in enumerate(table.column_names):
        if name.startswith("x"):
            values = table.column(name).to_numpy() + np.float32(step)
            table = table.set_column(position, name, pyarrow.array(values))
    return table


def _group(n_rows, rng):
    """A class, and a chain of features that depend on it and on their predecessor; numbers around the class."""
    import pyarrow

    y = rng.integers(0, 3, n_rows, dtype=np.uint8)
    columns, before = {}, y
    for i in range(16):
        states = 3 + i % 6
        fresh = (y + rng.integers(0, states, n_rows, dtype=np.uint8)) % states
        before = np.where(rng.random(n_rows, dtype=np.float32) < 0.5, before % states, fresh).astype(np.uint8)
        if i < 8:
            labels = pyarrow.array([f"state {s}" for s in range(states)])
            columns[f"text{i}"] = pyarrow.DictionaryArray.from_arrays(before.astype(np.int8), labels).cast("string")
        else:
            columns[f"whole{i}"] = pyarrow.array(before.astype(np.int32))
    for i in range(4):
        columns[f"x{i}"] = pyarrow.array(rng.standard_normal(n_rows, dtype=np.float32) + (i + 1) * 0.5 * (y == i % 3))
    columns["y"] = pyarrow.DictionaryArray.from_arrays(y.astype(np.int8), pyarrow.array(["p", "q", "r"])).cast("string")
    return pyarrow.table(columns)


def learn(folder: Path, n_jobs: int) -> None:
    """Learn from the files of a folder; print what it took."""
    from bnplug import BayesianNetworkClassifier

    ends: dict[str, float] = {}
    started = time.perf_counter()

    def progress(what: str, done: int, total: int) -> None:
        ends[what] = time.perf_counter() - started

    model = BayesianNetworkClassifier("tan", n_jobs=n_jobs)
    model.fit_files(f"{folder}/*.parquet", "y", progress=progress)
    seconds = time.perf_counter() - started
    told = {
        "states": ends["states and cuts"],
        "codes": ends["codes"] - ends["states and cuts"],
        "tan": seconds - ends["codes"],
        "seconds": seconds,
        "processor": time.process_time(),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "edges": len(model.tables_.edges),
    }
    print(json.dumps(told))


def measure(n_rows: int, folder: str | None, n_jobs: int) -> dict[str, float]:
    """Make files of so many rows, and learn from them in another process."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        make(Path(made), n_rows)
        size = sum(path.stat().st_size for path in Path(made).iterdir())
        command = [sys.executable, __file__, "--learn", made, "--jobs", str(n_jobs)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=_with_folder(made))
        return {"rows": n_rows, "bytes": size, **json.loads(done.stdout.splitlines()[-1])}


def _with_folder(folder: str) -> dict[str, str]:
    """Codes go to the same disk as the rows, not to one that is memory."""
    return {**os.environ, "TMPDIR": folder}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=float, default=[1e5, 1e6])
    parser.add_argument("--folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--learn", type=Path)
    options = parser.parse_args()
    if options.learn is not None:
        learn(options.learn, options.jobs)
        return
    print("     rows  MB Parquet  states, cuts    codes      TAN    all s  processor s  rows a second  MB memory")
    before = None
    for size in options.sizes:
        found = measure(int(size), options.folder, options.jobs)
        print(
            f"{found['rows']:>9.0e} {found['bytes'] / 1e6:>11,.0f} {found['states']:>13.1f} {found['codes']:>8.1f} "
            f"{found['tan']:>8.1f} {found['seconds']:>8.1f} {found['processor']:>12.1f} "
            f"{found['rows'] / found['seconds']:>14,.0f} {found['memory'] / 1e6:>10,.0f}",
            flush=True,
        )
        if before is not None:
            for what in ("seconds", "processor"):
                growth = found[what] / before[what] / (found["rows"] / before["rows"])
                print(f"          {what}: {growth:.2f} of linear growth from {before['rows']:.0e}", flush=True)
        before = found


if __name__ == "__main__":
    main()
