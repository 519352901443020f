"""The relational checks over arrays, as the product had them before they were queries: what the queries must find."""

from typing import Any

from oracles.array_checks.k_anonymity import KAnonymity
from oracles.array_checks.l_diversity import LDiversity
from oracles.array_checks.m_invariance import MInvariance
from oracles.array_checks.m_uniqueness import MUniqueness
from oracles.array_checks.shared_boxes import SharedBoxes
from oracles.array_checks.t_closeness import TCloseness
from oracles.array_checks.weak_m_invariance import WeakMInvariance
from oracles.array_checks.well_formedness import WellFormedness

BY_NAME: dict[str, Any] = {
    check.name: check
    for check in (
        WellFormedness,
        KAnonymity,
        SharedBoxes,
        LDiversity,
        TCloseness,
        MUniqueness,
        MInvariance,
        WeakMInvariance,
    )
}
