"""What was asked of a snapshot or a release and how it answered: aggregates only, ready to be shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reanon_core.model.arrays import Int32
from reanon_core.protocols import Check


@dataclass(frozen=True)
class Result:
    """One rule and how it fared. It holds rule sentences and counts, never a value of a person."""

    name: str
    """What is judged: a check, or a rule of a column."""
    success: bool
    sentence: str
    """The rule in words."""
    observed: Mapping[str, float] = field(default_factory=dict)
    """Aggregate numbers beside the answer."""
    violations: int = 0
    limit: int = 0
    """How many violations the rule allows."""
    column: str | None = None
    required: bool = True
    """Whether the rule is enforced; otherwise it is there to be looked at."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The published rows, for judging anew whatever can be judged from them alone."""

    group: Int32  # [rows]
    sensitive: Int32  # [rows] codes
    groups: int
    """How many groups the release has, as its manifest says."""
    values: int
    """How many sensitive values are known."""
    checks: tuple[Check, ...]
    sentences: tuple[str, ...]
    """The rule of each check in words."""


@dataclass(frozen=True, eq=False)
class Suite:
    """The rules of a snapshot or of a release with their results."""

    name: str
    release: str
    results: tuple[Result, ...]
    rows: Rows | None = None
    """What can be judged again from public data; None for a snapshot."""

    @property
    def success(self) -> bool:
        """Whether every required rule holds."""
        return all(result.success for result in self.results if result.required)
