"""Pages, folders and displays that may be shared contain rows of data only on request, and say what they contain."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import bnplug
from bnplug import BayesianNetworkClassifier
from bnplug.cli import cli
from bnplug.datasets import Dataset
from bnplug.experiments import compare
from bnplug.experiments import to_html as comparison_page
from bnplug.experiments._report import to_page

N = 60
RNG = np.random.default_rng(5)
# Each value is unique, so a value in a page means that a row leaked.
X = pd.DataFrame(
    {"dose": RNG.normal(40, 9, N).round(6), "level": RNG.normal(5, 2, N).round(6), "group": RNG.choice(["u", "v"], N)},
    index=[f"patient {i:03}" for i in range(N)],
)
X.iloc[0, 0], X.iloc[1, 0] = 9876.543211, -9876.543212
Y = pd.Series(np.where(X["level"] + RNG.normal(size=N) > 5, "ill", "well"), X.index, name="outcome")
NO_ROWS = "It contains no rows of data."


@pytest.fixture(scope="module")
def model():
    return BayesianNetworkClassifier("tan").fit(X, Y)


def leaked(text, *networks):
    """Return the row labels and cell values, other than cut points, that a text contains."""
    text = html.unescape(text)
    cuts = {float(cut) for network in networks for own in network.encoder_.cut_points.values() for cut in own}
    assert not cuts & {X["dose"].min(), X["dose"].max()}
    cells = [value for name in ("dose", "level") for value in X[name] if value not in cuts]
    return [label for label in X.index if label in text] + [value for value in cells if repr(value) in text]


def rows_in(page):
    (data,) = re.findall(r'id="data">(.*?)</script>', page)
    return json.loads(data)["rows"]


PAGES = {
    "report": lambda model, path: model.report(path, X, Y),
    "explore": lambda model, path: model.explore(path, X, Y),
    "explore in a notebook": lambda model, path: path.write_text(model.explore(X=X, y=Y)._repr_html_(), "utf-8"),
}


@pytest.mark.parametrize("page", PAGES)
def test_pages_hold_no_rows_and_say_so(model, tmp_path, page):
    PAGES[page](model, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert leaked(text, model) == []
    assert NO_ROWS in text
    assert "the values of discrete columns" in text


def test_rows_are_written_when_asked_for(model, tmp_path):
    model.explore(tmp_path / "page.html", X, Y, rows=5)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [row["name"] for row in rows_in(text)] == list(X.index[:5])
    assert [row["truth"] for row in rows_in(text)] == list(Y[:5])
    assert NO_ROWS not in text
    assert "It also contains 5 rows of data: their labels, values and true classes." in text
    model.explore(tmp_path / "page.html", X, rows=1)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "It also contains 1 row of data: its label and values." in text
    model.explore(tmp_path / "page.html", X, Y, rows=1000)
    assert len(rows_in((tmp_path / "page.html").read_text(encoding="utf-8"))) == N


def test_a_report_explains_rows_when_asked_for(model, tmp_path):
    model.report(tmp_path / "page.html", X, Y, rows=2)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(re.findall("<article>", text)) == 2
    assert len({label for label in X.index if label in text}) == 2
    assert "It also contains 2 rows of data" in text
    assert f"computed from {N} rows" in text


@pytest.mark.parametrize("page", ["report", "explore"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"X": X, "rows": -1}, "rows=-1 must be a whole number of at least 0"),
        ({"X": X, "rows": 2.5}, "rows=2.5 must be a whole number"),
        ({"X": X, "rows": True}, "rows=True must be a whole number"),
        ({"rows": 3}, "rows=3 needs X"),
    ],
)
def test_impossible_numbers_of_rows(model, tmp_path, page, arguments, said):
    with pytest.raises(ValueError, match=said):
        getattr(model, page)(tmp_path / "page.html", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_commands_write_rows_when_asked_for(model, tmp_path):
    model.save(tmp_path / "model")
    X.assign(outcome=Y).to_csv(tmp_path / "rows.csv", index=False)

    def page(command, *options):
        given = [
            command,
            *map(str, (tmp_path / "model", tmp_path / "rows.csv", "-o", tmp_path / "page.html")),
            *options,
        ]
        done = CliRunner().invoke(cli, given)
        assert done.exit_code == 0, done.output
        return (tmp_path / "page.html").read_text(encoding="utf-8"), done.output

    for command in ("report", "explore"):
        text, said = page(command)
        assert leaked(text, model) == []
        assert NO_ROWS in text
        assert ("--rows" in said) == (command == "explore")
        text, _ = page(command, "--rows", "2")
        assert "It also contains 2 rows of data" in text
    done = CliRunner().invoke(cli, ["explore", str(tmp_path / "model"), "--rows", "2", "-o", str(tmp_path / "p.html")])
    assert (done.exit_code, "--rows needs DATA" in done.output) == (2, True)


@pytest.mark.parametrize("expression", ["tan", "mixture"])
def test_model_folders_and_displays_hold_no_rows(expression, tmp_path):
    model = bnplug.make_classifier(expression).fit(X, Y)
    networks = [model] if expression == "tan" else [own for group in model._networks().values() for own in group]
    bnplug.save(model, tmp_path / "model")
    (tables,) = (tmp_path / "model").glob("*.npz")
    assert leaked((tmp_path / "model" / "model.json").read_text(encoding="utf-8"), *networks) == []
    with np.load(tables) as arrays:
        numbers = {float(value) for array in arrays.values() for value in array.ravel()}
    assert not numbers & {*X["dose"], *X["level"]}
    assert leaked(model._repr_html_(), *networks) == []


def test_a_report_on_a_mixture_says_what_it_holds(tmp_path):
    model = bnplug.make_classifier("mixture").fit(X, Y)
    model.report(tmp_path / "page.html", X, Y)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert leaked(text, model.members_[0]) == []
    assert NO_ROWS in text


class Fails(BayesianNetworkClassifier):
    """Quotes a row in its error, as conversions do."""

    def fit(self, X, y, **params):
        raise ValueError(f"could not convert {X.index[0]!r}: {X.iloc[0, 0]}")


def test_comparisons_show_the_types_of_errors(model):
    data = Dataset("trial", X, Y, "auto", "/home/someone/trial.csv")
    found = compare([("breaks", Fails("nb")), ("nb", "nb")], [data], cv=2, n_jobs=1)
    for page in (comparison_page(found), to_page(found), found._repr_html_()):
        assert leaked(page, model) == []
        assert "someone" not in page
        assert "trial, breaks, 2 of 2 folds: ValueError" in page
    assert "no rows of data" in comparison_page(found)
    assert "could not convert" in found.failed_methods["error"][0]


def test_a_page_does_not_show_the_folders_of_files(tmp_path):
    hidden = tmp_path / "someone"
    hidden.mkdir()
    search = ("sa", {"score": "mdl", "checkpoint": str(hidden / "sa.json"), "max_evaluations": 20})
    model = BayesianNetworkClassifier(search, random_state=0).fit(X, Y)
    model.report(tmp_path / "page.html")
    for text in ((tmp_path / "page.html").read_text(encoding="utf-8"), model._repr_html_().split("bnplug-shown", 1)[1]):
        assert "sa.json" in text
        assert "someone" not in text
