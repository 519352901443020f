"""How likely phases 1 to 3 are to decide as published, if some people had other values. Counts only, no rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from math import exp, factorial, inf, log
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from reanon_core.bucketing.bucket_history import DISPLACED_ROW, NEW_ROW, NOWHERE, OLD_ROW, WITHHELD_ROW, BucketHistory
from reanon_core.bucketing.count_plan import BucketCounts, CountPlan, assign_new_rows, balance_buckets
from reanon_core.bucketing.eligibility import deferred, is_eligible
from reanon_core.bucketing.episodes import disjoint_signature
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.signatures import Signature, Signatures
from reanon_core.model.arrays import Int64
from reanon_core.model.errors import Unpublishable

SAME = 1e-7
"""Log-likelihoods that differ by less are the same: products of factorials of counts differ by more, or not at all."""


class WorldCounts(NamedTuple):
    """What phases 1 to 3 see of a world, release by release; slots are those of the history's signatures."""

    old: Int64  # [t, slots] old rows, without displaced ones
    new: Int64  # [t, slots] new rows, where they were published
    withheld: Int64  # [t, values] new rows that were withheld
    displaced: tuple[tuple["Displaced", ...], ...]  # [t] in ascending order of person


class Displaced(NamedTuple):
    """A person whose value is in none of their signatures."""

    had: Signature
    value: int
    bucket: int  # the number of the signature that they were published with, or NOWHERE


class Decision(NamedTuple):
    """One outcome of phases 1 to 3."""

    log_chance: float
    plan: CountPlan
    withheld: Int64  # [values]
    pads: Int64  # [values]


@dataclass(frozen=True, eq=False)
class CountLikelihood:
    """The likelihood of the published buckets in any world, by the technique's own decisions.

    A world is replayed from the first release on. At each release the counts of its old and new rows go through the
    technique's own eligibility, balancing and assignment; the decision must give each bucket the rows and the depth
    that it was published with. Which new rows of a value go where is a uniform draw, so the rows that went there did so
    with probability (product of the slots' counts!) / (new rows of the value)!.

    Ensures: a release that the truth does not explain, because it was made with other parameters, is not used.
    """

    history: BucketHistory
    options: BucketOptions
    adds_layers: bool
    """Whether phase 4 may add counterfeits of its own, so that the depth does not tell phase 2's."""
    _explained: list[bool] = field(default_factory=list)
    _depths: list[Int64] = field(default_factory=list)  # [t] of [s]
    _slots: dict[int, tuple[Signatures, Int64]] = field(default_factory=dict)
    _decided: dict[tuple[object, ...], list[Decision]] = field(default_factory=dict)

    def truth(self, counts: WorldCounts) -> list[float]:
        """The log-likelihood of the truth at each release; to be called first."""
        weights: list[float] = []
        states = [(0.0, Signatures.of([]))]
        for time in range(self.history.releases):
            self._depths.append(np.zeros(0, dtype=np.int64))
            self._explained.append(True)
            after = self._after(time, states, counts)
            self._explained[time] = bool(after)
            states, weight = _normalised(after) if after else (self._taken_over(time, states), 0.0)
            weights.append(weight)
        return weights

    def world(self, counts: WorldCounts, truth: list[float]) -> float:
        """The log-likelihood of a world relative to the truth: 0 if it is as likely, -inf if it is ruled out."""
        states = [(0.0, Signatures.of([]))]
        relative = 0.0
        for time in range(self.history.releases):
            if not self._explained[time]:
                states = self._taken_over(time, states)
                continue
            after = self._after(time, states, counts)
            if not after:
                return -inf
            states, weight = _normalised(after)
            relative += weight - truth[time]
        return relative if abs(relative) > SAME else 0.0

    def _after(
        self, time: int, states: list[tuple[float, Signatures]], counts: WorldCounts
    ) -> list[tuple[float, Signatures]]:
        """The lists of signatures after this release, with the log-likelihood of the release and each of them."""
        found: dict[tuple[Signature, ...], tuple[float, Signatures]] = {}
        for weight, before in states:
            for log_chance, signatures in self._outcomes(time, before, counts):
                total = weight + log_chance
                known = found.get(signatures.tuples)
                found[signatures.tuples] = (total if known is None else float(np.logaddexp(known[0], total)), signatures)
        return list(found.values())

    def _outcomes(self, time: int, before: Signatures, counts: WorldCounts) -> Iterator[tuple[float, Signatures]]:
        values = self.history.values[time]
        new, withheld = counts.new[time], counts.withheld[time, :values]
        pool = np.bincount(self.history.signatures.values, weights=new, minlength=values)[:values]
        pool = pool.astype(np.int64) + withheld
        signatures = self._placed(before, counts.displaced[time], pool)
        if signatures is None:
            return
        slots = self._slots_of(signatures)
        old = np.zeros(len(signatures.values), dtype=np.int64)
        present = slots >= 0
        old[slots[present]] = counts.old[time][present]
        for one in counts.displaced[time]:
            if one.bucket != NOWHERE:
                number = signatures.number[self.history.signatures.tuples[one.bucket]]
                old[signatures.offsets[number] + signatures.tuples[number].index(one.value)] += 1
        for decision in self._decisions(signatures, old, pool):
            if (decision.withheld != withheld).any() or not self._is_published(time, decision, old, new):
                continue
            yield decision.log_chance + self._log_allocation(decision, pool, new), decision.plan.signatures

    def _placed(self, before: Signatures, displaced: tuple[Displaced, ...], pool: Int64) -> Signatures | None:
        """The list of signatures with those of displaced people; None if one of them would get another signature."""
        chosen: dict[tuple[Signature, int], Signature] = {}
        for one in displaced:
            key = (one.had, one.value)
            if key not in chosen:
                try:
                    chosen[key] = disjoint_signature(one.value, set(one.had), before, pool, self.options.m)
                except Unpublishable:
                    return None
                if chosen[key] not in before.number:
                    before = before.extended([chosen[key]])
            if one.bucket == NOWHERE or chosen[key] != self.history.signatures.tuples[one.bucket]:
                return None
        return before

    def _decisions(self, signatures: Signatures, old: Int64, pool: Int64) -> list[Decision]:
        """What the technique may decide on these counts; nothing if it would refuse them."""
        key = (id(signatures), old.tobytes(), pool.tobytes())
        if key not in self._decided:
            self._slots_of(signatures)  # kept there, so that its id stays its own
            self._decided[key] = [
                Decision(log(chance), self._plan(signatures, old, pool - withheld + pads), withheld, pads)
                for chance, withheld, pads in self._made_eligible(pool)
            ]
        return self._decided[key]

    def _plan(self, signatures: Signatures, old: Int64, pool: Int64) -> CountPlan:
        counts, m = BucketCounts(signatures, old, pool), self.options.m
        return assign_new_rows(counts, balance_buckets(counts, m), m, self.options.assignment)

    def _made_eligible(self, pool: Int64) -> list[tuple[float, Int64, Int64]]:
        """Every way to make new rows eligible: its chance, the rows withheld and the counterfeits added."""
        none, m = np.zeros_like(pool), self.options.m
        if self.options.not_eligible == "defer":
            return [(1.0, deferred(pool, m), none)]
        if is_eligible(pool, m):
            return [(1.0, none, none)]
        if self.options.not_eligible == "pad" and len(pool) >= m:
            return [(chance, none, pads) for chance, pads in pad_chances(pool, m)]
        return []

    def _is_published(self, time: int, decision: Decision, old: Int64, new: Int64) -> bool:
        """Whether the decision gives every bucket the rows and the depth that it was published with."""
        plan = decision.plan
        slots = self._slots_of(plan.signatures)
        if (new[slots < 0] > 0).any():
            return False
        rows = np.zeros(len(plan.taken), dtype=np.int64)
        rows[slots[slots >= 0]] = new[slots >= 0]
        invented = plan.taken - rows
        if (invented < 0).any() or (invented.any() and not decision.pads.any()):
            return False
        filled = plan.taken + plan.counterfeits
        filled[: len(old)] += old
        listed = self.history.signatures
        first = slots[listed.offsets[:-1]]
        depth = np.where(first >= 0, filled[np.maximum(first, 0)], 0)
        if self.options.not_eligible == "pad":
            # A group of counterfeits alone is not published: the bucket may be deeper than it looks.
            fewest = -plan.signatures.largest(-(plan.counterfeits + invented))
            fewest = np.where(first >= 0, fewest[self._numbers(plan.signatures)], 0)
            hidden = depth - self.history.groups[time]
            return self.adds_layers or bool(((hidden >= 0) & (hidden <= fewest)).all())
        if not len(self._depths[time]):
            self._depths[time] = depth
            return self.adds_layers or bool((depth == self.history.groups[time]).all())
        return bool((depth == self._depths[time]).all())

    def _log_allocation(self, decision: Decision, pool: Int64, new: Int64) -> float:
        """How likely it is that exactly these new rows of each value go to these slots, and these are withheld."""
        plan = decision.plan
        slots = self._slots_of(plan.signatures)
        rows = np.zeros(len(plan.taken), dtype=np.int64)
        rows[slots[slots >= 0]] = new[slots >= 0]
        ways = _log_factorials(plan.taken) - _log_factorials(plan.taken - rows) + _log_factorials(decision.withheld)
        return ways - _log_factorials(pool + decision.pads) + _log_factorials(decision.pads)

    def _taken_over(self, time: int, states: list[tuple[float, Signatures]]) -> list[tuple[float, Signatures]]:
        """The lists of signatures after a release that is not explained: with those that it shows first."""
        shown = np.flatnonzero(self.history.first_shown == time).tolist()
        new = sorted(self.history.signatures.tuples[number] for number in shown)
        return [
            (weight, before.extended([one for one in new if one not in before.number])) for weight, before in states
        ]

    def _slots_of(self, signatures: Signatures) -> Int64:
        """For each slot of the history its slot in this list, or -1."""
        if id(signatures) not in self._slots:
            listed = self.history.signatures
            numbers = [signatures.number.get(signature, -1) for signature in listed.tuples]
            parts = [
                np.arange(len(signature)) + signatures.offsets[number] if number >= 0 else np.full(len(signature), -1)
                for number, signature in zip(numbers, listed.tuples, strict=True)
            ]
            self._slots[id(signatures)] = (signatures, np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64))
        return self._slots[id(signatures)][1]

    def _numbers(self, signatures: Signatures) -> Int64:
        listed = self.history.signatures.tuples
        return np.array([signatures.number.get(signature, 0) for signature in listed], dtype=np.int64)


def true_counts(history: BucketHistory) -> WorldCounts:
    """The counts of the world as it is."""
    rows, signatures = history.rows, history.signatures
    shape = (history.releases, len(signatures.values))
    slot = signatures.slots(np.maximum(rows.bucket, 0), rows.value) if signatures.count else rows.bucket
    old, new = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for table, kind in ((old, OLD_ROW), (new, NEW_ROW)):
        chosen = rows.kind == kind
        np.add.at(table, (rows.time[chosen], slot[chosen]), 1)
    withheld = np.zeros((history.releases, max(history.values)), dtype=np.int64)
    chosen = rows.kind == WITHHELD_ROW
    np.add.at(withheld, (rows.time[chosen], rows.value[chosen]), 1)
    displaced: list[list[Displaced]] = [[] for _ in history.values]
    for row in np.flatnonzero(rows.kind == DISPLACED_ROW).tolist():
        one = Displaced(history.had[row], int(rows.value[row]), int(rows.bucket[row]))
        displaced[rows.time[row]].append(one)
    return WorldCounts(old, new, withheld, tuple(tuple(of_release) for of_release in displaced))


def pad_chances(counts: Int64, m: int) -> list[tuple[float, Int64]]:
    """Every draw of padding counterfeits with its chance: values are filled to the greatest count in random order."""
    top = int(counts.max())
    room = {value: top - int(count) for value, count in enumerate(counts) if count < top}
    lacking = m * top - int(counts.sum())
    chances: dict[tuple[int, ...], float] = {}
    for order in permutations(room):
        pads, left = np.zeros_like(counts), lacking
        for value in order:
            pads[value] = min(left, room[value])
            left -= int(pads[value])
        key = tuple(pads.tolist())
        chances[key] = chances.get(key, 0.0) + 1 / factorial(len(room))
    return [(chance, np.array(pads, dtype=np.int64)) for pads, chance in chances.items()]


def _normalised(states: list[tuple[float, Signatures]]) -> tuple[list[tuple[float, Signatures]], float]:
    """The same states with weights that sum up to 1, and the logarithm of their sum."""
    top = max(weight for weight, _ in states)
    total = top + log(sum(exp(weight - top) for weight, _ in states))
    return [(weight - total, signatures) for weight, signatures in states], total


def _log_factorials(counts: Int64) -> float:
    return float(gammaln(counts + 1.0).sum())
