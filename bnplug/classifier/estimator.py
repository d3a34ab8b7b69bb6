"""BayesianNetworkClassifier: a structure and parameters composed into a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from bnplug.classifier._calibrating import check_calibrate
from bnplug.classifier._fitting import FitMixin
from bnplug.classifier._inner_folds import RawRows, inner_folds
from bnplug.classifier._predicting import cost_matrix
from bnplug.errors import ModelFileError
from bnplug.hooks.components import check_numbers
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, check_saved_limits
from bnplug.io._parameters import Unavailable, check_complete
from bnplug.model.log_tables import LogTables, check_size
from bnplug.structure import Learned
from bnplug.table.coding import as_array, check_unseen
from bnplug.table.encoder import ColumnEncoder
from bnplug.table.rules import ColumnRules
from bnplug.table.table import Table

if TYPE_CHECKING:
    from os import PathLike

    from bnplug.typing import DiscreteBayesianNetwork


class BayesianNetworkClassifier(FitMixin):
    """A Bayesian network that predicts its class variable.

    Parameters
    ----------
    structure : str, StructureLearner, Structure, DAG or list of edges
        A registered name, an instance, or a given structure: a graph, or edges ``(parent, child)`` by name. The class
        is named after `y` if it has a name, else ``"class"``.
    parameters : str or ParameterLearner
        A registered name or an instance.
    discretizer : {"auto", "log2-quantile", "mdl", "quantile", "uniform", "none"} or transformer
        How numeric columns are cut into bins. ``"auto"`` selects the bins that the parameter learner prefers: many
        (``"log2-quantile"``) for ``"backoff"``, few (``"mdl"``) for ``"ml"`` and learners without a preference.
        ``"none"`` makes every distinct value a state.
    categorical_features : "auto", None, or names, indices or a mask
        The columns that are discrete already. ``"auto"``: text, categoricals, booleans, and whole numbers with at most
        10 distinct values; an unseen whole number is in the state of the nearest.
    class_weight : dict, "balanced" or None
        As in scikit-learn. Weights must be finite and at least 0; rows of a class of weight 0 are ignored.
    missing : {"ignore", "em", "drop", "value", "error"} or dict of str to these
        Missing cells in training. "ignore": each table counts the rows in which its variables are known. "em": EM uses
        all known cells. "drop": incomplete rows are dropped. "value": missing is a state. "error": they are refused. A
        dict has the policies of columns by name, and under ``"*"`` that of all others, by default "ignore". "ignore"
        and "em" concern the whole table, so only one of them can be used: ``{"age": "value", "*": "em"}``.
    unseen : {"missing", "error"}
        Values that do not occur in training are treated as missing with a warning, or are an error.
    unlabeled : label, optional
        With ``missing="em"``, the label that marks rows without a class, such as -1; a missing label does so too. Such
        rows do not affect where numbers are cut.
    on_useless : {"drop", "error"}
        Columns without any value, and identifiers: text columns with nearly all values distinct (with "error": more
        than half), and whole numbers likewise, if the column is named as such (``id``, ``customerId``, ``ticket no``).
        They are omitted with a warning, or refused. Columns in `categorical_features` are never identifiers.
    max_categories : int or None
        The maximum number of states of a discrete column; the rarest are pooled as ``"other"``, which counts too.
    min_frequency : "auto", int, float or None
        States of a discrete column in fewer rows (a float: a smaller share of the rows with a value) are pooled as
        ``"other"``, with all unseen values. ``"auto"``, without `max_categories`: fewer than 30 rows, in columns of
        more than 30 states that are not in `categorical_features`; or 10 if the column is significantly associated
        with the class.
    dates : {"parts", "drop", "error"}
        Points in time become features for year, month, day, weekday (0 is Monday), hour and minute, if they vary, such
        as ``when.month``, and durations become seconds; or such columns are omitted, or refused.
    engine : str or Engine
        Computes answers if features are missing: a registered name, that name with parameters, or an instance.
    costs : array-like of shape (classes, classes) or dict, optional
        Costs of decisions: rows are true classes, columns predicted ones, in the order of ``classes_``; or
        ``{true: {predicted: cost}}``, or ``{(true, predicted): cost}``. :meth:`predict` minimizes the expected cost;
        learning ignores costs.
    calibrate : {"evidence", None}
        ``"evidence"`` tempers the evidence of generative parameters (``"backoff"``, ``"ml"``) in posteriors of the
        class, because a network counts dependent features as if they were independent. Two factors, for rows with all
        features known and with none, are fitted on held-out rows, with the structure of all rows. The class prior does
        not change, nor do answers about features alone. Discriminative parameters are not calibrated. None: posteriors
        are those of the network, and fitting takes less time. A warning says if folds cannot be used.
    max_parameters : int
        A structure whose tables would have more cells is an error before anything is allocated.
    max_clique_size : int
        The largest table, in cells, that marginalizing missing features may need.
    random_state, n_jobs, verbose
        As in scikit-learn; components without their own values inherit them.

    Attributes
    ----------
    classes_ : array
        The class labels.
    learned_ : Learned
        The structure, and other results of the structure learner: an equivalence class, edge probabilities, other
        structures, details.
    dag_ : pgmpy DAG
        The structure.
    tables_ : LogTables
        The parameters.
    network_ : pgmpy DiscreteBayesianNetwork
        Structure and parameters; created when requested.
    structure_, parameters_ : learners
        The fitted components, with their search results; None for a given structure.
    engine_ : Engine
    discretizer_ : transformer or None
        The fitted discretizer; None if no column is numeric.
    target_ : str
        The name of the class variable.
    schema_ : Table
        The variables and their states, without rows.
    calibration_ : Calibration
        The factors of evidence that `calibrate` chose; 1 without.
    training_summary_ : TrainingSummary or None
        Counts of the training rows, and quantiles of held-out rows, to compare later rows with; None if the model was
        not learned from rows.
    costs_ : array or None
        The costs as a matrix [true class, predicted class].
    log_likelihood_path_, n_iter_
        With ``missing="em"``: the penalized log-likelihood at the start of EM and after each step, and the number of
        steps.
    encoder_ : ColumnEncoder
        Turns raw columns into codes as training decided.
    made_ : dict of str to str
        The structure, parameters and discretizer of the model as a user would write them; "given" if not learned.
    components_ : list of dict
        The ``kind``, ``name``, ``distribution`` and ``version`` of each component, nested ones included.
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
        engine: Any = "elimination",
        costs: Any = None,
        calibrate: str | None = "evidence",
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
        self.engine = engine
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
            ratios of weights matter. Otherwise, without calibration, a row of weight 2 is equivalent to two
            rows. Rows of weight 0 are ignored.
        """
        check_complete(self)
        check_unseen(self.unseen)
        check_calibrate(self.calibrate)
        frame = self._named_frame(X, y)
        table, encoder = self._encode_training(frame, y, sample_weight, class_weight=self.class_weight)
        self._note_table(table, encoder)
        return self._learn(table, lambda n_folds: inner_folds(self, RawRows.of(self, frame, y, sample_weight), n_folds))

    @classmethod
    def from_network(cls, network: DiscreteBayesianNetwork, target: str) -> BayesianNetworkClassifier:
        """Return a fitted classifier that predicts `target` by a pgmpy network, on its discrete states."""
        return cls.from_tables(LogTables.from_network(network, target))

    @classmethod
    def from_tables(
        cls, tables: LogTables, encoder: ColumnEncoder | None = None, **params: Any
    ) -> BayesianNetworkClassifier:
        """Return a fitted classifier with the given parameters.

        Parameters
        ----------
        tables : LogTables
            Its ``target`` is the class.
        encoder : ColumnEncoder, optional
            How frames become discrete; by default they are.
        **params
            Constructor parameters; by default the structure is that of the tables.
        """
        if tables.target is None:
            raise ValueError("the tables do not say which variable is the class: LogTables(..., target=...)")
        model = cls(**{"structure": tables.edges, "discretizer": "none", **params})
        return model._take_over(tables, encoder)

    def _take_over(self, tables: LogTables, encoder: ColumnEncoder | None = None) -> Self:
        """Become the fitted classifier of given tables."""
        assert tables.target is not None
        features = tuple(name for name in tables.names if name != tables.target)
        classes = tables.states[tables.target]
        encoder = ColumnEncoder(features, (), None, {}, as_array(classes)) if encoder is None else encoder
        if encoder.classes.tolist() != list(classes):
            raise ValueError(f"the classes of the encoder, {encoder.classes}, are not those of the tables, {classes}")
        schema = Table.empty(tables.names, tables.states, tables.target)
        self.learned_ = Learned(tables.structure)
        check_size(schema, self.learned_.structure.parents, self.max_parameters)
        self.encoder_, self.classes_ = encoder, encoder.classes
        self.n_features_in_, self.feature_names_in_ = len(encoder.columns), np.array(encoder.columns, dtype=object)
        self.target_, self.schema_ = tables.target, schema
        self.structure_ = self.parameters_ = self.training_summary_ = None
        return self._set_model(tables)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the fitted model to a folder; the same as :func:`bnplug.save`."""
        from bnplug.classifier.opening import save

        save(self, path)

    def saved_state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what fitting found, as a dict that JSON can hold and named arrays.

        With the constructor parameters that is the whole model: a classifier that has others inside saves them so.
        """
        from bnplug.io._parameters import network_state

        check_is_fitted(self)
        check_numbers(self, "max_parameters", "max_clique_size", positive=True)
        check_saved_limits(self.engine_)
        return network_state(self)

    def restore_state(self, state: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Restore a fitted classifier from its :meth:`saved_state`; raise a ``ModelFileError`` if it is damaged.

        ``structure_`` and ``parameters_`` are None: what the learners found out on their way is not saved.
        """
        from bnplug._json import DAMAGE
        from bnplug.io._parameters import network_of

        try:
            ColumnRules.of(self)
            check_unseen(self.unseen)
            check_calibrate(self.calibrate)
            check_numbers(self, "max_parameters", "max_clique_size", positive=True)
            saved = network_of(state, arrays)
            self._take_over(saved.tables, saved.encoder)
            self.learned_, self.training_summary_ = saved.learned, saved.training
            check_saved_limits(self.engine_)
            if not isinstance(self.costs, Unavailable):
                cost_matrix(self.costs, self.classes_)
        except DAMAGE as error:
            raise ModelFileError(f"the state of a model is damaged: {error!r}") from error
        self.made_ = {part: saved.made.get(part, text) for part, text in self.made_.items()}
        self.components_ = saved.components
        if not saved.named:
            del self.feature_names_in_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
