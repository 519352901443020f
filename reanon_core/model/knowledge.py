"""An assumption: what an adversary is said to know. Never the truth about a sensitive value of a stranger."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64, frozen
from reanon_core.model.background import Background


@dataclass(frozen=True, eq=False)
class Presence:
    """Who is in one release, with their exact quasi-identifier values.

    Paper: [XT07] Definition 6: one timestamp's share of the knowledge table B(n).
    """

    persons: Int64  # [n] ascending
    qi: Int32  # [d, n] codes
    group: Int32 | None = None  # [n] the group that shows each, where the adversary is assumed to know it

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "persons", frozen(self.persons, np.int64))
        object.__setattr__(self, "qi", frozen(self.qi, np.int32))
        if self.group is not None:
            object.__setattr__(self, "group", frozen(self.group, np.int32))


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Everybody's identity, quasi-identifiers and lifespan, release by release.

    Paper: [XT07] Definition 6.
    """

    presences: tuple[Presence, ...]
    background: Background | None = None
    """What the adversary expects of sensitive values; None: nothing is declared."""
