"""Everyone who was in a snapshot, selected for its release, and the forms of their ids; as keyed pseudonyms.

A form has an entry of its own only where the id is not written in it. People are added at the end of the table, so that
a release costs what its new people take.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Int64, forget_pages, slices
from reanon_core.tables.id_forms import NewIds
from reanon_dagster.storage.memory_tables import BATCH

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

PEOPLE_AT_ONCE = 1_000_000
FORM = "coalesce(form, person)"


@dataclass(frozen=True, eq=False)
class StoredPeople:
    """The known people of a store, as `KnownPeople`."""

    connection: "duckdb.DuckDBPyConnection"

    def person_batches(self) -> Iterator[Int64]:
        """Their pseudonyms, some at a time."""
        return self._words("SELECT person AS word FROM private.known_people")

    def form_batches(self, part: int, parts: int) -> Iterator[Int64]:
        """The pseudonyms of the forms of a part, some at a time."""
        where = "" if parts == 1 else f" WHERE {FORM} & {int(parts - 1)} = {int(part)}"
        return self._words(f"SELECT {FORM} AS word FROM private.known_people{where}")  # noqa: S608  numbers

    def _words(self, query: str) -> Iterator[Int64]:
        for batch in self.connection.execute(query).to_arrow_reader(PEOPLE_AT_ONCE):
            yield np.asarray(batch["word"].to_numpy(), dtype=np.int64)


def write_new_people(connection: "duckdb.DuckDBPyConnection", new: NewIds) -> None:
    """Add the people of a release who are new."""
    import pyarrow as pa

    schema = pa.schema([("person", pa.int64()), ("form", pa.int64())])
    connection.register("new_people", pa.RecordBatchReader.from_batches(schema, _batches(new, schema)))
    connection.execute("INSERT INTO private.known_people SELECT person, form FROM new_people")
    connection.unregister("new_people")


def _batches(new: NewIds, schema: "pa.Schema") -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    ids = new.ids
    for part in slices(len(ids.persons)):
        kept = np.flatnonzero(new.fresh[part])
        persons, forms = ids.persons[part][kept], ids.forms[part][kept]
        rows = [pa.array(persons), pa.array(forms, mask=forms == persons)]
        forget_pages(ids.persons, ids.forms)
        yield from pa.table(rows, schema=schema).to_batches(BATCH)


def erase_person(connection: "duckdb.DuckDBPyConnection", person: int) -> None:
    """Delete a person with the form of their id; a form of others that is the same word is deleted, too."""
    connection.execute("DELETE FROM private.known_people WHERE person = ?", [person])
    connection.execute("UPDATE private.known_people SET form = NULL WHERE form = ?", [person])
