"""FittedNetwork: encoding rows, reading, drawing and exporting a fitted network; shared by all estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_scalar
from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted, validate_data

from bnplug.contracts import CompiledNetwork, Composite, Engine
from bnplug.errors import MissingFeatureWarning, warn_outside
from bnplug.files import write_atomically
from bnplug.inference.sample import sample, without_label
from bnplug.io._parameters import Unavailable
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import blanket_of
from bnplug.table._checks import native
from bnplug.table.coding import check_unseen
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.frames import is_frame, to_frame
from bnplug.table.table import Table
from bnplug.typing import CodeArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug.show.explorer import ExplorerPage
    from bnplug.typing import DAG, DiscreteBayesianNetwork

_OF_PGMPY = ("dag_", "network_")
# Whether a diagram is being made.
_shown: ContextVar[bool] = ContextVar("shown", default=False)


def named_frame(model: Any, X: Any) -> pd.DataFrame:
    """Return rows as a frame with the columns of training.

    Columns are matched by position if `X` is an array, or if training had an array and `X` has names other than
    ``x0``, ``x1``, ..., for which scikit-learn's warning is given.
    """
    frame, names = to_frame(X, "X"), list(model.encoder_.columns)
    if is_frame(X) and (hasattr(model, "feature_names_in_") or set(frame.columns) == set(names)):
        return frame
    _check_n_features(model, frame, reset=False)
    if is_frame(X):
        _check_feature_names(model, X, reset=False)
    return frame.set_axis(names, axis=1)


def one_row(X: Any) -> Any:
    """Return a frame of one row for a dict of values or a series with names; anything else is returned as it is."""
    if isinstance(X, pd.Series) and len(X) and all(isinstance(name, str) for name in X.index):
        return pd.DataFrame({name: pd.Series([value], [X.name]) for name, value in X.items()})
    if isinstance(X, Mapping) and X and all(value is None or is_scalar(value) for value in X.values()):
        return pd.DataFrame({name: pd.Series([value]) for name, value in X.items()})
    return X


class FittedNetwork(Composite):
    """A fitted network; subclasses implement the fitting."""

    components: ClassVar[Mapping[str, str]] = {
        "structure": "structure",
        "parameters": "parameters",
        "discretizer": "discretizer",
        "engine": "engine",
    }
    unseen: str
    max_clique_size: int
    random_state: Any
    n_jobs: int | None
    classes_: npt.NDArray[Any]
    target_: str
    schema_: Table
    encoder_: ColumnEncoder
    tables_: LogTables
    engine_: Engine
    _marginalizer: CompiledNetwork
    _is_network: bool

    def encode(self, X: Any) -> CodeArray:
        """Return the codes of rows as training decided: what a model of another shape on the same columns starts from.

        Like every method that takes rows, it takes one row, too: a dict of values, or a series with names.

        Returns
        -------
        unsigned array of shape (variables, rows)
            Variables in the order of ``schema_.names``, a state by its position in ``schema_.states``;
            ``schema_.missing`` is a missing cell, and so are a value that training has not seen and the class.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> model = BayesianNetworkClassifier("nb").fit([["sun"], ["rain"], ["sun"]], ["go", "stay", "go"])
        >>> model.encode([["rain"], [None]]).tolist()
        [[0, 255], [255, 255]]
        """
        check_is_fitted(self)
        return self._encode(X, self.encoder_)

    def _encode(self, X: Any, encoder: ColumnEncoder) -> CodeArray:
        X = one_row(X)
        if not is_frame(X):
            X = validate_data(self, native(X), reset=False, dtype=None, ensure_all_finite="allow-nan")
        check_unseen(self.unseen)
        codes = encoder.coder(self.schema_).code_plain(X)
        if codes is not None:
            return codes
        frame = named_frame(self, X)
        frame = encoder.known_columns(frame, self.target_)
        if len(frame) == 0:
            raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
        return encoder.encode(frame, self.schema_, self.unseen)

    def _named(self, X: Any) -> Any:
        """Return frames and single rows with the columns of training, and arrays as they are."""
        X = one_row(X)
        return named_frame(self, X) if is_frame(X) else X

    def _warn_where_missing(self, codes: CodeArray) -> None:
        """Warn if answers for rows with missing features depend on how the parameters were learned."""
        if not self._is_network and (codes[self.schema_.features] == self.schema_.missing).any():
            warn_outside(
                "some features are missing, and these discriminative parameters do not define a Bayesian network, "
                "because the structure is not C1: predictions for these rows depend on how the parameters were learned",
                MissingFeatureWarning,
            )

    def bins(self, X: Any) -> pd.DataFrame:
        """Return rows of any mix of columns as the network's states: numbers in their bins, rare values pooled.

        Returns
        -------
        pandas frame
            A column for each feature in `X`, with its states as categories. A cell is missing if it is missing in `X`
            or if its value did not occur in training. If missing is a state of the column (``missing="value"``), such
            a value becomes ``"unseen"`` instead. The model makes the same predictions for this frame as for `X`, and
            so does a model read from a BIF file of this one.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> X = pd.DataFrame({"heat": [3.5, 30.5] * 20, "sky": ["rain", "sun"] * 20})
        >>> y = ["stay", "go"] * 19 + ["go", "stay"]
        >>> model = BayesianNetworkClassifier("nb", discretizer="mdl").fit(X, y)
        >>> model.bins(pd.DataFrame({"heat": [20.0, None], "sky": ["rain", "rain"]}))
           heat   sky
        0   >17  rain
        1   NaN  rain
        """
        check_is_fitted(self)
        X = self._named(X)
        states = self.encoder_.to_states(self.encode(X), self.schema_)
        told = self.encoder_.features(X).columns if is_frame(X) else self.encoder_.names
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame({name: states[name] for name in self.encoder_.names if name in told}, index)

    @property
    def dag_(self) -> DAG:
        """The fitted structure as a pgmpy DAG."""
        check_is_fitted(self)
        return self.tables_.to_dag()

    @property
    def network_(self) -> DiscreteBayesianNetwork:
        """The fitted pgmpy network; a ``NotRepresentableError`` where the parameters make none."""
        check_is_fitted(self)
        return self.tables_.to_network()

    @property
    def discretizer_(self) -> Any:
        """The fitted discretizer; None if no column is numeric."""
        check_is_fitted(self)
        return self.encoder_.discretizer

    def cpt(self, name: str) -> pd.DataFrame:
        """Return a variable's probabilities: a row for each state, a column for each parent configuration."""
        check_is_fitted(self)
        self.schema_.index(name)
        return self.tables_.cpt(name)

    def markov_blanket(self) -> list[str]:
        """Return the features that matter where all are known: parents, children, co-parents of the class.

        One that has a single state matters to nothing.
        """
        check_is_fitted(self)
        blanket = blanket_of(self.tables_)
        return [name for name in self.encoder_.names if name in blanket]

    def sample(self, n: int, random_state: Any = None) -> pd.DataFrame:
        """Return `n` rows drawn from the network, with the class; a numeric feature's bin in place of a number.

        Without the class they are what :meth:`predict_proba` takes. Where missing is a state (``missing="value"``), a
        cell in that state is missing.
        """
        check_is_fitted(self)
        if random_state is None and not isinstance(self.random_state, Unavailable):
            random_state = self.random_state
        rows = sample(self.tables_, n, random_state)
        cells = {name: without_label(rows[name], label) for name, label in self.encoder_.missing_states.items()}
        return rows.assign(**cells)

    @overload
    def plot(self, ax: Axes | None = None) -> Axes: ...

    @overload
    def plot(self, ax: str | PathLike[str]) -> None: ...

    def plot(self, ax: Axes | str | PathLike[str] | None = None) -> Axes | None:
        """Draw the structure with matplotlib, and return the axes; or write the picture to a file.

        By default, the axes are on a new figure. The ending of a path, such as ``.png``, ``.svg``, ``.pdf`` or
        ``.dot``, is the format.
        """
        from bnplug.show.drawing import plot, save_picture

        check_is_fitted(self)
        if isinstance(ax, str | PathLike):
            save_picture(ax, self.tables_.names, self.tables_.edges, self.target_)
            return None
        return plot(self.tables_.names, self.tables_.edges, self.target_, ax=ax)

    def write(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the network to a file that other programs read; :func:`bnplug.read_network` reads it back.

        Parameters
        ----------
        path : path
        format : str, optional
            The name of a format, such as ``"bif"`` or ``"xmlbif"``; by default the ending of `path` decides. Plugins
            add formats: bnplug-deploy has ``"net"`` (Hugin) and ``"xdsl"`` (GeNIe).

        Raises
        ------
        NotRepresentableError
            If the tables of the model are not normalized.
        """
        from bnplug.io.network_files import write_network

        check_is_fitted(self)
        write_network(self.tables_, path, format, self.encoder_)

    def to_bif(self, path: str | PathLike[str]) -> None:
        """Write the network as a BIF file, which pgmpy and pyAgrum read; see :func:`bnplug.read_bif`."""
        self.write(path, "bif")

    def to_xmlbif(self, path: str | PathLike[str]) -> None:
        """Write the network as an XMLBIF file, which Weka reads, too; see :func:`bnplug.read_xmlbif`."""
        self.write(path, "xmlbif")

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz; the class is marked."""
        from bnplug.show.drawing import to_dot

        check_is_fitted(self)
        return to_dot(self.tables_.names, self.tables_.edges, self.target_)

    def to_mermaid(self) -> str:
        """Return the graph in the language of Mermaid, which Markdown pages draw; the class is marked."""
        from bnplug.show.drawing import to_mermaid

        check_is_fitted(self)
        return to_mermaid(self.tables_.names, self.tables_.edges, self.target_)

    def report(self, path: str | PathLike[str], X: Any = None, y: Any = None, rows: int = 0) -> None:
        """Write one self-contained HTML page about the model and, with data, its performance.

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
        from bnplug.show.report import to_html

        check_is_fitted(self)
        write_atomically(path, to_html(self, self._named(X), y, rows))

    def explore(
        self,
        path: str | PathLike[str] | None = None,
        X: Any = None,
        y: Any = None,
        features: int | Sequence[str] | None = None,
        rows: int = 0,
    ) -> ExplorerPage | None:
        """Write one self-contained HTML page that answers click by click; without a path, show it in the notebook.

        Parameters
        ----------
        path : path-like, optional
            The file. None: return an object that shows the page in a notebook.
        X, y : optional
            The data to take `rows` from, and their true classes.
        features : int or names, optional
            The features to show, or how many of the most informative ones; their parents are added. The page
            gives the same answers about them as the whole network.
        rows : int, default 0
            The number of rows of `X`, from the first, that readers of the page can load. The page then contains their
            index labels, values and true classes, and anyone with the page can read them.

        Raises
        ------
        ValueError
            If the network is too large for a browser; the message says how many features would fit.
        """
        from bnplug.show import explorer

        check_is_fitted(self)
        page = explorer.to_html(self, self._named(X), y, features, rows)
        if path is None:
            return explorer.ExplorerPage(page)
        write_atomically(path, page)
        return None

    def __dir__(self) -> list[str]:
        # scikit-learn computes every property to see whether it is there, and its diagram shows them all: pgmpy would
        # be loaded, and its network made, whenever a notebook shows a model or completes a name.
        costly = () if _shown.get() else _OF_PGMPY
        names = [name for name in object.__dir__(self) if name not in _OF_PGMPY]
        return [*(name for name in names if hasattr(self, name)), *costly]

    def _repr_html_(self) -> str:
        """Return scikit-learn's diagram; of a fitted model also its size, what made it, and the graph."""
        from bnplug.show.summary import fitted_display

        before = _shown.set(True)
        try:
            html: str = estimator_html_repr(self)
        finally:
            _shown.reset(before)
        return html + fitted_display(self) if hasattr(self, "tables_") else html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        return {**shown, "text/html": self._repr_html_()} if get_config()["display"] == "diagram" else shown
