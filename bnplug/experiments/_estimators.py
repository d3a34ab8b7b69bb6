"""The methods of a comparison: what users name them by, and how each is made ready for a fold.

A Bayesian-network classifier, and a plugin's classifier, takes a frame as it is. Any other estimator gets its columns
prepared inside the fold: missing cells imputed, discrete columns one-hot, numeric ones scaled.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from bnplug.classifier import BayesianNetworkClassifier, make_classifier
from bnplug.data._columns import Rules, settle
from bnplug.data._dates import spread
from bnplug.errors import UnknownMethodError, did_you_mean
from bnplug.exchange._parameters import check_complete
from bnplug.hooks import expressions, registry
from bnplug.hooks.descriptors import ClassifierMethod, as_written, is_component, name_and_parameters
from bnplug.hooks.expressions import Expression


class Baseline(NamedTuple):
    """A classifier of scikit-learn: its class, parameters, and whether it is the rival that a newcomer should know."""

    factory: str
    parameters: dict[str, Any]
    featured: bool = False


#: Classifiers of scikit-learn that go by a name, for the command line.
BASELINES = {
    "logistic-regression": Baseline("sklearn.linear_model:LogisticRegression", {"max_iter": 1000}),
    "svm": Baseline("sklearn.svm:SVC", {}),
    "decision-tree": Baseline("sklearn.tree:DecisionTreeClassifier", {}),
    "random-forest": Baseline("sklearn.ensemble:RandomForestClassifier", {}, featured=True),
    "gradient-boosting": Baseline("sklearn.ensemble:HistGradientBoostingClassifier", {}),
}


def resolve_methods(methods: Iterable[Any]) -> dict[str, Any]:
    """Return the estimators of a comparison by name, in their order.

    Parameters
    ----------
    methods : iterable
        Each whatever :func:`bnplug.make_classifier` takes, or one of `BASELINES`, by name; a name with parameters,
        ``("kdb", {"k": 1})``; an estimator, named after its class; or ``(name, estimator)``.

    Raises
    ------
    UnknownMethodError
        If nothing has such a name.
    ValueError
        If two methods have the same name, or there is none.

    Examples
    --------
    >>> list(resolve_methods(["tan", ("kdb", {"k": 1}), "hill-climb[cr]+ml", "svm"]))
    ['tan', 'kdb(k=1)', 'hill-climb[cr]+ml', 'svm']
    """
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
    """Return an unfitted copy of `estimator`, ready for the training rows `X`.

    Parameters
    ----------
    estimator : estimator
        Stays as it is. A ``Pipeline``, and whatever is or holds a Bayesian-network classifier or a plugin's
        classifier, gets frames; any other is put behind the preparation of columns.
    X : frame
        The training rows of the fold.
    categorical_features
        As for `BayesianNetworkClassifier`: which columns of numbers are discrete.
    missing : {"drop", "value", "ignore", "em"}
        What missing cells are: ``"value"``, a state of their own. Else a Bayesian network leaves them out, learns from
        what else is known, or marginalises them, and others have the mean or the most frequent value.
    seed : int
        For every ``random_state`` that is None.
    sequential : bool
        Set every ``n_jobs`` to 1, since folds run in parallel.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> frame = pd.DataFrame({"sky": ["sun", "rain"] * 3, "heat": [0.5, 1.5, 2.5] * 2})
    >>> [name for name, _ in prepare(SVC(), frame, "auto", "ignore", 0, False).steps]
    ['columns', 'estimator']
    """
    made = clone(estimator)
    check_complete(made)
    networks = _networks(made)
    for prefix, network in networks.items():
        settings: dict[str, Any] = {"missing": missing}
        if isinstance(network.categorical_features, str):
            settings["categorical_features"] = categorical_features
        made.set_params(**{prefix + name: value for name, value in settings.items()})
    if not _takes_frames(made):
        made = Pipeline([("columns", _columns(X, categorical_features, missing)), ("estimator", made)])
    for name, value in made.get_params().items():
        last = name.rpartition("__")[2]
        if last == "random_state" and value is None:
            made.set_params(**{name: seed})
        elif last == "n_jobs" and sequential:
            made.set_params(**{name: 1})
    return made


def fitted_network(model: Any) -> BayesianNetworkClassifier | None:
    """Return the Bayesian-network classifier that a fitted model is, or has chosen or ends with."""
    model = getattr(model, "best_estimator_", model)
    model = model[-1] if isinstance(model, Pipeline) else model
    return model if isinstance(model, BayesianNetworkClassifier) else None


def _resolve(method: Any) -> tuple[str, Any]:
    if isinstance(method, str):
        return method, _by_name(method)
    if isinstance(method, tuple) and is_component(method):
        return as_written(method), _composed(Expression(method))
    if isinstance(method, tuple | list) and len(method) == 2 and isinstance(method[0], str):
        return method[0], _checked(method[1])
    return type(method).__name__, _checked(method)


def _checked(estimator: Any) -> Any:
    if isinstance(estimator, str):
        return _by_name(estimator)
    if isinstance(estimator, type) or not all(hasattr(estimator, name) for name in ("fit", "predict", "get_params")):
        raise TypeError(f"a method is a name, an estimator, (name, estimator) or (name, parameters), not {estimator!r}")
    return estimator


def _by_name(name: str) -> Any:
    return _composed(expressions.parse(name))


def _composed(expression: Expression) -> Any:
    """Return what an expression stands for; a baseline, with parameters or without, where nothing has that name."""
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


def _networks(estimator: Any) -> Mapping[str, BayesianNetworkClassifier]:
    """Return the Bayesian-network classifiers in an estimator, by the prefix of their parameters."""
    if isinstance(estimator, BayesianNetworkClassifier):
        return {"": estimator}
    params = estimator.get_params()
    return {f"{name}__": value for name, value in params.items() if isinstance(value, BayesianNetworkClassifier)}


def _takes_frames(estimator: Any) -> bool:
    """Say whether an estimator takes columns as they come: what bnplug made does, and what holds such a thing."""
    if isinstance(estimator, Pipeline):
        return True
    inside = [estimator, *estimator.get_params().values()]
    return any(
        isinstance(one, BayesianNetworkClassifier) or isinstance(registry.method_of(one), ClassifierMethod)
        for one in inside
    )


def _columns(X: pd.DataFrame, categorical_features: Any, missing: str) -> Pipeline:
    """Make the preparation of columns for an estimator that takes nothing but complete numbers.

    As a Bayesian-network classifier does by default, it leaves useless columns out, and takes dates as their parts.
    """
    found = settle(X, Rules(categorical_features))
    numeric = list(found.numbers)
    discrete = [name for name in found.names if name not in found.numbers]
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
    features = FunctionTransformer(_features, kw_args={"left_out": list(found.left_out), "dates": found.dates})
    return make_pipeline(features, ColumnTransformer([("discrete", one_hot, discrete), ("numeric", scaled, numeric)]))


def _features(frame: pd.DataFrame, left_out: list[str], dates: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    return spread(frame.drop(columns=left_out), dates)


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every cell as text, missing ones as None, so that a column of any kind can be encoded."""
    return frame.astype(object).map(lambda value: None if pd.isna(value) else str(value))
