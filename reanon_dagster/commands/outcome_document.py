"""What `publish` and `backfill` write with `--json`: what became of each release, in numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_dagster.commands.json_file import write_json_file

if TYPE_CHECKING:
    from reanon_core.model.errors import ReanonError
    from reanon_dagster.releasing.release import Outcome
    from reanon_dagster.series.series import Series


def write_outcomes(
    path: Path | None,
    series: "Series",
    releases: Sequence[dict[str, object]],
    *,
    refused: "tuple[str | None, ReanonError] | None" = None,
    dry_run: bool = False,
) -> None:
    """Write what became of these releases, and of one that was refused: aggregates only, no person."""
    if path is None:
        return
    write_json_file(
        path,
        {
            "series": series.name,
            "dry_run": dry_run,
            "releases": list(releases),
            "refused": None if refused is None else {"release": refused[0], "sentence": refused[1].redacted()},
        },
    )


def release_document(outcome: "Outcome") -> dict[str, object]:
    """What became of one release."""
    candidate = outcome.candidate
    if candidate is None:
        return {"release": outcome.release, "changed": False}
    entry = candidate.entry
    return {
        "release": outcome.release,
        "changed": True,
        "people": candidate.people,
        "rows": entry.release.size if entry.release.person_rows is None else len(entry.release.person_rows.box),
        "counterfeits": entry.auxiliary.total,
        "withheld": dict(candidate.withheld),
        "dirty": entry.dirty,
        "query_error": candidate.query_error,
        "relations": candidate.relations,
        "checks": {verdict.check: verdict.holds for verdict in candidate.verdicts},
        "notes": list(candidate.notes),
        "seconds": candidate.seconds,
    }
