"""The commands of ``bnplug`` that make a model or work with one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import bnplug
from bnplug.cli_errors import one_line_errors


@click.command("fit")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="The column that holds the class.")
@click.option("--recipe", help="A named composition; other options win over it.")
@click.option("--structure", help="A structure learner.  [default: tan]")
@click.option("--parameters", help="A parameter learner.  [default: ml]")
@click.option("--discretizer", help="mdl, quantile, uniform or none.  [default: mdl]")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter: structure.k=2, missing=drop."
)
@click.option("--na", multiple=True, help="Text that stands for a missing value, besides an empty field.")
@click.option("--random-state", type=int, help="A seed, for methods that draw at random.")
@click.option("--n-jobs", type=int, help="Threads or processes.")
@click.option("-v", "--verbose", count=True, help="Show progress.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The model's folder.")
@one_line_errors
def fit_command(
    data: Path,
    target: str,
    recipe: str | None,
    settings: Sequence[str],
    na: Sequence[str],
    output: Path,
    **options: Any,
) -> None:
    """Learn a classifier from DATA (CSV or Parquet) and save it to a folder."""
    from bnplug.data_files import read_data
    from bnplug.frames import to_frame

    params = {name: value for name, value in options.items() if value is not None}
    model = bnplug.recipe(recipe, **params) if recipe else bnplug.BayesianNetworkClassifier(**params)
    model.set_params(**dict(_setting(text) for text in settings))
    frame = to_frame(read_data(data, missing=na), str(data))
    if target not in frame.columns:
        raise ValueError(f"{data}: target {target!r} is not a column; there are {list(frame.columns)}")
    model.fit(frame.drop(columns=target), frame[target])
    model.save(output)
    edges = len(model.tables_.edges)
    click.echo(
        f"{output}: {type(model).__name__} for {target!r}, {len(frame)} rows, "
        f"{model.n_features_in_} features, {edges} edges, {model.tables_.n_parameters} parameters"
    )


@click.command("predict")
@click.argument("model_dir", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--na", multiple=True, help="Text that stands for a missing value, besides an empty field.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A CSV file; by default standard output.")
@one_line_errors
def predict_command(model_dir: Path, data: Path, na: Sequence[str], output: Path | None) -> None:
    """Predict the rows of DATA with the model in DIR: the class, and each class's probability."""
    import pandas as pd

    from bnplug.files import write_atomically

    model = bnplug.load(model_dir)
    probabilities = model.predict_proba(_read_features(model, data, na))
    result = pd.DataFrame({model.target_: model.classes_[probabilities.argmax(axis=1)]})
    for label, column in zip(model.classes_, probabilities.T, strict=True):
        result[f"P({label})"] = column
    if output is None:
        click.echo(result.to_csv(index=False), nl=False)
    else:
        write_atomically(output, result.to_csv(index=False))


def _read_features(model: Any, data: Path, na: Sequence[str]) -> Any:
    """Read the rows to predict: text stays text where the model knows text; the class, if there, is left out."""
    from bnplug.data_files import read_data

    text = [name for name, states in model.schema_.states.items() if all(isinstance(s, str) for s in states)]
    frame = read_data(data, text=[name for name in text if name not in model.intake_.numeric], missing=na)
    return frame.drop(columns=model.target_, errors="ignore")


def _setting(text: str) -> tuple[str, Any]:
    """``structure.k=2`` as ``("structure__k", 2)``; a value that is no Python literal is text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    try:
        return name.replace(".", "__"), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.replace(".", "__"), value


COMMANDS = [fit_command, predict_command]
