"""The adversary who knows the algorithm, by brute force: all worlds of tiny series, the technique replayed in each.

Chance is enumerated or steered. Which new rows of a value go to which bucket is a uniform draw: the draw is steered to
what was published, and counted with its exact probability. The order of the slots of a bucket, the order of rows within
a slot (where quasi-identifiers are equal) and the draw of blocks are enumerated.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise, permutations
from math import comb, factorial, prod
from typing import Any
from unittest.mock import patch

import numpy as np

from reanon_core.bucketing import eligibility, layout, new_rows, phases
from reanon_core.bucketing.bucketed_plan import BucketedPlan
from reanon_core.bucketing.division import divide
from reanon_core.bucketing.layout import Layout, lay_out, without_surplus
from reanon_core.bucketing.new_rows import enter_new_rows
from reanon_core.bucketing.regions import allocated_slots
from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.snapshot import Snapshot

World = dict[int, int]
"""The value of each variable: of each person, or of each stretch of time in which a person's value is one."""
Variable = Callable[[int, int], int]
"""The variable that a person's value is at a release."""
Group = tuple[frozenset[int], tuple[int, ...]]
"""The people of a group, and the values that it shows, counterfeits included."""


@dataclass(frozen=True)
class Shown:
    """What an adversary who knows everyone's group sees of one release."""

    groups: frozenset[Group]
    people: frozenset[int]
    """Everyone in the table, withheld people included."""

    @property
    def signature(self) -> dict[int, tuple[int, ...]]:
        return {person: tuple(sorted(set(values))) for people, values in self.groups for person in people}

    def bucket(self, signature: tuple[int, ...]) -> frozenset[Group]:
        return frozenset(group for group in self.groups if tuple(sorted(set(group[1]))) == signature)


def shown_by(entry: Entry) -> Shown:
    group = entry.release.group[entry.trace.rows]
    people = defaultdict(set)
    for person, number in zip(entry.trace.persons.tolist(), group.tolist(), strict=True):
        people[number].add(person)
    values = defaultdict(list)
    for number, value in zip(entry.release.group.tolist(), entry.release.sensitive.tolist(), strict=True):
        values[number].append(value)
    groups = frozenset((frozenset(people[g]), tuple(sorted(values[g]))) for g in values)
    return Shown(groups, frozenset(entry.snapshot.persons.tolist()))


def planned(plan: BucketedPlan, snapshot: Snapshot) -> Shown:
    people, values = defaultdict(set), defaultdict(list)
    for person, number, value in zip(
        snapshot.persons.tolist(), plan.group.tolist(), snapshot.sensitive.tolist(), strict=True
    ):
        if number >= 0:
            people[number].add(person)
            values[number].append(value)
    for number, value in zip(plan.counterfeits.group.tolist(), plan.counterfeits.sensitive.tolist(), strict=True):
        values[number].append(value)
    groups = frozenset((frozenset(people[g]), tuple(sorted(values[g]))) for g in values)
    return Shown(groups, frozenset(snapshot.persons.tolist()))


def constant(person: int, _time: int) -> int:
    """The value of a person never changes."""
    return person


def worlds(history: Sequence[Shown], values: int, variable: Variable = constant) -> Iterator[World]:
    """Every assignment that every group could show; withheld people may have any value."""
    groups = [
        ({variable(person, time) for person in people}, Counter(shown))
        for time, release in enumerate(history)
        for people, shown in release.groups
    ]
    listed = sorted({variable(person, time) for time, release in enumerate(history) for person in release.people})
    of_each = {one: [group for group in groups if one in group[0]] for one in listed}

    def extend(world: World, at: int) -> Iterator[World]:
        if at == len(listed):
            yield dict(world)
            return
        for value in range(values):
            world[listed[at]] = value
            if all(
                sum(world.get(other) == value for other in people) <= shown[value]
                for people, shown in of_each[listed[at]]
            ):
                yield from extend(world, at + 1)
            del world[listed[at]]

    yield from extend({}, 0)


class Likelihoods:
    """The probability that the technique publishes these releases, in any world.

    With `ties` quasi-identifiers may be equal, and every order of the rows is replayed.
    """

    def __init__(self, technique: Any, ledger: Ledger, *, variable: Variable = constant, ties: bool = False) -> None:
        self.technique, self.entries, self.variable, self.ties = technique, ledger.entries, variable, ties
        self.history = [shown_by(entry) for entry in ledger.entries]
        self.values = len(ledger.entries[-1].snapshot.schema.sensitive.values)
        self._known: dict[tuple[Any, ...], list[tuple[Fraction, Any]]] = {}

    def of(self, world: Mapping[int, int]) -> Fraction:
        """The probability in this world."""
        states = [(Fraction(1), self.technique.initial_state())]
        seen: tuple[int, ...] = ()
        for time, (entry, shown) in enumerate(zip(self.entries, self.history, strict=True)):
            values = [world[self.variable(person, time)] for person in entry.snapshot.persons.tolist()]
            seen += tuple(values)
            after: dict[tuple[Any, ...], tuple[Fraction, Any]] = {}
            for weight, state in states:
                before = _memory(state)
                if (time, seen, before) not in self._known:
                    snapshot = replace(entry.snapshot, sensitive=np.array(values, dtype=np.int32))
                    found = _releases(self.technique, snapshot, state, shown, ties=self.ties)
                    self._known[time, seen, before] = list(found)
                for chance, following in self._known[time, seen, before]:
                    key = _memory(following)
                    known = after[key][0] if key in after else Fraction(0)
                    after[key] = (known + weight * chance, following)
            states = list(after.values())
        return sum((weight for weight, _ in states), Fraction(0))

    def worlds(self) -> Iterator[World]:
        """Every world that the groups leave possible."""
        return worlds(self.history, self.values, self.variable)

    def posteriors(self) -> dict[int, dict[int, Fraction]]:
        """The share of each value for each published variable, if all worlds are equally likely beforehand."""
        shares: dict[int, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        total = Fraction(0)
        for world in self.worlds():
            likely = self.of(world)
            total += likely
            for one, value in world.items():
                shares[one][value] += likely
        published = {
            self.variable(person, time) for time, release in enumerate(self.history) for person in release.signature
        }
        return {one: {value: share / total for value, share in shares[one].items() if share} for one in published}

    def signatures(self) -> dict[int, tuple[int, ...]]:
        """The signature of each published variable."""
        return {
            self.variable(person, time): signature
            for time, release in enumerate(self.history)
            for person, signature in release.signature.items()
        }


def _memory(state: Any) -> tuple[Any, ...]:
    """What a state remembers of the draws: the signatures, and in which bucket each person is."""
    return (*state.signatures.tuples, *zip(state.roster.persons.tolist(), state.roster.signature.tolist(), strict=True))


def true_world(ledger: Ledger, variable: Variable = constant) -> World:
    """The values as they are."""
    return {
        variable(person, time): value
        for time, entry in enumerate(ledger.entries)
        for person, value in zip(entry.snapshot.persons.tolist(), entry.snapshot.sensitive.tolist(), strict=True)
    }


def _releases(
    technique: Any, snapshot: Snapshot, state: Any, shown: Shown, *, ties: bool
) -> Iterator[tuple[Fraction, Any]]:
    """Each state after a release that shows this, with the probability of both.

    The order of values from which blocks or padding counterfeits are drawn is enumerated.
    """
    for entry in _entry_orders(technique, snapshot, state):
        for chance, values in _orders_of_values(technique, snapshot, state, entry):
            found = _release(technique, snapshot, state, shown, Draw(values, entry=entry.words), ties=ties)
            if found is not None:
                yield found[0] * entry.chance * chance, found[1]


@dataclass(frozen=True)
class EntryOrder:
    """An order in which partial blocks consider the new rows, and its probability."""

    words: Any
    chance: Fraction


def _entry_orders(technique: Any, snapshot: Snapshot, state: Any) -> Iterator[EntryOrder]:
    if technique.not_eligible != "partial-blocks":
        yield EntryOrder(None, Fraction(1))
        return
    new = int((divide(snapshot, state.roster, state.signatures).entry == -1).sum())
    for order in permutations(range(new)):
        yield EntryOrder(_words(np.array(order, dtype=np.int64)), Fraction(1, factorial(new)))


def _orders_of_values(
    technique: Any, snapshot: Snapshot, state: Any, entry: EntryOrder
) -> Iterator[tuple[Fraction, Any]]:
    """Every order of values that may be drawn, draw by draw, with its probability; the first may decide on others."""
    waiting: list[tuple[tuple[int, ...], ...]] = [()]
    while waiting:
        given = waiting.pop()
        sizes: list[int] = []

        def drawn(count: int, _: object, given: Any = given, sizes: list[int] = sizes) -> Any:
            sizes.append(count)
            return np.array(given[len(sizes) - 1]) if len(sizes) <= len(given) else np.arange(count)

        with (
            patch.object(new_rows, "keyed_permutation", drawn),
            patch.object(eligibility, "keyed_permutation", drawn),
        ):
            _plan(technique, snapshot, state, Draw(entry=entry.words))
        if len(sizes) > len(given):
            waiting += [(*given, order) for order in permutations(range(sizes[len(given)]))]
        else:
            yield Fraction(1, prod(factorial(size) for size in sizes)), given


@dataclass(frozen=True)
class Draw:
    """One outcome of every random choice of phases 1 to 3."""

    values: Sequence[Sequence[int]] = ()
    """The orders of values from which blocks, region by region, or padding counterfeits are drawn."""
    order: Any = None
    allocation: Any = None
    slots: Any = None
    pad_places: Any = None
    entry: Any = None
    """The order in which partial blocks consider the new rows."""
    surplus: Any = None
    """The order in which rows are withheld where a slot has too many."""
    cut: dict[str, Any] = field(default_factory=dict)
    """The slot of each placed row, and how many rows of each slot are withheld."""
    joined: dict[str, Any] = field(default_factory=dict)
    """Which new rows join the old rows of a block."""
    laid_out: dict[str, Any] = field(default_factory=dict)
    """What was handed to the layout: the counts that phases 1 to 3 decided on."""
    allocated: dict[str, Any] = field(default_factory=dict)
    """With regions: the region of each new row, and how many rows of each region every slot takes."""


def _plan(technique: Any, snapshot: Snapshot, state: Any, draw: Draw) -> BucketedPlan | None:
    def laid_out(**given: Any) -> Layout:
        draw.laid_out.update(given)
        return lay_out(**given)

    def allocated(region: Any, sensitive: Any, in_order: Any, taken: Any, values: Any) -> Any:
        draw.allocated.update(region=region, taken=taken)
        return allocated_slots(region, sensitive, in_order, taken, values)

    def cut(slot: Any, surplus: Any, words: Any) -> Any:
        draw.cut.update(slot=slot, surplus=surplus)
        return without_surplus(slot, surplus, words)

    def entered(*given: Any) -> Any:
        entry = enter_new_rows(*given)
        draw.joined.update(slot=entry.slot)
        return entry

    with ExitStack() as patches:
        patches.enter_context(patch.object(phases, "without_surplus", cut))
        patches.enter_context(patch.object(phases, "enter_new_rows", entered))
        if draw.entry is not None:
            patches.enter_context(patch.object(new_rows, "siphash_words", lambda *_: draw.entry))
        patches.enter_context(patch.object(phases, "lay_out", laid_out))
        patches.enter_context(patch.object(phases, "allocated_slots", allocated))
        if draw.values:
            orders = [np.array(order) for order in draw.values]
            for module in (new_rows, eligibility):
                patches.enter_context(patch.object(module, "keyed_permutation", lambda *_: orders.pop(0)))
        if draw.pad_places is not None:
            patches.enter_context(patch.object(layout, "pad_places", lambda *_: draw.pad_places))
        if draw.allocation is not None:
            columns = [draw.order, draw.allocation, draw.surplus]
            columns = columns if technique.balancing != "filled" else [draw.allocation]
            patches.enter_context(patch.object(phases, "siphash_words", lambda *_: columns.pop(0)))
        if draw.slots is not None:
            patches.enter_context(patch.object(phases, "keyed_permutation", lambda *_: draw.slots))
        try:
            return technique.plan(snapshot, state, np.random.default_rng(0))
        except Unpublishable:
            return None


def _release(
    technique: Any, snapshot: Snapshot, state: Any, shown: Shown, decided: Draw, *, ties: bool
) -> tuple[Fraction, Any] | None:
    """The probability of what is shown, given the orders of values and new rows, and the state after it, or None."""
    plan = _plan(technique, snapshot, state, decided)
    if plan is None:
        return None
    signature = shown.signature
    number = plan.signatures.number
    if any(one not in number for one in signature.values()):
        return None
    in_layers = plan.division.entry == -1
    in_layers[in_layers] = decided.joined["slot"] < 0
    withheld_chance = _withheld_chance(snapshot, plan, decided, np.where(in_layers, -1, plan.signature), signature)
    if not withheld_chance:
        return None
    new = snapshot.persons[in_layers].tolist()
    kinds = _kinds(snapshot, in_layers, decided.allocated)
    value = dict(zip(snapshot.persons.tolist(), kinds.tolist(), strict=True))
    wanted = Counter((value[person], number.get(signature.get(person), -1)) for person in new)
    taken = _taken(plan, decided)
    regions = len(decided.allocated.get("taken", [0]))
    pads, withheld = (decided.laid_out[counts].tolist() * regions for counts in ("pads", "withheld"))
    if any(wanted[key] > taken[key] for key in wanted) or any(
        wanted[one, -1] < withheld[one] for one in range(len(withheld))
    ):
        return None
    # Every order of the new rows and padding counterfeits of a value is equally likely.
    of_value = Counter(value[person] for person in new)
    chance = Fraction(
        prod(factorial(taken[key]) // factorial(taken[key] - wanted[key]) for key in wanted),
        prod(factorial(n + pads[one]) // factorial(pads[one]) for one, n in of_value.items()),
    )
    chance *= withheld_chance
    pad_places = _places_behind_rows(wanted, taken, len(pads))
    goal = [number[signature[person]] if person in signature else -1 for person in snapshot.persons.tolist()]
    allocation = _words(np.argsort(goal, kind="stable"))
    orders = [_words(np.array(o, dtype=np.int64)) for o in permutations(range(snapshot.size))] if ties else [allocation]
    matched = Counter()
    tries = Counter()
    following = None
    sizes = np.diff(plan.signatures.offsets).tolist()
    turns = max((factorial(size) for size in sizes), default=1) if technique.balancing != "filled" else 1
    buckets = sorted(set(signature.values()))
    for order in orders:
        for turn in range(turns):
            slots = _slot_order(plan.signatures.offsets, turn)
            draw = Draw(decided.values, order, allocation, slots, pad_places, decided.entry, _absent_first(goal))
            trial = _plan(technique, snapshot, state, draw)
            assert trial is not None
            seen = planned(trial, snapshot)
            if seen == shown:
                following = trial
            for bucket in buckets:
                if turn < factorial(len(bucket)):
                    tries[bucket] += 1
                    matched[bucket] += seen.bucket(bucket) == shown.bucket(bucket)
    for bucket in buckets:  # each bucket is split by itself
        chance *= Fraction(matched[bucket], tries[bucket])
    if not chance:
        return None
    if following is None:  # no trial drew what is shown in all buckets at once; the state must not depend on groups
        assert technique.name == "m-invariance"
        following = trial
    return chance, technique.advance(state, snapshot, following)


def _withheld_chance(
    snapshot: Snapshot, plan: BucketedPlan, decided: Draw, bucket: Any, signature: Mapping[int, Any]
) -> Fraction:
    """The probability that just these rows of slots with too many are withheld; 0 if that does not fit the plan.

    `bucket` [n] is that of each row which is placed by itself, -1 for the others.
    """
    shown = [signature.get(person) for person in snapshot.persons.tolist()]
    absent = np.array([one is None for one in shown], dtype=bool) & (bucket >= 0)
    if any(one and at >= 0 and one != plan.signatures.tuples[at] for one, at in zip(shown, bucket, strict=True)):
        return Fraction(0)
    if not decided.cut:
        return Fraction(int(not absent.any()))
    slot, surplus = decided.cut["slot"], decided.cut["surplus"]
    rows, withheld = (np.bincount(slot[chosen], minlength=len(surplus)) for chosen in (slot >= 0, absent))
    if (withheld != surplus).any():
        return Fraction(0)
    return Fraction(1, prod(comb(n, w) for n, w in zip(rows.tolist(), surplus.tolist(), strict=True)))


def _absent_first(goal: list[int]) -> Any:
    """Words by which people who are not published come first."""
    return _words(np.argsort(np.array(goal) >= 0, kind="stable"))


def _kinds(snapshot: Snapshot, in_layers: Any, allocated: Mapping[str, Any]) -> Any:
    """The value of each row; with regions, another number for the same value in another region."""
    kinds = snapshot.sensitive.copy()
    if allocated:
        kinds[in_layers] += allocated["region"] * len(snapshot.schema.sensitive.values)
    return kinds


def _taken(plan: BucketedPlan, decided: Draw) -> Counter[tuple[int, int]]:
    """How many new rows and padding counterfeits of each kind every bucket takes; -1 is the bucket of the withheld."""
    bucket = np.repeat(np.arange(plan.signatures.count), np.diff(plan.signatures.offsets)).tolist()
    values, withheld = plan.signatures.values.tolist(), decided.laid_out["withheld"].tolist()
    taken = Counter({(value, -1): n for value, n in enumerate(withheld)})
    if not decided.allocated:
        values = decided.laid_out["values"].tolist()
    for region, of_region in enumerate(decided.allocated.get("taken", [decided.laid_out["taken"]])):
        for value, one, n in zip(values, bucket, of_region.tolist(), strict=True):
            taken[value + region * len(withheld), one] += n
    return taken


def _places_behind_rows(wanted: Counter[tuple[int, int]], taken: Counter[tuple[int, int]], values: int) -> Any:
    """Places of the padding counterfeits of each value: in each bucket behind the rows that it gets."""
    places: list[int] = []
    for value in range(values):
        before = 0
        for bucket in sorted(one for own, one in taken if own == value and one >= 0):
            places += range(before + wanted[value, bucket], before + taken[value, bucket])
            before += taken[value, bucket]
    return np.array(places, dtype=np.int64)


def _words(rows: Any) -> Any:
    """Random words by which rows come in this order."""
    words = np.empty(len(rows), dtype=np.uint64)
    words[rows] = np.arange(len(rows), dtype=np.uint64) * np.uint64(2**63 // (len(rows) + 1))
    return words


def _slot_order(offsets: Any, turn: int) -> Any:
    """All slots in an order: in each bucket the permutation of this number, in the circle of all of them."""
    listed: list[int] = []
    for low, high in pairwise(offsets.tolist()):
        slots = list(permutations(range(low, high)))
        listed += slots[turn % len(slots)]
    return np.array(listed, dtype=np.int32)
