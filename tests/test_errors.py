"""What bnplug raises and warns with: whose kin each is, and how messages are made."""

import warnings

import pytest

import bnplug
from bnplug import errors
from bnplug.errors import did_you_mean, one_line, printable

WARNINGS = [name for name in vars(errors) if name.endswith("Warning")]
KIN = {
    "UnknownMethodError": LookupError,
    "AmbiguousNameError": LookupError,
    "ContractError": TypeError,
    "PluginError": RuntimeError,
    "ManyBlocksError": TypeError,
    "ClusterError": RuntimeError,
    "NotRepresentableError": ValueError,
    "ModelFileError": ValueError,
}


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("name", WARNINGS)
def test_every_warning_is_ignored_with_the_base_of_all(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", bnplug.BnplugWarning)
        warnings.warn("nothing", getattr(errors, name), stacklevel=1)


@pytest.mark.parametrize(("name", "kin"), KIN.items())
def test_an_error_is_caught_as_what_python_calls_it(name, kin):
    with pytest.raises(kin, match=r"^what is wrong$"):
        raise getattr(errors, name)("what is wrong")


def test_every_error_is_in_the_front():
    assert {name for name in vars(errors) if name.endswith("Error")} == set(KIN)
    assert {*KIN, *WARNINGS} <= set(bnplug.__all__)


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
