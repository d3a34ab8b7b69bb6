"""Most probable explanations: the best joint states of some or all unknown variables given the evidence.

Elimination with the maximum in place of the sum (Dechter 1999); variables that are not asked about are summed out
first. Joint states whose log probabilities are within `TIE` of the largest are tied, and the first is taken: the lowest
state of the first variable, then of the second.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bnplug.inference._asking import Asked
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.inference.complete import TIE
from bnplug.inference.queries import check_variables, impossible, log_probability, split_evidence
from bnplug.model.log_tables import LogTables
from bnplug.typing import FloatArray


class _Case(NamedTuple):
    """What is known: states, and log likelihoods of other variables."""

    known: dict[str, int]
    soft: dict[str, FloatArray]


class Explanation(NamedTuple):
    """Joint states, as positions, and their log probability given the evidence."""

    states: dict[str, int]
    log_probability: float


def most_probable(
    tables: LogTables,
    evidence: Mapping[str, int | npt.ArrayLike] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
    variables: Sequence[str] | None = None,
    asked: Asked | None = None,
) -> dict[str, int]:
    """Return the jointly most probable states of unknown variables, as positions, in the order of ``tables.names``.

    A variable with soft evidence is unknown. By default, `variables` are all unknown ones; otherwise the others are
    summed out. Other parameters are as in :func:`bnplug.inference.queries.query`; `asked` is a network that is kept.

    Examples
    --------
    >>> tables = LogTables(
    ...     ["c", "x"], {"c": ["n", "p"], "x": [0, 1]},
    ...     {"c": ((), np.log([0.6, 0.4])), "x": (("c",), np.log([[0.5, 0.1], [0.5, 0.9]]))})
    >>> most_probable(tables), most_probable(tables, {"c": 0})
    ({'c': 1, 'x': 1}, {'x': 0})
    >>> most_probable(tables, variables=["c"])
    {'c': 0}
    """
    asked = Asked(tables, max_clique_size) if asked is None else asked
    names, case = _unknown(asked, evidence, variables)
    largest, states = asked.largest(names, *case)
    if largest == -np.inf:
        raise impossible(evidence, partial(log_probability, asked))
    return _first(asked, names, case, states, largest)


def explanations(
    asked: Asked,
    n: int,
    evidence: Mapping[str, int | npt.ArrayLike] | None = None,
    variables: Sequence[str] | None = None,
) -> list[Explanation]:
    """Return the n most probable joint states of unknown variables, the best first; fewer if others are impossible.

    Parameters are as in :func:`most_probable`. Each explanation splits the remaining joint states into parts, whose
    best ones are compared (Lawler 1972; Nilsson 1998).
    """
    names, case = _unknown(asked, evidence, variables)
    total = float(asked.log_measure((), *case))
    if total == -np.inf:
        raise impossible(evidence, partial(log_probability, asked))
    return [Explanation(states, value - total) for states, value in islice(_in_turn(asked, names, case), n)]


def _unknown(
    asked: Asked, evidence: Mapping[str, int | npt.ArrayLike] | None, variables: Sequence[str] | None
) -> tuple[list[str], _Case]:
    known, soft = split_evidence(asked.tables, evidence)
    if variables is not None:
        check_variables(asked.tables, variables, known)
    wanted = {*asked.tables.names} if variables is None else {*variables}
    return [name for name in asked.tables.names if name in wanted and name not in known], _Case(known, soft)


def _first(asked: Asked, names: Sequence[str], case: _Case, states: dict[str, int], largest: float) -> dict[str, int]:
    """Return the first of the joint states that are tied with the `states`."""
    for i, name in enumerate(names):
        if states[name] == 0:
            continue
        before = {**case.known, **{u: states[u] for u in names[:i]}}
        if not _may_be_lower(asked, names[i:], _Case(before, case.soft), states, largest):
            break
        for state in range(states[name]):
            value, others = asked.largest(names[i + 1 :], {**before, name: state}, case.soft)
            if value >= largest - TIE:
                states = {**states, name: state, **others}
                break
    return states


def _may_be_lower(asked: Asked, names: Sequence[str], case: _Case, states: Mapping[str, int], largest: float) -> bool:
    """Return whether a tied joint state may have a lower state of some variable; if not, False.

    Lower states are made more probable by a little more than a tie.
    """
    bonus, soft = 4 * TIE, dict(case.soft)
    for name in names:
        if states[name] > 0:
            weights = np.where(np.arange(len(asked.tables.states[name])) < states[name], bonus, 0.0)
            soft[name] = weights + soft.get(name, 0.0)
    return asked.largest(names, case.known, soft)[0] > largest + bonus / 2


def _in_turn(asked: Asked, names: Sequence[str], case: _Case) -> Iterator[tuple[dict[str, int], float]]:
    """Yield joint states and their log measure, in falling order."""
    parts: list[tuple[float, int, dict[str, int], _Case]] = []
    number = 0

    def add(part: _Case) -> None:
        nonlocal number
        value, states = asked.largest([name for name in names if name not in part.known], *part)
        if value > -np.inf:
            chosen = {name: states.get(name, part.known.get(name, 0)) for name in names}
            heapq.heappush(parts, (-value, number, chosen, part))
            number += 1

    add(case)
    while parts:
        value, _, states, part = heapq.heappop(parts)
        yield states, -value
        known, soft = dict(part.known), part.soft
        for name in names:
            if name not in part.known:
                # The states of earlier variables, and another one of this variable.
                others = np.where(np.arange(len(asked.tables.states[name])) == states[name], -np.inf, 0.0)
                add(_Case(known.copy(), {**soft, name: soft.get(name, 0.0) + others}))
                known[name] = states[name]
