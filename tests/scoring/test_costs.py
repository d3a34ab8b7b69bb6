"""Penalties of families: each is asked for once, and a change costs the difference."""

import pandas as pd

from bnplug import Table
from bnplug.builtin.scores import HitRate
from bnplug.scoring._candidates import FlatGraph
from bnplug.scoring._costs import FamilyCosts

TABLE = Table.from_frame(pd.DataFrame({"a": [0, 1], "b": [0, 1], "c": [0, 1]}), "c")


class Costly(HitRate):
    """Each parent costs its number plus one; what is asked is kept."""

    def penalty(self, table, child, parents):
        self.asked = [*getattr(self, "asked", []), (child, parents)]
        return float(sum(parents) + len(parents))


def test_the_sum_and_a_change():
    score = Costly()
    costs, graph = FamilyCosts(score, TABLE), FlatGraph.of([[2], [0, 2], []])
    assert costs.sum(graph) == 3 + 4
    assert costs.change(graph, {1: [2], 2: [0]}) == -1 + 1
    assert costs.change(graph, {1: [2, 0]}) == 0
    assert len(score.asked) == len(set(score.asked))


def test_a_score_without_penalty_is_not_asked():
    costs, graph = FamilyCosts(HitRate(), TABLE), FlatGraph.of([[2], [0, 2], []])
    assert costs.sum(graph) == 0
    assert costs.change(graph, {1: [2]}) == 0
