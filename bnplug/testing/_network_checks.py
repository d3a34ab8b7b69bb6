"""Checks of parameter learners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any
from unittest.mock import patch

import numpy as np

from bnplug.gradient import Loss, Objective, lbfgs, objective
from bnplug.model.log_tables import LogTables
from bnplug.structure import Structure
from bnplug.testing import _common_checks, data
from bnplug.testing._common_checks import essential
from bnplug.testing._subjects import ParameterSubject, require
from bnplug.typing import FloatArray

# Of rows that leave no doubt about their class, this share is classified right by any parameters that make sense.
_TOLD = 0.8

# Cells of log joints in a block of rows, where a table as small as ours is to have several.
_FEW_CELLS = 24

# Derivatives are compared with differences over this step, and may differ by this share.
_STEP, _SLACK = 1e-6, 1e-4


@essential
def check_returns_log_tables(subject: ParameterSubject) -> None:
    """``fit`` returns `LogTables` of the table's variables, with its states."""
    table, result = data.standard(), subject.result
    require(isinstance(result, LogTables), f"fit returned a {type(result).__name__}, not LogTables")
    require(result.names == table.names, f"the tables are those of {result.names}, not of {table.names}")
    require(result.states == table.states, f"the states are {result.states}, in the table {table.states}")


def check_columns_sum_to_one(subject: ParameterSubject) -> None:
    """On a tree, every CPT column sums to one; ``tables.normalize()`` ensures that and keeps the posterior."""
    node = subject.result.unnormalized_node()
    require(node is None, f"{node!r} has columns that do not sum to one; return tables.normalize() on C1 structures")


@essential
def check_structure_unchanged(subject: ParameterSubject) -> None:
    """The tables have the same parents as the graph."""
    table = data.standard()
    expected = {table.names[v]: tuple(table.names[p] for p in ps) for v, ps in enumerate(data.tree(table))}
    require(subject.result.parents == expected, f"the parents are {subject.result.parents}, in the graph {expected}")


def check_parents_in_their_places(subject: ParameterSubject) -> None:
    """The axes of a table are the variable and its parents, in this order."""
    for parents in (data.tree(data.standard()), data.complete_below_class(data.standard())):
        for cards in ((3, 3, 3, 3), (2, 4, 3, 5)):
            table = data.told_by_parents(parents, cards)
            try:
                result = subject.call(subject.make(), table, Structure(table.names, parents))
            except ValueError:
                # Some learn on trees alone, and say so.
                if max(map(len, parents)) > 2:
                    continue
                raise
            share = subject.accuracy(result, table)
            require(
                share >= _TOLD,
                f"the parents {parents} of variables with {cards} states tell the class, and the parameters "
                f"tell it in a share of {share:.2f} of the rows; the axes must be (variable, *parents), the parents "
                "ascending by their position in table.names",
            )


def check_unseen_configurations(subject: ParameterSubject) -> None:
    """If a state or configuration never occurs, every column still has a state with positive probability."""
    subject.require_usable_on(data.with_unseen_configurations())


def check_incomplete_rows(subject: ParameterSubject) -> None:
    """It learns from missing cells if the policy is "em", and from rows without a class if it ``takes_unlabeled``."""
    takes = getattr(subject.make(), "takes_unlabeled", False)
    require(isinstance(takes, bool), f"takes_unlabeled is {takes!r}; say True or False")
    for unlabeled in (False, True)[: 1 + takes]:
        subject.require_usable_on(data.to_be_learned_by_em(unlabeled))


def check_blocks_do_not_matter(subject: ParameterSubject) -> None:
    """A loss given to `bnplug.gradient.Objective` does not depend on which rows share a block."""
    table = data.standard()
    with patch.object(objective, "_BLOCK_CELLS", _FEW_CELLS):
        in_blocks = subject.run(table)
    require(
        subject.alike(subject.result, in_blocks, table),
        "the parameters depend on which rows share a block; each term of a loss may depend only on its row",
    )


def check_gradients(subject: ParameterSubject) -> None:
    """Losses of `bnplug.gradient.Objective` and functions given to `minimize` return correct derivatives."""
    with _noting() as (losses, functions):
        subject.run(data.standard())
    for loss, params in losses.values():
        _require_derivative(loss, params)
    for function, start in functions:
        _require_slope(function, start)


def check_limits_respected(subject: ParameterSubject) -> None:
    """``n_iter_``, the number of steps, is at most ``max_iter``, if that is a parameter."""
    if subject.has("max_iter"):
        learner = subject.make(max_iter=1)
        subject.call(learner, *subject.arguments(data.standard()))
        steps = getattr(learner, "n_iter_", None)
        require(steps is not None and steps <= 1, f"max_iter=1 and yet n_iter_ is {steps}")


@contextmanager
def _noting() -> Iterator[tuple[dict[Any, tuple[Loss, FloatArray]], list[tuple[Any, FloatArray]]]]:
    """Note every loss with its parameters, and the first function that is minimized with its start."""
    losses: dict[Any, tuple[Loss, FloatArray]] = {}
    functions: list[tuple[Any, FloatArray]] = []

    def noted(method: Any) -> Any:
        def noting(*arguments: Any, **named: Any) -> Any:
            given = signature(method).bind(*arguments, **named).arguments
            params = np.array(given.get("params", ()), dtype=np.float64)
            losses[id(given["loss"]), params.tobytes()] = given["loss"], params
            return method(*arguments, **named)

        return noting

    def descend(function: Any, start: FloatArray, *others: Any) -> Any:
        if not functions:
            functions.append((function, start.copy()))
        return original(function, start, *others)

    original = lbfgs._descend
    with (
        patch.object(Objective, "__call__", noted(Objective.__call__)),
        patch.object(Objective, "with_own", noted(Objective.with_own)),
        patch.object(lbfgs, "_descend", descend),
    ):
        yield losses, functions


def check_parts_add_up(subject: ParameterSubject) -> None:
    """If it has ``partial_fit``, rows in two parts give the same result as all rows at once."""
    if not hasattr(subject.factory, "partial_fit"):
        return
    table, _ = data.reweighted()
    structure, first = Structure(table.names, data.tree(table)), np.arange(table.n_rows) % 3 > 0
    learner = subject.make()
    subject.call(learner, table.take(first), structure)
    require(
        subject.alike(subject.run(table), learner.partial_fit(table.take(~first), structure), table),
        "fit on some rows and partial_fit on the others give other parameters than fit on all; derive the learner from "
        "bnplug.CountsLearner, whose partial_fit adds up counts, and implement from_counts alone",
    )


def _require_derivative(loss: Loss, params: FloatArray) -> None:
    """Compare the derivative of a loss by each log joint of some rows with differences."""
    random = np.random.RandomState(14)
    L, weights, y = random.normal(scale=2.0, size=(9, 3)), random.uniform(0.5, 2.0, size=9), np.arange(9) % 3

    def value(L: FloatArray, dL: FloatArray) -> float:
        return float(loss(L, y, weights, params, dL))

    dL = np.full_like(L, np.nan)
    at = value(L.copy(), dL)
    for m, c in np.ndindex(L.shape):
        step = np.zeros_like(L)
        step[m, c] = _STEP
        slopes = [(value(L + sign * step, np.empty_like(L)) - at) / (sign * _STEP) for sign in (1.0, -1.0)]
        require(
            _between(float(dL[m, c]), slopes),
            f"the derivative of {getattr(loss, '__name__', loss)} is {dL[m, c]:.6g} by the log joint of class {c} "
            f"in a row with L={L[m].round(3).tolist()}, class {y[m]} and weight {weights[m]:.3f}; differences give "
            f"{np.mean(slopes):.6g}. Fill dL with the derivative of the weighted sum",
        )


def _require_slope(function: Any, start: FloatArray) -> None:
    """Compare the gradient of a function near its start with differences along a random direction."""
    random = np.random.RandomState(15)
    at = start + 0.1 * random.normal(size=start.shape)
    direction = random.normal(size=start.shape)
    value, gradient = function(at)
    slope = float(np.array(gradient) @ direction)
    slopes = [(float(function(at + step * direction)[0]) - value) / step for step in (_STEP, -_STEP)]
    require(
        _between(slope, slopes),
        f"the function that is minimized has the slope {slope:.6g} by its gradient, and {np.mean(slopes):.6g} by "
        "differences; return the gradient of the value, penalties included",
    )


def _between(slope: float, slopes: Sequence[float]) -> bool:
    """Return whether a slope is that of one side, or between them, as it may be where a function has a kink."""
    slack = _SLACK * (1.0 + max(map(abs, slopes)))
    return min(slopes) - slack <= slope <= max(slopes) + slack


#: In the order in which they are made.
PARAMETER_CHECKS = (*_common_checks.CHECKS, *_common_checks.checks_in(globals(), "ParameterSubject"))
