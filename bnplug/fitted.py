"""What a fitted classifier can be asked besides its predictions: tables, reasons, samples, pictures and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from bnplug.arrays import CodeArray, FloatArray
from bnplug.data.intake import Intake
from bnplug.data.table import Table
from bnplug.inference.explain import contributions, to_long_frame
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.queries import query
from bnplug.inference.sample import label_index, sample, without_label
from bnplug.model.blanket import markov_blanket
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug.classifier import BayesianNetworkClassifier
    from bnplug.typing import DAG, DiscreteBayesianNetwork


class FittedNetwork:
    """The part of :class:`~bnplug.BayesianNetworkClassifier` that reads a fitted network."""

    classes_: npt.NDArray[Any]
    intake_: Intake
    schema_: Table
    tables_: LogTables
    target_: str
    max_clique_size: int
    n_jobs: int | None
    random_state: Any
    _marginalizer: Marginalizer

    if TYPE_CHECKING:

        def _encode(self, X: Any) -> CodeArray: ...

        def predict_proba(self, X: Any) -> FloatArray: ...  # noqa: D102

    @property
    def dag_(self) -> DAG:
        """The fitted structure as a pgmpy DAG."""
        check_is_fitted(self)
        return self.schema_.dag([[self.schema_.index(p) for p in own] for own in self.tables_.parents.values()])

    @property
    def network_(self) -> DiscreteBayesianNetwork:
        """The fitted pgmpy network; a ``NotRepresentableError`` where the parameters make none."""
        check_is_fitted(self)
        return self.tables_.to_network()

    @property
    def discretizer_(self) -> Any:
        """The fitted discretiser, or None where no column is numeric."""
        check_is_fitted(self)
        return self.intake_.discretizer

    def cpt(self, name: str) -> pd.DataFrame:
        """Return a variable's probabilities: a row for each state, a column for each parent configuration."""
        check_is_fitted(self)
        self.schema_.index(name)
        parents, values = self.tables_.tables[name]
        rows = pd.Index(self.tables_.states[name], dtype=object, name=name)
        if not parents:
            return pd.DataFrame({"probability": np.exp(values)}, index=rows)
        states = [label_index(self.tables_.states[parent]) for parent in parents]
        columns = pd.MultiIndex.from_product(states, names=parents)
        return pd.DataFrame(np.exp(values).reshape(len(rows), -1), index=rows, columns=columns)

    def markov_blanket(self) -> list[str]:
        """Return the features that matter where all are known: parents, children, co-parents of the class."""
        check_is_fitted(self)
        blanket = markov_blanket(self.tables_.parents, self.target_)
        return [name for name in self.intake_.names if name in blanket]

    def explain(self, X: Any) -> pd.DataFrame:
        """Return what each known feature contributes to the log odds of each class, row by row.

        The contributions of a row to a class, with the prior log odds (feature ``(prior)``), add up to
        that class's posterior log odds. A feature's contribution is the change when it is revealed, the mean over
        two orders of revealing: as the features come, and the reverse. A missing feature contributes 0.

        Returns
        -------
        pandas frame
            Columns ``row`` (the label of the row), ``feature``, ``class`` and ``contribution``.
        """
        codes = self._encode(X)
        values = contributions(self._marginalizer, codes, self.n_jobs)
        features = [name for name in self.tables_.names if name != self.target_]
        rows = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(values))
        return to_long_frame(values, rows, features, self.classes_)

    def plot_explanation(self, X: Any, label: Any = None, ax: Axes | None = None) -> Axes:
        """Draw :meth:`explain` for the one row in `X` as bars; return the axes.

        Parameters
        ----------
        X : frame or array of one row
        label : class label, optional
            The class whose log odds are explained; by default the predicted one.
        """
        from bnplug.show.explanation import plot_explanation

        probabilities = self.predict_proba(X)
        if len(probabilities) != 1:
            raise ValueError(f"X has {len(probabilities)} rows; an explanation is drawn for one")
        label = self.classes_[probabilities[0].argmax()] if label is None else label
        if label not in self.classes_:
            raise ValueError(f"{label!r} is not one of the classes {self.classes_.tolist()}")
        share = probabilities[0][list(self.classes_).index(label)]
        return plot_explanation(self.explain(X), label, f"{self.target_} = {label}: P = {share:.3f}", ax)

    def query(self, variables: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return P(variables | evidence) for any variables, the class and features alike.

        Parameters
        ----------
        variables : str or sequence of str
            What is asked about, jointly.
        evidence : mapping of str to value, optional
            What is known, by name, as data hold it; a numeric feature's value is a number. None (or NaN) is a
            missing cell, where training made that a state (``missing="value"``); the state's label is no value.

        Returns
        -------
        pandas frame
            One row for each joint state, by its labels, and a column ``probability``.
        """
        check_is_fitted(self)
        names = [variables] if isinstance(variables, str) else list(variables)
        probabilities = query(self.tables_, names, self._states(evidence or {}), self.max_clique_size)
        codes = np.indices(probabilities.shape).reshape(len(names), -1)
        labels = [label_index(self.tables_.states[name]) for name in names]
        frame = pd.DataFrame({name: own.take(c).array for name, own, c in zip(names, labels, codes, strict=True)})
        frame.insert(len(names), "probability", probabilities.ravel())
        return frame

    def _states(self, evidence: Mapping[str, Any]) -> dict[str, int]:
        """Return the code of each value in `evidence`; one that is no state is an error."""
        frame = pd.DataFrame({name: pd.Series([value]) for name, value in evidence.items()})
        for name in frame.columns:
            self.schema_.index(name)
        missing_states = self.intake_.missing_states
        empty = [name for name in frame.columns if frame[name].isna().all() and name not in missing_states]
        if empty:
            raise ValueError(f"evidence {empty} is missing; leave it out")
        for name, label in missing_states.items():
            if isinstance(evidence.get(name), str) and evidence[name] == label:
                raise ValueError(
                    f"evidence {name!r}: training has not seen the value {label!r}, which names the state of missing "
                    "cells here; for that state give None"
                )
        codes = self.intake_.encode(frame, self.schema_, unseen="error")
        return {name: int(codes[self.schema_.index(name), 0]) for name in evidence}

    def sample(self, n: int, random_state: Any = None) -> pd.DataFrame:
        """Return `n` rows drawn from the network, with the class; a numeric feature's bin in place of a number.

        Where missing is a state (``missing="value"``), a cell in that state is missing.
        """
        check_is_fitted(self)
        rows = sample(self.tables_, n, self.random_state if random_state is None else random_state)
        cells = {name: without_label(rows[name], label) for name, label in self.intake_.missing_states.items()}
        return rows.assign(**cells)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the structure with matplotlib; return the axes."""
        from bnplug.show.drawing import plot

        check_is_fitted(self)
        return plot(self.tables_.names, self.tables_.edges, self.target_, ax=ax)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the fitted model to a folder that :func:`bnplug.load` reads; no code is stored."""
        from bnplug.exchange.model_folder import save

        check_is_fitted(self)
        save(cast("BayesianNetworkClassifier", self), path)

    def to_bif(self, path: str | PathLike[str]) -> None:
        """Write the network as a BIF file, which pgmpy and pyAgrum read; see :func:`bnplug.read_bif`."""
        from bnplug.exchange.bif import write_bif

        check_is_fitted(self)
        write_bif(self.tables_, path)

    def to_xmlbif(self, path: str | PathLike[str]) -> None:
        """Write the network as an XMLBIF file, which Weka reads too; see :func:`bnplug.read_xmlbif`."""
        from bnplug.exchange.xmlbif import write_xmlbif

        check_is_fitted(self)
        write_xmlbif(self.tables_, path)

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write one self-contained HTML page on the model; with data, also on how well it does on them."""
        from bnplug.show.report import write

        check_is_fitted(self)
        write(cast("BayesianNetworkClassifier", self), path, X, y)

    def _repr_html_(self) -> str:
        from bnplug.show.drawing import to_svg

        html: str = estimator_html_repr(self)
        if hasattr(self, "tables_"):
            html += to_svg(self.tables_.names, self.tables_.edges, self.target_)
        return html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
