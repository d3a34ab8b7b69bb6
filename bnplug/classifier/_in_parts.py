"""A classifier that learns from, and answers for, more rows than fit into memory: files in batches, rows in parts."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug.arrays import BoolArray, CodeArray
from bnplug.classifier._answers import FittedNetwork
from bnplug.classifier._bins import wanted_discretizer
from bnplug.classifier._costs import cost_matrix
from bnplug.classifier._rows import answers, kinds_for, rows_for
from bnplug.contracts import InnerFold
from bnplug.data._named_bins import check_known_states
from bnplug.data.class_labels import _among_classes, class_labels
from bnplug.data.intake import Intake, _learning_weights
from bnplug.data.missing_cells import MissingCells
from bnplug.data.table import Table, check_unseen
from bnplug.exchange._parameters import check_complete
from bnplug.hooks import registry
from bnplug.hooks.components import component
from bnplug.hooks.descriptors import Kind, is_component
from bnplug.model.checks import check_tables
from bnplug.model.log_tables import LogTables

if TYPE_CHECKING:
    from bnplug.data._streaming import Paths
    from bnplug.typing import DAG

#: Told what is being done, the rows that are done, and their number.
Progress = Callable[[str, int, int], None]


class LearnsInParts(FittedNetwork):
    """A network that is fitted on files and on rows in parts, as a subclass learns on tables."""

    discretizer: Any
    categorical_features: Any
    class_weight: Any
    missing: Any
    unlabeled: Any
    on_useless: str
    max_categories: int | None
    min_frequency: Any
    dates: str
    structure: Any
    parameters: Any
    calibrate: Any
    structure_: Any
    parameters_: Any

    @abstractmethod
    def _learn(self, table: Table, folds: Callable[[int], list[InnerFold]], more_rows: bool = False) -> Self: ...

    @abstractmethod
    def _set_model(self, tables: LogTables) -> Self: ...

    @abstractmethod
    def _structure(self, table: Table) -> tuple[Any, DAG]: ...

    @abstractmethod
    def _named_frame(self, X: Any, y: Any) -> pd.DataFrame: ...

    @abstractmethod
    def _code(self, frame: pd.DataFrame, y: Any, weights: Any, **others: Any) -> tuple[Table, Intake]: ...

    def fit_files(
        self,
        paths: Paths,
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        csv: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn structure and parameters from files that need not fit into memory.

        The model is that of :meth:`fit` on all rows, as long as columns have no more distinct values than
        :func:`bnplug.open_table` keeps.

        Parameters
        ----------
        paths : path, pattern such as ``"rows/*.parquet"``, or a list of them
            Parquet, or CSV with a header, gzipped or not.
        target : str
            The column that holds the class.
        sample_weight : str, optional
            The column that holds the weights of the rows.
        columns : sequence of str, optional
            The features; by default all other columns.
        cache : path, optional
            A folder that keeps the coded rows for the next time; see :func:`bnplug.open_table`.
        csv : dict, optional
            How CSV files are read; see :func:`bnplug.open_table`.
        progress : callable, optional
            Called with what is being done, the number of rows that are done, and the number of all.
        """
        from bnplug.exchange.table_files import open_table

        check_complete(self)
        check_unseen(self.unseen)
        self._check_uncalibrated()
        table = open_table(
            paths, target, cache=cache, sample_weight=sample_weight, columns=columns, csv=csv, progress=progress,
            discretizer=self._bins(), categorical_features=self.categorical_features,
            class_weight=self.class_weight, missing=self.missing, on_useless=self.on_useless,
            max_categories=self.max_categories, min_frequency=self.min_frequency, dates=self.dates, n_jobs=self.n_jobs,
            relative_weights=self._relative_weights(),
        )  # fmt: skip
        names = table.intake.columns
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        self._note_table(table, table.intake)
        return self._learn(table, self._no_folds)

    def _bins(self) -> Any:
        """Return the discretiser to take."""
        return wanted_discretizer(self.discretizer, self.parameters)

    def _relative_weights(self) -> bool:
        """Return whether a learner uses only the ratios of weights."""
        learners = [registry.build(Kind.PARAMETER_LEARNER, self.parameters)]
        if is_component(self.structure) or hasattr(self.structure, "learn"):
            learners.append(registry.build(Kind.STRUCTURE_LEARNER, self.structure))
        # A learner need not derive from the base class.
        return any(getattr(learner, "relative_weights", False) for learner in learners)

    def _make(self, parameter: str, spec: Any) -> Any:
        return super()._make(parameter, self._bins() if parameter == "discretizer" else spec)

    def _note_table(self, table: Table, intake: Intake) -> None:
        self.intake_, self.classes_ = intake, intake.classes
        self.target_, self.schema_ = table.target, table.take([])
        cost_matrix(self.costs, self.classes_, warn=True)

    def _check_uncalibrated(self) -> None:
        if self.calibrate is not None:
            raise ValueError(
                f"calibrate={self.calibrate!r} looks at rows held out, for which all must be in memory: use fit"
            )

    def _no_folds(self, n_folds: int) -> list[InnerFold]:
        raise ValueError(
            f"parameters={self.parameters!r} are chosen by rows held out, in folds in which columns are cut anew; for "
            "that all rows must be in memory: use fit"
        )

    def predict_files(
        self,
        paths: Paths,
        out: str | os.PathLike[str],
        *,
        ids: Sequence[str] = (),
        csv: Mapping[str, Any] | None = None,
        formulas: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Predict the rows of files, batch by batch, and write them to a file; return their number.

        Columns that training did not have are ignored with a warning; the class is passed over.

        Parameters
        ----------
        paths : path, pattern such as ``"rows/*.parquet"``, or a list of them
        out : path
            ``.parquet`` or ``.pq``, or else CSV, gzipped where it ends in ``.gz``: the class, and a column ``P(label)``
            for each class. It is there when all is written.
        ids : sequence of str
            Columns to repeat before the predictions.
        csv : dict, optional
            How CSV files are read; see :func:`bnplug.open_table`. What the model knows as text is text.
        formulas : bool
            Whether to write text to CSV unchanged. By default, text that a spreadsheet program could run as a formula,
            such as ``=HYPERLINK(...)``, gets a leading apostrophe, in cells and column names. Parquet files are never
            changed.
        progress : callable, optional
            Called with what is being done, the number of rows that are done, and the number of all.
        """
        from bnplug.data._streaming import DataFiles
        from bnplug.exchange._answer_files import answer_file

        check_is_fitted(self)
        kinds = kinds_for(self, self.target_, ids)
        known = {
            "text": [name for name, kind in kinds.items() if kind == "text"],
            "numbers": [name for name, kind in kinds.items() if kind == "number"],
            "dates": [name for name, kind in kinds.items() if kind == "date"],
        }
        files, done = DataFiles(paths, **{**known, **(csv or {})}), 0
        with answer_file(out, formulas) as file:
            for batch in files.batches():
                file.write(answers(self, rows_for(self, batch.frame, self.target_, list(ids))))
                done += len(batch.frame)
                if progress is not None:
                    progress("predictions", done, files.n_rows)
        return done

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        states: Mapping[str, Sequence[Any]] | None = None,
    ) -> Self:
        """Learn from more rows: parameters that are counts, those of ``backoff`` and ``ml``, add up.

        The first rows settle the structure (unless it is given), the cuts of numbers and the states of columns, as
        :meth:`fit` does, which may be what came first. Then a value that is no state is unseen, as in prediction. The
        model is, to the last bit, that of :meth:`fit` on all rows with this structure and these states (for
        ``backoff``: and with parents in this order).

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
        y : array-like
            The class of every row.
        classes : array-like
            All classes that may ever come; needed at first, and then the same or nothing.
        sample_weight : array-like, optional
            As for :meth:`fit`. Weights must be on the same scale in all parts.
        states : dict of str to sequence, optional
            At first: the states that columns may have in later rows, besides those that they have now. Later nothing,
            or states that are known.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier
        >>> model = BayesianNetworkClassifier("nb")
        >>> for sky, play in [("sun", "yes"), ("rain", "no")]:
        ...     rows = pd.DataFrame({"sky": [sky] * 3})
        ...     model = model.partial_fit(rows, [play] * 3, ["no", "yes"], states={"sky": ["rain", "sun"]})
        >>> model.predict(pd.DataFrame({"sky": ["rain", "sun"]}))
        array(['no', 'yes'], dtype='<U3')
        """
        check_complete(self)
        check_unseen(self.unseen)
        self._check_uncalibrated()
        if MissingCells.of(self.missing).incomplete == "em":
            raise ValueError('missing="em" needs all rows at once, again and again: use fit, or fit_files')
        if isinstance(self.class_weight, str):
            raise ValueError(f"class_weight={self.class_weight!r} needs all rows at once; give weights as a dict")
        if _check_partial_fit_first_call(self, classes):
            return self._first_part(X, y, sample_weight, states)
        check_is_fitted(self, "tables_")
        check_known_states(states or {}, self.schema_, self.intake_.columns)
        return self._next_part(X, y, sample_weight)

    def _first_part(self, X: Any, y: Any, sample_weight: Any, states: Mapping[str, Sequence[Any]] | None) -> Self:
        learner = component("parameter learner", self.parameters, self)
        if not hasattr(learner, "partial_fit"):
            del self.classes_
            raise ValueError(
                f"parameters={self.parameters!r} are not learned in parts; 'backoff' and 'ml' are, since counts add up"
            )
        try:
            frame = self._named_frame(X, y)
            own = {"class_weight": self.class_weight, "classes": self.classes_, "states": states}
            table, intake = self._code(frame, y, sample_weight, **own)
            self._note_table(table, intake)
            return self._learn(table, self._no_folds, more_rows=True)
        except BaseException:
            # Or the next rows would be taken for later ones.
            del self.classes_
            raise

    def _next_part(self, X: Any, y: Any, sample_weight: Any) -> Self:
        learner = self.parameters_
        if not hasattr(learner, "partial_fit") or not hasattr(learner, "counts_"):
            raise ValueError(
                "this model has no counts to add to: it was loaded or made of tables, or its parameters are no counts; "
                "fit or partial_fit it first, with parameters='backoff' or 'ml'"
            )
        table = self._table(X, y, sample_weight)
        dag = self.schema_.dag([[table.index(p) for p in self.tables_.parents[name]] for name in table.names])
        return self._set_model(check_tables(learner.partial_fit(table, dag), table, table.parents(dag), learner))

    def _table(self, X: Any, y: Any, sample_weight: Any) -> Table:
        """Return more rows as a table with the states that are known."""
        labels = class_labels(y)
        codes = np.array(self.encode(X))
        validate_data(self, X, labels, reset=False, skip_check_array=True)
        found = _among_classes(labels, self.classes_)[1]
        if len(found) != codes.shape[1]:
            raise ValueError(f"X has {codes.shape[1]} rows and y has {len(found)}")
        codes[self.schema_.target_index] = found
        weights = _learning_weights(pd.DataFrame(index=range(len(labels))), labels, sample_weight, self.class_weight)
        kept = np.ones(len(labels), dtype=bool) if weights is None else weights > 0
        kept &= self._complete_enough(codes)
        weights = None if weights is None else weights[kept]
        return Table(codes[:, kept], self.schema_.names, self.schema_.states, self.target_, weights)

    def _complete_enough(self, codes: CodeArray) -> BoolArray:
        """Return which rows are learned from, as `missing` says."""
        features = self.schema_.features
        holes = codes[features] == self.schema_.missing
        ways = MissingCells.of(self.missing)
        names = [self.schema_.names[v] for v in features]
        refused = ways.columns("error", [name for name, own in zip(names, holes, strict=True) if own.any()])
        if refused:
            raise ValueError(f'columns {refused} have missing cells, and missing="error"')
        dropped = np.isin(names, ways.columns("drop", names))
        found: BoolArray = ~holes[dropped].any(axis=0)
        return found
