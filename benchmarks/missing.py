"""Rows a second with features missing: ours, pyAgrum's and pgmpy's exact posteriors, in one run.

The same networks, rows and missing cells for all three, and no row twice: naive Bayes, TAN, 2-dependence and an
unrestricted DAG (the class has parents and children, and most features are not its children), 10 to 90 % missing at
random.
pyAgrum: LazyPropagation with the class as its only target. pgmpy: BeliefPropagation on naive Bayes and TAN; its
junction tree of letter's 2-dependence network would take 52 GiB, so VariableElimination on the other two.
The last table is naive Bayes with 200 features and 2 classes, complete and half missing.

Run: python benchmarks/missing.py [seconds]
     A rival answers about rows for that many seconds (default 2), one at least; ours about all 18,668 distinct rows,
     whatever that takes, by a model that has seen none of them. The data are letter.csv.gz in the folder that
     BNPLUG_DATA names, its values as states; without it, 20,000 generated rows like it.
     Figures are rows a second of one processor: all three work on one at a time.
     python benchmarks/missing.py memory
     What log joints of 1,000,000 rows with 30 % missing take above codes and result, each network in its own process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyagrum
from pgmpy.inference import BeliefPropagation, VariableElimination

from bnplug import LogTables, Structure, Table, parameter_learner, structure_learner
from bnplug.inference.complete import posterior
from bnplug.inference.marginals import Marginalizer

RATES = (0.1, 0.3, 0.6, 0.9)
ROWS = 20_000
Answer = Callable[[dict[str, int]], npt.NDArray[np.float64]]


def letter_data() -> Table:
    """The letter data, or 26 classes and 16 features of 16 values, each depending on an earlier one."""
    path = Path(os.environ.get("BNPLUG_DATA", ""), "letter.csv.gz")
    if path.is_file():
        return Table.from_frame(pd.read_csv(path), "class")
    rng = np.random.default_rng(0)
    label = rng.integers(0, 26, ROWS)
    columns = [(label + rng.integers(0, 8, ROWS)) % 16]
    for i in range(15):
        earlier = columns[rng.integers(0, i + 1)]
        columns.append((earlier + (label + i) % 5 + rng.integers(0, 6, ROWS)) % 16)
    frame = pd.DataFrame({f"x{i}": column for i, column in enumerate(columns)}).assign(
        **{"class": [chr(ord("A") + c) for c in label]}
    )
    return Table.from_frame(frame, "class")


def unrestricted(table: Table, max_parents: int = 2) -> list[list[int]]:
    """Parents in a random DAG with the class in the middle of its order, each among the four before."""
    rng = np.random.default_rng(3)
    order = [int(v) for v in rng.permutation(table.features)]
    order.insert(len(order) // 2, table.target_index)
    parents: list[list[int]] = [[] for _ in order]
    for place, v in enumerate(order):
        size = min(place, max_parents if v == table.target_index else int(rng.integers(1, max_parents + 1)))
        parents[v] = [int(p) for p in rng.choice(order[max(0, place - 4) : place], size, replace=False)]
    return parents


def networks(table: Table) -> dict[str, LogTables]:
    dags = {name.upper(): structure_learner(name).learn(table) for name in ("nb", "tan")}
    dags["KDB-2"] = structure_learner("kdb", k=2).learn(table)
    dags["DAG"] = Structure(table.names, unrestricted(table))
    return {name: parameter_learner("ml").fit(table, dag) for name, dag in dags.items()}


def pyagrum_answer(tables: LogTables, target: str) -> Answer:
    network = pyagrum.BayesNet()
    for name in tables.names:
        network.add(pyagrum.LabelizedVariable(name, name, [str(s) for s in tables.states[name]]))
    for name, (parents, values) in tables.tables.items():
        for parent in parents:
            network.addArc(parent, name)
        network.cpt(name)[:] = np.ascontiguousarray(np.exp(values).T)
    inference = pyagrum.LazyPropagation(network)
    inference.setTargets({target})

    def answer(evidence: dict[str, int]) -> npt.NDArray[np.float64]:
        inference.setEvidence(evidence)
        inference.makeInference()
        return np.asarray(inference.posterior(target).toarray())

    return answer


def pgmpy_answer(tables: LogTables, target: str) -> Answer:
    tree = all(len(set(parents) - {target}) < 2 for parents, _ in tables.tables.values())
    inference = (BeliefPropagation if tree else VariableElimination)(tables.to_network())

    def answer(evidence: dict[str, int]) -> npt.NDArray[np.float64]:
        named = {name: tables.states[name][state] for name, state in evidence.items()}
        return np.asarray(inference.query([target], named, show_progress=False).values)

    return answer


def time_rival(
    answer: Answer, table: Table, codes: npt.NDArray[np.uint8], expected: npt.NDArray[np.float64], budget: float
) -> tuple[float, float]:
    """Rows a second, and the largest difference from the expected posterior."""
    difference, spent, rows = 0.0, 0.0, 0
    while rows < codes.shape[1] and (rows == 0 or spent < budget):
        row = codes[:, rows]
        evidence = {table.names[v]: int(row[v]) for v in table.features if row[v] != table.missing}
        started = process_time()
        result = answer(evidence)
        spent += process_time() - started
        difference = max(difference, float(np.abs(result - expected[rows]).max()))
        rows += 1
    return rows / spent, difference


def best(action: Callable[[], object], repetitions: int = 3) -> float:
    seconds = []
    for _ in range(repetitions):
        started = process_time()
        action()
        seconds.append(process_time() - started)
    return min(seconds)


def compare(name: str, tables: LogTables, table: Table, budget: float) -> None:
    rivals = [make(tables, table.target) for make in (pyagrum_answer, pgmpy_answer)]
    _, distinct = np.unique(table.codes[list(table.features)], axis=1, return_index=True)
    Marginalizer(tables, table.target).log_joint(np.full_like(table.codes[:, :1], table.missing))  # compiles
    rng = np.random.default_rng(0)
    for rate in RATES:
        codes = table.codes[:, rng.permutation(distinct)]
        codes[rng.random(codes.shape) < rate] = table.missing
        # A model that has seen no row yet, each time: what it keeps of one run would answer the next.
        fresh = iter([Marginalizer(tables, table.target) for _ in range(3)])
        ours = codes.shape[1] / best(partial(lambda models, rows: next(models).log_joint(rows), fresh, codes))
        expected = posterior(Marginalizer(tables, table.target).log_joint(codes))
        (theirs, off), (slow, off_too) = (time_rival(r, table, codes, expected, budget) for r in rivals)
        print(
            f"{name:8}{rate:8.0%}{ours:12,.0f}{theirs:10,.0f}{slow:9,.1f}   {ours / theirs:,.0f} and "
            f"{ours / slow:,.0f} times as fast; posteriors differ by {off:.0e} and {off_too:.0e}",
            flush=True,
        )


def naive_bayes(n_features: int = 200, n_rows: int = 100_000) -> None:
    rng = np.random.default_rng(0)
    names = [*(f"x{i}" for i in range(n_features)), "class"]
    codes = rng.integers(0, 4, (n_features + 1, n_rows), dtype=np.uint8)
    codes[-1] %= 2
    states = {name: range(4) for name in names} | {"class": range(2)}
    table = Table(codes, names, states, "class")
    tables = parameter_learner("ml").fit(table, structure_learner("nb").learn(table))
    marginalizer = Marginalizer(tables, "class")
    complete = best(lambda: marginalizer.log_joint(table.codes))
    codes[rng.random(codes.shape) < 0.5] = table.missing
    half = best(lambda: marginalizer.log_joint(codes))
    print(f"\nNB, {n_features} features, 2 classes: {n_rows / complete:,.0f} complete rows a second, ", end="")
    print(f"{n_rows / half:,.0f} with half of the cells missing: {half / complete:.2f} of the time")


def measure_memory(name: str, n_rows: int = 1_000_000) -> None:
    """Print how far the process grows, above its result, while it answers about many rows."""
    table = letter_data()
    tables = networks(table)[name]
    rng = np.random.default_rng(0)
    codes = table.codes[:, rng.integers(0, table.n_rows, n_rows)]
    for own in codes:
        own[rng.random(n_rows) < 0.3] = table.missing
    # What is compiled and imported is there before.
    Marginalizer(tables, table.target).log_joint(codes[:, :50])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = process_time()
    result = Marginalizer(tables, table.target).log_joint(codes)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{name:8}{n_rows:,} rows in {process_time() - started:,.0f} s: {grown - result.nbytes / 2**20:,.0f} MB above "
        f"codes ({codes.nbytes / 2**20:,.0f} MB) and result ({result.nbytes / 2**20:,.0f} MB)",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["memory"]:
        for name in sys.argv[2:] or ("NB", "TAN", "KDB-2", "DAG"):
            if len(sys.argv) == 3:
                measure_memory(name)
            else:
                subprocess.run([sys.executable, __file__, "memory", name], check=True)
        return
    budget = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    table = letter_data()
    print(f"{'network':8}{'missing':>8}{'bnplug':>12}{'pyAgrum':>10}{'pgmpy':>9}   rows a second")
    for name, tables in networks(table).items():
        compare(name, tables, table, budget)
    naive_bayes()


if __name__ == "__main__":
    main()
