"""Settings of all tests."""

import os

from hypothesis import settings

# No deadlines: the first call of a kernel compiles it. In CI the same examples every time: a new one is found at home.
settings.register_profile("reanon", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("reanon")
