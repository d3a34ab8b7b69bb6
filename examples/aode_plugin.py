"""
A classifier and a discretizer of your own
==========================================

Not every classifier is a single network. This plugin provides AODE, which averages one-dependence estimators (Webb,
Boughton and Wang: Not so naive Bayes, 2005), and a discretizer for it. This script writes, installs, checks, lists,
compares, saves and loads both. Everything happens in a temporary folder, and separate processes use the installed
package.

Run: ``python examples/aode_plugin.py`` (needs pip and hatchling)
"""

# %%
# The distribution is called ``bnplug-aode``; its hooks register the methods. The classifier is called ``my-aode``,
# because bnplug-mixture has an ``aode``, a mixture of networks.
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
"""Averaged one-dependence estimators, and a discretizer for them."""

from collections.abc import Iterator

from bnplug import ClassifierMethod, DiscretizerMethod, hookimpl


@hookimpl
def bnplug_classifiers() -> Iterator[ClassifierMethod]:
    yield ClassifierMethod(
        name="my-aode",
        factory="bnplug_aode.classifier:AODE",
        summary="The mean of one-dependence estimators, one for each feature as the parent of all others.",
        reference="Webb, Boughton, Wang: Not so naive Bayes: aggregating one-dependence estimators (2005)",
    )


@hookimpl
def bnplug_discretizers() -> Iterator[DiscretizerMethod]:
    yield DiscretizerMethod(
        name="proportional",
        factory="bnplug_aode.discretizer:Proportional",
        summary="Bins of equal weight, as many bins as rows in each bin.",
        reference="Yang, Webb: Proportional k-interval discretization for naive-Bayes classifiers (2001)",
    )
''')

# %%
# Any classifier of scikit-learn can be registered. It receives raw columns, possibly with missing cells. A naive Bayes
# network inside encodes them (``encode``), so only the method remains to be written: counts of pairs of states by
# class, and predictions from them. Two more methods are needed for saving: one returns the fitted state as JSON data
# and arrays, the other restores it. The network inside has the same two methods.
(package / "classifier.py").write_text('''\
"""AODE: each feature in turn is a parent of all others, next to the class, and the joint probabilities are averaged."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier
from bnplug.typing import FloatArray

_COUNTS = "counts"


class AODE(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The mean over features i of P(c, x_i) times the product of P(x_j | c, x_i).

    A feature is a parent if its value is known and frequent. Rows without such a value are predicted by naive Bayes.

    Parameters
    ----------
    min_count : float
        The minimum number of training rows with a value for its feature to be a parent.
    discretizer : str, (str, mapping) or transformer
        Cuts numeric columns into bins.

    Attributes
    ----------
    classes_ : array
        The class labels.
    coder_ : BayesianNetworkClassifier
        Naive Bayes on the same columns.
    counts_ : array of shape (classes, states, states)
        The number of rows with each class and pair of states; the states of all features are concatenated.
    """

    components = {"discretizer": "discretizer"}  # parameters that hold a component, and their kinds

    def __init__(self, min_count: float = 30, discretizer: Any = "mdl") -> None:
        self.min_count = min_count
        self.discretizer = discretizer

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count pairs of states by class."""
        self.coder_ = self._coder().fit(X, y, sample_weight)
        self.classes_ = self.coder_.classes_
        present, labels = self._present(X), np.asarray(y)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        of_class = [present[labels == c] * weights[labels == c, None] for c in self.classes_]
        pairs = [rows.T @ present[labels == c] for c, rows in zip(self.classes_, of_class, strict=True)]
        self.counts_ = np.array(pairs)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row."""
        check_is_fitted(self)
        present = self._present(X)
        first, other = self._log_probabilities()
        # Entry [m, s, c]: the log joint of row m and class c by the estimator whose parent is in state s.
        joints = np.stack([present @ given.T + alone for alone, given in zip(first, other, strict=True)], axis=2)
        frequent = np.einsum("css->s", self.counts_) >= self.min_count
        parents = (present > 0) & frequent
        averaged = logsumexp(np.where(parents[:, :, None], joints, -np.inf), axis=1)
        naive = ~parents.any(axis=1)
        posterior = np.empty(averaged.shape)
        posterior[~naive] = softmax(averaged[~naive], axis=1)
        if naive.any():
            posterior[naive] = self.coder_.predict_proba(X)[naive]
        return posterior

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[most_probable]
        return labels

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fitted state: data for JSON, and arrays."""
        state, arrays = self.coder_.saved_state()
        return state, {**arrays, _COUNTS: self.counts_}

    def restore_state(self, state: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """Restore the result of ``saved_state``."""
        self.counts_ = arrays[_COUNTS]
        members = {name: array for name, array in arrays.items() if name != _COUNTS}
        self.coder_ = self._coder().restore_state(state, members)
        self.classes_ = self.coder_.classes_
        return self

    def _coder(self) -> BayesianNetworkClassifier:
        return BayesianNetworkClassifier("nb", discretizer=self.discretizer)

    def _present(self, X: Any) -> FloatArray:
        """Return an indicator of every state for each row; all are 0 for a missing cell."""
        codes, schema = self.coder_.encode(X), self.coder_.schema_
        return np.hstack([(codes[v][:, None] == np.arange(schema.cards[v])).astype(float) for v in schema.features])

    def _log_probabilities(self) -> tuple[FloatArray, FloatArray]:
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
# A discretizer returns the cuts of a column, given a summary: the distinct values and their weights. It therefore works
# on files and on Dask as in memory. A value is in the bin below a cut if it is at most the cut.
(package / "discretizer.py").write_text('''\
"""Proportional discretization: n rows make about the square root of n bins with as many rows each."""

import numpy as np

from bnplug import ColumnSummary, Discretizer
from bnplug.typing import FloatArray


class Proportional(Discretizer):
    """Cut a column into sqrt(n) bins of equal weight, where n is the weight of its known values."""

    def cuts(self, column: ColumnSummary) -> FloatArray:
        """Return the cuts of a column."""
        total = np.cumsum(column.weights)
        n_bins = int(np.sqrt(total[-1]))
        cuts = np.unique(column.values[np.searchsorted(total, np.arange(1, n_bins) * total[-1] / n_bins)])
        return np.asarray(cuts[cuts < column.values[-1]])
''')

# %%
# Install it. (``--target`` keeps it out of the environment that runs this; usually ``pip install .`` is enough.)
command = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target"]
subprocess.run([sys.executable, "-m", "pip", *command, str(site), str(source)], check=True)


def run(*arguments: str) -> None:
    """Run Python with the plugin installed, and print its output."""
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
# The command line lists them.
run("-m", "bnplug", "methods", "my-aode")
run("-m", "bnplug", "methods", "proportional")

# %%
# The conformance kit runs its checks of classifiers and discretizers.
run("-c", "from bnplug.testing import check_plugin; report = check_plugin('aode'); print(report); assert report.ok")

# %%
# Their names work in a comparison, and one is a parameter of the other.
run(
    "-c",
    """
from bnplug.experiments import compare

methods = ["nb", "tan", "my-aode", "my-aode(discretizer='proportional')"]
print(compare(methods, ["iris", "tic-tac-toe"], cv=5).to_text("accuracy"))
""",
)

# %%
# A loaded model gives the same answers to the last bit, and fitting it again gives the same model.
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
