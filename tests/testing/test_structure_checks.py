"""Every check of structure learners can fail: for each there is one that is healthy but for that one thing."""

import numpy as np
import pytest
from saboteurs import structures
from saboteurs.trying import failing, name_of

from bnplug import BayesianNetworkClassifier, StructureLearnerMethod, datasets
from bnplug.hooks import registry
from bnplug.testing import _common_checks


class Numbers(structures.Chain):
    """Returns the parents of every variable as numbers, of numpy."""

    def learn(self, table):
        return [np.array(own, dtype=np.int64) for own in self.parents(table)]


COMMON = {check.__name__ for check in _common_checks.CHECKS}
HEALTHY = [
    StructureLearnerMethod("chain", structures.Chain, "Healthy.", "Nobody (2026)"),
    StructureLearnerMethod("numbers", Numbers, "Healthy, and without a graph.", "Nobody (2026)"),
    StructureLearnerMethod("dense", structures.Dense, "Healthy.", "Nobody (2026)"),
    StructureLearnerMethod("careful", structures.Careful, "Healthy.", "Nobody (2026)", constraints=True),
    StructureLearnerMethod("search", structures.Search, "Healthy.", "Nobody (2026)", needs_score=True),
    StructureLearnerMethod(
        "exact",
        structures.Exact,
        "Healthy, for small tables and decomposable scores.",
        "Nobody (2026)",
        needs_score=True,
        needs_target=False,
        needs_decomposable=True,
        max_variables=3,
    ),
    StructureLearnerMethod("gaps", structures.GapsAreAState, "Healthy, and unusual.", "Nobody (2026)"),
    StructureLearnerMethod("pair", structures.OneOfTwo, "Healthy, and quick.", "Nobody (2026)", needs_score=True),
]


@pytest.mark.parametrize("method", HEALTHY, ids=lambda method: method.name)
def test_a_healthy_method_passes_all(method):
    assert failing(method) == {}


@pytest.mark.parametrize(
    "saboteur", [saboteur for saboteur in structures.SABOTEURS if saboteur.check not in COMMON], ids=name_of
)
def test_a_saboteur_fails_its_check_and_no_other(saboteur):
    failed = failing(saboteur.method)
    # What returns no structure fails all checks that look at one.
    assert set(failed) == saboteur.checks or saboteur.check == "check_returns_a_structure" in failed, failed
    assert failed[saboteur.check]


@pytest.mark.parametrize("name", [method.name for method in registry.methods("parameter learner")])
def test_numbers_go_with_every_parameter_learner_as_their_graph_does(name):
    X, y = datasets.corral()
    learners = structures.Chain(), Numbers()
    graph, numbers = (BayesianNetworkClassifier(own, name, random_state=0).fit(X, y) for own in learners)
    assert set(numbers.dag_.edges) == set(graph.dag_.edges)
    np.testing.assert_array_equal(numbers.predict_proba(X), graph.predict_proba(X))
