"""Arrow files, which Feather files are too, and Arrow streams; with the types that they store."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.sources.kinds.column_names import require_once

if TYPE_CHECKING:
    import pyarrow as pa

_FILE = b"ARROW1"
_FEATHER_1 = b"FEA1"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def read_arrow(content: bytes, columns: Sequence[str], label: str) -> tuple["pa.Table", list[str]]:
    """Those of the columns that exist, and the names of all columns.

    Raises: InvalidSnapshot if this is no Arrow file or stream, or one with a column twice.
    """
    import pyarrow as pa

    if content.startswith(_FEATHER_1):
        raise InvalidSnapshot(Problem(label, "be a Feather file of version 2", help="write it again with version 2"))
    try:
        table = _table(content)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        advice = "it is damaged, cut off or of another kind; write it again"
        raise InvalidSnapshot(Problem(label, "be an Arrow file that can be read", help=advice)) from None
    names = list(table.column_names)
    require_once(names, columns, label)
    return table.select([name for name in columns if name in names]), names


def _table(content: bytes) -> "pa.Table":
    import pyarrow as pa

    is_file = content.startswith(_FILE)
    if not is_file and not content.endswith(_END_OF_STREAM):
        raise ValueError("a stream that was cut between two batches would be read without its end")
    with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(pa.BufferReader(content)) as reader:
        return reader.read_all()
