"""Data of a paper."""

from bnplug.experiments.paper import find_data, load_data


def test_data_are_found_and_read_once():
    assert find_data(["iris", "none"], None) == (["iris"], ["none"])
    assert load_data("corral", None) is load_data("corral", None)
