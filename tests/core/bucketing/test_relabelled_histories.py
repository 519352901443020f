"""The theorem of reanon_core/bucketing/PROOF.md on whole histories, draw by draw.

A history is published with recorded draws. Then one bucket is relabelled and the draws are carried along: the order of
its slots by the permutation, the others as they were. The map of draws is one to one and keeps their probability. So if
it always gives the same publication, both histories give every publication with the same probability.

Of a decoupled series the files themselves are compared, row by row: their order is carried along too.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice, permutations, product
from typing import Any

import numpy as np
import pytest
from builders.long_lists import sampled
from builders.random_series import schema
from builders.regions import cut_small_regions
from oracles.algorithm import planned

from reanon_core.bucketing import new_rows, phases
from reanon_core.bucketing.division import CHANGED, NEW
from reanon_core.bucketing.signatures import Signature
from reanon_core.model.errors import Unpublishable
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding import emit
from reanon_core.techniques.cor_split import bucket_partition
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.decoupled import Decoupled, DecoupledPlan, decouple
from reanon_core.techniques.m_invariance.technique import MInvariance

EPISODE: dict[str, Any] = {"on_sensitive_change": "episode", "not_eligible": "blocks"}
BLOCKS: dict[str, Any] = {"not_eligible": "blocks"}
REGIONS: dict[str, Any] = {"regions": "sizes"}
PARTIAL: dict[str, Any] = {"not_eligible": "partial-blocks"}
TECHNIQUES = {
    "m-invariance": MInvariance(m=2),
    "stable, blocks": MInvariance(m=3, not_eligible="blocks", assignment="stable"),
    "paper, episodes": MInvariance(m=2, assignment="paper", **EPISODE),
    "Cor-Split": CorSplit(m=3, n=2, not_eligible="blocks"),
    "Cor-Partition, episodes": CorSplit(m=3, n=2, strict=False, partition="paper", **EPISODE),
    "decoupled": decouple(MInvariance(m=2, not_eligible="blocks"), 2),
    "decoupled Cor-Split": decouple(CorSplit(m=3, n=2, not_eligible="blocks"), 3),
    "median, episodes": MInvariance(m=3, balancing="median", **EPISODE),
    "partial blocks": MInvariance(m=3, not_eligible="partial-blocks"),
    "partial blocks, median, episodes": MInvariance(m=3, balancing="median", **{**EPISODE, **PARTIAL}),
    "Cor-Split, partial blocks, median": CorSplit(m=3, n=2, balancing="median", **PARTIAL),
    "regions": MInvariance(m=2, **BLOCKS, **REGIONS),
    "regions, partial blocks, median": MInvariance(m=2, balancing="median", **PARTIAL, **REGIONS),
    "decoupled, all of these": decouple(MInvariance(m=2, balancing="median", **PARTIAL, **REGIONS), 2),
    "withheld changes": MInvariance(m=2, balancing="blind", on_sensitive_change="withhold", **BLOCKS),
    "withheld changes, all of these": decouple(
        MInvariance(m=2, balancing="median", on_sensitive_change="withhold", **PARTIAL, **REGIONS), 2
    ),
    "Cor-Split, withheld changes": CorSplit(m=3, n=2, on_sensitive_change="withhold", **BLOCKS),
    "lifespan": CorSplit(m=3, n=1, max_lifespan=2, on_lifespan="withhold", **EPISODE),
}
EVERY_RUN = (
    "m-invariance",
    "Cor-Partition, episodes",
    "partial blocks, median, episodes",
    "decoupled, all of these",
    "lifespan",
    "withheld changes, all of these",
)
"""Both techniques, both ways to partition and the decoupled form, with every option except the assignments."""
MOST_PEOPLE = 30


class DifferentDecisionError(Exception):
    """The draws do not fit what the technique decides."""


@dataclass
class Draws:
    """Every random choice of one release that decides about groups."""

    order: Any  # [people] words that order the rows of a slot
    allocation: Any  # [people] words by which new rows get their slots
    words: Any  # [people] for Cor-Partition
    surplus: Any  # [people] words by which rows are withheld
    entry: Any  # [people] words by which partial blocks consider new rows
    slots: Any = None  # a permutation of all slots
    values: list[list[int]] = field(default_factory=list)  # those that blocks are made of, in the order of each draw
    asked: list[int] = field(default_factory=list)  # the region that each of these draws was made for
    joined: set[int] = field(default_factory=set)  # the new people who join a block by themselves
    region: dict[int, int] = field(default_factory=dict)  # the region of each new person
    blocks: list[list[Signature]] = field(default_factory=list)  # the blocks of each region
    partial: dict[int, bool] = field(
        default_factory=dict
    )  # for which regions a partial block was looked for, and found


def drawn(rng: np.random.Generator) -> Draws:
    return Draws(*rng.integers(0, 2**63, (5, MOST_PEOPLE)).astype(np.uint64))


def series(seed: int, *, changes: bool) -> list[Snapshot]:
    """Two to four releases; people come, leave, return and move, and many share their quasi-identifiers."""
    rng = np.random.default_rng(seed)
    people, values, releases = int(rng.integers(4, MOST_PEOPLE)), int(rng.integers(3, 8)), int(rng.integers(2, 5))
    value, first, listed = rng.integers(0, values, people), rng.integers(0, releases, people) // 2, []
    for release in range(releases):
        here = np.flatnonzero((first == release) | ((first < release) & (rng.random(people) < 0.8)))
        if changes and release:
            value = np.where(rng.random(people) < 0.25, rng.integers(0, values, people), value)
        qi = rng.integers(0, 5, (2, people)).astype(np.int32)
        listed.append(Snapshot(schema(values, 2), here, qi[:, here], value[here].astype(np.int32)))
    return listed


def plan_with(technique: Any, snapshot: Snapshot, state: Any, draws: Draws) -> Any:
    """The plan of a release with these draws; the permutations are drawn and recorded if there are none yet."""
    rng = np.random.default_rng(int(draws.words[0]))
    columns, among, calls, here = [draws.order, draws.allocation, draws.surplus], [], [], []
    frequent_values, enter, make_partial = new_rows.frequent_values, phases.enter_new_rows, new_rows.partial_block
    make_blocks, list_blocks = new_rows.value_blocks, new_rows.blocked_rows

    def draw_slots(count: int, _: object) -> Any:
        draws.slots = rng.permutation(count).astype(np.int32) if draws.slots is None else draws.slots
        if len(draws.slots) != count:
            raise DifferentDecisionError
        return draws.slots

    def draw_values(count: int, _: object) -> Any:
        if len(draws.values) == len(calls):
            draws.values.append([among[place] for place in rng.permutation(count)])
        draws.asked = [*draws.asked[: len(calls)], here[-1]]
        calls.append(draws.values[len(calls)])
        if sorted(calls[-1]) != among:
            raise DifferentDecisionError
        return np.array([among.index(value) for value in calls[-1]])

    def watched(pool: Any, chosen: Any, generator: Any) -> Any:
        among[:] = np.flatnonzero(chosen).tolist()
        return frequent_values(pool, chosen, generator)

    def entered(new: Any, *given: Any) -> Any:
        def partially(*given: Any) -> Any:
            region = len(draws.partial)
            here.append(region)
            found = make_partial(*given)
            draws.partial[region] = found is not None
            return found

        def blocked(pool: Any, *given: Any) -> Any:
            here.append(next(region for region, one in enumerate(new.pools) if one is pool or (one == pool).all()))
            return make_blocks(pool, *given)

        def listed(signatures: Any, pools: Any, found: Any) -> Any:
            draws.blocks = found
            return list_blocks(signatures, pools, found)

        patch.setattr(new_rows, "partial_block", partially)
        patch.setattr(new_rows, "value_blocks", blocked)
        patch.setattr(new_rows, "blocked_rows", listed)
        draws.partial = {}
        found = enter(new, *given)
        draws.joined = set(new.person[found.slot >= 0].tolist())
        draws.region = dict(zip(new.person.tolist(), new.region.tolist(), strict=True))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_rows, "frequent_values", watched)
        patch.setattr(phases, "enter_new_rows", entered)
        patch.setattr(new_rows, "siphash_words", lambda persons, _: draws.entry[persons])
        patch.setattr(new_rows, "keyed_permutation", draw_values)
        patch.setattr(phases, "keyed_permutation", draw_slots)
        patch.setattr(phases, "siphash_words", lambda persons, _: columns.pop(0)[persons])
        patch.setattr(bucket_partition, "siphash_words", lambda words, _: np.resize(draws.words, len(words)))
        return technique.plan(snapshot, state, np.random.default_rng(0))


def carried(draws: Draws, snapshot: Snapshot, plan: Any, bucket: Signature, image: dict[int, int]) -> Draws:
    """The draws by which the same people come to the same places if the values of one bucket are exchanged.

    Which new rows of a value go to a bucket is a uniform draw, so any words with the published result will do. If all
    rows are new, the same words also order them. Rows in layers are considered for partial blocks in another order: the
    people of a bucket exchange their places, so that the values come in the same order as before.
    """
    number, slots, values = plan.signatures.number.get(bucket), draws.slots, draws.values
    if number is not None and slots is not None:
        first, last = plan.signatures.offsets[number : number + 2]
        moved = np.arange(len(slots), dtype=np.int32)
        moved[first:last] = first + np.searchsorted(bucket, [image[value] for value in bucket])
        slots = moved[slots]
    full = {region for region, own in enumerate(draws.blocks) if bucket in own and not draws.partial.get(region)}
    values = [
        [image.get(value, value) for value in one] if region in full else one
        for one, region in zip(values, draws.asked, strict=True)
    ]
    entry = draws.entry.copy()
    new = (plan.division.entry == NEW) & (plan.signature == number)
    in_layers = new & ~np.isin(snapshot.persons, list(draws.joined))
    region = np.array([draws.region.get(person, -1) for person in snapshot.persons.tolist()], dtype=np.int64)
    for one, value in product(draws.partial, bucket):  # equally many people in layers of a region have each value
        before, after = (
            snapshot.persons[in_layers & (region == one) & (snapshot.sensitive == v)] for v in (value, image[value])
        )
        entry[before] = draws.entry[after]
    goal = np.full(MOST_PEOPLE, -1)
    goal[snapshot.persons] = plan.signature
    steered = np.empty(MOST_PEOPLE, dtype=np.uint64)
    steered[np.lexsort((draws.order, goal))] = np.arange(MOST_PEOPLE, dtype=np.uint64) << np.uint64(50)
    all_new = bool((plan.division.entry == NEW).all()) and not draws.joined and len(draws.blocks) == 1
    order = steered if all_new else draws.order
    return Draws(order, steered, draws.words, draws.surplus, entry, slots, values)


def published(technique: Any, snapshots: list[Snapshot], draws: list[Draws]) -> tuple[list[Any], list[Any]]:
    """The plans, and what leaves the house: groups with their people, values and counterfeits, and withheld counts."""
    state, plans, seen = technique.initial_state(), [], []
    for snapshot, of_release in zip(snapshots, draws, strict=True):
        plan = plan_with(technique, snapshot, state, of_release)
        state = technique.advance(state, snapshot, plan)
        apart = isinstance(plan, DecoupledPlan)
        plans.append(plan.own if apart else plan)
        seen.append((planned(plan, snapshot), plan.withheld, files(plan, snapshot, of_release) if apart else None))
    return plans, seen


def files(plan: DecoupledPlan, snapshot: Snapshot, draws: Draws) -> list[Any]:
    """Every number of a decoupled release, in the order of its files.

    Groups are shuffled in the order of their people, and rows of values in that of their groups and values. So the same
    draws shuffle the same things, whatever a person's value is.
    """
    published = np.flatnonzero(plan.group >= 0)
    least = np.full(plan.groups, MOST_PEOPLE)
    np.minimum.at(least, plan.group[published], snapshot.persons[published])
    group = np.concatenate([plan.group[published], plan.counterfeits.group])
    value = np.concatenate([snapshot.sensitive[published], plan.counterfeits.sensitive])
    orders = [np.argsort(np.argsort(least)), np.lexsort((value, least[group])), None, None]

    def shuffled(count: int, rng: np.random.Generator) -> Any:
        drawn, order = rng.permutation(count).astype(np.int32), orders.pop(0)
        if order is None:
            return drawn
        return drawn[order] if len(orders) == 3 else order[drawn].astype(np.int32)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emit, "keyed_permutation", shuffled)
        release, auxiliary, _ = emit.emit(snapshot, plan, np.random.default_rng(int(draws.words[1])))
    rows = release.person_rows
    assert rows is not None
    shown = [rows.group, rows.box, rows.boxes.low, rows.boxes.high, rows.boxes.missing]
    return [one.tolist() for one in (*shown, release.group, release.sensitive, auxiliary.group, auxiliary.count)]


def buckets(snapshots: list[Snapshot], plans: list[Any]) -> dict[Signature, set[tuple[int, int]]]:
    """Who is in each bucket, published or withheld, and in which release; also while their value is another one."""
    found: dict[Signature, set[tuple[int, int]]] = defaultdict(set)
    latest: dict[int, Signature] = {}
    for time, (snapshot, plan) in enumerate(zip(snapshots, plans, strict=True)):
        rows = zip(snapshot.persons.tolist(), plan.signature.tolist(), plan.division.entry.tolist(), strict=True)
        for person, number, entry in rows:
            if number >= 0:
                latest[person] = plan.signatures.tuples[number]
            if number >= 0 or entry == CHANGED:
                found[latest[person]].add((person, time))
    return found


def relabelled(snapshots: list[Snapshot], members: set[tuple[int, int]], image: dict[int, int]) -> list[Snapshot]:
    listed = []
    for time, snapshot in enumerate(snapshots):
        pairs = zip(snapshot.persons.tolist(), snapshot.sensitive.tolist(), strict=True)
        values = [image.get(value, value) if (person, time) in members else value for person, value in pairs]
        listed.append(replace(snapshot, sensitive=np.array(values, dtype=np.int32)))
    return listed


def own(technique: Any) -> Any:
    """The technique that makes the groups."""
    return getattr(technique, "technique", technique)


def couple(technique: Any, seeds: range) -> Counter[str]:
    """Relabel every bucket of every series in up to three ways, and count how often that changes what is published."""
    counted: Counter[str] = Counter()
    for seed in seeds:
        snapshots = series(seed, changes=own(technique).on_sensitive_change != "refuse")
        rng = np.random.default_rng(seed)
        draws = [drawn(rng) for _ in snapshots]
        try:
            plans, seen = published(technique, snapshots, draws)
        except Unpublishable:
            continue
        counted["changed"] += sum(int((plan.division.entry == CHANGED).sum()) for plan in plans)
        counted["withheld"] += sum(sum(withheld.values()) for _, withheld, _ in seen)
        counted["blocks"] += sum(bool(of_release.values) for of_release in draws)
        counted["partial blocks"] += sum(sum(of_release.partial.values()) for of_release in draws)
        counted["blocks after a partial one"] += sum(len(set(one.asked)) < len(one.asked) for one in draws)
        counted["regions"] += sum(len(set(of_release.region.values())) > 1 for of_release in draws)
        for bucket, members in buckets(snapshots, plans).items():
            for order in islice(permutations(bucket), 1, 4):
                image = dict(zip(bucket, order, strict=True))
                rows = zip(draws, snapshots, plans, strict=True)
                others = [carried(one, snapshot, plan, bucket, image) for one, snapshot, plan in rows]
                try:
                    again = published(technique, relabelled(snapshots, members, image), others)[1]
                except (DifferentDecisionError, Unpublishable):
                    again = []
                counted += Counter(couplings=1, different=again != seen)
    return counted


@pytest.fixture
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions of six rows, so that small tables have several."""
    cut_small_regions(monkeypatch, rows=6)


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("name", sampled(TECHNIQUES, EVERY_RUN))
def test_a_relabelled_bucket_is_published_alike(name: str) -> None:
    technique = own(TECHNIQUES[name])
    counted = couple(TECHNIQUES[name], range(24))
    assert counted["couplings"] >= 100
    assert counted["different"] == 0
    assert counted["blocks"] > 0 or technique.not_eligible == "refuse"
    assert counted["withheld"] > 0 or (technique.on_sensitive_change == "refuse" and technique.balancing == "blind")
    assert counted["regions"] > 0 or technique.regions == "none"
    assert (counted["changed"] > 20) == (technique.on_sensitive_change == "withhold")
    if technique.not_eligible == "partial-blocks":
        assert counted["partial blocks"] > 0
        assert counted["blocks after a partial one"] > 0 or technique.regions != "none"


@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("name", [name for name in TECHNIQUES if "withheld changes" in name])
def test_a_changed_value_is_published_like_any_other_one(name: str) -> None:
    """So a person's absence tells that their value is another one, and nothing about which."""
    technique, tried = TECHNIQUES[name], 0
    for seed in range(12):
        snapshots = series(seed, changes=True)
        draws = [drawn(np.random.default_rng(seed)) for _ in snapshots]
        try:
            plans, seen = published(technique, snapshots, draws)
        except Unpublishable:
            continue
        for time, (snapshot, plan) in enumerate(zip(snapshots, plans, strict=True)):
            for row in np.flatnonzero(plan.division.entry == CHANGED).tolist():
                person = int(snapshot.persons[row])
                placed = [
                    int(one.sensitive[one.persons.searchsorted(person)])
                    for one, its in zip(snapshots[:time], plans, strict=False)
                    if person in one.persons and its.signature[one.persons.searchsorted(person)] >= 0
                ]
                for value in set(range(len(snapshot.schema.sensitive.values))) - {placed[-1]}:
                    others = snapshot.sensitive.copy()
                    others[row] = value
                    changed = [*snapshots[:time], replace(snapshot, sensitive=others), *snapshots[time + 1 :]]
                    assert published(technique, changed, draws)[1] == seen
                    tried += 1
    assert tried > 50


@pytest.mark.slow
@pytest.mark.usefixtures("small_regions")
@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_relabelled_bucket_is_published_alike_in_many_series(name: str) -> None:
    counted = couple(TECHNIQUES[name], range(1000, 2000))
    assert counted["couplings"] >= 2000
    assert counted["different"] == 0


def test_boxes_that_look_at_values_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were people boxed in the order of their values, the files would tell."""
    plan = Decoupled.plan

    def looking(technique: Decoupled, snapshot: Snapshot, state: Any, rng: np.random.Generator) -> Any:
        seen = plan(technique, snapshot, state, rng)
        by_value = snapshot.sensitive[seen.group >= 0] % seen.person_boxes.boxes.count
        return replace(seen, person_boxes=replace(seen.person_boxes, number=by_value.astype(np.int32)))

    monkeypatch.setattr(Decoupled, "plan", looking)
    assert couple(TECHNIQUES["decoupled"], range(10))["different"] > 0


def test_slots_that_are_not_drawn_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of their values, slots decide what repair tries first."""
    monkeypatch.setattr(phases, "shuffled_slots", lambda signatures, _: np.arange(len(signatures.values)))
    assert any(couple(TECHNIQUES["Cor-Split"], range(seed, seed + 1))["different"] for seed in range(60))
