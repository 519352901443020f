"""Releases from their files alone, as an adversary downloads them; reanon need not have made them."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from reanon_core.kernels.ranks import column_ids
from reanon_core.model.arrays import MISSING, Int32
from reanon_core.model.coding import examples, named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, collect_problems, require
from reanon_core.model.history import History, Published
from reanon_core.model.published_columns import COUNT, GROUP_ID, interval_names
from reanon_core.model.release import (
    ALL_MISSING,
    ANYTHING,
    MISSING_WORDS,
    NONE_MISSING,
    SOME_MISSING,
    UNPUBLISHED,
    Auxiliary,
    Boxes,
    PersonRows,
    Release,
)
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.tables.arrow_columns import coded_other, coded_sensitive
from reanon_dagster.sources.external_files import ExternalFile, read_external_file, texts
from reanon_dagster.sources.people_file import read_people
from reanon_dagster.sources.value_notation import Cover, Unreadable, cover, end

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_external_releases", "read_people"]

OWN_TABLE = "table"
COUNTERFEITS = "counterfeits"

Covers: TypeAlias = Int32
"""[3, n]: the first code, the last code and the missing sign of each row."""


def read_external_releases(
    files: Sequence[Path], schema: Schema, optional: frozenset[str] = frozenset(), decimal: str = "."
) -> History:
    """The releases in these files, in order; sensitive values get codes in the order in which they first appear.

    A release may lack the columns that are optional. `decimal` is the decimal mark of numbers.

    Raises: InvalidSnapshot with every problem of every file at once.
    """
    problems: list[Problem] = []
    releases: list[Published] = []
    for file in files:
        read = collect_problems(problems, _release, file, schema, optional, decimal)
        if read is not None:
            published, schema = read
            releases.append(published)
    require(problems, InvalidSnapshot)
    return History(schema, tuple(releases))


def _table(file: Path, schema: Schema) -> ExternalFile:
    """The columns of a file that show columns of the schema."""
    forms = [form for name in schema.names for form in (name, *interval_names(name))]
    return read_external_file(file, list(dict.fromkeys([GROUP_ID, *forms, schema.sensitive.name, *schema.other])))


def _shown(table: ExternalFile, schema: Schema) -> tuple[str, ...]:
    """The columns of the schema that a file shows in some form."""
    present = set(table.data.column_names)
    quasi = [name for name in schema.names if present & {name, *interval_names(name)[:2]}]
    return (*quasi, *(name for name in (schema.sensitive.name, *schema.other) if name in present))


def _release(file: Path, schema: Schema, optional: frozenset[str], decimal: str) -> tuple[Published, Schema]:
    """One release, and the schema extended by its new values."""
    table, values = _table(file, schema), values_beside(file)
    problems: list[Problem] = []
    shown = _shown(table, schema)
    absent = optional - set(shown)
    rows = table.data.num_rows
    nothing = np.tile(np.array(ANYTHING, np.int32)[:, None], rows)
    covers = [
        nothing if column.name in absent else collect_problems(problems, _covers, column, table, decimal)
        for column in schema.quasi_identifiers
    ]
    secret = (np.full(rows, UNPUBLISHED, np.int32), schema.sensitive)
    if values is None and schema.sensitive.name not in absent:
        secret = collect_problems(problems, _secret, schema.sensitive, table) or secret
    other = [collect_problems(problems, _other, name, at, table, schema) for at, name in enumerate(schema.other)]
    groups = collect_problems(problems, _group_labels, table) if GROUP_ID in table.data.column_names else None
    require(table.with_label(problems), InvalidSnapshot)
    stacked = np.stack([one for one in covers if one is not None])
    if values is not None:
        return _decoupled(stacked, groups, table, values, schema)
    boxes, group = _grouped(stacked, groups, table)
    counts = _counterfeits(file, groups, group) if groups is not None else Auxiliary.none()
    codes = np.array([one[0] for one in other if one], dtype=np.int32).reshape(len(schema.other), rows)
    grown = schema.with_sensitive_values(secret[1].values).with_other_values(tuple(one[1] for one in other if one))
    columns = None if len(shown) == len(schema.columns) else shown
    release = Release(group, secret[0], boxes, other=codes, columns=columns, grouped=groups is not None)
    return Published(release, counts), grown


def _decoupled(
    covers: Int32, labels: "pa.DictionaryArray | None", table: ExternalFile, file: Path, schema: Schema
) -> tuple[Published, Schema]:
    """One release of rows of people, whose values are in another file.

    Raises: InvalidSnapshot.
    """
    values = read_external_file(file, (GROUP_ID, schema.sensitive.name, COUNT))
    problems: list[Problem] = []
    named, counted = (collect_problems(problems, _listed, values, name) for name in (GROUP_ID, COUNT))
    secret = collect_problems(problems, _secret, schema.sensitive, values)
    require(values.with_label(problems), InvalidSnapshot)
    if labels is None:
        table.column(GROUP_ID)
    if labels is None or named is None or counted is None or secret is None:
        raise AssertionError("files without problems have groups and values")
    boxes, box = _grouped(covers, None, table)
    group = labels.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    given = GroupValues(named, secret[0], counted)
    published = decoupled_release(labels.dictionary.to_pylist(), PersonRows(group, box, boxes), given, values.label)
    return published, schema.with_sensitive_values(secret[1].values)


def _other(name: str, at: int, table: ExternalFile, schema: Schema) -> tuple[Int32, tuple[str, ...]]:
    """The codes of a non-identifier, and its values so far."""
    known = schema.other_values[at]
    if name not in table.data.column_names:
        return np.full(table.data.num_rows, UNPUBLISHED, np.int32), known
    coded, grown = coded_other(Sensitive(name=name, values=known), table.data[name])
    return coded.codes, grown.values


def _secret(column: Sensitive, table: ExternalFile) -> tuple[Int32, Sensitive]:
    """The sensitive codes; a star stands for a missing value."""
    import pyarrow as pa
    from pyarrow import compute

    written = texts(column.name, table.column(column.name))
    shown = compute.if_else(compute.equal(compute.utf8_trim_whitespace(written), "*"), "", written)
    coded, grown = coded_sensitive(column, pa.chunked_array([shown]))
    require(coded.problems, InvalidSnapshot)
    return coded.codes, grown


def _covers(column: QuasiIdentifier, table: ExternalFile, decimal: str) -> Covers:
    """What the generalized value in each row covers."""
    names, present = interval_names(column.name), table.data.column_names
    if names.least not in present or names.greatest not in present:
        form = f", or {names.least} and {names.greatest}"
        return _read(column.name, table, partial(cover, column, decimal=decimal), form)
    problems: list[Problem] = []
    low = collect_problems(problems, _read, names.least, table, partial(end, column, decimal=decimal))
    high = collect_problems(problems, _read, names.greatest, table, partial(end, column, decimal=decimal))
    signs = None
    if names.missing in present:
        signs = collect_problems(problems, _read, names.missing, table, _missing_sign)
    require(problems, InvalidSnapshot)
    if low is None or high is None:
        raise AssertionError("a column without problems has both ends")
    covers = np.stack([low[0], high[1], low[2] & high[2]])
    if signs is not None:
        covers[2] = signs[2]
        covers[:2, signs[2] == ALL_MISSING] = MISSING
    reversed_ends = covers[0] > covers[1]
    if reversed_ends.any():
        raise InvalidSnapshot(Problem(names.least, f"be at most {names.greatest}", named_rows(reversed_ends)))
    return covers


def _read(name: str, table: ExternalFile, read: Callable[[str], Cover], form: str = "") -> Covers:
    """What each row of a column covers; each distinct text is read once.

    Raises: InvalidSnapshot with one problem for each rule that is broken.
    """
    encoded = texts(name, table.column(name, form)).dictionary_encode()
    place = encoded.indices.to_numpy(zero_copy_only=False)
    covers = np.zeros((3, len(encoded.dictionary)), dtype=np.int32)
    broken: dict[str, list[int]] = {}
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            covers[:, number] = read(text)
        except Unreadable as error:
            broken.setdefault(str(error), []).append(number)
    listed = [repr(text) for text in encoded.dictionary.to_pylist()]
    problems = [
        Problem(name, rule, examples(sorted(listed[number] for number in numbers), int(np.isin(place, numbers).sum())))
        for rule, numbers in broken.items()
    ]
    require(problems, InvalidSnapshot)
    return covers[:, place]


def _missing_sign(text: str) -> Cover:
    """How many members of a group lack the value, in the words of reanon's own tables."""
    if text.strip() not in MISSING_WORDS:
        raise Unreadable(f"be {', '.join(MISSING_WORDS[:-1])} or {MISSING_WORDS[-1]}")
    return Cover(0, 0, MISSING_WORDS.index(text.strip()))


def _group_labels(table: ExternalFile) -> "pa.DictionaryArray":
    from pyarrow import compute

    labels = compute.utf8_trim_whitespace(texts(GROUP_ID, table.column(GROUP_ID)))
    empty = np.asarray(compute.equal(labels, "").to_numpy(zero_copy_only=False), dtype=bool)
    if empty.any():
        raise InvalidSnapshot(Problem(GROUP_ID, "have a value in every row", f"empty in {named_rows(empty)}"))
    return labels.dictionary_encode()


def _grouped(covers: Int32, labels: "pa.DictionaryArray | None", table: ExternalFile) -> tuple[Boxes, Int32]:
    """The box of each group, and the group of each row; without labels, rows with the same box form a group.

    Raises: InvalidSnapshot if a labelled group has more than one box.
    """
    same = column_ids(np.concatenate(list(covers)))
    group = same if labels is None else labels.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    _, first = np.unique(group, return_index=True)
    torn = same != same[first][group]
    if labels is not None and torn.any():
        shown = examples(
            [repr(labels.dictionary[int(number)].as_py()) for number in np.unique(group[torn])], int(torn.sum())
        )
        rule = "mark rows with the same generalized values"
        advice = f"without {GROUP_ID}, rows are grouped by their generalized values"
        raise InvalidSnapshot(table.with_label([Problem(GROUP_ID, rule, shown, advice)]))
    low, high, missing = covers[:, :, first].swapaxes(0, 1)
    return Boxes(low, high, missing.astype(np.int8)), group.astype(np.int32)


def _counterfeits(file: Path, labels: "pa.DictionaryArray", group: Int32) -> Auxiliary:
    """The counterfeit counts that reanon publishes beside its own table, if the file exists.

    Raises: InvalidSnapshot.
    """
    beside = (file.with_name(f"{COUNTERFEITS}{suffix}") for suffix in (file.suffix, ".parquet", ".csv"))
    path = next((path for path in beside if path.is_file()), None)
    if file.stem != OWN_TABLE or path is None:
        return Auxiliary.none()
    table = read_external_file(path, (GROUP_ID, COUNT))
    problems: list[Problem] = []
    named, counted = (collect_problems(problems, _listed, table, name) for name in (GROUP_ID, COUNT))
    require(table.with_label(problems), InvalidSnapshot)
    number = {label: at for at, label in enumerate(labels.dictionary.to_pylist())}
    groups = np.array([number.get(label, -1) for label in named or ()], dtype=np.int32)
    counts = np.array([int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0 for text in counted or ()], dtype=np.int32)
    wrong = (groups < 0) | (counts < 1) | (counts > np.bincount(group, minlength=1)[groups])
    wrong |= np.bincount(groups + 1, minlength=1)[groups + 1] > 1
    if wrong.any():
        rule = "name groups of the table, each once, with counts from 1 to the number of their rows"
        raise InvalidSnapshot(Problem(table.label, rule, named_rows(wrong)))
    order = np.argsort(groups)
    return Auxiliary(groups[order], counts[order])


def _listed(table: ExternalFile, name: str) -> list[str]:
    return [str(text).strip() for text in texts(name, table.column(name)).to_pylist()]


ROWS, VALUES = "rows", "values"


class GroupValues(NamedTuple):
    """The file of values, row by row: the label of the group, the code of the value, and the count as it is written."""

    groups: list[str]
    sensitive: Int32
    counts: list[str]


def values_beside(file: Path) -> Path | None:
    """The file of values that belongs to a file of rows, if this is one."""
    if file.stem != ROWS:
        return None
    beside = (file.with_name(f"{VALUES}{suffix}") for suffix in (file.suffix, ".parquet", ".csv"))
    return next((path for path in beside if path.is_file()), None)


def decoupled_release(labels: list[str], rows: PersonRows, values: GroupValues, name: str) -> Published:
    """The release of these rows, whose groups are numbered in the order of `labels`, with these values.

    Raises: InvalidSnapshot if a group has rows and no values, values and no rows, or more rows than values.
    """
    number = {label: at for at, label in enumerate(labels)}
    group = np.array([number.get(label, -1) for label in values.groups], dtype=np.int64)
    count = np.array([int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0 for text in values.counts], dtype=np.int64)
    wrong = (group < 0) | (count < 1)
    if wrong.any():
        rule = "name groups that have rows, with counts of at least 1"
        raise InvalidSnapshot(Problem(name, rule, named_rows(wrong)))
    shown = np.bincount(group, weights=count, minlength=len(labels)).astype(np.int64)
    invented = shown - np.bincount(rows.group, minlength=len(labels))
    if (invented < 0).any():
        few = ", ".join(labels[at] for at in np.flatnonzero(invented < 0)[:3])
        raise InvalidSnapshot(Problem(name, "have a value for each row of a group", f"fewer in group {few}"))
    release = Release(
        np.repeat(group, count).astype(np.int32),
        np.repeat(values.sensitive, count),
        _hulls(rows, len(labels)),
        person_rows=rows,
    )
    holding = np.flatnonzero(invented)
    return Published(release, Auxiliary(holding.astype(np.int32), invented[holding].astype(np.int32)))


def _hulls(rows: PersonRows, groups: int) -> Boxes:
    """The hull of the boxes of each group's rows."""
    low = np.full((len(rows.boxes.low), groups), 2**31 - 1, np.int32)
    high = np.full(low.shape, MISSING, np.int32)
    missing = np.full(low.shape, NONE_MISSING, np.int8)
    for attribute, signs in enumerate(rows.boxes.missing):
        known, sign = signs[rows.box] != ALL_MISSING, signs[rows.box]
        box, group = rows.box[known], rows.group[known]
        np.minimum.at(low[attribute], group, rows.boxes.low[attribute, box])
        np.maximum.at(high[attribute], group, rows.boxes.high[attribute, box])
        missing[attribute, rows.group[sign != NONE_MISSING]] = SOME_MISSING
        empty = high[attribute] == MISSING
        low[attribute, empty], missing[attribute, empty] = MISSING, ALL_MISSING
    return Boxes(low, high, missing)
