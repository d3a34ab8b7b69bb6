"""The paper's protocol, and the page of its reproduction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bnplug_cmi_order import protocol, reproduction

import bnplug
from bnplug import datasets
from bnplug.experiments import Page, compare, published
from bnplug.hooks import registry

GENERATIVE, ORDERED, GREEDY = protocol.GENERATIVE, protocol.ORDERED, protocol.GREEDY


def test_the_reproduction_is_registered():
    found = registry.reproduction("pernkopf2008")
    assert found.run is reproduction.run


def test_the_data_sets_are_the_papers():
    assert len({*protocol.CROSS_VALIDATED, *protocol.HELD_OUT}) == 25
    named, lacking = protocol.find_uci(None, quick=True)
    assert [dataset.name for dataset in named] == list(protocol.QUICK)
    assert not lacking
    named, lacking = protocol.find_uci(None, quick=False)
    assert {dataset.name for dataset in named} == {"corral", "iris", "mofn-3-7-10", "waveform-21"}
    assert len(lacking) == 21


def test_splits_have_the_papers_sizes_and_no_row_twice():
    X, y = pd.DataFrame({"x": np.arange(5000)}), pd.Series(np.arange(5000) % 2)
    drawn, other = (datasets.Dataset(name, X, y, "auto", "") for name in ("waveform-21", "unknown"))
    [(train, test)] = protocol.paper_cv(drawn)
    assert (len(train), len(test), len({*train, *test})) == (300, 4700, 5000)
    [(train, test)] = protocol.paper_cv(datasets.Dataset("mofn-3-7-10", X, y, "auto", ""))
    assert (train == np.arange(300)).all()
    assert (test == np.arange(300, 1324)).all()
    assert protocol.paper_cv(other) == 5
    # Generated, this set has fewer rows than the paper's training and test rows together.
    assert protocol.paper_cv(datasets.load("mofn-3-7-10")) == 5
    incomplete = datasets.Dataset("unknown", X.where(X["x"] % 2 == 0), y, "auto", "")
    train, test = protocol.one_split(incomplete)
    assert len({*train, *test}) == 2500


@pytest.mark.parametrize("set_by_hand", [False, True])
def test_the_best_and_the_worst_random_order(set_by_hand):
    X, y = datasets.p08_synthetic()
    network = bnplug.recipe("TAN-RO-CR-ML")
    if set_by_hand:
        # A comparison sets the seed of every part.
        network.set_params(structure__random_state=3)
    best, worst = (protocol.RandomOrders(network, 4, w, random_state=1).fit(X, y) for w in (False, True))
    assert best.rates_ == worst.rates_
    assert best.score(X, y) == pytest.approx(max(best.rates_))
    assert worst.score(X, y) == pytest.approx(min(best.rates_))
    assert min(best.rates_) < max(best.rates_)
    assert best.predict_proba(X).shape == (1000, 2)


def test_the_synthetic_case_needs_a_discriminative_structure():
    found = protocol.synthetic_case([20, 1000], 3)
    means = found.groupby(["rows", "method"])["accuracy"].mean().loc[1000]
    assert means["NB-ML"] == pytest.approx(50, abs=4)
    assert means[GENERATIVE] == pytest.approx(57.5, abs=4)
    assert means[ORDERED] == pytest.approx(65, abs=4)
    assert means["SVM"] == pytest.approx(65, abs=4)
    page = Page("p", "t", "r")
    reproduction.add_synthetic(page, found)
    assert "| method | 20 rows | 1000 rows |" in page.to_markdown()


def test_times_and_counts_of_candidates():
    corral = datasets.load("corral")
    found = protocol.structure_times([corral], [np.arange(100)], 1, (GENERATIVE, ORDERED, GREEDY))
    assert found["evaluations"].tolist()[:2] == [0, 15]
    assert found["evaluations"].iloc[2] >= 30
    assert (found["seconds"] > 0).all()
    page = Page("p", "t", "r")
    reproduction.add_times(page, {"UCI": found.assign(seconds=[1.0, 2.0, 8.0])})
    assert "| UCI | TAN-OMI-CR | 25.00 | 3.15 |" in page.to_markdown()
    assert reproduction._judge_evaluations({"UCI": found})[0] is True


def test_our_t_tests_beside_the_published():
    names = sorted({name for pair in reproduction.TABLE_2 for name in pair})
    table = pd.DataFrame({name: [0.5, 0.6, 0.8] for name in names}).assign(**{ORDERED: [0.6, 0.8, 0.9]})
    tests = reproduction.t_tests(table).set_index(["first", "second"])
    # Differences 0.1, 0.2, 0.1: t = 4 with two degrees of freedom.
    assert tests.loc[(GENERATIVE, ORDERED), "p"] == pytest.approx(0.0286, abs=1e-4)
    assert tests.loc[(GENERATIVE, ORDERED), "better"] == ORDERED
    assert tests.loc[(ORDERED, GREEDY), "better"] == ORDERED
    assert tests.loc[("NB-ML", GREEDY), "better"] == "neither"
    assert tests.loc[(ORDERED, "TAN-OMISP-CR-ML"), "published better"] == ORDERED
    assert len(tests) == 21


def test_published_names_are_ours():
    """Every classifier of Table 1 that is averaged over UCI sets has a row of ours, where its plugin is there."""
    theirs = published("pernkopf2008-table1-accuracy").query("dataset == 'UCI-25 average'")["method"]
    ours = {name for name, _ in protocol.classifiers(1)}
    assert {name for name in theirs if "CL" not in name} <= ours
    assert ours <= set(theirs)


def hidden(generative, discriminative):
    rows = [
        (name, missing, 0, value)
        for name, values in ((GENERATIVE, generative), (ORDERED, discriminative), (GREEDY, discriminative))
        for missing, value in enumerate(values)
    ]
    return {"a": pd.DataFrame(rows, columns=["method", "missing", "draw", "accuracy"])}


def test_missing_features_are_judged_where_some_are_missing():
    above, evidence = reproduction._judge_hidden(hidden([0.9, 0.7, 0.6], [0.8, 0.8, 0.59]))
    assert above is True
    assert "TAN-OMI-CR-ML on a +4.50" in evidence
    assert "above in 2 of 4 cases" in evidence
    assert reproduction._judge_hidden(hidden([0.8, 0.7, 0.6], [0.9, 0.6, 0.6]))[0] is False
    assert reproduction._judge_hidden({})[0] is None


def test_a_run_writes_its_page(tmp_path, monkeypatch):
    """The whole of it, on two small sets, with what takes long cut short."""
    monkeypatch.setattr(protocol, "QUICK", ("iris", "corral"))
    monkeypatch.setattr(protocol, "SYNTHETIC_SIZES", (20,))
    monkeypatch.setattr(protocol, "_CONDITIONAL", ("NB-CL",))
    reproduction.run(None, tmp_path, quick=True)
    text = (tmp_path / "pernkopf2008.md").read_text(encoding="utf-8")
    for heading in (
        "Figure 1",
        "Table 1: UCI",
        "Table 2",
        "Table 4",
        "Figure 3",
        "Where we part",
        "Claims",
        "Data that",
    ):
        assert f"\n## {heading}" in text
    claims = text.partition("## Claims\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(claims) == 7
    assert all(claim.startswith(("- **yes**: ", "- **no**: ", "- **not testable here**: ")) for claim in claims)
    assert "**not testable here**: The same on phonetic classification" in text
    assert "TIMIT-4/6, TIMIT-39" in text
    assert str(tmp_path) not in text
    pictures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert [name for name in pictures if f"({name})" not in text] == []
    assert len(pictures) == 4


def test_digits_have_the_papers_column_and_a_sample_of_their_own():
    small = compare(["NB-ML", GENERATIVE, ORDERED, "TAN-OMISP-CR-ML"], ["corral"], 2)
    page = Page("p", "t", "r")
    reproduction.add_mnist(page, small, small)
    assert "| TAN-CR-ML | – | 92.58 | – |" in page.to_markdown()
    holds, evidence = reproduction._judge_digits(small)
    accuracy = small.table().iloc[0]
    assert holds == (accuracy[[ORDERED, "TAN-OMISP-CR-ML"]].min() > accuracy[["NB-ML", GENERATIVE]].max())
    assert f"TAN-CMI-ML {100 * accuracy[GENERATIVE]:.2f}%" in evidence
    rows = np.arange(50)
    assert (reproduction.draw_sample(rows, 10) == reproduction.draw_sample(rows, 10)).all()
    assert len(np.unique(reproduction.draw_sample(rows, 10))) == 10
