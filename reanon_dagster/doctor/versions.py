"""The versions that read and wrote the store and the files."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_dagster.doctor.remark import Outcome, Remark

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def versions(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: ARG001, FBT001  an Examination
    """Which versions are at work here, for a report of a problem."""
    listed = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "numpy"))
    yield Remark("versions", Outcome.SOUND, f"reanon {__version__}, {listed}")
