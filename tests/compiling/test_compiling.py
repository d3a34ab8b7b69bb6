"""Ctrl-C while a kernel is compiled waits until it is; threads leave nothing behind, and change no result."""

import gc
import io
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from joblib import parallel_config
from numba import config
from numba.core import event

from bnplug import compiling
from bnplug.compiling import _Announcement, inner_kernel, interrupts_held_back, kernel, run_in_threads


@pytest.fixture(autouse=True)
def keyboard():
    """Handle SIGINT as Python does at a terminal: a shell may have told this process to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []

    def work():
        with interrupts_held_back():
            interrupt()
            done.append("the rest")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["the rest"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_leaves_the_handler_as_it_was():
    with pytest.raises(ZeroDivisionError), interrupts_held_back():
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_users_own_gets_the_interrupt():
    came = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    with interrupts_held_back():
        interrupt()
        assert not came
    assert came == [signal.SIGINT]


def test_another_thread_changes_no_handler():
    seen = []

    def work():
        with interrupts_held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


class InterruptsCompilation(event.Listener):
    def on_start(self, event):
        interrupt()

    def on_end(self, event):
        pass


@pytest.mark.usefixtures("nothing_kept")
def test_an_interrupted_compilation_leaves_a_kernel_that_works():
    @kernel
    def inner(x):
        return x + 1

    @kernel
    def outer(x):
        return 2 * inner(x)

    with event.install_listener("numba:compile", InterruptsCompilation()), pytest.raises(KeyboardInterrupt):
        outer(3)
    assert len(outer.signatures) == 1
    assert outer(3) == 8


class Terminal(io.StringIO):
    def isatty(self):
        return True


# What stood in the line is wiped off.
TOLD = "\r\x1b[Kcompiling kernels, once per installation ...\n"


def compile_two():
    @inner_kernel
    def inner(x):
        return x + 1

    @kernel
    def outer(x):
        return 2 * inner(x)

    return outer(1), outer(1.0)


@pytest.fixture
def nothing_kept(monkeypatch, tmp_path):
    """Nothing was compiled before: else the second run of a test compiles nothing; and nothing else is told."""
    monkeypatch.setattr(compiling._announcement, "_left", -1.0)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize(("stream", "told"), [(Terminal(), TOLD), (io.StringIO(), "")], ids=["terminal", "pipe"])
def test_a_long_compilation_is_told_once_and_on_a_terminal_only(stream, told, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    with event.install_listener("numba:compile", _Announcement(seconds=0.0)):
        assert compile_two() == (4, 4.0)
    assert stream.getvalue() == told


@pytest.mark.usefixtures("nothing_kept")
def test_a_worker_that_ignores_interrupts_leaves_it_to_others_to_tell(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with event.install_listener("numba:compile", _Announcement(seconds=0.0)):
        compile_two()
    assert sys.stderr.getvalue() == ""


def test_short_compilations_are_told_when_together_they_are_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    now = [0.0]
    announcement = _Announcement(seconds=2.0, clock=lambda: now[0])
    said = []
    # A kernel within a kernel, a long pause without any, and one more.
    for seconds, tick in [(0, "start"), (0.7, "start"), (0.7, "end"), (0.5, "end"), (90, "start"), (0.2, "end")]:
        now[0] += seconds
        getattr(announcement, f"on_{tick}")(None)
        said.append(sys.stderr.getvalue())
    assert said == [""] * 5 + [TOLD]


class SeesCollector(event.Listener):
    def __init__(self):
        self.seen = []

    def on_start(self, event):
        self.seen.append(gc.isenabled())

    def on_end(self, event):
        pass


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_after_compilations_if_it_was_before(enabled):
    before, listener = gc.isenabled(), SeesCollector()
    try:
        (gc.enable if enabled else gc.disable)()
        with event.install_listener("numba:compile", listener):
            compile_two()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert set(listener.seen) == {False}


@kernel
def fill(array, value):
    for i in range(array.shape[0]):
        array[i] = value / (i + 1)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_results_come_in_the_order_of_the_arguments(n_jobs):
    delays = [0.02, 0.0, 0.01, 0.0]

    def late(number, seconds):
        time.sleep(seconds)
        return number

    assert run_in_threads(late, range(4), delays, n_jobs=n_jobs) == [0, 1, 2, 3]


def test_kernels_in_threads_change_no_bit():
    def run(n_jobs):
        rows = np.empty((50, 1000))
        run_in_threads(fill, rows, range(50), n_jobs=n_jobs)
        return rows

    assert (run(1) == run(3)).all()


def running_at_once(n_calls, **how):
    """Return the largest number of calls that were under way at the same time."""
    lock, under_way, most = threading.Lock(), set(), []

    def call(number):
        with lock:
            under_way.add(number)
            most.append(len(under_way))
        time.sleep(0.02)
        with lock:
            under_way.discard(number)

    run_in_threads(call, range(n_calls), **how)
    return max(most)


def test_joblib_says_how_many():
    assert running_at_once(6) == 1
    assert running_at_once(6, n_jobs=3) == 3
    with parallel_config(backend="loky", n_jobs=2):
        assert running_at_once(6) == 2
        assert running_at_once(6, n_jobs=1) == 1


@pytest.mark.parametrize("n_jobs", [None, 1, 4])
def test_nothing_is_started_for_one_call_or_one_thread(n_jobs):
    def name():
        return threading.current_thread()

    here = threading.current_thread()
    assert run_in_threads(lambda _: name(), [0], n_jobs=n_jobs) == [here]
    assert run_in_threads(lambda _: name(), [0, 1], n_jobs=1) == [here, here]
    assert run_in_threads(lambda _: name(), [], n_jobs=n_jobs) == []


def test_arguments_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        run_in_threads(pow, [1, 2], [3], n_jobs=2)


def counted(fail):
    """Return a call that notes when it begins and ends, and the notes; `fail` is made in the first one."""
    begun, ended = [], []

    def call(number):
        begun.append(number)
        if number == 0:
            fail()
        time.sleep(0.05)
        ended.append(number)

    return call, begun, ended


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_first_error_is_raised_when_no_call_is_under_way(n_jobs):
    call, begun, ended = counted(lambda: np.empty(0).max())
    with pytest.raises(ValueError, match="zero-size"):
        run_in_threads(call, range(100), n_jobs=n_jobs)
    assert {*begun} - {*ended} == {0}
    assert len(begun) < 100


def test_an_interrupt_waits_for_calls_that_have_begun_and_begins_no_other():
    call, begun, ended = counted(interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_in_threads(call, range(100), n_jobs=3)
    assert sorted(begun) == sorted(ended)
    assert 0 < len(begun) < 100
