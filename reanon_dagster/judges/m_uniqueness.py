"""m-uniqueness at size: every group has m or more rows, all with different sensitive values."""

from dataclasses import dataclass

from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.judges.group_sizes import count_where, size_summary
from reanon_dagster.judges.judged_release import JudgedRelease, silent_verdict, unreadable_verdict


@dataclass(frozen=True)
class Breaches:
    """The groups of a release that are not m-unique."""

    violations: int
    """Groups that are too small, repeat a value, or both."""
    observed: dict[str, float]
    """The same by kind."""


def breaches_of_uniqueness(judged: JudgedRelease, m: int) -> Breaches:
    """Count the groups that are not m-unique.

    Paper: [XT07] Definition 17, first part.
    """
    sizes, distinct, space = judged.sizes, judged.figures.distinct, judged.space
    groups = len(sizes)
    observed: dict[str, float] = {
        **size_summary(sizes, space),
        "groups too small": count_where(lambda part: sizes[part] < m, groups, space),
        "groups that repeat a value": count_where(lambda part: distinct[part] < sizes[part], groups, space),
    }
    either = count_where(lambda part: (sizes[part] < m) | (distinct[part] < sizes[part]), groups, space)
    return Breaches(either, observed)


def judge_m_uniqueness(check: MUniqueness, judged: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
    """Count the groups that are too small or repeat a value."""
    if judged.unreadable:
        return unreadable_verdict(check.name, judged.unreadable), memory
    if judged.silent:
        return silent_verdict(check.name), memory
    found = breaches_of_uniqueness(judged, check.m)
    sentence = f"every group has at least {check.m} rows, all with different sensitive values"
    return Verdict(check.name, found.violations == 0, found.violations, found.observed, sentence=sentence), memory
