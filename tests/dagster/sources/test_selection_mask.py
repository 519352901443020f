"""Selections are evaluated in memory alone."""

from contextlib import closing

import duckdb
import pytest

from reanon_dagster.sources.selection_mask import SETTINGS


def test_a_selection_that_needs_more_memory_fails_instead_of_writing_rows_into_the_working_folder() -> None:
    with closing(duckdb.connect(":memory:", config={**SETTINGS, "memory_limit": "20MB"})) as connection:
        with pytest.raises(duckdb.OutOfMemoryException):
            connection.execute("CREATE TABLE large AS SELECT range AS row, md5(range::text) AS t FROM range(3000000)")
        written = connection.execute("SELECT count(*) FROM duckdb_temporary_files()").fetchone()
    assert written == (0,)
