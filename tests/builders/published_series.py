"""Published series for tests that begin with one: each is published once in a process, and copied."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from builders.series import SERIES, lively, write_series
from reanon_dagster.cli import main


def published_series(
    folder: Path, releases: int, size: int = 240, *, text: str = SERIES, to: str | None = None, seed: int = 1
) -> Path:
    """A lively series in the folder, with its releases up to `to`; gives the path of its file."""
    shutil.copytree(_original(releases, size, text, to, seed), folder, dirs_exist_ok=True)
    return folder / "series.yaml"


@cache
def _original(releases: int, size: int, text: str, to: str | None, seed: int) -> Path:
    """The folder that is copied."""
    folder = Path(tempfile.mkdtemp(prefix="reanon-series-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = write_series(folder, text=text, snapshots=lively(releases, size))
    end = [] if to is None else ["--to", to]
    assert main(["backfill", str(path), *end, "--quiet", "--seed", str(seed)]) == 0
    return folder
