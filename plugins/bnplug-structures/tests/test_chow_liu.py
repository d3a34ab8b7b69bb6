"""chow-liu returns the heaviest tree, within constraints."""

from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from bnplug_structures.chow_liu import mutual_information

from bnplug import Structure, Table, score_function, structure_learner
from bnplug.testing.data import without_class


def noisy(seed=0, n=300, size=5):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, n)]
    for _ in range(size - 1):
        source = columns[rng.integers(0, len(columns))]
        columns.append(np.where(rng.random(n) < 0.4, rng.integers(0, 3, n), source))
    return pd.DataFrame(dict(zip("abcdefgh", columns, strict=False)))


def forests(table):
    """Yield all graphs in which each variable has at most one parent."""
    n = len(table.names)
    for choice in product(*[[None, *(u for u in range(n) if u != v)] for v in range(n)]):
        try:
            yield Structure(table.names, [[] if u is None else [u] for u in choice])
        except ValueError:
            continue


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "constraints",
    [
        {},
        {"required": [("d", "b")]},
        {"forbidden": [("a", "b"), ("b", "a"), ("c", "a")], "tiers": [["b"], ["a"], ["c", "d"]]},
    ],
)
def test_no_forest_has_a_higher_likelihood(seed, constraints):
    table = Table.from_frame(noisy(seed, size=4), "d")
    likelihood = score_function("ll")
    learned = structure_learner("chow-liu", correction=None, **constraints).learn(table)

    def violates(graph):
        required, forbidden = ({*constraints.get(key, ())} for key in ("required", "forbidden"))
        tier = {name: i for i, names in enumerate(constraints.get("tiers", ())) for name in names}
        late = any(tier.get(u, 0) > tier.get(v, 9) for u, v in graph.edges)
        return late or required - {*graph.edges} or forbidden & {*graph.edges}

    assert not violates(learned)
    best = max(likelihood.score(table, graph) for graph in forests(table) if not violates(graph))
    assert likelihood.score(table, learned) == pytest.approx(best)


def test_information_equals_the_likelihood_gained_with_missing_cells_left_out():
    frame = noisy()
    table = Table.from_frame(frame, "e")
    gained = np.diff(score_function("ll").local_scores(table, [(0,), (0, 3)]))
    assert mutual_information(table)[0, 3] * len(frame) == pytest.approx(gained[0])
    frame.loc[:99, "a"] = None
    known = Table.from_frame(frame[100:], "e")
    assert mutual_information(Table.from_frame(frame, "e"))[0, 3] == pytest.approx(mutual_information(known)[0, 3])
    share = mutual_information(Table.from_frame(frame, "e"), 0.999)[0, 3] / mutual_information(known, 0.999)[0, 3]
    assert share == pytest.approx(2 / 3)


def test_the_root_has_the_most_edges_or_is_given():
    rng = np.random.default_rng(0)
    hub = rng.integers(0, 3, 500)
    leaves = {name: np.where(rng.random(500) < 0.2, 0, hub) for name in "abd"}
    table = Table.from_frame(pd.DataFrame({**leaves, "hub": hub}), "a")
    assert structure_learner("chow-liu").learn(table).by_name == {
        "a": ("hub",),
        "b": ("hub",),
        "d": ("hub",),
        "hub": (),
    }
    assert structure_learner("chow-liu", root="d").learn(table).by_name["hub"] == ("d",)
    rooted = structure_learner("chow-liu", root="d", forbidden=[("d", "a")]).learn(table)
    assert rooted.by_name == {"a": ("hub",), "b": ("hub",), "d": (), "hub": ("d",)}


def test_chance_adds_no_edges_unless_a_tree_is_wanted():
    table = without_class(Table.from_frame(noisy().assign(f=np.random.default_rng(1).integers(0, 4, 300)), "f"))
    assert structure_learner("chow-liu").learn(table).by_name["f"] == ()
    tree = structure_learner("chow-liu", correction=None).learn(table).to_dag()
    assert nx.is_arborescence(tree)


def test_two_required_parents_or_a_parent_of_the_root_are_refused():
    table = Table.from_frame(noisy(), "e")
    with pytest.raises(ValueError, match=r"one parent, and \['a', 'b'\] are required parents of 'c'"):
        structure_learner("chow-liu", required=[("a", "c"), ("b", "c")]).learn(table)
    with pytest.raises(ValueError, match="'c' is the root, and the edge 'a' -> 'c' is required"):
        structure_learner("chow-liu", root="c", required=[("a", "c")]).learn(table)
