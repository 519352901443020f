"""How long groups of a given size can be published while people leave: a forecast before the first release."""

import numpy as np

from reanon_core.model.arrays import Float64

LEAVING = (0.05, 0.15)
"""The shares of people who leave between two releases, for which a forecast is given."""
ENOUGH = 0.8
"""The share of the people that a release should publish."""
MOST_PEOPLE = 500
"""Larger groups are forecast as if they had this many people."""
MOST_RELEASES = 40
"""How far a forecast looks ahead."""
NEGLIGIBLE = 1e-9
"""The probability below which a case is left out."""


def note_on_survival(people: int, groups: int, k: int) -> tuple[str, ...]:
    """For how long a series whose people who left are not published again publishes enough of the others.

    `people` are in `groups` at the first release; no one is told about a release without people.
    """
    if not groups:
        return ()
    size = people / groups
    cases = []
    for leaving in LEAVING:
        shares = published_shares(min(round(size), MOST_PEOPLE), k, leaving, MOST_RELEASES)
        below = np.flatnonzero(shares < ENOUGH)
        when = f"until release {below[0]}" if len(below) else f"beyond release {MOST_RELEASES}"
        cases.append(f"{when} if {leaving:.0%} of them leave between two releases")
    note = (
        f"with groups of {size:,.0f} people and pool: alive, expect {ENOUGH:.0%} of the people to be published "
        f"{' and '.join(cases)}, and less if people return. A larger reserve, or `pool: stored` with `together: 0.4`, "
        "publishes more in later releases (docs/techniques/bpg.md)"
    )
    return (note,)


def published_shares(people: int, k: int, leaving: float, releases: int) -> Float64:
    """The expected share of the table that each release publishes, where as many people come as leave.

    All groups begin with `people` members. Each member leaves before a release with probability `leaving`, and no one
    returns. Values and later cuts are left out, so this is what the number of people alone allows Listing 1.
    """
    present = (1 - leaving) ** np.arange(releases)
    published = _of_one_group(people, k, leaving, releases) / people
    before = [np.concatenate([[0.0], np.cumsum(share)[:-1]]) for share in (published, present)]  # of those who came
    share: Float64 = (published + leaving * before[0]) / (present + leaving * before[1])
    return share


def _of_one_group(people: int, k: int, leaving: float, releases: int) -> Float64:
    """How many members of a group each release is expected to publish."""
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
    return expected


def _left(people: int, leaving: float) -> Float64:
    """The probability that so many of so many members leave [people + 1, most + 1]."""
    found = np.zeros((people + 1, people + 1))
    found[0, 0] = 1.0
    for members in range(1, people + 1):
        found[members] = (1 - leaving) * found[members - 1]
        found[members, 1:] += leaving * found[members - 1, :-1]
    most = int(np.flatnonzero((found > NEGLIGIBLE).any(axis=0))[-1])
    return found[:, : most + 1]
