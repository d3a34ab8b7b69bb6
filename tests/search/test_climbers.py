"""What is remembered leads the same way as what is asked again."""

from __future__ import annotations

import numpy as np
import pytest
from search.toys import DecomposableMdl, PlainMdl, make_table
from strategies import seeds

from bnplug.search import Graph, GreedySearch, Neighbourhood, climb


@pytest.mark.parametrize("start", ["nb", "empty"])
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("last_of_ties", [False, True])
def test_remembered_gains_lead_the_same_way(start, seed, last_of_ties):
    table = make_table(seed, features=6, rows=200, states=3)
    c = table.target_index
    parents = [[c] if v != c and start == "nb" else [] for v in range(len(table.names))]
    searches = []
    for score in (PlainMdl(), DecomposableMdl()):
        search = GreedySearch(score.evaluator(table), parents, "test")
        search.last_of_ties = last_of_ties
        neighbourhood = Neighbourhood(Graph(parents), capacity=np.full(len(parents), 3))
        climb(search, neighbourhood, table.names)
        assert neighbourhood.graph.parents == search.parents
        searches.append(search)
    plain, remembering = searches
    assert plain.moves == remembering.moves
    assert plain.parents == remembering.parents
    np.testing.assert_allclose(plain.trace, remembering.trace)
    assert remembering.evaluator.n_evaluations < plain.evaluator.n_evaluations / 2
