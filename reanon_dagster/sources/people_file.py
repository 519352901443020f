"""A file of people: what an adversary is said to know of them. No message of this module holds an id."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.coding import examples, named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, kept, require
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.schema import QuasiIdentifier, Schema
from reanon_core.tables.arrow_columns import coded_column
from reanon_core.tables.ids import KEY_BYTES, canonical_texts, pseudonyms
from reanon_dagster.sources.external_files import Given, read_given, texts

if TYPE_CHECKING:
    import pyarrow as pa

RELEASE = "release"
_ALL = -1
_UNKNOWN = -2


def read_people(path: Path, schema: Schema, id_column: str, releases: Sequence[str]) -> Knowledge:
    """Who is known to be in which release, with their exact quasi-identifier values.

    The column `release` holds a release's name or its number, from 1; without it everybody is in every release.

    Raises: InvalidSnapshot with every problem at once.
    """
    roles = (id_column, *schema.names)
    given = read_given(path, list(dict.fromkeys([*roles, RELEASE])))
    problems: list[Problem] = []
    persons = kept(problems, _persons, id_column, given)
    codes = [kept(problems, _codes, column, given) for column in schema.quasi_identifiers]
    told = RELEASE in given.data.column_names and RELEASE not in roles
    where = kept(problems, _places, given, releases) if told else np.full(given.data.num_rows, _ALL)
    if persons is not None and where is not None:
        problems += _repeated(id_column, persons, where, len(releases))
    require(given.told(problems), InvalidSnapshot)
    if persons is None or where is None:
        raise AssertionError("a people file without problems has all its parts")
    qi = np.stack([one for one in codes if one is not None])
    return Knowledge(tuple(_presence(persons, qi, where, number) for number in range(len(releases))))


def _persons(id_column: str, given: Given) -> Int64:
    """Pseudonyms under a key of zeros: they only have to tell people apart, here and now."""
    from pyarrow import compute

    ids: pa.StringArray = canonical_texts(id_column, given.column(id_column)).fill_null("")
    empty = np.asarray(compute.equal(ids, "").to_numpy(zero_copy_only=False), dtype=bool)
    if empty.any():
        raise InvalidSnapshot(Problem(id_column, "tell who each row is about", f"empty in {named_rows(empty)}"))
    return pseudonyms(ids, bytes(KEY_BYTES))


def _codes(column: QuasiIdentifier, given: Given) -> Int32:
    coded = coded_column(column, given.column(column.name))
    require(coded.problems, InvalidSnapshot)
    return coded.codes


def _places(given: Given, releases: Sequence[str]) -> Int64:
    """The release of each row, counted from 0."""
    encoded = texts(RELEASE, given.column(RELEASE)).dictionary_encode()
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
    """A person is in a release once, with one value of each quasi-identifier."""
    again = np.zeros(len(persons), dtype=bool)
    for number in range(releases):
        rows = np.flatnonzero((where == number) | (where == _ALL))
        _, person, count = np.unique(persons[rows], return_inverse=True, return_counts=True)
        again[rows] |= count[person] > 1
    if not again.any():
        return []
    advice = f"a column {RELEASE} says which row is about which release"
    return [Problem(id_column, "be there once in each release", f"there more than once in {named_rows(again)}", advice)]


def _presence(persons: Int64, qi: Int32, where: Int64, number: int) -> Presence:
    rows = np.flatnonzero((where == number) | (where == _ALL))
    rows = rows[np.argsort(persons[rows])]
    return Presence(persons[rows], qi[:, rows])
