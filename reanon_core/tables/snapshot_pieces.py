"""From batches of a table of people to a coded snapshot in columns on disk, with the memory of one batch."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import Column, ColumnFolder
from reanon_core.engine.pieces import Pieces, read_pieces, write_pieces
from reanon_core.model.arrays import MISSING, AnyArray, Int32
from reanon_core.model.coding import Coded
from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems, require
from reanon_core.model.release import UNPUBLISHED
from reanon_core.model.schema import Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.tables.arrow_columns import coded_column, coded_other, coded_sensitive
from reanon_core.tables.id_forms import WrittenIds, row_forms
from reanon_core.tables.ids import SIGN, empty_problems, row_persons

if TYPE_CHECKING:
    import pyarrow as pa

PERSON, FORM, ROW = "person", "form", "row"
MOST_BITS = 12
"""The most leading bits of a pseudonym that select its part: more parts would be many small reads."""
SPREAD = 10
"""By how many standard deviations a part may exceed its share before its rows are taken for repeated ids."""


class SnapshotPieces:
    """The rows of a table in pieces by the leading bits of their pseudonyms: those of a part are sorted together.

    `schema` knows the values of earlier releases, and `rows` is the most that the table may have.
    """

    def __init__(
        self, schema: Schema, *, id_column: str, key: bytes, folder: ColumnFolder, rows: int, chunk_rows: int
    ) -> None:
        self._schema, self._id, self._key, self._folder = schema, id_column, key, folder
        self._bits = min(MOST_BITS, max(0, (-(-rows // chunk_rows) - 1)).bit_length())
        self._sensitive = schema.sensitive
        self._other = [
            Sensitive(name=name, values=values) for name, values in zip(schema.other, schema.other_values, strict=True)
        ]
        self._written: list[Pieces] = []
        self._columns: list[Column] = []
        self.rows = 0
        """The number of rows so far."""

    def add(self, data: "dict[str, pa.ChunkedArray]") -> None:
        """Code the next rows, given by their columns, and write them to disk.

        Raises: InvalidSnapshot with every problem of these rows; its row numbers count from the first of them.
        """
        found: list[Problem] = []
        rows: dict[str, AnyArray] = {}
        ids = data.pop(self._id)
        people = collect_problems(found, row_persons, self._id, ids, self._key)
        for number, column in enumerate(self._schema.quasi_identifiers):
            if column.name in data:
                coded = collect_problems(found, partial(coded_column, column), data.pop(column.name))
                _keep(rows, f"q{number}", coded, found)
        secret = collect_problems(found, coded_sensitive, self._sensitive, data.pop(self._sensitive.name))
        if secret is not None:
            self._sensitive = secret[1]
            _keep(rows, "sensitive", secret[0], found)
        for number, known in enumerate(self._other):
            if known.name in data and (one := collect_problems(found, coded_other, known, data.pop(known.name))):
                self._other[number] = one[1]
                _keep(rows, f"o{number}", one[0], found)
        if people is not None:
            found += empty_problems(self._id, people[1])
        require(found, InvalidSnapshot)
        if people is None:
            raise AssertionError("ids without problems have pseudonyms")
        rows[FORM] = row_forms(self._id, ids, people[0], self._key)
        rows[ROW] = np.arange(self.rows, self.rows + len(people[0]), dtype=np.int32)
        part = np.zeros(len(people[0]), np.int32)
        if self._bits:
            part = ((people[0].view(np.uint64) ^ SIGN) >> np.uint64(64 - self._bits)).astype(np.int32)
        path = self._folder.new_path("rows")
        self._written.append(write_pieces(path, part, 1 << self._bits, {PERSON: people[0], **rows}))
        self.rows += len(part)

    def snapshot(self, columns: tuple[str, ...] | None) -> tuple[Snapshot, WrittenIds]:
        """The snapshot of all rows and how its ids are written, whose arrays are mapped; the pieces are removed.

        Raises: InvalidSnapshot if ids are repeated; it does not say in which rows.
        """
        schema, count = self._schema, self.rows
        persons, qi, sensitive, other, forms, places = self._columns = [
            self._folder.created("persons", np.int64, (count,)),
            self._folder.created("qi", np.int32, (len(schema.quasi_identifiers), count)),
            self._folder.created("sensitive", np.int32, (count,)),
            self._folder.created("other", np.int32, (len(schema.other), count)),
            self._folder.created("forms", np.int64, (count,)),
            self._folder.created("rows", np.int32, (count,)),
        ]
        recoded = _final_codes(schema.sensitive.values, self._sensitive.values)
        other_recoded = [
            _final_codes(known, grown.values) for known, grown in zip(schema.other_values, self._other, strict=True)
        ]
        start = 0
        for part in range(1 << self._bits) if self._written else ():
            rows = self._part(part)
            stop = start + len(rows[PERSON])
            persons.write(start, rows[PERSON])
            forms.write(start, rows[FORM])
            places.write(start, rows[ROW])
            qi.write(start, _stacked([rows.get(f"q{i}") for i in range(qi.shape[0])], stop - start, MISSING))
            sensitive.write(start, recoded[rows["sensitive"]])
            codes = [rows.get(f"o{i}") for i in range(other.shape[0])]
            codes = [None if one is None else table[one] for one, table in zip(codes, other_recoded, strict=True)]
            other.write(start, _stacked(codes, stop - start, UNPUBLISHED))
            start = stop
        self._remove_pieces()
        grown_schema = schema.with_sensitive_values(_grown(schema.sensitive.values, self._sensitive.values))
        grown_schema = grown_schema.with_other_values(
            tuple(_grown(known, one.values) for known, one in zip(schema.other_values, self._other, strict=True))
        )
        arrays: dict[str, Any] = {
            "persons": persons.mapped(),
            "qi": qi.mapped(),
            "sensitive": sensitive.mapped(),
            "other": other.mapped(),
        }
        snapshot = Snapshot(grown_schema, **arrays, columns=columns)
        mapped: list[Any] = [forms.mapped(), places.mapped()]
        return snapshot, WrittenIds(snapshot.persons, *mapped)

    def remove(self) -> None:
        """Remove every file."""
        self._remove_pieces()
        for column in self._columns:
            Path(column.path).unlink(missing_ok=True)
        self._columns.clear()

    def _part(self, part: int) -> dict[str, AnyArray]:
        """The rows of a part in ascending order of person."""
        from reanon_core.kernels.orders import uniform_order

        count = sum(one.starts[part + 1] - one.starts[part] for one in self._written)
        share = self.rows / (1 << self._bits)
        if count > share + SPREAD * share**0.5 + 100:  # pseudonyms are spread evenly; those of one id are not
            raise self._repeated()
        rows = read_pieces(self._written, part)
        # The leading bits are the same for all rows of the part, and the order must not begin with them.
        order = uniform_order((rows[PERSON].view(np.uint64) ^ SIGN) << np.uint64(self._bits))
        ascending = rows.pop(PERSON)[order]
        if (ascending[1:] == ascending[:-1]).any():
            raise self._repeated()
        return {PERSON: ascending} | {name: codes[order] for name, codes in rows.items()}

    def _repeated(self) -> InvalidSnapshot:
        advice = "a snapshot has one row per person; count the rows of each id in the source"
        return InvalidSnapshot(Problem(self._id, "be unique in a snapshot", help=advice))

    def _remove_pieces(self) -> None:
        for one in self._written:
            Path(one.path).unlink(missing_ok=True)
        self._written.clear()


def _keep(rows: dict[str, AnyArray], name: str, coded: Coded | None, problems: list[Problem]) -> None:
    if coded is not None:
        problems += coded.problems
        rows[name] = coded.codes


def _grown(known: Sequence[str], found: Sequence[str]) -> tuple[str, ...]:
    """The known values, and behind them the new ones of all batches in sorted order."""
    return (*known, *sorted(found[len(known) :]))


def _final_codes(known: Sequence[str], found: Sequence[str]) -> Int32:
    """The final code of each code that was given while new values were still being found."""
    number = {value: code for code, value in enumerate(_grown(known, found))}
    return np.array([number[value] for value in found], dtype=np.int32)


def _stacked(columns: Sequence[AnyArray | None], rows: int, absent: int) -> Int32:
    stacked = np.full((len(columns), rows), absent, dtype=np.int32)
    for number, column in enumerate(columns):
        if column is not None:
            stacked[number] = column
    return stacked
