"""Our figures and the published ones as tables of data sets by classifiers, with the tests of the paper on ours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from bnplug.experiments import Comparison, statistics
from bnplug_papers.kelner2012 import graphs, protocol
from bnplug_papers.kelner2012.protocol import CONTROL, DATASETS, HOLD_OUT, NETWORKS, RIVALS, TABLE_2, TABLE_6, TIMES
from bnplug_papers.kelner2012.rivals import on_numbers
from bnplug_papers.kit import Results, Variant, comparison, published, published_table

#: What is done in another way where BDeu(1) stands for K2.
EQUIVALENT = "BDeu, equivalent sample size 1"

_OPTIMIZED = "RMCV (NBC) optimized"
#: Rows tested for each row trained on, in five folds.
_RATIO = 1 / 4
_FOLDS = 5

#: The classifiers of each part of the tables.
_METHODS = {NETWORKS: TABLE_6, HOLD_OUT: TABLE_2, RIVALS: tuple(on_numbers())}

#: Table 1 of the paper: instances, features and classes.
_TABLE_1 = {
    "Australian": (690, 14, 2), "Breast": (683, 9, 2), "Chess": (3196, 36, 2), "Cleve": (296, 11, 2),
    "Corral": (128, 6, 2), "Crx": (653, 15, 2), "Diabetes": (768, 8, 2), "Flare": (1389, 10, 8), "Glass": (214, 9, 6),
    "Glass2": (163, 9, 2), "Hayes": (160, 4, 3), "Heart": (270, 13, 2), "Hepatitis": (80, 19, 2), "Iris": (150, 4, 3),
    "Letter": (20_000, 16, 26), "Lymphography": (148, 18, 4), "Mofn": (1324, 10, 2), "Pima": (768, 8, 2),
    "Shuttle": (5800, 8, 6), "Tic-Tac-Toe": (958, 9, 2), "Vehicle": (846, 18, 4), "Voting": (232, 16, 2),
}  # fmt: skip


def table_of(name: str, value: str = "mean") -> pd.DataFrame:
    """Return a table of the paper, data sets by classifiers, without its averages."""
    return published_table(f"kelner2012-{name}", value).drop(index=["Average", "Excluding Letter"], errors="ignore")


def published_accuracy() -> pd.DataFrame:
    """Return tables 6 and 2 as one; what both have is the same.

    Examples
    --------
    >>> published_accuracy().shape, float(published_accuracy().loc["Chess", "TAN"])
    ((22, 21), 92.55)
    """
    first, second = table_of("table6-accuracy"), table_of("table2-accuracy")
    return pd.concat([first, second.drop(columns=CONTROL)], axis=1)


def published_ranks(table: str) -> pd.DataFrame:
    """Return the ranks and p-values of table 3, 8a or 8b."""
    return published("kelner2012-tables3-8-ranks").query("table == @table").set_index("method").fillna("")


def published_seconds() -> dict[str, pd.DataFrame]:
    """Return the tables of run times; RMCV (NBC) is plain code in table 11, the optimised one in 12 and 13.

    Examples
    --------
    >>> {name: float(table.loc["Australian", "RMCV (NBC)"]) for name, table in published_seconds().items()}
    {'Table 11': 9946.5, 'Tables 12 and 13': 63.01}
    """
    later = table_of("table12-13-seconds").drop(columns=CONTROL).rename(columns={_OPTIMIZED: CONTROL})
    return {"Table 11": table_of("table11-seconds"), "Tables 12 and 13": later}


@dataclass(frozen=True, eq=False)
class Tests:
    """Tests of RMCV (NBC) with others over data sets: Friedman's, and Bonferroni-Dunn's and Wilcoxon's after it.

    Attributes
    ----------
    table : frame
        What is tested: data sets that all of the classifiers have by these.
    friedman : Friedman
    dunn : BonferroniDunn
    wilcoxon : series
        p-values, for each of the others.
    """

    table: pd.DataFrame
    friedman: statistics.Friedman
    dunn: statistics.BonferroniDunn
    wilcoxon: pd.Series[float]

    @classmethod
    def of(cls, table: pd.DataFrame, methods: Sequence[str]) -> Tests | None:
        """Return the tests of some classifiers; None if fewer than two data sets have all of them."""
        whole = table.reindex(columns=list(methods)).dropna()
        if len(whole) < 2:
            return None
        others = [name for name in methods if name != CONTROL]
        signed = {name: statistics.wilcoxon(whole[CONTROL], whole[name]).p_value for name in others}
        return cls(whole, statistics.friedman(whole), statistics.bonferroni_dunn(whole, CONTROL), pd.Series(signed))

    @property
    def ranks(self) -> pd.Series[float]:
        """The average ranks, the best first."""
        return self.dunn.average_ranks.sort_values(kind="stable")


class Figures:
    """The results, as tables.

    Attributes
    ----------
    compared : Comparison
        Of the paper's classifiers on the same folds.
    accuracy, spread : frame
        Mean and standard deviation over folds, in per cent.
    areas : frame
        Mean areas under the curve, of the data sets of Table 9 alone.
    seconds : frame
        Of a fit.
    """

    def __init__(self, results: Results) -> None:
        self.compared = comparison(results, list(_METHODS))
        self.accuracy = _ordered(100 * _means(self.compared))
        self.spread = _ordered(100 * self.compared.spread()) if len(self.compared.results) else self.accuracy
        areas = _means(self.compared, "auc")
        self.areas = areas.loc[[name for name in table_of("table9-auc").index if name in areas.index]]
        self.times = results.frame(TIMES)
        times = self.times
        wide = times.pivot(index="dataset", columns="method", values="fit_seconds") if len(times) else pd.DataFrame()
        self.seconds = _ordered(wide)
        self.results = results

    def without(self, names: Collection[str]) -> Figures:
        """Return the figures without some data sets, for tests over data sets and means."""
        fewer = Figures(self.results)
        fewer.accuracy, fewer.areas, fewer.seconds = (
            table.drop(index=list(names), errors="ignore") for table in (self.accuracy, self.areas, self.seconds)
        )
        return fewer

    def repetitions(self) -> pd.Series[int]:
        """Return how many repetitions all classifiers of a data set have, of ten."""
        counts = self.compared.results.groupby(["dataset", "method"]).size().unstack() // _FOLDS
        return _ordered(counts.fillna(0)).min(axis=1).astype(int)

    def coverage(
        self, methods: Collection[str], sets: Collection[str] | None = None, timed: bool = False
    ) -> tuple[int, int]:
        """Return how many tasks of some classifiers, on some data sets, have a result, and how many are wanted."""
        parts = {TIMES: [name for names in _METHODS.values() for name in names]} if timed else _METHODS
        done, wanted = 0, 0.0
        for part, every in parts.items():
            keys = [record["key"] for record in self.results.records(part)]
            there = {key["dataset"] for key in keys}
            asked = there if sets is None else there & set(sets)
            share = len(set(methods) & set(every)) / len(every) * (len(asked) / len(there) if there else 1.0)
            done += sum(key["method"] in methods and key["dataset"] in asked for key in keys)
            wanted += self.results.wanted.get(part, 0) * share
        return done, max(done, round(wanted))

    def sizes(self) -> pd.DataFrame:
        """Return rows, features and classes of each data set as text, with the paper's where these are others."""
        folds = self.compared.results.groupby("dataset")[["n_train", "n_test"]].first().sum(axis=1)
        shapes = self.times.groupby("dataset")[["features", "classes"]].first() if len(self.times) else pd.DataFrame()
        rows = {}
        for name in self.accuracy.index:
            known = shapes.loc[name].tolist() if name in shapes.index else ["–", "–"]
            rows[name] = [_beside(a, b) for a, b in zip([folds[name], *known], _TABLE_1[name], strict=True)]
        return pd.DataFrame.from_dict(rows, orient="index", columns=["rows", "features", "classes"])

    def twins(self) -> list[list[str]]:
        """Return data sets with the same rows: on every fold all classifiers are right equally often."""
        wide = self.compared.results.pivot(index="dataset", columns=["method", "fold"], values="accuracy")
        alike: dict[tuple[float, ...], list[str]] = {}
        for name, row in _ordered(wide).fillna(-1.0).iterrows():
            alike.setdefault(tuple(row), []).append(str(name))
        return [names for names in alike.values() if len(names) > 1]

    def errors_and_draws(self, metric: str = "accuracy") -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the standard error, in hundredths, of each mean by the draw of the folds, and the number of draws."""
        frame = self.compared.results.assign(repetition=self.compared.results["fold"] // _FOLDS)
        each = 100 * frame.groupby(["dataset", "method", "repetition"])[metric].mean()
        groups = each.groupby(["dataset", "method"])
        return (groups.std() / groups.size() ** 0.5).unstack(), groups.size().unstack()

    @staticmethod
    def equivalents() -> dict[str, str]:
        """Return the networks by BDeu(1), each with that by K2 from the same start, for which it stands."""
        return {f"BDeu(1) ({start})": f"K2 ({start})" for start in protocol.STARTS}

    @cached_property
    def ways(self) -> list[Variant]:
        """What was done in another way, as far as it was; BDeu(1) stands for K2."""
        named, ours = self.equivalents(), self.compared.results
        equivalent = ours[ours["method"].isin(list(named))].replace({"method": named})
        tried = {name: comparison(self.results, [part]).results for name, part in protocol.WAYS.items()}
        tried = {EQUIVALENT: equivalent, **tried}
        return [self._way(name, folds) for name, folds in tried.items() if len(folds)]

    def _way(self, name: str, tried: pd.DataFrame) -> Variant:
        """Return what came out on some folds, with what comes out without it on the same."""
        keys = ["dataset", "method", "fold"]
        both = tried[[*keys, "accuracy"]].merge(
            self.compared.results[[*keys, "accuracy"]], on=keys, suffixes=("", "_base")
        )
        means = 100 * both.groupby(["dataset", "method"])[["accuracy", "accuracy_base"]].mean()
        return Variant(name, means["accuracy"].unstack(), means["accuracy_base"].unstack())

    @cached_property
    def tests(self) -> dict[str, Tests | None]:
        """The tests of tables 3, 8a, 8b and, of areas, 9."""
        made = {table: Tests.of(self.accuracy, list(published_ranks(table).index)) for table in ("3", "8a", "8b")}
        return {**made, "9": Tests.of(self.areas, table_of("table9-auc").columns.tolist())}

    @cached_property
    def graphs(self) -> pd.DataFrame:
        """What section 5.2 gave, by the paper's names of data sets."""
        frame = self.results.frame(protocol.GRAPHS)
        return frame.assign(dataset=frame["dataset"].map(graphs.TITLES)) if len(frame) else frame

    @cached_property
    def mse(self) -> pd.DataFrame:
        """Table 5, in ten-thousandths, the mean over draws."""
        return 1e4 * self.graphs.groupby(["dataset", "score"])["mse"].mean().unstack()

    def signed_p(self, metric: str, others: Sequence[str]) -> pd.DataFrame:
        """Return p-values of the corrected t-test of RMCV (NBC) with others, negative where it is not above."""
        values = self.compared.fold_values(metric)
        there, rows = [other for other in others if other in values], {}
        for name, folds in values.groupby(level="dataset"):
            pairs = {other: folds.reindex(columns=[CONTROL, other]).dropna() for other in there}
            rows[name] = {other: _signed(pair, other) for other, pair in pairs.items()}
        return _ordered(pd.DataFrame.from_dict(rows, orient="index"))


def _signed(pair: pd.DataFrame, other: str) -> float:
    if len(pair) < 2:
        return float("nan")
    test = statistics.corrected_t_test(pair[CONTROL].tolist(), pair[other].tolist(), _RATIO)
    return test.p_value if test.mean_difference >= 0 else -test.p_value


def _beside(measured: float | str, printed: int) -> str:
    """Return a number, with the printed one in brackets if that is another."""
    text = measured if isinstance(measured, str) else str(int(measured))
    return text if measured == printed else f"{text} ({printed})"


def _means(compared: Comparison, metric: str = "accuracy") -> pd.DataFrame:
    return compared.table(metric) if len(compared.results) else pd.DataFrame()


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order of the paper."""
    return table.loc[[name for name in DATASETS if name in table.index]]
