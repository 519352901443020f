"""A process that reads one Stata, SPSS or SAS file: a damaged one can crash the C library that parses it.

Its input is a line of JSON and the file; its output is an Arrow stream. It writes nothing else, anywhere.
"""

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

COMMAND = (sys.executable, "-m", "reanon_dagster.sources.kinds.readstat_process")
_NAMES = b"names"


def parse_apart(content: bytes, columns: Sequence[str], *, function: str, labels: bool) -> "pa.Table | None":
    """The file's table with those of the columns that exist, parsed in a process of its own; None if that fails."""
    import pyarrow as pa

    request = json.dumps({"columns": list(columns), "function": function, "labels": labels}).encode()
    ran = subprocess.run(  # noqa: S603  our own module
        COMMAND, input=request + b"\n" + content, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    if ran.returncode:
        return None
    with pa.ipc.open_stream(ran.stdout) as stream:
        return stream.read_all()


def column_names(table: "pa.Table") -> list[str]:
    """The names of all columns of the file."""
    return list(json.loads(table.schema.metadata[_NAMES]))


def _parsed(content: bytes, *, columns: Sequence[str], function: str, labels: bool) -> "pa.Table":
    import pyarrow as pa
    import pyreadstat

    read = getattr(pyreadstat, function)
    _, head = read(io.BytesIO(content), metadataonly=True, output_format="dict")
    present = [name for name in columns if name in head.column_names]
    values, found = read(io.BytesIO(content), usecols=present, output_format="dict") if present else ({}, head)
    if labels:
        values = {name: _labelled(column, found.variable_value_labels.get(name)) for name, column in values.items()}
    arrays = {name: pa.array(values[name], from_pandas=True) for name in present}
    return pa.table(arrays).replace_schema_metadata({_NAMES: json.dumps(head.column_names).encode()})


def _labelled(column: list[Any], labels: dict[Any, str] | None) -> list[Any]:
    """The labels of the values; a value without a label as it is, where no value has one the column itself."""
    if not labels or not any(value in labels for value in column):
        return column
    return [labels.get(value, _plain(value)) for value in column]


def _plain(value: Any) -> Any:
    """A number as text, whole where it is whole: a column of labels is text."""
    if not isinstance(value, float):
        return value
    return str(int(value)) if value.is_integer() else str(value)


def main() -> None:
    """Read a request from standard input and write its table to standard output."""
    import resource

    import pyarrow as pa

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold the rows
    request = json.loads(sys.stdin.buffer.readline())
    table = _parsed(sys.stdin.buffer.read(), **request)
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
        stream.write_table(table)


if __name__ == "__main__":
    main()
