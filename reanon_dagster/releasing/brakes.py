"""Brakes: a snapshot that looks like the wrong table is refused until the steward accepts it, with a reason."""

from dataclasses import dataclass
from decimal import Decimal
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
from reanon_dagster.releasing.people_lists import withheld_people
from reanon_dagster.releasing.value_variants import variants_of
from reanon_dagster.storage.records import AcceptedDrift

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int64
    from reanon_core.model.ledger import Entry
    from reanon_dagster.releasing.series_view import SeriesView
    from reanon_dagster.series.series import Series
    from reanon_dagster.sources.snapshot_reader import Read

FEWEST = 50
"""The number of people from which on the defaults of max_drift and min_returning apply: small tables vary by chance."""
MOST_LOST = 0.2
"""The greatest share of the people with one value that a release may withhold; of values with FEWEST people or more."""
SHOWN = 3
"""How many pairs of variants a message lists."""


@dataclass(frozen=True)
class Brake:
    """One reason to take a snapshot for the wrong table."""

    sentence: str
    """For the steward: it may quote values of the data."""
    redacted: str
    """Without any value of the data."""
    advice: str = ""
    """What would help."""


class BrakesTripped(Refused):
    """A snapshot looks like the wrong table, and no one has accepted it."""

    def __init__(self, release: str, brakes: tuple[Brake, ...]) -> None:
        self.brakes = brakes
        self._advice = (
            f"if the snapshot of {release} is right, accept it with --accept-drift REASON (accept_drift in Dagster)"
        )
        super().__init__("\n".join([*(f"{brake.sentence}{brake.advice}" for brake in brakes), self._advice]))

    def redacted(self) -> str:
        """The sentences without values."""
        return "; ".join([*(f"{brake.redacted}{brake.advice}" for brake in self.brakes), self._advice])


def accepted_reason(reason: str | None) -> str | None:
    """The reason with which a person accepts every brake of a run, on one line; None if no one does.

    Raises: InvalidParameter if there is no reason in it.
    """
    if reason is None:
        return None
    if not reason.strip():
        raise InvalidParameter(Problem("--accept-drift", "say why the snapshot is right"))
    return " ".join(reason.split())


def require_released_brakes(
    series: "Series", view: "SeriesView", release: str, read: "Read", accepted: str | None
) -> tuple[AcceptedDrift, ...]:
    """Refuse a snapshot that trips a brake unless a person accepts it; return what was accepted.

    Raises: BrakesTripped with every brake at once.
    """
    brakes = tripped_brakes(series, view, release, read)
    if brakes and accepted is None:
        raise BrakesTripped(release, brakes)
    return tuple(AcceptedDrift(brake.redacted, str(accepted)) for brake in brakes)


def tripped_brakes(series: "Series", view: "SeriesView", release: str, read: "Read") -> tuple[Brake, ...]:
    """Every brake that the snapshot of the next release trips."""
    found = (
        _empty_start(view, read.rows),
        _size(series, read.rows, view.people_before(release)),
        _returning(series, view, read.persons),
        _variants(series, view, read.snapshot.schema.sensitive.values),
    )
    return tuple(brake for brake in found if brake is not None)


def require_accepted_loss(release: str, entry: "Entry", accepted: str | None) -> tuple[AcceptedDrift, ...]:
    """Refuse a release that withholds too many of the people with some value unless a person accepts it.

    A mean over all values would not see it: the value may be the one that the release is read for.

    Raises: BrakesTripped.
    """
    lost = lost_values(entry)
    if not lost:
        return ()
    name, values = entry.snapshot.schema.sensitive.name, entry.snapshot.schema.sensitive.values
    what = f"the release would withhold more than one in {round(1 / MOST_LOST)} of the people with some value of {name}"
    shown = "; ".join(f"{values[code]!a}: {gone:,} of {people:,}" for code, gone, people in lost[:SHOWN])
    more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    advice = "; with a smaller m, or a longer period between releases, fewer are withheld"
    brake = Brake(f"{what}: {shown}{more}", f"{what} ({counted(len(lost), 'value', 'values')})", advice)
    if accepted is None:
        raise BrakesTripped(release, (brake,))
    return (AcceptedDrift(brake.redacted, accepted),)


def lost_values(entry: "Entry") -> list[tuple[int, int, int]]:
    """The values of which too many people are withheld: the code, how many, of how many; the worst first."""
    if not entry.withheld:
        return []
    snapshot = entry.snapshot
    some = slice(None) if snapshot.selected is None else snapshot.selected
    people = np.bincount(snapshot.sensitive[some], minlength=len(snapshot.schema.sensitive.values))
    withheld = snapshot.persons.searchsorted(withheld_people(entry))
    gone = np.bincount(snapshot.sensitive[withheld], minlength=len(people))
    found = np.flatnonzero((people >= FEWEST) & (gone > MOST_LOST * people)).tolist()
    worst = sorted(found, key=lambda code: -gone[code] / people[code])
    return [(code, int(gone[code]), int(people[code])) for code in worst]


def size_change(people: int, before: int | None) -> tuple[float, str]:
    """The relative change in the number of people since the previous release, None for the first; and a sentence."""
    if not before:
        return 0.0, "there is no earlier release to compare with"
    share = (people - before) / before
    return share, f"{counted(before, 'person', 'people')} before, {people:,} now ({share:+.1%})"


def allowed_change(series: "Series", before: int) -> int | None:
    """By how many people a snapshot may differ from the previous release; None for any number."""
    limit = series.config.max_drift
    if limit is None:
        return None
    least = 0 if "max_drift" in series.config.model_fields_set else FEWEST - 1
    return max(floor(Decimal(str(limit)) * before), least)


def _empty_start(view: "SeriesView", people: int) -> Brake | None:
    sentence = "the first snapshot has no rows"
    return Brake(sentence, sentence) if not people and not view.position else None


def _size(series: "Series", people: int, before: int | None) -> Brake | None:
    allowed = allowed_change(series, before) if before else None
    if before is None or allowed is None or abs(people - before) <= allowed:
        return None
    sentence = (
        f"the number of people changed too much: {size_change(people, before)[1]}, "
        f"and max_drift is {series.config.max_drift}"
    )
    return Brake(sentence, sentence)


def _returning(series: "Series", view: "SeriesView", persons: "Int64") -> Brake | None:
    """Too few people of the previous release are in the table: with new ids, everyone would be published anew."""
    least = series.config.min_returning
    if not least or view.latest is None or view.latest.people == 0:
        return None
    here, before = view.returning(persons)
    fewest = 1 if "min_returning" in series.config.model_fields_set else FEWEST
    if before < fewest or here >= least * before:
        return None
    sentence = (
        f"only {here:,} of the {before:,} people of release {view.latest.release} are in the snapshot, and "
        f"min_returning is {least}"
    )
    advice = "; did the ids change? If every release is about other people, set min_returning: 0"
    return Brake(sentence, sentence, advice)


def _variants(series: "Series", view: "SeriesView", values: tuple[str, ...]) -> Brake | None:
    """A new sensitive value that is another spelling of one: a person who has both seems to change their value."""
    if series.schema.sensitive.closed:
        return None
    known = len(view.past.sensitive_values)
    pairs = variants_of(values[:known], values[known:])
    if not pairs:
        return None
    name = series.schema.sensitive.name
    what = f"values of {name} differ only in case, spaces or Unicode form"
    advice = "; write them in one way in the source"
    more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    shown = "; ".join(f"{one!a} and {other!a}" for one, other in pairs[:SHOWN])
    return Brake(f"{what}: {shown}{more}", f"{what} ({counted(len(pairs), 'pair', 'pairs')})", advice)
