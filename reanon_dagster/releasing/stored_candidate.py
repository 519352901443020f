"""A candidate kept in the private store, between the step that judged it and the step that publishes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from reanon_core.judgement import judge
from reanon_core.model.errors import OutOfOrder, Refused
from reanon_core.model.packing import Packable, pack, unpack
from reanon_core.model.schema import Schema
from reanon_core.model.verdict import Verdict
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.gate import accept
from reanon_dagster.releasing.judged_candidate import checks_of
from reanon_dagster.releasing.release_order import require_not_frozen
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.sources.snapshot_location import snapshot_exists
from reanon_dagster.sources.snapshot_reader import snapshot_digest
from reanon_dagster.storage.entry_codec import arrays_of, entry_of
from reanon_dagster.storage.series_store import read_candidate, write_candidate

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series
    from reanon_dagster.storage.records import ReleaseRecord

PLAIN = ("release", "position", "input_digest", "key_check", "judged", "seconds", "people")
"""The fields of a candidate that JSON holds as they are."""


def store_candidate(series: "Series", candidate: Candidate) -> None:
    """Store the candidate until it is published; it replaces any other."""
    write_candidate(series.private_folder, series.schema, candidate.release, candidate.judged, packed(candidate))


def publish_stored_candidate(series: "Series", view: SeriesView, release: str) -> "ReleaseRecord | None":
    """Judge the stored candidate again, with the memories of the store, and publish it if it passes the gate.

    Returns None if the release is the latest one already.

    Raises: OutOfOrder if the release is frozen or has no candidate; Refused.
    """
    if view.is_latest(release):
        return None
    require_not_frozen(series, view.records, release)
    candidate = _stored_candidate(series, release)
    _require_same_snapshot(series, view, candidate)
    verdicts, memories = judge(checks_of(series), candidate.entry, view.memories)
    return accept(series, replace(candidate, verdicts=verdicts, memories=memories))


def _stored_candidate(series: "Series", release: str) -> Candidate:
    """The stored candidate of a release.

    Raises: OutOfOrder if there is none.
    """
    data = read_candidate(series.private_folder, release)
    if data is None:
        raise OutOfOrder(f"release {release} has no candidate; materialize its candidate first")
    return unpacked(data, series.schema)


def _require_same_snapshot(series: "Series", view: SeriesView, candidate: Candidate) -> None:
    """Refuse a candidate whose snapshot was changed after it was computed. Only digests are compared.

    A snapshot that is gone was not changed.

    Raises: Refused.
    """
    if not snapshot_exists(series, candidate.release):
        return
    if snapshot_digest(series, candidate.release, view.key) != candidate.input_digest:
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
        "query_error": candidate.query_error,
        "values": list(entry.snapshot.schema.sensitive.values),
        "other_values": [list(values) for values in entry.snapshot.schema.other_values],
        "columns": entry.release.columns,
        "grouped": entry.release.grouped,
    }
    fields: dict[str, Packable] = {"head": json.dumps(head)}
    fields |= {f"entry/{name}": value for name, value in arrays_of(entry).items()}
    fields |= {f"state/{name}": value for name, value in candidate.state.items()}
    for check, memory in candidate.memories.items():
        fields |= {f"memory/{check}/{name}": value for name, value in memory.items()}
    return pack(fields)


def unpacked(data: bytes, schema: Schema) -> Candidate:
    """The candidate that was packed."""
    fields = unpack(data)
    head = json.loads(cast("str", fields["head"]))
    memories: dict[str, dict[str, Packable]] = {}
    for name, value in _part(fields, "memory/").items():
        check, part = name.split("/", 1)
        memories.setdefault(check, {})[part] = value
    known = schema.with_sensitive_values(tuple(head["values"]))
    known = known.with_other_values(tuple(tuple(values) for values in head.get("other_values", ())))
    columns = head.get("columns")
    return Candidate(
        **{name: head[name] for name in PLAIN},
        entry=entry_of(
            _part(fields, "entry/"),
            known,
            columns=None if columns is None else tuple(columns),
            grouped=head.get("grouped", True),
        ),
        state=_part(fields, "state/"),
        memories=memories,
        verdicts=tuple(Verdict(**verdict) for verdict in head["verdicts"]),
        withheld=head["withheld"],
        notes=tuple(head["notes"]),
        query_error=head.get("query_error"),
    )


def _part(fields: Mapping[str, Packable], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in fields.items() if name.startswith(prefix)}
