"""What is checked: a method seen through its descriptor, and when two results of it agree."""

import random

import numpy as np
import pytest
from saboteurs import structures

from bnplug import Structure, StructureLearnerMethod
from bnplug.hooks import registry
from bnplug.testing import _subjects, data, subject_of

TAN = subject_of(registry.find("structure learner", "tan"))
CR = subject_of(registry.find("score function", "cr"))
BDEU = subject_of(registry.find("score function", "bdeu"))
ML = subject_of(registry.find("parameter learner", "ml"))


def test_a_subject_makes_instances_with_a_fixed_seed_where_they_take_one():
    assert CR.make().random_state == 0
    assert CR.make(random_state=3).random_state == 3
    assert BDEU.make(equivalent_sample_size=2.0).get_params() == {"equivalent_sample_size": 2.0}
    assert CR.has("random_state")
    assert not BDEU.has("random_state")


def test_a_result_is_learned_once():
    assert TAN.result is TAN.result
    assert TAN.same(TAN.result, TAN.run(data.standard()))


def test_structures_agree_where_their_edges_do():
    table = data.standard()
    tree, empty = Structure(table.names, data.tree(table)), Structure(table.names, [[] for _ in table.names])
    assert TAN.same(tree, Structure(table.names, data.tree(table)))
    assert not TAN.same(tree, empty)


def test_scores_agree_but_for_noise():
    assert CR.alike(np.array([100.0]), np.array([100.0 + 1e-9]), data.standard())
    assert not CR.alike(np.array([100.0]), np.array([100.0001]), data.standard())
    assert not CR.same(np.array([100.0]), np.array([100.0 + 1e-9]))


def test_parameters_agree_where_the_posterior_does():
    table = data.standard()
    one, other = ML.run(table), ML.run(table, alpha=30.0)
    assert ML.same(one, ML.run(table))
    assert not ML.same(one, other)
    assert not ML.alike(one, other, table)


def test_candidates_are_the_whole_neighbourhood_of_the_tree():
    table = data.standard()
    candidates = CR.candidates(table)
    # Five edges to delete, of which some can be turned, and one that is not there, either way round.
    assert len(candidates) == len({str(sorted(changes.items())) for changes in candidates})
    assert {0: []} in candidates


def test_what_cannot_be_used_is_said():
    table = data.standard()
    with pytest.raises(AssertionError, match="some scores are not finite"):
        CR.require_usable(np.array([0.0, np.nan]), table)
    hidden = Structure([*table.names, "hidden"], [[len(table.names)], *[[] for _ in table.names]])
    with pytest.raises(AssertionError, match="not edges between variables of the table"):
        TAN.require_usable(hidden, table)


def test_a_plugin_brings_its_methods_as_subjects():
    builtin = _subjects.PluginSubject(registry.plugins()[0])
    assert builtin.name == "builtin"
    assert {"nb", "tan", "ml"} <= {method.name for method in builtin.methods}
    assert len(builtin.descriptors) == sum(map(len, builtin.info.names.values()))


def test_a_class_is_as_good_as_its_path():
    described = StructureLearnerMethod("chain", structures.Chain, "A chain.", "Nobody (2026)")
    assert subject_of(described).factory is structures.Chain
    assert TAN.factory.__name__ == TAN.method.factory.split(":")[1]


def test_global_generators_are_given_back_after_a_call():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    TAN.call(TAN.make(), data.standard())
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002


def test_a_condition_that_does_not_hold_fails_a_check_even_without_assertions():
    _subjects.require(True, "nothing")
    with pytest.raises(AssertionError, match=r"^it is so$"):
        _subjects.require(False, "it is so")
