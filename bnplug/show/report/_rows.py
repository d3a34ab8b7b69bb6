"""What the page says about given rows: figures, the confusion matrix, and why uncertain rows are what they are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bnplug.arrays import FloatArray
from bnplug.data.frames import is_frame, to_frame
from bnplug.errors import BnplugWarning
from bnplug.show.evaluation import Evaluation
from bnplug.show.report import _parts as html

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

_CONTRIBUTIONS = 10
_EXAMPLES_TITLE = "The most uncertain rows, explained"
# With more classes than this, the columns of a confusion matrix are narrow and their headings upright.
_WIDE_CLASSES = 8
# With more than this, the smaller ones share a row and a column.
_MOST_CLASSES = 50


def performance(found: Evaluation) -> str:
    """Return the section of figures and the confusion matrix."""
    tiles = [(label, "-" if value is None else f"{value:.3f}") for label, value in found.figures.items()]
    return html.section(
        "performance",
        "On the given data",
        html.definitions([("rows", f"{found.n_rows:,}"), *tiles], "tiles"),
        html.note(
            "On rows that the model was trained on, these figures are too optimistic. AUC of more than two classes is "
            "the mean of each against the rest; the Brier score sums over classes."
        ),
        "<h3>Confusion matrix</h3>",
        _confusion(found.confusion),
    )


def _folded(confusion: pd.DataFrame) -> pd.DataFrame:
    """Return a confusion matrix in which the smaller ones of many classes share a row and a column, the last."""
    if len(confusion) <= _MOST_CLASSES:
        return confusion
    counts = confusion.to_numpy(dtype=np.float64)
    size = counts.sum(axis=0) + counts.sum(axis=1)
    large = np.sort(np.argsort(-size, kind="stable")[: _MOST_CLASSES - 1])
    place = np.full(len(counts), len(large))
    place[large] = np.arange(len(large))
    folded = np.zeros((len(large) + 1, len(large) + 1))
    np.add.at(folded, (place[:, None], place[None, :]), counts)
    labels = pd.Index([*confusion.index[large], f"{len(counts) - len(large):,} other classes"], dtype=object)
    return pd.DataFrame(folded, index=labels, columns=labels)


def _confusion(given: pd.DataFrame) -> str:
    confusion = _folded(given)
    # Among folded classes, a row predicted as another one of them is on the diagonal too.
    n_single = len(confusion) if len(confusion) == len(given) else len(confusion) - 1
    labels, counts = confusion.index.tolist(), confusion.to_numpy(dtype=np.float64)
    totals = counts.sum(axis=1)
    dense = " dense" if len(labels) > _WIDE_CLASSES else ""
    head = [
        [
            html.heading("true, down; predicted, across", "col", "given"),
            *(f'<th scope="col"><span>{html.text(label)}</span></th>' for label in labels),
            html.heading("recall"),
        ]
    ]
    rows = []
    for i, label in enumerate(labels):
        row = [html.heading(label, "row")]
        for j, other in enumerate(labels):
            share = counts[i, j] / totals[i] if totals[i] else 0.0
            kind = "right" if i == j < n_single else "wrong" if share else "none"
            title = f"true {label}, predicted {other}: {html.plain(counts[i, j])}, {share:.1%} of the class"
            row.append(html.shaded(share, html.plain(counts[i, j]), kind, title))
        row.append(html.cell(f"{counts[i, i] / totals[i]:.3f}" if totals[i] and i < n_single else "-"))
        rows.append(row)
    return html.table(head, rows, f"confusion{dense}", "Confusion matrix")


def examples(model: BayesianNetworkClassifier, X: Any, y: Any, probabilities: FloatArray, n_rows: int) -> str:
    """Return the section that explains the `n_rows` rows whose most probable class is least probable."""
    chosen = _uncertain(probabilities, n_rows)
    frame = to_frame(X, "X")
    if not is_frame(X) or not hasattr(model, "feature_names_in_"):
        frame = frame.set_axis(list(model.intake_.columns), axis=1)
    try:
        cards = _cards(model, frame.iloc[chosen], probabilities[chosen], None if y is None else np.asarray(y)[chosen])
    except ValueError as error:
        # A network may be too dense to sum features out of, though it predicts complete rows.
        return html.section("examples", _EXAMPLES_TITLE, html.note(f"Not computed: {html.text(error)}"))
    return html.section(
        "examples",
        _EXAMPLES_TITLE,
        html.note(
            "What each known feature adds to the log odds of the predicted class, all others summed out as they "
            "are revealed one by one; the mean of two orders of revealing. With the prior, they add up to the "
            "posterior log odds."
        ),
        f'<div class="cards">{"".join(cards)}</div>',
    )


def _uncertain(probabilities: FloatArray, n_rows: int) -> list[int]:
    """Return the rows with the least probable best class; of rows that look alike, the first."""
    order = np.argsort(probabilities.max(axis=1), kind="stable")
    seen: set[tuple[float, ...]] = set()
    chosen: list[int] = []
    for row in order:
        look = tuple(probabilities[row].round(9))
        if look not in seen:
            seen.add(look)
            chosen.append(int(row))
        if len(chosen) == n_rows:
            break
    return chosen


def _cards(
    model: BayesianNetworkClassifier, rows: pd.DataFrame, probabilities: FloatArray, truth: npt.NDArray[Any] | None
) -> list[str]:
    """One explanation for each row; without `truth`, their true classes are not known."""
    with warnings.catch_warnings():
        # Predicting all rows has given the same warnings.
        warnings.simplefilter("ignore", BnplugWarning)
        explained = model.explain(rows.reset_index(drop=True))
    shown = model.intake_.features(rows)
    return [
        _card(
            model,
            shown.iloc[position],
            probabilities[position],
            explained[explained["row"] == position],
            "" if truth is None else f", truly {html.name(truth[position])}",
        )
        for position in range(len(rows))
    ]


def _card(
    model: BayesianNetworkClassifier,
    row: pd.Series[Any],
    probabilities: FloatArray,
    explained: pd.DataFrame,
    truly: str,
) -> str:
    best = int(model.decide(probabilities[None])[0])
    contributions = explained.loc[explained["class"] == model.classes_[best], "contribution"].to_numpy()
    return (
        f"<article><h3>Row {html.name(row.name)}: {html.name(model.classes_[best])}</h3>"
        f'<p class="note">probability {probabilities[best]:.3f}{truly}</p>{_bars(model, contributions, row)}</article>'
    )


def _bars(model: BayesianNetworkClassifier, contributions: FloatArray, row: pd.Series[Any]) -> str:
    """The prior, the largest contributions as bars, the sum of the others, and the sum of all."""
    names = [name for name in model.tables_.names if name != model.target_]
    prior, features = contributions[0], contributions[1:]
    order = np.argsort(-np.abs(features), kind="stable")
    shown, others = order[:_CONTRIBUTIONS], order[_CONTRIBUTIONS:]
    lines = [("prior", prior)]
    lines += [(f"{names[i]} = {_shown(row.get(names[i]))}", features[i]) for i in shown if features[i] != 0]
    if len(others):
        lines.append((f"{len(others)} other features", features[others].sum()))
    largest = max(abs(value) for _, value in lines) or 1.0
    rows = [
        [html.heading(label, "row"), html.cell(html.signed_bar(value / largest, f"{value:+.2f}"))]
        for label, value in lines
    ]
    rows.append([html.heading("posterior log odds", "row"), html.cell(f"<b>{contributions.sum():+.2f}</b>")])
    return html.table([], rows, "contributions", "Contributions to the log odds")


def _shown(value: Any) -> str:
    """A cell of the data as text."""
    if pd.isna(value):
        return "missing"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
