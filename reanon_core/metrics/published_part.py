"""The part of the table that a release shows, so that columns left out on purpose do not count as loss."""

from dataclasses import replace

import numpy as np

from reanon_core.model.ledger import Entry
from reanon_core.model.release import UNPUBLISHED, Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema
from reanon_core.model.snapshot import Snapshot


def published_part(entry: Entry) -> Entry:
    """The entry as if the series had only the columns that the release shows.

    If it shows no quasi-identifier, the table gets one that is the same for everyone; likewise the sensitive column.

    Paper: [ST15] Section 6.1: suppressed entries are not included in an average.
    """
    release, snapshot = entry.release, entry.snapshot
    if release.columns is None:
        return entry
    schema = snapshot.schema
    shown = [at for at, name in enumerate(schema.names) if release.shows(name)]
    columns = tuple(schema.quasi_identifiers[at] for at in shown)
    qi, sides = snapshot.qi[shown], (release.boxes.low[shown], release.boxes.high[shown], release.boxes.missing[shown])
    if not columns:
        columns = (QuasiIdentifier(name="", domain=(0, 0)),)
        qi = np.zeros((1, snapshot.size), np.int32)
        point = np.zeros((1, release.boxes.count), np.int32)
        sides = (point, point, point.astype(np.int8))
    sensitive, values = schema.sensitive, (snapshot.sensitive, release.sensitive)
    if not release.shows(sensitive.name):
        sensitive, values = sensitive.with_values(("",)), (np.zeros_like(values[0]), np.zeros_like(values[1]))
    part = Schema(quasi_identifiers=columns, sensitive=sensitive)
    return replace(
        entry,
        snapshot=Snapshot(part, snapshot.persons, qi, values[0]),
        release=replace(
            release, sensitive=values[1], boxes=Boxes(*sides), other=np.empty((0, 0), np.int32), columns=None
        ),
    )


def shared_boxes(entry: Entry) -> Entry:
    """The entry of a decoupled release with a group for each box that people share, for metrics that read boxes alone.

    The sensitive values are left out: they are not published with these boxes. Any other entry stays as it is.
    """
    rows = entry.release.person_rows
    if rows is None:
        return entry
    release = Release(rows.box, np.full(len(rows.box), UNPUBLISHED, np.int32), rows.boxes)
    return replace(entry, release=release, auxiliary=Auxiliary.none())
