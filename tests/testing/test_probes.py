"""The scores that the kit hands to learners: each taste is one of its own, and says by whom it was asked."""

from sklearn.base import clone

from bnplug import Structure, structure_learner
from bnplug.testing import data
from bnplug.testing._common_checks import FewEdges, Taste


def test_few_edges_counts_edges():
    table = data.standard()
    assert FewEdges().score(table, Structure(table.names, table.naive_bayes())) == 0.0
    assert FewEdges().score(table, Structure(table.names, data.complete(table))) == -3.0


def test_a_taste_is_the_same_for_one_graph_and_another_for_others():
    table = data.standard()
    graphs = [Structure(table.names, parents) for parents in data.graphs(table)]
    scores = [Taste(taste).score(table, dag) for taste in range(3) for dag in graphs]
    assert len(set(scores)) == len(scores)
    assert all(-table.n_rows <= score < 0 for score in scores)
    again = Taste(1).score(table, Structure(table.names, [each[::-1] for each in data.tree(table)]))
    assert again == Taste(1).score(table, Structure(table.names, data.tree(table)))


def test_who_is_asked_is_recorded_while_somebody_listens():
    table = data.standard()
    learner = structure_learner("hill-climb", score=Taste(), random_state=3)
    with Taste.asked() as seeds:
        clone(learner).learn(table)
    assert set(seeds) == {3}
    n_asked = len(seeds)
    learner.learn(table)
    assert len(seeds) == n_asked
