"""Brakes: what looks like the wrong table, or loses much, is refused until the steward accepts it, with a reason.

Each function gets numbers and values and returns a brake, or None if the snapshot does not trip it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.metrics.value_counts import FREQUENT
from reanon_core.model.errors import InvalidParameter, Problem, Refused, counted
from reanon_core.tables.spellings import missing_markers, variants_of

if TYPE_CHECKING:
    from reanon_core.metrics.value_counts import ValueCounts
    from reanon_core.model.arrays import Bool
    from reanon_core.model.ledger import Entry
    from reanon_core.model.schema import Sensitive
    from reanon_core.returning import Returning

MAX_DRIFT = 0.5
MIN_RETURNING = 0.1
FEWEST = 50
"""The number of people from which on these two defaults apply: small tables vary by chance."""
MOST_RETURN = 0.5
"""The share of all others who are in the table again from which on people with one value are missed."""
FEWEST_NOTED = 10
"""The number of people with a value from which on a note says that many of them are lost."""
FEWEST_COUNTED, LITTLE_OFF = 500, 0.05
"""The number of people, and the error of a typical count, below which the error varies by chance or hardly matters."""
SHOWN = 3
"""How many values or pairs of values a message lists."""


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

    def __init__(self, release: str, brakes: tuple[Brake, ...], accepted_with: str) -> None:
        self.brakes = brakes
        self._advice = f"if the snapshot of {release} is right, accept it with {accepted_with}"
        super().__init__("\n".join([*(f"{brake.sentence}{brake.advice}" for brake in brakes), self._advice]))

    def redacted(self) -> str:
        """The sentences without values."""
        return "; ".join([*(f"{brake.redacted}{brake.advice}" for brake in self.brakes), self._advice])


def accepted_reason(reason: str | None, option: str = "--accept-drift") -> str | None:
    """The reason with which a person accepts every brake of a run, on one line; None if no one does.

    Raises: InvalidParameter if there is no reason in it.
    """
    if reason is None:
        return None
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidParameter(Problem(option, "say why the snapshot is right"))
    return " ".join(reason.split())


def size_change(people: int, before: int | None) -> tuple[float, str]:
    """The relative change in the number of people since the previous release, None for the first; and a sentence."""
    if not before:
        return 0.0, "there is no earlier release to compare with"
    share = (people - before) / before
    return share, f"{counted(before, 'person', 'people')} before, {people:,} now ({share:+.1%})"


def allowed_change(before: int, limit: float | None, *, own: bool) -> int | None:
    """By how many people a snapshot may differ from the previous release; None for any number.

    `own` says whether the steward chose the limit: then it applies to small tables too.
    """
    return None if limit is None else max(floor(Decimal(str(limit)) * before), 0 if own else FEWEST - 1)


def empty_start(people: int, *, first: bool) -> Brake | None:
    """The first snapshot has no rows."""
    sentence = "the first snapshot has no rows"
    return Brake(sentence, sentence) if first and not people else None


def drifted_size(
    people: int, before: int | None, limit: float | None = MAX_DRIFT, *, own: bool = False
) -> Brake | None:
    """The number of people differs too much from that of the previous release."""
    allowed = allowed_change(before, limit, own=own) if before else None
    if before is None or allowed is None or abs(people - before) <= allowed:
        return None
    sentence = f"the number of people changed too much: {size_change(people, before)[1]}, and max_drift is {limit}"
    return Brake(sentence, sentence)


def few_returning(
    here: int, before: int, release: str, least: float = MIN_RETURNING, *, own: bool = False, advice: str = ""
) -> Brake | None:
    """Too few people of the previous release are in the table: with new ids, everyone would be published anew."""
    if before < (1 if own else FEWEST) or here >= least * before:
        return None
    sentence = (
        f"only {here:,} of the {before:,} people of release {release} are in the snapshot, and min_returning is {least}"
    )
    return Brake(sentence, sentence, f"; did the ids change?{advice}")


def filtered_values(
    column: "Sensitive", found: "Returning", earlier: Callable[[int], Sequence[tuple[int, int]]], release: str
) -> Brake | None:
    """Hardly anyone with some value is in the table again, although most others are: it may be filtered by the value.

    Only values with FEWEST people or more in the latest release count. `earlier` gives for the code of a value how many
    people with it returned between two earlier releases and how many had it, the latest first: people with some values
    never return, such as those of an acute disease, and that is noticed once.
    """
    here, before = found.here, found.before
    others_here, others = here.sum() - here, before.sum() - before
    least = MIN_RETURNING * others_here / np.maximum(others, 1)
    missed = (before >= FEWEST) & (others_here >= MOST_RETURN * others) & (others > 0) & (here < least * before)
    codes = [code for code in np.flatnonzero(missed).tolist() if not _never_returned(earlier(code), float(least[code]))]
    what = f"most people of release {release} are in the snapshot, but hardly any with some value of {column.name}"
    quoted = [f"{here[code]:,} of the {before[code]:,} people with {column.values[code]!a}" for code in codes]
    advice = f"; who is in the snapshot must not depend on {column.name}"
    return _quoting(what, quoted, ("value", "values"), advice)


def _never_returned(earlier: Sequence[tuple[int, int]], least: float) -> bool:
    """Whether hardly anyone returned when enough people had the value for the last time."""
    here, before = next((one for one in earlier if one[1] >= FEWEST), (1, 0))
    return here < least * before


def respelled_values(column: "Sensitive", known: int) -> Brake | None:
    """A new sensitive value that is another spelling of one: a person who has both seems to change their value.

    The first `known` values are those of earlier releases.
    """
    pairs = [] if column.closed else variants_of(column.values[:known], column.values[known:])
    what = f"values of {column.name} differ only in case, spaces or Unicode form"
    advice = "; write them in one way in the source"
    return _quoting(what, [f"{one!a} and {other!a}" for one, other in pairs], ("pair", "pairs"), advice)


def values_for_nothing(column: "Sensitive", known: int) -> Brake | None:
    """A new sensitive value that programs write where there is none: people would be hidden among it."""
    markers = [] if column.closed else missing_markers(column.values[known:])
    what = f"values of {column.name} look like missing ones"
    advice = "; fill them in, or leave the rows out"
    return _quoting(what, [f"{marker!a}" for marker in markers], ("value", "values"), advice)


@dataclass(frozen=True)
class Limits:
    """What a release may lose before it is refused; None where nothing is refused."""

    lost: float | None = 0.2
    """The share of the people with one value, of values with FREQUENT people or more."""
    withheld: float | None = 0.1
    """The share of all people that may be withheld."""
    growth: float | None = 2.0
    """How many times the query error of the release before."""


BEGINS = (
    "; weaker parameters (a smaller m or k, or regions: none) or a longer period between releases would lose less, and "
    "`reanon advise` says how much; nothing is frozen before the first release"
)
GOES_ON = (
    "; accept it if your readers can bear the loss: what is published is safe. A release that is left out, or made "
    "from another snapshot or with other options for this reason, would tell more than this one"
)


def losses(
    entry: "Entry",
    counts: "ValueCounts | None",
    limits: Limits,
    *,
    begins: bool,
    error: float | None = None,
    error_before: float | None = None,
) -> tuple[tuple[Brake, ...], tuple[str, ...]]:
    """Brakes on what a release loses, and notes without values on losses of values that too few people have.

    Parameters may still change before the first release, which `begins` a series. A later one can only be accepted.
    """
    people, withheld = int(entry.snapshot.selection.sum()), entry.withheld
    lost = None if counts is None else _lost_values(entry, counts, limits.lost, FREQUENT)
    found = [lost]
    if limits.withheld is not None and withheld > max(limits.withheld * people, FREQUENT - 1):
        what = f"the release would withhold {withheld:,} of {counted(people, 'person', 'people')}, and max_withheld is"
        found.append(Brake(f"{what} {limits.withheld}", f"{what} {limits.withheld}"))
    if error is not None and error_before is not None and limits.growth is not None and people >= FEWEST_COUNTED:
        found.append(_grown_error(error, error_before, limits.growth))
    tripped = [brake for brake in found if brake is not None]
    if tripped:
        tripped[-1] = replace(tripped[-1], advice=BEGINS if begins else GOES_ON)
    noted = None if counts is None or lost is not None else _lost_values(entry, counts, limits.lost, FEWEST_NOTED)
    return tuple(tripped), () if noted is None else (noted.redacted,)


def _lost_values(entry: "Entry", counts: "ValueCounts", most: float | None, fewest: int) -> Brake | None:
    """The values that `fewest` people or more have, and of which the release loses more than this share."""
    if most is None:
        return None
    lost = counts.lost
    found = np.flatnonzero((counts.people >= fewest) & (lost > most)).tolist()
    worst = sorted(found, key=lambda code: -lost[code])
    name = entry.snapshot.schema.sensitive.name
    what = f"more than {most:.0%} of the people with some value of {name} would be lost"
    quoted = [
        f"of {counts.people[code]:,} people with {counts.values[code]!a}, {counts.withheld[code]:,} are withheld and a "
        f"reader counts {counts.counted[code]:,.0f}"
        for code in worst
    ]
    return _quoting(what, quoted, ("value", "values"))


def _grown_error(error: float, before: float, growth: float) -> Brake | None:
    """A typical count is much farther off than in the release before; never where it is off by little."""
    if error <= max(growth * before, LITTLE_OFF):
        return None
    what = f"a typical count would be off by {error:.1%}, after {before:.1%} in the release before, and max_growth is"
    return Brake(f"{what} {growth:g}", f"{what} {growth:g}")


def respelled_ids(name: str, rows: "Bool") -> Brake | None:
    """Ids of new people that are other spellings of ids: bool[rows of the table].

    Rows are named by their number: no message contains an id.
    """
    who = counted(int(rows.sum()), f"new value of {name} differs", f"new values of {name} differ")
    what = f"{who} from others only in spaces, case or zeros"
    return _of_rows(what, rows, "; write every id in one way, or one person is published as two")


def ids_for_nothing(name: str, rows: "Bool") -> Brake | None:
    """Ids of new people that programs write where there is none: bool[rows of the table]."""
    what = f"{counted(int(rows.sum()), f'value of {name} looks', f'values of {name} look')} like a missing id"
    return _of_rows(what, rows, "; fill them in, or the next person without an id is taken for the same one")


def _of_rows(what: str, rows: "Bool", advice: str) -> Brake | None:
    from reanon_core.model.coding import named_rows

    return Brake(f"{what}, in {named_rows(rows)}", what, advice) if rows.any() else None


def _quoting(what: str, shown: list[str], nouns: tuple[str, str], advice: str = "") -> Brake | None:
    """A brake that lists values for the steward, and only counts them elsewhere; None if there are none."""
    if not shown:
        return None
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return Brake(f"{what}: {'; '.join(shown[:SHOWN])}{more}", f"{what} ({counted(len(shown), *nouns)})", advice)
