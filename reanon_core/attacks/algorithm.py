"""Algorithm: read the source of the technique, and compare how likely it was to publish this with other values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from reanon_core.model.arrays import Bool, Float64, Int32, Int64, UInt8, forget_pages, joint_slices
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.reading import Places, Reading

EVEN = 1e-9
"""Posteriors that differ by less are equal; likelihoods that are equal are exactly so."""
PEOPLE_AT_ONCE = 1 << 18
"""So many people of each release are counted at a time."""
NUMBERS = (
    "readings",
    "readings that are not complete",
    "readings that rule out a relabelling",
    "readings with unequal relabellings",
    "releases left out",
    "arrangements",
    "arrangements ruled out",
    "arrangements possible but not as likely as the truth",
    "relabellings",
    "relabellings ruled out",
    "relabellings possible but not as likely as the truth",
)
NOTE = (
    "the adversary knows the source and the parameters of the technique, everyone's group, and the value of each "
    "person outside a bucket or group"
)


@dataclass(frozen=True, kw_only=True)
class AlgorithmAttack:
    """Expose the people who have one value in every arrangement that the algorithm could have published like this.

    Each reading of the technique is judged by itself: the adversary knows the values of all other people. A person is
    exposed only by a complete reading. An incomplete one shows which arrangements are ruled out, and no more: an
    arrangement that was not looked at may give the person another value.
    Paper: none; [XT07] assumes an adversary who knows the principle, not the algorithm.
    """

    name: ClassVar[str] = "algorithm"
    any_size: ClassVar[bool] = True
    people_only: ClassVar[bool] = True
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = (
        "how the technique decides, everyone's group, and the values of everyone outside one bucket or group"
    )
    blind_to: ClassVar[str] = "how a bucket is split, and in large buckets all arrangements but relabellings"

    def run(self, history: History, knowledge: Knowledge) -> Findings:  # noqa: ARG002  the readings are made of it
        """Find the people with one value left, and measure how far the posteriors of the others moved.

        Raises: InvalidParameter if the technique is not known or cannot be read.
        """
        if knowledge.readings is None:
            raise InvalidParameter(
                Problem(
                    "the attack algorithm",
                    "be given releases of a technique whose source it can read",
                    help="audit a series of reanon, not files alone",
                )
            )
        tally = _Tally()
        for reading in knowledge.readings():
            tally.add(reading)
        everyone = _people_of([presence.persons for presence in knowledge.presences])
        if everyone and not tally.numbers["readings"]:
            raise _unreadable("these are too large for it, or were made with other parameters")
        if everyone and tally.numbers["releases left out"] == len(knowledge.presences):
            raise _unreadable(
                "these were made with other parameters, or by chance row by row (partial blocks, or the median with "
                "blocks or episodes), so that what is proved of them is not tested"
            )
        persons, inferred = tally.exposed()
        people = tally.people()
        return Findings(
            attack=self.name,
            of=everyone,
            persons=persons,
            inferred=inferred,
            confidence=np.ones(len(persons)),
            note=tally.note(everyone, people),
            extra=tally.named_numbers(people),
        )


def _unreadable(why: str) -> InvalidParameter:
    return InvalidParameter(Problem("the attack algorithm", "be given releases that it can read", help=why))


@dataclass
class _Tally:
    """What the readings so far show."""

    numbers: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NUMBERS, 0))
    certain: list[Int64] = field(default_factory=list)
    inferred: list[Int32] = field(default_factory=list)
    listed: list[list[Int64]] = field(default_factory=lambda: [[], [], []])
    """People who were read, are left with fewer values, and have an uneven posterior."""
    unlisted: Callable[[], Iterator[Places]] | None = None
    signs: dict[int, UInt8] = field(default_factory=dict)
    """The same for each place of a reading whose people are not listed, by its number: a bit for each of the three."""
    greatest: float = 0.0
    greatest_relabelled: float = 0.0

    def add(self, reading: Reading) -> None:
        """Judge one reading."""
        likelihood = np.exp(reading.log_likelihood - reading.log_likelihood.max())
        possible, moved = np.isfinite(reading.log_likelihood), reading.log_likelihood != 0
        relabelled = relabellings(reading)
        self._count("readings", 1)
        self._count("readings that are not complete", int(not reading.complete))
        self.numbers["releases left out"] = max(reading.unread, self.numbers["releases left out"])
        self._count("readings that rule out a relabelling", int((relabelled & ~possible).any()))
        self._count("readings with unequal relabellings", int((relabelled & moved).any()))
        for kind, chosen in (("arrangements", np.ones_like(moved)), ("relabellings", relabelled)):
            self._count(kind, int(chosen.sum()))
            self._count(f"{kind} ruled out", int((chosen & ~possible).sum()))
            self._count(f"{kind} possible but not as likely as the truth", int((chosen & possible & moved).sum()))
        before, after = _shares(reading.values, np.ones_like(likelihood)), _shares(reading.values, likelihood)
        left: Int64 = np.count_nonzero(_shares(reading.values, possible.astype(np.float64)), axis=1)
        fewer: Bool = left < np.count_nonzero(before, axis=1)
        uneven: Bool = np.abs(after - before).max(axis=1, initial=0.0) > EVEN
        self._add_people(reading, (np.ones_like(fewer), fewer, uneven))
        if relabelled.sum() > 1:
            self._add_relabellings(reading.values[relabelled], likelihood[relabelled])
        if reading.complete:
            self.greatest = max(self.greatest, float(after.max(initial=0.0)))
            alone: Bool = left[reading.place] == 1
            self.certain.append(reading.persons[alone])
            self.inferred.append(after.argmax(axis=1).astype(np.int32)[reading.place[alone]])

    def _add_people(self, reading: Reading, signs: tuple[Bool, Bool, Bool]) -> None:
        """List the people at the places with each sign, or keep the signs if they are too many to be listed."""
        for people, sign in zip(self.listed, signs, strict=True):
            people.append(reading.persons[sign[reading.place]])
        if reading.unlisted is not None:
            self.unlisted = reading.unlisted
            self.signs[reading.number] = np.packbits(np.stack(signs, axis=1), axis=1, bitorder="little")[:, 0]

    def people(self) -> list[int]:
        """How many people have each of the three signs."""
        listed = [_distinct(people) for people in self.listed]
        found = [len(people) for people in listed]
        if self.unlisted is None:
            return found
        width = max(len(signs) for signs in self.signs.values())
        table = np.zeros((max(self.signs) + 1, width), dtype=np.uint8)
        for number, signs in self.signs.items():
            table[number, : len(signs)] = signs
        for part in self.unlisted():
            inside = part.number < len(table)  # other readings may not have been asked for
            signs = np.zeros(len(inside), dtype=np.uint8)
            signs[inside] = table[part.number[inside], part.place[inside]]
            for own, people in enumerate(listed):
                persons = _distinct([part.persons[(signs >> own & 1).astype(np.bool_)]])
                found[own] += len(persons) - len(np.intersect1d(persons, people, assume_unique=True))
        return found

    def _add_relabellings(self, values: Int32, likelihood: Float64) -> None:
        """The greatest posterior if only relabellings are possible; some that favour no value at all count."""
        even = _shares(values, np.ones_like(likelihood))
        if np.ptp(even[even > 0]) < EVEN:
            self.greatest_relabelled = max(self.greatest_relabelled, float(_shares(values, likelihood).max()))

    def exposed(self) -> tuple[Int64, Int32]:
        """Everyone who is certain, once, with the value."""
        persons: Int64 = np.concatenate([np.empty(0, np.int64), *self.certain])
        inferred: Int32 = np.concatenate([np.empty(0, np.int32), *self.inferred])
        _, first = np.unique(persons, return_index=True)
        return persons[first], inferred[first]

    def named_numbers(self, people: list[int]) -> dict[str, float]:
        """The numbers by name, with those of people."""
        return {name: float(count) for name, count in self.numbers.items()} | {
            "people read": float(people[0]),
            "people left with fewer values": float(people[1]),
            "people with an uneven posterior": float(people[2]),
            "greatest posterior": self.greatest,
            "greatest posterior if it is known who shares a value": self.greatest_relabelled,
        }

    def note(self, everyone: int, people: list[int]) -> str:
        """What the numbers mean."""
        found = self.numbers
        unequal, incomplete = found["readings with unequal relabellings"], found["readings that are not complete"]
        parts = [NOTE, f"{found['readings']:,} buckets or groups were read"]
        if people[0] < everyone:
            parts.append(f"they hold {people[0]:,} of {everyone:,} people, and nothing is said of the others")
        if unequal:
            parts.append(f"in {unequal:,} of them the publication tells some relabelling of the values from the truth")
        if incomplete:
            parts.append(f"in {incomplete:,} not every arrangement was looked at, so no person is exposed there")
        if found["releases left out"]:
            parts.append(
                f"{found['releases left out']:,} releases cannot be read with these parameters and are left out"
            )
        return "; ".join(parts)

    def _count(self, name: str, more: int) -> None:
        self.numbers[name] += more


def relabellings(reading: Reading) -> Bool:
    """Which arrangements replace each value by one other value everywhere, and no two by the same one, bool[a]."""
    _, first, number = np.unique(reading.values[0], return_index=True, return_inverse=True)
    image = reading.values[:, first]  # [a, values]
    everywhere: Bool = np.all(reading.values == image[:, number], axis=1)
    least_step: Int32 = np.diff(np.sort(image, axis=1), axis=1).min(axis=1, initial=1)
    return everywhere & (least_step > 0)


def _shares(values: Int32, weight: Float64) -> Float64:
    """The share of each value at each place, [places, values], if arrangements have these weights."""
    places, width = values.shape[1], int(values.max(initial=0)) + 1
    cell = np.arange(places) * width + values
    weights = np.broadcast_to((weight / weight.sum())[:, None], values.shape)
    shares = np.bincount(cell.ravel(), weights=weights.ravel(), minlength=places * width).astype(np.float64)
    return shares.reshape(places, width)


def _people_of(ascending: list[Int64]) -> int:
    """How many people are in these lists, which may be too long to be copied."""
    count = 0
    for parts in joint_slices(ascending, PEOPLE_AT_ONCE):
        count += len(_distinct([one[part] for one, part in zip(ascending, parts, strict=True)]))
        forget_pages(*ascending)
    return count


def _distinct(parts: list[Int64]) -> Int64:
    """Everyone in these lists, once, in ascending order. `np.unique` hashes, which takes longer where most differ."""
    persons: Int64 = np.sort(np.concatenate([np.empty(0, np.int64), *parts]), kind="stable")
    return persons[np.append(True, persons[1:] != persons[:-1])] if len(persons) else persons
