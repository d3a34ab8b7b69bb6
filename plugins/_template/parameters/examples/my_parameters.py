"""Learn the parameters of TAN in two ways, look at a table, and compare them on held-out rows."""

from sklearn.model_selection import cross_val_score

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris

X, y = iris()
model = BayesianNetworkClassifier(structure="tan", parameters="my-parameters").fit(X, y)
print(model.cpt(X.columns[0]).round(3))
for parameters in ("ml", "my-parameters"):
    model = BayesianNetworkClassifier(structure="tan", parameters=parameters)
    log_loss = -cross_val_score(model, X, y, cv=5, scoring="neg_log_loss")
    print(f"{parameters}: log loss {log_loss.mean():.3f}")
