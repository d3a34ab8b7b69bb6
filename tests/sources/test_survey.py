"""The first reading of files decides about every column as training does that sees all rows at once."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
import bnplug.sources._streaming as streaming
import bnplug.sources._summaries as summaries
from bnplug import ColumnRules, MDLDiscretizer
from bnplug.sources._streaming import DataFiles
from bnplug.sources._summaries import Distribution
from bnplug.sources._survey import TableSpec, check_cuts_columns, survey
from bnplug.table._columns import EMPTY, UNCOUNTED

pytest.importorskip("pyarrow")
N = 600
RNG = np.random.default_rng(0)
Y = pd.Series(RNG.choice(["p", "q", "r"], N, p=[0.5, 0.3, 0.2]), name="y")
X = pd.DataFrame(
    {
        "text": RNG.choice(list("abc"), N),
        "gaps": np.where(RNG.random(N) < 0.2, None, RNG.choice(["u", "v"], N)),
        "x": np.round(RNG.normal(size=N) + 2 * (Y == "p"), 2),
        "holes": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N) + (Y == "q")),
        "few": RNG.integers(0, 4, N),
        "few_gaps": np.where(RNG.random(N) < 0.1, np.nan, RNG.integers(0, 3, N)),
        "truth": RNG.random(N) < 0.5,
        "ordered": pd.Categorical(RNG.choice(["lo", "hi"], N), categories=["lo", "mid", "hi"], ordered=True),
        "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(0, 1000, N), "h"),
        "took": pd.to_timedelta(RNG.integers(0, 1000, N), "s"),
        "many": RNG.choice([f"s{i}" for i in range(60)], N),
        "id": np.arange(N),
        "name": [f"row {i}" for i in range(N)],
        "empty": np.full(N, np.nan),
    }
)
WEIGHTS = RNG.integers(0, 4, N)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streaming, "BATCH_ROWS", 190)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bnplug.BnplugWarning)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of uneven sizes."""
    made = tmp_path_factory.mktemp("rows")
    everything = X.assign(y=Y, weight=WEIGHTS)
    for i, rows in enumerate(np.split(np.arange(N), [1, 250])):
        everything.iloc[rows].to_parquet(made / f"{i}.parquet", index=False, row_group_size=120)
    return made


CASES = {
    "plain": {},
    "balanced": {"class_weight": "balanced"},
    "one class twice": {"class_weight": {"p": 2.0}},
    "one class absent": {"class_weight": {"r": 0.0}},
    "missing is a value": {"missing": "value"},
    "incomplete rows dropped": {"missing": "drop"},
    "quantile": {"discretizer": ("quantile", {"n_bins": 3})},
    "uniform": {"discretizer": "uniform"},
    "instance": {"discretizer": MDLDiscretizer()},
    "no bins": {"discretizer": "none"},
    "few categories": {"max_categories": 3},
    "frequent ones": {"min_frequency": 0.03},
    "listed": {"categorical_features": ["few", "id", "when"]},
    "no numbers are discrete": {"categorical_features": None},
    "dates dropped": {"dates": "drop"},
}


def asked(weighted=False, **params):
    rules = {name: params.pop(name) for name in list(params) if name in ColumnRules.__dataclass_fields__}
    return TableSpec("y", "weight" if weighted else None, tuple(X), rules=ColumnRules(**rules), **params)


def coded(files, found, spec):
    parts = [found.encode(batch) for batch in files.batches([*X, "y", *filter(None, [spec.sample_weight])])]
    weights = [own for _, own in parts if own is not None]
    return np.concatenate([codes for codes, _ in parts], axis=1), np.concatenate(weights) if weights else None


@pytest.mark.parametrize(
    ("case", "weighted"), [*((case, False) for case in CASES), *((case, True) for case in list(CASES)[:7])]
)
def test_files_are_made_discrete_as_the_frame_that_they_make(folder, case, weighted):
    files, spec = DataFiles(str(folder / "*.parquet")), asked(weighted, **CASES[case])
    found = survey(files, spec, n_jobs=2)
    table, encoder = bnplug.encode_training(X, Y, WEIGHTS if weighted else None, **CASES[case])
    for name in ("columns", "names", "numeric", "missing_states", "left_out", "dates", "whole", "pooled"):
        assert getattr(found.encoder, name) == getattr(encoder, name), name
    assert found.encoder.classes.tolist() == encoder.classes.tolist()
    assert found.encoder.classes.dtype == encoder.classes.dtype
    assert {name: own.tolist() for name, own in found.encoder.cut_points.items()} == {
        name: own.tolist() for name, own in encoder.cut_points.items()
    }
    assert found.schema.states == table.states
    assert list(map(type, found.schema.states["few"])) == list(map(type, table.states["few"]))
    assert found.n_rows == table.n_rows
    codes, weights = coded(files, found, spec)
    assert (codes == table.codes).all()
    assert (weights is None) == (table.weights is None)
    assert weights is None or np.allclose(weights, table.weights, rtol=1e-15)


def test_csv_files_are_made_discrete_as_what_is_read_of_them(tmp_path):
    frame = X[["text", "gaps", "x", "holes", "few", "few_gaps", "truth", "many"]].assign(y=Y)
    for i, rows in enumerate(np.array_split(np.arange(N), 3)):
        frame.iloc[rows].to_csv(tmp_path / f"{i}.csv.gz", index=False)
    found = survey(DataFiles(str(tmp_path / "*.gz")), TableSpec("y"))
    table, encoder = bnplug.encode_training(frame.drop(columns="y"), Y)
    assert found.schema.states == table.states
    assert found.encoder.pooled == encoder.pooled


def test_with_many_numbers_cuts_are_near_those_of_all_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(summaries, "Distribution", lambda: Distribution(kept=64, leaf=128, most_exact=256))
    monkeypatch.setattr(streaming, "BATCH_ROWS", 500)
    values = RNG.normal(size=6_000)
    y = np.where(values + 0.1 * RNG.normal(size=6_000) > 0.7, "p", "q")
    frame = pd.DataFrame({"x": values, "y": y})
    frame.to_parquet(tmp_path / "a.parquet")
    for discretizer in ("mdl", "quantile"):
        found = survey(DataFiles(tmp_path / "a.parquet"), TableSpec("y", rules=ColumnRules(discretizer=discretizer)))
        _, encoder = bnplug.encode_training(frame[["x"]], frame["y"], discretizer=discretizer)
        cuts, exact = found.encoder.cut_points["x"], encoder.cut_points["x"]
        if discretizer == "mdl":
            # The strongest cut; which of the weaker ones pay may turn on a few rows.
            nearest = np.abs(cuts - exact[np.abs(exact - 0.7).argmin()]).min()
            assert np.mean(np.abs(values - 0.7) < nearest) < 9 / 64
        else:
            ranks = [np.mean(values <= cut) for cut in cuts]
            assert np.allclose(ranks, [np.mean(values <= cut) for cut in exact], atol=9 / 64)
        assert len(cuts) <= 2 * len(exact) + 2


def test_numbers_that_tell_nothing_are_not_cut_in_a_summary(monkeypatch, tmp_path):
    monkeypatch.setattr(summaries, "Distribution", lambda: Distribution(kept=64, leaf=128, most_exact=256))
    monkeypatch.setattr(streaming, "BATCH_ROWS", 500)
    frame = pd.DataFrame({"x": RNG.normal(size=6_000), "y": RNG.choice(["p", "q"], 6_000)})
    frame.to_parquet(tmp_path / "a.parquet")
    found = survey(DataFiles(tmp_path / "a.parquet"), TableSpec("y", rules=ColumnRules(discretizer="mdl")))
    assert found.schema.states["x"] == ("all",)


def test_columns_with_too_many_values_to_count_are_left_out(monkeypatch, folder):
    monkeypatch.setattr(summaries, "MOST_STATES", 50)
    with pytest.warns(bnplug.UselessColumnWarning, match="more distinct values than are kept"):
        found = survey(DataFiles(str(folder / "*.parquet")), asked())
    assert found.encoder.left_out["many"] == UNCOUNTED
    assert found.encoder.left_out["empty"] == EMPTY
    with pytest.raises(ValueError, match=r"\['many', 'name'\] have more distinct values"):
        survey(DataFiles(str(folder / "*.parquet")), asked(on_useless="error", categorical_features=["many"]))


def write(folder, frame):
    frame.to_parquet(folder / "a.parquet")
    return DataFiles(folder / "a.parquet")


GOOD = pd.DataFrame({"a": list("uvuv"), "w": [1.0, 2.0, 1.0, 1.0], "y": list("pqpq")})


@pytest.mark.parametrize(
    ("change", "spec", "message"),
    [
        ({}, {"target": "Y"}, r"target names 'Y', which is not a column.* The columns are \['a', 'w', 'y'\]"),
        ({}, {"target": "y", "sample_weight": "v"}, "sample_weight names 'v'"),
        ({}, {"target": "y", "columns": ["b"]}, "columns names 'b'"),
        ({}, {"target": "y", "columns": ["y"]}, "there is no feature"),
        ({"y": [*"ppp", None]}, {"target": "y"}, r"a.parquet: .*the class 'y' is missing"),
        ({"y": list("pppp")}, {"target": "y"}, "only one class"),
        ({"y": [0.5, 1.5, 2.5, 3.25]}, {"target": "y"}, "a.parquet: Unknown label type"),
        ({"w": [1.0, -1.0, 1.0, 1.0]}, {"target": "y", "sample_weight": "w"}, "the weights in 'w' are negative"),
        ({"w": list("abcd")}, {"target": "y", "sample_weight": "w"}, "column 'w' contains text"),
        ({"w": [0.0] * 4}, {"target": "y", "sample_weight": "w"}, "no row is left"),
        ({"a": [None] * 4, "w": [None] * 4}, {"target": "y"}, "have no value at all"),
        (
            {"a": [None, *"uvw"]},
            {"target": "y", "rules": ColumnRules(missing="error")},
            r"columns \['a'\] have missing cells",
        ),
        ({"w": [np.inf, 1, 2, 3]}, {"target": "y"}, r"infinite numbers in columns \['w'\]"),
        ({"a": [[1], [2], [3], [4]]}, {"target": "y"}, r"columns \['a'\] hold lists or other containers"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_from_is_one_clear_error(tmp_path, change, spec, message):
    files = write(tmp_path, GOOD.assign(**{name: pd.Series(own) for name, own in change.items()}))
    with pytest.raises(ValueError, match=message):
        survey(files, TableSpec(**spec))


def test_discretizers_that_need_whole_rows_are_refused_before_reading():
    from sklearn.preprocessing import KBinsDiscretizer

    with pytest.raises(ValueError, match="a KBinsDiscretizer takes whole rows"):
        TableSpec("y", rules=ColumnRules(discretizer=KBinsDiscretizer())).check()
    with pytest.raises(ValueError, match="do not pass categorical_features to the discretizer"):
        check_cuts_columns(MDLDiscretizer(["a"]))
    check_cuts_columns(None)


def test_progress_is_told(folder):
    told = []
    survey(DataFiles(str(folder / "*.parquet")), asked(), progress=told.append)
    assert sum(told) == N
