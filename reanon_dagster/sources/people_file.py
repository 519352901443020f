"""Files of people: what an adversary knows about them. No message of this module contains an id."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.coding import examples, named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems, require
from reanon_core.model.knowledge import Compromised, Knowledge, Presence
from reanon_core.model.schema import Kind, QuasiIdentifier, Schema
from reanon_core.tables.arrow_columns import coded_column
from reanon_core.tables.ids import KEY_BYTES, canonical_texts, people, pseudonyms
from reanon_dagster.sources.external_files import ExternalFile, read_external_file, texts
from reanon_dagster.sources.value_notation import Ambiguous, with_decimal_points

if TYPE_CHECKING:
    import pyarrow as pa

RELEASE = "release"
_ALL = -1
_UNKNOWN = -2


def read_people(path: Path, schema: Schema, id_column: str, releases: Sequence[str], decimal: str = ".") -> Knowledge:
    """The people known to be in each release, with their exact quasi-identifier values.

    The column `release` contains a release's name or its number, from 1; without it everyone is in every release.
    `decimal` is the decimal mark of numbers.

    Raises: InvalidSnapshot with every problem at once.
    """
    roles = (id_column, *schema.names)
    table = read_external_file(path, list(dict.fromkeys([*roles, RELEASE])))
    problems: list[Problem] = []
    persons = collect_problems(problems, _persons, id_column, table)
    codes = [collect_problems(problems, _codes, column, table, decimal) for column in schema.quasi_identifiers]
    named = RELEASE in table.data.column_names and RELEASE not in roles
    where = collect_problems(problems, _places, table, releases) if named else np.full(table.data.num_rows, _ALL)
    if persons is not None and where is not None:
        problems += _repeated(id_column, persons, where, len(releases))
    require(table.with_label(problems), InvalidSnapshot)
    if persons is None or where is None:
        raise AssertionError("a people file without problems has all its parts")
    qi = np.stack([one for one in codes if one is not None])
    return Knowledge(tuple(_presence(persons, qi, where, number) for number in range(len(releases))))


def ids_of_people(path: Path, id_column: str) -> dict[int, str]:
    """The id of each person in the file, by the pseudonym that `read_people` gives them. Private.

    Raises: InvalidSnapshot.
    """
    table = read_external_file(path, [id_column])
    persons = _persons(id_column, table)
    ids = canonical_texts(id_column, table.column(id_column)).to_pylist()
    return dict(zip(persons.tolist(), map(str, ids), strict=True))


def _persons(id_column: str, table: ExternalFile) -> Int64:
    """Pseudonyms under a key of zeros: they only distinguish people within this run."""
    from pyarrow import compute

    ids: pa.StringArray = canonical_texts(id_column, table.column(id_column)).fill_null("")
    empty = np.asarray(compute.equal(ids, "").to_numpy(zero_copy_only=False), dtype=bool)
    if empty.any():
        raise InvalidSnapshot(Problem(id_column, "identify the person of each row", f"empty in {named_rows(empty)}"))
    return pseudonyms(ids, bytes(KEY_BYTES))


def _codes(column: QuasiIdentifier, table: ExternalFile, decimal: str) -> Int32:
    written = table.column(column.name)
    if decimal != "." and column.kind is Kind.NUMERIC:
        written = _with_points(column.name, written)
    coded = coded_column(column, written)
    require(coded.problems, InvalidSnapshot)
    return coded.codes


def _with_points(name: str, column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """The numbers of a column of text with decimal points; other types as they are.

    Raises: InvalidSnapshot.
    """
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return column
    written = [None if text is None else str(text) for text in column.to_pylist()]
    ambiguous = np.zeros(len(written), dtype=bool)
    found: list[str | None] = []
    for row, text in enumerate(written):
        try:
            found.append(None if text is None else with_decimal_points(text))
        except Ambiguous:
            found.append(None)
            ambiguous[row] = True
    if ambiguous.any():
        rule = "be numbers with decimal commas, without points between thousands"
        raise InvalidSnapshot(Problem(name, rule, named_rows(ambiguous)))
    return pa.chunked_array([pa.array(found, pa.string())])


def _places(table: ExternalFile, releases: Sequence[str]) -> Int64:
    """The release of each row, counted from 0."""
    encoded = texts(RELEASE, table.column(RELEASE)).dictionary_encode()
    number = {str(at + 1): at for at in range(len(releases))} | {name: at for at, name in enumerate(releases)}
    labels = [str(label) for label in encoded.dictionary.to_pylist()]
    place = encoded.indices.to_numpy(zero_copy_only=False)
    where: Int64 = np.array([number.get(label.strip(), _UNKNOWN) for label in labels], dtype=np.int64)[place]
    unknown = where == _UNKNOWN
    if unknown.any():
        shown = examples(sorted(repr(labels[at]) for at in np.unique(place[unknown])), int(unknown.sum()))
        rule = f"be the name of a release, or its number, from 1 to {len(releases)}"
        raise InvalidSnapshot(Problem(RELEASE, rule, shown, f"the names are {', '.join(releases)}"))
    return where


def _repeated(id_column: str, persons: Int64, where: Int64, releases: int) -> list[Problem]:
    """People who are in a release more than once."""
    again = np.zeros(len(persons), dtype=bool)
    for number in range(releases):
        rows = np.flatnonzero((where == number) | (where == _ALL))
        _, person, count = np.unique(persons[rows], return_inverse=True, return_counts=True)
        again[rows] |= count[person] > 1
    if not again.any():
        return []
    advice = f"add a column {RELEASE} that names the release of each row"
    return [Problem(id_column, "occur once in each release", f"more than once in {named_rows(again)}", advice)]


def _presence(persons: Int64, qi: Int32, where: Int64, number: int) -> Presence:
    rows = np.flatnonzero((where == number) | (where == _ALL))
    rows = rows[np.argsort(persons[rows])]
    return Presence(persons[rows], qi[:, rows])


def read_compromised(path: Path, schema: Schema, id_column: str, key: bytes) -> Compromised:
    """The people in the file with their values: the id column, and the sensitive column.

    Raises: InvalidSnapshot with every problem at once.
    """
    table = read_external_file(path, [id_column, schema.sensitive.name])
    problems: list[Problem] = []
    sensitive = schema.sensitive.name
    ids = collect_problems(problems, lambda: people(id_column, table.column(id_column), key))
    labels = collect_problems(problems, lambda: texts(sensitive, table.column(sensitive)).to_pylist())
    code = {value: at for at, value in enumerate(schema.sensitive.values)}
    unknown = sorted({repr(label) for label in labels or () if label not in code})
    if unknown:
        shown = examples(unknown, len(unknown))
        problems.append(Problem(sensitive, "be one of the published values", shown))
    require(table.with_label(problems), InvalidSnapshot)
    if ids is None or labels is None:
        raise AssertionError("a file without problems has all its parts")
    values = np.array([code[label] for label in labels], np.int32)
    return Compromised(ids.persons[ids.order], values[ids.order])
