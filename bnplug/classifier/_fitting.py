"""Fitting a classifier: on encoded tables, on files that need not fit into memory, and on rows in parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug.classifier._calibrating import calibration, check_calibrate
from bnplug.classifier._components import check_unlabeled, find_structure, uses_relative_weights, wanted_discretizer
from bnplug.classifier._predicting import PredictMixin, cost_matrix
from bnplug.classifier._rows import answers, kinds_for, rows_for, used_columns
from bnplug.contracts import InnerFold
from bnplug.errors import BnplugWarning, PluginWarning, warn_outside
from bnplug.hooks import registry
from bnplug.hooks.components import component
from bnplug.hooks.descriptors import Kind, as_written
from bnplug.inference.calibration import calibrated
from bnplug.inference.marginals import check_marginals
from bnplug.io._parameters import Unavailable, check_complete, components
from bnplug.model.checks import check_tables, warn_of_constant_prediction
from bnplug.model.log_tables import Calibration, LogTables
from bnplug.model.training_summary import TrainingSummary
from bnplug.network._fitted import named_frame
from bnplug.sources.training import _encode_frame, _encode_source, _learning_weights
from bnplug.table._checks import native
from bnplug.table._columns import check_known_states
from bnplug.table._leakage import warn_of_features
from bnplug.table.class_labels import _among_classes, class_labels, label_array
from bnplug.table.coding import check_unseen
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.frames import is_frame, to_frame
from bnplug.table.rules import ColumnRules, MissingPolicies
from bnplug.table.table import Table
from bnplug.typing import CodeArray

if TYPE_CHECKING:
    from bnplug.sources._streaming import Paths
    from bnplug.sources._table_files import Progress


class FitMixin(PredictMixin):
    """Fitting on encoded tables, on files and on rows in parts."""

    discretizer: Any
    class_weight: Any
    missing: Any
    structure: Any
    parameters: Any
    calibrate: Any
    engine: Any
    training_summary_: TrainingSummary | None

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
        :func:`bnplug.encode_training` keeps.

        The parameters are as for :func:`bnplug.encode_training`; `target` and `sample_weight` are names of columns.
        """
        from bnplug.sources._streaming import find_files

        options = {"columns": columns, "cache": cache, "csv": csv, "n_jobs": self.n_jobs, "progress": progress}
        return self.fit_table(*self.encode_training(find_files(paths), target, sample_weight, **options))

    def encode_training(
        self, source: Any, target: Any, sample_weight: Any = None, **options: Any
    ) -> tuple[Table, ColumnEncoder]:
        """Return training rows as a table, and their encoder, by the column rules and class weights of this classifier.

        The parameters are as for :func:`bnplug.encode_training`; :meth:`fit_table` learns from the results.
        """
        source = to_frame(source, "X") if isinstance(source, pd.DataFrame) else source
        return self._encode_training(source, target, sample_weight, class_weight=self.class_weight, **options)

    def fit_table(self, table: Table, encoder: ColumnEncoder) -> Self:
        """Learn structure and parameters from an encoded table, in memory, in files or on a Dask cluster.

        Table and encoder are what :func:`bnplug.encode_training` returns.

        Examples
        --------
        >>> from bnplug import BayesianNetworkClassifier, encode_training
        >>> X = pd.DataFrame({"sky": ["sun", "rain"] * 4})
        >>> BayesianNetworkClassifier("nb").fit_table(*encode_training(X, ["go", "stay"] * 4)).predict(X[:2])
        array(['go', 'stay'], dtype='<U4')
        """
        check_complete(self)
        check_unseen(self.unseen)
        check_calibrate(self.calibrate)
        self.n_features_in_, self.feature_names_in_ = len(encoder.columns), np.array(encoder.columns, dtype=object)
        self._note_table(table, encoder)
        return self._learn(table, self._no_folds)

    def _encode_training(
        self, source: Any, y: Any, sample_weight: Any, others: Mapping[str, Any] | None = None, **options: Any
    ) -> tuple[Table, ColumnEncoder]:
        """Encode training rows by the rules among the parameters, with `others` in place of some of them."""
        chosen = {"discretizer": wanted_discretizer(self), "relative_weights": uses_relative_weights(self)}
        rules = ColumnRules.of(self, **{**chosen, **(others or {})})
        # `_named_frame` has made these frames. It takes class and weights as arrays, not as names of columns.
        encode = _encode_frame if isinstance(source, pd.DataFrame) else _encode_source
        return encode(source, y, sample_weight, rules, **options)

    def _named_frame(self, X: Any, y: Any) -> pd.DataFrame:
        """Return `X` as a frame, having noted its names and width as scikit-learn does."""
        if not is_frame(X):
            array = native(X)
            # Which labels may be missing is looked at later.
            known = None if y is None else pd.Series(label_array(y)).notna().to_numpy()
            array, _ = validate_data(self, array, known, dtype=None, ensure_all_finite="allow-nan")
            return to_frame(array, "X")
        frame = to_frame(X, "X")
        validate_data(self, frame, y, skip_check_array=True)
        return frame

    def _learn(self, table: Table, folds: Callable[[int], list[InnerFold]], more_rows: bool = False) -> Self:
        """Learn the structure, then the parameters; `more_rows`, with other categories, may follow in a later part."""
        warn_of_features(table, [] if more_rows else [v for v in self.encoder_.names if v not in self.encoder_.numeric])
        self.structure_, self.learned_ = find_structure(self, table)
        structure = self.learned_.structure
        if self.structure_ is not None:
            warn_of_constant_prediction(table, structure)
        self.parameters_ = component("parameter learner", self.parameters, self)
        check_unlabeled(table, self.parameters_, self.parameters)
        if table.learned_by_em:
            self.parameters_.engine_ = component("engine", self.engine, self)
        # A learner need not derive from the contract's class.
        n_folds = getattr(self.parameters_, "n_inner_folds", 0)
        if n_folds:
            self.parameters_.inner_folds_ = folds(n_folds)
        try:
            fitted = self.parameters_.fit(table, structure)
        finally:
            # Fitted models hold no rows.
            vars(self.parameters_).pop("inner_folds_", None)
        tables = check_tables(fitted, table, structure, self.parameters_)
        held_out = None
        if self.calibrate is not None:
            factors, held_out = calibration(self, table, tables)
            tables = tables.with_calibration(factors)
        self.training_summary_ = TrainingSummary.of(table, structure, held_out)
        return self._set_model(tables)

    @property
    def calibration_(self) -> Calibration:
        """The factors of evidence."""
        check_is_fitted(self)
        return self.tables_.calibration

    def set_calibration(self, calibration: Calibration) -> Self:
        """Replace the factors of evidence of the fitted classifier, and return it."""
        check_is_fitted(self)
        return self._set_model(self.tables_.with_calibration(calibration))

    @property
    def log_likelihood_path_(self) -> list[float]:
        """What EM reached on the final structure, step by step."""
        path = getattr(self.parameters_, "log_likelihood_path_", None)
        if path is None:
            raise AttributeError(
                'log_likelihood_path_ is there after EM alone: with missing="em", where rows lack something, and '
                "parameters that are estimated from counts, such as ml; a model that was loaded does not have it"
            )
        return list(path)

    @property
    def n_iter_(self) -> int:
        """The steps of the parameter learner."""
        return int(self.parameters_.n_iter_)

    def _set_model(self, tables: LogTables) -> Self:
        self.tables_ = tables
        engine = self.engine
        if isinstance(engine, Unavailable):  # of a loaded model
            warn_outside(f"{engine!r}; the built-in engine 'elimination' is used instead", PluginWarning)
            engine = "elimination"
        self.engine_ = component("engine", engine, self)
        compiled = check_marginals(self.engine_.compile(tables, self.target_), self.engine_)
        self._marginalizer = calibrated(compiled, tables)
        self._is_network = tables.normalized
        self.made_ = {
            "structure": "given" if self.structure_ is None else as_written(self.structure),
            "parameters": "given" if self.parameters_ is None else as_written(self.parameters),
            "discretizer": as_written(self.discretizer if self.parameters_ is None else wanted_discretizer(self)),
        }
        parts = (self.structure_, self.parameters_, self.encoder_.discretizer, self.engine_)
        self.components_ = [listed for part in parts for listed in components(part)]
        return self

    def _make(self, parameter: str, spec: Any) -> Any:
        return super()._make(parameter, wanted_discretizer(self) if parameter == "discretizer" else spec)

    def _note_table(self, table: Table, encoder: ColumnEncoder) -> None:
        self.encoder_, self.classes_ = encoder, encoder.classes
        self.target_, self.schema_ = table.target, table.take([])
        cost_matrix(self.costs, self.classes_, warn=True)

    def _no_folds(self, n_folds: int) -> list[InnerFold]:
        raise ValueError(
            f"parameters={self.parameters!r} are chosen on held-out rows, in folds in which columns are cut anew, so "
            "all rows must be in memory: use BayesianNetworkClassifier.fit"
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
            As for :func:`bnplug.encode_training`. Its ``text``, ``numbers`` and ``dates`` add to the columns that the
            model knows as such.
        formulas : bool
            Whether to write text to CSV unchanged, as for :func:`bnplug.sources.spreadsheets.to_csv`: by default, text
            that a spreadsheet program could run as a formula gets a leading apostrophe. Parquet files never change.
        progress : callable, optional
            As for :func:`bnplug.encode_training`.
        """
        from bnplug.sources._streaming import DataFiles, check_options
        from bnplug.sources.spreadsheets import _answer_file

        check_is_fitted(self)
        kinds = kinds_for(self, self.target_, ids)
        given = dict(csv or {})
        known = {
            option: [*(name for name in kinds if kinds[name] == kind), *(given.pop(option, None) or ())]
            for option, kind in (("text", "text"), ("numbers", "number"), ("dates", "date"))
        }
        files, done = DataFiles(paths, **known, **given), 0
        check_options(csv, files.names)
        with _answer_file(out, formulas, files.paths) as file:
            for batch in files.batches(checked=used_columns(self)):
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
        """Learn from more rows, by adding to the counts from which parameters are estimated.

        The parameter learner must have ``partial_fit``, as ``backoff``, ``ml`` and all other subclasses of
        :class:`bnplug.CountsLearner` do.

        The first part determines the structure (unless it is given), the bins of numeric columns and the states of all
        others, as :meth:`fit` does; a first call of :meth:`fit` counts as the first part. In later parts, values that
        are not states are unseen, even whole numbers, which in prediction belong to the nearest state. With
        ``missing="value"``, missing cells of a column that had none at first are ignored with a warning.

        The model is, to the last bit, that of :meth:`fit` on all rows with this structure and these states (for
        ``backoff``: and with parents in this order).

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`; every row has a class, and weights are on the same scale in all parts.
        classes : array-like
            All classes that any part may contain; required at first, and then the same or None.
        states : dict of str to sequence, optional
            At first: the states that columns may have in later rows, besides those that they have now. Later: None,
            or only known states.

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
        check_calibrate(self.calibrate)
        if MissingPolicies.of(self.missing).of_table == "em":
            raise ValueError('missing="em" needs several passes over all rows: use fit, or fit_files')
        if isinstance(self.class_weight, str):
            raise ValueError(f"class_weight={self.class_weight!r} needs all rows at once; give weights as a dict")
        if _check_partial_fit_first_call(self, classes):
            return self._first_part(X, y, sample_weight, states)
        check_is_fitted(self, "tables_")
        check_known_states(states or {}, self.schema_, self.encoder_.columns)
        return self._next_part(X, y, sample_weight)

    def _first_part(self, X: Any, y: Any, sample_weight: Any, states: Mapping[str, Sequence[Any]] | None) -> Self:
        try:
            if not hasattr(component("parameter learner", self.parameters, self), "partial_fit"):
                raise ValueError(f"parameters={self.parameters!r} do not support partial_fit; {_learned_in_parts()}")
            frame = self._named_frame(X, y)
            options = {"class_weight": self.class_weight, "classes": self.classes_}
            table, encoder = self._encode_training(frame, y, sample_weight, {"states": states}, **options)
            self._note_table(table, encoder)
            return self._learn(table, self._no_folds, more_rows=True)
        except BaseException:
            # Otherwise the next call would count as a later part.
            del self.classes_
            raise

    def _next_part(self, X: Any, y: Any, sample_weight: Any) -> Self:
        learner = self.parameters_
        if not hasattr(learner, "partial_fit") or not hasattr(learner, "counts_"):
            raise ValueError(
                "the model has no counts to add to: it was loaded, made from tables, or not learned from counts; "
                f"fit or partial_fit it first, with parameters that support partial_fit; {_learned_in_parts()}"
            )
        table = self._table(X, y, sample_weight)
        structure = self.learned_.structure
        tables = check_tables(learner.partial_fit(table, structure), table, structure, learner)
        assert self.training_summary_ is not None  # it has counts
        self.training_summary_ = self.training_summary_ + TrainingSummary.of(table, structure)
        return self._set_model(tables.with_calibration(self.calibration_))

    def _table(self, X: Any, y: Any, sample_weight: Any) -> Table:
        """Return more rows as a table with the states that are known."""
        labels = class_labels(y)
        # Only in prediction do other whole numbers belong to the nearest state.
        codes = np.array(self._encode(X, replace(self.encoder_, whole={})))
        self._report_stateless(X, codes)
        validate_data(self, X, labels, reset=False, skip_check_array=True)
        classes = _among_classes(labels, self.classes_)[1]
        if len(classes) != codes.shape[1]:
            raise ValueError(f"X has {codes.shape[1]} rows and y has {len(classes)}")
        codes[self.schema_.target_index] = classes
        weights = _learning_weights(pd.DataFrame(index=range(len(labels))), labels, sample_weight, self.class_weight)
        kept = np.ones(len(labels), dtype=bool) if weights is None else weights > 0
        holes = codes[self.schema_.features] == self.schema_.missing
        policies, names = MissingPolicies.of(self.missing), [self.schema_.names[v] for v in self.schema_.features]
        refused = policies.columns("error", [name for name, cells in zip(names, holes, strict=True) if cells.any()])
        if refused:
            raise ValueError(f'columns {refused} have missing cells, and missing="error"')
        kept &= ~holes[np.isin(names, policies.columns("drop", names))].any(axis=0)
        weights = None if weights is None else weights[kept]
        return Table(codes[:, kept], self.schema_.names, self.schema_.states, self.target_, weights)

    def _report_stateless(self, X: Any, codes: CodeArray) -> None:
        """Warn about missing cells that should be in a state which the first part did not create."""
        policies, schema = MissingPolicies.of(self.missing), self.schema_
        holed = [schema.names[v] for v in schema.features if (codes[v] == schema.missing).any()]
        suspects = [name for name in policies.columns("value", holed) if name not in self.encoder_.missing_states]
        if not suspects:
            return
        # Values that are not states are encoded as missing too.
        features = self.encoder_.features(named_frame(self, X))
        stateless = [name for name in suspects if name in features and features[name].isna().any()]
        if stateless:
            warn_outside(
                f'columns {stateless} have missing cells, but had none in the first part: missing="value" has no state '
                "for them, and they are ignored. Start with a part in which these columns have missing cells",
                BnplugWarning,
            )


def _learned_in_parts() -> str:
    return f"parameter learners that do: {registry.listing(Kind.PARAMETER_LEARNER, 'partial_fit')}"
