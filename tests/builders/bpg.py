"""Small series for BPG: tables that people enter, leave and re-enter, queries, and what is published of them."""

import numpy as np

from reanon_core.model.errors import Unpublishable
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import pack, unpack
from reanon_core.model.publication import Publication
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.techniques.bpg.state import BpgState
from reanon_core.techniques.bpg.technique import Bpg

PEOPLE, VALUES = 40, 4
COLUMNS = Schema(
    quasi_identifiers=(QuasiIdentifier(name="a", domain=(0, 9)), QuasiIdentifier(name="b", domain=(0, 9))),
    sensitive=Sensitive(name="s", values=tuple("uvwx")),
)


def histories(
    seed: int, *, change: float, subset: float, leave: float, people: int = PEOPLE, ask: float | None = None
) -> list[Snapshot]:
    """Five tables: people come, leave and come back, values change; `ask` is the share that a query selects."""
    rng = np.random.default_rng(seed)
    qi = rng.integers(0, 10, (2, people)).astype(np.int32)
    value = rng.integers(0, VALUES, people).astype(np.int32)
    alive = rng.random(people) < 0.7
    found = []
    for _ in range(5):
        here = np.flatnonzero(alive & (rng.random(people) < subset))
        selected = None if ask is None else _query(rng, qi[:, here], ask)
        found.append(Snapshot(COLUMNS, here, qi[:, here], value[here], selected=selected))
        alive = (alive | (rng.random(people) < 0.3)) & (rng.random(people) >= leave)
        value = np.where(rng.random(people) < change, rng.integers(0, VALUES, people), value).astype(np.int32)
    return found


def _query(rng: np.random.Generator, qi: np.ndarray, ask: float) -> np.ndarray:
    """A random subset, or a range of one attribute, as a predicate gives it."""
    if rng.random() < 0.5:
        return rng.random(qi.shape[1]) < ask
    low = rng.integers(0, 10 - round(10 * ask), endpoint=True)
    return (qi[rng.integers(2)] >= low) & (qi[0] < 10) & (qi[rng.integers(2)] <= low + 10 * ask)


def published(technique: Bpg | list[Bpg], snapshots: list[Snapshot]) -> list[tuple[Snapshot, Publication[BpgState]]]:
    """What can be published of the series, by one technique or by one for each release.

    The state goes through bytes, as in a store.
    """
    techniques = technique if isinstance(technique, list) else [technique] * len(snapshots)
    state, rng, found = techniques[0].initial_state(), np.random.default_rng(0), []
    for own, snapshot in zip(techniques, snapshots, strict=True):
        try:
            publication = publish(own, snapshot, state, rng)
        except Unpublishable:
            continue
        found.append((snapshot, publication))
        state = own.restored(unpack(pack(publication.state.packed())))
    return found


def entries(found: list[tuple[Snapshot, Publication[BpgState]]]) -> list[Entry]:
    return [publication.entry(snapshot) for snapshot, publication in found]


def table(people: list[int], values: list[int], place: list[int] | None = None) -> Snapshot:
    qi = np.array([place or [0] * len(people), [0] * len(people)], np.int32)
    return Snapshot(COLUMNS, np.array(people, np.int64), qi, np.array(values, np.int32))


def shown(publication: Publication[BpgState]) -> list[set[int]]:
    """The people of each group, in the order of their least member."""
    release, trace = publication.release, publication.trace
    groups: dict[int, set[int]] = {}
    for person, row in zip(trace.persons.tolist(), trace.rows.tolist(), strict=True):
        groups.setdefault(int(release.group[row]), set()).add(person)
    return sorted(groups.values(), key=min)
