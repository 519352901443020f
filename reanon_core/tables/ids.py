"""The person of each row: ids as canonical text, and the keyed pseudonyms that replace them.

Messages about a table whose columns or cells were mixed up quote values, and must not quote an id.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.coding import named_rows
from reanon_core.model.errors import InvalidSnapshot, Problem

if TYPE_CHECKING:
    import pyarrow as pa

KEY_BYTES = 16
BLOCK = 1 << 20
"""So many ids are texts at a time."""
SIGN = np.uint64(1 << 63)
"""What turns the order of signed words into that of words without a sign."""
SHORTEST = 5
"""How long an id is at least that can be told from any other value."""
HIDDEN = "not shown, because there seem to be ids among the values"
NUMBERED = re.compile(r"[^\W\d_].*\d{5}|\d{5}.*[^\W\d_]")
"""What is an id in most tables, and neither a number nor a date: letters, and five digits in a row."""
_QUOTES = re.compile(r"['\"]")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""


@dataclass(frozen=True, eq=False)
class People:
    """The pseudonym of each row of the source, and the order of the rows by pseudonym."""

    persons: Int64  # [n] in the source's order
    order: Int32  # [n] rows in ascending order of person


def people(name: str, column: "pa.ChunkedArray", key: bytes) -> People:
    """The people in the id column.

    Raises: InvalidSnapshot for ids that are empty, repeated, or of a type without an exact text.
    """
    persons, empty = row_persons(name, column, key)
    problems = empty_problems(name, empty)
    order = ascending_order(persons)
    ascending = persons[order]
    again = ascending[1:] == ascending[:-1]
    if again.any():
        shared = np.zeros(len(persons), dtype=bool)
        shared[order[1:][again]] = True
        shared[order[:-1][again]] = True
        shared &= ~empty
        problems += _shared(name, column, persons, shared)
    if problems:
        raise InvalidSnapshot(problems)
    return People(persons, order)


def ascending_order(words: Int64) -> Int32:
    """The ascending, stable order of pseudonyms."""
    from reanon_core.kernels.orders import uniform_order

    return uniform_order(words.view(np.uint64) ^ SIGN)


def row_persons(name: str, column: "pa.ChunkedArray", key: bytes) -> tuple[Int64, Bool]:
    """The pseudonym of each row, repeated or not, and which rows have an empty id.

    Raises: InvalidSnapshot for ids of a type without an exact text.
    """
    rows = len(column)
    persons, empty = np.empty(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    for start in range(0, max(1, rows), BLOCK):
        texts, here = canonical_texts(name, column.slice(start, BLOCK)), slice(start, start + BLOCK)
        empty[here] = _empty(texts)
        persons[here] = pseudonyms(texts.fill_null(""), key)
    return persons, empty


def empty_problems(name: str, empty: Bool) -> list[Problem]:
    """The problem of rows with an empty id; none if there are none."""
    if not empty.any():
        return []
    return [Problem(name, "identify the person of each row", f"empty in {named_rows(empty)}")]


def canonical_texts(name: str, column: "pa.ChunkedArray") -> "pa.StringArray":
    """Ids as text: whole numbers in decimal; text in Unicode's composed form (NFC), not trimmed.

    Raises: InvalidSnapshot for other types: 7.0 or a date can be written in more than one way.
    """
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    stringy = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (stringy or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InvalidSnapshot(Problem(name, "be text or whole numbers", str(kind), "cast the ids in the source"))
    texts = column.cast(pa.string()).combine_chunks()
    return texts if _is_ascii(texts) else compute.utf8_normalize(texts, form="NFC")


def canonical_text(id_: str) -> str:
    """The same for a single id, such as one that was typed."""
    return unicodedata.normalize("NFC", id_)


def pseudonyms(texts: "pa.StringArray", key: bytes) -> Int64:
    """The keyed pseudonym of each text.

    Requires: no nulls, and a key of 16 bytes.
    """
    from reanon_core.kernels.siphash import siphash_strings

    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    if len(texts) == 0:
        return np.empty(0, dtype=np.int64)
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    letters = np.frombuffer(data if data is not None else b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    # The kernel was compiled for writable arrays, so copy.
    return siphash_strings(letters.copy(), offsets - offsets[0], np.frombuffer(key, dtype="<u8").copy())


def _is_ascii(texts: "pa.StringArray") -> bool:
    data = texts.buffers()[2]
    return data is None or data.size == 0 or bool(np.frombuffer(data, dtype=np.uint8).max() < 128)


def _empty(texts: "pa.StringArray") -> Bool:
    from pyarrow import compute

    blank = compute.equal(compute.binary_length(texts), 0).fill_null(fill_value=True)
    return np.asarray(blank.to_numpy(zero_copy_only=False), dtype=bool)


def _shared(name: str, column: "pa.ChunkedArray", persons: Int64, shared: Bool) -> list[Problem]:
    """Rows that share a pseudonym: because an id is repeated or, very rarely, because two ids collide."""
    import pyarrow as pa

    if not shared.any():
        return []
    different = len(canonical_texts(name, column.take(pa.array(np.flatnonzero(shared)))).unique())
    people_there = len(np.unique(persons[shared]))
    if different > people_there:
        advice = "this is a rare collision under the secret key; rename one of the ids in the source"
        rule = "give different people different pseudonyms"
        return [Problem(name, rule, f"among {named_rows(shared)}", advice)]
    count = f"{different} id{'' if different == 1 else 's'} more than once, in {named_rows(shared)}"
    return [Problem(name, "be unique in a snapshot", count, "a snapshot has one row per person")]


def without_ids(problems: Sequence[Problem], ids: "pa.ChunkedArray | None") -> list[Problem]:
    """The problems without values that contain an id of the table, or look like one."""
    import pyarrow as pa

    if ids is None:  # then its values may be in any other column
        return [replace(one, value=HIDDEN) if _QUOTES.search(one.value or "") else one for one in problems]
    try:
        texts = ids.cast(pa.string()).unique().to_pylist() if problems else []
    except pa.ArrowException:  # ids of another type are no text that a value could contain
        texts = []
    long = {text for text in texts if text and len(text) >= SHORTEST}
    shapes = {shape for shape in map(_shape, long) if "9" in shape}
    return [
        replace(problem, value=HIDDEN) if problem.value and _quotes_id(problem.value, long, shapes) else problem
        for problem in problems
    ]


def _quotes_id(value: str, ids: set[str], shapes: set[str]) -> bool:
    """Whether one of the values that a problem lists is an id: text in quotes, numbers without.

    The ids of the table are not all that there are: a damaged row may have its id in another column only.
    """
    numbers = re.findall(r"\d+", value.partition(" in ")[0])
    if any(number in ids for number in numbers):
        return True
    quoted = re.findall(_QUOTED, value)
    if any(NUMBERED.search(text) for text in quoted):
        return True
    shaped = [_shape(text) for text in quoted]
    return any(shape in text for text in shaped for shape in shapes) or any(
        id_ in text for text in quoted for id_ in ids
    )


def _shape(text: str) -> str:
    """The text with 9 for each digit and a for each letter."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))
