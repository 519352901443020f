"""The manifest of a release: what anyone may know about it, and the digests that prove it unchanged."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_dagster.releasing.candidate import Candidate

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


def manifest_of(
    series: "Series", candidate: Candidate, files: Mapping[str, str], previous: str | None
) -> dict[str, object]:
    """The manifest by key; `files` are the digests of the files, `previous` is that of the manifest before."""
    entry, release = candidate.entry, candidate.entry.release
    return {
        "series": series.name,
        "release": candidate.release,
        "technique": {"name": series.technique.name, **series.parameters},
        **({} if release.columns is None else {"columns": list(release.columns)}),
        "rows": release.size,
        "groups": release.boxes.count if release.grouped else None,
        "counterfeits": entry.auxiliary.total,
        "withheld": sum(candidate.withheld.values()),
        "dirty": entry.dirty,
        "domains": {
            column.name: "declared" if column.bounds is not None else "observed"
            for column in entry.snapshot.schema.quasi_identifiers
            if release.shows(column.name)
        },
        "verdicts": [
            {"check": verdict.check, "holds": verdict.holds, "required": verdict.required, "rule": verdict.sentence}
            for verdict in candidate.verdicts
        ],
        "files": {name: {"sha256": digest} for name, digest in files.items()},
        "previous_manifest": previous,
        "reanon": __version__,
    }
