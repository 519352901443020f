"""Atoms: comparing all releases leaves enough people, with enough values in each release, for everyone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.readable import hosting_groups, unreadable, unreadable_verdict
from reanon_core.model.arrays import Bool, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.snapshot import REMEMBERED
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

UNPUBLISHED = -1
"""The value in a column that a person's atom does not have."""


@dataclass(frozen=True, kw_only=True)
class Atoms:
    """Every atom of the history has k people, and ell values in each release that shows it.

    An atom is all people with the same trace: in every release the same group, or all of them absent. Whatever releases
    an adversary compares, the candidates for a target are a union of atoms, and nothing published distinguishes the
    members of an atom. So this rule is equivalent to testing every intersection and difference of all releases.
    """

    name: ClassVar[str] = "atoms"
    needs_knowledge: ClassVar[bool] = False

    k: int
    """The least number of people in an atom; at least 2."""
    ell: int = 1
    """The least number of different values that each release shows of an atom; at least 1."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        problems = []
        if self.k < 2:
            problems.append(Problem("k", "be at least 2", str(self.k)))
        if self.ell < 1:
            problems.append(Problem("ell", "be at least 1", str(self.ell)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """No one was published yet."""
        return {
            "persons": np.empty(0, np.int64),
            "atoms": np.empty(0, np.int32),
            "columns": np.empty((0, 0), np.int32),
        }

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Divide the atoms by the groups of this release, and judge each on every column that was published of it.

        Ensures: an atom that breaks the rule stays in the memory, so that it stays a violation.
        """
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        persons, before, now = _everyone(np.asarray(memory["persons"], np.int64), entry.trace.persons)
        group, value = _placed(hosting_groups(entry), now), _placed(_published_values(entry), now)
        atom, atoms = _divided(_placed(np.asarray(memory["atoms"], np.int32), before), group)
        past = np.asarray(memory["columns"], np.int32)
        columns = np.full((len(past), len(persons)), UNPUBLISHED, dtype=np.int32)
        columns[:, before >= 0] = past[:, before[before >= 0]]
        made_up = _made_up(entry, columns, before, now)
        columns = _with_column(columns, value, atom, atoms)

        sizes = np.bincount(atom, minlength=atoms)
        fewest = np.full(atoms, np.iinfo(np.int64).max)
        for column in columns:
            shown = column != UNPUBLISHED
            distinct = _distinct(atom[shown], column[shown], atoms)
            fewest = np.where(distinct > 0, np.minimum(fewest, distinct), fewest)
        small, poor = sizes < self.k, fewest < self.ell
        wrong = small | poor
        observed: dict[str, float] = {
            "people ever published": len(persons),
            "atoms": atoms,
            "smallest atom": int(sizes.min(initial=sizes.max(initial=0))),
            "fewest values": int(fewest.min()) if atoms else 0,
            "atoms too small": int(np.count_nonzero(small)),
            "atoms not diverse": int(np.count_nonzero(poor)),
            "people in such atoms": int(sizes[wrong].sum()),
            "people not in the table with a value never published of them": made_up,
        }
        violations = int(np.count_nonzero(wrong)) + made_up
        verdict = Verdict(self.name, violations == 0, violations, observed, sentence=self._sentence())
        return verdict, {"persons": persons, "atoms": atom, "columns": columns}

    def _sentence(self) -> str:
        return (
            f"people whom all releases together leave alike are at least {self.k}, "
            f"with at least {self.ell} different sensitive values in each release that shows them"
        )


def _made_up(entry: Entry, columns: Int32, before: Int64, now: Int64) -> int:
    """How many people who are not in the table are published with a value that no earlier release showed."""
    snapshot = entry.snapshot
    if snapshot.origin is None:
        return 0
    past, known = columns[:, now >= 0], before[now >= 0] >= 0  # of each traced person
    place = snapshot.persons.searchsorted(entry.trace.persons).clip(max=max(0, snapshot.size - 1))
    remembered = snapshot.origin[place] == REMEMBERED
    shown_before = known & (past == _published_values(entry)).any(axis=0)
    return int(np.count_nonzero(remembered & ~shown_before))


def _published_values(entry: Entry) -> Int32:
    """The value that the release shows of each traced person."""
    return entry.release.sensitive[entry.trace.rows]


def _everyone(past: Int64, traced: Int64) -> tuple[Int64, Int64, Int64]:
    """Everyone published so far in ascending order, and their place in the memory and in this release, or -1."""
    persons = np.union1d(past, traced)
    before, now = np.full(len(persons), -1), np.full(len(persons), -1)
    before[persons.searchsorted(past)] = np.arange(len(past))
    now[persons.searchsorted(traced)] = np.arange(len(traced))
    return persons, before, now


def _placed(numbers: Int32, place: Int64) -> Int32:
    """The number at each place, -1 where the place is -1."""
    return np.append(numbers, np.int32(-1))[place]


def _divided(atom: Int32, group: Int32) -> tuple[Int32, int]:
    """The new atom of each person: the same old atom, or none, and the same group now, or none."""
    groups = int(group.max(initial=-1)) + 2
    different, number = np.unique((atom.astype(np.int64) + 1) * groups + group + 1, return_inverse=True)
    return number.astype(np.int32), len(different)


def _with_column(columns: Int32, value: Int32, atom: Int32, atoms: int) -> Int32:
    """The columns with this release; an atom whose values equal those of an older column needs no new one."""
    shown = np.flatnonzero(value != UNPUBLISHED)
    needed = np.zeros(atoms, dtype=np.bool_)
    needed[atom[shown]] = True
    free = np.full(atoms, len(columns))  # the first column that an atom has not used
    for at, column in enumerate(columns):
        other = np.zeros(atoms, dtype=np.bool_)
        other[atom[shown][column[shown] != value[shown]]] = True
        needed &= other
        unused = np.zeros(atoms, dtype=np.bool_)
        unused[atom[column == UNPUBLISHED]] = True
        free[unused] = np.minimum(free[unused], at)
    target = shown[needed[atom[shown]]]
    if len(target) and free[atom[target]].max() == len(columns):
        more = np.full((1, len(atom)), UNPUBLISHED, dtype=np.int32)
        columns = np.concatenate([columns, more])
    columns[free[atom[target]], target] = value[target]
    return columns


def _distinct(atom: Int32, value: Int32, atoms: int) -> Int64:
    """How many different values each atom has."""
    width = int(value.max(initial=0)) + 1
    keys = atom.astype(np.int64) * width + value
    if atoms * width <= 16 * len(keys):  # filling a table of all pairs is faster than sorting the pairs
        seen: Bool = np.zeros(atoms * width, dtype=np.bool_)
        seen[keys] = True
        keys = np.flatnonzero(seen)
    else:
        keys = np.unique(keys)
    return np.bincount(keys // width, minlength=atoms).astype(np.int64, copy=False)
