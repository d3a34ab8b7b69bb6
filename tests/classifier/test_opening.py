"""A classifier goes out to files and comes back, and says how it was made."""

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, NotRepresentableError
from bnplug.datasets import iris, tic_tac_toe


@pytest.fixture(scope="module")
def fitted():
    X, y = iris()
    model = BayesianNetworkClassifier("tan").fit(X, y)
    return model, X


@pytest.mark.parametrize("suffix", ["bif", "xmlbif", "xdsl", "net"])
def test_a_classifier_leaves_and_comes_back(fitted, suffix, tmp_path):
    model, X = fitted
    path = tmp_path / f"iris.{suffix}"
    model.write(path)
    read = bnplug.read_network
    binned = model.bins(X)
    for back in (read(path), read(path, "species")):
        assert back.tables_.names == model.tables_.names
        assert back.tables_.states == model.tables_.states
        assert back.predict_proba(binned) == pytest.approx(model.predict_proba(X), abs=1e-12)
        assert (back.predict(binned) == model.predict(X)).all()
    other = read(path, "petal width (cm)")
    assert list(other.classes_) == list(model.tables_.states["petal width (cm)"])
    with pytest.raises(ValueError, match="Did you mean 'species'"):
        read(path, "specie")


def test_a_file_that_names_no_class_needs_a_target(tmp_path):
    model = BayesianNetworkClassifier("nb").fit(*tic_tac_toe())
    tables = model.tables_.with_target(None)
    from bnplug.io.network_files import write_network

    write_network(tables, tmp_path / "t.bif", "bif")
    with pytest.raises(ValueError, match="name the target, one of"):
        bnplug.read_bif(tmp_path / "t.bif")
    assert bnplug.read_bif(tmp_path / "t.bif", "class").target_ == "class"


def test_pgmpy_and_pyagrum_answer_the_same(fitted, tmp_path):
    import pyagrum
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    X = fitted[1]
    model = BayesianNetworkClassifier("tan", calibrate=None).fit(*iris())
    path = tmp_path / "iris.bif"
    model.to_bif(path)
    codes = model.encode(X.iloc[[0, 60, 120]])
    network = BIFReader(str(path)).get_model()
    graph = pyagrum.loadBN(str(path))
    names = [graph.variable(i).name() for i in range(graph.size())]
    target = names[model.schema_.target_index]
    for m, expected in enumerate(model.predict_proba(X.iloc[[0, 60, 120]])):
        evidence = {n: codes[i, m] for i, n in enumerate(names) if n != target}
        states = {n: network.get_cpds(n).state_names[n][code] for n, code in evidence.items()}
        answer = VariableElimination(network).query([target], evidence=states, show_progress=False)
        assert answer.values == pytest.approx(expected, abs=1e-12)
        inference = pyagrum.LazyPropagation(graph)
        inference.setEvidence({n: int(code) for n, code in evidence.items()})
        assert inference.posterior(target).toarray() == pytest.approx(expected, abs=1e-6)


class Doubled(bnplug.ParameterLearner):
    def fit(self, table, dag):
        fitted = bnplug.parameter_learner("ml").fit(table, dag)
        return bnplug.LogTables(
            table.names, table.states, {n: (p, 2 * v) for n, (p, v) in fitted.tables.items()}, table.target
        )


def test_what_is_no_network_says_so(tmp_path):
    X = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "d": [0, 1, 1, 0]})
    edges = [("a", "d"), ("b", "d"), ("class", "d")]
    model = BayesianNetworkClassifier(edges, Doubled()).fit(X, [0, 1, 1, 0])
    assert np.isfinite(model.predict_proba(X)).all()
    for name in ("x.bif", "x.xml", "x.xdsl", "x.net"):
        with pytest.raises(NotRepresentableError, match="sum to one"):
            model.write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_loaded_model_tells_what_was_saved_until_it_is_fitted_again(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    assert loaded.made_ == model.made_ == {"structure": "tan", "parameters": "backoff", "discretizer": "log2-quantile"}
    again = loaded.set_params(structure="nb").fit(X, model.predict(X))
    assert again.made_ == {"structure": "nb", "parameters": "backoff", "discretizer": "log2-quantile"}


@pytest.mark.parametrize(
    "params",
    [
        {"max_clique_size": float("inf")},
        {"max_parameters": 10**309},
        {"max_categories": 10**309},
        {"n_jobs": 10**400},
        {"structure": ("kdb", {"k": 10**400})},
    ],
    ids=lambda params: next(iter(params)),
)
def test_a_number_that_loading_would_refuse_is_not_saved(tmp_path, params):
    X, y = pd.DataFrame({"a": ["u", "v"] * 4}), ["p", "q", "q", "p"] * 2
    model = BayesianNetworkClassifier(**{"structure": "nb", "parameters": "ml", **params}).fit(X, y)
    with pytest.raises(
        ValueError, match=rf"{next(iter(params))}(=inf must be a finite| contains a whole number too large)"
    ):
        bnplug.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_format_is_named_or_given_by_the_ending(fitted, tmp_path):
    model, X = fitted
    model.write(tmp_path / "iris.txt", format="bif")
    model.to_bif(tmp_path / "iris.bif")
    assert (tmp_path / "iris.txt").read_bytes() == (tmp_path / "iris.bif").read_bytes()
    assert (bnplug.read_network(tmp_path / "iris.txt", format="bif").predict(X) == model.predict(X)).all()
    with pytest.raises(
        ValueError, match=r"iris\.txt: no installed format can read files with the ending '\.txt'\. Installed"
    ):
        bnplug.read_network(tmp_path / "iris.txt")
