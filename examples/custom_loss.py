"""
A loss of one's own
===================

A score sums over rows a *gain*, the negative of a loss, of the row's log joints. Write the gain as a plain function,
and it runs compiled, in every search.

Run: ``python examples/custom_loss.py``
"""

# %%
# Boards at the end of tic-tac-toe. To call a board won that is not shall cost ten times as much as the opposite.
import numpy as np
from sklearn.model_selection import StratifiedKFold

from bnplug import BayesianNetworkClassifier, datasets, score_function, structure_learner
from bnplug.scoring import PredictiveScore, winner

X, y = datasets.tic_tac_toe()
CLASSES = ["negative", "positive"]
COSTS = np.array([[0.0, 10.0], [1.0, 0.0]])  # true class, decision

# %%
# The gain gets the log joints ``L`` of a block of rows (rows x classes), their classes ``y``, and numbers of its own;
# it fills ``out`` with a value for each row, higher being better. It stands at the top of a module and uses nothing
# but numpy, ``math`` and ``winner``, which settles ties as the classifier does.


def negative_cost(L, y, params, out):
    n_classes = L.shape[1]
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * n_classes + winner(L, m)]


# %%
# The score names its gain. What the gain needs to know travels in ``params``.


class NegativeCost(PredictiveScore):
    """The mean cost of the decisions, negative."""

    gain = negative_cost
    aggregate = "mean"

    def __init__(self, costs=None, alpha=1.0, floor=0.0, cv=None, random_state=None):
        super().__init__(alpha=alpha, floor=floor, cv=cv, random_state=random_state)
        self.costs = costs

    def gain_params(self, table):
        # A compiled gain does not check its indices: the shape is checked here.
        n = int(table.cards[table.target_index])
        costs = np.asarray(self.costs, dtype=float)
        if costs.shape != (n, n):
            raise ValueError(f"costs has the shape {costs.shape}; {n} classes need ({n}, {n})")
        return costs


# %%
# Any search takes it. Here: the tree that costs least over five folds of the training rows, beside the one with the
# best classification rate, and naive Bayes.


def cost_of(structure):
    """Return the cost a row in five-fold cross-validation."""
    costs = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = BayesianNetworkClassifier(structure, random_state=0).fit(X.iloc[train], y.iloc[train])
        truth, decision = (np.searchsorted(CLASSES, labels) for labels in (y.iloc[test], model.predict(X.iloc[test])))
        costs.append(COSTS[truth, decision])
    return np.concatenate(costs).mean()


by_rate = structure_learner("hill-climb", score=score_function("cr", cv=5), tree=True)
by_cost = structure_learner("hill-climb", score=NegativeCost(COSTS, cv=5), tree=True)
print(f"naive Bayes:                       {cost_of('nb'):.3f} a row")
print(f"a tree by the classification rate: {cost_of(by_rate):.3f} a row")
print(f"a tree by the cost:                {cost_of(by_cost):.3f} a row")
