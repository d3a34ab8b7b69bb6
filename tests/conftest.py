"""What tests of several rooms share."""

import pytest
import third_party

from bnplug.hooks import discovery
from bnplug.hooks.discovery import FoundPlugin


@pytest.fixture
def rivals(monkeypatch):
    """Plugins of two others, which claim the same names."""
    third_party.install(monkeypatch, FoundPlugin("rival", "rival", "1.0", third_party.rival))
    yield
    monkeypatch.undo()
    discovery.refresh()


@pytest.fixture
def third(monkeypatch):
    """A plugin of somebody else's, besides those that are installed."""
    third_party.install(monkeypatch)
    yield
    monkeypatch.undo()
    discovery.refresh()
