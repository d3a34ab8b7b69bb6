"""Arrays come in the byte order of the machine; broken names and weights that overflow are refused."""

from __future__ import annotations

import numpy as np
import pytest

from bnplug.table._checks import check_sum, is_broken, native, refuse_surrogates


@pytest.mark.parametrize("dtype", [">i2", "<i2", ">f8", ">U3"])
def test_numbers_and_text_stay_the_same(dtype):
    given = np.array([[1, 2], [3, 4]]).astype(dtype)
    found = native(given)
    assert found.dtype.isnative
    assert found.tolist() == given.tolist()


def test_text_of_numpy_becomes_objects():
    assert native(np.array(["a", "b"], dtype=np.dtypes.StringDType())).dtype == object
    assert native([1, 2]).tolist() == [1, 2]
    assert native("text") == "text"


def test_half_a_character():
    assert is_broken("a\ud800")
    assert not is_broken("a\U0001f600")
    refuse_surrogates(["a", 3, None], "X")
    with pytest.raises(ValueError, match=r"X: the name .* has half of a character"):
        refuse_surrogates(["a", "\udfff"], "X")


def test_sums_that_overflow():
    check_sum(np.array([1e290]), "the weights")
    with pytest.raises(ValueError, match=r"the sum of the weights is inf, above 1e.290"):
        check_sum(np.array([1e308, 1e308]), "the weights")
