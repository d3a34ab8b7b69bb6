"""The commands of this plugin, named by the entry point ``bnplug``."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import PluginCommand, hookimpl


@hookimpl
def bnplug_commands() -> Iterable[PluginCommand]:
    """Return the commands under ``bnplug``."""
    yield PluginCommand(
        name="check",
        command="bnplug_inspect.commands:check_command",
        summary="Check a data set before learning from it.",
    )
    yield PluginCommand(
        name="drift",
        command="bnplug_inspect.drift_commands:drift_command",
        summary="Compare later rows with the training rows of a model.",
    )
    yield PluginCommand(
        name="adjust-prior",
        command="bnplug_inspect.drift_commands:adjust_prior_command",
        summary="Adjust a model to another prevalence of the classes.",
    )
