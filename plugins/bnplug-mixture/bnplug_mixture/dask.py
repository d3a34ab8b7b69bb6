"""A mixture that is fitted on Dask collections and predicts lazily.

This module needs the optional extra of bnplug: ``pip install "bnplug[dask]"``. No other module imports it.
"""

from __future__ import annotations

from typing import Any, Self

from bnplug.dask import DaskClassifier
from bnplug_mixture.learning import EncodedRows
from bnplug_mixture.mixture import NetworkMixture


class DaskNetworkMixture(DaskClassifier, NetworkMixture):
    """A `NetworkMixture` whose training rows are on a Dask cluster.

    Rows never leave the workers. The result is that of ``NetworkMixture.fit_files``.

    Parameters
    ----------
    member, structures, ... : optional
        As for `NetworkMixture`. The discretizer must treat each column separately.
    client : distributed.Client, optional
        By default the client that was created last. It is never copied or pickled with the model.

    Attributes
    ----------
    client_ : distributed.Client
        The client that is used.
    """

    local = NetworkMixture

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the members on the workers of a cluster.

        The arguments are as for :meth:`bnplug.dask.DaskBayesianNetworkClassifier.fit`. The rows are encoded once for
        each member, unless no column is numeric; persist `X` if it is expensive to compute.
        """
        with self.cluster(X) as client:
            self._learn(EncodedRows(X, y, sample_weight, {"client": client}))
        if not hasattr(X, "columns"):
            del self.feature_names_in_
            for network in (*self.members_, *self.generative_):
                del network.feature_names_in_
        return self
