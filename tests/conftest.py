"""What tests of several rooms share."""

import pytest
import third_party

from bnplug.hooks import discovery


@pytest.fixture
def third(monkeypatch):
    """A plugin of somebody else's, besides those that are installed."""
    third_party.install(monkeypatch)
    yield
    monkeypatch.undo()
    discovery.refresh()
