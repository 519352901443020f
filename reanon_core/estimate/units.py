"""What a release says of its people: in which box they are, in which group, and which values the group shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.estimate.axis import NOWHERE, Axis, axis_of
from reanon_core.model.arrays import Bool, Float64, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.published_columns import COUNT, GROUP_ID

if TYPE_CHECKING:
    import pyarrow as pa

LEAST, GREATEST, SIGN = "_min", "_max", "_missing"
ROUNDS = 20
"""How often the rate of missing values is computed again from the boxes."""
LEAST_RATE = 1e-4


@dataclass(frozen=True, eq=False)
class Units:
    """People who share a group and a box: a whole group, or in the decoupled form a person."""

    low: Int64  # [d, u]
    high: Int64  # [d, u]
    known: Float64  # [d, u] the share of the people who have a value: 1, 0 if all lack it, or what is expected
    people: Float64  # [u] how many real people
    mates: Float64  # [u] how many people made the box what it is: its ends are the least and greatest of theirs
    group: Int64  # [u]
    spans_worlds: bool = False
    """Whether a box is the hull of one row's people in several worlds, not of people who are all there."""


@dataclass(frozen=True, eq=False)
class ShownValues:
    """The sensitive values of each group, counterfeits included."""

    labels: tuple[str, ...]
    group: Int64  # [e]
    value: Int64  # [e]
    count: Float64  # [e]
    total: Float64  # [g]
    counterfeits: Float64  # [g]

    def shares(self, asked: "np.ndarray[Any, Any]") -> Float64:
        """The share of each group's values that are asked for; `asked` is a mask over the labels."""
        found = sums(self.group, self.count * asked[self.value], len(self.total))
        return found / np.maximum(self.total, 1)


def sums(at: Int64, weight: Float64, number: int) -> Float64:
    """The sum of the weights at each of so many places."""
    added: Float64 = np.bincount(at, weight, minlength=number).astype(np.float64)
    return added


def read_axes(
    table: "pa.Table", described: Mapping[str, Mapping[str, Any]], orders: Mapping[str, Any]
) -> tuple[dict[str, Axis], dict[str, Problem]]:
    """The quasi-identifiers that a table shows, by name; and what is wrong with those that cannot be read."""
    names = [name[: -len(LEAST)] for name in table.column_names if name.endswith(LEAST)]
    shown = [name for name in names if name + GREATEST in table.column_names]
    axes, problems = {}, {}
    for name in shown:
        found = axis_of(name, table[name + LEAST], described.get(name, {}), orders.get(name))
        if isinstance(found, Axis):
            axes[name] = found
        else:
            problems[name] = found
    return axes, problems


def units_of_groups(
    table: "pa.Table", invented: "pa.Table | None", axes: Mapping[str, Axis], sensitive: str | None
) -> tuple[Units, ShownValues | None]:
    """The groups of a release in the form *boxes*: one unit each, with its counterfeits taken out."""
    group = _numbered(table)
    _, first, at = np.unique(group, return_index=True, return_inverse=True)
    total = np.bincount(at).astype(np.float64)
    counterfeits = np.zeros(len(total))
    if invented is not None and invented.num_rows:
        place = _places(group[first], _numbered(invented), "the counterfeits")
        counterfeits[place] = _counts(invented)
    people = total - counterfeits
    if (people < 0).any():
        raise InvalidParameter(
            Problem("the counterfeits", "be rows of the table, and a group has more of them than rows")
        )
    values = None if sensitive is None else _shown(table[sensitive], at, np.ones(len(at)), total, counterfeits)
    low, high, some = _boxes(table, axes)
    low, high, some = low[:, first], high[:, first], some[:, first]
    units = Units(low, high, _known(low, some, people, people), people, people, np.arange(len(first)))
    return units, values


def units_of_rows(
    table: "pa.Table", axes: Mapping[str, Axis], sensitive: str | None, worlds: int
) -> tuple[Units, ShownValues | None]:
    """The rows of a release without groups: one unit each; a box spans one person in each of so many worlds."""
    low, high, some = _boxes(table, axes)
    rows, one = np.arange(table.num_rows), np.ones(table.num_rows)
    mates = one * max(1, worlds)
    values = None if sensitive is None else _shown(table[sensitive], rows, one, one, np.zeros(len(rows)))
    return Units(low, high, _known(low, some, one, mates), one, mates, rows, spans_worlds=True), values


def units_of_people(
    rows: "pa.Table", shown: "pa.Table", axes: Mapping[str, Axis], sensitive: str
) -> tuple[Units, ShownValues]:
    """The people of a decoupled release: one unit each; those with the same box made it what it is."""
    names, of_value = np.unique(_numbered(shown), return_inverse=True)
    group = _places(names, _numbered(rows), "the rows")
    count = _counts(shown)
    total = sums(of_value, count, len(names))
    counterfeits = total - sums(group, np.ones(len(group)), len(names))
    low, high, some = _boxes(rows, axes)
    _, box, sharing = np.unique(np.vstack([low, high]), axis=1, return_inverse=True, return_counts=True)
    one, mates = np.ones(rows.num_rows), sharing[box.ravel()].astype(np.float64)
    units = Units(low, high, _known(low, some, one, mates), one, mates, group)
    return units, _shown(shown[sensitive], of_value, count, total, counterfeits)


def _shown(
    values: "pa.ChunkedArray", group: Int64, count: Float64, total: Float64, counterfeits: Float64
) -> ShownValues:
    import pyarrow as pa

    if values.null_count:
        raise InvalidParameter(Problem("the sensitive column", "have a value in every row"))
    listed = values.cast(pa.string()).combine_chunks().dictionary_encode()
    labels = tuple(str(label) for label in listed.dictionary.to_pylist())
    value = np.asarray(listed.indices, np.int64)
    keys, at = np.unique(group * len(labels) + value, return_inverse=True)
    entries = sums(at, count, len(keys))
    return ShownValues(labels, keys // len(labels), keys % len(labels), entries, total, counterfeits)


def _numbered(table: "pa.Table") -> Int64:
    if GROUP_ID not in table.column_names:
        raise InvalidParameter(Problem(GROUP_ID, "be a column of the table", ", ".join(table.column_names[:5])))
    return np.asarray(table[GROUP_ID], np.int64)


def _places(names: Int64, asked: Int64, what: str) -> Int64:
    """The place of each group in an ascending list of all groups."""
    foreign = asked[~np.isin(asked, names)]
    if len(foreign):
        rule = f"belong to groups of the other table, and {GROUP_ID} {foreign[0]} is not there"
        raise InvalidParameter(Problem(what, rule, help="give the tables of one release"))
    return np.searchsorted(names, asked)


def _counts(table: "pa.Table") -> Float64:
    if COUNT not in table.column_names:
        raise InvalidParameter(Problem(COUNT, "be a column of the table", ", ".join(table.column_names[:5])))
    return np.asarray(table[COUNT], np.float64)


def _boxes(table: "pa.Table", axes: Mapping[str, Axis]) -> tuple[Int64, Int64, Bool]:
    """The ends of every row's box, and where some of its people lack the value."""
    rows = table.num_rows
    low, high, some = (np.zeros((len(axes), rows), kind) for kind in (np.int64, np.int64, np.bool_))
    for at, axis in enumerate(axes.values()):
        low[at], high[at] = axis.codes(table[axis.name + LEAST]), axis.codes(table[axis.name + GREATEST])
        if (low[at] > high[at]).any():
            rule = "be in the order in which its intervals run, and an interval begins after it ends"
            raise InvalidParameter(Problem(f"the values of {axis.name}", rule, help="correct its order"))
        if axis.name + SIGN in table.column_names:
            some[at] = np.asarray(table[axis.name + SIGN].to_pylist(), dtype=object) == "some"
    return low, high, some


def _known(low: Int64, some: Bool, people: Float64, mates: Float64) -> Float64:
    """The share of the people of each box who have a value.

    Where some lack it, one at least does and one does not. How many is estimated with how often it is missing in all
    boxes, which is computed from them in turn.
    """
    has = low != NOWHERE
    known: Float64 = has.astype(np.float64)
    mates = np.maximum(mates, 2)
    for column in np.flatnonzero(some.any(axis=1)):
        for _ in range(ROUNDS):
            rate = min(
                max(1 - float(people @ known[column]) / max(float(people.sum()), 1.0), LEAST_RATE), 1 - LEAST_RATE
            )
            possible = 1 - (1 - rate) ** mates - rate**mates
            lacking = (rate - rate**mates) / np.maximum(possible, 1e-300)
            known[column] = np.where(some[column], 1 - lacking, has[column])
    return known
