"""Which classifier to take: a short list of candidates, cross-validated within a time limit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone

from bnplug.classifier import BayesianNetworkClassifier
from bnplug.classifier.opening import _make_with_options
from bnplug.errors import UnknownMethodError, one_line
from bnplug.experiments._runner import interrupts_raised
from bnplug.hooks.registry import check_parameters
from bnplug.show.evaluation import evaluate
from bnplug.table.class_labels import _labels_and_gaps, label_array
from bnplug.table.folds import Split, split_rows
from bnplug.table.frames import to_frame
from bnplug.table.rules import ColumnRules
from bnplug.table.weights import row_weights
from bnplug.typing import IntArray

# Candidates by default, from the simplest to the most complex; the one that is fitted if there is no time to compare.
_CANDIDATES, _FALLBACK = ("naive Bayes", "default", "TAN-LOO", "mixture"), "default"

# Whether higher is better, for the measures of an evaluation.
_MEASURES = {"log_loss": False, "brier": False, "mean_cost": False}
_MEASURES |= {"accuracy": True, "balanced_accuracy": True, "auc": True}

# What is chosen here and therefore cannot be given.
_CHOSEN = ("structure", "parameters", "discretizer")

# Candidates are tried on few rows and columns, then on more, as long as a trial takes a small share of the time left.
_TRIAL_ROWS, _TRIAL_COLUMNS, _TRIAL_SHARE = tuple(250 * 2**step for step in range(8)), 20, 0.15

# The fewest rows and folds on which candidates are compared to save time.
_FEWEST_ROWS, _FEWEST_FOLDS = 2000, 3

# How much longer a fit may take than the trials suggest.
_MARGIN = 1.25


@dataclass(eq=False)
class _Candidate:
    """An unfitted classifier, the seconds of its fits by their rows, its scores, and why it is not compared."""

    name: str
    model: Any = None
    seconds: dict[int, float] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    reason: str = ""

    def expected(self, n_rows: int) -> float:
        """Return the seconds that a fit on some rows will take, from the largest fit so far and one of half its size.

        If a fit on more rows has been measured, it takes at most as long.
        """
        most = min((rows for rows in self.seconds if rows >= n_rows), default=max(self.seconds, default=1))
        less = max((rows for rows in self.seconds if 2 * rows <= most), default=0)
        taken = self.seconds.get(most, 0.0)
        # A fit on a few rows mostly has costs that do not depend on rows; measured times vary.
        rise = max(taken - self.seconds[less], 0.0) if less else taken / 2
        slope = min(rise / (most - less), taken / most)
        return taken + _MARGIN * slope * max(n_rows - most, 0)


def recommend(
    X: Any,
    y: Any,
    time_limit: float | None = 60,
    *,
    scoring: Any = "log_loss",
    candidates: Sequence[str] = _CANDIDATES,
    cv: Any = 5,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 1,
    **params: Any,
) -> Any:
    """Cross-validate a short list of classifiers and return the chosen one, fitted on all rows.

    The chosen classifier is the simplest of those that are within one standard error of the best: the mean, over folds,
    of the difference between its score and the best one's is at most the standard error of this mean. Three lines
    report the scores, the choice, and what was not compared and why.

    Parameters
    ----------
    X, y : frame or 2-D array, and array-like
        As for :meth:`BayesianNetworkClassifier.fit`. Missing cells are allowed.
    time_limit : float or None
        The seconds that everything may take, with the final fit. Each candidate is first fitted on a few rows. If not
        all of them can be cross-validated in time, they are compared on fewer rows, drawn by class, but at least 2,000,
        or on fewer folds, but at least three; if that does not suffice, the slowest candidates are omitted. A fit is
        not interrupted, so the limit is exceeded if the final fit takes longer than expected, or if even the fastest
        candidate needs more time. The first use after an installation also compiles kernels; ``bnplug warm`` does so
        in advance. None: no limit.
    scoring : str or callable
        ``"log_loss"``, ``"brier"``, ``"mean_cost"`` (with `costs`), ``"accuracy"``, ``"balanced_accuracy"``, ``"auc"``,
        or a scorer of scikit-learn or its name, whose higher values are better.
    candidates : sequence of str
        Names and expressions for :func:`make_classifier`, from the simplest to the most complex. ``"default"`` is
        ``BayesianNetworkClassifier()``, and ``"naive Bayes"`` the same with the structure `nb`. By default, these two,
        ``"TAN-LOO"`` and ``"mixture"``, without those that are not installed.
    cv : int or splitter
        The number of stratified folds, or a splitter of scikit-learn without groups, for which rows are not omitted to
        save time. Rows without a class, and rows that are the only ones of their class, are training rows in all folds.
    sample_weight : array-like, optional
        Weights of rows, in fits and in scores.
    random_state : int
        The seed of folds and candidates. The same seed and data give the same choice unless the time limit has an
        effect.
    n_jobs : int, optional
        Passed to the candidates.
    verbose : int
        0 prints nothing.
    **params
        Further parameters of all candidates, such as ``missing="value"``, ``costs`` or ``class_weight``. A candidate
        that does not have such a parameter is omitted.

    Returns
    -------
    classifier
        It has ``recommendation_``, a frame with a row for each candidate: ``score``, the mean over folds; ``worse_by``,
        how much worse than the best it is; ``standard_error`` of that; ``n_folds`` and ``n_rows`` of the comparison;
        ``seconds``, the expected time of a fit on all rows; and ``note``: "chosen", or why it was not compared.

    Examples
    --------
    >>> import bnplug
    >>> from bnplug.datasets import iris
    >>> model = bnplug.recommend(*iris(), time_limit=None, candidates=["naive Bayes", "default"], scoring="accuracy")
    Mean accuracy over 5 folds (150 rows): naive Bayes 0.9333, default 0.94.
    Chosen: default, the best; naive Bayes, which is simpler, is worse by 0.0067, more than one standard error (0.0067).
    All candidates were compared on all rows.
    """
    trials = _Trials(X, y, sample_weight, random_state, time_limit, _scorer(scoring, params), params)
    entries = _entries(candidates, params, {"random_state": random_state, "n_jobs": n_jobs})
    fallback = next((entry for entry in entries if entry.name == _FALLBACK), entries[0])
    if time_limit is not None:
        for entry in [fallback, *(entry for entry in entries if entry is not fallback)]:
            trials.try_out(entry, fallback)
    n_rows = trials.plan(entries, fallback, cv)
    trials.cross_validate(entries, fallback, trials.splits(n_rows, cv))
    chosen, table = _choose(entries, fallback, trials, n_rows)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    model = clone(chosen.model).fit(X, y, **weights)
    model.recommendation_ = table
    if verbose:
        print(*_reasons(entries, chosen, table, trials, n_rows), sep="\n")
    return model


def _entries(names: Sequence[str], params: dict[str, Any], common: dict[str, Any]) -> list[_Candidate]:
    """Return the candidates, with the `common` parameters that they have; a default one may not be available."""
    if isinstance(names, str) or not names:
        raise ValueError(f"candidates={names!r} is not a list of names, such as {list(_CANDIDATES)}")
    chosen = [name for name in _CHOSEN if name in params]
    if chosen:
        hint = "omit them, or list compositions as candidates, such as candidates=['kdb(k=1)+backoff']"
        raise TypeError(f"{', '.join(chosen)}: recommend chooses them; {hint}")
    check_parameters("a candidate", BayesianNetworkClassifier, params)
    entries = []
    for name in dict.fromkeys(names):
        entry = _Candidate(name)
        try:
            if name == "default":
                entry.model = BayesianNetworkClassifier(**params)
            elif name == "naive Bayes":
                entry.model = BayesianNetworkClassifier("nb", **params)
            else:
                entry.model = _make_with_options(name, params)
            known = entry.model.get_params(deep=False)
            entry.model.set_params(**{key: value for key, value in common.items() if key in known})
        except (UnknownMethodError, TypeError) as error:
            if name not in _CANDIDATES:
                raise
            entry.reason = one_line(error)
        entries.append(entry)
    return entries


def _scorer(scoring: Any, params: dict[str, Any]) -> tuple[str, bool, Callable[..., float]]:
    """Return the name of a measure, whether higher is better, and a function of a model, rows, classes and weights."""
    if not isinstance(scoring, str) or scoring not in _MEASURES:
        from sklearn.metrics import get_scorer

        scorer = get_scorer(scoring)

        def by_scorer(model: Any, X: Any, y: Any, weights: Any) -> float:
            return float(scorer(model, X, y, **({} if weights is None else {"sample_weight": weights})))

        return scoring if isinstance(scoring, str) else "score", True, by_scorer
    if scoring == "mean_cost" and params.get("costs") is None:
        raise ValueError("scoring='mean_cost' needs the costs of decisions: recommend(..., costs=...)")

    def by_evaluation(model: Any, X: Any, y: Any, weights: Any) -> float:
        value = getattr(evaluate(model, X, y, weights), scoring)
        return float(np.nan if value is None else value)

    return scoring.replace("_", " "), _MEASURES[scoring], by_evaluation


class _Trials:
    """The rows on which candidates are fitted and measured, and the time that is left."""

    def __init__(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        random_state: int,
        time_limit: float | None,
        scorer: tuple[str, bool, Callable[..., float]],
        params: dict[str, Any],
    ) -> None:
        if time_limit is not None and not (isinstance(time_limit, int | float | np.number) and time_limit > 0):
            raise ValueError(f"time_limit={time_limit!r} is not a positive number of seconds or None")
        self.started, self.time_limit, self.seed = time.monotonic(), time_limit, random_state
        self.measure, self.higher_is_better, self.score = scorer
        self.X, self.y = to_frame(X, "X"), label_array(y)
        if len(self.X) != len(self.y):
            raise ValueError(f"X has {len(self.X)} rows and y has {len(self.y)}")
        if len(self.X) == 0:
            raise ValueError("X has no rows")
        self.n_rows = len(self.y)
        self.weights = None if sample_weight is None else row_weights(sample_weight, self.n_rows)
        of_rows = {name: params[name] for name in ("missing", "unlabeled") if name in params}
        rules = ColumnRules.of(BayesianNetworkClassifier().set_params(**of_rows))
        labels, gaps = _labels_and_gaps(y, rules.unlabeled, rules.policies.of_table == "em")
        self.codes = np.where(gaps, -1, pd.factorize(labels)[0])
        # The place of each row among those of its class, in random order.
        order = np.random.RandomState(random_state).permutation(self.n_rows)
        self.ranks = np.empty(self.n_rows, dtype=np.int64)
        self.ranks[order] = pd.Series(self.codes[order]).groupby(self.codes[order]).cumcount()

    @property
    def spent(self) -> float:
        """The seconds so far."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        """The seconds left."""
        return np.inf if self.time_limit is None else self.time_limit - self.spent

    def sample(self, n_rows: int) -> IntArray:
        """Return about `n_rows` rows, the same share of each class, but two rows at least."""
        sizes = pd.Series(self.codes).groupby(self.codes).transform("size").to_numpy()
        return np.flatnonzero((self.ranks * self.n_rows < n_rows * sizes) | (self.ranks < 2))

    def splits(self, n_rows: int, cv: Any) -> list[Split]:
        """Return the training rows and test rows of each fold of a sample; none if no two rows have the same class."""
        rows = self.sample(n_rows)
        codes = self.codes[rows]
        sizes = pd.Series(codes).groupby(codes).transform("size").to_numpy()
        tested = (sizes > 1) & (codes >= 0)
        if n_rows == 0 or not tested.any():
            return []
        n_folds = min(cv, int(sizes[tested].max())) if isinstance(cv, int) else cv
        drawn = split_rows(codes[tested], n_folds, self.seed, X=self.X.iloc[rows[tested]])
        always, sometimes = rows[~tested], rows[tested]
        return [(np.sort(np.concatenate([always, sometimes[train]])), sometimes[test]) for train, test in drawn]

    def run(self, entry: _Candidate, train: IntArray, test: IntArray, n_columns: int | None = None) -> float:
        """Fit a candidate and return its score; a failure on all columns is the reason why it is not compared."""
        started, frame = time.monotonic(), self.X.iloc[:, :n_columns]
        of_train, of_test = (None if self.weights is None else self.weights[rows] for rows in (train, test))
        score = float(np.nan)
        with warnings.catch_warnings():
            # The final fit gives the warnings.
            warnings.simplefilter("ignore")
            try:
                with interrupts_raised():
                    weights = {} if of_train is None else {"sample_weight": of_train}
                    model = clone(entry.model).fit(frame.iloc[train], self.y[train], **weights)
                    score = self.score(model, frame.iloc[test], self.y[test], of_test)
            except Exception as error:
                if frame.shape[1] == self.X.shape[1]:
                    entry.reason = f"failed: {type(error).__name__}: {one_line(error)}"
        entry.seconds[len(train)] = time.monotonic() - started
        return score

    def try_out(self, entry: _Candidate, fallback: _Candidate) -> None:
        """Fit a candidate on more and more rows, to learn how long it takes."""
        columns, first = self.X.shape[1], _TRIAL_ROWS[0]
        narrow = min(columns, _TRIAL_COLUMNS)
        # The first fit also loads and compiles kernels, and says nothing about the others.
        steps = [(first, narrow)] * (2 if narrow < columns else 1)
        steps += [(rows, columns) for rows in _TRIAL_ROWS if rows == first or rows < self.n_rows]
        for number, (n_rows, n_columns) in enumerate(steps):
            if n_rows > first:
                cannot = entry.expected(n_rows) > _TRIAL_SHARE * self.left
            else:
                # Pairs of columns are counted.
                expected = entry.expected(n_rows) * (n_columns / steps[number - 1][1]) ** 2 if number > 1 else 0.0
                needed = fallback.expected(self.n_rows)
                cannot = entry is not fallback and expected > self.left - (needed if needed < self.left else 0.0)
                if cannot:
                    entry.reason = "there was no time to try it"
            if cannot or entry.reason:
                return
            rows = self.sample(n_rows)
            self.run(entry, rows, rows[self.codes[rows] >= 0], n_columns)

    def plan(self, entries: list[_Candidate], fallback: _Candidate, cv: Any) -> int:
        """Return the number of rows to compare candidates on, 0 for none; omit those that cannot finish in time."""
        sizes, n_folds = [self.n_rows], int(cv if isinstance(cv, int) else cv.get_n_splits(self.X, self.y))
        while sizes[-1] // 2 >= _FEWEST_ROWS and isinstance(cv, int):
            sizes.append(sizes[-1] // 2)
        while len(compared := [entry for entry in entries if not entry.reason]) > 1:
            final = max(entry.expected(self.n_rows) for entry in compared)
            fewest = min(n_folds, _FEWEST_FOLDS)
            for folds, size in product((n_folds, fewest), sizes):
                part = size * (n_folds - 1) // n_folds
                if folds * sum(entry.expected(part) for entry in compared) + final <= self.left:
                    return size
            others = [entry for entry in compared if entry is not fallback]
            slowest = max(others, key=lambda entry: entry.expected(self.n_rows))
            seconds = fewest * slowest.expected(part) + slowest.expected(self.n_rows)
            slowest.reason = f"comparing and fitting it takes about {seconds:.{int(seconds < 10)}f} s"
        return 0

    def cross_validate(self, entries: list[_Candidate], fallback: _Candidate, splits: Sequence[Split]) -> None:
        """Measure the candidates on one fold after the other, as long as time is left for the final fit.

        A candidate that cannot finish in time is omitted, unless all have been measured on a few folds.
        """
        self.n_folds = len(splits)
        for number, (train, test) in enumerate(splits):
            for entry in entries:
                if entry.reason:
                    continue
                final = max(entry.expected(self.n_rows), fallback.expected(self.n_rows))
                if entry.expected(len(train)) + final > self.left:
                    if entry is fallback or number >= _FEWEST_FOLDS:
                        return
                    entry.reason = f"the time ended after {number} folds"
                else:
                    score = self.run(entry, train, test)
                    if not entry.reason:
                        entry.scores.append(score)


def _choose(
    entries: list[_Candidate], fallback: _Candidate, trials: _Trials, n_rows: int
) -> tuple[_Candidate, pd.DataFrame]:
    """Return the candidate to fit and the table of results."""
    compared = [entry for entry in entries if not entry.reason and entry.scores]
    n_folds = min((len(entry.scores) for entry in compared), default=0)
    scores = pd.DataFrame({entry.name: entry.scores[:n_folds] for entry in compared})
    losses = -scores if trials.higher_is_better else scores
    table = pd.DataFrame(index=pd.Index([entry.name for entry in entries], name="candidate"))
    table["score"] = scores.mean()
    if len(compared) > 1:
        worse = losses.sub(losses[losses.mean().idxmin()], axis=0)
        table["worse_by"] = worse.mean()
        table["standard_error"] = worse.std() / np.sqrt(n_folds) if n_folds > 1 else 0.0
        near = table["worse_by"] <= table["standard_error"].fillna(0.0)
        chosen = next(entry for entry in entries if near[entry.name])
    else:
        table["worse_by"] = table["standard_error"] = np.nan
        remaining = compared or [fallback, *entries]
        chosen = next((entry for entry in remaining if not entry.reason), fallback)
        tried = [entry for entry in entries if entry.seconds and "failed" not in entry.reason]
        if tried and chosen.expected(trials.n_rows) > trials.left:
            chosen = min(tried, key=lambda entry: entry.expected(trials.n_rows))
    table["n_folds"], table["n_rows"] = n_folds, n_rows
    table["seconds"] = [entry.expected(trials.n_rows) if entry.seconds else np.nan for entry in entries]
    table["note"] = ["chosen" if entry is chosen else entry.reason for entry in entries]
    return chosen, table


def _reasons(
    entries: list[_Candidate], chosen: _Candidate, table: pd.DataFrame, trials: _Trials, n_rows: int
) -> list[str]:
    """Return three lines: the scores, the choice, and what was not compared."""
    measured = table.dropna(subset=["score"])
    if len(measured) > 1:
        figures = ", ".join(f"{name} {score:.4g}" for name, score in measured["score"].items())
        scores = f"Mean {trials.measure} over {table['n_folds'].iloc[0]} folds ({n_rows:,} rows): {figures}."
        best, row = measured["worse_by"].idxmin(), table.loc[chosen.name]
        simpler = measured.loc[: chosen.name].iloc[:-1]
        if chosen.name != best:
            gap = f"by {row['worse_by']:.2g}, within one standard error ({row['standard_error']:.2g})"
            choice = f"Chosen: {chosen.name}, because {best} is better only {gap}."
        elif len(simpler):
            nearest = simpler.sort_values("worse_by").iloc[0]
            gap = f"by {nearest['worse_by']:.2g}, more than one standard error ({nearest['standard_error']:.2g})"
            choice = f"Chosen: {chosen.name}, the best; {nearest.name}, which is simpler, is worse {gap}."
        else:
            choice = f"Chosen: {chosen.name}, the best and the simplest."
    else:
        scores = "No two candidates were compared."
        choice = f"Chosen: {chosen.name}, which was fitted on all rows."
    omitted = [f"{entry.name} ({entry.reason})" for entry in entries if entry.reason]
    everything = "All candidates were compared on all rows."
    if len(measured) <= 1:
        everything = "A comparison needs two candidates, two rows of a class, and time for a fold."
    notes = [f"Not compared: {'; '.join(omitted)}." if omitted else everything]
    n_folds = table["n_folds"].iloc[0]
    parts = [f"{n_rows:,} of {trials.n_rows:,} rows"] if 0 < n_rows < trials.n_rows else []
    parts += [f"{n_folds} of {trials.n_folds} folds"] if 0 < n_folds < trials.n_folds else []
    if parts:
        notes = [*notes[: len(omitted)], f"Compared on {' and '.join(parts)} to save time."]
    if trials.time_limit is not None:
        notes.append(f"{trials.spent:.0f} of {trials.time_limit:g} s were used.")
    return [scores, choice, " ".join(notes)]
