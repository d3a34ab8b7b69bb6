"""The commands of ``bnplug`` that make a model or work with one."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

import bnplug
from bnplug.cli import _completion
from bnplug.cli._errors import one_line_errors
from bnplug.cli._opening import (
    STANDARD,
    check_able,
    check_rows_option,
    described,
    model_argument,
    open_model,
    open_network,
    open_with,
    read_file,
    rows_option,
    target_option,
    write_output,
)
from bnplug.cli._reading import (
    Reading,
    check_labelled,
    chosen_columns,
    data_argument,
    kinds_of,
    listed,
    read_labelled,
    read_rows,
    reading_options,
    take_target,
)
from bnplug.cli._starting import load_scikit_learn
from bnplug.cli._streaming import batches_for, fit_streamed, streamed
from bnplug.errors import did_you_mean, printable
from bnplug.exchange.network_files import FORMATS

# The languages of files that hold a graph alone, by their endings.
_GRAPHS = {".dot": "dot", ".gv": "dot", ".mmd": "mermaid"}


class _Way(click.Choice[str]):
    """What to do with missing cells, in all columns or, after its name, in one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, _, way = value.rpartition("=")
        return name or "*", super().convert(way, param, ctx)


def _missing(ways: dict[str, str]) -> str | dict[str, str] | None:
    """Return the ways of columns as a classifier takes them: that of all columns alone is no dict."""
    return ways.get("*") if set(ways) <= {"*"} else ways


@click.command("fit")
@data_argument
@click.option("--target", required=True, help="The column that holds the class.")
@click.option("--drop", multiple=True, metavar="NAMES", help="Columns to leave out, such as an identifier: id,name.")
@click.option("--keep", multiple=True, metavar="NAMES", help="The columns that are features; all others are left out.")
@click.option(
    "--method",
    "--recipe",
    "method",
    help="A recipe, a plugin's classifier, a structure learner, or a composition such as tan+ccbn-w or hill-climb[cr]; "
    "other options win over it.",
    shell_complete=_completion.methods("recipe", "classifier", "structure learner"),
)
@click.option(
    "--structure", help="A structure learner.  [default: tan]", shell_complete=_completion.methods("structure learner")
)
@click.option(
    "--parameters",
    help="A parameter learner.  [default: backoff]",
    shell_complete=_completion.methods("parameter learner"),
)
@click.option(
    "--discretizer",
    help="A discretiser, or none.  [default: what the parameters want, log2-quantile for backoff, mdl for ml]",
    shell_complete=_completion.methods("discretizer"),
)
@click.option(
    "--missing",
    type=_Way(["ignore", "em", "drop", "value", "error"]),
    multiple=True,
    callback=lambda _, __, ways: _missing(dict(ways)),
    metavar="[NAME=]WAY",
    help="Missing cells. ignore: each table counts the rows it can use; em: EM learns from all that is known, a row "
    "may lack its class; drop: rows are dropped; value: missing is a state of its own; error. One column's own way is "
    "NAME=WAY, as in --missing em --missing age=value.  [default: ignore]",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter: structure.k=2, missing=drop."
)
@reading_options
@click.option("--random-state", type=int, help="A seed, for methods that draw at random.")
@click.option("--n-jobs", type=int, help="Threads or processes.")
@click.option("-v", "--verbose", count=True, help="Show progress.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The model's folder.")
@one_line_errors
def fit_command(
    data: Path,
    target: str,
    drop: Sequence[str],
    keep: Sequence[str],
    method: str | None,
    settings: Sequence[str],
    reading: Reading,
    output: Path,
    **options: Any,
) -> None:
    """Learn a classifier from DATA (CSV or Parquet; - is standard input) and save it to a folder.

    Several files, as in 'rows/*.parquet', and files above 256 MiB are read in batches, and need not fit into memory.
    """
    load_scikit_learn()
    from bnplug.exchange.model_folder import check_destination

    if output == STANDARD:
        raise ValueError("a model is a folder, which standard output cannot be: give --output a name")
    # Before the work, not after it.
    check_destination(output)
    # How much is told is nothing that a plugin's classifier must have a parameter for.
    params = {name: value for name, value in options.items() if value is not None and (name, value) != ("verbose", 0)}
    model = bnplug.make_classifier(method, **params) if method else bnplug.BayesianNetworkClassifier(**params)
    _apply(model, settings)
    files = streamed(data)
    if files is not None:
        n_rows = fit_streamed(model, files, target, reading, listed(keep), listed(drop))
    else:
        X, y = take_target(reading.frame(data), target, data)
        X = chosen_columns(X, listed(keep), listed(drop), data)
        model.fit(X, y)
        n_rows = len(X)
        if not isinstance(model, bnplug.BayesianNetworkClassifier):
            # It need not know; the commands that read the model must.
            model.target_, model.column_kinds_ = target, kinds_of(X)
    bnplug.save(model, output)
    click.echo(f"{output}: {target!r}, {n_rows:,} rows, {described(model)}")


@click.command("predict")
@model_argument
@data_argument
@reading_options
@target_option
@click.option("--id", "ids", multiple=True, metavar="NAMES", help="Columns to repeat before the predictions: keys.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A CSV or Parquet file; by default CSV to standard output."
)
@click.option("--formulas", is_flag=True, help="Write text as it is, also what a spreadsheet would run.")
@one_line_errors
def predict_command(
    model_path: Path,
    data: Path,
    reading: Reading,
    target: str | None,
    ids: Sequence[str],
    output: Path | None,
    formulas: bool,
) -> None:
    """Predict the rows of DATA (- is standard input) with MODEL: the class, and each class's probability.

    Columns that MODEL does not know are ignored with a warning. Several files, as in 'rows/*.parquet', and files above
    256 MiB are read in batches.
    """
    load_scikit_learn()
    from bnplug.classifier._rows import answers
    from bnplug.exchange._answer_files import answer_file
    from bnplug.exchange.spreadsheets import to_csv

    model, keys, files = open_model(model_path, target), listed(ids), streamed(data)
    if files is None:
        rows = iter([read_rows(model, data, reading, target, keys)])
    else:
        rows = batches_for(model, files, reading, target, keys)
    found = (answers(model, own, target) for own in rows)
    if output is not None and output != STANDARD:
        with answer_file(output, formulas) as file:
            for frame in found:
                file.write(frame)
        return
    for number, frame in enumerate(found):
        click.echo(to_csv(frame, formulas, header=number == 0), nl=False)


@click.command("export")
@model_argument
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_name",
    type=click.Choice([*FORMATS, "dot", "mermaid"]),
    help="The format.  [default: by the ending of FILE]",
)
@target_option
@one_line_errors
def export_command(model_path: Path, file: Path, format_name: str | None, target: str | None) -> None:
    """Write the network of MODEL to FILE (- is standard output).

    The ending says how: BIF (.bif), XMLBIF (.xml, .xmlbif, .bifxml), XDSL of GeNIe (.xdsl), NET of Hugin (.net); or its
    graph alone as the text of Graphviz (.dot) or of Mermaid (.mmd).
    """
    from bnplug.exchange.files import write_atomically

    chosen = format_name or _export_format(file)
    model = open_network(model_path, target)
    text, said = _graph_text(model, chosen) if chosen in _GRAPHS.values() else _network_text(model, chosen)
    if file == STANDARD:
        click.echo(text, nl=False)
        return
    write_atomically(file, text)
    click.echo(f"{file}: {len(model.tables_.names)} nodes, {len(model.tables_.edges)} edges{said}")


def _export_format(file: Path) -> str:
    """Return the format that the ending of a file to write stands for."""
    from bnplug.exchange.network_files import format_of

    if file == STANDARD:
        known = ", ".join([*FORMATS, "dot", "mermaid"])
        raise ValueError(f"- has no ending that says what to write: add --format, one of {known}")
    return _GRAPHS.get(file.suffix.lower()) or format_of(file)


def _network_text(model: Any, format_name: str) -> tuple[str, str]:
    """Return a network file's text, and what there is to say of it."""
    from bnplug.exchange.network_files import format_network

    tables, normalized = model.tables_, model.tables_.normalized
    said = "" if normalized else ", normalised to a network with the same posterior"
    text = format_network(tables if normalized else tables.normalize(), format_name, model.intake_)
    return text, f", {tables.n_parameters} parameters{said}"


def _graph_text(model: Any, language: str) -> tuple[str, str]:
    """Return the text of a graph with the Markov blanket of the class marked; there is nothing more to say of it."""
    from bnplug.show.drawing import to_dot, to_mermaid
    from bnplug.show.summary import blanket_to_mark

    write = to_dot if language == "dot" else to_mermaid
    text = write(model.tables_.names, model.tables_.edges, model.target_, blanket_to_mark(model))
    return text.rstrip("\n") + "\n", ""


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    help="The format.  [default: by the ending of FILE; of standard input, by what it begins with]",
)
@click.option("--target", help="The variable that is the class.  [default: what the file says, where it does]")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The model's folder.")
@one_line_errors
def import_command(file: Path, format_name: str | None, target: str | None, output: Path) -> None:
    """Make a model folder of the network in FILE (- is standard input).

    The ending says what it is: BIF (.bif), XMLBIF (.xml, .xmlbif, .bifxml), XDSL of GeNIe (.xdsl), NET of Hugin (.net).
    """
    from bnplug.show.summary import headline

    model = read_file(file, target, format_name)
    model.save(output)
    click.echo(f"{output}: {model.target_!r}, {headline(model)}")


@click.command("show")
@model_argument
@target_option
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the graph: .svg, .png, .pdf, .dot, .mmd."
)
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Show this node's table, however large.")
@click.option("--dot", "language", flag_value="dot", help="Print the graph alone, in the language of Graphviz.")
@click.option("--mermaid", "language", flag_value="mermaid", help="Print the graph alone, in the language of Mermaid.")
@one_line_errors
def show_command(
    model_path: Path, target: str | None, plot: Path | None, nodes: Sequence[str], language: str | None
) -> None:
    """Show MODEL: its graph, the Markov blanket of the class, its tables."""
    from bnplug.show.summary import to_text

    model = open_model(model_path, target)
    if language is not None:
        check_able(model, model_path)
        click.echo(model.to_dot() if language == "dot" else model.to_mermaid())
        return
    if not isinstance(model, bnplug.BayesianNetworkClassifier) and plot is None and not nodes:
        click.echo(f"{described(model)}\nclasses: {', '.join(map(printable, model.classes_))}")
        return
    check_able(model, model_path)
    click.echo(to_text(model, nodes))
    if plot is not None:
        _save_graph(model, plot)
        click.echo(f"\ndrawn in {plot}")


@click.command("evaluate")
@model_argument
@data_argument
@reading_options
@target_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_line_errors
def evaluate_command(model_path: Path, data: Path, reading: Reading, target: str | None, as_json: bool) -> None:
    """Compare what MODEL predicts for DATA (- is standard input) with the class that DATA holds.

    Several files, as in 'rows/*.parquet', and files above 256 MiB are read in batches.
    """
    load_scikit_learn()
    from bnplug.show._evaluating import Evaluating
    from bnplug.show.evaluation import evaluate

    model, files = open_model(model_path, target), streamed(data)
    if files is None:
        found = evaluate(model, *read_labelled(model, data, reading, target))
    else:
        adding = Evaluating(model)
        for rows in batches_for(model, files, reading, target):
            check_labelled(model, rows, data, target)
            adding.add(rows.X, rows.y)
        found = adding.result()
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    click.echo(f"{'rows':<18} {found.n_rows}")
    for name, value in found.figures.items():
        click.echo(f"{name:<18} {'undefined' if value is None else f'{value:.4f}'}")
    shown = found.confusion.rename(index=printable, columns=printable)
    click.echo(f"\nrows: the true class; columns: the predicted one\n{shown.to_string()}")


@click.command("report")
@model_argument
@click.argument("data", type=click.Path(path_type=Path), required=False)
@reading_options
@target_option
@rows_option("the most uncertain first, explained")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML file.")
@one_line_errors
def report_command(
    model_path: Path, data: Path | None, reading: Reading, target: str | None, rows: int, output: Path
) -> None:
    """Write one self-contained HTML page on MODEL, and on how it does on DATA (- is standard input)."""
    check_rows_option(rows, data)
    model = open_with(model_path, target, "report")
    given = () if data is None else read_labelled(model, data, reading, target)
    options = {"rows": rows} if rows else {}
    if rows and "rows" not in signature(model.report).parameters:
        raise ValueError(f"{model_path}: the report of a {type(model).__name__} cannot explain rows; omit --rows")
    # A report is written to a file, and where this one goes need not be a file.
    with TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        model.report(page, *given, **options)
        text = page.read_text(encoding="utf-8")
    write_output(output, text)


def _save_graph(model: Any, path: Path) -> None:
    """Write the graph of a model, with the Markov blanket of the class marked, in the format of the name's ending."""
    from bnplug.show.drawing import save_picture
    from bnplug.show.summary import blanket_to_mark

    save_picture(path, model.tables_.names, model.tables_.edges, model.target_, blanket_to_mark(model))


def _apply(model: Any, settings: Sequence[str]) -> None:
    """Set parameters, those of components after the components."""
    for name, value in sorted(map(_setting, settings), key=lambda own: own[0].count("__")):
        try:
            model.set_params(**{name: value})
        except ValueError as error:
            told = _unknown(model, name)
            if told is None:
                raise
            raise ValueError(told) from error


def _unknown(model: Any, name: str) -> str | None:
    """Return what is wrong with the name of a parameter in the words of who typed it, or None: it is no such name."""
    parts, known = name.split("__"), model.get_params()
    paths = ["__".join(parts[:end]) for end in range(1, len(parts) + 1)]
    owner, _, own = next((path for path in paths if path not in known), "").rpartition("__")
    there = [path.rpartition("__")[2] for path in known if path.rpartition("__")[0] == owner]
    if not own or not there:
        return None
    dots = f"{owner.replace('__', '.')}." if owner else ""
    listed = ", ".join(f"{dots}{word}" for word in there)
    return f"there is no parameter '{dots}{own}'.{did_you_mean(own, there)} There are: {listed}"


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
