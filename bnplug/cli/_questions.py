"""The commands of ``bnplug`` that query a model or show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

import bnplug
from bnplug.cli import _reading
from bnplug.cli._reading import PATH, Given
from bnplug.errors import article, printable

if TYPE_CHECKING:
    import pandas as pd

# How many rows of a long answer are printed.
_PRINTED = 20


@click.command("query")
@_reading.model_argument
@click.argument("variables", nargs=-1)
@click.option("--given", multiple=True, metavar="NAME=VALUE", help="What is known.")
@click.option(
    "--soft", multiple=True, metavar="NAME=STATE:LIKELIHOOD,...", help="Soft evidence, of all states: b=yes:.8,no:.2."
)
@click.option("--most-probable", "question", flag_value="most-probable", help="The most probable joint state of all.")
@click.option("--sensitivity", "question", flag_value="sensitivity", help="How the answer moves with each parameter.")
@click.option("--conflict", "question", flag_value="conflict", help="Whether what is known goes together.")
@_reading.target_option
@click.option("-o", "--output", type=PATH, help="A CSV file; by default a table is printed.")
def query_command(
    model_path: Path,
    variables: Sequence[str],
    given: Sequence[str],
    soft: Sequence[str],
    question: str | None,
    target: str | None,
    output: Path | None,
) -> None:
    """Print the joint probabilities of VARIABLES, or of the class. --given and --soft are the evidence."""
    import pandas as pd

    # A plugin's classifier may have the methods of a network, as mixtures do.
    model = _reading.open_network(model_path, target, (question or "query").replace("-", "_"), "encoder_", "schema_")
    known = _evidence(model, given, soft)
    if question in ("most-probable", "conflict") and variables:
        raise click.UsageError(f"--{question} is not about {' '.join(variables)}, but about everything: leave it out")
    if question == "most-probable":
        states = model.most_probable(known)
        answer = pd.DataFrame({"variable": list(states), "state": pd.Series(list(states.values()), dtype=object)})
    elif question == "conflict":
        answer = pd.DataFrame({"conflict": [model.conflict(known)]})
    elif question == "sensitivity":
        if len(variables) > 1:
            raise click.UsageError(f"--sensitivity is about one variable, not about {' '.join(variables)}")
        answer = model.sensitivity(known, *variables)
        given_texts = [", ".join(f"{name}={state}" for name, state in each.items()) for each in answer["given"]]
        answer = answer.assign(given=given_texts)
    else:
        answer = model.query(list(variables) or model.target_, known)
    _write(answer, output)


@click.command("next")
@_reading.model_and_data()
@click.option("--cost", "costs", multiple=True, metavar="NAME=COST", help="What a feature costs, of all features.")
@click.option("--top", type=click.IntRange(min=1), help="How many features of each row; by default all.")
@_reading.names_option("--id", "ids", "Columns to repeat before the answers: keys.")
@click.option("-o", "--output", type=PATH, help="A CSV file; by default a table is printed.")
def next_command(given: Given, costs: Sequence[str], top: int | None, ids: Sequence[str], output: Path | None) -> None:
    """Rank the missing features of each row by what they would tell.

    That is the expected fall of the entropy of the class, in nats. Rows are numbered from 0; - is standard input.
    """
    import pandas as pd

    model = _reading.open_network(given.model_path, given.target, "what_next", "encoder_", "schema_")
    prices = dict(_cost(text, model) for text in costs) if costs else None
    rows = given.rows(model, ids)
    answer = model.what_next(rows.X, prices)
    if answer.empty and output is None:
        click.echo("nothing to ask: every row has all features")
        return
    if top is not None:
        answer = answer.groupby("row", sort=False).head(top)
    keys = rows.keys.loc[answer["row"]].reset_index(drop=True)
    _write(pd.concat([keys, answer.reset_index(drop=True)], axis=1), output)


def _write(answer: pd.DataFrame, output: Path | None) -> None:
    """Print an answer as a table, or write it as CSV."""
    from bnplug.sources.spreadsheets import to_csv

    if output is not None:
        _reading.write_output(output, to_csv(answer))
        return
    shown = answer.head(_PRINTED) if len(answer) > 2 * _PRINTED else answer
    text = shown.map(lambda cell: cell if isinstance(cell, float) else printable(cell)).rename(columns=printable)
    click.echo(text.to_string(index=False))
    if len(shown) < len(answer):
        click.echo(f"... {len(answer) - len(shown):,} more; -o FILE writes all of them")


def _evidence(model: Any, given: Iterable[str], soft: Iterable[str]) -> dict[str, Any]:
    """Return what options say is known, with values as the model knows them."""
    known: dict[str, Any] = {}
    for option, texts, read in (("--given", given, _value), ("--soft", soft, _likelihoods)):
        for text in texts:
            name, value = _named(text, option, model)
            if name in known:
                raise click.UsageError(f"{option} {text}: {name!r} is given twice")
            known[name] = read(model, name, value)
    return known


def _named(text: str, option: str, model: Any) -> tuple[str, str]:
    """Split NAME=VALUE; the name of a variable may contain an equals sign, too."""
    places = [i for i, letter in enumerate(text) if letter == "="]
    if not places or places[0] == 0:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
    known = {*model.schema_.states, *model.encoder_.columns}
    end = next((i for i in places if text[:i] in known), places[0])
    return text[:end], text[end + 1 :]


def _value(model: Any, name: str, text: str) -> Any:
    """Return what a text means as a value of a variable; what is empty is missing."""
    import pandas as pd

    from bnplug.classifier._rows import as_states

    if text == "":
        return None
    if name in model.encoder_.dates:
        return pd.to_datetime(text)
    if name in model.encoder_.numeric or name in model.encoder_.whole:
        try:
            return float(text)
        except ValueError:
            return text
    return as_states(pd.Series([text]), model.schema_.states.get(name, ())).iloc[0]


def _likelihoods(model: Any, name: str, text: str) -> dict[Any, float]:
    try:
        pairs = [pair.rsplit(":", 1) for pair in _reading.listed([text])]
        likelihoods = {state: float(weight) for state, weight in pairs}
    except ValueError:
        likelihoods = {}
    if not likelihoods:
        raise click.BadParameter(f"{name}={text} is not NAME=STATE:LIKELIHOOD,...", param_hint="--soft")
    return {_value(model, name, state): weight for state, weight in likelihoods.items()}


def _cost(text: str, model: Any) -> tuple[str, float]:
    name, cost = _named(text, "--cost", model)
    try:
        return name, float(cost)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not NAME=COST", param_hint="--cost") from None


@click.command("show")
@_reading.model_argument
@_reading.target_option
@click.option("--plot", type=PATH, metavar="FILE", help="Draw the graph: .svg, .png, .pdf, .dot, .mmd.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Show this node's table, however large.")
@click.option("--dot", "language", flag_value="dot", help="Print the graph alone, in the language of Graphviz.")
@click.option("--mermaid", "language", flag_value="mermaid", help="Print the graph alone, in the language of Mermaid.")
def show_command(
    model_path: Path, target: str | None, plot: Path | None, nodes: Sequence[str], language: str | None
) -> None:
    """Show MODEL: its graph, the Markov blanket of the class, tables."""
    from bnplug.show.drawing import save_picture
    from bnplug.show.summary import blanket_to_mark, to_text

    model = _reading.open_model(model_path, target)
    is_network = isinstance(model, bnplug.BayesianNetworkClassifier)
    if not (is_network or plot or nodes or language):
        click.echo(f"{_reading.described(model)}\nclasses: {', '.join(map(printable, model.classes_))}")
        return
    if not is_network and plot and hasattr(model, "plot") and not (nodes or language):
        model.plot(plot)
        click.echo(f"{_reading.described(model)}\n\ndrawn in {plot}")
        return
    _reading.check_able(model, model_path)
    if language is not None:
        click.echo(model.to_dot() if language == "dot" else model.to_mermaid())
        return
    click.echo(to_text(model, nodes))
    if plot is not None:
        save_picture(plot, model.tables_.names, model.tables_.edges, model.target_, blanket_to_mark(model))
        click.echo(f"\ndrawn in {plot}")


@click.command("report")
@_reading.model_and_data(required=False)
@_reading.rows_option("the most uncertain first, explained")
@click.option("-o", "--output", required=True, type=PATH, help="The HTML file.")
def report_command(given: Given, rows: int, output: Path) -> None:
    """Write an HTML page on MODEL and its predictions for DATA. The page is one file; - is standard input."""
    _reading.check_rows_option(rows, given.data)
    model = _reading.open_network(given.model_path, given.target, "report")
    labelled = given.labelled(model) if given.data else ()
    options = {"rows": rows} if rows else {}
    if rows and "rows" not in signature(model.report).parameters:
        raise ValueError(
            f"{given.model_path}: the report of {article(type(model).__name__)} cannot explain rows; omit --rows"
        )
    # A report is written to a file, and where this one goes need not be a file.
    with TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        model.report(page, *labelled, **options)
        text = page.read_text(encoding="utf-8")
    _reading.write_output(output, text)


@click.command("explore")
@_reading.model_and_data(required=False)
@click.option("--features", type=int, help="Show only so many features, those that tell most of the class.")
@_reading.rows_option("from the first")
@click.option("-o", "--output", required=True, type=PATH, help="The HTML file.")
def explore_command(given: Given, features: int | None, rows: int, output: Path) -> None:
    """Write an interactive HTML page on MODEL. The page is one file; --rows adds rows of DATA to load in it."""
    from bnplug.classifier._rows import Rows

    _reading.check_rows_option(rows, given.data)
    model = _reading.open_network(given.model_path, given.target, "explore")
    shown = given.rows(model) if given.data else Rows()
    _reading.write_output(output, model.explore(None, shown.X, shown.y, features, rows).html)
    if given.data and not rows:
        click.echo("The page contains no rows of DATA. Pass --rows 20 to add the first 20.", err=True)


COMMANDS = [query_command, next_command, show_command, report_command, explore_command]
