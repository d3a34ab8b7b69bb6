import numpy as np
import pandas as pd
import pytest
from html_page import Page

from bnplug.datasets import Dataset

X, Y = pd.DataFrame({"a": [1, 1, 2, np.nan, np.nan]}), pd.Series(list("ppqpq"), name="c")


def test_what_is_no_data_set_is_refused_by_name():
    with pytest.raises(ValueError, match="data set 'toy': there are no features, only the column 'c'"):
        Dataset("toy", X[[]], Y, "auto", "made up")
    with pytest.raises(ValueError, match=r"data set 'toy': 2 rows have no class \(column 'c'\)"):
        Dataset("toy", X, Y.mask(Y == "q"), "auto", "made up")


def test_a_notebook_shows_the_size_the_classes_and_the_first_rows():
    page = Page(Dataset("toy", X, Y, "auto", "<made up>")._repr_html_())
    assert "5 rows, 1 features; <made up>" in page.text
    assert "c: p 3, q 2" in page.text
    assert len(page.all("tr")) == 6
