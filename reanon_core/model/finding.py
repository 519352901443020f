"""Private: what an attack found out about which people."""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.model.arrays import Float64, Int32, Int64, frozen


@dataclass(frozen=True, eq=False)
class Findings:
    """The people whom an attack exposes, the value it infers for each, and its confidence."""

    attack: str
    of: int
    """How many people were attacked."""
    persons: Int64  # [f] the exposed people
    inferred: Int32  # [f] the sensitive code inferred
    confidence: Float64  # [f] 1 means certain
    note: str = ""
    """What a reader needs to interpret the numbers: a bound, an assumption, a limit."""
    extra: dict[str, float] = field(default_factory=dict)
    """Further aggregate numbers of this attack, by name."""

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (("persons", np.int64), ("inferred", np.int32), ("confidence", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def exposed(self) -> int:
        """How many people are exposed."""
        return len(self.persons)
