"""A release as the checks that are queries see it: tables of the ledger, filled once for all of them.

| table | one row for | columns |
|---|---|---|
| `published` | a published row | `row`, `group_id`, `value`; `other_0` … |
| `boxes` | a group | `group_id`; `low_0`, `high_0`, `missing_0` … for each quasi-identifier |
| `counterfeits` | an entry of the published counts | `place`, `group_id`, `count` |
| `snapshot` | a person of the table | `person`, `own_value`, `invented`; `qi_0` …, `own_other_0` … |
| `trace` | a published person | `person`, `row`; `person_row` if the release is decoupled |
| `person_rows`, `person_boxes` | a row or a box of a decoupled release | `row`, `group_id`, `box`; as `boxes` |
| `shown` | a published row and a person who is traced to it, if any | those of `published` and `trace` |
| `groups` | a group, also one without rows | `group_id`, `size`, `distinct_values`, `most`, `signature` |

Values are codes. The first seven are the release as it is, flaws and all; the last two are queries over them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from reanon_core.checks.readable import silent, unreadable
from reanon_core.engine.tables import Room, Tables, opened_tables
from reanon_core.model.arrays import AnyArray, Int32
from reanon_core.model.ledger import Entry
from reanon_core.model.release import Boxes
from reanon_core.model.snapshot import INVENTED, Snapshot
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

NAMES = re.compile(r'"[^"]*"|\$?\w+')
WORD = 64
"""Sets of so many values are numbers with a bit for each value; larger ones are lists."""

SHOWN = "SELECT * FROM published LEFT JOIN trace USING (row)"
"""Every row with its person. Paper: [XT07] Definition 2, the generalized hosting group."""
GROUPS = """
WITH sets AS (SELECT group_id, count(*) AS size, {signature} AS signature FROM published GROUP BY group_id),
     repeated AS (SELECT group_id, max(n) AS most
                  FROM (SELECT group_id, value, count(*) AS n
                        FROM published SEMI JOIN (SELECT group_id FROM sets WHERE size > {distinct}) USING (group_id)
                        GROUP BY group_id, value)
                  GROUP BY group_id)
SELECT group_id, coalesce(size, 0) AS size, coalesce({distinct}, 0) AS distinct_values,
       CASE WHEN size IS NULL THEN 0 ELSE coalesce(most, 1) END AS most, signature
FROM boxes LEFT JOIN sets USING (group_id) LEFT JOIN repeated USING (group_id)
"""
"""The groups: how many rows they have, how many different values, and how many rows with the most frequent value."""


@dataclass(frozen=True, eq=False)
class JudgedRelease:
    """One release with the truth behind it, and its tables."""

    entry: Entry
    room: Room | None
    _opened: ExitStack = field(repr=False)

    @property
    def snapshot(self) -> Snapshot:
        """The table that was published."""
        return self.entry.snapshot

    @property
    def groups(self) -> int:
        """The number of groups, those without rows included."""
        return self.entry.release.boxes.count

    @property
    def values(self) -> int:
        """The number of sensitive values known so far."""
        return len(self.entry.snapshot.schema.sensitive.values)

    @property
    def signature(self) -> str:
        """The aggregate that makes one number or list of the different values in a column `value`.

        Paper: [XT07] Definition 16. Not a hash: equal sets have equal signatures, and no others.
        """
        return "bit_or(1::UBIGINT << value)" if self.values <= WORD else "list_sort(list(DISTINCT value))"

    @cached_property
    def silent(self) -> bool:
        """Whether the release shows no sensitive value, so that a rule about values has nothing to judge."""
        return silent(self.entry)

    @cached_property
    def unreadable(self) -> int:
        """How many numbers of the release and its trace refer to nothing, so that no rule can be judged."""
        return unreadable(self.entry)

    def numbers(self, query: str, **values: object) -> dict[str, Any]:
        """The one row of a query, in which `$groups` and `$rows` are how many there are."""
        known, named = {"groups": self.groups, "rows": self.entry.release.size, **values}, NAMES.findall(query)
        given = {name: value for name, value in known.items() if f"${name}" in named}
        return self._tables_of(query).numbers(query, **given)

    def number(self, query: str, **values: object) -> int:
        """The one number of a query."""
        (found,) = self.numbers(query, **values).values()
        return int(found or 0)

    def arrays(self, query: str) -> dict[str, AnyArray]:
        """The columns of a query that has few rows."""
        return self._tables_of(query).arrays(query)

    def long_arrays(self, query: str, order: str) -> dict[str, AnyArray]:
        """The columns of a query that has a row for each person, in this order."""
        return self._tables_of(query).long_arrays(query, order)

    def add(self, name: str, columns: Mapping[str, AnyArray]) -> None:
        """A table over arrays."""
        self._tables.add(name, columns)

    def create(self, name: str, query: str, **values: object) -> None:
        """A table with the rows of a query."""
        self._tables_of(query).create(name, query, **values)

    def view(self, name: str, query: str) -> None:
        """A name for a query."""
        self._tables_of(query).view(name, query)

    def _tables_of(self, query: str) -> Tables:
        """The tables, with those that a query names among them."""
        for name in self._waiting.keys() & set(NAMES.findall(query)):
            make = self._waiting.pop(name, None)  # an earlier one may have made it
            if make is not None:
                make()
        return self._tables

    @cached_property
    def _tables(self) -> Tables:
        return self._opened.enter_context(opened_tables(self.room))

    @cached_property
    def _waiting(self) -> dict[str, Callable[[], None]]:
        """How to make each table that no query has named so far."""
        release, trace, auxiliary = self.entry.release, self.entry.trace, self.entry.auxiliary
        distinct = "bit_count(signature)" if self.values <= WORD else "len(signature)"
        signature, distinct = ("NULL", "1") if self.silent else (self.signature, distinct)
        rows = {"group_id": release.group, "value": release.sensitive, **_each("other", release.other)}
        counts = {"group_id": auxiliary.group, "count": auxiliary.count}
        waiting = {
            "published": lambda: self.add("published", {"row": _places(release.size), **rows}),
            "boxes": lambda: self.add("boxes", _box_columns("group_id", release.boxes)),
            "counterfeits": lambda: self.add("counterfeits", {"place": _places(len(auxiliary.group)), **counts}),
            "snapshot": self._add_snapshot,
            "trace": lambda: self.add("trace", {"person": trace.persons, "row": trace.rows, **self._person_row()}),
            "shown": lambda: self.create("shown", SHOWN),
            "groups": lambda: self.create("groups", GROUPS.format(signature=signature, distinct=distinct)),
        }
        if (own := release.person_rows) is not None:
            people = {"group_id": own.group, "box": own.box}
            waiting["person_rows"] = lambda: self.add("person_rows", {"row": _places(len(own.box)), **people})
            waiting["person_boxes"] = lambda: self.add("person_boxes", _box_columns("box", own.boxes))
        return waiting

    def _add_snapshot(self) -> None:
        snapshot = self.snapshot
        people: dict[str, AnyArray] = {"person": snapshot.persons, "own_value": snapshot.sensitive}
        origin: dict[str, AnyArray] = {} if snapshot.origin is None else {"origin": snapshot.origin}
        self.add("people", {**people, **origin, **_each("qi", snapshot.qi), **_each("own_other", snapshot.other)})
        invented = "false" if snapshot.origin is None else f"origin = {INVENTED}"
        self._tables.view("snapshot", f"SELECT *, {invented} AS invented FROM people")

    def _person_row(self) -> dict[str, AnyArray]:
        shown = self.entry.trace.person_rows
        return {} if shown is None or len(shown) != len(self.entry.trace.rows) else {"person_row": shown}


@contextmanager
def judged_release(entry: Entry, room: Room | None = None) -> Iterator[JudgedRelease]:
    """A release to be judged. Its tables are filled when a check asks for them."""
    with ExitStack() as opened:
        yield JudgedRelease(entry, room, opened)


class QueryCheck:
    """A check that judges by queries."""

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """The verdict on this release given the past, and what to remember of both."""
        raise NotImplementedError

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """The same with tables for this check alone."""
        with judged_release(entry) as release:
            return self.judge(release, memory)


def _places(count: int) -> Int32:
    return np.arange(count, dtype=np.int32)


def _each(name: str, columns: Int32) -> dict[str, AnyArray]:
    return {f"{name}_{number}": column for number, column in enumerate(columns)}


def _box_columns(number: str, boxes: Boxes) -> Mapping[str, AnyArray]:
    sides = {**_each("low", boxes.low), **_each("high", boxes.high), **_each("missing", boxes.missing)}  # type: ignore[arg-type]
    return {number: _places(boxes.count), **sides}
