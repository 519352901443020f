"""The judge's own table of the signatures with which each person was published, compared with a new release.

What is remembered: `persons` with the `numbers` of their signatures, one entry for each distinct pair, and the values
of each signature, `values[offsets[number] : offsets[number + 1]]`.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from reanon_core.checks.judged_release import JudgedRelease
from reanon_core.protocols import Memory

NO_ONE: Memory = MappingProxyType(
    {
        "persons": np.empty(0, np.int64),
        "numbers": np.empty(0, np.int32),
        "offsets": np.zeros(1, np.int64),
        "values": np.empty(0, np.int32),
    }
)
"""The memory before the first release."""

SIGNATURES = """
WITH known AS (SELECT number, {signature} AS signature FROM known_values GROUP BY number),
     shown AS (SELECT DISTINCT signature FROM groups WHERE size > 0)
SELECT signature, number FROM known
UNION ALL
SELECT signature, ($known + row_number() OVER (ORDER BY signature) - 1)::INTEGER AS number
FROM shown ANTI JOIN known USING (signature)
"""
"""Every signature with its number, new ones after those that are known."""
PAIRS = """
SELECT person, now.number AS number, known_people.number AS earlier
FROM (SELECT person, number FROM shown JOIN groups USING (group_id) JOIN signatures USING (signature)
      WHERE person IS NOT NULL) AS now
     LEFT JOIN known_people USING (person)
"""
"""The signature of each person in this release, beside each one that they had before; or beside none."""
MET = "count(earlier) - (count(*) - $people)"
"""How many people had one before: whoever had several is in as many pairs."""
MOVED = "SELECT DISTINCT person, number, earlier FROM pairs WHERE earlier <> number"
DIFFERENT = f"SELECT {MET} AS compared, (SELECT count(DISTINCT person) FROM moved) AS moved FROM pairs"
OVERLAPPING = f"""
WITH shared AS (SELECT DISTINCT one.number AS earlier, other.number AS number
                FROM signature_values AS one JOIN signature_values AS other USING (value))
SELECT {MET} AS compared,
       (SELECT count(DISTINCT person) FROM moved SEMI JOIN shared USING (earlier, number)) AS moved
FROM pairs
"""
"""Paper: [XT07] Definition 17; departure D3: where a value may change, signatures are equal or share no value."""
NEW_VALUES = """
SELECT number, value FROM published JOIN (
    SELECT number, min(group_id) AS group_id FROM groups JOIN signatures USING (signature)
    WHERE number >= $known GROUP BY number) USING (group_id)
GROUP BY number, value
"""
REMEMBERED = """
SELECT person AS persons, number AS numbers FROM known_people
UNION ALL
SELECT person, number FROM pairs WHERE earlier IS NULL
UNION ALL
SELECT DISTINCT person, number FROM moved ANTI JOIN known_people USING (person, number)
"""


@dataclass(frozen=True)
class Compared:
    """The signatures of the people of a release, compared with all their earlier ones."""

    moved: int
    """How many have one that breaks the rule."""
    observed: dict[str, float]


def compare_signatures(release: JudgedRelease, memory: Memory, *, episodes: bool) -> tuple[Compared, Memory]:
    """Compare each person's signature with all earlier ones, and remember it.

    With `episodes`, another signature that shares no value is allowed.

    Paper: [XT07] Definition 17.
    Requires: the release is readable and not silent.
    """
    offsets, values = np.asarray(memory["offsets"]), np.asarray(memory["values"])
    known, people = len(offsets) - 1, len(release.entry.trace.persons)
    number = np.repeat(np.arange(known, dtype=np.int32), np.diff(offsets))
    release.add("known_people", {"person": np.asarray(memory["persons"]), "number": np.asarray(memory["numbers"])})
    release.add("known_values", {"number": number, "value": values})
    release.create("signatures", SIGNATURES.format(signature=release.signature), known=known)
    release.create("pairs", PAIRS)
    release.create("new_values", NEW_VALUES, known=known)
    release.view("moved", MOVED)
    release.view("signature_values", "SELECT * FROM known_values UNION ALL SELECT * FROM new_values")
    found = release.numbers(OVERLAPPING if episodes else DIFFERENT, people=people)
    observed: dict[str, float] = {
        "people": people,
        "people compared": found["compared"],
        "people with another signature": found["moved"],
    }
    more = release.arrays("SELECT number, value FROM new_values ORDER BY number, value")
    sizes = np.bincount(np.asarray(more["number"], np.int64) - known)
    return Compared(found["moved"], observed), {
        **release.long_arrays(REMEMBERED, "persons, numbers"),
        "offsets": np.concatenate([offsets, offsets[-1] + np.cumsum(sizes, dtype=np.int64)]),
        "values": np.concatenate([values, np.asarray(more["value"], np.int32)]),
    }
