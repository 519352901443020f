"""How likely phases 1 to 3 are to decide as published, if some people had other values. Counts only, no rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, inf, log
from typing import NamedTuple, TypeAlias

import numpy as np

from reanon_core.bucketing.bucket_history import BucketHistory
from reanon_core.bucketing.bucket_rows import NOWHERE
from reanon_core.bucketing.count_plan import CountPlan, assign_new_rows, balance_buckets
from reanon_core.bucketing.eligibility import is_eligible
from reanon_core.bucketing.entry_ways import EntryCounts, EntryWay, entry_ways
from reanon_core.bucketing.episodes import block_choice, frequency_choice
from reanon_core.bucketing.log_factorials import log_factorials
from reanon_core.bucketing.options import BucketOptions, has_exact_reading
from reanon_core.bucketing.signatures import Signature, Signatures, known_values
from reanon_core.bucketing.world_counts import Displaced, WorldCounts
from reanon_core.model.arrays import Bool, Int64
from reanon_core.model.errors import Unpublishable

SAME = 1e-7
"""Log-likelihoods that differ by less are the same: products of factorials of counts differ by more, or not at all."""
MOST_KEPT = 1000
"""About the most decisions and outcomes that are kept, so that they need not be computed again."""
States: TypeAlias = list[tuple[float, Signatures]]
"""The lists of signatures that a world may have, each with the logarithm of its weight."""


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
