"""
A loss of your own
==================

A predictive score sums a *gain*, the negative of a loss, over the rows. The gain is a plain function of a row's log
joints; it is compiled, and every search can use it.

Run: ``python examples/custom_loss.py``
"""

# %%
# The data are the final boards of tic-tac-toe. Predicting a win that did not happen costs ten times as much as the
# opposite error.
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from bnplug import BayesianNetworkClassifier, Table, datasets, score_function, structure_learner
from bnplug.scoring import PredictiveScore, winner
from bnplug.typing import FloatArray, IntArray

X, y = datasets.tic_tac_toe()
CLASSES = ["negative", "positive"]
COSTS = np.array([[0.0, 10.0], [1.0, 0.0]])  # true class, decision

# %%
# The gain receives the log joints ``L`` of a block of rows (rows x classes), their classes ``y``, and its parameters.
# It fills ``out`` with one value for each row; higher is better. It is defined at module level and uses only numpy,
# ``math`` and ``winner``, which breaks ties as the classifier does.


def negative_cost(L: FloatArray, y: IntArray, params: FloatArray, out: FloatArray) -> None:
    n_classes = L.shape[1]
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * n_classes + winner(L, m)]


# %%
# The score names its gain. ``gain_params`` returns the parameters of the gain.


class NegativeCost(PredictiveScore):
    """The negative mean cost of the decisions."""

    gain = negative_cost
    aggregate = "mean"

    def __init__(
        self,
        costs: Any = None,
        alpha: float = 1.0,
        floor: float = 0.0,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.costs = costs

    def gain_params(self, table: Table) -> FloatArray:
        # A compiled gain does not check indices, so the shape is checked here.
        n = int(table.cards[table.target_index])
        costs = np.asarray(self.costs, dtype=float)
        if costs.shape != (n, n):
            raise ValueError(f"costs has the shape {costs.shape}; {n} classes need ({n}, {n})")
        return costs


# %%
# Every search accepts it. The following compares the tree with the lowest cost in five folds of the training rows, the
# tree with the best classification rate, and naive Bayes.


def cost_of(structure: Any) -> float:
    """Return the mean cost of a row in five-fold cross-validation."""
    costs = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = BayesianNetworkClassifier(structure, random_state=0).fit(X.iloc[train], y.iloc[train])
        truth, decision = (np.searchsorted(CLASSES, labels) for labels in (y.iloc[test], model.predict(X.iloc[test])))
        costs.append(COSTS[truth, decision])
    return float(np.concatenate(costs).mean())


by_rate = structure_learner("hill-climb", score=score_function("cr", cv=5), tree=True)
by_cost = structure_learner("hill-climb", score=NegativeCost(COSTS, cv=5), tree=True)
print(f"naive Bayes:                       {cost_of('nb'):.3f} a row")
print(f"a tree by the classification rate: {cost_of(by_rate):.3f} a row")
print(f"a tree by the cost:                {cost_of(by_cost):.3f} a row")
