"""Jensen's measure of conflict, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import queried_network, weighted
from random_networks import full_joint
from scipy.special import log_softmax, logsumexp
from strategies import seeds

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.inference.marginals import Marginalizer
from bnplug.inference.queries import conflict


def enumerated(tables, evidence):
    nothing = weighted(tables, {}).sum()
    together = weighted(tables, evidence).sum() / nothing
    apart = [weighted(tables, {name: finding}).sum() / nothing for name, finding in evidence.items()]
    return np.log(apart).sum() - np.log(together)


@pytest.mark.parametrize("block", range(4))
def test_it_is_that_of_enumeration(block):
    for seed in seeds(50):
        tables, evidence = queried_network([block, seed])
        found = conflict(Marginalizer(tables, tables.target), evidence)
        assert found == pytest.approx(enumerated(tables, evidence), abs=1e-10), (block, seed)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_the_order_of_findings_does_not_matter(seed, data):
    tables, evidence = queried_network(seed)
    other = {name: evidence[name] for name in data.draw(st.permutations(list(evidence)))}
    marginals = Marginalizer(tables, tables.target)
    assert conflict(marginals, other) == pytest.approx(conflict(marginals, evidence), abs=1e-10)


def test_one_finding_or_none_has_no_conflict():
    tables, _ = queried_network(1)
    assert conflict(Marginalizer(tables, tables.target), {}) == 0
    assert conflict(Marginalizer(tables, tables.target), {tables.names[0]: 0}) == 0


def test_the_impossible_is_an_error():
    with np.errstate(divide="ignore"):
        tables = LogTables(
            ["c", "x"],
            {"c": [0, 1], "x": [0, 1]},
            {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[1.0, 0.2], [0.0, 0.8]]))},
        )
    with pytest.raises(ValueError, match="is impossible: it has probability 0"):
        conflict(Marginalizer(tables, "c"), {"c": 0, "x": 1})


@pytest.mark.parametrize("engine", ["elimination", "junction-tree"])
def test_findings_below_the_range_of_floats_are_not_impossible(engine):
    """Log parameters are uniform over 600 nats, so the probabilities of most joint states underflow."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        names, parents = ["c", "x", "y", "z"], [[], [0], [0, 1], [1, 2]]
        tables = LogTables(
            names,
            {name: range(3) for name in names},
            {
                name: ([names[u] for u in own], log_softmax(rng.uniform(-300, 300, [3] * (len(own) + 1)), axis=0))
                for name, own in zip(names, parents, strict=True)
            },
        )
        compiled = bnplug.engine(engine).compile(tables, "c")
        joint, likelihood = full_joint(tables), np.geomspace(1e-200, 1.0, 3)
        for state in np.ndindex(3, 3, 3):
            found = conflict(compiled, {"c": state[0], "y": state[1], "z": state[2]})
            together = logsumexp(joint[state[0], :, state[1], state[2]])
            apart = [logsumexp(np.moveaxis(joint, v, 0)[own]) for v, own in zip((0, 2, 3), state, strict=True)]
            assert found == pytest.approx(sum(apart) - together, rel=1e-12, abs=1e-9), (seed, state)
        found = conflict(compiled, {"x": likelihood, "z": 0})
        soft = joint + np.log(likelihood)[:, None, None]
        expected = logsumexp(soft) + logsumexp(joint[..., 0]) - logsumexp(soft[..., 0])
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-9), seed


def test_it_is_exact_for_a_rare_finding_of_a_classifier():
    logs = {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.array([[0.0, -800.0], [-900.0, 0.0]]))}
    tables = LogTables(["c", "x"], {"c": ["n", "p"], "x": ["lo", "hi"]}, logs, "c")
    model = BayesianNetworkClassifier.from_tables(tables)
    # P(c=n) P(x=hi) / P(c=n, x=hi) = 0.5 x 0.5 / (0.5 exp(-900))
    assert model.conflict({"c": "n", "x": "hi"}) == pytest.approx(900 + np.log(0.5))


def test_draws_that_are_rare_but_possible_are_not_impossible():
    logs = {"c": ((), np.array([0.0, -800.0])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))}
    tables = LogTables(["c", "x"], {"c": [0, 1], "x": [0, 1]}, logs)
    compiled = bnplug.engine("sampling", n_samples=20_000, random_state=0).compile(tables, "c")
    assert conflict(compiled, {"c": 1, "x": 1}) == pytest.approx(np.log(0.1 / 0.8), abs=0.05)


class OnlyQueries(Marginalizer):
    """The minimal engine that a plugin can provide."""

    log_probability = bnplug.CompiledNetwork.log_probability


def test_an_engine_need_not_give_probabilities_of_evidence():
    for seed in range(20):
        tables, evidence = queried_network(seed)
        found = conflict(OnlyQueries(tables, tables.target), evidence)
        assert found == pytest.approx(conflict(Marginalizer(tables, tables.target), evidence), abs=1e-10)
    with np.errstate(divide="ignore"):
        values = {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[1.0, 0.2], [0.0, 0.8]]))}
    tables = LogTables(["c", "x"], {"c": [0, 1], "x": [0, 1]}, values)
    with pytest.raises(ValueError, match="is impossible: it has probability 0"):
        conflict(OnlyQueries(tables, "c"), {"c": 0, "x": 1})


@pytest.mark.parametrize("engine", ["elimination", "junction-tree", ("sampling", {"n_samples": 20_000})])
def test_probabilities_of_evidence_are_relative_to_no_evidence(engine):
    tables, evidence = queried_network(4)
    name, params = (engine, {}) if isinstance(engine, str) else engine
    compiled = bnplug.engine(name, **params).compile(tables, tables.target)
    expected = np.log(weighted(tables, evidence).sum() / weighted(tables, {}).sum())
    assert compiled.log_probability(evidence) == pytest.approx(expected, abs=0.05 if params else 1e-12)
    assert compiled.log_probability({}) == 0.0
