"""What the engines cost: rows a second with 30 % of the cells missing, on TAN and KDB-1.

The same networks, rows and missing cells for all; `junction-tree` and `sampling` are asked about the first rows only.
Posteriors are compared with those of `elimination`: those of `junction-tree` by the largest difference, those of
`sampling` (10,000 draws) by the mean one. Processor time; compiling of kernels is not counted.

Run: python benchmarks/engines.py [rows]
     The data ship with bnplug; with BNPLUG_DATA, five sets of the folder that it names.
"""

from __future__ import annotations

import os
import sys
import warnings
from time import process_time

import numpy as np

import bnplug
from bnplug import CompiledNetwork, Table, datasets
from bnplug.inference.complete import posterior
from bnplug.typing import CodeArray, FloatArray

PUBLISHED = ("car", "chess-kr-vs-kp", "german", "flare", "lymphography")
STRUCTURES = {"TAN": ("tan", {}), "KDB-1": ("kdb", {"k": 1})}


def tables_of_data() -> dict[str, Table]:
    folder = os.environ.get("BNPLUG_DATA", "")
    if folder:
        loaded = {name: datasets.load(name, data_dir=folder) for name in PUBLISHED}
        return {name: bnplug.encode_training(data.X, data.y, discretizer="mdl")[0] for name, data in loaded.items()}
    shipped = {"tic-tac-toe": datasets.tic_tac_toe, "wine": datasets.wine, "breast-cancer": datasets.breast_cancer}
    return {name: bnplug.encode_training(*make(), discretizer="mdl")[0] for name, make in shipped.items()}


def answer(marginals: CompiledNetwork, codes: CodeArray) -> tuple[float, FloatArray]:
    """Return rows a second, and the posteriors."""
    started = process_time()
    joint = marginals.log_joint(codes)
    return codes.shape[1] / (process_time() - started), posterior(joint)


def compare(name: str, structure: str, table: Table, n_rows: int) -> None:
    learner, parameters = STRUCTURES[structure]
    tables = bnplug.parameter_learner("ml").fit(table, bnplug.structure_learner(learner, **parameters).learn(table))
    rng = np.random.default_rng(0)
    codes = table.codes[:, rng.integers(0, table.n_rows, 20_000)]
    codes[rng.random(codes.shape) < 0.3] = table.missing
    few = codes[:, :n_rows]
    engines = {"elimination": {}, "junction-tree": {}, "sampling": {"random_state": 0}}
    compiled = {own: bnplug.engine(own, **given).compile(tables, table.target) for own, given in engines.items()}
    for marginals in compiled.values():
        marginals.log_joint(few[:, :1])
    ours, exact = answer(compiled["elimination"], codes)
    (tree, by_tree), (drawn, by_draws) = (answer(compiled[own], few) for own in ("junction-tree", "sampling"))
    off, near = np.abs(by_tree - exact[:n_rows]).max(), np.abs(by_draws - exact[:n_rows]).mean()
    print(f"{name:16}{structure:7}{ours:12,.0f}{tree:15,.1f}{drawn:10,.0f}   {off:.0e} and {near:.0e}", flush=True)


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    warnings.simplefilter("ignore")
    print(f"{'data':16}{'':7}{'elimination':>12}{'junction-tree':>15}{'sampling':>10}   rows a second; differences")
    for name, table in tables_of_data().items():
        for structure in STRUCTURES:
            compare(name, structure, table, n_rows)


if __name__ == "__main__":
    main()
