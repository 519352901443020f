"""Worlds: enumerate every table that is consistent with the releases, and compare what they say about each person."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reanon_core.inference.enumeration.worlds import possible_worlds
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge

IMPOSSIBLE = "no world is possible: values change, or the knowledge contradicts the releases"


@dataclass(frozen=True, kw_only=True)
class WorldsAttack:
    """Expose the people to whom all possible worlds assign the same value, and report the greatest linkage.

    Only for tiny histories, because all worlds are enumerated.

    Paper: [ST15] Definitions 3.1 to 3.3; Example 3.1 has a linkage of 2/3.
    """

    name: ClassVar[str] = "worlds"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, and everyone's quasi-identifiers"
    blind_to: ClassVar[str] = "nothing, but it lists all worlds, which is possible for up to nine people only"

    people: int = 9
    """The most people that a history may have."""
    limit: int = 2_000_000
    """How many steps the search may take; a history that needs more is refused as too large."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        wrong = [name for name in ("people", "limit") if getattr(self, name) < 1]
        require([Problem(name, "be at least 1", str(getattr(self, name))) for name in wrong], InvalidParameter)

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people with one value in all worlds.

        Raises: InvalidParameter if the history is too large.
        """
        found = possible_worlds(history, knowledge, people=self.people, limit=self.limit)
        linkage = found.linkage() if found.worlds else {}
        certain = {person: next(iter(shares)) for person, shares in linkage.items() if len(shares) == 1}
        known = {person: value for person, value in certain.items() if value >= 0}
        greatest = max((share for shares in linkage.values() for share in shares.values()), default=Fraction(0))
        fewest = min((len(shares) for shares in linkage.values()), default=0)
        note = f"{len(found.worlds):,} possible worlds if no one's value changes, all taken as equally likely; "
        note += f"greatest linkage {greatest}"
        return Findings(
            attack=self.name,
            of=len(found.persons),
            persons=np.array(list(known), dtype=np.int64),
            inferred=np.array(list(known.values()), dtype=np.int32),
            confidence=np.ones(len(known)),
            note=note if found.worlds else IMPOSSIBLE,
            extra={
                "worlds": float(len(found.worlds)),
                "greatest linkage": float(greatest),
                "fewest values": float(fewest),
            },
        )
