"""l-diversity at size: the sensitive values of every group are well represented."""

import numpy as np

from reanon_core.checks.l_diversity import LDiversity
from reanon_core.model.arrays import Bool
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.judges.group_sizes import count_where, size_summary, smallest
from reanon_dagster.judges.judged_release import JudgedRelease, silent_verdict, unreadable_verdict


def judge_l_diversity(check: LDiversity, judged: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
    """Count the groups that are not diverse.

    Paper: [XT07] Section 1, after Machanavajjhala et al.
    """
    if judged.unreadable:
        return unreadable_verdict(check.name, judged.unreadable), memory
    if judged.silent:
        return silent_verdict(check.name), memory
    space, groups = judged.space, len(judged.sizes)
    sentence = (
        f"every group has at least {check.ell} different sensitive values"
        if check.form == "distinct"
        else f"in every group at most one row in {check.ell} has the same sensitive value"
    )
    poor = count_where(lambda part: _poor(check, judged, part), groups, space)
    observed: dict[str, float] = {
        **size_summary(judged.sizes, space),
        "fewest values": smallest(judged.figures.distinct, space),
        "largest share": max((_largest_share(judged, part) for part in space.chunks(groups)), default=0.0),
        "groups not diverse": poor,
    }
    return Verdict(check.name, poor == 0, poor, observed, sentence=sentence), memory


def _poor(check: LDiversity, judged: JudgedRelease, part: slice) -> Bool:
    """Which groups are not diverse; a group without rows is not, in either form."""
    if check.form == "distinct":
        return judged.figures.distinct[part] < check.ell
    sizes, largest = judged.sizes[part], judged.figures.largest[part].astype(np.int64)
    poor: Bool = (largest * check.ell > sizes) | (sizes == 0)
    return poor


def _largest_share(judged: JudgedRelease, part: slice) -> float:
    return float((judged.figures.largest[part] / np.maximum(judged.sizes[part], 1)).max())
