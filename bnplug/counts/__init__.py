"""Counts: how often joint states occur, and the information that they carry."""

from __future__ import annotations

from bnplug.counts.counting import Configurations, configurations, count, count_occurring, count_with_each, tally
from bnplug.counts.information import (
    by_falling,
    chance_information,
    class_information,
    conditional_information,
    first_largest,
    pairwise_information,
)

__all__ = [
    "Configurations",
    "by_falling",
    "chance_information",
    "class_information",
    "conditional_information",
    "configurations",
    "count",
    "count_occurring",
    "count_with_each",
    "first_largest",
    "pairwise_information",
    "tally",
]
