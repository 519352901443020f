"""How many different numbers a long column has, in any order: DuckDB counts them, on disk if it must."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.arrays import Int64
from reanon_dagster.judges.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

PRIVATE_FOLDER = 0o700
LEAST_MEMORY = 16 << 20
"""DuckDB does not work with less."""


def distinct_numbers(numbers: Int64, space: Workspace) -> int:
    """How many different numbers there are."""
    import pyarrow as pa

    if not len(numbers):
        return 0
    with connection(space) as duck:
        duck.register("numbers", pa.table({"number": numbers}))
        found = duck.execute("SELECT count(*) FROM (SELECT DISTINCT number FROM numbers)").fetchone()
    return int(found[0]) if found else 0


@contextmanager
def connection(space: Workspace) -> "Iterator[duckdb.DuckDBPyConnection]":
    """A connection to no file, whose temporary files are in a private folder that is deleted at the end."""
    import duckdb

    spill = Path(space.folder.new_path("spill"))
    spill.mkdir(mode=PRIVATE_FOLDER)
    mask = os.umask(0o077)
    try:
        duck = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": f"{max(LEAST_MEMORY, space.part_bytes) >> 10}KiB",
                "temp_directory": str(spill),
                "autoinstall_known_extensions": "false",
                "preserve_insertion_order": "false",
            },
        )
        try:
            yield duck
        finally:
            duck.close()
    finally:
        os.umask(mask)
        shutil.rmtree(spill)
