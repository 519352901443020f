"""A person with a published folder, pandas and json, and nothing of reanon: decodes every interval of a release."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd


@dataclass(frozen=True, eq=False)
class Interval:
    """The values that a row may have in one column, as places on the column's own grid."""

    column: dict[str, Any]
    """What the dictionary says about the column."""
    places: range
    may_be_missing: bool
    node: str | None
    """The label of the taxonomy beside it, if there is one."""

    def holds(self, text: str) -> bool:
        """Whether a value, as a snapshot writes it, is in the interval."""
        return self.may_be_missing if text == "" else place(text, self.column) in self.places

    @property
    def labels(self) -> list[str]:
        """The categories in the interval."""
        return [self.column["order"][number] for number in self.places]


def package(folder: Path) -> dict[str, Any]:
    """The dictionary in a folder."""
    found: dict[str, Any] = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    return found


def table(folder: Path, resource: dict[str, Any]) -> pd.DataFrame:
    """A table of a release with the types that the dictionary gives its fields."""
    fields = resource["schema"]["fields"]
    if resource["format"] == "parquet":
        frame = pd.read_parquet(folder / resource["path"])
    else:
        types = {one["name"]: "string" for one in fields}
        frame = pd.read_csv(folder / resource["path"], dtype=types, keep_default_na=False, na_values=[""])
    assert list(frame.columns) == [one["name"] for one in fields]
    return frame.map(lambda value: None if pd.isna(value) else str(value)).astype(object)


def tables(folder: Path, name: str) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The resources of a table, one for each format, with their content as text."""
    for resource in package(folder)["resources"]:
        if resource["name"] == f"{name}-{resource['format']}":
            yield resource, table(folder, resource)


def place(text: str, column: dict[str, Any]) -> int:
    """The place of a value on the grid of its column: in the order, or in days, or in steps of the granularity."""
    if column["kind"] == "categorical":
        return int(column["order"].index(text))
    if column["kind"] == "date":
        return date.fromisoformat(text[:10]).toordinal()
    steps = Decimal(text) / Decimal(str(column["granularity"]))
    assert steps == int(steps)
    return int(steps)


def intervals(folder: Path, name: str) -> Iterator[tuple[str, list[Interval]]]:
    """Each quasi-identifier that a table shows, with the interval of every row; once for each format."""
    for resource, frame in tables(folder, name):
        columns = package(folder)["reanon"]["columns"]
        fields = {(one["reanon"].get("column"), one["reanon"]["role"]): one for one in resource["schema"]["fields"]}
        for column in dict.fromkeys(source for source, role in fields if role == "least"):
            own = [str(field["name"]) for (source, _), field in fields.items() if source == column]
            known: dict[tuple[Any, ...], Interval] = {}  # many rows share an interval, and one of dates is long
            listed = []
            for row in frame[own].to_dict("records"):
                key = tuple(row.values())
                if key not in known:
                    known[key] = _interval(row, str(column), fields, columns)
                listed.append(known[key])
            yield str(column), listed


def _interval(row: dict[str, Any], column: str, fields: dict[Any, Any], columns: dict[str, Any]) -> Interval:
    least, greatest = fields[column, "least"], fields[column, "greatest"]
    missing = fields.get((column, "missing"))
    word = "none" if missing is None else row[missing["name"]]
    node = fields.get((column, "node"))
    label = None if node is None else row[node["name"]]
    if word == "all":
        assert row[least["name"]] is row[greatest["name"]] is label is None
        return Interval(columns[column], range(0), may_be_missing=True, node=None)
    low, high = (place(row[one["name"]], columns[column]) for one in (least, greatest))
    return Interval(columns[column], range(low, high + 1), may_be_missing=word == "some", node=label)


def lowest_node(values: set[str], taxonomy: list[list[str]]) -> str:
    """The lowest node of a taxonomy that covers these leaves; the lines go from a leaf to the root."""
    leaves: dict[tuple[str, ...], set[str]] = {}
    for line in taxonomy:
        for depth in range(len(line)):
            leaves.setdefault(tuple(line[depth:]), set()).add(line[0])
    covering = [path for path, below in leaves.items() if values <= below]
    return max(covering, key=len)[0]
