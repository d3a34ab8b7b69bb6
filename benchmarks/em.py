"""EM on the alarm network: ours and pyAgrum's, in one run; and how ours goes with the number of rows.

1,000 rows are drawn from the alarm network (37 variables), which ships with pgmpy, and 20 % of their cells removed at
random. Both learn the parameters of its structure with a virtual row for each cell of a table, which is pyAgrum's
smoothing prior, and stop where a step raises what they maximise by less than 1e-6 of its size. pyAgrum starts without
noise. What is maximised, the log-likelihood of what the rows know plus the logarithm of the prior, is taken by the same
code for both.

Run: python benchmarks/em.py [repeats]
     The fastest of so many runs (default 5; pyAgrum once), in processor seconds of one thread. Columns: steps, seconds,
     the log-likelihood, and that with the prior.
     python benchmarks/em.py scale
     The seconds of a step for 1,000, 10,000 and 100,000 rows, and for each row of them.
     python benchmarks/em.py structures
     The seconds of structural EM by predictive scores and orders: 600 rows of 8 features with 3 states, made by rule.
     python benchmarks/em.py impute
     The seconds that filling 10,000 rows of 20 features with 4 states takes, by the most probable states.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import pgmpy
import pyagrum

from bnplug import BayesianNetworkClassifier, CountsLearner, LogTables, Structure, Table, read_bif
from bnplug.inference.em import expectation_maximization, expected_family_counts
from bnplug.model.log_tables import estimate
from bnplug.typing import DAG, FloatArray

MISSING, TOL = 0.2, 1e-6


class Smoothed(CountsLearner):
    """Relative frequencies with a virtual row for each cell."""

    def __init__(self, tol: float = TOL) -> None:
        self.tol = tol

    def from_counts(
        self, table: Table, dag: DAG, counts: Sequence[FloatArray], rows: Sequence[FloatArray]
    ) -> LogTables:
        """Return (n + 1) / (N + r)."""
        families = zip(table.names, dag.parents, counts, strict=True)
        found = {name: ([table.names[p] for p in own], estimate(n, n.size)) for name, own, n in families}
        return LogTables(table.names, table.states, found, table.target)

    def log_prior(self, table: Table, tables: LogTables) -> float:
        """Return the sum of log theta."""
        return float(sum(values.sum() for _, values in tables.tables.values()))


def alarm() -> LogTables:
    path = Path(pgmpy.__file__).parent / "utils" / "example_models" / "alarm.bif.gz"
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "alarm.bif")
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return read_bif(plain, "BP").tables_


def incomplete_rows(tables: LogTables, n_rows: int) -> Table:
    """Rows drawn from the network, with cells removed at random."""
    rng = np.random.default_rng(0)
    codes = drawn(tables, n_rows, rng)
    codes[rng.random(codes.shape) < MISSING] = 255
    return Table(codes, tables.names, tables.states, "BP", missing_policy="em")


def drawn(tables: LogTables, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    codes = np.full((len(tables.names), n_rows), 255, dtype=np.uint8)
    left = list(tables.names)
    while left:
        for name in [own for own in left if not set(tables[own].parents) & set(left)]:
            parents, values = tables[name]
            places = tuple(codes[tables.names.index(p)] for p in parents)
            ends = np.exp(values).cumsum(axis=0)[(slice(None), *places)].reshape(len(values), -1)
            codes[tables.names.index(name)] = np.minimum((rng.random(n_rows) > ends).sum(axis=0), len(values) - 1)
            left.remove(name)
    return codes


def ours(table: Table, tables: LogTables) -> tuple[int, float, LogTables]:
    learner = Smoothed()
    dag = Structure(table.names, [[table.index(p) for p in tables[name].parents] for name in table.names])
    start = process_time()
    found = learner.fit(table, dag)
    return learner.n_iter_, process_time() - start, found


def theirs(table: Table, tables: LogTables) -> tuple[int, float, LogTables]:
    template = pyagrum.BayesNet()
    for name in tables.names:
        template.add(pyagrum.LabelizedVariable(name, name, [f"s{i}" for i in range(len(tables.states[name]))]))
    for parent, child in tables.edges:
        template.addArc(parent, child)
    columns = zip(table.names, table.codes, strict=True)
    frame = pd.DataFrame({name: np.where(own == 255, "?", np.char.add("s", own.astype(str))) for name, own in columns})
    start = process_time()
    learner = pyagrum.BNLearner(frame, template, ["?"])
    learner.setNumberOfThreads(1)
    learner.useSmoothingPrior(1.0)
    learner.useEMWithRateCriterion(TOL, 0.0)
    network = learner.learnParameters(template)
    seconds = process_time() - start
    with np.errstate(divide="ignore"):
        found = {name: (own, np.log(_as_ours(network, name, own))) for name, (own, _) in tables.tables.items()}
    return learner.EMnbrIterations(), seconds, LogTables(tables.names, tables.states, found, "BP")


def _as_ours(network: pyagrum.BayesNet, name: str, parents: tuple[str, ...]) -> np.ndarray:
    cpt = network.cpt(name)
    values, axes = cpt.toarray(), list(cpt.names)[::-1]
    return np.asarray(values.transpose([axes.index(own) for own in (name, *parents)]))


def compare(repeats: int) -> None:
    network = alarm()
    table = incomplete_rows(network, 1000)
    ours(incomplete_rows(network, 50), network)  # which compiles
    rows = {"bnplug": min((ours(table, network) for _ in range(repeats)), key=lambda own: own[1])}
    rows["pyAgrum"] = theirs(table, network)
    values = {}
    for name, (steps, seconds, found) in rows.items():
        value = expected_family_counts(table, found)[1]
        values[name] = value + Smoothed().log_prior(table, found)
        print(f"{name:8} {steps:5} {seconds:9.3f} {value:15.4f} {values[name]:15.4f}")
    times = rows["pyAgrum"][1] / rows["bnplug"][1]
    apart = (values["bnplug"] - values["pyAgrum"]) / abs(values["pyAgrum"])
    print(f"pyAgrum takes {times:.0f} times as long; what is maximised is higher by {apart:.1e} of it")


def scale() -> None:
    network = alarm()
    learner = Smoothed()
    for n_rows in (1000, 10_000, 100_000):
        table = incomplete_rows(network, n_rows)
        dag = Structure(table.names, [[table.index(p) for p in network[name].parents] for name in table.names])
        start = process_time()
        steps = len(expectation_maximization(learner, table, dag, max_iter=5, tol=1e-12).path)
        seconds = (process_time() - start) / steps
        print(f"{n_rows:8} {seconds:9.3f} {1e6 * seconds / n_rows:9.2f} microseconds a row and step")


def made_rows(n_rows: int, n_features: int, n_states: int) -> tuple[pd.DataFrame, pd.Series]:
    """Features that are like the one before half of the time, the first like the class; cells removed at random."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    columns = [y % n_states]
    for _ in range(n_features):
        columns.append(np.where(rng.random(n_rows) < 0.5, columns[-1], rng.integers(0, n_states, n_rows)))
    X = pd.DataFrame(dict(zip([f"x{i}" for i in range(n_features)], columns[1:], strict=True))).astype(str)
    return X.mask(rng.random(X.shape) < MISSING), pd.Series(y, name="y")


def structures() -> None:
    X, y = made_rows(600, 8, 3)
    limited = {"max_parents": 2}
    climbs = [{"score": "cll"}, {"score": "cll"} | limited, {"score": "cr"}, {"score": "mdl"}]
    for case in [*(("hill-climb", own) for own in climbs), ("omi", {}), ("omisp", {})]:
        model = BayesianNetworkClassifier(case, "ml", missing="em", random_state=0)
        seconds = []
        for _ in range(2):  # the first may compile
            start = process_time()
            model.fit(X, y)
            seconds.append(process_time() - start)
        print(f"{case!s:60} {min(seconds):9.2f}", flush=True)


def impute() -> None:
    X, y = made_rows(10_000, 20, 4)
    for structure in ("nb", "tan", "kdb"):
        model = BayesianNetworkClassifier(structure, "ml").fit(X, y)
        model.impute(X.head(50))  # which compiles
        start = process_time()
        model.impute(X)
        print(f"{structure:8} {process_time() - start:9.2f}", flush=True)


MODES = {"scale": scale, "structures": structures, "impute": impute}

if __name__ == "__main__":
    asked = sys.argv[1] if len(sys.argv) > 1 else "5"
    MODES[asked]() if asked in MODES else compare(int(asked))
