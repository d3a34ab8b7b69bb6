"""The rooms of the core as they import each other, read from the code, and the picture of them."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[2]

#: Rooms that everybody imports: they would be in every line of the picture.
GROUND = ("errors", "_json", "compiling", "files", "html", "typing")


def order() -> list[str]:
    """Return the rooms in the order that `make lint` holds, first those that import nothing."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [contract["layers"] for contract in config["contracts"] if contract["id"] == "rooms"]
    return [room.strip("() ") for layer in reversed(layers) for room in layer.split(":")]


def imports() -> Counter[tuple[str, str]]:
    """Return how many imports of modules there are from one room to another; those for type checkers do not count."""
    graph = grimp.build_graph("bnplug", exclude_type_checking_imports=True, cache_dir=None)
    found: Counter[tuple[str, str]] = Counter()
    for module in graph.modules - {"bnplug"}:
        for imported in graph.find_modules_directly_imported_by(module) - {"bnplug"}:
            pair = module.split(".")[1], imported.split(".")[1]
            found[pair] += pair[0] != pair[1]
    return +found


def needed() -> list[tuple[str, str]]:
    """Return the edges of the picture, from a room to one that imports it, without those that a longer way implies."""
    ranks = {room: rank for rank, room in enumerate(order())}
    forward = [(imported, room) for room, imported in imports() if ranks[imported] < ranks[room]]
    graph = nx.DiGraph([edge for edge in forward if not set(edge) & set(GROUND)])
    return sorted(nx.transitive_reduction(graph).edges, key=lambda edge: (ranks[edge[0]], ranks[edge[1]]))


def draw(path: Path) -> str:
    """Draw the picture; return what it shows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6.2), layout="constrained")
    _draw_graph(left)
    _draw_table(right)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return (
        "Left: an arrow leads from a package to one that imports it. Arrows that a longer path implies are omitted; "
        f"so are {', '.join(f'`{room}`' for room in GROUND)}, which every package may import. Right: the number of "
        "imports from modules of the package in a row to modules of the package in a column. Only one is right of the "
        "diagonal, in red: the exception described below."
    )


def _draw_graph(ax) -> None:
    from bnplug.show.drawing import plot

    edges = needed()
    names = [room for room in order() if room not in GROUND and any(room in edge for edge in edges)]
    plot(names, edges, "classifier", ax=ax)


def _draw_table(ax) -> None:
    rooms, found = order(), imports()
    for i, room in enumerate(rooms):
        for j, other in enumerate(rooms):
            if n := found[room, other]:
                ax.text(j, i, str(n), ha="center", va="center", fontsize=8, color="#c0392b" if j > i else "#222222")
    ax.imshow(
        [[0.25 * (i == j) + min(found[a, b], 12) / 24 for j, b in enumerate(rooms)] for i, a in enumerate(rooms)],
        cmap="Blues", vmin=0, vmax=1,
    )  # fmt: skip
    ax.set_xticks(range(len(rooms)), rooms, rotation=60, ha="left", rotation_mode="anchor", fontsize=8)
    ax.set_yticks(range(len(rooms)), rooms, fontsize=8)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
