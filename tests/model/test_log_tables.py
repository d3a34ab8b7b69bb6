import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_parents, tables

from bnplug import LogTables, NotRepresentableError, Structure, parameter_learner
from bnplug.model.log_tables import LogTable, check_size, estimate
from bnplug.table.table import Table


@pytest.fixture
def weather():
    frame = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain", "sun"], "play": ["yes", "yes", "no", "yes", "no"]})
    return Table.from_frame(frame, "play")


def test_tables_by_name():
    values = np.log([[0.9, 0.2], [0.1, 0.8]])
    tables_ = LogTables("cx", {"c": "ny", "x": [0, 1]}, {"c": ((), np.log([0.5, 0.5])), "x": ("c", values)})
    assert tables_["x"].parents == ("c",)
    assert (tables_["x"].values == values).all()
    assert "x" in tables_
    assert "y" not in tables_
    with pytest.raises(KeyError, match="no variable 'xx' among"):
        tables_["xx"]


def test_another_target_and_the_same_tables():
    uniform = np.log([0.5, 0.5])
    tables_ = LogTables("cx", {"c": "ny", "x": [0, 1]}, {"c": ((), uniform), "x": ((), uniform)}, target="c")
    other = tables_.with_target("x")
    assert (other.target, tables_.target, tables_.with_target(None).target) == ("x", "c", None)
    assert other.tables == tables_.tables
    with pytest.raises(ValueError, match="'y' is not among the variables"):
        tables_.with_target("y")


def test_the_structure_as_a_dag():
    uniform = np.log([[0.5, 0.5], [0.5, 0.5]])
    tables_ = LogTables("xc", {"x": [0, 1], "c": "ny"}, {"x": ("c", uniform), "c": ((), uniform[0])})
    dag = tables_.to_dag()
    assert (list(dag.nodes), list(dag.edges)) == (["x", "c"], [("c", "x")])


def test_probabilities_as_a_frame():
    values = np.log([[0.9, 0.2], [0.1, 0.8]])
    tables_ = LogTables("cx", {"c": "ny", "x": [0, 1]}, {"c": ((), np.log([0.25, 0.75])), "x": ("c", values)})
    assert tables_.cpt("c").to_dict() == {"probability": {"n": pytest.approx(0.25), "y": pytest.approx(0.75)}}
    frame = tables_.cpt("x")
    assert (frame.index.name, frame.columns.names) == ("x", ["c"])
    assert frame[("n",)].tolist() == pytest.approx([0.9, 0.1])


def test_estimate_by_hand():
    # Two states, two configurations: each cell gets alpha / 4 = 1/4 of a row.
    counts = np.array([[3.0, 0.0], [1.0, 0.0]])
    expected = np.array([[3.25 / 4.5, 0.5], [1.25 / 4.5, 0.5]])
    assert np.exp(estimate(counts, alpha=1.0)) == pytest.approx(expected)


def test_without_alpha_an_unseen_configuration_is_uniform_and_zero_is_zero():
    theta = np.exp(estimate(np.array([[2.0, 0.0], [0.0, 0.0]]), alpha=0.0))
    assert theta.tolist() == [[1.0, 0.5], [0.0, 0.5]]


def test_floor_lifts_zeros_and_renormalises():
    theta = np.exp(estimate(np.array([2.0, 0.0]), alpha=0.0, floor=0.01))
    assert theta == pytest.approx([1 / 1.01, 0.01 / 1.01])


@given(tables(weighted=True), st.integers(0, 1000), st.sampled_from([0.0, 1.0, 3.5]))
def test_estimates_equal_pgmpys(table, seed, alpha):
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.parameter_estimator import DiscreteBayesianEstimator, DiscreteMLE

    parents = random_parents(np.random.default_rng(seed), len(table.names))
    ours = parameter_learner("ml", alpha=alpha).fit(table, Structure(table.names, parents))
    rows = np.repeat(np.arange(table.n_rows), table.weights.astype(int))
    frame = pd.DataFrame(
        {name: np.array(table.states[name])[table.codes[v][rows]] for v, name in enumerate(table.names)}
    )
    network = DiscreteBayesianNetwork(list(ours.edges))
    network.add_nodes_from(table.names)
    names = {name: list(states) for name, states in table.states.items()}
    estimator = (
        DiscreteBayesianEstimator(prior_type="BDeu", equivalent_sample_size=alpha, state_names=names)
        if alpha
        else DiscreteMLE(state_names=names)
    )
    network.fit(frame, estimator=estimator)
    theirs = LogTables.from_network(network)
    assert isinstance(network.get_cpds(table.target), TabularCPD)
    for name in table.names:
        parents_ours, values = ours.tables[name]
        parents_theirs, expected = theirs.tables[name]
        axes = [0, *(1 + parents_theirs.index(parent) for parent in parents_ours)]
        assert np.exp(values) == pytest.approx(np.exp(expected.transpose(axes)), abs=1e-12)


@given(tables(), st.integers(0, 1000))
def test_through_pgmpy_and_back_is_the_identity(table, seed):
    parents = random_parents(np.random.default_rng(seed), len(table.names))
    before = parameter_learner("ml").fit(table, Structure(table.names, parents))
    after = LogTables.from_network(before.to_network(), table.target)
    assert after.names == before.names
    assert after.states == before.states
    assert after.parents == before.parents
    for name in table.names:
        assert after.tables[name].values == pytest.approx(before.tables[name].values, rel=1e-14, abs=1e-15)


@given(tables(weighted=True), st.integers(0, 1000))
def test_integer_weights_equal_repeated_rows(table, seed):
    dag = Structure(table.names, random_parents(np.random.default_rng(seed), len(table.names)))
    repeated = table.take(np.repeat(np.arange(table.n_rows), table.weights.astype(int)))
    repeated.weights = None
    weighted, plain = (parameter_learner("ml").fit(t, dag) for t in (table, repeated))
    assert all((weighted.tables[n].values == plain.tables[n].values).all() for n in table.names)


@given(tables(weighted=True), st.integers(0, 1000))
def test_log_likelihood_equals_a_loop_over_rows(table, seed):
    parents = random_parents(np.random.default_rng(seed), len(table.names))
    tables_ = parameter_learner("ml").fit(table, Structure(table.names, parents))
    expected = sum(
        table.weights[m] * tables_.tables[name].values[tuple(table.codes[[v, *parents[v]], m])]
        for m in range(table.n_rows)
        for v, name in enumerate(table.names)
    )
    assert tables_.log_likelihood(table) == pytest.approx(expected)


def test_log_likelihood_needs_the_same_states_and_complete_rows(weather):
    tables_ = parameter_learner("ml").fit(weather, Structure(weather.names, [[1], []]))
    other = Table.from_frame(pd.DataFrame({"sky": ["fog", "sun"], "play": ["no", "yes"]}), "play")
    with pytest.raises(ValueError, match="differ"):
        tables_.log_likelihood(other)
    codes = weather.codes.copy()
    codes[0, 0] = weather.missing
    holed = Table(codes, weather.names, weather.states, "play")
    with pytest.raises(ValueError, match=r"\['sky'\] have missing cells; give complete rows, or incomplete=True"):
        tables_.log_likelihood(holed)
    # The row counts for the class alone: sky is not known in it.
    lost = tables_.tables["sky"].values[tuple(weather.codes[:, 0])]
    assert tables_.log_likelihood(holed, incomplete=True) == pytest.approx(tables_.log_likelihood(weather) - lost)


def test_missing_cells_count_where_they_can():
    frame = pd.DataFrame({"a": [0, 0, 1, None], "b": [0, None, 1, 1], "c": [0, 0, 1, 1]})
    table = Table.from_frame(frame, "c")
    fitted = parameter_learner("ml", alpha=0).fit(table, Structure(table.names, [[2], [0], []]))
    assert np.exp(fitted.tables["a"].values).tolist() == [[1, 0], [0, 1]]
    assert np.exp(fitted.tables["b"].values).tolist() == [[1, 0], [0, 1]]
    assert np.exp(fitted.tables["c"].values).tolist() == [0.5, 0.5]


BAD = {
    "shape": ({"c": ((), [0.0, 0.0]), "x": (("c",), [0.0, 0.0])}, "'x': the table has shape"),
    "nan": ({"c": ((), [np.nan, 0.0]), "x": ((), [0.0, 0.0])}, "'c': log parameters must be finite"),
    "infinite": ({"c": ((), [np.inf, 0.0]), "x": ((), [0.0, 0.0])}, "'c': log parameters must be finite"),
    "unknown parent": ({"c": ((), [0.0, 0.0]), "x": (("z",), np.zeros((2, 2)))}, r"parents \['z'\]"),
    "absent": ({"c": ((), [0.0, 0.0])}, r"disagree about \['x'\]"),
    "cycle": ({"c": (("x",), np.zeros((2, 2))), "x": (("c",), np.zeros((2, 2)))}, "cycle"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_named(case):
    tables_, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        LogTables(["c", "x"], {"c": [0, 1], "x": [0, 1]}, tables_)


def test_parents_must_ascend():
    states = {name: [0, 1] for name in "abc"}
    values = {"a": ((), np.zeros(2)), "b": ((), np.zeros(2)), "c": (("b", "a"), np.zeros((2, 2, 2)))}
    with pytest.raises(ValueError, match="not ascending"):
        LogTables("abc", states, values)


def test_what_is_not_normalised_is_no_network():
    tables_ = LogTables(["c"], {"c": [0, 1]}, {"c": ((), [0.0, 0.0])}, target="c")
    assert not tables_.normalized
    with pytest.raises(NotRepresentableError, match="'c'"):
        tables_.to_network()
    assert tables_.normalize().normalized
    with pytest.raises(ValueError, match="needs the class"):
        LogTables(["c"], {"c": [0, 1]}, {"c": ((), [0.0, 0.0])}).normalize()


def test_dim_counts_free_parameters(weather):
    tables_ = parameter_learner("ml").fit(weather, Structure(weather.names, [[1], []]))
    assert tables_.n_parameters == 1 * 2 + 1


def test_size_is_forecast_before_anything_is_allocated():
    frame = pd.DataFrame({f"x{i}": np.arange(100) for i in range(8)} | {"c": np.arange(100) % 2})
    table = Table.from_frame(frame, "c")
    parents = [[], [0], [0, 1], [0, 1, 2], list(range(4)), list(range(5)), list(range(6)), list(range(7)), []]
    with pytest.raises(ValueError, match=r"'x7' with parents \['x0'.*'x6'\]: 10,000,000,000,000,000\."):
        check_size(table, parents, 50_000_000)
    check_size(table, [[8]] * 8 + [[]], 50_000_000)


def test_bad_smoothing_is_an_error(weather):
    for params in ({"alpha": -1}, {"floor": 1.0}, {"alpha": np.nan}):
        with pytest.raises(ValueError, match="must"):
            parameter_learner("ml", **params).fit(weather, Structure(weather.names, [[1], []]))


@pytest.mark.parametrize("labels", [[], ["a", "a"], [1, 1]])
def test_states_are_one_or_more_distinct_labels(labels):
    with pytest.raises(ValueError, match="'c': its states must be one or more distinct labels"):
        LogTables(["c"], {"c": labels}, {"c": ((), np.zeros(len(labels)))})


def test_labels_that_are_equal_and_of_two_types_are_two():
    assert LogTables(["c"], {"c": [1, True, "1"]}, {"c": ((), np.zeros(3))}).states["c"] == (1, True, "1")


def test_columns_sum_to_one_within_rounding():
    assert LogTable(("c",), np.log([[0.25, 0.5], [0.75, 0.5]])).normalized
    assert LogTable((), np.log([0.25, 0.75]) + 1e-12).normalized
    assert not LogTable(("c",), np.log([[0.25, 0.5], [0.75, 0.4]])).normalized
    assert not LogTable((), np.zeros(2)).normalized
