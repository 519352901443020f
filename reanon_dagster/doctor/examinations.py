"""All examinations of a series, in the order in which a repair needs them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reanon_dagster.doctor.private_files import leftovers, permissions
from reanon_dagster.doctor.published import head_files, interrupted, published_files
from reanon_dagster.doctor.remark import Examination, Outcome, Remark
from reanon_dagster.doctor.store import blocks, free_blocks
from reanon_dagster.doctor.versions import versions

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

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
