"""The alarms of a drift report: what changed, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bnplug_inspect._sizes import (
    LARGE,
    LARGE_MISSING,
    LARGE_VARIATION,
    MEDIUM,
    MEDIUM_MISSING,
    MEDIUM_VARIATION,
    records,
    size,
)

if TYPE_CHECKING:
    from bnplug_inspect.drifting import DriftReport

#: The kind of an alarm, its name, size, evidence and adjusted p value.
Alarm = tuple[str, str, str, str, float]


def alarms(report: DriftReport) -> Iterator[Alarm]:
    """Yield the alarms of features, of tables and of predictions."""
    yield from _feature_alarms(report)
    yield from _table_alarms(report)
    yield from _prediction_alarms(report)


def _feature_alarms(report: DriftReport) -> Iterator[Alarm]:
    for row in records(report.features[report.features["alarm"]]):
        kind = "class" if row.feature == report.target else "feature"
        if row.p_value <= report.level:
            more = f"; new: {row.new_values}" if row.new_values else ""
            more += f"; vanished: {row.vanished}" if row.vanished else ""
            yield kind, row.feature, size(row.psi, MEDIUM, LARGE), f"stability index {row.psi:.3f}{more}", row.p_value
        if row.missing_p_value <= report.level:
            shift = abs(row.missing_new - row.missing_training)
            evidence = f"missing in {row.missing_training:.1%} of the training rows, now in {row.missing_new:.1%}"
            yield "missing", row.feature, size(shift, MEDIUM_MISSING, LARGE_MISSING), evidence, row.missing_p_value


def _table_alarms(report: DriftReport) -> Iterator[Alarm]:
    for row in records(report.tables[report.tables["alarm"]]):
        evidence = (
            f"P({row.variable} | {row.given}) differs by {row.variation:.2f} in total variation, most where "
            f"{row.where}: {row.variable}={row.state} from {row.training:.2f} to {row.new:.2f}"
        )
        yield "table", row.variable, size(row.variation, MEDIUM_VARIATION, LARGE_VARIATION), evidence, row.p_value


def _prediction_alarms(report: DriftReport) -> Iterator[Alarm]:
    for row in records(report.predictions[report.predictions["alarm"]]):
        evidence = f"{row.training:z.3f} in held-out training rows, now {row.new:z.3f}"
        yield "prediction", row.measure, "medium", evidence, row.p_value
