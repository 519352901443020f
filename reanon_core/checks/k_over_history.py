"""k over the history: the boxes of a person over all releases still hold k people together."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.point_index import Sides, count_inside, index_people
from reanon_core.checks.readable import unreadable, unreadable_person_rows, unreadable_verdict
from reanon_core.model.arrays import MISSING, Int32, Int64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.release import ALL_MISSING, NONE_MISSING, Boxes
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

LEAST, MOST = MISSING + 1, 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class KOverHistory:
    """The intersection of a person's boxes holds k people, for a share of people.

    The intersection is over all releases that show the person. If the person's value of an attribute has changed since
    the last of them, and k people or more who are shown again changed by as much, then it moves as far: people age
    together. It holds people of the latest table. Those who leave are lost to it, so k cannot hold for everyone.
    """

    name: ClassVar[str] = "k-over-history"
    needs_knowledge: ClassVar[bool] = False

    k: int
    """The least number of people in an intersection; at least 2."""
    share: float = 0.95
    """The least share of published people whose intersection holds k people; above 0, or nothing would be promised."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        problems = [] if self.k >= 2 else [Problem("k", "be at least 2", str(self.k))]
        if not 0 < self.share <= 1:
            problems.append(Problem("share", "be above 0, and at most 1", str(self.share)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """No one."""
        none = np.empty((0, 0), np.int32)
        return {"persons": np.empty(0, np.int64), "qi": none, "low": none, "high": none, "lacking": none.astype(bool)}

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Intersect each person's boxes with the earlier ones, and count who is inside."""
        place, strangers = _places(entry)
        if lost := unreadable(entry) + strangers + unreadable_person_rows(entry):
            return unreadable_verdict(self.name, lost), memory
        box, boxes = _published_boxes(entry)
        qi = entry.snapshot.qi[:, place]
        sides, after = _remembered(entry.trace.persons, qi, _sides(boxes, box), memory, self.k)
        held = count_inside(index_people(entry.snapshot.qi), sides, self.k)
        few = int(np.count_nonzero(held < self.k))
        enough = few <= (1 - self.share) * len(held)
        observed: dict[str, float] = {
            "people": len(held),
            "people whose boxes hold fewer together": few,
        }
        sentence = (
            f"for at least {self.share:.0%} of people the boxes of all releases together hold {self.k} people of the "
            "table"
        )
        return Verdict(self.name, enough, 0 if enough else few, observed, sentence=sentence), after


def _places(entry: Entry) -> tuple[Int64, int]:
    """Where each traced person is in the snapshot, and how many of them are not in it."""
    persons = entry.snapshot.persons
    place = persons.searchsorted(entry.trace.persons)
    found = place < len(persons)
    found[found] = persons[place[found]] == entry.trace.persons[found]
    return place, int(np.count_nonzero(~found))


def _published_boxes(entry: Entry) -> tuple[Int32, Boxes]:
    """The box of each traced person: their own if the release is decoupled, else that of their group."""
    rows = entry.release.person_rows
    if rows is None or entry.trace.person_rows is None:
        return entry.release.group[entry.trace.rows], entry.release.boxes
    return rows.box[entry.trace.person_rows], rows.boxes


def _sides(boxes: Boxes, box: Int32) -> Sides:
    low, high, sign = boxes.low.copy(), boxes.high.copy(), boxes.missing
    low[sign == ALL_MISSING], high[sign == ALL_MISSING] = MOST, LEAST
    return Sides(low[:, box], high[:, box], (sign != NONE_MISSING)[:, box])


def _remembered(persons: Int64, qi: Int32, shown: Sides, memory: Memory, k: int) -> tuple[Sides, Memory]:
    """The intersections of these people, this release included; and everyone's, to be remembered."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in memory.items()}
    before: Int64 = arrays["persons"]
    if not len(before):
        return shown, {"persons": persons, "qi": qi, **shown._asdict()}
    place = before.searchsorted(persons)
    known = place < len(before)
    known[known] = before[place[known]] == persons[known]
    was = place[known]
    change = _common_changes(qi[:, known], arrays["qi"][:, was], k)
    low, high, lacking = (arrays[name][:, was] for name in Sides._fields)
    moved = np.where(low <= high, change, 0)
    sides = Sides(shown.low.copy(), shown.high.copy(), shown.lacking.copy())
    sides.low[:, known] = np.maximum(shown.low[:, known], np.clip(low + moved, LEAST, MOST))
    sides.high[:, known] = np.minimum(shown.high[:, known], np.clip(high + moved, LEAST, MOST))
    sides.lacking[:, known] &= lacking
    others = np.ones(len(before), np.bool_)
    others[was] = False
    everyone = np.concatenate([before[others], persons])
    order = np.argsort(everyone)
    merged = {
        name: np.concatenate([arrays[name][:, others], latest], axis=1)[:, order]
        for name, latest in {"qi": qi, **sides._asdict()}.items()
    }
    return sides, {"persons": everyone[order], **merged}


def _common_changes(now: Int32, then: Int32, k: int) -> Int64:
    """How far each person's value of each attribute has moved, 0 unless k people's have moved as far."""
    both = (now != MISSING) & (then != MISSING)
    changes = np.where(both, now.astype(np.int64) - then, 0)
    for change in changes:
        _, place, count = np.unique(change, return_inverse=True, return_counts=True)
        change[count[place] < k] = 0
    return changes
