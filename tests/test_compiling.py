"""Ctrl-C while a kernel is compiled waits until it is."""

import os
import signal
import threading

import pytest
from numba.core import event

from bnplug.compiling import interrupts_held_back, kernel


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
