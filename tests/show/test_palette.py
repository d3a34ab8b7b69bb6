"""One palette for all pictures."""

import re
from importlib.resources import files
from pathlib import Path

import bnplug
from bnplug.show import palette
from bnplug.show.drawing import new_axes


def test_curves_are_told_apart_by_colour_and_by_mark():
    assert len(set(palette.COLOURS)) == len(palette.COLOURS) == len(set(palette.MARKS))
    assert [palette.colour(i) for i in range(9)] == [*palette.COLOURS, palette.COLOURS[0]]
    assert [palette.mark(i) for i in range(9)] == [*palette.MARKS, palette.MARKS[0]]


def test_no_other_module_has_colours_of_its_own():
    root = Path(bnplug.__file__).parents[1]
    sources = [*root.glob("bnplug/**/*.py"), *root.glob("plugins/*/bnplug_*/**/*.py")]
    with_colours = {path.name for path in sources if re.search(r"[\"']#[0-9a-fA-F]{6}[\"']", path.read_text("utf-8"))}
    assert with_colours == {"palette.py"}


def test_the_style_of_reports_has_the_same_colours():
    templates = files("bnplug.html").joinpath("templates")
    css = "".join(templates.joinpath(file).read_text("utf-8") for file in ("theme.css", "report.css"))
    names = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", re.sub(r"@media.*?\n}\n", "", css, flags=re.DOTALL)))
    assert (names["ink"], names["soft"], names["accent"]) == (palette.INK, palette.SOFT, palette.ACCENT)
    assert (names["mark"], names["mark-line"]) == palette.MARKED[:2]
    legend = css[css.index(".legend li::before") if ".legend li::before" in css else css.index(".legend") :]
    assert all(colour in legend for colour in (*palette.FEATURE[:2], *palette.CLASS[:2]))


def test_finished_axes_have_a_grid_two_sides_and_plain_names():
    ax = new_axes((4, 3))
    ax.plot([0, 1], label="$a$")
    assert palette.finish(ax, legend=True) is ax
    assert [name for name, spine in ax.spines.items() if spine.get_visible()] == ["left", "bottom"]
    assert [text.get_parse_math() for text in ax.get_legend().get_texts()] == [False]
    assert palette.finish(new_axes((4, 3)), legend=True).get_legend() is None
