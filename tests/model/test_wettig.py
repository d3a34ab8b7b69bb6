"""C1 by three definitions over all small graphs, and normalisation against enumeration of every row."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_tables
from strategies import some

from bnplug.errors import NotRepresentableError
from bnplug.inference.complete import log_joint, log_posterior, terms
from bnplug.model import wettig
from bnplug.model.log_tables import LogTables
from bnplug.model.wettig import _Normalization, normalize
from bnplug.structure import covering_parents, is_c1, violation
from bnplug.table.table import Table

NAIVE_BAYES = {"c": [], "x": ["c"], "y": ["c"], "z": ["c"]}
TAN = {"c": [], "x": ["c"], "y": ["c", "x"], "z": ["c", "x"]}
TWO_TREE = {
    "c": [],
    "v": ["c"],
    "x": ["c", "v"],
    "y": ["c", "v", "x"],
    "z": ["c", "v", "x"],
    "u": ["c", "x", "z"],
}
DIAGNOSTIC = {"x": [], "y": [], "z": ["y"], "c": ["x", "y", "z"]}
CLASS_PARENTS = {
    "a": [],
    "b": [],
    "c": ["a", "b"],
    "x": ["a", "b", "c"],
    "y": ["a", "c", "x"],
    "z": ["a", "y"],
}
C1 = [NAIVE_BAYES, TAN, TWO_TREE, DIAGNOSTIC, CLASS_PARENTS]
UNMARRIED = {"c": [], "x": ["c"], "y": ["c"], "z": ["c", "x", "y"]}


def make(parents, cards, values, names=None):
    """Tables with the variables in the order of `names`; values(shape) gives each table."""
    names = list(parents) if names is None else names
    tables = {}
    for name in names:
        own = sorted(parents[name], key=names.index)
        tables[name] = (own, values(tuple(cards[v] for v in (name, *own))))
    return LogTables(names, {name: range(cards[name]) for name in names}, tables, "c")


def joint(tables):
    """The log joint over all states of all variables, axes in the order of names."""
    names = tables.names
    total = np.zeros([len(tables.states[name]) for name in names])
    for name, (own, values) in tables.tables.items():
        axes = [names.index(variable) for variable in (name, *own)]
        shape = [len(tables.states[v]) if i in axes else 1 for i, v in enumerate(names)]
        total = total + values.transpose(np.argsort(axes)).reshape(shape)
    return total


def class_posterior(tables):
    """P(class | features) for every row, class axis last, nan where no class is possible."""
    log = np.moveaxis(joint(tables), tables.names.index("c"), -1)
    with np.errstate(invalid="ignore"):
        weights = np.exp(log - log.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def column_errors(tables):
    return max(np.abs(np.exp(t.values).sum(axis=0) - 1).max() for t in tables.tables.values())


def weighted_sum(tables, cells):
    """n' omega for the counts that `cells`, one number per joint state, gives to every table."""
    total = 0.0
    for name, (own, values) in tables.tables.items():
        counts = np.einsum(cells, range(cells.ndim), [tables.names.index(v) for v in (name, *own)])
        total += (counts[counts > 0] * values[counts > 0]).sum()
    return total


def subset(draw, items):
    return [item for item in items if draw(st.booleans())]


@st.composite
def c1_structures(draw):
    """Any C1 graph: anything before the class, covered class children, and nodes without the class."""
    parents = {}
    for i in range(draw(st.integers(0, 2))):
        parents[f"a{i}"] = subset(draw, parents)
    parents["c"] = subset(draw, parents)
    class_children = []
    for i in range(draw(st.integers(0, 4 - len(parents) + 1))):
        cover = draw(st.sampled_from(["c", *class_children]))
        parents[f"x{i}"] = [cover, *(p for p in parents[cover] if p == "c" or draw(st.booleans()))]
        class_children.append(f"x{i}")
    if draw(st.booleans()):
        parents["z"] = subset(draw, [name for name in parents if name != "c"])
    return parents


@st.composite
def c1_tables(draw, impossible=(0.0,)):
    """Random tables on a random C1 graph, the variables in any order; `impossible`: shares of -inf."""
    parents = draw(c1_structures())
    names = draw(st.permutations(list(parents)))
    cards = {name: draw(st.integers(2 if name == "c" else 1, 3)) for name in names}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.1, 2.0, 20.0]))
    share = draw(st.sampled_from(impossible))

    def values(shape):
        return np.where(rng.random(shape) < share, -np.inf, rng.normal(0, scale, shape))

    return make(parents, cards, values, names)


def dags(names):
    """Every acyclic graph on these nodes, as node -> parents."""
    pairs = list(combinations(names, 2))
    for arrows in product([None, False, True], repeat=len(pairs)):
        parents = {name: [] for name in names}
        for (a, b), forward in zip(pairs, arrows, strict=True):
            if forward is not None:
                parents[b if forward else a].append(a if forward else b)
        if nx.is_directed_acyclic_graph(nx.DiGraph([(p, n) for n, own in parents.items() for p in own])):
            yield parents


FOUR_NODES = list(dags("abcd"))


def adjacent(parents, a, b):
    return a in parents[b] or b in parents[a]


def indicators(variables, names):
    """For every state of binary `variables` the indicator of it over the joint states of `names`."""
    states = np.array(list(product([0, 1], repeat=len(names))))
    columns = states[:, [names.index(v) for v in variables]]
    return [(columns == h).all(axis=1) for h in product([0, 1], repeat=len(variables))]


def sums_can_be_absorbed(parents, target):
    """Whether earlier nodes' tables, or terms without the class, can hold what any class child gives up."""
    names = list(parents)
    order = list(nx.topological_sort(nx.DiGraph({n: [m for m in names if n in parents[m]] for n in names})))
    for i, node in enumerate(order):
        if target not in parents[node]:
            continue
        held = indicators([name for name in names if name != target], names)
        for earlier in order[:i]:
            held += indicators([earlier, *parents[earlier]], names)
        held = np.array(held, dtype=float)
        given_up = np.array([*held, *indicators(parents[node], names)])
        if np.linalg.matrix_rank(given_up) > np.linalg.matrix_rank(held):
            return False
    return True


# --- the C1 test


def test_c1_by_adjacency_on_all_graphs_of_four_nodes():
    assert len(FOUR_NODES) == 543
    verdicts = []
    for parents in FOUR_NODES:
        married = all(
            adjacent(parents, a, b) or {a, b} <= set(parents["c"])
            for own in parents.values()
            if "c" in own
            for a, b in combinations(own, 2)
        )
        assert is_c1(parents, "c") == married
        verdicts.append(married)
    assert {True, False} == set(verdicts)


def test_c1_is_what_normalisation_needs_on_all_graphs_of_four_nodes():
    for parents in FOUR_NODES:
        assert is_c1(parents, "c") == sums_can_be_absorbed(parents, "c")


def test_covering_parents_cover_and_violations_are_real_on_all_graphs_of_four_nodes():
    for parents in FOUR_NODES:
        class_children = {name for name, own in parents.items() if "c" in own}
        found = violation(parents, "c")
        if found is None:
            covers = covering_parents(parents, "c")
            assert set(covers) == class_children
            for node, cover in covers.items():
                assert cover in parents[node]
                assert set(parents[node]) <= {cover, *parents[cover]}
        else:
            node, (a, b) = found
            assert node in class_children
            assert {a, b} <= set(parents[node])
            assert not adjacent(parents, a, b)
            assert not {a, b} <= set(parents["c"])


@pytest.mark.parametrize("parents", C1)
def test_known_c1_structures(parents):
    assert is_c1(parents, "c")


def test_structures_that_are_not_c1():
    assert violation(UNMARRIED, "c") == ("z", ("x", "y"))
    assert violation({"a": [], "c": [], "x": ["a", "c"]}, "c") == ("x", ("a", "c"))
    # that a and b are not adjacent is no reason, as both are class parents
    parents = {"a": [], "b": [], "c": ["a", "b"], "x": ["c"], "y": ["a", "b", "c", "x"]}
    assert violation(parents, "c") == ("y", ("a", "x"))


def test_nodes_without_the_class_are_free():
    parents = {"a": [], "b": [], "c": ["a"], "z": ["a", "b"], "w": ["z", "b"]}
    assert covering_parents(parents, "c") == {}


def test_structures_of_numbers_and_of_networkx_graphs():
    assert covering_parents(dict(enumerate([[], [0], [0, 1]])), 0) == {1: 0, 2: 1}
    graph = nx.DiGraph([("c", "x"), ("c", "y"), ("x", "z"), ("y", "z"), ("c", "z")])
    assert violation(graph.pred, "c") == ("z", ("x", "y"))


def test_class_that_is_not_there():
    with pytest.raises(ValueError, match=r"class 'C' is not among the 4 nodes. Did you mean 'c'\?"):
        is_c1(TAN, "C")


# --- normalisation


@pytest.mark.parametrize("parents", C1)
def test_normalisation_keeps_the_posterior_of_every_row(parents):
    rng = np.random.default_rng(3)
    cards = {name: int(rng.integers(2, 4)) for name in parents}
    tables = make(parents, cards, lambda shape: rng.normal(0, 3, shape))
    network = tables.normalize()
    assert not tables.normalized
    assert column_errors(network) < 1e-12
    np.testing.assert_allclose(class_posterior(network), class_posterior(tables), rtol=0, atol=1e-10)
    assert np.exp(joint(network)).sum() == pytest.approx(1, abs=1e-12)


@given(c1_tables())
@settings(max_examples=150, deadline=None)
def test_normalisation_on_random_c1_structures(tables):
    before = {name: table.values.copy() for name, table in tables.tables.items()}
    network = normalize(tables, "c")
    assert column_errors(network) < 1e-12
    np.testing.assert_allclose(class_posterior(network), class_posterior(tables), rtol=0, atol=1e-10)
    assert (network.names, network.states, network.edges) == (tables.names, tables.states, tables.edges)
    assert network.target == "c"
    for name, values in before.items():
        np.testing.assert_array_equal(tables.tables[name].values, values)


@given(c1_tables())
@settings(max_examples=50, deadline=None)
def test_a_network_is_its_own_normalisation(tables):
    network = normalize(tables, "c")
    again = normalize(network, "c")
    for name in tables.names:
        np.testing.assert_allclose(again.tables[name].values, network.tables[name].values, rtol=1e-14, atol=1e-14)


@given(c1_tables(impossible=[0.1, 0.3, 0.6]))
@settings(max_examples=150, deadline=None)
def test_impossible_states_stay_impossible(tables):
    network = normalize(tables, "c")
    assert column_errors(network) < 1e-12
    before, after = class_posterior(tables), class_posterior(network)
    defined = ~np.isnan(before)
    np.testing.assert_allclose(after[defined], before[defined], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(after[defined] == 0, before[defined] == 0)


def test_tan_by_hand():
    """x and y are binary; y's sums (2, 4 | 3, 1 for x = 0, 1) times x's weights are 2, 8 | 3, 1."""
    weights = {
        "c": ((), [1, 5]),
        "x": (("c",), [[1, 1], [2, 1]]),
        "y": (("c", "x"), [[[1, 1], [1, 0.5]], [[1, 3], [2, 0.5]]]),
    }
    tables = LogTables(
        ["c", "x", "y"],
        {name: [0, 1] for name in "cxy"},
        {name: (own, np.log(values)) for name, (own, values) in weights.items()},
    )
    network = {name: np.exp(table.values) for name, table in normalize(tables, "c").tables.items()}
    np.testing.assert_allclose(network["y"], [[[1 / 2, 1 / 4], [1 / 3, 1 / 2]], [[1 / 2, 3 / 4], [2 / 3, 1 / 2]]])
    np.testing.assert_allclose(network["x"], [[0.2, 0.75], [0.8, 0.25]])
    np.testing.assert_allclose(network["c"], [10 / 30, 20 / 30])


def test_class_parents_by_hand():
    """x has parents a and c and is covered by c, whose table has the same axes the other way round."""
    tables = LogTables(
        ["a", "c", "x"],
        {name: [0, 1] for name in "acx"},
        {
            "a": ((), np.log([3, 1])),
            "c": (("a",), np.log([[1, 2], [3, 1]])),
            "x": (("a", "c"), np.log([[[1, 1], [1, 5]], [[2, 1], [3, 5]]])),
        },
    )
    network = {name: np.exp(table.values) for name, table in normalize(tables, "c").tables.items()}
    np.testing.assert_allclose(network["a"], [0.75, 0.25])
    # the sums of x are 3, 2 (a = 0) and 4, 10 (a = 1), so that c weighs 3, 6 and 8, 10
    np.testing.assert_allclose(network["c"], [[3 / 9, 8 / 18], [6 / 9, 10 / 18]])
    np.testing.assert_allclose(network["x"], [[[1 / 3, 1 / 2], [1 / 4, 1 / 2]], [[2 / 3, 1 / 2], [3 / 4, 1 / 2]]])


def test_an_impossible_column_becomes_uniform_and_its_class_impossible():
    with np.errstate(divide="ignore"):
        tables = LogTables(
            ["c", "x"],
            {"c": "no", "x": "pqr"},
            {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0, 0.2], [0, 0.3], [0, 0.5]]))},
        )
    network = {name: np.exp(table.values) for name, table in normalize(tables, "c").tables.items()}
    np.testing.assert_allclose(network["x"], [[1 / 3, 0.2], [1 / 3, 0.3], [1 / 3, 0.5]])
    np.testing.assert_allclose(network["c"], [0, 1])


def test_large_log_parameters():
    rng = np.random.default_rng(0)
    tables = make(TWO_TREE, dict.fromkeys(TWO_TREE, 3), lambda shape: 1e5 + 100 * rng.normal(size=shape))
    network = normalize(tables, "c")
    assert column_errors(network) < 1e-12
    np.testing.assert_allclose(class_posterior(network), class_posterior(tables), rtol=0, atol=1e-8)


def test_a_class_named_for_once_is_not_kept():
    tables = LogTables(["c", "x"], {"c": [0, 1], "x": [0, 1]}, {"c": ((), [0, 1]), "x": (("c",), np.eye(2))})
    assert tables.normalize("c").target is None
    assert tables.normalize("x").normalized


def test_not_c1_is_an_error_that_names_the_node():
    tables = make(UNMARRIED, dict.fromkeys(UNMARRIED, 2), np.zeros)
    with pytest.raises(NotRepresentableError, match=r"class child 'z' .* parents 'x' and 'y' are not adjacent"):
        tables.normalize()


@pytest.mark.parametrize("parents", some([p for p in FOUR_NODES if is_c1(p, "c")], 10))
def test_every_tenth_c1_graph_of_four_nodes(parents):
    rng = np.random.default_rng(1)
    tables = make(parents, {"a": 2, "b": 3, "c": 3, "d": 2}, lambda shape: rng.normal(0, 2, shape))
    network = normalize(tables, "c")
    np.testing.assert_allclose(class_posterior(network), class_posterior(tables), rtol=0, atol=1e-10)


def test_two_hundred_nodes(monkeypatch):
    """A 2-tree of 200 features; rows are sampled, as nobody can enumerate them."""
    rng = np.random.default_rng(5)
    parents, edges = {"c": [], "x0": ["c"], "x1": ["c", "x0"]}, [["x0", "x1"]]
    for i in range(2, 200):
        edge = edges[rng.integers(len(edges))]
        parents[f"x{i}"] = ["c", *edge]
        edges += [[edge[0], f"x{i}"], [edge[1], f"x{i}"]]
    tables = make(parents, dict.fromkeys(parents, 4), lambda shape: rng.normal(0, 0.3, shape))
    cells = []
    once = wettig._normalize_columns
    monkeypatch.setattr(wettig, "_normalize_columns", lambda values: cells.append(values.size) or once(values))
    network = normalize(tables, "c")
    # Each table is gone through once, and none grows on the way.
    assert sorted(cells) == sorted(table.values.size for table in tables.tables.values())
    assert column_errors(network) < 1e-12
    codes = rng.integers(0, 4, (201, 100)).astype(np.uint8)
    before, after = (log_posterior(log_joint(terms(t, "c"), codes)) for t in (tables, network))
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9)


# --- Lemma 1: the likelihood


def sub_normalized(tables, slack):
    """Every column of `tables` lowered until it sums to at most one, and by a part of `slack` more."""
    return LogTables(
        tables.names,
        tables.states,
        {
            name: (own, values - np.log(np.exp(values).sum(axis=0)) - slack.random(values.shape[1:]))
            for name, (own, values) in tables.tables.items()
        },
        "c",
    )


@given(c1_tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_consistent_counts_never_weigh_less_than_before(tables, seed):
    rng = np.random.default_rng(seed)
    start = sub_normalized(tables, rng)
    # counts of any joint table are consistent, those of complete rows with virtual counts among them
    cells = rng.poisson(0.5, [len(start.states[name]) for name in start.names]) + rng.choice([0.0, 0.1])
    before, after = weighted_sum(start, cells), weighted_sum(normalize(start, "c"), cells)
    assert after >= before - 1e-9 * (1 + abs(before))


@pytest.mark.parametrize("parents", C1)
def test_the_likelihood_of_training_rows_does_not_fall(parents):
    rng = np.random.default_rng(11)
    names = list(parents)
    start = sub_normalized(make(parents, dict.fromkeys(names, 3), lambda shape: rng.normal(0, 2, shape)), rng)
    rows = Table(rng.integers(0, 3, (len(names), 60)).astype(np.uint8), names, start.states, "c")
    assert start.normalize().log_likelihood(rows) > start.log_likelihood(rows)


def test_without_consistent_counts_it_can_fall():
    """x was counted on no row of class 0, the class on ten: what x gives up costs the class 10 (1 - 0.38)."""
    start = LogTables(
        ["c", "x"],
        {"c": [0, 1], "x": [0, 1]},
        {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.5, 0.5], [0.5, 0.5]]) - [[1, 0]])},
    )
    network = normalize(start, "c")
    counts = {"c": np.array([10, 0]), "x": np.array([[0, 0], [0, 0]])}
    before, after = (sum((counts[n] * t.tables[n].values).sum() for n in counts) for t in (start, network))
    assert after - before == pytest.approx(-10 - 10 * np.log((np.exp(-1) + 1) / 2))
    assert after < before


def test_from_columns_that_sum_to_more_than_one_it_can_fall():
    start = make({"c": []}, {"c": 2}, np.zeros)
    assert weighted_sum(normalize(start, "c"), np.ones(2)) < weighted_sum(start, np.ones(2))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_derivatives_go_back_through_the_normalisation(seed):
    rng = np.random.default_rng(seed)
    parents = [[1], [], [0, 1], [0, 2], [2], [0]]
    tables = random_tables(rng, parents, rng.integers(1, 4, len(parents)).tolist(), normalized=False)
    made = _Normalization(tables, "v0")
    weights = {name: rng.normal(size=own.values.shape) for name, own in tables.tables.items()}

    def weighed(changed):
        return sum(float((weights[name] * own.values).sum()) for name, own in changed.tables.items())

    derivatives = made.chain(weights)
    for name, (_, values) in tables.tables.items():
        for cell in np.ndindex(values.shape):
            at = []
            for step in (-1e-5, 1e-5):
                moved = values.copy()
                moved[cell] += step
                changed = {n: (t.parents, moved if n == name else t.values) for n, t in tables.tables.items()}
                at.append(weighed(LogTables(tables.names, tables.states, changed, "v0").normalize()))
            assert derivatives[name][cell] == pytest.approx((at[1] - at[0]) / 2e-5, rel=1e-6, abs=1e-7)
