"""Search a structure by my-score and by the classification rate, and compare them on held-out rows."""

from sklearn.model_selection import cross_val_score

from bnplug import BayesianNetworkClassifier, structure_learner
from bnplug.datasets import iris

X, y = iris()
for score in ("cr", "my-score"):
    model = BayesianNetworkClassifier(structure=structure_learner("hill-climb", score=score))
    accuracy = cross_val_score(model, X, y, cv=5)
    print(f"{score}: accuracy {accuracy.mean():.3f}")
