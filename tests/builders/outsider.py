"""A person with a published folder, pandas and json, and nothing of reanon: decodes every interval of a release."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

READERS = {"parquet": pd.read_parquet, "csv": pd.read_csv}


@dataclass(frozen=True)
class Interval:
    """The values that a row may have in one column."""

    values: frozenset[Any]
    """Numbers as Decimal, dates, labels."""
    may_be_missing: bool
    node: str | None
    """The label of the taxonomy beside it, if there is one."""


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


def value(text: str, kind: str) -> Any:
    """A text of a table in the type of its field."""
    if kind == "date":
        return date.fromisoformat(text[:10])
    return text if kind == "string" else Decimal(text)


def between(low: Any, high: Any, column: dict[str, Any]) -> frozenset[Any]:
    """All values from one end to the other, both included, by the dictionary's word for the column."""
    if column["kind"] == "categorical":
        order = column["order"]
        return frozenset(order[order.index(low) : order.index(high) + 1])
    if column["kind"] == "date":
        return frozenset(low + timedelta(days=number) for number in range((high - low).days + 1))
    step = Decimal(str(column["granularity"]))
    steps = (high - low) / step
    assert steps == int(steps)
    return frozenset(low + number * step for number in range(int(steps) + 1))


def intervals(folder: Path, name: str) -> Iterator[tuple[str, list[Interval]]]:
    """Each quasi-identifier that a table shows, with the interval of every row; once for each format."""
    for resource, frame in tables(folder, name):
        columns = package(folder)["reanon"]["columns"]
        fields = {(one["reanon"].get("column"), one["reanon"]["role"]): one for one in resource["schema"]["fields"]}
        for column in dict.fromkeys(source for source, role in fields if role == "least"):
            yield str(column), [_interval(row, str(column), fields, columns) for row in frame.to_dict("records")]


def _interval(row: dict[str, Any], column: str, fields: dict[Any, Any], columns: dict[str, Any]) -> Interval:
    least, greatest = fields[column, "least"], fields[column, "greatest"]
    missing = fields.get((column, "missing"))
    word = "none" if missing is None else row[missing["name"]]
    node = fields.get((column, "node"))
    label = None if node is None else row[node["name"]]
    if word == "all":
        assert row[least["name"]] is row[greatest["name"]] is label is None
        return Interval(frozenset(), may_be_missing=True, node=None)
    low, high = (value(row[one["name"]], one["type"]) for one in (least, greatest))
    return Interval(between(low, high, columns[column]), may_be_missing=word == "some", node=label)


def lowest_node(values: frozenset[Any], taxonomy: list[list[str]]) -> str:
    """The lowest node of a taxonomy that covers these leaves; the lines go from a leaf to the root."""
    leaves: dict[tuple[str, ...], set[str]] = {}
    for line in taxonomy:
        for depth in range(len(line)):
            leaves.setdefault(tuple(line[depth:]), set()).add(line[0])
    covering = [path for path, below in leaves.items() if values <= below]
    return max(covering, key=len)[0]
