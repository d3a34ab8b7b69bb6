"""What the paper leaves open: a penalty towards the generative classifier, fewer weights, and deeper networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pandas as pd

from bnplug_papers.kit import Page, Results
from bnplug_papers.zaidi2017.protocol import BEYOND, MOST_NUMBERS, ROUNDS, STRUCTURES
from bnplug_papers.zaidi2017.tables import (
    LEVEL,
    averaged,
    count_wins,
    geometric_means,
    tell_left_out,
    tell_rounds,
    wide,
)

# The strengths that `l2="cv"` chooses from.
_L2_GRID = tuple(10.0**exponent for exponent in range(4, -4, -1))
_FIGURES = {"zero_one": "0-1 loss", "rmse": "RMSE"}
_LEVELS = {1: "attribute", 2: "value", 3: "value and class", 4: "value, class and parent value"}
_STOPS = f"at most {BEYOND['max_iter']} iterations and a tolerance of {BEYOND['tol']:g}".replace("e-0", "e-")
_STRENGTHS, _SUFFIXES = ("", "w lambda", "w(I)"), [f"w level {level}" for level in _LEVELS]


def fill(page: Page, results: Results, big: Sequence[str]) -> None:
    """Add what is beyond the paper, as far as there are results."""
    parts = {part: results.frame(part) for part in ("lambda", "levels", "KDB-2 and KDB-3")}
    order = results.frame("data sets").sort_values("rows", kind="stable")["dataset"].tolist()
    # What is compared over data sets needs two of them.
    several = {part: len(frame) and frame["dataset"].nunique() > 1 for part, frame in parts.items()}
    if several["lambda"]:
        _add_strengths(page, parts["lambda"], order, big)
    if several["levels"]:
        _add_levels(page, parts["levels"], order, big)
    if all(several.values()):
        _add_depths(page, parts, order, big)


def _rounds(*frames: pd.DataFrame) -> list[int]:
    """Return how many rounds each data set and structure of some parts has."""
    return [int(count) for frame in frames for count in frame.groupby(["dataset", "structure"])["round"].nunique()]


def _on(*frames: pd.DataFrame) -> str:
    """Say on how many rounds some parts are, where these are not all."""
    told = tell_rounds(_rounds(*frames))
    return f" On {told}." if told else ""


def _add_wins(
    page: Page, tables: Callable[[str], pd.DataFrame], pairs: Sequence[tuple[str, str]], big: Sequence[str], on: str
) -> None:
    """Add a table of who has the smaller figure how often, for each figure, pair and group of data sets."""
    rows = []
    for figure, label in _FIGURES.items():
        table = tables(figure)
        groups = {"All": table, "Big": table[table.index.isin(big)]}
        for (first, second), (group, group_table) in product(pairs, groups.items()):
            if len(group_table[[first, second]].dropna()) > 1:
                won = count_wins(group_table, first, second)
                counts = f"{won.win}/{won.draw}/{won.loss}"
                rows.append((label, group, f"{first} vs {second}", counts, f"{won.p_value:.3f}"))
    columns = ["measure", "data sets", "comparison", "win/draw/loss", "p"]
    page.table(pd.DataFrame(rows, columns=columns), f"Data sets that the first wins, draws and loses; sign test.{on}")


def _add_strengths(page: Page, frame: pd.DataFrame, order: Sequence[str], big: Sequence[str]) -> None:
    page.section("Beyond the paper: a penalty that draws w to 1")
    page.text(
        "The paper's section 5.2: with lambda / 2 times the squared distance of the weights from 1, lambda goes "
        "from the discriminative end (0) to the generative one, and a value between them, for instance by "
        "cross-validation, may attain better performance than both. NBw lambda is w(I) with lambda chosen from "
        f"{', '.join(f'{strength:g}' for strength in _L2_GRID)} by the NLL of five folds of the training rows "
        f'(`l2="cv", l2_center=1`); all w with {_STOPS}.'
    )

    def tables(figure: str) -> pd.DataFrame:
        return wide(frame, figure, _STRENGTHS, order)

    pairs = [(f"{name}w lambda", other) for name in STRUCTURES for other in (name, f"{name}w(I)")]
    _add_wins(page, tables, pairs, big, _on(frame))
    means, left_out = _means(frame, _STRENGTHS, order)
    caption = f"Geometric means, in times of the generative; in brackets over how many sets. {left_out}{_on(frame)}"
    page.table(means, caption, index="method")
    won = [count_wins(tables(figure), *pair) for figure in _FIGURES for pair in pairs]
    verdicts = [wins.win > wins.loss and wins.p_value <= LEVEL for wins in won]
    page.claim(
        "Beyond the paper: lambda by cross-validation, towards w = 1, is better than both ends, in 0-1 loss and RMSE.",
        all(verdicts),
        f"significantly in {sum(verdicts)} of {len(verdicts)} comparisons over all {frame['dataset'].nunique()} sets",
        (min(_rounds(frame)), ROUNDS), "rounds",
    )  # fmt: skip


def _means(frame: pd.DataFrame, suffixes: Sequence[str], order: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Return geometric means of both figures in times of the first method of each structure, and what RMSE's lack."""
    columns: dict[str, pd.Series[str]] = {}
    for figure, label in _FIGURES.items():
        table = wide(frame, figure, suffixes, order)
        tables = [table[[f"{structure}{suffix}" for suffix in suffixes]].dropna() for structure in STRUCTURES]
        counted = [averaged(part, figure) for part in tables]
        means = [geometric_means(part, str(part.columns[0])).map(f"{{:.3f}} ({len(part)})".format) for part in counted]
        columns[label] = pd.concat(means)
    return pd.DataFrame(columns), tell_left_out(tables)


def _add_levels(page: Page, frame: pd.DataFrame, order: Sequence[str], big: Sequence[str]) -> None:
    page.section("Beyond the paper: weights of levels 1 to 4")
    told = ", ".join(f"level {level} has a weight for each {what}" for level, what in _LEVELS.items())
    page.text(f"w(I) without a penalty, with {_STOPS}: {told} (eqs. 21 to 18).")
    pairs = [(f"{name}w level {level}", f"{name}w level 4") for name in STRUCTURES for level in (1, 2, 3)]
    _add_wins(page, lambda figure: wide(frame, figure, _SUFFIXES, order), pairs, big, _on(frame))
    means, left_out = _means(frame, _SUFFIXES, order)
    means["iterations"] = wide(frame, "n_iter", _SUFFIXES, order).mean().map("{:.0f}".format)
    caption = "Geometric means, in times of level 1; in brackets over how many sets; and the mean number of iterations."
    page.table(means, f"{caption} {left_out}{_on(frame)}", index="method")


def _add_depths(page: Page, parts: dict[str, pd.DataFrame], order: Sequence[str], big: Sequence[str]) -> None:
    page.section("Beyond the paper: KDB-2 and KDB-3")
    frame = parts["KDB-2 and KDB-3"]
    sizes = frame[frame["numbers"] > MOST_NUMBERS]
    large = sorted({f"{row.dataset} ({row.structure})" for row in sizes.itertuples()})
    left_out = f"More than {MOST_NUMBERS} numbers were not learned: {', '.join(large)}." if large else ""
    page.text(
        f"Generative, and with w(I) without a penalty, with {_STOPS}. Off C1 structures w is still convex in its "
        f"weights. {left_out}"
    )
    pairs = [("KDB-2w(I)", "KDB-1w(I)"), ("KDB-3w(I)", "KDB-1w(I)"), ("KDB-2w(I)", "KDB-2"), ("KDB-3w(I)", "KDB-3")]
    on = _on(parts["lambda"], frame)
    _add_wins(page, lambda figure: _depths(parts, figure, order), pairs, big, on)
    columns = {}
    for figure, label in _FIGURES.items():
        table = averaged(_depths(parts, figure, order).dropna(), figure)
        for group, chosen in (("All", table), ("Big", table[table.index.isin(big)])):
            if len(chosen):
                columns[f"{label}, {group} ({len(chosen)})"] = geometric_means(chosen, "KDB-1")
    small = tell_left_out([_depths(parts, "rmse", order).dropna()])
    caption = f"Geometric means in times of generative KDB-1, over sets that all six have. {small}{on}"
    page.table(pd.DataFrame(columns), caption, 3, "method")


def _depths(parts: dict[str, pd.DataFrame], figure: str, order: Sequence[str]) -> pd.DataFrame:
    """Return a figure of KDB-1, -2 and -3, generative and with w(I): KDB-1's are of the other parts, same folds."""
    first = wide(parts["lambda"], figure, _STRENGTHS, order)[["KDB-1", "KDB-1w(I)"]]
    table = first.join(wide(parts["KDB-2 and KDB-3"], figure, ("", "w(I)"), order))
    return table.reindex(columns=[f"KDB-{k}{suffix}" for k in (1, 2, 3) for suffix in ("", "w(I)")])
