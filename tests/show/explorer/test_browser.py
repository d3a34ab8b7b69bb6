"""The page in a real browser: clicks, names that are no markup, accessibility. Skipped where there is no Chromium."""

import json
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import browser
import numpy as np
import pandas as pd
import pytest
from awkward import awkward_labels, awkward_names
from strategies import some

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.datasets import iris, tic_tac_toe, wine
from bnplug.html._kit import xml_text
from bnplug.inference.queries import query

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = pytest.mark.skipif(browser.find() is None, reason="there is no Chromium")

READY = "document.body.dataset.view && !document.body.hasAttribute('aria-busy')"
BARS = (
    "[...document.querySelectorAll('.card')].map(c => [...c.querySelectorAll('.state data')].map(d => Number(d.value)))"
)
CLICKS = f"""async sets => {{
  const found = [];
  for (const clicks of sets) {{
    [...document.querySelectorAll('.actions button')].find(b => b.textContent === 'reset').click();
    for (const [v, s] of clicks) document.querySelectorAll('.card')[v].querySelectorAll('.state')[s].click();
    while (document.body.hasAttribute('aria-busy')) await new Promise(done => setTimeout(done));
    found.push({BARS});
  }}
  return found;
}}"""


def some_wine():
    X, y = wine()
    return X.iloc[:, :8], y


MODELS = {
    "tan": (some_wine, "tan", "ml"),
    "kdb-2": (tic_tac_toe, bnplug.structure_learner("kdb", k=2), "ml"),
    "rmcv": (tic_tac_toe, "rmcv", "ml"),
    "ccbn-w": (some_wine, "tan", "ccbn-w"),
}


@pytest.fixture(scope="module")
def chromium():
    started = browser.Browser()
    yield started
    started.close()


@pytest.fixture(scope="module")
def iris_page(tmp_path_factory):
    X, y = iris()
    model = BayesianNetworkClassifier("tan", "ml").fit(X, y)
    path = tmp_path_factory.mktemp("page") / "iris.html"
    model.explore(path, X, y, rows=len(X))
    return model, path


def open_page(chromium, path, evidence="", **options):
    chromium.open(path, f"#{evidence}" if evidence else "", **options)
    chromium.until(READY)


def bars(chromium):
    """Return the probabilities on all cards, once the page is at rest."""
    chromium.until(READY)
    return chromium.run(BARS)


def button(text):
    return f"[...document.querySelectorAll('button')].find(b => b.textContent === {json.dumps(text)})"


def state(name, label):
    """The script that finds a state's button in the card of a variable."""
    card = (
        f"[...document.querySelectorAll('.card')].find(c => c.querySelector('h3').textContent === {json.dumps(name)})"
    )
    return f"[...{card}.querySelectorAll('.state')].find(b => b.querySelector('.label').title === {json.dumps(label)})"


def random_clicks(rng, cards):
    """Clicks on some states; of a variable that is clicked again, the same state or another."""
    clicks = []
    for v in rng.permutation(len(cards))[: rng.integers(0, len(cards))]:
        clicks += [[int(v), int(rng.integers(cards[v]))] for _ in range(1 + (rng.random() < 0.2))]
    return clicks


def evidence_of(clicks):
    known = {}
    for v, s in clicks:
        if known.get(v) == s:
            del known[v]
        else:
            known[v] = s
    return known


def values_of(model):
    """For each variable a value of the data in each of its states."""
    values = {name: list(model.tables_.states[name]) for name in model.tables_.names}
    for name, cuts in model.encoder_.cut_points.items():
        values[name] = [*cuts.tolist(), cuts[-1] + 1.0] if len(cuts) else [0.0]
    return values


def answered(model, values, known):
    """What `model.query` says of every variable; all 0 where the evidence is impossible."""
    names = model.tables_.names
    given = {names[v]: values[names[v]][s] for v, s in known.items()}
    with suppress(ValueError):
        return [
            np.eye(len(values[name]))[known[v]] if v in known else model.query(name, given)["probability"].to_numpy()
            for v, name in enumerate(names)
        ]
    codes = {name: values[name].index(value) for name, value in given.items()}
    with pytest.raises(ValueError, match="impossible"):
        query(model.tables_, [next(name for name in names if name not in given)], codes)
    return [np.zeros(len(values[name])) for name in names]


@pytest.mark.parametrize("name", MODELS)
def test_clicks_give_the_answers_of_query(chromium, tmp_path, name):
    data, structure, parameters = MODELS[name]
    model = BayesianNetworkClassifier(structure, parameters, random_state=0).fit(*data())
    model.explore(tmp_path / "page.html")
    open_page(chromium, tmp_path / "page.html")
    rng = np.random.default_rng(1)
    values = values_of(model)
    sets = [random_clicks(rng, [len(own) for own in values.values()]) for _ in some(range(200), 4)]
    shown = chromium.run(f"({CLICKS})({json.dumps(sets)})")
    for clicks, answers in zip(sets, shown, strict=True):
        for found, wanted in zip(answers, answered(model, values, evidence_of(clicks)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    assert chromium.errors() == []


def test_query_of_the_model_takes_labels_as_the_page_shows_them(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=4.8&sepal%20width%20(cm)=2.5")
    wanted = model.query("species", {"petal length (cm)": 4.8, "sepal width (cm)": 2.5})["probability"]
    v = model.tables_.names.index("species")
    np.testing.assert_allclose(bars(chromium)[v], wanted, atol=1e-6)
    large = chromium.run("[...document.querySelectorAll('.classes data')].map(d => Number(d.value))")
    np.testing.assert_allclose(large, wanted, atol=1e-6)


def test_contributions_and_what_is_asked_next(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=4.8&sepal%20width%20(cm)=2.5")
    row = pd.DataFrame(
        {
            "petal length (cm)": [4.8],
            "sepal width (cm)": [2.5],
            "sepal length (cm)": [np.nan],
            "petal width (cm)": [np.nan],
        }
    )
    explained = model.explain(row)
    best = model.predict(row)[0]
    wanted = explained[(explained["class"] == best) & (explained["contribution"] != 0)]["contribution"]
    shown = chromium.run("[...document.querySelectorAll('.why data')].map(d => Number(d.value))")
    np.testing.assert_allclose(sorted(shown), sorted(wanted), atol=1e-6)
    asked = chromium.run("[...document.querySelectorAll('.next .what')].map(e => e.textContent)")
    assert set(asked) == {"sepal length (cm)", "petal width (cm)"}
    chromium.run("document.querySelector('.next button').click()")
    assert chromium.run("document.activeElement.closest('.card').querySelector('h3').textContent") == asked[0]


def test_on_a_narrow_page_what_is_asked_next_leads_to_its_card(chromium, iris_page):
    _, path = iris_page
    open_page(chromium, path, width=400)
    assert chromium.run("document.body.dataset.view") == "list"
    assert chromium.run("getComputedStyle(document.querySelector('aside')).display") == "none"
    chromium.run("document.querySelector('[value=answers]').click()")
    chromium.run("document.querySelector('.next button').click()")
    assert chromium.run("document.body.dataset.view") == "list"
    assert chromium.run("document.activeElement.className") == "state"
    assert chromium.run("document.documentElement.scrollWidth") == 400


def test_click_again_undo_redo_reset_and_the_address(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path)
    label = model.tables_.states["petal length (cm)"][0]
    one = state("petal length (cm)", label)
    chromium.run(f"{one}.click()")
    address = f"#petal%20length%20(cm)={quote(label, safe='')}"
    chromium.until(f"location.hash === {json.dumps(address)}")
    assert chromium.run(f"{one}.getAttribute('aria-pressed')") == "true"
    chromium.run(f"{one}.click()")
    chromium.until("location.hash === ''")
    chromium.run(f"{button('undo')}.click()")
    chromium.until(f"location.hash === {json.dumps(address)}")
    chromium.run(f"{button('undo')}.click(); {button('redo')}.click()")
    chromium.until(f"location.hash === {json.dumps(address)}")
    chromium.run(f"{button('reset')}.click()")
    assert chromium.run("[...document.querySelectorAll('.known')].length") == 0
    chromium.until("location.hash === ''")
    chromium.run(f"location.hash = {json.dumps(address)}")
    chromium.until(f"{one}.getAttribute('aria-pressed') === 'true'")


def test_sliders_are_soft_evidence(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path)
    chromium.run("document.querySelectorAll('.card .unsure')[2].click()")
    weights = [40, 100, 10]
    for s, weight in enumerate(weights):
        chromium.run(
            f"(s => {{ s.value = {weight}; s.dispatchEvent(new Event('input')); }})"
            f"(document.querySelectorAll('.card')[2].querySelectorAll('input[type=range]')[{s}])"
        )
    name = model.tables_.names[2]
    assert len(model.tables_.states[name]) == len(weights)
    expected = model.query("species", {name: dict(zip(model.tables_.states[name], weights, strict=True))})
    v = model.tables_.names.index("species")
    np.testing.assert_allclose(bars(chromium)[v], expected["probability"], atol=1e-6)
    before = bars(chromium)
    chromium.run(f"{button('undo')}.click(); {button('redo')}.click()")
    assert bars(chromium) == before
    chromium.until("location.hash.includes(':0.4,')")


def test_a_row_is_loaded_typed_and_compared_with_its_class(chromium, iris_page):
    model, path = iris_page
    X, y = iris()
    open_page(chromium, path)
    chromium.run(
        "(s => { s.value = 70; s.dispatchEvent(new Event('change')); })(document.querySelector('.chooser select'))"
    )
    v = model.tables_.names.index("species")
    np.testing.assert_allclose(bars(chromium)[v], model.predict_proba(X.iloc[[70]])[0], atol=1e-6)
    assert y[70] in chromium.run("document.querySelector('.chooser').parentElement.querySelector('p').textContent")
    typed = "petal width (cm) = 1.9\npetal length (cm) = 5\nwing = 3"
    chromium.run(f"document.querySelector('textarea').value = {json.dumps(typed)}; {button('use it')}.click()")
    wanted = model.query("species", {"petal width (cm)": 1.9, "petal length (cm)": 5})["probability"]
    np.testing.assert_allclose(bars(chromium)[v], wanted, atol=1e-6)
    assert "wing" in chromium.run("document.querySelector('aside').textContent")


def test_what_was_said_of_a_row_holds_until_something_else_is_known(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path)
    panel = "document.querySelector('.chooser').parentElement"
    seen = f"[{panel}.querySelector('select').value, {panel}.querySelector('.note').textContent !== '']"
    following = "document.querySelector('[aria-label=\"The next row\"]').click()"
    chromium.run(f"{following}; {following}")
    assert chromium.run(seen) == ["1", True]
    chromium.run(f"{button('reset')}.click()")
    assert chromium.run(seen) == ["", False]
    chromium.run(following)
    assert chromium.run(seen) == ["2", True]
    chromium.run(f"{state('petal length (cm)', model.tables_.states['petal length (cm)'][2])}.click()")
    assert chromium.run(seen) == ["", False]


@pytest.mark.parametrize("width", [1300, 400])
def test_an_address_that_is_not_understood_is_told_in_sight(chromium, iris_page, width):
    _, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=long&wing=3", width=width)
    notice = "document.querySelector('[role=alert]')"
    assert chromium.run(f"{notice}.getClientRects().length") == 1
    assert "petal length (cm)=long; wing=3" in chromium.run(f"{notice}.textContent")
    chromium.run("document.querySelector('.card .state').click()")
    assert chromium.run(f"{notice}.getClientRects().length") == 0


def test_a_number_is_not_called_wrong_any_more_once_a_state_is_clicked(chromium, iris_page):
    _, path = iris_page
    open_page(chromium, path)
    field = "document.querySelector('.number input')"
    chromium.run(f"{field}.value = 'much'; {field}.dispatchEvent(new Event('change'))")
    assert chromium.run(f"{field}.validationMessage") == "Not a number"
    chromium.run(f"{field}.blur(); {field}.closest('.card').querySelector('.state').click()")
    assert chromium.run(f"[{field}.validationMessage, {field}.value]") == ["", ""]


@pytest.mark.parametrize("view", ["network", "list"])
def test_what_is_surprising_leaves_a_name_its_room(chromium, iris_page, view):
    _, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=1&petal%20width%20(cm)=2.5", width=800)
    chromium.run(f"document.querySelector('[value={view}]').click()")
    cut = "[...document.querySelectorAll('.card h3')].filter(h => h.scrollWidth > h.clientWidth).length"
    assert chromium.run(cut) == 0


def test_unsure_can_be_read_where_it_is_in_use(chromium, iris_page):
    _, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=%3C%3D2.45:0.5,2.45..4.75:1")
    colours = chromium.run(
        "(s => [s.color, s.backgroundColor])(getComputedStyle(document.querySelector('.soft .unsure')))"
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(29, 95, 166)"]


def test_of_many_classes_the_most_probable_is_in_sight(chromium, tmp_path):
    states = {"kind": [f"class {c}" for c in range(40)], "sign": list(range(40))}
    signs = np.log(0.001 + 0.96 * np.eye(40))
    tables = {"kind": ((), np.full(40, -np.log(40.0))), "sign": (("kind",), signs)}
    model = BayesianNetworkClassifier.from_tables(LogTables(["kind", "sign"], states, tables, "kind"))
    model.explore(tmp_path / "page.html")
    for known in ("39", "0", "20"):
        open_page(chromium, tmp_path / "page.html", f"sign={known}")
        best, around = chromium.run(
            "['.classes .best', '.classes'].map(s => document.querySelector(s).getBoundingClientRect().toJSON())"
        )
        assert around["top"] <= best["top"]
        assert best["bottom"] <= around["bottom"]


def test_hovering_says_where_the_class_would_go(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path)
    label = model.tables_.states["petal length (cm)"][0]
    chromium.run(f"{state('petal length (cm)', label)}.dispatchEvent(new PointerEvent('pointerenter'))")
    p = model.query("species", {"petal length (cm)": 1.0})["probability"]
    ghosts = chromium.run("[...document.querySelectorAll('.classes .ghost')].map(g => parseFloat(g.style.left) / 100)")
    np.testing.assert_allclose(ghosts, p, atol=1e-4)
    assert "petal length (cm)" in chromium.run("document.querySelector('.class-panel .note').textContent")


def test_conflict_is_marked(chromium, iris_page):
    _, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=1&petal%20width%20(cm)=2.5")
    assert chromium.run("[...document.querySelectorAll('.card .flag:not([hidden])')].length") == 2
    open_page(chromium, path, "petal%20length%20(cm)=1&petal%20width%20(cm)=0.2")
    assert chromium.run("[...document.querySelectorAll('.card .flag:not([hidden])')].length") == 0


def test_what_cannot_be_is_said(chromium, tmp_path):
    with np.errstate(divide="ignore"):
        tables = {"sky": ((), np.log([0.6, 0.4])), "rain": (("sky",), np.log([[1.0, 0.5], [0.0, 0.5]]))}
    states = {"sky": ["clear", "grey"], "rain": ["no", "yes"]}
    BayesianNetworkClassifier.from_tables(LogTables(["sky", "rain"], states, tables, "rain")).explore(
        tmp_path / "p.html"
    )
    open_page(chromium, tmp_path / "p.html", "sky=clear&rain=yes")
    assert bars(chromium) == [[0, 0], [0, 0]]
    assert "cannot occur together" in chromium.run("document.querySelector('.class-panel .note').textContent")
    assert chromium.run("document.querySelectorAll('.why li:not(.base)').length") == 2
    chromium.run(f"{state('sky', 'clear')}.click()")
    assert bars(chromium)[0] == [0, 1]
    assert chromium.errors() == []


def test_keys_move_and_choose(chromium, iris_page):
    _, path = iris_page
    open_page(chromium, path)
    chromium.run("document.querySelector('.card .state').focus()")
    for key, code in (("ArrowDown", 40), ("Enter", 13)):
        text = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            chromium.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)
    assert chromium.run("[...document.querySelectorAll('.card .state')].findIndex(b => b.ariaPressed === 'true')") == 1
    assert "known" in chromium.run("document.querySelector('[role=status]').textContent")
    stops = chromium.run("document.querySelectorAll('.card .state[tabindex=\"0\"]').length")
    assert stops == chromium.run("document.querySelectorAll('.card').length")


def test_search_fold_views_and_tables(chromium, iris_page):
    model, path = iris_page
    open_page(chromium, path)
    chromium.run(
        "(f => { f.value = 'WIDTH'; f.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))"
    )
    assert chromium.run("[...document.querySelectorAll('.card:not(.dim)')].length") == 2
    assert chromium.run("document.querySelector('.count').textContent") == "2 found"
    fold = "document.querySelector('.class-edges').getBoundingClientRect().width"
    assert chromium.run(fold) > 0
    chromium.run("document.querySelector('.fold input').click()")
    assert chromium.run(fold) == 0
    width = chromium.run("document.querySelector('.extent').clientWidth")
    chromium.run("document.querySelector('.lens button:nth-child(2)').click()")
    assert chromium.run("document.querySelector('.extent').clientWidth") == pytest.approx(1.25 * width, abs=2)
    chromium.run(f"{button('fit')}.click()")
    assert chromium.run("(v => v.scrollHeight <= v.clientHeight + 1)(document.querySelector('.view'))")
    chromium.run("document.querySelector('[value=tables]').click()")
    chromium.run("(s => { s.value = 3; s.dispatchEvent(new Event('change')); })(document.querySelector('#table-of'))")
    table = model.cpt(model.tables_.names[3])
    cells = chromium.run(
        "[...document.querySelectorAll('tbody tr')].map(r => [...r.querySelectorAll('td')].map(d => d.textContent))"
    )
    assert np.shape(cells) == table.T.shape
    chromium.run("document.querySelector('[value=list]').click()")
    assert chromium.run("getComputedStyle(document.querySelector('.card')).position") == "relative"


@pytest.mark.parametrize("tables", [awkward_names(), awkward_labels()], ids=["names", "labels"])
def test_names_and_labels_stay_text(chromium, tmp_path, tables):
    model = BayesianNetworkClassifier.from_tables(tables)
    model.explore(tmp_path / "page.html")
    open_page(chromium, tmp_path / "page.html")
    names = chromium.run("[...document.querySelectorAll('.card h3')].map(h => h.textContent)")
    plain = [name for name in tables.names if name and xml_text(name) == name]
    assert {*plain} <= {*names}
    assert chromium.run("document.querySelectorAll('.card *:is(b, img, script, style, a)').length") == 0
    chromium.run("document.querySelectorAll('.card').forEach(c => [...c.querySelectorAll('.state')].at(-1).click())")
    chromium.until(READY)
    before = bars(chromium)
    chromium.until(f"location.hash.split('&').length === {len(tables.names)}")
    address = chromium.run("location.hash")
    open_page(chromium, tmp_path / "page.html", address[1:])
    np.testing.assert_allclose(np.concatenate(bars(chromium)), np.concatenate(before), atol=1e-12)
    chromium.run("document.querySelector('[value=tables]').click()")
    assert chromium.errors() == []
    assert all(url.startswith("file:") for url in chromium.requests())


def test_a_page_in_a_notebook_answers(tmp_path, iris_page):
    model, _ = iris_page
    (tmp_path / "notebook.html").write_text(
        f"<!DOCTYPE html><title>n</title>{model.explore()._repr_html_()}", encoding="utf-8"
    )
    notebook = browser.Browser()
    try:
        notebook.open(tmp_path / "notebook.html")
        notebook.enter_frame()
        notebook.until(READY)
        label = model.tables_.states["petal length (cm)"][0]
        notebook.run(f"{state('petal length (cm)', label)}.click()")
        wanted = model.query("species", {"petal length (cm)": 1.0})["probability"]
        v = model.tables_.names.index("species")
        np.testing.assert_allclose(bars(notebook)[v], wanted, atol=1e-6)
        assert notebook.run(f"{button('copy link')}.hidden")
    finally:
        notebook.close()


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: npm install --no-package-lock in tests/show/explorer")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1300, 400])
@pytest.mark.parametrize("view", ["network", "list", "tables", "answers"])
def test_no_serious_fault_of_accessibility(chromium, iris_page, view, width, dark):
    _, path = iris_page
    open_page(chromium, path, "petal%20length%20(cm)=1&petal%20width%20(cm)=2.5", width=width, dark=dark)
    chromium.run(f"document.querySelector('[value={view}]').click(); document.querySelector('.card .unsure').click()")
    chromium.run(AXE.read_text(encoding="utf-8") + "; 0")
    found = chromium.run(
        "axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 200))]))"
    )
    assert [fault for fault in found if fault[0] in ("serious", "critical")] == []
