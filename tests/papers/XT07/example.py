"""The paper's running example: Tables 1a and 2a as snapshots, and the state that Table 1b leaves.

The rows of Ray to Vince are garbled in our copy of Table 2a and are taken from Table 3a.
"""

import numpy as np

from reanon_core.bucketing.division import Roster
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.techniques.m_invariance.technique import MInvarianceState

# Buckets are balanced in ascending order of their signatures. The paper's result needs {dys, gas} before
# {dys, flu, gas}, so the values are numbered in this order; no numbering gives all four buckets in the paper's order.
VALUES = ("gastritis", "dyspepsia", "flu", "bronchitis")
GAS, DYS, FLU, BRO = range(4)
FIRST = {
    "Bob": (21, 12, DYS), "Alice": (22, 14, BRO), "Andy": (24, 18, FLU), "David": (23, 25, GAS),
    "Gary": (41, 20, FLU), "Helen": (36, 27, GAS), "Jane": (37, 33, DYS), "Ken": (40, 35, FLU),
    "Linda": (43, 26, GAS), "Paul": (52, 33, DYS), "Steve": (56, 34, GAS),
}  # fmt: skip
SECOND = {
    "Bob": (21, 12, DYS), "David": (23, 25, GAS), "Emily": (25, 21, FLU), "Jane": (37, 33, DYS),
    "Linda": (43, 26, GAS), "Gary": (41, 20, FLU), "Mary": (46, 30, GAS), "Ray": (54, 31, DYS),
    "Steve": (56, 34, GAS), "Tom": (60, 44, GAS), "Vince": (65, 36, FLU),
}  # fmt: skip
GROUPS_1B = (("Bob", "Alice"), ("Andy", "David"), ("Gary", "Helen"), ("Jane", "Ken", "Linda"), ("Paul", "Steve"))
NAMES = sorted({*FIRST, *SECOND})
PERSON = {name: number for number, name in enumerate(NAMES)}

SCHEMA = Schema(
    quasi_identifiers=(
        QuasiIdentifier(name="age", min_width=2, domain=(21, 65)),
        QuasiIdentifier(name="zip", min_width=2, domain=(12, 44)),
    ),
    sensitive=Sensitive(name="disease", values=VALUES),
)


def snapshot(people: dict[str, tuple[int, int, int]]) -> Snapshot:
    names = sorted(people)
    age, zipcode, disease = (np.array([people[name][i] for name in names], dtype=np.int32) for i in range(3))
    return Snapshot(SCHEMA, np.array([PERSON[name] for name in names]), np.stack([age, zipcode]), disease)


def state_after_table_1b() -> MInvarianceState:
    """Every person has the signature of their group in Table 1b."""
    signature = {name: tuple(sorted(FIRST[other][2] for other in group)) for group in GROUPS_1B for name in group}
    listed = sorted(set(signature.values()))
    names = sorted(FIRST)
    roster = Roster(
        np.array([PERSON[name] for name in names]),
        np.array([listed.index(signature[name]) for name in names], dtype=np.int32),
        np.array([FIRST[name][2] for name in names], dtype=np.int32),
    )
    return MInvarianceState(
        1, Signatures.of(listed), roster, np.array([[21, 12], [65, 44]]), np.empty((0, 0), np.int32)
    )
