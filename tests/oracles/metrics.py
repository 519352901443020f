"""Utility, word for word."""

from statistics import median

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
