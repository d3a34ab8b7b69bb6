"""The page of a reproduction."""

import numpy as np
import pandas as pd
import pytest
from bnplug_papers.kit import Page, beside

from bnplug.show.drawing import new_axes


def published(*rows):
    return pd.DataFrame(rows, columns=["dataset", "method", "accuracy"])


def test_our_figures_stand_beside_the_published_ones_in_their_order():
    theirs = published(("vote", "nb", 90.0), ("iris", "tan", 94.0), ("iris", "nb", 93.0))
    ours = published(("iris", "nb", 93.5), ("corral", "nb", 80.0), ("vote", "nb", 89.0))
    table = beside(ours, theirs, "accuracy")
    assert table[["dataset", "method"]].to_numpy().tolist() == [
        ["vote", "nb"], ["iris", "tan"], ["iris", "nb"], ["corral", "nb"]
    ]  # fmt: skip
    np.testing.assert_array_equal(table["difference"], [-1.0, np.nan, 0.5, np.nan])
    one_key = beside(ours.head(1), theirs.head(2).assign(dataset=["iris", "vote"]), "accuracy", by=["dataset"])
    assert one_key.columns.tolist() == ["dataset", "ours", "published", "difference"]
    with pytest.raises(ValueError, match="ours: more than one figure for the same dataset"):
        beside(ours.assign(dataset="iris"), theirs, "accuracy", by=["dataset"])


def build():
    page = Page("me2026", "Trees again", "Me (2026)")
    page.text("  What was run. ")
    page.section("Figure 1")
    page.picture(new_axes((4.0, 3.0)), "trace", "How it went")
    page.table(pd.DataFrame({"method": ["nb"], "rows": [3], "seconds": [0.12345]}), "Table 2: times", digits=3)
    page.claim("Trees win.", False, "they lose by 2 points")
    page.claim("Speech is easy.", None, "TIMIT is not there")
    page.missing_data(["timit"], "not free")
    page.missing_data([])
    return page


def test_a_page_is_the_same_again(tmp_path):
    first, _ = (build().write(tmp_path / name) for name in ("a", "b"))
    assert first == tmp_path / "a" / "me2026.md"
    for file in ("me2026.md", "me2026-trace.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    text = first.read_text(encoding="utf-8")
    assert "![How it went](me2026-trace.png)" in text
    assert "Table 2: times\n\n| method | rows | seconds |\n| --- | ---: | ---: |\n| nb | 3 | 0.123 |" in text
    assert "- **no**: Trees win. (they lose by 2 points)\n- **not testable here**: Speech is easy." in text
    assert text.endswith("## Data that were missing\n\ntimit: not free\n")


def test_a_picture_is_not_drawn_over():
    page = build()
    with pytest.raises(ValueError, match="a picture 'trace' on this page already"):
        page.picture(new_axes((4.0, 3.0)), "trace", "")
