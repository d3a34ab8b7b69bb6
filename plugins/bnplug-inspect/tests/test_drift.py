"""Drift reports: two-sample tests by hand and by their level, what they name, and what they say they cannot compare."""

import json

import numpy as np
import pandas as pd
import pytest
from bnplug_inspect import drift
from bnplug_inspect._two_sample import adjusted, compare_counts, in_lower_tail, lower_than
from click.testing import CliRunner
from scipy.stats import chi2, chi2_contingency, fisher_exact, mannwhitneyu, norm

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.cli import cli


def rows(n, seed, dependence=0.8, states="0123"):
    """Return features, of which `wet` depends on `sky` and the class, and classes."""
    random = np.random.default_rng(seed)
    play = random.choice(["no", "yes"], n)
    sky = np.where(random.random(n) < 0.5, np.where(play == "yes", "2", "1"), random.choice(list(states), n))
    wet = np.where(random.random(n) < dependence, sky, random.choice(list("0123"), n))
    heat = random.normal(np.where(play == "yes", 20, 15), 5)
    return pd.DataFrame({"sky": sky, "wet": wet, "heat": heat}), play


@pytest.fixture(scope="module")
def model():
    X, y = rows(2000, 0)
    return BayesianNetworkClassifier(calibrate="evidence").fit(X, y)


def test_counts_are_compared_by_pearsons_test():
    random = np.random.default_rng(0)
    before, after = random.multinomial(150, [0.1, 0.2, 0.3, 0.4], (2, 3)).swapaxes(1, 2)
    tests = [chi2_contingency([before[:, h], after[:, h]], correction=False) for h in range(3)]
    expected = chi2.sf(sum(t.statistic for t in tests), sum(t.dof for t in tests))
    assert expected > 0.1
    assert compare_counts(before, after).p_value == pytest.approx(expected)
    # Small p values are conditional on the counts of both samples together.
    exact = fisher_exact([[30, 20], [10, 20]]).pvalue
    assert compare_counts([30, 10], [20, 20]).p_value == pytest.approx(exact, rel=0.3)
    # Rare states are one state: 4 + 5 against 5 + 4 rows.
    pooled = chi2_contingency([[40, 50, 9], [50, 60, 9]], correction=False).pvalue
    assert compare_counts([40, 4, 5, 50, 0], [50, 5, 4, 60, 0]).p_value == pytest.approx(pooled)
    assert compare_counts([0, 0], [5, 5]).p_value == 1.0
    assert compare_counts([3, 0], [0, 2]).p_value == 1.0


def test_quantiles_are_compared_by_ranks():
    random = np.random.default_rng(0)
    first, second = random.normal(0, 1, 2000), random.normal(-0.05, 1, 1500)
    quantiles = np.quantile(first, (np.arange(200) + 0.5) / 200)
    expected = mannwhitneyu(second, first, alternative="less").pvalue
    pairs, p_value = lower_than(quantiles, 2000, second)
    assert norm.ppf(p_value) * np.sqrt(2) == pytest.approx(norm.ppf(expected), rel=0.05)
    assert pairs == pytest.approx((second[:, None] < first).mean(), abs=1e-3)
    share, p_value = in_lower_tail(quantiles, 2000, second - 1)
    assert share > 0.2
    assert p_value < 1e-10


def test_adjusted_p_values_skip_what_was_not_tested():
    expected = np.array([0.03, np.nan, 0.06, 0.5]) * (1 + 1 / 2 + 1 / 3)
    np.testing.assert_allclose(adjusted(np.array([0.01, np.nan, 0.04, 0.5])), expected)


def test_the_table_that_changed_is_named(model):
    X, y = rows(2000, 1, dependence=0.4)
    report = drift(model, X, y)
    assert report.tables.loc[report.tables["alarm"], "variable"].tolist() == ["wet"]
    assert "sky" in report.tables.set_index("variable").loc["wet", "given"]
    assert "pairs of rows in which the new one is less probable" in report.alarms["name"].tolist()
    assert drift(model, X).alarm
    quiet = drift(model, *rows(2000, 2))
    assert not quiet.alarm
    assert "No drift" in str(quiet)


def test_new_values_missing_cells_and_new_columns_are_reported(model):
    X, y = rows(1000, 3)
    X.loc[:99, "sky"] = "9"
    X.loc[100:249, "wet"] = None
    X["moon"] = 1
    report = drift(model, X.drop(columns="heat"), y)
    features = report.features.set_index("feature")
    assert features.loc["sky", "new_values"] == "9 (100)"
    assert features.loc["wet", "missing_new"] == 0.15
    assert features.loc["heat", "missing_new"] == 1.0
    assert features.loc[["sky", "wet", "heat"], "alarm"].all()
    assert any("'moon'" in note for note in report.notes)
    labels = np.where(np.arange(1000) < 200, "maybe", y)
    alarms = drift(model, X.drop(columns="moon"), labels).alarms
    assert "maybe (200)" in alarms.loc[alarms["kind"] == "class", "evidence"].item()


def test_the_class_is_taken_from_its_column(model):
    X, y = rows(500, 4)
    with_class = drift(model, X.assign(**{model.target_: y}))
    assert with_class.to_dict() == drift(model, X, y).to_dict()


def test_what_cannot_be_compared_is_said(model, tmp_path):
    X, y = rows(500, 5, dependence=0.0)
    model.to_bif(tmp_path / "model.bif")
    report = drift(bnplug.read_bif(tmp_path / "model.bif"), X)
    assert not report.alarm
    assert report.n_training == 0
    assert len(report.notes) == 3
    assert report.features.set_index("feature").loc["wet", "psi"] > 0
    plain = BayesianNetworkClassifier(calibrate=None).fit(*rows(500, 6))
    notes = drift(plain, X, y).notes
    assert any("held-out" in note for note in notes)
    with pytest.raises(TypeError, match="fitted BayesianNetworkClassifier"):
        drift(BayesianNetworkClassifier(), X)
    with pytest.raises(ValueError, match="none of the classes"):
        drift(plain, X, np.zeros(500))


def test_the_training_summary_survives_saving_and_later_parts(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    X, y = rows(800, 7, dependence=0.5)
    assert drift(loaded, X, y).to_dict() == drift(model, X, y).to_dict()
    first, second = rows(300, 8), rows(400, 9)
    parts = BayesianNetworkClassifier("nb", "ml", discretizer="none")
    frames = [part[["sky", "wet"]] for part, _ in (first, second)]
    states = {"sky": list("0123"), "wet": list("0123")}
    parts.partial_fit(frames[0], first[1], ["no", "yes"], states=states).partial_fit(frames[1], second[1])
    counts = parts.training_summary_.states["sky"]
    assert counts.tolist() == pd.concat(frames)["sky"].value_counts().sort_index().tolist()


def test_at_most_one_report_in_twenty_raises_an_alarm_without_drift():
    n_alarms = 0
    for seed in range(30):
        trained = BayesianNetworkClassifier(calibrate="evidence").fit(*rows(300, 1000 + seed))
        n_alarms += drift(trained, *rows(1000, 2000 + seed)).alarm
    # With a rate of 5%, more than 4 of 30 occur in 1 of 60 runs.
    assert n_alarms <= 4


def test_predictions_that_are_all_correct_raise_no_alarm():
    (X, y), (later, later_y) = rows(900, 12), rows(340, 13)
    with pytest.warns(bnplug.errors.TargetLeakageWarning):
        trained = BayesianNetworkClassifier("nb", calibrate="evidence").fit(X.assign(copy=y), y)
    assert not drift(trained, later.assign(copy=later_y), later_y).alarm


def test_pages_and_commands(model, tmp_path):
    model.save(tmp_path / "model")
    X, y = rows(1000, 10, dependence=0.3)
    X.assign(**{model.target_: y}).to_csv(tmp_path / "new.csv", index=False)
    run = CliRunner().invoke
    page = tmp_path / "page.html"
    result = run(cli, ["drift", f"{tmp_path}/model", f"{tmp_path}/new.csv", "--html", str(page), "--fail-on-alarm"])
    assert result.exit_code == 1
    assert "table wet: P(wet | " in result.output
    assert "<svg" in page.read_text()
    assert "It contains no rows of data." in page.read_text()
    result = run(cli, ["drift", f"{tmp_path}/model", f"{tmp_path}/new.csv", "--json"])
    assert json.loads(result.stdout)["alarm"] is True
    adjusted = [f"{tmp_path}/model", "--prevalence", "no=0.9", "--prevalence", "yes=0.1", "-o", f"{tmp_path}/rare"]
    result = run(cli, ["adjust-prior", *adjusted])
    assert "no 0.9000, yes 0.1000" in result.output
    assert bnplug.load(tmp_path / "rare").query("class")["probability"].tolist() == pytest.approx([0.9, 0.1])
    result = run(cli, ["adjust-prior", f"{tmp_path}/model", f"{tmp_path}/new.csv", "-o", f"{tmp_path}/estimated"])
    assert result.exit_code == 0, result.output
    assert "prevalence" in drift(model, X, y)._repr_html_() or "alarms" in drift(model, X, y)._repr_html_()
