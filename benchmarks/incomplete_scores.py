"""Decomposable scores on incomplete data: three rules compared on networks whose structure is known.

Rows are drawn from alarm, insurance and hepar2 (the files that pgmpy installs); a column of pure noise with four states
is added; cells are removed, also from the noise column. `hill-climb` starts at the empty graph and climbs by `bdeu` or
`mdl` with at most four parents a variable. The rules:

- `available`: each family is scored on the rows in which all of its variables are known (earlier development
  versions);
- `unknown`: each family is scored on the rows in which the child is known; "unknown" is one more state of each parent
  that has missing cells (`missing="ignore"`);
- `em`: expected counts, by structural EM (`missing="em"`).

Cells are removed completely at random, or depending on another variable: a cell is then removed with twice the given
probability if the value of the preceding column is in the upper half of its states, and never otherwise.

The rule for choosing was written down before the first run: for `missing="ignore"` take the rule with the lowest mean
structural Hamming distance (SHD) between the CPDAGs of the learned and the true graph over the cases with cells missing
completely at random, provided that the noise column has on average at most 0.2 more children than in complete data.
`em` is a candidate only if it needs at most ten times the processor time of the fastest rule; it remains available as
`missing="em"` in any case.

Figures are means over cases and draws: SHD, children of the noise column, the score per row on the complete data of the
learned graph minus that of the true graph (higher is better), and seconds of processor time.

Result: `unknown`. With cells missing completely at random its mean SHD is 76.2 and the noise column has no children;
`available` has 176.9 and 0.14; complete data have 68.0 and 0. `em` has 69.2 where it ran (`unknown` 74.4 there), at 770
times the processor time. If missingness depends on another variable, `unknown` has 105.9 and 0.74 children of the noise
column, `available` 177.6 and 0.19, `em` 70.2 and 0: `unknown` turns dependent missingness into edges. (The seconds of
`available` are for the plain Python in this script, not for the compiled code of those versions.)

Usage: python benchmarks/incomplete_scores.py [DRAWS] [ROWS ...]      (default: 2 draws, 1000 and 5000 rows)

`em` runs with the first draw only, and only on 1,000 rows with `mdl`.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.resources import files
from math import log, prod
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from bnplug import BnplugWarning, Structure, Table, read_bif, score_function, structure_learner
from bnplug.builtin.scores import MDL, BDeu
from bnplug.inference.expected_table import structural_em
from bnplug.scoring import log_likelihood

NETWORKS = ("alarm", "insurance", "hepar2")
SHARES = (0.05, 0.2, 0.5)
MECHANISMS = ("completely at random", "by another variable")
NOISE = "noise column"


def _available(table, child, parents):
    """Return the counts of a family over the rows in which all of it is known, as an array (child, configurations)."""
    codes, sizes = table.codes, [len(table.states[table.names[v]]) for v in (child, *parents)]
    known = (codes[[child, *parents]] != table.missing).all(axis=0)
    cells = np.ravel_multi_index([codes[v, known] for v in (child, *parents)], sizes)
    return np.bincount(cells, minlength=prod(sizes)).astype(float).reshape(sizes[0], -1)


class AvailableBDeu(BDeu):
    """`bdeu` on the rows in which the whole family is known."""

    def local(self, table, child, parents, counts):
        counts = _available(table, child, parents)
        plain = table.take([])
        plain.cards = np.array([len(table.states[name]) for name in table.names])
        return super().local(plain, child, parents, counts)


class AvailableMDL(MDL):
    """`mdl` on the rows in which the whole family is known."""

    def local(self, table, child, parents, counts):
        counts = _available(table, child, parents)
        return log_likelihood(counts) - 0.5 * log(table.n_rows) * (counts.shape[0] - 1) * counts.shape[1]


def network(name):
    """Return an example network of pgmpy."""
    packed = files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz"
    with TemporaryDirectory() as folder:
        import gzip

        path = Path(folder, f"{name}.bif")
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        return read_bif(path, target=_first_variable(path))


def _first_variable(path):
    return next(line.split()[1] for line in path.read_text().splitlines() if line.startswith("variable"))


def removed(table, share, mechanism, rng):
    """Return the table with cells removed."""
    codes = table.codes.copy()
    if mechanism == "completely at random":
        hidden = rng.random(codes.shape) < share
    else:
        upper = np.roll(codes, 1, axis=0) >= (np.roll(table.cards, 1)[:, None] / 2)
        hidden = (rng.random(codes.shape) < 2 * share) & upper
    hidden[table.target_index] = False
    codes[hidden] = table.missing
    return Table(codes, table.names, table.states, table.target)


def cpdag(parents):
    """Return the compelled and the reversible edges of a DAG, by Meek's rules."""
    n = len(parents)
    adjacent = np.zeros((n, n), dtype=bool)
    directed = np.zeros((n, n), dtype=bool)
    for v, family in enumerate(parents):
        adjacent[list(family), v] = adjacent[v, list(family)] = True
    for v, family in enumerate(parents):
        for a in family:
            if any(not adjacent[a, b] for b in family if b != a):
                directed[a, v] = True
    changed = True
    while changed:
        before = directed.sum()
        free = adjacent & ~directed & ~directed.T
        for a, b in np.argwhere(free):
            first = (directed[:, a] & ~adjacent[:, b]).any()
            second = (directed[a] & directed[:, b]).any()
            middle = np.flatnonzero(free[a] & directed[:, b])
            third = any(not adjacent[c, d] for c in middle for d in middle if c < d)
            if first or second or third:
                directed[a, b] = True
                free[a, b] = free[b, a] = False
        changed = directed.sum() > before
    return adjacent, directed


def shd(one, other):
    """Return the number of pairs of variables that two CPDAGs join differently."""
    (adjacent, directed), (adjacent_too, directed_too) = cpdag(one), cpdag(other)
    differ = (adjacent != adjacent_too) | (directed != directed_too) | (directed.T != directed_too.T)
    return int(np.triu(differ, 1).sum())


def learned(rule, score, table):
    """Return the parents in the learned graph, and the seconds of processor time."""
    scores = {"bdeu": AvailableBDeu(), "mdl": AvailableMDL()} if rule == "available" else {}
    learner = structure_learner("hill-climb", score=scores.get(score, score), start="empty", max_parents=4)
    start = time.process_time()
    if rule == "em":
        incomplete = Table(table.codes, table.names, table.states, table.target, missing_policy="em")
        dag = structural_em(learner.learn, incomplete, random_state=0)
    else:
        dag = learner.learn(table)
    return dag.parents, time.process_time() - start


def cases(n_draws, sizes):
    """Yield a record for every case and rule."""
    for name in NETWORKS:
        model = network(name)
        for n_rows in sizes:
            for draw in range(n_draws):
                rng = np.random.default_rng([draw, n_rows])
                frame = model.sample(n_rows, random_state=draw).astype(str)
                frame[NOISE] = rng.integers(0, 4, n_rows).astype(str)
                complete = Table.from_frame(frame, target=model.tables_.target)
                truth = Structure.of(model.tables_.edges, complete).parents
                yield from _of_rows(name, n_rows, draw, complete, truth, rng)


def _of_rows(name, n_rows, draw, complete, truth, rng):
    for score in ("bdeu", "mdl"):
        settings = [(0.0, "complete")] + [(share, how) for how in MECHANISMS for share in SHARES]
        for share, how in settings:
            table = removed(complete, share, how, rng) if share else complete
            for rule in ("unknown", "available", "em"):
                if rule == "em" and (draw or n_rows > 1000 or score != "mdl" or not share):
                    continue
                parents, seconds = learned(rule, score, table)
                evaluate = score_function(score)
                gain = evaluate.score(complete, Structure(complete.names, parents)) - evaluate.score(
                    complete, Structure(complete.names, truth)
                )
                noise = complete.index(NOISE)
                record = {
                    "network": name, "rows": n_rows, "draw": draw, "score": score, "missing": how, "share": share,
                    "rule": rule, "shd": shd(parents, truth),
                    "noise children": sum(noise in family for family in parents), "gain per row": gain / n_rows,
                    "seconds": seconds,
                }  # fmt: skip
                print(*record.values(), sep="\t", flush=True)
                yield record


def main():
    warnings.simplefilter("ignore", BnplugWarning)
    n_draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    sizes = [int(size) for size in sys.argv[2:]] or [1000, 5000]
    figures = pd.DataFrame(cases(n_draws, sizes))
    measures = ["shd", "noise children", "gain per row", "seconds"]
    print(figures.groupby(["missing", "share", "rule"])[measures].mean().round(3).to_string())
    print(figures.groupby(["missing", "rule"])[measures].mean().round(3).to_string())
    same = figures[(figures["rows"] == 1000) & (figures["draw"] == 0) & (figures["score"] == "mdl")]
    print("Cases in which `em` ran:")
    print(same.groupby(["missing", "rule"])[measures].mean().round(3).to_string())


if __name__ == "__main__":
    main()
