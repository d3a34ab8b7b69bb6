"""The demonstration: methods on data that ships, compared on the same rows; the best one drawn, reported and saved.

Nothing here lists methods by hand: what registers as featured appears, or all that registers. Whatever is chosen is
chosen by cross-validation inside the training rows; the test rows only tell how good the choice was.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.model_selection import train_test_split

import bnplug
from bnplug import datasets
from bnplug.cli._terminal import ProgressLine
from bnplug.errors import one_line
from bnplug.experiments import BASELINES
from bnplug.experiments._inputs import SplitData, prepare, resolve_methods, split_data
from bnplug.experiments._runner import Job, interrupts_raised, run_job, run_unordered
from bnplug.experiments.storage import Record
from bnplug.hooks import expressions, recipes, registry
from bnplug.hooks.descriptors import ClassifierMethod, Kind
from bnplug.inference.explain import PRIOR
from bnplug.show import drawing
from bnplug.table.folds import split_rows

Say = Callable[[str], Any]

#: The data sets of the demonstration, by name, and those that only all methods run on.
DATASETS, MORE = ("tic-tac-toe", "breast-cancer", "wine"), ("iris",)

# Columns of a line of text.
_WIDTH = 100

# The folds of the validation: of the few methods, and of all, which one split must do for.
_FOLDS, _FOLDS_OF_ALL = 3, 1


class Result(NamedTuple):
    """One method on one data set: accuracy and mean log P(class) in validation, accuracy on the test rows."""

    method: str
    validation: float
    log_probability: float
    test: float
    n_parameters: float
    seconds: float
    error: str


def run(output: Path, say: Say = print, everything: bool = False, n_jobs: int | None = -1) -> None:
    """Compare the featured methods, or all, on each data set; write the best network to the folder `output`."""
    output.mkdir(parents=True, exist_ok=True)
    methods = resolve_methods(expressions.everything() if everything else featured())
    _introduce(methods, everything, say)
    loaded = [datasets.load(name) for name in (*DATASETS, *(MORE if everything else ()))]
    data = [_split(one, _FOLDS_OF_ALL if everything else _FOLDS) for one in loaded]
    with ProgressLine(len(methods) * len(data)) as progress:
        told = progress.aside(say)
        for one, results in _compare(methods, data, n_jobs, progress):
            _tell(one, results, told)
            _keep(one, results, methods, output / one.name, told)
    last = loaded[len(DATASETS) - 1]
    say(f"\nYour turn: {_command()} fit {output / last.name}.csv --target {last.y.name} --method TAN -o my-model")


def featured() -> list[str]:
    """Return the methods that a newcomer should know: those that are registered as such, and the rival."""
    named = [one.recipe.name for one in recipes.availabilities() if one.available and one.recipe.featured]
    classifiers = (one for one in registry.methods(Kind.CLASSIFIER) if isinstance(one, ClassifierMethod))
    rivals = [name for name, baseline in BASELINES.items() if baseline.featured]
    return [*named, *(one.name for one in classifiers if one.featured), *rivals]


def _introduce(methods: Mapping[str, Any], everything: bool, say: Say) -> None:
    """Say what the figures are and, of a few methods, what each is."""
    known = {one.name: one.summary for kind in (Kind.RECIPE, Kind.CLASSIFIER) for one in registry.methods(kind)}
    width = max(map(len, methods))
    say(f"{len(methods)} classifiers. Validation, inside the training rows, chooses the best one; test rows only judge")
    say("the choice. log P: the mean log P(class) in validation. seconds: to learn once.")
    for name in () if everything else methods:
        say(f"  {name:<{width}}  {one_line(known.get(name, 'Of scikit-learn, for comparison.'), _WIDTH - 4 - width)}")


def _split(data: datasets.Dataset, n_folds: int) -> SplitData:
    """Hold a third of the rows out for the test, and split the others for validation; the test is the last fold."""
    rows = np.arange(len(data.X))
    train, test = train_test_split(rows, test_size=1 / 3, stratify=data.y, random_state=0)
    labels = data.y.iloc[train]
    if n_folds == 1:
        inner = [train_test_split(np.arange(len(train)), test_size=1 / 3, stratify=labels, random_state=0)]
    else:
        inner = split_rows(labels, n_folds, random_state=0)
    folds = [*((train[fitted], train[left_out]) for fitted, left_out in inner), (train, test)]
    return split_data([data], folds, "ignore", 0, None)[0]


def _compare(
    methods: Mapping[str, Any], data: Sequence[SplitData], n_jobs: int | None, progress: ProgressLine
) -> Iterator[tuple[SplitData, list[Result]]]:
    """Yield each data set, as soon as it is done, with the results of all methods, best in validation first."""
    # Few processes compile the same if a task is one method on one data set.
    tasks = [[Job(one, name, model, fold, "ignore", 0, False) for fold in one.splits]
             for one in data for name, model in methods.items()]  # fmt: skip
    by_name: dict[str, tuple[SplitData, list[Result]]] = {one.name: (one, []) for one in data}
    calls = (joblib.delayed(_run)(jobs) for jobs in tasks)
    with closing(run_unordered(calls, n_jobs, batch_size=1)) as running:
        for records in running:
            progress.advance(f"{records[0]['dataset']}, {records[0]['method']}")
            one, results = by_name[records[0]["dataset"]]
            results.append(_result(records))
            if len(results) == len(methods):
                yield (
                    one,
                    sorted(results, key=lambda r: (not r.error, *np.nan_to_num(r[1:3], nan=-np.inf)), reverse=True),
                )


def _run(jobs: Sequence[Job]) -> list[Record]:
    return [run_job(job, sequential=True) for job in jobs]


def _result(records: Sequence[Record]) -> Result:
    """Sum up the folds of one method: the last is the test."""
    validation, test = [record["values"] for record in records[:-1]], records[-1]["values"]
    error = next((record["error"] for record in records if record["error"]), "")
    # As floats, None becomes NaN.
    means = [np.mean(np.array([values[name] for values in validation], dtype=float)) for name in ("accuracy", "cll")]
    tested = np.array([test[name] for name in ("accuracy", "n_parameters", "fit_seconds")], dtype=float)
    return Result(records[0]["method"], means[0], means[1], tested[0], tested[1], tested[2], error)


def _tell(data: SplitData, results: Sequence[Result], say: Say) -> None:
    train, test = list(data.splits.values())[-1]
    width = max(len(result.method) for result in results)
    shape = f"{len(data.X)} rows, {data.X.shape[1]} features, {len(data.classes)} classes"
    say(f"\n{data.name}: {shape}; {len(train)} rows to learn from, {len(test)} to test on")
    say(f"  {'method':{width}}  {'validation':>11} {'test':>6} {'log P':>7} {'parameters':>11} {'seconds':>8}")
    for result in results:
        if result.error:
            say(f"  {result.method:{width}}  failed: {one_line(result.error, _WIDTH - 12 - width)}")
            continue
        figures = f"{result.validation:11.3f} {result.test:6.3f} {_figure(result.log_probability, '7.3f')}"
        say(f"  {result.method:{width}}  {figures} {_figure(result.n_parameters, '11.0f')} {result.seconds:8.2f}")


def _figure(value: float, form: str) -> str:
    return " " * int(form.partition(".")[0]) if np.isnan(value) else f"{value:{form}}"


def _keep(data: SplitData, results: Sequence[Result], methods: Mapping[str, Any], path: Path, say: Say) -> None:
    """Learn the network that is best in validation on the training rows; draw, report, save and export it."""
    data.X.assign(**{str(data.y.name): data.y}).to_csv(path.with_suffix(".csv"), index=False)
    is_network = {name: isinstance(model, bnplug.BayesianNetworkClassifier) for name, model in methods.items()}
    networks = [result for result in results if is_network[result.method] and not result.error]
    if not networks:
        say("  no network to keep")
        return
    train, test = list(data.splits.values())[-1]
    X, y = data.X.iloc[train], data.y.iloc[train]
    best, first = networks[0], results[0]
    better = "" if first is best else f" (after {first.method})"
    with warnings.catch_warnings(), interrupts_raised():
        warnings.simplefilter("ignore")
        model = prepare(methods[best.method], X, data.categorical_features, "ignore", 0, sequential=False).fit(X, y)
        say(f"  best network by validation{better}: {best.method}, on the test rows {best.test:.3f}")
        say(f"  {_explanation(model, data.X.iloc[test[:1]])}")
        kept = _files(model, data.X.iloc[test], data.y.iloc[test], path)
    say(f"  {path}: {', '.join(kept)}")


def _files(model: Any, X: Any, y: Any, path: Path) -> list[str]:
    """Draw, report, save and export a model; return the files, or why there is none."""
    model.save(path)
    assert (bnplug.load(path).predict_proba(X) == model.predict_proba(X)).all()
    model.report(path.with_suffix(".html"), X, y)
    kept = ["the model", ".csv (data)", ".html (report)"]
    try:
        drawing.save_picture(path.with_suffix(".png"), model.tables_.names, model.tables_.edges, model.target_)
        kept.append(".png (graph)")
    except ImportError as error:
        kept.append(f"no picture: {one_line(error)}")
    try:
        model.to_bif(path.with_suffix(".bif"))
        kept.append(".bif (network)")
    except bnplug.NotRepresentableError:
        kept.append("no .bif, because these parameters do not form a network")
    return kept


def _explanation(model: Any, row: Any) -> str:
    """Say which class is predicted for a row, and which features contribute most to that."""
    label = model.predict(row)[0]
    explained = model.explain(row)
    reasons = explained[(explained["class"] == label) & (explained["feature"] != PRIOR)]
    top = reasons.reindex(reasons["contribution"].abs().sort_values(ascending=False).index).head(2)
    listed = ", ".join(f"{reason.feature} {reason.contribution:+.1f}" for reason in top.itertuples())
    told = f"row {row.index[0]} is {label}, P = {model.predict_proba(row).max():.3f}; to its log odds add {listed}, ..."
    return one_line(told, _WIDTH - 2)


def _command() -> str:
    """Return how this program is called from here."""
    if shutil.which("bnplug"):
        return "bnplug"
    return sys.argv[0] if Path(sys.argv[0]).name == "bnplug" else f"{sys.executable} -m bnplug"
