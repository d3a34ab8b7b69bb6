"""The commands of ``bnplug`` that make a model or work with one."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

import bnplug
from bnplug.cli import _reading
from bnplug.cli._reading import PATH, STANDARD, Given, Reading
from bnplug.cli._starting import load_scikit_learn
from bnplug.errors import did_you_mean, printable


def _format_option(help: str) -> Callable[[Any], Any]:
    names = _reading.complete_methods("format")
    return click.option("--format", "format_name", metavar="NAME", shell_complete=names, help=help)


class _Way(click.Choice[str]):
    """What to do with missing cells, in all columns or, after its name, in one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, _, way = value.rpartition("=")
        return name or "*", super().convert(way, param, ctx)


def _component_option(name: str, default: str, kind: str) -> Callable[[Any], Any]:
    article = f"A {kind}{', or none' if kind == 'discretizer' else ''}."
    return click.option(name, help=f"{article}  [default: {default}]", shell_complete=_reading.complete_methods(kind))


def _missing(_: click.Context, __: click.Parameter, given: Sequence[tuple[str, str]]) -> str | dict[str, str] | None:
    """Return the parameter ``missing`` of a classifier: text if only the way of all columns is given."""
    ways = dict(given)
    return ways.get("*") if set(ways) <= {"*"} else ways


class Auto:
    """The method ``auto``: the classifier that :func:`bnplug.recommend` returns."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    def fit(self, X: Any, y: Any) -> Any:
        """Return the recommended classifier, fitted."""
        return bnplug.recommend(X, y, **self.params)


@click.command("fit")
@_reading.files_argument
@click.option("--target", required=True, help="The column that holds the class.")
@_reading.names_option("--drop", "drop", "Columns to leave out, such as an identifier: id,name.")
@_reading.names_option("--keep", "keep", "The columns that are features; all others are left out.")
@click.option(
    "--method",
    "--recipe",
    "method",
    help="A recipe, a plugin's classifier, a structure learner, or a composition such as tan+ccbn-w or hill-climb[cr]; "
    "other options override it. auto: compare a few methods by cross-validation and take the best.",
    shell_complete=_reading.complete_methods("recipe", "classifier", "structure learner"),
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="With --method auto, how long comparing and fitting may take.  [default: 60]",
)
@_component_option("--structure", "tan", "structure learner")
@_component_option("--parameters", "backoff", "parameter learner")
@_component_option("--discretizer", "by the parameters: log2-quantile for backoff, mdl for ml", "discretizer")
@click.option(
    "--missing",
    type=_Way(["ignore", "em", "drop", "value", "error"]),
    multiple=True,
    callback=_missing,
    metavar="[NAME=]WAY",
    help="Missing cells. ignore: each table counts the rows it can use; em: EM learns from all that is known, a row "
    "may lack its class; drop: rows are dropped; value: missing is a state of its own; error. One column's own way is "
    "NAME=WAY, as in --missing em --missing age=value.  [default: ignore]",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter: structure.k=2, missing=drop."
)
@_reading.drop_unlabeled_option
@_reading.reading_options
@click.option("--random-state", type=int, help="A seed, for methods that draw at random.")
@click.option("--n-jobs", type=int, help="Threads or processes.")
@click.option("-v", "--verbose", count=True, help="Show progress.")
@click.option("-o", "--output", required=True, type=PATH, help="The model's folder.")
def fit_command(
    data: tuple[Path, ...],
    target: str,
    drop: Sequence[str],
    keep: Sequence[str],
    method: str | None,
    time_limit: float | None,
    settings: Sequence[str],
    drop_unlabeled: bool,
    reading: Reading,
    output: Path,
    **options: Any,
) -> None:
    """Learn a classifier from DATA and save it to a folder.

    DATA is CSV or Parquet; - is standard input. Several files, such as a.csv b.csv or 'rows/*.parquet', and files above
    256 MiB are read in batches and need not fit into memory.
    """
    load_scikit_learn()
    from bnplug.classifier.opening import _make_with_options
    from bnplug.io.model_folder import check_destination

    if output == STANDARD:
        raise ValueError("a model is a folder, which standard output cannot be: give --output a name")
    # Before the work, not after it.
    check_destination(output)
    # How much is told is nothing that a plugin's classifier must have a parameter for.
    params = {name: value for name, value in options.items() if value is not None and (name, value) != ("verbose", 0)}
    if time_limit is not None and method != "auto":
        raise click.UsageError("--time-limit needs --method auto")
    model: Any
    if method == "auto":
        limit = {} if time_limit is None else {"time_limit": time_limit}
        model = Auto(**params, **dict(map(_setting, settings)), **limit)
    else:
        model = _make_with_options(method, params) if method else bnplug.BayesianNetworkClassifier(**params)
        _apply(model, settings)
    files = _reading.streamed(data)
    if files is not None:
        n_rows = _reading.fit_streamed(model, files, target, reading, keep, drop, drop_unlabeled)
    else:
        X, y = _reading.take_target(reading.frame(data[0]), target, data[0])
        if drop_unlabeled:
            X, y = _reading.labeled_rows(X, y)
        X = _reading.chosen_columns(X, keep, drop, data[0])
        model = model.fit(X, y)
        n_rows = len(X)
        if not isinstance(model, bnplug.BayesianNetworkClassifier):
            # It need not know; the commands that read the model must.
            model.target_, model.column_kinds_ = target, _reading.kinds_of(X)
    bnplug.save(model, output)
    click.echo(f"{output}: {target!r}, {n_rows:,} rows, {_reading.described(model)}")


@click.command("predict")
@_reading.model_and_data(several=True)
@_reading.names_option("--id", "ids", "Columns to repeat before the predictions: keys.")
@click.option("-o", "--output", type=PATH, help="A CSV or Parquet file; by default CSV to standard output.")
@click.option("--formulas", is_flag=True, help="Write text as it is, also what a spreadsheet would run.")
def predict_command(given: Given, ids: Sequence[str], output: Path | None, formulas: bool) -> None:
    """Predict the class of the rows of DATA, with probabilities.

    - is standard input. Columns that MODEL does not know are ignored with a warning. Several files, such as a.csv b.csv
    or 'rows/*.parquet', and files above 256 MiB are read in batches.
    """
    load_scikit_learn()
    from bnplug.classifier._rows import answers
    from bnplug.sources.spreadsheets import _answer_file, to_csv

    model, files = _reading.open_model(given.model_path, given.target), _reading.streamed(given.data)
    rows = iter([given.rows(model, ids)]) if files is None else given.batches(model, files, ids)
    frames = (answers(model, batch, given.target) for batch in rows)
    if output is not None and output != STANDARD:
        with _answer_file(output, formulas, files or given.data) as file:
            for frame in frames:
                file.write(frame)
        return
    for number, frame in enumerate(frames):
        click.echo(to_csv(frame, formulas, header=number == 0), nl=False)


@click.command("export")
@_reading.model_argument
@click.argument("file", type=PATH)
@_format_option("The format, as `bnplug formats` lists it.  [default: by the ending of FILE]")
@_reading.target_option
def export_command(model_path: Path, file: Path, format_name: str | None, target: str | None) -> None:
    """Write the network of MODEL to FILE (- is standard output).

    The ending selects the format, such as .bif, or .dot for the graph alone. `bnplug formats` lists all formats and
    their endings, including formats of plugins.
    """
    from bnplug.files import write_atomically
    from bnplug.hooks import registry
    from bnplug.io.network_files import format_names, format_network, format_of

    if file == STANDARD and format_name is None:
        known = format_names("write")
        raise ValueError(f"standard output has no ending that names a format: add --format, one of {known}")
    chosen = format_name or format_of(file, "write")
    graph = registry.network_format(chosen).graph
    model = _reading.open_network(model_path, target)
    tables, said = model.tables_, ""
    if not graph:
        changed = "" if tables.normalized else ", normalized to a network with the same posterior"
        said = f", {tables.n_parameters} parameters{changed}"
        tables = tables if tables.normalized else tables.normalize()
    text = format_network(tables, chosen, model.encoder_)
    if file == STANDARD:
        click.echo(text, nl=False)
        return
    write_atomically(file, text)
    click.echo(f"{file}: {len(model.tables_.names)} nodes, {len(model.tables_.edges)} edges{said}")


@click.command("import")
@click.argument("file", type=PATH)
@_format_option("The format, as `bnplug formats` lists it.  [default: by the ending of FILE, or the content of -]")
@click.option("--target", help="The variable that is the class.  [default: what the file says, where it does]")
@click.option("-o", "--output", required=True, type=PATH, help="The model's folder.")
def import_command(file: Path, format_name: str | None, target: str | None, output: Path) -> None:
    """Make a model folder from the network in FILE.

    - is standard input. The ending selects the format. `bnplug formats` lists all formats and their endings, including
    formats of plugins.
    """
    from bnplug.show.summary import headline

    model = _reading.read_file(file, target, format_name)
    model.save(output)
    click.echo(f"{output}: {model.target_!r}, {headline(model)}")


@click.command("evaluate")
@_reading.model_and_data(several=True)
@_reading.drop_unlabeled_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate_command(given: Given, drop_unlabeled: bool, as_json: bool) -> None:
    """Compare the predictions of MODEL with the classes in DATA.

    - is standard input. Several files, such as a.csv b.csv or 'rows/*.parquet', and files above 256 MiB are read in
    batches.
    """
    load_scikit_learn()
    from bnplug.show.evaluation import RunningEvaluation, evaluate

    model, files = _reading.open_model(given.model_path, given.target), _reading.streamed(given.data)
    if files is None:
        labeled = given.labelled(model)
        result = evaluate(model, *(_reading.labeled_rows(*labeled) if drop_unlabeled else labeled))
    else:
        running = RunningEvaluation(model)
        for rows in given.batches(model, files):
            labeled = given.labelled(model, rows)
            running.add(*(_reading.labeled_rows(*labeled) if drop_unlabeled else labeled))
        result = running.result()
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
        return
    click.echo(f"{'rows':<18} {result.n_rows}")
    for name, value in result.figures.items():
        click.echo(f"{name:<18} {'undefined' if value is None else f'{value:.4f}'}")
    shown = result.confusion.rename(index=printable, columns=printable)
    click.echo(f"\nrows: the true class; columns: the predicted one\n{shown.to_string()}")


def _apply(model: Any, settings: Sequence[str]) -> None:
    """Set parameters, those of components after the components."""
    for name, value in sorted(map(_setting, settings), key=lambda setting: setting[0].count("__")):
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
    owner, _, last = next((path for path in paths if path not in known), "").rpartition("__")
    there = [path.rpartition("__")[2] for path in known if path.rpartition("__")[0] == owner]
    if not last or not there:
        return None
    dots = f"{owner.replace('__', '.')}." if owner else ""
    names = ", ".join(f"{dots}{word}" for word in there)
    return f"there is no parameter '{dots}{last}'.{did_you_mean(last, there)} There are: {names}"


def _setting(text: str) -> tuple[str, Any]:
    """``structure.k=2`` as ``("structure__k", 2)``; a value that is no Python literal is text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    try:
        return name.replace(".", "__"), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.replace(".", "__"), value


COMMANDS = [fit_command, predict_command, evaluate_command, export_command, import_command]
