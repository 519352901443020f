"""Values as int32 codes and back: the grid that intervals are made of.

A code is value / granularity for numbers, days since 1970-01-01 for dates, the leaf's position for
categories, and the position in a growing list for sensitive values. Coding loses nothing: a value
without a code is a Problem and is never rounded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reanon_core.model.arrays import MISSING, AnyArray, Bool, Float64, Int32, Int64
from reanon_core.model.errors import Problem
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Sensitive

Numbers: TypeAlias = npt.NDArray[np.integer | np.floating]

LEAST_CODE = MISSING + 1
MOST_CODE = int(np.iinfo(np.int32).max)
_UNKNOWN = -1
_EXAMPLES = 5
_LONGEST, _SHORTEST_ID = 60, 5
_GROW = "correct the data, or add the values at the end of the taxonomy or order"
_LISTED = "write it as one of them; the list can be changed before the first release only"
_EXACT_DIGITS = 6
"""The most significant digits of a granularity, so that code * granularity is exact in a float64."""


@dataclass(frozen=True, eq=False)
class Coded:
    """The codes of a column and its problems. If there are problems, the codes are meaningless."""

    codes: Int32  # [n]
    problems: tuple[Problem, ...] = ()


def encode(column: QuasiIdentifier, values: AnyArray, valid: Bool | None = None) -> Coded:
    """The codes of plain values; NaN, NaT and values where `valid` is false are missing.

    Requires: integers or floats for numbers, datetime64 for dates, an array of text for categories.
    """
    if column.kind is Kind.CATEGORICAL:
        positions, labels = _dictionary(values, valid)
        return encode_labels(column, positions, labels)
    steps, empty = _steps(values)
    if empty.any():
        valid = ~empty if valid is None else valid & ~empty
    if valid is not None:
        steps = np.where(valid, steps, steps.dtype.type(0))
    codes, problems = _on_grid(column, steps)
    problems += _outside(column, codes, valid) if not problems else []
    return _with_missing(column, codes, valid, problems)


def encode_labels(column: QuasiIdentifier, positions: npt.NDArray[np.signedinteger], labels: Sequence[str]) -> Coded:
    """The codes of a categorical column given as positions in a list of labels, -1 where the value is missing."""
    leaves = column.taxonomy.leaves if column.taxonomy else ()
    number = {leaf: code for code, leaf in enumerate(leaves)}
    table = np.array([*(number.get(label, _UNKNOWN) for label in labels), MISSING], dtype=np.int32)
    codes = table[positions]  # -1 picks the last entry
    unknown = codes == _UNKNOWN
    problems = []
    if unknown.any():
        used = sorted({labels[position] for position in np.unique(positions[unknown])})
        rule = "be a leaf of its taxonomy" if column.hierarchical else "be one of the values of its order"
        problems.append(Problem(column.name, rule, examples(map(repr, used), int(unknown.sum())), _GROW))
    valid = None if positions.size == 0 or positions.min() >= 0 else positions >= 0
    return _with_missing(column, codes, valid, problems)


def encode_sensitive(
    column: Sensitive, positions: npt.NDArray[np.signedinteger], labels: Sequence[str]
) -> tuple[Coded, Sensitive]:
    """The codes of the sensitive column, and the column with the values that are new in this release.

    Ensures: known values keep their codes; new ones follow in sorted order.
    """
    used = np.flatnonzero(np.bincount(positions + 1, minlength=1)[1:])
    new = sorted({labels[position] for position in used.tolist()} - set(column.values))
    problems = []
    if new and column.closed:
        rows = int(np.isin(positions, [at for at, label in enumerate(labels) if label in set(new)]).sum())
        problems.append(Problem(column.name, "be one of the declared values", examples(map(repr, new), rows), _LISTED))
    grown = column.with_values((*column.values, *new)) if new and not column.closed else column
    number = {value: code for code, value in enumerate(grown.values)}
    table = np.array([*(number.get(label, _UNKNOWN) for label in labels), _UNKNOWN], dtype=np.int32)
    empty = positions < 0
    if empty.any():
        problems.append(
            Problem(
                column.name,
                "have a value in every row",
                f"empty in {named_rows(empty)}",
                "a row without a sensitive value cannot be hidden: fill it in, or leave the row out",
            )
        )
    return Coded(table[positions], tuple(problems)), grown


def decode(column: QuasiIdentifier, codes: Int32) -> AnyArray:
    """The values of the codes, in the column's own type.

    Whole granularity gives int64, any other float64; dates datetime64[D]; categories an object array of labels.
    Where a code is MISSING, the value is 0, NaN, NaT or None: mask with `codes == MISSING`.
    """
    missing = codes == MISSING
    safe = np.where(missing, 0, codes).astype(np.int64)
    if column.kind is Kind.CATEGORICAL:
        leaves = column.taxonomy.leaves if column.taxonomy else ()
        return label_array((*leaves, None))[np.where(missing, len(leaves), safe)]
    if column.kind is Kind.DATE:
        return np.where(missing, np.datetime64("NaT", "D"), safe.astype("datetime64[D]"))
    top, bottom = column.granularity.as_integer_ratio()
    if bottom == 1:
        return safe * top
    # Both operands are exact, so the quotient is the float nearest to the decimal value.
    return np.where(missing, np.nan, safe * top / bottom)


def decode_sensitive(column: Sensitive, codes: Int32) -> AnyArray:
    """The sensitive values of the codes."""
    return label_array(column.values)[codes]


def grid_problem(name: str, granularity: Decimal) -> Problem | None:
    """The problem of a granularity that does not give exact values, if it has one."""
    if granularity <= 0:
        return Problem(f"{name}: granularity", "be above 0", plain(granularity))
    if len(granularity.normalize().as_tuple().digits) > _EXACT_DIGITS:
        return Problem(f"{name}: granularity", f"have at most {_EXACT_DIGITS} significant digits", plain(granularity))
    return None


def plain(number: Decimal) -> str:
    """A number in plain notation: 2000, not 2E+3."""
    return format(number.normalize(), "f")


def named_rows(mask: Bool) -> str:
    """The rows of a mask for a message, counted from 1: "row 3", "rows 3 and 17", "rows 1, 2, 3, 4, 5 and 7 more"."""
    rows = [str(row + 1) for row in np.flatnonzero(mask)]
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > _EXAMPLES:
        return f"rows {', '.join(rows[:_EXAMPLES])} and {len(rows) - _EXAMPLES} more"
    return f"rows {', '.join(rows[:-1])} and {rows[-1]}"


def label_array(values: Sequence[str | None]) -> npt.NDArray[np.object_]:
    """An array of labels, None where there is none."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _dictionary(values: AnyArray, valid: Bool | None) -> tuple[Int32, list[str]]:
    """Text as positions in the list of its distinct values, -1 where it is missing."""
    number: dict[str, int] = {}
    positions = np.fromiter(
        (number.setdefault(str(value), len(number)) for value in values), dtype=np.int32, count=len(values)
    )
    if valid is not None:
        positions[~valid] = -1
    return positions, list(number)


def _steps(values: AnyArray) -> tuple[Numbers, Bool]:
    """Dates as days, numbers as they are, and which are missing."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        return days.view(np.int64), np.isnat(days)
    numbers: Numbers = values  # type: ignore[assignment]
    return numbers, np.isnan(numbers)


def _on_grid(column: QuasiIdentifier, values: Numbers) -> tuple[Int64, list[Problem]]:
    """Each value divided by the granularity, and a problem if the result is not a code."""
    top, bottom = column.granularity.as_integer_ratio()
    floats = values.dtype.kind == "f"
    # The bounds are one step wider than the codes, so that a code just outside is still reported as such.
    low, high = (LEAST_CODE * top) // bottom - 1, -((-MOST_CODE * top) // bottom) + 1
    if values.size and (values.min() < low or values.max() > high):
        far = (values < low) | (values > high)
        return np.zeros(values.shape, np.int64), [_too_far(column, values[far])]
    if floats and bottom > 1:
        codes, off = _fractional(values.astype(np.float64), top, bottom)
    else:
        whole = np.rint(values) if floats else values
        scaled = whole.astype(np.int64) * bottom
        codes = scaled // top
        off = codes * top != scaled
        if floats:
            off |= whole != values
    problems = []
    if off.any():
        problems.append(_off_grid(column, values, off))
    elif codes.size and (codes.min() < LEAST_CODE or codes.max() > MOST_CODE):
        problems.append(_too_far(column, values[(codes < LEAST_CODE) | (codes > MOST_CODE)]))
    return codes, problems


def _fractional(values: Float64, top: int, bottom: int) -> tuple[Int64, Bool]:
    """Codes of floats on a fractional grid; a float is on the grid if it is the one nearest to a grid value."""
    codes = np.rint(values * bottom / top)
    return codes.astype(np.int64), codes * top / bottom != values


def _outside(column: QuasiIdentifier, codes: Int64, valid: Bool | None) -> list[Problem]:
    if column.domain is None or codes.size == 0:
        return []
    low, high = column.domain
    if valid is None and codes.min() >= low and codes.max() <= high:
        return []
    outside = (codes < low) | (codes > high)
    if valid is not None:
        outside &= valid
    if not outside.any():
        return []
    distinct = np.unique(codes[outside])
    first, last = decode(column, np.array([low, high], dtype=np.int32))
    shown = decode(column, distinct.astype(np.int32))
    return [
        Problem(
            column.name,
            f"lie in its domain, from {first} to {last}",
            examples(shown, int(outside.sum())),
            "correct the data, write it as the nearest value of the domain, or widen the domain by whole bins",
        )
    ]


def _with_missing(
    column: QuasiIdentifier, codes: Int64 | Int32, valid: Bool | None, problems: Sequence[Problem]
) -> Coded:
    """The codes as int32, with MISSING where the value is missing, if that is allowed."""
    result = codes.astype(np.int32)
    if valid is None or valid.all():
        return Coded(result, tuple(problems))
    if column.missing is Missing.REFUSE:
        empty = Problem(
            column.name,
            "have a value in every row",
            f"empty in {named_rows(~valid)}",
            "fill it in, or set missing: separate to publish empty values as such",
        )
        return Coded(result, (*problems, empty))
    result[~valid] = MISSING
    return Coded(result, tuple(problems))


def _too_far(column: QuasiIdentifier, values: AnyArray) -> Problem:
    if column.kind is Kind.DATE:
        return Problem(column.name, "be a date within the supported range", examples([], len(values)))
    return Problem(
        column.name,
        f"be less than {MOST_CODE} steps of its granularity {plain(column.granularity)} away from 0",
        examples(np.unique(values), len(values)),
        "a larger granularity would help",
    )


def _off_grid(column: QuasiIdentifier, values: AnyArray, off: Bool) -> Problem:
    distinct = np.unique(values[off])
    finer = _finer(column.granularity, distinct)
    furthest = Decimal(str(np.abs(values).max()))
    helps = finer > 0 and grid_problem(column.name, finer) is None and furthest / finer <= MOST_CODE
    return Problem(
        column.name,
        f"be a multiple of its granularity {plain(column.granularity)}",
        examples(distinct, int(off.sum()), may_be_ids=False),
        f"granularity: {plain(finer)} would help" if helps else "round the values in the source",
    )


def _finer(granularity: Decimal, values: AnyArray) -> Decimal:
    """The largest granularity whose grid contains the old grid and the first thousand values."""
    step = Fraction(granularity)
    for value in values[:1000]:
        other = Fraction(Decimal(str(value)))
        scale = step.denominator * other.denominator
        step = Fraction(gcd(step.numerator * other.denominator, other.numerator * step.denominator), scale)
    return Decimal(step.numerator) / Decimal(step.denominator)


def examples(values: Iterable[object], rows: int, *, may_be_ids: bool = True) -> str:
    """Up to five values for a message, how many more there are, and in how many rows.

    Values that nearly all differ may be the ids of people in a wrong column: then only their number is given.
    """
    shown = [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in map(str, values)]
    if may_be_ids and len(shown) > _EXAMPLES and 2 * len(shown) > rows and max(map(len, shown)) >= _SHORTEST_ID:
        return f"{len(shown):,} different values in {rows} rows"
    more = f" and {len(shown) - _EXAMPLES} more" if len(shown) > _EXAMPLES else ""
    listed = f"{', '.join(shown[:_EXAMPLES])}{more} " if shown else ""
    return f"{listed}in {rows} row{'' if rows == 1 else 's'}"
