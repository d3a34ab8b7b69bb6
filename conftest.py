"""What holds for every test of the repository."""

import os
import signal
import sys

import pytest
from hypothesis import is_hypothesis_test, settings

#: Fixtures that tests of several rooms share.
pytest_plugins = ["mixed_rows", "third_party"]

# A shell starts background jobs with SIGINT ignored, and child processes inherit that. Tests that interrupt need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Compilation makes a first example slow, so time is no property of an example; the same examples each run.
settings.register_profile("bnplug", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("bnplug")

#: How many times as many examples `make test-long` takes, those included that a test sets itself.
LONGER = 10
_SETTINGS = "_hypothesis_internal_use_settings"


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    """Forget what a test or an example registers."""
    yield
    one_file, registering = (sys.modules.get(f"bnplug.hooks.{name}") for name in ("one_file", "registering"))
    if one_file and registering and one_file.REGISTERED:
        registering.forget()


def pytest_collection_modifyitems(items):
    """Give tests of generated inputs more examples in a long run."""
    if os.environ.get("BNPLUG_LONG") != "1":
        return
    tests = {getattr(item, "obj", None) for item in items}
    for test in filter(is_hypothesis_test, tests):
        # Of a method, the function that it is made of.
        test = getattr(test, "__func__", test)
        own = getattr(test, _SETTINGS)
        setattr(test, _SETTINGS, settings(own, max_examples=LONGER * own.max_examples))
