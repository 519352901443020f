"""What Dagster shows of a release: aggregates, schema, lineage. Never a row, never a person."""

import json
from collections.abc import Sequence
from typing import Any

import dagster as dg

from reanon_core.model.published_columns import PublishedColumn, Role, published_columns
from reanon_core.model.schema import Kind, Schema
from reanon_dagster.assets.plots import history_plot
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.evidence import Evidence
from reanon_dagster.releasing.query_error import MEANING, typical_count
from reanon_dagster.series.series import Series
from reanon_dagster.storage.published_folder import MANIFEST
from reanon_dagster.storage.records import ReleaseRecord, StateSummary

Metadata = dict[str, Any]
TYPES = {Kind.NUMERIC: "number", Kind.DATE: "date", Kind.CATEGORICAL: "string"}
NOTHING_TO_DO = {"nothing to do": "published, same snapshot"}


def snapshot_metadata(record: ReleaseRecord) -> Metadata:
    """How many people a snapshot has, and the digest of what was read."""
    return {"release": record.release, "people": record.people, "input digest": record.input_digest}


def state_metadata(record: ReleaseRecord, state: StateSummary) -> Metadata:
    """The size and the digest of the state after a release."""
    return {
        "release": record.release,
        "people remembered": state.people,
        "bytes": state.size,
        "state digest": state.digest,
        "written by": f"release {record.release}, in one transaction with it",
    }


def _query_error(error: float | None) -> Metadata:
    """How far off a typical count is, as a number that Dagster plots over the releases, and as a sentence."""
    number = {} if error is None else {"query error": round(error, 4)}
    return {**number, "utility": f"{typical_count(error)}. {MEANING}."}


def _boxes_of_people(manifest: Metadata) -> Metadata:
    """The numbers of a decoupled release, which has rows of people and rows of values."""
    return {"rows of values": manifest["values"], "k": manifest["k"]} if manifest.get("form") == "decoupled" else {}


def evidence_metadata(found: Evidence) -> Metadata:
    """What the attacks found and the metrics measured, and a picture of all releases so far."""
    return {
        **{name: readable(value) for name, value in found.numbers.items()},
        "history": dg.MetadataValue.md(history_plot(found.history)),
    }


def readable(value: float) -> float:
    """A number with at most four digits after rounding; whole numbers stay exact."""
    return int(value) if value == int(value) else float(f"{value:.4g}")


def remarks(candidate: Candidate) -> Metadata:
    """Why people are withheld, and what the steward must read: counts and sentences without any value of the data."""
    remarks: Metadata = {}
    if candidate.withheld:
        lines = [f"| {count:,} | {reason} |" for reason, count in candidate.withheld.items()]
        remarks["withheld because"] = dg.MetadataValue.md("\n".join(["| people | reason |", "|---|---|", *lines]))
    if candidate.notes:
        remarks["attention"] = dg.MetadataValue.md("\n\n".join(candidate.notes))
    return remarks


def release_metadata(series: Series, records: Sequence[ReleaseRecord], snapshot: dg.AssetKey) -> Metadata:
    """The numbers of the latest release, its columns and where they come from, and the release that it builds on."""
    record, before = records[-1], records[-2] if len(records) > 1 else None
    manifest = json.loads((series.published_folder / record.release / MANIFEST).read_text(encoding="utf-8"))
    grouped = manifest["groups"] is not None
    columns = published_columns(series.schema, manifest.get("columns"), grouped=grouped)
    return {
        "release": record.release,
        "people": record.people,
        "dagster/row_count": manifest["rows"],
        **({"groups": manifest["groups"]} if grouped else {}),
        **_boxes_of_people(manifest),
        "counterfeits": manifest["counterfeits"],
        "withheld": manifest["withheld"],
        **_query_error(record.query_error),
        "not selected": manifest["dirty"],
        "seconds": round(record.seconds, 3),
        "previous release": before.release if before else "none: this is the first",
        "previous release's digest": before.candidate_digest if before else "none",
        "candidate digest": record.candidate_digest,
        "manifest digest": record.manifest_digest,
        "previous manifest's digest": manifest["previous_manifest"] or "none",
        "folder": f"{series.config.publish.to}/{series.name}/{record.release}",
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
    return dg.TableColumn(column.name, _type_of(column, schema), description=description)


def _type_of(column: PublishedColumn, schema: Schema) -> str:
    if column.role is Role.GROUP:
        return "int"
    if column.role in {Role.LEAST, Role.GREATEST}:
        return TYPES[schema.quasi_identifiers[schema.names.index(column.source)].kind]
    return "string"
