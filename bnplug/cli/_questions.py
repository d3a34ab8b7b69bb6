"""The commands of ``bnplug`` that ask a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bnplug.cli._errors import one_line_errors
from bnplug.cli._opening import model_argument, open_network, open_with, target_option, write_output
from bnplug.cli._reading import Reading, data_argument, listed, read_rows, reading_options
from bnplug.errors import printable

if TYPE_CHECKING:
    import pandas as pd

# How many rows of a long answer are printed.
_PRINTED = 20


@click.command("query")
@model_argument
@click.argument("variables", nargs=-1)
@click.option("--given", multiple=True, metavar="NAME=VALUE", help="What is known.")
@click.option(
    "--soft", multiple=True, metavar="NAME=STATE:LIKELIHOOD,...", help="Soft evidence, of all states: b=yes:.8,no:.2."
)
@click.option("--most-probable", "question", flag_value="most-probable", help="The most probable joint state of all.")
@click.option("--sensitivity", "question", flag_value="sensitivity", help="How the answer moves with each parameter.")
@click.option("--conflict", "question", flag_value="conflict", help="Whether what is known goes together.")
@target_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A CSV file; by default a table is printed.")
@one_line_errors
def query_command(
    model_path: Path,
    variables: Sequence[str],
    given: Sequence[str],
    soft: Sequence[str],
    question: str | None,
    target: str | None,
    output: Path | None,
) -> None:
    """Ask MODEL for the probabilities of VARIABLES, jointly, or else of the class, given what is known."""
    import pandas as pd

    # A mixture of networks, say, is asked as one of them is.
    model = open_with(model_path, target, (question or "query").replace("-", "_"), "intake_", "schema_")
    known = _evidence(model, given, soft)
    if question in ("most-probable", "conflict") and variables:
        raise click.UsageError(f"--{question} is not about {' '.join(variables)}, but about everything: leave it out")
    if question == "most-probable":
        found = model.most_probable(known)
        answer = pd.DataFrame({"variable": list(found), "state": pd.Series(list(found.values()), dtype=object)})
    elif question == "conflict":
        answer = pd.DataFrame({"conflict": [model.conflict(known)]})
    elif question == "sensitivity":
        if len(variables) > 1:
            raise click.UsageError(f"--sensitivity is about one variable, not about {' '.join(variables)}")
        answer = model.sensitivity(known, *variables)
        answer = answer.assign(
            given=[", ".join(f"{name}={state}" for name, state in own.items()) for own in answer["given"]]
        )
    else:
        answer = model.query(list(variables) or model.target_, known)
    _write(answer, output)


@click.command("next")
@model_argument
@data_argument
@reading_options
@target_option
@click.option("--cost", "costs", multiple=True, metavar="NAME=COST", help="What a feature costs, of all features.")
@click.option("--top", type=click.IntRange(min=1), help="How many features of each row; by default all.")
@click.option("--id", "ids", multiple=True, metavar="NAMES", help="Columns to repeat before the answers: keys.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A CSV file; by default a table is printed.")
@one_line_errors
def next_command(
    model_path: Path,
    data: Path,
    reading: Reading,
    target: str | None,
    costs: Sequence[str],
    top: int | None,
    ids: Sequence[str],
    output: Path | None,
) -> None:
    """Say what to ask next for the rows of DATA (- is standard input): what each unknown feature would tell.

    That is the expected fall of the entropy of the class, in nats; rows are numbered from 0.
    """
    import pandas as pd

    model = open_network(model_path, target)
    prices = dict(_cost(text, model) for text in costs) if costs else None
    rows = read_rows(model, data, reading, target, listed(ids))
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
    from bnplug.exchange.spreadsheets import to_csv

    if output is not None:
        write_output(output, to_csv(answer))
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
            name, value = _named(text, option, _is_known(model))
            if name in known:
                raise click.UsageError(f"{option} {text}: {name!r} is given twice")
            known[name] = read(model, name, value)
    return known


def _is_known(model: Any) -> Callable[[str], bool]:
    return lambda name: name in model.schema_.states or name in model.intake_.columns


def _named(text: str, option: str, is_name: Callable[[str], bool]) -> tuple[str, str]:
    """Split NAME=VALUE, where the name of a variable may have such a sign too."""
    places = [i for i, letter in enumerate(text) if letter == "="]
    if not places or places[0] == 0:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
    end = next((i for i in places if is_name(text[:i])), places[0])
    return text[:end], text[end + 1 :]


def _value(model: Any, name: str, text: str) -> Any:
    """Return what a text means as a value of a variable; what is empty is missing."""
    import pandas as pd

    from bnplug.classifier._rows import as_states

    if text == "":
        return None
    if name in model.intake_.dates:
        return pd.to_datetime(text)
    if name in model.intake_.numeric or name in model.intake_.whole:
        try:
            return float(text)
        except ValueError:
            return text
    return as_states(pd.Series([text]), model.schema_.states.get(name, ())).iloc[0]


def _likelihoods(model: Any, name: str, text: str) -> dict[Any, float]:
    pairs = [pair.rpartition(":") for pair in listed([text])]
    try:
        weights = [float(weight) for _, _, weight in pairs]
    except ValueError:
        weights = []
    if not weights or not all(colon for _, colon, _ in pairs):
        raise click.BadParameter(f"{name}={text} is not NAME=STATE:LIKELIHOOD,...", param_hint="--soft")
    return {_value(model, name, state): weight for (state, _, _), weight in zip(pairs, weights, strict=True)}


def _cost(text: str, model: Any) -> tuple[str, float]:
    name, cost = _named(text, "--cost", _is_known(model))
    try:
        return name, float(cost)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not NAME=COST", param_hint="--cost") from None


COMMANDS = [query_command, next_command]
