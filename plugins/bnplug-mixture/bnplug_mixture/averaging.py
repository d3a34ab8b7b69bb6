"""What classifiers of several networks share: fitted members, their decisions, pictures, reports and model folders.

Members are fitted `BayesianNetworkClassifier`s on the same columns. Their bins may differ, and then a row has different
codes in each member.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, overload

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

#: The name, in explanations, of the difference between the log odds of the mean and the mean of the log odds.
AVERAGING = "(averaging)"

# Warnings about columns are the same for all members; the first member gives them.
_OF_COLUMNS = (
    UselessColumnWarning,
    PooledStatesWarning,
    AmbiguousValueWarning,
    TargetLeakageWarning,
    UnseenValueWarning,
    MissingColumnWarning,
)


class AveragedNetworks(ClassifierMixin, Composite):  # type: ignore[misc]
    """A classifier that averages the answers of its ``members_``; subclasses learn the members."""

    member: Any
    n_jobs: int | None
    members_: list[BayesianNetworkClassifier]

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``."""

    @abstractmethod
    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row."""

    @staticmethod
    @abstractmethod
    def default_member() -> BayesianNetworkClassifier:
        """Return the estimator that ``member=None`` stands for."""

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
        """Return the positions in ``classes_`` that are predicted for rows of :meth:`predict_proba`."""
        check_is_fitted(self)
        return self.members_[0].decide(probabilities)

    @property
    def costs_(self) -> FloatArray | None:
        """The costs of decisions, as a matrix [true class, predicted class]; None if all mistakes cost the same."""
        check_is_fitted(self)
        return self.members_[0].costs_

    @property
    def encoder_(self) -> ColumnEncoder:
        """The encoder of the first member. Other members may cut numeric columns differently."""
        check_is_fitted(self)
        return self.members_[0].encoder_

    @property
    def schema_(self) -> Table:
        """The variables and states of the first member, without rows. Other members may have different bins."""
        check_is_fitted(self)
        return self.members_[0].schema_

    def edge_frequencies(self) -> pd.DataFrame:
        """Return the share of the members that have each edge, which shows how certain the structure is.

        Returns
        -------
        pandas frame
            ``parent`` and ``child``, in the direction that most members have; ``share``, the share of the members with
            this edge; and ``either``, the share with an edge in either direction. The most frequent edges come first.
        """
        from bnplug_mixture.edges import edge_frequencies

        check_is_fitted(self)
        return edge_frequencies([member.tables_.edges for member in self.members_])

    @overload
    def plot(self, ax: Axes | None = None) -> Axes: ...

    @overload
    def plot(self, ax: str | PathLike[str]) -> None: ...

    def plot(self, ax: Axes | str | PathLike[str] | None = None) -> Axes | None:
        """Draw the share of the members with an edge between two features, as a shade for each pair.

        By default, the axes are on a new figure, and are returned. A path writes the picture to a file; its ending,
        such as ``.png``, ``.svg`` or ``.pdf``, is the format.
        """
        from bnplug_mixture.edges import plot_frequencies, save_frequencies

        frequencies, n_members = self.edge_frequencies(), len(self.members_)
        if isinstance(ax, str | PathLike):
            save_frequencies(ax, frequencies, self.target_, n_members)
            return None
        return plot_frequencies(frequencies, self.target_, n_members, ax)

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None, rows: int = 0) -> None:
        """Write one self-contained HTML page about the members, their edges and, with data, the performance.

        Parameters
        ----------
        path : path-like
            The file to write.
        X, y : optional
            Rows and their true classes. With both, the page shows accuracy, AUC and the confusion matrix.
        rows : int, default 0
            The number of rows of `X` to explain: the most uncertain ones. The page then contains their index labels,
            values and true classes.
        """
        from bnplug_mixture.page import write

        check_is_fitted(self)
        write(self, path, X, y, rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the fitted model to a folder; the same as :func:`bnplug.save`."""
        from bnplug import save

        save(self, path)

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the results of fitting for ``bnplug.save``: a dict that JSON can hold, and named arrays."""
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
        """Restore a fitted classifier from its :meth:`saved_state`; the parameters are those of the constructor."""
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
        """Return all fitted networks, including the members, by their role."""

    def _take_over(self, networks: Mapping[str, Sequence[BayesianNetworkClassifier]]) -> Self:
        """Become the fitted classifier of these networks."""
        first = networks["members"][0]
        self.members_ = list(networks["members"])
        self.classes_, self.target_, self.n_features_in_ = first.classes_, first.target_, first.n_features_in_
        named_like(self, first)
        return self

    def _base(self) -> BayesianNetworkClassifier:
        """Return `member`, or the default."""
        if self.member is None:
            return self.default_member()
        if not isinstance(self.member, BayesianNetworkClassifier):
            raise TypeError(f"member={self.member!r} is not a BayesianNetworkClassifier")
        return self.member

    def check_structure(self) -> None:
        """Raise a ``ValueError`` if `member` has a structure, which would have no effect."""
        given, usual = self._base().structure, BayesianNetworkClassifier().structure
        if not (isinstance(given, str) and given == usual):
            raise ValueError(
                f"member has structure={given!r}, which has no effect: {type(self).__name__} selects structures"
            )

    def _network(self, **params: Any) -> BayesianNetworkClassifier:
        """Return an unfitted network with the parameters of `member`, and other values for some of them."""
        shared = {name: value for name, value in self._base().get_params(deep=False).items() if name != "client"}
        return BayesianNetworkClassifier(**{**shared, **params})

    def _make(self, parameter: str, spec: Any) -> Any:
        return self.default_member() if parameter == "member" and spec is None else super()._make(parameter, spec)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class quietly(warnings.catch_warnings):  # noqa: N801
    """Suppress warnings about columns, which the first member has given."""

    def __enter__(self) -> Any:
        stack = super().__enter__()
        for category in (*_OF_COLUMNS, ConstantPredictionWarning):
            warnings.simplefilter("ignore", category)
        return stack


def named_like(model: Any, other: Any) -> None:
    """Give a model the feature names of another; none if the other was fitted on an array."""
    if hasattr(other, "feature_names_in_"):
        model.feature_names_in_ = other.feature_names_in_
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def encoded(members: Sequence[BayesianNetworkClassifier], X: Any) -> list[CodeArray]:
    """Return the codes of rows in each member; warnings about columns are given once."""
    first = members[0].encode(X)
    with quietly():
        return [first, *(member.encode(X) for member in members[1:])]


def log_odds(probabilities: FloatArray) -> FloatArray:
    """Return log P(c) - log (1 - P(c)) for every class; 1 - P(c) is the sum of the others, which is more accurate."""
    with np.errstate(divide="ignore"):
        columns = [
            np.log(probabilities[:, c]) - np.log(np.delete(probabilities, c, axis=1).sum(axis=1))
            for c in range(probabilities.shape[1])
        ]
    odds: FloatArray = np.clip(np.column_stack(columns), -1000.0, 1000.0)
    return odds


def evidence_of_row(evidence: Any) -> dict[str, Any]:
    """Return evidence about one row as a dict; a ``TypeError`` for anything else, such as a frame."""
    if evidence is not None and not isinstance(evidence, Mapping | pd.Series):
        raise TypeError(
            "evidence must be a dict or a series that maps names to values, for one row; "
            f"got a {type(evidence).__name__}. For a frame, query row by row, or use predict_proba for the class"
        )
    return {} if evidence is None else dict(evidence)
