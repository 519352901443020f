"""Signed sums of groups, searched from one group: the judge's own search.

In any set of people with one person more than may be left, a group still to come must cancel one person. The next group
is therefore one that shows one of the first few people of the heavier side.
"""

from typing import NamedTuple

import numpy as np

from reanon_core.checks.membership_table import Appearances, MembershipTable, same_signature
from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int8, Int64


class SignedSum(NamedTuple):
    """The sum under construction, and how far the search has come at each depth."""

    weight: Int8  # [people] the weight of each person in the sum
    picked: Int64  # [most] the groups of the sum
    sign: Int64  # [most] and their signs
    pivot: Int64  # [most] the person of the heavier side whose groups are being tried
    appearance: Int64  # [most] the next appearance of that person, or a negative number


def smallest_sums(known: MembershipTable, first: int, left: int, most: int) -> Int64:
    """For each group from `first` on, how many people the smallest sum with it leaves on a side; 0 if none is small.

    A small sum leaves at most `left` people on either side, but not none at all. Counterfeits never cancel.

    Requires: `left` is below the number of values of a group, so that a group by itself is not small.
    """
    return _smallest_sums(known.appearances, first, left, most)


@compiled
def _smallest_sums(known: Appearances, first: int, left: int, most: int) -> Int64:
    answers = np.zeros(len(known.start) - 1 - first, dtype=np.int64)
    total = SignedSum(
        np.zeros(len(known.latest), np.int8),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    picked, sign, pivot, appearance = total.picked, total.sign, total.pivot, total.appearance
    for new in range(first, len(known.start) - 1):
        picked[0], sign[0] = new, 1
        _add(known, total, new, 1)
        depth = sign[0]  # 1; a literal would compile everything once more
        pivot[1 % most], appearance[1 % most] = -1, -1
        while depth > 0:
            following = -1
            if depth < most:
                following = _next_group(known, total, depth, left, most)
            if following < 0:
                depth -= 1
                _add(known, total, picked[depth], -sign[depth])
                continue
            picked[depth] = following
            _add(known, total, following, sign[depth])
            plus, minus = _sides(known, total, depth + 1)
            if plus == minus <= left:
                if plus > 0 and (answers[new - first] == 0 or plus < answers[new - first]):
                    answers[new - first] = plus
                _add(known, total, following, -sign[depth])
            else:
                depth += 1
                if depth < most:
                    pivot[depth], appearance[depth] = -1, -1
    return answers


@compiled
def _add(known: Appearances, total: SignedSum, group: int, sign: int) -> None:
    """Add the group to the sum, or subtract it."""
    for i in range(known.start[group], known.start[group + 1]):
        total.weight[known.who[i]] += sign


@compiled
def _sides(known: Appearances, total: SignedSum, depth: int) -> tuple[int, int]:
    """What is left on either side: the weights of all people, each person once, and the counterfeits."""
    start, rows, weight = known.start, known.rows, total.weight
    plus, minus = 0, 0
    for i in range(depth):
        group = total.picked[i]
        counterfeits = (rows[group + 1] - rows[group]) - (start[group + 1] - start[group])
        plus += counterfeits if total.sign[i] > 0 else 0
        minus += counterfeits if total.sign[i] < 0 else 0
        for j in range(start[group], start[group + 1]):
            person = known.who[j]
            if not _is_shown(known, total, i, person):
                plus += max(int(weight[person]), 0)
                minus += max(-int(weight[person]), 0)
    return plus, minus


@compiled
def _is_shown(known: Appearances, total: SignedSum, depth: int, person: int) -> bool:
    """Whether one of the first `depth` groups shows the person."""
    start = known.start
    for i in range(depth):
        for j in range(start[total.picked[i]], start[total.picked[i] + 1]):
            if known.who[j] == person:
                return True
    return False


@compiled
def _next_group(known: Appearances, total: SignedSum, depth: int, left: int, most: int) -> int:
    """The next group to try at this depth, or -1; `pivot` and `appearance` advance."""
    who, start, rows = known.who, known.start, known.rows
    weight, pivot, appearance = total.weight, total.pivot, total.appearance
    plus, minus = _sides(known, total, depth)
    heavier = 1 if plus >= minus else -1
    heavy, light = max(plus, minus), min(plus, minus)
    still = most - depth - (1 if light > left else 0)
    if still <= 0 or (depth + 1 == most and heavy == light):
        return -1
    share = (heavy - left + still - 1) // still
    total.sign[depth] = -heavier
    while True:
        while appearance[depth] < 0:
            pivot[depth] += 1
            if pivot[depth] > left:
                return -1
            person = _heavy_person(known, total, depth, heavier, pivot[depth])
            if person < 0:
                return -1
            appearance[depth] = known.latest[person]
        other = known.group[appearance[depth]]
        appearance[depth] = known.before[appearance[depth]]
        if not _is_picked(total.picked, depth, other) and same_signature(known, total.picked[0], other):
            cancelled = 0
            for i in range(start[other], start[other + 1]):
                cancelled += 1 if weight[who[i]] * heavier > 0 else 0
            fits = depth + 1 < most or rows[other + 1] - rows[other] == heavy - light
            if cancelled >= share and fits:
                return int(other)


@compiled
def _heavy_person(known: Appearances, total: SignedSum, depth: int, heavier: int, number: int) -> int:
    """The person of that number on the heavier side, or -1."""
    start = known.start
    seen = 0
    for i in range(depth):
        for j in range(start[total.picked[i]], start[total.picked[i] + 1]):
            person = known.who[j]
            if total.weight[person] * heavier > 0 and not _is_shown(known, total, i, person):
                if seen == number:
                    return int(person)
                seen += 1
    return -1


@compiled
def _is_picked(picked: Int64, depth: int, group: int) -> bool:
    for i in range(depth):
        if picked[i] == group:
            return True
    return False
