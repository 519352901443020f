"""The mark that is left of a forgotten person: the first bits of their pseudonym, which other people may share."""

import secrets
from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Bool, Int64, forget_pages, slices
from reanon_core.model.errors import Refused

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
