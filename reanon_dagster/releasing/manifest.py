"""The manifest of a release: what anyone may know about it, and the digests that prove it unchanged."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_core.model.coding import plain
from reanon_core.model.release import Release
from reanon_core.model.schema import SHARE, SMALLEST, Ends, Kind, QuasiIdentifier
from reanon_core.recoding.bins import BINS_GROW, grid_of
from reanon_dagster.releasing.candidate import Candidate

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

EPOCH = date(1970, 1, 1).toordinal()


def manifest_of(
    series: "Series", candidate: Candidate, files: Mapping[str, str], previous: str | None, withdrawn: Mapping[str, str]
) -> dict[str, object]:
    """The manifest by key; `files` are the digests of the files, `previous` is that of the manifest before.

    `withdrawn` are the digests of the tombstones that no earlier manifest records.
    """
    entry, release = candidate.entry, candidate.entry.release
    columns = [column for column in entry.snapshot.schema.quasi_identifiers if release.shows(column.name)]
    gridded = {column.name: _bins(column) for column in columns if column.ends is Ends.GRID}
    return {
        "series": series.name,
        "release": candidate.release,
        "technique": {"name": series.technique.name, **series.parameters},
        **({} if release.columns is None else {"columns": list(release.columns)}),
        **_form(release, series.config.publish.k),
        "groups": release.boxes.count if release.grouped else None,
        "counterfeits": entry.auxiliary.total,
        "withheld": sum(candidate.withheld.values()),
        "dirty": entry.dirty,
        "domains": {column.name: "declared" if column.bounds is not None else "observed" for column in columns},
        **({"bins": gridded} if gridded else {}),
        "verdicts": [
            {"check": verdict.check, "holds": verdict.holds, "required": verdict.required, "rule": verdict.sentence}
            for verdict in candidate.verdicts
        ],
        "files": {name: {"sha256": digest} for name, digest in files.items()},
        "previous_manifest": previous,
        **({"withdrawn": dict(withdrawn)} if withdrawn else {}),
        "reanon": __version__,
    }


def _form(release: Release, k: int) -> dict[str, object]:
    """The number of rows, and what a decoupled release has besides."""
    rows = release.person_rows
    if rows is None:
        return {"rows": release.size}
    return {"form": "decoupled", "k": k, "rows": len(rows.box), "values": release.size}


def _bins(column: QuasiIdentifier) -> dict[str, object]:
    """The bins at which intervals begin and end, in the column's own unit."""
    grid = grid_of(column)
    if grid is None or column.kind is Kind.CATEGORICAL:
        return {"values": column.min_width}
    if grid.width == BINS_GROW:
        return {"share": f"1/{SHARE}", "least": plain(SMALLEST * column.granularity)}
    if column.kind is Kind.DATE:
        return {"days": grid.width, "from": str(date.fromordinal(EPOCH + grid.origin))}
    return {"width": plain(grid.width * column.granularity), "from": plain(grid.origin * column.granularity)}
