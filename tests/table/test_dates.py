"""Points in time become what a calendar and a clock show, from training to a loaded model."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import pytest

import bnplug
from bnplug import BayesianNetworkClassifier, BnplugWarning, MissingColumnWarning
from bnplug.sources._streaming import DataFiles
from bnplug.sources.files import read_data
from bnplug.table._dates import all_parts, take_parts, varying
from bnplug.table.frames import to_frame

N = 200
TIMES = pd.Series(pd.date_range("2026-01-05 08:00", periods=N, freq="5h"))
WEEKEND = np.where(TIMES.dt.day_of_week >= 5, "weekend", "work")
X = pd.DataFrame({"when": TIMES, "x": np.arange(N) % 3})

PARTS = {
    "days": (pd.Series(pd.to_datetime(["2025-03-01", "2026-03-02"])),
             {"year": [2025, 2026], "day": [1, 2], "weekday": [5, 0]}),
    "zone": (pd.Series(pd.to_datetime(["2026-01-01 23:30", "2026-01-02 00:00"]).tz_localize("Asia/Tokyo")),
             {"day": [1, 2], "weekday": [3, 4], "hour": [23, 0], "minute": [30, 0]}),
    "dates": (pd.Series([dt.date(2026, 1, 1), None, dt.date(2026, 2, 1)], dtype=object),
              {"month": [1, None, 2], "weekday": [3, None, 6]}),
    "times": (pd.Series([dt.time(7, 30), dt.time(8, 30)], dtype=object), {"hour": [7, 8]}),
    "periods": (pd.Series(pd.period_range("2026-01", periods=2, freq="M")), {"month": [1, 2], "weekday": [3, 6]}),
    "period objects": (pd.Series([pd.Period("2025"), pd.NaT, pd.Period("2026")], dtype=object),
                       {"year": [2025, None, 2026], "weekday": [2, None, 3]}),
    "durations": (pd.Series(pd.to_timedelta(["1min", "2h"])), {"seconds": [60, 7200]}),
    "duration objects": (pd.Series([dt.timedelta(days=1), None], dtype=object), {"seconds": [86400, None]}),
    "constant": (pd.Series(pd.to_datetime(["2026-01-01"] * 2)), {"year": [2026, 2026]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", PARTS)
def test_the_parts_that_vary(kind):
    column, expected = PARTS[kind]
    parts = all_parts(column)
    shown = {name: [None if pd.isna(value) else value for value in parts[name]] for name in varying(parts)}
    assert shown == expected


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
@pytest.mark.parametrize("unit", ["date32[pyarrow]", "timestamp[us][pyarrow]"])
def test_arrows_dates(unit):
    pytest.importorskip("pyarrow")
    column = pd.Series(pd.to_datetime(["2025-03-01", "2026-03-02"])).astype(unit)
    assert take_parts(column, ["year"])["year"].tolist() == [2025, 2026]
    assert list(fitted(X.assign(when=pd.Series(TIMES.dt.date).astype("date32[pyarrow]"))).encoder_.dates) == ["when"]


def fitted(frame, **parameters):
    return BayesianNetworkClassifier("tan", **parameters).fit(frame, WEEKEND)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_parts_are_features_and_the_date_is_what_predict_takes(tmp_path):
    model = fitted(X)
    assert model.encoder_.names == ("when.month", "when.day", "when.weekday", "when.hour", "x")
    assert list(model.feature_names_in_) == ["when", "x"]
    assert model.score(X, WEEKEND) > 0.95
    model.save(tmp_path / "model")
    loaded = bnplug.load(tmp_path / "model")
    later = X.assign(when=TIMES + pd.Timedelta(days=700))
    assert loaded.predict_proba(later).tolist() == model.predict_proba(later).tolist()
    assert list(loaded.feature_names_in_) == ["when", "x"]
    text = later.assign(when=later["when"].dt.strftime("%Y-%m-%dT%H:%M:%S"))
    assert loaded.predict_proba(text).tolist() == model.predict_proba(later).tolist()
    saturday = pd.Timestamp("2026-01-10 09:00")
    assert model.query("class", {"when": saturday}).equals(loaded.query("class", {"when": "2026-01-10T09:00"}))
    plain = fitted(X, calibrate=None)
    assert plain.query("class", {"when.weekday": 5})["probability"].max() > 0.9
    assert set(model.explain(X[:2])["feature"]) == {"(prior)", *model.encoder_.names}


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_a_date_that_is_missing_or_absent_is_summed_out():
    model = fitted(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        missing = model.predict_proba(X.assign(when=pd.NaT))
        assert (missing == model.predict_proba(X.assign(when=None))).all()
    with pytest.warns(MissingColumnWarning, match=r"columns \['when'\] are absent"):
        assert (model.predict_proba(X[["x"]]) == missing).all()
    with pytest.raises(ValueError, match="column 'when' contains points in time, but some values are not: numbers"):
        model.predict(X.assign(when=3))
    with pytest.raises(ValueError, match="column 'when' contains points in time"):
        model.predict(X.assign(when="tomorrow"))


def test_dates_are_left_out_or_refused_if_asked():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(X, dates="drop")
        assert model.encoder_.names == ("x",)
        assert (model.predict_proba(X) == model.predict_proba(X[["x"]])).all()
    with pytest.raises(ValueError, match=r"columns \['when'\] hold points in time or durations"):
        fitted(X, dates="error")


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_a_part_is_called_as_no_column_is():
    model = fitted(X.assign(**{"when.day": np.arange(N) % 2}))
    assert "when.day_" in model.encoder_.names
    assert model.encoder_.dates["when"]["day"] == "when.day_"


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_parts_of_a_date_that_is_named_categorical_are_discrete():
    model = fitted(X, categorical_features=[0])
    assert model.encoder_.numeric == ("x",)
    assert len(model.schema_.states["when.day"]) == 31


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")  # a few rows whose features determine the class
def test_polars_dates():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"when": TIMES.dt.to_pydatetime().tolist(), "x": (np.arange(N) % 3).tolist()})
    assert fitted(frame).predict_proba(frame).tolist() == fitted(X).predict_proba(X).tolist()


ZONED = TIMES.dt.tz_localize("UTC").dt.tz_convert("Asia/Kolkata")


def zoned_frames():
    """The same points in time, with their zone, as each library holds them."""
    import polars
    import pyarrow

    zone = str(ZONED.dt.tz)
    frame = X.assign(when=ZONED)
    times = polars.Series("when", TIMES.dt.to_pydatetime().tolist(), dtype=polars.Datetime("us"))
    in_polars = polars.DataFrame(
        [times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone), polars.Series("x", X["x"])]
    )
    return {
        "pandas": frame,
        "objects": frame.astype({"when": object}),
        "arrow": frame.astype({"when": pd.ArrowDtype(pyarrow.timestamp("us", zone))}),
        "polars": in_polars,
        "polars, milliseconds": in_polars.with_columns(polars.col("when").cast(polars.Datetime("ms", zone))),
        "polars, lazy": in_polars.lazy(),
    }


@pytest.mark.filterwarnings("ignore:column .when. has times in the zone")  # expected is trained without a zone
@pytest.mark.parametrize("name", zoned_frames())
def test_every_kind_of_frame_shows_the_clock_of_its_zone(name):
    frame = zoned_frames()[name]
    clock = ZONED.dt.tz_localize(None)
    # Half past the hour in India: UTC would show whole hours.
    assert set(clock.dt.minute) == {30}
    afternoon = np.where(clock.dt.hour >= 12, "pm", "am")
    expected = BayesianNetworkClassifier("nb").fit(X.assign(when=clock), afternoon)
    model = BayesianNetworkClassifier("nb").fit(frame, afternoon)
    assert model.predict_proba(frame).tolist() == expected.predict_proba(X.assign(when=clock)).tolist()
    assert (expected.encode(frame) == expected.encode(X.assign(when=clock))).all()
    assert (expected.encode(X.assign(when=ZONED.astype("category"))) == expected.encode(frame)).all()


def test_polars_times_keep_their_zone_and_missing_cells():
    polars = pytest.importorskip("polars")
    column = polars.Series("when", [dt.datetime(2026, 7, 1, 12), None, dt.datetime(2026, 1, 1, 12)])
    frame = to_frame(polars.DataFrame([column.dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")]))
    assert str(frame["when"].dt.tz) == "America/New_York"
    # Summer time is four hours behind UTC, winter time five.
    assert frame["when"].dt.hour.tolist()[::2] == [8, 7]
    assert frame["when"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("writer", ["pandas", "polars"])
def test_parquet_files_show_the_clock_of_the_zone(tmp_path, writer):
    frames, path = zoned_frames(), tmp_path / "rows.parquet"
    afternoon = np.where(ZONED.dt.hour >= 12, "pm", "am")
    model = BayesianNetworkClassifier("nb").fit(frames["pandas"], afternoon)
    frames["pandas"].to_parquet(path) if writer == "pandas" else frames["polars"].write_parquet(path)
    assert (model.encode(read_data(path)) == model.encode(frames["pandas"])).all()
    (batch,) = DataFiles(path).batches()
    assert (model.encode(batch.frame) == model.encode(frames["pandas"])).all()


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")
@pytest.mark.parametrize("way", ["memory", "file", "loaded", "bif"])
def test_the_same_instants_in_another_zone_get_the_same_predictions(tmp_path, way):
    when = pd.Series(pd.date_range("2026-01-01 00:30", periods=500, freq="h", tz="Asia/Tokyo"))
    rows, y = pd.DataFrame({"when": when}), np.where(when.dt.hour < 12, "am", "pm")
    model = BayesianNetworkClassifier("nb")
    if way == "file":
        # The second file has the same times in another zone.
        rows[:250].assign(y=y[:250]).to_parquet(tmp_path / "0.parquet")
        utc = rows[250:].assign(when=when[250:].dt.tz_convert("UTC"), y=y[250:])
        utc.to_parquet(tmp_path / "1.parquet")
        model.fit_files(f"{tmp_path}/*.parquet", "y")
    else:
        model.fit(rows, y)
    if way == "loaded":
        model.save(tmp_path / "model")
        model = bnplug.load(tmp_path / "model")
    if way == "bif":
        model.to_bif(tmp_path / "model.bif")
        model = bnplug.read_bif(tmp_path / "model.bif")
    assert model.encoder_.zones == {"when": "Asia/Tokyo"}
    assert model.score(rows, y) == 1
    assert model.score(rows.assign(when=when.dt.tz_convert("UTC")), y) == 1
    text = when.dt.tz_convert("UTC").map(lambda time: time.isoformat())
    assert model.score(rows.assign(when=text), y) == 1
    with pytest.warns(BnplugWarning, match="has times without a zone, and training had times in the zone Asia/Tokyo"):
        assert model.score(rows.assign(when=when.dt.tz_localize(None)), y) == 1
    assert len(model.predict(rows.assign(when=pd.NaT))) == len(rows)


@pytest.mark.filterwarnings("ignore::bnplug.TargetLeakageWarning")
@pytest.mark.parametrize("zone", ["dateutil//etc/passwd", "../x", "tzlocal()", "Mars/Olympus", "", 3])
def test_a_zone_that_a_folder_names_must_exist(zone):
    model = BayesianNetworkClassifier("nb").fit(X, WEEKEND)
    state, arrays = model.saved_state()
    assert state["encoder"]["zones"] == {}
    state["encoder"]["zones"] = {"when": zone}
    with pytest.raises(bnplug.ModelFileError, match="invalid time zones"):
        BayesianNetworkClassifier("nb").restore_state(state, arrays)


def test_times_with_a_zone_are_reported_if_training_had_none():
    model = BayesianNetworkClassifier("nb").fit(X, np.roll(WEEKEND, 30))
    zoned = X.assign(when=X["when"].dt.tz_localize("Asia/Tokyo"))
    for frame in (zoned, zoned.head(2).assign(when="2026-01-05T08:00+09:00")):
        with pytest.warns(
            BnplugWarning, match=r"column 'when' has times in the zone .*, and training had times without"
        ) as told:
            probabilities = model.predict_proba(frame)
        assert len(told) == 1
    assert (model.predict_proba(X.head(1)) == probabilities[:1]).all()
    duration = pd.DataFrame({"span": TIMES - TIMES[0]})
    BayesianNetworkClassifier("nb").fit(duration, np.roll(WEEKEND, 30)).predict(pd.DataFrame({"span": ["1 days"]}))
