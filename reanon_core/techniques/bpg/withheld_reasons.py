"""Why people are withheld, in sentences that name what would help."""

import numpy as np

from reanon_core.model.arrays import Int8
from reanon_core.model.errors import counted
from reanon_core.techniques.bpg import piece_correction as correction

LOUD = 0.2
"""A release that withholds a greater share than this says so."""
DELETIONS, DIRT = 1, 2
"""The walls that a series may meet: people who left, and people whom nobody asked for."""


def withheld_by_reason(reason: Int8, *, k: int, ell: int, max_dirty: float) -> dict[str, int]:
    """How many rows are withheld, by reason; each names the parameter that would help.

    `reason` is that of everybody who is asked for.
    """
    principle = f"k = {k} people and ell = {ell} values"
    sentences = {
        correction.FEW_NEW: f"new: those like them fall short of {principle}; publish more new people at once, "
        "or begin a series with a smaller k or ell",
        correction.FEW_LEFT: f"few left: what remains in the table of their neighbours falls short of {principle}; "
        "a larger reserve from the first release on makes that rarer",
        correction.FROZEN: f"frozen: neighbours of theirs left the table, and without them those would fall short of "
        f"{principle}; a larger reserve from the first release on makes that rarer",
        correction.HELD: "held back: they hide neighbours who left the table or are not asked for; "
        "a larger reserve from the first release on makes that rarer",
        correction.UNCORRECTED: "not corrected: variant is nodirty; middle or union would publish more",
        correction.OF_CLASS: "of a rejected class: reject is class; reject: atom would publish more",
        correction.DIRTY: f"too dirty: more than max_dirty = {max_dirty} of their group would be people who left or "
        "whom nobody asked for; a larger max_dirty publishes both, a wider selection asks for more",
        correction.LEFT_OUT: "left out: the partitioner gave them no class",
    }
    counts = np.bincount(reason, minlength=len(sentences) + 1)
    return {sentences[code]: int(counts[code]) for code in sentences if counts[code]}


def attention(
    reason: Int8, withheld: dict[str, int], met: int, *, k: int, max_dirty: float
) -> tuple[tuple[str, ...], int]:
    """What the steward must read about this release, and which walls the series has met with it.

    A wall is explained when it is met for the first time; a release that withholds many always says so.
    """
    notes = []
    held = sum(withheld.values())
    if held > LOUD * len(reason):
        most = max(withheld, key=lambda sentence: withheld[sentence])
        notes.append(f"WITHHELD: {held:,} OF {len(reason):,} PEOPLE ({held / len(reason):.0%}), most of them {most}")
    now = 0
    if np.isin(reason, (correction.FEW_LEFT, correction.FROZEN, correction.HELD)).any():
        now |= DELETIONS
    if (reason == correction.DIRTY).any():
        now |= DIRT
    if now & DELETIONS & ~met:
        notes.append(
            "for the first time people are withheld because neighbours of theirs left the table: whoever was published "
            f"together can only be told apart into parts of k = {k} people or more, so one member who leaves a "
            "neighbourhood of fewer than 2k freezes those who stay. `reserve` makes larger neighbourhoods: to raise it "
            "now helps those who are published for the first time from now on. `pool: stored` publishes people who "
            "left once more, with their last values; `variant: ghost` puts invented rows into their places"
        )
    if now & DIRT & ~met:
        notes.append(
            f"for the first time people are withheld because of max_dirty = {max_dirty}: they can only be published "
            "together with neighbours who left or whom nobody asked for, and those would be too large a share of the "
            "group. To raise max_dirty publishes both; whatever cuts through neighbourhoods costs the one or the other"
        )
    return tuple(notes), met | now


def about_ghosts(count: int) -> tuple[str, ...]:
    """What invented rows do not protect against, if there are any."""
    if not count:
        return ()
    rows = counted(count, "row is", "rows are")
    return (f"{rows} invented (ghost): whoever knows who left the table may see through that (docs/guarantees.md)",)


def refusal(withheld: dict[str, int], rows: int) -> str:
    """The sentence on a table of which nothing can be published."""
    reasons = "; ".join(f"{count:,} rows, {reason}" for reason, count in withheld.items())
    return f"none of the {rows:,} rows can be published ({reasons})"
