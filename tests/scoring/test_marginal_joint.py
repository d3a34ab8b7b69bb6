"""Log joints with what is missing summed out group by group, against enumeration."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import CLASS_WITH_PARENTS, TREE, TWO_TREE, enumerated, random_rows, random_tables
from strategies import LONG

from bnplug.inference._groups import make_scratch, network_of
from bnplug.scoring._marginal import fill_changed, fill_whole

CARDS = np.array([3, 2, 2, 3, 2, 2])


def flat(tables):
    return np.concatenate([tables[name].values.ravel() for name in tables.names])


def network(tables, parents):
    sizes = [tables[name].values.size for name in tables.names]
    return network_of([tuple(own) for own in parents], CARDS, np.cumsum([0, *sizes[:-1]]).tolist())


def filled(tables, parents, codes):
    joint, wide = np.empty((codes.shape[1], 3)), np.zeros(codes.shape[1], dtype=bool)
    folds = np.zeros(codes.shape[1], dtype=np.int64)
    data = np.ascontiguousarray(codes.T), 255, folds, CARDS, 0
    fill_whole(*data, network(tables, parents), flat(tables), make_scratch(6, 3), joint, wide)
    assert not wide.any()
    return joint


def differences(joint):
    """What is the same for all classes may be left out."""
    return joint - joint[:, :1]


@settings(max_examples=200 if LONG else 20)
@given(
    st.integers(0, 10**6),
    st.sampled_from([TREE, TWO_TREE, CLASS_WITH_PARENTS]),
    st.sampled_from([0.2, 0.5, 0.9]),
)
def test_the_log_joint_is_what_enumeration_says(seed, parents, missing):
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, parents, CARDS.tolist())
    codes = random_rows(rng, tables, 12, missing)
    found = filled(tables, parents, codes)
    np.testing.assert_allclose(differences(found), differences(enumerated(tables, codes)), atol=1e-11)


@settings(max_examples=200 if LONG else 20)
@given(st.integers(0, 10**6), st.permutations([TREE, TWO_TREE, CLASS_WITH_PARENTS]))
def test_a_change_of_all_families_that_differ_leads_to_the_other_network(seed, graphs):
    rng = np.random.default_rng(seed)
    one, other = (random_tables(rng, parents, CARDS.tolist()) for parents in graphs[:2])
    codes = random_rows(rng, one, 12, 0.4)
    nodes = np.array([v for v in range(6) if graphs[0][v] != graphs[1][v]])
    kept = {one.names[v]: one[one.names[v]] for v in range(6) if v not in nodes}
    other = type(one)(one.names, one.states, {**other.tables, **kept}, "v0")
    sizes = [other[other.names[v]].values.size for v in nodes]
    now, places = network(one, graphs[0]), network(one, graphs[0]).starts.tolist()
    for v, place in zip(nodes.tolist(), np.cumsum([0, *sizes[:-1]]).tolist(), strict=True):
        places[v] = len(flat(one)) + place
    new = network_of([tuple(own) for own in graphs[1]], CARDS, places)
    added = np.concatenate([other[other.names[v]].values.ravel() for v in nodes])
    before, joint, wide = filled(one, graphs[0], codes), np.empty((12, 3)), np.zeros(12, dtype=bool)
    data = np.ascontiguousarray(codes.T), 255, np.zeros(12, dtype=np.int64), CARDS, 0
    fill_changed(*data, now, flat(one), new, added, nodes, before, make_scratch(6, 3), joint, wide)
    np.testing.assert_allclose(differences(joint), differences(enumerated(other, codes)), atol=1e-10)


def test_what_is_impossible_is_minus_infinity():
    rng = np.random.default_rng(0)
    tables = random_tables(rng, TREE, CARDS.tolist(), zeros=0.3)
    codes = random_rows(rng, tables, 40, 0.4)
    wanted = enumerated(tables, codes)
    found = filled(tables, TREE, codes)
    possible = np.isfinite(wanted).any(axis=1)
    assert np.isneginf(wanted[possible]).any()
    wanted, found = (own[possible] - own[possible].max(axis=1, keepdims=True) for own in (wanted, found))
    np.testing.assert_allclose(found, wanted, atol=1e-11)
