"""
Generative estimates as a preconditioner
========================================

The synthetic case of Zaidi et al. (2017), Figure 3: three binary features; P(y = 1 | x) is the logistic function of
10^a x1 + x2 + 10^-a x3. At a = 0 the features matter alike; towards a = 1 the conditional likelihood becomes a long
valley, in which first-order methods are slow. ``ccbn-d`` is logistic regression here, ``ccbn-w`` the same with
generative estimates as scale; ``ccbn-e`` is shown beside.

Run: ``python examples/z17_ill_conditioned.py [PICTURE] [--draws N]`` (needs matplotlib and bnplug-ccbn)
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import bnplug
from bnplug.table.table import Table

ROWS = 10_000
COLOURS = {"d": "tab:red", "w": "tab:blue", "e": "tab:green"}
ALPHAS = np.linspace(0, 1, 6)


def draw(alpha: float, rng: np.random.Generator) -> Table:
    """Sample features uniformly, and the class given them."""
    x = rng.integers(0, 2, (ROWS, 3))
    p = 1 / (1 + np.exp(-x @ [10**alpha, 1, 10**-alpha]))
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"]).assign(y=(rng.random(ROWS) < p).astype(int))
    return Table.from_frame(frame, "y")


def path(table: Table, letter: str) -> np.ndarray:
    """Return the NLL a row at zeros and after each step."""
    learner = bnplug.parameter_learner(f"ccbn-{letter}", init="zeros", l2=0.0, tol=1e-14)
    learner.fit(table, bnplug.structure_learner("nb").learn(table))
    return np.array(learner.nll_path_) / ROWS


def steps_to(nll: np.ndarray, minimum: float) -> int:
    """Return how many steps it took to come within a millionth of the minimum."""
    return int((nll <= minimum * (1 + 1e-6)).argmax())


def steps_needed(draws: int) -> pd.DataFrame:
    """Return the mean number of steps, by alpha (index) and parameterisation (columns)."""
    records = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        for alpha in ALPHAS:
            table = draw(alpha, rng)
            paths = {letter: path(table, letter) for letter in COLOURS}
            minimum = min(nll.min() for nll in paths.values())
            records += [(alpha, letter, steps_to(nll, minimum)) for letter, nll in paths.items()]
    frame = pd.DataFrame(records, columns=["alpha", "parameters", "steps"])
    return frame.pivot_table("steps", "alpha", "parameters", sort=False)


def convergence(alpha: float, ax: plt.Axes) -> None:
    table = draw(alpha, np.random.default_rng(0))
    paths = {letter: path(table, letter) for letter in COLOURS}
    minimum = min(nll.min() for nll in paths.values())
    for letter, nll in paths.items():
        above = np.maximum(nll / minimum - 1, 1e-10)
        ax.plot(np.arange(1, len(nll) + 1), above, color=COLOURS[letter], marker="o", markersize=3, label=f"NB{letter}")
    ax.set(title=f"a = {alpha:g}", xlabel="iteration (1: the start)", xscale="log", yscale="log", ylim=(5e-11, None))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("picture", nargs="?", type=Path, help="a file; without one, a window shows it")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    picture, axes = plt.subplots(1, 4, figsize=(15, 4), layout="constrained")
    for alpha, ax in zip((0, 0.5, 1), axes, strict=False):
        convergence(alpha, ax)
    axes[0].set_ylabel("NLL above its minimum (relative)")
    axes[0].legend(frameon=False)
    means = steps_needed(options.draws)
    print(f"steps from zeros to within 1e-6 of the minimum NLL, mean of {options.draws} draws")
    print(means.round(1).to_string())
    for letter, steps in means.items():
        axes[3].plot(steps.index, steps, color=COLOURS[letter], marker="o", markersize=3)
    axes[3].set(title="steps to within a millionth", xlabel="a", ylabel="steps", ylim=(0, None))
    if options.picture:
        picture.savefig(options.picture, dpi=150)
        print(f"picture: {options.picture}")
    plt.show()


if __name__ == "__main__":
    main()
