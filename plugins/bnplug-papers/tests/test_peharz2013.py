"""The reproduction: what it measures is the paper's; a quick run gives a whole page; its parts say what they should."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Page, Results, published
from bnplug_papers.peharz2013 import PAPER, claims, differences, figures, paths, protocol, rivals
from bnplug_papers.peharz2013.paths import draw_path, missing_path, path
from sklearn.impute import KNNImputer

import bnplug
from bnplug import Structure, datasets
from bnplug.experiments.statistics import wilcoxon
from bnplug.hooks import registry

FILES = sorted({file for file, _ in protocol.SETS.values()} - {"soybean-large", "timit"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    PAPER(None, out, quick=True)
    return out


def test_the_reproduction_is_registered():
    assert registry.reproduction("peharz2013").run is PAPER


def test_the_grids_are_those_of_the_learner():
    table = bnplug.Table.from_frame(pd.DataFrame({"x": [0, 1, 0, 1] * 3, "c": list("nyny") * 3}), "c")
    learner = bnplug.parameter_learner("ml-bn-svm", lam="cv", gamma="cv", cv=2)
    learner.fit(table, Structure(table.names, [[1], []]))
    assert learner.cv_lams_.tolist() == list(paths.LAMS)
    assert learner.cv_gammas_.tolist() == list(paths.GAMMAS)


def test_a_quick_run_writes_the_page_and_its_pictures(folder):
    text = (folder / "peharz2013.md").read_text("utf-8")
    for part in ("Figure 1", "Figure 2", "Table 1: all", "Figure 3", "Figure 4", "Claims", "91.09", "ML-BN-SVM"):
        assert part in text
    pictures = {picture.name for picture in folder.glob("*.png")}
    # MM was run wherever the others were, so that there is one picture of missing features.
    names = ("trade-off", "missing-lam", "likelihoods", "missing")
    assert pictures == {f"peharz2013-{name}.png" for name in names}
    assert "nan" not in text.lower()
    assert text == PAPER(None, folder, quick=True, page_only=True).read_text("utf-8")
    # JSON as other programs read it: no NaN.
    lines = (folder / "peharz2013-quick.jsonl").read_text().splitlines()
    assert all(json.loads(line, parse_constant=pytest.fail) for line in lines)


def test_the_sets_and_the_order_of_tasks(monkeypatch):
    monkeypatch.setattr(protocol, "find_data", lambda wanted, _: ([name for name in wanted if name in FILES], []))
    tasks, lacking = protocol.tasks(None, quick=False)
    assert lacking == ["soybean-large", "TIMIT"]
    own = [task.key for task in tasks if task.part == "table 1"]
    assert len({key["dataset"] for key in own}) == 27 - 2 + 1
    first = [key for key in own if key["method"] != "MM"]
    assert own[: len(first)] == first
    for method in ("ML-BN-SVM", "MM", "SVM"):
        folds = [key["fold"] for key in own if key["method"] == method]
        assert folds == sorted(folds)
    assert {key["dataset"] for key in own if key["fold"] == 1} == {
        name for name, (_, rows) in protocol.SETS.items() if rows <= 5000 and name != "soybean-large"
    }
    assert sum(task.part == "figure 2" for task in tasks) * task_draws(tasks) == 4 * 100


def task_draws(tasks):
    return next(task.arguments[3] for task in tasks if task.part == "figure 2")


def test_published_rows_are_in_the_order_of_the_sets():
    theirs = published("peharz2013-table1-accuracy")
    paper = [name for name in protocol.SETS if name not in protocol.FURTHER]
    assert paper == sorted(paper, key=str.lower)
    assert theirs.query("method == 'TAN ML'")["dataset"].tolist() == paper
    assert theirs.query("method == 'TAN MCL'")["dataset"].tolist() == paper[:22]
    assert set(figures.table_1()) <= set(figures.CLASSIFIERS)


def test_splits():
    for dataset in (datasets.load("iris"), datasets.load("corral")):
        parts = protocol.splits(dataset)
        assert len(parts) == 5
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(len(dataset.X)))
    rows = pd.DataFrame({"x": np.arange(11_000)})
    large = datasets.Dataset("usps-11000", rows, pd.Series(np.repeat(np.arange(10), 1100), name="class"), ("x",), "")
    ((train, test),) = protocol.splits(large)
    assert (len(train), len(test)) == (8000, 3000)
    assert (np.bincount(large.y.iloc[train]) == 800).all()
    # Rows whose features occur in two classes count in the first.
    copied = dataclasses.replace(large, X=pd.DataFrame({"x": np.arange(11_000) % 9_900}))
    ((train, test),) = protocol.splits(copied)
    assert (len(train), len(test)) == (7200, 2700)
    # The usual training rows, and a third drawn by class where there are none.
    usual, other = (dataclasses.replace(large, name=name) for name in ("usps-hastie-9298", "nursery"))
    assert [part.tolist() for part in protocol.splits(usual)[0]] == [[*range(7291)], [*range(7291, 11_000)]]
    for dataset, way in ((other, ""), (usual, protocol.THIRD)):
        ((train, test),) = protocol.splits(dataset, way)
        assert (len(train), len({*train, *test})) == (7333, 11_000)
        assert np.bincount(large.y.iloc[test]).max() == 367


def test_incomplete_rows_are_left_out_unless_they_are_to_be_kept():
    iris = datasets.load("iris")
    holes = dataclasses.replace(iris, X=iris.X.mask(np.arange(600).reshape(150, 4) % 40 == 0))
    for way, kept in (("", 135), (protocol.AS_VALUE, 150), (protocol.LEFT_OUT, 150)):
        parts = protocol.splits(holes, way)
        assert all(len({*train, *test}) == kept for train, test in parts)
        assert len(np.unique(np.concatenate([test for _, test in parts]))) == kept


def test_the_grids_are_the_papers():
    fine, coarse = (protocol.network("TAN", "ML-BN-SVM", coarse).parameters for coarse in (False, True))
    assert (len(fine.lam), len(fine.gamma), fine.cv, fine.n_inner_folds) == (14, 6, 5, 5)
    assert (coarse.lam, coarse.gamma, coarse.n_inner_folds) == ((0.0, 1.0, 8.0, 64.0), (1.0, 10.0), 3)
    for coarse, folds in ((False, 5), (True, 3)):
        margins = protocol.network("TAN", "MM", coarse).parameters
        assert margins.lam == (0.01, 0.12, 0.23, 0.34, 0.45, 0.56, 0.67, 0.78, 0.89, 1.0)
        assert (margins.kappa[0], len(margins.kappa), margins.kappa[-1]) == (0.01, 10, 0.5)
        assert (margins.early_stopping, margins.n_inner_folds) == (False, folds)
    stopped = protocol.network("TAN", "MCL", False)
    assert stopped.param_grid == {"parameters__max_iter": (5, 10, 20, 50, 100, 200, 500)}
    assert [len(values) for values in rivals.rival("SVM", False).grid.values()] == [13, 11]
    assert [len(values) for values in rivals.rival("SVM", True).grid.values()] == [3, 3]


def test_mcl_is_stopped_where_held_out_rows_are_best():
    X, y = datasets.iris()
    search = protocol.network("NB", "MCL", True).fit(X, y)
    best = search.cv_results_["mean_test_score"].max()
    assert search.best_params_["parameters__max_iter"] == next(
        steps for steps, score in zip(protocol.STEPS, search.cv_results_["mean_test_score"], strict=True)
        if score == best
    )  # fmt: skip


def test_cuts_of_all_rows_are_categories_at_their_places():
    X, y = datasets.iris()
    bins, names = protocol._cut(X.iloc[10:], y.iloc[10:].astype(str), "auto")
    assert (list(bins.index), list(bins.columns)) == (list(range(10, 150)), list(names))
    lengths = X["petal length (cm)"].iloc[10:].groupby(bins["petal length (cm)"]).agg(["min", "max"]).sort_index()
    assert (lengths["max"].to_numpy()[:-1] < lengths["min"].to_numpy()[1:]).all()
    found = protocol.measure_way("iris", protocol.CUT_BEFORE, "ML", 0, None)
    assert found["accuracy"] > 80


def test_bins_are_those_of_networks_and_missing_cells_stay_missing():
    X, y = datasets.iris()
    table, encoder = bnplug.encode_training(X, y, discretizer="mdl", name="(class)")
    holes = X.copy()
    holes.iloc[0, 1] = np.nan
    found = rivals.one_hot(encoder.encode(holes, table), table)
    model = bnplug.BayesianNetworkClassifier("nb", "ml").fit(X, y)
    n_states = [len(model.tables_.states[name]) for name in X.columns]
    assert found.shape == (len(X), sum(n_states))
    own = slice(n_states[0], n_states[0] + n_states[1])
    assert np.isnan(found[0, own]).all()
    assert np.isnan(found).sum() == n_states[1]
    assert (np.nansum(found, axis=1)[1:] == 4).all()


def test_neighbours_are_those_of_scikit_learn(monkeypatch):
    rng = np.random.default_rng(0)
    complete, rows = rng.normal(size=(40, 6)), rng.normal(size=(30, 6))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    expected = KNNImputer(n_neighbors=5).fit(complete).transform(rows)
    np.testing.assert_allclose(rivals.impute(rows, complete), expected)
    monkeypatch.setattr(rivals, "_CELLS", 100)
    np.testing.assert_allclose(rivals.impute(rows, complete), expected)
    assert rivals.impute(complete, complete).tolist() == complete.tolist()


def test_a_class_of_one_row_chooses_no_setting_and_is_learned(monkeypatch):
    monkeypatch.setattr(rivals, "MANY", 10)
    X, y = datasets.corral()
    labels = y.astype(str).to_numpy()
    labels[0] = "once"
    model = rivals.rival("linear SVM", True).fit(X, labels)
    assert set(model.chosen_) == {"C"}
    assert "once" in model.classifier_.classes_


def test_a_rival_learns_from_all_rows_what_few_rows_chose(monkeypatch):
    monkeypatch.setattr(rivals, "MOST", 60)
    X, y = datasets.iris()
    model = rivals.rival("SVM", True).fit(X, y)
    assert len(model.classifier_.shape_fit_) == 2
    assert model.classifier_.shape_fit_[0] == 150
    assert model.chosen_["C"] in rivals.COARSE_PENALTIES


def make_frame(rows):
    columns = ["dataset", "structure", "method", "fold", "accuracy"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(classifier=(frame["structure"] + " " + frame["method"]).str.strip(), n_test=50)


def test_pairs_are_of_the_same_folds_and_of_the_papers_sets():
    folds = figures.by_fold(make_frame([
        ("car", "TAN", "ML-BN-SVM", 0, 90.0), ("car", "TAN", "ML-BN-SVM", 1, 80.0), ("car", "TAN", "ML", 0, 88.0),
        ("usps-11000", "TAN", "ML-BN-SVM", 0, 97.0), ("usps-11000", "TAN", "ML", 0, 92.0),
        ("vote", "TAN", "ML-BN-SVM", 0, 95.0), ("vote", "TAN", "ML", 0, 96.0),
    ]))  # fmt: skip
    own = figures.paired(folds, "TAN ML-BN-SVM", "TAN ML")
    assert figures.coverage(own.index) == (2, "data sets, with 2 of their 10 folds")
    both = figures.means_of(own)
    assert both.to_numpy().tolist() == [[90.0, 88.0], [95.0, 96.0]]
    assert claims.wins(both) == (1, 1)
    assert claims.gap(both) == pytest.approx(0.5)
    assert figures.paired(folds, "TAN ML-BN-SVM", "TAN MM").empty
    assert figures.means_of(folds).loc["car", "TAN ML-BN-SVM"] == 85.0
    assert figures.whole(folds)["TAN ML"].to_dict() == {"car": False, "vote": False, "usps-11000": True}


def test_clearly_is_more_than_chance():
    ahead = pd.DataFrame({"a": np.arange(50.0, 58.0) + np.arange(1, 9) / 7, "b": np.arange(50.0, 58.0)})
    p = [wilcoxon(own["a"], own["b"]).p_value for own in (ahead, ahead[:4])]
    assert claims.clearly(ahead, p[0])
    assert not claims.clearly(ahead[["b", "a"]], p[0])
    assert not claims.clearly(ahead[:4], p[1])


def test_figure_2_is_judged():
    means = pd.DataFrame({"lam=0": [70.0, 68.0, 60.0], "lam=1": [71.5, 69.0, 60.5], "lam=16": [72.0, 60.0, 50.0]})
    assert claims.judge_by_lam(means)[0] is True
    assert claims.judge_by_lam(means.assign(**{"lam=16": [73.0, 60.0, 50.0]}))[0] is False
    assert claims.judge_by_lam(means.assign(**{"lam=1": [71.5, 67.0, 60.5]}))[0] is False
    means.attrs = {"features": 4}
    # ML is the worst with all features, but loses two points with one of four missing; lam = 16 loses more.
    assert claims.judge_ml(means)[0] is False
    level = means.assign(**{"lam=0": [70.0, 69.5, 60.0]})
    level.attrs = means.attrs
    assert claims.judge_ml(level)[0] is True
    assert claims.judge_larger(means)[0] is True
    slow = means.assign(**{"lam=16": [72.0, 71.0, 50.0]})
    slow.attrs = means.attrs
    assert claims.judge_larger(slow)[0] is False
    page = Page("peharz2013", "", "")
    claims.claim_figures(page, Results([]), pd.DataFrame(), pd.DataFrame())
    assert {verdict for _, verdict, _ in page.claims} == {"not testable here"}


def test_curves_are_of_the_folds_that_all_have():
    low, high = [50.0] * 10, [70.0] * 10
    rows = [("car", "TAN", "ML", 0, 50.0), ("car", "TAN", "ML", 1, 70.0), ("car", "", "SVM", 0, 50.0),
            ("vote", "TAN", "ML", 0, 70.0), ("vote", "", "SVM", 0, 70.0), ("vote", "NB", "ML", 0, 1.0)]  # fmt: skip
    frame = make_frame(rows).assign(hidden=[low, high, low, high, high, None])
    curve = figures.hidden_curve(frame, ["ML", "SVM"])
    assert curve.loc[0].tolist() == [60.0, 60.0]
    assert curve.attrs == {"folds": [("car", 0), ("vote", 0)]}
    assert figures.hidden_curve(frame, ["ML", "MM"]).empty


def test_missing_features_are_judged_by_few_and_many():
    curve = pd.DataFrame({"ML": 60.0, "ML-BN-SVM": [62.0] * 5 + [58.0] * 5, "MCL": [63.0] + [40.0] * 9, "SVM": 50.0})
    curve.index = list(protocol.PERCENTAGES)
    assert claims.judge_robust(curve)[0]
    assert claims.judge_best(curve)[0]
    assert claims.judge_fall(curve, "MCL")[0]
    assert claims.judge_svm(curve)[0]
    assert not claims.judge_robust(curve.assign(**{"ML-BN-SVM": 56.0}))[0]
    assert not claims.judge_best(curve.assign(SVM=61.0))[0]
    assert not claims.judge_fall(curve.assign(MCL=63.0), "MCL")[0]
    assert not claims.judge_svm(curve.assign(SVM=59.0))[0]


def test_mm_is_judged_by_itself_when_it_was_run():
    curve = pd.DataFrame({"ML": 60.0, "ML-BN-SVM": 62.0, "MCL": 60.0, "MCL to the end": 60.0, "SVM": 50.0},
                         index=list(protocol.PERCENTAGES))  # fmt: skip
    curve.attrs = {"folds": [("car", 0), ("vote", 0)]}
    margins = curve.assign(MM=[63.0] + [40.0] * 9)
    margins.attrs = {"folds": [("car", 0)]}
    verdicts = []
    for own in (pd.DataFrame(), margins):
        page = Page("peharz2013", "", "")
        claims.claim_hidden(page, curve, own)
        verdicts.append({claim: verdict for claim, verdict, _ in page.claims})
    changed = {claim for claim, verdict in verdicts[0].items() if verdicts[1][claim] != verdict}
    assert changed == {"As features are missing, MM drops off quickly."}
    assert [own[changed.copy().pop()] for own in verdicts] == [
        "not testable here", "yes, on 1 of 5 folds"
    ]  # fmt: skip


def test_likelihoods_are_compared_on_the_same_folds_of_the_papers_sets():
    rows = [("car", "ML-BN-SVM", 0, 90.0), ("car", "ML-BN-SVM", 1, 10.0), ("car", "MCL", 0, 85.0),
            ("car", "MM", 1, 5.0), ("usps-11000", "ML-BN-SVM", 0, 1.0), ("usps-11000", "MCL", 0, 99.0)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["dataset", "method", "fold", "train"]).assign(structure="TAN")
    found = found.assign(test=found["train"], classifier="TAN " + found["method"])
    means = figures.mean_likelihoods(figures.shared_likelihoods(found, ["ML-BN-SVM", "MCL"]))
    assert means["train"].to_dict() == {"ML-BN-SVM": 90.0, "MCL": 85.0}
    page = Page("peharz2013", "", "")
    claims.claim_likelihoods(page, found)
    verdicts = [(verdict.split(",")[0], evidence.split(";")[0]) for _, verdict, evidence in page.claims]
    # Of all folds by itself, else of those that both have; MCL to the end was not run.
    assert verdicts == [
        ("no", "ML-BN-SVM 50.00%, 50.00%"), ("no", "ML-BN-SVM 90.00%, 90.00%"),
        ("not testable here", "not run yet"), ("no", "ML-BN-SVM 10.00%, 10.00%"),
    ]  # fmt: skip
    by_set = figures.likelihoods_by_set(found[found["method"] != "MM"])
    assert by_set.loc["car"].to_dict() == {"TAN MCL": 85.0, "TAN ML-BN-SVM": 90.0}


def test_descents_from_all_starts_end_at_one_optimum():
    found = protocol.measure_optimum("iris", "TAN", None)
    assert len(found["objectives"]) == 1 + protocol.STARTS
    assert found["unnormalized"] < 1e-3
    frame = pd.DataFrame([{"dataset": "iris", **found}])
    assert claims.judge_optimum(frame)[0] is True
    frame["objectives"] = [[1.0, 1.01]]
    assert claims.judge_optimum(frame)[0] is False
    assert claims.judge_optimum(frame[:0])[0] is None


def test_other_draws_have_the_same_rows_in_other_folds():
    iris = datasets.load("iris")
    first, second = protocol.redrawn(iris, 1), protocol.redrawn(iris, 2)
    for parts in (first, second):
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(150))
    assert first[0][1].tolist() != second[0][1].tolist()
    rows = pd.DataFrame({"x": np.arange(11_000)})
    large = datasets.Dataset("letter", rows, pd.Series(np.arange(11_000) % 10, name="class"), ("x",), "")
    ((train, test),) = protocol.splits(dataclasses.replace(large, name="usps-hastie-9298"))
    ((other_train, other_test),) = protocol.redrawn(dataclasses.replace(large, name="usps-hastie-9298"), 1)
    assert (len(other_train), len(other_test)) == (len(train), len(test))
    assert len({*other_train, *other_test}) == 11_000


def test_the_draw_is_a_reason_only_where_other_draws_were_run():
    folds = figures.by_fold(make_frame([("lymphography", "TAN", "MCL", fold, 72.0) for fold in range(5)]))
    draws = [
        {"part": "other draws", "key": {"dataset": "lymphography", "method": "MCL", "draw": draw}, "seconds": 1.0,
         "value": {"accuracy": 70.0 + 2 * draw, "folds": 5}}
        for draw in range(1, 6)
    ]  # fmt: skip
    for records, reason in (([], "not explained"), (draws, "the draw of the folds")):
        page = Page("peharz2013", "", "")
        differences.add_published(page, Results(records), folds)
        (line,) = (row for row in page.to_markdown().splitlines() if row.startswith("| lymphography | TAN MCL |"))
        assert reason in line


def test_draws_are_another_way_where_test_rows_are_the_usual_ones():
    def record(dataset, draw, accuracy):
        key = {"dataset": dataset, "method": "ML", "draw": draw}
        return {"part": "other draws", "key": key, "seconds": 1.0, "value": {"accuracy": accuracy, "folds": 1}}

    results = Results([record(name, draw, 90.0 + draw) for name in ("usps", "nursery") for draw in (1, 3)])
    (way,) = figures.other_ways(results, pd.DataFrame())
    assert way.figures["TAN ML"].to_dict() == {"usps": 92.0}
    errors, draws = figures.spread_of_draws(results)
    assert errors["TAN ML"].to_dict() == {"nursery": pytest.approx(2**0.5)}
    assert draws["TAN ML"].to_dict() == {"nursery": 2}


def test_averages_that_are_off_are_marked_and_listed():
    folds = figures.by_fold(make_frame([
        ("letter", "TAN", "ML", 0, 80.0), ("satellite", "TAN", "ML", 0, 86.0), ("usps-11000", "TAN", "ML", 0, 99.0),
    ]))  # fmt: skip
    page = Page("peharz2013", "", "")
    differences.add_published(page, Results([]), folds)
    text = page.to_markdown()
    # Without the second file of USPS.
    assert "| Average | 83.00 (86.00) ▼ |" in text
    assert "| Average | TAN ML | 83.00 | 86.00 | -3.00 | not explained |" in text
    assert "| usps-11000 | 99.00 (91.20) ▲ |" in text


def test_the_rows_of_published_intervals():
    found = figures.rows_of_intervals()
    assert found.index.tolist() == ["adult", "letter", "nursery", "satellite", "shuttle", "usps"]
    for name in ("letter", "nursery", "shuttle"):
        third = int(found.loc[name, "a third"])
        for method in ("TAN ML", "TAN MCL"):
            low, high = map(int, found.loc[name, method].split(" to "))
            assert low <= third <= high


def test_a_way_counts_when_all_its_folds_are_there():
    def record(dataset, fold, accuracy):
        key = {"dataset": dataset, "way": "w", "method": "ML", "fold": fold}
        return {"part": "other ways", "key": key, "seconds": 1.0, "value": {"accuracy": accuracy, "n_test": 10}}

    lines = [record("vote", fold, 90.0 + fold) for fold in range(5)]
    lines += [record("letter", 0, 80.0), record("crx", 0, 70.0)]
    (way,) = figures.other_ways(Results(lines), pd.DataFrame())
    assert way.figures["TAN ML"].dropna().to_dict() == {"letter": 80.0, "vote": 92.0}


def test_figure_1_has_two_panels():
    frame = pd.DataFrame({"x": [0, 0, 1, 1, 1], "z": [0, 1, 0, 1, 1], "c": ["n", "n", "y", "y", "n"]})
    table = bnplug.Table.from_frame(frame, "c")
    upper = draw_path(path(table, Structure(table.names, [[2], [2], []]), [0, 1, 2]))
    assert [len(ax.lines) for ax in upper.figure.axes] == [1, 1, 1]
    assert [text.get_text() for text in upper.figure.axes[1].get_xticklabels()] == ["0", "1", "2"]


def test_figure_2_has_a_curve_for_each_lam():
    X, y = datasets.iris()
    found = missing_path((X, y), (X, y), [0, 4], [0, 4], draws=2, gamma=1.0)
    assert set(found["method"]) == {"lam=0", "lam=4"}
    # With nothing known, every row is given the most frequent class.
    assert found[found["missing"] == 4]["accuracy"].to_numpy() == pytest.approx(1 / 3)
