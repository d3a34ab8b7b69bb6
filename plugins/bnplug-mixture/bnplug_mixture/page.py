"""A mixture as one self-contained HTML page: its accuracy, the edges that its members share, and its members.

The page needs neither a network connection nor a script. The same model and data give the same page.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from bnplug.files import write_atomically
from bnplug.html import Cell, contents, number, render
from bnplug.show.evaluation import evaluate_probabilities
from bnplug_mixture.edges import between_features

if TYPE_CHECKING:
    from bnplug_mixture.averaging import AveragedNetworks

_MOST_EDGES = 60

_CONTENTS = (
    "the names of columns and classes, the edges and sizes of the networks and, with data, results computed from the "
    "data"
)


def write(model: AveragedNetworks, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
    """Write the page on a fitted mixture; the file is replaced as a whole."""
    write_atomically(path, to_html(model, X, y))


def to_html(model: AveragedNetworks, X: Any = None, y: Any = None) -> str:
    """Return the page on a fitted mixture; with rows and their classes, it includes an evaluation."""
    if X is None and y is not None:
        raise ValueError("y is given without X: a report needs the rows that the labels belong to")
    return render(
        "mixture.html",
        "bnplug_mixture",
        title=f"{model.target_}: a mixture of {len(model.members_)} networks",
        target=model.target_,
        classes=model.classes_.tolist(),
        n_members=len(model.members_),
        evaluation=None if X is None or y is None else _evaluation(model, X, y),
        edges=_edges(model),
        members=_members(model, X, y),
        contents=contents(_CONTENTS),
    )


def _evaluation(model: AveragedNetworks, X: Any, y: Any) -> dict[str, Any]:
    # A mixture has the attributes of a model that the evaluation needs: classes, target, costs and decisions.
    evaluation = evaluate_probabilities(model, model.predict_proba(X), y)
    confusion = evaluation.confusion
    figures = [(name, "undefined" if value is None else f"{value:.4f}") for name, value in evaluation.figures.items()]
    return {
        "n_rows": f"{evaluation.n_rows:,}",
        "figures": figures,
        "head": [["", *confusion.columns]],
        "confusion": [[label, *(f"{n:g}" for n in row)] for label, row in confusion.iterrows()],
    }


def _edges(model: AveragedNetworks) -> dict[str, Any] | None:
    frequencies = model.edge_frequencies()
    names, shares = between_features(frequencies, model.target_)
    if not names:
        return None
    shown = frequencies[(frequencies["parent"] != model.target_) & (frequencies["child"] != model.target_)]
    square = [
        [name, *(_shade(share, f"{name} - {other}") for other, share in zip(names, row, strict=True))]
        for name, row in zip(names, shares, strict=True)
    ]
    rows = [
        [parent, child, f"{share:.0%}", Cell(f"{either:.0%}", bar=either)]
        for parent, child, share, either in shown.head(_MOST_EDGES).itertuples(index=False)
    ]
    return {"head": [["", *names]], "square": square, "rows": rows, "n_left": len(shown) - len(rows)}


def _shade(share: float, pair: str) -> Cell:
    return Cell("", title=f"{pair}: {share:.0%}", shade=share or None)


def _members(model: AveragedNetworks, X: Any, y: Any) -> dict[str, Any]:
    known = X is not None and y is not None
    rows = []
    for position, member in enumerate(model.members_):
        bins = [len(member.schema_.states[name]) for name in member.encoder_.numeric]
        accuracy = [number(member.score(X, y))] if known else []
        rows.append(
            [
                position,
                Cell(member.made_["structure"], "words"),
                Cell(member.made_["parameters"], "words"),
                f"{min(bins)} to {max(bins)}" if bins else "-",
                f"{len(member.tables_.edges):,}",
                f"{member.tables_.n_parameters:,}",
                *accuracy,
            ]
        )
    head = ["", "structure", "parameters", "bins of a number", "edges", "free parameters", *(["accuracy"] * known)]
    return {"head": head, "rows": rows}
