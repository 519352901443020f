"""Arrow columns of any type that a source may have, converted to the plain arrays that coding takes.

Texts are positions in a list of distinct texts: Arrow's dictionaries.
"""

import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reanon_core.kernels.ranks import numbered_by_occurrence
from reanon_core.model.arrays import AnyArray, Bool, Int32
from reanon_core.model.coding import Coded, encode, encode_labels, encode_sensitive, examples
from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_core.model.schema import Kind, QuasiIdentifier, Sensitive

if TYPE_CHECKING:
    import pyarrow as pa

MOST_TEXT = 1 << 18
"""The most bytes of a list of texts that is encoded: a parquet file does so up to a megabyte, and then stops."""
_LabelRule: TypeAlias = tuple[type | tuple[type, ...], Callable[[Any], str | None]]

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_CAST = "cast it in the source"
_DAY = r"\d{4}-\d\d-\d\d"


def encoded_texts(values: "pa.Array", positions: Int32) -> "pa.DictionaryArray":
    """The texts at these positions of a list, encoded with those alone that occur, in the order of their first rows."""
    import pyarrow as pa

    occurring, number = numbered_by_occurrence(positions, values.is_null().to_numpy(zero_copy_only=False))
    null = number < 0
    indices = pa.array(number, mask=null if null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, values.take(pa.array(occurring)))


def decoded(table: "pa.Table") -> "pa.Table":
    """The table with the values themselves where a column has positions in a list of values."""
    return table.cast(decoded_schema(table.schema))


def decoded_schema(schema: "pa.Schema") -> "pa.Schema":
    """The columns with the types of the values themselves."""
    import pyarrow as pa

    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


def coded_column(column: QuasiIdentifier, data: "pa.ChunkedArray") -> Coded:
    """The codes of a quasi-identifier.

    Raises: InvalidSnapshot if the type of the values does not fit the column's kind.
    """
    if column.kind is Kind.CATEGORICAL:
        return encode_labels(column, *_labelled(column.name, data))
    values = _plain(data)
    numbers, valid = _dates(column.name, values) if column.kind is Kind.DATE else _numbers(column, values)
    return encode(column, numbers, valid)


def coded_sensitive(column: Sensitive, data: "pa.ChunkedArray") -> tuple[Coded, Sensitive]:
    """The codes of the sensitive column, and the column extended by its new values.

    Raises: InvalidSnapshot if a value is no category, or begins or ends with a space.
    """
    positions, labels = _labelled(column.name, data)
    spaced = sorted(label for label in labels if label != label.strip())
    if spaced:
        rule = "not begin or end with a space, because ' flu' and 'flu' would count as two values"
        shown = ", ".join(repr(label) for label in spaced[:5])
        raise InvalidSnapshot(Problem(column.name, rule, shown, "trim the values in the source"))
    return encode_sensitive(column, positions, labels)


def coded_other(column: Sensitive, data: "pa.ChunkedArray") -> tuple[Coded, Sensitive]:
    """The codes of a non-identifier, and the column extended by its new values; empty is a value, too.

    Raises: InvalidSnapshot if a value is no category.
    """
    positions, labels = _labelled(column.name, data)
    if (positions < 0).any():
        positions, labels = np.where(positions < 0, np.int32(len(labels)), positions), [*labels, ""]
    return encode_sensitive(column, positions, labels)


def _plain(data: "pa.ChunkedArray") -> "pa.Array":
    """One array without a dictionary, with null for empty text and for NaN."""
    import pyarrow as pa

    if pa.types.is_dictionary(data.type):
        data = data.cast(data.type.value_type)
    return _with_nulls(data.combine_chunks())


def _with_nulls(values: "pa.Array") -> "pa.Array":
    """The values with null for empty text and for NaN."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    if pa.types.is_string(values.type):
        empty = compute.equal(compute.binary_length(values), 0)
        if compute.any(empty).as_py():
            values = compute.if_else(empty, None, values)
    elif pa.types.is_floating(values.type):
        values = compute.if_else(compute.is_nan(values), None, values)
    return values


def _numbers(column: QuasiIdentifier, values: "pa.Array") -> tuple[AnyArray, Bool | None]:
    import pyarrow as pa

    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
    if pa.types.is_decimal(kind) or pa.types.is_float32(kind) or pa.types.is_float16(kind):
        # Their shortest text is what was meant; a binary cast would move 36.6 off its grid.
        values = (values.cast(pa.float32()) if pa.types.is_float16(kind) else values).cast(pa.string())
    if pa.types.is_string(values.type):
        values = _parsed_numbers(column, values)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InvalidSnapshot(Problem(column.name, _number_rule(column), _type_shown(kind), _CAST))
    return _filled(values)


def _parsed_numbers(column: QuasiIdentifier, texts: "pa.Array") -> "pa.Array":
    import pyarrow as pa
    from pyarrow import compute

    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        trimmed = compute.utf8_trim_whitespace(texts)
        trimmed = compute.if_else(compute.equal(trimmed, ""), None, trimmed)
        right = compute.match_substring_regex(trimmed, _NUMBER).fill_null(fill_value=True)
        _require_parsed(column.name, _number_rule(column), texts, right)
        return trimmed.cast(pa.float64())


def _dates(name: str, values: "pa.Array") -> tuple[AnyArray, Bool | None]:
    import pyarrow as pa
    from pyarrow import compute

    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), dtype="datetime64[D]"), np.zeros(len(values), dtype=bool)
    if pa.types.is_string(kind):
        values = _parsed_dates(name, values)
    elif pa.types.is_timestamp(kind):
        values = compute.local_timestamp(values) if kind.tz else values
        days = values.cast(pa.date32(), safe=False)
        midnight = compute.equal(days.cast(values.type), values).fill_null(fill_value=True)
        _require_parsed(name, "be dates without a time of day", values.cast(pa.string()), midnight)
        values = days
    elif not pa.types.is_date(kind):
        raise InvalidSnapshot(Problem(name, "be dates such as 2024-03-01", _type_shown(kind), _CAST))
    days_since, valid = _filled(values.cast(pa.date32()).cast(pa.int32()))
    return days_since.astype(np.int64).view("datetime64[D]"), valid


def _parsed_dates(name: str, texts: "pa.Array") -> "pa.Array":
    import pyarrow as pa
    from pyarrow import compute

    try:
        return texts.cast(pa.date32())
    except pa.ArrowInvalid:
        distinct = compute.unique(texts)
        wrong = [text for text in distinct.to_pylist() if text is not None and not _is_day(text)]
        right = compute.invert(compute.is_in(texts, pa.array(wrong, pa.string())))
        _require_parsed(name, "be dates such as 2024-03-01", texts, right)
        return compute.utf8_slice_codeunits(compute.utf8_trim_whitespace(texts), 0, 10).cast(pa.date32())


def _is_day(text: str) -> bool:
    """Whether a text is an ISO date, optionally followed by midnight."""
    if not re.fullmatch(rf"\s*{_DAY}([T ]00:00(:00(\.0+)?)?)?\s*", text, re.ASCII):
        return False
    try:
        date.fromisoformat(text.strip()[:10])
    except ValueError:
        return False
    return True


def _labelled(name: str, data: "pa.ChunkedArray") -> tuple[Int32, list[str]]:
    """Positions in a list of labels, -1 where empty; every label is the value of some row."""
    import pyarrow as pa

    kind = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
    if pa.types.is_null(kind):
        return np.full(len(data), -1, dtype=np.int32), []
    wrong = InvalidSnapshot(
        Problem(name, "be categories: text, whole numbers, dates, or true and false", _type_shown(kind), _CAST)
    )
    if pa.types.is_nested(kind):
        raise wrong
    if pa.types.is_dictionary(data.type):
        encoded = data.unify_dictionaries().combine_chunks()
    else:
        encoded = _plain(data).dictionary_encode()
    values = _with_nulls(encoded.dictionary)
    absent = np.append(values.is_null().to_numpy(zero_copy_only=False), True)  # the last one stands for an empty row
    rows = encoded.indices.cast(pa.int32()).fill_null(len(values)).to_numpy(zero_copy_only=False)
    occurring, positions = numbered_by_occurrence(rows, absent)
    labels = [_label(value) for value in values.take(pa.array(occurring)).to_pylist()]
    if None in labels:
        raise wrong
    return positions, [str(label) for label in labels]


def _label(value: object) -> str | None:
    """A category as text; None if it can be written in more than one way."""
    rules: tuple[_LabelRule, ...] = (
        (str, lambda text: unicodedata.normalize("NFC", text)),
        (bool, lambda truth: str(truth).lower()),
        (int, str),
        (datetime, lambda _: None),
        (date, date.isoformat),
        ((float, Decimal), lambda number: str(int(number)) if number == number // 1 else None),
    )
    return next((rule(value) for kind, rule in rules if isinstance(value, kind)), None)


def _filled(values: "pa.Array") -> tuple[AnyArray, Bool | None]:
    """Numbers as a numpy array, and a mask of the valid ones; None if all are."""
    if values.null_count == 0:
        return values.to_numpy(zero_copy_only=False), None
    valid = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    return values.fill_null(0).to_numpy(zero_copy_only=False), valid


def _require_parsed(name: str, rule: str, texts: "pa.Array", right: "pa.BooleanArray") -> None:
    from pyarrow import compute

    wrong = texts.filter(compute.invert(right))
    if len(wrong) == 0:
        return
    shown = examples(map(repr, sorted(wrong.unique().to_pylist())), len(wrong))
    raise InvalidSnapshot(Problem(name, rule, shown))


def _number_rule(column: QuasiIdentifier) -> str:
    return "be whole numbers" if column.granularity % 1 == 0 else "be numbers"


def _type_shown(kind: "pa.DataType") -> str:
    return f"type {kind}"
