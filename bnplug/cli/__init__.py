"""The command ``bnplug``."""

from __future__ import annotations

from bnplug.cli._app import cli, main

__all__ = ["cli", "main"]
