"""The technique's promises beyond the conformance suite: returns, episodes, deferral, padding, exact risk."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from builders.examples import share_of
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reanon_core.attacks.exact_risk import disclosure_risks
from reanon_core.bucketing.assignment import Assignment
from reanon_core.catalog import own_checks
from reanon_core.model.errors import InvalidParameter, InvalidSchema, NotEligible, TooFewValues, Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.publication import Publication
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.techniques.m_invariance.technique import MInvariance, MInvarianceState

VALUES = 6


def schema(**changes: object) -> Schema:
    given: dict[str, object] = {
        "quasi_identifiers": (QuasiIdentifier(name="age", min_width=2),),
        "sensitive": Sensitive(name="disease", values=tuple(f"d{i}" for i in range(VALUES))),
    }
    return Schema(**(given | changes))


def snapshot(people: dict[int, int], *, aged: int = 0) -> Snapshot:
    """People with a value each; their age is their number."""
    persons = np.array(sorted(people), dtype=np.int64)
    return Snapshot(
        schema(),
        persons,
        (persons[None, :] % 50 + aged).astype(np.int32),
        np.array([people[p] for p in sorted(people)]),
    )


def run(technique: MInvariance, snapshots: list[Snapshot], seed: int = 0) -> Ledger:
    state, rng, entries = technique.initial_state(), np.random.default_rng(seed), []
    for one in snapshots:
        publication = publish(technique, one, state, rng)
        state = publication.state
        entries.append(Entry(one, publication.release, publication.auxiliary, publication.trace))
    memories = [check.initial_memory() for check in own_checks(technique)]
    for entry in entries:
        for i, check in enumerate(own_checks(technique)):
            verdict, memories[i] = check.examine(entry, memories[i])
            assert verdict.holds, verdict
    return Ledger(tuple(entries))


def signature(entry: Entry, person: int) -> frozenset[int]:
    row = entry.trace.rows[entry.trace.persons == person][0]
    return frozenset(entry.release.sensitive[entry.release.group == entry.release.group[row]].tolist())


def test_a_person_who_returns_after_a_gap_keeps_their_signature() -> None:
    everyone = {p: p % VALUES for p in range(24)}
    without = {p: v for p, v in everyone.items() if p not in (3, 10)}
    ledger = run(MInvariance(m=3), [snapshot(everyone), snapshot(without), snapshot(without), snapshot(everyone)])
    for person in (3, 10):
        assert signature(ledger.entries[0], person) == signature(ledger.entries[3], person)


@pytest.mark.parametrize("m", [2, 3])
@given(seed=st.integers(0, 2**32 - 1), aging=st.booleans())
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_no_world_count_gives_anybody_away_better_than_one_in_m(m: int, seed: int, aging: bool) -> None:
    """Lemma 3 by enumeration on tiny histories with gaps, counterfeits and changing quasi-identifiers."""
    rng = np.random.default_rng(seed)
    everyone = {p: p % (m + 1) for p in range(2 * (m + 1))}
    snapshots = []
    for release in range(3):
        here = {p: v for p, v in everyone.items() if rng.random() < 0.6}
        snapshots.append(snapshot(here, aged=release if aging else 0))
    ledger = run(MInvariance(m=m, not_eligible="defer"), snapshots)
    truth = {
        int(p): int(v) for e in ledger.entries for p, v in zip(e.snapshot.persons, e.snapshot.sensitive, strict=True)
    }
    published = {int(p) for e in ledger.entries for p in e.trace.persons}
    risks = disclosure_risks(
        ledger.history(), ledger.knowledge(), {p: truth[p] for p in published}, principle="m-invariance"
    )
    assert all(risk <= Fraction(1, m) for risk in risks.risk.values())
    # An adversary who ignores the principle may guess better than that, but is never certain.
    risks = disclosure_risks(ledger.history(), ledger.knowledge(), {p: truth[p] for p in published})
    assert all(risk < 1 for risk in risks.risk.values())


def test_deferred_people_are_reported_and_published_once_they_fit() -> None:
    crowd = dict.fromkeys(range(6), 0) | {10: 1, 11: 2}
    later = crowd | {20: 1, 21: 2, 22: 1, 23: 2, 24: 3, 25: 3}
    technique, rng = MInvariance(m=2, not_eligible="defer"), np.random.default_rng(0)
    first = publish(technique, snapshot(crowd), technique.initial_state(), rng)
    assert sum(first.withheld.values()) == 4
    assert len(first.trace.persons) == 4
    second = publish(technique, snapshot(later), first.state, rng)
    assert sum(second.withheld.values()) == 0
    assert len(second.trace.persons) == len(later)


def test_padding_publishes_everyone_with_the_fewest_counterfeits() -> None:
    ledger = run(MInvariance(m=3, not_eligible="pad"), [snapshot(dict.fromkeys(range(4), 0) | {10: 1})])
    entry = ledger.entries[0]
    assert len(entry.trace.persons) == 5
    assert entry.auxiliary.total == 3 * 4 - 5


def test_one_new_person_alone_is_never_eligible() -> None:
    technique = MInvariance(m=2)
    with pytest.raises(NotEligible):
        publish(technique, snapshot({1: 0}), technique.initial_state(), np.random.default_rng(0))


def test_a_changed_value_is_refused_by_default() -> None:
    technique, rng = MInvariance(m=2), np.random.default_rng(0)
    first = publish(technique, snapshot({p: p % 2 for p in range(8)}), technique.initial_state(), rng)
    with pytest.raises(Unpublishable, match="1 person has another value of disease"):
        publish(technique, snapshot({p: p % 2 if p else 1 for p in range(8)}), first.state, rng)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=share_of(40), deadline=None)
def test_episodes_have_the_same_or_a_disjoint_signature(seed: int) -> None:
    """Values change often; the judge's rule for episodes holds in every release, or the release is refused."""
    rng = np.random.default_rng(seed)
    technique = MInvariance(m=2, on_sensitive_change="episode", not_eligible="pad")
    values = {p: p % VALUES for p in range(24)}
    snapshots = []
    for _ in range(4):
        values = {p: int(rng.integers(VALUES)) if rng.random() < 0.15 else v for p, v in values.items()}
        snapshots.append(snapshot({p: v for p, v in values.items() if rng.random() < 0.8}))
    with suppress(TooFewValues):
        run(technique, snapshots, seed)


def dead_end(technique: MInvariance) -> Publication[MInvarianceState]:
    """One of six people among three values gets the fourth, so that no three are left."""
    rng = np.random.default_rng(0)
    few = schema().with_sensitive_values(schema().sensitive.values[:4])
    people = {p: p % 3 for p in range(6)}
    state = publish(technique, replace(snapshot(people), schema=few), technique.initial_state(), rng).state
    return publish(technique, replace(snapshot(people | {0: 3}), schema=few), state, rng)


def test_a_value_that_cannot_be_hidden_anew_is_refused_with_the_numbers_by_the_papers_balancing() -> None:
    with pytest.raises(TooFewValues, match="only 1 of 4 known values are left"):
        dead_end(MInvariance(m=3, on_sensitive_change="episode", balancing="filled"))


def test_a_person_who_cannot_be_hidden_anew_is_withheld_and_counted() -> None:
    second = dead_end(MInvariance(m=3, on_sensitive_change="episode"))
    assert second.withheld == {
        "their new value could not be hidden when it was new: too few values were left, or no release had shown it": 1
    }
    assert second.trace.persons.tolist() == [1, 2, 3, 4, 5]


def test_changed_quasi_identifiers_are_refused_only_where_the_series_says_so() -> None:
    people = {p: p % 2 for p in range(8)}
    for rule in ("allow", "refuse"):
        technique, rng = MInvariance(m=2, on_qi_change=rule), np.random.default_rng(0)
        first = publish(technique, snapshot(people), technique.initial_state(), rng)
        again = publish(technique, snapshot(people), first.state, rng)
        if rule == "allow":
            assert publish(technique, snapshot(people, aged=1), again.state, rng).release.size == 8
        else:
            with pytest.raises(Unpublishable, match="8 people have other quasi-identifier values"):
                publish(technique, snapshot(people, aged=1), again.state, rng)


def test_a_new_sensitive_value_may_come_with_any_release() -> None:
    technique, rng = MInvariance(m=2), np.random.default_rng(0)
    first = publish(technique, snapshot({p: p % 2 for p in range(8)}), technique.initial_state(), rng)
    grown = schema().with_sensitive_values((*schema().sensitive.values, "new"))
    people = {p: p % 2 for p in range(8)} | {20: VALUES, 21: 3}
    persons = np.array(sorted(people))
    second = Snapshot(grown, persons, persons[None, :].astype(np.int32), np.array([people[p] for p in sorted(people)]))
    assert publish(technique, second, first.state, rng).release.size == 10


def test_all_wrong_parameters_are_named_at_once() -> None:
    with pytest.raises(InvalidParameter) as caught:
        MInvariance(m=1, assignment="best", not_eligible="hope")
    assert str(caught.value).splitlines() == [
        "m (1) must be a whole number of at least 2",
        f"assignment (best) must be one of {', '.join(get_args(Assignment))}",
        "not_eligible (hope) must be one of refuse, blocks, partial-blocks, defer, pad",
    ]


def test_columns_published_as_they_are_are_refused_by_m_invariance() -> None:
    with pytest.raises(InvalidSchema, match="links a person's rows across releases"):
        MInvariance(m=2).accepts(schema(other=("ward",)))
