"""Codes of different value lists are never compared: publishing, checks and the ledger refuse them."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from conformance.test_judges import WEAKEST

from reanon_core.catalog import CHECKS, TECHNIQUES, build_check, build_technique, own_checks
from reanon_core.judgement import judge
from reanon_core.model.codebook import FIELD, Codebook
from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.packing import pack, unpack
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.techniques.m_invariance.technique import MInvariance
from reanon_core.techniques.sequential.technique import Sequential

EPISODES = MInvariance(m=2, balancing="blind", not_eligible="refuse", on_sensitive_change="episode")
REMEMBERING = {"m-invariance", "atoms", "weak-m-invariance", "hc-safety"} | {
    "js-divergence",
    "k-over-history",
    "possible-worlds",
}
FIRST, SECOND = tuple("bcdefghi"), tuple("abcdefghi")


def schema(values: tuple[str, ...], **more: Any) -> Schema:
    return Schema(
        quasi_identifiers=(QuasiIdentifier(name="age"),), sensitive=Sensitive(name="disease", values=values), **more
    )


def snapshot(values: tuple[str, ...], people: dict[int, str]) -> Snapshot:
    """The same people with the same diseases, coded by this list."""
    persons = np.array(sorted(people))
    codes = np.array([values.index(people[person]) for person in sorted(people)])
    return Snapshot(schema(values), persons, (persons % 90)[None, :], codes)


def two_lists() -> tuple[Snapshot, Snapshot]:
    """460 people in both releases and 100 more in the second, which is coded from scratch: `a` is new."""
    random = np.random.default_rng(0)
    people = {person: FIRST[random.integers(8)] for person in range(460)}
    more = people | {person: SECOND[random.integers(9)] for person in range(460, 560)}
    return snapshot(FIRST, people), snapshot(SECOND, more)


def fewest_values(entries: list[Entry]) -> np.ndarray:
    """How many true values remain for each person to an adversary who knows the groups: a count for each number."""
    possible: dict[int, set[str]] = {}
    for entry in entries:
        shown = np.array(entry.snapshot.schema.sensitive.values)[entry.release.sensitive]
        group = entry.release.group
        for person, row in zip(entry.trace.persons.tolist(), entry.trace.rows.tolist(), strict=True):
            values = set(shown[group == group[row]].tolist())
            possible[person] = possible.get(person, values) & values
    return np.bincount([len(values) for values in possible.values()])


def test_without_the_codebook_every_check_holds_while_people_are_exposed() -> None:
    """What happened before there was one: everything compared codes, and codes stood for other values."""
    state, memories, entries = EPISODES.initial_state(), {}, []
    for table in two_lists():
        publication = publish(EPISODES, table, state.with_codebook(Codebook()), np.random.default_rng(1))
        state = publication.state
        entries.append(publication.entry(table))
        forgotten = {name: {key: memory[key] for key in memory if key != FIELD} for name, memory in memories.items()}
        verdicts, memories = judge(own_checks(EPISODES), entries[-1], forgotten)
        assert all(verdict.holds for verdict in verdicts)
    assert fewest_values(entries)[1] > 400


def test_publishing_refuses_codes_of_another_list() -> None:
    first, second = two_lists()
    state = publish(EPISODES, first, EPISODES.initial_state(), np.random.default_rng(1)).state
    with pytest.raises(InvalidSnapshot, match="the value list of column disease must list the values of the earlier"):
        publish(EPISODES, second, state, np.random.default_rng(1))
    grown = snapshot((*FIRST, "a"), {560: "a", 561: "b", 562: "a", 563: "c"})
    assert publish(EPISODES, grown, state, np.random.default_rng(1)).release.size == 4


def test_judging_and_the_ledger_refuse_codes_of_another_list() -> None:
    entries = [
        publish(EPISODES, table, EPISODES.initial_state(), np.random.default_rng(1)).entry(table)
        for table in two_lists()
    ]
    _, memories = judge(own_checks(EPISODES), entries[0], {})
    with pytest.raises(InvalidSnapshot, match="column disease"):
        judge(own_checks(EPISODES), entries[1], memories)
    with pytest.raises(InvalidSnapshot, match="column disease"):
        Ledger(tuple(entries))
    assert len(Ledger((entries[0], entries[0])).entries) == 2


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_that_remembers_remembers_the_codebook(name: str) -> None:
    """A check without the codebook has no memory at all, so that it compares no codes."""
    check = build_check(name, WEAKEST[name])
    table, _ = two_lists()
    technique = Sequential(ell=2) if name == "possible-worlds" else EPISODES
    entry = publish(technique, table, technique.initial_state(), np.random.default_rng(1)).entry(table)
    _, memory = check.examine(entry, check.initial_memory())
    assert bool(memory) == (name in REMEMBERING)
    if memory:
        assert Codebook.restored(memory) == Codebook.of(table.schema)
        forged = replace(entry, snapshot=replace(table, schema=schema(FIRST[::-1])))
        with pytest.raises(InvalidSnapshot, match="column disease"):
            check.examine(forged, unpack(pack(memory)))


@pytest.mark.parametrize("name", TECHNIQUES)
def test_every_state_keeps_the_codebook_when_it_is_packed(name: str) -> None:
    technique = build_technique(name, TECHNIQUES[name].declaration.weakest)
    table, _ = two_lists()
    state = publish(technique, table, technique.initial_state(), np.random.default_rng(0)).state
    again = technique.restored(unpack(pack(state.packed())))
    assert again.codebook == Codebook.of(table.schema) != Codebook()
    backwards = table.schema.with_sensitive_values(table.schema.sensitive.values[::-1])
    with pytest.raises(InvalidSnapshot, match="the value list of column"):
        publish(technique, replace(table, schema=backwards), again, np.random.default_rng(0))


def test_grids_orders_and_non_identifiers_are_part_of_the_codebook() -> None:
    before = schema(FIRST, other=("ward",), other_values=(("east",),))
    known = Codebook.of(before)
    known.require_extended_by(before.with_other_values((("east", "west"),)).with_sensitive_values((*FIRST, "a")))
    with pytest.raises(InvalidSnapshot, match="the value list of column ward"):
        known.require_extended_by(before.with_other_values((("west", "east"),)))
    finer = replace(before, quasi_identifiers=(QuasiIdentifier(name="age", granularity=Decimal("0.1")),))
    with pytest.raises(InvalidSnapshot, match="the value list of column age"):
        known.require_extended_by(finer)
    with pytest.raises(InvalidSnapshot, match=r"columns \(age, disease\) must be those of the earlier releases"):
        known.require_extended_by(schema(FIRST))


def test_a_code_stands_for_a_value() -> None:
    with pytest.raises(InvalidSnapshot, match="the codes of column disease must be positions"):
        Snapshot(schema(("flu",)), np.arange(2), np.zeros((1, 2)), np.array([0, 1]))
