"""An answer with its uncertainty, and answers as a frame."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


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

    def widened(self, by: float) -> "Estimate":
        """The estimate with one error more, which is independent of the others."""
        down, up = float(np.hypot(self.value - self.low, by)), float(np.hypot(self.high - self.value, by))
        return Estimate(self.value, self.value - down, self.value + up, self.notes)

    def scaled(self, by: float) -> "Estimate":
        """The estimate in another unit."""
        return Estimate(self.value * by, self.low * by, self.high * by, self.notes)


def answer_frame(name: str, answers: Mapping[Any, Estimate]) -> "pd.DataFrame":
    """Answers as a pandas frame; their names are the first column."""
    import pandas as pd

    listed = list(answers.values())
    return pd.DataFrame(
        {
            name: list(answers),
            "value": [one.value for one in listed],
            "low": [one.low for one in listed],
            "high": [one.high for one in listed],
            "notes": ["; ".join(one.notes) for one in listed],
        }
    )
