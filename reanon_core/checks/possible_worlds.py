"""Possible worlds: every world that was promised explains every release, and no two give a person the same value."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.matchings import unmatched_components
from reanon_core.model.arrays import MISSING, Bool, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

UNKNOWN = -1
"""A value that no release has shown yet."""


@dataclass(frozen=True, kw_only=True)
class PossibleWorlds:
    """Each of ell worlds explains every release; they give everybody ell different values, and one of them is true.

    The technique hands over a witness: for each world, the row that shows each person. Nothing of it is believed. The
    rows are compared with the release and the snapshot, and what each world says of a person is what its rows say, the
    same in every release. A second judge looks for such rows without the witness, by matching.

    Paper: [ST15] Definitions 3.1 and 3.2; persons are told apart, not quasi-identifiers (erratum E3).
    """

    name: ClassVar[str] = "possible-worlds"
    needs_knowledge: ClassVar[bool] = False

    ell: int
    """The number of worlds; at least 2."""
    people_matched: int = 2000
    """Up to so many people the second judge looks at every component; beyond, at as many components as hold so many."""

    def __post_init__(self) -> None:
        """Hold the range."""
        if self.ell < 2:
            raise InvalidParameter(Problem("ell", "be at least 2", str(self.ell)))

    def initial_memory(self) -> Memory:
        """Nobody was published yet."""
        return {
            "time": 0,
            "persons": np.empty(0, np.int64),
            "suffix": np.empty((self.ell, 0, 0), np.int32),
            "true": np.ones(self.ell, np.bool_),
        }

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge the rows of every world, and what they say of everybody."""
        if not entry.release.size and not len(entry.trace.persons):
            return self._verdict(entry, {}, {}), memory
        flaws = _shape_flaws(entry, self.ell)
        if flaws:
            return self._verdict(entry, flaws, {}), memory
        witness = entry.witness.rows if entry.witness is not None else np.empty((0, 0), np.int32)
        flaws |= _row_flaws(entry, witness)
        if sum(flaws.values()):
            return self._verdict(entry, flaws, {}), memory
        persons, before = _remembered(entry, memory, self.ell)
        said, changed = _merged(entry, witness, before)
        place = persons.searchsorted(entry.trace.persons)
        flaws["values that a world gives and gave otherwise before"] = changed
        suffix = _everybody(entry, memory, persons, place, said)
        flaws |= _world_flaws(suffix[:, :, place])
        true = np.asarray(memory["true"], np.bool_) & _true_worlds(entry, suffix[:, :, place])
        flaws["worlds of which none is the truth"] = 0 if true.any() else self.ell
        flaws["components that no matching explains"], matched = unmatched_components(
            entry, suffix[:, :, place], self.people_matched, int(np.asarray(memory["time"]))
        )
        seen = {"components matched without the witness": matched, "people ever published": len(persons)}
        memory = {"time": int(np.asarray(memory["time"])) + 1, "persons": persons, "suffix": suffix, "true": true}
        return self._verdict(entry, flaws, seen), memory

    def _verdict(self, entry: Entry, flaws: dict[str, int], seen: dict[str, int]) -> Verdict:
        violations = sum(flaws.values())
        observed: dict[str, float] = {"worlds": self.ell, "people": len(entry.trace.persons), **seen, **flaws}
        sentence = (
            f"each of {self.ell} worlds explains every release so far, "
            f"and together they give everybody {self.ell} different sensitive values, one of them the true one"
        )
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence)


def _shape_flaws(entry: Entry, ell: int) -> dict[str, int]:
    """Worlds that are not there, or do not have a row for everybody."""
    if entry.witness is None:
        return {"worlds without rows": ell}
    rows = entry.witness.rows
    if rows.shape[0] != ell:
        return {"worlds too few or too many": abs(ell - rows.shape[0])}
    people, published = len(entry.trace.persons), entry.release.size
    torn = rows.shape[1] != people or people != published or entry.auxiliary.total != 0
    unknown = ~np.isin(entry.trace.persons, entry.snapshot.persons)
    unordered = entry.trace.persons[1:] <= entry.trace.persons[:-1]  # no difference of two: they may be 2^64 apart
    if torn or unknown.any() or unordered.any():
        return {"worlds that do not show everybody once": ell}
    return {}


def _row_flaws(entry: Entry, witness: Int32) -> dict[str, int]:
    """Paper: [ST15] Definition 3.1: a bijection, each row a generalization of the person it is given to."""
    release, size = entry.release, entry.release.size
    if ((witness < 0) | (witness >= size)).any():
        return {"rows that do not exist": int(((witness < 0) | (witness >= size)).sum())}
    shared = sum(size - len(np.unique(rows)) for rows in witness)
    qi = entry.snapshot.qi[:, entry.snapshot.persons.searchsorted(entry.trace.persons)]
    outside = 0
    for rows in witness:
        group = release.group[rows]
        covered = np.ones(size, dtype=np.bool_)
        for low, high, missing, codes in zip(
            release.boxes.low, release.boxes.high, release.boxes.missing, qi, strict=True
        ):
            covered &= _covers(low[group], high[group], missing[group] > 0, codes)
        outside += size - int(covered.sum())
    return {"rows that a world gives to two people": shared, "people outside the row a world gives them": outside}


def _covers(low: Int32, high: Int32, or_missing: Bool, codes: Int32) -> Bool:
    covered: Bool = np.where(codes == MISSING, or_missing, (low <= codes) & (codes <= high))
    return covered


def _said(entry: Entry, witness: Int32) -> Int32:
    """What each world says in this release of each traced person: suffix columns in order, UNKNOWN where not shown."""
    release, schema = entry.release, entry.snapshot.schema
    columns = np.vstack([release.sensitive[None], release.other])
    for at, name in enumerate((schema.sensitive.name, *schema.other)):
        if not release.shows(name):
            columns[at] = UNKNOWN
    return np.stack([columns[:, rows] for rows in witness])  # [worlds, columns, people]


def _remembered(entry: Entry, memory: Memory, ell: int) -> tuple[Int64, Int32]:
    """Everybody ever published, and what the worlds said so far of those in this release."""
    past = np.asarray(memory["persons"], np.int64)
    persons = np.union1d(past, entry.trace.persons)
    columns = 1 + len(entry.snapshot.schema.other)
    suffix = np.full((ell, columns, len(entry.trace.persons)), UNKNOWN, dtype=np.int32)
    if len(past):
        at = np.minimum(past.searchsorted(entry.trace.persons), len(past) - 1)
        known = past[at] == entry.trace.persons
        suffix[:, :, known] = np.asarray(memory["suffix"], np.int32)[:, :, at[known]]
    return persons, suffix


def _merged(entry: Entry, witness: Int32, before: Int32) -> tuple[Int32, int]:
    """What the worlds said so far and say now, and how often the two differ."""
    now = _said(entry, witness)
    both = (now != UNKNOWN) & (before != UNKNOWN)
    return np.where(now == UNKNOWN, before, now), int((both & (now != before)).sum())


def _everybody(entry: Entry, memory: Memory, persons: Int64, place: Int64, said: Int32) -> Int32:
    """What the worlds say of everybody ever published."""
    suffix = np.full((len(said), 1 + len(entry.snapshot.schema.other), len(persons)), UNKNOWN, dtype=np.int32)
    past = np.asarray(memory["persons"], np.int64)
    if len(past):
        suffix[:, :, persons.searchsorted(past)] = np.asarray(memory["suffix"], np.int32)
    suffix[:, :, place] = said
    return suffix


def _true_worlds(entry: Entry, suffix: Int32) -> Bool:
    """The worlds in which everything that was shown of everybody is true."""
    at = entry.snapshot.persons.searchsorted(entry.trace.persons)
    truth = np.vstack([entry.snapshot.sensitive[None], entry.snapshot.other])[:, at]
    true: Bool = ((suffix == truth) | (suffix == UNKNOWN)).all(axis=(1, 2))
    return true


def _world_flaws(suffix: Int32) -> dict[str, int]:
    """Paper: [ST15] Definition 3.2 and Theorem 4.2: as many values as worlds."""
    values = np.sort(suffix[:, 0], axis=0)  # [worlds, people]
    shown = values[0] != UNKNOWN
    alike = (values[1:] == values[:-1]).any(axis=0) & shown
    partly = (values[0] == UNKNOWN) & (values[-1] != UNKNOWN)
    return {
        "people to whom two worlds give the same value": int(alike.sum()),
        "people of whom only some worlds say something": int(partly.sum()),
    }
