"""Classifiers that learn on a Dask cluster: the blocks of a table are where its workers are.

It needs the optional extra: ``pip install "bnplug[dask]"``. Nothing else of bnplug imports this room.
"""

from __future__ import annotations

try:
    import dask.dataframe as _dataframe
    import distributed as _distributed
except ImportError as error:
    raise ImportError(
        f'bnplug.dask needs dask and distributed, and one of them is not there ({error}): pip install "bnplug[dask]"'
    ) from error

from bnplug.dask.estimator import DaskBayesianNetworkClassifier
from bnplug.dask.store import DaskStore
from bnplug.dask.tables import dask_table

del _dataframe, _distributed

__all__ = ["DaskBayesianNetworkClassifier", "DaskStore", "dask_table"]
