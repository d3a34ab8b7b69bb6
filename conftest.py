"""What holds for every test of the repository."""

import os

from hypothesis import settings

# Compilation makes a first example slow, so time is no property of an example; the same examples each run.
settings.register_profile("bnplug", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("long", parent=settings.get_profile("bnplug"), max_examples=500)
# `make test-long` asks for it; `strategies.more` is the same for tests that say how many examples they take.
settings.load_profile("long" if os.environ.get("BNPLUG_LONG") == "1" else "bnplug")
