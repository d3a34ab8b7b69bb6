"""Learn a structure, look at how it came about, and compare it with TAN on held-out rows."""

from sklearn.model_selection import cross_val_score

from bnplug import BayesianNetworkClassifier
from bnplug.datasets import iris

X, y = iris()
model = BayesianNetworkClassifier(structure="my-structure").fit(X, y)
print("naive Bayes:", round(model.structure_.trace_[0], 3))
for move, score in zip(model.structure_.moves_, model.structure_.trace_[1:], strict=True):
    print(f"{move}: {score:.3f}")
for structure in ("tan", "my-structure"):
    accuracy = cross_val_score(BayesianNetworkClassifier(structure=structure), X, y, cv=5)
    print(f"{structure}: accuracy {accuracy.mean():.3f}")
