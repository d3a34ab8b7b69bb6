"""A drift report as text, as a picture, and as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bnplug.errors import printable
from bnplug.html import Cell, contents, render
from bnplug.show.drawing import new_axes, to_svg
from bnplug.show.palette import ACCENT, INK, WARNING, finish
from bnplug_inspect._sizes import LARGE, MEDIUM, records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bnplug_inspect.drifting import DriftReport

# The most features in a picture, nodes in a drawn network, and states in a table of shares.
_MOST_DRAWN, _MOST_NODES, _MOST_STATES = 30, 120, 30

_CONTENTS = (
    "the names of columns, the numbers of training rows and new rows in states of columns whose distribution changed, "
    "values that occur in the new rows only, and statistical measures of both"
)


def headline(report: DriftReport) -> str:
    """Return the result in one sentence."""
    n, alarms = report.n_new, report.alarms
    rows = f"{n:,} new rows" if n != 1 else "1 new row"
    if not report.n_training:
        return f"{rows}, compared with a network without training counts: no tests."
    compared = f"{rows} against {report.n_training:,} training rows"
    if alarms.empty:
        return f"No drift found: {compared}."
    tables = alarms.loc[alarms["kind"] == "table", "name"].tolist()
    named = f" Changed dependences: {', '.join(tables)}." if tables else ""
    return f"{len(alarms)} {'alarm' if len(alarms) == 1 else 'alarms'}: {compared}.{named}"


def to_text(report: DriftReport) -> str:
    """Return the report for a terminal."""
    lines = [headline(report)]
    if report.alarm:
        lines += ["", "Alarms, adjusted for all tests of this report:"]
        for row in records(report.alarms):
            lines.append(
                f"  [{row.size}] {row.kind} {printable(row.name)}: {printable(row.evidence)} (p = {row.p_value:.1g})"
            )
    rows = [row for row in records(report.predictions) if not (np.isnan(row.training) and np.isnan(row.new))]
    if rows:
        lines += ["", f"{'Predictions':<56}{'training':>10}{'new':>10}"]
        lines += [f"  {row.measure:<54}{_figure(row.training):>10}{_figure(row.new):>10}" for row in rows]
    largest = report.features.dropna(subset="psi").nlargest(5, "psi")
    if len(largest):
        lines += ["", f"{'Largest differences of single columns':<48}{'PSI':>9}{'JS':>9}"]
        lines += [f"  {printable(row.feature):<46}{row.psi:>9.3f}{row.js:>9.3f}" for row in records(largest)]
    if report.notes:
        lines += ["", "Notes:", *(f"  - {printable(note)}" for note in report.notes)]
    return "\n".join(lines)


def _figure(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:z.3f}"


def plot(report: DriftReport, ax: Axes | None = None) -> Axes:
    """Draw the population stability index of the features that differ most."""
    shown = report.features.dropna(subset="psi").nlargest(_MOST_DRAWN, "psi").iloc[::-1]
    axes = new_axes((7, 1.4 + 0.28 * len(shown))) if ax is None else ax
    colours = [WARNING if alarm else ACCENT for alarm in shown["alarm"]]
    axes.barh(range(len(shown)), shown["psi"].to_numpy(), color=colours)
    axes.set_yticks(range(len(shown)), [str(name) for name in shown["feature"]])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    for value in (MEDIUM, LARGE):
        axes.axvline(value, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("population stability index (alarms in red; dotted: medium and large)")
    return finish(axes)


def to_html(report: DriftReport) -> str:
    """Return the page."""
    return render("drift.html", "bnplug_inspect", **_page(report), contents=contents(_CONTENTS))


def to_display(report: DriftReport) -> str:
    """Return the alarms as a notebook shows them."""
    return render("drift_display.html", "bnplug_inspect", headline=headline(report), alarms=list(_alarm_rows(report)))


def _page(report: DriftReport) -> dict[str, Any]:
    alarms = report.alarms
    changed = {*alarms.loc[alarms["kind"] == "table", "name"]}
    names = list(dict.fromkeys([*report.features["feature"], *(name for edge in report.edges for name in edge)]))
    names = names if report.target in names else [report.target, *names]
    drawn = len(names) <= _MOST_NODES
    return {
        "title": f"{report.target}: drift",
        "headline": headline(report),
        "tiles": [
            ("alarms", f"{len(alarms):,}"),
            ("changed tables", f"{len(changed):,}"),
            ("training rows", f"{report.n_training:,}"),
            ("new rows", f"{report.n_new:,}"),
        ],
        "alarms": list(_alarm_rows(report)),
        "network": to_svg(names, report.edges, report.target, changed) if drawn else None,
        "n_changed": len(changed),
        "shares": [_shares(name, frame) for name, frame in report.shares.items()],
        "features": list(_feature_rows(report)),
        "tables": list(_table_rows(report)),
        "predictions": list(_prediction_rows(report)),
        "notes": report.notes,
        "level": f"{report.level:.0%}",
        "medium": MEDIUM,
        "large": LARGE,
    }


def _alarm_rows(report: DriftReport) -> Iterator[list[object]]:
    for row in records(report.alarms):
        yield [
            Cell(row.size, f"words {row.size}"),
            Cell(row.kind, "words"),
            row.name,
            Cell(row.evidence, "words"),
            _p(row.p_value),
        ]


def _feature_rows(report: DriftReport) -> Iterator[list[object]]:
    largest = max(report.features["psi"].max(), LARGE)
    for row in records(report.features.sort_values("psi", ascending=False)):
        psi = Cell(f"{row.psi:.3f}", bar=min(row.psi / largest, 1.0)) if row.psi == row.psi else "-"
        missing = [Cell("-" if value != value else f"{value:.1%}") for value in (row.missing_training, row.missing_new)]
        values = [Cell(row.new_values, "words"), Cell(row.vanished, "words")]
        p_values = [_p(row.p_value), _p(row.missing_p_value)]
        yield [row.feature, psi, Cell(f"{row.js:.3f}"), p_values[0], *missing, p_values[1], *values]


def _table_rows(report: DriftReport) -> Iterator[list[object]]:
    for row in records(report.tables.sort_values("p_value", kind="stable")):
        change = f"{row.variable}={row.state}: {row.training:.2f} to {row.new:.2f}"
        dependence = [row.variable, Cell(row.given, "words"), Cell(f"{row.variation:.3f}", bar=min(row.variation, 1.0))]
        yield [*dependence, _p(row.p_value), Cell(row.where, "words"), Cell(change, "words")]


def _prediction_rows(report: DriftReport) -> Iterator[list[object]]:
    for row in records(report.predictions):
        yield [row.measure, Cell(_figure(row.training)), Cell(_figure(row.new)), _p(row.p_value)]


def _shares(name: str, frame: Any) -> dict[str, Any]:
    rows = [
        [row.state, *(Cell(f"{share:.1%}", bar=share) for share in (row.training, row.new))]
        for row in records(frame.head(_MOST_STATES))
    ]
    return {"name": name, "rows": rows, "n_left": len(frame) - len(rows)}


def _p(value: float) -> Cell:
    return Cell("-" if value != value else f"{value:.1g}" if value < 0.001 else f"{value:.3f}")
