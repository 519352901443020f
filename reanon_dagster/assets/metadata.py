"""What one sees of a release in Dagster: aggregates, schema, lineage. Never a row, never a person."""

import json
from typing import Any

import dagster as dg

from reanon_core.model.schema import Kind, Missing
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.release import look
from reanon_dagster.series.series import Series

Metadata = dict[str, Any]
TYPES = {Kind.NUMERIC: "number", Kind.DATE: "date", Kind.CATEGORICAL: "string"}


def candidate_metadata(series: Series, candidate: Candidate) -> Metadata:
    """The numbers of a candidate, and what it builds on."""
    entry = candidate.entry
    records = look(series).records
    before = records[-1] if records else None
    return {
        "release": candidate.release,
        "people": candidate.people,
        "asked for": len(entry.snapshot.persons[entry.snapshot.selection]),
        "rows": entry.release.size,
        **({"groups": entry.release.boxes.count} if entry.release.grouped else {}),
        "counterfeits": entry.auxiliary.total,
        "withheld": sum(candidate.withheld.values()),
        "not asked for": entry.dirty,
        **_told(candidate),
        "seconds": round(candidate.seconds, 3),
        "candidate digest": candidate.judged,
        "previous release": before.release if before else "none: this is the first",
        "previous release's digest": before.candidate_digest if before else "none",
    }


def _told(candidate: Candidate) -> Metadata:
    """Why people are withheld, and what the steward must read: counts and sentences without a datum."""
    told: Metadata = {}
    if candidate.withheld:
        lines = [f"| {count:,} | {reason} |" for reason, count in candidate.withheld.items()]
        told["withheld because"] = dg.MetadataValue.md("\n".join(["| people | reason |", "|---|---|", *lines]))
    if candidate.notes:
        told["attention"] = dg.MetadataValue.md("\n\n".join(candidate.notes))
    return told


def published_metadata(series: Series, release: str, snapshot: dg.AssetKey) -> Metadata:
    """The numbers of a published release, its columns and where they come from."""
    record = next(one for one in look(series).records if one.release == release)
    manifest = json.loads((series.published_folder / release / "manifest.json").read_text(encoding="utf-8"))
    return {
        "release": release,
        "dagster/row_count": manifest["rows"],
        **({} if manifest["groups"] is None else {"groups": manifest["groups"]}),
        "counterfeits": manifest["counterfeits"],
        "withheld": manifest["withheld"],
        "not asked for": manifest["dirty"],
        "manifest digest": record.manifest_digest,
        "previous manifest's digest": manifest["previous_manifest"] or "none",
        "folder": f"{series.config.publish.to}/{series.name}/{release}",
        "dagster/column_schema": table_schema(series, manifest),
        "dagster/column_lineage": column_lineage(series, manifest, snapshot),
    }


def published_columns(series: Series, manifest: Metadata) -> dict[str, tuple[str, str, str]]:
    """Each column of a published table: its type, what it means, and the snapshot's column it comes from."""
    shown = manifest.get("columns", series.schema.columns)
    them = "the row's people" if manifest["groups"] is None else "the group"
    columns: dict[str, tuple[str, str, str]] = {}
    for column in series.schema.quasi_identifiers:
        if column.name not in shown:
            continue
        kind = TYPES[column.kind]
        columns[f"{column.name}_min"] = (kind, f"Least {column.name} in {them}.", column.name)
        columns[f"{column.name}_max"] = (kind, f"Greatest {column.name} in {them}.", column.name)
        if column.hierarchical:
            columns[column.name] = ("string", f"The lowest node of the taxonomy that covers {them}.", column.name)
        if column.missing is Missing.SEPARATE:
            columns[f"{column.name}_missing"] = (
                "string",
                "Whether none, some or all of the group lack it.",
                column.name,
            )
    sensitive = series.schema.sensitive.name
    if sensitive in shown:
        columns[sensitive] = ("string", "The sensitive value of the row.", sensitive)
    for name in series.schema.other:
        if name in shown:
            columns[name] = ("string", f"{name} as it is, beside the sensitive value it belongs to.", name)
    return columns


def table_schema(series: Series, manifest: Metadata) -> dg.TableSchema:
    """The columns of the published table."""
    group = dg.TableColumn("group_id", "int", description="The row's group, numbered at random in every release.")
    listed = published_columns(series, manifest).items()
    first = [] if manifest["groups"] is None else [group]
    return dg.TableSchema([*first, *(dg.TableColumn(name, kind, description=text) for name, (kind, text, _) in listed)])


def column_lineage(series: Series, manifest: Metadata, snapshot: dg.AssetKey) -> dg.TableColumnLineage:
    """Which column of the snapshot each published column comes from."""
    return dg.TableColumnLineage(
        {
            name: [dg.TableColumnDep(asset_key=snapshot, column_name=source)]
            for name, (_, _, source) in published_columns(series, manifest).items()
        }
    )
