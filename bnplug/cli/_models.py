"""The commands of ``bnplug`` that make a model or work with one."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import bnplug
from bnplug.cli._errors import one_line_errors

model_argument = click.argument("model_dir", metavar="DIR", type=click.Path(path_type=Path))
na_option = click.option("--na", multiple=True, help="Text that stands for a missing value, besides an empty field.")
_target_option = click.option("--target", help="The column that holds the class.  [default: what the model says]")


@click.command("fit")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="The column that holds the class.")
@click.option(
    "--method",
    "--recipe",
    "method",
    help="A recipe, a plugin's classifier, a structure learner, or a composition such as tan+ccbn-w or hill-climb[cr]; "
    "other options win over it.",
)
@click.option("--structure", help="A structure learner.  [default: tan]")
@click.option("--parameters", help="A parameter learner.  [default: ml]")
@click.option("--discretizer", help="A discretiser, or none.  [default: mdl]")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter: structure.k=2, missing=drop."
)
@na_option
@click.option("--random-state", type=int, help="A seed, for methods that draw at random.")
@click.option("--n-jobs", type=int, help="Threads or processes.")
@click.option("-v", "--verbose", count=True, help="Show progress.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The model's folder.")
@one_line_errors
def fit_command(
    data: Path,
    target: str,
    method: str | None,
    settings: Sequence[str],
    na: Sequence[str],
    output: Path,
    **options: Any,
) -> None:
    """Learn a classifier from DATA (CSV or Parquet) and save it to a folder."""
    from bnplug.data.files import read_data
    from bnplug.data.frames import to_frame
    from bnplug.exchange.model_folder import check_destination

    # Before the work, not after it.
    check_destination(output)
    # How much is told is nothing that a plugin's classifier must have a parameter for.
    params = {name: value for name, value in options.items() if value is not None and (name, value) != ("verbose", 0)}
    model = bnplug.make_classifier(method, **params) if method else bnplug.BayesianNetworkClassifier(**params)
    model.set_params(**dict(_setting(text) for text in settings))
    frame = to_frame(read_data(data, missing=na), str(data))
    if target not in frame.columns:
        raise ValueError(f"{data}: target {target!r} is not a column; there are {list(frame.columns)}")
    model.fit(frame.drop(columns=target), frame[target])
    # A plugin's classifier need not know; the commands that read the model must.
    model.target_ = target
    bnplug.save(model, output)
    click.echo(f"{output}: {target!r}, {len(frame):,} rows, {_size(model)}")


@click.command("predict")
@model_argument
@click.argument("data", type=click.Path(path_type=Path))
@na_option
@_target_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A CSV file; by default standard output.")
@click.option("--formulas", is_flag=True, help="Write labels as they are, also those that a spreadsheet would run.")
@one_line_errors
def predict_command(
    model_dir: Path, data: Path, na: Sequence[str], target: str | None, output: Path | None, formulas: bool
) -> None:
    """Predict the rows of DATA with the model in DIR: the class, and each class's probability."""
    import pandas as pd

    from bnplug.exchange.files import write_atomically
    from bnplug.exchange.spreadsheets import to_csv

    model = bnplug.load(model_dir)
    target = target or getattr(model, "target_", "class")
    probabilities = model.predict_proba(read_rows(model, data, na).drop(columns=target, errors="ignore"))
    result = pd.DataFrame({target: model.classes_[probabilities.argmax(axis=1)]})
    for label, column in zip(model.classes_, probabilities.T, strict=True):
        result[f"P({label})"] = column
    text = to_csv(result, formulas)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(output, text)


@click.command("export")
@model_argument
@click.argument("file", type=click.Path(path_type=Path))
@one_line_errors
def export_command(model_dir: Path, file: Path) -> None:
    """Write the network of the model in DIR to FILE: BIF (.bif) or XMLBIF (.xml, .xmlbif, .bifxml)."""
    _, write = _exchange_format(file)
    tables = load_network(model_dir).tables_
    normalized = tables.normalized
    write(tables if normalized else tables.normalize(), file)
    click.echo(
        f"{file}: {len(tables.names)} nodes, {len(tables.edges)} edges, {tables.n_parameters} parameters"
        + ("" if normalized else ", normalised to a network with the same posterior")
    )


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", help="The variable that is the class.  [default: what the file says, where it does]")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The model's folder.")
@one_line_errors
def import_command(file: Path, target: str | None, output: Path) -> None:
    """Make a model folder of the network in FILE: BIF (.bif) or XMLBIF (.xml, .xmlbif, .bifxml)."""
    from bnplug.show.summary import headline

    read, _ = _exchange_format(file)
    if not file.is_file():
        raise ValueError(f"{file}: there is no such file")
    model = read(file, target)
    model.save(output)
    click.echo(f"{output}: {model.target_!r}, {headline(model)}")


@click.command("show")
@model_argument
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the graph: .svg or .png.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Show this node's table, however large.")
@one_line_errors
def show_command(model_dir: Path, plot: Path | None, nodes: Sequence[str]) -> None:
    """Show the model in DIR: its graph, the Markov blanket of the class, its tables."""
    from bnplug.show.drawing import save_picture
    from bnplug.show.summary import blanket_to_mark, to_text

    model = bnplug.load(model_dir)
    if not isinstance(model, bnplug.BayesianNetworkClassifier) and plot is None and not nodes:
        click.echo(f"{_size(model)}\nclasses: {', '.join(map(str, model.classes_))}")
        return
    model = load_network(model_dir)
    click.echo(to_text(model, nodes))
    if plot is not None:
        save_picture(plot, model.tables_.names, model.tables_.edges, model.target_, blanket_to_mark(model))
        click.echo(f"\ndrawn in {plot}")


@click.command("evaluate")
@model_argument
@click.argument("data", type=click.Path(path_type=Path))
@na_option
@_target_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_line_errors
def evaluate_command(model_dir: Path, data: Path, na: Sequence[str], target: str | None, as_json: bool) -> None:
    """Compare what the model in DIR predicts for DATA with the class that DATA holds."""
    from bnplug.show.evaluation import evaluate

    model = bnplug.load(model_dir)
    found = evaluate(model, *_read_labelled(model, data, na, target))
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    click.echo(f"{'rows':<18} {found.n_rows}")
    for name, value in found.figures.items():
        click.echo(f"{name:<18} {'undefined' if value is None else f'{value:.4f}'}")
    click.echo(f"\nrows: the true class; columns: the predicted one\n{found.confusion.to_string()}")


@click.command("report")
@model_argument
@click.argument("data", type=click.Path(path_type=Path), required=False)
@na_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file.")
@one_line_errors
def report_command(model_dir: Path, data: Path | None, na: Sequence[str], output: Path) -> None:
    """Write one self-contained HTML page on the model in DIR, and on how it does on DATA."""
    from bnplug.show import report

    model = load_network(model_dir)
    rows = () if data is None else _read_labelled(model, data, na)
    report.write(model, output, *rows)
    if is_apart(output):
        click.echo(f"{output}: {output.stat().st_size:,} bytes")


def load_network(model_dir: Path) -> Any:
    """Load a model that is a Bayesian network; of any other, say what can be done with it."""
    model = bnplug.load(model_dir)
    if not isinstance(model, bnplug.BayesianNetworkClassifier):
        raise ValueError(f"{model_dir}: {_size(model)}, which is no Bayesian network; predict and evaluate take it")
    return model


def _size(model: Any) -> str:
    """Return the size of a network, or what a classifier of a plugin is."""
    from bnplug.hooks import registry
    from bnplug.show.summary import headline

    if isinstance(model, bnplug.BayesianNetworkClassifier):
        return headline(model)
    return f"{' '.join(repr(model).split())}, {registry.origin(model)}"


def is_apart(output: Path) -> bool:
    """Whether what was written is a file, and not where these commands write what they say."""
    if not output.is_file():
        return False
    try:
        return not os.path.samestat(output.stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return True


def _exchange_format(file: Path) -> tuple[Any, Any]:
    """Return the reader and the writer of the format that the name of `file` ends with."""
    from bnplug.exchange.bif import write_bif
    from bnplug.exchange.xmlbif import write_xmlbif

    formats = {".bif": (bnplug.read_bif, write_bif)}
    formats |= dict.fromkeys((".xml", ".xmlbif", ".bifxml"), (bnplug.read_xmlbif, write_xmlbif))
    if file.suffix.lower() not in formats:
        raise ValueError(f"{file}: the name of a network file ends in one of {', '.join(formats)}")
    return formats[file.suffix.lower()]


def read_rows(model: Any, data: Path, na: Sequence[str]) -> Any:
    """Read rows for a model: text stays text where the model knows text, and numbers among text are its numbers."""
    from bnplug.data.files import read_data

    if not isinstance(model, bnplug.BayesianNetworkClassifier):
        return read_data(data, missing=na)
    discrete = {name: states for name, states in model.schema_.states.items() if name not in model.intake_.numeric}
    text = [name for name, states in discrete.items() if all(isinstance(state, str) for state in states)]
    frame = read_data(data, text=text, missing=na)
    for name in discrete.keys() & set(frame.columns) - set(text):
        if frame[name].dtype.kind not in "biuf":
            frame[name] = _as_states(frame[name], discrete[name])
    return frame


def _as_states(column: Any, states: Sequence[Any]) -> Any:
    """Return a column of text with the states that it names: one cell that is no number made text of all the others."""
    import pandas as pd

    known = {str(state): state for state in states} | {state: state for state in states}
    values = pd.Series(column.dropna().unique(), dtype=object)
    numbers = pd.to_numeric(values, errors="coerce").tolist()
    meant = {value: known.get(value, known.get(number, value)) for value, number in zip(values, numbers, strict=True)}
    return column.astype(object).map(meant)


def _read_labelled(model: Any, data: Path, na: Sequence[str], target: str | None = None) -> tuple[Any, Any]:
    """Read rows and their class, in the column that the model names or that is given."""
    frame = read_rows(model, data, na)
    target = target or getattr(model, "target_", None)
    if target is None:
        raise ValueError(f"the model does not say which column is its class: --target, one of {list(frame.columns)}")
    if target not in frame.columns:
        raise ValueError(
            f"{data}: there is no column {target!r}, the class of the model; there are {list(frame.columns)}"
        )
    return frame.drop(columns=target), frame[target]


def _setting(text: str) -> tuple[str, Any]:
    """``structure.k=2`` as ``("structure__k", 2)``; a value that is no Python literal is text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    try:
        return name.replace(".", "__"), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.replace(".", "__"), value


COMMANDS = [
    fit_command,
    predict_command,
    evaluate_command,
    show_command,
    report_command,
    export_command,
    import_command,
]
