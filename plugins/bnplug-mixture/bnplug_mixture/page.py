"""A mixture as one self-contained HTML page: the report of a network, with edge frequencies and members for its tables.

The page needs neither a network connection nor a script. The same model and data give the same page.
"""

from __future__ import annotations

import warnings
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import bnplug
from bnplug.errors import MissingFeatureWarning
from bnplug.files import write_atomically
from bnplug.html import Cell, contents, number, render
from bnplug.show.evaluation import evaluate_probabilities
from bnplug.show.report import explained_rows, performance
from bnplug_mixture.averaging import quietly
from bnplug_mixture.edges import between_features

if TYPE_CHECKING:
    from bnplug_mixture.averaging import AveragedNetworks

_MOST_EDGES, _MOST_COLUMNS, _ROWS_DRAWN, _SEED = 60, 60, 8, 3

_CONTENTS = (
    "the names of columns and classes, the states of discrete columns, the edges and sizes of the networks, rows that "
    "were drawn from the model and, with data, results computed from the data"
)


def write(model: AveragedNetworks, path: str | PathLike[str], X: Any = None, y: Any = None, rows: int = 0) -> None:
    """Write the page on a fitted mixture; the file is replaced as a whole."""
    write_atomically(path, to_html(model, X, y, rows))


def to_html(model: AveragedNetworks, X: Any = None, y: Any = None, rows: int = 0) -> str:
    """Return the page on a fitted mixture; with rows and their classes, it includes an evaluation."""
    if X is None and (y is not None or rows):
        what = "y is given" if y is not None else f"rows={rows}"
        raise ValueError(f"{what} without X: a report needs the rows that the labels or explanations belong to")
    probabilities = model.predict_proba(X) if rows or y is not None else np.empty(0)
    evaluation = None if y is None else evaluate_probabilities(model, probabilities, y)
    examples = explained_rows(model, X, y, probabilities, rows) if rows else {}
    sizes = len(model.encoder_.names), len(model.classes_), len(model.members_)
    tiles = [(label, f"{n:,}") for label, n in zip(("features", "classes", "members"), sizes, strict=True)]
    return render(
        "mixture.html",
        "bnplug_mixture",
        title=f"{model.target_}: a mixture of {len(model.members_)} networks",
        target=model.target_,
        classes=model.classes_.tolist(),
        n_members=len(model.members_),
        tiles=tiles if evaluation is None else [*tiles, ("accuracy", f"{evaluation.accuracy:.3f}")],
        evaluation=evaluation and performance(evaluation),
        prior=_prior(model),
        features=_features(model),
        examples=examples,
        edges=_edges(model),
        members=_members(model, X, y),
        drawn=_drawn(model),
        made=_made(model),
        facts=[("bnplug", bnplug.__version__)],
        largest=None,
        contents=contents(
            _CONTENTS,
            n_rows=len(examples.get("cards", ())),
            has_truth=y is not None,
            n_evaluated=None if evaluation is None else evaluation.n_rows,
        ),
    )


def _nothing_known(model: AveragedNetworks) -> pd.DataFrame:
    return pd.DataFrame({name: [None] for name in model.encoder_.columns}, dtype=object)


def _prior(model: AveragedNetworks) -> dict[str, Any]:
    """Return the probabilities of the classes if no feature is known."""
    with quietly():
        prior = model.predict_proba(_rows_like(model, _nothing_known(model)))[0]
    rows = [
        [label, Cell(number(share, 3), bar=share / prior.max())]
        for label, share in zip(model.classes_, prior, strict=True)
    ]
    return {"title": "Without any known feature", "rows": rows, "note": ""}


def _rows_like(model: AveragedNetworks, frame: pd.DataFrame) -> Any:
    """Return rows as a frame, or as an array if the model was fitted on an array."""
    return frame if hasattr(model, "feature_names_in_") else frame.to_numpy()


def _features(model: AveragedNetworks) -> dict[str, Any]:
    """Return the features, by their information about the class if the model has it."""
    names = list(model.encoder_.names)
    information = _information(model)
    if information:
        # Rounded: rounding errors must not order equal values.
        names.sort(key=lambda name: -round(information[name], 9))
    largest = max(information.values(), default=0.0) or 1.0
    blankets = [set(member.markov_blanket()) for member in model.members_]
    rows = []
    for name in names:
        share = np.mean([name in blanket for blanket in blankets])
        row: list[object] = [Cell(name, "words"), f"{share:.0%}", *_states(model, name)]
        if information:
            row.insert(1, Cell(number(information[name], 3), bar=information[name] / largest))
        rows.append(row)
    head = ["feature", "members with it in the Markov blanket", "states", "states of a discrete feature"]
    head[1:1] = ["information on the class, in nats"] if information else []
    return {"head": head, "rows": rows, "error": ""}


def _information(model: AveragedNetworks) -> dict[str, float]:
    """Return I(class; feature) of each feature; none if the model has no such answer, or its networks are too dense."""
    ask = getattr(model, "what_next", None)
    if ask is None:
        return {}
    try:
        with quietly():
            ranked = ask(_rows_like(model, _nothing_known(model)))
    except ValueError:
        return {}
    return dict(zip(ranked["feature"], ranked["information"], strict=True))


def _states(model: AveragedNetworks, name: str) -> list[object]:
    """Return the number of states in the members, and the states of a discrete feature."""
    sizes = [len(member.schema_.states[name]) for member in model.members_]
    counted = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{sizes[0]}"
    if name in model.encoder_.numeric:
        return [counted, "numeric"]
    states = [str(state) for state in model.schema_.states[name]]
    shown = " · ".join(states[:12])
    return [counted, f"{shown} · {len(states) - 12} more" if len(states) > 12 else shown]


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
        accuracy = [_accuracy(member, X, y)] if known else []
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


def _accuracy(member: bnplug.BayesianNetworkClassifier, X: Any, y: Any) -> str:
    with warnings.catch_warnings():
        # The mixture does not answer rows with missing features by a member alone.
        warnings.simplefilter("ignore", MissingFeatureWarning)
        return number(member.score(X, y))


def _drawn(model: AveragedNetworks) -> dict[str, Any] | None:
    """Return a few sampled rows, if the model can be sampled from."""
    draw = getattr(model, "sample", None)
    try:
        frame = None if draw is None else draw(_ROWS_DRAWN, random_state=_SEED)
    except bnplug.NotRepresentableError:
        frame = None
    if frame is None:
        return None
    names = [model.target_, *model.encoder_.names][:_MOST_COLUMNS]
    rows = [
        [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row]
        for row in frame[names].itertuples(index=False)
    ]
    return {"names": names, "rows": rows, "left_out": len(frame.columns) - len(names), "of": "mixture"}


def _made(model: AveragedNetworks) -> dict[str, Any]:
    member = model.members_[0]
    twins: list[Any] = getattr(model, "generative_", [])
    made = {"parameters": member.made_["parameters"], "discretizer": member.made_["discretizer"]}
    if twins:
        made["generative twins"] = twins[0].made_["parameters"]
    if getattr(model, "chosen_", None):
        made["chosen by cross-validation"] = ", ".join(f"{name}={value:g}" for name, value in model.chosen_.items())
    rules = {"missing cells in training": member.missing, "values unseen in training": member.unseen}
    return {**made, **rules}
