"""Data checks before training, and drift reports and prior adjustment afterwards."""

from bnplug_inspect.drift import DriftReport, drift

__all__ = ["DriftReport", "drift"]
