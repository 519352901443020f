"""What is published against the ledger: files, manifests, and the rows in the tables."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.model.errors import counted
from reanon_core.model.ledger import Entry
from reanon_core.tables.release_table import published_tables
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
    for name, expected in published_tables(entry.release, entry.auxiliary, entry.snapshot.schema).items():
        files = [path for suffix in READERS if (path := folder / f"{name}{suffix}").exists()]
        if not files:
            flaws.append(f"{folder.name} has no table called {name}")
        for path in files:
            problem = _difference(path, expected)
            flaws += [f"{folder.name}/{path.name} {problem}"] if problem else []
    return flaws


def _difference(path: Path, expected: "pa.Table") -> str:
    """How a file differs from the table that it must hold; empty if it does not."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        read = READERS[path.suffix](path, expected.schema)
        if read.column_names != expected.column_names:
            return "has other columns than the ledger"
        read = read.cast(expected.schema)
    except (pa.ArrowException, OSError):
        return "cannot be read as a table"
    if read.num_rows != expected.num_rows:
        return f"has {counted(read.num_rows, 'row', 'rows')}, the ledger has {expected.num_rows:,}"
    wrong = 0
    for shown, known in zip(read.columns, expected.columns, strict=True):
        if not shown.equals(known):
            same = compute.fill_null(compute.equal(shown.combine_chunks(), known.combine_chunks()), fill_value=False)
            both = compute.and_(compute.is_null(shown.combine_chunks()), compute.is_null(known.combine_chunks()))
            wrong += read.num_rows - compute.or_(same, both).true_count
    return f"has {counted(wrong, 'value', 'values')} that the ledger does not have" if wrong else ""


def _read_parquet(path: Path, schema: "pa.Schema") -> "pa.Table":  # noqa: ARG001  a parquet file has its own types
    import pyarrow.parquet

    return pyarrow.parquet.read_table(path, partitioning=None)


def _read_csv(path: Path, schema: "pa.Schema") -> "pa.Table":
    """The columns with these types; nothing between two commas is null, and quoted text is text."""
    import pyarrow.csv

    options = pyarrow.csv.ConvertOptions(
        column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return pyarrow.csv.read_csv(path, parse_options=parse, convert_options=options)


READERS: Mapping[str, "Callable[[Path, pa.Schema], pa.Table]"] = {".parquet": _read_parquet, ".csv": _read_csv}
