"""Messages up and down, against enumeration."""

import numpy as np
import pytest
from queried_networks import along, marginal, queried_network, weighted
from random_networks import full_joint
from strategies import seeds

from bnplug.inference.most_probable import _Calibrated
from bnplug.inference.queries import _evidence_factors, split_evidence
from bnplug.model.wettig import _log_sum


def calibrated(tables, evidence):
    known, soft = split_evidence(tables, evidence)
    return _Calibrated(tables, _evidence_factors(tables, tables.names, known, soft), _log_sum, 10**6)


def test_marginals_and_total_are_those_of_enumeration():
    for seed in seeds(60):
        tables, evidence = queried_network(seed)
        answer, joint = calibrated(tables, evidence), weighted(tables, evidence)
        assert answer.total == pytest.approx(np.log(joint.sum()) + full_joint(tables).max(), abs=1e-10)
        for name, logs in answer.marginals().items():
            np.testing.assert_allclose(np.exp(logs - answer.total), marginal(tables, joint, [name]), atol=1e-10)


def test_the_outside_of_a_table_is_the_derivative_of_the_total_also_where_entries_are_zero():
    for seed in seeds(60):
        tables, evidence = queried_network(seed)
        known, _ = split_evidence(tables, evidence)
        answer = calibrated(tables, evidence)
        for number, name in enumerate(tables.names):
            parents, values = tables.tables[name]
            family = [name, *parents]
            # The product of all but this table: what the total changes by, when an entry does.
            others = weighted_without(tables, name, evidence)
            wanted = np.einsum(others, range(others.ndim), [tables.names.index(u) for u in family])
            found = np.zeros(values.shape)
            found[tuple(known.get(u, slice(None)) for u in family)] = np.exp(answer.outside(number))
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-300)


def weighted_without(tables, left_out, evidence):
    values = tables.tables[left_out].values
    kept = values.copy()
    values[:] = 0.0
    try:
        joint = np.exp(full_joint(tables))
    finally:
        values[:] = kept
    for name, finding in evidence.items():
        weights = np.eye(len(tables.states[name]))[finding] if isinstance(finding, int) else finding
        joint = joint * along(tables, name, weights)
    return joint


def test_nothing_to_sum_out():
    tables, _ = queried_network(3)
    known = dict.fromkeys(tables.names, 0)
    answer = _Calibrated(tables, _evidence_factors(tables, tables.names, known, {}), _log_sum, 10)
    assert answer.total == pytest.approx(full_joint(tables)[(0,) * len(known)])
    assert answer.marginals() == {}
    own = tables.tables[tables.names[0]].values
    assert answer.outside(0) == pytest.approx(answer.total - own[(0,) * own.ndim])
