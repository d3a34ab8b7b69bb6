"""Classifiers that are fitted on Dask collections and predict lazily.

This module needs the optional extra: ``pip install "bnplug[dask]"``. No other module of bnplug imports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

try:
    import dask.array as da
    import dask.dataframe as dd
    from dask import compute, delayed
    from distributed import Client
except ImportError as error:
    raise ImportError(
        f'bnplug.dask needs dask and distributed; importing them failed ({error}): pip install "bnplug[dask]"'
    ) from error

from bnplug.classifier.estimator import BayesianNetworkClassifier
from bnplug.errors import article
from bnplug.io._parameters import check_complete
from bnplug.sources.dask._cluster import Cluster, find_client
from bnplug.sources.dask._store import DaskStore
from bnplug.sources.dask._tables import Partitions, is_dask, not_dask

__all__ = ["DaskBayesianNetworkClassifier", "DaskClassifier", "DaskStore"]


class DaskClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier whose training rows are on a Dask cluster: base class, before the class for rows in memory.

    It adds the parameter `client`, lazy predictions and :meth:`to_local`. A subclass sets `local`, and its ``fit`` uses
    :meth:`cluster`.

    Attributes
    ----------
    local : type
        The class for rows in memory.
    """

    local: ClassVar[Any]

    def __init__(self, *args: Any, client: Client | None = None, **params: Any) -> None:
        super().__init__(*args, **params)
        self.client = client

    @property
    def client_(self) -> Client:
        """The given client, or the one that was created last."""
        return find_client(self.client)

    @contextmanager
    def cluster(self, X: Any) -> Iterator[Client]:
        """Yield the client for fitting to a Dask collection; other fits that need the same workers wait."""
        if not is_dask(X):
            raise not_dask(X)
        check_complete(self)
        cluster = Cluster(self.client_)
        cluster.wait_for_workers()
        with cluster.alone():
            yield cluster.client

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
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        model = delayed(self.to_local(), traverse=False)
        tasks = [delayed(_correct)(model, *part) for part in Partitions.of(X, y, sample_weight).parts]
        correct, total = np.sum(compute(*tasks, scheduler=self.client), axis=0)
        return float(correct / total)

    def to_local(self) -> Any:
        """Return the same model as a classifier for rows in memory, without a client."""
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        local = self.local(**params)
        local.__dict__.update({name: value for name, value in self.__dict__.items() if name not in (*params, "client")})
        return local

    def save(self, path: Any) -> None:
        """Save the fitted model without its client to a folder; see :func:`bnplug.save`."""
        check_is_fitted(self)
        self.to_local().save(path)

    def _lazily(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        model = self.to_local()
        if isinstance(X, dd.DataFrame):
            return X.map_partitions(_answer_frame, model, method, meta=_answer_frame(X._meta, model, method))
        if not isinstance(X, da.Array) or X.ndim != 2:
            raise TypeError(f"X must be a Dask frame or a two-dimensional Dask array, not {article(type(X).__name__)}")
        meta = _empty(model, method)
        one = meta.ndim == 1
        chunks = (X.chunks[0],) if one else (X.chunks[0], (meta.shape[1],))
        return X.rechunk({1: -1}).map_blocks(
            _answer, model, method, dtype=meta.dtype, chunks=chunks, drop_axis=1 if one else None, meta=meta
        )

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the parameters of the classifier, and ``client``."""
        return sorted([*cls.local._get_param_names(), "client"])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Any:
        params = self.get_params(deep=False)
        client = params.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in params.items()}, client=client)


class DaskBayesianNetworkClassifier(DaskClassifier, BayesianNetworkClassifier):
    """A :class:`~bnplug.BayesianNetworkClassifier` whose training rows are on a Dask cluster.

    All structure learners, scores and parameter learners work, also those of plugins; the workers need the same
    packages. Rows never leave the workers, and the model does not depend on their number. If a worker dies, its
    partitions are computed again on another. Fits that need the same workers wait for each other.

    Parameters
    ----------
    structure, parameters, ... : optional
        As for :class:`~bnplug.BayesianNetworkClassifier`. The discretizer must treat each column separately.
    unlabeled : None
        Not supported: rows without a class need a :class:`~bnplug.BayesianNetworkClassifier`.
    n_jobs : int, optional
        Threads of each task. A worker runs as many tasks as it has threads, so more are seldom useful.
    client : distributed.Client, optional
        By default the client that was created last. It is never copied or pickled with the model.

    Attributes
    ----------
    client_ : distributed.Client
        The client that is used.

    See Also
    --------
    bnplug.BayesianNetworkClassifier : All other attributes and methods.
    bnplug.encode_training : Encodes the training data.

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

    local = BayesianNetworkClassifier

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn structure and parameters on the workers of a cluster.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, or dask.array.Array of two dimensions
            Features of any mix of types; missing cells are allowed. It is computed twice, unless it is persisted.
        y : dask.dataframe.Series, or dask.array.Array of one dimension
            The class of every row, in as many partitions as `X`.
        sample_weight : as `y`, optional
            As in :meth:`bnplug.BayesianNetworkClassifier.fit`.

        Raises
        ------
        bnplug.ClusterError
            If the cluster has no worker, its workers die, or they have too little memory.
        """
        if self.unlabeled is not None:
            raise ValueError(
                "unlabeled: rows without a class are learned from in memory, by a BayesianNetworkClassifier"
            )
        with self.cluster(X) as client:
            self.fit_table(*self.encode_training(X, y, sample_weight, client=client))
        if not isinstance(X, dd.DataFrame):
            del self.feature_names_in_
        return self


def _answer(X: Any, model: Any, method: str) -> npt.NDArray[Any]:
    return np.asarray(getattr(model, method)(X)) if len(X) else _empty(model, method)


def _empty(model: Any, method: str) -> npt.NDArray[Any]:
    """Return the predictions for no rows."""
    return model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))


def _answer_frame(X: pd.DataFrame, model: Any, method: str) -> Any:
    """Return predictions as a series or frame with the index of X."""
    answers = _answer(X, model, method)
    if answers.ndim == 1:
        return pd.Series(answers, X.index, name=model.target_)
    return pd.DataFrame(answers, X.index, columns=list(model.classes_))


def _correct(model: Any, X: Any, y: Any, weights: Any) -> tuple[float, float]:
    """Return the weight of correctly classified rows, and of all rows."""
    if not len(X):
        return 0.0, 0.0
    total = float(len(X) if weights is None else np.sum(np.asarray(weights)))
    return model.score(X, y, weights) * total, total
