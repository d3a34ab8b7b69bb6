"""What holds for every test of the repository."""

from hypothesis import settings

# Compilation makes a first example slow, so time is no property of an example; the same examples each run.
settings.register_profile("bnplug", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("bnplug")
