"""
A classifier and a discretiser of your own
==========================================

Not every classifier is one network. This plugin brings AODE, which averages one-dependence estimators (Webb, Boughton
and Wang: Not so naive Bayes, 2005), and a discretiser that goes with it. Both are written, installed, checked,
listed, compared, saved and loaded here, as anybody's would be. Everything happens in a temporary folder, and what is
installed there is used by processes of their own.

Run: ``python examples/aode_plugin.py`` (needs pip and hatchling)
"""

# %%
# The distribution is called ``bnplug-aode``; its hooks say what there is. The classifier has a name of its own, since
# ``aode`` is that of bnplug-mixture, which makes it of networks.
import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
source, site = folder / "bnplug-aode", folder / "site"
package = source / "bnplug_aode"
package.mkdir(parents=True)
(source / "pyproject.toml").write_text("""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "bnplug-aode"
version = "1.0"
dependencies = ["bnplug"]

[project.entry-points.bnplug]
aode = "bnplug_aode"
""")
(package / "__init__.py").write_text('''\
"""Averaged one-dependence estimators, and a discretiser for them."""

from bnplug import ClassifierMethod, DiscretizerMethod, hookimpl


@hookimpl
def bnplug_classifiers():
    yield ClassifierMethod(
        name="my-aode",
        factory="bnplug_aode.classifier:AODE",
        summary="The mean of all one-dependence estimators, one for each feature as everybody's parent.",
        reference="Webb, Boughton, Wang: Not so naive Bayes: aggregating one-dependence estimators (2005)",
    )


@hookimpl
def bnplug_discretizers():
    yield DiscretizerMethod(
        name="proportional",
        factory="bnplug_aode.discretizer:Proportional",
        summary="As many bins of equal weight as there are rows in each.",
        reference="Yang, Webb: Proportional k-interval discretization for naive-Bayes classifiers (2001)",
    )
''')

# %%
# A classifier is any classifier of scikit-learn: it gets raw columns, as they come, with cells missing. A naive Bayes
# network inside makes codes of them (``encode``), so that what is left to write is the method: counts of pairs of
# states by class, and their use. Two more methods let it be saved: what it has found out as what JSON holds and
# as arrays, and the way back; the network inside has the same two.
(package / "classifier.py").write_text('''\
"""AODE: each feature in turn is a parent of all others, next to the class, and the joint probabilities are averaged."""

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier

_COUNTS = "counts"


class AODE(ClassifierMixin, BaseEstimator):
    """The mean over features i of P(c, x_i) times the product of P(x_j | c, x_i).

    A feature is a parent where its value is known and frequent; a row without such a value is left to naive Bayes.

    Parameters
    ----------
    min_count : float
        In how many training rows a value must be to be a parent.
    discretizer : str, (str, mapping) or transformer
        What makes numbers discrete.

    Attributes
    ----------
    classes_ : array
        The class labels.
    coder_ : BayesianNetworkClassifier
        Naive Bayes on the same columns.
    counts_ : array of shape (classes, states, states)
        In how many rows of a class two states are; the states of all features, one after the other.
    """

    components = {"discretizer": "discretizer"}  # its parameters that hold a component, and their kinds

    def __init__(self, min_count=30, discretizer="mdl"):
        self.min_count = min_count
        self.discretizer = discretizer

    def fit(self, X, y, sample_weight=None):
        """Count pairs of states by class."""
        self.coder_ = self._coder().fit(X, y, sample_weight)
        self.classes_ = self.coder_.classes_
        present, labels = self._present(X), np.asarray(y)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        of_class = [present[labels == c] * weights[labels == c, None] for c in self.classes_]
        self.counts_ = np.array([own.T @ present[labels == c] for c, own in zip(self.classes_, of_class)])
        return self

    def predict_proba(self, X):
        """Return P(class | known features) for every row."""
        check_is_fitted(self)
        present = self._present(X)
        first, other = self._log_probabilities()
        # Entry [m, s, c]: the log joint of row m and class c by the estimator whose parent is in state s.
        joints = np.stack([present @ given.T + alone for alone, given in zip(first, other)], axis=2)
        frequent = np.einsum("css->s", self.counts_) >= self.min_count
        parents = (present > 0) & frequent
        averaged = logsumexp(np.where(parents[:, :, None], joints, -np.inf), axis=1)
        naive = ~parents.any(axis=1)
        posterior = np.empty(averaged.shape)
        posterior[~naive] = softmax(averaged[~naive], axis=1)
        if naive.any():
            posterior[naive] = self.coder_.predict_proba(X)[naive]
        return posterior

    def predict(self, X):
        """Return the most probable class of every row."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def saved_state(self):
        """Return what ``fit`` has found: what JSON holds, and arrays."""
        state, arrays = self.coder_.saved_state()
        return state, {**arrays, _COUNTS: self.counts_}

    def restore_state(self, state, arrays):
        """Take over what ``saved_state`` has returned."""
        own = dict(arrays)
        self.counts_ = own.pop(_COUNTS)
        self.coder_ = self._coder().restore_state(state, own)
        self.classes_ = self.coder_.classes_
        return self

    def _coder(self):
        return BayesianNetworkClassifier("nb", discretizer=self.discretizer)

    def _present(self, X):
        """Return for each row and state whether the row is in it; a missing cell is in none."""
        codes, schema = self.coder_.encode(X), self.coder_.schema_
        return np.hstack([(codes[v][:, None] == np.arange(schema.cards[v])).astype(float) for v in schema.features])

    def _log_probabilities(self):
        """Return log P(c, s) by class and state, and log P(t | c, s), which is 0 for states of one feature."""
        cards = self.coder_.schema_.cards[self.coder_.schema_.features]
        feature = np.repeat(np.arange(len(cards)), cards)
        same = feature[:, None] == feature
        alone = np.einsum("css->cs", self.counts_)
        known = (alone.sum(axis=0) @ same)[None]  # rows in which the feature of a state is known
        first = np.log((alone + 1) / (known + len(self.classes_) * cards[feature]))
        pairs = self.counts_ @ same  # the counts of a state with all states of another feature
        other = np.where(same, 0.0, np.log((self.counts_ + 1) / (pairs + cards[feature])))
        return first, other
''')

# %%
# A discretizer returns the cuts of a column, given a summary of it: the distinct values and their weights. It therefore
# works on files and on Dask as in memory. A value is in the bin below a cut if it is at most the cut.
(package / "discretizer.py").write_text('''\
"""Proportional discretisation: with n rows, about the square root of n bins of as many rows."""

import numpy as np

from bnplug import Discretizer


class Proportional(Discretizer):
    """Cut each column into the root of n bins of equal weight, n being the weight of its known values."""

    def cuts(self, column):
        """Return the cuts of a column."""
        total = np.cumsum(column.weights)
        n_bins = int(np.sqrt(total[-1]))
        cuts = np.unique(column.values[np.searchsorted(total, np.arange(1, n_bins) * total[-1] / n_bins)])
        return cuts[cuts < column.values[-1]]
''')

# %%
# Install it. (``--target`` keeps it out of the environment that runs this; usually ``pip install .`` is enough.)
command = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target"]
subprocess.run([sys.executable, "-m", "pip", *command, str(site), str(source)], check=True)


def run(*arguments):
    """Run Python with the plugin installed, and print what it says."""
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(done.stderr)


# %%
# The command knows them.
run("-m", "bnplug", "methods", "my-aode")
run("-m", "bnplug", "methods", "proportional")

# %%
# The conformance kit makes every check that there is for classifiers and discretisers.
run("-c", "from bnplug.testing import check_plugin; report = check_plugin('aode'); print(report); assert report.ok")

# %%
# They go where names go: into a comparison, and the one into the parameters of the other.
run(
    "-c",
    """
from bnplug.experiments import compare

methods = ["nb", "tan", "my-aode", "my-aode(discretizer='proportional')"]
print(compare(methods, ["iris", "tic-tac-toe"], cv=5).to_text("accuracy"))
""",
)

# %%
# A model that was saved gives the same answers when it is loaded, to the last bit, and learns again what it did.
run(
    "-c",
    f"""
import numpy as np
from sklearn.base import clone

import bnplug
from bnplug.datasets import iris

X, y = iris()
model = bnplug.make_classifier("my-aode", min_count=1, discretizer="proportional").fit(X, y)
bnplug.save(model, {str(folder / "model")!r})
loaded = bnplug.load({str(folder / "model")!r})
print(loaded)
assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
assert np.array_equal(clone(loaded).fit(X, y).predict_proba(X), model.predict_proba(X))
""",
)
