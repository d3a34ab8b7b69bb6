"""How a notebook shows a fitted classifier: its size, what made it, and the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnplug.notebook import _pieces as html
from bnplug.show._contents import without_folders
from bnplug.show.drawing import to_svg
from bnplug.show.summary import blanket_to_mark, headline

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

# A larger graph takes long to lay out, and cannot be read in a cell.
_MOST_DRAWN = 120
_MOST_LISTED = 12


def fitted_display(model: BayesianNetworkClassifier) -> str:
    """Return a fitted model as HTML: its size, the classes, what made it, the Markov blanket, the graph."""
    tables = model.tables_
    said = [
        html.title(model.target_, headline(model)),
        html.note(f"classes: {html.listed(model.classes_.tolist(), _MOST_LISTED)}"),
        html.note(without_folders(", ".join(f"{part} {text}" for part, text in model.made_.items()))),
    ]
    blanket = blanket_to_mark(model)
    if blanket:
        said.append(html.note(f"Markov blanket of the class: {html.listed(blanket, _MOST_LISTED)}"))
    if len(tables.names) > _MOST_DRAWN:
        said.append(html.note(f"A graph of {len(tables.names):,} nodes is not drawn here; plot(file) draws it."))
        return html.fragment(*said)
    return html.fragment(*said, to_svg(tables.names, tables.edges, model.target_, blanket))
