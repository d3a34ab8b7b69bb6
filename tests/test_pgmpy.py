"""Our answers behind pgmpy's interface, against pgmpy's own, on its example networks and on random ones."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import BeliefPropagation as TheirPropagation
from pgmpy.inference import VariableElimination as TheirElimination
from pgmpy.utils import get_example_model
from random_networks import random_tables
from strategies import random_parents, seeds

from bnplug.pgmpy import BeliefPropagation, VariableElimination, predict, predict_probability

QUIET = {"show_progress": False}


@pytest.fixture(scope="module")
def asia():
    return get_example_model("asia")


def network(seed):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, random_parents(rng, 6), rng.integers(2, 4, 6).tolist(), normalized=True)
    return tables.to_network(), rng


def same(ours, theirs):
    assert set(ours.variables) == set(theirs.variables)
    order = [theirs.variables.index(name) for name in ours.variables]
    np.testing.assert_allclose(ours.values, theirs.values.transpose(order), rtol=0, atol=1e-9)
    assert {name: ours.state_names[name] for name in ours.variables} == {
        name: list(theirs.state_names[name]) for name in ours.variables
    }


def test_answers_are_those_of_pgmpy_on_random_networks():
    for seed in seeds(8):
        model, rng = network(seed)
        names = [str(name) for name in rng.permutation(list(model.nodes()))]
        states = {name: model.get_cpds(name).state_names[name] for name in names}
        evidence = {name: states[name][0] for name in names[:2]}
        size = len(states[names[5]])
        virtual = [
            TabularCPD(names[5], size, rng.dirichlet(np.ones(size))[:, None], state_names={names[5]: states[names[5]]})
        ]
        ours, theirs = VariableElimination(model), TheirElimination(model)
        for given in (None, virtual):
            arguments = {"variables": names[3:5], "evidence": evidence, "virtual_evidence": given}
            same(ours.query(**arguments), theirs.query(**arguments, **QUIET))
            assert ours.map_query(**arguments) == theirs.map_query(**arguments, **QUIET)
        single = ours.query(names[3:5], evidence, joint=False)
        for name, factor in theirs.query(names[3:5], evidence, joint=False, **QUIET).items():
            same(single[name], factor)
        assert ours.max_marginal(names[3:5], evidence) == pytest.approx(
            theirs.max_marginal(names[3:5], evidence, **QUIET), abs=1e-9
        )


@pytest.mark.parametrize("name", ["cancer", "asia", "alarm"])
def test_answers_are_those_of_pgmpy_on_its_examples(name):
    model = get_example_model(name)
    nodes = list(model.nodes())
    evidence = {nodes[-1]: model.get_cpds(nodes[-1]).state_names[nodes[-1]][0]}
    ours = BeliefPropagation(model)
    # pgmpy's propagation on alarm takes minutes.
    theirs = TheirElimination(model) if name == "alarm" else TheirPropagation(model)
    ours.calibrate()
    for variables in ([nodes[0]], [nodes[1], nodes[0]]):
        same(ours.query(variables, evidence), theirs.query(variables, evidence, **QUIET))
        assert ours.map_query(variables, evidence) == theirs.map_query(variables, evidence, **QUIET)


def test_a_factor_has_its_variables_in_the_order_of_the_question(asia):
    assert VariableElimination(asia).query(["lung", "bronc"]).variables == ["lung", "bronc"]


def test_the_best_state_of_all_variables_respects_the_evidence(asia):
    """pgmpy 1.1 ignores it."""
    inference = VariableElimination(asia)
    best = inference.map_query(evidence={"xray": "yes", "dysp": "yes"})
    assert best == {
        "asia": "no", "tub": "no", "smoke": "yes", "lung": "yes", "bronc": "yes", "either": "yes",
    }  # fmt: skip
    assert 0 < inference.max_marginal(evidence={"xray": "yes"}) < 1


def test_virtual_evidence_is_matched_by_the_names_of_states(asia):
    ours = VariableElimination(asia)
    one, other = (
        TabularCPD("xray", 2, [[a], [b]], state_names={"xray": names})
        for a, b, names in ((0.9, 0.2, ["yes", "no"]), (0.2, 0.9, ["no", "yes"]))
    )
    a, b = (ours.query(["lung"], virtual_evidence=[cpd]).values for cpd in (one, other))
    np.testing.assert_array_equal(a, b)


def test_bad_questions_are_refused(asia):
    ours = VariableElimination(asia)
    with pytest.raises(KeyError, match="has no state 0; its states are"):
        ours.query(["lung"], {"xray": 0})
    with pytest.raises(ValueError, match=r"no variable 'lungs'.*'lung'"):
        ours.query(["lungs"])
    with pytest.raises(ValueError, match="among both"):
        ours.query(["lung"], {"lung": "yes"})
    with pytest.raises(ValueError, match=r"impossible.*\['lung', 'either'\]"):
        ours.query(["smoke"], {"lung": "yes", "xray": "no", "either": "no"})


def test_rows_are_predicted_in_their_order(asia):
    """pgmpy 1.1 sorts them by the index."""
    data = pd.DataFrame(
        {"xray": ["yes", "no", None, "yes"], "smoke": ["no", "yes", "yes", None]}, index=["d", "b", "a", "a"]
    )
    filled = predict(asia, data)
    assert list(filled.index) == list(data.index)
    assert list(filled.columns)[:2] == ["xray", "smoke"]
    assert set(filled.columns) == set(asia.nodes())
    assert not filled.isna().any().any()
    inference = VariableElimination(asia)
    for (_, row), (_, whole) in zip(data.iterrows(), filled.iterrows(), strict=True):
        known = row.dropna().to_dict()
        assert whole.to_dict() == {**known, **inference.map_query(evidence=known)}
    drawn = predict(asia, data, stochastic=True, seed=0)
    pd.testing.assert_frame_equal(drawn, predict(asia, data, stochastic=True, seed=0))
    probabilities = predict_probability(asia, data)
    assert list(probabilities.index) == list(data.index)
    for i, (_, row) in enumerate(data.iterrows()):
        wanted = inference.query(["lung"], row.dropna().to_dict()).values
        np.testing.assert_allclose(probabilities[["lung_yes", "lung_no"]].to_numpy()[i], wanted, atol=1e-12)


def test_probabilities_are_those_of_pgmpy_for_rows_without_holes(asia):
    data = pd.DataFrame({"xray": ["yes", "no"], "smoke": ["no", "no"]})
    ours, theirs = predict_probability(asia, data), asia.predict_probability(data)
    pd.testing.assert_frame_equal(ours[sorted(ours.columns)], theirs[sorted(theirs.columns)], check_exact=False)


def test_a_frame_with_other_columns_or_values_is_refused(asia):
    with pytest.raises(ValueError, match=r"columns \['fever'\]"):
        predict(asia, pd.DataFrame({"fever": [1]}))
    with pytest.raises(KeyError, match="'xray' has no state 'maybe'"):
        predict(asia, pd.DataFrame({"xray": ["maybe"]}))
