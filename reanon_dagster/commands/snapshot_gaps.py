"""What the lab says about releases without a snapshot."""

from reanon_dagster.lab.snapshots_on_disk import SnapshotsOnDisk
from reanon_dagster.sources.snapshot_location import snapshot_place


def gap_remarks(found: SnapshotsOnDisk, what: str) -> list[str]:
    """A sentence for each release whose snapshot is not there; `what` is what goes on without it."""
    series, remarks = found.series, []
    if found.late_start is not None:
        place = snapshot_place(series, found.late_start)
        remarks.append(f"{found.late_start} has no snapshot ({place}), so {what} begins with a later release")
    return remarks + [
        f"{release} has no snapshot ({snapshot_place(series, release)}): `reanon publish` would stop there, and "
        f"{what} goes on with the next one"
        for release in found.missing
    ]
