"""A candidate at rest in the private store, between the step that judged it and the step that publishes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from reanon_core.judgement import judge
from reanon_core.model.errors import OutOfOrder, Refused
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import Packable, pack, unpack
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace, Witness
from reanon_core.model.verdict import Verdict
from reanon_dagster.releasing.candidate import Candidate, arrays
from reanon_dagster.releasing.gate import accept
from reanon_dagster.releasing.judgement import checks_of
from reanon_dagster.releasing.release import sound
from reanon_dagster.releasing.snapshot_intake import read_open
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.storage import store_reader, store_writer
from reanon_dagster.storage.connection import opened

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series
    from reanon_dagster.storage.records import Recorded

PLAIN = ("release", "position", "input_digest", "key_check", "judged", "seconds", "people")


def stage(series: "Series", candidate: Candidate) -> None:
    """Keep the candidate until it is published or replaced; there is one at a time."""
    with opened(series.private_folder, read_only=False) as connection:
        store_writer.create(connection, series.schema)
        store_writer.stage(connection, candidate.release, candidate.judged, packed(candidate))


def publish_staged(series: "Series", release: str) -> "Recorded | None":
    """Judge the staged candidate once more against the ledger, and let it through the gate.

    Gives None if the release is the latest one already, so that there is nothing to do.

    Raises: OutOfOrder if no candidate of this release is staged, or it is not its turn; Refused.
    """
    view = sound(series)
    if view.records and view.records[-1].release == release:
        return None
    with opened(series.private_folder, read_only=False) as connection:
        store_writer.create(connection, series.schema)
        data = store_reader.staged(connection, release)
    if data is None:
        done = any(record.release == release for record in view.records)
        raise OutOfOrder(
            f"release {release} is frozen: later releases exist"
            if done
            else f"release {release} has no candidate: materialize its candidate first"
        )
    candidate = restored(data, series.schema)
    _require_same_snapshot(series, candidate)
    verdicts, memories = judge(checks_of(series), candidate.entry, view.standing.memories)
    return accept(series, replace(candidate, verdicts=verdicts, memories=memories))


def _require_same_snapshot(series: "Series", candidate: Candidate) -> None:
    """Refuse a candidate whose snapshot was corrected after it was computed; one that is gone cannot have been.

    Raises: Refused.
    """
    if not snapshot_exists(series, candidate.release):
        return
    read, _ = read_open(series, candidate.release)
    if read.input_digest != candidate.input_digest:
        raise Refused(
            f"the snapshot of {candidate.release} was changed after its candidate was computed; "
            f"materialize the candidate again"
        )


def packed(candidate: Candidate) -> bytes:
    """The candidate as bytes."""
    entry = candidate.entry
    head = {name: getattr(candidate, name) for name in PLAIN} | {
        "verdicts": [asdict(verdict) for verdict in candidate.verdicts],
        "withheld": dict(candidate.withheld),
        "notes": list(candidate.notes),
        "values": list(entry.snapshot.schema.sensitive.values),
        "other_values": [list(values) for values in entry.snapshot.schema.other_values],
        "columns": entry.release.columns,
        "grouped": entry.release.grouped,
    }
    fields: dict[str, Packable] = {"head": json.dumps(head)}
    fields |= {f"entry/{name}": value for name, value in arrays(entry).items()}
    fields |= {f"state/{name}": value for name, value in candidate.state.items()}
    for judge_name, memory in candidate.memories.items():
        fields |= {f"memory/{judge_name}/{name}": value for name, value in memory.items()}
    return pack(fields)


def restored(data: bytes, schema: Schema) -> Candidate:
    """The candidate that was packed."""
    fields = unpack(data)
    head = json.loads(cast("str", fields["head"]))
    memories: dict[str, dict[str, Packable]] = {}
    for name, value in fields.items():
        if name.startswith("memory/"):
            _, judge_name, part = name.split("/", 2)
            memories.setdefault(judge_name, {})[part] = value
    return Candidate(
        **{name: head[name] for name in PLAIN},
        entry=_entry(_part(fields, "entry/"), head, schema),
        state=_part(fields, "state/"),
        memories=memories,
        verdicts=tuple(Verdict(**verdict) for verdict in head["verdicts"]),
        withheld=head["withheld"],
        notes=tuple(head["notes"]),
    )


def _part(fields: Mapping[str, Packable], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in fields.items() if name.startswith(prefix)}


def _entry(part: Mapping[str, Any], head: Mapping[str, Any], schema: Schema) -> Entry:
    known = schema.with_sensitive_values(tuple(head["values"]))
    known = known.with_other_values(tuple(tuple(values) for values in head.get("other_values", ())))
    columns = head.get("columns")
    columns = None if columns is None else tuple(columns)
    nothing = np.empty((0, 0), np.int32)
    return Entry(
        Snapshot(
            known,
            part["persons"],
            part["qi"],
            part["sensitive"],
            part.get("other", nothing),
            columns,
            selected=None if part["asked"].all() else part["asked"],
            origin=part["origin"] if part["origin"].any() else None,
        ),
        Release(
            part["group"],
            part["published"],
            Boxes(part["low"], part["high"], part["missing"]),
            other=part.get("published_other", nothing),
            columns=columns,
            grouped=head.get("grouped", True),
        ),
        Auxiliary(part["fake_group"], part["fake_count"]),
        Trace(part["traced"], part["rows"]),
        Witness(part["witness"]) if "witness" in part else None,
    )
