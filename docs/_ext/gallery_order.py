"""The order of the examples in the gallery: from a first classifier to a plugin; papers come last."""

from __future__ import annotations

from typing import Any

ORDER = [
    "first_classifier.py",
    "reading_a_network.py",
    "missing_features.py",
    "compose_by_hand.py",
    "all_methods.py",
    "export_networks.py",
    "custom_loss.py",
    "third_party_plugin.py",
]


class ExampleOrder:
    """A key for sphinx-gallery; an example that is not listed comes after those that are, by name."""

    def __init__(self, folder: Any) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of an example."""
        return (ORDER.index(filename) if filename in ORDER else len(ORDER), filename)
