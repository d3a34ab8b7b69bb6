"""What classifiers of several networks share: their members' answers averaged, shown, and kept in files.

Members are fitted `BayesianNetworkClassifier`s on the same columns; their cuts may differ, and so may their codes of a
row.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bnplug import BayesianNetworkClassifier
from bnplug.contracts import Composite
from bnplug.errors import (
    AmbiguousValueWarning,
    ConstantPredictionWarning,
    MissingColumnWarning,
    PooledStatesWarning,
    TargetLeakageWarning,
    UnseenValueWarning,
    UselessColumnWarning,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug import Table
    from bnplug.table.encoder import ColumnEncoder
    from bnplug.typing import CodeArray, FloatArray, IntArray

#: What `explain` calls the part of the log odds that is due to probabilities being averaged, and not log odds.
AVERAGING = "(averaging)"

# Parameters that every member has from its owner.
_HANDED_DOWN = (
    "categorical_features", "class_weight", "missing", "unseen", "on_useless", "max_categories", "min_frequency",
    "dates", "engine", "costs", "max_parameters", "max_clique_size",
)  # fmt: skip

# Of columns all members say the same; the first one does.
_OF_COLUMNS = (
    UselessColumnWarning,
    PooledStatesWarning,
    AmbiguousValueWarning,
    TargetLeakageWarning,
    UnseenValueWarning,
    MissingColumnWarning,
)


class AveragedNetworks(ClassifierMixin, Composite):  # type: ignore[misc]
    """A classifier whose answers are those of its ``members_``, averaged; a subclass says how they are learned."""

    components: ClassVar[Mapping[str, str]] = {
        "parameters": "parameters",
        "discretizer": "discretizer",
        "engine": "engine",
    }
    n_jobs: int | None
    members_: list[BayesianNetworkClassifier]

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``."""

    @abstractmethod
    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row."""

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row: the most probable, or of least expected cost; the first of tied ones."""
        winners = self.decide(self.predict_proba(X))
        return np.asarray(self.classes_[winners])

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X))
        return logs

    def decide(self, probabilities: FloatArray) -> IntArray:
        """Return which of ``classes_`` is predicted for each row of :meth:`predict_proba`, by position."""
        check_is_fitted(self)
        return self.members_[0].decide(probabilities)

    @property
    def costs_(self) -> FloatArray | None:
        """What decisions cost, as a matrix [true class, predicted class]; None where all mistakes cost the same."""
        check_is_fitted(self)
        return self.members_[0].costs_

    @property
    def encoder_(self) -> ColumnEncoder:
        """How frames become features, as the first member has it; the cuts of numbers are other ones in each."""
        check_is_fitted(self)
        return self.members_[0].encoder_

    @property
    def schema_(self) -> Table:
        """The variables and their states, without rows, as the first member has them; bins are other ones in each."""
        check_is_fitted(self)
        return self.members_[0].schema_

    def edge_frequencies(self) -> pd.DataFrame:
        """Return how many of the members have each edge: how sure the structure is.

        Returns
        -------
        pandas frame
            ``parent`` and ``child``, in the direction that most members have it; ``share``, of the members that have
            it so, and ``either``, of those that have it in one direction or the other. The surest edges stand first.
        """
        from bnplug_mixture.edges import edge_frequencies

        check_is_fitted(self)
        return edge_frequencies([member.tables_.edges for member in self.members_])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw which share of the members has an edge between two features, as a shade for each pair; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a figure of its own.
        """
        from bnplug_mixture.edges import plot_frequencies

        return plot_frequencies(self.edge_frequencies(), self.target_, len(self.members_), ax)

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write one self-contained HTML page on the members and their edges; with data, also on how well they do."""
        from bnplug_mixture.page import write

        check_is_fitted(self)
        write(self, path, X, y)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the fitted model to a folder; the same as :func:`bnplug.save`."""
        from bnplug import save

        save(self, path)

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what ``fit`` has found, for ``bnplug.save``: a dict that JSON can hold, and named arrays."""
        check_is_fitted(self)
        states: dict[str, Any] = {}
        arrays: dict[str, npt.NDArray[Any]] = {}
        for group, networks in self._networks().items():
            saved = [network.saved_state() for network in networks]
            states[group] = [state for state, _ in saved]
            for number, (_, named) in enumerate(saved):
                arrays |= {f"{group}/{number}/{name}": array for name, array in named.items()}
        return states, arrays

    def restore_state(self, state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Take over what :meth:`saved_state` has returned; the parameters are those of the constructor."""
        networks: dict[str, list[BayesianNetworkClassifier]] = {}
        for group, states in state.items():
            networks[group] = []
            for number, state_of_member in enumerate(states):
                prefix = f"{group}/{number}/"
                kept = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
                networks[group].append(self._network().restore_state(state_of_member, kept))
        return self._take_over(networks)

    @abstractmethod
    def _networks(self) -> dict[str, list[BayesianNetworkClassifier]]:
        """Return all fitted networks, the members among them, by what they are for."""

    def _take_over(self, networks: Mapping[str, Sequence[BayesianNetworkClassifier]]) -> Self:
        """Become the fitted classifier of these networks."""
        first = networks["members"][0]
        self.members_ = list(networks["members"])
        self.classes_, self.target_, self.n_features_in_ = first.classes_, first.target_, first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _network(self, **params: Any) -> BayesianNetworkClassifier:
        """Return an unfitted network with the parameters that all members share."""
        shared = {name: getattr(self, name) for name in _HANDED_DOWN}
        return BayesianNetworkClassifier(**{**shared, **params})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class quietly(warnings.catch_warnings):  # noqa: N801
    """What the first member has said about columns, the others need not say again."""

    def __enter__(self) -> Any:
        stack = super().__enter__()
        for category in (*_OF_COLUMNS, ConstantPredictionWarning):
            warnings.simplefilter("ignore", category)
        return stack


def encoded(members: Sequence[BayesianNetworkClassifier], X: Any) -> list[CodeArray]:
    """Return the codes of rows by each member; what is to be said about columns is said once."""
    first = members[0].encode(X)
    with quietly():
        return [first, *(member.encode(X) for member in members[1:])]


def log_odds(probabilities: FloatArray) -> FloatArray:
    """Return log P(c) - log (1 - P(c)) of every class, the others added up so that a certain class has its odds."""
    with np.errstate(divide="ignore"):
        columns = [
            np.log(probabilities[:, c]) - np.log(np.delete(probabilities, c, axis=1).sum(axis=1))
            for c in range(probabilities.shape[1])
        ]
    odds: FloatArray = np.clip(np.column_stack(columns), -1000.0, 1000.0)
    return odds


def evidence_of_row(evidence: Any) -> dict[str, Any]:
    """Return evidence on one row as a dict; a ``TypeError`` for anything else, such as a frame."""
    if evidence is not None and not isinstance(evidence, Mapping | pd.Series):
        raise TypeError(
            f"evidence must be a dict or a series of names to values, for one row; got a {type(evidence).__name__}. "
            "For a frame, query row by row, or use predict_proba for the class"
        )
    return {} if evidence is None else dict(evidence)
