"""The notations of values: one value, an interval, a set, masked digits, a node's label, * for any; decimal commas.

Ends are exact positions on the column's grid, so an interval whose ends lie between two values, such as R's
(19.9, 30.5], covers exactly the values inside it.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from reanon_core.model.coding import LEAST_CODE, MOST_CODE, plain
from reanon_core.model.release import NONE_MISSING, SOME_MISSING
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier

_NUMBER = re.compile(r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})([eE][+-]?\d{1,2})?", re.ASCII)
_INFINITY = re.compile(r"[+-]?(inf|infinity|∞)", re.IGNORECASE)
_MASKED = re.compile(r"(\d{1,20})(\*{1,20})", re.ASCII)
_DATE = re.compile(r"(\d{4})(-(\d\d)(-(\d\d)([T ]00:00(:00(\.0+)?)?)?)?)?", re.ASCII)
_BRACKETS = re.compile(r"([\[(\]])(.+)([\])\[])", re.DOTALL)
_SET = re.compile(r"\{(.+)\}", re.DOTALL)
_COMPARED = re.compile(r"(<=|>=|<|>|≤|≥)(.+)", re.DOTALL)
_SUPPRESSED = ("NA", "NULL")
"""What R writes where sdcMicro has suppressed a value, and ARX where there is none."""
_JOINED = "_"
"""What sdcMicro writes between the names of levels that it joins, unless its user gives them another name."""
_BETWEEN = ("..", "-", "–", " to ")
_BETWEEN_IN_BRACKETS = (",", ";", *_BETWEEN)
_EPOCH = date(1970, 1, 1).toordinal()

Ends = tuple[Fraction, Fraction]
"""The first and the last position that a value, a month or a node covers; mostly the same."""


class Unreadable(ValueError):
    """A text that covers no codes. Its message is the rule that the text breaks."""


class Cover(NamedTuple):
    """What a generalized value covers."""

    low: int
    high: int
    missing: int
    """The missing sign: SOME_MISSING if it also covers missing values, else NONE_MISSING."""


def cover(column: QuasiIdentifier, text: str, *, decimal: str = ".") -> Cover:
    """What one text in a column of generalized values covers; `decimal` is the decimal mark of numbers.

    Raises: Unreadable.
    """
    text = _clean(column, text, decimal)
    if _is_anything(column, text):
        return _anything(column)
    ends = _ends(column, text)
    low, high = _on_grid(column, ends) if ends is not None else _interval(column, text)
    if low > high:
        raise Unreadable("contain at least one value of its column")
    return Cover(low, high, NONE_MISSING)


def end(column: QuasiIdentifier, text: str, *, decimal: str = ".") -> Cover:
    """What one text covers in a column of lower or upper ends; `decimal` is the decimal mark of numbers.

    Raises: Unreadable.
    """
    text = _clean(column, text, decimal)
    if _is_anything(column, text):
        return _anything(column)
    ends = _ends(column, text)
    if ends is None:
        raise Unreadable(_one_value(column))
    return Cover(_clamped(ceil(ends[0])), _clamped(floor(ends[1])), NONE_MISSING)


def _clean(column: QuasiIdentifier, text: str, decimal: str) -> str:
    text = unicodedata.normalize("NFC", text).strip()
    if decimal == "." or column.kind is not Kind.NUMERIC:
        return text
    try:
        return with_decimal_points(text)
    except Ambiguous as error:
        raise Unreadable(str(error)) from None


def _is_anything(column: QuasiIdentifier, text: str) -> bool:
    """Whether a text covers every value: it is empty, all stars, or NA or NULL where that is no label."""
    return not text.strip("*") or (text in _SUPPRESSED and _ends(column, text) is None)


def _anything(column: QuasiIdentifier) -> Cover:
    return Cover(*_whole(column), SOME_MISSING if column.missing is Missing.SEPARATE else NONE_MISSING)


def _whole(column: QuasiIdentifier) -> tuple[int, int]:
    """All codes that can occur; without a declared domain, all codes."""
    return column.bounds or (LEAST_CODE, MOST_CODE)


def _clamped(code: int) -> int:
    return max(LEAST_CODE, min(MOST_CODE, code))


def _on_grid(column: QuasiIdentifier, ends: Ends) -> tuple[int, int]:
    """The codes of a plain value, which must be one of the column's own values."""
    low, high = ends
    if not LEAST_CODE <= low <= high <= MOST_CODE:
        raise Unreadable("be small enough to have a code")
    if low.denominator != 1 or high.denominator != 1:
        raise Unreadable(f"be a multiple of its granularity {plain(column.granularity)}, or an interval")
    return int(low), int(high)


def _interval(column: QuasiIdentifier, text: str) -> tuple[int, int]:
    """The codes strictly inside the ends, and those at the ends that belong to it."""
    if compared := _COMPARED.fullmatch(text):
        ends = _ends(column, compared[2].strip())
        if ends is not None:
            return _beyond(column, compared[1], ends)
    if found := _members_hull(column, text):
        return found
    brackets = _BRACKETS.fullmatch(text)
    inner, between = (brackets[2], _BETWEEN_IN_BRACKETS) if brackets else (text, _BETWEEN)
    for left, right in _splits(inner, between):
        first, last = _ends(column, left), _ends(column, right)
        if first is not None and last is not None:
            without_first, without_last = (brackets[1] in "(]", brackets[3] in ")[") if brackets else (False, False)
            low = floor(first[1]) + 1 if without_first else ceil(first[0])
            high = ceil(last[0]) - 1 if without_last else floor(last[1])
            return _clamped(low), _clamped(high)
    raise Unreadable(_any_notation(column))


def _members_hull(column: QuasiIdentifier, text: str) -> tuple[int, int] | None:
    """The codes from the first to the last member of a set, because a box cannot leave out those between.

    ARX writes a set in braces, sdcMicro joins the names of levels. None if the text is no set.
    """
    braces = _SET.fullmatch(text)
    inner, separators = (braces[1], (",", ";")) if braces else (text, (_JOINED,))
    if braces is None and column.kind is not Kind.CATEGORICAL:
        return None
    for separator in separators:
        members = [_ends(column, one.strip()) for one in inner.split(separator)]
        known = [one for one in members if one is not None]
        if len(known) == len(members):
            return _clamped(ceil(min(low for low, _ in known))), _clamped(floor(max(high for _, high in known)))
    return None


def _beyond(column: QuasiIdentifier, sign: str, ends: Ends) -> tuple[int, int]:
    """All codes on one side of a value, up to the end of the domain."""
    low, high = _whole(column)
    if sign in {"<", "<=", "≤"}:
        return low, _clamped(ceil(ends[0]) - 1 if sign == "<" else floor(ends[1]))
    return _clamped(floor(ends[1]) + 1 if sign == ">" else ceil(ends[0])), high


def _splits(text: str, between: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Every way to split a text in two: a dash may also be a minus sign, or part of a date or a label."""
    for separator in between:
        for found in re.finditer(re.escape(separator), text):
            yield text[: found.start()].strip(), text[found.end() :].strip()


def _ends(column: QuasiIdentifier, text: str) -> Ends | None:
    """What a text covers that is not written as an interval; None if it is no such text."""
    if column.kind is Kind.CATEGORICAL:
        return _label_ends(column, text)
    return _date_ends(text) if column.kind is Kind.DATE else _number_ends(column, text)


def _label_ends(column: QuasiIdentifier, text: str) -> Ends | None:
    """The leaves below the node of that name; where a leaf and a node above it share a name, all below the node."""
    paths = column.taxonomy.paths if column.taxonomy else ()
    below = [code for code, path in enumerate(paths) if text in path]
    return (Fraction(below[0]), Fraction(below[-1])) if below else None


def _number_ends(column: QuasiIdentifier, text: str) -> Ends | None:
    step = Fraction(column.granularity)
    if _NUMBER.fullmatch(text):
        position = Fraction(text) / step
        return position, position
    if _INFINITY.fullmatch(text):
        position = Fraction(LEAST_CODE - 1 if text.startswith("-") else MOST_CODE + 1)
        return position, position
    if masked := _MASKED.fullmatch(text):
        width = 10 ** len(masked[2])
        first = int(masked[1]) * width
        return first / step, (first + width) / step - 1
    return None


def _date_ends(text: str) -> Ends | None:
    """A day; or a month or a year, from its first day to its last."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in (found[1], found[3], found[5]))
    try:
        first = date(year or 0, month or 1, day or 1)
        last_month = month or 12
        last = date(year or 0, last_month, day or monthrange(year or 0, last_month)[1])
    except ValueError:
        return None
    return Fraction(first.toordinal() - _EPOCH), Fraction(last.toordinal() - _EPOCH)


def _one_value(column: QuasiIdentifier) -> str:
    return {
        Kind.NUMERIC: "be a number",
        Kind.DATE: "be a date such as 2024-03-01",
        Kind.CATEGORICAL: "be a label of its taxonomy" if column.hierarchical else "be one of the values of its order",
    }[column.kind]


def _any_notation(column: QuasiIdentifier) -> str:
    """The rule for a column of generalized values, with examples of its kind."""
    shown = {
        Kind.NUMERIC: "20-29, [20, 29], [20, 30) or >=20",
        Kind.DATE: "2024-03, [2024-03-01, 2024-03-31] or [2024-03-01, 2024-04-01)",
        Kind.CATEGORICAL: "[first, last]",
    }[column.kind]
    return f"{_one_value(column)}, an interval such as {shown}, or * for any value"


_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(\.\d{3})+(?![\d.])", re.ASCII)
_POINTED = re.compile(r"\d+(?:\.\d+)+", re.ASCII)
_DECIMAL = re.compile(r"(?<=\d),(?=\d)", re.ASCII)
_ENCLOSED = re.compile(r"([\[(\]{])(.+)([\])\[}])", re.DOTALL)
_SEPARATED = re.compile(r";|,\s|\s,|\.\.|\sto\s|(?<=[\d*])\s?[-–]", re.ASCII)
"""What separates the two ends of an interval, or the members of a set, beside a comma without a space."""

_ONE_WAY = "be readable in one way"


class Ambiguous(ValueError):
    """A number whose point or comma has two readings. Its message is the rule that the text breaks."""


def with_decimal_points(text: str) -> str:
    """The same number, interval or set with decimal points.

    R writes the intervals of cut() with points and one comma without a space, (19.956,31.4], whatever the decimal mark
    of the file.

    Raises: Ambiguous.
    """
    enclosed = _ENCLOSED.fullmatch(text.strip())
    commas = [] if enclosed is None else [found.start() for found in _DECIMAL.finditer(enclosed[2])]
    separated = enclosed is None or _SEPARATED.search(enclosed[2]) is not None
    if enclosed is not None and not separated and len(commas) == 1 and _has_decimal_points(enclosed):
        return text
    if _THOUSANDS.search(text):
        raise Ambiguous(f"{_ONE_WAY}: with decimal commas, a point before three digits may group thousands")
    if enclosed is None or separated:
        return _DECIMAL.sub(".", text)
    if len(commas) == 3:
        inner = f"{enclosed[2][: commas[1]]}; {enclosed[2][commas[1] + 1 :]}"
        return f"{enclosed[1]}{_DECIMAL.sub('.', inner)}{enclosed[3]}"
    if len(commas) > 1 or (commas and enclosed[1] == "{"):
        raise Ambiguous(f"{_ONE_WAY}: write a space or a semicolon between two numbers with decimal commas")
    return text


def _has_decimal_points(interval: re.Match[str]) -> bool:
    """Whether the points of an interval with one comma are decimal points: R wrote it, or no thousands end there."""
    half_open = interval[1] + interval[3] in {"(]", "[)"}
    return half_open or any(not _THOUSANDS.fullmatch(number) for number in _POINTED.findall(interval[2]))
