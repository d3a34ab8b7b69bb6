"""A mixture as one self-contained HTML page: how well it does, what its members agree on, and what each of them is.

The page needs neither a network nor a script; the same model and data make the same page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import bnplug
from bnplug.errors import printable
from bnplug.exchange.files import write_atomically
from bnplug.show.evaluation import evaluate_probabilities
from bnplug_mixture.edges import between_features

if TYPE_CHECKING:
    from bnplug_mixture.averaging import AveragedNetworks

_MOST_EDGES = 60

_CONTENTS = (
    "This page contains the names of columns and classes, the edges and sizes of the networks and, with data, results "
    "computed from the data. It contains no rows of data."
)

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: #1c2733;
  background: #fff }
h1, h2 { line-height: 1.2 } h2 { margin-top: 2.5rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: 0.9rem }
th, td { padding: 0.2rem 0.6rem; text-align: left; border-bottom: 1px solid #dde3ea }
td.number { text-align: right; font-variant-numeric: tabular-nums }
table.square td { width: 1.1rem; height: 1.1rem; padding: 0; border: 1px solid #eef1f5 }
table.square th { font-weight: normal; font-size: 0.75rem; border: 0; white-space: nowrap }
table.square thead th { writing-mode: vertical-rl; transform: rotate(180deg) }
.bar { display: inline-block; height: 0.7rem; background: #1d5fa6; vertical-align: middle; margin-right: 0.5rem }
.note { color: #5b6b7c; font-size: 0.9rem }
"""


def write(model: AveragedNetworks, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
    """Write the page on a fitted mixture; the file is replaced as a whole."""
    write_atomically(path, to_html(model, X, y))


def to_html(model: AveragedNetworks, X: Any = None, y: Any = None) -> str:
    """Return the page on a fitted mixture; with rows and their classes, also on how well it does on them."""
    if X is None and y is not None:
        raise ValueError("y is given without X: a report needs the rows that the labels belong to")
    title = f"{_text(model.target_)}: a mixture of {len(model.members_)} networks"
    sections = [
        f"<h1>{title}</h1>",
        f"<p>Predicts {_text(model.target_)} ({', '.join(map(_text, model.classes_.tolist()))}) by the mean of "
        f"{len(model.members_)} Bayesian networks.</p>",
        "" if X is None or y is None else _performance(model, X, y),
        _edges(model),
        _members(model, X, y),
        f'<p class="note">{_CONTENTS}</p>',
        f'<p class="note">bnplug {bnplug.__version__}</p>',
    ]
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    body = "\n".join(part for part in sections if part)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{policy}{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def _performance(model: AveragedNetworks, X: Any, y: Any) -> str:
    probabilities = model.predict_proba(X)
    # It asks a model for its classes, its target, its costs and its decisions; a mixture has them too.
    found = evaluate_probabilities(model, probabilities, y)
    figures = [
        [_cell(name), _number("undefined" if value is None else f"{value:.4f}")]
        for name, value in found.figures.items()
    ]
    confusion = [
        [_head(label, "row"), *(_number(f"{own:g}") for own in row)]
        for label, row in zip(found.confusion.index, found.confusion.to_numpy(), strict=True)
    ]
    return "\n".join(
        [
            f"<h2>On {found.n_rows:,} rows</h2>",
            _table(["figure", "value"], figures),
            '<p class="note">Rows: the true class; columns: the predicted one.</p>',
            _table(["", *found.confusion.columns], confusion),
        ]
    )


def _edges(model: AveragedNetworks) -> str:
    frequencies = model.edge_frequencies()
    names, shares = between_features(frequencies, model.target_)
    shown = frequencies[(frequencies["parent"] != model.target_) & (frequencies["child"] != model.target_)]
    if not names:
        return "<h2>Edges</h2>\n<p>No member has an edge between features.</p>"
    square = [
        [_head(name, "row"), *(_shade(share, f"{name} - {other}") for other, share in zip(names, row, strict=True))]
        for name, row in zip(names, shares, strict=True)
    ]
    rows = [
        [_cell(parent), _cell(child), _number(f"{share:.0%}"), f"<td>{_bar(either)}</td>"]
        for parent, child, share, either in shown.head(_MOST_EDGES).itertuples(index=False)
    ]
    left_out = len(shown) - len(rows)
    return "\n".join(
        [
            "<h2>How sure the edges are</h2>",
            '<p class="note">Between features: the darker, the more members have an edge between the two.</p>',
            _table(["", *names], square, "square"),
            _table(["parent", "child", "members that have it so", "members that have it in either direction"], rows),
            f'<p class="note">{left_out} more are left out.</p>' if left_out else "",
        ]
    )


def _members(model: AveragedNetworks, X: Any, y: Any) -> str:
    known = X is not None and y is not None
    rows = []
    for number, member in enumerate(model.members_):
        bins = [len(member.schema_.states[name]) for name in member.intake_.numeric]
        accuracy = [_number(f"{member.score(X, y):.4f}")] if known else []
        rows.append(
            [
                _number(str(number)),
                _cell(member.made_["structure"]),
                _cell(member.made_["parameters"]),
                _number(f"{min(bins)} to {max(bins)}" if bins else "-"),
                _number(f"{len(member.tables_.edges):,}"),
                _number(f"{member.tables_.n_parameters:,}"),
                *accuracy,
            ]
        )
    head = ["", "structure", "parameters", "bins of a number", "edges", "free parameters", *(["accuracy"] * known)]
    return f"<h2>Members</h2>\n{_table(head, rows)}"


def _text(value: object) -> str:
    return html.escape(printable(str(value)))


def _head(value: object, scope: str = "col") -> str:
    return f'<th scope="{scope}">{_text(value)}</th>'


def _cell(value: object) -> str:
    return f"<td>{_text(value)}</td>"


def _number(shown: str) -> str:
    return f'<td class="number">{_text(shown)}</td>'


def _shade(share: float, pair: str) -> str:
    colour = f' style="background: rgb(29 95 166 / {share:.2f})"' if share else ""
    return f'<td title="{_text(f"{pair}: {share:.0%}")}"{colour}></td>'


def _bar(share: float) -> str:
    return f'<span class="bar" style="width: {6 * share:.2f}rem"></span>{share:.0%}'


def _table(head: Sequence[object], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    lines = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
    top = "".join(_head(value) for value in head)
    inside = f"<thead><tr>{top}</tr></thead>\n<tbody>\n{lines}</tbody>"
    return f'<div class="scroll"><table class="{kind}">{inside}</table></div>'
