"""The explorer of a mixture in a real browser. Skipped where there is no Chromium."""

from urllib.parse import quote

import browser
import numpy as np
import pytest

import bnplug
from bnplug.datasets import iris

pytestmark = pytest.mark.skipif(browser.find() is None, reason="there is no Chromium")

READY = "document.body.dataset.view && !document.body.hasAttribute('aria-busy')"
CARD = """name => Object.fromEntries([...[...document.querySelectorAll('.card')].find(
  c => c.querySelector('h3').textContent === name).querySelectorAll('.state')].map(
    s => [s.querySelector('.label').title, Number(s.querySelector('data').value)]))"""
NEXT = """[...document.querySelectorAll('.next li')].map(
  e => [e.querySelector('.what').textContent, Number(e.querySelector('data').value)])"""
TOTAL = "document.querySelector('.why .sum b').textContent.replace('\\u2212', '-')"


@pytest.fixture(scope="module")
def chromium():
    started = browser.Browser()
    yield started
    started.close()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    X, y = iris()
    X = X.assign(size=np.where(X.iloc[:, 0] > 5.8, "large", "small"))
    model = bnplug.make_classifier("mixture", n_members=2, random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("page") / "iris.html"
    model.explore(path, X, y, rows=5)
    return model, path, X


def show(chromium, path, evidence):
    pairs = "&".join(f"{quote(name)}={quote(str(value))}" for name, value in evidence.items())
    chromium.open(path, f"#{pairs}" if pairs else "")
    chromium.until(READY)


def card(chromium, name):
    return chromium.run(f"({CARD})({name!r})")


@pytest.mark.parametrize("row", range(6))
def test_the_average_is_that_of_python(chromium, shown, row):
    model, path, X = shown
    rng = np.random.default_rng(row)
    case = X.iloc[[25 * row]]
    # The first row is complete.
    hidden = [name for name in X.columns if row and rng.random() < 0.5]
    evidence = case.drop(columns=hidden).iloc[0].to_dict()
    show(chromium, path, evidence)
    classes = card(chromium, "species")
    found = [classes[label] for label in model.classes_]
    np.testing.assert_allclose(found, model.predict_proba(case.assign(**dict.fromkeys(hidden)))[0], atol=1e-9)
    if "size" in hidden:
        sizes = model.query("size", evidence).set_index("size")["probability"]
        assert card(chromium, "size") == pytest.approx(sizes.to_dict(), abs=1e-9)
    if hidden:
        expected = model.what_next(case.assign(**dict.fromkeys(hidden)))
        assert dict(chromium.run(NEXT)) == pytest.approx(
            dict(zip(expected["feature"], expected["information"], strict=True)), abs=1e-9
        )
    best = max(classes, key=classes.get)
    odds = np.log(classes[best] / (1 - classes[best]))
    assert float(chromium.run(TOTAL)) == pytest.approx(odds, abs=0.006)


def test_a_card_of_numbers_has_groups_of_intervals(chromium, shown):
    model, path, _ = shown
    show(chromium, path, {"size": "large"})
    bars = card(chromium, "petal width (cm)")
    name = "petal width (cm)"
    answer = model.query(name, {"size": "large"})["probability"].to_numpy()
    cuts = [float(label.split("..")[-1].removeprefix("<=")) for label in list(bars)[:-1]]
    groups = np.searchsorted(cuts, [*model.intervals(name).cuts, np.inf])
    np.testing.assert_allclose(list(bars.values()), np.bincount(groups, answer), atol=1e-9)


def test_each_member_has_a_view_and_evidence_is_kept(chromium, shown):
    model, path, _X = shown
    evidence = {"petal width (cm)": 1.3, "size": "large"}
    show(chromium, path, evidence)
    labels = chromium.run("[...document.querySelectorAll('.actions option')].map(o => o.textContent)")
    assert len(labels) == 5
    for number, member in enumerate(model.members_):
        chromium.run(
            f"(() => {{ const menu = document.querySelector('.actions select'); menu.value = {number + 1}; "
            "menu.dispatchEvent(new Event('change')); })()"
        )
        chromium.until(READY)
        expected = member.query("species", evidence).set_index("species")["probability"]
        assert card(chromium, "species") == pytest.approx(expected.to_dict(), abs=1e-9)
    assert (
        chromium.run("document.querySelectorAll('header').length - document.querySelectorAll('.card header').length")
        == 1
    )


def test_a_row_of_the_data_can_be_loaded(chromium, shown):
    model, path, X = shown
    show(chromium, path, {})
    chromium.run(
        "(() => { const menu = document.querySelector('.chooser select'); menu.value = 2; "
        "menu.dispatchEvent(new Event('change')); })()"
    )
    chromium.until(READY)
    found = list(card(chromium, "species").values())
    np.testing.assert_allclose(found, model.predict_proba(X.iloc[[2]])[0], atol=1e-9)


def test_some_features_of_a_mixture(chromium, shown, tmp_path):
    model, _, _ = shown
    model.explore(tmp_path / "part.html", features=["size"])
    show(chromium, tmp_path / "part.html", {"size": "small"})
    expected = model.query("species", {"size": "small"}).set_index("species")["probability"]
    assert card(chromium, "species") == pytest.approx(expected.to_dict(), abs=1e-9)
