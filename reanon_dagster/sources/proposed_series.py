"""A series that is proposed for a table: what each column is, and the lines of series.yaml that say so."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.model.errors import InvalidParameter, Problem, counted
from reanon_dagster.series.calendar import CADENCES
from reanon_dagster.series.template import PROPOSED
from reanon_dagster.sources.kinds.csv_files import HEAD
from reanon_dagster.sources.kinds.file_formats import FORMATS, ending_of
from reanon_dagster.sources.kinds.files import FileSource

if TYPE_CHECKING:
    import pyarrow as pa

FEW, MANY = 12, 60
"""Up to so many different numbers are taken for labels; more different texts are taken for names or free text."""
LEAST_VALUES, MOST_VALUES = 2, 500
"""How many different values a sensitive column may have."""
BINS = 20
"""About how many bins a number or a date is cut into."""
DEFAULT_M, SMALL = 3, 100
"""The number of values that is proposed; and the number of people below which fewer than ten share a box."""
NAMES_OF_IDS = re.compile(
    r"(^|_|\b)(id|ids|patient|person|people|pid|uid|key|nr|no|number|case|pseudonym)($|_|\b)", re.IGNORECASE
)
ENCODINGS = ("utf-8", "cp1252")


@dataclass(frozen=True)
class Kept:
    """A column that is proposed, as series.yaml writes it, and why."""

    settings: str
    remark: str


@dataclass(frozen=True)
class Proposal:
    """A series for a table."""

    yaml: str
    release: str
    """The release that the table is the snapshot of."""
    snapshot: str
    """Where its snapshot must lie, in the folder of the series."""
    remarks: tuple[str, ...]
    """What the steward must read: what was decided without them."""


def read_columns(path: Path) -> tuple[dict[str, list[str | None]], dict[str, str]]:
    """Every column of a file as text, and the keys of `source` that its format needs.

    Raises: InvalidParameter, InvalidSnapshot.
    """
    import pyarrow as pa

    ending = ending_of(path.name)
    if ending is None:
        raise InvalidParameter(Problem("--from", f"be a file that ends in {', '.join(FORMATS)}", path.name))
    if not path.is_file():
        raise InvalidParameter(Problem("--from", "be a file", str(path)))
    keys = _csv_keys(path) if ending == ".csv" else {}
    source = FileSource(id="-", path=(f"{{release}}{ending}",), **keys)  # type: ignore[arg-type]
    release = path.name.removesuffix(ending)
    names = source.read(path.parent, release, ()).names
    data = source.read(path.parent, release, names).data
    found = {name: [None if text == "" else text for text in _texts(data[name], pa)] for name in data.column_names}
    return found, keys


def _texts(column: "pa.ChunkedArray", pa: "type") -> list[str | None]:
    kind = column.type
    if pa.types.is_dictionary(kind):  # type: ignore[attr-defined]
        column = column.cast(kind.value_type)
    return list(column.cast(pa.string()).to_pylist())  # type: ignore[attr-defined]


def _csv_keys(path: Path) -> dict[str, str]:
    """The separator and the encoding of a csv file, where they are not the default."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    first = head.split(b"\n", 1)[0].decode("latin-1")
    separator = max(",;\t|", key=lambda character: len(next(csv.reader([first], delimiter=character), [])))
    keys = {} if separator == "," else {"separator": "tab" if separator == "\t" else separator}
    try:
        path.read_bytes().decode(ENCODINGS[0])
    except UnicodeDecodeError:
        keys["encoding"] = ENCODINGS[1]
    return keys


def likely_ids(columns: dict[str, list[str | None]]) -> list[str]:
    """The columns that have another value in every row, those that are called like an id first."""
    whole = [
        name
        for name, values in columns.items()
        if None not in values and len(set(values)) == len(values) and not any("." in str(one) for one in values[:50])
    ]
    return sorted(whole, key=lambda name: NAMES_OF_IDS.search(name) is None)


def likely_sensitive(columns: dict[str, list[str | None]], id_: str) -> list[str]:
    """The columns that may be the sensitive one: labels that repeat, the one with the most values first."""
    found = {}
    for name, values in columns.items():
        distinct = {one for one in values if one is not None}
        if name != id_ and LEAST_VALUES < len(distinct) <= MOST_VALUES and _numbers(sorted(distinct)) is None:
            found[name] = len(distinct)
    return sorted(found, key=lambda name: -found[name])


def proposal(
    name: str, file: Path, columns: dict[str, list[str | None]], keys: dict[str, str], id_: str, sensitive: str
) -> Proposal:
    """The series for these columns.

    Raises: InvalidParameter if the sensitive column cannot be protected.
    """
    values = [one for one in columns[sensitive] if one is not None]
    if len(set(values)) < LEAST_VALUES:
        raise InvalidParameter(Problem("--sensitive", "have two values or more", sensitive))
    remarks, lines = [], []
    if len(values) < len(columns[sensitive]):
        empty = counted(len(columns[sensitive]) - len(values), "row has", "rows have")
        remarks.append(f"{empty} no value of {sensitive} and will be refused: fill them in, or leave these rows out")
    for column, own in columns.items():
        if column in {id_, sensitive}:
            continue
        kept = proposed_column(column, own)
        if isinstance(kept, Kept):
            lines.append(f"  {_key(column)}: {{{kept.settings}}}  # {kept.remark}")
        else:
            lines.append(f"  # {column}: left out, {kept}")
            remarks.append(f"{column} is left out: {kept}")
    if not any(not line.startswith("  #") for line in lines):
        raise InvalidParameter(Problem("--from", "have a column beside the id and the sensitive one", file.name))
    release, pattern, releases = _calendar(file)
    m = _largest_m(values)
    if m < DEFAULT_M:
        remarks.append(f"m is {m}, because a value of {sensitive} is frequent or the table has few: see reanon advise")
    small = f"publish: {{k: {max(2, min(5, len(values) // 10))}}}" if len(values) < SMALL else ""
    source = "".join(f", {key}: {_key(one)}" for key, one in keys.items())
    text = PROPOSED.format(
        file=file.name,
        name=name,
        pattern=pattern,
        id=_key(id_),
        keys=source,
        releases=releases,
        columns="\n".join(lines),
        sensitive=_key(sensitive),
        distinct=len(set(values)),
        m=m,
        publish=small,
    )
    return Proposal(f"{text.rstrip()}\n", release, pattern.replace("{release}", release), tuple(remarks))


def proposed_column(name: str, values: Sequence[str | None]) -> Kept | str:
    """What a column is, or why it is left out."""
    present = [one for one in values if one is not None]
    distinct = sorted(set(present))
    if len(distinct) < LEAST_VALUES:
        return "it has one value at most"
    missing = ", missing: separate" if len(present) < len(values) else ""
    many = f"{len(distinct):,} different values"
    days = _days(distinct)
    if days is not None:
        width = next((one for one in (1, 7, 28, 91, 365) if (days[1] - days[0]).days <= one * BINS * 2), 1826)
        first, last = f"{days[0].year}-01-01", f"{days[1].year}-12-31"
        return Kept(f"kind: date, min_width: {width}, domain: [{first}, {last}]{missing}", many)
    numbers = _numbers(distinct)
    if numbers is not None and (len(distinct) > FEW or any(one != one.to_integral_value() for one in numbers)):
        return Kept(f"{_number_settings(name, numbers)}{missing}", many)
    if numbers is not None:
        distinct = sorted(distinct, key=Decimal)
    elif len(distinct) > MANY:
        return f"{many}, as names, addresses or free text have; group them into a column with at most {MANY}"
    order = ", ".join(_key(one) for one in distinct)
    return Kept(f"kind: categorical, order: [{order}]{missing}", many)


def _number_settings(name: str, numbers: Sequence[Decimal]) -> str:
    """Bins of a round width, and a domain of whole bins around what there is."""
    low, high = min(numbers), max(numbers)
    digits = max(0, *(-int(one.as_tuple().exponent) for one in numbers))
    step = Decimal(1).scaleb(-digits)
    width = max(step, _round_number(float(high - low) / BINS))
    begin, end = floor(low / width) * width, ceil((high + step) / width) * width - step
    if re.search(r"(^|_|\b)age($|_|\b)", name, re.IGNORECASE) and 0 <= low <= high < 120:
        width, begin, end = Decimal(5), Decimal(0), Decimal(119)
    granularity = "" if step == 1 else f", granularity: {step}"
    return f"kind: numeric, min_width: {_plain(width)}, domain: [{_plain(begin)}, {_plain(end)}]{granularity}"


def _round_number(width: float) -> Decimal:
    """The round number from 1, 2, 5, 10, … that is nearest from above."""
    power = Decimal(10) ** floor(log10(width)) if width > 0 else Decimal(1)
    return next(factor * power for factor in (1, 2, 5, 10) if float(factor * power) >= width)


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _numbers(distinct: Sequence[str]) -> list[Decimal] | None:
    """The texts as numbers; None if one is none, or begins with a zero as labels do."""
    found = []
    for text in distinct:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return None
        if not number.is_finite() or re.match(r"[+-]?0\d", text) or "e" in text.lower():
            return None
        found.append(number)
    return found


def _days(distinct: Sequence[str]) -> tuple[date, date] | None:
    if not all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", one) for one in distinct):
        return None
    try:
        days = [date.fromisoformat(one) for one in distinct]
    except ValueError:
        return None
    return min(days), max(days)


def stem(file: Path) -> str:
    """The name of a file without its ending and without the release that it names."""
    name = file.name.removesuffix(ending_of(file.name) or file.suffix)
    return re.sub(r"[-_. ]*\d[\dQW-]*$", "", name) or "series"


def _calendar(file: Path) -> tuple[str, str, str]:
    """The release whose name is in the file's name, the pattern of snapshots, and the lines of `releases`."""
    ending = ending_of(file.name) or ""
    for cadence, periods in CADENCES.items():
        for match in re.finditer(r"\d[\dQW-]*\d|\d+", file.name.removesuffix(ending)):
            if periods.parse(match[0]) is not None:
                calendar = f"{{cadence: {cadence}, first: {match[0]}}}  # due when the period has ended"
                return match[0], f"releases/{{release}}{ending}", calendar
    names = "{names: [r1, r2, r3, r4]}  # in this order; or {cadence: quarterly, first: 2024-Q1}"
    return "r1", f"releases/{{release}}{ending}", names


def _largest_m(values: Sequence[str]) -> int:
    """The number of values that is proposed: one in m people may have the same value."""
    counts: dict[str, int] = {}
    for one in values:
        counts[one] = counts.get(one, 0) + 1
    import numpy as np

    listed = np.array(list(counts.values()), np.int64)
    return DEFAULT_M if len(counts) >= 2 * DEFAULT_M and is_eligible(listed, DEFAULT_M) else 2


def _key(text: str) -> str:
    """A text as YAML writes it inside brackets."""
    import yaml

    plain = re.fullmatch(r"[^\W\d][\w -]*\w|[^\W\d]", text) and isinstance(yaml.safe_load(text), str)
    return text if plain else "'" + text.replace("'", "''") + "'"
