"""The page: what stands on it, in which order, and around it what makes it self-contained.

The page needs no network, and reads without its script too; with it, a click on a node of the graph shows that
node's table. The same model and data make the same page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

import bnplug
from bnplug.arrays import FloatArray
from bnplug.errors import NotRepresentableError
from bnplug.exchange.files import write_atomically
from bnplug.inference.sample import sample
from bnplug.show._contents import check_rows, contents, without_folders
from bnplug.show._policy import content_policy
from bnplug.show.drawing import to_svg
from bnplug.show.evaluation import Evaluation, evaluate_probabilities
from bnplug.show.report import _parts as html
from bnplug.show.report._nodes import features_table, link, listing, tables
from bnplug.show.report._rows import examples, performance
from bnplug.show.summary import TEMPERED, blanket_to_mark, class_joints

if TYPE_CHECKING:
    from bnplug.classifier import BayesianNetworkClassifier

_ROWS_DRAWN, _SEED, _MOST_COLUMNS = 8, 3, 60


def write(
    model: BayesianNetworkClassifier, path: str | PathLike[str], X: Any = None, y: Any = None, rows: int = 0
) -> None:
    """Write a report on a fitted classifier as one self-contained HTML file.

    Parameters
    ----------
    model : BayesianNetworkClassifier
        Fitted.
    path : path-like
        The file, which is replaced as a whole.
    X : frame or array, optional
        Rows of data.
    y : array-like, optional
        Their true classes: the page then has accuracy, AUC, and the confusion matrix.
    rows : int, default 0
        The number of rows of `X` to explain: the most uncertain ones. The page then contains their index labels, values
        and true classes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from bnplug import BayesianNetworkClassifier
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"]})
    >>> model = BayesianNetworkClassifier("nb").fit(X, ["go", "go", "stay", "stay"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(model, Path(folder, "report.html"), X, ["go", "go", "stay", "stay"])
    ...     Path(folder, "report.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    write_atomically(path, to_html(model, X, y, rows))


def to_html(model: BayesianNetworkClassifier, X: Any = None, y: Any = None, rows: int = 0) -> str:
    """Return the page that :func:`write` writes."""
    check_is_fitted(model)
    check_rows(rows, X)
    if X is None and y is not None:
        raise ValueError("y is given without X: a report needs the rows that the labels belong to")
    probabilities = None if y is None and not rows else model.predict_proba(X)
    found = None if probabilities is None or y is None else evaluate_probabilities(model, probabilities, y)
    explained = examples(model, X, y, probabilities, rows) if probabilities is not None and rows else ""
    joints, trouble = _joints(model)
    sections = [
        _network(model),
        "" if found is None else performance(found),
        _prior(model, joints) if joints else "",
        html.section("features", "Features", features_table(model, joints), trouble),
        explained,
        _making(model),
        _drawn(model),
        html.section("tables", "All tables", tables(model, joints)),
    ]
    sentences = contents(explained.count("<article>"), y is not None, None if found is None else found.n_rows)
    sections.append(html.section("contents", "What this page contains", f"<p>{html.text(sentences)}</p>"))
    return _page(model, _header(model, found), [section for section in sections if section])


def _joints(model: BayesianNetworkClassifier) -> tuple[dict[str, FloatArray], str]:
    """Return P(class, X) of every feature, or none of them and a remark why not."""
    try:
        return class_joints(model), ""
    except ValueError as error:
        return {}, html.note(f"What the features tell of the class was not computed: {html.text(error)}")


def _page(model: BayesianNetworkClassifier, header: str, sections: Sequence[str]) -> str:
    style, script = (
        files("bnplug.show.report").joinpath(file).read_text("utf-8") for file in ("style.css", "script.js")
    )
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(script)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="generator" content="bnplug {bnplug.__version__}">',
        f"<title>{html.text(model.target_)}: Bayesian-network classifier</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        header,
        "<main>",
        *sections,
        "</main>",
        f"<footer>bnplug {bnplug.__version__}</footer>",
        f"<script>{script}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def _header(model: BayesianNetworkClassifier, found: Evaluation | None) -> str:
    counts: Mapping[str, int] = {
        "features": len(model.intake_.names),
        "classes": len(model.classes_),
        "edges": len(model.tables_.edges),
        "parameters": model.tables_.n_parameters,
    }
    tiles = [(label, f"{value:,}") for label, value in counts.items()]
    if found is not None:
        tiles.append(("accuracy", f"{found.accuracy:.3f}"))
    made = model.made_
    return "\n".join(
        [
            "<header>",
            '<p class="eyebrow">Bayesian-network classifier</p>',
            f"<h1>{html.text(model.target_)}</h1>",
            f'<p class="lead">Predicts {html.name(model.target_)} ({listing(model.classes_)}); '
            f"structure {html.name(without_folders(made['structure']))}, parameters "
            f"{html.name(without_folders(made['parameters']))}.</p>",
            html.definitions(tiles, "tiles"),
            "</header>",
        ]
    )


def _network(model: BayesianNetworkClassifier) -> str:
    target, blanket = model.target_, model.markov_blanket()
    marked = blanket_to_mark(model)
    svg = to_svg(model.tables_.names, model.tables_.edges, target, marked, clickable=True)
    legend = ['<li class="class">class</li>']
    legend += ['<li class="marked">Markov blanket</li>', '<li class="other">other features</li>'] if marked else []
    legend += [] if marked else ['<li class="other">features</li>']
    everything = "all features" if not marked else ", ".join(link(model, name) for name in blanket)
    return html.section(
        "network",
        "Network",
        '<div class="split">',
        f'<figure class="graph"><div class="scroll">{svg}</div>'
        f'<figcaption><ul class="legend">{"".join(legend)}</ul></figcaption></figure>',
        f'<aside id="panel" aria-live="polite" data-first="{html.text(target)}" hidden></aside>',
        "</div>",
        html.note(
            f"The Markov blanket of {html.name(target)}, the features that matter where all are known: {everything}."
            if blanket
            else f"The Markov blanket of {html.name(target)} is empty: no feature tells anything of it."
        ),
    )


def _prior(model: BayesianNetworkClassifier, joints: Mapping[str, FloatArray]) -> str:
    """P(class) without evidence; with a temperature, a note that it is not the class prior of the data."""
    title = "Class prior" if model.calibrate is None else "Class probabilities without evidence"
    prior = next(iter(joints.values())).sum(axis=1)
    rows = [
        [html.heading(label, "row"), html.cell(html.bar(share / prior.max(), html.number(share)))]
        for label, share in zip(model.classes_, prior, strict=True)
    ]
    head = [[html.heading("class"), html.heading("probability")]]
    remarks = [] if model.calibrate is None else [html.note(html.text(TEMPERED))]
    return html.section("class", title, html.table(head, rows, "bars", title), *remarks)


def _making(model: BayesianNetworkClassifier) -> str:
    values = {name: table.values for name, table in model.tables_.tables.items()}
    largest = max(values, key=lambda name: values[name].size)
    n_numeric = len(model.intake_.numeric)
    facts = [(part, f"<code>{html.text(without_folders(made))}</code>") for part, made in model.made_.items()]
    settings = _discretizer_settings(model)
    facts += [("discretizer settings", f"<code>{html.text(settings)}</code>")] if settings else []
    facts += [
        ("features", f"{n_numeric} numeric, {len(model.intake_.names) - n_numeric} discrete"),
        ("free parameters", f"{model.tables_.n_parameters:,}"),
        ("largest table", f"{link(model, largest)}, {values[largest].size:,} cells"),
        ("columns sum to one", "yes" if model.tables_.normalized else "no: the parameters are discriminative"),
        ("missing cells in training", f"<code>{html.text(model.missing)}</code>"),
        ("values unseen in training", f"<code>{html.text(model.unseen)}</code>"),
        ("bnplug", html.text(bnplug.__version__)),
    ]
    return html.section("making", "How it was made", html.definitions(facts))


def _discretizer_settings(model: BayesianNetworkClassifier) -> str:
    """The parameters of the fitted discretiser, apart from the columns, which the classifier has chosen."""
    fitted = model.intake_.discretizer
    params = {} if fitted is None else fitted.get_params(deep=False)
    settings = ", ".join(f"{name}={value!r}" for name, value in params.items() if name != "categorical_features")
    return without_folders(settings)


def _drawn(model: BayesianNetworkClassifier) -> str:
    """A few rows drawn from the network, as examples of what it describes."""
    try:
        frame = sample(model.tables_, _ROWS_DRAWN, random_state=_SEED)
    except NotRepresentableError:
        return ""
    names = [model.target_, *model.intake_.names][:_MOST_COLUMNS]
    rows = [[html.cell(html.text(value)) for value in row] for row in frame[names].itertuples(index=False)]
    left_out = len(frame.columns) - len(names)
    return html.section(
        "drawn",
        "Rows drawn from the network",
        html.table([[html.heading(name) for name in names]], rows, "plain", "Rows drawn from the network"),
        html.note("These rows are synthetic: they are sampled from the model, not taken from data."),
        html.note(f"The first {len(names) - 1} features; {left_out} more are left out.") if left_out else "",
    )
