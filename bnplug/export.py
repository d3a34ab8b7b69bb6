"""Models out and in again: BIF, XMLBIF and the model folder, each in a module of its own."""

from __future__ import annotations

from bnplug.model_folder import load, save

__all__ = ["load", "save"]
