"""The verdict of a check. A failed check is a verdict, not an error."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Verdict:
    """What a check concludes about one release in its history."""

    check: str
    holds: bool
    violations: int = 0
    """How many groups or people break the rule; 0 if it holds."""
    observed: dict[str, float] = field(default_factory=dict)
    """Aggregate numbers to show with the verdict."""
    required: bool = True
    """Whether a release may only be published if this holds."""
    sentence: str = ""
    """The rule in words, as checked: "every group has at least 6 rows"."""
