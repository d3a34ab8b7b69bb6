"""What the paper claims, judged by our figures, each on what the claim covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any

import pandas as pd

from bnplug_papers.kit import Page, Results
from bnplug_papers.pernkopf2008.figures import UCI, Figures, one_sided, relative, table_1
from bnplug_papers.pernkopf2008.protocol import GENERATIVE, GREEDY, ORDERED, STRUCTURES

#: Two methods, by how many points the second is above, and the p of that.
_Test = tuple[str, str, tuple[float, float]]

LEVEL = 0.05
_OMISP = "TAN-OMISP-CR-ML"
_PAPERS_ORDERS = (ORDERED, _OMISP)
_RANDOM = "TAN-RO-CR-ML {}"
# The paper's data sets of UCI, and its four tasks: UCI, two of TIMIT, and MNIST.
_SETS, _TASKS = 25, 4
# From which factor on a speed-up counts as "about ten"; points that count as no difference on synthetic rows.
_ABOUT_TEN, _ALIKE = 5.0, 1.0


def add_claims(page: Page, results: Results, figures: Figures) -> None:
    """List the claims of the abstract and of the text, and say what rests on data sets that are there twice."""
    page.section("How claims are judged")
    page.text(
        f"On UCI by the one-sided paired t-test of Table 2 at {LEVEL}, over data sets; where the paper does not speak "
        "of significance, as of random orders, by the averages alone. On MNIST by a one-sided test of the two shares "
        "of test rows at the same level, with the standard deviations of shares, as the paper prints them. Data that "
        "we do not have count as parts of a claim that were not judged."
    )
    judge = _Judge(page, figures)
    judge.all(results)
    for names in figures.twins():
        again = Page(page.name, "", "")
        _Judge(again, figures.without(names[1:])).all(results)
        turned = [mine[0] for mine, other in zip(page.claims, again.claims, strict=True) if _word(mine) != _word(other)]
        listed = "no verdict changes" if not turned else f"these verdicts change: {' '.join(turned)}"
        page.text(
            f"{' and '.join(names)} have the same rows: on every fold every classifier is right equally often. They "
            f"count {len(names)} times in averages and tests, since the paper has both. Where they count once, "
            f"{listed}."
        )
    page.text(_CHANGED)


def _word(claim: tuple[str, str, str]) -> str:
    return claim[1].split(",")[0]


class _Judge:
    """Adds claims, judged by our figures."""

    def __init__(self, page: Page, figures: Figures) -> None:
        self.page, self.figures, self.table = page, figures, figures.uci
        self.covered = (len(self.table), _SETS)

    def all(self, results: Results) -> None:
        """Add all claims, those of the abstract first."""
        self.count_evaluations()
        self.beat_generative()
        self.compare_with_greedy()
        self.compare_times()
        self.hide_features()
        self.compare_orders()
        self.compare_parameters()
        self.look_at_synthetic(results)

    def uci(self, claim: str, holds: bool | None, evidence: str) -> None:
        self.page.claim(claim, holds, evidence, self.covered, "data sets")

    def tests(self, pairs: Iterable[tuple[str, str]]) -> list[_Test]:
        """Return the tests of pairs of methods over data sets of UCI, of those that were run."""
        return [(first, second, test) for first, second in pairs if (test := one_sided(self.table, first, second))]

    def count_evaluations(self) -> None:
        counts = self.figures.evaluations
        fitting = sum(n <= comb(features, 2) for features, n in counts)
        trees, told = fitting == len(counts), f"at most N(N-1)/2 on {fitting} of {len(counts)} data sets"
        second = self.figures.second_order
        if second:
            features, n = second
            trees &= n <= comb(features, 2) + comb(features, 3)
            told += f"; with two parents {n} on MNIST, of {features} features: at most N(N-1)/2 + N(N-1)(N-2)/6"
        self.page.claim(
            "Given an order, a tree takes O(N²) score evaluations, and O(N^q) with more parents.",
            trees if counts else None, told if counts else "not run",
        )  # fmt: skip

    def beat_generative(self) -> None:
        pairs = [(first, second) for first in ("NB-ML", GENERATIVE) for second in _PAPERS_ORDERS]
        known = self.tests(pairs)
        self.uci(
            "On UCI, the new procedures' structures significantly outperform generatively produced ones.",
            all(gain > 0 and p < LEVEL for _, _, (gain, p) in known) if known else None, _describe(known),
        )  # fmt: skip
        shares = self.figures.shares(pairs)
        self.page.claim(
            "On MNIST, they significantly outperform generatively produced ones.",
            all(gain > 0 and p < LEVEL for _, _, (gain, p) in shares) if len(shares) == len(pairs) else None,
            _describe(shares) or "not run yet",
        )
        self.page.claim("The same on phonetic classification (TIMIT).", None, "TIMIT is not available")

    def compare_with_greedy(self) -> None:
        pair, beside = [(ORDERED, GREEDY)], [(_OMISP, GREEDY)]
        uci, digits = self.tests(pair), self.figures.shares(pair)
        told = f"on UCI {_describe(uci) or 'not run yet'}; on MNIST {_describe(digits) or 'not run yet'}"
        told += (
            f"; beside it, on UCI {_describe(self.tests(beside))}; on MNIST {_describe(self.figures.shares(beside))}"
        )
        places = bool(uci) + bool(digits)
        holds = all(p >= LEVEL for _, _, (_, p) in (*uci, *digits)) if places else None
        claim = "Accuracy is on par with the naive greedy search: it does not significantly outperform TAN-OMI-CR."
        self.page.claim(claim, holds, f"{told}; TIMIT is not available", (places, _TASKS), "tasks of the paper")

    def compare_times(self) -> None:
        factors = {place: 100 / relative(times, "seconds")["TAN-OMI-CR"] for place, times in self.figures.times.items()}
        listed = ", ".join(f"{value:.1f} times on {name}" for name, value in factors.items())
        self.page.claim(
            f"They are about 10 times as fast as the naive greedy search ({_ABOUT_TEN:.0f} times and more count).",
            min(factors.values()) >= _ABOUT_TEN if factors else None, f"TAN-OMI-CR: {listed or 'not run'}",
            (len(factors), _TASKS), "tasks of the paper",
        )  # fmt: skip

    def hide_features(self) -> None:
        holds, told = judge_hidden(self.figures.hidden)
        claim = "The advantages over the generative tree hold with missing features (here: of other data than TIMIT)."
        self.page.claim(claim, holds, told)

    def compare_orders(self) -> None:
        means, theirs = self.table.mean(), table_1(UCI).loc[UCI]
        for kind, what in (
            ("mean", "a random order on average"),
            ("max", "the best of many random orders in training"),
        ):
            name = _RANDOM.format(kind)
            known = self.tests([(name, order) for order in _PAPERS_ORDERS])
            holds = all(gain > 0 for _, _, (gain, _) in known) if known else None
            gains = {order: theirs[order] - theirs[name] for order in _PAPERS_ORDERS}
            told = f"published {', '.join(f'{order} {gain:+.2f}' for order, gain in gains.items())}"
            self._orders(f"Their orders are better than {what}.", holds, f"{_describe(known) or 'not run'}; {told}")
        low, high = (means.get(_RANDOM.format(kind)) for kind in ("min", "max"))
        told = "not run" if low is None else f"worst {low:.2f}%, best {high:.2f}%"
        claim = "The random order that is worst in training is better on test rows than the best one, on average."
        self._orders(claim, None if low is None else bool(low > high), told)

    def _orders(self, claim: str, holds: bool | None, told: str) -> None:
        known = int(self.table[_RANDOM.format("max")].notna().sum()) if _RANDOM.format("max") in self.table else 0
        self.page.claim(claim, holds, told, (known, _SETS), "data sets")

    def compare_parameters(self) -> None:
        tested = self.tests([(f"{name}-ML", f"{name}-CL") for name in STRUCTURES])
        better = sum(gain > 0 for _, _, (gain, _) in tested)
        significant = any(gain > 0 and p < LEVEL for _, _, (gain, p) in tested)
        self.uci(
            "On UCI, CL parameters are most often slightly, but not significantly better than ML ones.",
            better > len(tested) / 2 and not significant if tested else None, _describe(tested) or "not run",
        )  # fmt: skip

    def look_at_synthetic(self, results: Results) -> None:
        means = self.figures.synthetic
        last = means.iloc[:, -1] if len(means) else pd.Series(dtype=float)
        wanted = {"NB-ML", "NB-CL", GENERATIVE, "TAN-CMI-CL", ORDERED, "SVM"}
        claim = (
            "In the synthetic case CL parameters change nothing on a generative structure, a discriminative one is "
            f"needed, and an SVM is like it ({_ALIKE:.0f} point counts as nothing)."
        )
        if not wanted <= set(last.index):
            self.page.claim(claim, None, "not run")
            return
        alike = [("NB-ML", "NB-CL"), (GENERATIVE, "TAN-CMI-CL"), (ORDERED, "SVM")]
        holds = all(abs(last[first] - last[second]) <= _ALIKE for first, second in alike)
        holds &= last[ORDERED] - max(last["NB-CL"], last["TAN-CMI-CL"]) > _ALIKE
        told = ", ".join(f"{name} {last[name]:.2f}%" for name in last.index if name in wanted)
        self.page.claim(claim, bool(holds), f"{means.columns[-1]}: {told}", results.coverage("figure 1"))


def _describe(tests: Sequence[_Test]) -> str:
    """Say by how many points the second of each pair is above the first, and how significantly, the least so first."""
    ordered = sorted(tests, key=lambda test: -test[2][1])
    return "; ".join(
        f"{second} {gain:+.2f} points against {first}, p = {p:.3f}" for first, second, (gain, p) in ordered
    )


def judge_hidden(hidden: Mapping[str, pd.DataFrame]) -> tuple[bool | None, str]:
    """Ask whether the discriminative trees are above the generative one on average over numbers of missing features."""
    if not hidden:
        return None, "no data set for it is there"
    told, verdicts, above, cases = [], [], 0, 0
    for dataset, accuracies in hidden.items():
        means: Any = 100 * accuracies.groupby(["missing", "method"])["accuracy"].mean().unstack()
        for name in (ORDERED, GREEDY):
            gains = means[name] - means[GENERATIVE]
            some = gains[gains.index > 0]
            verdicts.append(bool(some.mean() > 0))
            above, cases = above + int((some > 0).sum()), cases + len(some)
            told.append(f"{name} on {dataset} {some.mean():+.2f} (with all features {gains.loc[0]:+.2f})")
    text = f"points above TAN-CMI-ML, on average: {', '.join(told)}; above in {above} of {cases} cases"
    return all(verdicts), f"{text}; the paper's data, TIMIT, are not available"


_CHANGED = (
    "Of the results that ship, rules that changed after they had been seen: verdicts on UCI did not say that a "
    "data set is missing, nor those on several tasks that TIMIT is; on MNIST it was not asked whether a "
    "difference is significant; the data set that was missing was given as the reason for averages that were off, "
    'before that could be tested; "on par" was judged on UCI alone (yes), then on MNIST, too, and by both orders '
    "(no, since TAN-CR is significantly above TAN-OMISP-CR there, as it is in the paper's own Table 3), and now "
    "by TAN-OMI-CR, which the paper names. Claims that were added when the tables had been seen: those on a "
    "random order on average and on the worst one, on CL parameters, and on the synthetic case. soybean-large was "
    "run when all else had been. Without it the averages of NB-ML (82.81), of the worst random order (84.40) and "
    "of 2-tree-OMI-CR-CL (84.57) were more than a point below the published ones, and the last of them still is; "
    "no verdict turned."
)
