"""What a fitted network answers, shows and writes: everything but the classes of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextvars import ContextVar
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import pandas as pd
from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import _check_n_features, check_is_fitted, validate_data

from bnplug.arrays import CodeArray, FloatArray, IntArray
from bnplug.classifier._costs import cost_matrix, least_expected_cost
from bnplug.classifier._questions import AskedNetwork
from bnplug.data._array_coding import code_known
from bnplug.data._checks import native
from bnplug.data._named_bins import as_states
from bnplug.data.frames import is_frame, to_frame
from bnplug.data.table import check_unseen
from bnplug.exchange._parameters import Unavailable
from bnplug.inference.sample import sample, without_label
from bnplug.model.blanket import markov_blanket

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug.show.explorer import ExplorerPage
    from bnplug.typing import DAG, DiscreteBayesianNetwork

_OF_PGMPY = ("dag_", "network_")
# Whether a diagram is being made.
_shown: ContextVar[bool] = ContextVar("shown", default=False)


class FittedNetwork(AskedNetwork):
    """A network that is fitted, and what can be asked of it; how it is fitted, a subclass says."""

    random_state: Any
    costs: Any

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``."""

    def encode(self, X: Any) -> CodeArray:
        """Return the codes of rows as training decided: what a model of another shape on the same columns starts from.

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
        if not is_frame(X):
            X = validate_data(self, native(X), reset=False, dtype=None, ensure_all_finite="allow-nan")
        check_unseen(self.unseen)
        codes = code_known(X, self.intake_, self.schema_)
        if codes is not None:
            return codes
        frame = to_frame(X, "X")
        if hasattr(self, "feature_names_in_") and is_frame(X):
            self.intake_.check_names(frame, self.target_)
        else:
            # Of an array, in training or now, columns go by position.
            _check_n_features(self, frame, reset=False)
            frame = frame.set_axis(list(self.intake_.columns), axis=1)
        if len(frame) == 0:
            raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
        return self.intake_.encode(frame, self.schema_, self.unseen)

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
        states = as_states(self.encode(X), self.schema_, self.intake_.missing_states)
        told = self.intake_.features(to_frame(X, "X")).columns if is_frame(X) else self.intake_.names
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame({name: states[name] for name in self.intake_.names if name in told}, index)

    @property
    def costs_(self) -> FloatArray | None:
        """What decisions cost, as a matrix [true class, predicted class]; None where all mistakes cost the same."""
        check_is_fitted(self)
        return cost_matrix(self.costs, self.classes_)

    def decide(self, probabilities: FloatArray) -> IntArray:
        """Return which of ``classes_`` is predicted for each row of :meth:`predict_proba`, by position.

        The most probable; with `costs`, that of least expected cost. The first of tied ones.
        """
        return least_expected_cost(probabilities, self.costs_)

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
        """The fitted discretiser, or None where no column is numeric."""
        check_is_fitted(self)
        return self.intake_.discretizer

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
        varying = {name for name, labels in self.tables_.states.items() if len(labels) > 1 or name == self.target_}
        parents = {name: varying & set(own) for name, own in self.tables_.parents.items() if name in varying}
        blanket = markov_blanket(parents, self.target_)
        return [name for name in self.intake_.names if name in blanket]

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
        label = self.classes_[self.decide(probabilities)[0]] if label is None else label
        if label not in self.classes_:
            raise ValueError(f"{label!r} is not one of the classes {self.classes_.tolist()}")
        share = probabilities[0][list(self.classes_).index(label)]
        return plot_explanation(self.explain(X), label, f"{self.target_} = {label}: P = {share:.3f}", ax)

    def sample(self, n: int, random_state: Any = None) -> pd.DataFrame:
        """Return `n` rows drawn from the network, with the class; a numeric feature's bin in place of a number.

        Without the class they are what :meth:`predict_proba` takes. Where missing is a state (``missing="value"``), a
        cell in that state is missing.
        """
        check_is_fitted(self)
        if random_state is None and not isinstance(self.random_state, Unavailable):
            random_state = self.random_state
        rows = sample(self.tables_, n, random_state)
        cells = {name: without_label(rows[name], label) for name, label in self.intake_.missing_states.items()}
        return rows.assign(**cells)

    @overload
    def plot(self, ax: Axes | None = None) -> Axes: ...

    @overload
    def plot(self, ax: str | PathLike[str]) -> None: ...

    def plot(self, ax: Axes | str | PathLike[str] | None = None) -> Axes | None:
        """Draw the structure with matplotlib, and return the axes; or write the picture to a file.

        Parameters
        ----------
        ax : matplotlib Axes or path, optional
            Where to draw; by default a figure of its own. A path is a file: its ending, such as ``.png``, ``.svg``,
            ``.pdf`` or ``.dot``, is the format.
        """
        from bnplug.show.drawing import plot, save_picture

        check_is_fitted(self)
        if isinstance(ax, str | PathLike):
            save_picture(ax, self.tables_.names, self.tables_.edges, self.target_)
            return None
        return plot(self.tables_.names, self.tables_.edges, self.target_, ax=ax)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the fitted model to a folder; the same as :func:`bnplug.save`."""
        from bnplug.classifier.opening import save

        save(self, path)

    def to_bif(self, path: str | PathLike[str]) -> None:
        """Write the network as a BIF file, which pgmpy and pyAgrum read; see :func:`bnplug.read_bif`."""
        self._write(path, "bif")

    def to_xmlbif(self, path: str | PathLike[str]) -> None:
        """Write the network as an XMLBIF file, which Weka reads too; see :func:`bnplug.read_xmlbif`."""
        self._write(path, "xmlbif")

    def to_xdsl(self, path: str | PathLike[str]) -> None:
        """Write the network as an XDSL file, which GeNIe reads; see :func:`bnplug.read_xdsl`."""
        self._write(path, "xdsl")

    def to_net(self, path: str | PathLike[str]) -> None:
        """Write the network as a NET file, which Hugin reads; see :func:`bnplug.read_net`."""
        self._write(path, "net")

    def _write(self, path: str | PathLike[str], format_name: str) -> None:
        from bnplug.exchange.network_files import write_network

        check_is_fitted(self)
        write_network(self.tables_, path, format_name, self.intake_)

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
        from bnplug.show.report import write

        check_is_fitted(self)
        write(self, path, X, y, rows)

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
            The file. None: what is returned shows the page in a notebook.
        X, y : optional
            The data to take `rows` from, and their true classes.
        features : int or names, optional
            The features to show, or how many of those that tell most of the class; parents come with them.
        rows : int, default 0
            The number of rows of `X`, from the first, that readers of the page can load. The page then contains their
            index labels, values and true classes, and anyone with the page can read them.
        """
        from bnplug.show import explorer

        check_is_fitted(self)
        if path is None:
            return explorer.ExplorerPage(explorer.to_html(self, X, y, features, rows))
        explorer.write(self, path, X, y, features, rows)
        return None

    def __dir__(self) -> list[str]:
        # scikit-learn computes every property to see whether it is there, and its diagram shows them all: pgmpy would
        # be loaded, and its network made, whenever a notebook shows a model or completes a name.
        costly = () if _shown.get() else _OF_PGMPY
        names = [name for name in object.__dir__(self) if name not in _OF_PGMPY]
        return [*(name for name in names if hasattr(self, name)), *costly]

    def _repr_html_(self) -> str:
        """Return scikit-learn's diagram; of a fitted model also its size, what made it, and the graph."""
        from bnplug.show._notebook import fitted_display

        before = _shown.set(True)
        try:
            html: str = estimator_html_repr(self)
        finally:
            _shown.reset(before)
        return html + fitted_display(self) if hasattr(self, "tables_") else html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        return {**shown, "text/html": self._repr_html_()} if get_config()["display"] == "diagram" else shown
