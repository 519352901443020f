"""The manifest of a release: what anyone may know about it, and the digests that prove it unchanged."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_core.model.release import Release
from reanon_core.model.schema import Ends
from reanon_dagster.documents.column_dictionary import described_bins
from reanon_dagster.releasing.candidate import Candidate

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def manifest_of(
    facts: Mapping[str, object],
    files: Mapping[str, str],
    series_files: Mapping[str, str],
    previous: str | None,
    withdrawn: Mapping[str, str],
) -> dict[str, object]:
    """The manifest by key: `facts`, the digests of its files and of those of the series, and that of the one before.

    `withdrawn` are the digests of the tombstones that no earlier manifest records.
    """
    return {
        **facts,
        "files": {name: {"sha256": digest} for name, digest in files.items()},
        "series_files": {name: {"sha256": digest} for name, digest in series_files.items()},
        "previous_manifest": previous,
        **({"withdrawn": dict(withdrawn)} if withdrawn else {}),
        "reanon": __version__,
    }


def release_facts(series: "Series", candidate: Candidate) -> dict[str, object]:
    """What the manifest says about the release itself, by key."""
    entry, release = candidate.entry, candidate.entry.release
    columns = [column for column in entry.snapshot.schema.quasi_identifiers if release.shows(column.name)]
    gridded = {column.name: described_bins(column) for column in columns if column.ends is Ends.GRID}
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
    }


def _form(release: Release, k: int) -> dict[str, object]:
    """The number of rows, and what a decoupled release has besides."""
    rows = release.person_rows
    if rows is None:
        return {"rows": release.size}
    return {"form": "decoupled", "k": k, "rows": len(rows.box), "values": release.size}
