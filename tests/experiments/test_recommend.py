"""`bnplug.recommend`: the choice, the time limit, and what the candidates get."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import PredefinedSplit

import bnplug
from bnplug import ClassifierMethod
from bnplug.datasets import iris, tic_tac_toe
from bnplug.experiments import recommending
from bnplug.hooks import discovery

TWO = ["naive Bayes", "default"]
CLOCK = SimpleNamespace(now=0.0, monotonic=lambda: CLOCK.now)
FITS = []


class Told(ClassifierMixin, BaseEstimator):
    """A classifier that knows the class, from the feature `x`, and how sure and how slow it is to be."""

    def __init__(self, sure=0.6, noise=0.0, start=0.0, per_row=0.0, fails=False):
        self.sure, self.noise, self.start, self.per_row, self.fails = sure, noise, start, per_row, fails

    def fit(self, X, y, sample_weight=None):
        if self.fails:
            raise ArithmeticError("it did not work")
        CLOCK.now += self.start + self.per_row * len(X)
        FITS.append((self.sure, len(X)))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        sure = (self.sure + self.noise * X["noise"].to_numpy())[:, None]
        return np.where(X["x"].to_numpy()[:, None] == self.classes_, sure, (1 - sure) / (len(self.classes_) - 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Register the classifier, and let it move the clock."""
    bnplug.register(ClassifierMethod("told", Told, "For tests.", "Nobody"))
    FITS.clear()
    CLOCK.now = 0.0
    monkeypatch.setattr(recommending, "time", CLOCK)


def rows(n=200, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return pd.DataFrame({"x": y, "noise": random.normal(size=n)}), y


def name(sure, **params):
    return f"told({', '.join(f'{key}={value!r}' for key, value in {'sure': sure, **params}.items())})"


def test_the_best_is_chosen_if_the_simpler_ones_are_clearly_worse(capsys):
    model = bnplug.recommend(*rows(), candidates=[name(0.6), name(0.9), name(0.8)])
    assert model.sure == 0.9
    assert model.recommendation_["score"].tolist() == pytest.approx(-np.log([0.6, 0.9, 0.8]))
    assert model.recommendation_["worse_by"].tolist() == pytest.approx(np.log([0.9 / 0.6, 1.0, 0.9 / 0.8]))
    assert model.recommendation_["note"].tolist() == ["", "chosen", ""]
    assert FITS[-1] == (0.9, 200)
    assert capsys.readouterr().out.splitlines() == [
        "Mean log loss over 5 folds (200 rows): told(sure=0.6) 0.5108, told(sure=0.9) 0.1054, told(sure=0.8) 0.2231.",
        "Chosen: told(sure=0.9), the best; told(sure=0.6), which is simpler, is worse by 0.41, more than one standard "
        "error (0).",
        "All candidates were compared on all rows. 0 of 60 s were used.",
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_simplest_within_one_standard_error_of_the_best(seed, capsys):
    """The standard error is that of the mean difference from the best, over folds."""
    X, y = rows()
    folds = np.arange(200) // 2 % 5
    X["noise"] = np.random.default_rng(seed).normal(size=5)[folds]
    candidates = [name(0.6), name(0.605, noise=0.02), name(0.61, noise=0.01)]
    model = bnplug.recommend(X, y, candidates=candidates, cv=PredefinedSplit(folds))
    noise = X["noise"].groupby(folds).first().to_numpy()
    losses = -np.log([np.full(5, 0.6), 0.605 + 0.02 * noise, 0.61 + 0.01 * noise])
    worse = losses - losses[losses.mean(axis=1).argmin()]
    errors = worse.std(axis=1, ddof=1) / np.sqrt(5)
    chosen = int(np.argmax(worse.mean(axis=1) <= errors))
    assert model.recommendation_["standard_error"].tolist() == pytest.approx(errors.tolist())
    assert model.recommendation_["note"].tolist().index("chosen") == chosen
    within = "within one standard error" in capsys.readouterr().out
    assert within == (chosen != worse.mean(axis=1).argmin())


def test_higher_is_better_for_accuracy_and_scorers_of_scikit_learn():
    X, y = rows()
    # Not sure enough where the noise is below -1.
    candidates = [name(0.6, noise=0.1), name(0.7, noise=0.05)]
    for scoring in ("accuracy", "f1", "balanced_accuracy"):
        model = bnplug.recommend(X, y, scoring=scoring, candidates=candidates, verbose=0)
        scores = model.recommendation_["score"]
        assert scores.iloc[1] > scores.iloc[0]
        assert model.sure == 0.7
    with pytest.raises(ValueError, match="costs"):
        bnplug.recommend(X, y, scoring="mean_cost")


def test_a_candidate_that_is_too_slow_is_omitted_and_the_limit_is_kept(capsys):
    X, y = rows(3000)
    candidates = [name(0.6, per_row=0.0005), name(0.7, per_row=0.001), name(0.9, per_row=0.02)]
    model = bnplug.recommend(X, y, 60, candidates=candidates)
    assert model.sure == 0.7
    assert CLOCK.now <= 60
    assert "told(sure=0.9, per_row=0.02) (comparing and fitting it takes about" in capsys.readouterr().out
    assert bnplug.recommend(X, y, 3600, candidates=candidates, verbose=0).sure == 0.9
    assert bnplug.recommend(X, y, None, candidates=candidates, verbose=0).sure == 0.9


def test_rows_are_omitted_before_candidates_are(capsys):
    X, y = rows(40_000, n_classes=4)
    candidates = [name(0.6), name(0.9, start=0.1, per_row=0.0004)]
    model = bnplug.recommend(X, y, 60, candidates=candidates)
    assert model.sure == 0.9
    assert CLOCK.now <= 60
    n_rows = model.recommendation_["n_rows"].iloc[0]
    assert 2000 <= n_rows < 40_000
    assert [n for _, n in FITS[-11:-1]] == [n_rows * 4 // 5] * 10
    assert FITS[-1] == (0.9, 40_000)
    assert f"Compared on {n_rows:,} of 40,000 rows to save time." in capsys.readouterr().out


def test_the_reasons_count_the_folds_that_were_omitted(capsys):
    X, y = rows(3000)
    model = bnplug.recommend(X, y, 160, candidates=[name(0.6, per_row=0.001), name(0.9, per_row=0.01)])
    n_folds = model.recommendation_["n_folds"].iloc[0]
    assert model.sure == 0.9
    assert 3 <= n_folds < 5
    assert f"Compared on {n_folds} of 5 folds to save time." in capsys.readouterr().out


def test_a_single_candidate_is_not_said_to_be_compared(capsys):
    bnplug.recommend(*rows(), None, candidates=[name(0.6)])
    assert "were compared on all rows" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("n_rows", "limit", "message"), [(0, 60, "X has no rows"), (200, "1 h", "is not a positive number of seconds")]
)
def test_bad_input_is_refused(n_rows, limit, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        bnplug.recommend(X[:n_rows], y[:n_rows], limit)


@pytest.mark.parametrize("limit", [0.001, 1, 10, 40])
def test_something_is_fitted_however_short_the_time(limit, capsys):
    X, y = rows(3000)
    candidates = [name(0.6, per_row=0.001), name(0.9, per_row=0.01)]
    model = bnplug.recommend(X, y, limit, candidates=candidates)
    assert model.sure == 0.6
    assert CLOCK.now <= max(limit, 6)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_fallback_gives_way_to_a_faster_candidate_if_it_cannot_finish(monkeypatch):
    slow = name(0.9, per_row=0.1)
    monkeypatch.setattr(recommending, "_FALLBACK", slow)
    candidates = [name(0.6, per_row=0.001), slow]
    assert bnplug.recommend(*rows(3000), 120, candidates=candidates, verbose=0).sure == 0.6
    assert bnplug.recommend(*rows(3000), 480, candidates=candidates, verbose=0).sure == 0.9


def test_fewer_folds_are_enough_if_time_is_short(capsys):
    candidates = [name(0.6, per_row=0.0001), name(0.9, per_row=0.01)]
    model = bnplug.recommend(*rows(1000), 60, candidates=candidates)
    assert model.sure == 0.9
    assert CLOCK.now <= 60
    assert "over 4 folds" in capsys.readouterr().out


def test_a_candidate_that_slows_down_is_dropped_in_the_folds(monkeypatch, capsys):
    """Fits after the trials take ten times as long as the trials of the second candidate suggest."""
    fit = Told.fit
    monkeypatch.setattr(Told, "fit", lambda self, X, y, **_: fit(self.set_params(start=self.start * 10), X, y)
                        if len(X) > 2200 and self.sure == 0.9 else fit(self, X, y))  # fmt: skip
    model = bnplug.recommend(*rows(3000), 14, candidates=[name(0.6), name(0.9, start=0.3)])
    assert model.sure == 0.6
    assert CLOCK.now <= 14
    assert "the time ended after" in capsys.readouterr().out


def test_wide_data_are_tried_on_few_columns():
    X, y = rows()
    X = pd.concat([X, pd.DataFrame(np.zeros((200, 2000)), columns=[f"z{i}" for i in range(2000)])], axis=1)
    model = bnplug.recommend(X, y, 60, candidates=[name(0.6), name(0.9, start=0.1)], verbose=0)
    # Pairs of 2,002 columns take 10,000 times as long as those of 20.
    assert model.sure == 0.6
    assert model.recommendation_["note"].tolist() == ["chosen", "there was no time to try it"]


def test_a_candidate_that_fails_does_not_stop_the_others(capsys):
    model = bnplug.recommend(*rows(), candidates=[name(0.6), name(0.9, fails=True), name(0.7)])
    assert model.sure == 0.7
    assert "told(sure=0.9, fails=True) (failed: ArithmeticError: it did not work)" in capsys.readouterr().out
    model = bnplug.recommend(*rows(), candidates=[name(0.6, fails=True), name(0.9)], verbose=0)
    assert model.sure == 0.9
    with pytest.raises(ArithmeticError):
        bnplug.recommend(*rows(), candidates=[name(0.6, fails=True)])


def test_weights_count_in_scores():
    X, y = rows()
    weights = np.where(X["noise"] > 0, 3.0, 0.5)
    two = [name(0.6, noise=0.05), name(0.5)]
    model = bnplug.recommend(X, y, sample_weight=weights, candidates=two, cv=PredefinedSplit([0] * 100 + [1] * 100))
    losses = -np.log(0.6 + 0.05 * X["noise"])
    halves = [np.average(losses[part], weights=weights[part]) for part in (slice(0, 100), slice(100, 200))]
    assert model.recommendation_["score"].iloc[0] == pytest.approx(np.mean(halves))


def test_every_training_part_has_all_classes_and_the_rows_without_one():
    trials = recommending._Trials(
        *(pd.DataFrame({"x": range(9)}), np.array([*"aaabbbc", None, None], dtype=object)),
        *(None, 0, None, recommending._scorer("log_loss", {}), {"missing": "em"}),
    )
    splits = trials.splits(9, 5)
    assert len(splits) == 3
    for train, test in splits:
        assert set(train) >= {6, 7, 8}
        assert not set(test) & set(train)
        assert set(trials.y[test]) == {"a", "b"}
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(6))


# With real classifiers.


def test_the_default_list_on_iris(capsys):
    X, y = iris()
    model = bnplug.recommend(X, y, time_limit=None)
    table = model.recommendation_
    assert table.index.tolist() == ["naive Bayes", "default", "TAN-LOO", "mixture"]
    assert table["score"].between(0, 0.5).all()
    assert (table["n_folds"] == 5).all()
    assert model.score(X, y) > 0.9
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_choice_does_not_depend_on_threads_or_the_run():
    X, y = tic_tac_toe()
    kept = ["score", "worse_by", "standard_error", "note"]
    tables = [
        bnplug.recommend(X, y, None, candidates=TWO, n_jobs=n_jobs, random_state=3, verbose=0).recommendation_[kept]
        for n_jobs in (1, 2, 1)
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert tables[0].loc["default", "note"] == "chosen"


def test_missing_cells_and_parameters_reach_the_candidates():
    X, y = tic_tac_toe()
    costs = {"negative": {"positive": 5}, "positive": {"negative": 1}}
    model = bnplug.recommend(
        *(X.mask(X == "b"), y), candidates=TWO, missing="value", costs=costs, scoring="mean_cost", verbose=0
    )
    assert (model.missing, model.costs) == ("value", costs)
    assert model.recommendation_["score"].between(0, 1).all()
    part = y.where(np.arange(len(y)) % 4 > 0)
    learned = bnplug.recommend(X, part, candidates=TWO, missing="em", verbose=0)
    assert (learned.recommendation_["score"] < 0.7).all()
    with pytest.raises(ValueError, match="Input y contains NaN"):
        bnplug.recommend(X, part, candidates=TWO)


def test_what_is_not_installed_or_lacks_a_parameter_is_omitted(monkeypatch, capsys):
    X, y = iris()
    monkeypatch.setenv("BNPLUG_DISABLE", "bnplug-loo,bnplug-mixture")
    discovery.refresh()
    try:
        model = bnplug.recommend(X, y)
    finally:
        monkeypatch.undo()
        discovery.refresh()
    assert isinstance(model, bnplug.BayesianNetworkClassifier)
    told = capsys.readouterr().out
    assert "Not compared: TAN-LOO (" in told
    assert "mixture (" in told
    with pytest.raises(bnplug.UnknownMethodError, match="no-such"):
        bnplug.recommend(X, y, candidates=["no-such"])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"time_limit": 0}, ValueError, "time_limit=0 is not a positive number"),
        ({"candidates": "tan"}, ValueError, "candidates='tan' is not a list"),
        ({"structure": "kdb"}, TypeError, "structure: recommend chooses"),
        ({"smoothing": 1}, TypeError, "smoothing"),
        ({"scoring": "loss"}, ValueError, "loss"),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight"),
    ],
)
def test_what_cannot_be_asked_for(params, error, message):
    with pytest.raises(error, match=message):
        bnplug.recommend(*iris(), **params)
    with pytest.raises(ValueError, match="X has 150 rows and y has 3"):
        bnplug.recommend(iris()[0], [0, 1, 0])
