"""Single questions to a network that is kept, against enumeration of all joint states."""

import pickle

import numpy as np
import pytest
from queried_networks import marginal, queried_network, weighted
from random_networks import full_joint, random_tables
from strategies import seeds

from bnplug import LogTables, engine
from bnplug.inference._asking import Asked
from bnplug.inference.most_probable import explanations, most_probable
from bnplug.inference.queries import posterior


def without(tables, evidence):
    return [name for name in tables.names if not isinstance(evidence.get(name), int)]


@pytest.mark.parametrize("block", range(3))
def test_a_kept_network_answers_many_questions_as_enumeration_does(block):
    """Messages of earlier questions, with other evidence, variables and orders, are never taken for others."""
    for seed in seeds(15):
        rng = np.random.default_rng([block, seed])
        tables, _ = queried_network([block, seed])
        asked = Asked(tables)
        for _ in range(12):
            evidence = {}
            for name in rng.permutation(tables.names)[: rng.integers(len(tables.names))].tolist():
                size = len(tables.states[name])
                evidence[name] = int(rng.integers(size)) if rng.random() < 0.6 else rng.integers(0, 3, size) * 1.0
            names = rng.permutation(without(tables, evidence))[: rng.integers(1, 4)].tolist()
            joint = weighted(tables, evidence)
            if names and joint.sum() > 0:
                np.testing.assert_allclose(
                    posterior(asked, names, evidence), marginal(tables, joint, names), rtol=0, atol=1e-12
                )
            elif names:
                with pytest.raises(ValueError, match="impossible"):
                    posterior(asked, names, evidence)


def test_a_network_survives_pickling():
    tables, evidence = queried_network(5)
    asked = pickle.loads(pickle.dumps(Asked(tables)))
    names = without(tables, evidence)[:1]
    assert posterior(asked, names, evidence) == pytest.approx(marginal(tables, weighted(tables, evidence), names))


def test_probabilities_far_below_the_range_of_floats():
    """Hundreds of findings, each very improbable: the posterior and log P(evidence) are exact."""
    n = 400
    names = ["c", *(f"x{i}" for i in range(n))]
    small = np.array([[1e-6, 3e-6], [1 - 1e-6, 1 - 3e-6]])
    families = {"c": ((), np.log([0.5, 0.5])), **{name: (("c",), np.log(small)) for name in names[1:]}}
    tables = LogTables(names, {name: range(2) for name in names}, families)
    compiled = engine("elimination").compile(tables)
    evidence = dict.fromkeys(names[1:], 0)
    wanted = np.logaddexp(n * np.log(1e-6), n * np.log(3e-6)) + np.log(0.5)
    assert compiled.log_probability(evidence) == pytest.approx(wanted, rel=1e-12)
    assert compiled.query(["c"], evidence)[0] == pytest.approx(0.0, abs=1e-100)
    likelihood = np.exp([-700.0, 0.0])
    assert compiled.query(["c"], {**evidence, "c": likelihood})[1] == pytest.approx(1.0)


def test_the_best_joint_state_of_some_variables_sums_the_others_out():
    for seed in seeds(60):
        tables, evidence = queried_network(seed)
        rng = np.random.default_rng(seed)
        free = without(tables, evidence)
        names = [name for name in free if rng.random() < 0.5]
        if not names:
            continue
        with np.errstate(divide="ignore"):
            logs = np.log(marginal(tables, weighted(tables, evidence), names))
        first = np.unravel_index(np.argmax(logs >= logs.max() - 1e-9), logs.shape)
        assert most_probable(tables, evidence, variables=names) == dict(zip(names, first, strict=True))


def test_the_best_joint_states_come_in_falling_order_and_are_those_of_enumeration():
    for seed in seeds(40):
        tables, evidence = queried_network(seed)
        names = without(tables, evidence)
        if not names:
            continue
        probabilities = marginal(tables, weighted(tables, evidence), names)
        found = explanations(Asked(tables), 6, evidence)
        wanted = np.sort(probabilities[probabilities > 0])[::-1][:6]
        assert np.exp([one.log_probability for one in found]) == pytest.approx(wanted, abs=1e-10)
        assert len({tuple(one.states.values()) for one in found}) == len(found)
        for one in found:
            assert probabilities[tuple(one.states[name] for name in names)] == pytest.approx(
                np.exp(one.log_probability), abs=1e-10
            )


def test_impossible_evidence_names_findings_none_of_which_can_be_left_out():
    copies = np.log(np.eye(2) + 1e-300)
    copies[copies < -100] = -np.inf
    names = ["a", "b", "c", "d", "e"]
    half = np.log([0.5, 0.5])
    families = {"a": ((), half), "b": (("a",), copies), "c": (("b",), copies), "d": ((), half), "e": (("d",), copies)}
    tables = LogTables(names, {name: range(2) for name in names}, families)
    compiled = engine("elimination").compile(tables)
    with pytest.raises(ValueError, match=r"impossible.*contradict each other: \['a', 'c'\]"):
        compiled.query(["b"], {"a": 0, "d": 1, "c": 1, "e": 1})
    # The contradiction is among variables that are independent of the one that is asked about.
    with pytest.raises(ValueError, match="impossible"):
        compiled.query(["a"], {"d": 0, "e": 1})
    assert compiled.log_probability({"d": 0, "e": 1}) == -np.inf


def test_a_question_that_needs_too_large_a_table_is_refused_with_its_variables():
    n = 9
    rng = np.random.default_rng(0)
    tables = random_tables(rng, [[] for _ in range(n)] + [list(range(n))], [3] * n + [2])
    compiled = engine("elimination", max_clique_size=10_000).compile(tables)
    assert compiled.query(["v0"], {}).sum() == pytest.approx(1.0)  # the sink is barren
    with pytest.raises(ValueError, match=r"table over \['v0', .*more than max_clique_size=10,000.*sampling"):
        compiled.query(["v0"], {"v9": 1})
    some = {f"v{i}": 0 for i in range(2, n)}
    expected = np.exp(full_joint(tables))[(slice(None), slice(None), *[0] * (n - 2), 1)].sum(axis=1)
    assert compiled.query(["v0"], {**some, "v9": 1}) == pytest.approx(expected / expected.sum())
