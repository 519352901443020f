"""What a column is, as data and in words: its role, its values and their order, how wide its intervals are."""

from datetime import date
from decimal import Decimal

from reanon_core.model.coding import plain
from reanon_core.model.published_columns import PublishedColumn, Role
from reanon_core.model.schema import SHARE, SMALLEST, Ends, Kind, QuasiIdentifier, Schema, Sensitive
from reanon_core.recoding.bins import BINS_GROW, grid_of

EPOCH = date(1970, 1, 1).toordinal()


def column_dictionary(schema: Schema) -> dict[str, dict[str, object]]:
    """Each column of a schema, by name, as its series file declares it."""
    columns = {column.name: described_column(column) for column in schema.quasi_identifiers}
    columns[schema.sensitive.name] = _described_sensitive(schema.sensitive)
    return columns | {name: {"role": "non-identifier"} for name in schema.other}


def described_column(column: QuasiIdentifier) -> dict[str, object]:
    """A quasi-identifier: everything that is needed to list the values of an interval."""
    described: dict[str, object] = {
        "role": "quasi-identifier",
        "kind": column.kind.value,
        "least_width": number(column.min_width * column.granularity),
        "missing": column.missing.value,
    }
    if column.kind is Kind.NUMERIC:
        described["granularity"] = number(column.granularity)
    if column.taxonomy is not None:
        described["order"] = list(column.taxonomy.leaves)
        if column.hierarchical:
            described["taxonomy"] = [list(path) for path in column.taxonomy.paths]
    elif column.domain is not None:
        described["domain"] = [_value(column, code) for code in column.domain]
    if column.ends is Ends.GRID:
        described["bins"] = described_bins(column)
    return described


def described_bins(column: QuasiIdentifier) -> dict[str, object]:
    """The bins at which intervals begin and end, in the column's own unit."""
    grid = grid_of(column)
    if grid is None or column.kind is Kind.CATEGORICAL:
        return {"values": column.min_width}
    if grid.width == BINS_GROW:
        return {"share": f"1/{SHARE}", "least": plain(SMALLEST * column.granularity)}
    if column.kind is Kind.DATE:
        return {"days": grid.width, "from": str(date.fromordinal(EPOCH + grid.origin))}
    return {"width": plain(grid.width * column.granularity), "from": plain(grid.origin * column.granularity)}


def number(value: Decimal) -> int | float:
    """A number as JSON has it."""
    return int(value) if value == value.to_integral_value() else float(value)


def _described_sensitive(column: Sensitive) -> dict[str, object]:
    """The sensitive column; its values only where they are declared, because others may be in no published row."""
    described: dict[str, object] = {"role": "sensitive"}
    if column.closed:
        described["values"] = list(column.values)
    if column.taxonomy is not None:
        described["taxonomy"] = [list(path) for path in column.taxonomy.paths]
    return described


def _value(column: QuasiIdentifier, code: int) -> int | float | str:
    if column.kind is Kind.DATE:
        return str(date.fromordinal(EPOCH + code))
    return number(code * column.granularity)


_MEANINGS = {
    Role.GROUP: "the group of the row; numbers are random and mean nothing across releases",
    Role.LEAST: "where the interval of `{}` begins",
    Role.GREATEST: "where the interval of `{}` ends; this value belongs to the interval",
    Role.NODE: "the lowest node of the taxonomy of `{}` that covers the interval",
    Role.MISSING: "whether none, some or all people in the box lack a value of `{}`",
    Role.SENSITIVE: "the sensitive value",
    Role.OTHER: "published unchanged",
}


def meaning_of(column: PublishedColumn) -> str:
    """One phrase for a column of a published table."""
    return _MEANINGS[column.role].format(column.source)
