"""What is published against the ledger: files, manifests, and the rows in the tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import counted
from reanon_core.model.ledger import Entry
from reanon_core.tables.release_table import PART_ROWS, counterfeit_table, published_tables, release_parts
from reanon_dagster.releasing.integrity import ahead_flaws, ledger_of
from reanon_dagster.storage.series_store import held_summary
from reanon_dagster.verification.published_chain import (
    file_flaws,
    ledger_flaws,
    read_chain,
    verify_published,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from reanon_dagster.series.series import Series


def published_flaws(series: "Series") -> tuple[list[str], list[str]]:
    """How the published folder differs from its manifests and the ledger, and where the private side is older.

    Then, apart from that, what does not belong there and harms nothing that does.

    Every file is read, once. Meanwhile no other process publishes.
    """
    with held_summary(series.private_folder) as summary:
        if not summary.records and not series.published_folder.exists():
            return [], []
        chain = verify_published(series.published_folder)
        flaws = (*chain.flaws, *ledger_flaws(chain, ledger_of(summary.records)))
        wrong = [*(flaw.sentence for flaw in flaws if not flaw.stray), *ahead_flaws(series, summary, chain)]
        return wrong, [flaw.sentence for flaw in flaws if flaw.stray]


def release_flaws(series: "Series", release: str) -> list[str]:
    """How the published files of a release, and the chain up to it, differ from the ledger.

    All manifests are read, and no other file than those of this release. What is wrong with later releases is left to
    their own audits. Meanwhile no other process publishes.
    """
    with held_summary(series.private_folder) as summary:
        chain = read_chain(series.published_folder)
        ledger = ledger_of(summary.records)
    names = [one.release for one in ledger]
    later = set(names[names.index(release) + 1 :])
    found = [*chain.flaws, *ledger_flaws(chain, ledger)]
    for manifest in chain.manifests:
        if manifest.folder == release:
            found += file_flaws(series.published_folder / release, manifest)
    return [flaw.sentence for flaw in found if flaw.release not in later and not flaw.stray]


def table_flaws(folder: Path, entry: Entry) -> list[str]:
    """How the tables of a published release, read back from their files, differ from the ledger's rows.

    Requires: the files have the digests of their manifest.
    """
    flaws = []
    for name, schema in _shapes(entry).items():
        files = [path for suffix in READERS if (path := folder / f"{name}{suffix}").exists()]
        if not files:
            flaws.append(f"{folder.name} has no table called {name}")
        for path in files:
            problem = _difference(path, schema, _parts(entry)[name])
            flaws += [f"{folder.name}/{path.name} {problem}"] if problem else []
    return flaws


def _shapes(entry: Entry) -> "dict[str, pa.Schema]":
    """The columns of each table."""
    return {name: next(iter(parts)).schema for name, parts in _parts(entry).items()}


def _parts(entry: Entry) -> "dict[str, Iterable[pa.Table]]":
    """The tables that the files must hold; the rows of a release with groups are made part by part."""
    release, schema = entry.release, entry.snapshot.schema
    if release.person_rows is not None or not release.grouped:
        return {name: [table] for name, table in published_tables(release, entry.auxiliary, schema).items()}
    return {
        "table": release_parts(release, schema, ROWS_AT_ONCE),
        "counterfeits": [counterfeit_table(entry.auxiliary)],
    }


def _difference(path: Path, schema: "pa.Schema", expected: "Iterable[pa.Table]") -> str:
    """How a file differs from the table that it must hold, given in parts; empty if it does not."""
    import pyarrow as pa

    rows = known_rows = wrong = 0
    try:
        read = READERS[path.suffix](path, schema)
        rest = next(read)
        if rest.column_names != schema.names:
            return "has other columns than the ledger"
        for known in expected:
            while rest.num_rows < known.num_rows and (more := next(read, None)) is not None:
                rest = pa.concat_tables([rest, more])
            shown, rest = rest.slice(0, known.num_rows).cast(schema), rest.slice(known.num_rows)
            rows, known_rows = rows + shown.num_rows, known_rows + known.num_rows
            wrong += _wrong_values(shown, known.slice(0, shown.num_rows))
        rows += rest.num_rows + sum(more.num_rows for more in read)
    except (pa.ArrowException, OSError):
        return "cannot be read as a table"
    if rows != known_rows:
        return f"has {counted(rows, 'row', 'rows')}, the ledger has {known_rows:,}"
    return f"has {counted(wrong, 'value', 'values')} that the ledger does not have" if wrong else ""


def _wrong_values(read: "pa.Table", expected: "pa.Table") -> int:
    """How many values differ."""
    from pyarrow import compute

    wrong = 0
    for shown, known in zip(read.columns, expected.columns, strict=True):
        if not shown.equals(known):
            same = compute.fill_null(compute.equal(shown.combine_chunks(), known.combine_chunks()), fill_value=False)
            both = compute.and_(compute.is_null(shown.combine_chunks()), compute.is_null(known.combine_chunks()))
            wrong += read.num_rows - compute.or_(same, both).true_count
    return wrong


def _read_parquet(path: Path, schema: "pa.Schema") -> "Iterator[pa.Table]":  # noqa: ARG001  it has its own types
    """The table in parts; at least one."""
    import pyarrow as pa
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(ROWS_AT_ONCE):
            yield pa.Table.from_batches([batch])


def _read_csv(path: Path, schema: "pa.Schema") -> "Iterator[pa.Table]":
    """The columns with these types; nothing between two commas is null, and quoted text is text."""
    import pyarrow.csv

    options = pyarrow.csv.ConvertOptions(
        column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    yield pyarrow.csv.read_csv(path, parse_options=parse, convert_options=options)


ROWS_AT_ONCE = PART_ROWS
"""The rows of a part that is read and compared."""
READERS: Mapping[str, "Callable[[Path, pa.Schema], Iterator[pa.Table]]"] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
}
