"""The assets of a lively series, on an instance of their own."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from builders.assets import Maker
from builders.series import lively, write_series


@pytest.fixture
def maker(tmp_path: Path) -> Iterator[Maker]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Maker(write_series(tmp_path, snapshots=lively()), instance)
