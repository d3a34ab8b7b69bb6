"""A plugin's code changes nothing for others, and a slow one is stopped."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings

import numpy as np
import pytest

from bnplug.hooks._guarding import SECONDS, TooSlow, guarded, limited


def spoil():
    print("hello")
    np.seterr(all="raise")
    np.set_printoptions(precision=1)
    np.random.seed(3)  # noqa: NPY002
    warnings.simplefilter("error")
    sys.setrecursionlimit(12_345)
    os.environ["SPOILED"] = "1"
    os.environ.pop("KEPT")


def test_everything_is_as_before(capsys, monkeypatch):
    monkeypatch.setenv("KEPT", "x")
    before = np.geterr(), np.get_printoptions(), warnings.filters[:], sys.getrecursionlimit(), dict(os.environ)
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    with guarded():
        spoil()
    assert before == (
        np.geterr(),
        np.get_printoptions(),
        warnings.filters[:],
        sys.getrecursionlimit(),
        dict(os.environ),
    )
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert capsys.readouterr().out == ""


def test_an_exception_passes_through():
    with pytest.raises(ZeroDivisionError), guarded(), limited(10.0):
        1 / 0  # noqa: B018


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_what_sleeps_is_stopped(monkeypatch):
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TooSlow, match=r"longer than 0\.05 seconds"), limited(0.05):
        time.sleep(30)
    assert signal.getsignal(signal.SIGALRM) is handler
    monkeypatch.setenv(SECONDS, "0.05")
    with pytest.raises(TooSlow), limited():
        time.sleep(30)
    for no_limit in ("0", "-3"):
        monkeypatch.setenv(SECONDS, no_limit)
        with limited():
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    monkeypatch.setenv(SECONDS, "soon")
    with limited():
        assert 50 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
