"""An answer with its uncertainty."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """What a release says, and the interval in which the truth lies nine times in ten, or as often as was asked."""

    value: float
    low: float
    high: float
    notes: tuple[str, ...] = ()
    """Why the release cannot answer the question well, if it cannot."""

    def __str__(self) -> str:
        digits = 0 if max(abs(self.low), abs(self.high)) >= 100 else 1 if abs(self.high) >= 10 else 3
        return f"{self.value:,.{digits}f} ({self.low:,.{digits}f} to {self.high:,.{digits}f})"

    def covers(self, truth: float) -> bool:
        """Whether a number lies in the interval, up to rounding."""
        slack = 1e-9 * max(1.0, abs(truth))
        return self.low - slack <= truth <= self.high + slack

    def scaled(self, by: float) -> "Estimate":
        """The estimate in another unit."""
        return Estimate(self.value * by, self.low * by, self.high * by, self.notes)
