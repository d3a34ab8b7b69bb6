"""Figures that are off, and reasons that were tested."""

import pandas as pd
import pytest
from bnplug_papers.kit import Variant, averaged, compare_cells, explain, side_by_side, variant_effect, with_averages
from hypothesis import given
from hypothesis import strategies as st


def frame(**columns):
    return pd.DataFrame(columns, index=["A", "B", "C"][: len(next(iter(columns.values())))])


def test_bounds_are_one_point_below_and_four_above():
    cells = compare_cells(frame(m=[79.0, 78.99, 84.0]), frame(m=[80.0, 80.0, 80.0]))
    assert cells["deviation"].tolist() == ["", "below", ""]
    assert compare_cells(frame(m=[84.01]), frame(m=[80.0]))["deviation"].tolist() == ["above"]


def test_the_first_way_that_brings_a_figure_there_is_its_reason():
    cells = compare_cells(frame(m=[70.0], n=[90.0]), frame(m=[80.0], n=[80.0]))
    ways = [
        Variant("a", frame(m=[75.0])),
        Variant("b", frame(m=[79.5], n=[86.0])),
        Variant("c", frame(m=[80.0], n=[83.0])),
    ]
    assert explain(cells, ways)["reason"].tolist() == ["with b: 79.50", "with c: 83.00"]
    assert explain(cells, ways[:1])["reason"].tolist() == ["not explained"] * 2


def test_the_draw_of_the_folds_is_a_reason_within_what_two_draws_differ_by():
    cells = compare_cells(frame(m=[78.0, 78.0]), frame(m=[80.0, 80.0]))
    errors = frame(m=[2.0 / (1.96 * 2**0.5) + 1e-6, 0.5])
    assert explain(cells, [], errors)["reason"].tolist() == ["the draw of the folds: ± 2.00", "not explained"]


def test_with_few_draws_the_quantile_is_students():
    cells = compare_cells(frame(m=[78.0]), frame(m=[80.0]))
    errors, ten = frame(m=[2.0 / (2.2622 * 2**0.5) + 1e-4]), frame(m=[10])
    # By the normal distribution the same difference is too large.
    assert explain(cells, [], errors)["reason"].tolist() == ["not explained"]
    assert explain(cells, [], errors, ten)["reason"].tolist() == ["the draw of the folds: ± 2.00"]


def test_a_way_that_changes_nothing_on_the_same_folds_is_no_reason():
    """Its folds have other figures than the mean of all: those would not be off."""
    cells = compare_cells(frame(m=[79.73]), frame(m=[75.03]))
    first = frame(m=[78.5])
    assert explain(cells, [Variant("a", first)])["reason"].tolist() == ["with a: 78.50"]
    assert explain(cells, [Variant("a", first, first)])["reason"].tolist() == ["not explained"]
    assert explain(cells, [Variant("a", first + 1e-12, first)])["reason"].tolist() == ["not explained"]


def test_what_a_way_changes_is_added_to_our_figure():
    cells = compare_cells(frame(m=[70.0, 70.0]), frame(m=[80.0, 80.0]))
    base = frame(m=[60.0, 78.0])
    ways = [Variant("a", frame(m=[69.5, 80.0]), base)]
    # The second is not off itself on these folds, but moves ours by two points only.
    assert explain(cells, ways)["reason"].tolist() == ["with a: 79.50 (+9.50)", "not explained"]
    assert explain(cells, [Variant("a", base + 10, base.loc[["B"]])])["reason"].tolist()[0] == "not explained"


def test_averages_are_marked_on_demand():
    ours, theirs = frame(m=[78.0, 80.0]), frame(m=[81.0, 80.0])
    assert side_by_side(ours, theirs, 1)["m"].tolist()[-1] == "79.0 (80.5)"
    assert side_by_side(ours, theirs, 1, mark_averages=True)["m"].tolist()[-1] == "79.0 (80.5) ▼"


def test_side_by_side_shows_what_is_there():
    shown = side_by_side(frame(m=[79.0, float("nan")], n=[85.0, 70.0]), frame(m=[81.0, 70.0], n=[80.0, 70.0]), 1)
    assert shown["m"].tolist() == ["79.0 (81.0) ▼", "–", "79.0 (81.0)"]
    assert shown["n"].tolist() == ["85.0 (80.0) ▲", "70.0 (70.0)", "77.5 (75.0)"]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=3))
def test_every_cell_that_is_off_has_a_reason_or_says_that_it_has_none(pairs):
    ours, theirs = (frame(m=[float(pair[i]) for pair in pairs]) for i in (0, 1))
    found = explain(compare_cells(ours, theirs), [Variant("the paper's", theirs)])
    assert len(found) == sum(a < b - 1 or a > b + 4 for a, b in pairs)
    assert all(reason.startswith("with the paper's") for reason in found["reason"])
    assert explain(compare_cells(ours, theirs), [])["reason"].isin(["not explained"]).all()


def test_tables_without_a_common_method():
    with pytest.raises(KeyError):
        compare_cells(frame(m=[1.0]), frame(n=[1.0])).loc[0]


def two_sets(**columns):
    return pd.DataFrame(columns, index=["A", "B"])


def test_an_average_gets_the_first_way_that_mends_it_on_both_sides():
    theirs = two_sets(TAN=[80.0, 90.0], NBC=[80.0, 80.0], K2=[70.0, 70.0])
    ours = theirs + pd.Series({"TAN": -2.0, "NBC": -1.0, "K2": 5.0})
    base = two_sets(TAN=[70.0, 70.0], K2=[60.0, 60.0])
    ways = [
        Variant("a", base, base),
        # On one set only: half of it reaches the average.
        Variant("b", base.loc[["A"]] + pd.Series({"TAN": 1.5, "K2": -1.0}), base.loc[["A"]]),
        Variant("c", base + pd.Series({"TAN": 1.5, "K2": -1.5}), base),
    ]
    moved = [averaged(way, ours, theirs) for way in ways]
    cells = compare_cells(*(with_averages(*pair) for pair in ((ours, theirs), (theirs, ours))))
    found = explain(cells, moved).query("dataset == 'Average'").set_index("method")["reason"]
    assert found.to_dict() == {"TAN": "with c: 84.50 (+1.50)", "K2": "with c: 73.50 (-1.50)"}
    assert moved[1].figure("Average", "TAN", 83.0) == 83.75


def test_a_way_that_mends_an_average_by_leading_away_on_each_set_is_no_reason():
    theirs = two_sets(TAN=[80.0, 90.0])
    ours = theirs - 2.0
    away = Variant("a", ours + two_sets(TAN=[30.0, -28.0]), ours)
    assert averaged(away, ours, theirs).figure("Average", "TAN", 83.0) is None


def test_how_telling_a_way_is():
    theirs = two_sets(TAN=[80.0, 90.0], NBC=[80.0, 80.0], K2=[70.0, 70.0])
    ours = theirs + two_sets(TAN=[-2.0, 0.0], NBC=[-2.0, 0.0], K2=[0.0, 0.0])
    base = two_sets(TAN=[50.0, 50.0], NBC=[60.0, 60.0])
    way = Variant("a", base + two_sets(TAN=[1.0, -1.5], NBC=[0.0, 0.0]), base)
    assert variant_effect(way, compare_cells(ours, theirs)) == {
        "tried": 4, "changed": 2, "off before": 2, "of these no longer": 1, "newly off": 1
    }  # fmt: skip


def test_data_sets_that_do_not_count_are_in_no_average():
    ours, theirs = two_sets(TAN=[80.0, 60.0]), two_sets(TAN=[82.0, 90.0])
    assert with_averages(ours, theirs, ["A"])["TAN"].tolist() == [80.0, 60.0, 80.0]
    # It leads away on the set that counts, and only there it matters.
    way = Variant("a", ours + two_sets(TAN=[-1.0, 20.0]))
    assert averaged(way, ours, theirs, ["A"]).figure("Average", "TAN", 80.0) is None
    assert averaged(way, ours, theirs).figure("Average", "TAN", 70.0) == 79.5
