"""An assumption: what an adversary is assumed to know, which is never an undeclared sensitive value."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.background import Background
from reanon_core.model.reading import Reading


@dataclass(frozen=True, eq=False)
class Presence:
    """The people in one release with their exact quasi-identifier values, and optionally their groups.

    Paper: [XT07] Definition 6: one timestamp's share of the knowledge table B(n). [RB09] Section 2.1: an adversary may
    know the exact respondents of a group. That is the stronger assumption; without it, only boxes narrow down groups.
    """

    persons: Int64  # [n] ascending
    qi: Int32  # [d, n] codes
    group: Int32 | None = None  # [n] the group of each, for an adversary who knows it
    box: Int32 | None = None  # [n] the box of each in a decoupled release: a function of what is known of everyone

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "persons", frozen(self.persons, np.int64))
        object.__setattr__(self, "qi", frozen(self.qi, np.int32))
        for name in ("group", "box"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name), np.int32))


@dataclass(frozen=True, eq=False)
class Compromised:
    """People whose sensitive value the adversary already knows; every patient knows their own.

    Paper: [RB09] Section 2.2, the set C of compromised tuples.
    """

    persons: Int64  # [c] ascending
    values: Int32  # [c] codes

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "persons", frozen(self.persons, np.int64))
        object.__setattr__(self, "values", frozen(self.values, np.int32))

    @staticmethod
    def none() -> "Compromised":
        """The adversary knows no one's value."""
        return Compromised(np.empty(0, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Everyone's identity, quasi-identifiers and lifespan, release by release, and whatever else is declared.

    Paper: [XT07] Definition 6.
    """

    presences: tuple[Presence, ...]
    compromised: Compromised = field(default_factory=Compromised.none)
    background: Background | None = None
    """The adversary's background knowledge about sensitive values; None if none is declared."""
    readings: Callable[[], Iterator[Reading]] | None = None
    """What follows from the source of the technique; None if the technique is not known, or not readable."""
    insiders: Callable[[], Compromised] | None = None
    """Some people with their values, each of whom might tell theirs; None if no value is at hand."""

    @property
    def groups_known(self) -> bool:
        """Whether everyone's group is declared."""
        return all(presence.group is not None for presence in self.presences)
