"""Structures from incomplete rows, by what the network so far expects."""

import numpy as np
import pytest

from bnplug import Learned, Structure, StructureLearner, Table, structure_learner
from bnplug.inference import expected_table as module
from bnplug.inference.expected_table import structural_em
from bnplug.table.block_table import BlockTable


def found_by(learner):
    return lambda table: Learned.of(learner.learn(table), table)


def chain(n=400, missing=0.3, unlabeled=0.0, seed=0):
    """A class and five features, each like the one before it; some cells and classes are not known."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, n)]
    for _ in range(4):
        columns.append(np.where(rng.random(n) < 0.9, columns[-1], 1 - columns[-1]))
    y = np.where(rng.random(n) < 0.7, columns[0], 1 - columns[0])
    codes = np.array([*columns, y], dtype=np.uint8)
    codes[:-1][rng.random((5, n)) < missing] = 255
    codes[-1][rng.random(n) < unlabeled] = 255
    names = [*"abcde", "y"]
    return Table(codes, names, {name: [0, 1] for name in names}, "y", missing_policy="em")


@pytest.mark.parametrize("name", ["nb", "tan", "kdb", "hill-climb", "omi"])
@pytest.mark.parametrize("unlabeled", [0.0, 0.5])
def test_every_learner_learns_from_incomplete_rows(name, unlabeled):
    table = chain(150 if name in ("hill-climb", "omi") else 400, unlabeled=unlabeled)
    params = {"score": "mdl"} if name == "hill-climb" else {}
    dag = structural_em(found_by(structure_learner(name, **params)), table, random_state=0).structure
    assert len(dag.parents) == 6
    if name == "tan":
        found = {tuple(sorted(edge)) for edge in dag.edges if "y" not in edge}
        assert found == {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")}


@pytest.mark.parametrize(("name", "score"), [("hill-climb", "cll"), ("omi", "cr"), ("omisp", "mm")])
def test_no_row_is_completed_for_predictive_scores_and_orders(monkeypatch, name, score):
    monkeypatch.setattr(module, "draw_missing", None)
    table = chain(n=150, unlabeled=0.2)
    params = {"max_parents": 2, "max_iter": 4} if name == "hill-climb" else {}
    dag = structural_em(found_by(structure_learner(name, score=score, **params)), table, 0).structure
    assert dag.parents


def test_what_a_random_state_draws_does_not_matter_where_nothing_is_drawn():
    learn = found_by(structure_learner("hill-climb", score="cll", max_parents=2, max_iter=6))
    one, other = (structural_em(learn, chain(n=200), seed).structure for seed in (0, 1))
    assert sorted(one.edges) == sorted(other.edges)


def test_the_result_is_the_same_for_blocks_and_threads():
    table = chain(n=100)
    learn = found_by(structure_learner("tan"))
    wanted = structural_em(learn, table)
    assert structural_em(learn, BlockTable.cut(table, [40, 60])) == wanted
    assert structural_em(learn, table, n_jobs=2) == wanted


def test_it_ends_where_a_structure_comes_back_and_after_so_many(monkeypatch, capsys):
    rounds = []

    class Restless(StructureLearner):
        def learn(self, table):
            rounds.append(table.expects)
            own = [[5] if v < 5 else [] for v in range(6)]
            own[len(rounds) % 5] = []
            return Structure(table.names, own)

    monkeypatch.setattr(module, "MOST_STRUCTURES", 3)
    structural_em(found_by(Restless()), chain(n=30), verbose=1)
    assert rounds == [False, True, True, True]
    assert "structural em: round 3, 2 families changed" in capsys.readouterr().err
    rounds.clear()
    monkeypatch.setattr(module, "MOST_STRUCTURES", 30)
    structural_em(found_by(Restless()), chain(n=30))
    assert len(rounds) == 6
