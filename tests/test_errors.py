"""How the messages of errors are made."""

import warnings

import pytest

import bnplug
from bnplug import errors
from bnplug.errors import did_you_mean, one_line, printable


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def test_errors_and_warnings_are_public_names_of_the_package():
    names = {name for name in vars(errors) if name.endswith(("Error", "Warning"))}
    assert names <= set(bnplug.__all__)


def test_an_unknown_method_shows_its_message_as_it_is():
    # A LookupError such as KeyError would put it in quotes.
    assert str(errors.UnknownMethodError("there is no 'x'")) == "there is no 'x'"
    assert str(errors.UnknownMethodError()) == ""


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("tna", ["nb", "tan"], " Did you mean 'tan'?"),
        ("MDL", ["mdl", "mm"], " Did you mean 'mdl'?"),
        ("tan", [], ""),
        ("kbd", ["NBd", "kdb", "kd"], " Did you mean 'kdb'?"),
        ("forest", ["nb", "tan"], ""),
    ],
)
def test_the_nearest_word_is_offered_in_its_own_spelling(word, known, hint):
    assert did_you_mean(word, iter(known)) == hint


def test_a_message_of_many_lines_becomes_one():
    assert one_line(ValueError("a\n\tb   c\r\n")) == "a b c"
    assert one_line("") == ""


def test_a_message_is_cut_between_words():
    assert one_line("one two three four", limit=12) == "one two ..."
    assert one_line("one two", limit=12) == "one two"


@pytest.mark.parametrize("limit", [None, 100])
def test_a_message_that_cannot_be_made_is_no_error(limit):
    assert one_line(UnspeakableError(), limit) == "(its message cannot be shown)"


def test_control_characters_are_escaped():
    assert printable("tan") == "tan"
    assert printable(3) == "3"
    assert printable("é\x1b\n\u202e") == "é\\x1b\\n\\u202e"


def test_a_warning_with_other_figures_is_not_repeated():
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("default")
        for column, n in (("x1", 21), ("x1", 1_022), ("x2", 21), ("1", 3), ("2", 3)):
            errors.warn_outside(f"column '{column}' has holes ({n:,} rows, {n / 2000:.0%})", errors.BnplugWarning)
    assert [str(warning.message).split("'")[1] for warning in given] == ["x1", "x2", "1", "2"]
