"""Published folders for analysts: estimates and a DuckDB view, from the public files alone."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.estimate.release_tables import weighted_view
from reanon_core.model.errors import InvalidParameter, Problem

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST, DICTIONARY = "manifest.json", "datapackage.json"
TABLES = ("table", "counterfeits", "rows", "values")


def open_release(
    folder: str | Path, *, orders: Mapping[str, Sequence[str]] | None = None, level: float = 0.9
) -> ReleaseEstimates:
    """The estimates of a published release; `orders` are needed only if the folder has no datapackage.json.

    Raises: InvalidParameter if the folder is no published release, or the order of a column is not known.
    """
    folder = Path(folder)
    own = _json(folder / DICTIONARY) or {}
    manifest, tables = _json(folder / MANIFEST), published_tables(folder)
    if manifest is None or not tables:
        raise InvalidParameter(Problem("the folder", f"hold {MANIFEST} and the tables of a release", str(folder)))
    dictionary = own or _json(folder.parent / DICTIONARY) or {}
    return ReleaseEstimates(
        **tables, manifest=manifest, dictionary=dictionary, orders=orders, sensitive=None, level=level
    )


def open_releases(
    folder: str | Path, *, orders: Mapping[str, Sequence[str]] | None = None, level: float = 0.9
) -> dict[str, ReleaseEstimates]:
    """The estimates of every release in the published folder of a series, in the order of the manifests' chain.

    Withdrawn releases are left out.
    """
    found: dict[str | None, tuple[str, str]] = {}
    for path in Path(folder).glob(f"*/{MANIFEST}"):
        text = path.read_bytes()
        found[json.loads(text).get("previous_manifest")] = (path.parent.name, hashlib.sha256(text).hexdigest())
    ordered, previous = [], None
    while previous in found:
        name, previous = found.pop(previous)
        ordered.append(name)
    there = [name for name in ordered if _has_tables(Path(folder) / name)]
    if not there:
        raise InvalidParameter(Problem("the folder", "hold the releases of a series, from the first on", str(folder)))
    opened = {name: open_release(Path(folder) / name, orders=orders, level=level) for name in there}
    values = {label for release in opened.values() for label in release.labels}
    return {name: release.knowing(values) for name, release in opened.items()}


def release_view(folder: str | Path) -> str:
    """The SQL of a DuckDB view with a weight for each row of a published release."""
    dictionary = _json(Path(folder) / DICTIONARY) or {}
    tables = published_tables(Path(folder))
    names = [path.name for path in Path(folder).iterdir()]
    listed = tables.get("values", tables.get("table"))
    columns = dictionary.get("reanon", {}).get("columns", {})
    intervals = {
        name: told.get("order") or str(told.get("kind")) for name, told in columns.items() if "least_width" in told
    }
    sensitive = next((name for name, told in columns.items() if told.get("role") == "sensitive"), None)
    types = {name: _types(dictionary, name) for name in names}
    return weighted_view(
        names, [] if listed is None else listed.column_names, sensitive=sensitive, types=types, intervals=intervals
    )


def published_tables(folder: Path) -> "dict[str, pa.Table]":
    """The tables of a published release that are there, from parquet where there is one."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    dictionary = _json(folder / DICTIONARY) or {}
    kinds = {"string": pa.string(), "integer": pa.int64(), "number": pa.float64(), "date": pa.date32()}
    found = {}
    for name in TABLES:
        if (folder / f"{name}.parquet").exists():
            found[name] = pyarrow.parquet.read_table(folder / f"{name}.parquet")
        elif (folder / f"{name}.csv").exists():
            types = {field: kinds[kind] for field, kind in _types(dictionary, f"{name}.csv").items() if kind in kinds}
            # A text such as 007 or NA stays as it is; only nothing is a missing value.
            options = pyarrow.csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
            found[name] = pyarrow.csv.read_csv(folder / f"{name}.csv", convert_options=options)
    return found


def _has_tables(folder: Path) -> bool:
    """Whether any table is there: a withdrawn release has none."""
    return any((folder / f"{name}.{ending}").exists() for name in TABLES for ending in ("parquet", "csv"))


def _types(dictionary: Mapping[str, Any], file: str) -> dict[str, str]:
    """The type of each field of a file, as the dictionary of the folder has it."""
    listed = [one for one in dictionary.get("resources", ()) if one.get("path") == file]
    fields = [field for one in listed for field in one.get("schema", {}).get("fields", ())]
    return {str(field.get("name")): str(field.get("type")) for field in fields}


def _json(path: Path) -> "dict[str, Any] | None":
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
