"""How likely phases 1 to 3 are to decide as published, if some people had other values. Counts only, no rows.

New rows may enter the buckets in several ways: what `not_eligible` says becomes a distribution over them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, pairwise, product
from math import comb, exp, factorial, inf, lgamma, log, prod
from typing import NamedTuple, TypeAlias

import numpy as np

from reanon_core.bucketing.count_plan import BucketCounts, CountPlan, assign_new_rows, balance_buckets
from reanon_core.bucketing.division import block_choice, frequency_choice
from reanon_core.bucketing.eligibility import deferred, is_eligible
from reanon_core.bucketing.new_rows import blocked_rows, run_sizes, unblocked_rows
from reanon_core.bucketing.options import BucketOptions
from reanon_core.bucketing.signatures import Signature, Signatures, known_values
from reanon_core.model.arrays import Bool, Float64, Int64
from reanon_core.model.errors import Unpublishable
from reanon_core.readers.bucket_history import DISPLACED_ROW, NOWHERE, BucketHistory

LISTED = 1 << 14
"""The factorials of numbers below this are looked up."""
MOST_BLOCKS = 6
"""The most blocks of a region that are looked for."""
SAME = 1e-7
"""Log-likelihoods that differ by less are the same: products of factorials of counts differ by more, or not at all."""
MOST_KEPT = 1000
"""About the most decisions and outcomes that are kept, so that they need not be computed again."""
States: TypeAlias = list[tuple[float, Signatures]]
"""The lists of signatures that a world may have, each with the logarithm of its weight."""


def log_factorials(counts: Int64) -> float:
    """The sum of the logarithms of the factorials of these numbers."""
    if int(counts.max(initial=0)) < LISTED:
        return float(_log_factorial()[counts].sum())
    from scipy.special import gammaln  # here, because it is slow to import, and few commands need it

    return float(gammaln(counts + 1.0).sum())


@cache
def _log_factorial() -> Float64:
    return np.array([lgamma(number + 1) for number in range(LISTED)])


class WorldCounts(NamedTuple):
    """What phases 1 to 3 see of a world, release by release; slots are those of the history's signatures."""

    old: Int64  # [t, slots] old rows, without displaced ones
    surplus: Int64  # [t, slots] those of them that were withheld
    new: Int64  # [t, slots] new rows, where they were published
    withheld: Int64  # [t, values] new rows that were withheld
    displaced: tuple[tuple["Displaced", ...], ...]  # [t] in ascending order of person


class Displaced(NamedTuple):
    """A person whose value is in none of their signatures."""

    row: int  # of the rows that the history keeps
    had: Signature
    value: int
    bucket: int  # the number of the signature that they were published with, or NOWHERE


def true_counts(history: BucketHistory) -> WorldCounts:
    """The counts of the world as it is."""
    rows, counts = history.rows, history.counts
    displaced: list[list[Displaced]] = [[] for _ in history.values]
    for row in np.flatnonzero(rows.kind == DISPLACED_ROW).tolist():
        had = history.had[int(rows.time[row]), int(rows.person[row])]
        displaced[rows.time[row]].append(Displaced(row, had, int(rows.value[row]), int(rows.bucket[row])))
    listed = tuple(tuple(of_release) for of_release in displaced)
    return WorldCounts(counts.old, counts.surplus, counts.new, counts.withheld, listed)


class EntryCounts(NamedTuple):
    """What is known before new rows enter."""

    signatures: Signatures
    old: Int64  # [slots]
    known: Bool  # [values] values that are declared or were shown before
    pools: Int64  # [regions, values] all new rows


class EntryWay(NamedTuple):
    """One way to enter."""

    chance: float
    counts: BucketCounts
    withheld: Int64  # [values]
    pads: Int64  # [values]


def entry_ways(entry: EntryCounts, options: BucketOptions, shown: list[list[Signature]]) -> list[EntryWay]:
    """The ways with the published buckets of new rows, `shown` [regions]; no way if such rows would be refused."""
    signatures, old, known, pools = entry
    pool, m = pools[0], options.m
    none = np.zeros_like(pool)
    unblocked = np.zeros((1, len(signatures.values)), dtype=np.int64)
    if options.not_eligible == "defer":
        withheld = deferred(pool, m)
        return [EntryWay(1.0, BucketCounts(signatures, old, unblocked, pools - withheld), withheld, none)]
    if options.not_eligible == "pad" and len(pool) >= m and not is_eligible(pool, m):
        return [
            EntryWay(chance, BucketCounts(signatures, old, unblocked, pools + pads), none, pads)
            for chance, pads in pad_chances(pool, m)
        ]
    ways_of_regions: list[list[tuple[float, list[Signature]]]] = []
    for of_region, blocks in zip(pools, shown, strict=True):
        if is_eligible(of_region, m):
            ways_of_regions.append([(1.0, [])])
        elif options.not_eligible == "blocks":
            ways_of_regions.append(block_chances(of_region, known, m, blocks))
        else:
            return []
    return [
        EntryWay(prod(chance for chance, _ in way), _blocked(entry, [blocks for _, blocks in way]), none, none)
        for way in product(*ways_of_regions)
    ]


def pad_chances(counts: Int64, m: int) -> list[tuple[float, Int64]]:
    """Every draw of padding counterfeits with its chance: values are filled to the greatest count in random order.

    A draw fills some values wholly, then one partly. Values of the greatest count have no room, so their place in the
    order makes no difference.
    """
    top = int(counts.max())
    lacking = m * top - int(counts.sum())
    room = {value: top - int(count) for value, count in enumerate(counts.tolist()) if count < top}
    chances: dict[tuple[int, ...], float] = {}
    waiting: list[tuple[tuple[int, ...], int]] = [((), lacking)]
    while waiting:  # the filled values in ascending order: every order of them is as likely
        filled, left = waiting.pop()
        orders = factorial(len(filled)) * factorial(len(room) - len(filled) - 1) / factorial(len(room))
        for value in room.keys() - set(filled):
            if room[value] < left:
                if not filled or value > filled[-1]:
                    waiting.append(((*filled, value), left - room[value]))
                continue
            pads = np.zeros_like(counts)
            pads[list(filled)] = [room[one] for one in filled]
            pads[value] = left
            key = tuple(pads.tolist())
            chances[key] = chances.get(key, 0.0) + orders
    return [(chance, np.array(pads, dtype=np.int64)) for pads, chance in chances.items()]


def block_chances(pool: Int64, known: Bool, m: int, shown: list[Signature]) -> list[tuple[float, list[Signature]]]:
    """Every choice of blocks among the published buckets, in order, with the chance that they are drawn like this.

    Values are sorted by their count, chance decides between equal ones, and runs of m or more are cut. The chance that
    a run gets just these of the values with one count is one over the number of ways to divide them among the runs.
    """
    present = pool > 0
    distinct = int(present.sum())
    if distinct < m:
        if not distinct or not known[present].all() or int(known.sum()) < m:
            return []
        sizes, among = [m], set(np.flatnonzero(known).tolist())
    else:
        sizes = run_sizes(-np.sort(-pool[present]), m)
        among = set(np.flatnonzero(present).tolist())
    if len(sizes) > MOST_BLOCKS:
        return []
    counts = sorted((int(pool[value]) for value in among), reverse=True)
    ends = np.cumsum([0, *sizes]).tolist()
    runs: list[tuple[Signature, ...]] = [()]
    for first, last in pairwise(ends):
        fitting = [
            block
            for block in shown
            if among.issuperset(block) and sorted(pool[list(block)].tolist(), reverse=True) == counts[first:last]
        ]
        runs = [(*run, block) for run in runs for block in fitting if set(block).isdisjoint(chain(*run))]
    return [(_tie_chance(pool, [*run, tuple(among.difference(*run))]), list(run)) for run in runs]


def _tie_chance(pool: Int64, runs: list[Signature]) -> float:
    """The chance that values of equal count are divided among the runs like this."""
    chance = 1.0
    for count in {int(pool[value]) for run in runs for value in run}:
        parts = [sum(int(pool[value]) == count for value in run) for run in runs]
        sums = np.cumsum(parts).tolist()
        chance /= prod(comb(total, part) for total, part in zip(sums, parts, strict=True))
    return chance


def _blocked(entry: EntryCounts, blocks: list[list[Signature]]) -> BucketCounts:
    """The counts, with the rows of a region that has blocks in its blocks."""
    signatures, blocked = blocked_rows(entry.signatures, entry.pools, blocks)
    old = np.zeros(len(signatures.values), dtype=np.int64)
    old[: len(entry.old)] = entry.old
    return BucketCounts(signatures, old, blocked, unblocked_rows(entry.pools, blocks))


def has_exact_reading(options: BucketOptions) -> bool:
    """Whether the decisions with these options can be replayed from what an adversary sees.

    Not with regions, nor if chance decides row by row, as with partial blocks, nor if people are withheld whose value
    has changed. Nor if a person may be withheld before
    the first release that shows their signature, which the median can do to people in blocks and to those who begin an
    episode.
    """
    if (
        options.regions != "none"
        or options.not_eligible == "partial-blocks"
        or options.on_sensitive_change == "withhold"
    ):
        return False
    return options.balancing != "median" or (options.not_eligible, options.on_sensitive_change) == ("refuse", "refuse")


class Decision(NamedTuple):
    """One outcome of phases 1 to 3."""

    log_chance: float
    plan: CountPlan
    depth: Int64  # [s] of the plan's signatures
    withheld: Int64  # [values]
    pads: Int64  # [values]


@dataclass(frozen=True, eq=False)
class CountLikelihood:
    """The likelihood of the published buckets in any world, by the technique's own decisions.

    A world is replayed from the first release on. At each release the counts of its old and new rows go through the
    technique's own eligibility, balancing and assignment; the decision must give each bucket the rows and the depth
    that it was published with. Which new rows of a value go where is a uniform draw, so the rows that went there did so
    with probability (product of the slots' counts!) / (new rows of the value)!.

    Ensures: a release that the truth does not explain, because it was made with other parameters, is not used, and none
    is used if the options have no exact reading.
    """

    history: BucketHistory
    options: BucketOptions
    adds_layers: bool
    """Whether phase 4 may add counterfeits of its own, so that the depth does not tell phase 2's."""
    _none: Signatures = field(default_factory=lambda: Signatures.of([]))
    _explained: list[bool] = field(default_factory=list)
    _depths: list[Int64] = field(default_factory=list)  # [t] of [s]
    _numbers: dict[int, tuple[Signatures, Int64]] = field(default_factory=dict)
    _slots: dict[int, tuple[Signatures, Int64]] = field(default_factory=dict)
    _later: dict[tuple[int, int], tuple[Signatures, Signatures]] = field(default_factory=dict)
    _decided: dict[tuple[object, ...], list[Decision]] = field(default_factory=dict)
    _kept: dict[tuple[object, ...], tuple[States, States, float]] = field(default_factory=dict)

    @property
    def unread(self) -> int:
        """How many releases are not used."""
        return self._explained.count(False)

    def truth(self, counts: WorldCounts) -> list[float]:
        """The log-likelihood of the truth at each release; to be called first."""
        weights: list[float] = []
        states = [(0.0, self._none)]
        for time in range(self.history.releases):
            self._depths.append(np.zeros(0, dtype=np.int64))
            self._explained.append(True)
            after = self._after(time, states, counts) if has_exact_reading(self.options) else []
            self._explained[time] = bool(after)
            states, weight = _normalised(after) if after else (self._taken_over(time, states), 0.0)
            weights.append(weight)
        return weights

    def world(self, counts: WorldCounts, truth: list[float]) -> float:
        """The log-likelihood of a world relative to the truth: 0 if it is as likely, -inf if it is ruled out."""
        if len(self._decided) > MOST_KEPT:
            for kept in (self._decided, self._slots, self._numbers):
                kept.clear()
        if len(self._kept) > MOST_KEPT:
            self._kept.clear()
        if len(self._later) > MOST_KEPT + self.history.releases:
            self._later.clear()
        states = [(0.0, self._none)]
        relative = 0.0
        for time, seen in enumerate(_seen(counts)):
            if not self._explained[time]:
                states = self._taken_over(time, states)
                continue
            key = (time, seen, *((weight, id(signatures)) for weight, signatures in states))
            if key not in self._kept:  # many releases have the same counts in many worlds
                after = self._after(time, states, counts)
                # With the states before, so that their ids stay their own.
                self._kept[key] = (states, *(_normalised(after) if after else ([], -inf)))
            _, states, weight = self._kept[key]
            if not states:
                return -inf
            relative += weight - truth[time]
        return relative if abs(relative) > SAME else 0.0

    def _after(self, time: int, states: States, counts: WorldCounts) -> States:
        """The lists of signatures after this release, with the log-likelihood of the release and each of them."""
        found: dict[tuple[Signature, ...], tuple[float, Signatures]] = {}
        for weight, before in states:
            for log_chance, signatures in self._outcomes(time, before, counts):
                known = found.get(signatures.tuples, (-inf, signatures))
                found[signatures.tuples] = (float(np.logaddexp(known[0], weight + log_chance)), known[1])
        return list(found.values())

    def _outcomes(self, time: int, before: Signatures, counts: WorldCounts) -> Iterator[tuple[float, Signatures]]:
        """Each list of signatures after a decision that gives the published buckets, with its log-likelihood."""
        new, withheld = counts.new[time][None], counts.withheld[time, : self.history.values[time]]
        old = self._numbered(before, counts.old[time])
        pools = self._by_value(new, len(withheld))
        pools[0] += withheld
        known = known_values(before, len(withheld), declared=self.history.declared)
        placed = self._placed(before, old, counts.displaced[time], known, pools.sum(axis=0))
        if placed is None:
            return
        signatures, old = placed
        for decision in self._decisions(EntryCounts(signatures, old, known, pools), new):
            rows = self._numbered(decision.plan.signatures, new)
            surplus = self._numbered(decision.plan.signatures, counts.surplus[time])
            if (surplus != decision.plan.surplus).any() or int(rows.sum()) != int(new.sum()):
                continue
            if self._is_published(time, decision, rows, withheld):
                log_chance = decision.log_chance + _log_allocation(decision, pools, rows)
                yield log_chance - _log_choices(old, surplus[: len(old)]), decision.plan.signatures

    def _by_value(self, new: Int64, values: int) -> Int64:
        """New rows of each value, of new rows of each slot."""
        of_slot = self.history.signatures.values
        return np.stack([np.bincount(of_slot, weights=of_cell, minlength=values)[:values] for of_cell in new]).astype(
            np.int64
        )

    def _placed(
        self, before: Signatures, old: Int64, displaced: tuple[Displaced, ...], known: Bool, pool: Int64
    ) -> tuple[Signatures, Int64] | None:
        """The signatures and old rows with those of displaced people; None if one would get another signature."""
        if not displaced:
            return before, old
        choice = frequency_choice(before, pool, self.options.m)
        if self.options.balancing != "filled":
            choice = block_choice(before, before.largest(old), known | (pool > 0), self.options.m)
        signatures, listed = before, self.history.signatures.tuples
        slots: list[int] = []
        for one in displaced:
            try:
                signature = choice(frozenset(one.had), one.value)
            except Unpublishable:
                return None
            if signature != (None if one.bucket == NOWHERE else listed[one.bucket]):
                return None
            if signature is None:
                continue
            if signature not in signatures.number:
                signatures = signatures.extended([signature])
            number = signatures.number[signature]
            slots.append(int(signatures.offsets[number]) + signature.index(one.value))
        added = np.bincount(slots, minlength=len(signatures.values)).astype(np.int64)
        added[: len(old)] += old
        return signatures, added

    def _decisions(self, entry: EntryCounts, new: Int64) -> list[Decision]:
        """What the technique may decide on these counts; nothing if it would refuse them."""
        signatures, old, _, pools = entry
        layered = self.options.balancing == "blind" and all(is_eligible(pool, self.options.m) for pool in pools)
        seen = signatures.largest(old) if layered else old  # blind decisions look at the depths alone
        entered = self._rows_of_buckets(new) > 0
        key = (id(signatures), seen.tobytes(), pools.tobytes(), entered.tobytes(), entry.known.tobytes())
        if key not in self._decided:  # later releases often repeat the counts of earlier ones
            self._slots_of(signatures)  # keeps the list, so that its id stays its own
            tuples = self.history.signatures.tuples
            shown = [[tuples[bucket] for bucket in np.flatnonzero(of_region).tolist()] for of_region in entered]
            self._decided[key] = [self._decided_by(way) for way in entry_ways(entry, self.options, shown)]
        return self._decided[key]

    def _decided_by(self, way: EntryWay) -> Decision:
        m = self.options.m
        plan = assign_new_rows(
            way.counts, balance_buckets(way.counts, m, self.options.balancing), m, self.options.assignment
        )
        filled = plan.taken.sum(axis=0) + plan.counterfeits - plan.surplus
        filled[: len(way.counts.old)] += way.counts.old
        return Decision(log(way.chance), plan, plan.signatures.largest(filled), way.withheld, way.pads)

    def _is_published(self, time: int, decision: Decision, rows: Int64, withheld: Int64) -> bool:
        """Whether the decision gives every bucket the rows and the depth that it was published with."""
        plan = decision.plan
        invented = plan.taken - rows
        if (decision.withheld != withheld).any() or (invented < 0).any():
            return False
        if invented.any() and not decision.pads.any():
            return False
        depth = self._by_signature(plan.signatures, decision.depth)
        if self.options.not_eligible == "pad":
            # A group of counterfeits alone is not published: the bucket may be deeper than it looks.
            added = plan.counterfeits + invented.sum(axis=0)
            fewest = -self._by_signature(plan.signatures, plan.signatures.largest(-added))
            hidden = depth - self.history.depth[time]
            return self.adds_layers or bool(((hidden >= 0) & (hidden <= fewest)).all())
        if not len(self._depths[time]):
            self._depths[time] = depth
            return self.adds_layers or bool((depth == self.history.depth[time]).all())
        return bool((depth == self._depths[time]).all())

    def _taken_over(self, time: int, states: States) -> States:
        """The lists of signatures after a release that is not explained: with those that it shows first."""
        return [(weight, self._extended(time, before)) for weight, before in states]

    def _extended(self, time: int, before: Signatures) -> Signatures:
        """The list with the signatures that this release shows first; it is the same in most worlds."""
        if (time, id(before)) not in self._later:
            shown = np.flatnonzero(self.history.first_shown == time).tolist()
            new = sorted(self.history.signatures.tuples[number] for number in shown)
            after = before.extended([one for one in new if one not in before.number]) if new else before
            self._later[time, id(before)] = (before, after)  # with the list, so that its id stays its own
        return self._later[time, id(before)][1]

    def _numbered(self, signatures: Signatures, per_slot: Int64) -> Int64:
        """Counts of the history's slots as counts of the slots of this list; slots that are not in it are left out."""
        slots = self._slots_of(signatures)
        numbered = np.zeros((*per_slot.shape[:-1], len(signatures.values)), dtype=np.int64)
        numbered[..., slots[slots >= 0]] = per_slot[..., slots >= 0]
        return numbered

    def _slots_of(self, signatures: Signatures) -> Int64:
        """For each slot of the history its slot in this list, or -1."""
        if id(signatures) not in self._slots:
            numbers = self._numbers_of(signatures)
            parts = [
                np.arange(len(signature)) + signatures.offsets[number] if number >= 0 else np.full(len(signature), -1)
                for number, signature in zip(numbers.tolist(), self.history.signatures.tuples, strict=True)
            ]
            self._slots[id(signatures)] = (signatures, np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64))
        return self._slots[id(signatures)][1]

    def _by_signature(self, signatures: Signatures, numbers: Int64) -> Int64:
        """A number for each signature of this list, as numbers for the history's signatures; 0 if it is not in it."""
        number = self._numbers_of(signatures)
        found = np.zeros(len(number), dtype=np.int64)
        found[number >= 0] = numbers[number[number >= 0]]
        return found

    def _numbers_of(self, signatures: Signatures) -> Int64:
        """For each signature of the history its number in this list, or -1."""
        if id(signatures) not in self._numbers:
            listed = self.history.signatures.tuples
            numbers = np.array([signatures.number.get(signature, -1) for signature in listed], dtype=np.int64)
            self._numbers[id(signatures)] = (signatures, numbers)  # with the list, so that its id stays its own
        return self._numbers[id(signatures)][1]

    def _rows_of_buckets(self, per_slot: Int64) -> Int64:
        offsets = self.history.signatures.offsets[:-1]
        return np.add.reduceat(per_slot, offsets, axis=-1) if len(offsets) else per_slot


def _seen(counts: WorldCounts) -> list[tuple[object, ...]]:
    """All that a world has at each release."""
    arrays = (counts.old, counts.surplus, counts.new, counts.withheld)
    joined = np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)
    return [(row.tobytes(), displaced) for row, displaced in zip(joined, counts.displaced, strict=True)]


def _normalised(states: States) -> tuple[States, float]:
    """The same states with weights that sum up to 1, and the logarithm of their sum."""
    top = max(weight for weight, _ in states)
    total = top + log(sum(exp(weight - top) for weight, _ in states))
    return [(weight - total, signatures) for weight, signatures in states], total


def _log_allocation(decision: Decision, pools: Int64, rows: Int64) -> float:
    """How likely it is that exactly these rows of a region and value go to these slots, and these are withheld."""
    taken, pads = decision.plan.taken, decision.pads
    ways = log_factorials(taken) - log_factorials(taken - rows) + log_factorials(decision.withheld)
    return ways - log_factorials(pools + pads) + log_factorials(pads)


def _log_choices(rows: Int64, chosen: Int64) -> float:
    """In how many ways so many of the rows of each slot can be chosen."""
    return log_factorials(rows) - log_factorials(chosen) - log_factorials(rows - chosen)
