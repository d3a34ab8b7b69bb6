"""Draw rows from a network, and complete rows with missing cells.

A missing cell is drawn given the known cells and those drawn before it. Alternatively, a row is expanded into weighted
completions: all at once, if they are few; otherwise one variable after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from bnplug.inference._asking import Asked
from bnplug.inference._groups import best_states
from bnplug.inference.marginals import MAX_CLIQUE_SIZE, Marginalizer
from bnplug.inference.most_probable import most_probable
from bnplug.inference.predicting import conditional, distinct
from bnplug.model.log_tables import LogTables
from bnplug.table.coding import State, label_index
from bnplug.typing import BoolArray, CodeArray, FloatArray, IntArray


def sample(tables: LogTables, n: int, random_state: Any = None) -> pd.DataFrame:
    """Return `n` rows drawn from the network, which must be normalized, as a frame of its state labels.

    Examples
    --------
    >>> import numpy as np
    >>> tables = LogTables(["c"], {"c": ["heads", "tails"]}, {"c": ((), np.log([0.5, 0.5]))})
    >>> sample(tables, 3, random_state=0)["c"].tolist()
    ['tails', 'tails', 'tails']
    """
    if n < 0:
        raise ValueError(f"n={n}: the number of rows cannot be negative")
    probabilities = tables.probabilities()
    rng = check_random_state(random_state)
    codes: dict[str, IntArray] = {}
    for node in TopologicalSorter(tables.parents).static_order():
        parents = tables.tables[node].parents
        cumulative = probabilities[node].cumsum(axis=0)
        # The last sum may fall short of one by rounding.
        cumulative = (cumulative / cumulative[-1])[:, *(codes[parent] for parent in parents)]
        uniform = rng.random_sample(n)
        codes[node] = (cumulative.reshape(len(cumulative), -1) <= uniform).sum(axis=0)
    return pd.DataFrame({node: _labels(tables.states[node], codes[node]) for node in tables.names})


def without_label(column: pd.Series[Any], label: str) -> pd.Series[Any]:
    """Return a sampled column with missing cells where it has `label`."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_categories([label])
    return column.mask(column == label)


def _labels(states: Sequence[State], codes: IntArray) -> Any:
    if all(isinstance(state, str) for state in states):
        return pd.Categorical.from_codes(codes, categories=label_index(states).astype(object))
    return label_index(states).take(codes).array


# The most completions of a row, and of all such rows together, for completing them all at once.
_FEW, _MOST = 4096, 1 << 19


#: Completed rows, their positive probability given the known cells, and the ascending index of their source row.
_Completions = tuple[CodeArray, FloatArray, IntArray]


def _have_few_completions(codes: CodeArray, cards: IntArray) -> BoolArray:
    """Return which rows have few completions: the rows with the fewest, within the limits."""
    lacks = codes == np.iinfo(codes.dtype).max
    logs = np.log(cards) @ lacks
    order = np.argsort(logs, kind="stable")
    total = np.cumsum(np.exp(np.minimum(logs[order], np.log(2.0 * _MOST))))
    few = np.zeros(codes.shape[1], dtype=np.bool_)
    few[order] = (logs[order] <= np.log(_FEW) + 1e-9) & (total <= _MOST)
    return few


def _all_completions(tables: LogTables, codes: CodeArray) -> _Completions:
    """Return all completions of rows; those of an impossible row are equally probable."""
    filled, source = codes, np.arange(codes.shape[1])
    for v, name in enumerate(tables.names):
        filled, of_filled, _ = _expanded(filled, v, len(tables.states[name]))
        source = source[of_filled]
    logs = np.zeros(len(source))
    for name, (parents, values) in tables.tables.items():
        logs += values[tuple(filled[tables.names.index(u)] for u in (name, *parents))]
    return _possible(filled, _normalized(logs, source), source)


def _expanded(codes: CodeArray, v: int, n_states: int) -> tuple[CodeArray, IntArray, IntArray]:
    """Repeat rows that lack variable `v` for each state; return rows, their sources, and the indices of these rows."""
    times = np.where(codes[v] == np.iinfo(codes.dtype).max, n_states, 1)
    filled = codes.repeat(times, axis=1)
    new = np.flatnonzero(filled[v] == np.iinfo(codes.dtype).max)
    filled[v, new] = np.tile(np.arange(n_states, dtype=codes.dtype), len(new) // n_states)
    return filled, np.arange(len(times)).repeat(times), new


def _normalized(logs: FloatArray, source: IntArray) -> FloatArray:
    """Return the share of each row among the rows with the same source."""
    if not len(logs):
        return logs
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    sizes = np.diff(starts, append=len(source))
    largest = np.maximum.reduceat(logs, starts).repeat(sizes)
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isneginf(largest), 1.0, np.exp(logs - largest))
    return np.asarray(shares / np.add.reduceat(shares, starts).repeat(sizes))


def _split_by(
    tables: LogTables, codes: CodeArray, v: int, most: int, random: np.random.RandomState, n_jobs: int | None
) -> _Completions:
    """Expand rows that lack variable `v` into one row for each state; draw the state if that exceeds `most` rows."""
    lacking = np.flatnonzero(codes[v] == np.iinfo(codes.dtype).max)
    n_rows, n_states = codes.shape[1], len(tables.states[tables.names[v]])
    if not len(lacking):
        return codes, np.ones(n_rows), np.arange(n_rows)
    shares = _shares(Marginalizer(tables, tables.names[v]), codes[:, lacking], n_jobs)
    if n_rows + len(lacking) * (n_states - 1) > most:
        filled = np.array(codes)
        filled[v, lacking] = _draw_states(shares, random.random_sample(len(lacking)))
        return filled, np.ones(n_rows), np.arange(n_rows)
    filled, source, new = _expanded(codes, v, n_states)
    of_row = np.ones(len(source))
    of_row[new] = shares.ravel()
    return _possible(filled, of_row, source)


def _shares(marginals: Marginalizer, codes: CodeArray, n_jobs: int | None) -> FloatArray:
    """Return P(class | known cells), equal for all classes in impossible rows."""
    shares = conditional(marginals, codes, n_jobs)
    return np.where(np.isnan(shares), 1.0 / shares.shape[1], shares)


def _draw_states(shares: FloatArray, uniform: FloatArray) -> IntArray:
    """Return a state for each row of probabilities, given a uniform number."""
    ends = shares.cumsum(axis=1)
    return np.asarray((ends < uniform[:, None] * ends[:, -1:]).sum(axis=1))


def _possible(codes: CodeArray, shares: FloatArray, source: IntArray) -> _Completions:
    """Drop impossible completions."""
    kept = shares > 0
    if kept.all():
        return codes, shares, source
    return np.ascontiguousarray(codes[:, kept]), shares[kept], source[kept]


def draw_missing(
    tables: LogTables,
    codes: CodeArray,
    random_state: Any = None,
    n_jobs: int | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
) -> CodeArray:
    """Return rows in which every missing cell is drawn from the network, given the known cells.

    `codes` and `n_jobs` are as in :meth:`bnplug.CompiledNetwork.log_joint`, but the class is read too. The cells of
    impossible rows are drawn uniformly. `max_clique_size` is the maximum number of cells of a table.
    """
    random = check_random_state(random_state)
    filled, missing = np.array(codes), np.iinfo(codes.dtype).max
    for v, name in enumerate(tables.names):
        lacking = np.flatnonzero(codes[v] == missing)
        # One number for each row: a draw does not depend on which other rows lack the cell.
        uniform = random.random_sample(codes.shape[1])[lacking]
        if len(lacking):
            shares = _shares(Marginalizer(tables, name, max_clique_size), filled[:, lacking], n_jobs)
            filled[v, lacking] = _draw_states(shares, uniform)
    return filled


def fill_most_probable(
    tables: LogTables, codes: CodeArray, variables: Sequence[int] | None = None, max_clique_size: int = MAX_CLIQUE_SIZE
) -> CodeArray:
    """Return rows in which the missing cells have their jointly most probable states.

    `variables` are the numbers of those to fill in, by default all; others that are missing are maximized over, but
    stay missing. The other parameters are those of :func:`draw_missing`.
    """
    wanted = np.arange(len(codes)) if variables is None else np.array(variables, dtype=np.int64)
    filled, missing = np.array(codes), np.iinfo(codes.dtype).max
    lacking = np.flatnonzero((codes[wanted] == missing).any(axis=0))
    best, undecided = best_states(tables, codes[:, lacking])
    filled[np.ix_(wanted, lacking)] = best[wanted]
    rows, places = distinct(codes[:, lacking[undecided]])
    asked = Asked(tables, max_clique_size) if rows.shape[1] > 0 else None
    for i, row in enumerate(rows.T):
        known = {name: int(state) for name, state in zip(tables.names, row, strict=True) if state != missing}
        states = most_probable(tables, known, max_clique_size, asked=asked)
        for v in wanted:
            rows[v, i] = states.get(tables.names[v], row[v])
    filled[np.ix_(wanted, lacking[undecided])] = rows[np.ix_(wanted, places)]
    return filled
