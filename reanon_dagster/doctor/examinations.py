"""All examinations of a series, in the order in which a repair needs them; the first one lists versions."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_dagster.doctor.private_files import blocks, free_blocks, leftovers, permissions
from reanon_dagster.doctor.published import head_files, interrupted, published_files
from reanon_dagster.doctor.remark import Examination, Outcome, Remark

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def versions(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: ARG001, FBT001  an Examination
    """Which versions are at work here, for a report of a problem."""
    listed = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "numpy"))
    yield Remark("versions", Outcome.SOUND, f"reanon {__version__}, {listed}")


EXAMINATIONS: tuple[Examination, ...] = (
    versions,
    permissions,
    leftovers,
    blocks,
    interrupted,
    head_files,
    published_files,
    free_blocks,
)


def examine(series: "Series", *, repair: bool) -> Iterator[Remark]:
    """Every remark; after a store that cannot be read, nothing else can be examined."""
    for examination in EXAMINATIONS:
        stop = False
        for remark in examination(series, repair):
            yield remark
            stop = stop or (examination is blocks and remark.outcome is Outcome.WRONG)
        if stop:
            return
