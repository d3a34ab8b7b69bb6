"""The paper's protocol, what its results say, and the page that is made of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Page, Results, published
from bnplug_papers.kit.results import record_name
from bnplug_papers.zaidi2017 import PAPER, beyond, pictures, protocol, tables

import bnplug
from bnplug import Structure, datasets
from bnplug.experiments.statistics import bias_variance
from bnplug.hooks import registry


def shown(page):
    """The pictures that a page names."""
    return [line.rpartition("](")[2].rstrip(")") for line in page.splitlines() if line.startswith("![")]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The page and the results of a quick run on two small sets."""
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "QUICK", ("iris", "balance-scale"))
        path = PAPER(None, folder, quick=True)
        return folder, path.read_text(encoding="utf-8")


def test_the_reproduction_is_registered():
    assert registry.reproduction("zaidi2017").run is PAPER


def test_the_protocol_has_the_papers_penalty():
    assert all(protocol.weighted(letter).l2 == 0.0 for letter in protocol.LETTERS)


def test_the_strengths_on_the_page_are_those_of_the_learner():
    table = bnplug.Table.from_frame(pd.DataFrame({"x": [0, 1, 0, 1] * 5, "c": list("nyny") * 5}), "c")
    learner = bnplug.parameter_learner("ccbn-w", l2="cv")
    learner.fit(table, Structure(table.names, [[1], []]))
    assert len(learner.cv_nll_) == len(beyond._L2_GRID)
    assert beyond._L2_GRID[int(learner.cv_nll_.argmin())] == learner.l2_


def test_a_quick_run_writes_its_page(quick):
    folder, page = quick
    headings = "What was run|Table 4|Table 5|Table 6|Figures 4|Figures 6|Figures 13|Figures 15|Figures 20|Each data set"
    headings += "|Beyond the paper: a penalty|Beyond the paper: weights|Beyond the paper: KDB-2|Where we part|Claims"
    for heading in headings.split("|"):
        assert f"\n## {heading}" in page
    for number, name in {13: "zeros", 14: "generative"}.items():
        assert f"![Figure {number}: how the NLL falls from {'zeros' if number == 13 else 'the generative'}" in page
        assert f"(zaidi2017-{name}.png)" in page
    assert sorted(shown(page)) == sorted(path.name for path in folder.glob("*.png"))
    assert str(folder) not in page


def test_results_that_ship_are_whole_lines_of_known_tasks():
    lines = PAPER.shipped().splitlines()
    # Five rounds of everything, over 64 data sets, are 1.5 MB.
    assert len(PAPER.shipped()) < 2_000_000
    assert all(line.startswith("{") and line.endswith("}") for line in lines)
    tasks, _ = protocol.tasks(None, quick=False)
    names = {task.key["dataset"] for task in tasks}
    results = Results(json.loads(line) for line in lines[1:])
    kept = [record for part in results.parts for record in results.records(part) if record["key"]["dataset"] in names]
    assert len(kept) > len(names)
    assert {record_name(record) for record in kept} <= {task.name for task in tasks}


def test_a_page_of_a_part_is_a_page(quick, tmp_path):
    """Whatever a run was interrupted in."""
    folder, _ = quick
    lines = (folder / "zaidi2017-quick.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for number, count in enumerate((1, 3, 6, 20)):
        part = tmp_path / str(number)
        part.mkdir()
        (part / "zaidi2017-quick.jsonl").write_text("".join(lines[:count]), encoding="utf-8")
        assert PAPER(None, part, quick=True, page_only=True).exists()


def test_tasks_are_the_papers_first_rounds_first():
    tasks, lacking = protocol.tasks(None, quick=False)
    names = {task.key["dataset"] for task in tasks}
    assert {"iris", "tic-tac-toe", "poker-hand", "led"} <= names
    assert len(names) + len(lacking) == len(published("zaidi2017-table3-datasets")) == 73
    assert {task.part for task in tasks[: 2 * len(names)]} == {"data sets", "columns"}
    for part, each in {"parameterisations": 3, "levels": 3, "lambda": 3, "KDB-2 and KDB-3": 2}.items():
        rounds = [task.key["round"] for task in tasks if task.part == part]
        assert rounds == sorted(list(range(5)) * each * len(names))
    assert {task.arguments[-1] for task in tasks if task.key["dataset"] == "iris" and task.part == "table 4"} == {
        10_000
    }
    assert {task.arguments[-1] for task in tasks if task.key["dataset"] == "poker-hand" and task.part == "table 4"} == {
        1_000
    }


def test_learners_stop_and_remember_as_the_paper_does():
    learner = protocol.weighted("d", init="zeros")
    assert (learner.tol, learner.max_iter, learner.memory, learner.l2, learner.init) == (1e-32, 10_000, 5, 0.0, "zeros")


def test_folds_are_five_rounds_of_two():
    folds = [protocol.fold("iris", None, number) for number in range(10)]
    for one, other in zip(folds[::2], folds[1::2], strict=True):
        assert sorted([*one.rows, *other.rows]) == list(range(150))
        assert one.table.n_rows == len(other.rows)
    assert not np.array_equal(folds[0].rows, folds[2].rows)


@pytest.fixture
def ragged(monkeypatch):
    """A set with a column that has one value, an identifier and a column without values."""
    X = pd.DataFrame({
        "id": [f"r{i}" for i in range(40)], "x": ["a", "b"] * 20, "once": ["v"] + [None] * 39, "never": [np.nan] * 40,
    })  # fmt: skip
    dataset = datasets.Dataset("ragged", X, pd.Series([0, 1, 1, 1] * 10), ("id", "x", "once"), "")
    monkeypatch.setattr(protocol, "load_data", lambda name, folder: dataset)
    protocol.fold.cache_clear()
    yield dataset
    protocol.fold.cache_clear()


@pytest.mark.filterwarnings("ignore::bnplug.UselessColumnWarning", "ignore::bnplug.UnseenValueWarning")
@pytest.mark.parametrize("structure", protocol.STRUCTURES)
def test_a_column_without_values_in_a_fold_stops_nothing(ragged, structure):
    """As in heart-hungarian, where three rows of 294 have a value of "ca"."""
    found = protocol.decompose("ragged", None, structure, 5, 20)
    assert all(0 <= loss <= 1 for loss in found["zero_one"])
    halves = [set(protocol.fold("ragged", None, half).table.names) for half in (0, 1)]
    assert all({"id", "x"} <= names and "never" not in names for names in halves)
    assert sorted("once" in names for names in halves) == [False, True]


def test_features_with_many_values_are_kept_and_named(ragged):
    assert protocol.describe("ragged", None, 5)["many"] == ["id"]


@pytest.mark.filterwarnings("ignore::bnplug.UselessColumnWarning", "ignore::bnplug.UnseenValueWarning")
def test_features_that_are_left_out_of_a_fold_are_counted(ragged):
    """The one value of "once" is in the training rows of one fold of each round."""
    assert protocol.find_left_out("ragged", None, 5) == {"folds": 10, "left_out": {"once": 5, "never": 10}}


def test_bias_and_variance_are_those_of_all_rounds():
    found = protocol.decompose("iris", None, "NB", 3, 50)
    np.testing.assert_allclose(np.add(found["bias"], found["variance"]), found["zero_one"], atol=1e-12)
    y = np.unique(datasets.load("iris").y, return_inverse=True)[1]
    predictions = []
    for number in range(6):
        own = protocol.fold("iris", None, number)
        dag, _ = protocol.learn_structure(own.table, "NB")
        predictions.append((own.rows, protocol.measure(own, dag, bnplug.parameter_learner("ml"))[1]))
    assert found["bias"][0] == pytest.approx(bias_variance(y, predictions).bias)


def test_unbiased_estimates_are_those_of_infinitely_many_rounds():
    """Rows with known probabilities of each prediction: the mean over many draws of five is the truth."""
    rng = np.random.default_rng(0)
    p = np.array([0.7, 0.2, 0.1])
    draws = rng.multinomial(5, p, 200_000) / 5
    bias = ((np.array([1.0, 0.0, 0.0]) - draws) ** 2).sum(axis=1).mean() / 2
    variance = (1 - (draws**2).sum(axis=1)).mean() / 2
    found = tables.unbiased(pd.DataFrame({"NB": [bias]}), pd.DataFrame({"NB": [variance]}), 5)
    assert found["unbiased bias"].loc[0, "NB"] == pytest.approx((0.3**2 + 0.2**2 + 0.1**2) / 2, abs=1e-3)
    assert found["unbiased variance"].loc[0, "NB"] == pytest.approx((1 - (p**2).sum()) / 2, abs=1e-3)
    assert bias > found["unbiased bias"].loc[0, "NB"] + 0.01


def test_a_class_that_training_did_not_see_is_an_error_of_one():
    zero_one, rmse, predicted = protocol.judge(np.array([[1.0, 0.0]]), np.array([0, 1]), np.array([2]))
    assert (zero_one, rmse, predicted.tolist()) == (1.0, 1.0, [0])


def test_parameterisations_start_and_end_together():
    found = protocol.compare_parameterisations("balance-scale", None, "NB", 0, 2_000)
    assert len(found["zero_one"]) == len(found["seconds"]) == 4
    # One minimum, as the data are not separable: the three predict alike.
    assert np.ptp(found["rmse"][1:]) < 1e-3
    assert found["zeros_50"][0] <= found["zeros_10"][0] <= found["zeros_5"][0] <= np.log(3)
    paths = protocol.follow("balance-scale", None, "NB", 50)
    assert paths["w"][0] == paths["d"][0] == paths["e"][0] == pytest.approx(np.log(3))
    assert paths["w(I)"][0] == pytest.approx(paths["d(I)"][0])


def test_further_iterations_are_those_of_the_one_behind():
    ahead, behind = [9.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 1.0, 1.0]
    assert protocol.count_further(ahead, behind) == 1
    assert protocol.count_further(behind, ahead) == -1
    assert protocol.count_further(ahead, ahead) == 0
    assert protocol.count_further(ahead, [9.0] * 8) == 95
    # Both are at the minimum, to rounding.
    assert protocol.count_further([9.0, 1.0], [9.0, 2.0, 1.0 + 1e-12]) == 0


def test_levels_have_ever_more_weights():
    found = protocol.compare_levels("balance-scale", None, "TAN", 0)
    assert len(found["zero_one"]) == len(found["n_iter"]) == 4
    assert found["zero_one"][0] > found["zero_one"][2]


def test_the_penalty_lies_between_its_ends():
    found = protocol.compare_strengths("iris", None, "NB", 0)
    generative, between, free = found["rmse"]
    assert min(generative, free) - 0.02 <= between <= max(generative, free) + 0.02
    assert -3 <= found["log10_l2"] <= 4


def test_networks_that_are_too_large_are_not_learned(monkeypatch):
    whole = protocol.learn_deeper("balance-scale", None, 2, 0)
    assert len(whole["rmse"]) == 2
    monkeypatch.setattr(protocol, "MOST_NUMBERS", whole["numbers"] - 1)
    assert set(protocol.learn_deeper("balance-scale", None, 2, 0)) == {"numbers"}


def test_numbers_of_a_network_are_counted():
    own = protocol.fold("balance-scale", None, 0)
    dag, _ = protocol.learn_structure(own.table, "NB")
    cards = dict(zip(own.table.names, own.table.cards.tolist(), strict=True))
    expected = 3 + sum(3 * card for name, card in cards.items() if name != own.table.target)
    assert protocol.count_numbers(own.table, dag) == expected


def record(part, key, value):
    return {"part": part, "key": key, "seconds": 1.0, "value": value}


@pytest.fixture
def figures():
    """Three sets, one of them Big, with made up figures."""
    lines = [
        record("data sets", {"dataset": name}, {"rows": rows, "max_iter": 1_000 if name == "c" else 10_000})
        for name, rows in {"c": 20_000, "a": 10, "b": 30}.items()
    ]
    for name, losses in {"a": [0.1, 0.2], "b": [0.3, 0.3], "c": [0.5, 0.4]}.items():
        value = {"zero_one": losses, "rmse": losses, "bias": losses, "variance": [0.0, 0.0]}
        lines.append(record("table 4", {"dataset": name, "structure": "NB", "rounds": 5}, value))
        for structure in protocol.STRUCTURES:
            own = {"zero_one": [0.2, *losses, 0.1], "rmse": [0.2, *losses, 0.1], "seconds": [1.0, 1.0, 2.0, 4.0],
                   "n_iter": [1, 2, 3], "further": [4, 5], **{f"{start}_{after}": [1.0, 2.0, 3.0]
                   for start in ("zeros", "generative") for after in (5, 10, 50)}}  # fmt: skip
            lines += [
                record("parameterisations", {"dataset": name, "structure": structure, "round": r}, own) for r in (0, 1)
            ]
    return tables.Figures.of(Results(lines))


def test_figures_are_means_by_rising_size(figures):
    assert list(figures.compared["rmse"].index) == ["a", "b", "c"]
    assert figures.big == ["c"]
    assert figures.rounds == {"a": 2, "b": 2, "c": 2}
    assert figures.whole == ["a", "b"]
    assert figures.is_cut
    assert figures.compared["seconds"].loc["a"].tolist() == [1.0, 1.0, 2.0, 4.0] * 3
    assert list(figures.compared["further"].columns) == ["NBd", "NBe", "TANd", "TANe", "KDB-1d", "KDB-1e"]


def test_tables_count_who_is_lower(figures):
    won = tables.count_wins(figures.against_generative["zero_one"], "NBw", "NB")
    assert (won.win, won.draw, won.loss) == (1, 1, 1)
    counts = tables.win_draw_loss_table(figures)
    assert counts.iloc[0][["comparison", "win", "published"]].tolist() == ["NBw vs NB", 1, "62/3/7"]
    nll = counts[counts["measure"] == "NLL (5)"]
    assert (nll[["win", "draw", "loss"]] == [3, 0, 0]).all(axis=None)


def test_times_are_compared_by_geometric_means_and_ranks(figures):
    times = tables.geometric_means(tables.of_structure(figures.compared["seconds"], "NB"), "NBw(I)")
    assert times.to_dict() == pytest.approx({"NB": 1.0, "NBw(I)": 1.0, "NBd(I)": 2.0, "NBe(I)": 4.0})
    test, _ = tables.rank_tests(figures)["TAN", "n_iter"]
    assert test.average_ranks.to_dict() == {"TANw(I)": 1.0, "TANd(I)": 2.0, "TANe(I)": 3.0}


def test_big_sets_that_are_not_compared_yet_are_not_drawn(figures):
    whole, without = figures.compared["seconds"], figures.compared["seconds"].drop(index="c")
    for seconds, rows in ((whole, 2), (without, 1)):
        compared = {**figures.compared, "seconds": seconds}
        drawn = pictures.scatter(tables.Figures(figures.against_generative, compared, ["c"], figures.rounds), "NB")
        assert len(drawn.figure.axes) == 3 * rows


def test_a_verdict_that_differs_is_tried_in_another_way():
    """Bias too large by variance hides who is lower; tiny NLLs that differ in their digits are no draws then."""
    names = [f"s{number}" for number in range(40)]
    index = {"index": names}
    bias = pd.DataFrame({"NB": [0.20] * 40, "NBw": [0.21] * 40}, **index)
    variance = pd.DataFrame({"NB": [0.0] * 40, "NBw": [0.08] * 40}, **index)
    generative = {
        "bias": bias,
        "variance": variance,
        "zero_one": bias,
        "rmse": bias,
        **tables.unbiased(bias, variance, 5),
    }
    nll = pd.DataFrame({"NBw": [1e-9] * 40, "NBd": [2e-9] * 40, "NBe": [1e-9] * 40}, **index)
    compared = {f"zeros_{after}": nll for after in (5, 10, 50)}
    counts = tables.win_draw_loss_table(tables.Figures(generative, compared, [], {}))
    found = counts.set_index(["measure", "comparison"])["verdict"]
    assert found["Bias", "NBw vs NB"] == "the other way: 40/0/0"
    assert found["Variance", "NBw vs NB"] == "as published"
    assert found["NLL (50)", "NBw vs NBd"] == "the other way: 40/0/0"
    assert found["NLL (50)", "NBw vs NBe"] == found["RMSE", "NBw vs NB"] == "not explained"


def test_a_set_that_is_big_in_the_paper_alone_is_a_way_and_no_rule():
    """Seven of eight are not significant, eight of nine are; the ninth has 10,000 rows, and 581,012 in the paper."""
    sizes = {f"s{number}": 20_000 for number in range(8)} | {"covertype-first10000": 10_000}
    lines = [record("data sets", {"dataset": name}, {"rows": n, "max_iter": 1_000}) for name, n in sizes.items()]
    for name in sizes:
        losses = [0.1, 0.2] if name == "s0" else [0.3, 0.2]
        value = {"zero_one": losses, "rmse": losses, "bias": losses, "variance": [0.0, 0.0]}
        for structure in protocol.STRUCTURES:
            lines.append(record("table 4", {"dataset": name, "structure": structure, "rounds": 5}, value))
    figures = tables.Figures.of(Results(lines))
    assert len(figures.big) == 8
    assert figures.big_in_paper == ["covertype-first10000"]
    counts = tables.win_draw_loss_table(figures)
    own = counts[(counts["datasets"] == "Big") & (counts["comparison"] == "TANw vs TAN")].set_index("measure")
    assert own.loc["0-1 Loss", ["win", "draw", "loss"]].tolist() == [7, 0, 1]
    assert own.loc["0-1 Loss", "verdict"] == "with covertype-first10000: 8/0/1"
    assert own.loc["RMSE", "verdict"] == "too few sets; with covertype-first10000: 8/0/1"


def test_tiny_rmses_are_left_out_of_geometric_means_by_name(figures):
    """A set with RMSEs of 1e-9 and 1e-12 would make a mean of 0.1 of ratios of 1 and 0.001."""
    rmse = figures.compared["rmse"].copy()
    rmse.loc[:, :] = 0.5
    rmse.loc["b", ["NBd(I)", "TAN"]] = [1e-9, 1e-12]
    changed = tables.Figures({}, {**figures.compared, "rmse": rmse}, figures.big, figures.rounds)
    means = tables.error_means(changed, "NB").set_index(["data sets", "method"])
    assert means.loc[("All", "NBd(I)"), ["rmse", "sets of rmse", "sets of zero_one"]].tolist() == [1.0, 2, 3]
    told = tables.tell_left_out(tables.of_structure(rmse, name) for name in protocol.STRUCTURES)
    assert "below 0.001 are left out of the means of RMSE: b." in told
    assert tables.tell_left_out([rmse.drop(index="b")]) == ""


def test_what_is_beyond_the_paper_leaves_tiny_rmses_out_and_tells_its_rounds():
    lines = [record("data sets", {"dataset": name}, {"rows": 10, "max_iter": 1}) for name in "ab"]
    for name in "ab":
        for structure in protocol.STRUCTURES:
            errors = [0.4, 0.2, 0.4] if name == "a" else [0.4, 1e-9, 0.4]
            value = {"zero_one": errors, "rmse": errors, "log10_l2": 0.0}
            lines.append(record("lambda", {"dataset": name, "structure": structure, "round": 0}, value))
    page = Page("zaidi2017", "", "")
    beyond.fill(page, Results(lines), [])
    text = page.to_markdown()
    assert "| NBw lambda | 0.000 (2) | 0.500 (1) |" in text
    assert "left out of the means of RMSE: b." in text
    assert text.count("On 1 of 5 rounds.") == 2
    assert "chosen from 10000, 1000, 100, 10, 1, 0.1, 0.01, 0.001 by" in text
    assert "at most 500 iterations and a tolerance of 1e-8" in text
    assert "**no, on 1 of 5 rounds**: Beyond the paper: lambda" in text
