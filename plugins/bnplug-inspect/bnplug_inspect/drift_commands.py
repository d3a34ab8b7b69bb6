"""The commands ``bnplug drift`` and ``bnplug adjust-prior``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bnplug.cli import Given, model_and_data, open_model
from bnplug_inspect.drifting import drift
from bnplug_inspect.prevalence import adjust_prior, estimate_prevalence

_PATH = click.Path(path_type=Path)


@click.command("drift")
@model_and_data()
@click.option(
    "--level", type=click.FloatRange(0, 1, True, True), default=0.05, show_default=True, help="The test level."
)
@click.option("--html", type=_PATH, metavar="FILE", help="Write the report as an HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--fail-on-alarm", is_flag=True, help="End with exit code 1 if any test raises an alarm.")
def drift_command(given: Given, level: float, html: Path | None, as_json: bool, fail_on_alarm: bool) -> None:
    """Compare the rows of DATA with the rows that MODEL was trained on.

    The classes are compared too if DATA has their column. - is standard input.
    """
    model = open_model(given.model_path, given.target)
    rows = given.rows(model)
    report = drift(model, rows.X, rows.y, level=level)
    if html is not None:
        report.report(html)
    if as_json:
        click.echo(json.dumps(report.to_dict(), indent=2))
    else:
        click.echo(report.to_text())
        if html is not None:
            click.echo(f"\n{html}: {html.stat().st_size:,} bytes")
    if fail_on_alarm and report.alarm:
        raise SystemExit(1)


@click.command("adjust-prior")
@model_and_data(required=False)
@click.option(
    "--prevalence",
    "given_prevalence",
    multiple=True,
    metavar="CLASS=SHARE",
    help="The new prevalence of a class, for every class; instead of DATA.",
)
@click.option("-o", "--output", required=True, type=_PATH, help="The folder of the adjusted model.")
def adjust_prior_command(given: Given, given_prevalence: Sequence[str], output: Path) -> None:
    """Adjust MODEL to another prevalence of the classes, and save it.

    The prevalence is given, or estimated from the rows of DATA, whose classes are not used. P(features | class) does
    not change.
    """
    if bool(given_prevalence) == bool(given.data):
        raise click.UsageError("pass either DATA, to estimate the prevalence from, or --prevalence for every class")
    model = open_model(given.model_path, given.target)
    prevalence: Any
    if given.data:
        prevalence = estimate_prevalence(model, given.rows(model).X)
    else:
        prevalence = dict(_share(text, model) for text in given_prevalence)
    adjusted = adjust_prior(model, prevalence)
    adjusted.save(output)
    shares = ", ".join(f"{label} {prevalence[label]:.4f}" for label in adjusted.classes_.tolist())
    click.echo(f"{output}: {adjusted.target_!r} with the prevalence {shares}")


def _share(text: str, model: Any) -> tuple[Any, float]:
    label, _, share = text.rpartition("=")
    known = {str(state): state for state in model.classes_.tolist()}
    try:
        return known.get(label, label), float(share)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not CLASS=SHARE", param_hint="--prevalence") from None
