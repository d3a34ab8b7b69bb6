"""What a folder of an earlier format tells of its parameters, and what it does not."""

import pytest

from bnplug.exchange._older_models import from_older
from bnplug.exchange._parameters import Unavailable, parameters_from_json

INDEX = {
    "version": 2,
    "made": {},
    "settings": {"missing": "ignore", "unseen": "error", "max_parameters": 5, "max_clique_size": 6},
    "variables": [{"name": "c", "parents": []}, {"name": "x", "parents": ["c"]}],
    "target": "c",
    "class_dtype": "object",
    "named": True,
    "intake": {},
}


def read(**made):
    return parameters_from_json(from_older({**INDEX, "made": made})["params"])


@pytest.mark.parametrize(
    ("text", "structure"),
    [("tan", "tan"), ("kdb(k=2)", ("kdb", {"k": 2})), ("given", [("c", "x")]), ("kdb()", ("kdb", {}))],
)
def test_names_pairs_of_literals_and_given_structures_are_known(text, structure):
    params = read(structure=text, parameters="given", discretizer="none")
    assert (params["structure"], params["parameters"], params["discretizer"]) == (structure, "ml", "none")
    assert (params["unseen"], params["max_clique_size"]) == ("error", 6)


@pytest.mark.parametrize("text", ["KDB(k=2)", "kdb(k=f(2))", "kdb(k=", "kdb(2)(3)", "nobody"])
def test_the_text_of_anything_else_is_no_component(text):
    assert isinstance(read(structure=text)["structure"], Unavailable)


def test_what_these_formats_do_not_tell_is_unavailable():
    params = read()
    assert "do not tell it" in params["class_weight"].reason
    assert all(isinstance(params[name], Unavailable) for name in ("categorical_features", "random_state"))
