"""Derivatives of a posterior by the entries of tables, against enumeration and against a step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queried_networks import marginal, queried_network, weighted
from random_networks import full_joint
from strategies import seeds

from bnplug import LogTables
from bnplug.inference.explain import sensitivity, sensitivity_frame


def enumerated(tables, target, evidence):
    """By the definition: slopes of each entry alone, from the joint without its table, then the column's."""
    joint = weighted(tables, evidence)
    total, t = joint.sum(), tables.names.index(target)
    posterior = marginal(tables, joint, [target])
    found = {}
    for name, (_, values) in tables.tables.items():
        slopes = np.zeros((*values.shape, len(posterior)))
        for cell in np.ndindex(values.shape):
            # P with this entry at one and the rest of the table at zero is what P has for each unit of the entry.
            alone = np.full(values.shape, -np.inf)
            alone[cell] = 0.0
            unit = LogTables(
                tables.names,
                tables.states,
                {n: (p, alone if n == name else v) for n, (p, v) in tables.tables.items()},
            )
            part = plain(unit, evidence) / scale(tables)
            by_state = part.sum(axis=tuple(axis for axis in range(part.ndim) if axis != t))
            slopes[cell] = (by_state - posterior * by_state.sum()) / total
        found[name] = covaried(slopes, np.exp(values))
    return found


def plain(tables, evidence):
    joint = np.exp(full_joint(tables))
    for name, finding in evidence.items():
        weights = np.eye(len(tables.states[name]))[finding] if isinstance(finding, int) else np.asarray(finding)
        joint = joint * np.reshape(weights, [-1 if other == name else 1 for other in tables.names])
    return joint


def scale(tables):
    return np.exp(full_joint(tables).max())


def covaried(slopes, theta):
    result = np.zeros_like(slopes)
    for k in range(len(theta)):
        others = [j for j in range(len(theta)) if j != k]
        if others:
            weights = theta[others]
            weights = np.where(weights.sum(axis=0) == 0, 1.0, weights)
            mean = (weights[..., None] * slopes[others]).sum(axis=0) / weights.sum(axis=0)[..., None]
            result[k] = slopes[k] - mean
    return result


@pytest.mark.parametrize("block", range(4))
def test_derivatives_are_those_of_enumeration(block):
    for seed in seeds(50):
        tables, evidence = queried_network([block, seed])
        found = sensitivity(tables, tables.target, evidence)
        for name, wanted in enumerated(tables, tables.target, evidence).items():
            bound = 1e-10 * max(1.0, np.abs(wanted).max())
            np.testing.assert_allclose(found[name], wanted, rtol=0, atol=bound, err_msg=f"{block} {seed} {name}")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_small_step_of_an_entry_moves_the_posterior_by_the_derivative(seed):
    rng = np.random.default_rng(seed)
    tables, evidence = queried_network(seed)
    name = tables.names[rng.integers(len(tables.names))]
    values = tables.tables[name].values
    cell = tuple(int(rng.integers(size)) for size in values.shape)
    column = np.exp(values[(slice(None), *cell[1:])])
    theta, rest = column[cell[0]], column.sum() - column[cell[0]]
    if theta < 1e-3 or rest < 1e-3:
        return
    derivative = sensitivity(tables, tables.target, evidence)[name][cell]
    step, posteriors = 1e-5 * min(theta, rest), []
    for moved in (theta - step, theta + step):
        other = column * (column.sum() - moved) / rest
        other[cell[0]] = moved
        changed = values.copy()
        with np.errstate(divide="ignore"):
            changed[(slice(None), *cell[1:])] = np.log(other)
        tables2 = LogTables(
            tables.names,
            tables.states,
            {n: (t.parents, changed if n == name else t.values) for n, t in tables.tables.items()},
        )
        joint = plain(tables2, evidence)
        posteriors.append(marginal(tables2, joint, [tables.target]))
    slope = (posteriors[1] - posteriors[0]) / (2 * step)
    np.testing.assert_allclose(derivative, slope, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(slope).max()))


def test_by_hand():
    # P(c=1 | x=1) = p b / (p b + (1 - p) a) with p = P(c=1), a = P(x=1 | c=0), b = P(x=1 | c=1).
    p, a, b = 0.3, 0.2, 0.9
    tables = LogTables(
        ["c", "x", "z"],
        {"c": [0, 1], "x": [0, 1], "z": ["only"]},
        {
            "c": ((), np.log([1 - p, p])),
            "x": (("c",), np.log([[1 - a, 1 - b], [a, b]])),
            "z": (("x",), np.zeros((1, 2))),
        },
    )
    slopes = sensitivity(tables, "c", {"x": 1})
    whole = p * b + (1 - p) * a
    assert slopes["c"][1, 1] == pytest.approx(a * b / whole**2)
    assert slopes["x"][1, 1, 1] == pytest.approx(p * (1 - p) * a / whole**2)
    assert slopes["x"][1, 0, 1] == pytest.approx(-p * (1 - p) * b / whole**2)
    assert slopes["x"][0, 0, 1] == pytest.approx(p * (1 - p) * b / whole**2)
    np.testing.assert_allclose(slopes["x"].sum(axis=-1), 0.0, atol=1e-15)
    assert not slopes["z"].any()


def test_what_the_answer_does_not_depend_on_has_derivative_zero_exactly():
    tables, _ = queried_network(8)
    leaf = next(name for name in tables.names if not any(name in t.parents for t in tables.tables.values()))
    assert tables.normalized
    assert leaf != tables.target
    assert not sensitivity(tables, tables.target)[leaf].any()


def test_a_certain_entry_gives_way_to_all_others_equally():
    tables = LogTables(
        ["c", "x"],
        {"c": [0, 1], "x": [0, 1, 2]},
        {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.array([[0.0, -1.0], [-np.inf, -1.0], [-np.inf, -1.0]]))},
    )
    tables.tables["x"].values[:, 1] = np.log(1 / 3)
    # As P(x=0 | c=0) falls by d, P(x=1 | c=0) becomes d / 2: P(c=0 | x=1) = (d / 2) / (d / 2 + 1 / 3).
    assert sensitivity(tables, "c", {"x": 1})["x"][0, 0, 0] == pytest.approx(-0.5 / (1 / 3))


def test_as_a_frame_the_largest_comes_first():
    tables = LogTables(
        ["c", "x"],
        {"c": ["n", "p"], "x": [0, 1]},
        {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[0.9, 0.2], [0.1, 0.8]]))},
    )
    slopes = sensitivity(tables, "c", {"x": 1})
    frame = sensitivity_frame(tables, slopes, "c", np.array([1 / 9, 8 / 9]))
    assert frame.columns.tolist() == ["variable", "state", "given", "parameter", "target", "probability", "derivative"]
    assert len(frame) == (2 + 4) * 2
    assert frame["derivative"].abs().is_monotonic_decreasing
    (row,) = frame[(frame["state"] == 1) & (frame["given"] == {"c": "n"}) & (frame["target"] == "p")].to_dict("records")
    assert row == {
        "variable": "x",
        "state": 1,
        "given": {"c": "n"},
        "parameter": pytest.approx(0.1),
        "target": "p",
        "probability": 8 / 9,
        "derivative": pytest.approx(slopes["x"][1, 0, 1]),
    }


def test_what_is_wrong_is_said():
    tables, _ = queried_network(8)
    with pytest.raises(ValueError, match="not about what is known"):
        sensitivity(tables, tables.target, {tables.target: 0})
    tables.tables[tables.target].values[0] = -np.inf
    other = next(name for name in tables.names if name != tables.target)
    with pytest.raises(ValueError, match="is impossible"):
        sensitivity(tables, other, {tables.target: 0})
