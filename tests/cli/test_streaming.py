"""Commands on several files, and on large ones, say what they would say of one file in memory."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import run
from sklearn.base import BaseEstimator, ClassifierMixin

import bnplug
import bnplug.sources._streaming as streaming
from bnplug.classifier import opening
from bnplug.cli import _reading
from bnplug.cli._reading import streamed

N = 120
RNG = np.random.default_rng(0)
Y = RNG.choice(["p", "q"], N)
FRAME = pd.DataFrame(
    {
        "key": [f"{i:03d}" for i in range(N)],
        "t": np.where(RNG.random(N) < 0.7, Y, "p"),
        "x": np.round(RNG.normal(size=N) + 2 * (Y == "p"), 1),
        "when": pd.Series(pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(0, 300, N), "D")).dt.strftime(
            "%Y-%m-%d"
        ),
        "n": RNG.integers(0, 3, N),
        "y": Y,
    }
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(streaming, "BATCH_ROWS", 25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("rows")
    FRAME.to_csv(made / "whole.csv", index=False)
    for i, rows in enumerate(np.array_split(np.arange(N), 3)):
        FRAME.iloc[rows].to_csv(made / f"part-{i}.csv", index=False)
        FRAME.iloc[rows].astype({"n": str}).to_parquet(made / f"part-{i}.parquet", index=False)
    return made


@pytest.fixture(scope="module")
def model(folder):
    run("fit", folder / "whole.csv", "--target", "y", "--drop", "key", "--dtype", "n=text", "-o", folder / "model")
    return folder / "model"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_fit_on_several_files_is_fit_on_the_whole(folder, tmp_path, ending):
    arguments = ("--target", "y", "--drop", "key", "--dtype", "n=text", "--structure", "nb", "-o")
    said = run("fit", folder / f"part-*.{ending}", *arguments, tmp_path / "parts").output
    assert "'y', 120 rows, " in said
    run("fit", folder / "whole.csv", *arguments, tmp_path / "whole")
    parts, whole = bnplug.load(tmp_path / "parts"), bnplug.load(tmp_path / "whole")
    assert parts.encoder_.dates == whole.encoder_.dates
    assert parts.tables_.states == whole.tables_.states
    for name in whole.tables_.names:
        assert np.allclose(parts.tables_[name].values, whole.tables_[name].values, atol=1e-12)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_and_evaluate(folder, model, tmp_path, ending):
    whole = run("predict", model, folder / "whole.csv", "--id", "key").stdout
    assert run("predict", model, folder / f"part-*.{ending}", "--id", "key").stdout == whole
    run("predict", model, folder / f"part-*.{ending}", "--id", "key", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == whole
    one, other = (
        json.loads(run("evaluate", model, data, "--json").stdout)
        for data in (folder / "whole.csv", folder / f"part-*.{ending}")
    )
    assert one["confusion"] == other["confusion"]
    assert {name: pytest.approx(own) for name, own in one.items() if isinstance(own, float)}.items() <= other.items()


def test_predictions_in_parquet(folder, model, tmp_path):
    run("predict", model, folder / "whole.csv", "-o", tmp_path / "out.parquet")
    assert list(pd.read_parquet(tmp_path / "out.parquet")) == ["y", "P(p)", "P(q)"]


def test_large_files_are_read_in_batches(folder, monkeypatch):
    whole = folder / "whole.csv"
    assert streamed([whole]) is None
    monkeypatch.setattr(_reading, "STREAMED_BYTES", whole.stat().st_size - 1)
    assert streamed([whole]) == [whole]
    assert len(streamed([folder / "part-*.csv"])) == 3


def test_several_files_are_what_a_pattern_is(folder, model, tmp_path):
    parts = sorted(folder.glob("part-*.csv"))
    arguments = ("--target", "y", "--drop", "key", "--dtype", "n=text", "-o", tmp_path / "model")
    assert "'y', 120 rows, " in run("fit", *parts, *arguments).output
    for command in ("predict", "evaluate"):
        assert run(command, model, *parts).stdout == run(command, model, folder / "part-*.csv").stdout
    said = run("predict", model, parts[0], "-", code=1, stdin="").stderr
    assert "- is standard input, which cannot be read together with files" in said


class A2deClassifier(BaseEstimator, ClassifierMixin):
    """It has no fit_files."""


def test_a_classifier_of_one_file_says_how_many_were_given(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "make_classifier", lambda name, **params: A2deClassifier())
    parts = sorted(folder.glob("part-*.csv"))[:2]
    said = run("fit", *parts, "--target", "y", "--method", "a2de", "-o", tmp_path / "m", code=1).stderr
    assert said.startswith(
        "bnplug: A2deClassifier learns from one file of at most 256 MiB, because it has no fit_files;"
    )
    assert "got 2 files" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "Y"], "--target names 'Y', which is not a column"),
        (["--target", "y", "--drop", "kei"], "--drop names 'kei'"),
        (["--target", "y", "--dtype", "m=text"], "--dtype names 'm'"),
        (["--target", "y", "--keep", "y"], "leave no feature"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(folder, tmp_path, arguments, message):
    found = run("fit", folder / "part-*.csv", *arguments, "-o", tmp_path / "model", code=1)
    assert message in found.output + getattr(found, "stderr", "")


def test_a_pattern_that_nothing_matches(tmp_path):
    found = run("fit", tmp_path / "*.csv", "--target", "y", "-o", tmp_path / "model", code=1)
    assert "no file matches this pattern" in found.output + getattr(found, "stderr", "")
