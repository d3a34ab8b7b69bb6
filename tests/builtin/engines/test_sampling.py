"""Estimates by drawing: the same for the same seed, better with more draws, exact where nothing is to be drawn."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from random_networks import MISSING, TREE, TWO_TREE, enumerated, random_rows, random_tables

import bnplug
from bnplug import BayesianNetworkClassifier, LogTables
from bnplug.builtin.engines import sampling
from bnplug.builtin.engines.sampling import SamplingEngine
from bnplug.inference.complete import posterior


@pytest.fixture
def tables():
    return random_tables(np.random.default_rng(5), TWO_TREE, [3, 2, 4, 3, 2, 4])


def test_rows_without_a_hole_are_exact(tables):
    codes = random_rows(np.random.default_rng(6), tables, 20, 0.0)
    compiled = SamplingEngine(n_samples=1, random_state=0).compile(tables, "v0")
    np.testing.assert_allclose(posterior(compiled.log_joint(codes)), posterior(enumerated(tables, codes)), atol=1e-12)
    assert not compiled.standard_errors(codes).any()


def test_equal_rows_get_equal_answers_wherever_they_are_and_threads_change_nothing(tables):
    codes = random_rows(np.random.default_rng(7), tables, 50, 0.5)
    compiled = SamplingEngine(n_samples=50, random_state=0).compile(tables, "v0")
    joint = compiled.log_joint(codes)
    np.testing.assert_array_equal(compiled.log_joint(codes, n_jobs=2), joint)
    np.testing.assert_array_equal(compiled.log_joint(codes[:, 30:]), joint[30:])
    other = SamplingEngine(n_samples=50, random_state=1).compile(tables, "v0")
    assert (other.log_joint(codes) != joint).any()


def test_more_draws_come_nearer(tables):
    codes = random_rows(np.random.default_rng(8), tables, 40, 0.6)
    exact = posterior(enumerated(tables, codes))
    off, told = [], []
    for n in (100, 10_000):
        compiled = SamplingEngine(n_samples=n, random_state=0).compile(tables, "v0")
        off.append(np.abs(posterior(compiled.log_joint(codes)) - exact).mean())
        told.append(compiled.standard_errors(codes).mean())
    assert off[1] < off[0] / 4
    assert told[0] / 20 < told[1] < told[0] / 5


def test_expected_counts_come_near(tables):
    rng = np.random.default_rng(9)
    codes, weights = random_rows(rng, tables, 30, 0.4), rng.normal(size=(30, 3))
    exact = bnplug.engine("elimination").compile(tables, "v0").expected_counts(codes, weights)
    found = SamplingEngine(n_samples=5000, random_state=0).compile(tables, "v0").expected_counts(codes, weights)
    for own, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(own, other, atol=0.15)


def test_a_state_that_is_impossible_is_never_drawn():
    with np.errstate(divide="ignore"):
        tables = LogTables(
            ["c", "x", "y"],
            {"c": [0, 1], "x": [0, 1, 2], "y": [0, 1]},
            {
                "c": ((), np.log([0.5, 0.5])),
                "x": (("c",), np.log([[1 / 3, 0.0], [2 / 3, 0.1], [0.0, 0.9]])),
                "y": (("x",), np.log([[0.5, 0.2, 0.9], [0.5, 0.8, 0.1]])),
            },
        )
    compiled = SamplingEngine(n_samples=20_000, random_state=3).compile(tables, "c")
    answer = compiled.query(["x"], {"c": 0})
    assert answer[2] == 0.0
    assert answer[0] == pytest.approx(1 / 3, abs=0.02)
    assert compiled.query(["x"], {"c": 1})[0] == 0.0


def test_evidence_that_no_draw_agrees_with_is_an_error():
    with np.errstate(divide="ignore"):
        tables = LogTables(
            ["c", "x"],
            {"c": [0, 1], "x": [0, 1]},
            {"c": ((), np.log([0.5, 0.5])), "x": (("c",), np.log([[1.0, 1.0], [0.0, 0.0]]))},
        )
    compiled = SamplingEngine(n_samples=10, random_state=0).compile(tables, "c")
    with pytest.raises(ValueError, match=r"no draw agrees .*impossible, or too rare for n_samples=10"):
        compiled.query(["c"], {"x": 1})
    codes = np.array([[MISSING], [1]], dtype=np.uint8)
    assert np.isneginf(compiled.log_joint(codes)).all()


def test_the_number_of_draws_is_checked():
    tables = random_tables(np.random.default_rng(0), TREE, [2] * len(TREE))
    with pytest.raises(ValueError, match="n_samples"):
        SamplingEngine(n_samples=0).compile(tables, "v0")


def test_the_number_of_draws_is_whole():
    tables = random_tables(np.random.default_rng(0), TREE, [2] * len(TREE))
    assert SamplingEngine(n_samples=20.0, random_state=0).compile(tables, "v0").query(["v1"], {}).sum() == 1.0
    with pytest.raises(ValueError, match=r"n_samples=20.5 must be a whole number"):
        SamplingEngine(n_samples=20.5).compile(tables, "v0")


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_answers_do_not_depend_on_how_draws_are_sliced(monkeypatch, zeros):
    rng = np.random.default_rng(10)
    tables = random_tables(rng, TWO_TREE, [3, 2, 4, 3, 2, 4], zeros=zeros)
    codes, weights = random_rows(rng, tables, 20, 0.5), rng.normal(size=(20, 3))
    weights[:, 1] = 0.0
    compiled = SamplingEngine(n_samples=50, random_state=0).compile(tables, "v0")

    def answers():
        return [
            compiled.log_joint(codes),
            compiled.log_joint(codes, n_jobs=2),
            compiled.standard_errors(codes),
            *compiled.expected_counts(codes, weights),
            compiled.query(["v3", "v4"], {"v0": 1, "v1": [0.2, 1.0]}),
            compiled.query_errors(["v5"], {}),
        ]

    whole = answers()
    # Each slice is a single draw, seven draws, and all but one of a class.
    for draws in (1, 7, 49):
        monkeypatch.setattr(sampling, "_VISITS", draws * len(tables.names))
        for one, other in zip(answers(), whole, strict=True):
            np.testing.assert_array_equal(one, other)


QUESTIONS = {
    "log_joint": lambda compiled, codes: compiled.log_joint(codes),
    "threads": lambda compiled, codes: compiled.log_joint(codes, n_jobs=2),
    "query": lambda compiled, codes: compiled.query(["v3"], {"v5": 1}),
    "expected_counts": lambda compiled, codes: compiled.expected_counts(codes, np.ones((codes.shape[1], 3))),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_ends_drawing(tables, question):
    """Drawing takes many minutes; it used to ignore interrupts."""
    codes = random_rows(np.random.default_rng(11), tables, 40, 0.5)
    ask = QUESTIONS[question]
    ask(SamplingEngine(n_samples=1, random_state=0).compile(tables, "v0"), codes)
    compiled = SamplingEngine(n_samples=10**9, random_state=0).compile(tables, "v0")
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask(compiled, codes)
    timer.join()
    assert time.monotonic() - start < 20


def test_a_model_folder_cannot_ask_for_a_billion_draws(tmp_path):
    frame, y = pd.DataFrame({"x": [0, 1, 0, 1], "o": [1, 1, 0, 0]}), [0, 1, 0, 1]
    model = BayesianNetworkClassifier("nb", engine=("sampling", {"n_samples": 10_000_000}), random_state=0)
    model.fit(frame, y).save(tmp_path / "model")
    assert bnplug.load(tmp_path / "model").engine_.n_samples == 10_000_000
    # In Python any number is allowed, but a folder that could not be loaded is not saved.
    many = BayesianNetworkClassifier("nb", engine=("sampling", {"n_samples": 10**9}), random_state=0).fit(frame, y)
    assert many.predict(frame).tolist() == y
    with pytest.raises(ValueError, match=r"n_samples of engine .* exceeds 10,000,000, .*: 1,000,000,000"):
        many.save(tmp_path / "many")


@pytest.mark.parametrize("many", [10_000_001, 10**9, 1e12, 10**300], ids="{:.1e}".format)
def test_a_model_folder_that_asks_for_a_billion_draws_is_refused(tmp_path, monkeypatch, many):
    frame, y = pd.DataFrame({"x": [0, 1, 0, 1], "o": [1, 1, 0, 0]}), [0, 1, 0, 1]
    model = BayesianNetworkClassifier("nb", engine=SamplingEngine(n_samples=many), random_state=0).fit(frame, y)
    with monkeypatch.context() as patched:
        patched.setattr(SamplingEngine, "saved_limits", {})
        model.save(tmp_path / "model")
    with pytest.raises(bnplug.ModelFileError, match=r"n_samples of engine 'sampling' .* exceeds 10,000,000"):
        bnplug.load(tmp_path / "model")
