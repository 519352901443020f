"""k-anonymity at size: every group has at least k rows."""

from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory
from reanon_dagster.judges.group_sizes import count_where, size_summary
from reanon_dagster.judges.judged_release import JudgedRelease, unreadable_verdict


def judge_k_anonymity(check: KAnonymity, judged: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
    """Count the groups that are too small.

    Paper: [XT07] Section 1, after Samarati and Sweeney.
    """
    if judged.unreadable:
        return unreadable_verdict(check.name, judged.unreadable), memory
    sizes = judged.sizes
    small = count_where(lambda part: sizes[part] < check.k, len(sizes), judged.space)
    observed = {**size_summary(sizes, judged.space), "groups too small": small}
    sentence = f"every group has at least {check.k} rows"
    return Verdict(check.name, small == 0, small, observed, sentence=sentence), memory
