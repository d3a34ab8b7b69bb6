"""Explain a posterior: the contribution of each feature, the most informative next feature, and sensitivities.

**Contributions to the log odds of each class.** Features are revealed one at a time, the others marginalized, and a
feature's contribution is the change of a class's log odds: the mean over two orders, the features in order and
reversed. The prior log odds and all contributions add up to the posterior log odds.

**Expected information of an unknown feature** X given evidence e, in nats:

    I(C; X | e) = H(C | e) - sum over x of P(x | e) H(C | x, e)

**Sensitivity**: exact derivatives of a posterior by each table entry (Darwiche 2003; Chan and Darwiche 2002). The
other entries of the column move against it, in proportion to their size. Let ``g[k]`` be the derivative of P(y | e) by
the entry of state k if it moved alone. Then, with the plain mean of the others if they are all 0,

    dP(y | e) / dtheta[k] = g[k] - sum over j != k of theta[j] g[j] / sum over j != k of theta[j].
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp, rel_entr

from bnplug.contracts import CompiledNetwork
from bnplug.counts.information import INFORMATION_TIE
from bnplug.errors import did_you_mean
from bnplug.html._kit import with_display
from bnplug.inference._asking import Asked
from bnplug.inference._cliques import MAX_CLIQUE_SIZE
from bnplug.inference.calibration import CalibratedNetwork, tempered
from bnplug.inference.predicting import (
    Compile,
    blocks,
    conditional,
    distinct,
    impossible_rows,
    predictive_log_joint,
    row_bytes,
    with_states,
)
from bnplug.inference.queries import (
    _explanation_display,
    _rows_display,
    check_variables,
    impossible,
    relevant,
    split_evidence,
)
from bnplug.model.log_tables import LogTables
from bnplug.table.coding import label_index
from bnplug.typing import CodeArray, FloatArray, IntArray

#: The name of the prior log odds in explanations.
PRIOR = "(prior)"

# Log odds are clipped at this value to keep contributions finite.
_CERTAIN = 1000.0


def contributions(marginals: CompiledNetwork, codes: CodeArray, target: int, n_jobs: int | None = None) -> FloatArray:
    """Return every feature's contribution to the log odds of every class, of shape (rows, 1 + features, classes).

    The prior log odds come first, then the features in the order of the tables' names; a missing feature contributes 0.
    `codes` have the shape (variables, rows), in the same order, and `target` is the position of the class.
    """
    network, nothing, factors = marginals, np.zeros(1), np.ones(codes.shape[1])
    if isinstance(marginals, CalibratedNetwork):
        # The factor of a row is that of all its known features, so contributions add up.
        network, nothing, factors = marginals.compiled, marginals.nothing, marginals.factors(codes)

    def odds(shown: CodeArray) -> FloatArray:
        return _log_odds(tempered(predictive_log_joint(network, shown, n_jobs), nothing, factors))

    features = [v for v in range(len(codes)) if v != target]
    hidden = np.full_like(codes, np.iinfo(codes.dtype).max)
    prior = odds(hidden)
    result = np.zeros((codes.shape[1], 1 + len(features), prior.shape[1]))
    for order in (range(len(features)), range(len(features) - 1, -1, -1)):
        shown, before = hidden.copy(), prior
        result[:, 0] += before / 2
        for position in order:
            shown[features[position]] = codes[features[position]]
            after = odds(shown)
            result[:, 1 + position] += (after - before) / 2
            before = after
    return result


def to_long_frame(values: FloatArray, rows: pd.Index, features: list[str], classes: npt.NDArray[Any]) -> pd.DataFrame:
    """Return contributions as a long frame with columns row, feature, class and contribution."""
    names = [PRIOR, *features]
    labels = label_index(classes.tolist())
    index = pd.MultiIndex.from_product([rows, names, range(len(labels))], names=["row", "feature", "class"])
    frame = pd.DataFrame({"contribution": values.ravel()}, index=index).reset_index()
    named = pd.Series(labels.take(frame["class"].to_numpy()), dtype=labels.dtype)
    return with_display(frame.assign(**{"class": named}), _explanation_display)


def _log_odds(joint: FloatArray) -> FloatArray:
    """Return log P(c) - log (1 - P(c)) of every class, clipped."""
    n_classes = joint.shape[1]
    others = [logsumexp(np.delete(joint, c, axis=1), axis=1) for c in range(n_classes)]
    with np.errstate(invalid="ignore"):
        odds = joint - np.stack(others, axis=1)
    # If every row is impossible under a network, all classes have the same log odds.
    impossible = np.isneginf(joint).all(axis=1)
    odds[impossible] = -np.log(n_classes - 1)
    clipped: FloatArray = np.clip(odds, -_CERTAIN, _CERTAIN)
    return clipped


def expected_information(
    tables: LogTables, target: str, compiled: Compile, codes: CodeArray, n_jobs: int | None = None
) -> FloatArray:
    """Return I(class; feature | known cells) in nats, of shape (rows, variables).

    NaN for the class, known features, and impossible rows. Parameters are as in `query_rows`.
    """
    missing, c = np.iinfo(codes.dtype).max, tables.names.index(target)
    rows, places = distinct(codes, c)
    result = np.full((rows.shape[1], len(tables.names)), np.nan)
    classes = conditional(compiled(target), rows, n_jobs)
    wrong = impossible_rows(tables, rows) | np.isnan(classes[:, 0])
    for v, name in enumerate(tables.names):
        lacking = np.flatnonzero((rows[v] == missing) & ~wrong)
        if v == c or len(lacking) == 0:
            continue
        marginals = compiled(name)
        for block in blocks(lacking, classes.shape[1] * row_bytes(rows, len(tables.states[name]))):
            result[block, v] = _information(classes[block], marginals, rows.take(block, axis=1), c, n_jobs)
            wrong[block] |= np.isnan(result[block, v])
    result[wrong] = np.nan
    return result[places]


def _information(
    classes: FloatArray, marginals: CompiledNetwork, rows: CodeArray, target: int, n_jobs: int | None
) -> FloatArray:
    """Return I(class; feature | row) from P(class | row) and the marginals of the feature."""
    each = with_states(rows, target, classes.shape[1])
    given = conditional(marginals, each, n_jobs).reshape(*classes.shape, -1)
    # An impossible class contributes nothing.
    joint = np.where(classes[..., None] > 0, classes[..., None] * given, 0.0)
    apart = classes[..., None] * joint.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(rel_entr(joint, apart).sum(axis=(1, 2)), 0.0))


def ranked(worth: FloatArray) -> IntArray:
    """Return for each row the columns by falling worth; ties go to the lowest column, NaN comes last."""
    left = np.where(np.isnan(worth), -1.0, worth)
    order = np.empty(worth.shape, dtype=np.int64)
    rows = np.arange(len(worth))
    for place in range(worth.shape[1]):
        largest = left.max(axis=1, keepdims=True)
        order[:, place] = (left >= largest - INFORMATION_TIE).argmax(axis=1)
        left[rows, order[:, place]] = -np.inf
    return order


def check_costs(costs: Mapping[str, float] | None, features: list[str]) -> FloatArray | None:
    """Return the cost of each of `features`; raise a ``ValueError`` unless exactly these have positive costs."""
    if costs is None:
        return None
    given = dict(costs)
    for name in given:
        if name not in features:
            raise ValueError(f"costs: there is no feature {name!r}.{did_you_mean(str(name), features)}")
    absent = [name for name in features if name not in given]
    if absent:
        raise ValueError(f"costs: each feature needs a cost; {absent} have none")
    for name, cost in given.items():
        if not isinstance(cost, int | float | np.integer | np.floating) or not 0 < cost < np.inf:
            raise ValueError(f"costs: {name!r} costs {cost!r}, which is not a positive number")
    return np.array([float(given[name]) for name in features])


def next_frame(
    information: FloatArray, unknown: Any, features: list[str], rows: pd.Index[Any], costs: FloatArray | None = None
) -> pd.DataFrame:
    """Return a frame with the unknown features of each row, the most informative (per cost, if given) first.

    `information` and `unknown` (booleans) have the shape (rows, features); `rows` are labels.
    """
    worth = information if costs is None else information / costs
    order = ranked(np.where(unknown, worth, np.nan))
    # Known features come last, as NaN.
    listed = np.take_along_axis(unknown, order, axis=1)
    m, place = np.nonzero(listed)
    v = order[m, place]
    frame = pd.DataFrame({"row": rows.take(m), "feature": np.array(features, dtype=object)[v]})
    frame = frame.assign(information=information[m, v])
    ranking = frame if costs is None else frame.assign(cost=costs[v], per_cost=worth[m, v])
    return with_display(ranking, _rows_display)


def sensitivity(
    tables: LogTables,
    target: str,
    evidence: Mapping[str, int | npt.ArrayLike] | None = None,
    max_clique_size: int = MAX_CLIQUE_SIZE,
    factor: float = 1.0,
) -> dict[str, FloatArray]:
    """Return the derivative of P(target | evidence) by every entry of every table; of Q with a `factor` of evidence.

    For each variable an array of its table's shape and, as the last axis, the states of the target. `evidence` and
    `max_clique_size` are as in :func:`bnplug.inference.queries.query`.
    """
    known, soft = split_evidence(tables, evidence)
    check_variables(tables, [target], known)
    # Soft evidence on the target itself is not tempered.
    of_target = soft.pop(target, np.zeros(len(tables.states[target])))
    log_slopes, logs = _log_slopes(tables, target, known, soft, max_clique_size)
    if np.isneginf(logs + of_target).all():
        raise impossible(evidence)
    if factor == 1.0:
        logits = logs + of_target
        shift = of_target - logsumexp(logits)
        slopes = {name: _exp(values + shift) for name, values in log_slopes.items()}
    else:
        prior_slopes, prior_logs = _log_slopes(tables, target, {}, {}, max_clique_size)
        logits = tempered(logs[None], prior_logs, np.array([factor]))[0] + of_target
        possible = np.isfinite(logits)
        log_posterior = logits - logsumexp(logits)
        shift, prior_shift = (
            np.subtract(log_posterior, joint, out=np.full_like(logs, -np.inf), where=possible)
            for joint in (logs, prior_logs)
        )
        slopes = {
            name: factor * _exp(values + shift) + (1.0 - factor) * _exp(prior_slopes[name] + prior_shift)
            for name, values in log_slopes.items()
        }
    posterior = np.exp(logits - logsumexp(logits))
    for name, table in tables.tables.items():
        _with_the_column(slopes[name], table.values, posterior)
    return slopes


def _exp(values: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(values))


def _log_slopes(
    tables: LogTables, target: str, known: Mapping[str, int], soft: Mapping[str, FloatArray], max_clique_size: int
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return the log derivatives of P(y, e) by each entry, and log P(y, e), for each state y of the target.

    The shapes are those of :func:`sensitivity`; the derivative of an entry that `e` rules out is ``-inf``.
    """
    asked = Asked(tables, max_clique_size)
    totals = asked.log_measure([target], known, soft)
    result = {name: np.full((*table.values.shape, len(totals)), -np.inf) for name, table in tables.tables.items()}
    for name in relevant(tables, {target, *known, *soft}):
        family = (name, *tables.tables[name].parents)
        unknown = [u for u in family if u not in known and u != target]
        slopes = asked.log_measure([*unknown, target], known, soft, without=name)
        if target in family:
            # An entry concerns its own state of the target alone.
            slopes = np.where(np.eye(len(totals), dtype=np.bool_), slopes[..., None], -np.inf)
            slopes = np.moveaxis(slopes, -2, [u for u in family if u not in known].index(target))
        result[name][tuple(known.get(u, slice(None)) for u in family)] = slopes
    return result, totals


def sensitivity_frame(
    tables: LogTables, slopes: Mapping[str, FloatArray], target: str, posterior: FloatArray
) -> pd.DataFrame:
    """Return :func:`sensitivity` as a frame, the largest absolute derivative first.

    Columns ``variable``, ``state``, ``given`` (a dict of the parents' states), ``parameter``, ``target`` (a state of
    it), ``probability`` (the posterior of that state) and ``derivative``.
    """
    entries = []
    for name, (parents, values) in tables.tables.items():
        family = product(*(tables.states[u] for u in (name, *parents)))
        for (state, *given), theta in zip(family, np.exp(values).ravel().tolist(), strict=True):
            entries.append((name, state, dict(zip(parents, given, strict=True)), theta))
    n_states = len(posterior)
    frame = pd.DataFrame(entries, columns=["variable", "state", "given", "parameter"], dtype=object)
    frame = frame.take(np.arange(len(entries)).repeat(n_states)).reset_index(drop=True)
    labels = label_index(tables.states[target])
    frame = frame.astype({"parameter": np.float64}).assign(
        target=pd.Series(labels.take(np.tile(np.arange(n_states), len(entries))), dtype=labels.dtype),
        probability=np.tile(posterior, len(entries)),
        derivative=np.concatenate([slopes[name].ravel() for name in tables.names]),
    )
    order = np.argsort(-frame["derivative"].abs().to_numpy(), kind="stable")
    return frame.take(order).reset_index(drop=True)


def _with_the_column(slopes: FloatArray, logs: FloatArray, posterior: FloatArray) -> None:
    """Turn derivatives of the numerator of P(y, e) / P(e) into those of P(y | e), with co-variation of the column."""
    slopes -= posterior * slopes.sum(axis=-1, keepdims=True)
    largest = logs.max(axis=0, keepdims=True)
    theta = np.exp(logs - np.where(np.isneginf(largest), 0.0, largest))
    # Sums over the others, not the sum minus the entry: that would cancel if one entry is nearly all.
    others = _others(theta)
    alone = others == 0
    moved = _others(theta[..., None] * slopes) / np.where(alone, 1.0, others)[..., None]
    spread = _others(slopes) / max(1, len(slopes) - 1)
    slopes -= np.where(alone[..., None], spread, moved)
    if len(slopes) == 1:
        slopes[:] = 0.0


def _others(values: FloatArray) -> FloatArray:
    """Return at each position of the first axis the sum over all other positions."""
    sums = np.zeros_like(values)
    sums[1:] += np.cumsum(values[:-1], axis=0)
    sums[:-1] += np.cumsum(values[:0:-1], axis=0)[::-1]
    return sums
