"""Location: count the rows of the latest release that may show each person, for two adversaries.

A *place* is what a release shows of a person beside the values: a group and a box, for rows that look the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.inference.elimination.problem import enqueue_all, value_problem
from reanon_core.inference.elimination.propagation import UNBOUNDED, propagate
from reanon_core.inference.view.box_lookup import masks_at
from reanon_core.inference.view.known_groups import known_groups
from reanon_core.inference.view.value_sets import BITS, full_masks, group_masks, highest_value, mask_sizes, only_values
from reanon_core.model.arrays import Int8, Int32, Int64, UInt64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.finding import Findings
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.release import Auxiliary, Boxes, Release, covers

ANY_BOX = -1
"""It is not known which of the boxes that contain a person is theirs."""
_covers = compiled(covers)
NEIGHBOUR, REPLAY = "to a neighbour", "after a replay"
"""The two adversaries: one knows a single person, the other everyone, and computes everyone's box."""
LOCATED = "people with one place"
FEW = "people with fewer rows than the smallest box"
PEOPLE = "people of the latest release"
LOST = "people with no place"

Found = tuple[Int64, Int64, UInt64]
"""For each person: the places that may be theirs, the rows of these, and the values that they show."""


@dataclass(frozen=True, eq=False)
class Places:
    """The places of one release: those of box b are start[b] .. start[b + 1] - 1."""

    start: Int64  # [boxes + 1]
    signature: Int64  # [q] the number of the group's set of values, the same in all releases
    rows: Int64  # [q] how many rows the place has
    values: UInt64  # [q, words] the values of the group
    boxes: Boxes

    @property
    def smallest_box(self) -> int:
        """The rows of the smallest box, 0 if there is none."""
        if not len(self.rows):
            return 0
        return int(np.add.reduceat(self.rows, np.unique(self.start[:-1][np.diff(self.start) > 0])).min())

    def signature_masks(self, count: int) -> UInt64:
        """The signatures of each box, as bit masks over so many signatures, uint64[boxes, words]."""
        masks = np.zeros((self.boxes.count, max(1, -(-count // BITS))), np.uint64)
        box = np.repeat(np.arange(self.boxes.count), np.diff(self.start))
        bits = np.uint64(1) << (self.signature % BITS).astype(np.uint64)
        np.bitwise_or.at(masks, (box, self.signature // BITS), bits)
        return masks


def places_of(releases: Sequence[Release], values: int) -> tuple[list[Places], int]:
    """The places of each release, and how many signatures all of them show.

    A decoupled release has a place for each group and box of its people's rows; any other has one for each group.
    """
    values = max(values, highest_value(tuple(releases)) + 1, 1)
    masks = [group_masks(release, values) for release in releases]
    distinct, number = np.unique(np.concatenate(masks), axis=0, return_inverse=True)
    signatures = np.split(number.reshape(-1), np.cumsum([len(mask) for mask in masks])[:-1])
    return [_places(*one) for one in zip(releases, masks, signatures, strict=True)], len(distinct)


def count_places(qi: Int32, own: Int32, places: Places, allowed: UInt64) -> tuple[Int64, Int64, UInt64]:
    """For each person: how many places may be theirs, how many rows these have, and the values that they show.

    `own` is the box of each, or ANY_BOX; `allowed` the signatures that each may have, as bit masks.
    """
    boxes = (places.boxes.low.copy(), places.boxes.high.copy(), places.boxes.missing.copy())
    table = (places.start.copy(), places.signature.copy(), places.rows.copy(), places.values.copy())
    return _count(np.ascontiguousarray(qi).copy(), own.copy(), boxes, table, allowed.copy())


def _places(release: Release, masks: UInt64, signature: Int64) -> Places:
    rows = release.person_rows
    group, box, boxes = (
        (release.group, release.group, release.boxes) if rows is None else (rows.group, rows.box, rows.boxes)
    )
    pairs, count = np.unique(box.astype(np.int64) * (len(masks) + 1) + group, return_counts=True)
    at, of_group = pairs // (len(masks) + 1), pairs % (len(masks) + 1)
    start = np.searchsorted(at, np.arange(boxes.count + 1))
    return Places(start, signature[of_group], count, masks[of_group], boxes)


@compiled
def _count(
    qi: Int32,
    own: Int32,
    boxes: tuple[Int32, Int32, Int8],
    table: tuple[Int64, Int64, Int64, UInt64],
    allowed: UInt64,
) -> tuple[Int64, Int64, UInt64]:
    low, high, missing = boxes
    start, signature, size, values = table
    places, rows = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    shown = np.zeros((len(own), values.shape[1]), np.uint64)
    for person in range(len(own)):
        first, end = 0, low.shape[1]
        if own[person] >= 0:
            first, end = own[person], own[person] + 1
        for box in range(first, end):
            inside = True
            if own[person] < 0:
                for attribute in range(len(qi)):
                    sign, code = missing[attribute, box], qi[attribute, person]
                    if not _covers(low[attribute, box], high[attribute, box], sign, code):
                        inside = False
                        break
            if not inside:
                continue
            for place in range(start[box], start[box + 1]):
                kind = signature[place]
                if (allowed[person, kind >> 6] >> np.uint64(kind & 63)) & np.uint64(1):
                    places[person] += 1
                    rows[person] += size[place]
                    for word in range(values.shape[1]):
                        shown[person, word] |= values[place, word]
    return places, rows, shown


@dataclass(frozen=True, kw_only=True)
class LocationAttack:
    """Find the places of the latest release where a person may be; a place is a group and a box.

    Groups of m-invariance and Cor-Split show a person's signature in every release. A *neighbour* knows one person: in
    which releases they are, and with which quasi-identifiers. A place may be the person's if its box contains them and
    each of their releases has such a place with the same signature. A *replay* knows this of everyone. Boxes of people
    are chosen by public facts alone, so it computes everyone's box. Then each box has as many people of a signature as
    rows, in every release, and no matching of people and rows may break that. It needs a decoupled series.
    One place that is left is the person's, if everyone has kept their signature; their value may still be any of it.
    Paper: none.
    """

    name: ClassVar[str] = "location"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = (
        "who is in each release, everyone's quasi-identifiers, and everyone's box where people have one"
    )
    blind_to: ClassVar[str] = "what follows from several boxes at a time, and releases whose groups are not uniform"

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people whose places all show the same single value, and count the places of all.

        Raises: InvalidParameter if the groups cannot be those of a technique that keeps signatures.
        """
        releases = [published.release for published in history.releases]
        _require_uniform(releases)
        places, count = places_of(releases, len(history.schema.sensitive.values))
        latest = knowledge.presences[-1]
        numbers = {PEOPLE: float(len(latest.persons)), "smallest box": float(places[-1].smallest_box)}
        unknown = np.full(len(latest.persons), ANY_BOX, np.int32)
        strongest = count_places(latest.qi, unknown, places[-1], _seen_by_a_neighbour(places, count, knowledge))
        numbers |= _numbers(strongest, places[-1], NEIGHBOUR)
        if latest.box is not None and all(presence.box is not None for presence in knowledge.presences):
            allowed = _left_by_a_replay(places, history, knowledge, count)
            strongest = count_places(latest.qi, latest.box, places[-1], allowed)
            numbers |= _numbers(strongest, places[-1], REPLAY)
        exposed = np.flatnonzero(mask_sizes(strongest[2]) == 1)
        return Findings(
            attack=self.name,
            of=len(np.unique(np.concatenate([presence.persons for presence in knowledge.presences]))),
            persons=latest.persons[exposed],
            inferred=only_values(strongest[2][exposed]),
            confidence=np.ones(len(exposed)),
            note=_note(numbers),
            extra=numbers,
        )


def _require_uniform(releases: Sequence[Release]) -> None:
    """Refuse releases with a group that shows a value more often than another: it is no group of a signature.

    Raises: InvalidParameter.
    """
    for release in releases:
        width = int(release.sensitive.max(initial=0)) + 1
        pairs, count = np.unique(release.group.astype(np.int64) * width + release.sensitive, return_counts=True)
        group = pairs // width
        first = np.searchsorted(group, group)  # of each pair, the first one of its group
        if not release.grouped or (release.sensitive < 0).any() or not (count == count[first]).all():
            raise InvalidParameter(
                Problem(
                    "the attack location",
                    "be given releases whose groups show each of their values equally often, as those of m-invariance",
                    help="use the attack intersection",
                )
            )


def _seen_by_a_neighbour(places: Sequence[Places], count: int, knowledge: Knowledge) -> UInt64:
    """The signatures that a place around the person has in all their releases, for each person of the latest one."""
    latest = knowledge.presences[-1].persons
    allowed = full_masks(len(latest), count)
    for shown, presence in zip(places, knowledge.presences, strict=True):
        _, here, there = np.intersect1d(latest, presence.persons, assume_unique=True, return_indices=True)
        points = np.ascontiguousarray(presence.qi[:, there])
        allowed[here] &= masks_at(points, shown.boxes, shown.signature_masks(count))
    return allowed


def _left_by_a_replay(places: Sequence[Places], history: History, knowledge: Knowledge, count: int) -> UInt64:
    """The signatures that are left for each person of the latest release if everyone's box is known.

    Boxes take the part of groups and signatures that of values, so that the elimination for groups does it.
    """
    published, presences = [], []
    for shown, presence in zip(places, knowledge.presences, strict=True):
        box = np.repeat(np.arange(shown.boxes.count), np.diff(shown.start))
        release = Release(np.repeat(box, shown.rows), np.repeat(shown.signature, shown.rows), shown.boxes)
        published.append(Published(release, Auxiliary.none()))
        presences.append(Presence(presence.persons, presence.qi, presence.box))
    known = known_groups(History(history.schema, tuple(published)), Knowledge(tuple(presences)))
    problem = value_problem(known, matching=True, correlations=False)
    enqueue_all(problem)
    propagate(problem, UNBOUNDED)
    words = max(1, -(-count // 64))
    return problem.domain[known.persons.searchsorted(knowledge.presences[-1].persons), :words]


def _numbers(found: Found, places: Places, adversary: str) -> dict[str, float]:
    count, rows, _ = found
    return {
        f"{LOCATED}, {adversary}": float(np.count_nonzero(count == 1)),
        f"{FEW}, {adversary}": float(np.count_nonzero((count > 0) & (rows < places.smallest_box))),
        f"{LOST}, {adversary}": float(np.count_nonzero(count == 0)),
    }


def _note(numbers: dict[str, float]) -> str:
    people = max(1.0, numbers[PEOPLE])
    parts = ["in the latest release, if everyone keeps their signature"]
    for adversary in (NEIGHBOUR, REPLAY):
        if f"{LOCATED}, {adversary}" in numbers:
            one, few = (numbers[f"{what}, {adversary}"] / people for what in (LOCATED, FEW))
            parts.append(
                f"{adversary}, one place is left for {one:.1%} of people and fewer rows than the smallest box "
                f"has for {few:.1%}"
            )
            if lost := numbers[f"{LOST}, {adversary}"]:
                parts.append(f"{lost:,.0f} people have none, so signatures were not kept")
    return "; ".join(parts)
