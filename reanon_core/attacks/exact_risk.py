"""Exact risk: count every surjection that is consistent with the releases, and compare what they say."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from reanon_core.inference.enumeration.surjections import Principle, Surjections, count_surjections
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge

CERTAIN = "certain if no one's value changes, and if all people of the releases are known"
IMPOSSIBLE = "no surjection is reasonable: values change, or the knowledge contradicts the releases"
PRINCIPLES: tuple[Principle, ...] = (None, "m-invariance")


@dataclass(frozen=True, kw_only=True)
class ExactRisk:
    """Expose the people to whom all reasonable surjections assign the same value.

    The truth is one of the surjections, so a value on which all agree is the true one. Only for small histories: the
    count is exact, and its cost is exponential.

    Paper: [XT07] Definitions 13 and 14.
    """

    name: ClassVar[str] = "risk"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, and everyone's quasi-identifiers"
    blind_to: ClassVar[str] = "nothing, but it counts all worlds, which is possible for tiny histories only"

    principle: Principle = None
    """What the adversary knows about the technique: None, or "m-invariance" (one signature per person)."""
    limit: int = 200_000
    """How many steps the count may take; a history that needs more is refused as too large."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        problems = []
        if self.principle not in PRINCIPLES:
            problems.append(Problem("principle", "be None or m-invariance", str(self.principle)))
        if self.limit < 1:
            problems.append(Problem("limit", "be at least 1", str(self.limit)))
        require(problems, InvalidParameter)

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people with risk 1.

        Raises: InvalidParameter if the history is too large.
        """
        found = count_surjections(history, knowledge, principle=self.principle, limit=self.limit)
        certain = {person: next(iter(counts)) for person, counts in sorted(found.by_value.items()) if len(counts) == 1}
        return Findings(
            attack=self.name,
            of=len(found.by_value),
            persons=np.array(list(certain), dtype=np.int64),
            inferred=np.array(list(certain.values()), dtype=np.int32),
            confidence=np.ones(len(certain)),
            note=CERTAIN if found.total else IMPOSSIBLE,
            extra={"surjections": _as_float(found.total), "largest share": _largest_share(found)},
        )


@dataclass(frozen=True, kw_only=True)
class Risks:
    """The privacy disclosure risk of the people in a small history."""

    total: int
    """The number of reasonable surjections."""
    risk: dict[int, Fraction]
    """For each person, the share of surjections that assign their true value."""


def disclosure_risks(
    history: History,
    knowledge: Knowledge,
    truth: Mapping[int, int],
    *,
    principle: Principle = None,
    limit: int = 200_000,
) -> Risks:
    """The risk of each person in `truth`, which only the judge can supply.

    Paper: [XT07] Definition 14; [XT07] Lemma 3 bounds it by 1/m in an m-invariant history.

    Raises: InvalidParameter if the history is too large, or no surjection is reasonable.
    """
    found = count_surjections(history, knowledge, principle=principle, limit=limit)
    if not found.total:
        raise InvalidParameter(Problem("the history", "have at least one reasonable surjection"))
    return Risks(total=found.total, risk={person: found.share(person, value) for person, value in truth.items()})


def _largest_share(found: Surjections) -> float:
    largest = max((n for counts in found.by_value.values() for n in counts.values()), default=0)
    return float(Fraction(largest, found.total)) if found.total else 0.0


def _as_float(total: int) -> float:
    return float(total) if total < 10**300 else math.inf
