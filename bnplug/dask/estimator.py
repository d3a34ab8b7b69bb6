"""The classifier that is fitted on Dask collections, and predicts them lazily."""

from __future__ import annotations

import inspect
from typing import Any, Self

import dask.array as da
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
import pandas as pd
from dask import compute, delayed
from distributed import Client
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.contracts import InnerFold
from bnplug.dask._cluster import Cluster, find_client
from bnplug.dask._partitions import Partitions, is_dask
from bnplug.dask.tables import dask_table
from bnplug.data.table import check_unseen
from bnplug.exchange._parameters import check_complete


class DaskBayesianNetworkClassifier(BayesianNetworkClassifier):
    """A :class:`~bnplug.BayesianNetworkClassifier` whose training rows are on a Dask cluster.

    All structure learners, scores and parameter learners run on it, those of plugins too; the workers need the same
    packages. Rows never leave the workers: each sums up its partitions, and the sums are added in the order of the
    partitions, so that the model does not depend on the workers. Partitions of a worker that dies are computed again
    on another.

    Parameters
    ----------
    structure, parameters, ... : optional
        As for :class:`~bnplug.BayesianNetworkClassifier`. A discretiser must be one that cuts column by column.
    calibrate, unlabeled : None
        Rows held out, and rows without a class, are for a :class:`~bnplug.BayesianNetworkClassifier`.
    n_jobs : int, optional
        Threads of each task. A worker runs as many tasks as it has threads, so more are seldom of use.
    client : distributed.Client, optional
        By default the one that was made last. It is never copied or pickled with the model.

    Attributes
    ----------
    client_ : distributed.Client
        The client that is used.

    See Also
    --------
    bnplug.BayesianNetworkClassifier : All other attributes and methods.
    bnplug.dask.dask_table : The table that is learned on.

    Notes
    -----
    While one is fitted, another that needs the same workers waits.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from distributed import Client
    >>> from bnplug.datasets import iris
    >>> X, y = iris()
    >>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
    ...     rows = dd.from_pandas(X.assign(kind=y), npartitions=4)
    ...     model = DaskBayesianNetworkClassifier(structure="tan").fit(rows[list(X)], rows["kind"])
    ...     model.predict(rows[list(X)]).head(2).tolist()
    ['setosa', 'setosa']
    """

    def __init__(self, *args: Any, client: Client | None = None, **params: Any) -> None:
        super().__init__(*args, **params)
        self.client = client

    @property
    def client_(self) -> Client:
        """The client that is used: the given one, or the one that was made last."""
        return find_client(self.client)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn structure and parameters on the workers of a cluster.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, or dask.array.Array of two dimensions
            Features of any mix of types; missing cells are allowed. It is computed twice, unless it is persisted.
        y : dask.dataframe.Series, or dask.array.Array of one dimension
            The class of every row, in as many partitions as `X`.
        sample_weight : as `y`, optional
            If the parameter or structure learner leaves rows out (``backoff``, ``ccbn-loo``, ``skdb``), only the
            ratios of weights matter. Otherwise a row of weight 2 is equivalent to two rows. Rows of weight 0 are
            ignored.

        Raises
        ------
        TypeError
            For what is no Dask collection.
        ValueError
            As :meth:`bnplug.BayesianNetworkClassifier.fit`.
        bnplug.ClusterError
            If the cluster has no worker, its workers die, or they have too little memory.
        """
        check_complete(self)
        check_unseen(self.unseen)
        self._check_uncalibrated()
        if self.unlabeled is not None:
            raise ValueError(
                "unlabeled: rows without a class are learned from in memory, by a BayesianNetworkClassifier"
            )
        client = self.client_
        cluster = Cluster(client)
        cluster.wait_for_workers()
        with cluster.alone():
            table, intake = dask_table(
                X, y, sample_weight, client=client, discretizer=self._bins(),
                categorical_features=self.categorical_features, class_weight=self.class_weight, missing=self.missing,
                on_useless=self.on_useless, max_categories=self.max_categories, min_frequency=self.min_frequency,
                dates=self.dates, relative_weights=self._relative_weights(),
            )  # fmt: skip
            self.n_features_in_ = len(intake.columns)
            self.__dict__.pop("feature_names_in_", None)
            if isinstance(X, dd.DataFrame):
                self.feature_names_in_ = np.array(intake.columns, dtype=object)
            self._note_table(table, intake)
            return self._learn(table, self._no_folds)

    def predict(self, X: Any) -> Any:
        """Return the class of every row: lazily for a Dask frame (as a series) or array, else at once."""
        return self._lazily("predict", X) if is_dask(X) else super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class: lazily for a Dask frame (as a frame) or array, else at once."""
        return self._lazily("predict_proba", X) if is_dask(X) else super().predict_proba(X)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`."""
        return self._lazily("predict_log_proba", X) if is_dask(X) else super().predict_log_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows, by weight, for which :meth:`predict` returns the class in `y`; at once."""
        if not is_dask(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        model = delayed(self.to_local(), traverse=False)
        tasks = [delayed(_right)(model, *own) for own in Partitions.of(X, y, sample_weight).parts]
        right, total = np.sum(compute(*tasks, scheduler=self.client), axis=0)
        return float(right / total)

    def to_local(self) -> BayesianNetworkClassifier:
        """Return the same model as a :class:`~bnplug.BayesianNetworkClassifier`, which knows nothing of clusters."""
        params = {name: own for name, own in self.get_params(deep=False).items() if name != "client"}
        local = BayesianNetworkClassifier(**params)
        local.__dict__.update({name: own for name, own in self.__dict__.items() if name not in (*params, "client")})
        return local

    def save(self, path: Any) -> None:
        """Save the fitted model to a folder, as :meth:`to_local` gives it; see :func:`bnplug.save`."""
        check_is_fitted(self)
        self.to_local().save(path)

    def _lazily(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        model = self.to_local()
        if isinstance(X, dd.DataFrame):
            return X.map_partitions(_answer_frame, model, method, meta=_answer_frame(X._meta, model, method))
        if not isinstance(X, da.Array) or X.ndim != 2:
            raise TypeError(f"X is a {type(X).__name__} of Dask, and must be a frame or an array of two dimensions")
        meta = _empty(model, method)
        one = meta.ndim == 1
        chunks = (X.chunks[0],) if one else (X.chunks[0], (meta.shape[1],))
        return X.rechunk({1: -1}).map_blocks(
            _answer, model, method, dtype=meta.dtype, chunks=chunks, drop_axis=1 if one else None, meta=meta
        )

    def _check_uncalibrated(self) -> None:
        if self.calibrate is not None:
            raise ValueError(
                f"calibrate={self.calibrate!r} looks at rows held out, for which all must be in memory: use a "
                "BayesianNetworkClassifier"
            )

    def _no_folds(self, n_folds: int) -> list[InnerFold]:
        raise ValueError(
            f"parameters={self.parameters!r} are chosen by rows held out, in folds in which columns are cut anew; for "
            "that all rows must be in memory: use a BayesianNetworkClassifier"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> DaskBayesianNetworkClassifier:
        params = self.get_params(deep=False)
        client = params.pop("client")
        return type(self)(**{name: clone(own, safe=False) for name, own in params.items()}, client=client)


def _with_client() -> inspect.Signature:
    """Return how the classifier is made, with a client: from this scikit-learn knows what its parameters are."""
    known = inspect.signature(BayesianNetworkClassifier.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    return known.replace(parameters=[*known.parameters.values(), client])


# The parameters are those of the classifier, whatever these are, and one more.
DaskBayesianNetworkClassifier.__init__.__signature__ = _with_client()  # type: ignore[attr-defined]


def _answer(X: Any, model: BayesianNetworkClassifier, method: str) -> npt.NDArray[Any]:
    """Return what a model predicts of some rows; of none, nothing."""
    return np.asarray(getattr(model, method)(X)) if len(X) else _empty(model, method)


def _empty(model: BayesianNetworkClassifier, method: str) -> npt.NDArray[Any]:
    """Return what a model predicts of no rows."""
    if method == "predict":
        return model.classes_[:0]
    return np.empty((0, len(model.classes_)))


def _answer_frame(X: pd.DataFrame, model: BayesianNetworkClassifier, method: str) -> Any:
    """Return what a model predicts of a frame, with its index."""
    found = _answer(X, model, method)
    if found.ndim == 1:
        return pd.Series(found, X.index, name=model.target_)
    return pd.DataFrame(found, X.index, columns=list(model.classes_))


def _right(model: BayesianNetworkClassifier, X: Any, y: Any, weights: Any) -> tuple[float, float]:
    """Return what the rows weigh that are told rightly, and what all weigh."""
    if not len(X):
        return 0.0, 0.0
    total = float(len(X) if weights is None else np.sum(np.asarray(weights)))
    return model.score(X, y, weights) * total, total
