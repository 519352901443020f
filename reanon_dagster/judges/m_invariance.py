"""m-invariance at size: a person who is published again has the same signature again."""

import os
from collections.abc import Iterator
from typing import NamedTuple, cast

import numpy as np

from reanon_core.checks.m_invariance import MInvariance
from reanon_core.compiled import compiled
from reanon_core.engine.column_folder import Column, forget_pages
from reanon_core.model.arrays import Int64, UInt64, frozen
from reanon_core.model.codebook import FIELD, Codebook
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.judges.judged_release import JudgedRelease, silent_verdict, unreadable_verdict
from reanon_dagster.judges.m_uniqueness import breaches_of_uniqueness
from reanon_dagster.judges.signature_columns import (
    BITS,
    MaskColumn,
    fill_person_signatures,
    group_signatures,
    words_of,
)
from reanon_dagster.judges.workspace import Workspace

LISTED = "numbers"
"""The field that a memory has if its signatures are lists of values."""
WIDEST = 16
"""The most words of a mask: the memory of a series with more sensitive values has lists."""


class Past(NamedTuple):
    """Every person ever published, with each of their signatures."""

    persons: Int64  # [p] ascending; a person with several signatures has several rows
    signatures: UInt64  # [p, words]


class Moves(NamedTuple):
    """How the signatures of the people of a release relate to their earlier ones."""

    known: int
    """How many people were published before."""
    different: int
    """How many had another signature."""
    overlapping: int
    """How many had another signature that shares a value with this one."""


def has_masks(judged: JudgedRelease, memory: Memory) -> bool:
    """Whether the signatures are masks, before this release and after it; there is no judge at size for lists."""
    return LISTED not in memory and len(judged.entry.snapshot.schema.sensitive.values) <= WIDEST * BITS


def judge_m_invariance(check: MInvariance, judged: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
    """Judge the groups, compare each person's signature with all earlier ones, and remember it.

    A signature that violates the rule is remembered too, so that the person stays a violation.

    Paper: [XT07] Definition 17.
    Raises: InvalidSnapshot if a code stands for another value than in the memory.
    """
    schema = judged.entry.snapshot.schema
    Codebook.restored(memory).require_extended_by(schema)
    if not has_masks(judged, memory):
        return check.examine(judged.entry, memory)
    own = {name: value for name, value in memory.items() if name != FIELD}
    verdict, remembered = _judged(check, judged, own)
    return verdict, {**remembered, **Codebook.of(schema).packed()} if remembered else remembered


def _judged(check: MInvariance, judged: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
    if judged.unreadable:
        return unreadable_verdict(check.name, judged.unreadable), memory
    if judged.silent:
        return silent_verdict(check.name), memory
    unique = breaches_of_uniqueness(judged, check.m)
    past = Past(
        cast("Int64", frozen(np.asarray(memory["persons"]), np.int64)),
        cast("UInt64", frozen(np.asarray(memory["signatures"]), np.uint64)),
    )
    moves, after = _compare(judged, past)
    moved = moves.overlapping if check.episodes else moves.different
    observed: dict[str, float] = {
        **unique.observed,
        "people": len(judged.entry.trace.persons),
        "people compared": moves.known,
        "people with another signature": moved,
    }
    violations = unique.violations + moved
    rule = (
        "everybody's signatures are equal or share no value"
        if check.episodes
        else "everybody has the same signature in every release"
    )
    sentence = f"every group has at least {check.m} rows, all with different sensitive values, and {rule}"
    verdict = Verdict(check.name, violations == 0, violations, observed, sentence=sentence)
    return verdict, {"persons": after.persons, "signatures": after.signatures}


def _compare(judged: JudgedRelease, past: Past) -> tuple[Moves, Past]:
    """Compare the people of the release with the past, and add them to it."""
    space, persons = judged.space, judged.entry.trace.persons
    values = len(judged.entry.snapshot.schema.sensitive.values)
    words = max(past.signatures.shape[1], words_of(values))
    shape, name = (len(persons), words), "signatures"
    new = not len(past.persons)
    target = MaskColumn((space.result if new else space.temporary)(name, np.uint64, shape))
    fill_person_signatures(judged, group_signatures(judged, words), target)
    if new:
        return Moves(0, 0, 0), Past(persons, target.mapped())
    return _merged(past, Past(persons, target.mapped()), space)


def _merged(past: Past, now: Past, space: Workspace) -> tuple[Moves, Past]:
    """Go through the past and the release together, by ascending person."""
    most, words = len(past.persons) + len(now.persons), now.signatures.shape[1]
    persons = space.result("persons", np.int64, (most,))
    signatures = MaskColumn(space.result("signatures", np.uint64, (most, words)))
    moves, rows = np.zeros(len(Moves._fields), np.int64), 0
    for before, here in _steps(past.persons, now.persons, space):
        size = before.stop - before.start + here.stop - here.start
        merged = np.empty(size, np.int64), np.zeros((size, words), np.uint64)
        old = past.persons[before], past.signatures[before]
        added = _merge(*old, now.persons[here], now.signatures[here], *merged, moves)
        persons.write(rows, merged[0][:added])
        signatures.write(rows, merged[1][:added])
        rows += added
        forget_pages(past.persons, past.signatures, now.persons, now.signatures)
    kept = _cut(persons, (rows,)), MaskColumn(_cut(signatures.column, (rows, words)))
    return Moves(*moves.tolist()), Past(cast("Int64", np.asarray(kept[0].mapped())), kept[1].mapped())


def _steps(past: Int64, now: Int64, space: Workspace) -> Iterator[tuple[slice, slice]]:
    """Consecutive parts of two ascending lists, so that all rows of a person are in the same step."""
    rows = next((part.stop for part in space.chunks(max(len(past), len(now)))), 0)
    old = new = 0
    while old < len(past) or new < len(now):
        begun = [(listed, at) for listed, at in ((past, old), (now, new)) if at < len(listed)]
        last = min(int(listed[min(at + rows, len(listed)) - 1]) for listed, at in begun)
        ends = int(past.searchsorted(last, side="right")), int(now.searchsorted(last, side="right"))
        yield slice(old, ends[0]), slice(new, ends[1])
        old, new = ends


def _cut(column: Column, shape: tuple[int, ...]) -> Column:
    """The column without the rows behind its end that were not needed."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(column.dtype).itemsize
    os.truncate(column.path, size)
    return Column(column.path, column.dtype, shape)


@compiled
def _merge(
    old_persons: Int64, old: UInt64, persons: Int64, new: UInt64, merged_persons: Int64, merged: UInt64, moves: Int64
) -> int:
    """Write both lists into one, a signature that a person already has only once; count moves, and return the rows."""
    row = at = 0
    for person in range(len(persons)):
        while at < len(old_persons) and old_persons[at] < persons[person]:
            row = _copy(old_persons, old, at, merged_persons, merged, row)
            at += 1
        begin, equals, differs, overlaps = at, False, False, False
        while at < len(old_persons) and old_persons[at] == persons[person]:
            same, shared = _relation(old[at], new[person])
            equals |= same
            differs |= not same
            overlaps |= shared and not same
            row = _copy(old_persons, old, at, merged_persons, merged, row)
            at += 1
        moves[0] += at > begin
        moves[1] += differs
        moves[2] += overlaps
        if not equals:
            row = _copy(persons, new, person, merged_persons, merged, row)
    while at < len(old_persons):
        row = _copy(old_persons, old, at, merged_persons, merged, row)
        at += 1
    return row


@compiled
def _copy(persons: Int64, masks: UInt64, at: int, merged_persons: Int64, merged: UInt64, row: int) -> int:
    """Copy one row, whose mask may be narrower, and return the number of the next one."""
    merged_persons[row] = persons[at]
    for word in range(masks.shape[1]):
        merged[row, word] = masks[at, word]
    return row + 1


@compiled
def _relation(old: UInt64, new: UInt64) -> tuple[bool, bool]:
    """Whether two masks are equal, and whether they share a value; the older one may be narrower."""
    equal, shared = True, False
    for word in range(len(new)):
        before = old[word] if word < len(old) else np.uint64(0)
        equal &= before == new[word]
        shared |= (before & new[word]) != 0
    return equal, shared
