"""The store: it opens, every block can be read, its key is there, and it is not full of deleted rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reanon_core.model.errors import ReanonError, counted
from reanon_dagster.doctor.remark import Outcome, Remark, mended
from reanon_dagster.storage.compaction import compact
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.pseudonym_key import pseudonym_key
from reanon_dagster.storage.series_store import has_store, read_summary

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

FREE = 0.2
"""The share of free blocks above which a store is compacted."""


def blocks(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: ARG001, FBT001  an Examination
    """Every row of every table is read, so that a damaged block is noticed."""
    what = "the private store"
    if not has_store(series.private_folder):
        yield Remark(what, Outcome.SOUND, "there is no store yet")
        return
    try:
        with opened(series.private_folder, read_only=True) as connection:
            tables = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            rows = 0
            for schema, table in tables:
                # Names of our own tables. The hash reads every column.
                query = f'SELECT count(*), bit_xor(hash(t)) FROM "{schema}"."{table}" AS t'  # noqa: S608
                rows += (connection.execute(query).fetchone() or (0,))[0]
        key = pseudonym_key(series.private_folder, read_summary(series.private_folder).frozen.get("key"))
    except ReanonError as error:
        yield Remark(what, Outcome.WRONG, str(error))
        return
    size = counted(len(key) * 8, "bit", "bits")
    yield Remark(what, Outcome.SOUND, f"{counted(rows, 'row', 'rows')} in {len(tables)} tables; a key of {size}")


def free_blocks(series: "Series", repair: bool) -> Iterator[Remark]:  # noqa: FBT001  an Examination
    """Deleted rows stay in free blocks of the file until it is written anew."""
    what = "free blocks of the store"
    if not has_store(series.private_folder):
        return
    try:
        with opened(series.private_folder, read_only=True) as connection:
            found = connection.execute("SELECT free_blocks, total_blocks FROM pragma_database_size()").fetchone()
        free, total = found or (0, 0)
        if free <= FREE * total:
            yield Remark(what, Outcome.SOUND, f"{free} of {total}")
            return
        before, after = compact(series.private_folder) if repair else (0, 0)
    except ReanonError as error:
        yield Remark(what, Outcome.WRONG, str(error))
        return
    shrunk = f"; the file shrank from {before:,} to {after:,} bytes" if repair else ""
    yield mended(what, f"{free} of {total} held deleted rows{shrunk}", repaired=repair)
