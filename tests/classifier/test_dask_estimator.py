"""The classifier on Dask collections: the model of all rows in memory, lazy answers, and a client that stays here."""

import os
import pickle
import signal
import threading
import time
import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from clusters import cluster
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import bnplug
from bnplug import BayesianNetworkClassifier, datasets, encode_training
from bnplug.builtin.parameters.ml import MaximumLikelihood
from bnplug.dask import DaskBayesianNetworkClassifier
from bnplug.errors import ClusterError
from bnplug.experiments import compare
from bnplug.sources.dask import _cluster
from bnplug.sources.dask import _store as store


@pytest.fixture(scope="module")
def client():
    with cluster(2) as found:
        yield found


X, Y = datasets.load("tic-tac-toe").X, datasets.load("tic-tac-toe").y.astype(str).rename("won")


@pytest.fixture(scope="module")
def rows():
    return dd.from_pandas(X.assign(won=Y), npartitions=5)


@pytest.fixture(scope="module")
def model(client, rows):
    return DaskBayesianNetworkClassifier("tan").fit(rows[list(X)], rows["won"])


@pytest.fixture(scope="module")
def local():
    return BayesianNetworkClassifier("tan").fit(X, Y)


def test_parameters_are_those_of_the_classifier_and_the_client():
    params = DaskBayesianNetworkClassifier().get_params()
    assert params.pop("client") is None
    assert params == BayesianNetworkClassifier().get_params()


def test_the_model_is_that_of_all_rows(model, local):
    assert model.tables_.edges == local.tables_.edges
    for name in local.tables_.names:
        assert model.tables_[name].values.tolist() == local.tables_[name].values.tolist()
    assert model.feature_names_in_.tolist() == local.feature_names_in_.tolist()
    assert model.n_features_in_ == local.n_features_in_
    assert model.classes_.tolist() == local.classes_.tolist()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_answers_for_a_frame_are_lazy(model, local, rows, method):
    found = getattr(model, method)(rows[list(X)])
    assert isinstance(found, dd.Series if method == "predict" else dd.DataFrame)
    computed = found.compute()
    assert computed.index.tolist() == X.index.tolist()
    assert computed.to_numpy().tolist() == getattr(local, method)(X).tolist()
    assert list(found._meta.columns if method != "predict" else [found.name]) == (
        ["won"] if method == "predict" else list(local.classes_)
    )
    assert getattr(model, method)(X[:3]).tolist() == getattr(local, method)(X[:3]).tolist()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_answers_for_an_array_are_lazy(client, method):
    rows, labels = datasets.load("iris").X.to_numpy(float), datasets.load("iris").y.to_numpy().astype(str)
    lazy = da.from_array(rows, chunks=(40, 2))
    model = DaskBayesianNetworkClassifier("nb").fit(lazy, da.from_array(labels, chunks=30))
    local = BayesianNetworkClassifier("nb").fit(rows, labels)
    found = getattr(model, method)(lazy)
    assert isinstance(found, da.Array)
    expected = getattr(local, method)(rows)
    assert found.shape == expected.shape
    assert found.compute().tolist() == expected.tolist()
    assert not hasattr(model, "feature_names_in_")
    assert model.score(lazy, da.from_array(labels, chunks=30)) == local.score(rows, labels)


def test_a_partition_without_rows_gets_no_answers(model, rows):
    few = rows[list(X)].partitions[0]
    none = few[few["top-left"] == "?"] if "top-left" in few.columns else few[few[few.columns[0]] == "?"]
    assert len(model.predict(none).compute()) == 0
    assert model.predict_proba(none).compute().shape == (0, 2)


def test_what_cannot_be_answered(model, rows):
    with pytest.raises(TypeError, match="must be a Dask frame or a two-dimensional Dask array"):
        model.predict(rows["won"])
    with pytest.raises(NotFittedError):
        DaskBayesianNetworkClassifier().predict(rows[list(X)])
    with pytest.raises(NotFittedError):
        DaskBayesianNetworkClassifier().score(rows[list(X)], rows["won"])


def test_the_scale_of_weights_does_not_matter(client):
    weights = pd.Series(np.random.RandomState(0).choice([0.0, 0.4, 3.0], len(X)), name="w")
    expected = BayesianNetworkClassifier("kdb").fit(X, Y, sample_weight=weights).predict_proba(X)
    for factor in (1.0, 3.7):
        both = dd.from_pandas(X.assign(won=Y, w=factor * weights), npartitions=4)
        model = DaskBayesianNetworkClassifier("kdb").fit(both[list(X)], both["won"], sample_weight=both["w"])
        assert model.predict_proba(X) == pytest.approx(expected, abs=1e-6)


def test_scores_and_weights(client, rows):
    weights = pd.Series(np.random.RandomState(0).choice([0.0, 1.0, 3.0], len(X)), name="w")
    both = dd.from_pandas(X.assign(won=Y, w=weights), npartitions=4)
    model = DaskBayesianNetworkClassifier("kdb").fit(both[list(X)], both["won"], sample_weight=both["w"])
    local = BayesianNetworkClassifier("kdb").fit(X, Y, sample_weight=weights)
    assert model.tables_.edges == local.tables_.edges
    found = model.score(both[list(X)], both["won"], both["w"])
    assert found == pytest.approx(local.score(X, Y, weights), rel=1e-12)
    assert model.score(X, Y) == local.score(X, Y)


@pytest.mark.parametrize("parameters", ["ml", "backoff"])
def test_numbers_are_cut_as_the_parameters_want_it(client, parameters):
    numbers, labels = datasets.load("wine").X, datasets.load("wine").y.rename("kind")
    both = dd.from_pandas(numbers.assign(kind=labels.astype(str)), npartitions=3)
    model = DaskBayesianNetworkClassifier("nb", parameters).fit(both[list(numbers)], both["kind"])
    local = BayesianNetworkClassifier("nb", parameters).fit(numbers, labels.astype(str))
    for name, cuts in local.encoder_.cut_points.items():
        assert model.encoder_.cut_points[name].tolist() == cuts.tolist()
    assert model.predict_proba(numbers).tolist() == local.predict_proba(numbers).tolist()


def test_a_local_model_knows_nothing_of_clusters(model, local, tmp_path):
    found = model.to_local()
    assert type(found) is BayesianNetworkClassifier
    assert found.predict(X).tolist() == local.predict(X).tolist()
    assert found.get_params() == local.get_params()
    model.save(tmp_path / "model")
    assert bnplug.load(tmp_path / "model").predict(X).tolist() == local.predict(X).tolist()


def test_a_local_model_recognizes_values_that_dask_made_text_of(client):
    rng = np.random.default_rng(0)
    won = rng.random(200) < 0.5
    truth = np.where(rng.random(200) < 0.8, won, ~won).astype(object)
    truth[::9] = None
    mixed = np.array([1, "one", None, 2] * 50, dtype=object)
    frame, y = pd.DataFrame({"truth": truth, "mixed": mixed}, dtype=object), pd.Series(won.astype(str), name="won")
    with dask.config.set({"dataframe.convert-string": True}):
        rows = dd.from_pandas(frame.assign(won=y), npartitions=3)
    made = DaskBayesianNetworkClassifier("nb").fit(rows[list(frame)], rows["won"])
    assert made.schema_.states["truth"] == ("False", "True")
    own = BayesianNetworkClassifier("nb").fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = own.predict_proba(frame).tolist()
        assert made.to_local().predict_proba(frame).tolist() == expected
        assert made.predict_proba(rows[list(frame)]).compute().to_numpy().tolist() == expected
        assert own.predict_proba(rows[list(frame)].compute()).tolist() == expected
    assert made.to_local().query("won", {"truth": True}).equals(own.query("won", {"truth": True}))


def test_the_client_is_not_copied(client, model):
    given = DaskBayesianNetworkClassifier("nb", client=client)
    assert clone(given).client is client
    assert given.client_ is client
    assert pickle.loads(pickle.dumps(given)).client is None
    copied = pickle.loads(pickle.dumps(model))
    assert copied.client_ is client
    assert copied.predict(X[:5]).tolist() == model.predict(X[:5]).tolist()


def test_a_client_that_is_not_the_one_made_last(client, local, monkeypatch):
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as own, Client(own) as other:
        rows = other.persist(dd.from_pandas(X.assign(won=Y), npartitions=3))
        for clients in ({0: other, 1: client}, {}):
            monkeypatch.setattr("distributed.client._global_clients", clients)
            model = DaskBayesianNetworkClassifier("tan", client=other).fit(rows[list(X)], rows["won"])
            assert model.tables_.edges == local.tables_.edges
            assert model.score(rows[list(X)], rows["won"]) == local.score(X, Y)


class Folded(MaximumLikelihood):
    """Parameters that are chosen on held-out rows."""

    n_inner_folds = 3


def test_what_needs_rows_in_memory_is_refused(client, rows):
    with pytest.raises(ValueError, match=r"chosen on held-out rows.*use BayesianNetworkClassifier"):
        DaskBayesianNetworkClassifier(parameters=Folded()).fit(rows[list(X)], rows["won"])
    with pytest.raises(ValueError, match="unlabeled: rows without a class are learned from in memory"):
        DaskBayesianNetworkClassifier(unlabeled=-1).fit(rows[list(X)], rows["won"])
    with pytest.raises(TypeError, match="X must be a Dask frame or array, not a DataFrame"):
        DaskBayesianNetworkClassifier().fit(X, Y)


def test_two_fits_at_once(client, rows, model):
    found = {}

    def fit(structure):
        found[structure] = DaskBayesianNetworkClassifier(structure, client=client).fit(rows[list(X)], rows["won"])

    threads = [threading.Thread(target=fit, args=(own,)) for own in ("tan", "nb", "kdb")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == ["kdb", "nb", "tan"]
    assert found["tan"].tables_.edges == model.tables_.edges


def test_no_partition_has_a_row(client, rows):
    none = rows[rows["won"] == "?"]
    with pytest.raises(ValueError, match="no row is left"):
        DaskBayesianNetworkClassifier().fit(none[list(X)], none["won"])


def test_workers_without_memory_are_told_and_not_waited_for(monkeypatch, rows):
    monkeypatch.setattr(_cluster, "_LOOK", 0.2)
    monkeypatch.setattr(_cluster, "_STUCK", 2.0)
    # This process has more memory than the workers in it may use: they pause.
    with cluster(1, memory_limit="50MB") as client:
        time.sleep(0.5)
        with pytest.raises(ClusterError, match=r"no worker could run anything.*paused.*more memory"):
            DaskBayesianNetworkClassifier("nb", client=client).fit(rows[list(X)], rows["won"])


def hungry(size=0):
    """Take more memory than a worker has, for as long as it takes its nanny to notice."""
    taken = np.ones(100_000_000)
    time.sleep(30)
    return taken[:size]


def a_partition(number, hunger):
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "y": [0, 1, 0, 1]})
    return frame.assign(b=hungry(4) if hunger else 1.0)


@pytest.fixture
def small_workers():
    """A client of two workers that their nannies kill above 600 MB, of which they have half for libraries."""
    once_more = {"distributed.scheduler.allowed-failures": 1}
    with dask.config.set(once_more), cluster(2, processes=True, memory_limit="600MB") as client:
        yield client


# The second is for a machine on which the next worker takes a minute to start.
WITHOUT_MEMORY = r"workers died .* for want of memory|for 60 s no worker could run anything"


@pytest.mark.long
def test_workers_that_are_killed_for_the_memory_of_a_partition_are_told(small_workers):
    rows = dd.from_map(a_partition, range(2), hunger=True, meta=a_partition(0, False).iloc[:0])
    with pytest.raises(ClusterError, match=WITHOUT_MEMORY):
        DaskBayesianNetworkClassifier("nb", client=small_workers).fit(rows[["a", "b"]], rows["y"])


@pytest.mark.long
def test_workers_that_are_killed_for_the_memory_of_a_search_are_told(small_workers, monkeypatch):
    monkeypatch.setattr(store, "_TRIES", 2)
    rows = dd.from_map(a_partition, range(2), hunger=False, meta=a_partition(0, False).iloc[:0])
    table, _ = encode_training(rows[["a"]], rows["y"], client=small_workers)
    with pytest.raises(ClusterError, match=WITHOUT_MEMORY):
        table.map(lambda block: hungry())


def test_a_grid_on_a_cluster(client):
    rows, labels = datasets.load("iris").X, datasets.load("iris").y
    grid = GridSearchCV(BayesianNetworkClassifier("kdb"), {"structure__k": [1, 2]}, cv=3)
    with joblib.parallel_config("dask"):
        found = grid.fit(rows, labels).cv_results_["mean_test_score"]
    assert found.tolist() == grid.fit(rows, labels).cv_results_["mean_test_score"].tolist()


def test_a_comparison_on_a_cluster(client):
    with joblib.parallel_config("dask"):
        found = compare(["nb", "tan"], ["iris"], cv=3)
    assert found.fold_values().equals(compare(["nb", "tan"], ["iris"], cv=3).fold_values())


@pytest.mark.long
def test_several_workers_with_an_empty_cache_of_kernels(rows, local, tmp_path):
    with cluster(3, processes=True, env={"NUMBA_CACHE_DIR": str(tmp_path)}) as client:
        model = DaskBayesianNetworkClassifier(("hill-climb", {"score": "cr", "max_iter": 2}), client=client)
        model.fit(rows[list(X)], rows["won"])
        assert DaskBayesianNetworkClassifier("tan", client=client).fit(rows[list(X)], rows["won"]).score(X, Y) > 0.7
    assert list(tmp_path.rglob("*.nbc"))
    expected = BayesianNetworkClassifier(model.structure).fit(X, Y)
    assert model.tables_.edges == expected.tables_.edges


class Killer:
    """Kills a worker when a client starts a given task."""

    def __init__(self, client, number):
        self.pid = next(iter(client.run(os.getpid).values()))
        self.n_tasks, self.number, self.submit = 0, number, client.submit
        client.submit = self

    def __call__(self, *args, **options):
        self.n_tasks += 1
        if self.n_tasks == self.number:
            os.kill(self.pid, signal.SIGKILL)
        return self.submit(*args, **options)


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 3, 6, 9, 12, 16, 20, 24, 28, 33])
def test_a_worker_is_killed_in_the_middle_of_a_fit(rows, number):
    structure = ("hill-climb", {"score": ("cr", {"cv": 3}), "max_iter": 4})
    expected = BayesianNetworkClassifier(structure).fit(X, Y)
    with cluster(2, processes=True) as client:
        killer = Killer(client, number)
        model = DaskBayesianNetworkClassifier(structure, client=client).fit(rows[list(X)], rows["won"])
        assert killer.n_tasks > number
    assert model.tables_.edges == expected.tables_.edges
    for name in expected.tables_.names:
        assert model.tables_[name].values.tolist() == expected.tables_[name].values.tolist()


def test_a_feature_that_determines_the_class_is_named_once(client, rows):
    leaking = rows.assign(result=rows["won"])
    with pytest.warns(bnplug.TargetLeakageWarning, match="feature 'result' determines the class 'won'") as caught:
        DaskBayesianNetworkClassifier("nb").fit(leaking[[*X, "result"]], leaking["won"])
    assert len(caught) == 1


def test_a_category_without_rows_is_reported_once(client):
    frame = X.assign(shop=pd.Categorical(np.arange(len(X)) % 2, categories=[0, 1, 2]), won=Y)
    rows = dd.from_pandas(frame, npartitions=3)
    with pytest.warns(
        bnplug.UnseenValueWarning, match="Column 'shop' has categories without training rows: 2"
    ) as caught:
        DaskBayesianNetworkClassifier("nb").fit(rows[[*X, "shop"]], rows["won"])
    assert len(caught) == 1


@pytest.mark.parametrize(("dtype", "n_warnings"), [("float64", 1), ("Int64", 0)])
def test_large_whole_numbers_that_are_floats_are_reported_once(client, dtype, n_warnings):
    ids = pd.array([2**53, 2**53 + 1, None, 2**53 + 2] * 30, dtype="Int64")
    labels = [*"abab"] * 29 + [*"baba"]
    frame = pd.DataFrame({"i": pd.Series(ids).astype(dtype), "y": labels})
    rows = dd.from_pandas(frame, npartitions=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DaskBayesianNetworkClassifier("nb").fit(rows[["i"]], rows["y"])
    assert sum("Columns ['i'] hold whole numbers from 2^53" in str(own.message) for own in caught) == n_warnings
