"""A person who is forgotten: what is left of them in an entry is what its release shows, and elsewhere a mark.

The mark is the first bits of their pseudonym, which other people may share.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from reanon_core.model.arrays import MISSING, AnyArray, Bool, Int32, Int64, forget_pages, slices
from reanon_core.model.errors import Refused
from reanon_core.model.ledger import Entry
from reanon_core.model.packing import Packable
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, UNPUBLISHED, Boxes

PSEUDONYM_BITS = 64
SPARE_BITS = 7
"""The bits of a mark beyond those that number the people: one of 128 lists as long as theirs has an innocent match."""
MOST_BITS = 56
"""The longest mark: with fewer random bits, what is left would still be the pseudonym."""


@dataclass(frozen=True)
class Mark:
    """A forgotten person: a number that begins with the first bits of their pseudonym and ends in random ones.

    Whoever has the same first bits is taken for the forgotten person.
    """

    number: int
    """It stands where the pseudonym stood, and has the same rank among all pseudonyms."""
    bits: int
    """How many bits are those of the pseudonym."""
    releases: int = 0
    """How many releases were published when the person was forgotten."""

    def matches(self, persons: Int64) -> Bool:
        """Which pseudonyms begin with the bits of the mark."""
        tail = np.int64(PSEUDONYM_BITS - self.bits)
        found: Bool = (np.asarray(persons, np.int64) >> tail) == (np.int64(self.number) >> tail)
        return found


def marked(marks: tuple[Mark, ...], persons: Int64) -> Bool:
    """Which pseudonyms match any of the marks."""
    found = np.zeros(len(persons), dtype=np.bool_)
    for part in slices(len(persons)) if marks else ():
        for mark in marks:
            found[part] |= mark.matches(persons[part])
        forget_pages(persons)
    return found


def cut(person: int, known: Int64, people: int, releases: int) -> Mark:
    """The mark of a person among all known pseudonyms, of `people` people.

    It has as few bits as tell the person from everyone known, but enough that a newcomer rarely shares them. The first
    bits keep the rank of the number, so that sorted arrays stay sorted.

    Raises: Refused if another pseudonym is too similar, which happens once in about 2^40 series.
    """
    others = np.unique(np.asarray(known, np.int64))
    others = others[others != person]
    place = int(others.searchsorted(person))
    near = [int(others[at]) for at in (place - 1, place) if 0 <= at < len(others)]
    alone = max((PSEUDONYM_BITS - _shared_tail(person, other) + 1 for other in near), default=1)
    bits = max(alone, (max(people, 1) - 1).bit_length() + SPARE_BITS)
    if bits > MOST_BITS:
        raise Refused("the pseudonym cannot be cut, because that of another person is too similar; nothing was changed")
    tail = PSEUDONYM_BITS - bits
    number = person
    while number == person:
        number = ((person >> tail) << tail) | secrets.randbits(tail)
    return Mark(number, bits, releases)


def _shared_tail(one: int, other: int) -> int:
    """How many bits remain from the first one in which two numbers of 64 bits differ."""
    different: int = (one ^ other) & (2**PSEUDONYM_BITS - 1)
    return different.bit_length()


@dataclass(frozen=True)
class Extent:
    """How much of a person's rows is replaced."""

    unpublished_rows: bool = True
    """Whether the rows that no release shows are deleted."""
    values: bool = True
    """Whether exact values are replaced by what the release shows."""


EXTENTS = (Extent(), Extent(unpublished_rows=False), Extent(unpublished_rows=False, values=False))
"""From the most to the least that can be erased; the last one only exchanges the pseudonym."""


def renamed(packed: Mapping[str, Packable], person: int, number: int) -> dict[str, Packable]:
    """The same state or memory with another number for a person, in every array of pseudonyms.

    Requires: the number has the rank of the person, so that sorted arrays stay sorted.
    """
    return {name: _renamed(value, person, number) for name, value in packed.items()}


def _renamed(value: Packable, person: int, number: int) -> Packable:
    if isinstance(value, np.ndarray) and value.dtype == np.int64:
        return _exchanged(cast("Int64", value), person, number)
    return value


def _exchanged(persons: Int64, person: int, number: int) -> Int64:
    return np.where(persons == person, np.int64(number), persons)


def erased(entries: Sequence[Entry], person: int, number: int, extent: Extent) -> tuple[Entry, ...]:
    """The entries without what their releases do not show of the person, who has this number from now on."""
    shown = _shown_values(entries, person)
    return tuple(_erased(entry, person, number, extent, shown) for entry in entries)


def _erased(entry: Entry, person: int, number: int, extent: Extent, known: Mapping[int, int]) -> Entry:
    snapshot, trace = entry.snapshot, entry.trace
    place = int(snapshot.persons.searchsorted(person))
    if place == snapshot.size or snapshot.persons[place] != person:
        return entry
    at = int(trace.persons.searchsorted(person))
    published = at < len(trace.persons) and trace.persons[at] == person
    if not published and extent.unpublished_rows:
        others = np.flatnonzero(snapshot.persons != person)
        chosen = None if snapshot.selected is None else snapshot.selected[others]
        return replace(entry, snapshot=snapshot.rows(others, selected=chosen))
    changed = replace(snapshot, persons=_exchanged(snapshot.persons, person, number))
    if extent.values:
        qi, sensitive, other = snapshot.qi.copy(), snapshot.sensitive.copy(), snapshot.other.copy()
        qi[:, place] = _corner(entry, place, at) if published else [_common(codes, place) for codes in qi]
        if published:
            values = _values(entry, place, at, known)
            sensitive[place], other[:, place] = values[0], values[1:]
        changed = replace(changed, qi=qi, sensitive=sensitive, other=other)
    return replace(entry, snapshot=changed, trace=replace(trace, persons=_exchanged(trace.persons, person, number)))


def _columns(entry: Entry) -> list[tuple[bool, Int32, Int32]]:
    """The sensitive values and non-identifiers: whether they are shown, the published codes, and the true ones."""
    schema, release = entry.snapshot.schema, entry.release
    names = (schema.sensitive.name, *schema.other)
    published = (release.sensitive, *release.other)
    true = (entry.snapshot.sensitive, *entry.snapshot.other)
    return [(release.shows(name), *pair) for name, *pair in zip(names, published, true, strict=True)]


def _shown_values(entries: Sequence[Entry], person: int) -> dict[int, int]:
    """The first code that any release shows of the person, by the number of the column."""
    known: dict[int, int] = {}
    for entry in entries:
        at = int(entry.trace.persons.searchsorted(person))
        if at < len(entry.trace.persons) and entry.trace.persons[at] == person:
            for column, (shown, published, _) in enumerate(_columns(entry)):
                if shown:
                    known.setdefault(column, int(published[entry.trace.rows[at]]))
    return known


def _values(entry: Entry, place: int, at: int, known: Mapping[int, int]) -> list[int]:
    """The published code of each column; where the release shows none, that of another release, else the first."""
    codes = []
    for column, (shown, published, true) in enumerate(_columns(entry)):
        own = int(true[place])
        hidden = own if own == UNPUBLISHED else known.get(column, 0)
        codes.append(int(published[entry.trace.rows[at]]) if shown else hidden)
    return codes


def _corner(entry: Entry, place: int, at: int) -> list[int]:
    """The least codes of the boxes that show the person, in all worlds if there are any."""
    boxes = _boxes_of(entry, at)
    corner = []
    for column, (name, codes) in enumerate(zip(entry.snapshot.schema.names, entry.snapshot.qi, strict=True)):
        signs = [int(one.missing[column, box]) for one, box in boxes]
        alone = codes[place] == MISSING and not _others_lack(entry, at, codes)
        if not entry.release.shows(name):
            corner.append(_common(codes, place))
        elif ALL_MISSING in signs or (NONE_MISSING not in signs and alone):
            corner.append(MISSING)
        else:
            corner.append(max(int(one.low[column, box]) for one, box in boxes))
    return corner


def _boxes_of(entry: Entry, at: int) -> list[tuple[Boxes, int]]:
    """The box of the person's group, of their own row if the release is decoupled, and of the row in each world."""
    release, trace = entry.release, entry.trace
    rows = (
        [int(trace.rows[at])] if entry.witness is None else [int(trace.rows[at]), *entry.witness.rows[:, at].tolist()]
    )
    boxes = [(release.boxes, int(release.group[row])) for row in rows]
    if release.person_rows is not None and trace.person_rows is not None:
        boxes.append((release.person_rows.boxes, int(release.person_rows.box[trace.person_rows[at]])))
    return boxes


def _others_lack(entry: Entry, at: int, codes: Int32) -> bool:
    """Whether the value of another person with the same box is missing too, so that its sign stays true."""
    release, trace = entry.release, entry.trace
    box: AnyArray = release.group[trace.rows]
    if release.person_rows is not None and trace.person_rows is not None:
        box = release.person_rows.box[trace.person_rows]
    same = box == box[at]
    same[at] = False
    there = codes[entry.snapshot.persons.searchsorted(trace.persons[same])]
    return bool((there == MISSING).any())


def _common(codes: Int32, place: int) -> int:
    """The least code of other people, which says nothing about this one; MISSING if no one has a code."""
    others = np.delete(codes, place)
    others = others[others != MISSING]
    return int(others.min()) if len(others) else MISSING
