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
