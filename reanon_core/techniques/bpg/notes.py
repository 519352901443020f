"""What the steward is told: why people are withheld and what would help, and how long groups can be published.

The second is a forecast before the first release: people leave, and groups of a given size run out.
"""

import numpy as np

from reanon_core.model.arrays import Float64, Int8
from reanon_core.model.errors import counted
from reanon_core.techniques.bpg import listing_1 as correction

LARGE_SHARE = 0.2
"""A release that withholds a greater share than this has a note about it."""
DEPARTURES, DIRTY_RECORDS = 1, 2
"""The causes of withholding that are explained once in a series, as bits: people who left, and people not selected."""
LEAVING = (0.05, 0.15)
"""The shares of people who leave between two releases, for which a forecast is given."""
RETURNING = 0.1
"""The share of the people away who return between two releases, for which a forecast is given."""
ENOUGH = 0.8
"""The share of the people that a release should publish."""
MOST_PEOPLE = 500
"""Larger groups are forecast as if they had this many people."""
MOST_RELEASES = 40
"""How far a forecast looks ahead."""
NEGLIGIBLE = 1e-9
"""The probability below which a case is left out."""


def withheld_by_reason(outcome: Int8, *, k: int, ell: int, max_dirty: float) -> dict[str, int]:
    """How many rows are withheld, by reason; each names the parameter that would help.

    `outcome` is that of each selected row.
    """
    principle = f"k = {k} people and ell = {ell} values"
    reserve = "a larger reserve from the first release on makes this rarer"
    sentences = {
        correction.TOO_FEW_NEW: f"new: the new people like them have fewer than {principle}; publish more new people "
        "at once, or start a series with a smaller k or ell",
        correction.TOO_FEW_LEFT: f"few left: the members of their atom who are still in the table have fewer than "
        f"{principle}; {reserve}",
        correction.FROZEN: f"frozen: members of their atom left the table, and by themselves those would have fewer "
        f"than {principle}; {reserve}",
        correction.HELD_BACK: "held back: they hide members of their atom who left the table or are not selected; "
        f"{reserve}",
        correction.NOT_CORRECTED: "not corrected: variant is nodirty; middle or union would publish more",
        correction.CLASS_REJECTED: "of a rejected class: reject is class; reject: atom would publish more",
        correction.TOO_DIRTY: f"too dirty: more than max_dirty = {max_dirty} of their group would be people who left "
        "or are not selected; raise max_dirty to publish both, or select more people",
        correction.NO_CLASS: "left out: the partitioner gave them no class",
    }
    counts = np.bincount(outcome, minlength=len(sentences) + 1)
    return {sentences[code]: int(counts[code]) for code in sentences if counts[code]}


def notes_on_withheld(
    outcome: Int8, withheld: dict[str, int], explained: int, *, k: int, max_dirty: float
) -> tuple[tuple[str, ...], int]:
    """What the steward must read about this release, and the causes that have been explained with it.

    A cause is explained when it first occurs; a release that withholds a large share always has a note.
    """
    notes = []
    total = sum(withheld.values())
    if total > LARGE_SHARE * len(outcome):
        most = max(withheld, key=lambda sentence: withheld[sentence])
        share = f"{total:,} OF {len(outcome):,} PEOPLE ({total / len(outcome):.0%})"
        notes.append(f"WITHHELD: {share}, most of them {most}")
    causes = 0
    if np.isin(outcome, (correction.TOO_FEW_LEFT, correction.FROZEN, correction.HELD_BACK)).any():
        causes |= DEPARTURES
    if (outcome == correction.TOO_DIRTY).any():
        causes |= DIRTY_RECORDS
    if causes & DEPARTURES & ~explained:
        notes.append(
            "for the first time people are withheld because members of their atom left the table: people who were "
            f"published together can only be separated into parts of at least k = {k} people, so a single departure "
            "from an atom of fewer than 2k blocks the rest. A larger `reserve` makes larger atoms, but only for people "
            "who are published for the first time from now on. `pool: stored` publishes people who left once more, "
            "with their last values; `variant: ghost` replaces them with invented rows"
        )
    if causes & DIRTY_RECORDS & ~explained:
        notes.append(
            f"for the first time people are withheld because of max_dirty = {max_dirty}: they can only be published "
            "together with members of their atom who left or are not selected, and those would be too large a share of "
            "the group. Raise max_dirty to publish both; any selection that divides atoms costs one or the other"
        )
    return tuple(notes), explained | causes


def note_on_ghosts(count: int) -> tuple[str, ...]:
    """What invented rows do not protect against, if there are any."""
    if not count:
        return ()
    rows = counted(count, "row is", "rows are")
    return (f"{rows} invented (ghost): an adversary who knows who left can see through them (docs/guarantees.md)",)


def refusal(withheld: dict[str, int], rows: int) -> str:
    """The sentence on a table of which nothing can be published."""
    reasons = "; ".join(f"{count:,} rows, {reason}" for reason, count in withheld.items())
    return f"none of the {rows:,} rows can be published ({reasons})"


def note_on_survival(people: int, groups: int, k: int) -> tuple[str, ...]:
    """For how long a series whose people who left are not published again publishes enough of the others.

    `people` are in `groups` at the first release; there is no note on a release without groups.
    """
    if not groups:
        return ()
    size = people / groups
    of_group = [_of_one_group(min(round(size), MOST_PEOPLE), k, leaving, MOST_RELEASES) for leaving in LEAVING]
    cases = []
    for returning, who in ((0.0, "no one returns"), (RETURNING, f"{RETURNING:.0%} of those away return each time")):
        lasts = []
        for published, leaving in zip(of_group, LEAVING, strict=True):
            below = np.flatnonzero(_of_table(published, leaving, returning) < ENOUGH)
            lasts.append(str(below[0]) if len(below) else f"{MOST_RELEASES} or later")
        cases.append(f"release {' or '.join(lasts)} if {who}")
    shown = " or ".join(f"{leaving:.0%}" for leaving in LEAVING)
    note = (
        f"with groups of {size:,.0f} people and pool: alive, where {shown} of the people leave between two releases, "
        f"expect {ENOUGH:.0%} of the people to be published until {', and until '.join(cases)}. A larger reserve, or "
        "`pool: stored` with `together: 0.4`, publishes more in later releases (docs/techniques/bpg.md)"
    )
    return (note,)


def published_shares(people: int, k: int, leaving: float, returning: float, releases: int) -> Float64:
    """The expected share of a table of constant size that each release publishes.

    All groups begin with `people` members. Each person in the table leaves before a release with probability `leaving`.
    Of those away, the share `returning` returns, and is not published again: an atom of people who left is too small
    for that unless groups are much larger than 100 people. Values and later cuts are left out as well.
    """
    return _of_table(_of_one_group(people, k, leaving, releases), leaving, returning)


def _of_table(published: Float64, leaving: float, returning: float) -> Float64:
    """The share of a table that is published, given the share of a group in each release after its first."""
    releases = len(published)
    present = np.ones(releases)  # the probability of being in the table so many releases after the first
    for release in range(1, releases):
        present[release] = present[release - 1] * (1 - leaving) + (1 - present[release - 1]) * returning
    came = np.zeros(releases)
    for release in range(releases):
        came[release] = 1 - came[:release] @ present[release:0:-1]
    share: Float64 = np.convolve(came, published)[:releases]
    return share


def _of_one_group(people: int, k: int, leaving: float, releases: int) -> Float64:
    """The share of a group that each release is expected to publish, as Listing 1 does, if no member returns."""
    left = _left(people, leaving)
    # The probability of so many members in the table and so many who left and are not separated yet.
    cases = np.zeros((people + 1, k))
    cases[people, 0] = 1.0
    expected = np.zeros(releases)
    expected[0] = people
    for release in range(1, releases):
        after = np.zeros(cases.size)
        for waiting in range(k):
            members = np.flatnonzero(cases[:, waiting] > NEGLIGIBLE)
            leave = np.arange(left.shape[1])
            chance = cases[members, waiting][:, None] * left[members]
            here, gone = members[:, None] - leave, waiting + leave[None, :]
            shown = here - np.where(gone == 0, 0, np.maximum(k - gone, 0))  # some are held back with those who left
            good = shown >= k
            expected[release] += (chance * np.where(good, shown, 0)).sum()
            frozen = ~good & (here >= k) & (gone < k)
            place = np.where(good, shown * k, here * k + gone)
            kept = good | frozen
            after += np.bincount(place[kept], chance[kept], minlength=cases.size)
        cases = after.reshape(cases.shape)
    share: Float64 = expected / people
    return share


def _left(people: int, leaving: float) -> Float64:
    """The probability that so many of so many members leave [people + 1, most + 1]."""
    found = np.zeros((people + 1, people + 1))
    found[0, 0] = 1.0
    for members in range(1, people + 1):
        found[members] = (1 - leaving) * found[members - 1]
        found[members, 1:] += leaving * found[members - 1, :-1]
    most = int(np.flatnonzero((found > NEGLIGIBLE).any(axis=0))[-1])
    return found[:, : most + 1]
