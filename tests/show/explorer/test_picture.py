import re

from awkward import random_tables

from bnplug.show.explorer import _CARD_WIDTH, _card_height, picture

NAMES = ["c", "a", "b", "d"]
STATES = {"c": ["no", "yes"], "a": list(range(12)), "b": ["x"], "d": [1, 2, 3]}
TABLES = random_tables(NAMES, STATES, {"a": ("c",), "b": ("c", "a"), "d": ("b",)}, target="c")


def test_cards_are_as_high_as_their_states_and_do_not_overlap():
    drawn = picture(TABLES.names, TABLES.edges, "c", [len(own) for own in TABLES.states.values()], ["d"])
    heights = [height for _, _, height in drawn["cards"]]
    assert heights == [_card_height(2, False), _card_height(8, False), _card_height(1, False), _card_height(3, True)]
    tops = {name: top for name, (_, top, _) in zip(NAMES, drawn["cards"], strict=True)}
    bottoms = {name: top + height for name, (_, top, height) in zip(NAMES, drawn["cards"], strict=True)}
    for parent, child in TABLES.edges:
        assert bottoms[parent] < tops[child]
    for left, top, height in drawn["cards"]:
        assert left >= 0
        assert left + _CARD_WIDTH <= drawn["width"]
        assert 0 <= top <= top + height <= drawn["height"]


def test_every_edge_is_a_path_from_parent_to_child():
    drawn = picture(TABLES.names, TABLES.edges, "c", [len(own) for own in TABLES.states.values()])
    found = {(NAMES[edge["parent"]], NAMES[edge["child"]]) for edge in drawn["edges"]}
    assert found == set(TABLES.edges)
    for edge in drawn["edges"]:
        assert re.fullmatch(r"M[\d., LC-]+", edge["path"])
        tip = [float(number) for number in re.match(r"M([\d.-]+),([\d.-]+)", edge["head"]).groups()]
        left, top, _ = drawn["cards"][edge["child"]]
        assert abs(tip[1] - top) <= 1
        assert left <= tip[0] <= left + _CARD_WIDTH
