"""The published figures: complete, corrected where they are misprinted, and refused by a wrong name."""

import pytest
from bnplug_papers.kit.literature import published, published_names


def test_every_paper_is_there_and_every_table_reads():
    names = published_names()
    papers = {name.split("-")[0] for name in names}
    assert papers == {"kelner2012", "peharz2013", "pernkopf2008", "pernkopf2013", "zaidi2017"}
    for name in names:
        table = published(name)
        assert len(table)
        assert not table.duplicated(table.columns[: -2 if "std" in table else -1].tolist()).any(), name


@pytest.mark.parametrize("name", ["kelner2012-table2-accuracy", "kelner2012-table6-accuracy"])
def test_printed_averages_are_those_of_the_data_sets(name):
    means = published(name).pivot(index="dataset", columns="method", values="mean")
    assert len(means) == 23
    assert means.drop(index="Average").mean().to_dict() == pytest.approx(means.loc["Average"].to_dict(), abs=0.006)


def test_a_correction_tells_what_was_printed_and_why():
    (fix,) = published("kelner2012-table2-accuracy").attrs["corrections"]
    assert (fix["dataset"], fix["method"], fix["printed"], fix["corrected"]) == ("Letter", "RMHO (NBC)", 99.41, 81.65)
    assert "average" in fix["reason"]
    assert published("kelner2012-table6-accuracy").attrs["corrections"] == []


def test_seconds_are_seconds_alone():
    seconds = published("kelner2012-table12-13-seconds")
    assert not seconds["method"].str.contains("speedup").any()
    wide = seconds.pivot(index="dataset", columns="method", values="mean")
    speedup = published("kelner2012-table12-speedup").set_index("dataset")["speedup"]
    quotient = wide["RMCV (NBC)"] / wide["RMCV (NBC) optimized"]
    datasets = speedup.index.drop(["Average", "Excluding Letter"])
    assert quotient[datasets].to_dict() == pytest.approx(speedup[datasets].to_dict(), rel=0.02)


def test_an_unknown_table_gets_a_hint():
    with pytest.raises(ValueError, match="Did you mean 'kelner2012-table6-accuracy'"):
        published("kelner2012-table6-acuracy")
