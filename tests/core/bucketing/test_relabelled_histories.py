"""The theorem of reanon_core/bucketing/PROOF.md on whole histories, draw by draw.

A history is published with recorded draws. Then one bucket is relabelled and the draws are carried along: the order of
its slots by the permutation, the others as they were. The map of draws is one to one and keeps their probability. So if
it always gives the same publication, both histories give every publication with the same probability.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import Any

import numpy as np
import pytest
from builders.random_series import schema
from oracles.algorithm import Shown, planned

from reanon_core.bucketing import blocks, phases
from reanon_core.bucketing.division import NEW
from reanon_core.bucketing.signatures import Signature
from reanon_core.model.errors import Unpublishable
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.cor_split import bucket_partition
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

EPISODE: dict[str, Any] = {"on_sensitive_change": "episode", "not_eligible": "blocks"}
TECHNIQUES = {
    "m-invariance": MInvariance(m=2),
    "stable, blocks": MInvariance(m=3, not_eligible="blocks", assignment="stable"),
    "paper, episodes": MInvariance(m=2, assignment="paper", **EPISODE),
    "Cor-Split": CorSplit(m=3, n=2, not_eligible="blocks"),
    "Cor-Partition, episodes": CorSplit(m=3, n=2, strict=False, partition="paper", **EPISODE),
    "lifespan": CorSplit(m=3, n=1, max_lifespan=2, on_lifespan="withhold", **EPISODE),
}
MOST_PEOPLE = 30


@dataclass
class Draws:
    """Every random choice of one release that decides about groups."""

    order: Any  # [people] words that order the rows of a slot
    allocation: Any  # [people] words by which new rows get their slots
    words: Any  # [people] for Cor-Partition
    slots: Any = None  # a permutation of all slots
    values: list[int] = field(default_factory=list)  # those that blocks are made of, in the order of the draw


def drawn(rng: np.random.Generator) -> Draws:
    return Draws(*rng.integers(0, 2**63, (3, MOST_PEOPLE)).astype(np.uint64))


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
    columns, among = [draws.order, draws.allocation], []
    by_count = blocks.frequent_values

    def draw_slots(count: int, _: object) -> Any:
        draws.slots = rng.permutation(count).astype(np.int32) if draws.slots is None else draws.slots
        return draws.slots

    def draw_values(count: int, _: object) -> Any:
        draws.values = draws.values or [among[place] for place in rng.permutation(count)]
        return np.array([among.index(value) for value in draws.values])

    def watched(pool: Any, chosen: Any, generator: Any) -> Any:
        among.extend(np.flatnonzero(chosen).tolist())
        return by_count(pool, chosen, generator)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "frequent_values", watched)
        patch.setattr(blocks, "keyed_permutation", draw_values)
        patch.setattr(phases, "keyed_permutation", draw_slots)
        patch.setattr(phases, "siphash_words", lambda persons, _: columns.pop(0)[persons])
        patch.setattr(bucket_partition, "siphash_words", lambda words, _: np.resize(draws.words, len(words)))
        return technique.plan(snapshot, state, np.random.default_rng(0))


def carried(draws: Draws, snapshot: Snapshot, plan: Any, bucket: Signature, image: dict[int, int]) -> Draws:
    """The draws by which the same people come to the same places if the values of one bucket are exchanged.

    Which new rows of a value go to a bucket is a uniform draw, so any words with the published result will do. If all
    rows are new, the same words also order them.
    """
    number, slots, values = plan.signatures.number.get(bucket), draws.slots, draws.values
    if number is not None and slots is not None:
        first, last = plan.signatures.offsets[number : number + 2]
        moved = np.arange(len(slots), dtype=np.int32)
        moved[first:last] = first + np.searchsorted(bucket, [image[value] for value in bucket])
        slots = moved[slots]
    if number is not None and ((plan.division.entry == NEW) & (plan.signature == number)).any():
        values = [image.get(value, value) for value in values]
    goal = np.full(MOST_PEOPLE, -1)
    goal[snapshot.persons] = plan.signature
    steered = np.empty(MOST_PEOPLE, dtype=np.uint64)
    steered[np.lexsort((draws.order, goal))] = np.arange(MOST_PEOPLE, dtype=np.uint64) << np.uint64(50)
    all_new = bool((plan.division.entry == NEW).all())
    return Draws(steered if all_new else draws.order, steered, draws.words, slots, values)


def published(technique: Any, snapshots: list[Snapshot], draws: list[Draws]) -> tuple[list[Any], list[Any]]:
    """The plans, and what leaves the house: groups with their people, values and counterfeits, and withheld counts."""
    state, plans, seen = technique.initial_state(), [], []
    for snapshot, of_release in zip(snapshots, draws, strict=True):
        plan = plan_with(technique, snapshot, state, of_release)
        state = technique.advance(state, snapshot, plan)
        plans.append(plan)
        seen.append((planned(plan, snapshot), plan.withheld))
    return plans, seen


def buckets(seen: list[tuple[Shown, Any]]) -> dict[Signature, set[tuple[int, int]]]:
    """Who is published with each signature, and in which release."""
    found = defaultdict(set)
    for time, (shown, _) in enumerate(seen):
        for person, signature in shown.signature.items():
            found[signature].add((person, time))
    return found


def relabelled(snapshots: list[Snapshot], members: set[tuple[int, int]], image: dict[int, int]) -> list[Snapshot]:
    listed = []
    for time, snapshot in enumerate(snapshots):
        pairs = zip(snapshot.persons.tolist(), snapshot.sensitive.tolist(), strict=True)
        values = [image[value] if (person, time) in members else value for person, value in pairs]
        listed.append(replace(snapshot, sensitive=np.array(values, dtype=np.int32)))
    return listed


def couple(technique: Any, seeds: range) -> Counter[str]:
    """Relabel every bucket of every series in up to three ways, and count how often that changes what is published."""
    counted: Counter[str] = Counter()
    for seed in seeds:
        snapshots = series(seed, changes=technique.on_sensitive_change == "episode")
        rng = np.random.default_rng(seed)
        draws = [drawn(rng) for _ in snapshots]
        try:
            plans, seen = published(technique, snapshots, draws)
        except Unpublishable:
            continue
        counted["withheld"] += sum(sum(withheld.values()) for _, withheld in seen)
        counted["blocks"] += sum(bool(of_release.values) for of_release in draws)
        for bucket, members in buckets(seen).items():
            for order in islice(permutations(bucket), 1, 4):
                image = dict(zip(bucket, order, strict=True))
                rows = zip(draws, snapshots, plans, strict=True)
                others = [carried(one, snapshot, plan, bucket, image) for one, snapshot, plan in rows]
                again = published(technique, relabelled(snapshots, members, image), others)[1]
                counted += Counter(couplings=1, different=again != seen)
    return counted


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_relabelled_bucket_is_published_alike(name: str) -> None:
    technique = TECHNIQUES[name]
    counted = couple(technique, range(40))
    assert counted["couplings"] >= 100
    assert counted["different"] == 0
    assert counted["blocks"] > 0 or technique.not_eligible == "refuse"
    assert counted["withheld"] > 0 or technique.on_sensitive_change == "refuse"


@pytest.mark.slow
@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_relabelled_bucket_is_published_alike_in_many_series(name: str) -> None:
    counted = couple(TECHNIQUES[name], range(1000, 2000))
    assert counted["couplings"] >= 2000
    assert counted["different"] == 0


def test_slots_that_are_not_drawn_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of their values, slots decide what repair tries first."""
    monkeypatch.setattr(phases, "_shuffled_slots", lambda signatures, _: np.arange(len(signatures.values)))
    assert couple(TECHNIQUES["Cor-Split"], range(60))["different"] > 0
