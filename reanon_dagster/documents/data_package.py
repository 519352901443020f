"""datapackage.json: a release or a series as a Data Package (datapackage.org), for programs.

What the standard has no word for is under keys called `reanon`.
"""

import json
from collections.abc import Mapping
from typing import Any

from reanon_core.model.published_columns import COUNT, GROUP_ID, PublishedColumn, Role
from reanon_core.model.release import MISSING_WORDS
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier
from reanon_dagster.documents.column_dictionary import column_dictionary, meaning_of
from reanon_dagster.documents.public_release import PublicRelease, PublicSeries, Releases

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
MEDIA_TYPES = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "sql": "application/sql",
}
TYPES = {Kind.DATE: "date", Kind.CATEGORICAL: "string"}


def release_package(release: PublicRelease) -> bytes:
    """The dictionary of a release: its files, the fields of its tables, and what each column that it shows means."""
    series = release.series
    columns = {name: told for name, told in column_dictionary(series.schema).items() if release.shows(name)}
    own = {
        "series": series.name,
        "release": release.release,
        **_period(release),
        "form": "decoupled" if series.is_decoupled else "boxes",
        "technique": dict(series.technique),
        "columns": columns,
    }
    head = _head(series, f"{series.name}-{release.release}", f"{series.title}: {release.release}")
    resources = [_resource(release, file, digest) for file, digest in release.files.items()]
    return _text(head | {"resources": resources, "reanon": own})


def series_package(series: PublicSeries, releases: Releases) -> bytes:
    """The dictionary of a series: every column that it declares, and the files of each release.

    Each release has a dictionary of its own, with the fields of its tables. A release that was withdrawn since this was
    written has a `withdrawn.json` in the place of its tables.
    """
    columns = column_dictionary(series.schema)
    fields = ("column", "role", "kind")
    table = {
        "name": "columns",
        "type": "table",
        "data": [{"column": name, "role": told["role"], "kind": told.get("kind")} for name, told in columns.items()],
        "schema": {"fields": [{"name": name, "type": "string"} for name in fields]},
    }
    own: dict[str, object] = {
        "series": series.name,
        "form": "decoupled" if series.is_decoupled else "boxes",
        "technique": dict(series.technique),
        "columns": columns,
    }
    listed = [
        {"name": f"{release}-{stem}-{ending}".lower(), "path": f"{release}/{file}"}
        | _format(ending)
        | {"hash": f"sha256:{digest}", "reanon": {"release": release, "table": stem}}
        for release, files in releases.items()
        for file, digest in files.items()
        for stem, _, ending in [file.rpartition(".")]
        if ending in MEDIA_TYPES
    ]
    own["releases"] = {release: f"{release}/datapackage.json" for release in releases}
    return _text(_head(series, series.name, series.title) | {"resources": [table, *listed], "reanon": own})


def _head(series: PublicSeries, name: str, title: str) -> dict[str, object]:
    head: dict[str, object] = {"$schema": PROFILE, "name": name.lower(), "title": title}
    if series.description is not None:
        head["description"] = series.description
    if series.licence is not None:
        is_link = series.licence.startswith(("https://", "http://"))
        head["licenses"] = [{"path" if is_link else "name": series.licence}]
    if series.contact is not None:
        head["contributors"] = [{"title": series.contact, "roles": ["contact"]}]
    return head


def _period(release: PublicRelease) -> dict[str, object]:
    days = release.days
    return {} if days is None else {"period": {"first": str(days[0]), "last": str(days[1])}}


def _resource(release: PublicRelease, file: str, digest: str) -> dict[str, object]:
    stem, _, ending = file.rpartition(".")
    resource = {"name": f"{stem}-{ending}", "path": file} | _format(ending) | {"hash": f"sha256:{digest}"}
    if ending in release.formats:
        resource |= {"type": "table", "schema": {"fields": _fields(release, stem), "missingValues": [""]}}
    return resource


def _format(ending: str) -> dict[str, object]:
    encoding = {"encoding": "utf-8"} if ending == "csv" else {}
    return {"format": ending, "mediatype": MEDIA_TYPES[ending], **encoding}


def _fields(release: PublicRelease, table: str) -> list[dict[str, object]]:
    """The fields of a table, in the order of its columns."""
    sensitive = release.series.schema.sensitive.name
    if table == "counterfeits":
        return [_group(), _count("how many rows of the group are counterfeits")]
    if table == "values":
        shown = PublishedColumn(sensitive, Role.SENSITIVE, sensitive)
        return [_group(), _field(release, shown), _count("how often the group shows the value, counterfeits included")]
    return [_field(release, column) for column in release.row_columns]


def _group() -> dict[str, object]:
    told = {"role": Role.GROUP.value}
    return {"name": GROUP_ID, "type": "integer", "description": "the group, a random number", "reanon": told}


def _count(description: str) -> dict[str, object]:
    return {"name": COUNT, "type": "integer", "description": description, "reanon": {"role": "count"}}


def _field(release: PublicRelease, column: PublishedColumn) -> dict[str, object]:
    if column.role is Role.GROUP:
        return _group()
    schema = release.series.schema
    source = next((one for one in schema.quasi_identifiers if one.name == column.source), None)
    field: dict[str, Any] = {
        "name": column.name,
        "type": "string" if source is None else _type(column, source),
        "description": meaning_of(column),
        "reanon": {"role": column.role.value, "column": column.source},
    }
    if column.role is Role.MISSING:
        field["constraints"] = {"required": True, "enum": list(MISSING_WORDS)}
    elif source is not None and source.missing is Missing.REFUSE:
        field["constraints"] = {"required": True}
    return field


def _type(column: PublishedColumn, source: QuasiIdentifier) -> str:
    if column.role in {Role.NODE, Role.MISSING}:
        return "string"
    whole = "integer" if source.granularity == source.granularity.to_integral_value() else "number"
    return TYPES.get(source.kind, whole)


def _text(package: Mapping[str, object]) -> bytes:
    return (json.dumps(package, indent=2, ensure_ascii=False, default=str) + "\n").encode()
