"""Exact risk: count every world that explains the releases, and see what they agree on."""

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

PRINCIPLES: tuple[Principle, ...] = (None, "m-invariance")


@dataclass(frozen=True, kw_only=True)
class ExactRisk:
    """Expose everybody to whom all reasonable surjections give the same value.

    Paper: [XT07] Definitions 13 and 14. What really happened is one of the surjections, so a value on which all
    agree is the true one. Only for small histories: the count is exact and its cost grows without bound.
    """

    name: ClassVar[str] = "risk"
    any_size: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False

    principle: Principle = None
    """What the adversary knows of the technique: None, or "m-invariance" (one signature for each person)."""
    limit: int = 200_000
    """How many steps the count may take; beyond that the history is refused as too large."""

    def __post_init__(self) -> None:
        """Hold the ranges."""
        problems = []
        if self.principle not in PRINCIPLES:
            problems.append(Problem("principle", "be None or m-invariance", str(self.principle)))
        if self.limit < 1:
            problems.append(Problem("limit", "be at least 1", str(self.limit)))
        require(problems, InvalidParameter)

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find everybody with risk 1.

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
            note="" if found.total else "no surjection is reasonable: the knowledge contradicts the releases",
            extra={"surjections": _as_float(found.total), "largest share": _largest_share(found)},
        )


@dataclass(frozen=True, kw_only=True)
class Risks:
    """The privacy disclosure risk of everybody in a small history."""

    total: int
    """The number of reasonable surjections."""
    risk: dict[int, Fraction]
    """For each person, the share of surjections that give them their true value."""


def disclosure_risks(
    history: History,
    knowledge: Knowledge,
    truth: Mapping[int, int],
    *,
    principle: Principle = None,
    limit: int = 200_000,
) -> Risks:
    """The risk of each person in `truth`, which only the judge can supply.

    Paper: [XT07] Definition 14.
    Raises: InvalidParameter if the history is too large, or nothing explains it.
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
