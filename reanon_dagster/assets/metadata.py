"""What Dagster shows of a release: aggregates, schema, lineage. Never a row, never a person."""

import json
from typing import Any

import dagster as dg

from reanon_core.model.published_columns import PublishedColumn, Role, published_columns
from reanon_core.model.schema import Kind, Schema
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.query_error import MEANING, typical_count
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.series.series import Series
from reanon_dagster.storage.published_folder import MANIFEST
from reanon_dagster.storage.records import ReleaseRecord

Metadata = dict[str, Any]
TYPES = {Kind.NUMERIC: "number", Kind.DATE: "date", Kind.CATEGORICAL: "string"}
NOTHING_TO_DO = {"nothing to do": "published, same snapshot"}


def candidate_metadata(view: SeriesView, candidate: Candidate) -> Metadata:
    """The numbers of a candidate, and the release it builds on."""
    entry, before = candidate.entry, view.latest
    return {
        "release": candidate.release,
        "people": candidate.people,
        "selected": int(entry.snapshot.selection.sum()),
        "rows": entry.release.size,
        **({"groups": entry.release.boxes.count} if entry.release.grouped else {}),
        "counterfeits": entry.auxiliary.total,
        "withheld": sum(candidate.withheld.values()),
        **_query_error(candidate.query_error),
        "not selected": entry.dirty,
        **_remarks(candidate),
        "seconds": round(candidate.seconds, 3),
        "candidate digest": candidate.judged,
        "previous release": before.release if before else "none: this is the first",
        "previous release's digest": before.candidate_digest if before else "none",
    }


def _query_error(error: float | None) -> Metadata:
    """How far off a typical count is, as a number that Dagster plots over the releases, and as a sentence."""
    number = {} if error is None else {"query error": round(error, 4)}
    return {**number, "utility": f"{typical_count(error)}. {MEANING}."}


def _remarks(candidate: Candidate) -> Metadata:
    """Why people are withheld, and what the steward must read: counts and sentences without any value of the data."""
    remarks: Metadata = {}
    if candidate.withheld:
        lines = [f"| {count:,} | {reason} |" for reason, count in candidate.withheld.items()]
        remarks["withheld because"] = dg.MetadataValue.md("\n".join(["| people | reason |", "|---|---|", *lines]))
    if candidate.notes:
        remarks["attention"] = dg.MetadataValue.md("\n\n".join(candidate.notes))
    return remarks


def published_metadata(series: Series, record: ReleaseRecord, snapshot: dg.AssetKey) -> Metadata:
    """The numbers of a published release, its columns and where they come from: all of it public."""
    manifest = json.loads((series.published_folder / record.release / MANIFEST).read_text(encoding="utf-8"))
    grouped = manifest["groups"] is not None
    columns = published_columns(series.schema, manifest.get("columns"), grouped=grouped)
    return {
        "release": record.release,
        "dagster/row_count": manifest["rows"],
        **({"groups": manifest["groups"]} if grouped else {}),
        "counterfeits": manifest["counterfeits"],
        "withheld": manifest["withheld"],
        "not selected": manifest["dirty"],
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
