"""Releases that reanon did not make (or did), from their files alone: what an adversary downloads."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.coding import examples, named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem, kept, require
from reanon_core.model.history import History, Published
from reanon_core.model.release import ANYTHING, UNPUBLISHED, Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.tables.arrow_columns import coded_other, coded_sensitive
from reanon_dagster.sources.external_files import Given, read_given, texts
from reanon_dagster.sources.interval_notation import Cover, Unreadable, cover, end
from reanon_dagster.sources.people_file import read_people

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_foreign", "read_people"]

GROUP = "group_id"
OWN_TABLE = "table"
COUNTERFEITS = "counterfeits"
_LACKING = {"none": 0, "some": 1, "all": 2}
_ALL = 2

Covers: TypeAlias = Int32
"""[3, n]: the first code, the last code and the missing sign of each row."""


def read_foreign(files: Sequence[Path], schema: Schema, optional: frozenset[str] = frozenset()) -> History:
    """The releases in these files, in order; sensitive values get their codes as they first appear.

    A release need not show the columns that are optional.

    Raises: InvalidSnapshot with every problem of every file at once.
    """
    problems: list[Problem] = []
    releases: list[Published] = []
    for file in files:
        found = kept(problems, _release, file, schema, optional)
        if found is not None:
            published, schema = found
            releases.append(published)
    require(problems, InvalidSnapshot)
    return History(schema, tuple(releases))


def _given(file: Path, schema: Schema) -> Given:
    """The columns of a file that speak of the schema's."""
    forms = [f"{name}{suffix}" for name in schema.names for suffix in ("", "_min", "_max", "_missing")]
    return read_given(file, list(dict.fromkeys([GROUP, *forms, schema.sensitive.name, *schema.other])))


def _shown(given: Given, schema: Schema) -> tuple[str, ...]:
    """The columns of the schema that a file shows in some form."""
    there = set(given.data.column_names)
    quasi = [name for name in schema.names if there & {name, f"{name}_min", f"{name}_max"}]
    return (*quasi, *(name for name in (schema.sensitive.name, *schema.other) if name in there))


def _release(file: Path, schema: Schema, optional: frozenset[str]) -> tuple[Published, Schema]:
    """One release, and the schema with the values that are new in it."""
    given = _given(file, schema)
    problems: list[Problem] = []
    shown = _shown(given, schema)
    silent = optional - set(shown)
    rows = given.data.num_rows
    nothing = np.tile(np.array(ANYTHING, np.int32)[:, None], rows)
    covers = [
        nothing if column.name in silent else kept(problems, _covers, column, given)
        for column in schema.quasi_identifiers
    ]
    secret = (np.full(rows, UNPUBLISHED, np.int32), schema.sensitive)
    if schema.sensitive.name not in silent:
        secret = kept(problems, _secret, schema.sensitive, given) or secret
    other = [kept(problems, _other, name, at, given, schema) for at, name in enumerate(schema.other)]
    groups = kept(problems, _group_labels, given) if GROUP in given.data.column_names else None
    require(given.told(problems), InvalidSnapshot)
    boxes, group = _grouped(np.stack([one for one in covers if one is not None]), groups, given)
    counts = _counterfeits(file, groups, group) if groups is not None else Auxiliary.none()
    codes = np.array([one[0] for one in other if one], dtype=np.int32).reshape(len(schema.other), rows)
    grown = schema.with_sensitive_values(secret[1].values).with_other_values(tuple(one[1] for one in other if one))
    columns = None if len(shown) == len(schema.columns) else shown
    release = Release(group, secret[0], boxes, other=codes, columns=columns, grouped=groups is not None)
    return Published(release, counts), grown


def _other(name: str, at: int, given: Given, schema: Schema) -> tuple[Int32, tuple[str, ...]]:
    """The codes of a non-identifier, and its values so far."""
    known = schema.other_values[at]
    if name not in given.data.column_names:
        return np.full(given.data.num_rows, UNPUBLISHED, np.int32), known
    coded, grown = coded_other(Sensitive(name=name, values=known), given.data[name])
    return coded.codes, grown.values


def _secret(column: Sensitive, given: Given) -> tuple[Int32, Sensitive]:
    """The sensitive codes; a star shows nothing, so it counts as empty."""
    import pyarrow as pa
    from pyarrow import compute

    written = texts(column.name, given.column(column.name))
    shown = compute.if_else(compute.equal(compute.utf8_trim_whitespace(written), "*"), "", written)
    coded, grown = coded_sensitive(column, pa.chunked_array([shown]))
    require(coded.problems, InvalidSnapshot)
    return coded.codes, grown


def _covers(column: QuasiIdentifier, given: Given) -> Covers:
    """What the generalized value in each row covers."""
    name, there = column.name, given.data.column_names
    if f"{name}_min" not in there or f"{name}_max" not in there:
        return _read(name, given, partial(cover, column), f", or {name}_min and {name}_max")
    problems: list[Problem] = []
    low = kept(problems, _read, f"{name}_min", given, partial(end, column))
    high = kept(problems, _read, f"{name}_max", given, partial(end, column))
    lacking = kept(problems, _read, f"{name}_missing", given, _lacking) if f"{name}_missing" in there else None
    require(problems, InvalidSnapshot)
    if low is None or high is None:
        raise AssertionError("a column without problems has both ends")
    covers = np.stack([low[0], high[1], low[2] & high[2]])
    if lacking is not None:
        covers[2] = lacking[2]
        covers[:2, lacking[2] == _ALL] = MISSING
    upside_down = covers[0] > covers[1]
    if upside_down.any():
        raise InvalidSnapshot(Problem(f"{name}_min", f"be at most {name}_max", named_rows(upside_down)))
    return covers


def _read(name: str, given: Given, read: Callable[[str], Cover], form: str = "") -> Covers:
    """Each different text of a column read once.

    Raises: InvalidSnapshot with one problem for each rule that texts break.
    """
    encoded = texts(name, given.column(name, form)).dictionary_encode()
    place = encoded.indices.to_numpy(zero_copy_only=False)
    table = np.zeros((3, len(encoded.dictionary)), dtype=np.int32)
    broken: dict[str, list[int]] = {}
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            table[:, number] = read(text)
        except Unreadable as error:
            broken.setdefault(str(error), []).append(number)
    listed = [repr(text) for text in encoded.dictionary.to_pylist()]
    problems = [
        Problem(name, rule, examples(sorted(listed[number] for number in numbers), int(np.isin(place, numbers).sum())))
        for rule, numbers in broken.items()
    ]
    require(problems, InvalidSnapshot)
    return table[:, place]


def _lacking(text: str) -> Cover:
    """How many of a group lack the value, in reanon's own words."""
    if text.strip() not in _LACKING:
        raise Unreadable("be none, some or all")
    return Cover(0, 0, _LACKING[text.strip()])


def _group_labels(given: Given) -> "pa.DictionaryArray":
    from pyarrow import compute

    labels = compute.utf8_trim_whitespace(texts(GROUP, given.column(GROUP)))
    empty = np.asarray(compute.equal(labels, "").to_numpy(zero_copy_only=False), dtype=bool)
    if empty.any():
        raise InvalidSnapshot(Problem(GROUP, "be there in every row", f"empty in {named_rows(empty)}"))
    return labels.dictionary_encode()


def _grouped(covers: Int32, labels: "pa.DictionaryArray | None", given: Given) -> tuple[Boxes, Int32]:
    """The box of each group, and the group of each row; without labels, rows with the same box are a group.

    Raises: InvalidSnapshot if a labelled group has more than one box.
    """
    same = _alike(np.concatenate(list(covers)))
    group = same if labels is None else labels.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    _, first = np.unique(group, return_index=True)
    torn = same != same[first][group]
    if labels is not None and torn.any():
        shown = examples(
            [repr(labels.dictionary[int(number)].as_py()) for number in np.unique(group[torn])], int(torn.sum())
        )
        rule = "stand for rows with the same generalized values"
        raise InvalidSnapshot(given.told([Problem(GROUP, rule, shown, f"without {GROUP}, rows are grouped by them")]))
    low, high, missing = covers[:, :, first].swapaxes(0, 1)
    return Boxes(low, high, missing.astype(np.int8)), group.astype(np.int32)


def _alike(rows: Int32) -> Int64:
    """A number for each column of the array, the same for columns that are alike."""
    number = np.zeros(rows.shape[1], dtype=np.int64)
    for row in rows:
        codes, rank = np.unique(row, return_inverse=True)
        _, number = np.unique(number * max(1, len(codes)) + rank, return_inverse=True)
    return number


def _counterfeits(file: Path, labels: "pa.DictionaryArray", group: Int32) -> Auxiliary:
    """The counts that reanon publishes beside its own table, if they are there.

    Raises: InvalidSnapshot.
    """
    beside = (file.with_name(f"{COUNTERFEITS}{suffix}") for suffix in (file.suffix, ".parquet", ".csv"))
    path = next((path for path in beside if path.is_file()), None)
    if file.stem != OWN_TABLE or path is None:
        return Auxiliary.none()
    given = read_given(path, (GROUP, "count"))
    problems: list[Problem] = []
    named, counted = (kept(problems, _listed, given, name) for name in (GROUP, "count"))
    require(given.told(problems), InvalidSnapshot)
    number = {label: at for at, label in enumerate(labels.dictionary.to_pylist())}
    groups = np.array([number.get(label, -1) for label in named or ()], dtype=np.int32)
    counts = np.array([int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0 for text in counted or ()], dtype=np.int32)
    wrong = (groups < 0) | (counts < 1) | (counts > np.bincount(group, minlength=1)[groups])
    wrong |= np.bincount(groups + 1, minlength=1)[groups + 1] > 1
    if wrong.any():
        rule = "name groups of the table, each once, with counts from 1 to the number of their rows"
        raise InvalidSnapshot(Problem(given.shown, rule, named_rows(wrong)))
    order = np.argsort(groups)
    return Auxiliary(groups[order], counts[order])


def _listed(given: Given, name: str) -> list[str]:
    return [str(text).strip() for text in texts(name, given.column(name)).to_pylist()]
