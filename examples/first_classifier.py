"""
A first classifier
==================

Learn a Bayesian network that predicts, ask it about new rows, look at what it learned, and keep it.

Run: ``python examples/first_classifier.py`` (needs matplotlib)
"""

# %%
# The data: 178 wines from three cultivars, with 13 chemical measurements each.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import cross_val_score, train_test_split

import bnplug
from bnplug import BayesianNetworkClassifier, datasets

X, y = datasets.wine()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# A classifier is composed of a structure and of parameters, both given by name. ``tan`` gives every measurement the
# class as a parent, and one other measurement that it depends on; ``ml`` counts. Numbers are cut into bins, at points
# that are learned from the training rows.
model = BayesianNetworkClassifier(structure="tan", parameters="ml")
model.fit(X_train, y_train)
print(f"accuracy on {len(X_test)} new wines: {model.score(X_test, y_test):.3f}")

# %%
# It is a scikit-learn classifier, so everything made for those works with it.
print("five folds:", cross_val_score(model, X, y, cv=5).round(3))
ConfusionMatrixDisplay.from_estimator(model, X_test, y_test)

# %%
# The answer is a distribution over the classes, not only a name.
print(model.classes_)
print(model.predict_proba(X_test.head(3)).round(3))

# %%
# What was learned is a graph. Edges from the class are drawn pale: there is one to every feature.
figure, ax = plt.subplots(figsize=(8, 7))
model.plot(ax=ax)

# %%
# The model is kept in a folder of JSON and arrays, without pickle.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "wine-model")
    model.save(path)
    print(sorted(file.name for file in path.iterdir()))
    again = bnplug.load(path)
print("the same answers:", bool((again.predict_proba(X_test) == model.predict_proba(X_test)).all()))
plt.show()
