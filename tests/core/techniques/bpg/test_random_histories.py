"""BPG under every combination of its options: no subset of the releases exposes anyone."""

import os
from collections import Counter

import numpy as np
import pytest
from builders.bpg import entries, histories, published
from builders.examples import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.atoms import atoms_breached, subsets_breached

from reanon_core.checks.atoms import Atoms
from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.ledger import Entry
from reanon_core.model.publication import Publication
from reanon_core.model.snapshot import INVENTED, REMEMBERED, TABLE, Snapshot
from reanon_core.techniques.bpg.state import BpgState
from reanon_core.techniques.bpg.technique import Bpg

OPTIONS = {
    "variant": ["union", "middle", "nodirty", "ghost"],
    "pool": ["alive", "stored"],
    "reject": ["atom", "class"],
    "groups": ["atoms", "classes"],
    "reserve": [1, 2, 4, "auto"],
    "k": [2, 3, 4],
    "ell": [1, 2, 3],
    "cuts": ["strict", "relaxed"],
    "heuristic": ["width", "distinct"],
    "max_dirty": [0.0, 0.25, 0.5, 1.0],
    "together": [0.0, 0.3, 0.6, 1.0],
}
SERIES = {
    "change": [0.0, 0.1, 0.5],
    "subset": [0.6, 0.9, 1.0],
    "leave": [0.0, 0.1, 0.3],
    "ask": [None, 0.3, 0.6, 0.9],
}


def require_invariants(state: BpgState, history: list[Entry], technique: Bpg) -> None:
    """I1, I2 and I4 of the spec, with the columns taken from what was published, not from the state."""
    shown: list[dict[int, int]] = [
        dict(zip(e.trace.persons.tolist(), e.release.sensitive[e.trace.rows].tolist(), strict=True)) for e in history
    ]
    assert sorted(set().union(*shown)) == state.persons.tolist()  # I4
    starts = state.value_starts
    for number in range(state.atoms):
        places = np.flatnonzero(state.atom == number)
        people = state.persons[places].tolist()
        assert len(people) >= technique.k  # I1
        begin, end = state.signature_starts[number : number + 2]
        signature = state.signature_releases[begin:end].tolist()
        columns = set()
        for release, values in enumerate(shown, start=1):
            assert all((person in values) == (release in signature) for person in people)  # I2
            if release in signature:
                column = tuple(values[person] for person in people)
                assert len(set(column)) >= technique.ell  # I1
                columns.add(column)
        kept = [
            tuple(int(state.values[starts[place] + column]) for place in places)
            for column in range(state.columns[number])
        ]
        assert len(kept) == len(set(kept))
        assert set(kept) == columns


def require_safe(technique: Bpg, found: list[tuple[Snapshot, Publication[BpgState]]]) -> None:
    """No subset of the releases breaks the principle, and every check, invariant and account holds."""
    history = entries(found)
    assert subsets_breached(history, technique.k, technique.ell) == 0
    for check in (WellFormedness(), KAnonymity(k=technique.k), Atoms(k=technique.k, ell=technique.ell)):
        memory = check.initial_memory()
        for entry in history:
            verdict, memory = check.examine(entry, memory)
            assert verdict.holds, verdict
    for end, (snapshot, publication) in enumerate(found, start=1):
        require_invariants(publication.state, history[:end], technique)
        require_honest(technique, snapshot, publication, history[end - 1])


def require_honest(technique: Bpg, snapshot: Snapshot, publication: Publication[BpgState], entry: Entry) -> None:
    """Every selected person is published or withheld, and others are published only as far as is allowed."""
    selected = dict(zip(snapshot.persons.tolist(), snapshot.selection.tolist(), strict=True))
    drawn = entry.snapshot
    origin = np.zeros(drawn.size, np.int8) if drawn.origin is None else drawn.origin
    where = dict(zip(drawn.persons.tolist(), origin.tolist(), strict=True))
    shown = entry.trace.persons.tolist()
    wanted = [person for person in shown if selected.get(person)]
    dirty = [person for person in shown if not selected.get(person) and where[person] != INVENTED]
    assert len(wanted) + sum(publication.withheld.values()) == sum(selected.values())
    assert (entry.withheld, entry.dirty) == (sum(publication.withheld.values()), len(dirty))
    assert publication.auxiliary.total == sum(where[person] == INVENTED for person in shown)
    assert all((where[person] == TABLE) == (person in selected) for person in shown)
    if technique.pool == "alive" or technique.variant == "ghost":
        assert REMEMBERED not in where.values()
    if technique.variant != "ghost":
        assert INVENTED not in where.values()
    if technique.variant == "nodirty":
        assert not dirty
    if technique.groups == "atoms":
        of = dict(zip(shown, entry.release.group[entry.trace.rows].tolist(), strict=True))
        size, extra = Counter(of.values()), Counter(group for person, group in of.items() if not selected.get(person))
        assert all(extra[group] <= technique.max_dirty * size[group] for group in size)


@given(
    seed=st.integers(0, 2**32 - 1),
    options=st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS.items()}),
    series=st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SERIES.items()}),
)
@settings(max_examples=int(os.environ.get("REANON_EXAMPLES", share_of(400))), deadline=None)
def test_no_releases_compared_give_anybody_away(seed: int, options: dict, series: dict) -> None:  # type: ignore[type-arg]
    technique = Bpg(**options)
    require_safe(technique, published(technique, histories(seed, **series)))


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 4), ell=st.integers(1, 3))
@settings(max_examples=share_of(100), deadline=None)
def test_the_options_may_change_from_release_to_release(seed: int, k: int, ell: int) -> None:
    """Everything but the principle, the partitioner included."""
    rng = np.random.default_rng(seed)

    def any_classes(snapshot: Snapshot, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(-1, 6, snapshot.size)

    def drawn(choices: list) -> object:  # type: ignore[type-arg]
        return choices[rng.integers(len(choices))]

    def technique() -> Bpg:
        options = {name: drawn(choices) for name, choices in OPTIONS.items() if name not in {"k", "ell"}}
        return Bpg(k=k, ell=ell, over=drawn(["mondrian", any_classes]), **options)

    series = {name: drawn(choices) for name, choices in SERIES.items()}
    history = entries(published([technique() for _ in range(5)], histories(seed, **series)))
    assert subsets_breached(history, k, ell) == 0
    for check in (WellFormedness(), KAnonymity(k=k), Atoms(k=k, ell=ell)):
        memory = check.initial_memory()
        for entry in history:
            verdict, memory = check.examine(entry, memory)
            assert verdict.holds, verdict


@pytest.mark.parametrize("variant", OPTIONS["variant"])
@pytest.mark.parametrize("pool", OPTIONS["pool"])
def test_the_atoms_of_a_larger_series_hold_by_the_word_of_the_definition(variant: str, pool: str) -> None:
    for seed, ask in ((1, None), (2, 0.6)):
        snapshots = histories(seed, change=0.05, subset=0.97, leave=0.05, people=1500, ask=ask)
        history = entries(published(Bpg(k=5, ell=3, variant=variant, pool=pool), snapshots))
        assert len(history) >= 4
        for end in range(1, len(history) + 1):
            assert atoms_breached(history[:end], 5, 3) == 0


@pytest.mark.slow
def test_no_combination_of_options_gives_anybody_away() -> None:
    """Every variant with every pool, rejection, form of groups and query, on series of their own."""
    rng = np.random.default_rng(2024)
    tried = 0
    for variant in OPTIONS["variant"]:
        for pool in OPTIONS["pool"]:
            for reject in OPTIONS["reject"]:
                for groups in OPTIONS["groups"]:
                    for ask in SERIES["ask"]:
                        for _ in range(40):
                            rest = {
                                name: OPTIONS[name][rng.integers(len(OPTIONS[name]))]
                                for name in ("k", "ell", "reserve", "max_dirty", "together")
                            }
                            technique = Bpg(variant=variant, pool=pool, reject=reject, groups=groups, **rest)
                            drawn = {name: rng.choice(SERIES[name]).item() for name in ("change", "subset", "leave")}
                            seed = int(rng.integers(2**32))
                            require_safe(technique, published(technique, histories(seed, ask=ask, **drawn)))
                            tried += 1
    assert tried == 5120
