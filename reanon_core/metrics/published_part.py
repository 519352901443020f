"""The part of the table that a release shows, the domains of its columns, and the volumes of its boxes.

Columns left out on purpose do not count as loss.
"""

from dataclasses import replace

import numpy as np

from reanon_core.model.arrays import MISSING, Float64, Int32, Int64
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING, SOME_MISSING, UNPUBLISHED, Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema
from reanon_core.model.snapshot import Snapshot

PART = 1 << 20
"""How many codes are copied at a time."""


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


def group_volumes(entry: Entry) -> Float64:
    """The number of points in the box of each group, where a missing value is one more point of its attribute."""
    boxes = entry.release.boxes
    widths = boxes.high.astype(np.float64) - boxes.low + 1 + (boxes.missing == SOME_MISSING)
    return np.asarray(np.prod(np.where(boxes.missing == ALL_MISSING, 1.0, widths), axis=0), dtype=np.float64)


def table_volume(entry: Entry) -> float:
    """The number of points in the smallest box that contains all selected people."""
    volume = 1.0
    for codes in entry.snapshot.answer().qi:
        present = codes[codes != MISSING]
        width = float(present.max()) - float(present.min()) + 1 if len(present) else 0.0
        volume *= max(1.0, width + (len(present) < len(codes)))
    return volume


def group_sizes(entry: Entry, *, real: bool = False) -> tuple[Int64, Int64]:
    """The number of rows of each group, and how many of them are not selected: counterfeits and dirty records.

    With `real`, dirty records count as selected rows.
    """
    groups = entry.release.boxes.count
    sizes = np.bincount(entry.release.group, minlength=groups)
    extra = np.zeros(groups, dtype=np.int64)
    extra[entry.auxiliary.group] = entry.auxiliary.count
    if entry.snapshot.selected is not None and not real:
        place = entry.snapshot.persons.searchsorted(entry.trace.persons)
        dirty = ~entry.snapshot.selected[place] & ~entry.snapshot.invented[place]
        extra += np.bincount(entry.release.group[entry.trace.rows[dirty]], minlength=groups)
    return sizes.astype(np.int64), extra


def domains(snapshot: Snapshot) -> Int64:
    """First and last code of each attribute, int64[2, d]: as declared, or as they occur in the snapshot.

    The values of a category are its leaves, whether or not a domain is declared. An attribute without any
    value has the domain 0 to 0.
    """
    found = np.zeros((2, len(snapshot.schema.quasi_identifiers)), dtype=np.int64)
    for attribute, column in enumerate(snapshot.schema.quasi_identifiers):
        if column.domain is not None:
            found[:, attribute] = column.domain
        elif column.taxonomy is not None:
            found[:, attribute] = 0, len(column.taxonomy.leaves) - 1
        else:
            found[:, attribute] = _extent(snapshot.qi[attribute])
    return found


def _extent(codes: Int32) -> tuple[int, int]:
    """The least and the largest code that is not missing, looked up a part at a time; 0 and 0 if there is none."""
    ends = []
    for start in range(0, len(codes), PART):
        part = codes[start : start + PART]
        present = part[part != MISSING]
        if len(present):
            ends += [int(present.min()), int(present.max())]
    return min(ends, default=0), max(ends, default=0)
