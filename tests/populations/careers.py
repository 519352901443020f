"""The people of Adult in occupations that change, view by view: real people and first values, an invented course.

Half of the people are published. The others are what the knowledge is learned from, so that no one teaches the
adversary or the defender about themselves.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from populations import adult_panel

from reanon_core.model.arrays import Float64, Int32, Int64
from reanon_core.model.background import START, Background, Classes
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot

COLUMNS = ("age", "sex", "education")
STAYS = {"settled": 0.85, "just moved": 0.5}
"""How likely a person keeps an occupation; those who have just moved are likelier to move again."""
NEARBY = 0.75
"""Which share of the moves stays within a branch of the taxonomy of occupations."""
LEAVES = 0.03
"""Which share of the active people is replaced between two views."""
SPLIT = 20_260
"""The seed of the division into published people and those whom the knowledge is learned from."""


@cache
def people(published: bool) -> Snapshot:
    """One half of Adult: those who are published, or those whom the knowledge is learned from."""
    whole = adult_panel.table(COLUMNS)
    order = np.random.default_rng(SPLIT).permutation(whole.size)
    drawn = np.sort(order[: whole.size // 2] if published else order[whole.size // 2 :])
    return Snapshot(schema(), np.arange(len(drawn)), whole.qi[:, drawn], whole.sensitive[drawn])


@cache
def schema() -> Schema:
    """Age, sex and education as numbers, in the order of the taxonomies, and the occupation."""
    whole = adult_panel.table(COLUMNS)
    columns = tuple(
        QuasiIdentifier(name=name, domain=(int(codes.min()), int(codes.max())))
        for name, codes in zip(COLUMNS, whole.qi, strict=True)
    )
    values = whole.schema.sensitive.values
    return Schema(quasi_identifiers=columns, sensitive=Sensitive(name="occupation", values=values, closed=True))


@cache
def classes() -> Classes:
    """Twelve classes: age below 30, below 45 or more; sex; higher education or not."""
    ages = [adult_panel.taxonomy("age").leaves.index(age) for age in ("30", "45")]
    higher = [path for path in adult_panel.taxonomy("education").paths if "Higher education" in path]
    return Classes((0, 1, 2), (np.array(ages, np.int32), np.array([1], np.int32), np.array([len(higher)], np.int32)))


@cache
def knowledge() -> Background:
    """How often people of a class have each occupation, learned from the half that is not published, and the course."""
    learned = people(False)
    counts = np.ones((classes().count, len(schema().sensitive.values)))  # no value is impossible
    np.add.at(counts, (classes().of(learned.qi), learned.sensitive), 1)
    prior = counts / counts.sum(axis=1, keepdims=True)
    return Background(
        classes=classes(), prior=prior, following=_following(prior.shape[1]), emission=_emission(prior), source="domain"
    )


def snapshots(seed: int, *, views: int = 24, rows: int, pool: int, published: bool = True) -> Iterator[Snapshot]:
    """The views of one seed: `rows` of the `pool` active people are seen, and some of the active are replaced."""
    half, rng = people(published), np.random.default_rng(seed)
    known = knowledge()
    assert known.following is not None
    assert known.emission is not None
    order = rng.permutation(half.size)
    active, waiting = order[:pool].copy(), list(order[pool:])
    kind, state = classes().of(half.qi), np.full(half.size, START)
    for _ in range(views):
        seen = np.sort(rng.choice(active, size=rows, replace=False))
        value = _drawn(known.emission[kind[seen], state[seen]], rng)
        value = np.where(state[seen] == START, half.sensitive[seen], value).astype(np.int32)
        state[seen] = known.following[state[seen], value]
        yield Snapshot(schema(), seen.astype(np.int64), half.qi[:, seen], value)
        gone = rng.choice(pool, size=int(LEAVES * pool), replace=False)
        active[gone] = [waiting.pop() for _ in gone]


def _state(value: int, moved: bool) -> int:
    return 1 + 2 * value + moved


def _following(values: int) -> Int32:
    """The state after each value: settled in it, or just moved to it."""
    table = np.empty((1 + 2 * values, values), np.int32)
    table[START] = [_state(value, moved=False) for value in range(values)]
    for before in range(values):
        row = [_state(value, moved=value != before) for value in range(values)]
        table[[_state(before, moved=False), _state(before, moved=True)]] = row
    return table


def _emission(prior: Float64) -> Float64:
    """How likely each next value is, by class and state; no row for the start."""
    labels = schema().sensitive.values
    branch = {path[0]: path[1] for path in adult_panel.taxonomy("occupation").paths}
    table = np.zeros((len(prior), 1 + 2 * len(labels), len(labels)))
    for value, label in enumerate(labels):
        others = np.arange(len(labels)) != value
        nearby = others & np.array([branch[other] == branch[label] for other in labels])
        for moved, stays in enumerate(STAYS.values()):
            chance = np.zeros_like(prior)
            for target, share in ((nearby, NEARBY), (others, 1 - NEARBY)):
                weight = prior * target
                chance += (1 - stays) * share * weight / weight.sum(axis=1, keepdims=True)
            chance[:, value] = stays
            table[:, _state(value, bool(moved))] = chance
    return table


def _drawn(odds: Float64, rng: np.random.Generator) -> Int64:
    """One value for each row of probabilities; rows without any give the last value, which is not used."""
    below = np.cumsum(odds, axis=1)
    drawn: Int64 = (rng.random(len(odds))[:, None] >= below).sum(axis=1)
    return np.minimum(drawn, odds.shape[1] - 1)
