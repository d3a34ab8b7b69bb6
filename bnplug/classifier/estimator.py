"""BayesianNetworkClassifier: a structure and parameters composed into a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bnplug.arrays import CodeArray, FloatArray
from bnplug.classifier._calibration import best_temperature, check_calibrate, tempered
from bnplug.classifier._costs import cost_matrix
from bnplug.classifier._in_parts import LearnsInParts
from bnplug.classifier._inner_folds import RawRows, inner_folds
from bnplug.classifier._unlabeled import check_unlabeled
from bnplug.contracts import InnerFold
from bnplug.data._checks import native
from bnplug.data._leakage import warn_of_features
from bnplug.data.class_labels import class_labels, label_array
from bnplug.data.coding import as_array
from bnplug.data.frames import is_frame, to_frame
from bnplug.data.intake import Intake, check_rules, code
from bnplug.data.missing_cells import MissingCells
from bnplug.data.table import Table, check_unseen
from bnplug.data.weights import row_weights
from bnplug.errors import MissingFeatureWarning, ModelFileError, PluginWarning, warn_outside
from bnplug.exchange._parameters import Unavailable, check_complete, components
from bnplug.hooks.components import check_numbers, component
from bnplug.hooks.descriptors import as_written, is_component
from bnplug.inference.complete import log_posterior, posterior
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, check_marginals, check_saved_limits
from bnplug.inference.predicting import predictive_log_joint
from bnplug.model.checks import check_dag, check_tables, given_dag, warn_of_constant_prediction
from bnplug.model.log_tables import LogTables, check_size

if TYPE_CHECKING:
    from bnplug.typing import DAG, DiscreteBayesianNetwork


class BayesianNetworkClassifier(ClassifierMixin, LearnsInParts):  # type: ignore[misc]
    """A Bayesian network that predicts its class variable.

    Parameters
    ----------
    structure : str, StructureLearner, DAG or list of edges
        A registered name, an instance, or a structure as it is: a graph, or edges ``(parent, child)`` by
        name. The class is named after `y` if that has a name, else ``"class"``.
    parameters : str or ParameterLearner
        A registered name or an instance.
    discretizer : {"auto", "log2-quantile", "mdl", "quantile", "uniform", "none"} or transformer
        What makes numeric columns discrete. ``"auto"`` takes what the parameter learner wants: for ``"backoff"``, which
        leans on fewer parents where rows are few, many bins, ``"log2-quantile"``; for ``"ml"``, and for learners that
        do not say, the few of ``"mdl"``, which tell the classes apart. ``"none"`` takes every distinct value as a
        state.
    categorical_features : "auto", None, or names, indices or a mask
        The columns that are discrete already. ``"auto"``: text, categoricals, booleans, and whole numbers
        with at most 10 distinct values; among those, a number that training did not see is in the state of the
        nearest.
    class_weight : dict, "balanced" or None
        As in scikit-learn. Weights must be finite and at least 0; rows of a class of weight 0 are ignored.
    missing : {"ignore", "em", "drop", "value", "error"} or dict of str to these
        Missing cells in training: each table counts the rows it can use; all that is known of every row is learned
        from, by EM; rows are dropped; missing becomes a state of its own; or an error names the columns. A dict has
        the ways of columns by name, and under ``"*"`` that of all others, by default "ignore"; since "ignore" and "em"
        are of the whole table, only one of them can be in it: ``{"age": "value", "*": "em"}``.
    unseen : {"missing", "error"}
        A value that training did not see: treated as missing with a warning, or an error.
    unlabeled : label, optional
        With ``missing="em"``, the label that marks rows without a class, such as -1; a missing label does so too.
        Numbers are cut by the other rows, and learning takes all of them, where the parameters do.
    on_useless : {"drop", "error"}
        A column without any value (in these rows), or an identifier: a text column whose values are nearly all
        distinct (an error: more than half), or such whole numbers in a column that is named like one (``id``,
        ``customerId``, ``ticket no``). It is left out with a warning, or an error tells all of them. One that is in
        `categorical_features` is no identifier.
    max_categories : int or None
        The most states of a discrete column; the rarest are pooled as the state ``"other"``, which counts too.
    min_frequency : "auto", int, float or None
        A state of a discrete column in fewer rows (a float: a smaller share of the rows that have a value) is pooled
        as ``"other"``. ``"auto"``, where there is no `max_categories`: fewer than 30, in columns of more than 30
        states that are not in `categorical_features`; fewer than 10, if chance does not explain how the column goes
        with the class. In a column with pooled states, a value that training did not
        see is in them too.
    dates : {"parts", "drop", "error"}
        Columns of points in time become features for the year, month, day, weekday (0 is Monday), hour and minute,
        those that vary, such as ``when.month``, and durations one of their seconds; or they are left out, or refused.
    inference : str or InferenceEngine
        What answers where features are missing: a registered name, that name with parameters, or an instance.
    costs : array-like of shape (classes, classes) or dict, optional
        What decisions cost: rows are true classes, columns predicted ones, in the order of ``classes_``; or
        ``{true: {predicted: cost}}``, or ``{(true, predicted): cost}``, where being right costs 0 unless it is said.
        :meth:`predict` takes the class of least expected cost; learning does not look at them.
    calibrate : {None, "temperature"}
        One factor for all log parameters of the class and its children, by which the classes of rows held out are most
        likely: three folds of the training rows, in each of which all is learned again. The most probable class of a
        complete row stays what it is. Where the structure is C1 the result is a network again, which files hold; on
        others the tables no longer sum to one. The temperature changes the class prior too: without evidence,
        :meth:`query` no longer returns the class frequencies of the training rows, and posteriors of rows with few
        known features start from the changed prior.
    max_parameters : int
        A structure whose tables would hold more cells is an error before anything is allocated.
    max_clique_size : int
        The largest table, in cells, that marginalising missing features may need.
    random_state, n_jobs, verbose
        As in scikit-learn; handed to components that have none of their own.

    Attributes
    ----------
    classes_ : array
        The class labels.
    dag_ : pgmpy DAG
        The structure.
    tables_ : LogTables
        The parameters.
    network_ : pgmpy DiscreteBayesianNetwork
        Both; made when asked for.
    structure_, parameters_ : learners
        The fitted components, with what they found out; None where the structure was given.
    inference_ : InferenceEngine
        The engine that answers.
    discretizer_ : transformer or None
        The fitted discretiser; None where no column is numeric.
    target_ : str
        The name of the class variable.
    schema_ : Table
        The variables and their states, without rows.
    temperature_ : float
        The factor that `calibrate` chose; not there for a model that was loaded, whose parameters have it.
    costs_ : array or None
        The costs as a matrix [true class, predicted class].
    log_likelihood_path_, n_iter_
        What the parameter learner found out, where it has such: with ``missing="em"``, the log-likelihood of all that
        is known plus that of the prior, at the start of EM and after each of its steps; it never falls.
    intake_ : Intake
        How frames become discrete: what training decided about every feature.
    made_ : dict of str to str
        The structure, parameters and discretizer that made the model, each as a user would write it; "given" where
        it was not learned; for ``discretizer="auto"`` what that became. A model from a folder tells what was saved with
        it.
    components_ : list of dict
        The components that made the model, those inside others included: ``kind``, ``name``, ``distribution`` and
        ``version`` of each. A model from a folder tells what was saved with it.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BayesianNetworkClassifier(structure="tan").fit(X, y)
    >>> round(model.score(X, y), 2)
    0.97
    """

    def __init__(
        self,
        structure: Any = "tan",
        parameters: Any = "backoff",
        discretizer: Any = "auto",
        categorical_features: Any = "auto",
        class_weight: Any = None,
        missing: Any = "ignore",
        unseen: str = "missing",
        unlabeled: Any = None,
        on_useless: str = "drop",
        max_categories: int | None = None,
        min_frequency: Any = "auto",
        dates: str = "parts",
        inference: Any = "elimination",
        costs: Any = None,
        calibrate: str | None = None,
        max_parameters: int = 50_000_000,
        max_clique_size: int = MAX_CLIQUE_SIZE,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.parameters = parameters
        self.discretizer = discretizer
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.unlabeled = unlabeled
        self.on_useless = on_useless
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.dates = dates
        self.inference = inference
        self.costs = costs
        self.calibrate = calibrate
        self.max_parameters = max_parameters
        self.max_clique_size = max_clique_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn structure and parameters.

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
            Features of any mix of types; missing cells are allowed.
        y : array-like
            The class of every row; with ``missing="em"``, some may have none: NaN, None, or what `unlabeled` says.
        sample_weight : array-like, optional
            For a learner that leaves rows out (``backoff``, ``ccbn-loo``, ``skdb``), and then also for bins, only the
            ratios of weights matter. Otherwise a row of weight 2 is equivalent to two rows. Rows of weight 0 are
            ignored.
        """
        check_complete(self)
        check_unseen(self.unseen)
        check_calibrate(self.calibrate)
        frame = self._named_frame(X, y)
        table, intake = self._code(frame, y, sample_weight, class_weight=self.class_weight)
        self._note_table(table, intake)
        self._learn(table, lambda n_folds: self._inner_folds(frame, y, sample_weight, n_folds))
        if self.calibrate is not None:
            rows = RawRows.of(self, frame, y, sample_weight)
            self.temperature_ = best_temperature(self, rows, self.target_)
            self._set_model(tempered(self.tables_, self.temperature_))
        return self

    def _code(self, frame: pd.DataFrame, y: Any, weights: Any, **others: Any) -> tuple[Table, Intake]:
        """Make rows discrete as the parameters say, but for `others`."""
        own = {
            "discretizer": self._bins(),
            "categorical_features": self.categorical_features,
            "missing": self.missing,
            "unlabeled": self.unlabeled,
            "on_useless": self.on_useless,
            "max_categories": self.max_categories,
            "min_frequency": self.min_frequency,
            "dates": self.dates,
            "relative_weights": self._relative_weights(),
        }
        return code(frame, y, weights, **{**own, **others})

    def _inner_folds(self, frame: pd.DataFrame, y: Any, sample_weight: Any, n_folds: int) -> list[InnerFold]:
        """Return folds of the training rows, cuts and structure learned inside each."""
        rows = RawRows.of(self, frame, y, sample_weight)

        def coded(own: RawRows) -> tuple[Table, Intake]:
            others = {"target": self.target_, "on_useless": "drop", "unlabeled": None}
            return self._code(own.frame, own.y, own.weights, **others)

        return inner_folds(rows, n_folds, self.random_state, coded, lambda own: self._structure(own)[1])

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
        """Learn on coded data: the structure, then the parameters, each checked at the door.

        `folds` makes a given number of folds of the training rows, for parameters that are chosen on held-out rows.
        `more_rows` says whether more rows will follow, which may have categories that these rows lack.
        """
        warn_of_features(table, [] if more_rows else [v for v in self.intake_.names if v not in self.intake_.numeric])
        self.structure_, dag = self._structure(table)
        if self.structure_ is not None:
            warn_of_constant_prediction(table, table.parents(dag))
        self.parameters_ = component("parameter learner", self.parameters, self)
        check_unlabeled(table, self.parameters_, self.parameters)
        # A learner need not derive from the contract's class.
        n_folds = getattr(self.parameters_, "inner_folds", 0)
        wanted = {"folds": folds(n_folds)} if n_folds else {}
        fitted = self.parameters_.fit(table, dag, **wanted)
        return self._set_model(check_tables(fitted, table, table.parents(dag), self.parameters_))

    def _structure(self, table: Table) -> tuple[Any, DAG]:
        """Return the learner, or None where the structure is given, and the structure, checked at the door."""
        learner = None
        if is_component(self.structure) or hasattr(self.structure, "learn"):
            learner = component("structure learner", self.structure, self)
            self._check_fewest(table, learner)
            dag = self._learned_structure(learner, self._weighed(table, learner))
        else:
            dag = given_dag(self.structure, table)
        check_size(table, table.parents(dag), self.max_parameters)
        return learner, dag

    def _weighed(self, table: Table, learner: Any) -> Table:
        """Return the table with the weights that a structure learner uses.

        If class weights affect only the class prior, they would only add noise to measures of dependence, and are
        removed. A learner with a score, or one that leaves rows out, may depend on them and keeps them.
        """
        if not table.weighted or not self._relative_weights():
            return table
        uses_class_weights = hasattr(learner, "score") or getattr(learner, "relative_weights", False)
        return table.with_relative_weights(by_class=not uses_class_weights)

    def _learned_structure(self, learner: Any, table: Table) -> DAG:
        """Return what a learner finds: by structural EM, where all that is known of incomplete rows is to count."""
        if not table.learned_by_em:
            return check_dag(learner.learn(table), table, learner)
        from bnplug.inference.structural_em import structural_em

        return structural_em(
            lambda own: check_dag(learner.learn(own), own, learner), table, self.random_state, self.n_jobs, self.verbose
        )

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

    def _check_fewest(self, table: Table, learner: Any) -> None:
        """Refuse a structure that will be too large before it is searched for."""
        ask = getattr(learner, "fewest_parameters", None)
        fewest = 0 if ask is None else ask(table)
        if fewest > self.max_parameters:
            largest = max(table.features, key=lambda v: table.cards[v])
            raise ValueError(
                f"{type(learner).__name__} finds a structure of at least {fewest:,} parameters, over "
                f"max_parameters={self.max_parameters:,}; the column with the most states is "
                f"{table.names[largest]!r}: {table.cards[largest]:,}. Use fewer parents, fewer states, or a larger "
                "max_parameters"
            )

    def _set_model(self, tables: LogTables) -> Self:
        self.tables_ = tables
        self.inference_ = component("inference engine", self._engine(), self)
        self._marginalizer = check_marginals(self.inference_.compile(tables, self.target_), self.inference_)
        self._is_network = tables.normalized
        self.made_ = {
            "structure": "given" if self.structure_ is None else as_written(self.structure),
            "parameters": "given" if self.parameters_ is None else as_written(self.parameters),
            "discretizer": as_written(self.discretizer if self.parameters_ is None else self._bins()),
        }
        parts = (self.structure_, self.parameters_, self.intake_.discretizer, self.inference_)
        self.components_ = [found for part in parts for found in components(part)]
        return self

    def _engine(self) -> Any:
        """Return the engine to use: the built-in one for a loaded model whose own is not installed."""
        if not isinstance(self.inference, Unavailable):
            return self.inference
        warn_outside(f"{self.inference!r}; the built-in engine answers in its place", PluginWarning)
        return "elimination"

    @classmethod
    def from_network(cls, network: DiscreteBayesianNetwork, target: str) -> BayesianNetworkClassifier:
        """Return a fitted classifier that predicts `target` by a pgmpy network, on its discrete states."""
        return cls.from_tables(LogTables.from_network(network, target))

    @classmethod
    def from_tables(cls, tables: LogTables, intake: Intake | None = None, **params: Any) -> BayesianNetworkClassifier:
        """Return a fitted classifier with the given parameters.

        Parameters
        ----------
        tables : LogTables
            Its ``target`` is the class.
        intake : Intake, optional
            How frames become discrete; by default they are.
        **params
            Constructor parameters; by default the structure is that of the tables.
        """
        if tables.target is None:
            raise ValueError("the tables do not say which variable is the class: LogTables(..., target=...)")
        model = cls(**{"structure": tables.edges, "discretizer": "none", **params})
        return model._take_over(tables, intake)

    def _take_over(self, tables: LogTables, intake: Intake | None = None) -> Self:
        """Become the fitted classifier of given tables."""
        assert tables.target is not None
        features = tuple(name for name in tables.names if name != tables.target)
        classes = tables.states[tables.target]
        intake = Intake(features, (), None, {}, as_array(classes)) if intake is None else intake
        if intake.classes.tolist() != list(classes):
            raise ValueError(f"the classes of the intake, {intake.classes}, are not those of the tables, {classes}")
        schema = Table.empty(tables.names, tables.states, tables.target)
        own = [[schema.index(name) for name in table.parents] for table in tables.tables.values()]
        check_size(schema, own, self.max_parameters)
        self.intake_, self.classes_ = intake, intake.classes
        self.n_features_in_, self.feature_names_in_ = len(intake.columns), np.array(intake.columns, dtype=object)
        self.target_, self.schema_ = tables.target, schema
        self.structure_ = self.parameters_ = None
        return self._set_model(tables)

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what fitting found, as a dict that JSON can hold and named arrays.

        With the constructor parameters that is the whole model: a classifier that has others inside saves them so.
        """
        from bnplug.exchange._network_state import network_state

        check_is_fitted(self)
        check_saved_limits(self.inference_)
        return network_state(self)

    def restore_state(self, state: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Become the fitted classifier whose :meth:`saved_state` this is; return it.

        ``structure_`` and ``parameters_`` are None: what the learners found out on their way is not saved.

        Raises
        ------
        ModelFileError
            If the state is damaged.
        """
        from bnplug.exchange._model_files import DAMAGE
        from bnplug.exchange._network_state import network_of

        try:
            MissingCells.of(self.missing)
            check_unseen(self.unseen)
            check_rules(self.on_useless, self.max_categories, self.min_frequency, self.dates)
            check_calibrate(self.calibrate)
            check_numbers(self, "max_parameters", "max_clique_size", positive=True)
            if not isinstance(self.n_jobs, int | None):
                raise ValueError(f"n_jobs={self.n_jobs!r} must be a whole number or None")
            saved = network_of(state, arrays)
            self._take_over(saved.tables, saved.intake)
            check_saved_limits(self.inference_)
            if not isinstance(self.costs, Unavailable):
                cost_matrix(self.costs, self.classes_)
        except DAMAGE as error:
            raise ModelFileError(f"the state of a model is damaged: {error!r}") from error
        self.made_ = {part: saved.made.get(part, text) for part, text in self.made_.items()}
        self.components_ = saved.components
        if not saved.named:
            del self.feature_names_in_
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row: the most probable, or of least expected cost; the first of tied ones."""
        winners = self.decide(self.predict_proba(X))
        return np.asarray(self.classes_[winners])

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of rows, by weight, for which :meth:`predict` returns the class in `y`."""
        labels = class_labels(y)
        weights = None if sample_weight is None else row_weights(sample_weight, len(labels))
        return float(super().score(X, labels, weights))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``.

        Missing features are marginalised exactly; where the parameters are no Bayesian network, with a warning. Tied
        classes get equal probabilities. A row that is impossible under every class gets the class prior, P(class).
        """
        return posterior(self._predictive_log_joint(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of :meth:`predict_proba`, also where that would be too small to hold."""
        return log_posterior(self._predictive_log_joint(X))

    def _predictive_log_joint(self, X: Any) -> FloatArray:
        """Return the log joint of rows and classes; impossible rows get the log prior of the class."""
        codes = self.encode(X)
        self._warn_where_missing(codes)
        return predictive_log_joint(self._marginalizer, codes, self.n_jobs)

    def _log_joint(self, X: Any) -> FloatArray:
        """Return the log joint of rows and classes; impossible rows are all ``-inf``."""
        codes = self.encode(X)
        self._warn_where_missing(codes)
        return self._marginalizer.log_joint(codes, self.n_jobs)

    def _warn_where_missing(self, codes: CodeArray) -> None:
        if not self._is_network and (codes[self.schema_.features] == self.schema_.missing).any():
            warn_outside(
                "features are missing, and these discriminative parameters are no Bayesian network, since the "
                "structure is not C1: what they say where features are missing depends on how they were learned",
                MissingFeatureWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
