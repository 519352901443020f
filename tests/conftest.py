"""Settings of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadlines: the first call of a kernel compiles it. In CI the same examples every time: a new one is found at home.
settings.register_profile("reanon", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("reanon")

LONGEST = (
    "trust/test_sample.py",
    "dagster/releasing/test_releases_in_parts.py",
    "dagster/engines/test_spark_engine.py",
    "dagster/assets/test_assets.py",
    "dagster/assets/test_metadata.py",
    "core/attacks/test_algorithm_worlds.py",
    "conformance/test_erasure.py",
)
"""Files that take longest. They run first, so that the workers of `make test` end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first."""
    tests = Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
