"""What a picture of a network must be: complete, legible, the same every time, and safe with any names."""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pictured_networks import IRIS, IRIS_TAN, NETWORKS, kdb, layout, naive_bayes, networks, tan

from bnplug.show.drawing import plot, save_picture, to_dot, to_mermaid, to_svg

SVG = "{http://www.w3.org/2000/svg}"


@dataclass
class Node:
    group: ElementTree.Element
    left: float
    top: float
    right: float
    bottom: float

    @property
    def title(self):
        return self.group.find(f"{SVG}title").text

    @property
    def label(self):
        return self.group.find(f"{SVG}text").text or ""

    def holds(self, x, y):
        return self.left + 0.5 < x < self.right - 0.5 and self.top + 0.5 < y < self.bottom - 0.5


def numbers(text):
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def read_nodes(root):
    nodes = []
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "bn-node":
            box = group.find(f"{SVG}rect")
            x, y, width, height = (float(box.get(key)) for key in ("x", "y", "width", "height"))
            nodes.append(Node(group, x, y, x + width, y + height))
    return nodes


def read_edges(root):
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == "bn-edge"]


def along(path):
    """Points along a path of straight lines and cubic curves, both ends of every step included."""
    points = []
    for letter, text in re.findall(r"([MLC])([^MLCZ]*)", path):
        flat = numbers(text)
        corners = list(zip(flat[::2], flat[1::2], strict=True))
        if letter == "M":
            points.append(corners.pop(0))
        if letter == "C":
            corners = [points[-1], *corners]
            ways = [[(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3] for t in (i / 32 for i in range(33))]
            points += [tuple(sum(w * c[d] for w, c in zip(way, corners, strict=True)) for d in (0, 1)) for way in ways]
        else:
            for x1, y1 in corners:
                x0, y0 = points[-1]
                points += [(x0 + (x1 - x0) * i / 32, y0 + (y1 - y0) * i / 32) for i in range(1, 33)]
    return points


def overlapping(nodes):
    return [
        (a.title, b.title)
        for a, b in itertools.combinations(nodes, 2)
        if a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom
    ]


def check_picture(names, edges, target):
    """Every node and edge once, nothing on top of anything, nothing cut off."""
    root = ElementTree.fromstring(to_svg(names, edges, target))
    nodes = read_nodes(root)
    assert [node.title.split("\n")[0] for node in nodes] == list(names)
    drawn = [group.find(f"{SVG}title").text for group in read_edges(root)]
    assert sorted(drawn) == sorted(f"{parent} → {child}" for parent, child in edges)
    assert overlapping(nodes) == []
    left, top, width, height = numbers(root.get("viewBox"))
    for path in root.iter(f"{SVG}path"):
        for x, y in along(path.get("d")):
            assert left <= x <= left + width
            assert top <= y <= top + height
            assert not any(node.holds(x, y) for node in nodes)
    assert all(left < node.left and node.right < left + width for node in nodes)
    assert all(top < node.top and node.bottom < top + height for node in nodes)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pictures_are_complete_and_nothing_covers_anything(network):
    check_picture(*network)


@given(networks())
def test_pictures_of_any_dag_are_complete_and_nothing_covers_anything(network):
    check_picture(*network)


@given(networks())
def test_arrows_end_on_top_of_their_child_and_parents_stand_higher(network):
    names, edges, _ = network
    places = layout(*network)
    assert list(places) == list(names)
    assert all(places[parent][1] < places[child][1] for parent, child in edges)
    root = ElementTree.fromstring(to_svg(*network))
    nodes = dict(zip(names, read_nodes(root), strict=True))
    heads = {group.find(f"{SVG}title").text: group.findall(f"{SVG}path")[1].get("d") for group in read_edges(root)}
    for parent, child in edges:
        x, y = numbers(heads[f"{parent} → {child}"])[:2]
        assert y == pytest.approx(nodes[child].top, abs=0.11)
        assert nodes[child].left < x < nodes[child].right


def test_an_edge_leaves_the_bottom_of_its_parent():
    root = ElementTree.fromstring(to_svg(*IRIS_TAN))
    nodes = dict(zip(IRIS_TAN[0], read_nodes(root), strict=True))
    for group in read_edges(root):
        parent = nodes[group.find(f"{SVG}title").text.split(" → ")[0]]
        x, y = numbers(group.find(f"{SVG}path").get("d"))[:2]
        assert y == pytest.approx(parent.bottom, abs=0.11)
        assert parent.left < x < parent.right


def test_a_dense_graph_is_drawn_whole():
    names, edges, target = naive_bayes(60)
    edges += list(itertools.combinations(names[:-1], 2))
    root = ElementTree.fromstring(to_svg(names, edges, target))
    assert len(read_edges(root)) == len(edges)
    assert overlapping(read_nodes(root)) == []


@given(networks(), st.randoms(use_true_random=False))
def test_the_order_of_the_edges_does_not_matter(network, random):
    names, edges, target = network
    shuffled = random.sample(edges, len(edges))
    assert to_svg(names, shuffled + edges[:1], target) == to_svg(names, edges, target)


def test_the_same_picture_in_every_process():
    names, edges, target = kdb(30, 2)
    code = f"from bnplug.show.drawing import to_svg; print(to_svg({names}, {edges}, {target!r}))"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert run.stdout.rstrip("\n") == to_svg(names, edges, target)


HOSTILE = [
    "</svg><script>alert('x')</script>",
    "a & b \"q\" 's'",
    "<!--",
    "]]>",
    "$x^2$ ${",
    "长度（厘米）",
    "طول",
    "é́",
    "",
]


@given(st.lists(st.text(), min_size=1, max_size=6, unique=True))
@example(HOSTILE)
@example(["line\nbreak", "tab\tbed", "return\r", " "])
@example(["\x00", "\ud800", "\uffff", "\x1b[0m", "\x7f\x85"])
def test_any_name_gives_well_formed_xml_and_comes_back_whole(names):
    target = names[0]
    svg = to_svg(names, [(target, name) for name in names[1:]], target, marked=names[1:], clickable=True)
    assert svg.encode("utf-8")
    nodes = read_nodes(ElementTree.fromstring(svg))
    for name, node in zip(names, nodes, strict=True):
        safe = re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", name)
        assert node.group.get("data-node") == safe
        assert list(node.group) == [node.group.find(f"{SVG}{tag}") for tag in ("title", "rect", "text")]


def test_a_long_name_is_cut_in_the_box_and_whole_in_the_title():
    name = "a name of a feature that goes on and on, far beyond what any box should have to hold"
    node = read_nodes(ElementTree.fromstring(to_svg([name, "y"], [("y", name)], "y")))[0]
    assert node.label.endswith("…")
    assert name.startswith(node.label[:-1])
    assert node.title == f"{name}\nparents: y"
    assert 150 < node.right - node.left < 250


@settings(max_examples=15)
@given(networks())
def test_labels_fit_their_boxes_in_a_wide_font(network):
    from matplotlib.textpath import TextPath

    names, _, target = network
    for name, node in zip(names, read_nodes(ElementTree.fromstring(to_svg(*network))), strict=True):
        weight = "bold" if name == target else "normal"
        text = TextPath(
            (0, 0), node.label.replace("$", r"\$"), size=13, prop={"family": "DejaVu Sans", "weight": weight}
        )
        assert text.get_extents().width < node.right - node.left or not node.label.strip()


def test_a_longer_name_has_a_wider_box():
    short, long, _ = read_nodes(ElementTree.fromstring(to_svg(["x", "petal length (cm)", "y"], [], "y")))
    assert long.right - long.left > 3 * (short.right - short.left)


def test_class_and_marked_nodes_stand_out():
    svg = to_svg(["a", "b", "c", "y"], [("y", "a"), ("a", "b")], "y", marked={"a", "b"})
    a, b, c, y = (node.group.find(f"{SVG}rect").get("fill") for node in read_nodes(ElementTree.fromstring(svg)))
    assert a == b
    assert len({a, c, y}) == 3


def test_class_edges_are_pale_and_behind():
    root = ElementTree.fromstring(to_svg(*tan(16)))
    stroke = {group.find(f"{SVG}title").text: group.find(f"{SVG}path").get("stroke") for group in read_edges(root)}
    of_class = [title.startswith("class → ") for title in stroke]
    assert of_class == sorted(of_class, reverse=True)
    assert len({colour for title, colour in stroke.items() if title.startswith("class → ")}) == 1
    assert len(set(stroke.values())) == 2
    assert [group.get("class") for group in root.iter(f"{SVG}g")] == ["bn-edge"] * len(stroke) + ["bn-node"] * 17


def test_the_svg_says_what_it_is_and_depends_on_nothing():
    svg = to_svg(*NETWORKS["nb iris"])
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Bayesian network classifier; class: species; features: 4; edges: 4"
    # Ids, style sheets and links would clash with, leak into or need something of the page around it.
    assert not re.search(r"<style|<script|href=| id=|url\(", svg)
    assert root.find(f"{SVG}rect").get("fill") == "#ffffff"


def test_only_a_clickable_picture_names_its_nodes_for_scripts():
    assert "data-node" not in to_svg(*IRIS_TAN)
    nodes = read_nodes(ElementTree.fromstring(to_svg(*IRIS_TAN, clickable=True)))
    assert [node.group.get("data-node") for node in nodes] == IRIS_TAN[0]


def test_plot_draws_every_node_and_edge_on_a_figure_of_its_own():
    names, edges, target = kdb(16, 2)
    ax = plot(names, edges, target)
    assert sorted(text.get_text() for text in ax.texts) == sorted(names)
    lines, heads = ax.collections
    assert len(heads.get_paths()) == len(edges)
    assert len(lines.get_paths()) >= len(edges)
    width, height = ax.figure.get_size_inches()
    assert width == pytest.approx(abs(ax.get_xlim()[1] - ax.get_xlim()[0]) / 96)
    assert height == pytest.approx(abs(ax.get_ylim()[1] - ax.get_ylim()[0]) / 96)


def test_plot_and_layout_agree():
    names, *_ = IRIS_TAN
    _paper, *boxes = plot(*IRIS_TAN).patches
    centres = [(box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2) for box in boxes]
    places = layout(*IRIS_TAN)
    assert centres == [pytest.approx(places[name]) for name in names]


def test_plot_scales_its_text_to_the_axes_it_is_given():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 8))
    upper, lower = figure.subplots(2)
    assert plot(*tan(16), ax=upper) is upper
    assert not lower.texts
    assert 0 < upper.texts[0].get_size() < plot(*tan(16)).texts[0].get_size()


def test_plot_takes_dollars_as_they_are():
    ax = plot(["$a$", "\\frac", "y"], [], "y")
    ax.figure.canvas.draw()
    assert {text.get_text() for text in ax.texts} == {"$a$", "\\frac", "y"}
    assert not any(text.get_parse_math() for text in ax.texts)


def test_plot_leaves_pyplot_and_the_backend_alone():
    code = (
        "import sys; from bnplug.show.drawing import plot; assert 'matplotlib' not in sys.modules;"
        "plot(['a', 'y'], [('y', 'a')], 'y').figure.canvas.draw();"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MPLBACKEND": "tkagg"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_plot_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "bnplug\[plot\]"'):
        plot(*IRIS_TAN)
    assert to_svg(*IRIS_TAN)


def test_pictures_are_saved_by_their_ending(tmp_path):
    from matplotlib.image import imread

    save_picture(tmp_path / "tan.svg", *IRIS_TAN, marked=IRIS[:1])
    assert (tmp_path / "tan.svg").read_text(encoding="utf-8") == to_svg(*IRIS_TAN, marked=IRIS[:1])
    save_picture(str(tmp_path / "tan.PNG"), *IRIS_TAN)
    pixels = imread(tmp_path / "tan.PNG", format="png")
    height, width = numbers(ElementTree.fromstring(to_svg(*IRIS_TAN)).get("viewBox"))[:1:-1]
    assert pixels.shape[:2] == pytest.approx((2 * height, 2 * width), abs=2)
    assert pixels[..., :3].std() > 0.05
    assert pixels[0, 0, :3].min() == 1
    assert sorted(os.listdir(tmp_path)) == ["tan.PNG", "tan.svg"]


@pytest.mark.parametrize("name", ["tan.bmp", "tan", "svg"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(
        ValueError, match=r"saved as \.svg, \.dot, \.gv, \.mmd, \.png, \.pdf, .*: give '.*' one of these endings"
    ):
        save_picture(tmp_path / name, *IRIS_TAN)
    assert not os.listdir(tmp_path)


MAGIC = {
    "png": b"\x89PNG", "pdf": b"%PDF", "eps": b"%!PS", "ps": b"%!PS", "jpg": b"\xff\xd8", "jpeg": b"\xff\xd8",
    "tif": b"II*\0", "tiff": b"II*\0", "webp": b"RIFF", "svg": b"<svg", "dot": b"digraph", "gv": b"digraph",
    "mmd": b"flowchart",
}  # fmt: skip


@pytest.mark.parametrize("ending", MAGIC)
def test_a_picture_is_what_its_ending_says(tmp_path, ending):
    save_picture(tmp_path / f"tan.{ending}", *IRIS_TAN)
    assert (tmp_path / f"tan.{ending}").read_bytes().startswith(MAGIC[ending])


def test_graphviz_gets_every_node_and_edge_by_its_name():
    names = ["y", "a b", 'q"', "back\\slash", "two\nlines", "digraph"]
    edges = [("y", "a b"), ("y", 'q"'), ('q"', "back\\slash"), ("y", "two\nlines")]
    text = to_dot(names, edges, "y")
    quoted = r'"(?:[^"\\]|\\.)*"'
    plain = {name: name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name in names}
    assert set(re.findall(rf"^  ({quoted}) \[", text, re.M)) == {f'"{name}"' for name in plain.values()}
    assert set(re.findall(rf"^  ({quoted}) -> ({quoted})", text, re.M)) == {
        (f'"{plain[a]}"', f'"{plain[b]}"') for a, b in edges
    }


def test_mermaid_gets_every_node_and_edge_and_the_class_is_marked():
    names = ["y", "a b", 'q"', "end", "two\nlines", "<b>#1;", ""]
    text = to_mermaid(names, [("y", "a b"), ("a b", 'q"'), ("y", "<b>#1;")], "y", ["a b"])
    assert re.findall(r'^  n\d\["(.*)"\](?::::(\w+))?$', text, re.M) == [
        *(("y", "target"), ("a b", "marked"), ("q#34;", ""), ("end", ""), ("two lines", "")),
        *(("#60;b#62;#35;1#59;", ""), (" ", "")),
    ]
    assert re.findall(r"^  n(\d) --> n(\d)$", text, re.M) == [("0", "1"), ("0", "5"), ("1", "2")]
    assert text.startswith("flowchart TD\n")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder '.*missing' to save 'tan.svg' in"):
        save_picture(tmp_path / "missing" / "tan.svg", *IRIS_TAN)


def test_a_failed_save_leaves_the_old_picture(tmp_path, monkeypatch):
    path = tmp_path / "tan.svg"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_picture(path, *IRIS_TAN)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tan.svg"]
