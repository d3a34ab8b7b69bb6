"""Networks to draw: the usual shapes, and any."""

import itertools

from hypothesis import strategies as st

from bnplug.show._routes import picture_of

IRIS = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]


def layout(names, edges, target):
    """Return the center of each node's box by name."""
    return {names[box.node]: (box.x, box.y) for box in picture_of(names, edges, target).boxes}


def naive_bayes(n_features):
    names = [f"attr_{i}" for i in range(n_features)]
    return [*names, "class"], [("class", name) for name in names], "class"


def tan(n_features):
    names, edges, target = naive_bayes(n_features)
    return names, edges + [(names[i // 3], names[i]) for i in range(1, n_features)], target


def kdb(n_features, k):
    names, edges, target = naive_bayes(n_features)
    parents = {i: sorted({i // 3, i // 2, i - 1})[:k] for i in range(1, n_features)}
    return names, edges + [(names[j], names[i]) for i in parents for j in parents[i]], target


IRIS_TAN = (
    [*IRIS, "species"],
    [("species", name) for name in IRIS] + [(IRIS[2], IRIS[3]), (IRIS[2], IRIS[0]), (IRIS[0], IRIS[1])],
    "species",
)
CLASS_WITH_PARENTS = (
    ["a", "b", "y", "c", "d", "e", "lone"],
    [("a", "y"), ("b", "y"), ("a", "c"), ("y", "c"), ("y", "d"), ("c", "e"), ("b", "e")],
    "y",
)
NETWORKS = {
    "class alone": (["y"], [], "y"),
    "two nodes": (["x", "y"], [("y", "x")], "y"),
    "no edges": (["a", "b", "y"], [], "y"),
    "nb iris": ([*IRIS, "species"], [("species", name) for name in IRIS], "species"),
    "nb 60": naive_bayes(60),
    "tan iris": IRIS_TAN,
    "tan 16": tan(16),
    "tan 36": tan(36),
    "kdb-2 16": kdb(16, 2),
    "class with parents": CLASS_WITH_PARENTS,
}


@st.composite
def networks(draw):
    """A DAG over up to 14 nodes with names of any length, the class anywhere in it."""
    labels = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=40)
    names = draw(st.lists(labels, min_size=1, max_size=14, unique=True))
    pairs = list(itertools.combinations(names, 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    target = draw(st.sampled_from(names))
    if draw(st.booleans()):
        edges = [edge for edge in edges if target not in edge] + [(target, name) for name in names if name != target]
    return draw(st.permutations(names)), edges, target
