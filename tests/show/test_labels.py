from hypothesis import given
from hypothesis import strategies as st

from bnplug.html._kit import xml_text
from bnplug.show._routes import label_of, text_width


def test_wide_letters_are_wider_and_accents_take_no_room():
    assert text_width("iii") < text_width("nnn") < text_width("mmm")
    assert text_width("长") > text_width("n")
    assert text_width("e\u0301") == text_width("e")
    assert text_width("") == 0.0


@given(st.text())
def test_a_label_is_one_line_of_bounded_width(name):
    label = label_of(name)
    assert text_width(label) <= 190.0
    assert "\n" not in label
    if not label.endswith("…"):
        assert label == xml_text(" ".join(name.split()))
