"""Signed sums of groups, searched from one group: the judge's own search.

Of any set of people that is one larger than what may be left over, one must be cancelled by a group still to come. So
the next group is one that shows one of the first few people of the heavier side.
"""

import numpy as np

from reanon_core.checks.membership_table import Appearances
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int8, Int32, Int64


def smallest_sums(known: Appearances, first: int, left: int, most: int) -> Int64:
    """For each group from `first` on, how many people the smallest sum with it leaves on a side; 0 if none is small.

    Small means at most `left` on both sides, but somebody. Rows that are nobody's never cancel.

    Requires: `left` is below the number of values of a group, so that a group by itself is not small.
    """
    return _smallest_sums(
        known.who, known.group, known.before, known.latest, known.start, known.values, known.rows, first, left, most
    )


@compiled
def _smallest_sums(
    who: Int32,
    group: Int32,
    before: Int32,
    latest: Int32,
    start: Int64,
    values: Int32,
    rows: Int64,
    first: int,
    left: int,
    most: int,
) -> Int64:
    answers = np.zeros(len(start) - 1 - first, dtype=np.int64)
    weight = np.zeros(len(latest), dtype=np.int8)
    picked, sign = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    appearance, pivot = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for new in range(first, len(start) - 1):
        picked[0], sign[0] = new, 1
        _weigh(who, start, weight, new, 1)
        depth = sign[0]  # 1; a literal would compile everything once more
        pivot[1 % most], appearance[1 % most] = -1, -1
        while depth > 0:
            following = -1
            if depth < most:
                following = _following(
                    who,
                    group,
                    before,
                    latest,
                    start,
                    values,
                    rows,
                    weight,
                    picked,
                    sign,
                    depth,
                    left,
                    most,
                    pivot,
                    appearance,
                )
            if following < 0:
                depth -= 1
                _weigh(who, start, weight, picked[depth], -sign[depth])
                continue
            picked[depth] = following
            _weigh(who, start, weight, following, sign[depth])
            plus, minus = _sides(who, start, rows, weight, picked, sign, depth + 1)
            if plus == minus <= left:
                if plus > 0 and (answers[new - first] == 0 or plus < answers[new - first]):
                    answers[new - first] = plus
                _weigh(who, start, weight, following, -sign[depth])
            else:
                depth += 1
                if depth < most:
                    pivot[depth], appearance[depth] = -1, -1
    return answers


@compiled
def _weigh(who: Int32, start: Int64, weight: Int8, group: int, sign: int) -> None:
    """Add the group to the sum, or subtract it."""
    for i in range(start[group], start[group + 1]):
        weight[who[i]] += sign


@compiled
def _sides(
    who: Int32, start: Int64, rows: Int64, weight: Int8, picked: Int64, sign: Int64, depth: int
) -> tuple[int, int]:
    """What is left on either side: the weights of everybody, each person once, and the rows of nobody."""
    plus, minus = 0, 0
    for i in range(depth):
        group = picked[i]
        nobody = (rows[group + 1] - rows[group]) - (start[group + 1] - start[group])
        plus += nobody if sign[i] > 0 else 0
        minus += nobody if sign[i] < 0 else 0
        for j in range(start[group], start[group + 1]):
            person = who[j]
            if not _shown(who, start, picked, i, person):
                plus += max(int(weight[person]), 0)
                minus += max(-int(weight[person]), 0)
    return plus, minus


@compiled
def _shown(who: Int32, start: Int64, picked: Int64, depth: int, person: int) -> bool:
    """Whether one of the first `depth` groups shows the person."""
    for i in range(depth):
        for j in range(start[picked[i]], start[picked[i] + 1]):
            if who[j] == person:
                return True
    return False


@compiled
def _following(
    who: Int32,
    group: Int32,
    before: Int32,
    latest: Int32,
    start: Int64,
    values: Int32,
    rows: Int64,
    weight: Int8,
    picked: Int64,
    sign: Int64,
    depth: int,
    left: int,
    most: int,
    pivot: Int64,
    appearance: Int64,
) -> int:
    """The next group to try at this depth, or -1. `pivot` and `appearance` say how far the search here has come."""
    plus, minus = _sides(who, start, rows, weight, picked, sign, depth)
    heavier = 1 if plus >= minus else -1
    heavy, light = max(plus, minus), min(plus, minus)
    still = most - depth - (1 if light > left else 0)
    if still <= 0 or (depth + 1 == most and heavy == light):
        return -1
    share = (heavy - left + still - 1) // still
    sign[depth] = -heavier
    while True:
        while appearance[depth] < 0:
            pivot[depth] += 1
            if pivot[depth] > left:
                return -1
            person = _heavy_person(who, start, weight, picked, depth, heavier, pivot[depth])
            if person < 0:
                return -1
            appearance[depth] = latest[person]
        other = group[appearance[depth]]
        appearance[depth] = before[appearance[depth]]
        if not _among(picked, depth, other) and same_kind(values, rows, picked[0], other):
            covered = 0
            for i in range(start[other], start[other + 1]):
                covered += 1 if weight[who[i]] * heavier > 0 else 0
            fits = depth + 1 < most or rows[other + 1] - rows[other] == heavy - light
            if covered >= share and fits:
                return int(other)


@compiled
def _heavy_person(who: Int32, start: Int64, weight: Int8, picked: Int64, depth: int, heavier: int, number: int) -> int:
    """The person of that number on the heavier side, or -1."""
    seen = 0
    for i in range(depth):
        for j in range(start[picked[i]], start[picked[i] + 1]):
            person = who[j]
            if weight[person] * heavier > 0 and not _shown(who, start, picked, i, person):
                if seen == number:
                    return int(person)
                seen += 1
    return -1


@compiled
def _among(picked: Int64, depth: int, group: int) -> bool:
    for i in range(depth):
        if picked[i] == group:
            return True
    return False


@compiled
def same_kind(values: Int32, rows: Int64, one: int, other: int) -> bool:
    """Whether two groups show the same set of values."""
    i, j = rows[one], rows[other]
    while i < rows[one + 1] and j < rows[other + 1]:
        if values[i] != values[j]:
            return False
        value = values[i]
        while i < rows[one + 1] and values[i] == value:
            i += 1
        while j < rows[other + 1] and values[j] == value:
            j += 1
    return bool(i == rows[one + 1] and j == rows[other + 1])
