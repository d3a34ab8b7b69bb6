import pytest

from bnplug.show._sheet import checked_graph


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b", "a"], [], "b"), "two nodes are named 'a'"),
        ((["a", "b"], [], "y"), r"target: 'y' is not one of the nodes \['a', 'b'\]"),
        ((["a", "y"], [("y", "b")], "y"), "edges: 'b' is not one of the nodes"),
        ((["a", "y"], [], "y", ["z"]), "marked: 'z' is not one of the nodes"),
        (
            (["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "a")], "a"),
            "cycle.*: (a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c)",
        ),
        ((["a", "y"], [("a", "a")], "y"), "cycle.*: a -> a"),
    ],
)
def test_what_is_no_network_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        checked_graph(*arguments)


def test_nodes_are_numbers_in_the_order_of_their_names():
    graph = checked_graph(["a", "b", "y"], [("y", "b"), ("a", "b"), ("y", "b")], "y", ["a"])
    assert graph.edges == ((0, 1), (2, 1))
    assert graph.parents == ((), (0, 2), ())
    assert graph.children == ((1,), (), (1,))
    assert (graph.target, graph.marked) == (2, {0})
    assert graph.order.index(1) == 2
