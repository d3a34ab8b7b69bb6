"""
Risk minimisation beyond 0/1
============================

RMCV (Kelner and Lerner 2012) minimizes the 0/1 loss in cross validation by hill climbing, and ends with
maximum-likelihood parameters. The paper names three things to try: another loss, another search, and discriminative
parameters. Here each is one argument.

Run: ``python examples/rmcv_beyond.py`` (needs bnplug-rmcv and matplotlib; with bnplug-cmi-order, bnplug-annealing and
bnplug-ccbn there is more to see)
"""

# %%
# Boards at the end of tic-tac-toe. To call a board won that is not shall cost five times as much as the opposite.
import numpy as np
from bnplug_rmcv.reporting import describe_search, plot_search
from sklearn.model_selection import train_test_split

from bnplug import BayesianNetworkClassifier, datasets, parameter_learner, score_function, structure_learner
from bnplug.hooks import registry
from bnplug.scoring import PredictiveScore, winner

X, y = datasets.tic_tac_toe()
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
CLASSES = ["negative", "positive"]
COSTS = np.array([[0.0, 5.0], [1.0, 0.0]])  # true class, decision


def tell(what, structure, parameters="ml"):
    """Fit, and print accuracy, cost and log loss on the test rows."""
    model = BayesianNetworkClassifier(structure, parameters, random_state=0).fit(X_train, y_train)
    truth, decision = (np.searchsorted(CLASSES, labels) for labels in (y_test, model.predict(X_test)))
    log_loss = -model.predict_log_proba(X_test)[np.arange(len(truth)), truth].mean()
    cost = COSTS[truth, decision].mean()
    print(f"{what:<34} accuracy {np.mean(truth == decision):.3f}   cost {cost:.3f}   log loss {log_loss:.3f}")
    return model


# %%
# The paper's: 0/1 loss, hill climbing, maximum likelihood.
model = tell("RMCV", "rmcv")

# %%
# The search in words, and as a picture.
print(describe_search(model))
plot_search(model)

# %%
# Any loss, negated: a gain. That of a cost matrix has five lines; the log loss in four folds is ``cll`` with ``cv=4``.


def negative_cost(L, y, params, out):
    for m in range(L.shape[0]):
        out[m] = -params[y[m] * L.shape[1] + winner(L, m)]


class NegativeCost(PredictiveScore):
    """The mean cost of the decisions, negative."""

    gain = negative_cost
    aggregate = "mean"

    def gain_params(self, table):
        return COSTS


tell("by cost", structure_learner("hill-climb", score=NegativeCost(cv=4)))
tell("by log loss", structure_learner("hill-climb", score=score_function("cll", cv=4)))

# %%
# Any search. The score ``rmcv`` goes with all of them: along an order of the features, or by annealing.
installed = {method.name for method in registry.methods("structure learner")}
for name, parameters in {"omi": {"k": 2}, "sa": {}}.items():
    if name in installed:
        tell(f"rmcv, searched by {name}", structure_learner(name, score="rmcv", **parameters))

# %%
# Any parameter learner after it, here one that maximizes the conditional likelihood.
if any(method.name == "ccbn-w" for method in registry.methods("parameter learner")):
    tell("RMCV, discriminative parameters", "rmcv", parameter_learner("ccbn-w", l2=1.0))
