import pytest

import bnplug
from bnplug.hooks import recipes


def test_a_recipe_is_its_parts_and_further_parameters_win():
    model = bnplug.recipe("NB-ML")
    assert {name: repr(getattr(model, name)) for name in (parts := recipes.parts("NB-ML"))} == {
        name: repr(part) for name, part in parts.items()
    }
    assert bnplug.recipe("NB-ML", structure="tan").structure == "tan"


def test_a_parameter_that_there_is_not_is_named():
    with pytest.raises(TypeError, match="structur"):
        bnplug.recipe("NB-ML", structur="tan")
