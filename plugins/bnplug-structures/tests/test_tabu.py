"""tabu never ends below hill-climb, and leaves its local optima."""

import gzip
from importlib.resources import files

import pytest

from bnplug import Table, score_function, structure_learner
from bnplug.inference.sample import sample
from bnplug.io.network_files import parse_tables
from bnplug.testing.data import without_class


def rows_of(name, n_rows):
    """Draw rows from an example network that pgmpy installs."""
    packed = files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz"
    frame = sample(parse_tables(gzip.decompress(packed.read_bytes()).decode(), "bif"), n_rows, 0)
    return without_class(Table.from_frame(frame, frame.columns[0]))


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "sachs", "survey", "child", "alarm", "insurance"])
@pytest.mark.parametrize("score", ["mdl", "bdeu", "k2"])
def test_no_example_network_gets_a_lower_score_than_by_hill_climb(name, score):
    table = rows_of(name, 1000)
    climb = structure_learner("hill-climb", score=score)
    climb.learn(table)
    learner = structure_learner("tabu", score=score)
    structure = learner.learn(table)
    reached = score_function(score).score(table, structure)
    assert reached == pytest.approx(learner.trace_[-1])
    assert reached >= climb.trace_[-1] - 1e-6


def test_it_leaves_the_local_optimum_of_hill_climb():
    table = rows_of("alarm", 1000)
    reached = {}
    for name in ("hill-climb", "tabu"):
        learner = structure_learner(name, score="mdl", start="empty")
        learner.learn(table)
        reached[name] = learner.trace_[-1]
    assert reached["tabu"] > reached["hill-climb"] + 1


def test_it_is_deterministic_for_any_number_of_threads():
    table = rows_of("child", 500)
    graphs = {structure_learner("tabu", score="bdeu", n_jobs=jobs).learn(table) for jobs in (None, 1, 2, 2)}
    assert len(graphs) == 1


def test_required_edges_above_the_limit_of_parents_are_refused():
    table = rows_of("asia", 100)
    a, b, c, *_ = table.names
    with pytest.raises(ValueError, match="max_parents=1"):
        structure_learner("tabu", max_parents=1, required=[(a, c), (b, c)]).learn(table)
    with pytest.raises(ValueError, match="tenure=-1 must not be negative"):
        structure_learner("tabu", tenure=-1).learn(table)
