import pytest

import bnplug
from bnplug.hooks import recipes


def test_a_recipe_is_its_parts_and_further_parameters_win():
    model = bnplug.recipe("NB-ML")
    for name, part in recipes.parts("NB-ML").items():
        assert repr(getattr(model, name)) == repr(part)
    assert bnplug.recipe("NB-ML", structure="tan").structure == "tan"


def test_a_parameter_that_there_is_not_is_named():
    with pytest.raises(TypeError, match="structur"):
        bnplug.recipe("NB-ML", structur="tan")
