"""Two methods of a third party's: the same result from rows in memory, in blocks, in files, in parts and on Dask."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import cluster
from published_methods import CAIM, HierarchicalDirichlet
from saboteurs.trying import failing
from sklearn.datasets import load_iris
from sklearn.preprocessing import KBinsDiscretizer

import bnplug.sources._streaming as streaming
import bnplug.sources._table_files as table_files
from bnplug import (
    BayesianNetworkClassifier,
    ColumnSummary,
    ContractError,
    DiscretizerMethod,
    ParameterLearnerMethod,
    Structure,
    encode_training,
)
from bnplug.dask import DaskBayesianNetworkClassifier
from bnplug.table.block_table import BlockTable

N = 400
RNG = np.random.default_rng(5)
Y = pd.Series(RNG.choice(["p", "q", "r"], N, p=[0.5, 0.3, 0.2]), name="y")
X = pd.DataFrame(
    {
        "t": RNG.choice(list("abc"), N),
        "u": np.where(RNG.random(N) < 0.7, Y, "q"),
        "x": np.where(RNG.random(N) < 0.1, np.nan, np.round(RNG.normal(size=N) + 2 * (Y == "p"), 1)),
        "z": np.round(RNG.exponential(size=N) * (1 + (Y == "r")), 2),
    }
)
WEIGHTS = pd.Series(RNG.integers(1, 4, N), name="w")
EDGES = [("y", "t"), ("y", "u"), ("t", "u")]


@pytest.fixture(scope="module")
def client():
    with cluster(2) as found:
        yield found


@pytest.fixture(params=["parquet", "csv"])
def rows(request, tmp_path, monkeypatch):
    """Three files of uneven size, read in small batches into small blocks."""
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(streaming, "BATCH_ROWS", 90)
    monkeypatch.setattr(table_files, "MOST_ROWS", 77)
    everything = X.assign(y=Y, w=WEIGHTS)
    for i, numbers in enumerate(np.split(np.arange(N), [10, 300])):
        path, part = tmp_path / f"{i}.{request.param}", everything.iloc[numbers]
        part.to_parquet(path, index=False) if request.param == "parquet" else part.to_csv(path, index=False)
    return str(tmp_path / f"*.{request.param}")


def partitions():
    return dd.from_pandas(X.assign(y=Y, w=WEIGHTS), npartitions=5)


def cuts_of(encoder):
    return {name: cuts.tolist() for name, cuts in encoder.cut_points.items()}


def values_of(tables):
    return {name: values.tolist() for name, (_, values) in tables.tables.items()}


def test_caim_by_hand():
    # Two pure intervals: (2^2 / 2 + 2^2 / 2) / 2 = 2. A third would make it (1 + 1 + 2) / 3.
    assert CAIM().cuts(ColumnSummary.of([1, 2, 3, 4], [0, 0, 1, 1])).tolist() == [2.5]
    # As many intervals as classes in any case: 1.5 has (1 + 4 / 4 + ...), and 4.5 leaves 2 of each class to its left.
    assert len(CAIM().cuts(ColumnSummary.of([1, 2, 3, 4, 5], [0, 1, 0, 1, 2]))) == 2
    assert CAIM().cuts(ColumnSummary.of([3.0, 3.0], [0, 1])).tolist() == []


def test_caim_cuts_iris_as_published():
    X, y = load_iris(return_X_y=True)
    fitted = CAIM(categorical_features=None).fit(X, y)
    assert [np.round(cuts, 2).tolist() for cuts in fitted.cut_points_] == [
        [5.55, 6.25], [2.95, 3.05], [2.45, 4.75], [0.8, 1.75],
    ]  # fmt: skip


@pytest.mark.parametrize("weight", [None, "w"])
def test_caim_finds_the_same_cuts_in_files(rows, weight):
    _, expected = encode_training(X, Y, None if weight is None else WEIGHTS, discretizer=CAIM())
    table, encoder = encode_training(rows, "y", weight, discretizer=CAIM())
    assert table.n_blocks > 1
    assert cuts_of(encoder) == cuts_of(expected)
    assert sorted(cuts_of(encoder)) == ["x", "z"]


def test_caim_finds_the_same_cuts_on_dask(client):
    frame = partitions()
    _, encoder = encode_training(frame[list(X)], frame["y"], frame["w"], discretizer=CAIM())
    assert cuts_of(encoder) == cuts_of(encode_training(X, Y, WEIGHTS, discretizer=CAIM())[1])


def test_a_supervised_discretizer_needs_classes():
    with pytest.raises(ValueError, match="This CAIM estimator requires y to be passed"):
        CAIM().fit(X[["x"]])


def test_a_transformer_without_cuts_works_in_memory_and_says_what_files_need(rows):
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    complete = X.fillna({"x": 0.0})
    assert BayesianNetworkClassifier("nb", discretizer=bins).fit(complete, Y).score(complete, Y) > 0.5
    with pytest.raises(ValueError, match=r"derives from bnplug\.Discretizer and has the method cuts\(column\).*'mdl'"):
        encode_training(rows, "y", discretizer=bins)


@pytest.mark.parametrize("cuts", [[2.0, 1.0], [np.nan], [[1.0]], None, [1.0, 1.0]])
def test_cuts_that_are_no_cuts_name_the_class_and_the_column(cuts):
    class Wrong(CAIM):
        def cuts(self, column):
            return cuts

    with pytest.raises(ContractError, match=r"Wrong: the cuts of column 'x' are not finite and ascending"):
        encode_training(X, Y, discretizer=Wrong())


class Knots(CAIM):
    knots = True

    def cuts(self, column):
        return column.values[:1] if column.name == "x" else []


def test_knots_are_checked_and_no_encoder_takes_them(rows):
    assert Knots().fit(X[["x"]], Y).cut_points_ == [np.nanmin(X["x"])]
    with pytest.raises(ContractError, match=r"column 'z' are not finite and ascending knots, at least one"):
        Knots().fit(X[["z"]], Y)
    for source, target in ((X, Y), (rows, "y")):
        with pytest.raises(ValueError, match=r"Knots has knots = True, and interpolation .* is not supported yet"):
            encode_training(source, target, discretizer=Knots())


def learner():
    return BayesianNetworkClassifier(EDGES, HierarchicalDirichlet())


def test_hierarchical_dirichlet_smoothing_by_hand():
    frame = pd.DataFrame({"x": [0, 0, 1, 1], "c": [*"nnyy"]})
    model = BayesianNetworkClassifier("nb", HierarchicalDirichlet(), categorical_features=["x"]).fit(
        frame[["x"]], frame["c"]
    )
    # Without parents (2 + 2 * 1/2) / (4 + 2) = 1/2; given the class, (2 + 2 * 1/2) / (2 + 2).
    np.testing.assert_allclose(np.exp(model.tables_["x"].values), [[0.75, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize("weighted", [False, True])
def test_smoothing_is_the_same_in_blocks_and_in_files(rows, weighted):
    discrete, weights = X[["t", "u"]], WEIGHTS if weighted else None
    expected = learner().fit(discrete, Y, weights)
    found = learner().fit_files(rows, "y", sample_weight="w" if weighted else None, columns=["t", "u"])
    assert values_of(found.tables_) == values_of(expected.tables_)
    table, _ = encode_training(discrete, Y, weights)
    dag, blocks = Structure(table.names, [[2], [0, 2], []]), BlockTable.cut(table, [50, 300, 50])
    in_blocks, whole = (HierarchicalDirichlet().fit(each, dag) for each in (blocks, table))
    assert values_of(in_blocks) == values_of(whole) == values_of(expected.tables_)


@pytest.mark.parametrize("weighted", [False, True])
def test_smoothing_in_parts_is_that_of_all_rows(weighted):
    discrete, model = X[["t", "u"]], learner()
    states = {"t": list("abc"), "u": list("pqr")}
    for part in np.array_split(np.arange(N), 4):
        weights = WEIGHTS.iloc[part] if weighted else None
        model.partial_fit(discrete.iloc[part], Y.iloc[part], [*"pqr"], weights, states)
    expected = learner().fit(discrete, Y, WEIGHTS if weighted else None)
    assert values_of(model.tables_) == values_of(expected.tables_)
    assert [rows.sum() for rows in model.parameters_.rows_] == [N] * 3


def test_smoothing_is_the_same_on_dask(client):
    frame = partitions()
    found = DaskBayesianNetworkClassifier(EDGES, HierarchicalDirichlet())
    found.fit(frame[["t", "u"]], frame["y"], sample_weight=frame["w"])
    assert values_of(found.tables_) == values_of(learner().fit(X[["t", "u"]], Y, WEIGHTS).tables_)


def test_smoothing_learns_from_missing_cells_by_em():
    holes = X[["t", "u"]].mask(np.random.default_rng(1).random((N, 2)) < 0.2)
    model = BayesianNetworkClassifier(EDGES, HierarchicalDirichlet(), missing="em").fit(holes, Y, WEIGHTS)
    path = model.log_likelihood_path_
    assert model.n_iter_ > 1
    assert (np.diff(path) > 0).all()
    assert model.tables_.normalized
    with pytest.raises(ValueError, match="needs several passes over all rows"):
        model.parameters_.partial_fit(model.schema_, Structure(model.schema_.names, [[2], [0, 2], []]))


def test_parts_of_another_structure_are_refused():
    table, _ = encode_training(X[["t", "u"]], Y)
    fitted = HierarchicalDirichlet()
    fitted.partial_fit(table, Structure(table.names, [[2], [2], []]))
    with pytest.raises(ValueError, match="other states or another structure"):
        fitted.partial_fit(table, Structure(table.names, [[2], [0, 2], []]))


@pytest.mark.parametrize(
    "method",
    [
        DiscretizerMethod("caim", CAIM, "CAIM.", "Kurgan and Cios (2004)", supervised=True),
        ParameterLearnerMethod("hdp", HierarchicalDirichlet, "HDP.", "Petitjean et al. (2018)"),
    ],
    ids=lambda method: method.name,
)
def test_the_conformance_kit(method):
    assert failing(method) == {}
