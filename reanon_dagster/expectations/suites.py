"""The rules of a snapshot or a release with their results: aggregates only, safe to show."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reanon_core.model.arrays import Int32
from reanon_core.protocols import Check


@dataclass(frozen=True)
class Result:
    """One rule and its result: sentences and counts, never a value of a person."""

    name: str
    """What is judged: a check, or a rule of a column."""
    success: bool
    sentence: str
    """The rule in words."""
    observed: Mapping[str, float] = field(default_factory=dict)
    """Aggregate numbers that go with the result."""
    violations: int = 0
    limit: int = 0
    """How many violations the rule allows."""
    column: str | None = None
    required: bool = True
    """Whether the rule is enforced; otherwise it only informs."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The published rows, to repeat the checks that need nothing else."""

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
    """The rows for a second judgement from public data; None for a snapshot."""

    @property
    def success(self) -> bool:
        """Whether every required rule holds."""
        return all(result.success for result in self.results if result.required)
