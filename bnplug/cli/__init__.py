"""The command ``bnplug``."""

from __future__ import annotations

from bnplug.cli._app import cli, main
from bnplug.cli._reading import Given, model_and_data, names_option, open_model

__all__ = ["Given", "cli", "main", "model_and_data", "names_option", "open_model"]
