"""The command ``bnplug``."""

from __future__ import annotations

from bnplug.cli.app import cli, main

__all__ = ["cli", "main"]
