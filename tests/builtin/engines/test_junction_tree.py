"""What pgmpy's junction tree cannot do is said in one sentence, with the engine that can."""

import pickle

import numpy as np
import pytest
from random_networks import MISSING, TREE, enumerated, full_joint, random_rows, random_tables

import bnplug
from bnplug.builtin.engines import junction_tree
from bnplug.builtin.engines.junction_tree import JunctionTreeEngine
from bnplug.inference.complete import posterior


def test_a_clique_that_is_too_large_is_refused_before_it_is_made():
    tables = random_tables(np.random.default_rng(0), [[], [0], [0, 1], [0, 1, 2]], [10, 10, 10, 10])
    with pytest.raises(ValueError, match=r"junction-tree cannot .* has 10,000 cells, more than 9,999.*'elimination'"):
        JunctionTreeEngine(max_clique_size=9_999).compile(tables, "v0")


def test_a_clique_of_more_axes_than_arrays_have_is_refused():
    tables = random_tables(np.random.default_rng(0), [list(range(v)) for v in range(53)], [1] * 53)
    with pytest.raises(ValueError, match=r"a clique has 53 variables, and pgmpy takes up to 52.*'elimination'"):
        JunctionTreeEngine().compile(tables, "v0")


def test_a_network_of_more_than_52_variables_is_answered():
    rng = np.random.default_rng(1)
    tables = random_tables(rng, [[], [0], *([0, v - 1] for v in range(2, 70))], [2] * 70)
    codes = random_rows(rng, tables, 3, 0.4)
    one, two = (
        posterior(bnplug.engine(name).compile(tables, "v0").log_joint(codes))
        for name in ("elimination", "junction-tree")
    )
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_numbers_that_no_float_holds_cancel_out():
    """The probability of what these rows know is below e**-2000."""
    rng = np.random.default_rng(2)
    tables = random_tables(rng, [[], *([0, v - 1] if v > 1 else [0] for v in range(1, 60))], [2] * 60, spread=30.0)
    codes = random_rows(rng, tables, 3, 0.2)
    one, two = (
        posterior(bnplug.engine(name).compile(tables, "v0").log_joint(codes))
        for name in ("elimination", "junction-tree")
    )
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


def test_memory_that_is_too_small_is_told(monkeypatch):
    from bnplug.model import pgmpy

    def full(*arguments):
        raise MemoryError("52 GiB")

    monkeypatch.setattr(pgmpy, "JunctionTrees", full)
    tables = random_tables(np.random.default_rng(0), TREE, [2] * len(TREE))
    with pytest.raises(ValueError, match=r"memory is too small for its cliques \(52 GiB\).*engine='elimination'"):
        JunctionTreeEngine().compile(tables, "v0")


def test_a_compiled_network_pickles():
    rng = np.random.default_rng(3)
    tables = random_tables(rng, TREE, [2] * len(TREE), zeros=0.2)
    compiled = JunctionTreeEngine().compile(tables, "v0")
    codes = random_rows(rng, tables, 10, 0.5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(compiled)).log_joint(codes), compiled.log_joint(codes))


def test_of_equal_rows_one_takes_messages(monkeypatch):
    rng = np.random.default_rng(4)
    tables = random_tables(rng, TREE, [2] * len(TREE))
    codes = np.repeat(random_rows(rng, tables, 2, 0.0), 5, axis=1)
    codes[2, 5:] = MISSING
    codes[0] = rng.integers(0, 2, 10)
    compiled = JunctionTreeEngine().compile(tables, "v0")
    asked = []
    belief = compiled._trees.belief
    monkeypatch.setattr(compiled._trees, "belief", lambda *given: asked.append(1) or belief(*given))
    expected = posterior(enumerated(tables, codes))
    np.testing.assert_allclose(posterior(compiled.log_joint(codes)), expected, rtol=0, atol=1e-12)
    assert len(asked) == 1
    assert len(junction_tree._distinct(codes, 0)[0]) == 2


def test_queries_equal_enumeration_however_the_cliques_order_their_variables():
    """Both messages between two cliques have axes in one order; answers were wrong by up to 0.09 where they had not."""
    for seed in range(5, 15):
        rng = np.random.default_rng(seed)
        parents = [sorted(rng.choice(v, min(v, int(rng.integers(1, 3))), replace=False).tolist()) for v in range(1, 7)]
        for states in (2, 3):
            tables = random_tables(rng, [[], *parents], [states] * 7)
            network = JunctionTreeEngine().compile(tables, "v0")
            joint = np.exp(full_joint(tables))
            for v in range(7):
                known = {u: int(rng.integers(states)) for u in range(7) if u != v and rng.random() < 0.3}
                left = [u for u in range(7) if u not in known]
                shares = joint[tuple(known.get(u, slice(None)) for u in range(7))]
                shares = shares.sum(axis=tuple(axis for axis, u in enumerate(left) if u != v))
                found = network.query([f"v{v}"], {f"v{u}": code for u, code in known.items()})
                np.testing.assert_allclose(found, shares / shares.sum(), atol=1e-10)
