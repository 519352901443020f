"""Table 1 of the paper: two releases of a hospital, and the compromised row of Example 1.

The last row of Table 1(d) is lost in our copy; Hanna's value follows from the others.
"""

from oracles.builders import Member, entry_of

from reanon_core.model.arrays import MISSING
from reanon_core.model.knowledge import Compromised
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive

VALUES = ("AIDS", "bronchitis", "cancer")
AIDS, BRONCHITIS, CANCER = range(3)
MALE, FEMALE = 0, 1
SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age"), QuasiIdentifier(name="gender"), QuasiIdentifier(name="zip")),
    sensitive=Sensitive(name="disease", values=VALUES),
)
PEOPLE = {
    "Alice": (33, FEMALE, 12000, CANCER),
    "Betty": (31, FEMALE, 11000, BRONCHITIS),
    "Carl": (35, MALE, 12000, AIDS),
    "Doris": (40, FEMALE, 13000, CANCER),
    "Erica": (41, FEMALE, 14000, AIDS),
    "Fiona": (37, FEMALE, 13000, BRONCHITIS),
    "Grace": (42, FEMALE, 13000, BRONCHITIS),
    "Hanna": (42, FEMALE, 14000, CANCER),
}
NUMBER = {name: at for at, name in enumerate(PEOPLE)}
FIRST = (("Alice", "Betty", "Carl"), ("Doris", "Erica", "Fiona"))
SECOND = (("Carl", "Doris", "Fiona"), ("Erica", "Grace", "Hanna"))
"""The groups 1 and 2 of the first release, 3 and 4 of the second."""


def member(name: str, group: int) -> Member:
    *qi, value = PEOPLE[name]
    return Member(NUMBER[name], tuple(qi), value, group)


def ledger() -> Ledger:
    assert MISSING not in {code for *qi, _ in PEOPLE.values() for code in qi}
    return Ledger(
        tuple(
            entry_of(SCHEMA, [member(name, group) for group, names in enumerate(release) for name in names])
            for release in (FIRST, SECOND)
        )
    )


def carl_is_known() -> Compromised:
    return Compromised([NUMBER["Carl"]], [AIDS])
