"""Why people are withheld, in sentences that name what would help."""

import numpy as np

from reanon_core.algorithms.bpg import correcting
from reanon_core.model.arrays import Int8

LOUD = 0.2
"""A release that withholds a greater share than this says so."""


def withheld_by_reason(reason: Int8, *, k: int, ell: int) -> dict[str, int]:
    """How many rows are withheld, by reason; each names the parameter that would help."""
    principle = f"k = {k} people and ell = {ell} values"
    sentences = {
        correcting.FEW_NEW: f"new: those like them fall short of {principle}; publish more new people at once, "
        "or begin a series with a smaller k or ell",
        correcting.FEW_LEFT: f"few left: what remains in the table of their neighbours falls short of {principle}; "
        "a larger reserve from the first release on makes that rarer",
        correcting.FROZEN: f"frozen: neighbours of theirs left the table, and without them those would fall short of "
        f"{principle}; a larger reserve from the first release on makes that rarer",
        correcting.HELD: "held back: they hide neighbours who left the table; "
        "a larger reserve from the first release on makes that rarer",
        correcting.UNCORRECTED: "not corrected: variant is nodirty; middle or union would publish more",
        correcting.OF_CLASS: "of a rejected class: reject is class; reject: atom would publish more",
    }
    counts = np.bincount(reason, minlength=len(sentences) + 1)
    shares = {sentences[code]: int(counts[code]) for code in sentences if counts[code]}
    held = sum(shares.values())
    if held <= LOUD * len(reason):
        return shares
    (first, count), *others = shares.items()
    return {f"MORE THAN {LOUD:.0%} OF THE TABLE IS WITHHELD, {first}": count, **dict(others)}


def refusal(withheld: dict[str, int], rows: int) -> str:
    """The sentence on a table of which nothing can be published."""
    reasons = "; ".join(f"{count:,} rows, {reason}" for reason, count in withheld.items())
    return f"none of the {rows:,} rows can be published ({reasons})"
