"""Where a release cannot answer a question, in a sentence."""

from reanon_core.estimate.totals import Total
from reanon_core.model.arrays import Float64

INSIDE = 0.999
"""A box lies in a region if so much of it does."""
NARROW = 0.1
"""If less than this part of an answer comes from boxes that lie in the region, the region is narrower than they are."""
WIDE = 0.5
"""An interval that reaches further than this part of the answer to one side is wide."""


def notes_on(
    share: Float64, people: Float64, total: Total | None = None, interval: tuple[float, float] = (0, 0)
) -> tuple[str, ...]:
    """The sentences for an answer; `share` is the part of each unit's box in the region, `people` its people."""
    notes = []
    if total is not None and total.below + total.above > WIDE * max(total.value, 1.0):
        fewest, most = max(0.0, total.value - total.below), total.value + total.above
        notes.append(
            f"{total.rows:,.0f} rows show these values, but between {fewest:,.0f} and {most:,.0f} real people may be "
            f"behind them: the groups have too many counterfeits for an answer"
        )
    counted = float(people @ share)
    inside = float(people[share > INSIDE] @ share[share > INSIDE])
    if counted > 0 and inside < NARROW * counted:
        notes.append(
            f"the region is narrower than the boxes: {1 - inside / counted:.0%} of the answer depends on how people "
            f"are spread inside them"
        )
    if total is not None and not notes:
        reach = max(interval[1] - total.value, total.value - interval[0])
        if reach > WIDE * max(total.value, 1.0):
            notes.append("the interval is wide: ask for a larger region, more values, or several releases")
    return tuple(notes)
