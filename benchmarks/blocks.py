"""What rows in blocks cost: each method on a table in memory and on the same rows memory-mapped in blocks, in one run.

Processor seconds, the smallest of three, and their ratio. Rows are drawn by rule: 20 features of 2 to 5 states, 3
classes. `hill-climb cr` is by 4 folds, five moves; `ccbn-w` makes 20 steps from naive Bayes. Structures are compared.

Run: python benchmarks/blocks.py [ROWS [BLOCKS]]     (default: 500000 7)
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from time import process_time

import numpy as np

import bnplug
from bnplug import Structure, Table
from bnplug.table.block_table import BlockTable
from bnplug.table.blocks import Block, MappedArray


def drawn(n_rows, n_features=20):
    """Return a table by rule."""
    random = np.random.RandomState(0)
    label = random.randint(0, 3, n_rows)
    cards = [2 + i % 4 for i in range(n_features)]
    columns = [
        np.where(random.random_sample(n_rows) < 0.4, (label + i) % k, random.randint(0, k, n_rows))
        for i, k in enumerate(cards)
    ]
    names = [f"x{i}" for i in range(n_features)]
    states = {name: range(k) for name, k in zip([*names, "c"], [*cards, 3], strict=True)}
    return Table(np.array([*columns, label], dtype=np.uint8), [*names, "c"], states, "c")


def mapped(table, n_blocks, path):
    """Return the same rows in a memory-mapped file, as blocks."""
    blocks, parts = [], np.array_split(table.codes, n_blocks, axis=1)
    with open(path, "wb") as file:
        for codes in parts:
            blocks.append(Block(MappedArray(path, codes.dtype, codes.shape, file.tell())))
            file.write(codes.tobytes())
    return BlockTable(blocks, table.names, table.states, table.target)


def methods():
    """Return what is measured: by name, a function of a table that gives parents or nothing."""

    def structure(name, **params):
        return lambda table: bnplug.structure_learner(name, **params).learn(table).parents

    def parameters(name, **params):
        learner = bnplug.parameter_learner(name, **params)
        return lambda table: learner.fit(table, Structure(table.names, table.naive_bayes())) and None

    return {
        "tan": structure("tan"),
        "kdb": structure("kdb", k=2),
        "hill-climb mdl": structure("hill-climb", score="mdl", max_parents=2),
        "hill-climb cr": structure("hill-climb", score=("cr", {"cv": 4}), max_parents=2, max_iter=5),
        "ml": parameters("ml"),
        "ccbn-w": parameters("ccbn-w", max_iter=20),
    }


def seconds(call, repetitions=3):
    """Return the smallest number of processor seconds of a call, and what it returned."""
    best, found = np.inf, None
    for _ in range(repetitions):
        started = process_time()
        found = call()
        best = min(best, process_time() - started)
    return best, found


def main(n_rows=500_000, n_blocks=7):
    """Print the table."""
    warnings.simplefilter("ignore")  # steps that end before they converge
    small = drawn(1000)
    table = drawn(n_rows)
    with tempfile.TemporaryDirectory() as folder:
        blocks = mapped(table, n_blocks, Path(folder) / "rows.bin")
        few = mapped(small, n_blocks, Path(folder) / "few.bin")
        print(
            f"{n_rows} rows, {n_blocks} blocks\n{'method':<16}{'memory s':>10}{'blocks s':>10}{'ratio':>8}  structure"
        )
        for name, method in methods().items():
            method(small), method(few)  # compiles
            (one, found), (other, again) = (seconds(lambda own=own: method(own)) for own in (table, blocks))  # noqa: B023
            same = "-" if found is None else "same" if found == again else "ANOTHER"
            print(f"{name:<16}{one:>10.3f}{other:>10.3f}{other / one:>8.2f}  {same}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
