"""What Dagster shows of a release: aggregates, schema, lineage, history. Never a row, never a person."""

import base64
import json
import resource
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

import dagster as dg

from reanon_core.model.published_columns import PublishedColumn, Role, published_columns
from reanon_core.model.schema import Kind, Schema
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.query_error import MEANING, RELATIONS_MEANING, utility
from reanon_dagster.series.series import Series
from reanon_dagster.storage.published_folder import MANIFEST
from reanon_dagster.storage.records import ReleaseRecord, StateSummary

Metadata = dict[str, Any]
TYPES = {Kind.NUMERIC: "number", Kind.DATE: "date", Kind.CATEGORICAL: "string"}
RECENT = 30
"""The number of releases in the picture of the history, at most."""
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
        lines = [f"| {count:,} | {reason} |" for reason, count in candidate.withheld.items()]
        remarks["withheld because"] = dg.MetadataValue.md("\n".join(["| people | reason |", "|---|---|", *lines]))
    if candidate.notes:
        remarks["attention"] = dg.MetadataValue.md("\n\n".join(candidate.notes))
    return remarks


def release_metadata(series: Series, records: Sequence[ReleaseRecord], snapshot: dg.AssetKey) -> Metadata:
    """The numbers of the latest release, its columns and where they come from, and the release that it builds on."""
    record, before = records[-1], records[-2] if len(records) > 1 else None
    recent = records[-RECENT:]
    manifests = [_manifest(series, one) for one in recent]
    manifest = manifests[-1]
    grouped = manifest["groups"] is not None
    columns = published_columns(series.schema, manifest.get("columns"), grouped=grouped)
    return {
        "release": record.release,
        "history": dg.MetadataValue.md(history_plot([one.release for one in recent], _history(recent, manifests))),
        "people": record.people,
        "rows": manifest["rows"],
        "dagster/row_count": manifest["rows"],
        **({"groups": manifest["groups"]} if grouped else {}),
        **_boxes_of_people(manifest),
        "counterfeits": manifest["counterfeits"],
        "withheld": manifest["withheld"],
        **_utility(record),
        "rows of people not selected": manifest["dirty"],
        "seconds": round(record.seconds, 3),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
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


def _manifest(series: Series, record: ReleaseRecord) -> Metadata:
    path = series.published_folder / record.release / MANIFEST
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _history(records: Sequence[ReleaseRecord], manifests: Sequence[Metadata]) -> dict[str, list[float]]:
    """The numbers of the picture; a release whose published files are gone has no bar."""
    return {
        "rows": [one.get("rows", 0) for one in manifests],
        "counterfeits": [one.get("counterfeits", 0) for one in manifests],
        "withheld": [record.withheld for record in records],
        "query error": [record.query_error or 0.0 for record in records],
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


LONGEST = 999
"""Dagster draws Markdown in place if it has fewer than 1,000 characters; anything longer needs a click."""
WIDTH, HEIGHT, PANEL = 480, 60, 120
BASE, TOP = 44, 16
COLOURS = ("#4f6d7a", "#c0543c", "#e0a030", "#7a6f9b")


def history_plot(releases: Sequence[str], numbers: Mapping[str, Sequence[float]]) -> str:
    """One row of bars for each number, one bar for each release, as a Markdown image.

    The latest releases are shown, as many as Dagster draws in place.

    Requires: at most four numbers, each with one value for each release.
    """
    for shown in range(len(releases), 0, -1):
        image = _markdown(releases[-shown:], {name: values[-shown:] for name, values in numbers.items()})
        if len(image) <= LONGEST:
            return image
    return ""


def _markdown(releases: Sequence[str], numbers: Mapping[str, Sequence[float]]) -> str:
    panels = [_panel(PANEL * at, COLOURS[at], name, values) for at, (name, values) in enumerate(numbers.items())]
    period = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-size="10" fill="#888">'
        f'{"".join(panels)}<text y="57">{escape(period)}</text></svg>'
    )
    return f"![history](data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()})"


def _panel(left: int, colour: str, name: str, values: Sequence[float]) -> str:
    """A title and the bars; the highest bar has the height of the panel."""
    greatest = max(values, default=0) or 1
    step = (PANEL - 14) / max(len(values), 8)
    bars = "".join(
        f"M{left + round(step * (at + 0.5))} {BASE}v-{max(1, round((BASE - TOP) * value / greatest))}"
        for at, value in enumerate(values)
        if value > 0
    )
    title = f'<text x="{left}" y="10">{escape(name)}</text>'
    return f'{title}<path stroke="{colour}" stroke-width="{max(1, round(step * 0.7))}" d="{bars}"/>' if bars else title
