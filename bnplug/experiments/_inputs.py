"""What a comparison gets: data sets, split into the folds that all methods share, and methods, prepared for a fold."""

from __future__ import annotations

import copy
import hashlib
import os
import pkgutil
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from bnplug import datasets as library
from bnplug.classifier import BayesianNetworkClassifier, make_classifier
from bnplug.errors import BnplugWarning, UnknownMethodError, did_you_mean
from bnplug.hooks import expressions, registry
from bnplug.hooks.descriptors import ClassifierMethod, as_written, is_component, name_and_parameters
from bnplug.hooks.expressions import Expression
from bnplug.io._parameters import check_complete
from bnplug.table._columns import plan_columns
from bnplug.table._dates import spread
from bnplug.table.folds import Split, split_rows
from bnplug.table.frames import to_frame
from bnplug.table.kinds import discrete_columns, is_numeric
from bnplug.table.rules import ColumnRules
from bnplug.typing import BoolArray, IntArray

_REPEATED = re.compile(r"(\d+)x(\d+)")


@dataclass(frozen=True, eq=False)
class SplitData:
    """A data set with its folds by number; ``truth`` has the class of each row, as a position in ``classes``."""

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    categorical_features: Any
    classes: Sequence[Any]
    truth: IntArray
    splits: Mapping[int, Split]
    cv: str

    def only(self, fold: int) -> SplitData:
        """Return the data set with a single fold, to be sent to a worker."""
        return replace(self, splits={fold: self.splits[fold]})

    def digest(self) -> str:
        """Return a hash of the rows, the kinds of columns and the folds."""
        digest = hashlib.sha256(repr((list(self.X.columns), self.categorical_features, self.classes)).encode())
        digest.update(pd.util.hash_pandas_object(self.X, index=False).to_numpy().tobytes())
        digest.update(self.truth.tobytes())
        for part in (part for split in self.splits.values() for part in split):
            digest.update(part.astype(np.int64).tobytes() + b"|")
        return digest.hexdigest()


def split_data(
    datasets: Iterable[Any],
    cv: Any,
    missing: str,
    random_state: int,
    data_dir: str | os.PathLike[str] | None,
    categorical_features: str = "auto",
) -> list[SplitData]:
    """Load data sets and draw their folds; parameters as for :func:`bnplug.experiments.compare`.

    Examples
    --------
    >>> corral = split_data(["corral"], "2x5", "ignore", 0, None)[0]
    >>> corral.classes, len(corral.splits)
    ([0, 1], 10)
    """
    if isinstance(datasets, str):
        raise TypeError(f"datasets is a list of data sets, not the text {datasets!r}")
    by_name: dict[str, SplitData] = {}
    for number, item in enumerate(datasets, start=1):
        data = _load(item, number, data_dir)
        if data.name in by_name:
            raise ValueError(f"two data sets are called {data.name!r}")
        kinds = data if categorical_features == "declared" else as_the_classifier_takes(data)
        by_name[data.name] = _split(kinds, cv, missing, random_state)
    if not by_name:
        raise ValueError("there is no data set to compare on")
    return list(by_name.values())


def as_the_classifier_takes(data: library.Dataset) -> library.Dataset:
    """Return a data set whose columns a `BayesianNetworkClassifier` with default settings interprets correctly.

    Numbers that the data set declares as categories become text if the classifier would treat them as numeric.
    """
    listed = [] if isinstance(data.categorical_features, str) else list(data.categorical_features)
    numbers = data.X[[name for name in listed if is_numeric(data.X[name])]]
    texts = {name: numbers[name].map(str, na_action="ignore") for name in numbers.columns[~discrete_columns(numbers)]}
    return replace(data, X=data.X.assign(**texts), categorical_features="auto")


def _load(item: Any, number: int, data_dir: Any) -> library.Dataset:
    data = library.load(item, data_dir) if isinstance(item, str) else item
    if isinstance(data, library.Dataset):
        return data
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise TypeError(f"expected a name, a Dataset or a pair (X, y), not {type(data).__name__}")
    name = f"data{number}"
    X, y = to_frame(data[0], name), data[1]
    if len(X) != len(y):
        raise ValueError(f"data set {name!r}: X has {len(X)} rows and y has {len(y)}")
    y = y if isinstance(y, pd.Series) else pd.Series(np.asarray(y), name="class")
    return library.Dataset(name, X, y, "auto", "given")


def _split(data: library.Dataset, cv: Any, missing: str, random_state: int) -> SplitData:
    kept = ~data.X.isna().any(axis=1).to_numpy() if missing == "drop" else np.ones(len(data.X), dtype=bool)
    try:
        if isinstance(cv, Mapping):
            if data.name not in cv:
                raise ValueError(f"cv has nothing for it, only for {list(cv)}")
            cv = cv[data.name]
        if isinstance(cv, str) and cv == "split":
            if data.split is None:
                raise ValueError("cv='split', and it comes without training and test rows of its own")
            cv = [data.split]
        splits = make_splits(cv, data.X, data.y, kept, random_state)
    except ValueError as error:
        raise ValueError(f"data set {data.name!r}: {error}") from error
    _, n_folds = _repeated(cv) or (0, 0)
    rare = ", ".join(f"{label!r} ({n})" for label, n in Counter(data.y[kept].tolist()).items() if n < n_folds)
    if rare:
        message = f"data set {data.name!r}: classes with fewer rows than there are folds: {rare}"
        warnings.warn(message, BnplugWarning, stacklevel=4)
    classes, truth = np.unique(data.y.to_numpy(), return_inverse=True)
    known = (data.name, data.X, data.y, data.categorical_features)
    return SplitData(*known, classes.tolist(), truth, dict(enumerate(splits)), describe_cv(cv))


# Folds


def make_splits(cv: Any, X: Any, y: Any, kept: BoolArray, random_state: int) -> list[Split]:
    """Return the training and test rows of every fold, as positions among all rows; only `kept` rows are used."""
    repeated = _repeated(cv)
    splitter = _splitter(cv, repeated, y[kept], random_state)
    if splitter is None:
        splits = [_given(fold, kept) for fold in cv]
    else:
        rows = np.flatnonzero(kept)
        if not len(rows):
            raise ValueError("no row is left: all have a missing cell")
        n_repeats = repeated[0] if repeated else 1
        drawn = split_rows(y.iloc[rows], splitter, random_state, n_repeats=n_repeats, X=X.iloc[rows])
        splits = [(rows[train], rows[test]) for train, test in drawn]
    if not splits:
        raise ValueError("cv gives no fold")
    for number, (train, test) in enumerate(splits):
        if not len(train) or not len(test):
            raise ValueError(f"cv: fold {number} has no {'test' if len(train) else 'training'} rows")
        n_both = len(np.intersect1d(train, test))
        if n_both:
            raise ValueError(f"cv: fold {number} has {n_both} of {len(kept)} rows both in training and in test")
    return splits


def describe_cv(cv: Any) -> str:
    """Describe `cv` in a few words, such as '10x5' or '1 given split'."""
    if isinstance(cv, str | int):
        return str(cv)
    if hasattr(cv, "split"):
        return type(cv).__name__
    return f"{len(cv)} given split{'s' if len(cv) > 1 else ''}"


def _repeated(cv: Any) -> tuple[int, int] | None:
    """Return the numbers of repetitions and folds, or None if `cv` is neither a number nor text such as "10x5"."""
    match = _REPEATED.fullmatch(cv) if isinstance(cv, str) else None
    if match:
        return int(match[1]), int(match[2])
    return (1, int(cv)) if isinstance(cv, int | np.integer) else None


def _splitter(cv: Any, repeated: tuple[int, int] | None, y: Any, random_state: int) -> Any:
    """Return the number of stratified folds, a splitter, or None if `cv` lists the splits themselves."""
    if repeated:
        n_repeats, n_splits = repeated
        if n_repeats < 1 or n_splits < 2:
            raise ValueError(f"cv={cv!r}: there must be at least one repetition of at least two folds")
        # scikit-learn stratifies if at least one class has a row for every fold.
        if max(Counter(y.tolist()).values(), default=0) >= n_splits:
            return n_splits
        return RepeatedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=random_state)
    if hasattr(cv, "split") and not isinstance(cv, str):
        splitter = copy.deepcopy(cv)
        if getattr(splitter, "random_state", 0) is None:
            splitter.random_state = random_state
        return splitter
    if not _is_list(cv) or not all(_is_list(fold) and len(fold) == 2 for fold in cv):
        raise ValueError(
            f"cv={cv!r}: expected '10x5' (repetitions x folds), a number of folds, a scikit-learn splitter, "
            "or a list of (training rows, test rows)"
        )
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _given(fold: Any, kept: BoolArray) -> Split:
    """Return a given fold without the unused rows."""
    train, test = (np.asarray(part, dtype=np.int64).ravel() for part in fold)
    for part in (train, test):
        if ((part < 0) | (part >= len(kept))).any():
            raise ValueError(f"cv lists rows that are not there: rows are numbered 0 to {len(kept) - 1}")
    return train[kept[train]], test[kept[test]]


# Methods


class Baseline(NamedTuple):
    """A classifier of scikit-learn: its class, parameters, and whether the demonstration features it."""

    factory: str
    parameters: dict[str, Any]
    featured: bool = False


#: Classifiers of scikit-learn by name, for the command line.
BASELINES = {
    "logistic-regression": Baseline("sklearn.linear_model:LogisticRegression", {"max_iter": 1000}),
    "svm": Baseline("sklearn.svm:SVC", {}),
    "decision-tree": Baseline("sklearn.tree:DecisionTreeClassifier", {}),
    "random-forest": Baseline("sklearn.ensemble:RandomForestClassifier", {}, featured=True),
    "gradient-boosting": Baseline("sklearn.ensemble:HistGradientBoostingClassifier", {}),
}


def resolve_methods(methods: Iterable[Any]) -> dict[str, Any]:
    """Return the estimators of a comparison by name, in order; `methods` as for :func:`compare`."""
    if isinstance(methods, str):
        raise TypeError(f"methods is a list of methods, not the text {methods!r}")
    if isinstance(methods, Mapping):
        raise TypeError("methods is a list of methods, not a dict: give list(methods.items())")
    named: dict[str, Any] = {}
    for method in methods:
        name, estimator = _resolve(method)
        if name in named:
            raise ValueError(f"two methods are called {name!r}: give (name, estimator) pairs with names of their own")
        named[name] = estimator
    if not named:
        raise ValueError("there is no method to compare")
    return named


def prepare(
    estimator: Any, X: pd.DataFrame, categorical_features: Any, missing: str, seed: int, sequential: bool
) -> Any:
    """Return an unfitted copy of `estimator`, ready for `X`; `sequential` sets every ``n_jobs`` to 1."""
    made = clone(estimator)
    check_complete(made)
    parts = {"": made} | {f"{name}__": value for name, value in made.get_params().items()}
    networks = {prefix: part for prefix, part in parts.items() if isinstance(part, BayesianNetworkClassifier)}
    for prefix, network in networks.items():
        made.set_params(**{f"{prefix}missing": missing})
        if isinstance(network.categorical_features, str):
            made.set_params(**{f"{prefix}categorical_features": categorical_features})
    takes_frames = isinstance(made, Pipeline) or bool(networks)
    if not takes_frames and not any(isinstance(registry.method_of(part), ClassifierMethod) for part in parts.values()):
        made = Pipeline([("columns", _columns(X, categorical_features, missing)), ("estimator", made)])
    for name, value in made.get_params().items():
        last = name.rpartition("__")[2]
        if last == "random_state" and value is None:
            made.set_params(**{name: seed})
        elif last == "n_jobs" and sequential:
            made.set_params(**{name: 1})
    return made


def fitted_network(model: Any) -> BayesianNetworkClassifier | None:
    """Return the Bayesian-network classifier of a fitted model, also in a search or at the end of a pipeline."""
    model = getattr(model, "best_estimator_", model)
    model = model[-1] if isinstance(model, Pipeline) else model
    return model if isinstance(model, BayesianNetworkClassifier) else None


def _resolve(method: Any) -> tuple[str, Any]:
    if isinstance(method, tuple) and is_component(method):
        return as_written(method), _composed(Expression(method))
    if isinstance(method, tuple | list) and len(method) == 2 and isinstance(method[0], str):
        name, estimator = method
    else:
        name, estimator = method if isinstance(method, str) else type(method).__name__, method
    if isinstance(estimator, str):
        return name, _composed(expressions.parse(estimator))
    if isinstance(estimator, type) or not all(hasattr(estimator, part) for part in ("fit", "predict", "get_params")):
        raise TypeError(f"a method is a name, an estimator, (name, estimator) or (name, parameters), not {estimator!r}")
    return name, estimator


def _composed(expression: Expression) -> Any:
    """Return the classifier of an expression, or a baseline if no method has that name."""
    try:
        return make_classifier(expression)
    except UnknownMethodError as error:
        if expression.structure is None or expression.score or expression.parameters:
            raise
        name, params = name_and_parameters(expression.structure)
        if name not in BASELINES:
            hint = "" if "Did you mean" in str(error) else did_you_mean(name, BASELINES)
            raise UnknownMethodError(f"{error}; to compare with:{hint} {', '.join(BASELINES)}") from None
        baseline = BASELINES[name]
        return pkgutil.resolve_name(baseline.factory)(**{**baseline.parameters, **params})


def _columns(X: pd.DataFrame, categorical_features: Any, missing: str) -> Pipeline:
    """Make the preparation of columns for estimators that need complete numbers; dates are split into their parts."""
    plan = plan_columns(X, ColumnRules(categorical_features=categorical_features))
    numeric = list(plan.numbers)
    discrete = [name for name in plan.names if name not in plan.numbers]
    own_state = missing == "value"
    one_hot = make_pipeline(
        FunctionTransformer(_as_text, feature_names_out="one-to-one"),
        SimpleImputer(
            strategy="constant" if own_state else "most_frequent",
            fill_value="(missing)" if own_state else None,
            keep_empty_features=True,
        ),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    scaled = make_pipeline(SimpleImputer(add_indicator=own_state, keep_empty_features=True), StandardScaler())
    columns = {"left_out": list(plan.left_out), "dates": plan.dates, "zones": plan.zones}
    features = FunctionTransformer(_features, kw_args=columns)
    return make_pipeline(features, ColumnTransformer([("discrete", one_hot, discrete), ("numeric", scaled, numeric)]))


def _features(
    frame: pd.DataFrame, left_out: list[str], dates: Mapping[str, Mapping[str, str]], zones: Mapping[str, str]
) -> pd.DataFrame:
    return spread(frame.drop(columns=left_out), dates, zones)


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every cell as text, missing cells as None, for the encoder of columns of any kind."""
    return frame.astype(object).map(lambda value: None if pd.isna(value) else str(value))
