"""
All methods compared
====================

Every method that is installed, on the same folds: each structure learner with ``ml``, hill climbing by each score, and
each parameter learner on a TAN. Nothing is listed here by hand: what registers, appears.

Run: ``python examples/all_methods.py [--datasets corral,iris,tic-tac-toe] [--cv 3]`` (needs matplotlib)
"""

import argparse
import warnings

import matplotlib.pyplot as plt

from bnplug import BayesianNetworkClassifier, BnplugWarning, score_function, structure_learner
from bnplug.experiments import compare
from bnplug.hooks import registry

COLOURS = {"structure": "tab:blue", "score": "tab:orange", "parameters": "tab:green"}


def classifiers():
    """Yield a classifier for each method; searches are kept short."""
    for method in registry.methods("structure learner"):
        yield f"structure {method.name}", BayesianNetworkClassifier(method.name)
    for method in registry.methods("score function"):
        climb = structure_learner("hill-climb", score=score_function(method.name), max_parents=3, max_iter=15)
        yield f"score {method.name}", BayesianNetworkClassifier(climb)
    for method in registry.methods("parameter learner"):
        yield f"parameters {method.name}", BayesianNetworkClassifier("tan", method.name)


def draw(accuracy):
    """A dot for each data set, a bar at the mean, best methods at the top."""
    ordered = accuracy[accuracy.mean().sort_values().index]
    _, ax = plt.subplots(figsize=(8, 0.28 * ordered.shape[1] + 1), layout="constrained")
    for level, (name, values) in enumerate(ordered.items()):
        colour = COLOURS[name.split()[0]]
        ax.plot(values, [level] * len(values), "o", color=colour, markersize=4, alpha=0.5)
        ax.plot(values.mean(), level, "|", color=colour, markersize=12, markeredgewidth=3)
    ax.set_yticks(range(ordered.shape[1]), ordered.columns)
    ax.set_xlabel("accuracy (%): a dot for each data set, a bar at the mean")
    ax.grid(alpha=0.3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", default="corral,iris,tic-tac-toe")
    parser.add_argument("--cv", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", BnplugWarning)
    found = compare(list(classifiers()), options.datasets.split(","), options.cv)
    accuracy = 100 * found.table("accuracy")
    print(accuracy.T.assign(mean=accuracy.mean(), seconds=found.table("fit_seconds").mean()).round(2).to_string())
    for failure in found.failures.itertuples():
        print(f"failed: {failure.dataset}, {failure.method}, fold {failure.fold}: {failure.error}")
    draw(accuracy)
    plt.show()


if __name__ == "__main__":
    main()
