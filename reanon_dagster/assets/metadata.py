"""What Dagster shows of a release: aggregates, schema, lineage, history. Never a row, never a person."""

import resource
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from reanon_core.model.published_columns import PublishedColumn, Role, published_columns
from reanon_core.model.schema import Kind, Missing, Schema
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.query_error import MEANING, RELATIONS_MEANING, utility
from reanon_dagster.series.series import Series
from reanon_dagster.storage.records import ReleaseRecord, StateSummary

Metadata = dict[str, Any]
TYPES = {Kind.NUMERIC: "number", Kind.DATE: "date", Kind.CATEGORICAL: "string"}
RECENT = 30
"""The number of releases in the history, at most."""
WIDEST = 20
"""The length of the longest bar in the history."""
NOTHING_TO_DO = {"nothing to do": "published, same snapshot"}
ROLES = {
    Role.GROUP: "group",
    Role.SENSITIVE: "sensitive",
    Role.OTHER: "other",
}
"""What a column is, as a tag; all others belong to quasi-identifiers."""


def snapshot_metadata(record: ReleaseRecord) -> Metadata:
    """How many people a snapshot has, and the digest of what was read."""
    return {"release": record.release, "people": record.people, "input digest": record.input_digest}


def state_metadata(record: ReleaseRecord, state: StateSummary | None) -> Metadata:
    """The size and the digest of the state after a release; None if a later release has replaced it."""
    if state is None:
        return {"release": record.release, "replaced": "by the state of a later release"}
    return {
        "release": record.release,
        "people remembered": state.people,
        "bytes": state.size,
        "state digest": state.digest,
        "written by": f"release {record.release}, in one transaction with it",
    }


def _utility(record: ReleaseRecord) -> Metadata:
    """How far off a typical count is and what is kept of relations: numbers that Dagster plots, and sentences."""
    measured = {"query error": record.query_error, "relations kept": record.relations}
    measured |= {"worst value loses": record.lost, "worst share changes": record.share_changed}
    told = utility(record.query_error, record.relations, record.lost, record.share_changed), MEANING, RELATIONS_MEANING
    return {
        **{name: round(number, 4) for name, number in measured.items() if number is not None},
        "utility": " ".join(f"{one[0].upper()}{one[1:]}." for one in told),
    }


def _boxes_of_people(manifest: Metadata) -> Metadata:
    """The numbers of a decoupled release, which has rows of people and rows of values."""
    return (
        {"rows of values": manifest["values"], "people who share a box, at least": manifest["k"]}
        if manifest.get("form") == "decoupled"
        else {}
    )


def evidence_metadata(record: ReleaseRecord, numbers: Mapping[str, float]) -> Metadata:
    """What the attacks found and the metrics measured."""
    return {
        "release": record.release,
        **{name: readable(value) for name, value in numbers.items()},
        **_utility(record),
    }


def readable(value: float) -> float:
    """A number with at most four digits after rounding; whole numbers stay exact."""
    return int(value) if value == int(value) else float(f"{value:.4g}")


def remarks(candidate: Candidate) -> Metadata:
    """How many people were selected, why some are withheld, what the steward must read: never a value of the data."""
    remarks: Metadata = {"selected": int(candidate.entry.snapshot.selection.sum())}
    if candidate.withheld:
        rows = [dg.TableRecord({"people": count, "reason": reason}) for reason, count in candidate.withheld.items()]
        remarks["withheld because"] = dg.MetadataValue.table(rows)
    if candidate.notes:
        remarks["attention"] = "; ".join(candidate.notes)
    return remarks


def release_metadata(
    series: Series, records: Sequence[ReleaseRecord], manifests: Sequence[Metadata], snapshot: dg.AssetKey
) -> Metadata:
    """The numbers of the last of these releases, its columns and their origin, and the release that it builds on.

    Requires: one manifest for each record.
    """
    record, before = records[-1], records[-2] if len(records) > 1 else None
    manifest = manifests[-1]
    grouped = manifest["groups"] is not None
    columns = published_columns(series.schema, manifest.get("columns"), grouped=grouped)
    return {
        "release": record.release,
        **({} if record.withdrawn is None else {"withdrawn": f"on {record.withdrawn:%Y-%m-%d}"}),
        "history": _history(records[-RECENT:], manifests[-RECENT:]),
        "dagster/row_count": manifest["rows"],
        **({"groups": manifest["groups"]} if grouped else {}),
        **_boxes_of_people(manifest),
        "counterfeits": manifest["counterfeits"],
        "withheld": manifest["withheld"],
        "utility": _utility(record)["utility"],
        "rows of people not selected": manifest["dirty"],
        "seconds": round(record.seconds, 3),
        "previous release": before.release if before else "none: this is the first",
        "previous release's digest": before.candidate_digest if before else "none",
        "candidate digest": record.candidate_digest,
        "manifest digest": record.manifest_digest,
        "previous manifest's digest": manifest["previous_manifest"] or "none",
        "folder": dg.MetadataValue.path(f"{series.config.publish.to}/{series.name}/{record.release}"),
        "dagster/column_schema": dg.TableSchema(
            [_table_column(column, series.schema, grouped=grouped) for column in columns]
        ),
        "dagster/column_lineage": dg.TableColumnLineage(
            {
                column.name: [dg.TableColumnDep(asset_key=snapshot, column_name=column.source)]
                for column in columns
                if column.source
            }
        ),
    }


def peak_memory() -> Metadata:
    """How much memory this process has taken so far."""
    return {"peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def _history(records: Sequence[ReleaseRecord], manifests: Sequence[Metadata]) -> dg.TableMetadataValue:
    """The latest releases, the newest first: a bar for their rows, and the numbers."""
    greatest = max(manifest["rows"] for manifest in manifests) or 1
    rows = [
        dg.TableRecord(
            {
                "release": record.release,
                "rows": manifest["rows"],
                "": "█" * max(1, round(WIDEST * manifest["rows"] / greatest)) if manifest["rows"] else "",
                "counterfeits": manifest["counterfeits"],
                "withheld": record.withheld,
                "query error": "" if record.query_error is None else f"{record.query_error:.1%}",
            }
        )
        for record, manifest in zip(reversed(records), reversed(manifests), strict=True)
    ]
    return dg.MetadataValue.table(rows)


def _table_column(column: PublishedColumn, schema: Schema, *, grouped: bool) -> dg.TableColumn:
    """A published column as Dagster shows it."""
    members = "the group" if grouped else "the row's people"
    description = {
        Role.GROUP: "The row's group, numbered at random in every release.",
        Role.LEAST: f"Least {column.source} in {members}.",
        Role.GREATEST: f"Greatest {column.source} in {members}.",
        Role.NODE: f"The lowest node of the taxonomy that covers {members}.",
        Role.MISSING: f"Whether none, some or all of {members} lack a value.",
        Role.SENSITIVE: "The sensitive value of the row.",
        Role.OTHER: f"{column.source} as it is, beside the sensitive value it belongs to.",
    }[column.role]
    nullable = column.role in {Role.LEAST, Role.GREATEST, Role.NODE} and _may_miss(column, schema)
    tags = {"reanon/role": ROLES.get(column.role, "quasi-identifier")}
    constraints = dg.TableColumnConstraints(nullable=nullable)
    return dg.TableColumn(column.name, _type_of(column, schema), description, constraints, tags)


def _may_miss(column: PublishedColumn, schema: Schema) -> bool:
    return schema.quasi_identifiers[schema.names.index(column.source)].missing is not Missing.REFUSE


def _type_of(column: PublishedColumn, schema: Schema) -> str:
    if column.role is Role.GROUP:
        return "int"
    if column.role in {Role.LEAST, Role.GREATEST}:
        return TYPES[schema.quasi_identifiers[schema.names.index(column.source)].kind]
    return "string"
