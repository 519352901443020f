"""The verdicts of all checks on a release that does not fit into memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.m_invariance import MInvariance
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check, Memory
from reanon_dagster.judges.judged_release import JudgedRelease
from reanon_dagster.judges.k_anonymity import judge_k_anonymity
from reanon_dagster.judges.l_diversity import judge_l_diversity
from reanon_dagster.judges.m_invariance import judge_m_invariance
from reanon_dagster.judges.m_uniqueness import judge_m_uniqueness
from reanon_dagster.judges.well_formedness import judge_well_formedness
from reanon_dagster.judges.workspace import workspace

Judge = Callable[[Any, JudgedRelease, Memory], tuple[Verdict, Memory]]

JUDGES: dict[str, Judge] = {
    WellFormedness.name: judge_well_formedness,
    KAnonymity.name: judge_k_anonymity,
    LDiversity.name: judge_l_diversity,
    MUniqueness.name: judge_m_uniqueness,
    MInvariance.name: judge_m_invariance,
}
"""The judge at size for each check that has one."""


def has_judge_at_size(check: str) -> bool:
    """Whether the check of that name can judge a release in bounded memory."""
    return check in JUDGES


def examine_at_size(
    check: Check, entry: Entry, memory: Memory, *, limit_bytes: int, folder: ColumnFolder
) -> tuple[Verdict, Memory]:
    """What `check.examine` returns, computed in about so much memory.

    Long arrays of the memory are mapped from columns in the folder. Nothing else stays there.

    Raises: InvalidSnapshot if a code stands for another value than in the memory; KeyError if the check has no judge
    at size.
    """
    with workspace(limit_bytes, folder) as space:
        return JUDGES[check.name](check, JudgedRelease(entry, space), memory)


def judge_at_size(
    checks: Sequence[Check],
    entry: Entry,
    memories: Mapping[str, Memory],
    *,
    limit_bytes: int,
    folder: ColumnFolder,
) -> tuple[tuple[Verdict, ...], dict[str, Memory]]:
    """What `reanon_core.judgement.judge` returns. A check without a judge at size takes the memory that it needs.

    Raises: InvalidSnapshot if a code stands for another value than in a memory.
    """
    verdicts, remembered = [], {}
    with workspace(limit_bytes, folder) as space:
        judged = JudgedRelease(entry, space)
        for check in checks:
            before = memories.get(check.name, check.initial_memory())
            judge = JUDGES.get(check.name)
            verdict, memory = judge(check, judged, before) if judge else check.examine(entry, before)
            verdicts.append(verdict)
            if memory:
                remembered[check.name] = memory
    return tuple(verdicts), remembered
