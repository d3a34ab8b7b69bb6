"""The commands of this plugin, named by the entry point ``bnplug``."""

from __future__ import annotations

from collections.abc import Iterable

from bnplug import PluginCommand, hookimpl


@hookimpl
def bnplug_commands() -> Iterable[PluginCommand]:
    """Return the commands under ``bnplug``."""
    return ()
