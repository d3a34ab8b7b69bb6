import os
import re
import shutil
import subprocess
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from html_page import Page, sections

import bnplug
from bnplug import BayesianNetworkClassifier, UnseenValueWarning
from bnplug.datasets import iris, tic_tac_toe
from bnplug.show import report

HOSTILE = [
    "<script>document.title='ran'</script>",
    "</script><script>document.title='ran'</script>",
    "</style><img src=x onerror=document.title='ran'>",
    '" onmouseover="document.title=1" x="',
    "it's & <b>bold</b> &amp; &lt;",
    "<!-- -->]]>",
    "a\nb\tc\rd",
    "nul\x00 and escape\x1b",
    "温度 مرحبا \u202eabc",
    "x" * 300,
    "#node=x",
    "(prior)",
    "https://example.com/a.png",
]


def hostile(n_rows=60):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    labels = np.array(["<i>no</i>", "</td>yes&"])
    X = pd.DataFrame({name: labels[(y + (rng.random(n_rows) < 0.3)) % 2] for name in HOSTILE})
    target = pd.Series(np.array(["<u>1</u>", "'2\""])[y], name='<class> & "y"')
    return BayesianNetworkClassifier("tan").fit(X, target), X, target


@pytest.fixture(scope="module")
def hostile_page():
    model, X, y = hostile()
    return model, report.to_html(model, X, y)


@pytest.fixture(scope="module")
def iris_model():
    X, y = iris()
    return BayesianNetworkClassifier(("tan", {"correction": None}), "ml").fit(X, y), X, y


def test_hostile_names_stay_text(hostile_page):
    _, html = hostile_page
    page = Page(html)
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "iframe", "link", "object", "u"})
    attributes = [name for _, found in page.elements for name in found]
    assert not [name for name in attributes if name.startswith("on") or name == "src"]
    assert all(link["href"].startswith("#node-") for link in page.all("a"))
    assert "\x00" not in html
    assert "\x1b" not in html


def test_every_node_has_its_table(hostile_page):
    model, html = hostile_page
    page = Page(html)
    printable = [re.sub("[\x00\x1b]", "\ufffd", name) for name in model.tables_.names]
    assert [found["data-name"] for found in page.all("details")] == printable
    assert sorted(found["data-node"] for found in page.all("g") if "data-node" in found) == sorted(printable)
    assert [found["id"] for found in page.all("details")] == [f"node-{i}" for i in range(len(printable))]


def test_nothing_is_loaded_from_elsewhere(iris_model):
    html = report.to_html(*iris_model)
    assert set(re.findall(r"\w+://[^\s\"'<]*", html)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in Page(html).all("meta")[1]["content"]


def test_the_same_page_every_time(iris_model):
    model, X, y = iris_model
    again = BayesianNetworkClassifier(("tan", {"correction": None}), "ml").fit(X, y)
    assert report.to_html(model, X, y) == report.to_html(again, X, y)


def test_what_is_given_decides_what_is_shown(iris_model):
    model, X, y = iris_model
    base = ["network", "class", "features", "making", "drawn", "tables", "contents"]
    assert sections(Page(report.to_html(model))) == sections(Page(report.to_html(model, X))) == base
    assert sections(Page(report.to_html(model, X, rows=3))) == [*base[:3], "examples", *base[3:]]
    assert sections(Page(report.to_html(model, X, y))) == ["network", "performance", *base[1:]]
    whole = sections(Page(report.to_html(model, X, y, rows=3)))
    assert whole == ["network", "performance", "class", "features", "examples", *base[3:]]
    with pytest.raises(ValueError, match="y is given without X"):
        report.to_html(model, None, y)


def test_the_figures_and_tables_are_the_models(iris_model):
    model, X, y = iris_model
    text = Page(report.to_html(model, X, y)).text
    assert f"{model.score(X, y):.3f}" in text
    for name in model.tables_.names:
        cells = [f"{value:.3f}" for value in model.cpt(name).to_numpy().ravel() if value >= 0.0005]
        assert all(cell in text for cell in cells)
    assert "tan" in text
    assert f"bnplug {bnplug.__version__}" in text
    assert "0.8 · 1.75" in text.replace("  ", " ")


def test_many_features_with_long_names():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({f"a rather long name of feature {i}": (y + rng.integers(0, 2, 300)) % 3 for i in range(60)})
    page = Page(report.to_html(BayesianNetworkClassifier("tan").fit(X, y), X, y, rows=3))
    assert len(page.all("details")) == 61
    assert "50 other features" in page.text


def test_a_network_too_dense_to_sum_out_still_gets_a_page():
    X, y = tic_tac_toe()
    model = BayesianNetworkClassifier("kdb", calibrate=None, max_clique_size=4).fit(X, y)
    page = Page(report.to_html(model, X, y, rows=3))
    assert page.text.count("max_clique_size=4") == 2
    assert "It contains no rows of data." in page.text
    assert "class" not in sections(page)
    assert "performance" in sections(page)
    assert len(page.all("details")) == 10


def test_missing_and_unseen_cells(iris_model):
    model, X, y = iris_model
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.5)
    assert "nan" not in Page(report.to_html(model, holes, y, rows=3)).text
    X = pd.DataFrame({"a": list("uvuv"), "b": [0, 0, 1, 1]})
    model = BayesianNetworkClassifier("nb").fit(X, [0, 1, 0, 1])
    with pytest.warns(UnseenValueWarning) as caught:
        report.to_html(model, X.assign(a="w"), [0, 1, 0, 1], rows=3)
    assert len(caught) == 1


def test_rows_as_arrays(iris_model):
    _, X, y = iris_model
    model = BayesianNetworkClassifier("nb").fit(X.to_numpy(), y.to_numpy())
    assert "x3 = 1.5" in Page(report.to_html(model, X.to_numpy(), y.to_numpy(), rows=3)).text


def test_the_file_is_written_whole(tmp_path, iris_model):
    iris_model[0].report(tmp_path / "r.html")
    assert os.listdir(tmp_path) == ["r.html"]
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.to_html(iris_model[0])
    with pytest.raises(ValueError, match="labels"):
        iris_model[0].report(tmp_path / "r.html", iris_model[1], ["rose"] * 150)
    assert "<title>species" in (tmp_path / "r.html").read_text(encoding="utf-8")


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def rendered(path, fragment):
    """The page as a browser has it after its script ran."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={path.parent / 'profile'}", "--dump-dom", f"{path.as_uri()}#{fragment}",
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, timeout=60)
    return done.stdout.decode("utf-8")


def panel_of(dom):
    return Page(dom[dom.index("<aside") : dom.index("</aside>") + len("</aside>")])


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium to render the page")


@needs_browser
@pytest.mark.parametrize("name", [HOSTILE[1], HOSTILE[6]], ids=["markup", "white space"])
def test_a_browser_shows_the_node_in_the_address(tmp_path, hostile_page, name):
    _, html = hostile_page
    (tmp_path / "r.html").write_text(html, encoding="utf-8", newline="")
    dom = rendered(tmp_path / "r.html", f"node={quote(name, safe='')}")
    panel = panel_of(dom)
    assert "hidden" not in panel.all("aside")[0]
    assert panel.texts[0] == name
    assert {"<i>no</i>", "</td>yes&"} <= set(panel.texts)
    assert len(panel.all("table")) >= 1
    selected = [found for found in Page(dom).all("g") if "selected" in found.get("class", "")]
    assert [found["data-node"] for found in selected] == [name]
    assert selected[0]["tabindex"] == "0"
    assert "<title>ran" not in dom


@needs_browser
@pytest.mark.parametrize(
    "act",
    [
        "document.querySelector('[data-node=\"petal length (cm)\"]').dispatchEvent(new MouseEvent('click'))",
        "document.querySelector('[data-node=\"petal length (cm)\"]')"
        ".dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))",
        "document.querySelector('#features a[href=\"#node-2\"]').click()",
    ],
    ids=["click", "Enter", "link"],
)
def test_a_browser_shows_the_node_that_is_chosen(tmp_path, iris_model, act):
    html = report.to_html(iris_model[0])
    # The page's own policy would not let a test's script run.
    html = re.sub("<meta http-equiv[^>]*>", "", html).replace("</body>", f"<script>{act}</script></body>")
    (tmp_path / "r.html").write_text(html, encoding="utf-8")
    texts = panel_of(rendered(tmp_path / "r.html", "")).texts
    assert texts[0] == "petal length (cm)"
    assert {"petal width (cm)", "species", "<=2.45", "0.999"} <= set(texts)
