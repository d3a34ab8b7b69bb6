"""What the results of Zaidi et al. (2017) say: wins, geometric means and ranks over data sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bnplug.experiments.statistics import Friedman, Nemenyi, WinDrawLoss, friedman, nemenyi, win_draw_loss
from bnplug_papers.kit import NOT_EXPLAINED, Results, published
from bnplug_papers.zaidi2017.protocol import LETTERS, MAX_ITER, ROUNDS, STRUCTURES

#: A data set with more rows is "Big".
BIG = 10_000

#: How many data sets the paper's tests have, all and Big; its Table 3 lists one more.
PAPERS = {"All": 72, "Big": 12}

#: Data sets where some RMSE is smaller are left out of its geometric means, which would hang on them alone.
LEAST_RMSE = 1e-3

#: The level of every test.
LEVEL = 0.05

#: The paper's measures (Tables 4 to 6), and what they are called here.
MEASURES = {
    "Bias": "bias", "Variance": "variance", "0-1 Loss": "zero_one", "RMSE": "rmse",
    "NLL (5)": "zeros_5", "NLL (10)": "zeros_10", "NLL (50)": "zeros_50",
}  # fmt: skip

# Figures that agree to so many decimals are draws.
_DECIMALS = 6

#: Tests by structure and figure (``seconds`` or ``n_iter``).
RankTests = dict[tuple[str, str], tuple[Friedman, Nemenyi]]

_ZEROS = ("w", "d", "e")
_STARTED = ("w(I)", "d(I)", "e(I)")


@dataclass(frozen=True, eq=False)
class Figures:
    """Means over rounds of all that was measured: for each figure a frame, data sets by methods.

    Attributes
    ----------
    against_generative : dict of str to frame
        ``zero_one``, ``rmse``, ``bias`` and ``variance`` of NB, NBw, ... over all rounds; and ``unbiased bias`` and
        ``unbiased variance``, estimates that a small number of rounds does not inflate or deflate.
    compared : dict of str to frame
        ``zero_one``, ``rmse`` and ``seconds`` of NB, NBw(I), NBd(I), NBe(I), ...; ``n_iter`` and ``generative_5``,
        ``generative_10``, ``generative_50`` of the (I); ``zeros_5``, ... of NBw, NBd, NBe, ...; ``further`` of NBd, ...
    big : list of str
        The data sets with more than `BIG` rows.
    rounds : dict of str to int
        How many rounds of the comparison each data set has, on all structures.
    big_in_paper : list of str
        Data sets that are Big in the paper, but have fewer rows here.
    whole : list of str
        The data sets of the comparison whose descents had as many iterations as the paper's, `MAX_ITER`.
    rounds_of_wins : int
        How many rounds Table 4 has, the fewest of any data set.
    """

    against_generative: dict[str, pd.DataFrame]
    compared: dict[str, pd.DataFrame]
    big: list[str]
    rounds: dict[str, int]
    big_in_paper: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    rounds_of_wins: int = ROUNDS

    @classmethod
    def of(cls, results: Results) -> Figures:
        """Gather what the tasks of the paper gave; data sets by rising size."""
        sets = results.frame("data sets").set_index("dataset").sort_values("rows", kind="stable")
        sizes = sets["rows"]
        first, second = results.frame("table 4"), results.frame("parameterisations")
        generative = {
            name: wide(first, name, ("", "w"), sizes.index) for name in ("zero_one", "rmse", "bias", "variance")
        }
        fewest = 2 if first.empty else int(first["rounds"].min())
        generative |= unbiased(generative["bias"], generative["variance"], fewest)
        methods = {
            **dict.fromkeys(("zero_one", "rmse", "seconds"), ("", *_STARTED)),
            **dict.fromkeys(("n_iter", "generative_5", "generative_10", "generative_50"), _STARTED),
            **dict.fromkeys(("zeros_5", "zeros_10", "zeros_50"), _ZEROS),
            "further": ("d", "e"),
        }
        compared = {name: wide(second, name, suffixes, sizes.index) for name, suffixes in methods.items()}
        counts = {} if second.empty else second.groupby("dataset")["round"].count().to_dict()
        big = [str(name) for name, rows in sizes.items() if rows > BIG]
        rounds = {str(name): int(count) // len(STRUCTURES) for name, count in counts.items()}
        counted = {name: number for name, number in rounds.items() if number}
        whole = [str(name) for name in compared["seconds"].index if sets["max_iter"][name] >= MAX_ITER]
        return cls(generative, compared, big, counted, _big_in_paper(sizes), whole, fewest)

    @property
    def is_cut(self) -> bool:
        """Whether some data sets had fewer iterations than the paper's, and two others or more had as many."""
        return 1 < len(self.whole) < len(self.compared["seconds"])

    def groups(self, structure: str) -> dict[str, list[str]]:
        """Return the data sets on which a structure was compared, and the Big ones among them if there are any."""
        names = [str(name) for name in of_structure(self.compared["seconds"], structure).index]
        big = [name for name in names if name in self.big]
        return {"All": names, "Big": big} if big else {"All": names}

    def measure(self, name: str, number: int) -> pd.DataFrame:
        """Return a measure of the paper's table of that number."""
        return (self.against_generative if number == 4 else self.compared)[MEASURES[name]]


def _big_in_paper(sizes: pd.Series[int]) -> list[str]:
    printed = published("zaidi2017-table3-datasets").set_index("dataset")["rows"].reindex(sizes.index)
    return [str(name) for name in sizes.index[(printed > BIG) & (sizes <= BIG)]]


def tell_rounds(counts: Iterable[int]) -> str:
    """Say how many rounds there are of something, where these are fewer than the paper's.

    Examples
    --------
    >>> tell_rounds([5, 5]), tell_rounds([2, 2]), tell_rounds([3, 2, 5])
    ('', '2 of 5 rounds', '2 to 5 of 5 rounds')
    """
    ordered = sorted(counts)
    if not ordered or ordered[0] >= ROUNDS:
        return ""
    return f"{ordered[0]}{f' to {ordered[-1]}' if ordered[-1] > ordered[0] else ''} of {ROUNDS} rounds"


def wide(frame: pd.DataFrame, figure: str, suffixes: Iterable[str], order: Iterable[object]) -> pd.DataFrame:
    """Return a figure that tasks kept as lists over methods: data sets by methods, means over rounds.

    Examples
    --------
    >>> kept = pd.DataFrame({"dataset": ["a", "a"], "structure": ["NB", "NB"], "rmse": [[0.5, 0.25], [0.25, 0.25]]})
    >>> wide(kept, "rmse", ("", "w"), ["a", "b"])
          NB   NBw
    a  0.375  0.25
    """
    if figure not in frame:
        return pd.DataFrame(columns=[f"{name}{suffix}" for name in STRUCTURES for suffix in suffixes], dtype=float)
    known = frame[frame[figure].notna()]
    lists = pd.DataFrame(known[figure].tolist(), columns=list(suffixes), index=known.index, dtype=float)
    means = lists.groupby([known["dataset"], known["structure"]], sort=False).mean().unstack()
    structures = sorted(known["structure"].unique(), key=lambda name: [*STRUCTURES, name].index(name))
    columns = {f"{name}{suffix}": means[str(suffix)][name] for name in structures for suffix in lists}
    result = pd.DataFrame(columns)
    return result.reindex([name for name in order if name in result.index]).rename_axis(None)


def count_wins(table: pd.DataFrame, first: str, second: str, rounded: bool = True) -> WinDrawLoss:
    """Count the data sets where the first has the smaller mean; if `rounded`, those that agree to six decimals draw."""
    pair = table[[first, second]].dropna()
    pair = pair.round(_DECIMALS) if rounded else pair
    return win_draw_loss(pair[first], pair[second], higher_is_better=False)


def win_draw_loss_table(figures: Figures) -> pd.DataFrame:
    """Return Tables 4, 5 and 6 where two data sets or more have a measure: ours, its sign test, and the published.

    What is published is as W/D/L; of the ``verdict`` see :func:`beside_published`.
    """
    rows = []
    for row in published("zaidi2017-win-draw-loss").itertuples():
        table = figures.measure(str(row.measure), int(str(row.table)))
        chosen = table if row.datasets == "All" else table[table.index.isin(figures.big)]
        first, second = str(row.comparison).split(" vs ")
        if len(chosen.reindex(columns=[first, second]).dropna()) < 2:
            continue
        won = count_wins(chosen, first, second)
        counts = (won.win, won.draw, won.loss, won.p_value)
        theirs = (int(str(row.win)), int(str(row.draw)), int(str(row.loss)))
        printed, verdict = "/".join(map(str, theirs)), beside_published(won, theirs)
        if verdict == NOT_EXPLAINED and row.measure not in ("0-1 Loss", "RMSE"):
            other = figures.against_generative.get(f"unbiased {MEASURES[str(row.measure)]}", chosen)
            verdict = _in_another_way(count_wins(other, first, second, rounded=other is not chosen), theirs)
        if verdict != "as published" and row.datasets == "Big":
            more = table[table.index.isin([*figures.big, *figures.big_in_paper])]
            verdict = _with_more(verdict, figures.big_in_paper, count_wins(more, first, second), theirs)
        rows.append((row.table, row.datasets, row.measure, row.comparison, *counts, printed, verdict))
    columns = ["table", "datasets", "measure", "comparison", "win", "draw", "loss", "p", "published", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def unbiased(bias: pd.DataFrame, variance: pd.DataFrame, rounds: int) -> dict[str, pd.DataFrame]:
    """Return estimates of bias and variance that do not depend on the number of rounds, in the mean.

    The shares p of a row's predictions, of as many as there are rounds, scatter about the probabilities that they
    estimate, so that ``sum((t - p)^2) / 2`` exceeds the squared bias by the variance over the number of rounds. Kohavi
    and Wolpert subtract p (1 - p) / (rounds - 1) for each class.
    """
    inflation = variance / (rounds - 1)
    return {"unbiased bias": bias - inflation, "unbiased variance": variance + inflation}


def _in_another_way(won: WinDrawLoss, theirs: tuple[int, int, int]) -> str:
    agrees = beside_published(won, theirs) == "as published"
    return f"the other way: {won.win}/{won.draw}/{won.loss}" if agrees else NOT_EXPLAINED


def _with_more(verdict: str, names: list[str], won: WinDrawLoss, theirs: tuple[int, int, int]) -> str:
    """Add to a verdict that is not the published one whether sets that are Big only in the paper turn it."""
    if not names or beside_published(won, theirs) != "as published":
        return verdict
    way = f"with {', '.join(names)}: {won.win}/{won.draw}/{won.loss}"
    return way if verdict == NOT_EXPLAINED else f"{verdict}; {way}"


def beside_published(won: WinDrawLoss, theirs: tuple[int, int, int]) -> str:
    """Tell whether the same one wins as in the paper, significantly or not; else a reason, if there is one.

    There is one where the published shares of wins and losses would not be significant on as many data sets as ours.

    Examples
    --------
    >>> beside_published(WinDrawLoss(9, 0, 1, 0.02), (60, 2, 10))
    'as published'
    >>> beside_published(WinDrawLoss(5, 0, 0, 0.06), (11, 1, 0))
    'too few sets'
    >>> beside_published(WinDrawLoss(30, 0, 30, 1.0), (60, 2, 10))
    'not explained'
    """
    if _says(won) == _says(_sign_test(*theirs)):
        return "as published"
    share = (won.win + won.draw + won.loss) / sum(theirs)
    scaled = _sign_test(*(round(share * count) for count in theirs))
    return "too few sets" if won.win + won.loss and _says(won) == _says(scaled) else NOT_EXPLAINED


def _says(won: WinDrawLoss) -> int:
    """Return 1 where the first wins significantly, -1 where the second does, else 0."""
    return 0 if won.p_value > LEVEL else 1 if won.win > won.loss else -1


def _sign_test(win: int, draw: int, loss: int) -> WinDrawLoss:
    # Draws do not count in the test, which takes two values at least.
    differences = [-1.0] * win + [0.0] * (draw + 2) + [1.0] * loss
    return win_draw_loss(differences, [0.0] * len(differences), higher_is_better=False)


def geometric_means(table: pd.DataFrame, base: str) -> pd.Series[float]:
    """Return the geometric mean of each column over data sets, in times of `base`; rows with a zero are left out.

    Examples
    --------
    >>> geometric_means(pd.DataFrame({"NB": [1.0, 4.0, 1.0], "NBw": [2.0, 2.0, 0.0]}), "NB").to_dict()
    {'NB': 1.0, 'NBw': 1.0}
    """
    logs = table[(table > 0).all(axis=1)].map(np.log)
    return logs.sub(logs[base], axis=0).mean().map(np.exp)


def averaged(table: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Return the data sets that count in the geometric means of a figure.

    Of RMSE those where that of every method is `LEAST_RMSE` or more, of others where it is above zero.

    Examples
    --------
    >>> table = pd.DataFrame({"NB": [0.3, 0.1, 0.2], "NBw": [0.2, 1e-9, 0.0]}, index=["a", "b", "c"])
    >>> averaged(table, "rmse").index.tolist(), averaged(table, "zero_one").index.tolist()
    (['a'], ['a', 'b'])
    """
    counts = table >= LEAST_RMSE if figure == "rmse" else table > 0
    return table[counts.all(axis=1)]


def name_left_out(parts: Iterable[pd.DataFrame], figure: str) -> list[str]:
    """Return the data sets that the geometric means of a figure leave out, of tables of methods that are compared."""
    return sorted({str(name) for part in parts for name in part.index.difference(averaged(part, figure).index)})


def tell_left_out(parts: Iterable[pd.DataFrame]) -> str:
    """Say which data sets the geometric means of RMSE leave out, of tables of methods that are compared."""
    names = name_left_out(parts, "rmse")
    if not names:
        return ""
    return (
        f"Sets where an RMSE is below {LEAST_RMSE:g} are left out of the means of RMSE: {', '.join(names)}. Such "
        "RMSEs are all as good as none, but their ratios, of many powers of ten, would outweigh all other sets."
    )


def of_structure(table: pd.DataFrame, structure: str, started: bool = False) -> pd.DataFrame:
    """Return the columns of a structure: the generative classifier's and the three (I), or these alone."""
    names = [f"{structure}{letter}(I)" for letter in LETTERS]
    return table[names if started else [structure, *names]].dropna()


def rank_tests(figures: Figures, names: Iterable[str] | None = None) -> RankTests:
    """Return the tests of Figures 20 to 22 for the (I) starts; on all data sets, or those of some `names`."""
    tests = {}
    for structure in STRUCTURES:
        for figure in ("seconds", "n_iter"):
            table = of_structure(figures.compared[figure], structure, started=True)
            table = table if names is None else table[table.index.isin(list(names))]
            tests[structure, figure] = (
                friedman(table, higher_is_better=False), nemenyi(table, LEVEL, higher_is_better=False)
            )  # fmt: skip
    return tests


def times_of_w(figures: Figures, figure: str, names: Iterable[str] | None = None) -> dict[str, float]:
    """Return geometric means of the (I), in times of w's: by structure and letter, as ``NBd``."""
    result: dict[str, float] = {}
    for structure in STRUCTURES:
        table = of_structure(figures.compared[figure], structure, started=True)
        table = table if names is None else table[table.index.isin(list(names))]
        means = geometric_means(table, f"{structure}w(I)")
        result |= {str(name).removesuffix("(I)"): float(value) for name, value in means.items()}
    return result


def error_means(figures: Figures, structure: str) -> pd.DataFrame:
    """Return geometric means of errors in times of the generative classifier's (Figures 5, 8 and 11).

    Returns
    -------
    frame
        A row for each ``method`` and group of ``data sets``: ``zero_one``, ``rmse``, and ``sets of zero_one``,
        ``sets of rmse`` that these are means of.
    """
    rows = []
    for group, names in figures.groups(structure).items():
        tables = {
            figure: of_structure(figures.compared[figure], structure).loc[names] for figure in ("zero_one", "rmse")
        }
        tables = {figure: averaged(table, figure) for figure, table in tables.items()}
        means = pd.DataFrame({figure: geometric_means(table, structure) for figure, table in tables.items()})
        means = means.assign(**{f"sets of {figure}": len(table) for figure, table in tables.items()})
        rows.append(means.rename_axis("method").reset_index().assign(**{"data sets": group}))
    return pd.concat(rows, ignore_index=True)
