"""What becomes of the people with each sensitive value: a mean over all values would hide one that disappears."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reanon_core.model.arrays import Bool, Float64, Int64, slices
from reanon_core.model.ledger import Entry
from reanon_core.model.snapshot import INVENTED

FREQUENT = 50
"""The number of people from which on a value counts for the worst one: few people vary by chance."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The people with each sensitive value, and what a release shows of them."""

    values: tuple[str, ...]
    people: Int64  # [values] selected people
    withheld: Int64  # [values] those of them who are not published
    invented: Int64  # [values] counterfeits
    counted: Float64  # [values] the people whom a reader counts, who takes the counterfeits of each group out evenly

    @property
    def lost(self) -> Float64:
        """The share of the people with each value who are withheld, or whom a reader does not count if these are more.

        A reader cannot tell which rows of a group are counterfeits, so what is added to one value is taken from others.
        """
        gone = np.maximum(self.withheld, self.people - self.counted)
        return np.asarray(gone / np.maximum(self.people, 1), np.float64)

    @property
    def changed(self) -> Float64:
        """By how much of itself the share of each value among all people differs for a reader: -0.5 is half of it."""
        shares = self.people / max(1, int(self.people.sum()))
        read = self.counted / max(1.0, float(self.counted.sum()))
        return np.where(shares > 0, read / np.where(shares > 0, shares, 1.0) - 1.0, 0.0)

    @property
    def frequent(self) -> Bool:
        """The values that count for the worst one."""
        return np.asarray(self.people >= FREQUENT, np.bool_)

    @property
    def worst_loss(self) -> float:
        """The greatest share that is lost of a frequent value; 0 if there is none."""
        return float(self.lost[self.frequent].max(initial=0.0))

    @property
    def worst_change(self) -> float:
        """The change of a frequent value's share that is farthest from 0; 0 if there is none."""
        changes = self.changed[self.frequent]
        return float(changes[np.abs(changes).argmax()]) if len(changes) else 0.0

    def rows(self) -> list[dict[str, Any]]:
        """Private: one row for each value that people have or a release shows, the greatest loss first."""
        shown = np.flatnonzero((self.people > 0) | (self.invented > 0)).tolist()
        lost, changed = self.lost, self.changed
        return [
            {
                "value": self.values[code],
                "people": int(self.people[code]),
                "published": int(self.people[code] - self.withheld[code]),
                "withheld": int(self.withheld[code]),
                "invented": int(self.invented[code]),
                "counted": round(float(self.counted[code]), 1),
                "lost": round(float(lost[code]), 4),
                "share_changed": round(float(changed[code]), 4),
            }
            for code in sorted(shown, key=lambda code: (-lost[code], code))
        ]


def value_counts(entry: Entry) -> ValueCounts | None:
    """The counts of a release; None if it does not show the sensitive column. Rows are counted a part at a time."""
    snapshot, release, schema = entry.snapshot, entry.release, entry.snapshot.schema
    if not release.shows(schema.sensitive.name):
        return None
    size = len(schema.sensitive.values)
    people, published, rows, real = (np.zeros(size, np.int64) for _ in range(4))
    for part in slices(snapshot.size):
        selected = slice(None) if snapshot.selected is None else snapshot.selected[part]
        people += np.bincount(snapshot.sensitive[part][selected], minlength=size)
    for part in slices(len(entry.trace.persons)):
        traced = entry.trace.persons[part]
        place = snapshot.persons.searchsorted(traced)
        place = place[np.isin(traced, snapshot.persons, assume_unique=True)]  # what is left of the forgotten has no row
        value = snapshot.sensitive[place]
        asked = slice(None) if snapshot.selected is None else snapshot.selected[place]
        true = slice(None) if snapshot.origin is None else snapshot.origin[place] != INVENTED
        published += np.bincount(value[asked], minlength=size)
        real += np.bincount(value[true], minlength=size)
    weight, counted = _weights(entry), np.zeros(size)
    for part in slices(release.size):
        rows += np.bincount(release.sensitive[part], minlength=size)
        own = None if weight is None else weight[release.group[part]]
        counted += np.bincount(release.sensitive[part], weights=own, minlength=size)
    return ValueCounts(schema.sensitive.values, people, people - published, rows - real, counted)


def _weights(entry: Entry) -> Float64 | None:
    """How many real people a row of each group stands for; None if every row is a person."""
    if not entry.auxiliary.total:
        return None
    sizes = np.zeros(entry.release.boxes.count, np.float64)
    for part in slices(entry.release.size):
        sizes += np.bincount(entry.release.group[part], minlength=len(sizes))
    real = sizes.copy()
    real[entry.auxiliary.group] -= entry.auxiliary.count
    return np.asarray(real / np.maximum(sizes, 1.0), np.float64)


@dataclass(frozen=True, kw_only=True)
class ValueLoss:
    """The greatest share of the people with one sensitive value whom a release loses, of values with 50 or more."""

    name: ClassVar[str] = "value-loss"
    quick: ClassVar[bool] = False

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Count the people with each value, and those whom the release leaves of them."""
        counts = value_counts(entry)
        return float("nan") if counts is None else counts.worst_loss
