"""Maximum margins of what incomplete rows know."""

import numpy as np
import pytest
from bnplug_margin.parameters import negative_margin
from incomplete_tables import STRUCTURES, incomplete_table, joint_of

import bnplug
from bnplug import Structure


def margins_of(tables, table, learner):
    """The sum of H(s) over the rows, by the log joints of what was learned."""
    joint = joint_of(tables, table)
    y = table.codes[table.target_index].astype(np.int64)
    params = np.array([learner.lam_, learner.kappa_, learner.eta])
    return -negative_margin(joint, y, np.ones(len(y)), params, np.empty_like(joint))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_network_has_the_margins_that_were_reached(structure):
    table = incomplete_table()
    dag = Structure(table.names, STRUCTURES[structure])
    learner = bnplug.parameter_learner("mm", lam=0.3)
    fitted = learner.fit(table, dag)
    assert fitted.normalized
    assert learner.objective_path_[-1] == pytest.approx(margins_of(fitted, table, learner), rel=1e-9)
    ignoring = bnplug.parameter_learner("mm", lam=0.3).fit(table.ignoring(), dag)
    assert learner.objective_path_[-1] > margins_of(ignoring, table, learner)


def test_complete_rows_give_the_same_bits():
    table = incomplete_table(missing=0.0)
    dag = Structure(table.names, STRUCTURES["tree"])
    first, second = (bnplug.parameter_learner("mm").fit(own, dag) for own in (table, table.ignoring()))
    assert all((first[name].values == second[name].values).all() for name in table.names)


def test_early_stopping_begins_at_the_estimates():
    table = incomplete_table(rows=90)
    dag = Structure(table.names, STRUCTURES["tree"])
    learner = bnplug.parameter_learner("mm", lam=0.3, early_stopping=True, cv=3)
    learner.fit(table, dag)
    problem = learner.problem(table, dag, None)
    start = problem.negative(problem.terms.values, np.array([0.3, learner.kappa_, learner.eta]))[0]
    assert learner.objective_path_[0] == -start
