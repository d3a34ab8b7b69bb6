"""
When a discriminative structure is needed
=========================================

The synthetic case of Pernkopf and Bilmes (2008), Figures 1 and 2: three binary features and two classes (equations 1-4
of the paper). X1-X2 and X2-X3 depend on each other most, and the generative tree takes those edges; but only X1-X3
tells the classes apart. The exact accuracies are 50% for naive Bayes, 57.5% for the generative and 65% for the
discriminative tree.

Run: ``python examples/p08_synthetic.py [PICTURE] [--draws N]`` (the paper averages over 100 draws). The curves of
conditional-likelihood parameters (CL) appear if ``ccbn-e`` is installed. Needs matplotlib and bnplug-cmi-order.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.svm import SVC

import bnplug
from bnplug.hooks.registry import methods

SIZES = (20, 50, 100, 200, 500, 1000)
RECIPES = {
    "NB": ("NB-ML", {}),
    "generative TAN": ("TAN-CMI-ML", {}),
    "discriminative TAN": ("TAN-OMI-CR-ML", {}),
    "discriminative TAN, 2 walks": ("TAN-OMI-CR-ML", {"structure__walks": 2}),
}
COLOURS = dict(zip([*RECIPES, "SVM"], ["tab:gray", "tab:blue", "tab:orange", "tab:red", "tab:green"], strict=True))


def draw(rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    """Sample features and classes by equations 1-4."""
    y = rng.integers(1, 3, rows)
    x1 = rng.integers(0, 2, rows)
    coin = rng.integers(0, 2, rows)
    x2 = np.where(rng.random(rows) < 0.5, x1, coin)
    source = rng.random(rows)
    x1_or_its_negation = np.where(y == 1, x1, 1 - x1)
    x3 = np.select([source < 0.3, source < 0.8], [x1_or_its_negation, x2], rng.integers(0, 2, rows))
    return pd.DataFrame({"X1": x1, "X2": x2, "X3": x3}), pd.Series(y, name="C")


def recipe(label: str) -> bnplug.BayesianNetworkClassifier:
    """Return the classifier of a curve, with maximum-likelihood parameters."""
    name, parameters = RECIPES[label]
    return bnplug.recipe(name).set_params(**parameters)


def classifiers() -> dict[tuple[str, str], object]:
    """Return a classifier for each curve, by structure and parameters."""
    found: dict[tuple[str, str], object] = {(label, "ML"): recipe(label) for label in RECIPES}
    if any(method.name == "ccbn-e" for method in methods("parameter learner")):
        discriminative = bnplug.parameter_learner("ccbn-e", max_iter=20, l2=0.0)
        for label in RECIPES:
            found[label, "CL"] = recipe(label).set_params(parameters=discriminative)
    # The paper's settings: a penalty of 3, and a kernel of width sigma = 1.
    found["SVM", "RBF"] = SVC(C=3, gamma=0.5)
    return found


def accuracies(draws: int, seed: int = 0) -> pd.DataFrame:
    """Return the mean accuracy on 1,000 test rows, by training rows (index) and classifier (columns)."""
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(draws):
        test = draw(1000, rng)
        for size in SIZES:
            train = draw(size, rng)
            for (structure, parameters), model in classifiers().items():
                accuracy = model.fit(*train).score(*test)
                records.append((size, structure, parameters, 100 * accuracy))
    frame = pd.DataFrame(records, columns=["training rows", "structure", "parameters", "accuracy"])
    return frame.pivot_table("accuracy", "training rows", ["structure", "parameters"], sort=False)


def figure_1(means: pd.DataFrame, ax: plt.Axes) -> None:
    for structure, parameters in means.columns:
        ax.plot(
            means.index,
            means[structure, parameters],
            color=COLOURS[structure],
            linestyle="--" if parameters == "CL" else "-",
            marker="o",
            markersize=3,
            label=f"{structure} ({parameters})",
        )
    ax.set(xlabel="training rows", ylabel="accuracy on test rows (%)", xscale="log", xticks=SIZES)
    ax.set_xticklabels(map(str, SIZES))
    ax.minorticks_off()
    # Room for the legend above the curves.
    ax.set_ylim(None, 74)
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="upper left")


def figure_2(axes: list[plt.Axes], seed: int = 0) -> None:
    train = draw(1000, np.random.default_rng(seed))
    for ax, label in zip(axes, ["generative TAN", "discriminative TAN"], strict=True):
        model = recipe(label).fit(*train)
        between = sorted(f"{u}-{v}" for u, v in model.dag_.edges if "C" not in (u, v))
        print(f"{label}: {', '.join(between)}")
        model.plot(ax=ax)
        ax.set_title(label)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("picture", nargs="?", type=Path, help="a file; without one, a window shows it")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    means = accuracies(options.draws)
    print(f"mean accuracy (%) over {options.draws} draws")
    print(means.round(1).to_string())
    picture, axes = plt.subplot_mosaic("aab;aac", figsize=(10, 5), layout="constrained")
    figure_1(means, axes["a"])
    figure_2([axes["b"], axes["c"]])
    if options.picture:
        picture.savefig(options.picture, dpi=150)
        print(f"picture: {options.picture}")
    plt.show()


if __name__ == "__main__":
    main()
