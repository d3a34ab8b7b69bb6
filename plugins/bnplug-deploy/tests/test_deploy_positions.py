"""Nodes are drawn apart, parents above children."""

from awkward import random_tables
from bnplug_deploy.positions import HEIGHT, WIDTH, positions


def test_parents_are_above_and_no_two_nodes_overlap():
    names = list("dcba") + [f"x{i}" for i in range(20)]
    parents = {"c": ("b", "a"), "d": ("c", "a"), **{f"x{i}": ("d", "a") for i in range(10)}}
    places = positions(random_tables(names, dict.fromkeys(names, "uv"), parents))
    assert list(places) == names
    assert all(places[parent][1] + HEIGHT < places[child][1] for child, above in parents.items() for parent in above)
    for one in names:
        for other in names:
            apart = abs(places[one][0] - places[other][0]) > WIDTH or abs(places[one][1] - places[other][1]) > HEIGHT
            assert apart or one == other
