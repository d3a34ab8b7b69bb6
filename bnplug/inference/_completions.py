"""Rows in the place of which stand their completions, each with the probability that a network gives it.

All at once, by the product of the tables, where a row has few; or one variable after the other, by the engine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bnplug.arrays import BoolArray, CodeArray, FloatArray, IntArray
from bnplug.inference.batches import conditional
from bnplug.inference.marginals import Marginalizer
from bnplug.model.log_tables import LogTables

# A row with at most so many completions has few, as long as all such rows together have no more than that.
_FEW, _MOST = 4096, 1 << 19


class Completions(NamedTuple):
    """Rows that stand for others.

    Attributes
    ----------
    codes : unsigned array of shape (variables, rows)
    shares : float64 array of shape (rows,)
        The probability of each, given what the row knows that it stands for; always above 0.
    source : int64 array of shape (rows,)
        The number of that row, ascending.
    """

    codes: CodeArray
    shares: FloatArray
    source: IntArray


def have_few_completions(codes: CodeArray, cards: IntArray) -> BoolArray:
    """Say which rows have few completions: those with the fewest, in their order, as long as there is room for all."""
    lacks = codes == np.iinfo(codes.dtype).max
    logs = np.log(cards) @ lacks
    order = np.argsort(logs, kind="stable")
    total = np.cumsum(np.exp(np.minimum(logs[order], np.log(2.0 * _MOST))))
    few = np.zeros(codes.shape[1], dtype=np.bool_)
    few[order] = (logs[order] <= np.log(_FEW) + 1e-9) & (total <= _MOST)
    return few


def all_completions(tables: LogTables, codes: CodeArray) -> Completions:
    """Return all completions of rows; of a row that is impossible, each is as probable."""
    missing = np.iinfo(codes.dtype).max
    found, source = np.array(codes), np.arange(codes.shape[1])
    for v, name in enumerate(tables.names):
        times = np.where(found[v] == missing, len(tables.states[name]), 1)
        starts = np.cumsum(times) - times
        found, source = found.repeat(times, axis=1), source.repeat(times)
        state = np.arange(len(source)) - starts.repeat(times)
        found[v] = np.where(found[v] == missing, state.astype(codes.dtype), found[v])
    logs = np.zeros(len(source))
    for name, (parents, values) in tables.tables.items():
        logs += values[tuple(found[tables.names.index(u)] for u in (name, *parents))]
    return _kept(Completions(found, _normalized(logs, source), source))


def _normalized(logs: FloatArray, source: IntArray) -> FloatArray:
    """Return the shares of rows among those with the same source."""
    if not len(logs):
        return logs
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    sizes = np.diff(starts, append=len(source))
    largest = np.maximum.reduceat(logs, starts).repeat(sizes)
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isneginf(largest), 1.0, np.exp(logs - largest))
    return np.asarray(shares / np.add.reduceat(shares, starts).repeat(sizes))


def split_by(
    tables: LogTables, codes: CodeArray, v: int, most: int, random: np.random.RandomState, n_jobs: int | None
) -> Completions:
    """Return rows that know variable `v`: each that lacks it once for each of its states.

    Where there would be more than `most`, the state of each row that lacks it is drawn instead.
    """
    lacking = np.flatnonzero(codes[v] == np.iinfo(codes.dtype).max)
    n_rows, n_states = codes.shape[1], len(tables.states[tables.names[v]])
    if not len(lacking):
        return Completions(codes, np.ones(n_rows), np.arange(n_rows))
    shares = conditional(Marginalizer(tables, tables.names[v]), codes[:, lacking], n_jobs)
    shares = np.where(np.isnan(shares), 1.0 / n_states, shares)
    if n_rows + len(lacking) * (n_states - 1) > most:
        filled = np.array(codes)
        filled[v, lacking] = draw_states(shares, random.random_sample(len(lacking)))
        return Completions(filled, np.ones(n_rows), np.arange(n_rows))
    times = np.ones(n_rows, dtype=np.int64)
    times[lacking] = n_states
    source = np.arange(n_rows).repeat(times)
    found, of_row = codes.repeat(times, axis=1), np.ones(len(source))
    new = np.flatnonzero(found[v] == np.iinfo(codes.dtype).max)
    found[v, new] = np.tile(np.arange(n_states, dtype=codes.dtype), len(lacking))
    of_row[new] = shares.ravel()
    return _kept(Completions(found, of_row, source))


def draw_states(shares: FloatArray, uniform: FloatArray) -> IntArray:
    """Return a state for each row of probabilities, by a number from 0 to 1."""
    ends = shares.cumsum(axis=1)
    return np.asarray((ends < uniform[:, None] * ends[:, -1:]).sum(axis=1))


def _kept(found: Completions) -> Completions:
    """Leave out what is impossible."""
    if (found.shares > 0).all():
        return found
    kept = found.shares > 0
    return Completions(np.ascontiguousarray(found.codes[:, kept]), found.shares[kept], found.source[kept])
