"""Expressions: what they say, where they stop being one, and that their text says the same."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bnplug
from bnplug import UnknownMethodError
from bnplug.hooks import expressions, registry
from bnplug.hooks.descriptors import as_written
from bnplug.hooks.expressions import Expression, parse, split

READ = {
    "tan": Expression("tan"),
    "tan+ml": Expression("tan", parameters="ml"),
    "hill-climb[cr]": Expression("hill-climb", "cr"),
    "hill-climb[cr]+ccbn-w": Expression("hill-climb", "cr", "ccbn-w"),
    "kdb(k=1)+ml(alpha=0.5)": Expression(("kdb", {"k": 1}), None, ("ml", {"alpha": 0.5})),
    " kdb ( k = 1 ,) [ cr ( cv=5 ) ] + ml ": Expression(("kdb", {"k": 1}), ("cr", {"cv": 5}), "ml"),
    "+ml": Expression(parameters="ml"),
    "[cr]": Expression(score="cr"),
    "[cr]+ml": Expression(None, "cr", "ml"),
    "kdb()": Expression("kdb"),
    "asymcost:tree(a=')', b=[-1, (2,)], c={'d': None})": Expression(
        ("asymcost:tree", {"a": ")", "b": [-1, (2,)], "c": {"d": None}})
    ),
}


@pytest.mark.parametrize("text", READ)
def test_what_an_expression_says(text):
    assert parse(text) == READ[text]


WRONG = {
    "": "at its end: the name of a recipe or classifier or structure learner is expected",
    "tan+": "at its end: the name of a parameter learner is expected",
    "tan[]": "at character 5: the name of a score function is expected",
    "tan[cr": "at its end: ']' is expected after the score",
    "tan+ml[cr]": "at character 7: '[SCORE]', '+PARAMETERS' or the end is expected, in this order",
    "tan ml": "at character 5: '[SCORE]', '+PARAMETERS' or the end is expected, in this order",
    "a,b": "at character 2: '[SCORE]', '+PARAMETERS' or the end is expected, in this order",
    "kdb(k=1": "at character 4: the parenthesis is not closed",
    "kdb(k=1))": "at character 9: '[SCORE]', '+PARAMETERS' or the end is expected, in this order",
    "kdb(k 1)": "at character 4: parameters are NAME=VALUE, with commas between",
    "kdb(1)": "at character 5: a parameter is NAME=VALUE",
    "kdb(**{'k': 1})": "at character 5: a parameter is NAME=VALUE",
    "kdb(a='é)', k=nö)": "at character 13: nö is not a value; quote text, k='nö'",
    "kdb(a=1,\n k=f(2))": "at character 11: f(2) is not a value; quote text, k='f(2)'",
    "kdb(k=1, k=2)": "at character 10: 'k' is given twice",
    "kdb(k=" + "(" * 5000 + ")" * 5001: "at character 4: parameters are NAME=VALUE, with commas between",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:20])
def test_where_an_expression_stops_being_one(text):
    with pytest.raises(ValueError, match=r"cannot be read") as caught:
        parse(text)
    assert str(caught.value) == f"{text!r} cannot be read {WRONG[text]}"


_names = st.from_regex(r"[^\s()\[\]+,=]+", fullmatch=True)
_words = st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True).filter(lambda word: word not in ("if", "in", "is"))
_atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_values = st.recursive(
    _atoms,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_parts = _names | st.tuples(_names, st.dictionaries(_words, _values, min_size=1, max_size=3))


@given(_parts, st.none() | _parts, st.none() | _parts)
def test_the_text_of_an_expression_is_that_expression(structure, score, parameters):
    for first in (structure, *([] if score is parameters is None else [None])):
        expression = Expression(first, score, parameters)
        assert parse(str(expression)) == expression


@given(st.lists(_parts.map(as_written), max_size=4))
def test_a_list_falls_apart_into_what_it_was_made_of(texts):
    assert split(", ".join(texts)) == texts


@given(st.text(alphabet="ab (['\\\"+,=1)]", max_size=30))
def test_any_text_is_an_expression_or_a_value_error(text):
    with suppress(ValueError):
        found = parse(text)
        assert parse(str(found)) == found


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize("name", ["A+B (I)", "bnplug-third:A+B (I)", "NBw(I)"])
def test_what_is_registered_wins_over_what_signs_say(name):
    assert parse(name) == Expression(name)
    assert parse(f"{name}+ml") == Expression(name, parameters="ml")
    assert parse(f"{name} (missing='drop')") == Expression((name, {"missing": "drop"}))


def test_components_are_those_of_a_classifier():
    found = expressions.components(parse("hill-climb(max_parents=2)[cr(cv=5)]+ml(alpha=0.5)"))
    assert found == {
        "structure": ("hill-climb", {"max_parents": 2, "score": ("cr", {"cv": 5})}),
        "parameters": ("ml", {"alpha": 0.5}),
    }
    assert expressions.components(parse("[cr]")) == {"structure": ("hill-climb", {"score": "cr"})}
    assert expressions.components(parse("+ml")) == {"parameters": "ml"}


@pytest.mark.usefixtures("third")
def test_a_recipe_gives_its_structure_to_other_parameters():
    found = expressions.components(parse("A+B (I)+backoff"))
    assert found == {"structure": "nb", "discretizer": "mdl", "parameters": "backoff"}


REFUSED = {
    "tann": (UnknownMethodError, r"there is no method 'tann'\. Did you mean 'tan'\?.* nb, tan, .*such as tan\+ml"),
    "tan+mll": (UnknownMethodError, r"there is no parameter learner 'mll'\. Did you mean 'ml'\?"),
    "hill-climb[mdll]": (UnknownMethodError, r"there is no score function 'mdll'\. Did you mean 'mdl'\?"),
    "tan+cr": (UnknownMethodError, "'cr' is a score function, not a parameter learner"),
    "ml": (UnknownMethodError, r"'ml' is a parameter learner; write '\+ml', or 'tan\+ml' with a structure"),
    "cr": (UnknownMethodError, r"'cr' is a score function; write '\[cr\]', or 'hill-climb\[cr\]' with a structure"),
    "kdb(kk=1)": (TypeError, r"structure learner 'kdb' has no parameter 'kk'\. Did you mean 'k'\?"),
    "[cr(vc=5)]": (TypeError, r"score function 'cr' has no parameter 'vc'"),
    "tan[cr]": (TypeError, "structure learner 'tan' takes no score; these do: hill-climb"),
    "hill-climb(score='ll')[cr]": (TypeError, "has two scores, one in its parentheses and one in brackets"),
    "A[cr]": (TypeError, r"'A\[cr\]': 'A' is a recipe, which is complete"),
    "A(missing='drop')+ml": (TypeError, "'A' is a recipe, which is complete"),
    "majority+ml": (TypeError, r"'majority\+ml': 'majority' is a classifier, which is complete"),
}


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_go_together_is_told(text):
    kind, message = REFUSED[text]
    with pytest.raises(kind, match=message):
        expressions.components(parse(text))


@pytest.mark.usefixtures("third")
def test_everything_that_registers_is_in_some_expression():
    listed = expressions.everything()
    assert {"tan+backoff", "hill-climb(max_parents=2)[cost]", "majority", "A+B (I)", "tan", "RMCV"} <= set(listed)
    assert len(listed) == len(set(listed))
    used = set()
    for text in listed:
        found = parse(text)
        used |= {as_written(part) for part in (found.structure, found.score, found.parameters) if part is not None}
        recipe = next((one for one in registry.methods("recipe") if one.name == text), None)
        used |= {name for _, name in expressions.recipes.components(recipe)} if recipe else set()
    kinds = ("structure learner", "score function", "parameter learner", "classifier")
    assert {method.name for kind in kinds for method in registry.methods(kind)} <= used


def test_values_that_are_no_literals_are_not_read_back():
    written = str(Expression(("kdb", {"k": math.inf})))
    with pytest.raises(ValueError, match="inf is not a value"):
        parse(written)


@pytest.mark.usefixtures("rivals")
def test_names_that_several_claim_are_listed_so_that_they_can_be_made():
    listed = expressions.everything()
    assert {"third:majority", "rival:majority", "hill-climb(max_parents=2)[third:cost]", "CLIMB"} <= set(listed)
    assert len(listed) == len(set(listed))
    for text in listed:
        bnplug.make_classifier(text)


@pytest.mark.usefixtures("rivals")
def test_a_recipe_in_an_expression_means_the_score_of_its_own_distribution():
    found = bnplug.make_classifier("CLIMB+ml")
    assert found.structure == ("hill-climb", {"score": "rival:cost"})


@pytest.mark.usefixtures("rivals")
def test_an_older_name_may_hold_the_signs_of_an_expression():
    with pytest.warns(DeprecationWarning, match=r"'B \(II\)' is called 'B \(I\)' now") as warned:
        assert bnplug.make_classifier("B (II)").structure is not None
    assert len(warned) == 1


@pytest.mark.usefixtures("rivals")
def test_a_part_by_its_qualified_name_is_told_how_to_write_it():
    with pytest.raises(UnknownMethodError, match=r"'third:cost' is a score function; write '\[third:cost\]'"):
        expressions.find_whole("third:cost")
