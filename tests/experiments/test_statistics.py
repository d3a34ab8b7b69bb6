"""The tests against scipy, scikit-posthocs, hand-computed values, and the figures that papers published."""

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import published
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

from bnplug.experiments import statistics

CONTROL = "RMCV (NBC)"

# Demšar (2006), Table 6: areas under the curve of C4.5 with and without tuning on 14 data sets.
DEMSAR = pd.DataFrame(
    {
        "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957],
        "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978],
        "C4.5+cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946],
        "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.970],
    }
)
# Kelner and Lerner (2012), Table 8(a): average rank, Bonferroni-Dunn p-value.
TABLE_8A = {
    CONTROL: (2.591, None),
    "BNC-MDL": (4.659, 0.0981),
    "MDL (NBC)": (4.932, 0.0367),
    "NBC": (5.000, 0.0282),
    "TAN": (5.091, 0.0197),
    "MDL (empty)": (5.341, 0.0069),
    "K2 (empty)": (5.364, 0.0063),
    "K2 (NBC)": (5.386, 0.0057),
    "BNC-2P": (6.636, 0.0),
}
# Table 8(b): average rank, Bonferroni-Dunn p-value (1: "non-significant", that is above 0.1), Wilcoxon p-value.
TABLE_8B = {
    CONTROL: (5.136, None, None),
    "SVM (linear)": (5.205, 1, 0.610),
    "SVM (Gaussian)": (5.727, 1, 0.570),
    "CT": (6.682, 1, 0.147),
    "NN": (6.932, 1, 0.276),
    "BNC-MDL": (7.341, 1, 0.006),
    "MDL (NBC)": (7.841, 1, 0.001),
    "TAN": (8.068, 1, 0.013),
    "NBC": (8.182, 1, 0.004),
    "SVM (polynomial)": (8.205, 1, 0.033),
    "MDL (empty)": (8.523, 0.0944, 0.001),
    "K2 (NBC)": (8.523, 0.0944, 0.0),
    "K2 (empty)": (8.545, 0.0894, 0.0),
    "BNC-2P": (10.091, 0.0011, 0.0),
}

values = st.floats(0, 1).map(lambda value: round(value, 2))


@st.composite
def tables(draw, min_methods=3):
    shape = draw(st.tuples(st.integers(2, 8), st.integers(min_methods, 5)))
    cells = draw(st.lists(values, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return pd.DataFrame(np.reshape(cells, shape), columns=[f"m{i}" for i in range(shape[1])])


def kelner(table):
    return published(table).pivot(index="dataset", columns="method", values="mean").drop(index="Average")


def about(computed, printed, decimals):
    """Whether a p-value is within 30% of one that is printed as `printed` when rounded."""
    half = 0.5 * 10**-decimals
    return 0.7 * max(printed - half, 0) <= computed <= 1.3 * (printed + half)


def test_kelner_2012_table_8a_from_its_table_6():
    table = kelner("kelner2012-table6-accuracy")[list(TABLE_8A)]
    result = statistics.friedman(table)
    posthoc = statistics.bonferroni_dunn(table, CONTROL)
    assert result.chi_square == pytest.approx(26.424, abs=0.5)
    assert (result.n_datasets, result.degrees_of_freedom) == (22, 8)
    assert result.p_value < 0.001
    for method, (rank, p_value) in TABLE_8A.items():
        assert result.average_ranks[method] == pytest.approx(rank, abs=0.05)
        assert method == CONTROL or about(posthoc.p_values[method], p_value, 4)


def test_kelner_2012_table_8b_from_its_table_6():
    table = kelner("kelner2012-table6-accuracy")[list(TABLE_8B)]
    result = statistics.friedman(table)
    posthoc = statistics.bonferroni_dunn(table, CONTROL)
    assert result.chi_square == pytest.approx(33.081, abs=0.5)
    assert result.degrees_of_freedom == 13
    assert about(result.p_value, 0.002, 3)
    for method, (rank, dunn, wilcoxon) in TABLE_8B.items():
        assert result.average_ranks[method] == pytest.approx(rank, abs=0.05)
        if method == CONTROL:
            continue
        assert about(statistics.wilcoxon(table[CONTROL], table[method]).p_value, wilcoxon, 3), method
        assert about(posthoc.p_values[method], dunn, 4) if dunn < 1 else posthoc.p_values[method] > 0.1


def test_kelner_2012_table_3_from_its_table_2_with_the_misprint_corrected():
    ranks = {"RMCV (NBC)": 2.00, "RMCV (empty)": 3.11, "RMHO-f (NBC)": 3.16, "RMHO (NBC)": 3.45,
             "RMHO-f (empty)": 4.39, "RMHO (empty)": 4.89}  # fmt: skip
    table = kelner("kelner2012-table2-accuracy")[list(ranks)]
    assert statistics.average_ranks(table).round(2).to_dict() == pytest.approx(ranks, abs=0.006)
    p_value = statistics.bonferroni_dunn(table, CONTROL).p_values["RMHO (NBC)"]
    assert p_value == pytest.approx(0.0496, abs=0.0001)


def test_demsar_2006_example():
    result = statistics.friedman(DEMSAR)
    ranks = {"C4.5+m+cf": 1.964, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert result.average_ranks.round(3).to_dict() == ranks
    assert list(result.average_ranks.index) == list(ranks)
    # His figures are not corrected for ties: one data set has all four methods tied, three have two.
    uncorrected = result.chi_square * (1 - (60 + 3 * 6) / (14 * 60))
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.005)
    assert result.f_degrees_of_freedom == (3, 39)
    assert statistics.nemenyi(DEMSAR).critical_difference == pytest.approx(1.25, abs=0.005)
    assert statistics.nemenyi(DEMSAR, alpha=0.10).critical_difference == pytest.approx(1.12, abs=0.005)
    assert statistics.bonferroni_dunn(DEMSAR, "C4.5").critical_difference == pytest.approx(1.16, abs=0.01)


@pytest.mark.parametrize(
    ("k", "nemenyi", "dunn"),
    [
        (2, (1.960, 1.645), (1.960, 1.645)),
        (3, (2.343, 2.052), (2.241, 1.960)),
        (5, (2.728, 2.459), (2.498, 2.241)),
        (10, (3.164, 2.920), (2.773, 2.539)),
    ],
)
def test_critical_values_are_those_of_demsar_2006_table_5(k, nemenyi, dunn):
    table = pd.DataFrame(np.tile(np.arange(k, dtype=float), (6, 1))).rename(columns=str)
    error = np.sqrt(k * (k + 1) / 36)
    for alpha, q_nemenyi, q_dunn in zip((0.05, 0.10), nemenyi, dunn, strict=True):
        # The table cuts its last digit where it should round.
        assert statistics.nemenyi(table, alpha).critical_difference / error == pytest.approx(q_nemenyi, abs=1e-3)
        assert statistics.bonferroni_dunn(table, "0", alpha).critical_difference / error == pytest.approx(
            q_dunn, abs=1e-3
        )


@given(tables())
def test_friedman_equals_scipy(table):
    result = statistics.friedman(table)
    if (table.nunique(axis=1) == 1).all():
        assert (result.chi_square, result.p_value, result.f_p_value) == (0, 1, 1)
        return
    expected = stats.friedmanchisquare(*table.to_numpy().T)
    assert result.chi_square == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert 0 <= result.f_p_value <= 1


@given(tables())
def test_losses_rank_the_other_way(table):
    up, down = statistics.average_ranks(table), statistics.average_ranks(table, higher_is_better=False)
    assert (up + down.loc[up.index]).to_numpy() == pytest.approx(table.shape[1] + 1)
    assert statistics.average_ranks(1 - table, higher_is_better=False).to_dict() == pytest.approx(up.to_dict())


def test_nemenyi_equals_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    table = kelner("kelner2012-table6-accuracy")
    expected = posthocs.posthoc_nemenyi_friedman(table)
    found = statistics.nemenyi(table).p_values.loc[expected.index, expected.columns]
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-8)


@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_p_values_and_critical_differences_agree(alpha):
    table = kelner("kelner2012-table6-accuracy")
    all_pairs, one = statistics.nemenyi(table, alpha), statistics.bonferroni_dunn(table, CONTROL, alpha)
    ranks = all_pairs.average_ranks.to_numpy()
    apart = abs(ranks[:, None] - ranks) >= all_pairs.critical_difference
    assert apart.any()
    np.testing.assert_array_equal(apart, all_pairs.p_values.to_numpy() <= alpha)
    from_control = one.average_ranks.drop(CONTROL) - one.average_ranks[CONTROL] >= one.critical_difference
    assert from_control.any()
    assert from_control.to_dict() == (one.p_values <= alpha).to_dict()


def test_numerical_noise_does_not_break_ties():
    noisy = pd.DataFrame({"a": [0.1 + 0.2, 0.5], "b": [0.3, 0.5], "c": [0.3, 0.1]})
    assert statistics.average_ranks(noisy).to_dict() == {"a": 1.75, "b": 1.75, "c": 2.5}
    assert statistics.win_draw_loss(noisy["a"], noisy["b"]).draw == 2
    assert statistics.wilcoxon(noisy["a"], noisy["b"]).p_value == 1


def test_methods_that_never_tie_and_always_order_alike_have_the_largest_statistic():
    table = pd.DataFrame({"a": [3, 5, 7, 9], "b": [2, 4, 6, 8], "c": [1, 1, 1, 1]})
    result = statistics.friedman(table)
    assert result.chi_square == pytest.approx(4 * 2)
    assert (result.f_statistic, result.f_p_value) == (np.inf, 0)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1, 2], "b": [2, 1]}), "at least three methods"),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), "at least two data sets"),
        (pd.DataFrame({"a": [1, 2], "b": [2, None], "c": [3, 3]}, index=["x", "y"]), "method 'b' on data set 'y'"),
    ],
)
def test_friedman_refuses(table, message):
    with pytest.raises(ValueError, match=message):
        statistics.friedman(table)


def test_posthoc_tests_refuse():
    with pytest.raises(ValueError, match="control 'J48' is none of the methods"):
        statistics.bonferroni_dunn(DEMSAR, "J48")
    with pytest.raises(ValueError, match=r"alpha=5"):
        statistics.nemenyi(DEMSAR, alpha=5)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=6), st.sampled_from(["two-sided", "greater", "less"]))
def test_paired_tests_equal_scipy(pairs, alternative):
    first, second = np.array(pairs).T
    differences = np.round(first - second, 9)
    if (differences == differences[0]).all():
        return
    t = statistics.paired_t_test(first, second, alternative)
    expected = stats.ttest_1samp(differences, 0, alternative=alternative)
    assert (t.statistic, t.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert t.mean_difference == pytest.approx((first - second).mean())
    w = statistics.wilcoxon(first, second, alternative)
    expected = stats.wilcoxon(differences, alternative=alternative)
    assert (w.statistic, w.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_equal_and_constantly_different_results():
    same, above = [0.5, 0.6, 0.7], [0.6, 0.7, 0.8]
    for test in (statistics.paired_t_test, lambda *pair: statistics.corrected_t_test(*pair, test_train_ratio=0.25)):
        assert test(same, same).statistic == 0
        assert (test(above, same).statistic, test(above, same).p_value) == (np.inf, 0)
        assert test(same, above).statistic == -np.inf
    assert statistics.paired_t_test(same, same).p_value == 0.5
    assert statistics.wilcoxon(same, same).p_value == 1
    assert statistics.win_draw_loss(same, same) == statistics.WinDrawLoss(0, 3, 0, 1.0)


def test_t_tests_give_the_figures_of_the_scikit_learn_example():
    # "Statistical comparison of models using grid search" prints: corrected t 0.750, p 0.227; uncorrected
    # t 2.611, p 0.005; both one-sided, for the two best kernels in 10 x 10 folds.
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    rbf, linear = (
        cross_val_score(SVC(kernel=kernel, random_state=0), X, y, cv=folds, scoring="roc_auc")
        for kernel in ("rbf", "linear")
    )
    corrected = statistics.corrected_t_test(rbf, linear, test_train_ratio=1 / 9, alternative="greater")
    plain = statistics.paired_t_test(rbf, linear)
    assert (round(corrected.statistic, 3), round(corrected.p_value, 3)) == (0.750, 0.227)
    assert (round(plain.statistic, 3), round(plain.p_value, 3)) == (2.611, 0.005)


def test_corrected_t_test_by_hand():
    # Differences 1, 3, 2, 2: mean 2, variance 2/3; with 2 folds 2/3 * (1/4 + 1) = 5/6.
    result = statistics.corrected_t_test([3, 4, 3, 5], [2, 1, 1, 3], test_train_ratio=1.0)
    assert result.statistic == pytest.approx(2 / np.sqrt(5 / 6))
    assert result.p_value == pytest.approx(2 * stats.t.sf(2 / np.sqrt(5 / 6), 3))
    with pytest.raises(ValueError, match="test_train_ratio=0"):
        statistics.corrected_t_test([1, 2], [2, 2], test_train_ratio=0)
    with pytest.raises(ValueError, match="alternative='up'"):
        statistics.corrected_t_test([1, 2], [2, 2], test_train_ratio=1, alternative="up")


@pytest.mark.parametrize(
    ("win", "draw", "loss", "printed", "decimals"),
    # Zaidi et al. (2017), Table 4; its 0.011 for 21/2/49 is a misprint of 0.0011.
    [(21, 2, 49, 0.0011, 4), (45, 4, 23, 0.010, 3), (34, 3, 35, 1, 0), (39, 4, 29, 0.275, 3), (45, 3, 24, 0.015, 3),
     (25, 1, 46, 0.017, 3), (29, 2, 41, 0.1882, 4)],
)  # fmt: skip
def test_sign_test_gives_the_published_p_values(win, draw, loss, printed, decimals):
    second = np.zeros(win + draw + loss)
    first = np.repeat([1.0, 0.0, -1.0], [win, draw, loss])
    result = statistics.win_draw_loss(first, second)
    assert (result.win, result.draw, result.loss) == (win, draw, loss)
    assert round(result.p_value, decimals) == pytest.approx(round(printed, decimals))
    assert statistics.win_draw_loss(second, first, higher_is_better=False) == result


def test_series_are_matched_by_data_set():
    first = pd.Series([0.9, 0.8, 0.7], index=["a", "b", "c"])
    shuffled = pd.Series([0.5, 0.9, 0.9], index=["c", "a", "b"])
    assert statistics.win_draw_loss(first, shuffled) == statistics.WinDrawLoss(1, 1, 1, 1.0)
    with pytest.raises(ValueError, match="different data sets"):
        statistics.wilcoxon(first, shuffled.rename({"a": "d"}))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([1, 2], [1, 2, 3], "equally long"), ([1], [2], "at least two"), ([1, np.nan], [1, 2], "missing results")],
)
def test_paired_tests_refuse(first, second, message):
    for test in (statistics.wilcoxon, statistics.paired_t_test, statistics.win_draw_loss):
        with pytest.raises(ValueError, match=message):
            test(first, second)


def test_bias_and_variance_by_hand():
    # Row 0 (true a): a a a b, so bias 1/16 and variance 3/16; row 1 (true b): always c, so bias 1 and variance 0.
    folds = [([0, 1], [label, "c"]) for label in "aaab"]
    result = statistics.bias_variance(["a", "b", "b"], folds)
    assert (result.bias, result.variance) == pytest.approx(((1 / 16 + 1) / 2, (3 / 16 + 0) / 2))


@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_bias_and_variance_add_up_to_the_error(rows, repetitions, data):
    labels = st.integers(0, 2)
    y = np.array(data.draw(st.lists(labels, min_size=rows, max_size=rows)))
    predicted = [data.draw(st.lists(labels, min_size=rows, max_size=rows)) for _ in range(repetitions)]
    result = statistics.bias_variance(y, [(np.arange(rows), one) for one in predicted])
    assert result.bias + result.variance == pytest.approx((np.array(predicted) != y).mean())
    assert min(result.bias, result.variance) > -1e-12
    if repetitions == 1:
        assert result.variance == pytest.approx(0)


@pytest.mark.parametrize(
    ("y", "folds", "message"),
    [(["a"], [], "at least one fold"), (["a"], [([0], ["a", "b"])], "as many"), ([None], [([0], ["a"])], "missing")],
)
def test_bias_and_variance_refuse(y, folds, message):
    with pytest.raises(ValueError, match=message):
        statistics.bias_variance(np.array(y, dtype=object), folds)
