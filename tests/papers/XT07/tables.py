"""The running example of [XT07]: Tables 1a, 1b, 2a, 2b, 3a and 3b.

Rows of Ray, Steve, Tom and Vince in Tables 2a and 2b are reconstructed from Table 3a. The paper asks for a least
length of 2 for Age and 2k for Zipcode; its own interval [33k, 34k] in Table 1b is shorter.
"""

from oracles.builders import Box, Member, entry_of

from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive

DISEASES = ("bronchitis", "dyspepsia", "flu", "gastritis")

PATIENTS: dict[str, tuple[int, int, str]] = {
    "Alice": (22, 14000, "bronchitis"),
    "Andy": (24, 18000, "flu"),
    "Bob": (21, 12000, "dyspepsia"),
    "David": (23, 25000, "gastritis"),
    "Emily": (25, 21000, "flu"),
    "Gary": (41, 20000, "flu"),
    "Helen": (36, 27000, "gastritis"),
    "Jane": (37, 33000, "dyspepsia"),
    "Ken": (40, 35000, "flu"),
    "Linda": (43, 26000, "gastritis"),
    "Mary": (46, 30000, "gastritis"),
    "Paul": (52, 33000, "dyspepsia"),
    "Ray": (54, 31000, "dyspepsia"),
    "Steve": (56, 34000, "gastritis"),
    "Tom": (60, 44000, "gastritis"),
    "Vince": (65, 36000, "flu"),
}
NAMES = tuple(sorted(PATIENTS))
PERSON = {name: number for number, name in enumerate(NAMES)}

TABLE_1B: tuple[tuple[tuple[str, ...], Box], ...] = (
    (("Bob", "Alice"), ((21, 22), (12000, 14000))),
    (("Andy", "David"), ((23, 24), (18000, 25000))),
    (("Gary", "Helen"), ((36, 41), (20000, 27000))),
    (("Jane", "Ken", "Linda"), ((37, 43), (26000, 35000))),
    (("Paul", "Steve"), ((52, 56), (33000, 34000))),
)
TABLE_2B: tuple[tuple[tuple[str, ...], Box], ...] = (
    (("Bob", "David"), ((21, 23), (12000, 25000))),
    (("Emily", "Jane", "Linda"), ((25, 43), (21000, 33000))),
    (("Gary", "Mary"), ((41, 46), (20000, 30000))),
    (("Ray", "Steve"), ((54, 56), (31000, 34000))),
    (("Tom", "Vince"), ((60, 65), (36000, 44000))),
)
TABLE_3A: tuple[tuple[tuple[str, ...], Box], ...] = (
    (("Bob",), ((21, 22), (12000, 14000))),
    (("David", "Emily"), ((23, 25), (21000, 25000))),
    (("Jane", "Linda"), ((37, 43), (26000, 33000))),
    (("Gary", "Mary"), ((41, 46), (20000, 30000))),
    (("Ray", "Steve"), ((54, 56), (31000, 34000))),
    (("Tom", "Vince"), ((60, 65), (36000, 44000))),
)
TABLE_3A_COUNTERFEITS = ((0, "bronchitis"), (2, "flu"))


def schema(*, zip_width: int = 2000) -> Schema:
    """Age and Zipcode with the paper's minimum lengths."""
    return Schema(
        quasi_identifiers=(
            QuasiIdentifier(name="age", min_width=2),
            QuasiIdentifier(name="zip", min_width=zip_width),
        ),
        sensitive=Sensitive(name="disease", values=DISEASES),
    )


def _entry(
    table: tuple[tuple[tuple[str, ...], Box], ...], counterfeits: tuple[tuple[int, str], ...] = (), *, zip_width: int
) -> Entry:
    members = [
        Member(PERSON[name], PATIENTS[name][:2], DISEASES.index(PATIENTS[name][2]), group)
        for group, (names, _) in enumerate(table)
        for name in names
    ]
    return entry_of(
        schema(zip_width=zip_width),
        members,
        counterfeits=[(group, DISEASES.index(disease)) for group, disease in counterfeits],
        boxes={group: box for group, (_, box) in enumerate(table)},
    )


def first_release(*, zip_width: int = 2000) -> Entry:
    """Tables 1a and 1b."""
    return _entry(TABLE_1B, zip_width=zip_width)


def naive_second_release(*, zip_width: int = 2000) -> Entry:
    """Tables 2a and 2b."""
    return _entry(TABLE_2B, zip_width=zip_width)


def second_release(*, zip_width: int = 2000) -> Entry:
    """Tables 2a, 3a and 3b."""
    return _entry(TABLE_3A, TABLE_3A_COUNTERFEITS, zip_width=zip_width)


def naive_history() -> Ledger:
    """Tables 1b and 2b: each 2-anonymous and 2-diverse, together not private."""
    return Ledger((first_release(), naive_second_release()))


def invariant_history() -> Ledger:
    """Tables 1b and 3a: 2-invariant."""
    return Ledger((first_release(), second_release()))


def truth() -> dict[int, int]:
    """The true disease of every person."""
    return {PERSON[name]: DISEASES.index(disease) for name, (_, _, disease) in PATIENTS.items()}
