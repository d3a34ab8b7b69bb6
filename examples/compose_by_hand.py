"""
Composing a classifier
======================

Any structure learner, with any score, with any parameters.

Run: ``python examples/compose_by_hand.py``
"""

# %%
# The first ten measurements of scikit-learn's breast cancer data.
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

import bnplug
from bnplug import datasets

X, y = datasets.breast_cancer()
X = X.iloc[:, :10]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# By name: each part is found among the installed plugins.
model = bnplug.BayesianNetworkClassifier(structure="tan", parameters="ml")
print(f"tan, by name: {model.fit(X_train, y_train).score(X_test, y_test):.3f}")

# %%
# As instances: a search, what it maximizes, and the parameters on the structure it finds.
score = bnplug.score_function("cmdl")
search = bnplug.structure_learner("hill-climb", score=score, start="nb", max_parents=2)
model = bnplug.BayesianNetworkClassifier(search, bnplug.parameter_learner("ml", alpha=5.0))
model.fit(X_train, y_train)
print(f"hill climbing by cmdl: {model.score(X_test, y_test):.3f}")

# %%
# A fitted learner keeps what it found out on the way; what was given stays as it was.
found = model.structure_
print(f"{len(found.moves_)} moves, {found.n_evaluations_} evaluations; the first: {found.moves_[:3]}")
print(f"score {found.trace_[0]:.1f} at the start, {found.trace_[-1]:.1f} at the end")

# %%
# Parameters of parts are reached as in any scikit-learn estimator.
grid = GridSearchCV(model, {"structure__max_parents": [1, 2], "parameters__alpha": [1.0, 5.0]}, cv=3)
grid.fit(X_train, y_train)
print(f"best of the grid: {grid.best_params_}, {grid.score(X_test, y_test):.3f}")

# %%
# A score can change its resampling: here the classification rate of four folds.
search = bnplug.structure_learner("hill-climb", score=bnplug.score_function("cr", cv=4), max_parents=2)
model = bnplug.BayesianNetworkClassifier(search, random_state=0).fit(X_train, y_train)
print(f"hill climbing by cr of four folds: {model.score(X_test, y_test):.3f}, {len(model.structure_.moves_)} moves")

# %%
# Without a classifier: a table, a structure, log parameters.
discrete = model.discretizer_.transform(X_train).assign(diagnosis=y_train)
table = bnplug.Table.from_frame(discrete, target="diagnosis")
structure = bnplug.structure_learner("hill-climb", score="mdl", start="empty").learn(table)
tables = bnplug.parameter_learner("ml").fit(table, structure)
print(f"hill climbing by mdl: {len(structure.edges)} edges, log-likelihood {tables.log_likelihood(table):.1f}")

# %%
# A structure of one's own is as good as a learned one.
edges = [(y.name, name) for name in X.columns] + [("mean radius", "mean area")]
model = bnplug.BayesianNetworkClassifier(structure=edges)
print(f"by given edges: {cross_val_score(model, X, y, cv=5).mean():.3f}")
