"""
Export to pgmpy and pyAgrum
===========================

A classifier leaves as a pgmpy network, or as a file that pgmpy, pyAgrum and others read; all of them then give the
same posterior.

Run: ``python examples/export_networks.py`` (needs pyagrum)
"""

# %%
# A TAN whose parameters maximize the conditional likelihood, where ``bnplug-ccbn`` is installed. Such parameters do not
# sum to one by themselves; on a TAN there is always a network with the same posterior, and that is what is exported.
import tempfile
from pathlib import Path

import numpy as np
import pyagrum
from pgmpy.inference import VariableElimination

import bnplug
from bnplug import BayesianNetworkClassifier, datasets
from bnplug.hooks import registry

X, y = datasets.tic_tac_toe()
installed = {method.name for method in registry.methods("parameter learner")}
parameters = bnplug.parameter_learner("ccbn-w", l2=1.0) if "ccbn-w" in installed else "ml"
model = BayesianNetworkClassifier("tan", parameters).fit(X, y)
board = X.iloc[100].to_dict()
ours = model.predict_proba(X.iloc[[100]])[0]
print("bnplug:   ", dict(zip(model.classes_.tolist(), ours.round(6).tolist(), strict=True)))

# %%
# pgmpy: ``network_`` is one of its networks.
inference = VariableElimination(model.network_)
answer = inference.query(["class"], evidence=board, show_progress=False)
theirs = [float(answer.get_value(**{"class": label})) for label in model.classes_]
print("pgmpy:    ", dict(zip(model.classes_.tolist(), np.round(theirs, 6).tolist(), strict=True)))
assert np.allclose(ours, theirs)

# %%
# pyAgrum: by a BIF file. A name or label that the format cannot hold, such as an interval, is made safe in the file,
# and comes back when bnplug reads it; these can stay as they are.
folder = Path(tempfile.mkdtemp())
model.to_bif(folder / "tic-tac-toe.bif")
network = pyagrum.loadBN(str(folder / "tic-tac-toe.bif"))
engine = pyagrum.LazyPropagation(network)
engine.setEvidence(board)
posterior = engine.posterior("class")
theirs = [posterior[{"class": label}] for label in model.classes_]
print("pyAgrum:  ", dict(zip(model.classes_.tolist(), np.round(theirs, 6).tolist(), strict=True)))
assert np.allclose(ours, theirs)

# %%
# Back again: the file is a classifier, with the original names.
again = bnplug.read_bif(folder / "tic-tac-toe.bif")
print("the same answers:", bool(np.allclose(again.predict_proba(X), model.predict_proba(X))))

# %%
# A network from elsewhere becomes a classifier too: name the variable to predict, any of them.
centre = BayesianNetworkClassifier.from_network(model.network_, target="middle-middle")
others = X.drop(columns="middle-middle").assign(**{"class": y})
print(f"the centre, from the other squares and the class: {centre.score(others, X['middle-middle']):.3f} right")
