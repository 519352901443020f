"""Utility, word for word."""

from collections import Counter
from math import log, sqrt
from statistics import median

from reanon_core.model.arrays import MISSING
from reanon_core.model.ledger import Entry


def true_count(entry: Entry, low: list[int], high: list[int]) -> int:
    """How many people of the snapshot have every value in its range."""
    count = 0
    for i in range(entry.snapshot.size):
        codes = [*entry.snapshot.qi[:, i].tolist(), int(entry.snapshot.sensitive[i])]
        count += all(a <= code <= b for a, code, b in zip(low, codes, high, strict=True))
    return count


def estimated_count(entry: Entry, low: list[int], high: list[int]) -> float:
    """[XT07] Section 5.2: the sum of (|QI*| - c3) c1 c2 over the groups."""
    release, estimate = entry.release, 0.0
    counterfeits = dict(zip(entry.auxiliary.group.tolist(), entry.auxiliary.count.tolist(), strict=True))
    for group in range(release.boxes.count):
        values = [int(s) for g, s in zip(release.group, release.sensitive, strict=True) if g == group]
        c1 = 1.0
        for i in range(len(release.boxes.low)):
            box = set(range(int(release.boxes.low[i, group]), int(release.boxes.high[i, group]) + 1))
            if release.boxes.missing[i, group] == 2:
                c1 = 0.0
            else:
                c1 *= len(box & set(range(low[i], high[i] + 1))) / len(box)
        c2 = sum(low[-1] <= value <= high[-1] for value in values) / len(values)
        estimate += (len(values) - counterfeits.get(group, 0)) * c1 * c2
    return estimate


def workload_error(entry: Entry, ranges: list[tuple[list[int], list[int]]]) -> float:
    """The median relative error of the queries that have an answer."""
    errors = []
    for low, high in ranges:
        if actual := true_count(entry, low, high):
            errors.append(abs(actual - estimated_count(entry, low, high)) / actual)
    return median(errors) if errors else 0.0


def total_length(entry: Entry, first: list[int], last: list[int]) -> float:
    """The sum over rows and attributes of the interval's length, by its domain's."""
    total = 0.0
    for group in entry.release.group.tolist():
        for i in range(len(first)):
            if entry.release.boxes.missing[i, group] != 2 and last[i] > first[i]:
                length = int(entry.release.boxes.high[i, group]) - int(entry.release.boxes.low[i, group])
                total += min(1.0, length / (last[i] - first[i]))
    return total


Table = Counter[tuple[int, int]]
"""People by value and category."""


def quarter_begins(codes: list[int]) -> list[int]:
    """The codes at which cuts come nearest to a quarter, a half and three quarters of the people; the lower of two."""
    present = [code for code in codes if code != MISSING]
    return sorted(
        {
            min(sorted(set(present))[1:], key=lambda cut: (abs(sum(one < cut for one in present) - share), cut))
            for share in (len(present) / 4, len(present) / 2, 3 * len(present) / 4)
            if len(set(present)) > 1
        }
    )


def true_relation_table(entry: Entry, attribute: int, begins: list[int]) -> Table:
    """The selected people of the snapshot by value and category."""
    table: Table = Counter()
    for i in range(entry.snapshot.size):
        code = int(entry.snapshot.qi[attribute, i])
        if entry.snapshot.selection[i] and code != MISSING:
            table[int(entry.snapshot.sensitive[i]), sum(begin <= code for begin in begins)] += 1
    return table


def reader_relation_table(entry: Entry, attribute: int, begins: list[int]) -> dict[tuple[int, int], float]:
    """Every person code by code over their box, with each value of their group in turn."""
    release, rows = entry.release, entry.release.person_rows
    counterfeits = dict(zip(entry.auxiliary.group.tolist(), entry.auxiliary.count.tolist(), strict=True))
    table: dict[tuple[int, int], float] = {}
    for group in range(release.boxes.count):
        values = [int(s) for g, s in zip(release.group, release.sensitive, strict=True) if g == group]
        if rows is None:
            boxes, own = release.boxes, [group] * (len(values) - counterfeits.get(group, 0))
        else:
            boxes, own = rows.boxes, [int(b) for g, b in zip(rows.group, rows.box, strict=True) if g == group]
        for box in own:
            if boxes.missing[attribute, box] == 2:
                continue
            codes = range(int(boxes.low[attribute, box]), int(boxes.high[attribute, box]) + 1)
            for value in values:
                for code in codes:
                    cell = value, sum(begin <= code for begin in begins)
                    table[cell] = table.get(cell, 0.0) + 1 / len(values) / len(codes)
    return table


def relation_slope(
    tables: list[tuple[Table, dict[tuple[int, int], float]]],
    values: int,
    categories: list[int],
    *,
    least_odds: float,
    expected: float,
    chance: float,
) -> float | None:
    """The weighted slope of released on true log odds ratios over the pairs that are large enough; None without any."""
    found = []
    for (true, shown), count in zip(tables, categories, strict=True):
        people = sum(true.values())
        for value in range(values):
            for category in range(count - 1 if count == 2 else count):
                (odds, error), (seen, _) = (_log_odds(table, value, category) for table in (true, shown))
                having = sum(n for (v, _), n in true.items() if v == value)
                inside = sum(n for (_, c), n in true.items() if c == category)
                fewest = min(having, people - having) * min(inside, people - inside)
                if people and fewest / people >= expected:
                    found.append((odds, seen, error))
    errors = sqrt(2 * log(max(1, len(found) / chance)))
    large = [one for one in found if abs(one[0]) >= max(log(least_odds), errors * one[2])]
    if not large:
        return None
    return sum(true * seen / error**2 for true, seen, error in large) / sum(
        true**2 / error**2 for true, _, error in large
    )


def _log_odds(table: dict[tuple[int, int], float] | Table, value: int, category: int) -> tuple[float, float]:
    """The log odds ratio with half a person in each cell, and its standard error."""
    cells = {(v, c): 0.5 for v in (True, False) for c in (True, False)}
    for (v, c), people in table.items():
        cells[v == value, c == category] += people
    odds = cells[True, True] * cells[False, False] / (cells[True, False] * cells[False, True])
    return log(odds), sqrt(sum(1 / cell for cell in cells.values()))
