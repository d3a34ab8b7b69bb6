"""
Learning on a cluster
=====================

Rows in Dask collections stay on the workers of the cluster: each sums up its partitions, and a model comes out that is
the same as that of all rows in memory. Predictions are lazy. And what is many fits of small data, such as a grid search
or a comparison of methods, goes to the same cluster through joblib.

It needs ``pip install "bnplug[dask]"``. The cluster here is two workers of this machine; ``Client("scheduler:8786")``
leads to any other.
"""

import dask.dataframe as dd
import joblib
from distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV

from bnplug import BayesianNetworkClassifier
from bnplug.dask import DaskBayesianNetworkClassifier
from bnplug.datasets import tic_tac_toe, wine
from bnplug.experiments import compare


def learn(client):
    """Fit on partitions that are on the workers; what is asked of all rows is asked there."""
    X, y = tic_tac_toe()
    rows = dd.from_pandas(X.assign(won=y), npartitions=4)
    features = rows[list(X)]
    structure = ("hill-climb", {"score": "cr", "max_parents": 2})
    model = DaskBayesianNetworkClassifier(structure, client=client).fit(features, rows["won"])
    print("on the cluster:", round(model.score(features, rows["won"]), 3))
    print("lazily:", type(model.predict(features)).__name__, model.predict(features).head(3).tolist())
    here = BayesianNetworkClassifier(structure).fit(X, y)
    print("as in memory:", (model.to_local().predict(X) == here.predict(X)).all())


def search():
    """Many fits of small data: each is a task of the cluster."""
    X, y = wine()
    with joblib.parallel_config("dask"):
        grid = GridSearchCV(BayesianNetworkClassifier("kdb"), {"structure__k": [1, 2]}, cv=3).fit(X, y)
        print("best:", grid.best_params_)
        print(compare(["nb", "tan"], ["wine"], cv=3).table().round(3))


# Worker processes import this file, so what starts them is guarded.
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        learn(client)
        search()
