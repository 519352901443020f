"""Why people are withheld, in sentences that say what would help."""

import numpy as np

from reanon_core.model.arrays import Int8
from reanon_core.model.errors import counted
from reanon_core.techniques.bpg import piece_correction as correction

LARGE_SHARE = 0.2
"""A release that withholds a greater share than this has a note about it."""
DEPARTURES, DIRTY_RECORDS = 1, 2
"""The causes of withholding that are explained once in a series, as bits: people who left, and people not selected."""


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
