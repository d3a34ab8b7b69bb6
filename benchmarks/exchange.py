"""How long a TAN of the letter data's size takes to read and write: ours, and pgmpy's reader in the same run.

26 classes, 16 features with 16 states; every feature but the first has one more feature as a parent.
Run: python benchmarks/exchange.py [repetitions]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from pgmpy.readwrite import BIFReader, XMLBIFReader

from bnplug import LogTables
from bnplug.io.network_files import read_tables, write_network

N_CLASSES, N_FEATURES, N_STATES = 26, 16, 16


def letter_sized_tan(random: np.random.Generator) -> LogTables:
    names = ["letter", *(f"x{i}" for i in range(N_FEATURES))]
    states = {"letter": [chr(ord("A") + i) for i in range(N_CLASSES)]}
    states |= {name: list(range(N_STATES)) for name in names[1:]}
    tables = {}
    for i, name in enumerate(names):
        parents = () if i == 0 else ("letter",) if i == 1 else ("letter", names[random.integers(1, i)])
        columns = random.dirichlet(np.full(len(states[name]), 0.5), [len(states[p]) for p in parents])
        with np.errstate(divide="ignore"):
            tables[name] = (parents, np.log(np.moveaxis(columns, -1, 0)))
    return LogTables(names, states, tables, target="letter")


def best_time(action: Callable[[], object], repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return min(times)


def main(repetitions: int = 5) -> None:
    tables = letter_sized_tan(np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        bif, xml = Path(folder, "letter.bif"), Path(folder, "letter.xml")
        actions: dict[str, tuple[Callable[[], object], int]] = {
            "BIF,    bnplug writes": (lambda: write_network(tables, bif, "bif"), repetitions),
            "BIF,    bnplug reads": (lambda: read_tables(bif, "bif"), repetitions),
            "BIF,    pgmpy reads": (lambda: BIFReader(bif).get_model(), 2),
            "XMLBIF, bnplug writes": (lambda: write_network(tables, xml, "xmlbif"), repetitions),
            "XMLBIF, bnplug reads": (lambda: read_tables(xml, "xmlbif"), repetitions),
            "XMLBIF, pgmpy reads": (lambda: XMLBIFReader(xml).get_model(), 2),
        }
        print(f"a TAN with {tables.n_parameters:,} parameters, best times in seconds")
        for what, (action, times) in actions.items():
            print(f"{what:24}{best_time(action, times):8.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
