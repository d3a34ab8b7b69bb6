"""The explorer of a mixture: one page with the average of all networks and each member, computed in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.show.explorer import page_data, page_of, picture, shown_tables
from bnplug.table.bins import bin_labels

if TYPE_CHECKING:
    from bnplug import BayesianNetworkClassifier, LogTables
    from bnplug.typing import IntArray
    from bnplug_mixture.cells import Intervals
    from bnplug_mixture.questions import MixtureQuestions

# The number of states of a numeric feature on the page: groups of intervals with about equal probability.
_GROUPS = 8


def to_html(model: MixtureQuestions, X: Any, y: Any, features: int | Sequence[str] | None, rows: int) -> str:
    """Return the page; the parameters are those of `explore`."""
    networks = [*model.members_, *model.generative_]
    first = shown_tables(networks[0], features, len(networks))
    if features is not None:
        features = [name for name in first.names if name != model.target_]
    parts = [first, *(shown_tables(network, features, len(networks)) for network in networks[1:])]
    pages = [page_data(network, part) for network, part in zip(networks, parts, strict=True)]
    of_first = page_data(model.members_[0], first, X, y, rows)
    average = _average(model, networks, parts, pages, of_first)
    labels = [f"member {i}: {member.made_['structure']}" for i, member in enumerate(model.members_)]
    members = [{"label": label, "data": page} for label, page in zip(labels, pages, strict=False)]
    views = [{"label": f"average of {len(model.members_)} networks", "data": average}, *members]
    return page_of({"views": views}, f"{model.target_}: explorer", average["contents"])


def _average(
    model: MixtureQuestions,
    networks: Sequence[BayesianNetworkClassifier],
    parts: Sequence[LogTables],
    pages: Sequence[Mapping[str, Any]],
    of_first: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the data of the average: the variables that all networks show, and each network."""
    names = [name for name in parts[0].names if all(name in part.names for part in parts)]
    numeric = {name: model.intervals(name) for name in names if name in model.encoder_.numeric}
    groups = {name: _groups(intervals) for name, intervals in numeric.items()}
    variables = []
    for name in names:
        shown = of_first["variables"][parts[0].names.index(name)]
        other = _numeric_variable(numeric[name], groups[name]) if name in numeric else {"cells": None}
        variables.append({**shown, "parents": [], **other})
    sizes = [len(variable["states"]) for variable in variables]
    n_members = len(model.members_)
    return {
        "target": names.index(model.target_),
        "variables": variables,
        "networks": [
            {
                # Members have separate views, after that of the average; only the data of twins are here.
                "data": number + 1 if number < n_members else _without_picture(pages[number]),
                "places": [part.names.index(name) for name in names],
                "cells": {v: _cells(numeric[name], network) for v, name in enumerate(names) if name in numeric},
                "always": number < n_members,
            }
            for number, (network, part) in enumerate(zip(networks, parts, strict=True))
        ],
        "picture": picture(names, _frequent_edges(model, names), model.target_, sizes, list(numeric)),
        "rows": [_row(row, names, parts[0], numeric, groups) for row in of_first["rows"]],
        "contents": of_first["contents"],
        "leftOut": len(model.schema_.names) - len(names),
        "isNetwork": True,
    }


def _without_picture(page: Mapping[str, Any]) -> dict[str, Any]:
    return {name: page[name] for name in ("variables", "tables", "tree", "target", "calibration")}


def _groups(intervals: Intervals) -> IntArray:
    """Return the state on the page that contains each interval; the state "missing" is a separate group."""
    middle = intervals.shares.cumsum() - intervals.shares / 2
    groups = np.unique(np.minimum((middle * _GROUPS).astype(np.int64), _GROUPS - 1), return_inverse=True)[1]
    extra = len(intervals.labels) - len(groups)
    return np.concatenate([groups, groups.max() + 1 + np.arange(extra)])


def _numeric_variable(intervals: Intervals, groups: IntArray) -> dict[str, Any]:
    """Return what the page knows about a numeric feature, besides its name."""
    cuts = _cuts(intervals, groups)
    labels = [*bin_labels(cuts), *intervals.labels[len(intervals.shares) :]]
    return {
        "states": labels,
        "intervals": None,
        "cuts": cuts,
        "cells": {"cuts": intervals.cuts.tolist(), "groups": groups.tolist()},
    }


def _cuts(intervals: Intervals, groups: IntArray) -> list[float]:
    """Return the cuts between groups."""
    inner = groups[: len(intervals.shares)]
    return [float(cut) for cut in intervals.cuts[inner[1:] != inner[:-1]]]


def _cells(intervals: Intervals, network: BayesianNetworkClassifier) -> dict[str, Any]:
    return {"bins": intervals.bins_of(network).tolist(), "shares": intervals.shares_of(network).tolist()}


def _row(
    row: Mapping[str, Any],
    names: Sequence[str],
    first: LogTables,
    numeric: Mapping[str, Intervals],
    groups: Mapping[str, IntArray],
) -> dict[str, Any]:
    """Return a row of the first member's page with the variables and states of the average."""
    states, numbers = [], {}
    for v, name in enumerate(names):
        place = first.names.index(name)
        state = row["states"][place]
        if name in numeric and place in row["numbers"]:
            numbers[v] = row["numbers"][place]
            state = int(np.searchsorted(_cuts(numeric[name], groups[name]), numbers[v]))
        elif name in numeric and state >= 0:
            state = int(groups[name][-1])  # missing, which is a state
        states.append(state)
    return {**row, "states": states, "numbers": numbers}


def _frequent_edges(model: MixtureQuestions, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the edges that at least half of the members have in either direction, without those that close a cycle."""
    above: dict[str, set[str]] = {name: {name} for name in names}
    edges = []
    for parent, child, _, either in model.edge_frequencies().itertuples(index=False):
        if either >= 0.5 and parent in above and child in above and child not in above[parent]:
            edges.append((parent, child))
            for ancestors in above.values():
                if child in ancestors:
                    ancestors |= above[parent]
    return edges
