"""The small tables that checks run on have the traits that checks rely on."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from bnplug import LogTables, Structure, parameter_learner, structure_learner
from bnplug.inference.complete import log_joint, terms
from bnplug.testing import data

TABLES = [
    data.standard, data.with_missing_cells, data.with_constant_feature, data.with_unseen_configurations,
    data.told_by_a_feature, data.with_single_feature, data.with_telling_gaps,
]  # fmt: skip


def configurations(table):
    return {tuple(row) for row in table.codes.T.tolist()}


@pytest.mark.parametrize("make", TABLES)
def test_every_call_makes_a_new_table_that_is_the_same(make):
    one, other = make(), make()
    assert not np.shares_memory(one.codes, other.codes)
    assert np.array_equal(one.codes, other.codes)
    assert one.states == other.states


def test_in_the_standard_table_every_configuration_occurs_and_the_class_is_in_the_middle():
    table = data.standard()
    assert len(configurations(table)) == np.prod(table.cards) == 36
    assert 0 < table.target_index < len(table.names) - 1
    assert table.names == data.NAMES
    assert table.target_index == data.TARGET


def test_labels_are_what_the_caller_makes_of_numbers():
    table = data.binary(bool)
    assert set(table.states.values()) == {(False, True)}
    assert table.cards.tolist() == [2, 2, 2, 2]


def test_shuffled_rows_are_the_same_rows():
    table = data.standard()
    other = data.shuffled(table)
    assert not np.array_equal(table.codes, other.codes)
    assert sorted(map(tuple, table.codes.T.tolist())) == sorted(map(tuple, other.codes.T.tolist()))


def test_weights_say_how_often_a_row_is_repeated():
    weighted, repeated = data.reweighted()
    assert repeated.n_rows == weighted.weights.sum() > weighted.n_rows
    assert repeated.weights is None or (repeated.weights == 1).all()
    assert configurations(weighted) == configurations(repeated)


def test_every_feature_is_missing_somewhere_and_the_class_nowhere():
    table = data.with_missing_cells()
    missing = (table.codes == table.missing).any(axis=1)
    assert missing[table.features].all()
    assert not missing[table.target_index]


def test_awkward_features():
    assert data.with_constant_feature().cards.tolist() == [2, 1, 3, 2]
    assert data.with_single_feature().names == ("x2", "class")
    told = data.told_by_a_feature()
    assert np.array_equal(told.codes[1], told.codes[told.target_index])
    unseen = data.with_unseen_configurations()
    assert 2 not in unseen.codes[1]
    assert unseen.cards[1] == 3
    assert not ((unseen.codes[0] == 1) & (unseen.codes[unseen.target_index] == 1)).any()


def test_kernels_get_every_sort_of_table():
    sorts = {(table.codes.dtype.itemsize, table.weights is not None) for table in data.for_kernels()}
    assert sorts == {(1, False), (1, True), (2, False), (2, True)}


def test_graphs_are_acyclic_and_of_several_shapes():
    table = data.standard()
    graphs = data.graphs(table)
    assert all(nx.is_directed_acyclic_graph(nx.DiGraph(Structure(table.names, parents).edges)) for parents in graphs)
    assert [sum(map(len, parents)) for parents in graphs] == [0, 5, 3, 6]
    assert graphs[3] == data.complete(table) == [[], [0], [0, 1], [0, 1, 2]]


def test_states_in_reverse_are_the_same_labels():
    table = data.with_telling_gaps()
    turned = data.turned(table)
    assert turned.states["x2"] == table.states["x2"][::-1]
    assert turned.states[table.target] == table.states[table.target]
    for v, name in enumerate(table.names):
        usual, other = (np.array([*t.states[name], None])[np.minimum(t.codes[v], t.cards[v])] for t in (table, turned))
        assert np.array_equal(usual, other)


def test_gaps_are_filled_with_the_first_state_or_the_last():
    table = data.with_telling_gaps()
    gaps = table.codes == table.missing
    assert gaps[table.features].any(axis=1).all()
    assert not gaps[table.target_index].any()
    assert (data.filled(table, 0).codes[gaps] == 0).all()
    assert ((data.filled(table, -1).codes == (table.cards - 1)[:, None]) | ~gaps).all()
    assert np.array_equal(data.filled(table, 0).codes[~gaps], table.codes[~gaps])


@pytest.mark.parametrize("name", ["tan", "kdb"])
def test_whoever_fills_gaps_with_the_first_state_finds_edges_by_the_order_of_states(name):
    table = data.with_telling_gaps()
    learned = [
        set(structure_learner(name, correction=None).learn(each).edges)
        for each in (table, data.turned(table), data.filled(table, 0), data.filled(data.turned(table), 0))
    ]
    assert learned[0] == learned[1]
    assert learned[2] != learned[3]


@pytest.mark.parametrize("shape", [data.tree, data.complete_below_class])
@pytest.mark.parametrize("cards", [(3, 3, 3, 3), (2, 4, 3, 5)])
def test_parents_tell_the_class_in_their_own_places_alone(shape, cards):
    parents = shape(data.standard())
    table = data.told_by_parents(parents, cards)
    right = parameter_learner("ml").fit(table, Structure(table.names, parents))
    n_parents = max(map(len, parents))
    for places in permutations(range(1, n_parents + 1)):
        tables = {
            name: (own, v.transpose(0, *places).reshape(v.shape) if len(own) == n_parents else v)
            for name, (own, v) in right.tables.items()
        }
        joint = log_joint(terms(LogTables(table.names, table.states, tables, table.target), table.target), table.codes)
        share = (joint.argmax(axis=1) == table.codes[table.target_index]).mean()
        assert share == 1.0 if list(places) == sorted(places) else share < 0.6


def test_drawn_networks_are_networks_and_have_zeros_where_wanted():
    table = data.standard()
    for zeros in (0.0, 0.2):
        tables = data.network(table, data.complete(table), zeros)
        assert tables.normalized
        assert any(np.isneginf(own.values).any() for own in tables.tables.values()) == (zeros > 0)


def test_every_row_is_there_once_with_features_known_or_missing():
    table = data.standard()
    rows = data.every_row(table)
    assert rows.shape == (4, 3 * 4 * 3)
    assert len(set(map(tuple, rows.T.tolist()))) == rows.shape[1]
    assert not rows[table.target_index].any()


def test_of_the_columns_of_numbers_one_tells_the_class():
    X, y = data.numbers()
    assert X.isna().any().all()
    means = X.groupby(y).mean()
    assert (means["told"].diff().dropna() > 0.7).all()
    assert (means["noise"].abs() < 1.0).all()


def test_columns_as_they_come_are_of_many_types_and_one_tells_the_class():
    X, y = data.mixed()
    assert {str(dtype.kind) for dtype in X.dtypes} >= set("fbi")
    assert not X.isna().any(axis=None)
    assert (np.unique(y)[X["length"].round().astype(int)] == y).all()
    holes = data.with_holes(X)
    assert holes.isna().any().all()
    known = holes.notna()
    assert (holes[known].astype(object) == X[known].astype(object))[known].fillna(True).all(axis=None)


def test_blocks_have_the_rows_of_the_table():
    table, _ = data.reweighted()
    blocks = data.in_blocks(table)
    assert len(set(blocks.block_sizes)) == blocks.n_blocks == 3
    assert (blocks.gather().codes == table.codes).all()
    assert (blocks.gather().weights == table.weights).all()


def test_a_narrowed_table_keeps_the_class_and_the_telling_feature():
    table = data.told_by_a_feature()
    assert data.narrowed(table, None) is data.narrowed(table, 4) is table
    narrow = data.narrowed(table, 2)
    assert (narrow.names, narrow.target) == (("x2", "class"), "class")
    assert np.array_equal(narrow.codes[0], narrow.codes[1])
    weighted, _ = data.reweighted()
    blocks = data.narrowed(data.in_blocks(weighted), 3)
    assert blocks.names == ("x1", "x2", "class")
    assert blocks.gather().weights.tolist() == weighted.weights.tolist()
    assert data.narrowed(data.without_class(), 3).target is None


def test_without_a_class_all_variables_are_features():
    table = data.without_class()
    assert (table.target, table.target_index, table.features) == (None, None, [0, 1, 2, 3])
    assert data.tree(table) == [[], [0], [1], [2]]
