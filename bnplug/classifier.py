"""BayesianNetworkClassifier: a structure and parameters composed into a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from bnplug.arrays import CodeArray, FloatArray
from bnplug.contracts import Composite
from bnplug.data.class_labels import as_array, class_labels, distinct_classes
from bnplug.data.discretize import discretizer as make_discretizer
from bnplug.data.frames import is_frame, to_frame
from bnplug.data.intake import Intake, check_missing
from bnplug.data.table import Table
from bnplug.errors import MissingColumnWarning, MissingFeatureWarning, did_you_mean
from bnplug.fitted import FittedNetwork
from bnplug.hooks import recipes, registry
from bnplug.hooks.components import component
from bnplug.hooks.descriptors import is_component
from bnplug.inference.complete import log_posterior, posterior
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Marginalizer
from bnplug.model.checks import check_dag, check_tables
from bnplug.model.log_tables import LogTables, check_size

if TYPE_CHECKING:
    from bnplug.typing import DAG, DiscreteBayesianNetwork


class BayesianNetworkClassifier(FittedNetwork, ClassifierMixin, Composite):
    """A Bayesian network that predicts its class variable.

    Parameters
    ----------
    structure : str, StructureLearner, DAG or list of edges
        A registered name, an instance, or a structure as it is: a graph, or edges ``(parent, child)`` by
        name. The class is named after `y` if that has a name, else ``"class"``.
    parameters : str or ParameterLearner
        A registered name or an instance.
    discretizer : {"mdl", "quantile", "uniform", "none"} or transformer
        What makes numeric columns discrete. ``"none"`` takes every distinct value as a state.
    categorical_features : "auto", None, or names, indices or a mask
        The columns that are discrete already. ``"auto"``: text, categoricals, booleans, and whole numbers
        with at most 10 distinct values.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    missing : {"ignore", "drop", "value", "error"}
        Missing cells in training: each table counts the rows it can use, rows are dropped, missing
        becomes a state of its own, or an error names the columns.
    unseen : {"missing", "error"}
        A value that training did not see: treated as missing with a warning, or an error.
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
    discretizer_ : transformer or None
        The fitted discretiser; None where no column is numeric.
    target_ : str
        The name of the class variable.
    schema_ : Table
        The variables and their states, without rows.
    intake_ : Intake
        How frames become discrete: what training decided about every feature.
    made_ : dict of str to str
        The structure, parameters and discretizer that made the model, each as a user would write it; "given" where
        it was not learned. A model from a folder tells what was saved with it.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = BayesianNetworkClassifier(structure="tan").fit(X, y)
    >>> round(model.score(X, y), 2)
    0.95
    """

    def __init__(
        self,
        structure: Any = "tan",
        parameters: Any = "ml",
        discretizer: Any = "mdl",
        categorical_features: Any = "auto",
        class_weight: Any = None,
        missing: str = "ignore",
        unseen: str = "missing",
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
        self.max_parameters = max_parameters
        self.max_clique_size = max_clique_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make(self, parameter: str, spec: Any) -> Any:
        return make_discretizer(spec) if parameter == "discretizer" else super()._make(parameter, spec)

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn structure and parameters.

        Parameters
        ----------
        X : pandas or polars frame, or 2-D array
            Features of any mix of types; missing cells are allowed.
        y : array-like
            The class of every row.
        sample_weight : array-like, optional
            A weight of 2 is the row twice; rows of weight 0 are absent.
        """
        check_missing(self.missing)
        if self.unseen not in ("missing", "error"):
            raise ValueError(f"unseen={self.unseen!r} is not 'missing' or 'error'")
        frame, labels, weights = self._training_rows(X, y, sample_weight)
        self.classes_, codes = distinct_classes(labels)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_.tolist()[0]!r}; a classifier needs at least two")
        self.intake_, discrete = Intake.learn(
            frame, codes, weights, self.discretizer, self.categorical_features, self.missing
        )
        self.target_ = _target_name(y, frame)
        target = pd.Categorical.from_codes(codes, categories=pd.Index(self.classes_.tolist(), dtype=object))
        table = Table.from_frame(discrete.assign(**{self.target_: target}), self.target_, weights)
        self.schema_ = table.take([])
        return self._learn(table)

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, Any, Any]:
        """Check the data, leave out rows of weight 0 and, if asked, incomplete ones."""
        frame = self._checked_frame(X, y)
        labels = class_labels(y)
        check_consistent_length(frame, labels)
        weights = self._weights(frame, labels, sample_weight)
        kept = np.ones(len(frame), dtype=bool) if weights is None else weights > 0
        incomplete = [str(name) for name, column in frame.items() if column.hasnans]
        if incomplete and self.missing == "error":
            raise ValueError(f'columns {incomplete} have missing cells, and missing="error"')
        if incomplete and self.missing == "drop":
            kept &= ~frame[incomplete].isna().any(axis=1).to_numpy()
        if not kept.any():
            raise ValueError("no row is left: all have weight 0 or, with missing='drop', a missing cell")
        if kept.all():
            return frame, labels, weights
        return frame[kept], labels[kept], None if weights is None else weights[kept]

    def _checked_frame(self, X: Any, y: Any) -> pd.DataFrame:
        """Return `X` as a frame, having noted its names and width as scikit-learn does."""
        if not is_frame(X):
            array, _ = validate_data(self, X, y, dtype=None, ensure_all_finite="allow-nan")
            return to_frame(array, "X")
        frame = to_frame(X, "X")
        validate_data(self, frame, y, skip_check_array=True)
        if frame.shape[1] == 0:
            raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")
        if len(frame) == 0:
            raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
        return frame

    def _weights(self, frame: pd.DataFrame, labels: Any, sample_weight: Any) -> FloatArray | None:
        if sample_weight is None and self.class_weight is None:
            return None
        weights: FloatArray = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, labels)
        return weights

    def _learn(self, table: Table) -> Self:
        """Learn on coded data: the structure, then the parameters, each checked at the door."""
        if is_component(self.structure) or hasattr(self.structure, "learn"):
            self.structure_ = component("structure learner", self.structure, self)
            dag = self.structure_.learn(table)
            parents = check_dag(dag, table, self.structure_)
        else:
            self.structure_ = None
            dag = given_dag(self.structure, table)
            parents = table.parents(dag)
        check_size(table, parents, self.max_parameters)
        self.parameters_ = component("parameter learner", self.parameters, self)
        tables = check_tables(self.parameters_.fit(table, dag), table, parents, self.parameters_)
        return self._set_model(tables)

    def _set_model(self, tables: LogTables) -> Self:
        self.tables_ = tables
        self._marginalizer = Marginalizer(tables, self.target_, self.max_clique_size)
        self._is_network = tables.normalized
        self.made_ = {
            "structure": "given" if self.structure_ is None else _as_written(self.structure),
            "parameters": "given" if self.parameters_ is None else _as_written(self.parameters),
            "discretizer": _as_written(self.discretizer),
        }
        return self

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
        model.target_ = tables.target
        model.classes_ = as_array(tables.states[tables.target])
        features = tuple(name for name in tables.names if name != tables.target)
        model.intake_ = Intake(features, (), None, {}) if intake is None else intake
        model.n_features_in_ = len(features)
        model.feature_names_in_ = np.array(features, dtype=object)
        model.schema_ = Table.empty(tables.names, tables.states, tables.target)
        model.structure_ = model.parameters_ = None
        return model._set_model(tables)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row; the first of tied ones."""
        winners = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | known features) for every row, classes in the order of ``classes_``.

        Missing features are marginalised exactly; where the parameters are no Bayesian network, with a warning. Tied
        classes get equal probabilities.
        """
        return posterior(self._log_joint(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of :meth:`predict_proba`, also where that would be too small to hold."""
        return log_posterior(self._log_joint(X))

    def _log_joint(self, X: Any) -> FloatArray:
        codes = self._encode(X)
        if not self._is_network and (codes[self.schema_.features] == self.schema_.missing).any():
            warnings.warn(
                "features are missing, and these discriminative parameters are no Bayesian network, since the "
                "structure is not C1: what they say where features are missing depends on how they were learnt",
                MissingFeatureWarning,
                stacklevel=4,
            )
        return self._marginalizer.log_joint(codes, self.n_jobs)

    def _encode(self, X: Any) -> CodeArray:
        """Return the codes of new rows, variables in the order of ``schema_``."""
        check_is_fitted(self)
        if is_frame(X):
            frame = self._match_names(to_frame(X, "X"))
            if len(frame) == 0:
                raise ValueError("X has no rows: 0 sample(s) while a minimum of 1 is required")
        else:
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
            frame = to_frame(X, "X").set_axis(list(self.intake_.names), axis=1)
        return self.intake_.encode(frame, self.schema_, self.unseen)

    def _match_names(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Match columns by name; a model that was trained on an array goes by position."""
        names = list(self.intake_.names)
        if not hasattr(self, "feature_names_in_"):
            _check_n_features(self, frame, reset=False)
            return frame.set_axis(names, axis=1)
        unknown = [name for name in frame.columns if name not in names]
        if unknown:
            hint = f" ({self.target_!r} is the class)" if self.target_ in unknown else ""
            raise ValueError(f"columns {unknown} were not there in training{hint}; there were {names}")
        absent = [name for name in names if name not in frame.columns]
        if absent:
            warnings.warn(f"columns {absent} are absent; they are marginalised", MissingColumnWarning, stacklevel=5)
        return frame

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def recipe(name: str, /, **params: Any) -> BayesianNetworkClassifier:
    """Create the classifier that a recipe describes.

    Parameters
    ----------
    name : str
        A registered recipe.
    **params
        Further parameters of `BayesianNetworkClassifier`; they win over the recipe's own.

    Returns
    -------
    BayesianNetworkClassifier

    Raises
    ------
    UnknownMethodError
        If there is no such recipe, or a method it is made of is not installed.

    Examples
    --------
    >>> recipe("no such recipe")
    Traceback (most recent call last):
    bnplug.errors.UnknownMethodError: there is no recipe 'no such recipe'...
    """
    parts = recipes.parts(name)
    registry.check_parameters(f"recipe {name!r}", BayesianNetworkClassifier, params)
    return BayesianNetworkClassifier(**{**parts, **params})


def given_dag(structure: Any, table: Table) -> DAG:
    """Return a given graph, or list of edges by name, as a DAG over the table's variables."""
    if hasattr(structure, "is_directed") and not structure.is_directed():
        raise ValueError("structure is an undirected graph; a DAG says which end of an edge is the parent")
    nodes, edges = getattr(structure, "nodes", ()), getattr(structure, "edges", structure)
    if not isinstance(edges, Iterable):
        raise TypeError(f"structure is a name, a learner, a DAG or a list of edges (parent, child), not {structure!r}")
    edges = list(edges)
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"structure: an edge is a pair (parent, child) of names, not {edge!r}")
    unknown = sorted({str(name) for name in chain(nodes, *edges)} - set(table.names))
    if unknown:
        raise ValueError(f"structure names {unknown}; the variables are {list(table.names)}")
    parents: list[list[int]] = [[] for _ in table.names]
    for parent, child in edges:
        parents[table.index(str(child))].append(table.index(str(parent)))
    return table.dag(parents)


def load(path: str | PathLike[str]) -> BayesianNetworkClassifier:
    """Return the fitted classifier that :meth:`BayesianNetworkClassifier.save` wrote.

    Raises
    ------
    ModelFileError
        If the folder is damaged, cut off, written by a later version, or no model at all.
    """
    from bnplug.exchange import model_folder

    saved = model_folder.read(path)
    model = BayesianNetworkClassifier.from_tables(saved.tables, saved.intake, **saved.settings)
    model.classes_ = saved.classes
    model.made_ = {part: saved.made.get(part, text) for part, text in model.made_.items()}
    if not saved.named:
        del model.feature_names_in_
    return model


def read_bif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier, on discrete states, that predicts by the network in a BIF file.

    Parameters
    ----------
    path : path
        A BIF file of ours, of pgmpy, pyAgrum or bnlearn.
    target : str, optional
        The class; by default the one that the file itself names, as ours do.

    Raises
    ------
    ModelFileError
        If the file is damaged or no BIF; the message says where.
    """
    from bnplug.exchange import bif

    return _of_file(bif.read_bif(path), path, target)


def read_xmlbif(path: str | PathLike[str], target: str | None = None) -> BayesianNetworkClassifier:
    """Return a fitted classifier that predicts by the network in an XMLBIF file; as :func:`read_bif`."""
    from bnplug.exchange import xmlbif

    return _of_file(xmlbif.read_xmlbif(path), path, target)


def _of_file(tables: LogTables, path: str | PathLike[str], target: str | None) -> BayesianNetworkClassifier:
    chosen = tables.target if target is None else target
    if chosen is None:
        raise ValueError(
            f"{path} does not say which variable is the class; name the target, one of {list(tables.names)}"
        )
    if chosen not in tables.names:
        raise ValueError(f"{path}: there is no variable {chosen!r}.{did_you_mean(chosen, tables.names)}")
    return BayesianNetworkClassifier.from_tables(tables.with_target(chosen))


def _as_written(component: Any) -> str:
    """Return a component as a user would write it."""
    if isinstance(component, str):
        return component
    if isinstance(component, tuple) and len(component) == 2 and isinstance(component[1], Mapping):
        name, params = component
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in params.items())})"
    return " ".join(repr(component).split())


def _target_name(y: Any, frame: pd.DataFrame) -> str:
    """Return the name of `y`, or "class", made unlike every feature's."""
    name = getattr(y, "name", None)
    name = str(name) if name not in (None, "") else "class"
    while name in frame.columns:
        name += "_"
    return name
