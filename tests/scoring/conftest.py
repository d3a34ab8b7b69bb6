"""What tests of several modules share."""

from __future__ import annotations

import pytest

from bnplug.scoring import _blocks


@pytest.fixture(params=["all", "some", "occurring"])
def numbering(request, monkeypatch):
    """Number all configurations, or only those that occur, as it is done where they would be too many."""
    if request.param != "all":
        monkeypatch.setattr(_blocks, "_MOST_CELLS", 1 if request.param == "occurring" else 200)
